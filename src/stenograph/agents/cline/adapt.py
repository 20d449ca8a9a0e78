"""Layer 1 to layer 2: what `RuntimeEventAdapter` of `@cline/core` does, rule by rule.

Checked against the compiled class of 0.0.86. Where it would hand back an event of no known type, or fail
on one without its object, nothing is given here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

from msgspec import UNSET, UnsetType

from stenograph.agents.cline import javascript, runtime
from stenograph.agents.cline.agent import (
    AgentContentEndEvent,
    AgentContentStartEvent,
    AgentContentUpdateEvent,
    AgentDoneEvent,
    AgentErrorEvent,
    AgentEvent,
    AgentIterationEndEvent,
    AgentIterationStartEvent,
    AgentNoticeEvent,
    AgentUsageEvent,
    LegacyAgentUsage,
    message_of,
)
from stenograph.agents.cline.runtime import AgentMessage, AgentRuntimeEvent, AgentToolResultPart, AgentUsage

_NAN = float("nan")
_REASONS = {"completed": "completed", "aborted": "aborted", "failed": "error"}
_NOTICE_REASONS = frozenset({"auto_compaction", "manual_compaction", "compaction_budget_emergency"})
_NO_USAGE = AgentUsage(
    input_tokens=0, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0, total_cost=0
)


class RuntimeEventAdapter:
    """Translates the events of one agent; it remembers the last usage and when each tool started.

    `now_ms` is the clock that durations are taken from; without one there are none. Call `reset` at the
    start of each run: a `run-started` event does not do so.
    """

    def __init__(self, *, now_ms: Callable[[], float] | None) -> None:
        self._now_ms = now_ms
        self._last_usage = _NO_USAGE
        self._tool_started_at: dict[Any, float] = {}

    def translate(self, event: AgentRuntimeEvent) -> list[AgentEvent]:
        """The layer 2 events that one layer 1 event becomes: none, one or two."""
        rule = _RULES.get(type(event))
        return rule(self, event) if rule else []

    def reset(self) -> None:
        """Forget the usage and the tools of the run before."""
        self._last_usage = _NO_USAGE
        self._tool_started_at.clear()

    def _tool_started(self, event: runtime.ToolStarted) -> list[AgentEvent]:
        call = event.tool_call
        if self._now_ms and isinstance(call.tool_call_id, Hashable):
            self._tool_started_at[call.tool_call_id] = self._now_ms()
        return [
            AgentContentStartEvent(
                content_type="tool",
                tool_name=call.tool_name,
                tool_call_id=call.tool_call_id,
                input=call.input,
                execution=call.execution,
            )
        ]

    def _tool_finished(self, event: runtime.ToolFinished) -> list[AgentEvent]:
        call = event.tool_call
        result = _first_result(event.message)
        return [
            AgentContentEndEvent(
                content_type="tool",
                tool_name=call.tool_name,
                tool_call_id=call.tool_call_id,
                output=UNSET if result is None else result.output,
                error=UNSET if result is None else _error_text(result),
                duration_ms=self._duration(call.tool_call_id),
                execution=call.execution,
            )
        ]

    def _duration(self, call_id: Any) -> float | UnsetType:
        started = self._tool_started_at.pop(call_id, None) if isinstance(call_id, Hashable) else None
        return UNSET if started is None or self._now_ms is None else self._now_ms() - started

    def _usage_updated(self, event: runtime.UsageUpdated) -> list[AgentEvent]:
        now, last = event.usage, self._last_usage
        self._last_usage = now
        return [
            AgentUsageEvent(
                input_tokens=_grown(now.input_tokens, last.input_tokens),
                output_tokens=_grown(now.output_tokens, last.output_tokens),
                cache_read_tokens=_grown_or_absent(now.cache_read_tokens, last.cache_read_tokens),
                cache_write_tokens=_grown_or_absent(now.cache_write_tokens, last.cache_write_tokens),
                cost=_changed_or_absent(now.total_cost, last.total_cost),
                total_input_tokens=now.input_tokens,
                total_output_tokens=now.output_tokens,
                total_cache_read_tokens=_nonzero_or_absent(now.cache_read_tokens),
                total_cache_write_tokens=_nonzero_or_absent(now.cache_write_tokens),
                total_cost=now.total_cost,
            )
        ]


class AgentAdapters:
    """An adapter for each agent, with a fresh state for each run, as their owners in Cline keep them.

    `now_ms` is as in `RuntimeEventAdapter`.
    """

    def __init__(self, *, now_ms: Callable[[], float] | None) -> None:
        self._now_ms = now_ms
        self._adapters: dict[str | None, RuntimeEventAdapter] = {}  # of the agents that run

    def translate(self, event: AgentRuntimeEvent, *, agent_id: str | None) -> list[AgentEvent]:
        """The layer 2 events that one layer 1 event of this agent becomes: none, one or two."""
        adapter = self._adapters.get(agent_id)
        if adapter is None or isinstance(event, runtime.RunStarted):
            adapter = self._adapters[agent_id] = RuntimeEventAdapter(now_ms=self._now_ms)
        if isinstance(event, runtime.RunFinished | runtime.RunFailed):
            del self._adapters[agent_id]
        return adapter.translate(event)


def to_legacy_agent_event(event: AgentRuntimeEvent) -> AgentEvent | None:
    """The first layer 2 event of one layer 1 event taken alone, or None.

    Without a past, usage is told as if all of it were new, no duration is known, and a message with text
    and reasoning loses its reasoning.
    """
    return next(iter(RuntimeEventAdapter(now_ms=None).translate(event)), None)


def _turn_started(_: RuntimeEventAdapter, event: runtime.TurnStarted) -> list[AgentEvent]:
    return [AgentIterationStartEvent(iteration=event.iteration)]


def _turn_finished(_: RuntimeEventAdapter, event: runtime.TurnFinished) -> list[AgentEvent]:
    count = event.tool_call_count
    return [
        AgentIterationEndEvent(
            iteration=event.iteration, had_tool_calls=_number(count) > 0, tool_call_count=count
        )
    ]


def _text_delta(_: RuntimeEventAdapter, event: runtime.AssistantTextDelta) -> list[AgentEvent]:
    return [AgentContentStartEvent(content_type="text", text=event.text, accumulated=event.accumulated_text)]


def _reasoning_delta(_: RuntimeEventAdapter, event: runtime.AssistantReasoningDelta) -> list[AgentEvent]:
    return [
        AgentContentStartEvent(
            content_type="reasoning", reasoning=event.text, redacted=event.redacted is True
        )
    ]


def _media(_: RuntimeEventAdapter, event: runtime.AssistantMedia) -> list[AgentEvent]:
    return [AgentContentEndEvent(content_type="media", media=event.media)]


def _message(_: RuntimeEventAdapter, event: runtime.AssistantMessage) -> list[AgentEvent]:
    text = _joined(event.message, runtime.AgentTextPart)
    reasoning = _joined(event.message, runtime.AgentReasoningPart)
    found: list[AgentEvent] = []
    if text is not None:
        found.append(AgentContentEndEvent(content_type="text", text=text))
    if reasoning is not None:
        found.append(AgentContentEndEvent(content_type="reasoning", reasoning=reasoning))
    return found


def _tool_updated(_: RuntimeEventAdapter, event: runtime.ToolUpdated) -> list[AgentEvent]:
    call = event.tool_call
    return [
        AgentContentUpdateEvent(
            content_type="tool",
            tool_name=call.tool_name,
            tool_call_id=call.tool_call_id,
            update=event.update,
        )
    ]


def _status_notice(_: RuntimeEventAdapter, event: runtime.StatusNotice) -> list[AgentEvent]:
    reason: Any = event.metadata.get("reason") if isinstance(event.metadata, dict) else None
    known = isinstance(reason, str) and reason in _NOTICE_REASONS
    return [
        AgentNoticeEvent(
            notice_type="status",
            display_role="status",
            message=event.message,
            reason=reason if known else UNSET,
            metadata=event.metadata,
        )
    ]


def _run_finished(_: RuntimeEventAdapter, event: runtime.RunFinished) -> list[AgentEvent]:
    result = event.result
    status: Any = result.status
    reason: Any = _REASONS.get(status, UNSET) if isinstance(status, str) else UNSET
    return [
        AgentDoneEvent(
            reason=reason,
            text=result.output_text,
            iterations=result.iterations,
            usage=_legacy_usage(result.usage),
        )
    ]


def _run_failed(_: RuntimeEventAdapter, event: runtime.RunFailed) -> list[AgentEvent]:
    iteration: Any = UNSET
    if isinstance(event.snapshot, runtime.AgentRuntimeStateSnapshot):
        iteration = event.snapshot.iteration
    return [
        AgentErrorEvent(
            error=event.error, error_class=event.error_class, recoverable=False, iteration=iteration
        )
    ]


_Rule: TypeAlias = Callable[[RuntimeEventAdapter, Any], list[AgentEvent]]

_RULES: dict[type, _Rule] = {
    runtime.TurnStarted: _turn_started,
    runtime.TurnFinished: _turn_finished,
    runtime.AssistantTextDelta: _text_delta,
    runtime.AssistantReasoningDelta: _reasoning_delta,
    runtime.AssistantMedia: _media,
    runtime.AssistantMessage: _message,
    runtime.ToolStarted: RuntimeEventAdapter._tool_started,
    runtime.ToolUpdated: _tool_updated,
    runtime.ToolFinished: RuntimeEventAdapter._tool_finished,
    runtime.UsageUpdated: RuntimeEventAdapter._usage_updated,
    runtime.StatusNotice: _status_notice,
    runtime.RunFinished: _run_finished,
    runtime.RunFailed: _run_failed,
}


def _joined(message: AgentMessage, kind: type[Any]) -> str | None:
    """The texts of all parts of a kind with nothing between them; None when there is no such part."""
    texts = [part.text for part in _parts(message) if isinstance(part, kind)]
    return "".join(map(_as_text, texts)) if texts else None


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None or value is UNSET else javascript.to_string(value)


def _parts(message: AgentMessage) -> list[Any]:
    return message.content if isinstance(message.content, list) else []


def _first_result(message: AgentMessage) -> AgentToolResultPart | None:
    return next((part for part in _parts(message) if isinstance(part, AgentToolResultPart)), None)


def _error_text(result: AgentToolResultPart) -> str | UnsetType:
    output = result.output
    if result.is_error is not True or output is UNSET:
        return UNSET
    if isinstance(output, str):
        return output
    message = message_of(output)
    if message is not None:
        return message
    try:
        return javascript.stringify(output)
    except TypeError:
        return str(output)


def _legacy_usage(usage: Any) -> LegacyAgentUsage | UnsetType:
    if not isinstance(usage, AgentUsage):
        return UNSET
    return LegacyAgentUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=_nonzero_or_absent(usage.cache_read_tokens),
        cache_write_tokens=_nonzero_or_absent(usage.cache_write_tokens),
        total_cost=usage.total_cost,
    )


def _number(value: Any) -> float:
    """What JavaScript's arithmetic takes the value for: null is 0, and absent or odd is NaN."""
    if isinstance(value, int | float):
        return value
    return 0 if value is None else _NAN


def _grown(now: Any, last: Any) -> float:
    difference = _number(now) - _number(last)
    return 0 if difference <= 0 else difference  # NaN is neither, and stays


def _grown_or_absent(now: Any, last: Any) -> float | UnsetType:
    difference = _number(now) - _number(last)
    if difference == 0:
        return UNSET
    return 0 if difference < 0 else difference


def _changed_or_absent(now: Any, last: Any) -> float | UnsetType:
    """A difference of costs: an absent one counts as 0, and one that shrank gives a negative number."""
    difference = _number(now or 0) - _number(last or 0)
    return UNSET if difference == 0 else difference


def _nonzero_or_absent(value: Any) -> Any:
    return UNSET if isinstance(value, int | float) and value == 0 else value
