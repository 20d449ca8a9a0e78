"""What a run comes to: calls by tool, events by type, the last word, and whether it ended."""

from __future__ import annotations

from collections import Counter

from stenograph import model
from stenograph.event import Agent, Event
from stenograph.model import Entry


class Tally:
    """Counts one run's entries and events."""

    def __init__(self) -> None:
        self.tools: Counter[str] = Counter()
        self._kinds: Counter[type[Event]] = Counter()
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
            case model.Ended():
                self.ended = True
                self.text = entry.text or self.text

    @property
    def events(self) -> dict[str, int]:
        """How many events of each type there were."""
        return {str(kind.__struct_config__.tag): count for kind, count in self._kinds.items()}

    def event(self, event: Event) -> None:
        """Count an event."""
        self._kinds[type(event)] += 1
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
