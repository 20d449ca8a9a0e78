"""The Cline SDK's events as recorded, one JSON object per line: layers 1 to 3, and a hub's envelopes.

Run on layer 1 of `@cline/agents` 0.0.86 and the hub of `cline` 3.0.65; see docs/cline-sdk.md. Each record
becomes layer 2 as in Cline, and that is read like what `cline --json` prints. Oddities: layer 1 names no
session, and an Error that went through JSON is `{}` there, its text only in the snapshot; a local host
repeats each layer 2 event as a chunk; a hub tells of no error but by the end of the run, and nobody tells how
a teammate's task ended but the teammate's own events.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from stenograph import jsonio
from stenograph.agents.cline import runtime, session, wire
from stenograph.agents.cline.adapt import AgentAdapters
from stenograph.agents.cline.agent import AGENT_EVENTS, message_of
from stenograph.agents.cline.entries import Made, ended, meaning
from stenograph.agents.cline.projection import SessionsProjection
from stenograph.agents.cline.receive import TRANSLATED, HubEventTranslator
from stenograph.agents.cline.runtime import AGENT_RUNTIME_EVENTS
from stenograph.agents.cline.session import CORE_SESSION_EVENTS, HUB_EVENT_NAMES
from stenograph.fields import members, moment, word
from stenograph.meter import Counts
from stenograph.model import NOWHERE, Ended, Entry, Noticed, Part, Prompted, Spent, Started, Warned
from stenograph.reader import Reader, on
from stenograph.records import Dialect
from stenograph.tools import text

_DISTINCT = ("content_start", "content_update", "content_end", "iteration_start", "iteration_end")
_FAULTS = ("error", "failed", "max_iterations", "mistake_limit")
_ENDS = {"run.completed": "completed", "run.failed": "error", "run.aborted": "aborted"}
_OTHER_FRAMES = ("command", "reply", "stream.subscribe", "stream.unsubscribe")


class _Memory(msgspec.Struct):
    """What is remembered of a session: for its present run, whether it told of its failure.

    `direct`: its layer 2 events came as such, so that chunks only repeat them. `mates`: how the teammates
    whose task has not ended came off, by name.
    """

    failed: bool = False
    direct: bool = False
    mates: dict[str, str] = {}


class LayerReader(Reader):
    """What the readers of all layers share: sessions by record, and the meaning of a layer 2 event."""

    agent = "cline"
    projection = SessionsProjection

    def __init__(self) -> None:
        super().__init__()
        self.session = _Memory()  # the one whose record is read
        self._many = False  # whether more than one session was told
        self._sessions: OrderedDict[str | None, _Memory] = OrderedDict({None: self.session})

    def enter(self, session_id: Any) -> None:
        """Take a record's own session; one that names none belongs to the stream's, if that has only one."""
        told = session_id.strip() if isinstance(session_id, str) else ""
        if told:
            self._many = self._many or self.session_id not in (None, told)
            self.session_id = told
        elif self._many:
            self.session_id = None
        self.session = self._sessions.pop(self.session_id, _Memory())
        self._sessions[self.session_id] = self.session
        if len(self._sessions) > SessionsProjection.KEPT:
            self._sessions.popitem(last=False)

    def inner(
        self, event: dict[str, Any], part: Part, thread: str | None, *, last_error: str | None = None
    ) -> Iterator[Entry]:
        """The entries of one layer 2 event; the main agent's `done` ends the run."""
        self.meter.session, self.meter.open = self.session_id, True
        for entry in meaning(_worded(event, last_error), part):
            entry.thread = thread
            if isinstance(entry, Spent):
                self.meter.spend(Counts.of(entry.tokens), cost=entry.cost, turns=1)
            yield entry
        if thread is not None:
            return
        match event.get("type"):
            case "iteration_start":
                self.session.failed = False
            case "error":
                self.session.failed |= _outcome(event) is not None
            case "done":
                reason = text(event, ("reason",))
                yield self.end(reason, text(event, ("text",)), ok=reason in ("completed", "aborted", None))

    def end(self, reason: str | None, said: str | None, *, ok: bool) -> Ended:
        """The end of a run; that it failed is told once."""
        self.meter.open = False
        known, self.session.failed = self.session.failed, self.session.failed or not ok
        return ended("error" if reason == "failed" else reason, said, ok=None if known and not ok else ok)


class AgentReader(LayerReader):
    """The Cline SDK's layer 2, AgentEvent."""

    command = "steno hub watch --layer agent"
    dialect = Dialect(types=frozenset(AGENT_EVENTS), marks=({"contentType": True}, {"iteration": True}))

    @classmethod
    def score(cls, record: dict[str, Any]) -> int:
        """The content and iteration events have members that no other format's have beside such a type."""
        return 10 if record.get("type") in _DISTINCT and super().score(record) else 0

    @on(*AGENT_EVENTS)
    def event(self, record: dict[str, Any]) -> Iterable[Entry]:
        """One event of the agent, or of one below it."""
        return self.inner(record, Part(self.unit.data), _below(record))


class RuntimeReader(LayerReader):
    """The Cline SDK's layer 1, AgentRuntimeEvent."""

    command = "steno hub watch --layer runtime"
    dialect = Dialect(types=frozenset(AGENT_RUNTIME_EVENTS), marks=({"snapshot": True},))

    def __init__(self) -> None:
        super().__init__()
        self._adapters = AgentAdapters(now_ms=None)

    @classmethod
    def score(cls, record: dict[str, Any]) -> int:
        """Every event has a snapshot; a recording may have left it out."""
        if word(record.get("type")) not in AGENT_RUNTIME_EVENTS:
            return 0
        return 10 if isinstance(record.get("snapshot"), dict) else 2

    def time(self, record: dict[str, Any]) -> str | None:
        """Only messages have a time; that of a tool's message is told again much later, when it is added."""
        message = members(record.get("message"))
        fresh = record.get("type") in ("assistant-message", "tool-finished") or message.get("role") == "user"
        return moment(message.get("createdAt")) if fresh else None

    @on(*AGENT_RUNTIME_EVENTS)
    def event(self, record: dict[str, Any]) -> Iterator[Entry]:
        """One event of the runtime, by way of layer 2."""
        snapshot = members(record.get("snapshot"))
        if record["type"] != "run-failed":  # only there is the snapshot, long in long runs, of use
            record = {name: member for name, member in record.items() if name != "snapshot"}
        event = runtime.to_runtime_event(record)
        if isinstance(event, wire.Unknown):
            yield self.unread()
            return
        if isinstance(event, runtime.MessageAdded) and event.message.role == "user":
            yield Prompted(text="".join(_texts(event.message.content)))
        agent_id = word(snapshot.get("agentId"))
        for found in self._adapters.translate(event, agent_id=agent_id):
            made = wire.to_wire(found)
            yield from self.inner(
                made,
                Made(event=made),
                agent_id if word(snapshot.get("parentAgentId")) else None,
                last_error=word(snapshot.get("lastError")),
            )


class CoreReader(LayerReader):
    """The Cline SDK's layer 3, CoreSessionEvent."""

    command = "steno hub watch --layer core"
    dialect = Dialect(types=frozenset(CORE_SESSION_EVENTS), marks=({"payload": True},))

    @classmethod
    def score(cls, record: dict[str, Any]) -> int:
        """The payload names the session."""
        named = isinstance(members(record.get("payload")).get("sessionId"), str)
        return 10 if named and word(record.get("type")) in CORE_SESSION_EVENTS else 0

    def time(self, record: dict[str, Any]) -> str | None:
        """`ts`, in milliseconds, of chunks and ends; of hooks, as text."""
        return moment(members(record.get("payload")).get("ts"))

    @on(*CORE_SESSION_EVENTS)
    def event(self, record: dict[str, Any]) -> Iterable[Entry]:
        """One event of a session."""
        payload = members(record.get("payload"))
        self.enter(payload.get("sessionId"))
        match record["type"], payload:
            case "agent_event", {"event": dict(event)}:
                self.session.direct = True
                return self._agent_event(payload, event, Part(self.unit.data, ("payload", "event")))
            case "chunk", {"stream": str(stream), "chunk": str(chunk)}:
                return self._chunk(stream, chunk)
            case "team_progress", {"lifecycle": dict(lifecycle)}:
                return (self._progress(lifecycle),)
            case "session_snapshot", {"snapshot": dict(snapshot)}:
                return (_started(snapshot),)
            case "pending_prompt_submitted", {"prompt": str(prompt)}:
                return (Prompted(text=prompt),)
            case "ended", {"reason": str(reason)} | {"finishReason": str(reason)}:
                said = text(payload.get("result"), ("text",))
                return (self.end(reason, said, ok=reason not in _FAULTS),)
            case "hook" | "pending_prompts" | "status", {}:
                return ()
        return (self.unread(),)

    def other(self, record: dict[str, Any]) -> Iterable[Entry]:
        """An event of no known type, which may all the same name its session."""
        self.enter(members(record.get("payload")).get("sessionId"))
        return super().other(record)

    def _agent_event(self, owner: dict[str, Any], event: dict[str, Any], part: Part) -> Iterator[Entry]:
        mate = word(owner.get("teamAgentId")) if owner.get("teamRole") == "teammate" else None
        if mate and (outcome := _outcome(event)):
            self.session.mates[mate] = outcome
        return self.inner(event, part, mate or _below(event))

    def _chunk(self, stream: str, chunk: str) -> Iterator[Entry]:
        """Raw output; the agent's are its events as JSON once more, or for the first time."""
        if stream != "agent":
            for line in filter(None, map(str.strip, chunk.split("\n"))):
                yield Warned(message=line, channel="stderr" if stream == "stderr" else "stdout")
        elif not self.session.direct:
            data = chunk.encode("utf-8", "backslashreplace")
            try:
                event = jsonio.loads(data)
            except ValueError:
                event = None
            if isinstance(event, dict):
                yield from self._agent_event({}, event, Part(data))
            else:
                yield self.unread()

    def _progress(self, lifecycle: dict[str, Any]) -> Entry:
        """A step of the team. The end of a task does not say how it ended; the teammate's own events do."""
        event = {"type": lifecycle.get("eventType"), "agentId": lifecycle.get("agentId")}
        if event["type"] == "task_end":
            outcome = self.session.mates.pop(str(event["agentId"]), None)
            event = {**event, "status": outcome} if outcome else {}
        return _team_event(event, self.unit.data)


class HubReader(LayerReader):
    """The events of a Cline hub: envelopes, or the frames that hold them."""

    command = "steno hub watch --layer hub"

    def __init__(self) -> None:
        super().__init__()
        self._translator = HubEventTranslator(now_ms=None)

    @classmethod
    def score(cls, record: dict[str, Any]) -> int:
        """The event's name beside its id; or a frame of the wire."""
        name = word(record.get("event"))
        if name and "eventId" in record:
            return 10 if name in HUB_EVENT_NAMES else 2
        framed = record.get("kind") in ("event", *_OTHER_FRAMES) and isinstance(record.get("envelope"), dict)
        return 10 if framed else 0

    def kind(self, record: dict[str, Any]) -> str:
        """The envelope's `event`."""
        return word(_envelope(record).get("event")) or ""

    def time(self, record: dict[str, Any]) -> str | None:
        """The envelope's `timestamp`, in milliseconds."""
        return moment(_envelope(record).get("timestamp"))

    @on(*sorted(TRANSLATED - _ENDS.keys()))
    def event(self, record: dict[str, Any]) -> Iterator[Entry]:
        """One event of a session, by way of layer 3."""
        envelope = self._entered(record)
        for found in self._translator.translate(session.to_envelope(envelope)):
            match wire.to_wire(found):
                case {"type": "agent_event", "payload": {"event": dict(event)} as owner}:
                    yield from self._agent_event(owner, event)
                case {"type": "session_snapshot", "payload": {"snapshot": dict(snapshot)}}:
                    yield _started(snapshot)
                case {"type": "pending_prompt_submitted", "payload": {"prompt": str(prompt)}}:
                    yield Prompted(text=prompt)

    @on(*_ENDS)
    def run_ended(self, record: dict[str, Any]) -> Iterator[Entry]:
        """The end of a run: its reason, and its last answer or its error's message."""
        envelope = self._entered(record)
        name, payload = envelope["event"], members(envelope.get("payload"))
        result = payload.get("result")
        reason = text(payload, ("reason",)) or text(result, ("finishReason",)) or _ENDS[name]
        said = text(payload, ("error", "text")) or text(result, ("text",))
        fault = name == "run.failed" or (name == "run.completed" and reason in _FAULTS)
        yield self.end(reason, said, ok=not fault)

    @on("team.progress")
    def team_progress(self, record: dict[str, Any]) -> Iterator[Entry]:
        """A step of a team, which does not say how a teammate's task ended."""
        self._entered(record)
        yield _team_event({}, self.unit.data)

    @on(*sorted(HUB_EVENT_NAMES - TRANSLATED - {"team.progress"}))
    def housekeeping(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The hub's own business; what hooks are asked with is told by other events too."""
        self._entered(record)
        return ()

    def other(self, record: dict[str, Any]) -> Iterable[Entry]:
        """An event of no known name; the other frames of the wire tell nothing."""
        if record.get("kind") in _OTHER_FRAMES:
            return ()
        self._entered(record)
        return super().other(record)

    def _entered(self, record: dict[str, Any]) -> dict[str, Any]:
        envelope = _envelope(record)
        self.enter(envelope.get("sessionId"))
        return envelope

    def _agent_event(self, owner: dict[str, Any], event: dict[str, Any]) -> Iterator[Entry]:
        """A layer 2 event; the run's end is told better by its own event than by `done`."""
        if event.get("type") == "done" or (event.get("contentType") == "tool" and "toolCallId" not in event):
            return iter(())  # without an id it is what a hook said of a call
        mate = word(owner.get("teamAgentId")) if owner.get("teamRole") == "teammate" else None
        return self.inner(event, Made(event=event), mate or _below(event))


def _below(event: dict[str, Any]) -> str | None:
    """The agent of an event, if that is one below the main one."""
    return word(event.get("agentId")) if word(event.get("parentAgentId")) else None


def _texts(parts: Any) -> Iterator[str]:
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, runtime.AgentTextPart) and isinstance(part.text, str):
            yield part.text


def _worded(event: dict[str, Any], last: str | None) -> dict[str, Any]:
    """An error with words of its own, or with those that the snapshot has where it lost them."""
    told = event.get("error")
    if event.get("type") != "error" or word(told) or text(told, ("message",)):
        return event
    words = message_of(told) or last
    return {**event, "error": {"message": words}} if words else event


def _outcome(event: dict[str, Any]) -> str | None:
    """How an agent's run ended, if this event ends it."""
    match event:
        case {"type": "done"}:
            return text(event, ("reason",)) or "completed"
        case {"type": "error"} if event.get("recoverable") is not True:
            return "failed"
    return None


def _started(snapshot: dict[str, Any]) -> Entry:
    return Started(
        session_id=text(snapshot, ("sessionId",)),
        cwd=text(snapshot.get("workspace"), ("cwd",)),
        model=text(snapshot.get("model"), ("modelId",)),
    )


def _team_event(event: dict[str, Any], data: bytes) -> Entry:
    return Noticed(kind="team_event", record={"event": event}, raw=Part(data), thread=NOWHERE)


def _envelope(record: dict[str, Any]) -> dict[str, Any]:
    return members(record.get("envelope")) if record.get("kind") == "event" else record
