"""What an `Agent` holds while it runs: conversation, usage, last error, and the signal that aborts it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from msgspec import UNSET

from stenograph.agents.cline.agent import AgentError
from stenograph.agents.cline.runtime import (
    AgentMessage,
    AgentMessagePart,
    AgentRunResult,
    AgentRuntimeStateSnapshot,
    AgentTextPart,
    AgentUsage,
    RunStatus,
)

_COUNTS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")


class Limits(NamedTuple):
    """Where an agent stops, and how often it tries again.

    `iterations`: requests in a run, None for no limit. `provider_retries`: after a fault that the provider
    calls passing, `retry_delay_s` seconds later, then twice that, at most 15. `empty_retries`: after an
    empty answer; Cline has none. `nudges`: after an answer cut off at the limit of output tokens.
    `model_idle_s`: how long the model may say nothing.
    """

    iterations: int | None = None
    provider_retries: int = 3
    retry_delay_s: float = 1.0
    empty_retries: int = 0
    nudges: int = 3
    model_idle_s: float | None = 300.0


class Stopped(Exception):
    """The run was aborted."""


class Failed(Exception):
    """The run cannot go on; `error_class` as in `run-failed`."""

    def __init__(self, message: str, *, error_class: Any = UNSET) -> None:
        super().__init__(message)
        self.error_class = error_class


class ContextWindowOverflowError(Failed):
    """The conversation is longer than the model takes; Cline's error of this name has other words."""

    def __init__(self, told: str) -> None:
        super().__init__(
            f"The conversation is too long for the model: {told}", error_class="context_window_exceeded"
        )


class AbortSignal:
    """Whether and why a run is to end, and what has to be stopped for that."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._stops: list[Callable[[], object]] = []

    def abort(self, reason: str) -> None:
        """Stop all that goes on; only the first reason counts."""
        if self.reason is None:
            self.reason = reason
            for stop in tuple(self._stops):
                stop()

    def add(self, stop: Callable[[], object]) -> Callable[[], None]:
        """Call `stop` on an abort, until the returned function is called."""
        self._stops.append(stop)
        return lambda: self._stops.remove(stop)

    def check(self) -> None:
        """Raise `Stopped` after an abort."""
        if self.reason is not None:
            raise Stopped(self.reason)


class Clock:
    """Where time and names come from: `now_ms` in milliseconds since 1970, `new_id(prefix)` a new name."""

    def __init__(
        self, *, now_ms: Callable[[], float] | None = None, new_id: Callable[[str], str] | None = None
    ) -> None:
        self.now_ms = now_ms or (lambda: int(time.time() * 1000))
        self.new_id = new_id or (lambda prefix: f"{prefix}_{secrets.token_urlsafe(6)}")


class AgentState(Clock):
    """The state of one agent, and the objects that are made from it."""

    def __init__(
        self,
        *,
        agent_id: str | None = None,
        messages: Iterable[AgentMessage] = (),
        now_ms: Callable[[], float] | None = None,
        new_id: Callable[[str], str] | None = None,
    ) -> None:
        super().__init__(now_ms=now_ms, new_id=new_id)
        self.agent_id = agent_id or self.new_id("agent")
        self.messages = list(messages)
        self.status: RunStatus = "idle"
        self.begin(run_id="")

    def begin(self, *, run_id: str) -> None:
        """Forget the run before; the messages stay."""
        self.run_id = run_id
        self.iteration = 0
        self.pending: list[str] = []
        self.usage = AgentUsage(input_tokens=0, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0)
        self.signal = AbortSignal()
        self.clear_error()

    def clear_error(self) -> None:
        """Forget what the last request said of its failure."""
        self.last_error: Any = UNSET
        self.last_error_class: Any = UNSET
        self.retryable = False

    def snapshot(self) -> AgentRuntimeStateSnapshot:
        """All of it, as events carry it."""
        return AgentRuntimeStateSnapshot(
            agent_id=self.agent_id,
            run_id=self.run_id or UNSET,
            status=self.status,
            iteration=self.iteration,
            messages=list(self.messages),
            pending_tool_calls=list(self.pending),
            usage=self.usage,
            last_error=self.last_error,
            last_error_class=self.last_error_class,
        )

    def result(self, status: Any, text: str, *, fault: Exception | None = None) -> AgentRunResult:
        """The run's result, with the fault as its error."""
        return AgentRunResult(
            agent_id=self.agent_id,
            run_id=self.run_id,
            status=status,
            iterations=self.iteration,
            output_text=text,
            messages=list(self.messages),
            usage=self.usage,
            error=UNSET if fault is None else _error(fault),
        )

    def message(self, role: Any, content: list[AgentMessagePart], **more: Any) -> AgentMessage:
        """A new message, named and dated."""
        return AgentMessage(
            id=self.new_id("msg"), role=role, content=content, created_at=self.now_ms(), **more
        )

    def last_said(self) -> str:
        """The text of the last assistant message."""
        return next((said(each) for each in reversed(self.messages) if each.role == "assistant"), "")

    def spend(self, usage: dict[str, Any]) -> None:
        """Add a request's usage, of which any number may be missing."""
        known = self.usage
        self.usage = AgentUsage(
            input_tokens=known.input_tokens + _number(usage, "inputTokens"),
            output_tokens=known.output_tokens + _number(usage, "outputTokens"),
            cache_read_tokens=known.cache_read_tokens + _number(usage, "cacheReadTokens"),
            cache_write_tokens=known.cache_write_tokens + _number(usage, "cacheWriteTokens"),
            reasoning_token_count=(known.reasoning_token_count or 0) + _number(usage, "reasoningTokenCount"),
            total_cost=(known.total_cost or 0) + _number(usage, "totalCost"),
        )


def said(message: AgentMessage) -> str:
    """The prose of a message."""
    return "".join(part.text for part in message.content if isinstance(part, AgentTextPart))


def spent(before: AgentUsage, after: AgentUsage) -> dict[str, Any] | None:
    """What was spent in between, as a message's `metrics`; None when it is nothing."""
    old, new = (
        (each.input_tokens, each.output_tokens, each.cache_read_tokens, each.cache_write_tokens)
        for each in (before, after)
    )
    metrics: dict[str, Any] = {
        name: max(0, now - then) for name, then, now in zip(_COUNTS, old, new, strict=True)
    }
    reasoning = (after.reasoning_token_count or 0) - (before.reasoning_token_count or 0)
    cost = (after.total_cost or 0) - (before.total_cost or 0)
    if reasoning > 0:
        metrics["reasoningTokenCount"] = reasoning
    if cost > 0:
        metrics["cost"] = cost
    return metrics if any(metrics.values()) else None


def _number(usage: dict[str, Any], name: str) -> float:
    value = usage.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


def _error(fault: Exception) -> AgentError:
    name = "Error" if type(fault) is Failed else type(fault).__name__
    return AgentError(name=name, message=str(fault))
