"""What the shapes of several agents' records have in common: a tool's input, and results left as `Raw`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

import msgspec

from stenograph import jsonio
from stenograph.tools import Tool

_QUOTE = ord('"')
_READ_BY: Mapping[str, tuple[str, ...]] = {
    "read": ("path", "start", "end", "count"),
    "write": ("path",),
    "patch": ("path", "patch"),
    "search": ("query", "scope"),
    "list": ("scope",),
    "command": ("command", "folder"),
    "skill": ("name", "skill_file", "skill_folder"),
    "agent": ("name",),
}
"""The members of a tool's row that name keys of its input, by what the tool does."""


def input_of(tools: Iterable[Tool], others: Iterable[str] = ()) -> Any:
    """The type of an input of which those keys alone are decoded that some row asks for, and some others."""
    asked = {key for tool in tools for member in _READ_BY.get(tool.does, ()) for key in getattr(tool, member)}
    return TypedDict("Input", dict.fromkeys([*sorted(asked), *others], Any), total=False)  # type: ignore[operator]  # made when it runs


def is_text(told: msgspec.Raw) -> bool:
    """Whether a value that is still `Raw` is a string."""
    return memoryview(told)[0] == _QUOTE


def begins(told: Any, how: str) -> bool:
    """Whether a text begins like that; one that is still `Raw` is decoded only where that may be escaped.

    `how` has no quotes, backslashes and control characters, which alone have escapes of one letter.
    """
    if type(told) is msgspec.Raw:
        sought = b'"' + how.encode()
        head = bytes(memoryview(told)[: len(sought) + 1])
        plain, _, escape = head.partition(b"\\")
        if escape[:1] not in (b"u", b"/") or not sought.startswith(plain):
            return head.startswith(sought)
        told = jsonio.value(told)
    return isinstance(told, str) and told.startswith(how)
