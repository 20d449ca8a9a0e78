"""What a native record says beyond the entries made of it, so that it can be kept beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from stenograph import jsonio
from stenograph.interchange.facts import is_same
from stenograph.model import NO_PART, Entry, Noticed, ToolReturned, Unread

_KNOWN_TYPES = frozenset(("text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image"))
_ABSENT = object()
_NAMED = 4


def units(entries: Iterator[Entry] | Sequence[Entry]) -> Iterator[list[Entry]]:
    """The entries grouped by the record they were made of."""
    for key, group in groupby(entries, key=_unit):
        found = list(group)
        if key is None:
            yield from ([entry] for entry in found)
        else:
            yield found


def _unit(entry: Entry) -> int | None:
    return None if entry.source is NO_PART else id(entry.source.data)


def record_of(group: Sequence[Entry]) -> Any:
    """The record that a group was made of, decoded; None when there is none or it is kept as it is."""
    if group[0].source is NO_PART or any(_is_whole(entry) for entry in group):
        return None
    source = group[0].source
    try:
        return jsonio.loads(source.data) if source.held is None else source.held
    except ValueError:
        return None


def text_block(record: Any, path: Sequence[str | int]) -> str | None:
    """The whole text of the block that a path leads to; None when it is no text, or the record itself."""
    if not path:
        return None
    try:
        for step in path:
            record = record[step]
    except (LookupError, TypeError):
        return None
    match record:
        case str():
            return record
        case {"type": "text", "text": str(text)}:
            return text
    return None


def blocks(group: Sequence[Entry], record: Any) -> Iterator[tuple[list[Entry], str | None]]:
    """The entries of each block, and the block's whole text where it is one."""
    at = 0
    while at < len(group):
        path = group[at].source.path
        end = at + 1
        while path and end < len(group) and group[end].source.path == path:
            end += 1
        yield list(group[at:end]), text_block(record, path)
        at = end


def beside(record: Any, group: Sequence[Entry], told: Sequence[dict[str, Any]]) -> Any:
    """What remains of a record when all that its entries say is taken out; None when nothing does.

    `told` is what is kept of each entry, as JSON objects.
    """
    for entry, known in zip(group, told):
        held = list(known.values())
        record = _without(record, entry.source.path, held)
        if isinstance(entry, ToolReturned) and entry.details.data is entry.source.data:
            record = _without(record, entry.details.path, held)
    return record if record is not _ABSENT and record else None


def named(rest: Any) -> str:
    """A few words on what remained: the names of its first members."""
    names = list(rest) if isinstance(rest, dict) else []
    return ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")


def _is_whole(entry: Entry) -> bool:
    """Whether an entry holds its record as it is."""
    record = entry.source.data
    if entry.source.path:
        return False
    if isinstance(entry, Unread):
        raw = bytes(entry.raw)
        return raw == record or raw == jsonio.compact(record)
    return isinstance(entry, Noticed) and not entry.raw.path and entry.raw.data == record


def _without(record: Any, path: Sequence[str | int], held: list[Any]) -> Any:
    """The record with the part at a path reduced to what is not held."""
    if not path or record is _ABSENT:
        return _reduced(record, held)
    try:
        inner = record[path[0]]
    except (LookupError, TypeError):
        return record
    rest = _without(inner, path[1:], held)
    if isinstance(record, list):
        parts = record.copy()
        parts[int(path[0])] = None if rest is _ABSENT else rest
        return parts if any(each is not None for each in parts) else _ABSENT
    members: dict[str | int, Any] = record.copy()
    if rest is _ABSENT:
        del members[path[0]]
    else:
        members[path[0]] = rest
    return members


def _reduced(value: Any, held: list[Any]) -> Any:
    if not isinstance(value, dict):
        return _ABSENT if value in held else value
    kept = {name: member for name, member in value.items() if not _is_held(name, member, held)}
    return kept or _ABSENT


def _is_held(name: str, member: Any, held: list[Any]) -> bool:
    if name == "type" and isinstance(member, str) and member in _KNOWN_TYPES:
        return True
    kind = type(member)
    if kind is str:
        return member in held  # a string is equal to no value of another type
    if kind is bool:
        return any(member is each for each in held)
    return any(each is member or (type(each) is kind and is_same(member, each)) for each in held)
