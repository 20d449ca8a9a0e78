"""`codex exec --json`, run on 0.171.0 and 0.77.0; two earlier schemas are read as the present one.

Every item is told whole at its end, so what its start said counts only when no end comes. Failures are told
twice, by an `error` record and by `turn.failed`, and retries are `error` records as well. What the program
refuses (a malformed patch, an unknown tool, a sandboxed command) leaves no record at all. A `web_search` item
has its `id` twice. Older: items whose kind is `item_type` (0.40 to 0.43), and `{id, msg: {type, …}}` records
behind a line of settings and one with the prompt (before that).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Any

from stenograph.agents.codex.projection import CodexProjection
from stenograph.agents.codex.shapes import SHAPES
from stenograph.fields import count, grown, members, whole, word
from stenograph.meter import NO_END, NOT_TOLD, SUBAGENT, Counts, Meter, without_reasoning
from stenograph.model import (
    Ended,
    Entry,
    Failed,
    Part,
    Prompted,
    Said,
    Spent,
    Started,
    Thought,
    ToolCalled,
    ToolReturned,
    Warned,
)
from stenograph.reader import Reader, on
from stenograph.records import Dialect
from stenograph.tools import text

_WORDS = ("agent_message", "assistant_message", "reasoning", "error")
_STARTS = ("thread.started", "session.created")
_TURNS = ("turn.started", "turn.completed", "turn.failed")
_OLD_TURNS = ("msg/task_started", "msg/task_complete", "msg/error", "msg/turn_aborted")
_ITEMS = ("item.started", "item.updated", "item.completed")
_ITEM = ("item",)  # where an item stands in its record
_WAITING = "Reading additional input from stdin..."
_ADVICE = re.compile(r"Reconnecting\.\.\.|Model metadata for .* not found", re.DOTALL)


class Totals:
    """What `token_count` records tell: a request's tokens, or (later) the session's so far."""

    def __init__(self) -> None:
        self._total: dict[str, Any] | None = None

    def step(self, msg: dict[str, Any]) -> Counts | None:
        """What came to the sum with this record; None when it tells nothing."""
        if "info" not in msg:
            return _counts(msg)
        total = members(members(msg["info"]).get("total_token_usage"))
        if not total:
            return None
        before, self._total = self._total, total
        last = members(msg["info"]).get("last_token_usage")
        if before is None and isinstance(last, dict):
            return _counts(last)
        return _counts(grown(total, before or {}))


class CodexMeter(Meter):
    """Adds up what Codex tells at the end of its turns; no record tells what a subagent took."""

    reads = frozenset((*_STARTS, *_TURNS, "item.completed", *_OLD_TURNS, "settings", "msg/token_count"))

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._totals = Totals()

    def take(self, kind: str, record: dict[str, Any]) -> None:
        """A thread, the beginning or the end of a turn, a subagent, or (oldest schema) a request's tokens."""
        if kind == "item.completed":
            item = record.get("item")
            if isinstance(item, dict) and item.get("tool") == "spawn_agent":
                self._spawned(_kind(item))
            return
        match kind:
            case "thread.started" | "session.created":
                self._enter(text(record, ("thread_id", "session_id")))
            case "settings":
                self.model = word(record.get("model"))
            case "turn.started" | "msg/task_started":
                self.open = True
            case "turn.completed":
                self.open = False
                self.spend(_counts(members(record.get("usage"))), turns=1)
            case "turn.failed":
                self.open = False
                self.gap(NOT_TOLD)
            case "msg/token_count":
                told = self._totals.step(record["msg"])
                if told is not None:
                    self.spend(told, turns=1 if told.total else 0)
            case _:
                self.open = False

    def _spawned(self, kind: str) -> None:
        if kind == "collab_tool_call":
            self.gap(SUBAGENT)

    def _enter(self, thread: str | None) -> None:
        if self.open and thread != self.session:
            self.gap(NO_END)
            self.open = False
        self.session = thread or self.session


class CodexExec(Reader):
    """Codex, live: the present records and those of two earlier schemas."""

    agent = "codex"
    command = "codex exec --json …"
    projection = CodexProjection
    meters = CodexMeter
    dialect = Dialect(
        types=frozenset((*_STARTS, *_TURNS, *_ITEMS, "error")),
        marks=(
            {"item": True},
            {"thread_id": True},
            {"usage": True},
            {"error": True},
            {"message": True, "id": False},
        ),
    )
    shapes = SHAPES

    def __init__(self) -> None:
        super().__init__()
        self._totals = Totals()

    @classmethod
    def score(cls, record: dict[str, Any]) -> int:
        """Threads, turns and items are Codex's alone, and so is a `msg` in a record without a type."""
        kind = record.get("type")
        if kind is None:
            return 10 if word(members(record.get("msg")).get("type")) else 0
        return 10 if kind in (*_STARTS, *_TURNS, *_ITEMS) else super().score(record)

    def untyped(self, record: dict[str, Any]) -> str:
        """Of the oldest records `msg/` and the type inside."""
        if "type" in record:
            return ""
        if isinstance(record.get("msg"), dict):
            return f"msg/{record['msg'].get('type')}"
        return "settings" if word(record.get("workdir")) else "prompt" if set(record) == {"prompt"} else ""

    def error_line(self, line: str) -> str | None:
        """Every run whose standard input is no terminal says that it waits for more."""
        return None if line == _WAITING else line

    @on(*_STARTS)
    def thread(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A thread began; a later one's id takes the place of an earlier one's."""
        self.session_id = text(record, ("thread_id", "session_id")) or self.session_id
        return ()

    @on("item.updated")
    def updated(self, record: dict[str, Any]) -> Iterable[Entry]:
        """An item's progress, told again at its end."""
        return ()

    @on("turn.started", "msg/task_started")
    def turn(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A turn began."""
        yield Started(session_id=self.session_id)

    @on("turn.completed")
    def completed(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A turn ended, with the tokens of all its requests."""
        yield Ended(ok=True, tokens=_counts(members(record.get("usage"))).tokens)

    @on("turn.failed")
    def failed(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A turn failed; an `error` record has mostly said why."""
        yield Ended(ok=False, message=_message(record))

    @on("error")
    def error(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A fault, or word of another attempt."""
        yield _fault(_message(record))

    @on("item.started")
    def started_item(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A call began."""
        item = record.get("item")
        if not isinstance(item, dict):
            return (self.unread(),)
        kind, name = _kind(item), word(item.get("id"))
        if name is None or kind in _WORDS:
            return ()
        return (ToolCalled(name, kind, item, Part(self.unit.data, _ITEM)),)

    @on("item.completed")
    def completed_item(self, record: dict[str, Any]) -> Iterable[Entry]:
        """Something was said, or a call ended."""
        item = record.get("item")
        return (self._completed(item) if isinstance(item, dict) else self.unread(),)

    def _completed(self, item: dict[str, Any]) -> Entry:
        kind = _kind(item)
        if kind not in _WORDS:
            return _returned(item, kind, Part(self.unit.data, _ITEM))
        if kind == "error":
            return _fault(_message(item))
        return self._said(Thought if kind == "reasoning" else Said, item.get("text"), "item")

    def _said(self, form: type[Said | Thought], told: Any, place: str) -> Entry:
        return form(text=told) if isinstance(told, str) else self.unread(bytes(self._part(place).raw()))

    def _part(self, name: str) -> Part:
        return Part(self.unit.data, (name,))

    # The oldest schema: `{id, msg: {type, …}}`.

    @on("settings")
    def settings(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The first line: the workspace and the model, among others."""
        yield Started(cwd=word(record.get("workdir")), model=word(record.get("model")))

    @on("prompt")
    def prompt(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The second line: the prompt."""
        yield Prompted(text=word(record.get("prompt")) or "")

    @on(
        "msg/task_complete",
        "msg/user_message",
        "msg/agent_message_delta",
        "msg/agent_reasoning_delta",
        "msg/agent_reasoning_raw_content_delta",
        "msg/agent_reasoning_section_break",
        "msg/exec_command_output_delta",
        "msg/background_event",
        "msg/plan_update",
        "msg/turn_diff",
        "msg/shutdown_complete",
    )
    def housekeeping(self, record: dict[str, Any]) -> Iterable[Entry]:
        """What other records say whole, plans, and the program's own doings."""
        return ()

    @on("msg/session_configured")
    def configured(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The session's id, where it is told at all."""
        return self.thread(record["msg"])

    @on("msg/agent_message")
    def message(self, record: dict[str, Any]) -> Iterable[Entry]:
        """What the agent said."""
        yield self._said(Said, record["msg"].get("message"), "msg")

    @on("msg/agent_reasoning", "msg/agent_reasoning_raw_content")
    def reasoning(self, record: dict[str, Any]) -> Iterable[Entry]:
        """What the model thought."""
        yield self._said(Thought, record["msg"].get("text"), "msg")

    @on("msg/exec_command_begin", "msg/patch_apply_begin", "msg/mcp_tool_call_begin", "msg/web_search_begin")
    def began(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A call began."""
        item = _item(record["msg"])
        yield ToolCalled(id=item["id"], tool=item["type"], input=item, raw=self._part("msg"))

    @on("msg/exec_command_end", "msg/patch_apply_end", "msg/mcp_tool_call_end", "msg/web_search_end")
    def ended(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A call ended; what it was is mostly told only at its start."""
        item = _item(record["msg"])
        yield _returned(item, item["type"], self._part("msg"))

    @on("msg/token_count")
    def tokens(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The tokens of one request, or (later releases) the session's so far, repeated at will."""
        told = self._totals.step(record["msg"])
        if told is not None:
            yield Spent(tokens=told.tokens)

    @on("msg/error")
    def old_error(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A fault that ends the turn."""
        yield _fault(_message(record["msg"]))

    @on("msg/stream_error", "msg/turn_aborted")
    def trouble(self, record: dict[str, Any]) -> Iterable[Entry]:
        """Word of another attempt, or of an interrupt."""
        msg = record["msg"]
        yield Warned(message=text(msg, ("message", "reason")) or str(msg.get("type")))


def _kind(item: dict[str, Any]) -> str:
    """An item's kind: `type`, in one earlier schema `item_type`."""
    kind = item.get("type")
    return kind if isinstance(kind, str) and kind else text(item, ("item_type",)) or ""


def _message(record: dict[str, Any]) -> str:
    error = record.get("error")
    return text(record, ("message",)) or text(error, ("message",)) or word(error) or "error"


def _fault(message: str) -> Entry:
    """An error, or a warning where the text says that the run goes on."""
    return Warned(message=message) if _ADVICE.match(message) else Failed(message=message)


def _returned(item: dict[str, Any], kind: str, part: Part) -> ToolReturned:
    code = whole(item.get("exit_code"))
    return ToolReturned(
        id=word(item.get("id")),
        tool=kind,
        input=item,
        ok=_verdict(kind, item.get("status"), code),
        output=item.get("aggregated_output"),
        exit_code=code,
        raw=part,
    )


def _verdict(kind: str, status: Any, code: int | None) -> bool | None:
    """Whether a call succeeded: a failed status, then the exit code; a command without one does not say."""
    if status == "failed" or status == "declined":
        return False
    if code is not None:
        return code == 0
    return None if kind == "command_execution" else True


def _item(msg: dict[str, Any]) -> dict[str, Any]:
    """A record of the oldest schema as the item that it would be today."""
    kind, _, _ = str(msg.get("type")).rpartition("_")
    named = {"exec_command": "command_execution", "patch_apply": "file_change"}
    item = {**msg, "id": word(msg.get("call_id")), "type": named.get(kind, kind)}
    command = msg.get("command")
    if isinstance(command, list) and all(isinstance(part, str) for part in command):
        item["command"] = shlex.join(command)
    if msg.get("success") is False:
        item["status"] = "failed"
    return item


def _counts(usage: dict[str, Any]) -> Counts:
    """Tokens of a turn or request: input counts the cached ones, output the thinking."""
    thinking = count(usage.get("reasoning_output_tokens"))
    return Counts.together(
        given=count(usage.get("input_tokens")),
        read=count(usage.get("cached_input_tokens")),
        written=count(usage.get("cache_write_input_tokens")),
        output=without_reasoning(count(usage.get("output_tokens")), thinking),
        reasoning=thinking,
    )
