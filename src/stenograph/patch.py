"""The paths that an `apply_patch` text names.

The grammar is the one that Codex and the Cline SDK give their models: file headers stand at the start of a
line, and every line of content begins with a blank, `+`, `-` or `@@`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_BEGIN = re.compile(r"^\*\*\* Begin Patch[ \t\r]*$", re.MULTILINE)
_HEADER = re.compile(r"\*\*\* (Add File|Update File|Delete File|Move to):(.*)", re.DOTALL)


def patch_paths(text: str) -> list[str]:
    """The distinct paths of a patch in the order in which they first appear.

    Deleted files and move targets count. Where the text has a `*** Begin Patch` line, only what stands
    between such a line and its `*** End Patch` counts; a patch without one begins with the text.
    """
    return list(dict.fromkeys(_paths(text)))


def _paths(text: str) -> Iterator[str]:
    within = _BEGIN.search(text) is None
    above = ""
    for line in text.split("\n"):
        if line.startswith("*** End Patch"):
            within = False
        elif _BEGIN.match(line):
            within = True
        header = _HEADER.match(line) if within else None
        kind, path = header.groups() if header else ("", "")
        if path.strip() and (kind != "Move to" or above == "Update File"):
            yield path.strip()
        above = kind
