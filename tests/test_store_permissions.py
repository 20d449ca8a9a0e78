"""Folders and files that may not be read: each told in one line and the exit code, the others are read."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stenograph import ReadError, events, find, read
from stenograph.cli.check import check
from stenograph.cli.events import events as events_command
from stenograph.cli.ls import ls
from stenograph.cli.show import show
from stenograph.cli.usage import usage
from taskdirs import DATA
from test_store_commands import run

STORE = DATA / "cline-store"
NOBODY = 65534
pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")


@pytest.fixture
def root() -> Iterator[Path]:
    """Tasks `open`, `half` (its UI messages closed), `files` (all closed), `folder` (itself closed).

    Beside them a closed folder `shut` with a session in it. Root may read all, so it becomes nobody.
    """
    folder = Path(tempfile.mkdtemp())
    (task,) = (STORE / "legacy_read" / "tasks").iterdir()
    for name in ("open", "half", "files", "folder"):
        shutil.copytree(task, folder / "tasks" / name)
    shutil.copytree(STORE / "plain_text", folder / "shut" / "data")
    folder.chmod(0o755)
    closed = [
        folder / "tasks" / "half" / "ui_messages.json",
        *(folder / "tasks" / "files").iterdir(),
        folder / "tasks" / "folder",
        folder / "shut",
    ]
    for path in closed:
        path.chmod(0)
    user = os.geteuid()
    if user == 0:
        for command in (ls, check, usage, events_command, show):  # nobody may not be let to load modules
            run(command, task)
        os.seteuid(NOBODY)
    yield folder
    os.seteuid(user)
    for path in reversed(closed):
        path.chmod(0o700)
    shutil.rmtree(folder)


def names(folder: Path | list[Path], **options: Any) -> list[str]:
    return sorted(os.path.basename(os.path.dirname(found.path)) for found in find(folder, **options))


def test_finding_tells_once_of_each_folder_that_cannot_be_listed(root: Path) -> None:
    told: list[ReadError] = []
    assert names(root, skipped=told.append) == ["files", "half", "open"] == names(root)
    assert sorted(map(str, told)) == [
        f"cannot list {root}/shut: permission denied",
        f"cannot list {root}/tasks/folder: permission denied",
    ]


@pytest.mark.parametrize("name", ["shut", "shut/data", "tasks/folder/ui_messages.json"])
def test_a_given_root_that_cannot_be_read_is_an_error(root: Path, name: str) -> None:
    for ask in (find, events, lambda path: [read(path)]):
        with pytest.raises(ReadError, match="permission denied"):
            list(ask(root / name))
    told: list[ReadError] = []
    assert names([root / name, root / "tasks" / "open"], skipped=told.append) == ["open"]
    assert list(map(str, told)) == [f"permission denied: {root}/{name}"]


def test_ls_lists_the_others(root: Path) -> None:
    done = run(ls, root, root / "shut", "--no-cache")
    assert done.code == 1
    assert [row.split()[2:5] for row in done.out.splitlines()[1:]] == [
        ["cline/classic", "!1", "half"],
        ["cline/classic", "open", "3"],
    ]
    assert set(done.err.splitlines()) == {
        f"steno: cannot list {root}/shut: permission denied",
        f"steno: cannot list {root}/tasks/folder: permission denied",
        f"steno: permission denied: {root}/shut",
        f"steno: {root}/tasks/files/ui_messages.json: cannot be read: Permission denied",
    }


def test_check_tells_folders_and_files(root: Path) -> None:
    done = run(check, root / "tasks", "--json")
    assert (done.code, done.err) == (1, f"steno: cannot list {root}/tasks/folder: permission denied\n")
    assert [json.loads(line)["notes"][0]["count"] for line in done.out.splitlines()[:2]] == [3, 1]
    assert json.loads(done.out.splitlines()[2])["notes"] == []


def test_usage_counts_the_others(root: Path) -> None:
    done = run(usage, root / "tasks")
    assert done.code == 1
    assert set(done.err.splitlines()) == {
        f"steno: cannot list {root}/tasks/folder: permission denied",
        f"steno: {root}/tasks/files/ui_messages.json: cannot be read: Permission denied",
    }
    assert "600" in done.out


def test_events_of_what_can_be_read_come_before_the_fault(root: Path) -> None:
    found = []
    with pytest.raises(ReadError, match=r"ui_messages.json: cannot be read: Permission denied"):
        found.extend(events(root / "tasks" / "half"))
    assert len(found) == 3
    done = run(events_command, root / "tasks" / "half", root / "tasks" / "open")
    assert (done.code, len(done.out.splitlines())) == (1, 3 + 8)
    assert done.err == f"steno: {root}/tasks/half/ui_messages.json: cannot be read: Permission denied\n"


def test_a_session_of_which_nothing_can_be_read_is_an_error(root: Path) -> None:
    for ask in (read, lambda path: list(events(path))):
        with pytest.raises(ReadError, match=r"files/ui_messages.json: cannot be read: Permission denied"):
            ask(root / "tasks" / "files")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("tasks/folder", "permission denied: {root}/tasks/folder"),
        ("tasks/folder/ui_messages.json", "permission denied: {root}/tasks/folder/ui_messages.json"),
        ("tasks/files", "{root}/tasks/files/ui_messages.json: cannot be read: Permission denied"),
    ],
)
def test_show_says_why(root: Path, name: str, told: str) -> None:
    with pytest.raises(ReadError) as raised:
        run(show, root / name)
    assert str(raised.value) == told.format(root=root)
