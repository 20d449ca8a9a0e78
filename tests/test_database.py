"""SQLite files are read with their write-ahead log, and nothing is left beside them."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from stenograph.database import read_rows
from stenograph.errors import ReadError


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Path]:
    """A database in use whose newest row is in its log alone; its name needs quoting."""
    path = tmp_path / "a b?#%.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (a, b)")
        connection.execute("INSERT INTO t VALUES (1, 'old')")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("INSERT INTO t VALUES (2, CAST(x'ff' AS TEXT))")
        connection.commit()
        yield path


ROWS = [{"a": 1, "b": "old"}, {"a": 2, "b": "\ufffd"}]


def test_rows_in_the_log_are_read_while_a_program_writes(live: Path) -> None:
    before = sorted(path.name for path in live.parent.iterdir())
    assert read_rows(str(live), "SELECT * FROM t") == ROWS
    assert sorted(path.name for path in live.parent.iterdir()) == before
    assert live.with_name(live.name + "-wal").stat().st_size


def test_rows_in_the_log_of_a_copied_store_are_read_and_the_copy_stays_as_it_is(
    live: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for end in ("", "-wal"):
        shutil.copy(f"{live}{end}", copy / f"x.db{end}")
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    assert read_rows(str(copy / "x.db"), "SELECT * FROM t WHERE a > ?", (1,)) == ROWS[1:]
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before


def test_a_database_without_a_log_is_read_and_no_file_is_made(live: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone" / "x.db"
    alone.parent.mkdir()
    shutil.copy(live, alone)
    assert read_rows(str(alone), "SELECT * FROM t") == ROWS[:1]
    assert [path.name for path in alone.parent.iterdir()] == ["x.db"]


@pytest.mark.parametrize(
    "data", [b"", b"not a database at all, only some text", b"SQLite format 3\0" + b"\xff" * 200]
)
def test_what_is_no_such_database_is_a_read_error(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with pytest.raises(ReadError, match="no such database"):
        read_rows(str(path), "SELECT * FROM t")
    path.write_bytes(data)
    with pytest.raises(ReadError, match="the database cannot be read"):
        read_rows(str(path), "SELECT * FROM t")
