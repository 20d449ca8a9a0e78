"""SQLite files that another program may be writing: read with their write-ahead log, nothing left behind."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from stenograph.errors import Place, ReadError

_WAIT_S = 2.0


def read_rows(path: str, query: str, params: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """The rows of a query as dictionaries by column; raises ReadError when the file or the query fails.

    A log that no running program shares is read from a copy, since SQLite would make files beside it.
    """
    if not os.path.isfile(path):
        raise ReadError("no such database", where=Place(path))
    try:
        return _read(path, query, params)
    except (sqlite3.Error, OSError, UnicodeError) as fault:  # a damaged name of a column is no UTF-8
        raise ReadError(f"the database cannot be read: {fault}", where=Place(path)) from None


def _read(path: str, query: str, params: Sequence[Any]) -> list[dict[str, Any]]:
    if not _size(f"{path}-wal"):
        return _query(path, query, params, mode="mode=ro&immutable=1")
    if os.path.exists(f"{path}-shm"):
        # Left by a crash on a disk that cannot be written, the shared index is of no use.
        with suppress(sqlite3.OperationalError):
            return _query(path, query, params, mode="mode=ro")
    return _read_copy(path, query, params)


def _read_copy(path: str, query: str, params: Sequence[Any]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="stenograph-") as folder:
        copy = os.path.join(folder, "copy.db")
        for end in ("", "-wal"):
            shutil.copyfile(path + end, copy + end)
        return _query(copy, query, params, mode="mode=ro")


def _query(path: str, query: str, params: Sequence[Any], *, mode: str) -> list[dict[str, Any]]:
    uri = f"file:{quote(os.path.abspath(path))}?{mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=_WAIT_S)
    try:
        connection.row_factory = sqlite3.Row
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        return [dict(row) for row in connection.execute(query, params)]
    finally:
        connection.close()


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
