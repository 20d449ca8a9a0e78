"""Values spelled as JavaScript spells them: `JSON.stringify(value)` and `String(value)`.

Cline makes error texts and hub records with both, so agreeing with it means agreeing on number spelling,
on integer-like member names coming first, and on lone surrogates being the only characters escaped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import UNSET

from stenograph import jsonio

_SAFE = 2**53
_PLAIN_DIGITS = 21  # from 1e21 on, JavaScript writes an exponent
_PLAIN_ZEROS = -6  # below 1e-6 too
_INDEX_LIMIT = 2**32 - 1
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_SURROGATE = re.compile("([\ud800-\udfff])")
_SPELLED_APART = re.compile(
    rb'[0-9"\\](?:(?<=[0-9])(?:[eE][-+0-9]|\.0(?:[,\]}]|$)|[0-9]{15})'
    rb'|(?<=")[0-9]+":|(?<=\\)u[dD][89a-fA-F])'
)
"""Where the fast encoder's text may differ: exponents, 1.0, many digits, names like indices, surrogates."""


class _Text(str):
    """Output that is ready, as against a string value that is still to be quoted."""

    __slots__ = ()


def stringify(value: Any) -> str:
    """The text that `JSON.stringify` gives; NaN and infinities are null.

    Raises TypeError for a value that has no JSON. Any depth of nesting is fine.
    """
    try:
        text = jsonio.dumps(value)
    except RecursionError:
        return "".join(_pieces(value))
    return "".join(_pieces(value)) if _SPELLED_APART.search(text) else text.decode()


def to_string(value: Any) -> str:
    """The text that `String(value)` gives. Any depth of nesting is fine."""
    return ",".join(_leaves(value)) if isinstance(value, list) else _word(value)


def _leaves(value: list[Any]) -> Iterator[str]:
    """What a list's text joins, lists within it included; one that is empty, and null, give nothing."""
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, list) and item:
            todo += reversed(item)
        else:
            yield "" if item is None or isinstance(item, list) else _word(item)


def _word(value: Any) -> str:
    match value:
        case str():
            return value
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _number_or_word(value)
        case _:
            return "undefined" if value is UNSET else "[object Object]"


def _number_or_word(value: float) -> str:
    try:
        return number(value) if math.isfinite(value) else _endless(value)
    except OverflowError:  # a whole number beyond every double
        return _endless(value)


def _endless(value: float) -> str:
    # math.isnan takes no whole number beyond every double
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def number(value: float) -> str:
    """A finite number in the fewest digits that tell it from its neighbours; whole ones have no point.

    A whole number beyond 2^53 is rounded to the nearest double first, as reading it would have done.
    """
    if isinstance(value, int):
        if abs(value) <= _SAFE:
            return str(int(value))
        value = float(value)
    if not value:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text = "".join(map(str, digits))
    return ("-" if sign else "") + _placed(text, len(text) + int(exponent))


def _placed(digits: str, point: int) -> str:
    """The digits with their decimal point behind the `point`th one."""
    if len(digits) <= point <= _PLAIN_DIGITS:
        return digits.ljust(point, "0")
    if 0 < point <= _PLAIN_DIGITS:
        return f"{digits[:point]}.{digits[point:]}"
    if _PLAIN_ZEROS < point <= 0:
        return f"0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if digits[1:] else ""
    return f"{digits[0]}{fraction}e{point - 1:+d}"


def _pieces(value: Any) -> Iterator[str]:
    """The parts of the text, by a stack and not by recursion, since values may nest without limit."""
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        if type(item) is _Text:
            yield item
        elif isinstance(item, Mapping):
            todo += reversed(list(_object(item)))
        elif isinstance(item, list | tuple):
            todo += reversed(list(_array(item)))
        else:
            yield _scalar(item)


def _object(value: Mapping[Any, Any]) -> Iterator[Any]:
    yield _Text("{")
    lead = ""
    for name in _in_order(value):
        yield _Text(f"{lead}{_quoted(str(name))}:")
        yield value[name]
        lead = ","
    yield _Text("}")


def _array(value: list[Any] | tuple[Any, ...]) -> Iterator[Any]:
    yield _Text("[")
    for index, item in enumerate(value):
        if index:
            yield _Text(",")
        yield item
    yield _Text("]")


def _in_order(names: Mapping[Any, Any]) -> list[Any]:
    """The names as JavaScript keeps them: array indices in number order, then the others as they came."""
    indices = [name for name in names if _is_index(name)]
    if not indices:
        return list(names)
    return sorted(indices, key=int) + [name for name in names if not _is_index(name)]


def _is_index(name: Any) -> bool:
    return _INDEX.fullmatch(str(name)) is not None and int(name) < _INDEX_LIMIT


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _finite(value)
    return bytes(value).decode() if isinstance(value, msgspec.Raw) else jsonio.dumps(value).decode()


def _finite(value: float) -> str:
    try:
        return number(value) if math.isfinite(value) else "null"
    except OverflowError:  # a whole number beyond every double is Infinity there
        return "null"


def _quoted(text: str) -> str:
    parts = _SURROGATE.split(text)
    if len(parts) == 1:
        return jsonio.dumps(text).decode()
    escaped = (
        rf"\u{ord(part):04x}" if index % 2 else jsonio.dumps(part)[1:-1].decode()
        for index, part in enumerate(parts)
    )
    return f'"{"".join(escaped)}"'
