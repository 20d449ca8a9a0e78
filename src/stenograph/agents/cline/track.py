"""What a session keeps of its agent's run: a record of each tool call, and mistakes, to stop a run that errs.

The limits are those of Cline's session runtime (0.0.86): a turn of which every tool call failed is a mistake,
six in a row end the run, and so does the fifth identical call in a row.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from msgspec import UNSET

from stenograph.agents.cline import runtime
from stenograph.agents.cline.agent import ToolCallRecord
from stenograph.agents.cline.models import to_text
from stenograph.agents.cline.runtime import AgentRuntimeEvent, AgentToolResultPart


class MistakeLimits(NamedTuple):
    """After how many mistakes, or identical calls, in a row a run is ended; 0 is never."""

    mistakes: int = 6
    identical_calls: int = 5


class Mistake(NamedTuple):
    """Something that went wrong, and whether the run is to end for it."""

    message: str
    iteration: int
    stop: bool


class ToolTracker:
    """Watches the events of one run at a time; `records` are its finished tool calls."""

    def __init__(self, *, now_ms: Callable[[], float], limits: MistakeLimits) -> None:
        self._now_ms = now_ms
        self._limits = limits
        self._mistakes = 0
        self._last_call: tuple[str, Any] | None = None
        self._repeats = 0
        self.begin()

    def begin(self) -> None:
        """A run begins. Mistakes are counted on from the one before."""
        self.records: list[ToolCallRecord] = []
        self._open: dict[str, tuple[float, Any]] = {}
        self._failures: list[str] = []
        self._successes = 0
        self._stopping = False

    def watch(self, event: AgentRuntimeEvent) -> Mistake | None:
        """What this event shows to have gone wrong."""
        match event:
            case runtime.TurnStarted():
                self._failures, self._successes = [], 0
            case runtime.ToolStarted(tool_call=call):
                self._open[call.tool_call_id] = (self._now_ms(), call.input)
                if call.execution is UNSET:
                    return self._repeated(call.tool_name, call.input, event.iteration)
            case runtime.ToolFinished():
                self._finished(event)
            case runtime.TurnFinished():
                return self._turn_over(event.iteration)
        return None

    def _repeated(self, name: str, value: Any, iteration: int) -> Mistake | None:
        self._repeats = self._repeats + 1 if self._last_call == (name, value) else 1
        self._last_call = (name, value)
        limit = self._limits.identical_calls
        if not limit or self._repeats < limit:
            return None
        words = f"Detected {self._repeats} consecutive identical calls to `{name}`; stopping to avoid a loop."
        return self._mistake(words, iteration, stop=True)

    def _finished(self, event: runtime.ToolFinished) -> None:
        call = event.tool_call
        now = self._now_ms()
        started, value = self._open.pop(call.tool_call_id, (now, UNSET))
        result = next((part for part in event.message.content if isinstance(part, AgentToolResultPart)), None)
        output = UNSET if result is None else result.output
        error = to_text(output) if result is not None and result.is_error is True else None
        self.records.append(
            ToolCallRecord(
                id=call.tool_call_id,
                name=call.tool_name,
                execution=call.execution,
                input=value,
                output=output,
                error=UNSET if error is None else error,
                duration_ms=now - started,
                started_at=to_iso(started),
                ended_at=to_iso(now),
            )
        )
        if call.execution is not UNSET:
            return
        if error is None:
            self._successes += 1
        else:
            self._failures.append(f"[{call.tool_name}] {error}")

    def _turn_over(self, iteration: int) -> Mistake | None:
        if self._successes:
            self._mistakes = 0
        if self._successes or not self._failures:
            return None
        words = f"{len(self._failures)} tool call(s) failed: {'; '.join(self._failures)}"
        return self._mistake(words, iteration, stop=False)

    def _mistake(self, words: str, iteration: int, *, stop: bool) -> Mistake | None:
        if self._stopping:
            return None
        self._mistakes += 1
        limit = self._limits.mistakes
        self._stopping = stop or (limit > 0 and self._mistakes >= limit)
        return Mistake(words, iteration, self._stopping)


def to_iso(ms: float) -> str:
    """Milliseconds since 1970 as ISO 8601 in UTC, as a JavaScript Date is written."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
