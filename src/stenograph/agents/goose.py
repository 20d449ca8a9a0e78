"""`goose run --output-format stream-json`: recordings of 1.52.0, public descriptions of releases up to 1.29.

Outer names are snake_case, those inside a message camelCase. A message comes in pieces that share its id,
fragments or (older) the whole text so far, and no record says which. Calls stand in the assistant's messages,
their results in the user's, each wrapped in `{status, value}`. No record names the session or the workspace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from stenograph import blocks
from stenograph.event import Event
from stenograph.fields import amount, count, members, moment, whole, word
from stenograph.meter import NOT_TOLD, Counts, Meter
from stenograph.model import (
    UNPLACED,
    Ended,
    Entry,
    Failed,
    Part,
    Said,
    Thought,
    ToolCalled,
    ToolReturned,
    Where,
)
from stenograph.projection import Projection
from stenograph.reader import Reader, on
from stenograph.records import Dialect
from stenograph.tools import Tool, text

TOOLS = {
    "read": Tool(does="read"),
    "read_image": Tool(does="read"),
    "write": Tool(does="write"),
    "edit": Tool(does="write"),
    "text_editor": Tool(does="other"),
    "shell": Tool(does="command"),
    "grep": Tool(does="search"),
    "glob": Tool(does="search"),
    "list": Tool(does="list"),
    "tree": Tool(does="list"),
    "load_skill": Tool(does="skill"),
    "skill": Tool(does="skill"),
}
"""Goose's tools by the name behind the extension's (`developer__shell`); other ones are unknown."""

_EDITOR = {
    **dict.fromkeys(("view", "read"), Tool(does="read")),
    **dict.fromkeys(
        ("write", "create", "overwrite", "edit", "str_replace", "insert", "move", "rename", "delete"),
        Tool(does="write"),
    ),
}
_SILENT = Tool(does="silent")
_STATUS = {"success": True, "error": False}


class _Span:
    """A text that may still grow, in the pieces in which it came."""

    def __init__(self, form: type[Said | Thought], name: str | None) -> None:
        self.form = form
        self.name = name
        self._pieces: list[str] = []
        self._size = 0
        self._place = UNPLACED

    def grow(self, told: str, place: Where, *, repeats: bool) -> None:
        """Add a piece: it takes the place of the text so far when it `repeats` all of that and more."""
        if repeats and len(told) > self._size and told.startswith("".join(self._pieces)):
            self._pieces, self._size = [], 0
        self._pieces.append(told)
        self._size += len(told)
        self._place = place

    def entry(self) -> Said | Thought:
        """The text, at the place of its last piece."""
        return self.form(text="".join(self._pieces), place=self._place)


_FORMS: dict[str, type[Said | Thought]] = {"text": Said, "thinking": Thought}


class GooseProjection(Projection):
    """Turns Goose's entries into events."""

    tools = TOOLS
    ignore_case = True

    def tool(self, name: str) -> Tool | None:
        """The table's row for the name without its extension; the extension `todo` is housekeeping."""
        extension, _, base = name.partition("__")
        return _SILENT if base and extension == "todo" else super().tool(base or name)

    def draft(self, tool: Tool, source: Any) -> list[Event] | None:
        """An editor does what its command says, on the lines of its `view_range`."""
        if tool.does != "other":
            return super().draft(tool, source)
        told = members(source)
        deed = _EDITOR.get((text(told, ("command", "cmd")) or "").lower())
        lines = told.get("view_range")
        if isinstance(lines, list) and len(lines) == 2:
            told = {**told, "start_line": lines[0], "end_line": lines[1]}
        return super().draft(deed, told) if deed else None


class GooseMeter(Meter):
    """Takes what `complete` tells: the session's total so far, earlier runs and subagents included.

    All zeros are no usage: a stream that broke tells them though something was asked for. Releases without
    cache counts are not known to tell more than the run.
    """

    reads = frozenset(("message", "complete"))

    def take(self, kind: str, record: dict[str, Any]) -> None:
        """A message, or the end of the run."""
        self.open = kind == "message"
        told = members(members(members(record.get("message")).get("metadata")).get("inference"))
        self.model = word(told.get("requestedModel")) or self.model
        if kind == "complete":
            tokens = _counts(record)
            is_running = tokens.cached_input is not None
            cost = amount(record.get("cost_usd")) if tokens.total else None
            self.spend(tokens if tokens.total else Counts(), turns=1, cost=cost, is_running=is_running)
            if not tokens.total:
                self.gap(NOT_TOLD)


class GooseStream(Reader):
    """Goose, live."""

    agent = "goose"
    command = "goose run --quiet --output-format stream-json …"
    projection = GooseProjection
    meters = GooseMeter
    dialect = Dialect(
        types=frozenset(("message", "notification", "error", "complete")),
        marks=({"message": True}, {"extension_id": True}, {"total_tokens": True}, {"error": True}),
    )

    def __init__(self) -> None:
        super().__init__()
        self._span: _Span | None = None  # what may still grow, until anything else comes
        self._fault: str | None = None  # told by a message, and again by a record of its own

    @classmethod
    def score(cls, record: dict[str, Any]) -> int:
        """A message inside a message, an extension's word, the end; errors look alike everywhere."""
        match record:
            case {"type": "message", "message": {"role": str(), "content": list()}}:
                return 10
            case {"type": "notification", "extension_id": _} | {"type": "complete", "total_tokens": _}:
                return 10
            case {"type": "error", "error": _}:
                return 1
        return 0

    def time(self, record: dict[str, Any]) -> str | None:
        """When the message was made, in seconds since 1970."""
        made = count(members(record.get("message")).get("created"))
        return None if made is None else moment(made * 1000)

    def release(self) -> Iterator[Entry]:
        """The text that nothing has followed."""
        yield from self._ended_span()
        yield from super().release()

    @on("message")
    def message(self, record: dict[str, Any]) -> Iterable[Entry]:
        """What was said, thought, called and returned."""
        message = record.get("message")
        if not isinstance(message, dict):
            yield from self._ended_span()
            yield self.unread()
            return
        content = message.get("content")
        found = content if isinstance(content, list) else []
        is_own = message.get("role") != "user"
        if not is_own:
            yield from self._ended_span()
        name = word(record.get("id")) or word(message.get("id"))
        repeats = True  # the first piece of a kind may repeat the whole text so far
        parts: list[Part] = []
        for position, block in enumerate(found):
            kind = blocks.kind(block)
            if kind == "text" or kind == "thinking":
                told = word(block.get(kind)) if is_own else None
                if told:
                    span, ended = self._span_of(_FORMS[kind], name)
                    yield from ended
                    span.grow(told, self.place(record), repeats=repeats)
                    repeats = False
            elif kind == "error" and is_own and (fault := word(block.get("message"))):
                yield from self._ended_span()
                self._fault = fault
                yield Failed(message=fault)
            elif kind != "redactedThinking":
                yield from self._ended_span()
                parts = parts or blocks.parts(self.unit.data, len(found))
                yield self._deed(block, parts[position])

    @on("complete")
    def complete(self, record: dict[str, Any]) -> Iterable[Entry]:
        """The end of the run, and what it took."""
        yield from self._ended_span()
        yield Ended(ok=True, tokens=_counts(record).tokens, cost=amount(record.get("cost_usd")))

    @on("error")
    def error(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A fault of the run."""
        yield from self._ended_span()
        error = record.get("error")
        told = text(error, ("message",)) or word(error) or text(record, ("message",))
        if told is None or told != self._fault:
            yield Failed(message=told or "error")

    def other(self, record: dict[str, Any]) -> Iterable[Entry]:
        """An extension's notification, or a record of no known kind."""
        yield from self._ended_span()
        yield self.unread()

    def _span_of(self, form: type[Said | Thought], name: str | None) -> tuple[_Span, Iterable[Entry]]:
        """What a piece of a message belongs to, and what has ended because it is no part of that."""
        span = self._span
        if span is not None and span.form is form and span.name == name:
            return span, ()
        ended = self._ended_span()
        self._span = span = _Span(form, name)
        return span, ended

    def _ended_span(self) -> Iterable[Entry]:
        span, self._span = self._span, None
        return (span.entry(),) if span else ()

    def _deed(self, block: Any, part: Part) -> Entry:
        """A call, a result, or a block of no known kind."""
        match block:
            case {"type": "toolRequest"}:
                call = _first(block, ("toolCall", "value"), ("tool_call", "value"), ())
                told = _id(block, "toolRequest"), text(call, ("name",)) or text(block, ("name",))
                if told[0] and told[1]:
                    source = call.get("arguments", block.get("arguments", block.get("input")))
                    return ToolCalled(id=told[0], tool=told[1], input=source, raw=part)
            case {"type": "toolResponse"}:
                return _returned(block, part)
        return self.unread(bytes(part.raw()))


def _first(block: dict[str, Any], *paths: tuple[str, ...]) -> dict[str, Any]:
    """The first object that one of the paths leads to."""
    for path in paths:
        found: Any = block
        for name in path:
            found = members(found).get(name)
        if isinstance(found, dict):
            return found
    return {}


def _id(block: dict[str, Any], inner: str) -> str | None:
    return text(block, ("id",)) or text(block.get(inner), ("id",)) or text(block, ("toolCallId",))


def _returned(block: dict[str, Any], part: Part) -> Entry:
    result = _first(block, ("toolResult",), ("toolResponse", "toolResult"), ())
    value = members(result.get("value"))
    code = whole(members(value.get("structuredContent")).get("exit_code"))
    told = result.get("status")
    ok = _STATUS.get(told) if isinstance(told, str) else None
    if value.get("isError") is True or (ok and code):
        ok = False
    content = value.get("content", result.get("value"))
    return ToolReturned(id=_id(block, "toolResponse"), ok=ok, output=content, exit_code=code, raw=part)


def _counts(record: dict[str, Any]) -> Counts:
    """The tokens that the end tells; its input holds what was read from a cache or written to it."""
    return Counts.together(
        given=count(record.get("input_tokens")),
        read=count(record.get("cache_read_input_tokens")),
        written=count(record.get("cache_write_input_tokens")),
        output=count(record.get("output_tokens")),
    )
