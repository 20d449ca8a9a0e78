"""JSON in and out: strict, of any depth, any number size, lone surrogates included.

The only module that imports `json` or decodes with `msgspec.json`. Values that Python cannot hold (numbers
too long or too large, nesting too deep) stay `msgspec.Raw`: the bytes they were written as.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")

_DEPTH = 100  # how deep the slow path builds Python values before it leaves the bytes alone
_EXACT = 2**53  # below it every whole number is one of binary64
_DIGITS = 4000  # below the 4,300 digits at which int() refuses

_SPACE = re.compile(rb"[ \t\n\r]*")
# Possessive, for without it each escape of a long string costs 170 bytes of stack to go back to.
_STRING = re.compile(rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"')
_SCALAR = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")

_OBJECT: msgspec.json.Decoder[dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY: msgspec.json.Decoder[list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw])
_decode = msgspec.json.Decoder().decode
_whole = msgspec.json.Decoder(msgspec.Raw).decode
_encode = msgspec.json.Encoder().encode
_in_order = msgspec.json.Encoder(order="sorted").encode


class Malformed(ValueError):
    """Strict JSON ends here; `at` is the byte at which the token that does not fit begins."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(f"{what} at byte {at}")
        self.at = at


class MemberSpan(NamedTuple):
    """Where a member stands: its name's first byte, the byte behind the name, its value's first and end."""

    name: str
    start: int
    colon: int
    value: int
    end: int


def decoder(shape: type[T]) -> msgspec.json.Decoder[T]:
    """A decoder that gives only what `shape` declares; members typed `Raw` stay bytes."""
    return msgspec.json.Decoder(shape)


def loads(data: bytes) -> Any:
    """The value of one strict JSON text; raises ValueError when it is none. Never RecursionError.

    Invalid UTF-8 inside strings becomes U+FFFD, lone surrogates are kept.
    """
    try:
        return _decode(data)
    except (ValueError, RecursionError):
        return _loads_slowly(data)


def loads_fast(data: bytes | memoryview) -> Any:
    """Like `loads` for what the fast decoder takes; may raise ValueError or RecursionError for the rest."""
    return _decode(data)


def value(told: Any) -> Any:
    """A value that a decoder may have left as `Raw`."""
    return loads(bytes(told)) if isinstance(told, msgspec.Raw) else told


def check(data: bytes) -> None:
    """Raise ValueError when this is not one strict JSON text; decodes nothing."""
    try:
        _whole(data)
    except (ValueError, RecursionError):
        end = _skip(data, skim(data))
        if end != len(data):
            raise Malformed("text behind the value", end) from None


def loads_loosely(data: bytes) -> Any:
    """Like `loads`, but raw control characters may stand inside strings."""
    return _LOOSE.decode(data.decode("utf-8", "replace"))


def dumps(value: Any) -> bytes:
    """The compact JSON of a value, struct or event; lone surrogates are written as escapes."""
    try:
        return _encode(value)
    except (UnicodeEncodeError, RecursionError):
        return b"".join(_pieces(value))


def dumps_fast(value: Any) -> bytes:
    """Like `dumps` for what the fast encoder takes.

    Raises UnicodeEncodeError for lone surrogates, RecursionError for nesting too deep.
    """
    return _encode(value)


def canonical(value: Any) -> bytes:
    """The canonical JSON (RFC 8785) of a value made of plain Python objects.

    Raises ValueError for what has none: a number that is not exactly a binary64 one, a lone surrogate,
    `Raw`; RecursionError for nesting too deep. (PyPI rfc8785 refuses whole numbers above 2^53 that are
    exact.)
    """
    return _in_order(_spelled(value))


def repeated_name(data: bytes) -> str | None:
    """A member name that stands twice in one object of a JSON text, None when there is none.

    Raises ValueError for what is no JSON, RecursionError for nesting too deep.
    """
    found: list[str] = []

    def note(members: list[tuple[str, Any]]) -> dict[str, Any]:
        known = dict(members)
        if len(known) != len(members):
            names = [name for name, _ in members]
            found.append(next(name for at, name in enumerate(names) if name in names[:at]))
        return known

    json.loads(data, object_pairs_hook=note, parse_int=str, parse_float=str)
    return found[0] if found else None


def _spelled(value: Any) -> Any:
    """The value itself, or a copy with `Raw` where msgspec would spell a part otherwise than RFC 8785."""
    kind = type(value)
    if kind is dict:
        return _spelled_object(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is list or kind is tuple:
        return _spelled_array(value)
    if kind is int:
        return value if -_EXACT < value < _EXACT else msgspec.Raw(_ecma(_as_float(value)))
    if kind is float:
        return msgspec.Raw(_ecma(value))
    raise ValueError(f"{kind.__name__} has no canonical form")


def _spelled_object(value: dict[str, Any]) -> Any:
    changed: dict[str, Any] | None = None
    for name, member in value.items():
        kind = type(member)
        if kind is str or member is None or (kind is int and -_EXACT < member < _EXACT):
            continue  # the usual members, without a call
        new = _spelled_object(member) if kind is dict else _spelled(member)
        if new is not member:
            changed = changed or dict(value)
            changed[name] = new
    found = value if changed is None else changed
    names = "".join(value)
    is_wide = not names.isascii() and max(names) > "\ud7ff"
    return msgspec.Raw(_wide_object(found)) if is_wide else found


def _spelled_array(value: Sequence[Any]) -> Any:
    changed: list[Any] | None = None
    for at, member in enumerate(value):
        new = member if type(member) is str else _spelled(member)
        if new is not member:
            changed = changed or list(value)
            changed[at] = new
    return value if changed is None else changed


def _wide_object(value: dict[str, Any]) -> bytes:
    """An object some of whose names sort otherwise by UTF-16 code units than by code points."""
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return b"{" + b",".join(_encode(name) + b":" + _in_order(value[name]) for name in names) + b"}"


def _as_float(value: int) -> float:
    """A whole number's binary64 value, when it is that or is spelled as JavaScript spells it."""
    try:
        near = float(value)
    except OverflowError:
        raise ValueError("a number beyond binary64") from None
    if int(near) != value and _ecma(near) != str(value).encode():
        raise ValueError("a whole number that binary64 cannot hold")
    return near


def _ecma(value: float) -> bytes:
    """A number as JavaScript spells it."""
    if not math.isfinite(value):
        raise ValueError("a number that is not finite")
    if value == 0:
        return b"0"
    digits, exponent = _digits(repr(abs(value)))
    sign = "-" if value < 0 else ""
    count = len(digits)
    if count <= exponent <= 21:
        text = digits + "0" * (exponent - count)
    elif 0 < exponent <= 21:
        text = f"{digits[:exponent]}.{digits[exponent:]}"
    elif -6 < exponent <= 0:
        text = f"0.{'0' * -exponent}{digits}"
    else:
        mantissa = digits if count == 1 else f"{digits[0]}.{digits[1:]}"
        text = f"{mantissa}e{exponent - 1:+d}"
    return (sign + text).encode()


def _digits(shortest: str) -> tuple[str, int]:
    """Of Python's shortest spelling: the significant digits, and how many stand before the point."""
    mantissa, _, power = shortest.partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    exponent = len(whole) + int(power or 0) - (len(whole + fraction) - len(digits))
    return digits.rstrip("0"), exponent


def raw(value: Any) -> msgspec.Raw:
    """A value as the JSON that an `unknown` event holds."""
    return msgspec.Raw(dumps(value))


def compact(data: bytes) -> bytes:
    """Strict JSON text made fit for one line: valid UTF-8, no line end between its tokens."""
    text = data if data.isascii() else data.decode("utf-8", "replace").encode()
    return text.replace(b"\n", b" ").replace(b"\r", b" ") if b"\n" in text or b"\r" in text else text


def skim(data: bytes, at: int = 0) -> int:
    """Where the strict JSON value that begins at `at` ends; raises ValueError. Linear, without recursion."""
    closers: list[int] = []
    while True:
        at = _skip(data, at)
        byte = data[at : at + 1]
        if byte == b"{" or byte == b"[":
            at, opened = _open(data, at, byte)
            if opened:
                closers.append(opened)
                continue
        else:
            at = _scalar(data, at)
        at, done = _close(data, at, closers)
        if done:
            return at


def members(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The members of a JSON object as (name, value's bytes), in order, repeats included."""
    at = _first(data, _skip(data, 0), b"}")
    while data[at : at + 1] != b"}":
        name, start = _name(data, at)
        at = skim(data, start)
        yield name, data[start:at]
        at = _next(data, at, b"}")


def member_spans(data: bytes) -> Iterator[MemberSpan]:
    """Where the members of a JSON object stand, in order, repeats included; raises ValueError."""
    at = _first(data, _skip(data, 0), b"}")
    while data[at : at + 1] != b"}":
        name, value = _name(data, at)
        end = skim(data, value)
        yield MemberSpan(name, at, _string(data, at), value, end)
        at = _next(data, end, b"}")


def elements(data: bytes) -> Iterator[bytes]:
    """The bytes of each element of a JSON array, in order."""
    at = _first(data, _skip(data, 0), b"]")
    while data[at : at + 1] != b"]":
        end = skim(data, at)
        yield data[at:end]
        at = _next(data, end, b"]")


def cut(data: bytes) -> list[bytes]:
    """The bytes of all elements of a JSON array at once."""
    return [bytes(element) for element in _cut(_ARRAY, elements, data)]


def part(data: bytes, path: Sequence[str | int]) -> bytes:
    """The bytes of what member names and array positions lead to; of repeated names the last counts.

    Raises LookupError when nothing stands there.
    """
    for step in path:
        if isinstance(step, str):
            data = dict(_cut(_OBJECT, members, data))[step]
        else:
            data = list(_cut(_ARRAY, elements, data))[step]
    return bytes(data)


def _cut(fast: msgspec.json.Decoder[Any], slow: Callable[[bytes], Any], data: bytes) -> Any:
    try:
        return fast.decode(data)
    except (ValueError, RecursionError):
        return slow(bytes(data))


def _loads_slowly(data: bytes) -> Any:
    try:
        return _STRICT.decode(data.decode("utf-8", "replace"))
    except RecursionError:
        value, end = _shallow(data, _skip(data, 0), _DEPTH)
    if _skip(data, end) != len(data):
        raise ValueError(f"text behind the value at byte {end}")
    return value


def _shallow(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    """The value that begins at `at`, its levels below `depth` left as they are written, and its end."""
    first = data[at : at + 1]
    if first == b"{" and depth:
        return _shallow_object(data, at, depth - 1)
    if first == b"[" and depth:
        return _shallow_array(data, at, depth - 1)
    end = skim(data, at)
    text = data[at:end]
    deep = first in (b"{", b"[")
    return (msgspec.Raw(compact(text)) if deep else _STRICT.decode(text.decode("utf-8", "replace"))), end


def _shallow_object(data: bytes, at: int, depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    at = _first(data, at, b"}")
    while data[at : at + 1] != b"}":
        name, start = _name(data, at)
        found[name], at = _shallow(data, start, depth)
        at = _next(data, at, b"}")
    return found, at + 1


def _shallow_array(data: bytes, at: int, depth: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    at = _first(data, at, b"]")
    while data[at : at + 1] != b"]":
        value, at = _shallow(data, at, depth)
        found.append(value)
        at = _next(data, at, b"]")
    return found, at + 1


def _integer(text: str) -> Any:
    return int(text) if len(text) < _DIGITS else msgspec.Raw(text.encode())


def _float(text: str) -> Any:
    value = float(text)
    return msgspec.Raw(text.encode()) if math.isinf(value) else value


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


_STRICT = json.JSONDecoder(parse_constant=_refuse, parse_int=_integer, parse_float=_float)
_LOOSE = json.JSONDecoder(parse_constant=_refuse, parse_int=_integer, parse_float=_float, strict=False)


def _pieces(value: Any) -> Iterator[bytes]:
    """What `dumps` joins when the fast encoder refuses: surrogates are escaped, Raw is copied."""
    match value:
        case msgspec.Raw():
            yield bytes(value)
        case msgspec.Struct():
            yield from _pieces(_as_dict(value))
        case dict():
            lead = b"{"
            for name, member in value.items():
                yield lead + json.dumps(name).encode() + b":"
                yield from _pieces(member)
                lead = b","
            yield b"}" if value else b"{}"
        case list() | tuple():
            lead = b"["
            for element in value:
                yield lead
                yield from _pieces(element)
                lead = b","
            yield b"]" if value else b"[]"
        case _:
            yield json.dumps(value).encode()


def _as_dict(value: msgspec.Struct) -> dict[str, Any]:
    info = msgspec.structs.fields(value)
    tag = value.__struct_config__.tag
    named = {field.encode_name: (getattr(value, field.name), field.default) for field in info}
    lean = value.__struct_config__.omit_defaults
    kept = {name: member for name, (member, default) in named.items() if not lean or member is not default}
    return {"type": tag, **kept} if tag else kept


def _skip(data: bytes, at: int) -> int:
    found = _SPACE.match(data, at)
    return found.end() if found else at


def _string(data: bytes, at: int) -> int:
    found = _STRING.match(data, at)
    if found is None:
        raise Malformed("no string", at)
    return found.end()


def _scalar(data: bytes, at: int) -> int:
    if data[at : at + 1] == b'"':
        return _string(data, at)
    found = _SCALAR.match(data, at)
    if found is None:
        raise Malformed("no value", at)
    return found.end()


def _colon(data: bytes, at: int) -> int:
    at = _skip(data, at)
    if data[at : at + 1] != b":":
        raise Malformed("no colon", at)
    return at + 1


def _name(data: bytes, at: int) -> tuple[str, int]:
    """The member's name at `at`, and where its value begins."""
    end = _string(data, at)
    name: str = json.loads(data[at:end].decode("utf-8", "replace"))
    return name, _skip(data, _colon(data, end))


def _first(data: bytes, at: int, closer: bytes) -> int:
    """Inside the container that opens at `at`: its first item, or its closer."""
    if data[at : at + 1] != (b"{" if closer == b"}" else b"["):
        raise Malformed("no container", at)
    return _skip(data, at + 1)


def _next(data: bytes, at: int, closer: bytes) -> int:
    """Behind an item: where the next one begins, or the container's closer."""
    at = _skip(data, at)
    byte = data[at : at + 1]
    if byte == closer:
        return at
    at = _skip(data, at + 1)
    if byte != b"," or data[at : at + 1] == closer:
        raise Malformed("neither comma nor bracket", at)
    return at


def _open(data: bytes, at: int, byte: bytes) -> tuple[int, int]:
    """Step into a container: where its first value begins and what will close it, or 0 when it is empty."""
    closer = 0x7D if byte == b"{" else 0x5D
    at = _skip(data, at + 1)
    if data[at : at + 1] == bytes([closer]):
        return at + 1, 0
    if closer == 0x7D:
        at = _colon(data, _string(data, at))
    return at, closer


def _close(data: bytes, at: int, closers: list[int]) -> tuple[int, bool]:
    """Behind a value: close what closes here; True when the outermost value is done."""
    while closers:
        at = _skip(data, at)
        byte = data[at] if at < len(data) else 0
        if byte == closers[-1]:
            closers.pop()
            at += 1
            continue
        if byte != 0x2C:
            raise Malformed("neither comma nor bracket", at)
        at = _skip(data, at + 1)
        return (_colon(data, _string(data, at)) if closers[-1] == 0x7D else at), False
    return at, True
