"""Task directories in the file system: finding them, telling their files, reading one within bounds."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from stenograph import jsonio
from stenograph.errors import ReadError
from stenograph.store import Skipped

FILE_API = "api_conversation_history.json"
FILE_UI = "ui_messages.json"
FILE_LEGACY = "claude_messages.json"
FILE_METADATA = "task_metadata.json"
FILE_CONTEXT_HISTORY = "context_history.json"
FILE_SETTINGS = "settings.json"
FILE_HISTORY_ITEM = "history_item.json"
FILE_TASK_HISTORY = "taskHistory.json"

MAX_SIZE = 1 << 30
"""A larger file, in bytes, is refused as malformed without being loaded."""

MAIN_FILES = (FILE_API, FILE_UI, FILE_LEGACY)
"""The files that a task directory is known by, best first."""

_TASKS = "tasks"


class Listing(NamedTuple):
    """The names in a directory, sorted: what is a directory, and everything else."""

    files: list[str]
    dirs: list[str]


def find_sessions(root: str | os.PathLike[str]) -> list[str]:
    """The main file of each task directory under a storage directory, sorted: API history, else UI messages.

    `root` may also be its `tasks` directory, one task directory, or a file in one, which is returned as it
    is. Nothing below a task directory is walked, no checkpoint repository is, and what cannot be listed is
    skipped. Raises ReadError when there is no such path.
    """
    path = os.fspath(root)
    if os.path.isdir(path):
        return sorted(iter_sessions(path))
    if not os.path.exists(path):
        raise ReadError(f"no such file or directory: {path}")
    return [path]


def iter_sessions(folder: str, *, skipped: Skipped | None = None) -> Iterator[str]:
    """Like `find_sessions` for a directory: each as soon as it is found, in the order of the names.

    `skipped` is told of what cannot be listed.
    """
    main = _main_file(folder, skipped)
    if main:
        yield main
        return
    tasks = os.path.join(folder, _TASKS)
    tasks = tasks if os.path.isdir(tasks) else folder
    for name in try_list(tasks, skipped).dirs:
        if main := _main_file(os.path.join(tasks, name), skipped):
            yield main


def is_task_file(path: str | os.PathLike[str]) -> bool:
    """Whether a path is one that tasks are found by: `tasks/<id>/` and a main file's name."""
    folder, name = os.path.split(os.path.normpath(os.fspath(path)))
    return name in MAIN_FILES and os.path.basename(os.path.dirname(folder)) == _TASKS


def task_dir(path: str | os.PathLike[str]) -> str:
    """The task directory that a path names: a directory itself, else the directory of the file.

    Raises ReadError when there is no such path.
    """
    name = os.fspath(path)
    if os.path.isdir(name):
        return name
    if not os.path.lexists(name):
        raise ReadError(f"no such file or directory: {name}")
    return os.path.dirname(name) or os.curdir


def storage_dir(folder: str) -> str:
    """The storage directory of a task directory, empty when it does not lie in a `tasks` directory."""
    tasks = os.path.dirname(os.path.abspath(folder))
    return os.path.dirname(tasks) if os.path.basename(tasks) == _TASKS else ""


def parent_task(task_dir: str | os.PathLike[str]) -> str:
    """The id of the task that a Roo task was started by, empty when its `history_item.json` names none."""
    try:
        item = jsonio.loads(read_bounded(os.path.join(os.fspath(task_dir), FILE_HISTORY_ITEM)))
    except (ReadError, ValueError):
        return ""
    parent = item.get("parentTaskId") if isinstance(item, dict) else None
    return parent if isinstance(parent, str) else ""


def list_dir(folder: str) -> Listing:
    """What a directory holds; raises ReadError when it cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            found = sorted((entry.name, _is_dir(entry)) for entry in entries)
    except OSError as fault:
        raise ReadError(f"cannot list {folder}: {(fault.strerror or str(fault)).lower()}") from fault
    return Listing([name for name, is_dir in found if not is_dir], [name for name, is_dir in found if is_dir])


def _is_dir(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a directory or a link to one; a link that leads round to itself is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def read_bounded(path: str) -> bytes:
    """A regular file's bytes; raises ReadError for one that is larger than MAX_SIZE or cannot be read."""
    try:
        # Without O_NONBLOCK the open of a pipe waits for somebody who writes to it.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ReadError("not a regular file")
            if status.st_size > MAX_SIZE:
                raise ReadError(f"larger than {MAX_SIZE} bytes: not loaded")
            return file.read()
    except OSError as fault:
        raise ReadError(f"cannot be read: {fault.strerror}") from fault


def try_list(folder: str, skipped: Skipped | None = None) -> Listing:
    """What a directory holds; nothing when it cannot be listed, which `skipped` is told."""
    try:
        return list_dir(folder)
    except ReadError as fault:
        if skipped:
            skipped(fault)
        return Listing([], [])


def _main_file(folder: str, skipped: Skipped | None) -> str | None:
    names = set(try_list(folder, skipped).files)
    return next((os.path.join(folder, name) for name in MAIN_FILES if name in names), None)
