"""The scalar rules of task files: numbers, times and ranges as their writers spell them."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

import msgspec

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEAR_10000_MS = 253_402_300_800_000
_BOUND = 2**63
_INT64 = Decimal(_BOUND)


def to_int(value: Any) -> tuple[int, bool] | None:
    """An integer of 64 bits and whether it is exact, which it is not when a fraction was dropped.

    It may be written as a number (12, 12.0, 1e3) or as a string of one; None for anything else.
    """
    if type(value) is int and -_BOUND <= value < _BOUND:
        return value, True
    number = _decimal(value)
    if number is None or not -_INT64 <= number < _INT64:
        return None
    whole = int(number)
    return whole, whole == number


def to_float(value: Any) -> float | None:
    """A number, or a string of one; None for anything else and for what no float can hold."""
    if type(value) is float and math.isfinite(value):
        return value
    number = _decimal(value)
    found = math.inf if number is None else float(number)
    return found if math.isfinite(found) else None


def to_millis(value: Any) -> datetime | None:
    """A time written as ms since 1970, a number or a string of one; None outside the years 1970 to 9999."""
    found = to_int(value)
    if found is None or not 0 <= found[0] < _YEAR_10000_MS:
        return None
    return _EPOCH + timedelta(milliseconds=found[0])


def to_rfc3339(value: Any) -> str | None:
    """The time of `to_millis` as RFC 3339 in UTC, to the millisecond."""
    found = to_int(value)
    if found is None or not 0 <= found[0] < _YEAR_10000_MS:
        return None
    second, rest = divmod(found[0], 1000)
    return f"{_second(second)}.{rest:03d}Z"


@lru_cache(maxsize=64)
def _second(count: int) -> str:
    """A second since 1970; what one second brought stands together."""
    return (_EPOCH + timedelta(seconds=count)).isoformat()[:19]


def to_range(value: Any) -> tuple[int, int] | None:
    """A range: exactly two integers, start at most end, both ends included; None for anything else."""
    if not isinstance(value, list) or len(value) != 2:
        return None
    start, end = to_int(value[0]), to_int(value[1])
    if not start or not end or not (start[1] and end[1]) or start[0] > end[0]:
        return None
    return start[0], end[0]


def is_null(value: Any) -> bool:
    """Whether a member is absent or null."""
    return value is None or (isinstance(value, msgspec.Raw) and bytes(value) in (b"", b"null"))


def _decimal(value: Any) -> Decimal | None:
    """A finite number, exactly as written or as its float has it; a decimal holds any exponent at no cost."""
    match value:
        case bool():
            return None
        case int():
            return Decimal(value)
        case float():
            return Decimal(value) if math.isfinite(value) else None
        case str() if _NUMBER.fullmatch(value):
            return _written(value)
        case _:
            return None


def _written(number: str) -> Decimal | None:
    try:
        return Decimal(number)
    except InvalidOperation:  # an exponent of more than 18 digits
        return None
