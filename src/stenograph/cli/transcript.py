"""Entries for people and for programs: a readable transcript, and one JSON object each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import msgspec

from stenograph import jsonio, model
from stenograph.cli.terminal import clean
from stenograph.model import Entry

_INDENT = "  "
_LINES = 12
_HIDDEN = frozenset(
    ("place", "thread", "raw", "details", "inside", "record", "source", "reply", "signature", "redacted")
) | {"instructions", "cache_writes", "tree", "fault_code"}


def to_json(entry: Entry) -> dict[str, Any]:
    """One entry as a flat JSON object: its kind, its place, and what it says; unset members are left out."""
    place = entry.place
    found: dict[str, Any] = {"kind": str(entry.__struct_config__.tag)}
    if place.at:
        found["at"] = place.at
    if place.line:
        found |= {"file": place.file, "element": place.line, "offset": place.offset, "length": place.length}
    if isinstance(entry.thread, str):
        found["thread"] = entry.thread
    for name, default in _members(type(entry)):
        value = getattr(entry, name)
        if value is not None and value is not default:
            found["name" if name == "kind" else name] = _on_one_line(value)
    if isinstance(entry, model.Unread):
        found["raw"] = _on_one_line(entry.raw)
    if isinstance(entry, model.Noticed) and entry.record is not None:
        found["record"] = entry.record
    return found


@cache
def _members(kind: type[Entry]) -> list[tuple[str, Any]]:
    """The members of a kind of entry that are told, with their defaults."""
    fields = msgspec.structs.fields(kind)
    return [(field.name, field.default) for field in fields if field.name not in _HIDDEN]


def _on_one_line(value: Any) -> Any:
    """What a file holds may be spread over many lines."""
    return msgspec.Raw(jsonio.compact(bytes(value))) if isinstance(value, msgspec.Raw) else value


def lines(entries: Iterable[Entry], *, everything: bool = False) -> Iterator[str]:
    """A transcript: who says what, calls and the beginning of their results; cleaned for a terminal.

    Without `everything`, context that the harness puts in and housekeeping are left out.
    """
    for entry in entries:
        told = _told(entry, everything=everything)
        if told is None:
            continue
        label, body, is_cut = told
        clock = (entry.place.at or "")[11:19]
        thread = f" [{clean(entry.thread)}]" if isinstance(entry.thread, str) else ""
        yield f"{clock:8}  {clean(label)}{thread}"
        shown = body.strip("\n").split("\n") if body.strip() else []
        limit = len(shown) if everything or not is_cut else _LINES
        yield from (
            f"{_INDENT}{clean(line)}" if line.isascii() else _INDENT + clean(line) for line in shown[:limit]
        )
        if len(shown) > limit:
            yield f"{_INDENT}… {len(shown) - limit} more lines"
        yield ""


def _told(entry: Entry, *, everything: bool) -> tuple[str, str, bool] | None:
    """The label and the text of an entry, and whether a long text is cut; None for what is not shown."""
    match entry:
        case model.Prompted(text=text, synthetic=synthetic):
            return None if synthetic and not everything else ("context" if synthetic else "user", text, False)
        case model.Said(text=text):
            return "agent", text, False
        case model.Thought(text=text):
            return "thought", text, False
        case model.ToolCalled(tool=tool, input=told):
            return f"call {tool}", _value(told), True
        case model.ToolReturned(tool=tool, ok=ok, output=output):
            state = {True: "", False: " failed", None: ""}[ok]
            return f"result {tool or ''}{state}".rstrip(), _value(output), True
        case model.Spent():
            return (_spent(entry), "", False) if everything else None
        case model.Failed(message=message):
            return "error", message, False
        case model.Warned(message=message):
            return "warning", message, False
        case model.Ended(ok=ok, text=text):
            return ("ended" if ok else "failed"), text or "", False
        case model.Noticed(kind=kind, record=record):
            is_news = kind in ("summary", "truncation", "left_out", "context_edit")
            return (kind, _value(record), True) if everything or is_news else None
        case model.Unread(raw=raw):
            return "not understood", bytes(raw).decode("utf-8", "replace"), True
    return None


def _spent(entry: model.Spent) -> str:
    tokens = entry.tokens
    cost = "" if entry.cost is None else f", ${entry.cost:.4f}"
    return (
        f"spent {tokens.uncached_input or 0} + {tokens.cached_input or 0} in, {tokens.output or 0} out{cost}"
    )


def _value(value: Any) -> str:
    """A value for reading: text as it is, members one to a line."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(
            f"{name}: {_value(member) if isinstance(member, str) else _json(member)}"
            for name, member in value.items()
        )
    return "" if value is None else _json(value)


def _json(value: Any) -> str:
    return jsonio.dumps(value).decode("utf-8", "replace")
