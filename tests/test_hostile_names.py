"""Nothing that an agent, a file name or a store says reaches a terminal raw; odd terminals get it too."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from command import DATA, PLAIN, steno
from stenograph.database import read_rows
from stenograph.errors import Place, ReadError
from stenograph.notes import Kind, Report

EVIL = "a\x1b]0;x\x07\x9b31m\u202e\u200b\nb\ud800"
STORE = DATA / "cline-store" / "plain_text"


def is_harmless(text: str) -> bool:
    return all(char == "\n" or char.isprintable() for char in text)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A stored session that says the evil text wherever it says anything."""
    shutil.copytree(STORE, tmp_path / "store", ignore=shutil.ignore_patterns("db"))
    for path in (tmp_path / "store" / "sessions").rglob("*.json"):
        told = json.loads(path.read_bytes())
        for name, value in told.items():
            if isinstance(value, str) and name not in ("version", "started_at", "updated_at"):
                told[name] = value + EVIL
        told[EVIL] = EVIL
        path.write_text(json.dumps(told))
    return tmp_path / "store"


@pytest.mark.parametrize("command", [["ls", "--no-cache"], ["check", "--fail-on", "damaged"]])
def test_a_store(command: list[str], store: Path) -> None:
    done = steno(*command, store)
    assert done.code == 0
    assert is_harmless(done.out.decode())


@pytest.mark.parametrize("options", [[], ["--all"]])
def test_a_session(options: list[str], store: Path) -> None:
    (session,) = (store / "sessions").iterdir()
    done = steno("show", *options, session)
    assert (done.code, done.err) == (0, "")
    assert "␛]0;x␇<U+009B>31m<U+202E><U+200B>" in done.out.decode()
    assert is_harmless(done.out.decode())


def test_a_file_name_in_the_report(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[31m\nb.jsonl"
    path.write_bytes(b"text\n")
    done = steno("events", "--from", "claude", "--report", "text", path)
    assert done.code == 0
    assert done.err.endswith("a\\x1b[31m\\nb.jsonl, line 1, byte 0: 'text'\n")
    assert is_harmless(done.err)


def test_a_name_that_became_a_code() -> None:
    report = Report()
    report.add(Kind.DRIFT, f"new-tool:{EVIL}", Place(EVIL))
    assert is_harmless(report.to_text())
    assert report.to_text().count("\n") == 1


def test_an_output_that_lacks_our_characters(store: Path) -> None:
    (session,) = (store / "sessions").iterdir()
    done = steno("show", session, PYTHONIOENCODING="latin-1")
    assert (done.code, done.err) == (0, "")
    assert b"\\u241b]0;x" in done.out


def test_a_column_whose_name_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE told (marker TEXT)")
    connection.commit()
    connection.close()
    path.write_bytes(path.read_bytes().replace(b"marker", b"mark\xffr"))
    with pytest.raises(ReadError, match="the database cannot be read"):
        read_rows(str(path), "SELECT * FROM told")


def test_no_command_at_all_gives_the_help() -> None:
    done = steno()
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith("Usage: steno ")
    assert len(done.err.splitlines()) > 10


def test_the_recording_itself_is_harmless() -> None:
    assert is_harmless(steno("events", "--pretty", PLAIN).out.decode())


def test_what_is_not_understood_is_one_line_of_json(store: Path) -> None:
    (session,) = (store / "sessions").iterdir()
    (messages,) = session.glob("*.messages.json")
    told = json.loads(messages.read_bytes())
    told["messages"][0] = {"later": [EVIL, {"deep": None}]}
    messages.write_text(json.dumps(told, indent=2))
    lines = steno("show", "--json", session).out.splitlines()
    assert told["messages"][0] in [json.loads(line).get("raw") for line in lines]
