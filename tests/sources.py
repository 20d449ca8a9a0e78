"""Every recorded stream, stored session and task directory of the data, as something to convert."""

from __future__ import annotations

import atexit
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from recordings import recordings
from stenograph.interchange import facts
from stenograph.interchange.run import main_thread
from stenograph.model import Entry
from stenograph.sessions import open_source
from taskdirs import DATA, TASKDIRS, task_path

_KEPT = tempfile.TemporaryDirectory(prefix="stenograph-tests-")
atexit.register(_KEPT.cleanup)  # else the end of the process warns of it


_FORMATS: dict[Path, str] = {}


@cache
def sources() -> dict[str, Path]:
    """All of them, by a readable name; streams and task directories are laid out once."""
    found: dict[str, Path] = {}
    for recording in recordings():
        folder, name = recording.name.split("/")[:2]
        if not recording.stdout:
            continue
        path = found[f"{name}/{folder}"] = Path(_KEPT.name) / folder / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(recording.stdout)
        _FORMATS[path] = recording.format
    for path in sorted([*DATA.glob("cline-store/*/sessions/*"), *DATA.glob("cline-store/*/tasks/*")]):
        found[f"{path.parts[-3]}/cline-store"] = path
    for name, case in TASKDIRS.items():
        found[f"{name}/wild"] = task_path(case, Path(_KEPT.name) / name)
    return found


def format_of(path: Path) -> str:
    """What a source is to be read as: some streams are too short to be told."""
    return _FORMATS.get(path, "auto")


def told(entries: list[Entry]) -> dict[str | None, list[dict[str, Any]]]:
    """What entries say, by thread."""
    found: dict[str | None, list[dict[str, Any]]] = {}
    for entry in entries:
        found.setdefault(main_thread(entry), []).append(facts.to_json(entry))
    return found


def entries_of(path: Path) -> list[Entry]:
    """The entries that a conversion is made of."""
    return [entry for group in open_source(str(path), format=format_of(path)).groups for entry in group]
