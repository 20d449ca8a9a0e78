"""Sessions of every store, found one after the other: in the default places, or under given folders."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from stenograph.corpus.places import System, places
from stenograph.errors import ReadError
from stenograph.stores import STORES, store, store_of

_DEPTH = 12
_KINDS = [name for name in STORES if name != "roo-task"]  # its directories are found as cline's
_SKIPPED = frozenset(("checkpoints", ".git", "node_modules", "__pycache__", ".venv"))


class Found(NamedTuple):
    """One stored session: its main file, and the format of its store."""

    path: str
    format: str


def find(
    root: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
    *,
    system: System | None = None,
) -> Iterator[Found]:
    """The sessions under `root`, or in the default places of this user, each given as soon as it is found.

    A root may be a session, a store, or any folder above some; a store reached twice counts once. Folders
    that cannot be listed are skipped, checkpoints are never walked, links to folders are not followed.
    `system` says for whom the default places are. Raises ReadError when a given root is not there.
    """
    seen: set[tuple[int, int]] = set()
    if root is None:
        for place in places(system or this_system()):
            if place.is_dir():
                yield from _walk(str(place), seen, depth=0)
        return
    for given in [root] if isinstance(root, str | os.PathLike) else root:
        path = os.fspath(given)
        if not os.path.exists(path):
            raise ReadError(f"no such file or directory: {path}")
        yield from _walk(path, seen, depth=_DEPTH)


def this_system() -> System:
    """The user, platform and environment of this process."""
    return System(Path.home(), sys.platform, os.environ)


def _walk(path: str, seen: set[tuple[int, int]], *, depth: int) -> Iterator[Found]:
    """The sessions of a store, or of the stores in the folders below."""
    if os.path.isfile(path):
        found = store_of(path)
        if found and _is_new(os.path.dirname(os.path.abspath(path)), seen):
            yield Found(path, found.format)
        return
    if not _is_new(path, seen):
        return
    shelf = path
    for name in _KINDS:
        for main in store(name).find(path):
            folder = os.path.dirname(main)
            if folder == path.rstrip(os.sep):
                yield Found(main, name)
                return
            if _is_new(folder, seen):
                yield Found(main, name)
                shelf = os.path.dirname(folder)
    if shelf != path:
        _is_new(shelf, seen)  # all in it are found
    if depth:
        for name in _folders(path):
            yield from _walk(os.path.join(path, name), seen, depth=depth - 1)


def _is_new(path: str, seen: set[tuple[int, int]]) -> bool:
    """Whether a folder has not been seen, by whatever path."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    key = (status.st_dev, status.st_ino)
    if key in seen:
        return False
    seen.add(key)
    return True


def _folders(path: str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return sorted(
                entry.name
                for entry in entries
                if entry.is_dir(follow_symlinks=False) and entry.name not in _SKIPPED
            )
    except OSError:
        return []
