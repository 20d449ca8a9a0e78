"""`qwen --output-format stream-json`, run on Qwen Code 0.24.4.

Claude Code's records with differences. Each `assistant` record has a `message.id` of its own, the record's
`uuid`, and holds one text or thought, or all calls of a step. Results have plain text and no structure. A
failed shell command answers with a sheet of lines, one of them its exit code. Reads count lines from 0. Input
tokens hold the cached ones; what `result` tells are running totals of the session, earlier runs and side
requests included. A run that stops at its turn limit or is interrupted ends without a `result`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, Required, TypedDict

import msgspec

from stenograph import blocks, jsonio
from stenograph.event import Event
from stenograph.fields import count, grown, members, word
from stenograph.meter import NO_END, Counts, Meter, Row
from stenograph.model import (
    NOWHERE,
    Ended,
    Entry,
    Part,
    Prompted,
    Said,
    Started,
    Thought,
    ToolCalled,
    ToolReturned,
)
from stenograph.projection import Projection
from stenograph.reader import Reader, on
from stenograph.records import Dialect
from stenograph.shapes import begins, input_of, is_text
from stenograph.tools import Tool, printed, text

_PATH = ("file_path", "absolute_path", "notebook_path", "path")

TOOLS = {
    "read_file": Tool(does="read", path=_PATH, first=0),
    "write_file": Tool(does="write", path=_PATH),
    "edit": Tool(does="write", path=_PATH),
    "notebook_edit": Tool(does="write", path=_PATH),
    "grep_search": Tool(does="search"),
    "glob": Tool(does="search"),
    "list_directory": Tool(does="list"),
    "run_shell_command": Tool(does="command", folder=("directory",)),
    "skill": Tool(does="skill", name=("skill", "name")),
    "agent": Tool(does="agent", name=("description", "subagent_type")),
    "task": Tool(does="agent", name=("description", "subagent_type")),
    "todo_write": Tool(does="silent"),
    "tool_search": Tool(does="silent"),
    "structured_output": Tool(does="silent"),
}
"""Qwen Code's tools; other ones are unknown."""

_RECORDS = ("system", "assistant", "user", "stream_event", "result")
_CODE = rb"\nExit Code: "  # as JSON spells it
_BACKSLASH = ord("\\")
_SHEET = re.compile(r"\nExit Code: (-?\d{1,9})\nSignal: ")
_FAULT = "[API Error: "
_MANY = 1000  # answers that are added up at once
_TOKENS = _INPUT, _CACHED, _OUTPUT = "input_tokens", "cache_read_input_tokens", "output_tokens"


class Block(TypedDict, total=False):
    """A content block of an answer."""

    type: Any
    id: Any
    name: Any
    input: input_of(TOOLS.values())  # type: ignore[valid-type]  # a type made of the tables
    text: Any
    thinking: Any


class Message(TypedDict, total=False):
    """An answer of the model."""

    id: Any
    content: list[Block] | str
    usage: Any


class Assistant(TypedDict, total=False):
    """An `assistant` record."""

    type: Required[Literal["assistant"]]
    session_id: Any
    parent_tool_use_id: Any
    message: Message


class Result(TypedDict, total=False):
    """A content block of a `user` record."""

    type: Any
    text: Any
    thinking: Any
    tool_use_id: Any
    is_error: Any
    content: msgspec.Raw


class ResultMessage(TypedDict, total=False):
    """The message of a `user` record."""

    content: list[Result] | str


class User(TypedDict, total=False):
    """A `user` record."""

    type: Required[Literal["user"]]
    session_id: Any
    parent_tool_use_id: Any
    message: ResultMessage


class Consumed(TypedDict, total=False):
    """A record that is read for nothing but its session."""

    type: Required[Literal["stream_event"]]
    session_id: Any


SHAPES: dict[bytes, msgspec.json.Decoder[Any]] = {
    b"assistant": jsonio.decoder(Assistant),
    b"user": jsonio.decoder(User),
    b"stream_event": jsonio.decoder(Consumed),
}


class QwenProjection(Projection):
    """Turns Qwen Code's entries into events."""

    tools = TOOLS

    def ahead(self, entry: Entry, *, gave: bool) -> list[Event]:
        """At a failed `result`, an API error's held text that it repeats is dropped."""
        if isinstance(entry, Ended) and entry.ok is False:
            self.drop_fault(entry.text)
        return super().ahead(entry, gave=gave)


class QwenMeter(Meter):
    """Takes the session's totals that `result` tells, earlier runs included; else what the answers tell."""

    reads = frozenset(("system", "assistant", "result"))

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._answers = 0  # those that no result has told
        self._sum = Counts()  # of them
        self._told: list[list[int | None]] = []  # by the last of them: what is not in the sum yet
        self._usage: dict[str, Any] = {}

    def take(self, kind: str, record: dict[str, Any]) -> None:
        """A run's beginning, an answer of the model, or a run's end."""
        if kind == "system":
            if record.get("subtype") == "init":
                self._enter(word(record.get("session_id")), word(record.get("model")))
        elif kind == "assistant":
            self.open = True
            usage = members(members(record.get("message")).get("usage"))
            if any(told := [count(usage.get(name)) for name in _TOKENS]):
                self._answers += 1
                self._told.append(told)
                if len(self._told) == _MANY:
                    self._add_up()
        else:
            before, self._usage = self._usage, members(record.get("usage"))
            self.spend(_counts(grown(self._usage, before)), turns=self._answers, is_running=True)
            self.open = False
            self._forget()

    def pending(self) -> Iterable[Row]:
        """The answers of a run that ended without a word."""
        self._add_up()
        if self._answers:
            yield self.row(self._sum, model=None, turns=self._answers)

    def _enter(self, session: str | None, model: str | None) -> None:
        if session != self.session:
            for row in self.pending():
                self.spend(row.tokens, turns=row.turns)
            if self.open:
                self.gap(NO_END)
            self._forget()
            self._usage = {}
        self.session, self.model, self.open = session, model, True

    def _add_up(self) -> None:
        told, self._told = self._told, []
        for given, read, output in told:
            self._sum += Counts.together(given=given, read=read, output=output)

    def _forget(self) -> None:
        self._answers, self._sum, self._told = 0, Counts(), []


class QwenStream(Reader):
    """Qwen Code, live."""

    agent = "qwen"
    command = "qwen --output-format stream-json …"
    projection = QwenProjection
    meters = QwenMeter
    dialect = Dialect(
        types=frozenset(_RECORDS),
        marks=({"session_id": True}, {"message": True}, {"event": True}),
    )
    shapes = SHAPES

    def __init__(self) -> None:
        super().__init__()
        self._usage: dict[str, Any] = {}  # what the last `result` told: running totals

    @classmethod
    def score(cls, record: dict[str, Any]) -> int:
        """`init` names the program's version, and a message has its record's id; Claude's has not."""
        name = record.get("uuid")
        match record:
            case {"qwen_code_version": _} | {"type": "stream_event", "event": {"type": "goal_state"}}:
                return 10
            case {"type": "assistant", "message": {"id": str(message)}} if message == name:
                return 10
            case {"type": "user", "session_id": _, "uuid": _} if "tool_use_result" not in record:
                return 2
        return 0

    def begin(self, record: dict[str, Any]) -> None:
        """The first session id stays."""
        self.session_id = word(record.get("session_id"))

    @on("system")
    def system(self, record: dict[str, Any]) -> Iterable[Entry]:
        """`init` begins a session."""
        if record.get("subtype") != "init":
            yield self.unread()
            return
        yield Started(
            thread=NOWHERE,
            session_id=self.session_id,
            cwd=word(record.get("cwd")),
            model=word(record.get("model")),
            version=word(record.get("qwen_code_version")),
        )

    @on("stream_event")
    def stream_event(self, record: dict[str, Any]) -> Iterable[Entry]:
        """Partial telemetry that the whole records restate, and the state of a goal."""
        return ()

    @on("assistant")
    def assistant(self, record: dict[str, Any]) -> Iterable[Entry]:
        """What the model thought, said and called."""
        thread, call = blocks.thread(record), blocks.only(record, "tool_use")
        if call is not None:
            return (self._called(call, Part(self.unit.data, blocks.ONLY), thread),)
        message = members(record.get("message"))
        found = blocks.content(message)
        if found is None:
            return (self._odd(thread),)
        return self._answer(found, word(message.get("id")), thread)

    def _answer(self, found: list[Any], name: str | None, thread: str | None) -> Iterator[Entry]:
        thoughts, texts, others = blocks.sort(found)
        if thoughts or not (texts or others):
            yield Thought(text="".join(thoughts), message=name, thread=thread)
        if texts:
            said = "".join(texts)
            yield Said(text=said, message=name, fault=said.startswith(_FAULT), thread=thread)
        parts = blocks.parts(self.unit.data, len(found)) if others else []
        for position, block in others:
            yield self._called(block, parts[position], thread)

    @on("user")
    def user(self, record: dict[str, Any]) -> Iterable[Entry]:
        """Results of calls; texts are prompts."""
        thread, result = blocks.thread(record), blocks.only(record, "tool_result")
        if result is not None:
            return (_returned(result, Part(self.unit.data, blocks.ONLY), thread),)
        found = blocks.content(record.get("message"))
        return (self._odd(thread),) if found is None else self._mixed(found, thread)

    def _mixed(self, found: list[Any], thread: str | None) -> Iterator[Entry]:
        """What stands in a message of more than one block, or of another kind."""
        _, texts, others = blocks.sort(found)
        if texts or not others:
            yield Prompted(text="".join(texts), thread=thread)
        parts = blocks.parts(self.unit.data, len(found))
        for position, block in others:
            part = parts[position]
            is_result = blocks.kind(block) == "tool_result"
            yield _returned(block, part, thread) if is_result else self._odd(thread, part)

    @on("result")
    def result(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The end of the run: its structured answer, what it took, and why it failed."""
        subtype = word(record.get("subtype"))
        fault = subtype if subtype != "success" else None
        failed = record.get("is_error") is True or fault is not None
        error = record.get("error")
        told = text(error, ("message",)) or word(error) or (word(record.get("result")) if failed else None)
        answer = record.get("structured_result")
        if answer is not None:
            yield Said(text=jsonio.dumps(answer).decode("utf-8", "surrogatepass"))
        before, self._usage = self._usage, members(record.get("usage"))
        yield Ended(
            ok=not failed,
            text=told or word(record.get("result")),
            message=": ".join(part for part in (fault, told) if part) or None,
            code=fault,
            tokens=_counts(grown(self._usage, before)).tokens,
            thread=NOWHERE,
        )

    def _called(self, block: Any, part: Part, thread: str | None) -> Entry:
        if isinstance(block, dict) and block.get("type") == "tool_use":
            call, name = block.get("id"), block.get("name")
            if isinstance(call, str) and call and isinstance(name, str) and "input" in block:
                return ToolCalled(id=call, tool=name, input=block["input"], raw=part, thread=thread)
        return self._odd(thread, part)

    def _odd(self, thread: str | None, part: Part | None = None) -> Entry:
        entry = self.unread(bytes(part.raw()) if part else None)
        entry.thread = thread
        return entry


def _returned(block: dict[str, Any], part: Part, thread: str | None) -> Entry:
    failed, output = block.get("is_error"), block.get("content")
    found = _SHEET.search(_sheet(output))
    return ToolReturned(
        id=word(block.get("tool_use_id")),
        ok=not failed if isinstance(failed, bool) else None,
        output=output,
        exit_code=int(found[1]) if found else None,
        raw=part,
        thread=thread,
    )


def _sheet(output: Any) -> str:
    """A result that begins like a failed command's sheet, maybe only its end; empty when it does not."""
    if type(output) is not msgspec.Raw or not is_text(output):
        output = printed(output)
    if not begins(output, "Command: "):
        return ""
    return printed(_end_of(output) if type(output) is msgspec.Raw else output)


def _end_of(sheet: msgspec.Raw) -> msgspec.Raw:
    """A long text from the line of its exit code on; all of it where escapes leave doubts."""
    written = bytes(sheet)
    at = written.find(_CODE)
    is_plain = at > 0 and written[at - 1] != _BACKSLASH and b"\\u00" not in written[:at]
    return msgspec.Raw(b'"' + written[at:]) if is_plain else sheet


def _counts(usage: dict[str, Any]) -> Counts:
    """Tokens of an answer or of the session: input counts the cached ones; the thinking is not told apart."""
    return Counts.together(
        given=count(usage.get(_INPUT)),
        read=count(usage.get(_CACHED)),
        output=count(usage.get(_OUTPUT)),
    )
