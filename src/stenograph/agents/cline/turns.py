"""Messages of a task's API history as entries: prose, thoughts, calls and their results.

Calls are tool_use blocks, or XML in text where a message has none of those. Results are tool_result blocks,
or text that begins `[tool for 'argument'] Result:`, which names no call: it answers the first open one of
that tool. XML calls have no id; the entries get one made of the message's index.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from stenograph.agents.cline.types import Message
from stenograph.agents.cline.xml import XMLToolCall, split
from stenograph.fields import word
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
        self._held: dict[str, Any] = {}  # and what they say

    def read(self, message: Message, at: int) -> Iterator[Entry]:
        """The entries of the message at an index, without their places."""
        self._raw = message.raw
        self._held = message.decode()
        whole = self._part()
        for entry in self._meaning(message, at):
            if entry.source is NO_PART:
                entry.source = getattr(entry, "raw", whole) if isinstance(entry, _PLACED) else whole
            yield entry

    def _part(self, *path: str | int) -> Part:
        return Part(self._raw, path, self._held)

    def _meaning(self, message: Message, at: int) -> Iterable[Entry]:
        role = message.role
        if message.error:
            return (Unread(raw=msgspec.Raw(self._raw)),)
        if message.is_summary or message.is_truncation_marker:
            kind = "summary" if message.is_summary else "truncation"
            return (Noticed(kind=kind, record=message.get("content"), raw=self._part()),)
        if message.is_standalone_reasoning:
            signature = message.encrypted_content or None
            return (Thought(text=_summary(message.summary), signature=signature),)
        if role == "assistant":
            return self._answer(message, at)
        if role == "user":
            return self._words(message.get("content"))
        return (Unread(raw=msgspec.Raw(self._raw)),)

    def _answer(self, message: Message, at: int) -> Iterator[Entry]:
        self._open = []
        content, reply = message.get("content"), _reply(message)
        if isinstance(content, str):
            for entry in self._prose(content, at):
                yield _placed(entry, self._part("content"), reply)
        blocks = content if isinstance(content, list) else []
        is_native = any(_kind(block) == "tool_use" for block in blocks)
        for number, block in enumerate(blocks):
            part = self._part("content", number)
            for entry in self._block(block, part, at, is_native=is_native):
                yield _placed(entry, part, reply)

    def _block(self, block: Any, part: Part, at: int, *, is_native: bool) -> Iterable[Entry]:
        kind = _kind(block)
        if kind == "text":
            if not is_native:
                return self._prose(_text(block), at)
            said = _text(block).strip()
            return (Said(text=said),) if said else ()
        if kind == "tool_use":
            call, tool = word(block.get("id")), word(block.get("name")) or ""
            self._open.append((tool, call or ""))
            return (ToolCalled(id=call, tool=tool, input=block.get("input"), raw=part),)
        if kind in ("thinking", "reasoning"):
            told = word(block.get("thinking")) or _text(block) or _summary(block.get("summary"))
            signature = word(block.get("signature")) or word(block.get("encrypted_content"))
            return (Thought(text=told, signature=signature),)
        if kind == "redacted_thinking":
            return (Thought(text="", redacted=word(block.get("data"))),)
        if kind is None:
            return (Unread(raw=part.raw()),)
        return (Noticed(kind=f"block/{kind}", raw=part),)

    def _prose(self, text: str, at: int) -> Iterator[Entry]:
        """A text that may hold calls written as XML."""
        for part in split(text):
            if isinstance(part, XMLToolCall):
                call = f"{at}.{len(self._open)}"
                self._open.append((part.name, call))
                yield ToolCalled(id=call, tool=part.name, input=part.params, raw=self._part())
            elif part.strip():
                yield Said(text=part.strip())

    def _words(self, content: Any) -> Iterator[Entry]:
        """A user message: results, the user's words, and what the harness puts in."""
        if isinstance(content, str):
            yield _placed(_prompt(content), self._part("content"), None)
        blocks = content if isinstance(content, list) else []
        taken = 0
        for number, block in enumerate(blocks):
            if number < taken:
                continue
            part, kind = self._part("content", number), _kind(block)
            if kind == "tool_result":
                yield self._result(block, part)
            elif kind == "text" and (found := _RESULT.match(text := _text(block))):
                output, taken = _output(text[found.end() :], blocks, number + 1)
                yield self._told(found.group(1), output, part)
            elif kind == "text":
                yield _placed(_prompt(text), part, None)
            elif kind is None:
                yield Unread(raw=part.raw())
            else:
                yield Noticed(kind=f"block/{kind}", raw=part)

    def _result(self, block: dict[str, Any], part: Part) -> Entry:
        call = word(block.get("tool_use_id"))
        tool = self._take(lambda each: each[1] == (call or ""))
        return ToolReturned(
            id=call,
            tool=tool[0] if tool else None,
            ok=False if block.get("is_error") is True else None,
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


def _output(begin: str, blocks: list[Any], following: int) -> tuple[str, int]:
    """A result's text, and the first block behind it: Roo puts the text into the blocks that follow."""
    if begin.strip():
        return begin, following
    end = following
    while end < len(blocks) and _is_output(blocks[end]):
        end += 1
    return "\n".join(_text(block) for block in blocks[following:end]), end


def _is_output(block: Any) -> bool:
    if _kind(block) != "text":
        return False
    text = _text(block)
    return not (_RESULT.match(text) or _PUT_IN.match(text) or _WORDS.match(text))


def _kind(block: Any) -> str | None:
    """A block's type, empty where it has none; None for what is no block."""
    if not isinstance(block, dict):
        return None
    kind = block.get("type")
    return kind if isinstance(kind, str) else ""


def _text(block: dict[str, Any]) -> str:
    return word(block.get("text")) or ""


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
