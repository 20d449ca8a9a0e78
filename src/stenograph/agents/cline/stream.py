"""`cline --json`, run on 3.0.65 (in process and through its hub) and 2.18.0.

3.x wraps every record in `{ts, type}`; the agent's own events stand in `agent_event.event`, a teammate's in
`team_event.event.event`. A tool's `content_end` has no input: it is only on the `content_start`. Subagents'
events are printed like the lead's; only `hook_event` tells whose turn it is. No ordinary record names the
session. 2.x and 1.x print the extension's flat say/ask records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from stenograph import jsonio
from stenograph.agents.cline.projection import ClineProjection
from stenograph.event import Tokens
from stenograph.model import (
    NOWHERE,
    Ended,
    Entry,
    Failed,
    Noticed,
    Part,
    Said,
    Spent,
    Thought,
    ToolCalled,
    ToolReturned,
)
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
_QUIET = ("iteration_start", "iteration_end", "done")


class ClineStream(Reader):
    """Cline's command line, live: the present records and the older say/ask ones."""

    agent = "cline"
    command = "cline --json …"
    projection = ClineProjection
    dialect = Dialect(types=frozenset(_RECORDS), marks=({"ts": True},))

    def __init__(self) -> None:
        super().__init__()
        self._subagents: list[str] = []  # the running ones that hook records name
        self._partial: tuple[Any, str, list[Entry]] | None = None  # a say/ask record that may be replaced

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
        """`ts`: ISO 8601 in 3.x, milliseconds in 2.x."""
        told = record.get("ts")
        if isinstance(told, str):
            return told
        return _from_millis(told) if isinstance(told, int) else None

    def release(self) -> Iterator[Entry]:
        """The partial record that nothing has replaced."""
        held, self._partial = self._partial, None
        yield from held[2] if held else ()
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
        return ()

    @on("agent_event")
    def agent_event(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The agent's own event."""
        if "event" not in record:
            return (self.unread(),)
        thread = self._subagents[0] if len(self._subagents) == 1 else None
        return self._inner(record["event"], Part(self.unit.data, ("event",)), thread)

    @on("team_event")
    def team_event(self, record: dict[str, Any]) -> Iterable[Entry]:
        """What concerns a teammate; its own events are carried inside."""
        inside: list[Entry] = []
        match record:
            case {"event": {"type": "agent_event", "event": dict(carried), "agentId": str(agent)}}:
                part = Part(self.unit.data, ("event", "event"))
                inside = [
                    entry for entry in self._inner(carried, part, agent) if not isinstance(entry, Spent)
                ]
        yield self._notice("team_event", record, inside=tuple(inside))

    @on("run_result")
    def run_result(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The end of a run; `text` is the last answer, or the error's message."""
        reason = text(record, ("finishReason",))
        fault = None if reason == "error" else reason
        said = text(record, ("text",))
        yield Ended(
            ok=reason in ("completed", "aborted", None),
            text=said,
            message=(f"{fault}: {said}" if fault and said else fault or said) or "error",
            code=fault,
            thread=NOWHERE,
        )

    @on("run_start", "run_aborted", "team_restored", "zen_dispatched", "error", "task_started")
    def housekeeping(self, record: dict[str, Any]) -> Iterable[Entry]:
        """Records that the seed's table does not name."""
        yield from self._settle()
        yield self._notice(self.kind(record), record)

    @on("completion")
    def completion(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The last record of the Ink dialect, which repeats what was said."""
        return self._settle()

    @on("say", "ask", "message")
    def flat(self, record: dict[str, Any]) -> Iterator[Entry]:
        """A say/ask record; a partial one is held until another takes its place or comes behind it."""
        form = _form(record)
        ts, held = record.get("ts"), self._partial
        if held and not (held[0] == ts and held[1] == form):
            yield from held[2]
        self._partial = None
        if record.get("type") == "message" and record.get("role") == "user":
            return
        entries = list(self._flat(form, record))
        if record.get("partial") is not True:
            yield from entries
            return
        for entry in entries:
            entry.place = self.place(record)
            if self.is_full:
                entry.source = Part(self.unit.data)
        self._partial = (ts, form, entries)

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
            case {"type": "error", "message": str(message)}:
                return message
        return line

    def _settle(self) -> Iterator[Entry]:
        held, self._partial = self._partial, None
        yield from held[2] if held else ()

    def _notice(
        self, kind: str, record: Any, *, part: Part | None = None, inside: tuple[Entry, ...] = ()
    ) -> Entry:
        raw = part or Part(self.unit.data)
        return Noticed(kind=kind, record=record, raw=raw, inside=inside, thread=NOWHERE)

    def _inner(self, event: Any, part: Part, thread: str | None) -> Iterator[Entry]:
        """One event of an agent, the lead or another."""
        for entry in self._meaning(event, part):
            entry.thread = thread
            yield entry

    def _meaning(self, event: Any, part: Part) -> Iterator[Entry]:
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
            case {"type": "content_update" | "error" | "notice" as kind}:
                yield self._notice(kind, event, part=part)
            case _:
                yield self.unread(bytes(part.raw()))

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


def _called(event: dict[str, Any], part: Part) -> Iterator[Entry]:
    name, call = text(event, ("toolName",)), text(event, ("toolCallId",))
    if name and call:
        yield ToolCalled(id=call, tool=name, input=event.get("input"), raw=part)


def _returned(event: dict[str, Any], part: Part) -> Entry:
    output, error = event.get("output"), text(event, ("error",))
    batch = items(output)
    took = event.get("durationMs")
    return ToolReturned(
        id=text(event, ("toolCallId",)),
        tool=text(event, ("toolName",)),
        input=event.get("input"),
        ok=verdict(output, error, batch),
        oks=tuple(is_ok(item) for item in batch) if batch else None,
        output=output if output is not None else error,
        duration_ms=took if isinstance(took, int | float) and not isinstance(took, bool) else None,
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
    """One turn's tokens; `inputTokens` holds the cached ones, and cache counts that are left out are 0."""
    cached = _count(event.get("cacheReadTokens")) or 0
    whole, cost = _count(event.get("inputTokens")), event.get("cost")
    return Spent(
        tokens=Tokens(
            uncached_input=None if whole is None else max(0, whole - cached),
            cached_input=cached,
            output=_count(event.get("outputTokens")),
        ),
        cost=cost if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
    )


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _form(record: dict[str, Any]) -> str:
    """`say/KIND` or `ask/KIND`; empty when the record is neither."""
    kind = record.get("type")
    for side in ("say", "ask") if kind == "message" else (kind,):
        told = text(record, (side,)) if isinstance(side, str) else None
        if told:
            return f"{side}/{told}"
    return ""


def _from_millis(told: int) -> str | None:
    try:
        return datetime.fromtimestamp(told / 1000, UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        return None
