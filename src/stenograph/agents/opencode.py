"""`opencode run --format json`, run on 1.18.33 and 1.0.185, and `kilo run --format json`, run on 7.7.7.

A call is told once, at its end. A shell command that failed or was stopped is `completed`; only
`metadata.exit` tells. A tool that the model may not use becomes one named `invalid`. A subagent's own doings
and the prompt are not told. Kilo is a fork: its records differ only in `metrics` at a step's end, `approval`
in a call's metadata, and an `error` that may be a string. 1.0: reads count lines from 0, a failed call leaves
no record, a question is drawn on standard output.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Required, TypedDict

import msgspec

from stenograph import event, jsonio
from stenograph.event import Event
from stenograph.fields import amount, count, members, moment, whole, word
from stenograph.meter import NO_END, SUBAGENT, Counts, Meter, without_reasoning
from stenograph.model import Entry, Failed, Part, Said, Spent, Thought, ToolReturned
from stenograph.projection import Call, Projection
from stenograph.reader import Reader, on
from stenograph.records import Dialect
from stenograph.shapes import begins, input_of, is_text
from stenograph.tools import PATH, Tool, text

_IDS = ("sessionId", "session_id", "agentId", "agent_id", "id")
_NAMES = ("name", "agent", "subagent", "agentType", "description", "subagent_type")

TOOLS = {
    "read": Tool(does="read"),
    "write": Tool(does="write"),
    "edit": Tool(does="write"),
    "multiedit": Tool(does="write"),
    "patch": Tool(does="patch"),
    "apply_patch": Tool(does="patch"),
    "grep": Tool(does="search"),
    "glob": Tool(does="search"),
    "lsp": Tool(does="search"),
    "list": Tool(does="list"),
    "bash": Tool(does="command", folder=("workdir",)),
    "background_process": Tool(does="command"),
    "skill": Tool(does="skill"),
    "task": Tool(does="agent", name=_NAMES),
    "agent_manager": Tool(does="agent", name=_NAMES),
    "todo": Tool(does="silent"),
    "todowrite": Tool(does="silent"),
    "todoread": Tool(does="silent"),
}
"""OpenCode's tools; other ones are unknown."""

KILO_TOOLS = {**TOOLS, "codesearch": Tool(does="search")}
"""Kilo's tools."""

_SESSION = ("sessionID", "session_id", "sessionId")
_REFUSED = "rejected permission"
_READ_FROM_0 = Tool(does="read", first=0)
_LIST = Tool(does="list", scope=PATH)
_DONE = ("completed", "success", "done", "ok")
_FAILED = ("error", "failed", "failure", "cancelled", "canceled")
_METADATA = ("part", "state", "metadata")
_OLD_READ = "<file>"  # how the result of a read begins in 1.0


class Shown(TypedDict, total=False):
    """What a read showed: a file or a directory."""

    type: Any


class Metadata(TypedDict, total=False):
    """What is read of a result's metadata."""

    exit: Any
    sessionId: Any
    dir: Any
    display: Shown


class Span(TypedDict, total=False):
    """When a call began and ended."""

    start: Any
    end: Any


class State(TypedDict, total=False):
    """A call with its result."""

    status: Required[Any]
    input: input_of([*KILO_TOOLS.values(), _LIST, _READ_FROM_0], _IDS)  # type: ignore[valid-type]  # a type made of the tables
    output: msgspec.Raw
    error: Any
    metadata: Metadata
    time: Span


class CallPart(TypedDict, total=False):
    """The part of a call's record."""

    tool: Required[Annotated[str, msgspec.Meta(min_length=1)]]
    callID: Any
    state: Required[State]


class ToolUse(TypedDict, total=False):
    """A call's record."""

    type: Required[Literal["tool_use"]]
    timestamp: Any
    sessionID: Any
    session_id: Any
    sessionId: Any
    part: Required[CallPart]


class StepStart(TypedDict, total=False):
    """A record that is read for nothing but its session and time."""

    type: Required[Literal["step_start"]]
    timestamp: Any
    sessionID: Any
    session_id: Any
    sessionId: Any


SHAPES: dict[bytes, msgspec.json.Decoder[Any]] = {
    b"tool_use": jsonio.decoder(ToolUse),
    b"step_start": jsonio.decoder(StepStart),
}


class Details(Part, frozen=True):
    """Where a result's metadata stands, and as much of it as was decoded."""

    told: Mapping[str, Any] = {}

    def value(self) -> Any:
        """The metadata."""
        return self.told


class OpenCodeProjection(Projection):
    """Turns OpenCode's entries into events."""

    tools = TOOLS
    ignore_case = True

    def restated(self, entry: ToolReturned, name: str) -> Call:
        """The call that a result tells of; a read may have been a listing, or have counted from 0."""
        call = super().restated(entry, name)
        if call.tool is None or call.tool.does != "read":
            return call
        shown = members(members(entry.details.value()).get("display"))
        if shown.get("type") == "directory":
            call.events = self.draft(_LIST, entry.input)
        elif begins(entry.output, _OLD_READ):
            call.events = self.draft(_READ_FROM_0, entry.input)
        return call

    def answered(self, call: Call, entry: ToolReturned) -> list[Event]:
        """The events of a call, all of it known now."""
        if call.tool and call.tool.does == "skill":
            told = {"dir": members(entry.details.value()).get("dir"), **members(entry.input)}
            call.events = self.draft(call.tool, told)
        if call.events is None and call.entry.tool == "background_process":
            return []
        return super().answered(call, entry)

    def subagent(self, call: Call, entry: ToolReturned) -> list[Event]:
        """A subagent's start and end; what names nobody is unknown."""
        named = self.orchestrated("subagent_started", call, entry)
        if named.subagent_id is named.subagent_name is None:
            return self.unmapped(call, entry)
        return super().subagent(call, entry)

    def orchestrated(
        self, action: event.Action, call: Call, entry: ToolReturned | None
    ) -> event.Orchestration:
        """One step of a subagent, which is a session of its own."""
        made = super().orchestrated(action, call, entry)
        told = entry.details.value() if entry else None
        agent = text(told, ("sessionId",)) or text(call.entry.input, _IDS)
        return msgspec.structs.replace(made, subagent_id=agent)


class KiloProjection(OpenCodeProjection):
    """Turns Kilo's entries into events."""

    tools = KILO_TOOLS


class OpenCodeMeter(Meter):
    """Adds up the steps of OpenCode and Kilo; no record tells what a subagent's session took."""

    reads = frozenset(("step_start", "step_finish", "tool_use", "error"))
    clocked = frozenset(("step_finish",))

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.step = Counts()  # what the last step took
        self._refused = False  # a permission was not given, which ends the run

    def take(self, kind: str, record: dict[str, Any]) -> None:
        """A request's beginning, its usage, a subagent, or the fault that ends a run."""
        if self.session is None or record.get("sessionID") != self.session:
            self._enter(text(record, _SESSION))
        part = members(record.get("part"))
        if kind == "tool_use":
            self._called(part)
        elif kind == "step_start":
            self.open = True
        elif kind == "step_finish":
            self.open = part.get("reason") == "tool-calls" and not self._refused
            self.step = _counts(members(part.get("tokens")))
            self.spend(self.step, cost=amount(part.get("cost")), turns=1)
        else:
            self.open = False

    def _enter(self, session: str | None) -> None:
        if session is None or session == self.session:
            return
        if self.open:
            self.gap(NO_END)
        self.session, self.open, self._refused = session, False, False

    def _called(self, part: dict[str, Any]) -> None:
        state = members(part.get("state"))
        error, details = state.get("error"), state.get("metadata")
        self._refused = isinstance(error, str) and _REFUSED in error
        if isinstance(details, dict) and "sessionId" in details and word(details["sessionId"]):
            self.gap(SUBAGENT)


class OpenCodeStream(Reader):
    """OpenCode, live."""

    agent = "opencode"
    command = "opencode run --format json …"
    projection = OpenCodeProjection
    meters = OpenCodeMeter
    meter: OpenCodeMeter
    dialect = Dialect(
        types=frozenset(("step_start", "step_finish", "text", "reasoning", "tool_use", "error")),
        marks=({"sessionID": True, "part": True}, {"sessionID": True, "error": True}),
    )
    shapes = SHAPES

    @classmethod
    def score(cls, record: dict[str, Any]) -> int:
        """A step's end is sure; what both programs print alike counts for both."""
        kilo = _is_kilo(record)
        return 2 * super().score(record) if kilo is None else 0 if kilo else 10

    def begin(self, record: dict[str, Any]) -> None:
        """The first session id stays."""
        self.session_id = text(record, _SESSION)

    def time(self, record: dict[str, Any]) -> str | None:
        """`timestamp`, in milliseconds."""
        return moment(record.get("timestamp"))

    @on("step_start")
    def step_start(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A request to the model, the first or a silent retry."""
        return ()

    @on("step_finish")
    def step_finish(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The tokens and cost of one request."""
        cost = amount(members(record.get("part")).get("cost"))
        return (Spent(tokens=self.meter.step.tokens, cost=cost),)  # the meter has seen the record first

    @on("text")
    def said(self, record: dict[str, Any]) -> Iterable[Entry]:
        """What the agent said."""
        return (Said(text=text(record.get("part"), ("text",)) or text(record, ("text",)) or ""),)

    @on("reasoning")
    def thought(self, record: dict[str, Any]) -> Iterable[Entry]:
        """What the model thought."""
        told = text(record.get("part"), ("text",)) or text(record, ("text", "reasoning"))
        return (Thought(text=told or ""),)

    @on("tool_use")
    def tool_use(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A call and its result."""
        part = members(record.get("part"))
        name = word(part.get("tool")) or text(record, ("tool", "toolName", "name"))
        if name is None:
            return (self.unread(),)
        state = members(part.get("state")) or members(record.get("state")) or record
        details = members(state.get("metadata"))
        result = ToolReturned(
            id=word(part.get("callID")),
            tool=name,
            input=state.get("input", state.get("arguments")),
            ok=_verdict(word(state.get("status")), details if name.lower() == "bash" else {}),
            output=_output(state),
            details=Details(self.unit.data, _METADATA, told=details),
            exit_code=whole(details.get("exit")),
            duration_ms=_duration(members(state.get("time"))),
            raw=Part(self.unit.data),
        )
        return (result,)

    @on("error")
    def error(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A fault that ends the run."""
        yield _fault(record)


class KiloStream(OpenCodeStream):
    """Kilo, live."""

    agent = "kilo"
    command = "kilo run --format json …"
    projection = KiloProjection

    @classmethod
    def score(cls, record: dict[str, Any]) -> int:
        """As OpenCode's, the other way round."""
        kilo = _is_kilo(record)
        return 10 if kilo else 0 if kilo is False else super().score(record)


def _is_kilo(record: dict[str, Any]) -> bool | None:
    """Which of the two programs printed a record; None when either may have."""
    part, kind = members(record.get("part")), record.get("type")
    if "sessionID" not in record:
        return None
    if kind == "step_finish" and part:
        return "metrics" in part
    approved = "approval" in members(members(part.get("state")).get("metadata"))
    return True if approved or (kind == "error" and isinstance(record.get("error"), str)) else None


def _output(state: dict[str, Any]) -> str | msgspec.Raw | None:
    """What a call printed, maybe still as `Raw`, else its error."""
    told = state.get("output")
    if type(told) is msgspec.Raw and len(told) > 2 and is_text(told):
        return told
    return text(state, ("output", "error"))


def _verdict(status: str | None, details: dict[str, Any]) -> bool | None:
    """Whether a call succeeded: a shell's exit status decides, which is null when it was stopped."""
    if status in _FAILED:
        return False
    if "exit" in details:
        return whole(details["exit"]) == 0
    return True if status in _DONE else None


def _duration(time: dict[str, Any]) -> float | None:
    start, end = amount(time.get("start")), amount(time.get("end"))
    return None if start is None or end is None else end - start


def _fault(record: dict[str, Any]) -> Failed:
    """An error's name, status and text, wherever they stand; all of it where no text does."""
    error = record.get("error")
    data = members(members(error).get("data"))
    told = text(data, ("message",)) or text(error, ("message",)) or text(record, ("message",)) or word(error)
    name, status = text(error, ("name",)), whole(data.get("statusCode"))
    head = ", ".join(str(part) for part in (name, status) if part is not None)
    if told is None and head == "" and error:
        told = jsonio.dumps(error).decode("utf-8", "replace")
    return Failed(message=": ".join(part for part in (head, told) if part) or "error", code=name)


def _counts(told: dict[str, Any]) -> Counts:
    """One request's tokens: input counts neither cache class; output counts the thinking in 1.0."""
    output, thinking = count(told.get("output")), count(told.get("reasoning"))
    cache = members(told.get("cache"))
    return Counts.apart(
        fresh=count(told.get("input")),
        read=count(cache.get("read")),
        written=count(cache.get("write")),
        output=output if "total" in told else without_reasoning(output, thinking),  # 1.0 has no `total`
        reasoning=thinking,
    )
