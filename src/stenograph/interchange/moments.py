"""Times in the one spelling that the Agent Session Format hashes."""

from __future__ import annotations

import re
from datetime import UTC, datetime

EPOCH = "1970-01-01T00:00:00Z"

_USUAL = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d)(?:\.(\d{1,9}))?Z")


def spelled(told: str | None) -> str | None:
    """A time as UTC with `T` and `Z` and no trailing zero in its fraction; None for what is no time."""
    if told is None:
        return None
    found = _USUAL.fullmatch(told)
    if found is None:
        return _parsed(told)
    fraction = (found.group(2) or "").rstrip("0")
    return f"{found.group(1)}.{fraction}Z" if fraction else f"{found.group(1)}Z"


def is_spelled(told: object) -> bool:
    """Whether a value is a time in this spelling, and a day that there is."""
    return isinstance(told, str) and spelled(told) == told and _parsed(told[:19] + "Z") is not None


def for_name(told: str) -> str:
    """A time as it stands in a file's name: hyphens for colons, always milliseconds."""
    fraction = told[20:-1] if told[19:20] == "." else ""
    return f"{told[:19].replace(':', '-')}.{fraction[:3]:0<3}Z"


def _parsed(told: str) -> str | None:
    try:
        moment = datetime.fromisoformat(told)
    except ValueError:
        return None
    moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    text = moment.isoformat().replace("+00:00", "")
    return (text.rstrip("0") if "." in text else text) + "Z"
