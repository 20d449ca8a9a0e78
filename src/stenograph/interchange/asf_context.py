"""What later requests leave out: which lines stand for which messages, and the settings that say so."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from stenograph.model import Entry, ToolCalled, ToolReturned

Put = Callable[[str, dict[str, Any]], str]


class Context:
    """Follows one session; `put` writes a line and gives its id."""

    def __init__(self, put: Put) -> None:
        self._put = put
        self._lines: dict[tuple[str, int], dict[str, None]] = {}  # by file and element: ids in order
        self._callers: dict[str, str] = {}  # call id to the line of the call
        self._results: list[tuple[str, str]] = []  # (line, call id)
        self._range: set[str] = set()
        self._marked: set[str] = set()
        self._omitted: dict[str, None] = {}
        self._folded: set[str] = set()  # lines that a summary stands for
        self.uses_omit = False
        self.orphans: list[str] = []  # calls that stay although their results are left out

    def note(self, entry: Entry, line: str) -> None:
        """An entry stands in a line."""
        place = entry.place
        self._lines.setdefault((place.file, place.line), {})[line] = None
        if isinstance(entry, ToolCalled) and entry.id:
            self._callers[entry.id] = line
        elif isinstance(entry, ToolReturned) and entry.id:
            self._results.append((line, entry.id))
            if self._callers.get(entry.id) in self._folded:
                self._omit({**self._omitted, line: None})

    def leave_out(self, record: Any) -> int:
        """Put into force what a record says of messages left out; gives how many lines that concerns."""
        match record:
            case {"file": str(file), "start": int(start), "end": int(end)}:
                self._range = set(self._of(file, range(start, min(end, start + len(self._lines)) + 1)))
                found = len(self._range)
            case {"file": str(file), "messages": list(messages)}:
                lines = set(self._of(file, messages))
                self._marked |= lines
                found = len(lines)
            case _:
                return 0
        out = self._range | self._marked
        for line, call in self._results:
            if self._callers.get(call) in out:
                out.add(line)
        self.orphans = [
            call for line, call in self._results if line in out and self._callers.get(call, line) not in out
        ]
        order = [line for lines in self._lines.values() for line in lines if line in out]
        self._omit(dict.fromkeys(order))
        return found

    def compacted(self) -> None:
        """A summary stands for all lines so far."""
        self._folded.update(line for lines in self._lines.values() for line in lines)
        self._omitted = {}

    def _of(self, file: str, messages: Iterable[int]) -> Iterable[str]:
        for message in messages:
            yield from self._lines.get((file, message + 1), ())

    def _omit(self, lines: dict[str, None]) -> None:
        """Write the settings by which exactly these lines contribute nothing."""
        if lines.keys() == self._omitted.keys():
            return
        self.uses_omit = True
        if not self._omitted.keys() <= lines.keys():
            self._put("config", {"omit": {}, "stenograph:entries": []})
            self._omitted = {}
        new = [line for line in lines if line not in self._omitted]
        if new:
            self._put("config", {"omit": {"items": new}, "stenograph:entries": []})
        self._omitted = lines
