"""The base of every stream reader: bytes in, entries out, each stamped with its place.

A reader says what records mean and nothing else: one method for each kind, marked `@on("kind")`, that
yields entries. What no method takes becomes `Unread`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec

from stenograph import jsonio, repair
from stenograph.framing import WHITE_SPACE, Lines
from stenograph.model import NOWHERE, Entry, Unread, Warned
from stenograph.notes import Report
from stenograph.projection import Projection
from stenograph.records import Dialect, Records, Unit

Channel: TypeAlias = Literal["stdout", "stderr"]
Handler: TypeAlias = Callable[[Any, dict[str, Any]], Iterable[Entry]]

_TYPE = re.compile(rb'\{"type":"([a-z_]+)"')


def on(*kinds: str) -> Callable[[Handler], Handler]:
    """Mark the method that reads records of these kinds."""

    def mark(handler: Handler) -> Handler:
        handler.__dict__["kinds"] = kinds
        return handler

    return mark


class Reader:
    """Reads one stream of one agent; a subclass states the dialect and a method for each kind of record."""

    agent: ClassVar[str]
    command: ClassVar[str]
    projection: ClassVar[type[Projection]] = Projection
    dialect: ClassVar[Dialect] = Dialect()
    shapes: ClassVar[Mapping[bytes, msgspec.json.Decoder[Any]]] = {}
    """By record type: decoders that leave bulky members as `Raw`. Only for speed: they change no result."""

    _handlers: ClassVar[dict[str, Handler]] = {}

    def __init_subclass__(cls) -> None:
        methods = {name: method for base in reversed(cls.__mro__) for name, method in vars(base).items()}
        cls._handlers = {kind: method for method in methods.values() for kind in getattr(method, "kinds", ())}

    def __init__(self) -> None:
        self.report = Report()
        self.session_id: str | None = None
        self.now = ""  # the time at which what is fed was observed
        self.unit = Unit(b"", None, False, 0, 0, 0)  # the one being read
        self._records = Records(self.decode, self.dialect, self.report)
        self._errors = Lines()

    def feed(self, data: bytes, channel: Channel = "stdout") -> Iterator[Entry]:
        """The entries of the records that `data` completes."""
        if channel == "stderr":
            for line in self._errors.feed(data):
                yield from self._error_line(line.data, line.number, line.offset, line.length)
            return
        for unit in self._records.feed(data):
            yield from self._entries(unit)

    def flush(self) -> Iterator[Entry]:
        """The entries of what is left at the end of both channels."""
        for unit in self._records.flush():
            yield from self._entries(unit)
        yield from self.release()
        for line in self._errors.flush():
            yield from self._error_line(line.data, line.number, line.offset, line.length)

    def release(self) -> Iterator[Entry]:
        """The entries that wait for what may follow them; an unfinished line is kept."""
        for unit in self._records.release():
            yield from self._entries(unit)

    def decode(self, data: bytes) -> Any:
        """One line's JSON value, without its bulky members where the record's type has a shape."""
        found = _TYPE.match(data)
        shape = self.shapes.get(found[1]) if found else None
        if found and shape:
            try:
                value = shape.decode(data)
                if not data.isascii():
                    data.decode()
                if value["type"] == found[1].decode():  # a repeated name: the last one counts
                    return value
            except (ValueError, RecursionError):
                pass
        return jsonio.loads_fast(data)

    @classmethod
    def score(cls, record: dict[str, Any]) -> int:
        """How surely a record is of this format: 0 no, 1 its type is one of ours, more by its members."""
        return int(repair.is_own(record, *cls.dialect))

    def kind(self, record: dict[str, Any]) -> str:
        """By what a record is routed; its `type` unless the format says otherwise."""
        kind = record.get("type")
        return kind if isinstance(kind, str) else ""

    def time(self, record: dict[str, Any]) -> str | None:
        """The time that a record tells of itself, RFC 3339, or None."""
        return None

    def begin(self, record: dict[str, Any]) -> None:
        """Look at a record before its own method does: the session's id, for most formats."""

    def error_line(self, text: str) -> str | None:
        """The message that a line of standard error stands for; None when it is known noise."""
        return text

    def unread(self, data: bytes | None = None) -> Unread:
        """What was not understood: the whole record, or the part of it that is given."""
        text = self.unit.data if data is None else data
        return Unread(raw=msgspec.Raw(jsonio.compact(text)), thread=NOWHERE)

    def full(self) -> Any:
        """The record being read with all its members, where a shape left some out."""
        return jsonio.loads(self.unit.data)

    def _entries(self, unit: Unit) -> Iterator[Entry]:
        self.unit = unit
        record = unit.value
        if not unit.is_json:
            text = unit.data.decode("utf-8", "replace")
            yield self.placed(Warned(message=text, channel="stdout"), None)
        elif type(record) is not dict:
            yield self.placed(self.unread(), None, is_object=False)
        else:
            self.begin(record)
            at = self.time(record)
            handler = self._handlers.get(self.kind(record))
            for entry in handler(self, record) if handler else self.other(record):
                yield self.placed(entry, at)

    def other(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A record of no known kind."""
        return (self.unread(),)

    def placed(self, entry: Entry, at: str | None, *, is_object: bool = True) -> Entry:
        """Give an entry its time and place, unless it was held and has them already."""
        if entry.line:
            return entry
        entry.seen, entry.at = self.now, at
        entry.line, entry.offset, entry.length = self.unit.number, self.unit.offset, self.unit.length
        entry.from_object = is_object and self.unit.is_json
        return entry

    def _error_line(self, data: bytes, number: int, offset: int, length: int) -> Iterator[Entry]:
        text = data.decode("utf-8", "replace").strip(WHITE_SPACE)
        message = self.error_line(text) if text else None
        if message is not None:
            entry = Warned(message=message, channel="stderr", seen=self.now)
            entry.line, entry.offset, entry.length = number, offset, length
            yield entry
