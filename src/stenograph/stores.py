"""Stored sessions by path: which store a path belongs to, the session, its events."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from functools import cache
from typing import Literal

from stenograph.errors import NotRecognized, ReadError, UnknownFormat
from stenograph.event import Event
from stenograph.model import Session
from stenograph.projection import Projection
from stenograph.registry import stream
from stenograph.store import Store, project

STORES = {
    "cline-session": "stenograph.agents.cline.sessionstore:SessionStore",
    "cline-task": "stenograph.agents.cline.taskstore:TaskStore",
    "roo-task": "stenograph.agents.roo:RooStore",
    "asf": "stenograph.interchange.asf_read:AsfStore",
    "atif": "stenograph.interchange.atif_read:AtifStore",
}
"""Stores by the name of their format. A path that two could hold is told by what is read."""

INTERCHANGE = ("asf", "atif")
"""Formats that hold sessions of any agent."""


@cache
def store(name: str) -> Store:
    """The store of a format; raises UnknownFormat."""
    if name not in STORES:
        raise UnknownFormat(name, STORES)
    module, _, attribute = STORES[name].partition(":")
    made: Store = getattr(importlib.import_module(module), attribute)()
    return made


def store_of(path: str | os.PathLike[str]) -> Store | None:
    """The store that a path is a session of, None when it is of none."""
    name = os.fspath(path)
    return next((store(each) for each in STORES if store(each).holds(name)), None)


def read(path: str | os.PathLike[str]) -> Session:
    """Read the stored session that a path names, a folder or a file in it.

    Raises ReadError when there is no such path or it cannot be read at all, NotRecognized when it is no
    session. Every other fault is in the session's report.
    """
    name = os.fspath(path)
    found = _store(name)
    session = found.load(name)
    told = session.summary.format
    return session if told == found.format else store(told).load(name)


def replayed(
    path: str | os.PathLike[str],
    *,
    cwd: str | None = None,
    profile: Literal["standard", "extended"] = "standard",
    detail: bool = False,
) -> Iterator[Event]:
    """The events of a stored session, as the live stream of its run gave them, at the records' own times.

    Raises ReadError and NotRecognized like `read`.
    """
    name = os.fspath(path)
    found = _store(name)
    return project(found, name, cwd=cwd, profile=profile, detail=detail, by=projection(found, name))


def projection(found: Store, path: str) -> type[Projection]:
    """What turns a session's entries into events: of an interchange format, what its agent's own needs."""
    if found.format not in INTERCHANGE:
        return found.projection()
    try:
        return stream(found.load(path).summary.agent).projection
    except UnknownFormat:
        return found.projection()


def _store(name: str) -> Store:
    found = store_of(name)
    if found is None and not os.path.lexists(name):
        raise ReadError(f"no such file or directory: {name}")
    if found is None:
        raise NotRecognized(f"{name} is no stored session")
    return found
