"""The entries of stored sessions, as `steno show --json` tells them, against those beside the data.

`python tests/test_entries.py` writes the expected ones again; review the diff.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from stenograph import jsonio, read
from stenograph.cli.transcript import to_json
from stenograph.model import Session
from taskdirs import DATA, TASKDIRS, task_path

STORE = DATA / "cline-store"
CASES = {name: DATA / "wild" / f"{name}.entries.jsonl" for name in TASKDIRS} | {
    path.name: path / "entries.jsonl" for path in sorted(STORE.iterdir())
}


def session(name: str, folder: Path) -> tuple[Session, Path]:
    """The session of a case, and the folder of its files."""
    if name in TASKDIRS:
        path = task_path(TASKDIRS[name], folder)
    else:
        (path,) = [*(STORE / name).glob("sessions/*"), *(STORE / name).glob("tasks/*")]
    return read(path), path


def told(found: Session) -> bytes:
    return b"".join(jsonio.dumps(to_json(entry)) + b"\n" for entry in found.entries)


@pytest.mark.parametrize("name", CASES)
def test_entries_are_the_expected_ones(name: str, tmp_path: Path) -> None:
    found, _ = session(name, tmp_path)
    assert told(found).splitlines() == CASES[name].read_bytes().splitlines()


@pytest.mark.parametrize("name", CASES)
def test_each_entry_points_at_its_unit_and_each_unit_has_an_entry(name: str, tmp_path: Path) -> None:
    found, folder = session(name, tmp_path)
    pointed: dict[str, set[int]] = {}
    for entry in found.entries:
        place = entry.place
        if place.line:
            data = (folder / place.file).read_bytes()
            value = json.loads(data[place.offset : place.offset + place.length])
            assert isinstance(value, dict) == place.is_object
            pointed.setdefault(place.file, set()).add(place.line)
    arrays = [found.source.api, found.source.ui] if hasattr(found.source, "api") else []
    transcripts = [found.source.lead, *found.source.agents] if not arrays else []
    counts = {each.name: len(each.elements) for each in arrays if each.elements}
    counts |= {each.name: len(each.messages) for each in transcripts}
    assert pointed == {file: set(range(1, count + 1)) for file, count in counts.items()}


if __name__ == "__main__":
    for each, path in CASES.items():
        with tempfile.TemporaryDirectory() as temporary:
            path.write_bytes(told(session(each, Path(temporary))[0]))
