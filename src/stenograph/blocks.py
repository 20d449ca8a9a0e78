"""Messages made of content blocks, in the form that Claude Code and its likes print."""

from __future__ import annotations

from typing import Any, NamedTuple

from stenograph.fields import word


class Sorted(NamedTuple):
    """A message's blocks by kind: thoughts and texts as strings, the other ones with their positions."""

    thoughts: list[str]
    texts: list[str]
    others: list[tuple[int, Any]]


def thread(record: dict[str, Any]) -> str | None:
    """The call whose subagent a record belongs to; None for the main thread."""
    return word(record.get("parent_tool_use_id"))


def content(message: Any) -> list[Any] | None:
    """A message's blocks; a string is one block of text. None when there are none to be had."""
    told = message.get("content") if isinstance(message, dict) else None
    if isinstance(told, str):
        return [{"type": "text", "text": told}]
    return told if isinstance(told, list) else None


def kind(block: Any) -> str | None:
    """A block's type."""
    return word(block.get("type")) if isinstance(block, dict) else None


def sort(message: list[Any]) -> Sorted:
    """What was thought, what was said, and the rest; a redacted thought is an empty one."""
    found = Sorted([], [], [])
    for position, block in enumerate(message):
        form = kind(block)
        if form == "text" and isinstance(block.get("text"), str):
            found.texts.append(block["text"])
        elif form == "thinking" and isinstance(block.get("thinking"), str):
            found.thoughts.append(block["thinking"])
        elif form == "redacted_thinking":
            found.thoughts.append("")
        else:
            found.others.append((position, block))
    return found
