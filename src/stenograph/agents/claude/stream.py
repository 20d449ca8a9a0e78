"""`claude -p … --output-format stream-json --verbose`, run on releases 1.0.60, 2.1.197 and 2.1.332.

One record for each content block, not for each message: the records of a message share `message.id`. Each
tool result is a `user` record of its own, in the order of completion. There may be several `init` and
`result` records. A failed call's `tool_use_result` is a string. `result.subtype` says `success` even when
the API failed. A subagent's records carry `parent_tool_use_id`, the id of the call that started it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from stenograph import jsonio
from stenograph.agents.claude.projection import ClaudeProjection
from stenograph.agents.claude.shapes import SHAPES
from stenograph.event import Tokens
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

_CALLS = frozenset(("tool_use", "server_tool_use", "mcp_tool_use"))


class ClaudeStream(Reader):
    """Claude Code, live."""

    agent = "claude"
    command = "claude -p … --output-format stream-json --verbose"
    projection = ClaudeProjection
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
        subtype = _word(record.get("subtype")) or ""
        if subtype == "init":
            yield Started(
                thread=NOWHERE,
                session_id=_word(record.get("session_id")),
                cwd=_word(record.get("cwd")),
                model=_word(record.get("model")),
                version=_word(record.get("claude_code_version")),
            )
            return
        yield Noticed(kind=f"system/{subtype}", record=record, raw=Part(self.unit.data), thread=NOWHERE)

    @on("assistant")
    def assistant(self, record: dict[str, Any]) -> Iterable[Entry]:
        """What the model thought, said and called; thoughts first, each kind joined within the record."""
        thread = _thread(record)
        message = record.get("message")
        blocks = _blocks(message)
        if blocks is None or not isinstance(message, dict):
            yield self._odd(thread)
            return
        if self.is_full:
            yield from self._in_order(record, message, blocks)
            return
        thoughts: list[str] = []
        texts: list[str] = []
        deeds: list[tuple[int, Any]] = []
        for position, block in enumerate(blocks):
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "text" and isinstance(block.get("text"), str):
                texts.append(block["text"])
            elif kind == "thinking" and isinstance(block.get("thinking"), str):
                thoughts.append(block["thinking"])
            elif kind == "redacted_thinking":
                thoughts.append("")
            else:
                deeds.append((position, block))
        name = _word(message.get("id"))
        if thoughts or not texts:
            yield Thought(text="".join(thoughts), message=name, thread=thread)
        if texts:
            fault = record.get("is_api_error_message") is True or message.get("model") == "<synthetic>"
            yield Said(text="".join(texts), message=name, fault=fault, thread=thread)
        for position, block in deeds:
            yield self._deed(block, position, thread)

    def _in_order(
        self, record: dict[str, Any], message: dict[str, Any], blocks: list[Any]
    ) -> Iterator[Entry]:
        """An entry for each block as it stands, with the model call that it came out of."""
        thread, name, reply = _thread(record), _word(message.get("id")), _reply(record, message)
        fault = record.get("is_api_error_message") is True or message.get("model") == "<synthetic>"
        whole = isinstance(message.get("content"), str)
        for position, block in enumerate(blocks):
            path = ("message", "content") if whole else ("message", "content", position)
            entry: Entry
            match block:
                case {"type": "text", "text": str(text)}:
                    entry = Said(text=text, message=name, fault=fault, reply=reply, thread=thread)
                case {"type": "thinking", "thinking": str(text)}:
                    signed = _word(block.get("signature"))
                    entry = Thought(text=text, message=name, signature=signed, reply=reply, thread=thread)
                case {"type": "redacted_thinking"}:
                    hidden = _word(block.get("data"))
                    entry = Thought(text="", message=name, redacted=hidden, reply=reply, thread=thread)
                case _:
                    entry = self._deed(block, position, thread)
                    if isinstance(entry, ToolCalled):
                        entry.reply = reply
            entry.source = Part(self.unit.data, path)
            yield entry

    def _deed(self, block: Any, position: int, thread: str | None) -> Entry:
        """A block that is neither text nor thinking."""
        part = Part(self.unit.data, ("message", "content", position))
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in _CALLS and (call := _word(block.get("id"))):
            tool = block.get("name")
            known = isinstance(tool, str) and "input" in block
            name = tool if known else ""
            return ToolCalled(id=call, tool=name, input=block.get("input"), raw=part, thread=thread)
        if (
            isinstance(kind, str)
            and kind.endswith("_tool_result")
            and (call := _word(block.get("tool_use_id")))
        ):
            return ToolReturned(id=call, ok=None, raw=part, thread=thread)
        return self._odd(thread, part)

    @on("user")
    def user(self, record: dict[str, Any]) -> Iterable[Entry]:
        """Results of calls; texts are prompts, or context that the program put in."""
        thread = _thread(record)
        blocks = _blocks(record.get("message"))
        if blocks is None:
            yield self._odd(thread)
            return
        alone = len(blocks) == 1 or _results(blocks) == 1
        synthetic = record.get("isSynthetic") is True
        if not blocks:
            yield Prompted(text="", synthetic=synthetic, thread=thread)
        whole = isinstance(record["message"]["content"], str)
        for position, block in enumerate(blocks):
            part = Part(self.unit.data, ("message", "content", position))
            kind = block.get("type") if isinstance(block, dict) else None
            entry: Entry
            if kind == "tool_result":
                entry = _result(record, block, part, thread, alone)
            elif kind == "text" and isinstance(block.get("text"), str):
                entry = Prompted(text=block["text"], synthetic=synthetic, thread=thread)
            elif kind == "image" and record.get("isReplay") is True:
                entry = Noticed(kind="user/replayed", record=record, raw=part, thread=thread)
            else:
                entry = self._odd(thread, part)
            if self.is_full:
                entry.source = Part(self.unit.data, part.path[:-1]) if whole else part
            yield entry

    @on("rate_limit_event")
    def rate_limit(self, record: dict[str, Any]) -> Iterable[Entry]:
        """Credential state; only a status other than `allowed` is worth a word."""
        match record:
            case {"rate_limit_info": {"status": str(status)}} if status != "allowed":
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
        subtype = _word(record.get("subtype"))
        fault = subtype if subtype != "success" else None
        status = record.get("api_error_status")
        failed = record.get("is_error") is True or fault is not None or status is not None
        told = (
            None if status is None else status if isinstance(status, str) else jsonio.dumps(status).decode()
        )
        head = ", ".join(part for part in (fault, told) if part)
        texts = "; ".join(_texts(record))
        yield Ended(
            ok=not failed,
            text=_word(record.get("result")),
            message=(f"{head}: {texts}" if head and texts else head or texts) or "error",
            code=fault or told or None,
            tokens=_tokens(record.get("usage")),
            cost=_cost(record.get("model_usage_since_last_result")),
            thread=NOWHERE,
        )

    def _odd(self, thread: str | None, part: Part | None = None) -> Entry:
        entry = self.unread(bytes(part.raw()) if part else None)
        entry.thread = thread
        return entry


def _reply(record: dict[str, Any], message: dict[str, Any]) -> Reply:
    """The call of the model; its usage was told when the answer began unless a reason to stop is there."""
    usage, stop = message.get("usage"), _word(message.get("stop_reason"))
    tokens = _tokens(usage)
    if tokens and not stop:
        tokens = Tokens(uncached_input=tokens.uncached_input, cached_input=tokens.cached_input)
    return Reply(
        id=_word(message.get("id")),
        model=_word(message.get("model")),
        request=_word(record.get("request_id")),
        stop=stop,
        tokens=tokens,
        cache_writes=_count(usage.get("cache_creation_input_tokens")) if isinstance(usage, dict) else None,
    )


def _result(
    record: dict[str, Any], block: dict[str, Any], part: Part, thread: str | None, alone: bool
) -> Entry:
    name = _word(block.get("tool_use_id"))
    own, shared = block.get("tool_use_result"), record.get("tool_use_result")
    where = Part(part.data, ("tool_use_result",))
    if shared is not None and not alone and not _names(where.value(), name):
        shared = None
    failed = (
        block.get("is_error") is True
        or _interrupted(block)
        or _interrupted(own)
        or _interrupted(shared)
        or _not_run(record.get("tool_result_meta"), name)
    )
    if shared is None:
        where = Part(part.data, (*part.path, "tool_use_result"))
    return ToolReturned(
        id=name, ok=not failed, output=block.get("content"), details=where, raw=part, thread=thread
    )


def _results(blocks: list[Any]) -> int:
    return sum(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks)


def _names(told: Any, name: str | None) -> bool:
    keys = ("tool_use_id", "toolUseId", "id")
    return name is not None and isinstance(told, dict) and any(told.get(key) == name for key in keys)


def _interrupted(source: Any) -> bool:
    return isinstance(source, dict) and (
        source.get("interrupted") is True
        or source.get("is_interrupted") is True
        or source.get("is_interruption") is True
    )


def _not_run(metas: Any, name: str | None) -> bool:
    """Whether the call was refused or cancelled, by the entry of `tool_result_meta` for its id."""
    if name is None or not isinstance(metas, list):
        return False
    for meta in metas:
        if isinstance(meta, dict) and meta.get("id") == name and _word(meta.get("non_execution_kind")):
            return True
    return False


def _thread(record: dict[str, Any]) -> str | None:
    return _word(record.get("parent_tool_use_id"))


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _blocks(message: Any) -> list[Any] | None:
    """A message's blocks; a string is one block of text."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else None


def _texts(record: dict[str, Any]) -> Iterator[str]:
    """What a `result` says to people: its answer, or its list of errors."""
    told = record.get("result")
    errors = record.get("errors")
    for text in [told, *(errors if isinstance(errors, list) else [errors])]:
        if isinstance(text, str) and text:
            yield text


def _tokens(usage: Any) -> Tokens | None:
    """One turn's tokens: input counts neither cache class, output counts the thinking."""
    if not isinstance(usage, dict):
        return None
    fresh, written = _count(usage.get("input_tokens")), _count(usage.get("cache_creation_input_tokens"))
    output = _count(usage.get("output_tokens"))
    split = usage.get("output_tokens_details")
    thinking = _count(split.get("thinking_tokens")) if isinstance(split, dict) else None
    return Tokens(
        uncached_input=None if fresh is None and written is None else (fresh or 0) + (written or 0),
        cached_input=_count(usage.get("cache_read_input_tokens")),
        output=output if output is None or thinking is None else max(0, output - thinking),
        reasoning=thinking,
    )


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _cost(models: Any) -> float | None:
    """The turn's cost in USD, summed over the models that served it."""
    if not isinstance(models, dict):
        return None
    costs = [model.get("costUSD") for model in models.values() if isinstance(model, dict)]
    told = [cost for cost in costs if isinstance(cost, int | float) and not isinstance(cost, bool)]
    return sum(told) if told else None
