"""What a damaged line still holds: marks and escapes around a record, glued, torn and split records.

Every function takes bytes and returns what it found, or None; counting is the caller's.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from stenograph import jsonio

BOM = b"\xef\xbb\xbf"

_ANSI = rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])"
_BEFORE = re.compile(rb"(?:\s*+" + _ANSI + rb")++\s*+")  # possessive, or each sequence takes stack
_ONE = re.compile(_ANSI)
_LONGEST = 64  # bytes of a sequence looked for at a line's end
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_QUOTE_OR_BRACE = re.compile(rb'["{}]')
_OPENING = re.compile(rb'\{\s*"')
_OPENINGS = 3  # objects in a log prefix that are looked at, to keep long lines linear
_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"[^\W\d_]+")


class Behind(NamedTuple):
    """The objects at a line's end, as bytes and value, and where the first of them begins."""

    start: int
    objects: list[tuple[bytes, Any]]


def without_escapes(data: bytes) -> bytes:
    """The line without the terminal sequences in front of it and behind it."""
    if b"\x1b" not in data:
        return data
    found = _BEFORE.match(data)
    end = len(data)
    while True:
        tail = data.rfind(b"\x1b", max(0, end - _LONGEST), end)
        if tail < 0 or not _ONE.fullmatch(data, tail, end):
            break
        end = tail
        while end and data[end - 1] in b" \t\r":
            end -= 1
    return data[found.end() if found else 0 : end]


def with_escapes(data: bytes) -> bytes | None:
    """The text with the raw control characters inside its strings escaped; None when there are none."""
    if not _CONTROL.search(data):
        return None
    fixed = _STRING.sub(lambda found: _escaped_controls(found[0]), data)
    return None if fixed == data else fixed


def _escaped_controls(string: bytes) -> bytes:
    """By `replace`, for a match object for each would take hundreds of bytes for one."""
    if _CONTROL.search(string):
        for code in range(0x20):
            string = string.replace(bytes([code]), b"\\u%04x" % code)
    return string


def leading(data: bytes) -> tuple[list[bytes], bytes]:
    """The whole objects at the front of a line, and what stands behind them."""
    whole: list[bytes] = []
    at = 0
    while data[at : at + 1] == b"{":
        try:
            end = jsonio.skim(data, at)
        except ValueError:
            break
        whole.append(data[at:end])
        at = end + len(data[end : end + 64]) - len(data[end : end + 64].lstrip())
    return whole, data[at:]


def ending(data: bytes) -> int | None:
    """Where the object begins that ends with the line: one pass backward over quotes and braces."""
    if not data.endswith(b"}"):
        return None
    depth = 0
    inside = False
    for found in reversed(_marks(data)):
        byte = data[found]
        if byte == 0x22:
            inside = not inside
        elif not inside:
            depth += 1 if byte == 0x7D else -1
            if depth == 0:
                return found
    return None


def behind(data: bytes) -> Behind | None:
    """The object that ends with the line, or the records that do, glued together; None when none does."""
    last = ending(data)
    value = None if last is None else attempt(data[last:])
    if last is None or not isinstance(value, dict):
        return None
    if data[:last].rstrip().endswith(b"}"):
        for opening in itertools.islice(_OPENING.finditer(data, 0, last), _OPENINGS):
            whole, rest = leading(data[opening.start() :])
            objects = [(piece, attempt(piece)) for piece in whole]
            if not rest and all(is_record(each) for _, each in objects):
                return Behind(opening.start(), objects)
    return Behind(last, [(data[last:], value)])


def _marks(data: bytes) -> list[int]:
    """The places of braces and of quotes that no backslash escapes."""
    return [
        found.start()
        for found in _QUOTE_OR_BRACE.finditer(data)
        if found[0] != b'"' or not _escaped(data, found.start())
    ]


def _escaped(data: bytes, at: int) -> bool:
    start = at
    while start and data[start - 1] == 0x5C:
        start -= 1
    return (at - start) % 2 == 1


def is_record(value: Any) -> bool:
    """Whether a JSON value is an object with a string `type`."""
    return isinstance(value, dict) and isinstance(value.get("type"), str)


def is_own(value: Any, types: Iterable[str], marks: Iterable[Mapping[str, bool]]) -> bool:
    """Whether it is a record of the format: a top-level `type`, and the members such a record always has.

    Each of `marks` maps member names to whether they must be there (True) or must not (False).
    """
    if not is_record(value) or value["type"] not in types:
        return False
    return any(all((name in value) is wanted for name, wanted in mark.items()) for mark in marks)


def prefix_shape(prefix: bytes) -> str:
    """A log prefix with each run of digits and each run of letters taken as one."""
    text = _DIGITS.sub("0", prefix.decode("utf-8", "replace"))
    return _LETTERS.sub("a", text)


def attempt(data: bytes) -> Any:
    """The JSON value of a text, or None; null is None as well."""
    try:
        return jsonio.loads(data)
    except ValueError:
        return None
