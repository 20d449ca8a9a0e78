"""Where converted sessions go: the names of their files, and which ids are taken."""

from __future__ import annotations

import os
from collections.abc import Iterator

from stenograph.interchange.asf import store_path
from stenograph.interchange.moments import for_name
from stenograph.interchange.run import About
from stenograph.interchange.sink import Discarded, NewFile, OutFile, Taken

SUFFIXES = {"asf": ".jsonl", "atif": ".json", "events": ".jsonl", "markdown": ".md"}
"""The targets by name, and what their files end with."""


class Targets:
    """A folder, one file, or nothing (None); knows which sessions the folder holds already."""

    def __init__(self, target: str | None, to: str) -> None:
        self.to = to
        self._suffix = SUFFIXES[to]
        is_file = target is not None and target.endswith(self._suffix) and not os.path.isdir(target)
        self.file = target if is_file else None
        self.folder = None if is_file else target
        self.written: list[str] = []
        self._ids = dict(self._known())

    def place(self, about: About) -> OutFile:
        """The new file for a session; raises Taken when its id stands at another path, WriteError."""
        if self.file:
            return NewFile(self._beside(self.file, about))
        if self.folder is None:
            return Discarded()
        name = store_path(about) if self.to == "asf" else self._name(about)
        known = self._ids.get(about.id, name)
        if known != name:
            raise Taken(f"{os.path.join(self.folder, known)} holds a session of this id")
        return NewFile(os.path.join(self.folder, name))

    def keep(self, file: OutFile) -> None:
        """A session's file is in place."""
        if not isinstance(file, NewFile):
            return
        self.written.append(file.path)
        if self.folder is not None:
            name = os.path.relpath(file.path, self.folder)
            self._ids[_id_in(name, self._suffix)] = name

    def _beside(self, file: str, about: About) -> str:
        """The file named, or for a subagent's session one beside it."""
        return file if not self.written else f"{file.removesuffix(self._suffix)}.{about.id}{self._suffix}"

    def _name(self, about: About) -> str:
        return f"{for_name(about.created_at)}_{about.id}{self._suffix}"

    def _known(self) -> Iterator[tuple[str, str]]:
        if self.folder is None or not os.path.isdir(self.folder):
            return
        for folder, folders, files in os.walk(self.folder):
            if folder != self.folder:
                folders.clear()
            for name in files:
                if name.endswith(self._suffix) and "_" in name:
                    path = os.path.relpath(os.path.join(folder, name), self.folder)
                    yield _id_in(name, self._suffix), path


def _id_in(name: str, suffix: str) -> str:
    return os.path.basename(name).partition("_")[2].removesuffix(suffix)
