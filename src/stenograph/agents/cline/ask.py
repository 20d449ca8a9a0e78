"""One answer of a model for an `Agent`: its events become layer 1 events, its faults are tried again."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

from msgspec import UNSET

from stenograph.agents.cline import models, runtime
from stenograph.agents.cline.models import AgentModel, AgentModelRequest, ToolDefinition
from stenograph.agents.cline.runtime import AgentMessage, AgentToolCallPart, AgentToolResultPart
from stenograph.agents.cline.state import AgentState, Failed, Limits, spent
from stenograph.agents.cline.turn import Answer, Assembler, ModelStream
from stenograph.agents.cline.wire import present, to_wire

_LONGEST_DELAY_S = 15.0
_OVERFLOW = re.compile(
    r"context\s*(?:length|window|limit)|(?:prompt|input) is too long|too many tokens", re.I
)
_PERMANENT = ("auth", "context_window_exceeded")


class Emit(Protocol):
    """Gives the agent's subscribers an event of this class, with a snapshot and these members."""

    def __call__(self, event: type[runtime.RuntimeEvent], /, **members: Any) -> Awaitable[None]:
        """Wait until the hooks are done with it."""


class Recorded(NamedTuple):
    """An answer and the message that it is to become."""

    given: Answer
    message: AgentMessage


class Questions:
    """Puts the conversation to the model, as often as an answer takes."""

    def __init__(self, model: AgentModel, *, state: AgentState, limits: Limits, emit: Emit) -> None:
        self.emit = emit
        self.state = state
        self._model = model
        self._limits = limits

    async def ask(self, system_prompt: str, tools: list[ToolDefinition]) -> Recorded:
        """The model's answer, asked for again as often as the limits allow."""
        limits = self._limits
        for attempt in itertools.count(1):
            self.state.clear_error()
            request = AgentModelRequest(system_prompt, list(self.state.messages), tools)
            recorded = await self._ask_once(request)
            if self._is_passing(recorded.given) and attempt <= limits.provider_retries:
                await self._wait(attempt)
            elif _is_empty(recorded.given) and attempt <= limits.empty_retries:
                await self.notice(
                    "empty_response_retry",
                    "the answer was empty; asking again",
                    attempt=attempt,
                    maxRetries=limits.empty_retries,
                )
            else:
                break
        return recorded

    async def notice(self, kind: str, message: str, **details: Any) -> None:
        """Emit a `status-notice` about something that begins."""
        iteration = self.state.iteration
        metadata = {"kind": kind, "reason": kind, "phase": "started", "iteration": iteration, **details}
        await self.emit(runtime.StatusNotice, message=message, metadata=metadata)

    def _is_passing(self, answer: Answer) -> bool:
        failed = answer.finish_reason == "error" and answer.empty
        return failed and self.state.retryable and self.state.last_error_class not in _PERMANENT

    async def _wait(self, attempt: int) -> None:
        delay_s = min(self._limits.retry_delay_s * 2 ** (attempt - 1), _LONGEST_DELAY_S)
        fault = self.state.last_error
        self.state.clear_error()
        await self.notice(
            "provider_error_retry",
            f"the provider failed; asking again (attempt {attempt} of {self._limits.provider_retries})",
            attempt=attempt,
            maxRetries=self._limits.provider_retries,
            delayMs=delay_s * 1000,
            providerError=fault,
        )
        self.state.signal.check()
        aborted = asyncio.Event()
        forget = self.state.signal.add(aborted.set)
        try:
            async with asyncio.timeout(delay_s):
                await aborted.wait()
        except TimeoutError:
            return
        finally:
            forget()
        self.state.signal.check()

    async def _ask_once(self, request: AgentModelRequest) -> Recorded:
        before = self.state.usage
        signal = self.state.signal
        assembler = Assembler(made_up_id=self.state.new_id("tool"))
        signal.check()
        async with ModelStream(self._model.stream(request), idle_s=self._limits.model_idle_s) as stream:
            forget = signal.add(stream.stop)
            try:
                async for event in stream:
                    signal.check()
                    await _RULES[type(event)](self, assembler, event)
            except TimeoutError:
                raise Failed(f"The model said nothing for {self._limits.model_idle_s:g} seconds") from None
            finally:
                forget()
        signal.check()
        return self._recorded(assembler.answer(), spent(before, self.state.usage))

    def _recorded(self, answer: Answer, metrics: dict[str, Any] | None) -> Recorded:
        message = self.state.message(
            "assistant",
            answer.content,
            metadata=answer.metadata or UNSET,
            metrics=metrics or UNSET,
            model_info=to_wire(self._model.info()),
        )
        return Recorded(answer, message)


def _is_empty(answer: Answer) -> bool:
    return answer.empty and answer.finish_reason in ("stop", "tool-calls")


async def _text(asked: Questions, assembler: Assembler, event: models.ModelTextDelta) -> None:
    assembler.add_text(event)
    await asked.emit(
        runtime.AssistantTextDelta,
        iteration=asked.state.iteration,
        text=event.text,
        accumulated_text=assembler.text,
    )


async def _reasoning(asked: Questions, assembler: Assembler, event: models.ModelReasoningDelta) -> None:
    assembler.add_reasoning(event)
    await asked.emit(
        runtime.AssistantReasoningDelta,
        iteration=asked.state.iteration,
        text=event.text,
        accumulated_text=assembler.reasoning,
        redacted=event.redacted,
        metadata=event.metadata,
    )


async def _media(asked: Questions, assembler: Assembler, event: models.ModelMedia) -> None:
    assembler.add_media(event.media)
    await asked.emit(runtime.AssistantMedia, iteration=asked.state.iteration, media=event.media)


async def _tool_call(asked: Questions, assembler: Assembler, event: models.ModelToolCallDelta) -> None:
    if event.execution is UNSET:
        assembler.add_call(event)
        return
    call = AgentToolCallPart(
        tool_call_id=event.tool_call_id or asked.state.new_id("model_tool"),
        tool_name=event.tool_name or "tool",
        input=event.input,
        metadata=event.metadata,
        execution=event.execution,
    )
    assembler.activities[call.tool_call_id] = _activity(call)
    await asked.emit(runtime.ToolStarted, iteration=asked.state.iteration, tool_call=call)


async def _tool_result(asked: Questions, assembler: Assembler, event: models.ModelToolResult) -> None:
    """The end of a tool that the provider ran."""
    known = assembler.activities.get(event.tool_call_id, {})
    call = AgentToolCallPart(
        tool_call_id=event.tool_call_id,
        tool_name=event.tool_name,
        input=known.get("input", UNSET) if event.input is UNSET else event.input,
        execution=event.execution,
    )
    result = AgentToolResultPart(
        tool_call_id=event.tool_call_id,
        tool_name=event.tool_name,
        output=event.output,
        is_error=event.is_error,
        execution=event.execution,
    )
    told = present(output=event.output, isError=event.is_error)
    assembler.activities[event.tool_call_id] = {**known, **_activity(call), **told}
    message = asked.state.message("tool", [result])
    await asked.emit(runtime.ToolFinished, iteration=asked.state.iteration, tool_call=call, message=message)


def _activity(call: AgentToolCallPart) -> dict[str, Any]:
    return present(
        toolCallId=call.tool_call_id, toolName=call.tool_name, execution=call.execution, input=call.input
    )


async def _usage(asked: Questions, _: Assembler, event: models.ModelUsage) -> None:
    asked.state.spend(event.usage)
    await asked.emit(runtime.UsageUpdated, usage=asked.state.usage)


async def _finish(asked: Questions, assembler: Assembler, event: models.ModelFinish) -> None:
    assembler.finish(event.reason)
    if event.error:
        asked.state.last_error = event.error
        asked.state.retryable = event.error_retryable is True
        overflow = _OVERFLOW.search(event.error) is not None and not asked.state.retryable
        guessed = "context_window_exceeded" if overflow else "unknown"
        asked.state.last_error_class = event.error_class or guessed


_Rule: TypeAlias = Callable[[Questions, Assembler, Any], Awaitable[None]]

_RULES: dict[type, _Rule] = {
    models.ModelTextDelta: _text,
    models.ModelReasoningDelta: _reasoning,
    models.ModelMedia: _media,
    models.ModelToolCallDelta: _tool_call,
    models.ModelToolResult: _tool_result,
    models.ModelUsage: _usage,
    models.ModelFinish: _finish,
}
