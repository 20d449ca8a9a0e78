"""Layer 3 to hub events: what the session event projector of a Cline hub does.

Checked against the compiled code of `@cline/core` 0.0.86. Chunks, `accumulated`, `durationMs`, `execution`
and errors that are not the end do not get through.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import UNSET

from stenograph.agents.cline import agent, javascript, session
from stenograph.agents.cline.session import CoreSessionEvent, HubEventEnvelope, SessionAgentEvent
from stenograph.agents.cline.wire import plain, present

Lookup: TypeAlias = Callable[[str], Mapping[str, Any] | None]
_Found: TypeAlias = list[tuple[str, dict[str, Any]]]

_NOTIFY_BYTES = 120
_TERMINAL = {"aborted": "run.aborted", "error": "run.failed", "failed": "run.failed"}
_REPLIED = "run.start.reply"


class SessionEventProjector:
    """Turns the layer 3 events of many sessions into the envelopes that a hub sends.

    `now_ms` stamps them, if there is one, `event_id` names them (default: counted). The lookups answer by
    session id: `session` with the hub's record of it, `snapshot` with its `CoreSessionSnapshot`, `usage` with
    {usage, aggregateUsage} (it may raise), `answer` with {text} of the last assistant message; without one,
    nothing is known.
    """

    def __init__(
        self,
        *,
        now_ms: Callable[[], float] | None,
        event_id: Callable[[], str] | None = None,
        session: Lookup | None = None,
        snapshot: Lookup | None = None,
        usage: Lookup | None = None,
        answer: Lookup | None = None,
    ) -> None:
        numbers = itertools.count(1)
        self._now_ms = now_ms
        self._event_id = event_id or (lambda: f"hevt_{next(numbers)}")
        self._session = session or _nothing
        self._snapshot = snapshot or _nothing
        self._usage = usage or _nothing
        self._answer = answer or _nothing
        self._turns: Counter[str] = Counter()
        self._suppressed: dict[str, str] = {}

    def project(self, event: CoreSessionEvent) -> list[HubEventEnvelope]:
        """The hub events that one layer 3 event becomes: none, one or two; none without a session id."""
        rule = _PROJECTIONS.get(type(event))
        if rule is None:
            return []
        payload: Any = event.payload  # type: ignore[union-attr]  # each type with a rule has one
        if not isinstance(payload.session_id, str):
            return []
        return [self._envelope(name, payload.session_id, found) for name, found in rule(self, payload)]

    def begin_turn(self, session_id: str) -> None:
        """A `run.start` is in flight: until `end_turn`, its handler tells of a fatal error, not this."""
        self._turns[session_id] += 1

    def end_turn(self, session_id: str) -> None:
        """The `run.start` was answered."""
        self._turns[session_id] -= 1

    def suppress_next_terminal(self, session_id: str, token: str) -> None:
        """Skip the session's next end if `token` is its reason, or is `run.start.reply` (once)."""
        self._suppressed[session_id] = token

    def _envelope(self, name: str, session_id: Any, payload: dict[str, Any]) -> HubEventEnvelope:
        return HubEventEnvelope(
            event=name,
            event_id=self._event_id(),
            session_id=session_id,
            timestamp=self._now_ms() if self._now_ms else UNSET,
            payload=payload,
        )

    def _agent_event(self, payload: SessionAgentEvent) -> _Found:
        rule = _AGENT_PROJECTIONS.get(type(payload.event))
        return rule(self, payload, payload.event) if rule else []

    def _usage_event(self, payload: SessionAgentEvent, event: agent.AgentUsageEvent) -> _Found:
        known = self._usage_of(payload.session_id)
        return _one(
            "usage.updated",
            sessionId=payload.session_id,
            delta=_tokens(
                event.input_tokens,
                event.output_tokens,
                event.cache_read_tokens,
                event.cache_write_tokens,
                event.cost,
            ),
            totals=_tokens(
                event.total_input_tokens,
                event.total_output_tokens,
                event.total_cache_read_tokens,
                event.total_cache_write_tokens,
                event.total_cost,
            ),
            usage=known.get("usage", UNSET),
            aggregateUsage=known.get("aggregateUsage", UNSET),
            agent=_agent(payload, event),
        )

    def _usage_of(self, session_id: str) -> Mapping[str, Any]:
        try:
            return self._usage(session_id) or {}
        except Exception:  # whatever the host's lookup raises, the event is sent without its figures
            return {}

    def _error_event(self, payload: SessionAgentEvent, event: agent.AgentErrorEvent) -> _Found:
        elsewhere = _truthy(event.parent_agent_id) or payload.team_role == "teammate"
        if _truthy(event.recoverable) or elsewhere or self._turns[payload.session_id] > 0:
            return []
        message = agent.message_of(event.error)
        text = javascript.to_string(plain(event.error)) if message is None else message
        snapshot = self._snapshot(payload.session_id)
        return _one(
            "run.failed",
            reason="error",
            error=text or UNSET,
            text=text or UNSET,
            snapshot=snapshot or UNSET,
        )

    def _status(self, payload: session.SessionStatus) -> _Found:
        known = self._session(payload.session_id)
        snapshot = self._snapshot(payload.session_id)
        return _one("session.updated", session=known, snapshot=snapshot or UNSET) if known else []

    def _ended(self, payload: session.SessionEndedEvent | session.DocumentedEnded) -> _Found:
        reason: Any = (
            payload.reason if isinstance(payload, session.SessionEndedEvent) else payload.finish_reason
        )
        token = self._suppressed.get(payload.session_id)
        suppressed = token in (reason, _REPLIED)
        if suppressed:
            del self._suppressed[payload.session_id]
        found = _one("ui.notify", **self._notification(payload.session_id)) if reason == "completed" else []
        if not suppressed:
            name = _TERMINAL.get(reason, "run.completed") if isinstance(reason, str) else "run.completed"
            found += _one(name, reason=reason, snapshot=self._snapshot(payload.session_id) or UNSET)
        return found

    def _notification(self, session_id: str) -> dict[str, Any]:
        known = self._session(session_id) or {}
        metadata = known.get("metadata")
        root = _stripped(known.get("workspaceRoot")) or "workspace"
        prompt = _stripped(metadata.get("prompt")) if isinstance(metadata, dict) else ""
        answer = _stripped((self._answer(session_id) or {}).get("text"))
        return {
            "title": f"Task completed ({_stripped(known.get('sessionId')) or 'unknown'})",
            "body": _clipped(answer or prompt or root),
            "severity": "info",
        }


def _nothing(_: str) -> None:
    return None


def _one(name: str, **members: Any) -> _Found:
    return [(name, present(**members))]


def _stripped(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _truthy(value: Any) -> bool:
    """What JavaScript takes for true: empty objects and lists too."""
    return bool(value) or isinstance(value, dict | list)


def _clipped(text: str) -> str:
    """At most 120 bytes of the text, at a character's end, with dots when something is left out."""
    data = text.encode("utf-8", "replace")
    if len(data) <= _NOTIFY_BYTES:
        return text
    return data[: _NOTIFY_BYTES - 3].decode("utf-8", "ignore") + "..."


def _tokens(sent: Any, made: Any, read: Any, written: Any, cost: Any) -> dict[str, Any]:
    return present(
        inputTokens=sent,
        outputTokens=made,
        cacheReadTokens=_or_zero(read),
        cacheWriteTokens=_or_zero(written),
        totalCost=_or_zero(cost),
    )


def _or_zero(value: Any) -> Any:
    return 0 if value is None or value is UNSET else value


def _agent(payload: SessionAgentEvent, event: agent.AgentEventMetadata) -> dict[str, Any]:
    """Whose event it is."""
    kind = "lead"
    if payload.team_role == "teammate":
        kind = "teammate"
    elif _truthy(event.parent_agent_id):
        kind = "subagent"
    return present(
        kind=kind,
        agentId=event.agent_id,
        conversationId=event.conversation_id,
        parentAgentId=event.parent_agent_id,
        teamAgentId=payload.team_agent_id,
        teamRole=payload.team_role,
    )


def _content_start(
    _: SessionEventProjector, __: SessionAgentEvent, event: agent.AgentContentStartEvent
) -> _Found:
    if event.content_type == "text":
        text = event.text
        return [("assistant.delta", {"text": text})] if isinstance(text, str) and text else []
    if event.content_type == "reasoning":
        return _reasoning_delta(event)
    if event.content_type == "tool":
        return _one(
            "tool.started", toolCallId=event.tool_call_id, toolName=event.tool_name, input=event.input
        )
    return []


def _reasoning_delta(event: agent.AgentContentStartEvent) -> _Found:
    text = event.reasoning
    if _truthy(event.redacted) and not _truthy(text):
        return [("reasoning.delta", {"text": "", "redacted": True})]
    if not isinstance(text, str) or not text:
        return []
    return [("reasoning.delta", {"text": text, "redacted": event.redacted is True})]


def _content_update(
    _: SessionEventProjector, __: SessionAgentEvent, event: agent.AgentContentUpdateEvent
) -> _Found:
    kind: str = event.content_type
    if kind != "tool":
        return []
    return _one("tool.updated", toolCallId=event.tool_call_id, toolName=event.tool_name, update=event.update)


def _content_end(
    _: SessionEventProjector, __: SessionAgentEvent, event: agent.AgentContentEndEvent
) -> _Found:
    kind: str = event.content_type
    match kind:
        case "text":
            return _one("assistant.finished", text=event.text)
        case "media":
            return _one("assistant.media", media=plain(event.media)) if _truthy(event.media) else []
        case "reasoning":
            return _one("reasoning.finished", reasoning=event.reasoning)
        case "tool":
            return _one(
                "tool.finished",
                toolCallId=event.tool_call_id,
                toolName=event.tool_name,
                output=event.output,
                error=event.error,
            )
    return []


def _iteration_start(
    _: SessionEventProjector, __: SessionAgentEvent, event: agent.AgentIterationStartEvent
) -> _Found:
    return _one("iteration.started", iteration=event.iteration)


def _iteration_end(
    _: SessionEventProjector, __: SessionAgentEvent, event: agent.AgentIterationEndEvent
) -> _Found:
    return _one(
        "iteration.finished",
        iteration=event.iteration,
        hadToolCalls=event.had_tool_calls,
        toolCallCount=event.tool_call_count,
    )


def _notice(_: SessionEventProjector, payload: SessionAgentEvent, event: agent.AgentNoticeEvent) -> _Found:
    return _one(
        "session.notice",
        sessionId=payload.session_id,
        message=event.message,
        noticeType=event.notice_type,
        displayRole=_if_truthy(event.display_role),
        reason=_if_truthy(event.reason),
        metadata=_if_truthy(event.metadata),
        agent=_agent(payload, event),
    )


def _if_truthy(value: Any) -> Any:
    return value if _truthy(value) else UNSET


def _done(_: SessionEventProjector, __: SessionAgentEvent, event: agent.AgentDoneEvent) -> _Found:
    return _one(
        "agent.done",
        reason=event.reason,
        text=event.text,
        iterations=event.iterations,
        usage=plain(event.usage),
    )


_AgentRule: TypeAlias = Callable[[SessionEventProjector, SessionAgentEvent, Any], _Found]

_AGENT_PROJECTIONS: dict[type, _AgentRule] = {
    agent.AgentContentStartEvent: _content_start,
    agent.AgentContentUpdateEvent: _content_update,
    agent.AgentContentEndEvent: _content_end,
    agent.AgentIterationStartEvent: _iteration_start,
    agent.AgentIterationEndEvent: _iteration_end,
    agent.AgentNoticeEvent: _notice,
    agent.AgentUsageEvent: SessionEventProjector._usage_event,
    agent.AgentDoneEvent: _done,
    agent.AgentErrorEvent: SessionEventProjector._error_event,
}


def _hook(_: SessionEventProjector, payload: session.SessionToolEvent) -> _Found:
    match payload.hook_event_name:
        case "tool_call":
            return _one("tool.started", toolName=payload.tool_name)
        case "tool_result":
            return _one("tool.finished", toolName=payload.tool_name)
    return []


def _team_progress(_: SessionEventProjector, payload: session.SessionTeamProgressEvent) -> _Found:
    return _one(
        "team.progress",
        type="team_progress_projection",
        version=1,
        sessionId=payload.session_id,
        summary=payload.summary,
        lastEvent=payload.lifecycle,
    )


def _pending_prompts(_: SessionEventProjector, payload: session.SessionPendingPromptsEvent) -> _Found:
    return _one("session.pending_prompts", sessionId=payload.session_id, prompts=plain(payload.prompts))


def _prompt_submitted(
    _: SessionEventProjector, payload: session.SessionPendingPromptSubmittedEvent
) -> _Found:
    prompt = present(
        id=payload.id,
        prompt=payload.prompt,
        delivery=payload.delivery,
        attachmentCount=payload.attachment_count,
        userImages=payload.user_images,
        userFiles=payload.user_files,
    )
    return _one("session.pending_prompt_submitted", sessionId=payload.session_id, prompt=prompt)


def _session_snapshot(_: SessionEventProjector, payload: session.SessionSnapshotEvent) -> _Found:
    return _one("session.updated", sessionId=payload.session_id, snapshot=plain(payload.snapshot))


_Projection: TypeAlias = Callable[[SessionEventProjector, Any], _Found]

_PROJECTIONS: dict[type, _Projection] = {
    session.CoreAgentEvent: SessionEventProjector._agent_event,
    session.CoreHook: _hook,
    session.CoreTeamProgress: _team_progress,
    session.CorePendingPrompts: _pending_prompts,
    session.CorePendingPromptSubmitted: _prompt_submitted,
    session.CoreSnapshot: _session_snapshot,
    session.CoreStatus: SessionEventProjector._status,
    session.CoreEnded: SessionEventProjector._ended,
}
