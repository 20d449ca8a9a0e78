"""`pi --mode json --print`, run on 0.73.1.

Everything is told three to five times: updates carry the whole message so far, and `message_end`, `turn_end`
and `agent_end` repeat it. Only `message_end` and the start and end of a tool's execution count. The exit code
is 0 even when the model failed; `stopReason` and `errorMessage` tell. A failure that is tried again is told
before the word of the retry. Only the text of a failed shell command's result holds its exit code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, Required, TypeAlias, TypedDict, get_args

from stenograph import jsonio
from stenograph.fields import amount, count, members, moment, word
from stenograph.meter import NO_END, Counts, Meter
from stenograph.model import (
    Ended,
    Entry,
    Failed,
    Part,
    Said,
    Spent,
    Started,
    Thought,
    ToolCalled,
    ToolReturned,
    Warned,
)
from stenograph.projection import Projection
from stenograph.reader import Reader, on
from stenograph.records import Dialect
from stenograph.tools import Tool, line, printed, text

TOOLS = {
    "read": Tool(does="read"),
    "write": Tool(does="write"),
    "edit": Tool(does="write"),
    "search": Tool(does="search"),
    "grep": Tool(does="search"),
    "glob": Tool(does="search"),
    "find": Tool(does="search"),
    "list": Tool(does="list"),
    "ls": Tool(does="list"),
    "bash": Tool(does="command"),
    "shell": Tool(does="command"),
}
"""Pi's tools; other ones are unknown."""

_Repeated: TypeAlias = Literal[
    "agent_start",
    "agent_end",
    "agent_settled",
    "turn_start",
    "turn_end",
    "message_start",
    "message_update",
    "tool_execution_update",
]
_REPEATED: tuple[str, ...] = get_args(_Repeated)
_RECORDS = (
    *_REPEATED,
    "session",
    "message_end",
    "tool_execution_start",
    "tool_execution_end",
    "auto_retry_start",
    "auto_retry_end",
)
_BEFORE_RETRY = ("turn_end", "agent_end")
_NAME = ("toolName", "tool_name", "tool", "name")
_EXIT = re.compile(r"(?:\A|\n)Command exited with code (-?\d{1,9})\s*\Z")
_DONE = ("completed", "success", "ok", "done")
_FAILED = ("error", "failed", "failure")


class Consumed(TypedDict, total=False):
    """A record that other records repeat."""

    type: Required[_Repeated]


SHAPES = {kind.encode(): jsonio.decoder(Consumed) for kind in _REPEATED}


class PiProjection(Projection):
    """Turns Pi's entries into events."""

    tools = TOOLS
    ignore_case = True


class PiMeter(Meter):
    """Adds up the messages at their ends; every other record repeats them, or tells zeros."""

    reads = frozenset(("session", "agent_start", "message_end", "agent_end"))

    def take(self, kind: str, record: dict[str, Any]) -> None:
        """A session, an attempt's beginning or end, or what a message took."""
        match kind:
            case "session":
                self._enter(text(record, ("id", "sessionId", "session_id")))
            case "agent_start":
                self.open = True
            case "agent_end":
                self.open = False
            case _:
                self._message(members(record.get("message")))

    def _enter(self, session: str | None) -> None:
        if self.open:
            self.gap(NO_END)
        self.session, self.open = session, False

    def _message(self, message: dict[str, Any]) -> None:
        usage = message.get("usage")
        if message.get("role") != "assistant" or not isinstance(usage, dict):
            return
        tokens = _counts(usage)
        cost = amount(members(usage.get("cost")).get("total"))
        self.spend(tokens, model=word(message.get("model")), cost=cost, turns=1 if tokens.total else 0)


class PiStream(Reader):
    """Pi, live."""

    agent = "pi"
    command = "pi --mode json --print …"
    projection = PiProjection
    meters = PiMeter
    dialect = Dialect(
        types=frozenset(_RECORDS),
        marks=({"message": True}, {"messages": True}, {"toolCallId": True}, {"cwd": True}),
    )
    shapes = SHAPES

    def __init__(self) -> None:
        super().__init__()
        self._fault: Entry | None = None  # the model's failure, until it shows whether it is tried again

    @classmethod
    def score(cls, record: dict[str, Any]) -> int:
        """No other program's records have these types."""
        kind = word(record.get("type"))
        return 10 if kind in _RECORDS and (kind != "session" or "cwd" in record) else 0

    def begin(self, record: dict[str, Any]) -> None:
        """The first record names the session."""
        if record.get("type") == "session":
            self.session_id = text(record, ("id", "sessionId", "session_id"))

    def time(self, record: dict[str, Any]) -> str | None:
        """The record's own time, or when its message began."""
        told = record.get("timestamp")
        return moment(members(record.get("message")).get("timestamp") if told is None else told)

    def release(self) -> Iterator[Entry]:
        """The failure that nothing has followed."""
        yield from self._settled()
        yield from super().release()

    @on(*_REPEATED)
    def repeated(self, record: dict[str, Any]) -> Iterable[Entry]:
        """What other records tell; the agent's end is one of them."""
        if record["type"] not in _BEFORE_RETRY:
            yield from self._settled()
        elif record["type"] == "agent_end":
            yield Ended()

    @on("session")
    def session(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The first record: the workspace."""
        yield Started(session_id=self.session_id, cwd=word(record.get("cwd")))

    @on("message_end")
    def message_end(self, record: dict[str, Any]) -> Iterable[Entry]:
        """What the model thought and said, what that took, and whether it failed."""
        yield from self._settled()
        told = record.get("message") or members(record.get("assistantMessageEvent")).get("message")
        if not isinstance(told, dict):
            yield self.unread()
            return
        if told.get("role") != "assistant":
            return
        thoughts, texts = _parts(told.get("content"))
        yield Thought(text=thoughts)
        yield Said(text=texts)
        usage = members(told.get("usage"))
        yield Spent(tokens=_counts(usage).tokens, cost=amount(members(usage.get("cost")).get("total")))
        self._fault = _fault(word(told.get("stopReason")), word(told.get("errorMessage")))
        if self._fault:
            self._fault.place = self.place(record)

    @on("tool_execution_start")
    def tool_start(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A call."""
        yield from self._settled()
        call, name = word(record.get("toolCallId")), text(record, _NAME)
        if call and name:
            yield ToolCalled(id=call, tool=name, input=_args(record), raw=Part(self.unit.data))

    @on("tool_execution_end")
    def tool_end(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A call's result."""
        yield from self._settled()
        output = printed(members(record.get("result")).get("content"))
        found = _EXIT.search(output[-100:]) if record.get("isError") is True else None
        yield ToolReturned(
            id=word(record.get("toolCallId")),
            tool=text(record, _NAME),
            input=_args(record),
            ok=_verdict(record),
            output=output,
            exit_code=int(found[1]) if found else None,
            raw=Part(self.unit.data),
        )

    @on("auto_retry_start")
    def retry(self, record: dict[str, Any]) -> Iterable[Entry]:
        """Word of another attempt, in place of the failure that it follows."""
        self._fault = None
        attempt, most = line(record, ("attempt",)), line(record, ("maxAttempts",))
        words = f"api retry {attempt} of {most}" if attempt and most else "api retry"
        told = word(record.get("errorMessage"))
        yield Warned(message=f"{words}: {told}" if told else words)

    @on("auto_retry_end")
    def retried(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The end of the attempts; the last failure has been told."""
        if self._fault is None and record.get("success") is False:
            yield Failed(message=word(record.get("finalError")) or "error")
        yield from self._settled()

    def other(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A record of no known kind."""
        yield from self._settled()
        yield self.unread()

    def _settled(self) -> Iterator[Entry]:
        fault, self._fault = self._fault, None
        if fault:
            yield fault


def _args(record: dict[str, Any]) -> Any:
    return next((record[key] for key in ("args", "input", "arguments", "toolInput") if key in record), None)


def _parts(content: Any) -> tuple[str, str]:
    """The thinking and the text of a message, each joined; a string is the text."""
    if isinstance(content, str):
        return "", content
    parts = [members(part) for part in content] if isinstance(content, list) else []
    thoughts = [text(part, ("thinking",)) or "" for part in parts if part.get("type") == "thinking"]
    texts = [text(part, ("text",)) or "" for part in parts if part.get("type") == "text"]
    return "".join(thoughts), "".join(texts)


def _fault(reason: str | None, told: str | None) -> Entry | None:
    """What a message's end says of a failure: an abort is the user's, and so a warning."""
    match reason:
        case "error":
            return Failed(message=told or "error")
        case "length":
            return Failed(message=f"{reason}: {told}" if told else reason, code=reason)
        case "aborted":
            return Warned(message=told or reason)
    return None


def _verdict(record: dict[str, Any]) -> bool | None:
    """Whether a call succeeded: its flag, an error, a result, a word."""
    failed = record.get("isError")
    if isinstance(failed, bool):
        return not failed
    if record.get("error") is not None:
        return False
    if "result" in record:
        return True
    status = text(record, ("status", "state"))
    return True if status in _DONE else False if status in _FAILED else None


def _counts(usage: dict[str, Any]) -> Counts:
    """One request's tokens: input counts neither cache class; the thinking is not told apart."""
    return Counts.apart(
        fresh=count(usage.get("input")),
        read=count(usage.get("cacheRead")),
        written=count(usage.get("cacheWrite")),
        output=count(usage.get("output")),
    )
