"""The three array files of a task and classic's index, read element by element from their bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stenograph import jsonio
from stenograph.agents.cline.folders import FILE_API, FILE_CONTEXT_HISTORY, FILE_UI
from stenograph.agents.cline.scalars import to_int
from stenograph.agents.cline.types import ContextUpdate, HistoryItem, Message, UIMessage
from stenograph.document import Array
from stenograph.errors import ReadError
from stenograph.salvage import Shape, Span, scan


def parse_messages(data: bytes, *, name: str = FILE_API) -> Array[Message]:
    """Read an API history from its bytes; never raises."""
    return Array.parse(data, Message, name=name, shape=_MESSAGE)


def parse_ui(data: bytes, *, name: str = FILE_UI) -> Array[UIMessage]:
    """Read UI messages from their bytes; never raises."""
    return Array.parse(data, UIMessage, name=name, shape=_UI_MESSAGE)


def parse_context_history(data: bytes, *, name: str = FILE_CONTEXT_HISTORY) -> Array[ContextUpdate]:
    """Read classic's context edits from their bytes: nested maps written as lists, each update an element.

    The shape is `[[message, [editType, [[block, [[ts, kind, [text], metadata], ...]], ...]]], ...]`. A
    message or block entry that is otherwise is one element with its error. Never raises.
    """
    found = scan(data, shape=_EDITS)
    spans: list[Span] = []
    updates: list[ContextUpdate] = []
    for at, entry in enumerate(found.spans):
        for span, update in _message_edits(data, entry):
            update.recovered = at >= found.whole
            spans.append(span)
            updates.append(update)
    return Array.placed(data, updates, spans, name=name, error=found.error)


def find_history(data: bytes, id: str) -> HistoryItem | None:  # noqa: A002 - the wire's word
    """The element of a `taskHistory.json` that names this task, None when none does.

    Raises ReadError when the one that does is no object with the item's members: a bare string or a list
    that begins with the id, or an object whose id is no string.
    """
    raw = parse_index(data).get(id)
    if raw is None:
        return None
    item = HistoryItem(raw)
    if item.error or not isinstance(item.get("id"), str):
        raise ReadError(f"the entry of task {id} is no object of the item's members: {raw[:60]!r}")
    return item


def parse_index(data: bytes) -> dict[str, bytes]:
    """The elements of a `taskHistory.json` by the id that each names, of several the first."""
    found: dict[str, bytes] = {}
    for item in Array.parse(data, HistoryItem, shape=_HISTORY_ITEM).elements:
        named = item.get("id") if not item.error else jsonio.loads(item.raw)
        if isinstance(named, list):
            named = named[0] if named else None
        if isinstance(named, str | int) and not isinstance(named, bool):
            found.setdefault(str(named), item.raw)
    return found


def _is_message(data: bytes) -> bool:
    message = Message(data)
    return message.role in ("user", "assistant") or message.is_standalone_reasoning


def _is_ui_message(data: bytes) -> bool:
    return UIMessage(data).type in ("ask", "say")


def _is_history_item(data: bytes) -> bool:
    item = HistoryItem(data)
    return bool(item.id) and "ts" in item


_MESSAGE = Shape(fits=_is_message)
_UI_MESSAGE = Shape(fits=_is_ui_message)
_HISTORY_ITEM = Shape(fits=_is_history_item)
_EDITS = Shape(re.compile(rb"\[\s*-?[0-9]+\s*,\s*\[\s*-?[0-9]+\s*,\s*\["), fits=lambda _: True)


def _message_edits(data: bytes, entry: Span) -> Iterator[tuple[Span, ContextUpdate]]:
    """The updates of one `[message, [editType, blocks]]`."""
    parts = _parts(data, entry)
    message = _index(data, parts[0]) if len(parts) > 1 else None
    inner = _parts(data, parts[1]) if message is not None else []
    if message is None or len(inner) < 2 or not _is_list(data, inner[1]):
        yield entry, ContextUpdate(_cut(data, entry), error="not an entry of a message's edits")
        return
    edit_type = jsonio.loads(_cut(data, inner[0]))
    for block in _parts(data, inner[1]):
        for span, update in _block_edits(data, block):
            update.message, update.edit_type = message, edit_type
            yield span, update


def _block_edits(data: bytes, entry: Span) -> Iterator[tuple[Span, ContextUpdate]]:
    """The updates of one `[block, updates]`."""
    parts = _parts(data, entry)
    block = _index(data, parts[0]) if len(parts) > 1 else None
    if block is None or not _is_list(data, parts[1]):
        yield entry, ContextUpdate(_cut(data, entry), error="not an entry of a block's edits")
        return
    for span in _parts(data, parts[1]):
        raw = _cut(data, span)
        yield span, ContextUpdate(raw, block=block, error=_update_fault(raw))


def _update_fault(raw: bytes) -> str | None:
    match jsonio.loads(raw):
        case [_, str(), [*texts], *_] if all(isinstance(text, str) for text in texts):
            return None
        case _:
            return "not an update: [ts, kind, [text], metadata]"


def _parts(data: bytes, span: Span) -> list[Span]:
    """Where the elements of a nested array stand in the file; none when it is no array."""
    start = span[0]
    return [(start + at, start + end) for at, end in scan(_cut(data, span)).spans]


def _index(data: bytes, span: Span) -> int | None:
    found = to_int(jsonio.loads(_cut(data, span)))
    return found[0] if found and found[1] and found[0] >= 0 else None


def _is_list(data: bytes, span: Span) -> bool:
    return data[span[0] : span[0] + 1] == b"["


def _cut(data: bytes, span: Span) -> bytes:
    return data[span[0] : span[1]]
