"""The base of every store: what an agent leaves on disk, one session at a time.

A store answers: which sessions are here, is this path one of yours, what would a list say of it, what is in
it, what events would its live stream have given, and what of it is damaged or new to us.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from stenograph.errors import ReadError
from stenograph.event import Event
from stenograph.model import Entry, Session, Summary
from stenograph.notes import Report

if TYPE_CHECKING:
    from stenograph.projection import Projection

Skipped: TypeAlias = Callable[[ReadError], object]
"""Is told of what could not be read, while the others are."""
Stamp: TypeAlias = tuple[tuple[str, int, int], ...]
"""The files that a summary is made from: (path, change time in ns, bytes) of each that is there."""


class Store:
    """One kind of stored session; paths are those of a session's folder or of a file in it."""

    format: ClassVar[str]
    agent: ClassVar[str]
    place: ClassVar[str]
    """Where such sessions stand."""
    is_file: ClassVar[bool] = False
    """Whether a session is a file of its own, not a folder."""
    infers_cached: ClassVar[bool] = False
    """Whether it is by the protocol, not told, that input counts hold what came from the cache or do not."""

    def find(self, root: str, *, skipped: Skipped | None = None) -> Iterator[str]:
        """The main file of each session that stands directly in a store's folder, or in `root` itself.

        `skipped` is told of each folder that cannot be listed.
        """
        raise NotImplementedError

    def holds(self, path: str) -> bool:
        """Whether a path names one session of this kind, told by names alone."""
        raise NotImplementedError

    def files(self, path: str) -> Sequence[str]:
        """The files that `summary` reads of a session; raises ReadError."""
        raise NotImplementedError

    def summary(self, path: str) -> Summary:
        """What a list says of a session, from as few bytes as will do; raises ReadError."""
        raise NotImplementedError

    def load(self, path: str) -> Session:
        """The session; raises ReadError only when it cannot be listed or has no main file."""
        raise NotImplementedError

    def live(self, path: str) -> Iterator[Entry]:
        """The entries that the live stream would have given, in its order; raises ReadError."""
        raise NotImplementedError

    def check(self, path: str) -> tuple[int, Report]:
        """How many units a session has, and what is damaged, unread or new to us; raises ReadError."""
        raise NotImplementedError

    def projection(self) -> type[Projection]:
        """What turns the live entries into events."""
        raise NotImplementedError

    def stamp(self, path: str) -> Stamp:
        """What the files of a summary look like: unchanged when it is equal to an earlier one."""
        return tuple(_stat(name) for name in self.files(path))


def project(
    store: Store,
    path: str,
    *,
    cwd: str | None = None,
    profile: Literal["standard", "extended"] = "standard",
    detail: bool = False,
    by: type[Projection] | None = None,
) -> Iterator[Event]:
    """A stored session as events, each with its record's own time, `by` a projection; raises ReadError."""
    kind = by or store.projection()
    projection = kind(cwd=cwd, extended=profile == "extended", detail=detail)
    for entry in store.live(path):
        projection.session_id = getattr(entry, "session_id", None) or projection.session_id
        projection.now = entry.place.at or projection.now
        yield from projection.project(entry)
    yield from projection.close()


def _stat(path: str) -> tuple[str, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return path, -1, -1
    return path, found.st_mtime_ns, found.st_size
