"""Messages made of content blocks, in the form that Claude Code and its likes print."""

from __future__ import annotations

from typing import Any, NamedTuple

from stenograph import jsonio
from stenograph.fields import word
from stenograph.model import Part

ONLY = ("message", "content", 0)
"""Where the one block of a record's message stands."""

_FEW = 16


class Sorted(NamedTuple):
    """A message's blocks by kind: thoughts and texts as strings, the other ones with their positions."""

    thoughts: list[str]
    texts: list[str]
    others: list[tuple[int, Any]]


def thread(record: dict[str, Any]) -> str | None:
    """The call whose subagent a record belongs to; None for the main thread."""
    told = record.get("parent_tool_use_id")
    return None if told is None else word(told)


def content(message: Any) -> list[Any] | None:
    """A message's blocks; a string is one block of text. None when there are none to be had."""
    told = message.get("content") if isinstance(message, dict) else None
    if isinstance(told, list):
        return told
    return [{"type": "text", "text": told}] if isinstance(told, str) else None


def kind(block: Any) -> str | None:
    """A block's type."""
    told = block.get("type") if isinstance(block, dict) else None
    return told if isinstance(told, str) else None


def only(record: dict[str, Any], kind: str) -> dict[str, Any] | None:
    """The one block of a record's message, when it is of this kind: the usual record."""
    try:
        found = record["message"]["content"]
        block = found[0]
        return block if len(found) == 1 and block["type"] == kind else None
    except (LookupError, TypeError):  # no message or no blocks
        return None


def parts(record: bytes, length: int) -> list[Part]:
    """Where each block of a record's message stands.

    Many are cut out at once, for to find one of them later takes as long as the record is.
    """
    path = ("message", "content")
    if length <= _FEW:
        return [Part(record, (*path, position)) for position in range(length)]
    return [Part(block) for block in jsonio.cut(jsonio.part(record, path))]


def sort(message: list[Any]) -> Sorted:
    """What was thought, what was said, and the rest; a redacted thought is an empty one."""
    found = Sorted([], [], [])
    for position, block in enumerate(message):
        form = block.get("type") if isinstance(block, dict) else None
        if form == "text" and isinstance(block.get("text"), str):
            found.texts.append(block["text"])
        elif form == "thinking" and isinstance(block.get("thinking"), str):
            found.thoughts.append(block["thinking"])
        elif form == "redacted_thinking":
            found.thoughts.append("")
        else:
            found.others.append((position, block))
    return found
