"""Single members of foreign records: a usable value or None, never an exception."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

_MOST = 2**63 - 1
_LARGEST = 1e300
_YEAR_2100 = 4_102_444_800_000  # milliseconds since 1970


def word(value: Any) -> str | None:
    """A non-empty string."""
    return value if isinstance(value, str) and value else None


def count(value: Any) -> int | None:
    """A whole number from 0 to 2**63 - 1, such as a number of tokens."""
    return value if type(value) is int and 0 <= value <= _MOST else None


def whole(value: Any) -> int | None:
    """A whole number of any sign, such as an exit code."""
    return value if type(value) is int else None


def amount(value: Any) -> int | float | None:
    """A number, such as a cost in USD or a duration; none that leaves no room for adding up as floats."""
    if type(value) is not int and type(value) is not float:
        return None
    return value if abs(value) < _LARGEST else None


def members(value: Any) -> dict[str, Any]:
    """An object; empty when the value is none."""
    return value if isinstance(value, dict) else {}


def grown(now: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Running totals as the counts of their last step; one that has shrunk began anew."""
    return {name: _step(count(value), count(before.get(name))) for name, value in now.items()}


def _step(now: int | None, before: int | None) -> int | None:
    return now if now is None or before is None or now < before else now - before


def moment(value: Any) -> str | None:
    """A point in time, RFC 3339: as it is written, or from milliseconds since 1970."""
    if isinstance(value, str):
        return value
    if type(value) is not int:
        return None
    if 0 <= value < _YEAR_2100:
        rest = value % 60_000
        seconds = f"{rest / 1000:09.6f}" if rest % 1000 else f"{rest // 1000:02}"
        return f"{_minute(value // 60_000)}{seconds}+00:00"
    try:
        return datetime.fromtimestamp(value / 1000, UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        return None


@lru_cache(maxsize=16)
def _minute(minutes: int) -> str:
    """All that stands ahead of the seconds."""
    return datetime.fromtimestamp(minutes * 60, UTC).isoformat()[:17]
