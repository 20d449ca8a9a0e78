"""Where the elements of a JSON array stand that may be cut or damaged anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from stenograph import jsonio

Span: TypeAlias = tuple[int, int]

_BOM = b"\xef\xbb\xbf"
_SPACE = re.compile(rb"[ \t\n\r]*")
_UNENDED = re.compile(rb'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+\\?|[a-z]{0,4}|-?[0-9.eE+-]*')


class Shape(NamedTuple):
    """How an element is known again behind damage: what it opens with, and whether a whole value is one."""

    opening: re.Pattern[bytes] = re.compile(rb'\{[ \t\n\r]*"')
    fits: Callable[[bytes], bool] = lambda _: False


ANY = Shape()
"""Any object: found again only where everything behind it is whole to the array's end."""


class Scan(NamedTuple):
    """Where an array's elements stand; those from index `whole` on were found behind the damage."""

    spans: list[Span]
    whole: int
    error: str | None


def scan(data: bytes, *, shape: Shape = ANY) -> Scan:
    """Find the elements of an array that may be cut or damaged anywhere; never raises, linear in its size."""
    start = skip_space(data, len(_BOM) if data.startswith(_BOM) else 0)
    if start == len(data):
        return Scan([], 0, "empty: no JSON in it")
    if data[start : start + 1] != b"[":
        return _scan_headless(data, start, shape)
    first = skip_space(data, start + 1)
    run = _Run([], first + 1, closed=True) if data[first : first + 1] == b"]" else _run(data, first)
    if not run.closed:
        found = _salvage(data, _resume(data, first, run.end, shape), shape)
        return Scan(run.spans + found, len(run.spans), _damage(data, run.end, len(found)))
    behind = skip_space(data, run.end)
    tail = f"{len(data) - behind} bytes behind the end of the array at byte {run.end}"
    return Scan(run.spans, len(run.spans), tail if behind < len(data) else None)


class _Run(NamedTuple):
    """Values that follow each other with commas; `end` is behind the closing bracket, else at the fault."""

    spans: list[Span]
    end: int
    closed: bool


def _run(data: bytes, at: int) -> _Run:
    spans: list[Span] = []
    while True:
        try:
            end = jsonio.skim(data, at)
        except jsonio.Malformed as fault:
            return _Run(spans, fault.at, closed=False)
        behind = skip_space(data, end)
        byte = data[behind : behind + 1]
        if not byte and data[end - 1 : end].isdigit():
            return _Run(spans, at, closed=False)
        if byte in (b",", b"]", b"") or data[end - 1 : end] in (b"}", b"]"):
            spans.append((at, end))
        if byte != b",":
            return _Run(spans, behind + (byte == b"]"), closed=byte == b"]")
        at = skip_space(data, behind + 1)


def _scan_headless(data: bytes, at: int, shape: Shape) -> Scan:
    """A text that is no array: nothing of a whole value, else what can be known again."""
    try:
        whole = skip_space(data, jsonio.skim(data, at)) == len(data)
    except jsonio.Malformed:
        whole = False
    found = [] if whole else _salvage(data, at, shape)
    return Scan(found, 0, f"not an array; {len(found)} elements recovered" if found else "not an array")


def _salvage(data: bytes, at: int, shape: Shape) -> list[Span]:
    """Elements behind damage: a run that reaches the array's end as it is, of other runs what fits."""
    found: list[Span] = []
    while match := shape.opening.search(data, at):
        start = match.start()
        run = _run(data, start)
        if run.closed and skip_space(data, run.end) == len(data):
            return found + run.spans
        found += [span for span in run.spans if shape.fits(data[span[0] : span[1]])]
        at = run.end if run.closed else _resume(data, start + 1, run.end, shape)
    return found


def _resume(data: bytes, after: int, fault: int, shape: Shape) -> int:
    """Where to look on behind a fault.

    A string that lost its end runs on to the first quote of the next object: that object's brace is the
    last one before the fault.
    """
    brace = data.rfind(b"{", after, fault)
    match = shape.opening.match(data, brace) if brace >= 0 else None
    return brace if match and skip_space(data, match.end()) >= fault else fault


def _damage(data: bytes, at: int, recovered: int) -> str:
    if not recovered and _UNENDED.fullmatch(data, at):
        return f"cut short at byte {len(data)}"
    return f"damaged at byte {at}; {recovered} later elements recovered"


def skip_space(data: bytes | memoryview, at: int) -> int:
    """The first byte from `at` on that is no white space."""
    found = _SPACE.match(data, at)
    return found.end() if found else at
