"""Task directories made from tests/data/wild, and the files of every stored one."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
WILD = {path.stem: json.loads(path.read_bytes()) for path in sorted((DATA / "wild").glob("*.json"))}
TASKDIRS = {name: case for name, case in WILD.items() if case["kind"] == "taskdir"}


def cases() -> list[dict[str, Any]]:
    """Every task directory of the data: those after published files, and those made for single tools."""
    made = sorted((DATA / "cline-tasks").glob("*.json"))
    return [*TASKDIRS.values(), *(json.loads(path.read_bytes()) for path in made)]


def contents(case: dict[str, Any]) -> dict[str, bytes]:
    """The files of a case by their path under the storage directory."""
    return {
        path: base64.b64decode(text["base64"]) if isinstance(text, dict) else text.encode()
        for path, text in case["files"].items()
    }


def lay_out(case: dict[str, Any], folder: Path) -> Path:
    """Write a case under a folder; gives the storage directory."""
    root = folder / case["root"]
    for path, data in contents(case).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    for path in case.get("dirs", []):
        (root / path).mkdir(parents=True, exist_ok=True)
    return root


def task_path(case: dict[str, Any], folder: Path) -> Path:
    """Write a case under a folder; gives its task directory."""
    return lay_out(case, folder) / "tasks" / case["task"]


def json_files() -> dict[str, bytes]:
    """Every JSON file of every stored task and session, by a readable name."""
    found = {
        f"{name}/{path.rsplit('/', 1)[-1]}": data
        for name, case in TASKDIRS.items()
        for path, data in contents(case).items()
    }
    for path in sorted((DATA / "cline-store").rglob("*.json")):
        found[str(path.relative_to(DATA / "cline-store"))] = path.read_bytes()
    return found
