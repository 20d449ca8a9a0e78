"""Codex's entries as events: items that are told whole at their ends, failures that are told twice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import force_setattr

from stenograph import event, model
from stenograph.event import Event
from stenograph.fields import members, word
from stenograph.model import Ended, Failed, Started, ToolCalled, ToolReturned
from stenograph.projection import Call, Projection
from stenograph.tools import Tool, draft, text

TOOLS = {
    "command_execution": Tool(does="command", folder=("cwd",)),
    "file_change": Tool(does="write"),
    "collab_tool_call": Tool(does="other"),
    "todo_list": Tool(does="silent"),
}
"""The kinds of items that are calls; an `mcp_tool_call`, a `web_search` and others are unknown."""

_LOGIN = re.compile(r"""/bin/bash -lc (?:'([^']+)'|"([^"\\$`!]+)")""")  # stands around commands


class CodexProjection(Projection):
    """Turns Codex's entries into events."""

    tools = TOOLS

    def __init__(self, *, cwd: str | None = None, extended: bool = False, detail: bool = False) -> None:
        super().__init__(cwd=cwd, extended=extended, detail=detail)
        self._errors: set[str] = set()  # this turn's texts of `error` records
        self._failures: set[str] = set()  # and of `turn.failed`
        self._gone: set[str] = set()  # subagents whose end was told

    def started(self, entry: Started) -> Iterable[Event]:
        """A turn begins with no fault."""
        self._errors.clear()
        self._failures.clear()
        return super().started(entry)

    def failed(self, entry: Failed) -> Iterable[Event]:
        """An error, unless the turn's failure has told it."""
        self._errors.add(entry.message)
        return () if entry.message in self._failures else super().failed(entry)

    def ended(self, entry: Ended) -> Iterable[Event]:
        """A turn's end: its usage, or its error unless an `error` record has told it."""
        if entry.message is not None:
            self._failures.add(entry.message)
        return () if entry.message in self._errors else super().ended(entry)

    def draft(self, tool: Tool, source: Any) -> list[Event] | None:
        """A command is taken even when empty; a change of several files is one write each."""
        if tool.does == "command" and members(source).get("command") == "":
            return [event.Command(command="")]
        if tool.does != "write":
            return draft(tool, source, self.resolve)
        return [
            event.Write(path=self.resolve(path)) for path in _changed(members(source).get("changes"))
        ] or None

    def called(self, entry: ToolCalled) -> Iterable[Event]:
        """Record a call; its events are drafted when its end does not tell them."""
        self.open(Call(entry, None, None))
        return ()

    def returned(self, entry: ToolReturned) -> Iterable[Event]:
        """The end of a call: what it says counts, else what the start said."""
        began = self.take(entry.id)
        call = self.restated(entry, entry.tool or "")
        if call.events is None and began is not None:
            told = self.call(began.entry)
            call = call if told.events is None else told
        return self.detailed(self.answered(call, entry), call, entry)

    def commanded(
        self, made: event.Command, ok: bool | None, exit_code: int | None, output: Any
    ) -> list[Event]:
        """What the script was that the login shell ran; a command is told with its shell."""
        command = made.command
        script = _LOGIN.fullmatch(command)
        if script:
            force_setattr(made, "command", script[1] or script[2])
        found = super().commanded(made, ok, exit_code, output)
        force_setattr(made, "command", command)
        return found

    def answered(self, call: Call, entry: ToolReturned) -> list[Event]:
        """The events of a call that ended."""
        if call.tool and call.tool.does == "other":
            return list(self._collaborated(members(call.entry.input)))
        return super().answered(call, entry)

    def unanswered(self, call: Call) -> list[Event]:
        """The events of a call whose end never came; an agent that was called for may have started."""
        call = self.call(call.entry)
        if call.tool and call.tool.does == "other":
            spawn = members(call.entry.input).get("tool") == "spawn_agent"
            return list(self.delegated(model.Delegated(action="subagent_started"))) if spawn else []
        return super().unanswered(call)

    def _collaborated(self, item: dict[str, Any]) -> Iterator[Event]:
        if item.get("tool") == "spawn_agent":
            action: event.Action = "subagent_failed" if item.get("status") == "failed" else "subagent_started"
            told = item.get("receiver_thread_ids")
            for agent in (told if isinstance(told, list) else None) or [None]:
                yield from self.delegated(model.Delegated(action=action, id=word(agent)))
        for agent, state in members(item.get("agents_states")).items():
            status = members(state).get("status")
            if status in ("completed", "errored") and agent not in self._gone:
                self._gone.add(agent)
                action = "subagent_completed" if status == "completed" else "subagent_failed"
                yield from self.delegated(model.Delegated(action=action, id=agent))


def _changed(changes: Any) -> list[str]:
    """The changed files: a list of objects, or (oldest) an object by path that also says where one moved."""
    if isinstance(changes, dict):
        moved = [word(members(members(change).get("update")).get("move_path")) for change in changes.values()]
        return [path for pair in zip(changes, moved, strict=True) for path in pair if path]
    if not isinstance(changes, list):
        return []
    return [path for change in changes if (path := text(change, ("path",)))]
