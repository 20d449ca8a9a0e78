"""Paths and line numbers as agents write them: pure string work, nothing touches the disk."""

from __future__ import annotations

import re

_DRIVE = re.compile(r"[A-Za-z]:(?:[\\/]|$)")
_LAST_LINE = 2**63 - 1  # what the JSON encoder can write


def is_absolute(path: str) -> bool:
    """Whether a path needs no workspace: POSIX, Windows drive, UNC, or beginning with `~` or `$`."""
    return path.startswith(("/", "~", "$", "\\\\")) or (path[1:2] == ":" and _DRIVE.match(path) is not None)


def clean(path: str) -> str:
    """A POSIX-absolute path without `.`, `..`, doubled and trailing slashes; any other stays as written."""
    if path[:1] != "/" or not ("//" in path or "/." in path or path[-1] == "/"):
        return path
    kept: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del kept[-1:]
        elif part and part != ".":
            kept.append(part)
    return "/" + "/".join(kept)


def resolve(path: str, base: str | None) -> str:
    """The path against the folder `base`, cleaned when the outcome is POSIX-absolute.

    Without a base a relative path stays as written; a base that is Windows, `~`, `$` or relative itself is
    joined with its own separator and not cleaned.
    """
    if path[:1] != "/" and path and base and not is_absolute(path):
        path = _join(base, path)
    return clean(path)


def _join(base: str, path: str) -> str:
    windows = "/" not in base and ("\\" in base or _DRIVE.fullmatch(base) is not None)
    separator = "\\" if windows else "/"
    return base.rstrip(separator) + separator + path


def to_line(value: object) -> int | None:
    """The 1-based line number a value holds, or None.

    Usable are a positive integer, a string of ASCII digits and a float without fraction, up to 2**63 - 1.
    """
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) < 20 else None
    elif isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 < value <= _LAST_LINE else None


def line_range(start: object, *, end: object = None, count: object = None) -> tuple[int | None, int | None]:
    """The inclusive bounds that a start line with an end line or a number of lines tells.

    A count alone begins at line 1. A bound that is no line number is unset, and so is an end before its
    start.
    """
    first, last, lines = to_line(start), to_line(end), to_line(count)
    if last is None and lines is not None:
        first = first or 1
        last = to_line(first + lines - 1)
    if first is not None and last is not None and last < first:
        last = None
    return first, last
