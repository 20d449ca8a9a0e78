"""One request to a model: its events pulled in step with their use, and put together to a message."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, NamedTuple, TypeAlias

from msgspec import UNSET

from stenograph import jsonio
from stenograph.agents.cline import models
from stenograph.agents.cline.agent import GeneratedMedia
from stenograph.agents.cline.models import AgentModelEvent
from stenograph.agents.cline.runtime import (
    AgentMediaPart,
    AgentMessagePart,
    AgentReasoningPart,
    AgentTextPart,
    AgentToolCallPart,
    ModelFinishReason,
)

_GRACE_S = 5.0  # for a model that does not let go at once


class ModelStream:
    """The events of one answer, pulled by a task of its own so that `stop` can cut it off at once.

    The model is asked for an event only when the last one was used up. Use it inside `async with`, which
    leaves no task behind. Iterating raises what the model raised, and TimeoutError when it says nothing for
    `idle_s` seconds; it ends early after `stop`.
    """

    def __init__(self, source: AsyncIterator[AgentModelEvent], *, idle_s: float | None) -> None:
        self._source = source
        self._idle_s = idle_s
        self._asked = asyncio.Semaphore(0)
        self._given: asyncio.Queue[AgentModelEvent | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> ModelStream:
        self._task = asyncio.create_task(self._pull())
        self._task.add_done_callback(lambda _: self._given.put_nowait(None))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self._task:
            await asyncio.wait([self._task], timeout=_GRACE_S)

    def stop(self) -> None:
        """Let go of the model now."""
        if self._task:
            self._task.cancel()

    def __aiter__(self) -> ModelStream:
        return self

    async def __anext__(self) -> AgentModelEvent:
        self._asked.release()
        async with asyncio.timeout(self._idle_s):
            event = await self._given.get()
        if event is not None:
            return event
        if self._task and not self._task.cancelled():
            self._task.result()
        raise StopAsyncIteration

    async def _pull(self) -> None:
        try:
            await self._asked.acquire()
            async for event in self._source:
                self._given.put_nowait(event)
                await self._asked.acquire()
        finally:
            close = getattr(self._source, "aclose", None)
            if close is not None:
                await close()


class Answer(NamedTuple):
    """What one request gave: the message's parts and metadata, and how it ended."""

    content: list[AgentMessagePart]
    metadata: dict[str, Any]
    finish_reason: ModelFinishReason
    calls: list[AgentToolCallPart]

    @property
    def empty(self) -> bool:
        """Nothing was said, and nothing done by the provider."""
        return not self.content and "modelToolActivities" not in self.metadata


class _Text:
    """A part that grows."""

    def __init__(self, kind: type[AgentTextPart] | type[AgentReasoningPart]) -> None:
        self.kind = kind
        self.pieces: list[str] = []
        self.extras: dict[str, Any] = {}


class _Call:
    """A tool call that grows."""

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        self.name: Any = UNSET
        self.input: Any = UNSET
        self.metadata: Any = UNSET
        self.pieces: list[str] = []


_Slot: TypeAlias = "_Text | _Call | AgentMediaPart"


class Assembler:
    """Puts the events of one answer together; `text` and `reasoning` are what was said and thought so far.

    `made_up_id` names a call to which the model gave no id.
    """

    def __init__(self, *, made_up_id: str) -> None:
        self.text = ""
        self.reasoning = ""
        self.activities: dict[str, dict[str, Any]] = {}
        """What the provider's own tools did, by call id."""
        self._finish: ModelFinishReason = "stop"
        self._made_up_id = made_up_id
        self._slots: list[_Slot] = []
        self._calls: dict[Any, _Call] = {}

    def add_text(self, event: models.ModelTextDelta) -> None:
        """One more piece of prose."""
        self.text += event.text
        self._growing(AgentTextPart).pieces.append(event.text)

    def add_reasoning(self, event: models.ModelReasoningDelta) -> None:
        """One more piece of thinking; the latest `redacted` and `metadata` stay."""
        self.reasoning += event.text
        slot = self._growing(AgentReasoningPart, begins=event.begins is True)
        slot.pieces.append(event.text)
        for name, member in (("redacted", event.redacted), ("metadata", event.metadata)):
            if member is not UNSET and member is not None:
                slot.extras[name] = member

    def add_media(self, media: GeneratedMedia) -> None:
        """A medium."""
        self._slots.append(AgentMediaPart(media=media))

    def add_call(self, event: models.ModelToolCallDelta) -> None:
        """A piece of a tool call."""
        call = self._call(event)
        if event.tool_name:
            call.name = event.tool_name
        if event.input is not UNSET:
            call.input = event.input
        if event.metadata is not UNSET:
            both = isinstance(call.metadata, dict) and isinstance(event.metadata, dict)
            call.metadata = {**call.metadata, **event.metadata} if both else event.metadata
        if event.input_text:
            call.pieces.append(event.input_text)

    def finish(self, reason: ModelFinishReason) -> None:
        """How the answer ended; without this, it stopped."""
        self._finish = reason

    def answer(self) -> Answer:
        """The parts in the order in which they began. Calls without a name are told in the metadata only."""
        parts: list[AgentMessagePart] = []
        invalid: list[dict[str, Any]] = []
        for slot in self._slots:
            match slot:
                case _Text():
                    parts.append(slot.kind(text="".join(slot.pieces), **slot.extras))
                case _Call():
                    parts += _finished_call(slot, invalid)
                case _:
                    parts.append(slot)
        metadata: dict[str, Any] = {"invalidToolCalls": invalid} if invalid else {}
        if self.activities:
            metadata["modelToolActivities"] = list(self.activities.values())
        calls = [part for part in parts if isinstance(part, AgentToolCallPart)]
        return Answer(parts, metadata, self._finish, calls)

    def _growing(
        self, kind: type[AgentTextPart] | type[AgentReasoningPart], *, begins: bool = False
    ) -> _Text:
        last = self._slots[-1] if self._slots else None
        if isinstance(last, _Text) and last.kind is kind and not begins:
            return last
        slot = _Text(kind)
        self._slots.append(slot)
        return slot

    def _call(self, event: models.ModelToolCallDelta) -> _Call:
        known = self._calls.get(event.index if event.tool_call_id is UNSET else event.tool_call_id)
        if known is None:
            known = _Call(event.tool_call_id or f"{self._made_up_id}_{len(self._calls)}")
            self._slots.append(known)
        for key in (event.tool_call_id, event.index):
            if key is not UNSET:
                self._calls[key] = known
        return known


def _finished_call(call: _Call, invalid: list[dict[str, Any]]) -> list[AgentMessagePart]:
    """The call as a part, none without a name; what is wrong with it is added to `invalid`."""
    text = "".join(call.pieces)
    if not isinstance(call.name, str):
        given = {"rawInputText": text} if text.strip() else {}
        invalid.append({"toolCallId": call.call_id, "input": given, "reason": "missing_name"})
        return []
    value, fault = (call.input, None) if call.input is not UNSET else _parsed(text)
    metadata = call.metadata
    if fault is not None:
        known = metadata if isinstance(metadata, dict) else {}
        message = f"Tool call {call.name} has no valid JSON as its input: {fault}"
        metadata = {**known, "inputParseError": message, "rawInputText": text}
        invalid.append(
            {
                "toolCallId": call.call_id,
                "toolName": call.name,
                "input": {"rawInputText": text, "parseError": fault},
                "reason": "invalid_arguments",
            }
        )
    part = AgentToolCallPart(tool_call_id=call.call_id, tool_name=call.name, input=value, metadata=metadata)
    return [part]


def _parsed(text: str) -> tuple[Any, str | None]:
    """The value of a call's JSON text and no fault, or an empty object and what is wrong with the text."""
    if not text.strip():
        return {}, None
    try:
        return jsonio.loads(text.encode("utf-8", "surrogatepass")), None
    except ValueError as fault:
        return {}, str(fault)
