"""Summaries of many sessions, kept in a file so that what has not changed need not be read again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from stenograph import jsonio
from stenograph.corpus.search import Found
from stenograph.errors import Error
from stenograph.model import Summary
from stenograph.store import Stamp
from stenograph.stores import store

_VERSION = 1


class _Row(msgspec.Struct):
    stamp: Stamp
    summary: Summary


class _File(msgspec.Struct):
    version: int
    rows: dict[str, _Row]


class Listed(NamedTuple):
    """One session of a list: its summary, or why there is none."""

    found: Found
    summary: Summary | None
    fault: str | None


class Catalog:
    """Sums up sessions, remembering what it has read; `path` is its file, None to remember nothing."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known = _load(path) if path else {}
        self._rows: dict[str, _Row] = {}
        self.read = 0  # how many sessions had to be read

    def listed(self, sessions: Iterable[Found]) -> Iterator[Listed]:
        """Each session with its summary, in the order in which they are found."""
        for found in sessions:
            try:
                yield Listed(found, self._summary(found), None)
            except (Error, OSError) as fault:
                yield Listed(found, None, str(fault))

    def save(self) -> None:
        """Write what was summed up, with what is known of sessions not looked at; failing is no fault."""
        if self._path is None or not self.read:
            return
        rows = {**self._known, **self._rows}
        with suppress(OSError):
            _write(self._path, jsonio.dumps(_File(_VERSION, rows)))

    def _summary(self, found: Found) -> Summary:
        kind, path = store(found.format), os.path.abspath(found.path)
        stamp = kind.stamp(path)
        row = self._known.get(path)
        if row is None or row.stamp != stamp:
            self.read += 1
            row = _Row(stamp, kind.summary(path))
        self._rows[path] = row
        return row.summary


def cache_path(environ: Mapping[str, str], home: Path, platform: str) -> Path:
    """Where this user's catalog is kept on this platform."""
    if platform == "darwin":
        root = home / "Library" / "Caches"
    elif platform == "win32":
        root = Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        root = Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
    return root / "stenograph" / "catalog.json"


_decode = jsonio.decoder(_File).decode


def _load(path: Path) -> dict[str, _Row]:
    """The rows of an earlier catalog, none when it is missing, broken or of another version."""
    try:
        file = _decode(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return file.rows if file.version == _VERSION else {}


def _write(path: Path, data: bytes) -> None:
    """Replace the file as a whole, so that a run beside this one reads the old or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise
