"""`claude -p … --output-format stream-json --verbose`, run on releases 1.0.60, 2.1.197 and 2.1.332.

One record for each content block, not for each message: the records of a message share `message.id`. Each
tool result is a `user` record of its own, in the order of completion. There may be several `init` and
`result` records. A failed call's `tool_use_result` is a string. `result.subtype` says `success` even when
the API failed. A subagent's records carry `parent_tool_use_id`, the id of the call that started it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from stenograph import blocks, jsonio
from stenograph.agents.claude.meter import ClaudeMeter, cost_since, counted
from stenograph.agents.claude.projection import ClaudeProjection
from stenograph.agents.claude.shapes import SHAPES
from stenograph.event import Tokens
from stenograph.fields import word
from stenograph.model import (
    NOWHERE,
    Ended,
    Entry,
    Noticed,
    Part,
    Prompted,
    Reply,
    Said,
    Started,
    Thought,
    ToolCalled,
    ToolReturned,
    Warned,
)
from stenograph.reader import Reader, on
from stenograph.records import Dialect
from stenograph.tools import text

_FLAGS = frozenset(("interrupted", "is_interrupted", "is_interruption"))
_CALLS = frozenset(("tool_use", "server_tool_use", "mcp_tool_use"))
_SHARED = ("tool_use_result",)


class ClaudeStream(Reader):
    """Claude Code, live."""

    agent = "claude"
    command = "claude -p … --output-format stream-json --verbose"
    projection = ClaudeProjection
    meters = ClaudeMeter
    dialect = Dialect(
        types=frozenset(
            ("system", "assistant", "user", "rate_limit_event", "result", "stream_event", "control_response")
        ),
        marks=({"session_id": True}, {"message": True}, {"event": True}),
    )
    shapes = SHAPES

    @classmethod
    def score(cls, record: dict[str, Any]) -> int:
        """`init` names the program's version; other programs print records of the same types."""
        if "claude_code_version" in record:
            return 10
        return 2 * super().score(record) if "session_id" in record else 0

    def begin(self, record: dict[str, Any]) -> None:
        """The first session id stays."""
        told = record.get("session_id")
        if self.session_id is None and isinstance(told, str) and told:
            self.session_id = told

    def time(self, record: dict[str, Any]) -> str | None:
        """Most `assistant` and `user` records carry a `timestamp`."""
        told = record.get("timestamp")
        return told if isinstance(told, str) else None

    @on("system")
    def system(self, record: dict[str, Any]) -> Iterable[Entry]:
        """`init` begins a session or a turn; the rest is housekeeping, named by its subtype."""
        subtype = word(record.get("subtype")) or ""
        if subtype == "init":
            yield Started(
                thread=NOWHERE,
                session_id=word(record.get("session_id")),
                cwd=word(record.get("cwd")),
                model=word(record.get("model")),
                version=word(record.get("claude_code_version")),
            )
            return
        yield Noticed(kind=f"system/{subtype}", record=record, raw=Part(self.unit.data), thread=NOWHERE)

    @on("assistant")
    def assistant(self, record: dict[str, Any]) -> Iterable[Entry]:
        """What the model thought, said and called; thoughts first, each kind joined within the record."""
        block = blocks.only(record, "tool_use")
        if block is not None and not self.is_full:
            thread = record.get("parent_tool_use_id")
            thread = None if thread is None else word(thread)
            call = _called(block, Part(self.unit.data, blocks.ONLY), thread)
            if call is not None:
                return (call,)
        message = record.get("message")
        found = blocks.content(message)
        if found is None or not isinstance(message, dict):
            return (self._odd(blocks.thread(record)),)
        if self.is_full:
            return self._in_order(record, message, found)
        return self._message(record, message, found)

    def _message(self, record: dict[str, Any], message: dict[str, Any], found: list[Any]) -> Iterator[Entry]:
        thread, name = blocks.thread(record), word(message.get("id"))
        thoughts, texts, deeds = blocks.sort(found)
        if thoughts or not (texts or deeds):
            yield Thought(text="".join(thoughts), message=name, thread=thread)
        if texts:
            fault = record.get("is_api_error_message") is True or message.get("model") == "<synthetic>"
            yield Said(text="".join(texts), message=name, fault=fault, thread=thread)
        parts = blocks.parts(self.unit.data, len(found)) if deeds else []
        for position, block in deeds:
            yield self._deed(block, parts[position], thread)

    def _in_order(self, record: dict[str, Any], message: dict[str, Any], found: list[Any]) -> Iterator[Entry]:
        """An entry for each block as it stands, with the model call that it came out of."""
        thread, name, reply = blocks.thread(record), word(message.get("id")), _reply(record, message)
        fault = record.get("is_api_error_message") is True or message.get("model") == "<synthetic>"
        for position, (block, part) in enumerate(zip(found, blocks.parts(self.unit.data, len(found)))):
            entry: Entry
            match block:
                case {"type": "text", "text": str(text)}:
                    entry = Said(text=text, message=name, fault=fault, reply=reply, thread=thread)
                case {"type": "thinking", "thinking": str(text)}:
                    signed = word(block.get("signature"))
                    entry = Thought(text=text, message=name, signature=signed, reply=reply, thread=thread)
                case {"type": "redacted_thinking"}:
                    hidden = word(block.get("data"))
                    entry = Thought(text="", message=name, redacted=hidden, reply=reply, thread=thread)
                case _:
                    entry = self._deed(block, part, thread)
                    if isinstance(entry, ToolCalled):
                        entry.reply = reply
            entry.source = self._source(message, position)
            yield entry

    def _source(self, message: dict[str, Any], position: int) -> Part:
        """Where a block stands in the record; a message that is a string is one block."""
        path = ("message", "content")
        return Part(self.unit.data, path if isinstance(message["content"], str) else (*path, position))

    def _deed(self, block: Any, part: Part, thread: str | None) -> Entry:
        """A block that is neither text nor thinking: a call, a server's result, or no known one."""
        kind = blocks.kind(block)
        called = _called(block, part, thread) if kind in _CALLS else None
        if called is not None:
            return called
        if kind and kind.endswith("_tool_result") and (call := word(block.get("tool_use_id"))):
            return ToolReturned(id=call, ok=None, raw=part, thread=thread)
        return self._odd(thread, part)

    @on("user")
    def user(self, record: dict[str, Any]) -> Iterable[Entry]:
        """Results of calls; texts are prompts, or context that the program put in."""
        shared, thread = record.get("tool_use_result"), record.get("parent_tool_use_id")
        thread = None if thread is None else word(thread)
        refused = _refused(record.get("tool_result_meta"))
        block = blocks.only(record, "tool_result")
        if block is not None and not self.is_full:
            return (self._result(block, Part(self.unit.data, blocks.ONLY), thread, shared, refused),)
        return self._given(record, thread, shared, refused)

    def _given(
        self, record: dict[str, Any], thread: str | None, shared: Any, refused: Collection[str]
    ) -> Iterator[Entry]:
        """The blocks that the model was given; `shared` is of one of the results among them."""
        found, synthetic = blocks.content(record.get("message")), record.get("isSynthetic") is True
        if found is None:
            yield self._odd(thread)
            return
        owners = None if shared is None or _results(found) < 2 else self._owners()
        if not found:
            yield Prompted(text="", synthetic=synthetic, thread=thread)
        for position, (block, part) in enumerate(zip(found, blocks.parts(self.unit.data, len(found)))):
            kind = blocks.kind(block)
            entry: Entry
            if kind == "tool_result":
                mine = shared if owners is None or word(block.get("tool_use_id")) in owners else None
                entry = self._result(block, part, thread, mine, refused)
            elif kind == "text" and isinstance(block.get("text"), str):
                entry = Prompted(text=block["text"], synthetic=synthetic, thread=thread)
            elif kind == "image" and record.get("isReplay") is True:
                entry = Noticed(kind="user/replayed", record=record, raw=part, thread=thread)
            else:
                entry = self._odd(thread, part)
            if self.is_full:
                entry.source = self._source(record["message"], position)
            yield entry

    def _owners(self) -> set[str | None]:
        """The ids that a record's `tool_use_result` names, which is of one of its several results."""
        told = Part(self.unit.data, ("tool_use_result",)).value()
        names = [text(told, (key,)) for key in ("tool_use_id", "toolUseId", "id")]
        return {name for name in names if name}

    def _result(
        self, block: dict[str, Any], part: Part, thread: str | None, shared: Any, refused: Collection[str]
    ) -> Entry:
        """A result, with what its record tells of it beside the block (`shared`)."""
        own, name = block.get("tool_use_result"), block.get("tool_use_id")
        if not name or not isinstance(name, str):
            name = None
        if shared is None or (isinstance(own, dict) and not isinstance(shared, dict)):
            where = Part(part.data, (*part.path, "tool_use_result"))
        else:
            where = Part(self.unit.data, _SHARED)
        failed = (
            block.get("is_error") is True
            or name in refused
            or (not _FLAGS.isdisjoint(block) and _interrupted(block))
            or (own and _interrupted(own))
            or (shared and _interrupted(shared))
        )
        return ToolReturned(
            id=name, ok=not failed, output=block.get("content"), details=where, raw=part, thread=thread
        )

    @on("rate_limit_event")
    def rate_limit(self, record: dict[str, Any]) -> Iterable[Entry]:
        """Credential state; only a status other than `allowed` is worth a word."""
        match record:
            case {"rate_limit_info": {"status": str(status)}} if status not in ("", "allowed"):
                yield Warned(message=f"rate limit: {status}", thread=NOWHERE)

    @on("stream_event")
    def stream_event(self, record: dict[str, Any]) -> Iterable[Entry]:
        """Partial telemetry that the whole records restate."""
        return ()

    @on("control_response")
    def control_response(self, record: dict[str, Any]) -> Iterable[Entry]:
        """An answer to a control request on standard input."""
        yield Noticed(kind="control_response", record=record, raw=Part(self.unit.data), thread=NOWHERE)

    @on("result")
    def result(self, record: dict[str, Any]) -> Iterable[Entry]:
        """A turn ended: the release's own flag, subtype and API status say whether it failed."""
        subtype = word(record.get("subtype"))
        fault = subtype if subtype != "success" else None
        status = record.get("api_error_status")
        failed = record.get("is_error") is True or fault is not None or status is not None
        told = (
            None if status is None else status if isinstance(status, str) else jsonio.dumps(status).decode()
        )
        head = ", ".join(part for part in (fault, told) if part)
        texts = "; ".join(_texts(record))
        usage = record.get("usage")
        yield Ended(
            ok=not failed,
            text=word(record.get("result")) or texts or None,
            message=(f"{head}: {texts}" if head and texts else head or texts) or "error",
            code=fault or told or None,
            tokens=counted(usage).tokens if isinstance(usage, dict) else None,
            cost=cost_since(record.get("model_usage_since_last_result")),
            thread=NOWHERE,
        )

    def _odd(self, thread: str | None, part: Part | None = None) -> Entry:
        entry = self.unread(bytes(part.raw()) if part else None)
        entry.thread = thread
        return entry


def _reply(record: dict[str, Any], message: dict[str, Any]) -> Reply:
    """The call of the model; its usage was told when the answer began unless a reason to stop is there."""
    usage, stop = message.get("usage"), word(message.get("stop_reason"))
    took = counted(usage) if isinstance(usage, dict) else None
    tokens = took.tokens if took else None
    if tokens and not stop:
        tokens = Tokens(uncached_input=tokens.uncached_input, cached_input=tokens.cached_input)
    return Reply(
        id=word(message.get("id")),
        model=word(message.get("model")),
        request=word(record.get("request_id")),
        stop=stop,
        tokens=tokens,
        cache_writes=took.cache_write if took else None,
    )


def _called(block: dict[str, Any], part: Part, thread: str | None) -> ToolCalled | None:
    """The call that a block is; None when it has no id."""
    call, name, given = block.get("id"), block.get("name"), block.get("input")
    if not call or not isinstance(call, str):
        return None
    if block["type"] != "tool_use":  # a server's tool is outside every table, whatever its name
        given = None
    return ToolCalled(call, name if isinstance(name, str) else "", given, part, thread=thread)


def _results(found: list[Any]) -> int:
    return sum(blocks.kind(block) == "tool_result" for block in found)


def _interrupted(source: Any) -> bool:
    """Whether an object has a flag that says so."""
    return isinstance(source, dict) and (
        source.get("interrupted") is True
        or source.get("is_interrupted") is True
        or source.get("is_interruption") is True
    )


def _refused(metas: Any) -> Collection[str]:
    """The calls that were refused or cancelled, by the entries of `tool_result_meta`."""
    refused: set[str] = set()
    for meta in metas if isinstance(metas, list) else ():
        if isinstance(meta, dict) and meta.get("non_execution_kind") and word(meta["non_execution_kind"]):
            refused.add(word(meta.get("id")) or "")
    return refused


def _texts(record: dict[str, Any]) -> Iterator[str]:
    """What a `result` says to people: its answer, or its list of errors."""
    told = record.get("result")
    errors = record.get("errors")
    for said in [told, *(errors if isinstance(errors, list) else [errors])]:
        if isinstance(said, str) and said:
            yield said
