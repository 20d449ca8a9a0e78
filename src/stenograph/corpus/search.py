"""Sessions of every store, found one after the other: in the default places, or under given folders."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from stenograph.corpus.places import System, places
from stenograph.errors import ReadError
from stenograph.registry import INTERCHANGE
from stenograph.store import Skipped
from stenograph.stores import STORES, store, store_of

_DEPTH = 12
_KINDS = [name for name in STORES if name != "roo-task"]  # its directories are found as cline's
_SKIPPED = frozenset(("checkpoints", ".git", "node_modules", "__pycache__", ".venv"))


class Found(NamedTuple):
    """One stored session: its main file, and the format of its store."""

    path: str
    format: str

    @property
    def place(self) -> str:
        """The session's folder, or the file that it is."""
        return self.path if store(self.format).is_file else os.path.dirname(self.path)


def find(
    root: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
    *,
    system: System | None = None,
    skipped: Skipped | None = None,
) -> Iterator[Found]:
    """The sessions under `root`, or in the default places of this user, each given as soon as it is found.

    A root may be a session, a store, or any folder above some; a store reached twice counts once. Checkpoints
    are never walked, links to folders are not followed. `skipped` is told, once, of each folder that cannot
    be listed and of each given root that cannot be read; without it such a root raises ReadError. `system`
    says for whom the default places are.
    """
    search = _Search(skipped)
    if root is None:
        for place in places(system or this_system()):
            if place.is_dir():
                yield from search.walk(str(place), depth=0)
        return
    for given in [root] if isinstance(root, str | os.PathLike) else root:
        path = os.fspath(given)
        if search.is_there(path):
            yield from search.walk(path, depth=_DEPTH)


def this_system() -> System:
    """The user, platform and environment of this process."""
    return System(Path.home(), sys.platform, os.environ)


class _Search:
    """One search: which folders it has seen, and who is told of those that cannot be listed."""

    def __init__(self, skipped: Skipped | None) -> None:
        self._seen: set[tuple[int, int]] = set()
        self._skipped = skipped
        self._told: set[str] = set()

    def is_there(self, path: str) -> bool:
        """Whether a given root can be read; raises ReadError for one that cannot when nobody is told."""
        try:
            if stat.S_ISDIR(os.stat(path).st_mode):
                os.scandir(path).close()
        except OSError as fault:
            if self._skipped is None:
                raise ReadError.of(path, fault) from None
            self._tell(ReadError.of(path, fault))
            return False
        return True

    def walk(self, path: str, *, depth: int) -> Iterator[Found]:
        """The sessions of a store, or of the stores in the folders below."""
        if not os.path.isdir(path):
            found = store_of(path)
            if found and self._is_new(path if found.is_file else os.path.dirname(os.path.abspath(path))):
                yield Found(path, found.format)
            return
        if not self._is_new(path):
            return
        shelf = path
        for name in self._kinds(path):
            kind = store(name)
            for main in kind.find(path, skipped=self._tell):
                folder = os.path.dirname(main)
                if kind.is_file:
                    if self._is_new(main):
                        yield Found(main, name)
                    continue
                if folder == path.rstrip(os.sep):
                    yield Found(main, name)
                    return
                if self._is_new(folder):
                    yield Found(main, name)
                    shelf = os.path.dirname(folder)
        if shelf != path:
            self._is_new(shelf)  # all in it are found
        if depth:
            for name in self._folders(path):
                yield from self.walk(os.path.join(path, name), depth=depth - 1)

    def _kinds(self, path: str) -> list[str]:
        """The stores to ask about a folder; a reader of files is loaded only where one has its ending."""
        try:
            names = os.listdir(path)
        except OSError:  # the others tell of it
            names = []
        return [
            kind
            for kind in _KINDS
            if kind not in INTERCHANGE or any(name.endswith(INTERCHANGE[kind]) for name in names)
        ]

    def _tell(self, fault: ReadError) -> None:
        if self._skipped and str(fault) not in self._told:
            self._told.add(str(fault))
            self._skipped(fault)

    def _is_new(self, path: str) -> bool:
        """Whether a folder has not been seen, by whatever path."""
        try:
            status = os.stat(path)
        except OSError:
            return False
        key = (status.st_dev, status.st_ino)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def _folders(self, path: str) -> list[str]:
        try:
            with os.scandir(path) as entries:
                return sorted(
                    entry.name
                    for entry in entries
                    if entry.is_dir(follow_symlinks=False) and entry.name not in _SKIPPED
                )
        except OSError:  # the stores were told of it
            return []
