"""What is read of Codex's items: everything else is skipped, not decoded.

A record that does not fit its shape is decoded in full, so a shape changes how fast, never what. What a
command printed stays `Raw` until somebody asks for it.
"""

from __future__ import annotations

from typing import Any, Literal, Required, TypedDict

import msgspec

from stenograph import jsonio


class Item(TypedDict, total=False):
    """What is read of an item; an MCP call's arguments and result are left out."""

    id: Any
    type: Any
    item_type: Any
    text: Any
    message: Any
    error: Any
    command: Any
    cwd: Any
    aggregated_output: msgspec.Raw
    exit_code: Any
    status: Any
    changes: Any
    tool: Any
    receiver_thread_ids: Any
    agents_states: Any


class ItemRecord(TypedDict, total=False):
    """An item's beginning or end."""

    type: Required[Literal["item.started", "item.completed"]]
    item: Item


class Consumed(TypedDict, total=False):
    """A record that the item's end repeats."""

    type: Required[Literal["item.updated"]]


_item_record = jsonio.decoder(ItemRecord)
SHAPES: dict[bytes, msgspec.json.Decoder[Any]] = {
    b"item.started": _item_record,
    b"item.completed": _item_record,
    b"item.updated": jsonio.decoder(Consumed),
}
