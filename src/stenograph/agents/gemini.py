"""`gemini --output-format stream-json`, run on Gemini CLI 0.61.0 and 0.20.0.

The answer comes in pieces (`delta`), thoughts never. No record names the workspace. `status` says only
whether a tool ran: a shell command that failed is a success as well, and its exit code is told only where it
printed nothing. An empty answer fails with exit code 0; a run that is interrupted ends without a `result`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal, Required, TypedDict

import msgspec

from stenograph import event, jsonio
from stenograph.event import Event
from stenograph.fields import count, members, moment, word
from stenograph.meter import NO_END, Counts, Meter
from stenograph.model import (
    Ended,
    Entry,
    Failed,
    Part,
    Prompted,
    Said,
    Started,
    ToolCalled,
    ToolReturned,
    Warned,
)
from stenograph.projection import Projection
from stenograph.reader import Reader, on
from stenograph.records import Dialect
from stenograph.shapes import begins, input_of
from stenograph.tools import Tool, text

_PATH = ("file_path", "absolute_path", "path")
_SCOPE = ("dir_path", "path")

TOOLS = {
    "read_file": Tool(does="read", path=_PATH, start=("start_line",), end=("end_line",), count=()),
    "write_file": Tool(does="write", path=_PATH),
    "replace": Tool(does="write", path=_PATH),
    "grep_search": Tool(does="search", scope=_SCOPE),
    "search_file_content": Tool(does="search", scope=_SCOPE),
    "glob": Tool(does="search", scope=_SCOPE),
    "list_directory": Tool(does="list", scope=_SCOPE),
    "run_shell_command": Tool(does="command", folder=("dir_path", "directory")),
    "activate_skill": Tool(does="skill"),
    "invoke_agent": Tool(does="agent", name=("agent_name",)),
    "update_topic": Tool(does="silent"),
    "write_todos": Tool(does="silent"),
}
"""Gemini CLI's tools; other ones are unknown."""

_READ_FROM_0 = Tool(does="read", path=_PATH, first=0)
_RECORDS = ("init", "message", "tool_use", "tool_result", "error", "result")
_EXIT = re.compile(r"Command exited with code: (-?\d{1,9})")
_STATUS = {"success": True, "error": False}
_LONGEST = 60  # bytes that such a line has at most
_EMPTY = len('""')
_PLAIN = ("unknown", "Error")  # kinds of errors that say nothing


class ToolUse(TypedDict, total=False):
    """A call."""

    type: Required[Literal["tool_use"]]
    timestamp: Any
    session_id: Any
    tool_name: Any
    tool_id: Any
    parameters: input_of([*TOOLS.values(), _READ_FROM_0])  # type: ignore[valid-type]  # a type made of the tables


class ToolResult(TypedDict, total=False):
    """A call's result; what it printed stays as it is written."""

    type: Required[Literal["tool_result"]]
    timestamp: Any
    session_id: Any
    tool_id: Any
    status: Any
    output: msgspec.Raw


SHAPES: dict[bytes, msgspec.json.Decoder[Any]] = {
    b"tool_use": jsonio.decoder(ToolUse),
    b"tool_result": jsonio.decoder(ToolResult),
}


class GeminiProjection(Projection):
    """Turns Gemini CLI's entries into events."""

    tools = TOOLS
    glue = ""

    def __init__(self, *, cwd: str | None = None, extended: bool = False, detail: bool = False) -> None:
        super().__init__(cwd=cwd, extended=extended, detail=detail)
        self._faults: set[str] = set()  # the errors told since the last `result`

    def draft(self, tool: Tool, source: Any) -> list[Event] | None:
        """Older reads have an `offset` that counts from 0."""
        old = tool.does == "read" and {"offset", "limit"} & members(source).keys()
        return super().draft(_READ_FROM_0 if old else tool, source)

    def settled(self, made: Event, ok: bool | None, entry: ToolReturned | None, position: int) -> list[Event]:
        """That the shell ran does not say that the command succeeded, unless it printed nothing."""
        if isinstance(made, event.Command) and entry and ok and entry.output:
            ok = None if entry.exit_code is None else entry.exit_code == 0
        return super().settled(made, ok, entry, position)

    def failed(self, entry: Failed) -> Iterable[Event]:
        """An error; a `result` that says no more than this adds nothing to it."""
        self._faults.add(entry.message)
        return super().failed(entry)

    def ended(self, entry: Ended) -> Iterable[Event]:
        """The end of the run: its usage, and its error."""
        told, self._faults = self._faults, set()
        known = entry.text in told if entry.text else bool(told)
        return super().ended(msgspec.structs.replace(entry, ok=None) if known else entry)


class GeminiMeter(Meter):
    """Takes what `result` tells of the run: of each model, or (0.20) of all together."""

    reads = frozenset(("init", "result"))

    def take(self, kind: str, record: dict[str, Any]) -> None:
        """A run's beginning, or its end."""
        if kind == "init":
            if self.open:
                self.gap(NO_END)
            self.session, self.model, self.open = (
                word(record.get("session_id")),
                word(record.get("model")),
                True,
            )
            return
        self.open = False
        stats = members(record.get("stats"))
        for turns, (model, told) in enumerate((members(stats.get("models")) or {"": stats}).items()):
            self.spend(_counts(members(told)), model=model or None, turns=0 if turns else 1)


class GeminiStream(Reader):
    """Gemini CLI, live."""

    agent = "gemini"
    command = "gemini --output-format stream-json …"
    projection = GeminiProjection
    meters = GeminiMeter
    dialect = Dialect(
        types=frozenset(_RECORDS),
        marks=(
            {"session_id": True, "model": True},
            {"role": True, "content": True},
            {"tool_id": True},
            {"severity": True},
            {"stats": True},
        ),
    )
    shapes = SHAPES

    @classmethod
    def score(cls, record: dict[str, Any]) -> int:
        """Its records have members of their own, and a time."""
        return 10 * super().score(record) if "timestamp" in record else 0

    def begin(self, record: dict[str, Any]) -> None:
        """`init` names the session."""
        self.session_id = word(record.get("session_id"))

    def time(self, record: dict[str, Any]) -> str | None:
        """Every record has a `timestamp`."""
        return moment(record.get("timestamp"))

    @on("init")
    def init(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The run began."""
        yield Started(session_id=self.session_id, model=word(record.get("model")))

    @on("message")
    def message(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The prompt, an answer, or a piece of one."""
        content = record.get("content")
        if not isinstance(content, str):
            return (self.unread(),)
        if record.get("role") != "assistant":
            return (Prompted(text=content),)
        return (Said(text=content, message="answer" if record.get("delta") is True else None),)

    @on("tool_use")
    def tool_use(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A call."""
        name, call = word(record.get("tool_name")), word(record.get("tool_id"))
        if name is None:
            return (self.unread(),)
        return (ToolCalled(id=call, tool=name, input=record.get("parameters"), raw=Part(self.unit.data)),)

    @on("tool_result")
    def tool_result(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A call's result."""
        output, status = _printed(record.get("output")), record.get("status")
        found = _EXIT.fullmatch(output) if isinstance(output, str) else None
        result = ToolReturned(
            id=word(record.get("tool_id")),
            ok=_STATUS.get(status) if isinstance(status, str) else None,
            output=output,
            exit_code=int(found[1]) if found else None,
            raw=Part(self.unit.data),
        )
        return (result,)

    @on("error")
    def error(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A fault, or a warning, in the midst of the run."""
        told = text(record, ("message",)) or "error"
        yield Warned(message=told) if record.get("severity") == "warning" else Failed(message=told)

    @on("result")
    def result(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The end of the run: what it took, and why it failed."""
        error = members(record.get("error"))
        kind = word(error.get("type"))
        code = None if kind in _PLAIN else kind
        message = word(error.get("message"))
        told = ": ".join(part for part in (code, message) if part)
        yield Ended(
            ok=record.get("status") != "error" and not error,
            text=message,
            message=told or None,
            code=code,
            tokens=_counts(members(record.get("stats"))).tokens,
        )


def _printed(output: Any) -> str | msgspec.Raw | None:
    """What a tool printed, if anything: still as `Raw` where it is too long to tell an exit code."""
    if not isinstance(output, msgspec.Raw):
        return word(output)
    if len(output) > _LONGEST and begins(output, ""):
        return output
    return word(jsonio.value(output)) if len(output) > _EMPTY else None


def _counts(stats: dict[str, Any]) -> Counts:
    """The run's tokens: what the total holds beyond input and output are thoughts."""
    given, output = count(stats.get("input_tokens")), count(stats.get("output_tokens"))
    total = count(stats.get("total_tokens"))
    known = given is not None and output is not None and total is not None
    return Counts.together(
        given=given,
        read=count(stats.get("cached")),
        output=output,
        reasoning=max(0, (total or 0) - (given or 0) - (output or 0)) if known else None,
    )
