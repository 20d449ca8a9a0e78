"""`cline --json`, run on 3.0.65 (in process and through its hub) and 2.18.0.

3.x wraps every record in `{ts, type}`; the agent's own events stand in `agent_event.event`, a teammate's in
`team_event.event.event`. A tool's `content_end` has no input: it is only on the `content_start`. Subagents'
events are printed like the lead's; only `hook_event` tells whose turn it is. No ordinary record names the
session. 2.x and 1.x print the extension's flat say/ask records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from stenograph import jsonio
from stenograph.agents.cline.entries import ended, meaning
from stenograph.agents.cline.meter import ClineMeter
from stenograph.agents.cline.projection import ClineProjection
from stenograph.fields import moment
from stenograph.model import NOWHERE, Entry, Failed, Noticed, Part, Said, Spent, Thought
from stenograph.reader import Reader, on
from stenograph.records import Dialect
from stenograph.tools import text

_SESSION = ("sessionId", "session_id", "id")
_RECORDS = (
    "hook_event",
    "agent_event",
    "team_event",
    "run_start",
    "run_result",
    "run_aborted",
    "run_abort_requested",
    "team_restored",
    "zen_dispatched",
    "error",
    "say",
    "ask",
    "task_started",
    "message",
    "completion",
)


class ClineStream(Reader):
    """Cline's command line, live: the present records and the older say/ask ones."""

    agent = "cline"
    command = "cline --json …"
    projection = ClineProjection
    meters = ClineMeter
    dialect = Dialect(types=frozenset(_RECORDS), marks=({"ts": True},))

    def __init__(self) -> None:
        super().__init__()
        self._subagents: list[str] = []  # the running ones that hook records name
        self._partial: dict[str, list[Entry]] = {}  # say/ask records that may be replaced, by their kind
        self._partial_ts: Any = None  # the `ts` that they share

    @classmethod
    def score(cls, record: dict[str, Any]) -> int:
        """`ts` stands in every record of both generations."""
        kind = record.get("type")
        if kind in ("hook_event", "agent_event", "team_event", "run_start", "run_result"):
            return 10 if "ts" in record else 2
        flat = kind in ("say", "ask") and isinstance(record.get(str(kind)), str)
        return 10 if flat else 2 if kind == "task_started" else super().score(record)

    def begin(self, record: dict[str, Any]) -> None:
        """The first session id stays; `taskId` names a conversation, not the session."""
        if self.session_id is None:
            self.session_id = text(record, _SESSION)

    def time(self, record: dict[str, Any]) -> str | None:
        """`ts`: ISO 8601 in 3.x, milliseconds in 2.x; `timestamp` in its Ink dialect."""
        return moment(_ts(record))

    def release(self) -> Iterator[Entry]:
        """The partial records that nothing has replaced."""
        yield from self._settle()
        yield from super().release()

    @on("hook_event")
    def hook(self, record: dict[str, Any]) -> Iterable[Entry]:
        """Life-cycle bookkeeping: which subagent is at work."""
        match record:
            case {"parentAgentId": str(), "agentId": str(agent), "hookEventName": "agent_start"}:
                self._subagents.append(agent)
            case {"parentAgentId": str(), "agentId": str(agent)} if agent in self._subagents:
                if record.get("hookEventName") in ("agent_end", "agent_error", "agent_abort"):
                    self._subagents.remove(agent)
        return self._settle() if self._partial else ()

    @on("agent_event")
    def agent_event(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The agent's own event."""
        if "event" not in record:
            return self.other(record)
        thread = self._subagents[0] if len(self._subagents) == 1 else None
        entries = self._inner(record["event"], Part(self.unit.data, ("event",)), thread)
        return chain(self._settle(), entries) if self._partial else entries

    @on("team_event")
    def team_event(self, record: dict[str, Any]) -> Iterable[Entry]:
        """What concerns a teammate; its own events are carried inside."""
        yield from self._settle()
        inside: list[Entry] = []
        match record:
            case {"event": {"type": "agent_event", "event": carried, **more}}:
                part = Part(self.unit.data, ("event", "event"))
                entries = self._inner(carried, part, text(more, ("agentId",)))
                inside = [entry for entry in entries if not isinstance(entry, Spent)]
        yield self._notice("team_event", record, inside=tuple(inside))

    @on("run_result")
    def run_result(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The end of a run; `text` is the last answer, or the error's message."""
        yield from self._settle()
        reason = text(record, ("finishReason",))
        yield ended(reason, text(record, ("text",)), ok=reason in ("completed", "aborted", None))

    @on("run_start", "run_aborted", "team_restored", "zen_dispatched", "error", "task_started")
    def housekeeping(self, record: dict[str, Any]) -> Iterable[Entry]:
        """Records that only the extended profile understands."""
        yield from self._settle()
        yield self._notice(self.kind(record), record)

    @on("completion")
    def completion(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The last record of the Ink dialect, which repeats what was said."""
        return self._settle()

    @on("say", "ask", "message")
    def flat(self, record: dict[str, Any]) -> Iterator[Entry]:
        """A say/ask record; a partial one is held until another takes its place or comes behind it."""
        form, ts = _form(record), _ts(record)
        if self._partial and ts != self._partial_ts:
            yield from self._settle()
        if record.get("type") == "message" and record.get("role") == "user":
            return
        entries = list(self._flat(form, record))
        if record.get("partial") is not True:
            self._partial.pop(form, None)
            yield from entries
            return
        for entry in entries:
            entry.place = self.place(record)
            if self.is_full:
                entry.source = Part(self.unit.data)
        self._partial[form], self._partial_ts = entries, ts

    def other(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A record of no known kind."""
        yield from self._settle()
        yield self.unread()

    def error_line(self, line: str) -> str | None:
        """A line that is itself an error record stands with its message."""
        if not line.startswith("{"):
            return line
        try:
            record = jsonio.loads(line.encode())
        except ValueError:
            return line
        match record:
            case {"type": "error", "message": str(message)} if message:
                return message
        return line

    def _settle(self) -> Iterator[Entry]:
        """What was held of partial records: one with another `ts` has come."""
        held, self._partial = self._partial, {}
        for entries in held.values():
            yield from entries

    def _notice(
        self, kind: str, record: Any, *, part: Part | None = None, inside: tuple[Entry, ...] = ()
    ) -> Entry:
        raw = part or Part(self.unit.data)
        return Noticed(kind=kind, record=record, raw=raw, inside=inside, thread=NOWHERE)

    def _inner(self, event: Any, part: Part, thread: str | None) -> Iterator[Entry]:
        """One event of an agent, the lead or another."""
        for entry in meaning(event, part):
            entry.thread = thread
            yield entry

    def _flat(self, form: str, record: dict[str, Any]) -> Iterator[Entry]:
        told = text(record, ("text",))
        match form:
            case "say/text" | "say/completion_result":
                yield Said(text=told or "")
            case "say/reasoning":
                yield Thought(text=told or text(record, ("reasoning",)) or "")
            case "say/error" | "say/api_req_failed":
                yield Failed(message=told or "error")
            case "":
                yield self.unread()
            case _:
                yield self._notice(form, record)


def _form(record: dict[str, Any]) -> str:
    """`say/KIND` or `ask/KIND`; empty when the record is neither."""
    kind = record.get("type")
    for side in ("say", "ask") if kind == "message" else (kind,):
        told = text(record, (side,)) if isinstance(side, str) else None
        if told:
            return f"{side}/{told}"
    return ""


def _ts(record: dict[str, Any]) -> Any:
    return record["ts"] if "ts" in record else record.get("timestamp")
