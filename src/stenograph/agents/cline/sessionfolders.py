"""Session folders of the Cline SDK in the file system."""

from __future__ import annotations

import os
from collections.abc import Iterator

from stenograph.agents.cline.folders import try_list
from stenograph.store import Skipped

MESSAGES = ".messages.json"
"""What the names of message files end with."""


def find_stored(root: str | os.PathLike[str]) -> list[str]:
    """The main file of each session folder under a data folder, sorted: its manifest, else its messages.

    `root` may also be its `sessions` folder or one session folder.
    """
    return sorted(iter_stored(os.fspath(root)))


def iter_stored(folder: str, *, skipped: Skipped | None = None) -> Iterator[str]:
    """Like `find_stored`: each as soon as it is found; `skipped` is told of what cannot be listed."""
    main = main_file(folder)
    if main:
        yield main
        return
    sessions = os.path.join(folder, "sessions")
    sessions = sessions if os.path.isdir(sessions) else folder
    names = try_list(sessions, skipped).dirs
    yield from filter(None, (main_file(os.path.join(sessions, name)) for name in names))


def main_file(folder: str) -> str | None:
    """The manifest of a session folder, else its messages; None when it is no session folder.

    A manifest alone makes one only in a folder named `sessions`: many folders hold a file of their own name.
    """
    parent, name = os.path.split(os.path.abspath(folder))
    manifest, messages = os.path.join(folder, f"{name}.json"), os.path.join(folder, name + MESSAGES)
    has_messages = os.path.isfile(messages)
    if os.path.isfile(manifest) and (has_messages or os.path.basename(parent) == "sessions"):
        return manifest
    return messages if has_messages else None
