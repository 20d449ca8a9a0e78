"""Cline's entries as events: tools in every input shape, subagents and teammates, the older records."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from stenograph import event, jsonio, model
from stenograph.agents.cline import chat, inputs
from stenograph.event import Event
from stenograph.model import Noticed, ToolCalled, ToolReturned
from stenograph.patch import patch_paths
from stenograph.projection import Call, Projection
from stenograph.tools import SCOPE, Resolve, Tool, draft, text

_NEAR = 64  # open calls of one id among which an agent's own is looked for
Drafter = Callable[[Any, Resolve], list[Event]]

_CONSUMED = frozenset(("run_start", "content_update", "team_restored", "zen_dispatched", "task_started"))


def _commands(source: Any, resolve: Resolve) -> list[Event]:
    return [event.Command(command=command) for command in inputs.commands(source)]


def _reads(source: Any, resolve: Resolve) -> list[Event]:
    return [
        event.Read(path=resolve(path), start_line=start, end_line=end)
        for path, start, end in inputs.files(source)
    ]


def _write(source: Any, resolve: Resolve) -> list[Event]:
    return draft(Tool(does="write"), source, resolve) or []


def _patch(source: Any, resolve: Resolve) -> list[Event]:
    body = inputs.patch(source)
    direct = _write(source, resolve)
    return direct or [event.Write(path=resolve(path)) for path in patch_paths(body or "")]


def _searches(source: Any, resolve: Resolve) -> list[Event]:
    scope = text(source, SCOPE)
    path = resolve(scope) if scope else None
    return [event.Search(query=query, path=path) for query in inputs.queries(source)]


def _list(source: Any, resolve: Resolve) -> list[Event]:
    named = {"path": source} if isinstance(source, str) else source
    return draft(Tool(does="list"), named, resolve) or [event.List()]


def _skill(source: Any, resolve: Resolve) -> list[Event]:
    named = {"skill": source} if isinstance(source, str) else source
    return draft(Tool(does="skill", name=("skill", "name", "skill_name", "skillName")), named, resolve) or []


TOOLS: Mapping[str, Drafter] = {
    "run_commands": _commands,
    "execute_command": _commands,
    "bash": _commands,
    "read_files": _reads,
    "read_file": _reads,
    "editor": _write,
    "write_to_file": _write,
    "replace_in_file": _write,
    "new_rule": _write,
    "apply_patch": _patch,
    "search_files": _searches,
    "search_codebase": _searches,
    "list_files": _list,
    "skills": _skill,
    "use_skill": _skill,
}
"""Each tool and what its input asks for: one event for each command, file and query."""

MORE_TOOLS: Mapping[str, Drafter] = {
    "apply_diff": _write,
    "insert_content": _write,
    "search_and_replace": _write,
    "search_replace": _write,
    "edit_file": _write,
    "edit": _write,
    "generate_image": _write,
    "codebase_search": _searches,
    "list_code_definition_names": _list,
    "skill": _skill,
    "run_slash_command": chat.slash_command,
}
"""Tools of classic Cline and Roo Code beyond the vocabulary's own; for the extended profile."""
_QUIET = frozenset(
    (
        "update_todo_list",
        "focus_chain",
        "switch_mode",
        "fetch_instructions",
        "read_command_output",
        "condense",
        "summarize_task",
        "load_mcp_documentation",
        "report_bug",
        "new_task",
    )
)
"""Calls of theirs that are housekeeping."""
_ASKED = frozenset(("ask_question", "ask_followup_question"))
_TOLD: Mapping[str, tuple[str, ...]] = {
    "submit_and_exit": ("summary",),
    "attempt_completion": ("result",),
    "plan_mode_respond": ("response",),
    "plan_mode_response": ("response",),
    "act_mode_respond": ("response",),
}
"""Calls that tell the user something, and the member of the input that holds it."""


class ClineProjection(Projection):
    """Turns Cline's entries into events, in both profiles."""

    def __init__(self, *, cwd: str | None = None, extended: bool = False, detail: bool = False) -> None:
        super().__init__(cwd=cwd, extended=extended, detail=detail)
        self._run_errors: set[str] = set()  # texts given since the last run_result
        self._errors: set[str] = set()  # texts given in the whole stream
        self._ended_mates: set[str] = set()  # teammates that had a task_end

    # Calls.

    def called(self, entry: ToolCalled) -> Iterable[Event]:
        """Record a call; a subagent starts, and a question is asked, at once."""
        call = self.call(entry)
        self.open(call)
        if not self.extended:
            return ()
        tasks = [self._delegation("subagent_started", entry, task) for task in _tasks(entry)]
        question = text(entry.input, ("question",)) if entry.tool in _ASKED else None
        return self.detailed([event.Agent(message=question)] if question else tasks, call, None)

    def call(self, entry: ToolCalled) -> Call:
        """A call with the events that its input asks for."""
        made = TOOLS.get(entry.tool) or (MORE_TOOLS.get(entry.tool) if self.extended else None)
        return Call(entry, None, (made(entry.input, self.resolve) or None) if made else None)

    def returned(self, entry: ToolReturned) -> Iterable[Event]:
        """Equal ids pair first in, first out; agents may use the same ones, so each its own first."""
        calls = self.waiting(entry.id)
        if len(calls) > 1:
            for call in islice(calls, _NEAR):
                if call.entry.thread == entry.thread:
                    calls.remove(call)
                    calls.appendleft(call)
                    break
        return super().returned(entry)

    def verdicts(self, events: list[Event], entry: ToolReturned) -> list[bool | None]:
        """One verdict for the call; in the extended profile each item's own where they pair one to one."""
        return super().verdicts(events, entry) if self.extended else [entry.ok] * len(events)

    def settled(self, made: Event, ok: bool | None, entry: ToolReturned | None, position: int) -> list[Event]:
        """One event of a call with its success; only the extended profile looks into commands."""
        if isinstance(made, event.Command) and self.extended:
            return self.commanded(made, ok, None, _told(entry, position))
        if isinstance(made, event.Command):
            return [made if ok is None else msgspec.structs.replace(made, is_success=ok)]
        return super().settled(made, ok, entry, position)

    def unmapped(self, call: Call, entry: ToolReturned) -> list[Event]:
        """The end event of a tool outside the table, with the call's input where it lacks one."""
        if self.extended:
            special = self._special(call.entry, entry)
            if special is not None:
                return special
        return [event.Unknown(json=_with_input(call.entry, entry))]

    def _special(self, call: ToolCalled, entry: ToolReturned | None) -> list[Event] | None:
        """What the extended profile makes of further tools; None when it knows the tool no better."""
        if tasks := _tasks(call):
            return [self._delegation(_spawned(entry), call, task) for task in tasks] if entry else []
        if said := text(call.input, _TOLD.get(call.tool, ())):
            return [event.Agent(message=said)]
        match call.tool:
            case name if name in _QUIET or (name in _ASKED and text(call.input, ("question",))):
                return []
            case "team_spawn_teammate":
                return self._mate("subagent_started", call, entry)
            case "team_shutdown_teammate":
                return self._mate("subagent_completed", call, entry)
            case name if name.startswith("team_"):
                return []
        return None

    def _mate(self, action: event.Action, call: ToolCalled, entry: ToolReturned | None) -> list[Event]:
        agent = text(call.input, ("agentId",)) or (text(entry.output, ("agentId",)) if entry else None)
        failed = entry is None or entry.ok is False
        if failed or (action == "subagent_completed" and agent in self._ended_mates):
            return []
        return list(self.delegated(model.Delegated(action=action, id=agent)))

    def _delegation(self, action: event.Action, call: ToolCalled, name: str | None) -> Event:
        return next(iter(self.delegated(model.Delegated(action=action, id=call.id, name=name))))

    def unanswered(self, call: Call) -> list[Event]:
        """The events of a call that never got its answer."""
        special = self._special(call.entry, None) if self.extended and call.events is None else None
        return super().unanswered(call) if special is None else special

    # Everything else.

    def spent(self, entry: model.Spent) -> Iterable[Event]:
        """A turn's tokens, in the extended profile."""
        return super().spent(entry) if self.extended else ()

    def failed(self, entry: model.Failed) -> Iterable[Event]:
        """An error of the older records."""
        return [self._error(entry.message)]

    def warned(self, entry: model.Warned) -> Iterable[Event]:
        """A warning, unless standard error repeats an error that was given."""
        if self.extended and entry.channel == "stderr" and entry.message in self._errors:
            return ()
        return super().warned(entry)

    def ended(self, entry: model.Ended) -> Iterable[Event]:
        """A run's end; its error is not given again."""
        given, self._run_errors = self._run_errors, set()
        told = (entry.text or "").strip()
        if not self.extended or entry.ok is not False or told in given:
            return ()
        self._errors.add(told)
        made = self._error(entry.message or "error", code=entry.code)
        self._run_errors.clear()
        return [made]

    def _error(self, message: str, *, code: str | None = None) -> Event:
        self._errors.add(message.strip())
        self._run_errors.add(message.strip())
        return event.Error(message=message, code=code)

    def noticed(self, entry: Noticed) -> Iterable[Event]:
        """What the seed does not name: unknown in the standard profile, sorted in the extended one."""
        record = entry.record
        if entry.kind == "ask/followup":
            return self._followup(text(record, ("text",)))
        if not self.extended:
            return [event.Unknown(json=entry.raw.raw())]
        if entry.kind in _CONSUMED:
            return ()
        match entry.kind:
            case "inner/error":
                return [self._inner_error(record)]
            case "error":
                return self._once(chat.message(text(record, ("message",))) or "error")
            case "ask/api_req_failed":
                return self._once(chat.message(text(record, ("text",))) or "error")
            case "notice":
                return _notice(record)
            case "run_aborted":
                return [event.Warning(message=text(record, ("message", "reason")) or entry.kind)]
            case "team_event":
                return self._team(entry)
        side, _, kind = entry.kind.partition("/")
        made = chat.events(kind, record, self.resolve) if side in ("say", "ask") else None
        return [event.Unknown(json=entry.raw.raw())] if made is None else made

    def _inner_error(self, record: dict[str, Any]) -> Event:
        told = record.get("error")
        message = text(told, ("message",)) or (told if isinstance(told, str) and told else None)
        message = message or text(record, ("message",)) or "error"
        if record.get("recoverable") is True:
            return event.Warning(message=message)
        return self._error(message)

    def _followup(self, told: str | None) -> list[Event]:
        """A question: its text in the standard profile, what the text's JSON asks in the extended one."""
        question = text(chat.parsed(told), ("question",)) if self.extended else None
        return [event.Agent(message=question or told)] if told else []

    def _once(self, message: str) -> list[Event]:
        return [] if message.strip() in self._errors else [self._error(message)]

    def _team(self, entry: Noticed) -> Iterator[Event]:
        for carried in entry.inside:
            carried.place = entry.place
            for made in self.route(carried):
                if self.detail:
                    self._place(made, carried)
                yield made
        match entry.record:
            case {"event": {"type": "task_end", "agentId": str(agent)} as told}:
                self._ended_mates.add(agent)
                failed = told.get("error") or told.get("status") not in (None, "completed")
                action: event.Action = "subagent_failed" if failed else "subagent_completed"
                yield from self.delegated(model.Delegated(action=action, id=agent))


class SessionsProjection(Projection):
    """Events of many sessions in one stream, by a `ClineProjection` for each: their calls share ids.

    So many are kept; the session that was quiet longest gives way, as if it had ended.
    """

    KEPT = 256

    def __init__(self, *, cwd: str | None = None, extended: bool = False, detail: bool = False) -> None:
        super().__init__(cwd=cwd, extended=extended, detail=detail)
        self._given = cwd
        self._sessions: OrderedDict[str | None, ClineProjection] = OrderedDict()

    def project(self, entry: model.Entry) -> list[Event]:
        """The events that this entry completes in its session."""
        own = self._own()
        events = own.project(entry)
        self.cwd = own.cwd
        if len(self._sessions) > self.KEPT:
            events += self._closed(self._sessions.popitem(last=False)[1])
        return events

    def flush(self) -> list[Event]:
        """Nothing is held for joining: Cline tells whole messages."""
        return []

    def close(self) -> list[Event]:
        """Every call that never got its answer, session by session."""
        sessions, self._sessions = self._sessions, OrderedDict()
        return [made for each in sessions.values() for made in self._closed(each)]

    def _own(self) -> ClineProjection:
        own = self._sessions.pop(self.session_id, None)
        if own is None:
            own = ClineProjection(cwd=self._given, extended=self.extended, detail=self.detail)
            own.session_id, own.report = self.session_id, self.report
        self._sessions[self.session_id] = own
        own.now = self.now
        return own

    def _closed(self, own: ClineProjection) -> list[Event]:
        own.now = self.now
        return own.close()


def _told(entry: ToolReturned | None, position: int) -> Any:
    """What a result says of one command of a call: its item, where the items pair with the commands."""
    if entry is None:
        return None
    output = entry.output
    items = output.get("results") if isinstance(output, dict) else output
    if isinstance(items, list) and position < len(items):
        return text(items[position], ("error", "result"))
    return output if isinstance(output, str) else text(output, ("error", "result"))


def _with_input(call: ToolCalled, entry: ToolReturned) -> msgspec.Raw:
    end = dict(jsonio.members(bytes(entry.raw.raw())))
    if "input" in end or call.raw is entry.raw:
        return entry.raw.raw()
    began = dict(jsonio.members(bytes(call.raw.raw())))
    if "input" not in began:
        return entry.raw.raw()
    both = {name: msgspec.Raw(value) for name, value in end.items()} | {"input": msgspec.Raw(began["input"])}
    return jsonio.raw(both)


def _tasks(call: ToolCalled) -> list[str | None]:
    """What the subagents that a call sets to work are told, one for each; none for any other call."""
    match call.tool:
        case "spawn_agent":
            return [text(call.input, ("task",))]
        case "new_task" if message := text(call.input, ("message",)):  # Roo's; classic's begins a task anew
            return [message]
        case "use_subagents":
            told = [text(call.input, (f"prompt_{number}",)) for number in range(1, 6)]
            return [prompt for prompt in told if prompt]
    return []


def _spawned(entry: ToolReturned) -> event.Action:
    done = entry.ok is not False and text(entry.output, ("finishReason",)) in (None, "completed")
    return "subagent_completed" if done else "subagent_failed"


def _notice(record: dict[str, Any]) -> list[Event]:
    phase = record.get("metadata")
    grave = record.get("noticeType") in ("recovery", "stop") or text(phase, ("phase",)) == "failed"
    return [event.Warning(message=text(record, ("message",)) or "notice")] if grave else []
