"""Paths and line numbers as agents give them; nothing touches the disk."""

from __future__ import annotations

import posixpath
from typing import Any


def is_absolute(path: str) -> bool:
    """Whether a path stands by itself."""
    return path.startswith(("/", "~", "$"))


def resolve(path: str, base: str | None = None) -> str:
    """A path made absolute where the base is known."""
    if path.startswith("/"):
        return posixpath.normpath(path)
    return posixpath.normpath(f"{base}/{path}") if base and not is_absolute(path) else path


def to_line(value: Any) -> int | None:
    """A usable line number, or None."""
    return value if type(value) is int and value > 0 else None


def line_range(start: int | None, end: int | None, count: int | None) -> tuple[int | None, int | None]:
    """A range from its bounds and count."""
    if end is None and count:
        start = start or 1
        end = start + count - 1
    return start, end
