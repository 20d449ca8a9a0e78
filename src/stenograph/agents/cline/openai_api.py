"""A model behind an OpenAI-compatible endpoint, by the official client (extra `openai`), as streamed chat."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any

from msgspec import UNSET

from stenograph.agents.cline import models, runtime
from stenograph.agents.cline.models import AgentModelEvent, AgentModelRequest, ModelInfo, TokenPrices
from stenograph.agents.cline.runtime import AgentMessage
from stenograph.errors import MissingExtra

_FINISH: dict[Any, Any] = {"tool_calls": "tool-calls", "function_call": "tool-calls", "length": "max-tokens"}
_REASONING = ("reasoning_content", "reasoning")  # how compatible servers call it; OpenAI itself tells none


class OpenAIModel:
    """The model `name` at `base_url` (default: OpenAI's own, or what the environment names).

    `prices` give costs. `options` are added to each request, such as {"temperature": 0}. The client tries
    nothing again, since the agent does, and belongs to one event loop: close it, or use `async with`.
    Raises MissingExtra without the library.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        provider: str = "openai",
        prices: TokenPrices | None = None,
        timeout_s: float = 120.0,
        options: dict[str, Any] | None = None,
    ) -> None:
        try:
            import openai
        except ImportError:
            raise MissingExtra("openai", "openai") from None
        self._client = openai.AsyncOpenAI(
            base_url=base_url, api_key=api_key, timeout=timeout_s, max_retries=0
        )
        self._fault = openai.OpenAIError
        self._info = ModelInfo(id=name, provider=provider)
        self._prices = prices
        self._options = options or {}

    def info(self) -> ModelInfo:
        """Which model this is."""
        return self._info

    async def stream(self, request: AgentModelRequest) -> AsyncIterator[AgentModelEvent]:
        """The events of one answer; what the server refuses is a `finish` with reason `error`."""
        body: dict[str, Any] = {
            "model": self._info.id,
            "messages": list(to_chat(request)),
            "stream": True,
            "stream_options": {"include_usage": True},
            **self._options,
        }
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        finish: AgentModelEvent = models.ModelFinish(reason="stop")
        try:
            async with await self._client.chat.completions.create(**body) as chunks:
                async for chunk in chunks:
                    for event in _events(chunk, self._prices):
                        if isinstance(event, models.ModelFinish):
                            finish = event
                        else:
                            yield event
        except self._fault as fault:
            finish = models.to_failure(fault)
        yield finish

    async def close(self) -> None:
        """Close the client's connections."""
        await self._client.close()

    async def __aenter__(self) -> OpenAIModel:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def to_chat(request: AgentModelRequest) -> Iterator[dict[str, Any]]:
    """The request's messages as those of the chat API."""
    if request.system_prompt:
        yield {"role": "system", "content": request.system_prompt}
    for message in request.messages:
        if message.role == "assistant":
            yield _said(message)
        elif message.role == "tool":
            yield from _results(message)
        else:
            yield {"role": "user", "content": _content(message)}


def _said(message: AgentMessage) -> dict[str, Any]:
    calls = [
        {
            "id": part.tool_call_id,
            "type": "function",
            "function": {"name": part.tool_name, "arguments": models.to_text(part.input)},
        }
        for part in message.content
        if isinstance(part, runtime.AgentToolCallPart)
    ]
    text = "".join(part.text for part in message.content if isinstance(part, runtime.AgentTextPart))
    return {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}


def _results(message: AgentMessage) -> Iterator[dict[str, Any]]:
    for part in message.content:
        if isinstance(part, runtime.AgentToolResultPart):
            yield {
                "role": "tool",
                "tool_call_id": part.tool_call_id,
                "content": models.to_text(part.output),
            }


def _content(message: AgentMessage) -> str | list[dict[str, Any]]:
    """A user's message: plain text where it is nothing else."""
    blocks: list[dict[str, Any]] = []
    for part in message.content:
        match part:
            case runtime.AgentTextPart(text=text):
                blocks.append({"type": "text", "text": text})
            case runtime.AgentFilePart(path=path, content=text):
                blocks.append({"type": "text", "text": f"{path}:\n{text}"})
            case runtime.AgentImagePart(image=str() as image):
                url = image if ":" in image[:10] else f"data:{part.media_type or 'image/png'};base64,{image}"
                blocks.append({"type": "image_url", "image_url": {"url": url}})
    if all(block["type"] == "text" for block in blocks):
        return "\n\n".join(block["text"] for block in blocks)
    return blocks


def _tool(tool: models.ToolDefinition) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.input_schema)}
    return {"type": "function", "function": function}


def _events(chunk: Any, prices: TokenPrices | None) -> Iterator[AgentModelEvent]:
    for choice in chunk.choices[:1]:
        delta = choice.delta
        reasoning = next((text for name in _REASONING if (text := getattr(delta, name, None))), None)
        if reasoning:
            yield models.ModelReasoningDelta(text=str(reasoning))
        if delta.content:
            yield models.ModelTextDelta(text=delta.content)
        for call in delta.tool_calls or ():
            yield _call(call)
        if choice.finish_reason == "content_filter":
            yield models.ModelFinish(reason="error", error="the provider filtered the answer")
        elif choice.finish_reason:
            yield models.ModelFinish(reason=_FINISH.get(choice.finish_reason, "stop"))
    if chunk.usage:
        yield _usage(chunk.usage, prices)


def _call(call: Any) -> AgentModelEvent:
    function = call.function
    return models.ModelToolCallDelta(
        index=call.index,
        tool_call_id=call.id or UNSET,
        tool_name=(function and function.name) or UNSET,
        input_text=(function and function.arguments) or UNSET,
    )


def _usage(usage: Any, prices: TokenPrices | None) -> AgentModelEvent:
    sent, made = usage.prompt_tokens_details, usage.completion_tokens_details
    return models.to_usage(
        sent=usage.prompt_tokens,
        made=usage.completion_tokens,
        cache_read=(sent and sent.cached_tokens) or 0,
        reasoning=made and made.reasoning_tokens,
        prices=prices,
    )
