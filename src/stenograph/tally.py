"""What a run comes to: calls by tool, events by type, tokens, cost, the last word, and whether it ended."""

from __future__ import annotations

from collections import Counter

import msgspec

from stenograph import model
from stenograph.event import Agent, Event, Tokens
from stenograph.model import Entry


class Tally:
    """Adds up one run's entries and events; `tokens` and `cost` are None until somebody tells them."""

    def __init__(self) -> None:
        self.tools: Counter[str] = Counter()
        self.events: Counter[str] = Counter()
        self.tokens: Tokens | None = None
        self.cost: float | None = None
        self.version: str | None = None
        self.text: str | None = None
        self.ended = False
        self._open: Counter[str | None] = Counter()

    def entry(self, entry: Entry) -> None:
        """Count what a record said."""
        match entry:
            case model.ToolCalled():
                self.tools[entry.tool.lower()] += 1
                self._open[entry.id] += 1
            case model.ToolReturned():
                self._returned(entry)
            case model.Started(version=str(version)):
                self.version = version
            case model.Spent():
                self._spent(entry.tokens, entry.cost)
            case model.Ended():
                self.ended = True
                self.text = entry.text or self.text
                self._spent(entry.tokens, entry.cost)

    def event(self, event: Event) -> None:
        """Count an event."""
        self.events[str(event.__struct_config__.tag)] += 1
        if isinstance(event, Agent) and event.subagent is None:
            self.text = event.message

    def _returned(self, entry: model.ToolReturned) -> None:
        """A result that names its tool and answers no call we saw stands for the call too."""
        if self._open[entry.id] > 0:
            self._open[entry.id] -= 1
        elif entry.tool is not None:
            self.tools[entry.tool.lower()] += 1
        if not self._open[entry.id]:
            del self._open[entry.id]

    def _spent(self, tokens: Tokens | None, cost: float | None) -> None:
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost
        if tokens is not None:
            self.tokens = tokens if self.tokens is None else _sum(self.tokens, tokens)


def _sum(one: Tokens, other: Tokens) -> Tokens:
    """Class by class; a class that neither reports stays unknown."""
    names = one.__struct_fields__
    parts = {name: (getattr(one, name), getattr(other, name)) for name in names}
    return Tokens(
        **{name: None if a is None and b is None else (a or 0) + (b or 0) for name, (a, b) in parts.items()}
    )


def as_json(tokens: Tokens | None) -> dict[str, int | None] | None:
    """Tokens as JSON with every class, null where it is not reported."""
    if tokens is None:
        return None
    return {field.encode_name: getattr(tokens, field.name) for field in msgspec.structs.fields(tokens)}
