"""What one event of an agent (layer 2) says, as entries: read from the command line and from each layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from stenograph.agents.cline import javascript
from stenograph.agents.cline.meter import counted
from stenograph.fields import amount
from stenograph.model import (
    NOWHERE,
    Ended,
    Entry,
    Noticed,
    Part,
    Said,
    Spent,
    Thought,
    ToolCalled,
    ToolReturned,
    Unread,
)
from stenograph.tools import text

_QUIET = ("iteration_start", "iteration_end", "done")


class Made(Part, frozen=True):
    """Where an event would stand that was made from another layer's; spelled as Cline does."""

    event: Mapping[str, Any] = {}

    def raw(self) -> msgspec.Raw:
        """The event's JSON."""
        return msgspec.Raw(javascript.stringify(self.event).encode())

    def value(self) -> Any:
        """The event."""
        return self.event


def meaning(event: Any, part: Part) -> Iterator[Entry]:
    """The entries of one `AgentEvent`; `part` is where it stands. `done` is left to the caller."""
    match event:
        case {"type": "content_start", "contentType": "tool"}:
            yield from _called(event, part)
        case {"type": "content_start"}:
            return
        case {"type": "content_end", "contentType": "text"}:
            yield Said(text=text(event, ("text", "content")) or "")
        case {"type": "content_end", "contentType": "reasoning" | "thinking"}:
            yield Thought(text=text(event, ("reasoning", "text", "content")) or "")
        case {"type": "content_end", "contentType": "tool"}:
            yield _returned(event, part)
        case {"type": "usage"}:
            yield _spent(event)
        case {"type": str(kind)} if kind in _QUIET:
            return
        case {"type": "content_update" | "notice" as kind}:
            yield Noticed(kind=kind, record=event, raw=part)
        case {"type": "error"}:
            yield Noticed(kind="inner/error", record=event, raw=part)
        case _:
            yield Unread(raw=part.raw())


def ended(reason: str | None, said: str | None, *, ok: bool | None) -> Ended:
    """A run's end: `said` is its last answer, or the message of its error."""
    fault = None if reason == "error" else reason
    message = (f"{fault}: {said}" if fault and said else fault or said) or "error"
    return Ended(ok=ok, text=said, message=message, code=fault, thread=NOWHERE)


def _called(event: dict[str, Any], part: Part) -> Iterator[Entry]:
    name, call = text(event, ("toolName",)), text(event, ("toolCallId",))
    if name and call:
        yield ToolCalled(id=call, tool=name, input=event.get("input"), raw=part)


def _returned(event: dict[str, Any], part: Part) -> Entry:
    output, error = event.get("output"), text(event, ("error",))
    batch = items(output)
    return ToolReturned(
        id=text(event, ("toolCallId",)),
        tool=text(event, ("toolName",)),
        input=event.get("input"),
        ok=verdict(output, error, batch),
        oks=tuple(is_ok(item) for item in batch) if batch else None,
        output=output if output is not None else error,
        duration_ms=amount(event.get("durationMs")),
        raw=part,
    )


def items(output: Any) -> list[Any]:
    """The items of a batch: an array, or an object's `results`."""
    batch = output.get("results") if isinstance(output, dict) else output
    return batch if isinstance(batch, list) else []


def is_ok(item: Any) -> bool:
    """Whether one item of a batch says that it succeeded."""
    return isinstance(item, dict) and item.get("success") is True


def verdict(output: Any, error: str | None, batch: list[Any]) -> bool | None:
    """Whether a call succeeded: its own flag, every item's, or an error text; None when nobody says."""
    told = output.get("success") if isinstance(output, dict) else None
    if isinstance(told, bool):
        return told
    if batch:
        return all(map(is_ok, batch))
    return False if error or text(output, ("error",)) else None


def _spent(event: dict[str, Any]) -> Entry:
    """One turn's tokens, and its cost where that is told."""
    return Spent(tokens=counted(event).tokens, cost=amount(event.get("cost")))
