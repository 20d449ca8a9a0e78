"""One session of a `Core`: its agent's layer 1 becomes layer 2, and that layer 3 with the session's id.

It does what Cline's session runtime does beside the adapter: it tells mistakes as `error`s, ends a run that
errs too often, and holds a fatal `error` back until the run is over. A listener of layer 2 that raises is
noted and costs nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from stenograph import bus
from stenograph.agents.cline import session, wire
from stenograph.agents.cline.adapt import RuntimeEventAdapter
from stenograph.agents.cline.agent import (
    AgentError,
    AgentErrorEvent,
    AgentEvent,
    AgentResult,
    AgentUsageEvent,
    LegacyAgentUsage,
)
from stenograph.agents.cline.loop import Agent
from stenograph.agents.cline.models import ModelInfo
from stenograph.agents.cline.runtime import AgentRunResult, AgentRuntimeEvent
from stenograph.agents.cline.session import CoreSessionEvent, CoreSessionSnapshot, SessionPendingPrompt
from stenograph.agents.cline.stored import to_stored
from stenograph.agents.cline.track import MistakeLimits, ToolTracker, to_iso
from stenograph.errors import UsageError
from stenograph.notes import Report

_FINISH_REASONS: dict[str, Any] = {"completed": "completed", "aborted": "aborted", "failed": "error"}
_END_STATUSES = {"completed": "completed", "aborted": "cancelled", "error": "failed"}
_TOKENS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "totalCost")


class SessionResult(AgentResult, frozen=True, kw_only=True):
    """An `AgentResult` that knows its session."""

    session_id: str


class Session:
    """A conversation under one id. `emit` takes its layer 3 events."""

    def __init__(
        self,
        session_id: str,
        *,
        agent: Agent,
        model: ModelInfo,
        emit: Callable[[CoreSessionEvent], object],
        interactive: bool,
        cwd: str,
        mistakes: MistakeLimits,
        now_ms: Callable[[], float],
        report: Report,
    ) -> None:
        self.session_id = session_id
        self.interactive = interactive
        self.ended = False
        self._agent = agent
        self._model = model
        self._emit = emit
        self._cwd = cwd
        self._now_ms = now_ms
        self._adapter = RuntimeEventAdapter(now_ms=now_ms)
        self._tracker = ToolTracker(now_ms=now_ms, limits=mistakes)
        self._legacy: bus.Bus[AgentEvent] = bus.Bus(rule=bus.SESSION, report=report)
        self._legacy.subscribe(self._forward)
        self._turn = asyncio.Lock()
        self._waiting: list[SessionPendingPrompt] = []
        self._prompts = 0
        self._first_prompt: Any = UNSET
        self._fatal: AgentErrorEvent | None = None
        self._usage: dict[str, float] = dict.fromkeys(_TOKENS, 0)
        self._status = "idle"
        self._last_finish = "completed"
        self._stopping = False
        self._created_at = self._updated_at = now_ms()
        self._ended_at: float | None = None
        agent.subscribe(self._watch)

    async def run(self, prompt: str) -> SessionResult:
        """Give the agent a prompt, behind those that wait, and work to the end."""
        if self._turn.locked():
            return await self._run_later(prompt)
        async with self._turn:
            return await self._run(prompt)

    def abort(self, reason: str) -> None:
        """End the run that is going on."""
        self._agent.abort(reason)

    async def stop(self, reason: str) -> None:
        """End the session: a run that is going on is aborted first."""
        self._stopping = True
        self._agent.abort(reason)
        async with self._turn:
            if not self.ended:
                self._end(reason, _END_STATUSES[self._last_finish])

    @property
    def usage(self) -> dict[str, Any]:
        """Tokens and cost (USD) of all runs, by their wire names."""
        return dict(self._usage)

    def snapshot(self) -> CoreSessionSnapshot:
        """All that is known of the session."""
        over = self._ended_at is not None
        return CoreSessionSnapshot(
            version=1,
            session_id=self.session_id,
            source="core",
            status=self._status,
            created_at=to_iso(self._created_at),
            updated_at=to_iso(self._updated_at),
            ended_at=to_iso(self._ended_at) if self._ended_at is not None else None,
            exit_code=int(self._status == "failed") if over else None,
            interactive=self.interactive,
            workspace={"cwd": self._cwd, "root": self._cwd},
            model={"providerId": self._model.provider, "modelId": self._model.id},
            capabilities={"enableTools": True, "enableSpawn": False, "enableTeams": False},
            lineage={"agentId": self._agent.agent_id, "isSubagent": False},
            prompt=self._first_prompt,
            usage=self.usage,
            aggregate_usage=self.usage,
        )

    async def _run_later(self, prompt: str) -> SessionResult:
        self._prompts += 1
        waiting = SessionPendingPrompt(
            id=f"pending_{self._prompts}", prompt=prompt, delivery="queue", attachment_count=0
        )
        self._waiting.append(waiting)
        self._tell_waiting()
        try:
            async with self._turn:
                self._waiting.remove(waiting)
                self._tell_waiting()
                self._tell_submitted(waiting)
                return await self._run(prompt)
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
                self._tell_waiting()

    async def _run(self, prompt: str) -> SessionResult:
        if self._stopping or self.ended:
            raise UsageError(f"the session {self.session_id!r} is over")
        started = self._now_ms()
        self._adapter.reset()
        self._tracker.begin()
        self._fatal = None
        self._first_prompt = prompt if self._first_prompt is UNSET else self._first_prompt
        self._set_status("running")
        finish = "error"
        try:
            outcome = await self._agent.run(prompt)
            finish = _FINISH_REASONS[outcome.status]
        except asyncio.CancelledError:
            finish = "aborted"
            raise
        finally:
            self._tell_fatal(finish)
            self._rest(finish)
        return self._result(outcome, started)

    def _rest(self, finish: str) -> None:
        """After a run: an interactive session waits for the next prompt, another one is over."""
        self._last_finish = finish
        if self.interactive:
            self._set_status("idle")
        else:
            self._end(finish, _END_STATUSES[finish])

    def _end(self, reason: str, status: str) -> None:
        self.ended = True
        self._ended_at = self._now_ms()
        self._set_status(status)
        payload = session.SessionEndedEvent(session_id=self.session_id, reason=reason, ts=self._now_ms())
        self._emit(session.CoreEnded(payload=payload))

    def _result(self, outcome: AgentRunResult, started: float) -> SessionResult:
        ended = self._now_ms()
        usage = outcome.usage
        return SessionResult(
            text=outcome.error.message if isinstance(outcome.error, AgentError) else outcome.output_text,
            usage=LegacyAgentUsage(
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cache_read_tokens=usage.cache_read_tokens or UNSET,
                cache_write_tokens=usage.cache_write_tokens or UNSET,
                total_cost=usage.total_cost,
            ),
            messages=[to_stored(message) for message in outcome.messages],
            tool_calls=self._tracker.records,
            iterations=outcome.iterations,
            finish_reason=_FINISH_REASONS[outcome.status],
            model={"id": self._model.id, "provider": self._model.provider},
            started_at=to_iso(started),
            ended_at=to_iso(ended),
            duration_ms=ended - started,
            session_id=self.session_id,
        )

    def _watch(self, event: AgentRuntimeEvent) -> None:
        mistake = self._tracker.watch(event)
        for legacy in self._adapter.translate(event):
            if isinstance(legacy, AgentErrorEvent):
                self._fatal = legacy
            else:
                self._legacy.emit(legacy)
        if mistake is None:
            return
        error = AgentError(message=mistake.message)
        self._legacy.emit(AgentErrorEvent(error=error, recoverable=True, iteration=mistake.iteration))
        if mistake.stop:
            self._agent.abort(mistake.message)

    def _tell_fatal(self, finish: str) -> None:
        if finish == "error" and self._fatal is not None:
            self._legacy.emit(self._fatal)

    def _forward(self, event: AgentEvent) -> None:
        """Out as layer 3, twice, as a local host of Cline does it."""
        if isinstance(event, AgentUsageEvent):
            self._count(event)
        owned = session.SessionAgentEvent(session_id=self.session_id, event=event)
        self._emit(session.CoreAgentEvent(payload=owned))
        chunk = session.SessionChunkEvent(
            session_id=self.session_id,
            stream="agent",
            chunk=wire.encode(event).decode(),
            ts=self._now_ms(),
        )
        self._emit(session.CoreChunk(payload=chunk))

    def _count(self, event: AgentUsageEvent) -> None:
        spent = (
            event.input_tokens,
            event.output_tokens,
            event.cache_read_tokens or 0,
            event.cache_write_tokens or 0,
            event.cost or 0,
        )
        self._usage = {name: self._usage[name] + more for name, more in zip(_TOKENS, spent, strict=True)}

    def _set_status(self, status: str) -> None:
        self._status = status
        self._updated_at = self._now_ms()
        snapshot = session.SessionSnapshotEvent(session_id=self.session_id, snapshot=self.snapshot())
        self._emit(session.CoreSnapshot(payload=snapshot))
        payload = session.SessionStatus(session_id=self.session_id, status=status)
        self._emit(session.CoreStatus(payload=payload))

    def _tell_waiting(self) -> None:
        prompts = session.SessionPendingPromptsEvent(session_id=self.session_id, prompts=list(self._waiting))
        self._emit(session.CorePendingPrompts(payload=prompts))

    def _tell_submitted(self, prompt: SessionPendingPrompt) -> None:
        submitted = session.SessionPendingPromptSubmittedEvent(
            session_id=self.session_id,
            id=prompt.id,
            prompt=prompt.prompt,
            delivery=prompt.delivery,
            attachment_count=prompt.attachment_count,
        )
        self._emit(session.CorePendingPromptSubmitted(payload=submitted))
