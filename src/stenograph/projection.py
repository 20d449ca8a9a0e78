"""Entries to events: joins a message's pieces, pairs calls with their results, classifies commands.

One subclass for each agent states its tools and the rules in which it differs. `project` is called with each
entry in turn; what it returns is complete, nothing is taken back.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ClassVar

import msgspec
from msgspec.structs import force_setattr

from stenograph import event, jsonio, model, tools
from stenograph.errors import Place
from stenograph.event import Event, Origin, Unknown
from stenograph.model import NOWHERE, Entry, Said, Thought, ToolCalled, ToolReturned
from stenograph.notes import Kind, Report
from stenograph.paths import resolve
from stenograph.tools import Tool

_SUCCESS: dict[event.Action, bool | None] = {
    "subagent_started": None,
    "subagent_completed": True,
    "subagent_failed": False,
}


class Held(msgspec.Struct, gc=False):
    """The pieces of one message that may still grow, with the place and time of the last one."""

    message: str
    began: int
    thoughts: list[str] = []
    texts: list[str] = []
    fault: bool = False
    timestamp: str = ""
    origin: Origin | None = None


class Call(msgspec.Struct, eq=False):
    """A call that has no answer yet; `events` are its events without success, None when it is malformed."""

    entry: ToolCalled
    tool: Tool | None
    events: list[Event] | None
    number: int = 0
    """Its place among all calls, from 1."""


_NO_CALLS: deque[Call] = deque(maxlen=0)


class Projection:
    """Turns the entries of one stream into events."""

    tools: ClassVar[Mapping[str, Tool]] = {}
    ignore_case: ClassVar[bool] = False
    glue: ClassVar[str] = "\n\n"
    """What stands between the pieces of one message that came in several records."""

    def __init__(self, *, cwd: str | None = None, extended: bool = False, detail: bool = False) -> None:
        self.report = Report()
        self.cwd = cwd
        self.extended = extended
        self.detail = detail
        self.now = ""  # the time that the next events get
        self.session_id: str | None = None
        self._held: dict[str | None, Held] = {}  # by thread
        self._begun = 0  # texts that have begun
        self._calls: dict[str | None, deque[Call]] = {}  # unanswered ones by id
        self._count = 0
        self._late: Event | None = None  # waits for the next record to say more of it
        self._routes: dict[type[Any], Callable[[Any], Iterable[Event]]] = {
            model.Started: self.started,
            model.Prompted: self.prompted,
            model.Said: self.said,
            model.Thought: self.said,
            model.ToolCalled: self.called,
            model.ToolReturned: self.returned,
            model.Delegated: self.delegated,
            model.Spent: self.spent,
            model.Warned: self.warned,
            model.Failed: self.failed,
            model.Ended: self.ended,
            model.Noticed: self.noticed,
            model.Unread: self.unread,
        }

    def project(self, entry: Entry) -> list[Event]:
        """The events that this entry completes, in order."""
        if self._late is not None and entry.place.is_object:
            late, self._late = self._late, None
            return [*self.late(late, entry), *self.project(entry)]
        made = self._routes[type(entry)](entry)
        own = made if type(made) is list else list(made)
        if self._held and (ahead := self.ahead(entry, gave=bool(own))):
            own = ahead + own
        return self.stamp(own, entry) if own else own

    def route(self, entry: Entry) -> Iterable[Event]:
        """The entry's own events, by its kind."""
        return self._routes[type(entry)](entry)

    def late(self, made: Event, entry: Entry) -> list[Event]:
        """The event that has waited, by the record behind it."""
        return [made]

    def flush(self) -> list[Event]:
        """What is held: an event that waits, and pieces of messages."""
        late, self._late = self._late, None
        held = self.stamp(self._release(list(self._held)), None)
        return held if late is None else [late, *held]

    def close(self) -> list[Event]:
        """What is held, then every call that never got its answer, in the order of the calls."""
        events = self.flush()
        calls, self._calls = itertools.chain.from_iterable(self._calls.values()), {}
        for call in sorted(calls, key=lambda call: call.number):
            events += self.stamp(self.detailed(self.unanswered(call), call, None), call.entry)
        return events

    def stamp(self, events: list[Event], entry: Entry | None) -> list[Event]:
        """Give each event the time, the session, and on request the place of the record behind it."""
        now, session = self.now, self.session_id
        for made in events:
            if not made.timestamp:
                force_setattr(made, "timestamp", now)
            force_setattr(made, "session_id", session)
            if type(made) is Unknown:
                self._note(made, entry)
        if self.detail and entry is not None:
            for made in events:
                self._place(made, entry)
        return events

    def _place(self, made: Event, entry: Entry) -> None:
        if made.origin is None:
            force_setattr(made, "origin", _origin(entry))
            if made.call_id is None and isinstance(entry, ToolCalled | ToolReturned):
                force_setattr(made, "call_id", entry.id)
                force_setattr(made, "tool", entry.tool or None)
        if isinstance(entry.thread, str) and made.subagent is None:
            force_setattr(made, "subagent", entry.thread)

    def _note(self, made: Unknown, entry: Entry | None) -> None:
        where = Place(None, entry.place.offset, entry.place.line) if entry else Place()
        self.report.add(
            Kind.UNREAD,
            "unknown-record",
            where,
            bytes(memoryview(made.json)[:200]).decode("utf-8", "replace"),
        )

    # What is said: pieces of one message are joined, and given out when it can grow no more.

    def said(self, entry: Said | Thought) -> Iterable[Event]:
        """Hold a piece of a message; what belongs to no message is an event at once."""
        held = self._held.get(entry.thread)
        if entry.message is None:
            own = self.words(entry)
            return [*self._release((entry.thread,)), *own] if held else own
        ahead = (
            self.joined(self._held.pop(entry.thread), entry.thread)
            if held and held.message != entry.message
            else []
        )
        if entry.text:
            self._hold(entry)
        return ahead

    def words(self, entry: Said | Thought) -> list[Event]:
        """The event of a text that is whole as it comes; empty text is none."""
        if not entry.text:
            return []
        if isinstance(entry, Thought):
            return [event.Reasoning(message=entry.text)]
        return [event.Agent(message=entry.text)]

    def _hold(self, entry: Said | Thought) -> None:
        held = self._held.get(entry.thread)
        if held is None:
            self._begun += 1
            held = self._held[entry.thread] = Held(message=entry.message or "", began=self._begun)
        (held.thoughts if isinstance(entry, Thought) else held.texts).append(entry.text)
        held.fault = held.fault or (isinstance(entry, Said) and entry.fault)
        held.timestamp = self.now
        if self.detail:
            held.origin = _origin(entry)

    def ahead(self, entry: Entry, *, gave: bool) -> list[Event]:
        """The held texts that this entry shows to be complete; `gave`: it gives events of its own."""
        kind = type(entry)
        if kind is Said or kind is Thought or not entry.place.is_object:
            return []
        return self._release(self.released(entry, gave=gave))

    def released(self, entry: Entry, *, gave: bool) -> Collection[str | None]:
        """The threads whose held text this entry shows to be complete."""
        if type(entry) is model.Ended:
            return list(self._held)
        if entry.thread is NOWHERE:
            return (None,) if gave else ()
        return (entry.thread,)

    def _release(self, threads: Collection[str | None]) -> list[Event]:
        """The texts of these threads, in the order in which they began."""
        if len(self._held) == 1:
            ((thread, held),) = self._held.items()
            if thread not in threads:
                return []
            self._held.clear()
            return self.joined(held, thread)
        found = sorted(
            {thread for thread in threads if thread in self._held},
            key=lambda thread: self._held[thread].began,
        )
        events: list[Event] = []
        for thread in found:
            events += self.joined(self._held.pop(thread), thread)
        return events

    def joined(self, held: Held, thread: str | None) -> list[Event]:
        """The events of a whole message: its reasoning, then its text."""
        events: list[Event] = []
        if held.thoughts:
            thoughts = self.glue.join(held.thoughts)
            events.append(event.Reasoning(message=thoughts, timestamp=held.timestamp))
        if held.texts:
            events.append(event.Agent(message=self.glue.join(held.texts), timestamp=held.timestamp))
        for made in events if self.detail else ():
            force_setattr(made, "origin", held.origin)
            force_setattr(made, "subagent", thread)
        return events

    def drop_fault(self, told: str | None) -> None:
        """Forget the held text of an API error that an error of the same text is about to repeat."""
        for held in self._held.values():
            if held.fault and self.glue.join(held.texts) == told:
                held.texts.clear()

    # Calls and their results.

    def tool(self, name: str) -> Tool | None:
        """The table's row for a tool, or None."""
        return self.tools.get(name.lower() if self.ignore_case else name)

    def called(self, entry: ToolCalled) -> Iterable[Event]:
        """Record a call; its events come with its result, but a subagent starts at once."""
        call = self.call(entry)
        self.open(call)
        if call.tool is None or call.tool.does != "agent" or call.events is None:
            return ()
        return self.detailed([self.orchestrated("subagent_started", call, None)], call, None)

    def call(self, entry: ToolCalled) -> Call:
        """A call with the events that its input asks for."""
        tool = self.tool(entry.tool)
        return Call(entry, tool, self.draft(tool, entry.input) if tool else None)

    def draft(self, tool: Tool, source: Any) -> list[Event] | None:
        """The events of a call, without success; None when its input lacks what the tool needs."""
        return tools.draft(tool, source, self.resolve)

    def open(self, call: Call) -> None:
        """Keep a call until it is answered."""
        self._count = call.number = self._count + 1
        name = call.entry.id
        if name in self._calls:
            self._calls[name].append(call)
        else:
            self._calls[name] = deque((call,))

    def waiting(self, call_id: str | None) -> deque[Call]:
        """The unanswered calls of an id, in the order in which they will be taken."""
        return (self._calls.get(call_id) if call_id else None) or _NO_CALLS

    def take(self, call_id: str | None) -> Call | None:
        """The first unanswered call of an id, no longer open."""
        calls = None if call_id is None else self._calls.get(call_id)
        if calls is None:
            return None
        first = calls.popleft()
        if not calls:
            del self._calls[call_id]
        return first

    def returned(self, entry: ToolReturned) -> Iterable[Event]:
        """Pair a result with its call, or read it alone when it says what was called."""
        call = self.take(entry.id) if self._calls else None
        if call is None and entry.tool is not None:
            call = self.restated(entry, entry.tool)
        if call is None:
            return [event.Unknown(json=entry.raw.raw())]
        events = self.answered(call, entry)
        return self.detailed(events, call, entry) if self.detail else events

    def restated(self, entry: ToolReturned, name: str) -> Call:
        """The call that a result tells of, when its start was missed."""
        return self.call(
            ToolCalled(id=entry.id, tool=name, input=entry.input, raw=entry.raw, thread=entry.thread)
        )

    def answered(self, call: Call, entry: ToolReturned) -> list[Event]:
        """The events of a call whose result has come."""
        if call.events is None:
            return self.unmapped(call, entry)
        if call.tool and call.tool.does == "agent":
            return self.subagent(call, entry)
        return self.done(call.events, entry)

    def done(self, events: list[Event], entry: ToolReturned) -> list[Event]:
        """The events of a call, each with its success."""
        if len(events) == 1 and not entry.oks:
            (made,) = events
            if type(made) is event.Command:
                return self.settled(made, entry.ok, entry, 0)
            if entry.ok is not None:
                force_setattr(made, "is_success", entry.ok)
            return events
        return [
            done
            for position, (made, ok) in enumerate(zip(events, self.verdicts(events, entry), strict=True))
            for done in self.settled(made, ok, entry, position)
        ]

    def subagent(self, call: Call, entry: ToolReturned) -> list[Event]:
        """A subagent's end; where only its end was told, its start just ahead, unless it failed."""
        if entry.ok is False:
            return [self.orchestrated("subagent_failed", call, entry)]
        alone = call.entry.raw is entry.raw
        events: list[Event] = [self.orchestrated("subagent_started", call, entry)] if alone else []
        return [*events, self.orchestrated("subagent_completed", call, entry)] if entry.ok else events

    def orchestrated(
        self, action: event.Action, call: Call, entry: ToolReturned | None
    ) -> event.Orchestration:
        """A step of the subagent that a call started: its id is the call's, its name stands in the input."""
        name = tools.text(call.entry.input, call.tool.name) if call.tool else None
        return event.Orchestration(
            action=action, subagent_id=call.entry.id, subagent_name=name, is_success=_SUCCESS[action]
        )

    def verdicts(self, events: list[Event], entry: ToolReturned) -> list[bool | None]:
        """One verdict for each event of a call: each item's own, where they pair one to one."""
        if entry.oks is not None and len(entry.oks) == len(events):
            return list(entry.oks)
        return [entry.ok] * len(events)

    def settled(self, made: Event, ok: bool | None, entry: ToolReturned | None, position: int) -> list[Event]:
        """One event of a call with its success; a command may turn out to be reads, searches and lists."""
        if isinstance(made, event.Command):
            exit_code = entry.exit_code if entry else None
            return self.commanded(made, ok, exit_code, entry.output if entry else None)
        if ok is not None:
            force_setattr(made, "is_success", ok)
        return [made]

    def commanded(
        self, made: event.Command, ok: bool | None, exit_code: int | None, output: Any
    ) -> list[Event]:
        """What a shell command was, by what it asks for; its folder is told when it is not the workspace."""
        folder = made.working_directory
        if folder == self.cwd:
            force_setattr(made, "working_directory", None)
        return tools.shell_events(
            made,
            base=folder or self.base(),
            workspace=self.cwd,
            ok=ok,
            exit_code=exit_code,
            output=output,
        )

    def unmapped(self, call: Call, entry: ToolReturned) -> list[Event]:
        """The events of a tool outside the table, or of a malformed call, at its result."""
        if call.entry.raw is entry.raw:
            return [event.Unknown(json=entry.raw.raw())]
        parts = {"tool_use": call.entry.raw.raw(), "tool_result": entry.raw.raw()}
        return [event.Unknown(json=jsonio.raw(parts))]

    def unanswered(self, call: Call) -> list[Event]:
        """The events of a call that never got its answer."""
        if call.events is None:
            return [event.Unknown(json=call.entry.raw.raw())]
        return [done for made in call.events for done in self.settled(made, None, None, 0)]

    def detailed(self, events: list[Event], call: Call, entry: ToolReturned | None) -> list[Event]:
        """On request: the call's id, the tool's name, the thread and the duration on each of its events."""
        if not self.detail:
            return events
        for made in events:
            force_setattr(made, "call_id", call.entry.id)
            force_setattr(made, "tool", call.entry.tool or None)
            force_setattr(made, "duration_ms", self.duration(entry) if entry else None)
            if isinstance(call.entry.thread, str):
                force_setattr(made, "subagent", call.entry.thread)
        return events

    def duration(self, entry: ToolReturned) -> int | float | None:
        """How long a call took, in milliseconds, where the harness tells it."""
        return entry.duration_ms

    def base(self) -> str | None:
        """The folder that relative paths of shell commands are resolved against."""
        return self.cwd

    def resolve(self, path: str) -> str:
        """A path of a file tool, made absolute where the folder is known."""
        return resolve(path, self.base())

    # Everything else is one event or none.

    def started(self, entry: model.Started) -> Iterable[Event]:
        """A session began: the stream's word on the workspace wins."""
        if entry.cwd:
            self.cwd = entry.cwd
        return ()

    def prompted(self, entry: model.Prompted) -> Iterable[Event]:
        """Words given to the agent are no event."""
        return ()

    def delegated(self, entry: model.Delegated) -> Iterable[Event]:
        """A subagent's start or end."""
        yield event.Orchestration(
            action=entry.action,
            subagent_id=entry.id,
            subagent_name=entry.name,
            is_success=_SUCCESS[entry.action],
        )

    def spent(self, entry: model.Spent) -> Iterable[Event]:
        """A turn's tokens; all-zero usage is none."""
        return self.usage(entry.tokens, entry.cost)

    def usage(self, tokens: event.Tokens, cost: float | None) -> list[Event]:
        """One usage event, unless nothing was used."""
        is_any = tokens.uncached_input or tokens.cached_input or tokens.output or tokens.reasoning
        return [event.Usage(tokens=tokens, cost=cost)] if is_any else []

    def warned(self, entry: model.Warned) -> Iterable[Event]:
        """A warning."""
        yield event.Warning(message=entry.message, code=entry.code)

    def failed(self, entry: model.Failed) -> Iterable[Event]:
        """An error of the harness."""
        yield event.Error(message=entry.message, code=entry.code)

    def ended(self, entry: model.Ended) -> Iterable[Event]:
        """The end of a turn: its usage, then its error."""
        if entry.tokens is not None:
            yield from self.usage(entry.tokens, entry.cost)
        if entry.ok is False:
            yield event.Error(message=entry.message or "error", code=entry.code)

    def noticed(self, entry: model.Noticed) -> Iterable[Event]:
        """Housekeeping is no event unless the agent's projection says so."""
        return ()

    def unread(self, entry: model.Unread) -> Iterable[Event]:
        """What was not understood, as it came."""
        yield event.Unknown(json=entry.raw)


def _origin(entry: Entry) -> Origin:
    return Origin(entry.place.line, entry.place.offset, entry.place.length)
