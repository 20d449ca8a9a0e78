"""The base of every stream reader: bytes in, entries out, each stamped with its place.

A reader says what records mean and nothing else: one method for each kind, marked `@on("kind")`, that
yields entries. What no method takes becomes `Unread`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal, Self, TypeAlias

import msgspec
from msgspec.structs import replace

from stenograph import jsonio
from stenograph.errors import Place
from stenograph.framing import WHITE_SPACE, Line, Lines
from stenograph.meter import DAMAGED, Meter
from stenograph.model import NO_PART, NOWHERE, UNPLACED, Entry, Part, Unread, Warned, Where
from stenograph.notes import Kind, Report
from stenograph.projection import Projection
from stenograph.records import Dialect, Records, Unit

Channel: TypeAlias = Literal["stdout", "stderr"]
Handler: TypeAlias = Callable[[Any, dict[str, Any]], Iterable[Entry]]


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
    meters: ClassVar[type[Meter]] = Meter
    shapes: ClassVar[Mapping[bytes, msgspec.json.Decoder[Any]]] = {}
    """By record type: decoders that leave bulky members out. Only for speed: they change no result.

    A decoder must refuse records of any other type, and of none.
    """

    _handlers: ClassVar[dict[str, Handler]] = {}
    _clocked: ClassVar[frozenset[str]] = frozenset()  # the kinds whose time the meter wants
    _by_type: ClassVar[bool] = True  # `kind` is the one below

    def __init_subclass__(cls) -> None:
        methods = {name: method for base in reversed(cls.__mro__) for name, method in vars(base).items()}
        cls._by_type = cls.kind is Reader.kind
        clocked = cls.meters.reads if cls.meters.clocked is None else cls.meters.clocked
        cls._clocked = frozenset() if cls.time is Reader.time else clocked
        cls._handlers = {kind: method for method in methods.values() for kind in getattr(method, "kinds", ())}

    def __init__(self) -> None:
        self.report = Report()
        self.is_full = False
        self.session_id: str | None = None
        self.timed = True  # whether anybody asks for the times that records tell of themselves
        self.now = ""  # the time at which what is fed was observed
        self.unit = Unit(b"", None, False, UNPLACED)  # the one being read
        self.meter = self.meters(self.agent)
        self._records = Records(self.dialect.is_own, self.report)
        self._records.shapes = {kind: shape.decode for kind, shape in self.shapes.items()}
        self._errors = Lines()

    def in_full(self) -> Self:
        """From now on give every entry its `source`, and leave no member out for speed."""
        self.is_full = True
        self._records.shapes = {}
        return self

    def feed(self, data: bytes, channel: Channel = "stdout") -> Iterator[Entry]:
        """The entries of the records that `data` completes."""
        if channel == "stderr":
            return self._error_lines(self._errors.feed(data))
        return self._entries(self._records.feed(data))

    def flush(self) -> Iterator[Entry]:
        """The entries of what is left at the end of both channels."""
        yield from self._entries(self._records.flush())
        yield from self.release()
        yield from self._error_lines(self._errors.flush())

    def release(self) -> Iterator[Entry]:
        """The entries that wait for what may follow them; an unfinished line is kept."""
        return self._entries(self._records.release())

    @classmethod
    def score(cls, record: dict[str, Any]) -> int:
        """How surely a record is of this format: 0 no, 1 its type is one of ours, more by its members."""
        return int(cls.dialect.is_own(record))

    def kind(self, record: dict[str, Any]) -> str:
        """By what a record is routed; its `type` unless the format says otherwise."""
        kind = record.get("type")
        return kind if isinstance(kind, str) else self.untyped(record)

    def untyped(self, record: dict[str, Any]) -> str:
        """The kind of a record whose `type` is none."""
        return ""

    def time(self, record: dict[str, Any]) -> str | None:
        """The time that a record tells of itself, RFC 3339, or None."""
        return None

    def begin(self, record: dict[str, Any]) -> None:
        """Look for the session's id in a record, before its own method reads it, until one is found."""

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

    def _entries(self, units: Iterable[Unit]) -> Iterator[Entry]:
        self._records.now = self.now
        handlers, metered, timed, by_type = self._handlers, self.meter.reads, self.timed, self._by_type
        other: Handler = type(self).other
        for unit in units:
            self.unit = unit
            record = unit.value
            if type(record) is not dict:
                yield self._odd_one(unit)
                continue
            if self.session_id is None:
                self.begin(record)
            kind = record.get("type")
            if by_type is False or type(kind) is not str:
                kind = self.kind(record)
            if kind in metered:
                self.measure(kind, record)
            place = self.place(record) if timed else unit.place
            told = handlers.get(kind, other)(self, record)
            for entry in self._in_full(told, record) if self.is_full else told:
                if entry.place is UNPLACED:  # else a reader has held it
                    entry.place = place
                yield entry

    def _in_full(self, told: Iterable[Entry], record: dict[str, Any]) -> Iterator[Entry]:
        """Each entry with the part of the record that it stands in; a record without any is counted."""
        silent = True
        for entry in told:
            if entry.place is UNPLACED:
                silent = False
                if entry.source is NO_PART:
                    entry.source = Part(self.unit.data)
            yield entry
        if silent:
            self._silent(record)

    def _silent(self, record: dict[str, Any]) -> None:
        """Count a record that tells nothing which other records do not tell."""
        where = Place(None, self.unit.place.offset, self.unit.place.line)
        self.report.add(Kind.DROPPED, "silent-record", where, self.kind(record))

    def measure(self, kind: str, record: dict[str, Any]) -> None:
        """Let the meter look at a record of a kind that it reads."""
        meter = self.meter
        if kind in self._clocked:
            meter.at = self.time(record) or meter.at
        meter.take(kind, record)

    def _odd_one(self, unit: Unit) -> Entry:
        """A line of text, or JSON that is no object."""
        text = unit.data.decode("utf-8", "replace")
        entry: Unread | Warned = Warned(message=text, channel="stdout")
        if unit.is_json:
            entry = self.unread()
            entry.line = text
        elif unit.data.startswith(b"{"):
            self.meter.gap(DAMAGED)
        entry.place = replace(unit.place, is_object=False)
        if self.is_full and unit.is_json:
            entry.source = Part(unit.data)
        return entry

    def place(self, record: dict[str, Any]) -> Where:
        """When and where the record being read was told."""
        at = self.time(record) if self.timed else None
        return self.unit.place if at is None else replace(self.unit.place, at=at)

    def other(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A record of no known kind."""
        return (self.unread(),)

    def _error_lines(self, lines: Iterable[Line]) -> Iterator[Entry]:
        for line in lines:
            text = line.data.decode("utf-8", "replace").strip(WHITE_SPACE)
            message = self.error_line(text) if text else None
            if message is not None:
                place = Where(self.now, None, line.number, line.offset, line.length, False)
                yield Warned(message=message, channel="stderr", place=place)
