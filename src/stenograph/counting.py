"""One call from a source to what it took, which decodes no more of the records than that needs."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, tzinfo
from itertools import chain
from typing import Any, TypedDict

from stenograph import jsonio
from stenograph.event import Tokens
from stenograph.meter import DAMAGED, Account, Counts, Meter
from stenograph.model import Ended, Session, Spent
from stenograph.notes import Report
from stenograph.records import LONGEST, OPENING, Records, Unit
from stenograph.registry import stream
from stenograph.streams import Source, is_stored, pieces, recognized


class _Consumed(TypedDict, total=False):
    """A record that tells no usage."""

    type: str


_consumed: Callable[[memoryview], Any] = jsonio.decoder(_Consumed).decode
_CONSUMED: dict[str, Any] = {}  # stands for a record that tells no usage


def usage(source: Source, *, format: str = "auto", zone: tzinfo | None = UTC) -> Account:  # noqa: A002 - users' word
    """What a recorded run took: tokens, reported cost and turns by session, model and day.

    `source` is as in `events`, a stored session's path among it; days begin and end in `zone` (None: the
    machine's own). The rows' `gaps` name what is missing. Raises UnknownFormat, NotRecognized, ReadError.
    """
    if isinstance(source, str | os.PathLike) and is_stored(os.fspath(source), format=format):
        from stenograph.stores import read

        return of_session(read(source, format=format), zone=zone)
    parts = pieces(source)
    head: list[bytes] = []
    known = recognized(parts, head) if format == "auto" else format
    counter = Counter(known, zone=zone)
    for part in chain(head, parts):
        counter.feed(part)
    return counter.close()


def of_session(session: Session, *, zone: tzinfo | None = UTC) -> Account:
    """What a stored session took; a cost that is told only for all of it counts on its last day."""
    about = session.summary
    meter = Meter(about.agent, zone=zone)
    meter.session, meter.model = about.id or None, about.model or None
    is_told = False
    calls: list[Spent | Ended] = [entry for entry in session.entries if isinstance(entry, Spent)]
    ends: list[Spent | Ended] = [each for each in session.entries if isinstance(each, Ended) and each.tokens]
    for number, entry in enumerate(calls or ends):
        meter.at = entry.place.at or meter.at
        is_told = is_told or entry.cost is not None
        turns = 1 if calls else 0 if number else len(session.requests)
        meter.spend(Counts.of(entry.tokens or Tokens()), cost=entry.cost, turns=turns)
    if about.totals.cost is not None and not is_told:
        meter.spend(Counts(), cost=about.totals.cost)
    return meter.account()


class Counter:
    """Reads one stream of a known format for nothing but its usage; raises UnknownFormat.

    As long as every line is one record, no more of it is decoded than its type asks for. From the first
    other line on the stream is read with the repairs that `events` makes.
    """

    def __init__(self, format: str, *, zone: tzinfo | None = UTC) -> None:  # noqa: A002 - the word that users know
        kind = stream(format)
        self._reader = kind()
        self._meter = self._reader.meter = kind.meters(kind.agent, zone=zone)
        self._kinds = kind.meters.reads
        self._decoders: dict[bytes, Callable[[memoryview], Any]] = {
            **{name.encode(): jsonio.loads_fast for name in self._kinds},
            **{name: shape.decode for name, shape in kind.meters.shapes.items()},
        }
        self._rest: list[bytes] = []  # of a line that is not whole yet
        self._repairing: Records | None = None
        self._begun = False  # a record has come

    def feed(self, data: bytes) -> None:
        """Count what the next bytes complete."""
        if not self._kinds:  # the reader itself tells the meter
            deque(self._reader.feed(data), maxlen=0)
            return
        if self._repairing is not None:
            self._count(self._repairing.feed(data))
            return
        view, at = memoryview(data), 0
        while (end := data.find(b"\n", at)) >= 0:
            if self._rest:
                self._rest.append(data[at:end])
                line, self._rest = b"".join(self._rest), []
                if not self._take(line, memoryview(line), 0, len(line)):
                    self._repair(line + data[end:])
                    return
            elif not self._take(data, view, at, end):
                self._repair(data[at:])
                return
            at = end + 1
        if at < len(data):
            self._rest.append(data[at:])

    def account(self) -> Account:
        """What was taken so far."""
        return self._meter.account()

    def close(self) -> Account:
        """What was taken, the last line included."""
        if not self._kinds:
            deque(self._reader.flush(), maxlen=0)
        rest = b"".join(self._rest)
        if self._repairing is None and rest and not self._take(rest, memoryview(rest), 0, len(rest)):
            self._repair(rest)
        if self._repairing is not None:
            self._count(self._repairing.flush())
        return self._meter.account()

    def lose(self) -> None:
        """Note that the rest of the stream cannot be read."""
        self._meter.gap(DAMAGED)

    def _take(self, data: bytes, view: memoryview, start: int, end: int) -> bool:
        """Count the line that stands there when it is one record; False when it is anything else."""
        line = view[start:end]
        try:
            record = self._decode(data, line, start)
        except (ValueError, RecursionError):
            return not line.tobytes().strip()
        if type(record) is not dict:
            return False
        self._begun = True
        if record is not _CONSUMED:
            kind = self._reader.kind(record)
            if kind in self._kinds:
                self._reader.measure(kind, record)
        return True

    def _decode(self, data: bytes, line: memoryview, start: int) -> Any:
        """As much of the record as its type asks for; may raise ValueError or RecursionError."""
        if data.startswith(OPENING, start):
            word = start + len(OPENING)
            kind = data[word : data.find(b'"', word, start + LONGEST)]
            shape = self._decoders.get(kind, _consumed)
            try:
                value = shape(line)
                if value["type"] == kind.decode():  # else the name is repeated: the last one counts
                    return _CONSUMED if shape is _consumed else value
            except (ValueError, RecursionError):
                pass  # it does not have its shape
        return jsonio.loads_fast(line)

    def _repair(self, data: bytes) -> None:
        """Go on with lines that are no records among the others."""
        self._repairing = Records(self._reader.dialect.is_own, Report())
        if self._begun:  # so that it takes no later line for the beginning of an array
            self._count(self._repairing.feed(b"{}\n"))
        self._rest = []
        self._count(self._repairing.feed(data))

    def _count(self, units: Iterable[Unit]) -> None:
        for unit in units:
            record = unit.value
            if type(record) is dict:
                kind = self._reader.kind(record)
                if kind in self._kinds:
                    self._reader.measure(kind, record)
            elif not unit.is_json and unit.data.startswith(b"{"):
                self._meter.gap(DAMAGED)
