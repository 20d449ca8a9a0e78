"""Claude Code's entries as events: its tools, its working folder, its subagents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec

from stenograph import event, jsonio, model, paths, shell
from stenograph.event import Event
from stenograph.fields import amount, members
from stenograph.model import Entry, Noticed, Prompted, ToolCalled, ToolReturned
from stenograph.projection import Call, Projection
from stenograph.tools import Tool, draft, line, printed, shell_events, text

_PATH = ("file_path", "filePath", "path")
_NOTEBOOK = ("notebook_path", "notebookPath", *_PATH)

TOOLS = {
    "Read": Tool(
        does="read",
        path=("file_path", "path"),
        start=("offset", "start_line"),
        end=(),
        count=("limit", "line_count"),
    ),
    "Write": Tool(does="write", path=_PATH),
    "Edit": Tool(does="write", path=_PATH),
    "MultiEdit": Tool(does="write", path=_PATH),
    "NotebookEdit": Tool(does="write", path=_NOTEBOOK),
    "Grep": Tool(does="search", query=("pattern", "query"), scope=("path",)),
    "Glob": Tool(does="search", query=("pattern", "glob"), scope=("path",)),
    "LS": Tool(does="list", scope=("path",)),
    "Bash": Tool(does="command", command=("command", "cmd")),
    "Skill": Tool(does="skill", name=("skill", "skill_name", "command"), skill_file=(), skill_folder=()),
    "StructuredOutput": Tool(does="silent"),
}
"""The tools that both profiles map."""

MORE_TOOLS = {
    "NotebookRead": Tool(does="read", path=_NOTEBOOK, start=(), end=(), count=()),
    "Agent": Tool(does="other"),
    "Task": Tool(does="other"),
    **{
        name: Tool(does="silent")
        for name in ("TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "ToolSearch")
    },
}
"""The tools that the extended profile maps further."""

_SILENT = ("system/status", "system/thinking_tokens")
_SILENT_EXTENDED = (
    "system/task_progress",
    "system/task_updated",
    "system/background_tasks_changed",
    "system/compact_boundary",
    "control_response",
    "user/replayed",
)
_WARNINGS = (
    "system/permission_denied",
    "system/model_fallback",
    "system/model_refusal_no_fallback",
    "system/informational",
)
_MOVES = {"EnterWorktree": "worktreePath", "ExitWorktree": "originalCwd"}
_LONGEST_PATH = 4096  # PATH_MAX of Linux; other systems allow less
_RESET = "Shell cwd was reset to "
_RESET_BYTES = _RESET.encode()
_SKILL_FOLDER = "Base directory for this skill: "


class Subagent(msgspec.Struct):
    """What is known of one subagent: its id, name and call, and which of its two events were given."""

    id: str | None = None
    call: str | None = None
    name: str | None = None
    started: bool = False
    ended: bool = False
    background: bool = False


class ClaudeProjection(Projection):
    """Turns Claude Code's entries into events, in both profiles."""

    tools = TOOLS

    def __init__(self, *, cwd: str | None = None, extended: bool = False, detail: bool = False) -> None:
        super().__init__(cwd=cwd, extended=extended, detail=detail)
        self._table = {**TOOLS, **MORE_TOOLS} if extended else TOOLS
        self._folder: str | None = cwd  # where relative paths lie; moves with `cd`
        self._adrift = False  # a `cd` to nobody knows where
        self._answers: dict[str, int] = {}  # results so far for an id that several calls share
        self._moving: dict[str, str] = {}  # calls that move the workspace: id to the member that says where
        self._subagents: dict[str, Subagent] = {}  # by call id and by task id
        self._ambient: set[str] = set()  # tasks that the program runs for itself
        self._output: bytes | None = None  # the structured output, until a text follows it

    def late(self, made: Event, entry: Entry) -> list[Event]:
        """A skill, with its real folder where the record behind it shows that."""
        folder = _skill_folder(entry)
        if not folder:
            return [made]
        path = paths.resolve(f"{folder}/SKILL.md", self.cwd)
        return self.stamp([msgspec.structs.replace(made, path=path, timestamp="", origin=None)], entry)

    def duration(self, entry: ToolReturned) -> int | float | None:
        """A structured result tells how long some tools took."""
        details = members(entry.details.value())
        told = amount(details.get("durationMs"))
        return amount(details.get("totalDurationMs")) if told is None else told

    def resolve(self, path: str) -> str:
        """Against the folder that `cd` has moved to."""
        return paths.resolve(path, self._folder)

    def tool(self, name: str) -> Tool | None:
        """The table's row for a tool; the extended profile has more rows."""
        return self._table.get(name)

    def started(self, entry: model.Started) -> Iterable[Event]:
        """`init` sets the workspace, and the folder back to it."""
        self._move(entry.cwd or self.cwd)
        return ()

    def _move(self, workspace: str | None) -> None:
        self.cwd = self._folder = workspace
        self._adrift = False

    # What is said.

    def released(self, entry: Entry, *, gave: bool) -> Collection[str | None]:
        """A result or a notification also completes what the call's own thread said."""
        if type(entry) is ToolCalled:
            return (entry.thread,)
        if type(entry) is ToolReturned:
            return (entry.thread, entry.id) if entry.id else (entry.thread,)
        threads = super().released(entry, gave=gave)
        if isinstance(entry, Noticed) and entry.kind == "system/task_notification":
            called = entry.record.get("tool_use_id")
            return [*threads, called] if isinstance(called, str) else threads
        return threads

    def said(self, entry: model.Said | model.Thought) -> Iterable[Event]:
        """Hold a piece of a message; a text behind the structured output takes its place."""
        if isinstance(entry, model.Said) and entry.text and entry.thread is None:
            self._output = None
        return super().said(entry)

    def ended(self, entry: model.Ended) -> Iterable[Event]:
        """The end of a turn; in the extended profile its usage, and an API error's text only once."""
        if self.extended:
            if entry.ok is False:
                self.drop_fault(entry.text)
            if self._output is not None:
                yield event.Agent(message=self._output.decode("utf-8", "surrogatepass"))
                self._output = None
            yield from super().ended(entry)
        elif entry.ok is False:
            yield event.Error(message=entry.message or "error", code=entry.code)

    # Calls.

    def called(self, entry: ToolCalled) -> Iterable[Event]:
        """Record a call; in the standard profile one that is not understood is unknown at once."""
        tool = self.tool(entry.tool)
        resolve = self._in_workspace if tool and tool.does == "skill" else self.resolve
        call = Call(entry, tool, draft(tool, entry.input, resolve) if tool else None)
        if entry.tool in _MOVES and entry.thread is None and entry.id:
            self._moving[entry.id] = _MOVES[entry.tool]
        if call.events is None and not self.extended:
            return [event.Unknown(json=entry.raw.raw())]
        if tool and tool.does == "other" and entry.id and call.events is not None:
            self._expect(entry.id, entry.input)
        self.open(call)
        return []

    def _in_workspace(self, path: str) -> str:
        """A skill's path: `cd` does not move it."""
        return paths.resolve(path, self.cwd)

    def returned(self, entry: ToolReturned) -> Iterable[Event]:
        """Pair a result with the one open call of its id; several such calls are ambiguous."""
        waiting = self.waiting(entry.id)
        if len(waiting) > 1:
            return self._ambiguous(entry, entry.id or "", len(waiting))
        call = self.take(entry.id) if waiting else None
        events = self.answered(call, entry) if call else self._unpaired(entry)
        if call and self.detail:
            events = self.detailed(events, call, entry)
        if self._moving and entry.id in self._moving:
            self._enter(entry, self._moving.pop(entry.id))
        return events

    def _enter(self, entry: ToolReturned, member: str) -> None:
        target = text(entry.details.value(), (member,)) if entry.ok else None
        if target:
            self._move(target)

    def _ambiguous(self, entry: ToolReturned, name: str, calls: int) -> Iterator[Event]:
        yield event.Unknown(json=entry.raw.raw())
        self._answers[name] = self._answers.get(name, 0) + 1
        if self._answers[name] < calls:
            return
        del self._answers[name]
        for _ in range(calls):
            call = self.take(name)
            if call:
                yield from self.detailed(self.unanswered(call), call, None)

    def _unpaired(self, entry: ToolReturned) -> list[Event]:
        """A read recovered from what its result tells of the file, or the result's block."""
        details = entry.details.value()
        found = details.get("file") if isinstance(details, dict) else None
        path = text(found, ("file_path", "filePath", "path"))
        if not isinstance(found, dict) or path is None:
            return [event.Unknown(json=entry.raw.raw())]
        start = line(found, ("start_line", "startLine", "offset"))
        count = _count(found, start or 1)
        start, end = paths.line_range(start, count=count)
        read = event.Read(path=self.resolve(path), start_line=start, end_line=end, is_success=entry.ok)
        return [read]

    def answered(self, call: Call, entry: ToolReturned) -> list[Event]:
        """The events of a call whose result has come, and what the call changed."""
        if call.tool is None or call.events is None:
            return self.unmapped(call, entry)
        events = self.done(call.events, entry)
        match call.tool.does:
            case "read" | "write":
                pass
            case "command" if call.entry.thread is None:
                command = call.events[0]
                self._follow(command.command if isinstance(command, event.Command) else "", entry)
            case "other":
                return list(self._agent_result(call, entry))
            case "silent" if entry.ok and self.extended and call.entry.tool == "StructuredOutput":
                self._output = jsonio.dumps(jsonio.loads(bytes(call.entry.raw.raw())).get("input"))
            case "skill":
                return self._wait(events, call, entry)
        return events

    def _wait(self, events: list[Event], call: Call, entry: ToolReturned) -> list[Event]:
        """In the extended profile a skill waits for the record that shows its real folder."""
        if not self.extended or not entry.ok or type(events[0]) is not event.Skill:
            return events
        self._late = events[0]
        self.stamp(self.detailed(events, call, entry), entry)
        return []

    def commanded(
        self, made: event.Command, ok: bool | None, exit_code: int | None, output: Any
    ) -> list[Event]:
        """What a shell command was; adrift, its relative paths stay as written."""
        base = None if self._adrift else self._folder
        return shell_events(made, base=base, workspace=self.cwd, ok=ok, exit_code=exit_code, output=output)

    def _follow(self, command: str, entry: ToolReturned) -> None:
        """Keep track of the folder that the main thread's shell is in."""
        if entry.ok and ("cd" in command or "pushd" in command):
            self._change(command)
        reset = _reset_folder(entry.output)
        if reset:
            self._folder, self._adrift = reset, False

    def _change(self, command: str) -> None:
        target, strays = shell.moves(command)
        if target is not None and (not self._adrift or paths.is_absolute(target)):
            there = paths.resolve(target, self._folder)
            self._adrift = len(there) > _LONGEST_PATH  # no folder can be there
            if not self._adrift:
                self._folder = there if _within(there, self.cwd) else self.cwd
        if strays:
            self._adrift = True

    # Subagents (extended profile).

    def unanswered(self, call: Call) -> list[Event]:
        """The events of a call that never got its answer."""
        if call.events is None:
            return [event.Unknown(json=jsonio.raw({"tool_use": call.entry.raw.raw()}))]
        if call.tool and call.tool.does == "other":
            return list(self._start(self._subagents.get(call.entry.id or "", Subagent())))
        return super().unanswered(call)

    def _expect(self, call: str, given: Any) -> None:
        """A call asks for a subagent, which a record may have told of already; an ended one was another's."""
        known = self._subagents.get(call)
        if known is None or known.ended:
            name = text(given, ("description",)) or text(given, ("subagent_type",))
            self._subagents[call] = Subagent(name=name, call=call)

    def _agent_result(self, call: Call, entry: ToolReturned) -> Iterator[Event]:
        agent = self._subagents.setdefault(call.entry.id or "", Subagent())
        told = entry.details.value()
        details = told if isinstance(told, dict) else {}
        agent.id = agent.id or text(details, ("agentId",))
        if entry.ok and (details.get("status") == "async_launched" or (agent.background and not agent.ended)):
            yield from self._start(agent)
        elif entry.ok:
            yield from self._start(agent)
            yield from self._end(agent, "subagent_completed")
        else:
            yield from self._end(agent, "subagent_failed")

    def _start(self, agent: Subagent) -> Iterator[Event]:
        if agent.started or agent.ended:
            return
        agent.started = True
        yield from self._step(agent, "subagent_started")

    def _end(self, agent: Subagent, action: event.Action) -> Iterator[Event]:
        if agent.ended:
            return
        agent.ended = True
        yield from self._step(agent, action)

    def _step(self, agent: Subagent, action: event.Action) -> Iterator[Event]:
        for made in self.delegated(model.Delegated(action=action, id=agent.id, name=agent.name)):
            if self.detail:
                msgspec.structs.force_setattr(made, "call_id", agent.call)
            yield made

    def _task_started(self, record: dict[str, Any]) -> Iterator[Event]:
        task, called = text(record, ("task_id",)), text(record, ("tool_use_id",))
        if record.get("ambient") is True and task:
            self._ambient.add(task)
        if record.get("task_type") != "local_agent" or record.get("ambient") is True:
            return
        agent = self._subagents.get(called or "") or self._subagents.get(task or "") or Subagent()
        agent.id, agent.call = task or agent.id, called or agent.call
        agent.name = text(record, ("description",)) or agent.name or text(record, ("subagent_type",))
        agent.background = record.get("is_backgrounded") is True
        self._subagents.update({key: agent for key in (task, called) if key})
        yield from self._start(agent)

    def _task_notified(self, record: dict[str, Any]) -> Iterator[Event]:
        task, called = text(record, ("task_id",)), text(record, ("tool_use_id",))
        agent = self._subagents.get(task or "") or self._subagents.get(called or "")
        if agent is None or task in self._ambient:
            return
        agent.id = agent.id or task
        yield from self._start(agent)
        done = record.get("status") == "completed"
        yield from self._end(agent, "subagent_completed" if done else "subagent_failed")

    # Housekeeping.

    def noticed(self, entry: Noticed) -> Iterable[Event]:
        """Housekeeping: unknown in the standard profile, sorted in the extended one."""
        if entry.kind in _SILENT:
            return ()
        if not self.extended:
            return [event.Unknown(json=entry.raw.raw())]
        if entry.kind in _SILENT_EXTENDED or entry.kind.startswith("system/hook_"):
            return ()
        match entry.kind:
            case "system/task_started":
                return self._task_started(entry.record)
            case "system/task_notification":
                return self._task_notified(entry.record)
            case "system/api_retry":
                return [event.Warning(message=_retry(entry.record))]
            case kind if kind in _WARNINGS:
                told = text(entry.record, ("message", "content"))
                return [event.Warning(message=told or kind.removeprefix("system/"))]
        return [event.Unknown(json=entry.raw.raw())]


def _skill_folder(entry: Entry) -> str | None:
    """The real folder of the skill, where the program's own text behind the call shows it."""
    if not isinstance(entry, Prompted) or not entry.text.startswith(_SKILL_FOLDER):
        return None
    return entry.text[len(_SKILL_FOLDER) :].split("\n", 1)[0].strip() or None


def _retry(record: dict[str, Any]) -> str:
    attempt, most = line(record, ("attempt",)), line(record, ("max_retries",))
    words = f"api retry {attempt} of {most}" if attempt and most else "api retry"
    parts = (record.get("error"), record.get("error_status"))
    told = " ".join(str(part) for part in parts if part and isinstance(part, str | int))
    return f"{words}: {told}" if told else words


def _count(found: dict[str, Any], start: int) -> int | None:
    """How many lines were read: the program counts the empty one behind a last line end."""
    count = line(found, ("numLines",))
    content = found.get("content")
    if count is None or start + count - 1 != line(found, ("totalLines",)):
        return count
    whole = jsonio.loads(bytes(content)) if isinstance(content, msgspec.Raw) else content
    return count - 1 if isinstance(whole, str) and whole.endswith("\n") else count


def _within(path: str, root: str | None) -> bool:
    return root is not None and (path == root or path.startswith(root.rstrip("/") + "/"))


def _reset_folder(output: Any) -> str | None:
    """Where the program put the shell back to, by the words in a result's text."""
    if isinstance(output, msgspec.Raw) and bytes(output).rfind(_RESET_BYTES) < 0:
        return None
    told = printed(output)
    if _RESET not in told:
        return None
    return told.rsplit(_RESET, 1)[1].split("\n", 1)[0].strip() or None
