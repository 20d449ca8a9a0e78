"""A model of Anthropic's, by the official client (extra `anthropic`), as streamed messages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any

from msgspec import UNSET

from stenograph.agents.cline import models, runtime
from stenograph.agents.cline.models import AgentModelEvent, AgentModelRequest, ModelInfo, TokenPrices
from stenograph.agents.cline.runtime import AgentMessage, AgentMessagePart
from stenograph.errors import MissingExtra

_FINISH: dict[Any, Any] = {"tool_use": "tool-calls", "max_tokens": "max-tokens"}
_FAILED: dict[Any, tuple[str, Any]] = {
    "refusal": ("the model refused to answer", UNSET),
    "model_context_window_exceeded": ("the context window is full", "context_window_exceeded"),
}


class AnthropicModel:
    """The model `name` at `base_url` (default: Anthropic's own, or what the environment names).

    `prices` give costs. `options` are added to each request, such as
    {"thinking": {"type": "enabled", "budget_tokens": 2048}}. The client tries nothing again, since the agent
    does, and belongs to one event loop: close it, or use `async with`. Raises MissingExtra without the
    library.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        max_tokens: int = 8192,
        prices: TokenPrices | None = None,
        timeout_s: float = 120.0,
        options: dict[str, Any] | None = None,
    ) -> None:
        try:
            import anthropic
        except ImportError:
            raise MissingExtra("anthropic", "anthropic") from None
        self._client = anthropic.AsyncAnthropic(
            base_url=base_url, api_key=api_key, timeout=timeout_s, max_retries=0
        )
        self._fault = anthropic.AnthropicError
        self._info = ModelInfo(id=name, provider="anthropic")
        self._max_tokens = max_tokens
        self._prices = prices
        self._options = options or {}

    def info(self) -> ModelInfo:
        """Which model this is."""
        return self._info

    async def stream(self, request: AgentModelRequest) -> AsyncIterator[AgentModelEvent]:
        """The events of one answer; what the server refuses is a `finish` with reason `error`."""
        answer = _Answer(self._prices)
        try:
            async with await self._client.messages.create(**self._body(request)) as events:
                async for event in events:
                    for told in answer.read(event):
                        yield told
        except self._fault as fault:
            answer.finish = models.to_failure(fault)
        yield answer.finish

    async def close(self) -> None:
        """Close the client's connections."""
        await self._client.close()

    async def __aenter__(self) -> AnthropicModel:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _body(self, request: AgentModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._info.id,
            "max_tokens": self._max_tokens,
            "messages": to_turns(request.messages),
            "stream": True,
            **self._options,
        }
        if request.system_prompt:
            body["system"] = request.system_prompt
        if request.tools:
            body["tools"] = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": dict(tool.input_schema),
                }
                for tool in request.tools
            ]
        return body


class _Answer:
    """What one streamed answer says, event by event; `finish` is its end."""

    def __init__(self, prices: TokenPrices | None) -> None:
        self.finish: AgentModelEvent = models.ModelFinish(reason="stop")
        self._prices = prices
        self._usage: Any = None
        self._begins: Any = UNSET

    def read(self, event: Any) -> Iterator[AgentModelEvent]:
        match event.type:
            case "message_start":
                self._usage = event.message.usage
            case "content_block_start":
                self._begins = True if event.content_block.type == "thinking" else UNSET
                yield from _begun(event.index, event.content_block)
            case "content_block_delta":
                yield from self._grown(event.index, event.delta)
            case "message_delta":
                self.finish = _finish(event.delta.stop_reason)
                yield self._spent(event.usage)

    def _grown(self, index: int, delta: Any) -> Iterator[AgentModelEvent]:
        match delta.type:
            case "text_delta":
                yield models.ModelTextDelta(text=delta.text)
            case "thinking_delta":
                yield models.ModelReasoningDelta(text=delta.thinking, begins=self._begins)
                self._begins = UNSET
            case "signature_delta":
                signature = {"signature": delta.signature}
                yield models.ModelReasoningDelta(text="", metadata=signature, begins=self._begins)
                self._begins = UNSET
            case "input_json_delta":
                yield models.ModelToolCallDelta(index=index, input_text=delta.partial_json)

    def _spent(self, latest: Any) -> AgentModelEvent:
        """The last counts; those of the input stand in the first event, and in some servers' last one."""
        read = self._count(latest, "cache_read_input_tokens")
        written = self._count(latest, "cache_creation_input_tokens")
        return models.to_usage(
            sent=self._count(latest, "input_tokens") + read + written,
            made=latest.output_tokens,
            cache_read=read,
            cache_write=written,
            prices=self._prices,
        )

    def _count(self, latest: Any, name: str) -> int:
        return getattr(latest, name, None) or getattr(self._usage, name, None) or 0


def to_turns(messages: list[AgentMessage]) -> list[dict[str, Any]]:
    """The messages as the API wants them: the results of a turn's calls in one message of the user's."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [block for part in message.content for block in _blocks(part)]
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(part: AgentMessagePart) -> Iterator[dict[str, Any]]:
    match part:
        case runtime.AgentTextPart(text=text) if text.strip():
            yield {"type": "text", "text": text}
        case runtime.AgentFilePart(path=path, content=text):
            yield {"type": "text", "text": f"{path}:\n{text}"}
        case runtime.AgentReasoningPart(metadata={"data": str() as data}, redacted=True):
            yield {"type": "redacted_thinking", "data": data}
        case runtime.AgentReasoningPart(text=text, metadata={"signature": str() as signature}):
            yield {"type": "thinking", "thinking": text, "signature": signature}
        case runtime.AgentImagePart(image=str() as image):
            source = {"type": "base64", "media_type": part.media_type or "image/png", "data": image}
            yield {"type": "image", "source": source}
        case runtime.AgentToolCallPart():
            value = part.input if isinstance(part.input, dict) else {}
            yield {"type": "tool_use", "id": part.tool_call_id, "name": part.tool_name, "input": value}
        case runtime.AgentToolResultPart():
            yield {
                "type": "tool_result",
                "tool_use_id": part.tool_call_id,
                "content": models.to_text(part.output),
                "is_error": part.is_error is True,
            }


def _begun(index: int, block: Any) -> Iterator[AgentModelEvent]:
    match block.type:
        case "tool_use":
            yield models.ModelToolCallDelta(index=index, tool_call_id=block.id, tool_name=block.name)
        case "redacted_thinking":
            data = {"data": block.data}
            yield models.ModelReasoningDelta(text="", redacted=True, metadata=data, begins=True)
        case "text" if block.text:
            yield models.ModelTextDelta(text=block.text)


def _finish(reason: str | None) -> AgentModelEvent:
    if reason in _FAILED:
        message, error_class = _FAILED[reason]
        return models.ModelFinish(reason="error", error=message, error_class=error_class)
    return models.ModelFinish(reason=_FINISH.get(reason, "stop"))
