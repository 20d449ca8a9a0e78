"""Messages of a task's API history as entries: prose, thoughts, calls and their results.

Calls are tool_use blocks, or XML in text where a message has none of those. Results are tool_result blocks,
or text that begins `[tool for 'argument'] Result:`, which names no call: it answers the first open one of
that tool. XML calls have no id; the entries get one made of the message's index.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from stenograph.agents.cline.types import Block, Message
from stenograph.agents.cline.xml import XMLToolCall, split
from stenograph.model import (
    NO_PART,
    Entry,
    Noticed,
    Part,
    Prompted,
    Reply,
    Said,
    Thought,
    ToolCalled,
    ToolReturned,
    Unread,
)

_RESULT = re.compile(r"\[([\w.-]+)(?:\s.*?)?\] Result:[ \n]?", re.DOTALL)
_PUT_IN = re.compile(
    r"\s*(?:<(?:environment_details|potentially_relevant_details|explicit_instructions|file_content|"
    r"folder_content|url_content|problems)\b|# task_progress |\[TASK RESUMPTION\]|\[ERROR\])"
)
_WORDS = re.compile(r"\s*<(task|feedback|user_message|answer)>\n?(.*?)\n?</\1>\s*", re.DOTALL)
_PLACED = (ToolCalled, ToolReturned, Noticed)
_FAILED = ("The tool execution failed", "Error executing", "The user denied this operation")


class Turns:
    """Reads the messages of one history in order; remembers the calls that have no result yet."""

    def __init__(self) -> None:
        self._open: list[tuple[str, str]] = []  # (tool, id), emptied by each new answer of the model
        self._raw = b""  # the bytes of the message being read

    def read(self, message: Message, at: int) -> Iterator[Entry]:
        """The entries of the message at an index, without their places."""
        self._raw = message.raw
        whole = Part(self._raw)
        for entry in self._meaning(message, at):
            if entry.source is NO_PART:
                entry.source = getattr(entry, "raw", whole) if isinstance(entry, _PLACED) else whole
            yield entry

    def _meaning(self, message: Message, at: int) -> Iterator[Entry]:
        if message.error:
            yield Unread(raw=msgspec.Raw(self._raw))
        elif message.is_summary or message.is_truncation_marker:
            kind = "summary" if message.is_summary else "truncation"
            yield Noticed(kind=kind, record=message.get("content"), raw=Part(self._raw))
        elif message.is_standalone_reasoning:
            yield Thought(text=_summary(message.summary), signature=message.encrypted_content or None)
        elif message.role == "assistant":
            yield from self._answer(message, at)
        elif message.role == "user":
            yield from self._words(message)
        else:
            yield Unread(raw=msgspec.Raw(self._raw))

    def _answer(self, message: Message, at: int) -> Iterator[Entry]:
        self._open = []
        is_native = bool(message.tool_uses)
        reply = _reply(message)
        if message.content.is_text:
            for entry in self._prose(message.content.text, at, is_native=is_native):
                yield _placed(entry, Part(self._raw, ("content",)), reply)
        for number, block in enumerate(message.content.blocks):
            part = Part(self._raw, ("content", number))
            for entry in self._block(block, message, (at, number), is_native=is_native):
                yield _placed(entry, part, reply)

    def _block(
        self, block: Block, message: Message, at: tuple[int, int], *, is_native: bool
    ) -> Iterator[Entry]:
        part = Part(self._raw, ("content", at[1]))
        match block.type:
            case "text":
                yield from self._prose(block.text, at[0], is_native=is_native)
            case "thinking" | "reasoning":
                told = block.thinking or block.text or _summary(block.get("summary"))
                yield Thought(text=told, signature=block.signature or block.encrypted_content or None)
            case "redacted_thinking":
                yield Thought(text="", redacted=block.data or None)
            case "tool_use":
                self._open.append((block.name, block.id))
                yield ToolCalled(id=block.id or None, tool=block.name, input=block.input, raw=part)
            case _ if block.error:
                yield Unread(raw=msgspec.Raw(block.raw))
            case kind:
                yield Noticed(kind=f"block/{kind}", raw=part)

    def _prose(self, text: str, at: int, *, is_native: bool) -> Iterator[Entry]:
        parts: Sequence[str | XMLToolCall] = [text] if is_native else split(text)
        for part in parts:
            if isinstance(part, XMLToolCall):
                call = f"{at}.{len(self._open)}"
                self._open.append((part.name, call))
                yield ToolCalled(id=call, tool=part.name, input=part.params, raw=Part(self._raw))
            elif part.strip():
                yield Said(text=part.strip())

    def _words(self, message: Message) -> Iterator[Entry]:
        """A user message: results, the user's words, and what the harness puts in."""
        if message.content.is_text:
            yield _placed(_prompt(message.content.text), Part(self._raw, ("content",)), None)
        blocks = message.content.blocks
        taken = 0
        for number, block in enumerate(blocks):
            if number < taken:
                continue
            part = Part(self._raw, ("content", number))
            if block.type == "tool_result":
                yield self._result(block, part)
            elif block.type == "text" and (found := _RESULT.match(block.text)):
                output, taken = _output(block.text[found.end() :], blocks, number + 1)
                yield self._told(found.group(1), output, part)
            elif block.type == "text":
                yield _placed(_prompt(block.text), part, None)
            elif block.error:
                yield Unread(raw=msgspec.Raw(block.raw))
            else:
                yield Noticed(kind=f"block/{block.type}", raw=part)

    def _result(self, block: Block, part: Part) -> Entry:
        tool = self._take(lambda each: each[1] == block.tool_use_id)
        return ToolReturned(
            id=block.tool_use_id or None,
            tool=tool[0] if tool else None,
            ok=False if block.is_error else None,
            output=block.get("content"),
            raw=part,
        )

    def _told(self, name: str, output: str, part: Part) -> Entry:
        """A result that is text: it names the tool, not the call."""
        call = self._take(lambda each: each[0] == name)
        ok = False if output.startswith(_FAILED) else None
        return ToolReturned(id=call[1] if call else None, tool=name, ok=ok, output=output, raw=part)

    def _take(self, fits: Any) -> tuple[str, str] | None:
        found = next((each for each in self._open if fits(each)), None)
        if found:
            self._open.remove(found)
        return found


def _placed(entry: Entry, part: Part, reply: Reply | None) -> Entry:
    """Say where an entry of a message's text stands, and which answer it belongs to."""
    entry.source = part
    if reply and isinstance(entry, Said | Thought | ToolCalled):
        entry.reply = reply
    return entry


def _reply(message: Message) -> Reply | None:
    """The call of the model; classic Cline names the model, Roo the provider's id."""
    info = message.model_info
    if info is None and not message.id:
        return None
    model, provider = (info.model_id, info.provider_id) if info else ("", "")
    return Reply(id=message.id or None, model=model or None, provider=provider or None)


def _output(begin: str, blocks: list[Block], following: int) -> tuple[str, int]:
    """A result's text, and the first block behind it: Roo puts the text into the blocks that follow."""
    if begin.strip():
        return begin, following
    end = following
    while end < len(blocks) and _is_output(blocks[end]):
        end += 1
    return "\n".join(block.text for block in blocks[following:end]), end


def _is_output(block: Block) -> bool:
    is_own = _RESULT.match(block.text) or _PUT_IN.match(block.text) or _WORDS.match(block.text)
    return block.type == "text" and not is_own


def words(text: str) -> str:
    """A user's words without the tag around them."""
    found = _WORDS.fullmatch(text)
    return found.group(2) if found else text


def _prompt(text: str) -> Entry:
    return Prompted(text=words(text), synthetic=bool(_PUT_IN.match(text)))


def _summary(value: Any) -> str:
    """The texts of a reasoning item's summary."""
    if not isinstance(value, list):
        return value if isinstance(value, str) else ""
    texts = [each.get("text") for each in value if isinstance(each, dict)]
    return "\n\n".join(text for text in texts if isinstance(text, str))
