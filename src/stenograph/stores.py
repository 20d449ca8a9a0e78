"""Stored sessions by path: which store a path belongs to, the session, its events."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Literal

from stenograph.errors import Error, NotRecognized, ReadError, UnknownFormat
from stenograph.event import Event
from stenograph.model import Session
from stenograph.projection import Projection
from stenograph.registry import INTERCHANGE, STORES, canonical, store, stream
from stenograph.store import Store, project

__all__ = ["INTERCHANGE", "STORES", "projection", "read", "replayed", "store", "store_at", "store_of"]


def store_of(path: str | os.PathLike[str]) -> Store | None:
    """The store that a path is a session of, None when it is of none.

    Of a path that two could hold, the agent is told when it is read.
    """
    name = os.fspath(path)
    return next((store(each) for each in STORES if store(each).holds(name)), None)


def store_at(path: str | os.PathLike[str], *, format: str = "auto") -> Store:  # noqa: A002 - users' word
    """The store that a path is a session of, the named one when it holds such sessions.

    Raises ReadError when there is no such path, NotRecognized when it is no session, or none of the format.
    """
    name = os.fspath(path)
    wanted = None if format == "auto" else canonical(format)
    if wanted in STORES and store(wanted).holds(name):
        return store(wanted)
    found = store_of(name)
    if found and not wanted:
        return found
    raise _misfit(name, found, wanted)


def _misfit(name: str, found: Store | None, wanted: str | None) -> Error:
    """Why a path is not what it was taken for."""
    try:
        if stat.S_ISDIR(os.stat(name).st_mode):
            os.scandir(name).close()
    except OSError as fault:
        return ReadError.of(name, fault)
    if found:
        return NotRecognized(f"{name} holds a {found.format}, no {wanted}")
    if os.path.isdir(name):
        return NotRecognized(f"{name} is a directory and no stored session: steno ls lists those below it")
    return NotRecognized(f"{name} is no stored session{f', no {wanted}' if wanted else ''}")


def read(path: str | os.PathLike[str], *, format: str = "auto") -> Session:  # noqa: A002 - users' word
    """Read the stored session that a path names, a folder or a file in it; by the named format's rules.

    Raises ReadError when there is no such path or it cannot be read at all, NotRecognized when it is no
    session, or none of the format. Every other fault is in the session's report.
    """
    name = os.fspath(path)
    found = store_at(name, format=format)
    session = found.load(name)
    told = session.summary.format
    return session if format != "auto" or told == found.format else store(told).load(name)


def replayed(
    path: str | os.PathLike[str],
    *,
    format: str = "auto",  # noqa: A002 - the word that users know
    cwd: str | None = None,
    profile: Literal["standard", "extended"] = "standard",
    detail: bool = False,
) -> Iterator[Event]:
    """The events of a stored session, as the live stream of its run gave them, at the records' own times.

    Raises ReadError and NotRecognized like `store_at`.
    """
    name = os.fspath(path)
    found = store_at(name, format=format)
    by = projection(found, name)
    return project(found, name, cwd=cwd, profile=profile, detail=detail, by=by)


def projection(found: Store, path: str) -> type[Projection]:
    """What turns a session's entries into events: of an interchange format, what its agent's own needs."""
    if found.format not in INTERCHANGE:
        return found.projection()
    try:
        return stream(found.load(path).summary.agent).projection
    except UnknownFormat:
        return found.projection()
