"""What a writer is told of the session it writes, and how every writer is called."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from stenograph.interchange.moments import EPOCH
from stenograph.interchange.sink import OutFile
from stenograph.model import Entry, ToolCalled, ToolReturned

_REMEMBERED = 10_000

NIL = uuid.UUID(int=0)

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class About(msgspec.Struct, frozen=True, kw_only=True):
    """One session: `id` is the one it gets, `native` its agent's own, `parent` the id of the one above it.

    `created_at` is in the one spelling of times.
    """

    id: str
    native: str
    agent: str
    format: str
    variant: str = ""
    version: str = ""
    model: str = ""
    cwd: str = ""
    title: str = ""
    parent: str = ""
    created_at: str = EPOCH


class Place(Protocol):
    """Gives the files that sessions are written to, and is told when they are in place."""

    def place(self, about: About) -> OutFile:
        """The new file for a session; raises Taken and WriteError."""

    def keep(self, file: OutFile) -> None:
        """The file is in place."""


class Writer(Protocol):
    """Writes one session: its entries record by record, in order, then the end."""

    def take(self, group: Sequence[Entry]) -> None:
        """The entries of one native record."""

    def close(self) -> None:
        """Put what was written into place; raises Taken and WriteError."""

    def discard(self) -> None:
        """Take away all that was written."""


def session_id(agent: str, native: str) -> str:
    """The id of a session: its own where that is a UUID, else one made of the agent's name and it."""
    if _UUID.fullmatch(native):
        return native
    return str(uuid.uuid5(NIL, f"{agent}/{native}"))


def child_id(parent: str, call: str, retry: int = 0) -> str:
    """The id of a session that a call of another one started."""
    return str(uuid.uuid5(NIL, f"{parent}/{call}/{retry}" if retry else f"{parent}/{call}"))


class Callers:
    """Which call started a thread: the one that gave it its id, else the last one without an answer."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str | None, bool]] = {}  # thread of the call, whether it is answered

    def follow(self, group: Sequence[Entry], thread: str | None) -> None:
        """Calls and results of a thread; of calls long ago only the latest are remembered."""
        for entry in group:
            if isinstance(entry, ToolCalled) and entry.id:
                self._calls[entry.id] = (thread, False)
            elif isinstance(entry, ToolReturned) and entry.id in self._calls:
                self._calls[entry.id] = (self._calls[entry.id][0], True)
        while len(self._calls) > _REMEMBERED:
            del self._calls[next(iter(self._calls))]

    def of(self, thread: str) -> tuple[str, str | None, bool]:
        """The call, the thread it was made in, and whether its id says so."""
        if thread in self._calls:
            return thread, self._calls[thread][0], True
        for call, (above, is_answered) in reversed(self._calls.items()):
            if not is_answered:
                return call, above, False
        return thread, None, False


def by_thread(group: Sequence[Entry]) -> Iterable[tuple[str | None, Sequence[Entry]]]:
    """The entries of one record, those of each thread by themselves."""
    threads = dict.fromkeys(map(main_thread, group))
    if len(threads) == 1:
        return ((next(iter(threads)), group),)
    return [(thread, [each for each in group if main_thread(each) == thread]) for thread in threads]


def main_thread(entry: Entry) -> str | None:
    """The thread an entry is written to: housekeeping goes to the main one."""
    return entry.thread if isinstance(entry.thread, str) else None
