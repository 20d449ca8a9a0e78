"""Lines to records: one JSON object a line, and what is left of them when a line was damaged.

The usual line is decoded and passed on; `_in_turn` names the states that a damaged stream can be in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from stenograph import jsonio, repair
from stenograph.errors import Place
from stenograph.framing import WHITE_SPACE, Line, Lines
from stenograph.model import Where
from stenograph.notes import Kind, Report

_TOKEN = re.compile(
    rb"[ \t\r\n]+|[\[\]{},:]|"
    rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"|[-+0-9.eE]+|true|false|null'
)
OPENING = b'{"type":"'
"""How a record begins whose type comes first."""
LONGEST = 40
"""Bytes within which such a type ends."""
_TYPE = len(OPENING)
_PROBES = 3  # lines that must agree before a log prefix is believed
_SEVERITY = {
    "byte-order-mark": Kind.CHANGED,
    "utf-16": Kind.CHANGED,
    "terminal-escapes": Kind.CHANGED,
    "array": Kind.CHANGED,
    "log-prefix": Kind.CHANGED,
    "text-line": Kind.UNREAD,
}


class Unit(msgspec.Struct, frozen=True):
    """One piece of a stream: JSON (`value` is set) or a text that is none, with the place it came from.

    `data` is the unit's own text as UTF-8, repaired where need was.
    """

    data: bytes
    value: Any
    is_json: bool
    place: Where


class _Element(NamedTuple):
    """An array's element, and where on the line it stands (-1: it began on another)."""

    data: bytes
    value: Any
    start: int
    length: int


class _Prefixed(NamedTuple):
    """A line without its surroundings, the shape of its log prefix, and the records behind that."""

    line: Line
    text: bytes
    shape: str
    units: list[Unit]


class Dialect(NamedTuple):
    """How a format's records are known: their top-level types, and members that they always have."""

    types: frozenset[str] = frozenset()
    marks: tuple[Mapping[str, bool], ...] = ()

    def is_own(self, value: Any) -> bool:
        """Whether a JSON value is a record of the format."""
        return repair.is_own(value, *self)


class Records:
    """One channel's bytes to units, repairs counted in `report`."""

    def __init__(self, is_own: Callable[[Any], bool], report: Report) -> None:
        self.shapes: Mapping[bytes, Callable[[bytes], Any]] = {}  # decoders by record type, only for speed
        self._is_own = is_own  # whether a value is a record of the format
        self._report = report
        self.now = ""  # the time at which what is fed was observed
        self._lines = Lines()
        self._usual = False  # a value has come, and nothing is held
        self._begun = False  # a JSON value has come
        self._seen = False  # a line that is not empty has come
        self._front: Line | None = None  # what stood ahead of a record written into its middle
        self._array: _Array | None = None
        self._opening: list[Line] = []  # lines of an array whose first element is not whole yet
        self._probed: list[_Prefixed] = []  # lines that may have a log prefix
        self._prefix: str | None = None

    def feed(self, data: bytes) -> Iterator[Unit]:
        """The units that `data` completes."""
        shapes, now = self.shapes, self.now
        for line in self._lines.feed(data):
            text = line.data.strip()
            if self._usual:
                decode = shapes.get(text[_TYPE : text.find(b'"', _TYPE, LONGEST)], jsonio.loads_fast)
                try:
                    value = decode(text)
                except (ValueError, RecursionError):
                    value = None if decode is jsonio.loads_fast else _loads(text)
                if not text.isascii() and decode is not jsonio.loads_fast and type(value) is dict:
                    self._check_utf8(line, text)  # no shape looks into what it skips
                if type(value) is dict and text is line.data:
                    yield Unit(text, value, True, Where(now, None, line.number, line.offset, line.length))
                    continue
                if type(value) is dict:
                    yield self._unit(line, text, value)
                    continue
            yield from self._unusual(line)

    def flush(self) -> Iterator[Unit]:
        """What is left at the end: the last line, and whatever waited for another."""
        for line in self._lines.flush():
            yield from self._unusual(line)
        yield from self._give_up()

    def release(self) -> Iterator[Unit]:
        """The front of a torn record, when its rest is no longer waited for."""
        if self._front:
            front, self._front = self._front, None
            yield self._text(front, _strip(front.data), code="torn-record")

    def _unusual(self, line: Line) -> Iterator[Unit]:
        if self._lines.encoding and not self._seen:
            self._note("utf-16", line)
        text = _strip(line.data)
        if not text:
            return
        yield from self._in_turn(line, text)
        self._usual = self._begun and not (self._front or self._array or self._probed or self._prefix)

    def _in_turn(self, line: Line, text: bytes, *, arrays: bool = True) -> Iterator[Unit]:
        """A line by the state that those before it have left."""
        if self._front:
            yield from self._rejoin(self._front, line)
        elif self._array:
            yield from self._in_array(self._array, line, text)
        elif self._prefix is not None or self._probed:
            yield from self._prefixed(line, self._bare(line, text))
        else:
            yield from self._plain(line, text, arrays=arrays)
        self._seen = True

    def _plain(self, line: Line, text: bytes, *, arrays: bool = True) -> Iterator[Unit]:
        found = self._one(line, text)
        if found is None:
            text = self._bare(line, text)
            found = self._one(line, text) or self._escaped(line, text)
        if found is not None:
            first, self._begun = not self._begun, True
            yield from self._holding(line, found) if first and type(found.value) is list else (found,)
        elif arrays and not self._begun and text.startswith(b"["):
            self._array = _Array()
            yield from self._in_array(self._array, line, text)
        elif not self._seen and (probe := self._probe(line, text)):
            self._probed.append(probe)
        else:
            yield from self._broken(line, text)

    def _one(self, line: Line, text: bytes) -> Unit | None:
        value = _loads(text)
        if value is not None:
            return self._unit(line, text, value)
        try:
            value = jsonio.loads(text)
        except ValueError:
            return None
        if not text.isascii():
            self._check_utf8(line, text)
        return self._unit(line, text, value)

    def _check_utf8(self, line: Line, text: bytes) -> None:
        try:
            text.decode()
        except UnicodeDecodeError:
            self._note("invalid-utf-8", line)

    def _bare(self, line: Line, text: bytes) -> bytes:
        """The text without a byte-order mark and without terminal sequences around it."""
        if text.startswith(repair.BOM):
            self._note("byte-order-mark", line)
            text = _strip(text[len(repair.BOM) :])
        plain = _strip(repair.without_escapes(text))
        if plain != text:
            self._note("terminal-escapes", line)
        return plain

    def _escaped(self, line: Line, text: bytes) -> Unit | None:
        fixed = repair.with_escapes(text)
        found = self._one(line, fixed) if fixed else None
        if found:
            self._note("control-characters", line)
        return found

    def _broken(self, line: Line, text: bytes) -> Iterator[Unit]:
        """A line that is not one value: records glued to one another, a torn one, or plain text."""
        whole, rest = repair.leading(text)
        values = [jsonio.loads(piece) for piece in whole]
        if not whole or not all(map(repair.is_record, values)) or not (rest == b"" or rest[:1] == b"{"):
            whole, values, rest = [], [], text
        if whole:
            self._begun = True
            yield from self._row(line, line.data.rfind(text), zip(whole, values, strict=True))
            self._note("glued-records", line)
        if rest:
            yield from self._torn(line, rest)

    def _torn(self, line: Line, text: bytes) -> Iterator[Unit]:
        start = repair.ending(text) if text.startswith(b"{") else None
        value = repair.attempt(text[start:]) if start else None
        if start and self._is_own(value):
            self._front = replace(line, data=text[:start])
            self._begun = True
            yield self._unit(line, text[start:], value)
        else:
            yield self._text(line, text)

    def _rejoin(self, front: Line, line: Line) -> Iterator[Unit]:
        """The front of a record that another was written into, and the line that may hold its rest."""
        self._front = None
        joined = _strip(front.data + line.data)
        value = repair.attempt(joined)
        if self._is_own(value):
            self._note("split-record", front)
            yield self._unit(line, joined, value)
            return
        yield self._text(front, _strip(front.data), code="torn-record")
        yield from self._plain(line, _strip(line.data))

    def _holding(self, line: Line, found: Unit) -> Iterator[Unit]:
        """The elements of a whole array, when it holds the records."""
        if not found.value or not repair.is_record(found.value[0]):
            yield found
            return
        self._note("array", replace(line, offset=found.place.offset, data=found.data))
        elements = zip(jsonio.elements(found.data), found.value, strict=True)
        for unit in self._row(line, line.data.rfind(found.data), elements):
            yield replace(unit, data=jsonio.compact(unit.data))

    def _in_array(self, array: _Array, line: Line, text: bytes) -> Iterator[Unit]:
        if not self._begun:
            self._opening.append(replace(line, data=text))
        lead = line.data.rfind(text)
        units = [self._element(line, lead, element) for element in array.feed(line, text)]
        if not self._begun and units:
            if not repair.is_record(units[0].value):
                yield from self._not_an_array()
                return
            self._begun, self._opening = True, []
            self._note("array", line)
        if not self._begun and array.over is not None:
            yield from self._not_an_array()
            return
        yield from units
        if array.over is not None:
            self._array = None
            yield from self._cut(array.rest)
            yield from self._plain(line, array.over) if array.over else ()

    def _not_an_array(self) -> Iterator[Unit]:
        """The first element is no record: the lines held for it are lines like any other."""
        lines, self._opening, self._array = self._opening, [], None
        for line in lines:
            yield from self._in_turn(line, line.data, arrays=False)

    def _cut(self, rest: Iterable[Line]) -> Iterator[Unit]:
        for line in rest:
            yield self._text(line, _strip(line.data), code="cut-array")

    def _probe(self, line: Line, text: bytes) -> _Prefixed | None:
        """The records behind something that may be a log prefix."""
        found = None if text.startswith(b"{") else repair.behind(text)
        if found is None or not all(repair.is_record(value) for _, value in found.objects):
            return None
        return self._prefixed_by(line, text, found)

    def _prefixed(self, line: Line, text: bytes) -> Iterator[Unit]:
        if self._prefix is not None:
            yield from self._without_prefix(line, text, self._prefix)
            return
        probe = self._probe(line, text)
        if probe is None or probe.shape != self._probed[0].shape:
            yield from self._no_prefix()
            yield from self._plain(line, text)
            return
        self._probed.append(probe)
        if len(self._probed) == _PROBES:
            probed, self._probed = self._probed, []
            self._prefix, self._begun = probe.shape, True
            self._note("log-prefix", probed[0].line)
            for known in probed:
                yield from self._glued(known)

    def _without_prefix(self, line: Line, text: bytes, shape: str) -> Iterator[Unit]:
        found = repair.behind(text)
        known = self._prefixed_by(line, text, found) if found else None
        if known and known.shape == shape:
            yield from self._glued(known)
        else:
            yield self._text(line, text)

    def _glued(self, found: _Prefixed) -> Iterator[Unit]:
        if len(found.units) > 1:
            self._note("glued-records", found.line)
        yield from found.units

    def _no_prefix(self) -> Iterator[Unit]:
        probed, self._probed, self._seen = self._probed, [], True
        for probe in probed:
            yield from self._plain(probe.line, probe.text)

    def _give_up(self) -> Iterator[Unit]:
        yield from self.release()
        if self._probed:
            yield from self._no_prefix()
        if self._array:
            array, self._array = self._array, None
            yield from self._cut(array.rest if self._begun else self._opening)
            self._opening = []

    def _text(self, line: Line, text: bytes, *, code: str = "text-line") -> Unit:
        self._note(code, replace(line, data=text))
        return Unit(text, None, False, self._where(line))

    def _unit(self, line: Line, text: bytes, value: Any) -> Unit:
        """The end of a line with its own place, or the line's where it was repaired."""
        lead = line.data.rfind(text) if len(text) < len(line.data) else -1
        return Unit(text, value, True, self._where(line, lead, len(text)))

    def _row(self, line: Line, at: int, pieces: Iterable[tuple[bytes, Any]]) -> Iterator[Unit]:
        """Pieces that stand behind one another, from `at` on, each with its own place."""
        for piece, value in pieces:
            at = line.data.find(piece, at) if at >= 0 else -1
            yield Unit(piece, value, True, self._where(line, at, len(piece)))
            at += len(piece) if at >= 0 else 0

    def _element(self, line: Line, lead: int, element: _Element) -> Unit:
        """An array's element with its own place, or the line's where it began on another."""
        start = lead + element.start if lead >= 0 <= element.start else -1
        return Unit(element.data, element.value, True, self._where(line, start, element.length))

    def _prefixed_by(self, line: Line, text: bytes, found: repair.Behind) -> _Prefixed:
        lead = line.data.rfind(text)
        units = list(self._row(line, lead + found.start if lead >= 0 else -1, found.objects))
        return _Prefixed(line, text, repair.prefix_shape(text[: found.start]), units)

    def _where(self, line: Line, lead: int = -1, length: int = 0) -> Where:
        """The place of a line, or of a part of it where that is known; UTF-16's parts are not."""
        if lead < 0 or len(line.data) != line.length:
            return Where(self.now, None, line.number, line.offset, line.length)
        return Where(self.now, None, line.number, line.offset + lead, length)

    def _note(self, code: str, line: Line) -> None:
        where = Place(None, line.offset, line.number)
        example = line.data[:200].decode("utf-8", "replace")
        self._report.add(_SEVERITY.get(code, Kind.DAMAGED), code, where, example)


class _Array:
    """The elements of an array spread over lines, each as soon as it is whole.

    `over` is set when the array has ended or is broken: what stands behind it on the line. `rest` holds
    the lines of an element that is not whole.
    """

    def __init__(self) -> None:
        self.over: bytes | None = None
        self.rest: list[Line] = []
        self._depth = 0

    def feed(self, line: Line, text: bytes) -> list[_Element]:
        """The elements that end in a line."""
        whole: list[_Element] = []
        at = start = 0
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None:
                self.over = text[start:]
                return whole
            at, begun = token.end(), self._depth
            self._depth += (token[0] in (b"[", b"{")) - (token[0] in (b"]", b"}"))
            if begun == 0:
                start = at
            elif self._depth == 0 or (self._depth == 1 and (token[0] == b"," or begun == 2)):
                end = at if begun == 2 else token.start()
                if not self._element(text[start:end], start, whole):
                    self.over = text[start:]
                    return whole
                start = at
            if self._depth == 0:
                self.over = text[at:].strip()
                return whole
        if text[start:].strip():
            self.rest.append(replace(line, data=text[start:]))
        return whole

    def _element(self, tail: bytes, start: int, whole: list[_Element]) -> bool:
        """Take what has come since the last element; nothing at all stands behind a closing brace."""
        data = b"\n".join([part.data for part in self.rest] + [tail]).strip()
        if not data:
            return True
        try:
            value = jsonio.loads(data)
        except ValueError:
            return False
        start = -1 if self.rest else start + len(tail) - len(tail.lstrip())
        self.rest = []
        whole.append(_Element(jsonio.compact(data), value, start, len(data)))
        return True


def _loads(data: bytes) -> Any:
    """The value of what the fast decoder takes; None for anything else, and for null."""
    try:
        return jsonio.loads_fast(data)
    except (ValueError, RecursionError):
        return None


def _strip(data: bytes) -> bytes:
    """Without Unicode white space at both ends."""
    text = data.strip()
    if text[:1] < b"\x80" and text[-1:] < b"\x80":
        return text
    return text.decode("utf-8", "surrogateescape").strip(WHITE_SPACE).encode("utf-8", "surrogateescape")
