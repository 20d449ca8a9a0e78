"""Entries as JSON objects and back: what formats keep of a timeline where they have no form for it.

The object is `{"entry": KIND, …}` with the members that say something. Place and thread are left out: they
follow from where the object stands. Two entries tell the same when their objects are equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, get_args

import msgspec

from stenograph import jsonio
from stenograph.event import Tokens
from stenograph.model import (
    NO_PART,
    Delegated,
    Entry,
    Failed,
    Noticed,
    Part,
    Prompted,
    Said,
    Spent,
    Thought,
    ToolCalled,
    ToolReturned,
    Unread,
    Warned,
)

KINDS: dict[str, type[Any]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Entry)}

_LEFT_OUT = frozenset(("place", "thread", "source", "inside"))
_FIELDS = {
    kind: [
        (field.name, field.default) for field in msgspec.structs.fields(kind) if field.name not in _LEFT_OUT
    ]
    for kind in KINDS.values()
}
_TOLD = {
    kind: (tag, [field for field in _FIELDS[kind] if tag not in ("called", "returned") or field[0] != "raw"])
    for tag, kind in KINDS.items()
}
"""By type: an entry's kind, and its members but for `raw` of a call, which says where it stands."""

_PLAIN = frozenset((str, int, float, bool, dict, list))
_TYPES = {kind: {field.name: field.type for field in msgspec.structs.fields(kind)} for kind in KINDS.values()}


def to_json(entry: Entry) -> dict[str, Any]:
    """What an entry says, as JSON values."""
    if isinstance(entry, Noticed):
        return _noticed(entry)
    tag, fields = _TOLD[type(entry)]
    found: dict[str, Any] = {"entry": tag}
    for name, default in fields:
        value = getattr(entry, name)
        if value is None or value is default:
            continue
        told = value if type(value) in _PLAIN else plain(value)
        if told is not None or isinstance(entry, Unread):
            found[name] = told
    return found


def from_json(told: dict[str, Any]) -> Entry:
    """The entry that an object stands for; one of an unknown kind is `Unread`."""
    kind = KINDS.get(str(told.get("entry")))
    if kind is None:
        return Unread(raw=jsonio.raw(told))
    known: dict[str, Any] = {}
    for name, _ in _FIELDS[kind]:
        if name in told:
            with suppress(ValueError):  # an odd value costs this member alone
                known[name] = _entry_value(kind, name, told[name])
    if kind is Noticed and "raw" in told:
        known.setdefault("record", told["raw"])  # which is kept once where both are one
    try:
        made: Entry = kind(**_demanded(kind) | known)
    except TypeError:
        return Unread(raw=jsonio.raw(told))
    if isinstance(made, ToolCalled | ToolReturned):
        made.raw = block_of(made)
    return made


def block_of(entry: ToolCalled | ToolReturned) -> Part:
    """The content block that stands for a call or a result whose own was not kept."""
    if isinstance(entry, ToolCalled):
        block = {"type": "tool_use", "id": entry.id, "name": entry.tool, "input": entry.input}
    else:
        block = {"type": "tool_result", "tool_use_id": entry.id, "content": entry.output}
        block |= {"is_error": True} if entry.ok is False else {}
    return Part(jsonio.dumps(block))


def said_of(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """All of them as objects."""
    return [to_json(entry) for entry in entries]


def difference(told: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """What must be kept of an entry beside a form that already says `known` of it.

    A text that is a part of the known one becomes `text_at`, its begin and end in characters.
    """
    kept = {
        name: value for name, value in told.items() if name not in known or not is_same(known[name], value)
    }
    text, whole = kept.get("text"), known.get("text")
    if isinstance(text, str) and isinstance(whole, str) and (at := whole.find(text)) >= 0:
        del kept["text"]
        kept["text_at"] = [at, at + len(text)]
    gone = [name for name in known if name not in told]
    if gone or "entry" in kept:  # which also tells a difference from a whole entry
        kept["without"] = gone
    return kept


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal; those nested too deep to tell count as different."""
    try:
        return bool(one == other)
    except RecursionError:
        return False


def restored(kept: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """The object that `difference` was made of."""
    found = {**known, **kept}
    at, whole = found.pop("text_at", None), known.get("text")
    match at:
        case [int(start), int(end)] if isinstance(whole, str):
            found["text"] = whole[start:end]
    gone = found.pop("without", None)
    for name in gone if isinstance(gone, list) else ():
        if isinstance(name, str):
            found.pop(name, None)
    return found


def _noticed(entry: Noticed) -> dict[str, Any]:
    found: dict[str, Any] = {"entry": "noticed", "kind": entry.kind}
    raw = None if entry.raw is NO_PART else entry.raw.value()
    if raw is not None:
        found["raw"] = raw
    if entry.record is not None and entry.record is not raw and (raw is None or entry.record != raw):
        found["record"] = plain(entry.record)
    if entry.tree is not None:
        found["tree"] = entry.tree
    if entry.tokens_before is not None:
        found["tokens_before"] = entry.tokens_before
    return found


def plain(value: Any) -> Any:
    """A field's value as plain JSON, None for what says nothing."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Part):
        return value.value()
    if isinstance(value, msgspec.Raw):
        return jsonio.value(value)
    if isinstance(value, msgspec.Struct):
        return _told(msgspec.to_builtins(value)) or None
    return list(value) if isinstance(value, tuple) else value


def _told(members: dict[str, Any]) -> dict[str, Any]:
    """A struct's members that say something, those of structs inside it too."""
    inner = {name: _told(told) if isinstance(told, dict) else told for name, told in members.items()}
    return {name: told for name, told in inner.items() if told is not None}


def _entry_value(kind: type[Any], name: str, value: Any) -> Any:
    """A member's value; raises ValueError when the member cannot hold it."""
    if name in ("raw", "details"):
        return jsonio.raw(value) if kind is Unread else Part(jsonio.dumps(value))
    if _TYPES[kind][name] is Any:
        return value
    made = msgspec.convert(value, _TYPES[kind][name])
    return made if isinstance(value, dict | list) else value  # a whole number stays one


def _demanded(kind: type[Any]) -> dict[str, Any]:
    """Values for the members that an entry must have."""
    if kind in (Prompted, Said, Thought):
        return {"text": ""}
    if kind is ToolCalled:
        return {"id": None, "tool": "", "input": None}
    if kind is ToolReturned:
        return {"id": None, "ok": None}
    if kind is Delegated:
        return {"action": "subagent_started"}
    return {"message": ""} if kind in (Warned, Failed) else {"tokens": Tokens()} if kind is Spent else {}
