"""Hub events to layer 3: what the hub client of the Cline SDK gives its own subscribers.

Checked against the compiled code of `@cline/core` 0.0.86. A subscriber behind a hub gets a thinner layer 3:
no chunks, no errors, no team progress, and one `done` for each run, be it a subagent's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import UNSET

from stenograph.agents.cline import agent, session
from stenograph.agents.cline.session import CoreSessionEvent, HubEventEnvelope
from stenograph.agents.cline.wire import present

_Found: TypeAlias = list[tuple[str, dict[str, Any]]]

_REASONS = frozenset({"completed", "max_iterations", "aborted", "mistake_limit", "error"})
_ENDS = {"run.aborted": "aborted", "run.failed": "error", "run.completed": "completed"}
_TEAM_ROLES = ("lead", "teammate")


class HubEventTranslator:
    """Turns a hub's envelopes into the layer 3 events that Cline's hub client gives its subscribers.

    It remembers which sessions had their `done` since their run started. `now_ms`, if there is one, is asked
    only for an end that carries no timestamp.
    """

    def __init__(self, *, now_ms: Callable[[], float] | None) -> None:
        self._now_ms = now_ms
        self._done: set[str] = set()

    def translate(self, envelope: HubEventEnvelope) -> list[CoreSessionEvent]:
        """The layer 3 events that one envelope becomes: none, one or two; none without a session id."""
        session_id = envelope.session_id.strip() if isinstance(envelope.session_id, str) else ""
        name: Any = envelope.event
        rule = _RULES.get(name) if isinstance(name, str) else None
        if rule is None or not session_id:
            return []
        payload = envelope.payload if isinstance(envelope.payload, dict) else {}
        return [
            session.to_session_event({"type": kind, "payload": {"sessionId": session_id, **found}})
            for kind, found in rule(self, session_id, payload, envelope)
        ]

    def _run_started(self, session_id: str, payload: dict[str, Any], _: HubEventEnvelope) -> _Found:
        self._done.discard(session_id)
        status = _member(payload.get("session"), "status")
        return [*_snapshot(payload), ("status", {"status": "running" if status is None else status})]

    def _agent_done(self, session_id: str, payload: dict[str, Any], _: HubEventEnvelope) -> _Found:
        if session_id in self._done:
            return []
        self._done.add(session_id)
        result = payload.get("result")
        sources = (payload, result if isinstance(result, dict) else {})
        return _event(
            type="done",
            reason=_reason(_known(payload.get("reason"), _member(result, "finishReason"))),
            text=next((text for text in _each(sources, "text") if isinstance(text, str)), ""),
            iterations=next((count for count in _each(sources, "iterations") if _is_number(count)), 0),
            usage=_usage(_known(*_each(sources, "usage"))),
        )

    def _run_ended(self, session_id: str, payload: dict[str, Any], envelope: HubEventEnvelope) -> _Found:
        reason = payload.get("reason")
        if not isinstance(reason, str):
            reason = _ENDS[envelope.event]
        found = self._agent_done(session_id, {**payload, "reason": reason}, envelope)
        snapshot = _valid_snapshot(payload.get("snapshot")) or {}
        if snapshot.get("interactive") is True and snapshot.get("status") in session.LIVE_STATUSES:
            return found
        ts: Any = envelope.timestamp
        if ts in (None, UNSET):
            ts = self._now_ms() if self._now_ms else UNSET
        return [*found, ("ended", present(reason=reason, ts=ts))]


def _event(**members: Any) -> _Found:
    return [("agent_event", {"event": present(**members)})]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> Any:
    return value if isinstance(value, str) else UNSET


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _each(sources: tuple[dict[str, Any], ...], name: str) -> list[Any]:
    return [source.get(name) for source in sources]


def _known(*values: Any) -> Any:
    """The first value that is not null."""
    return next((value for value in values if value is not None), None)


def _reason(reason: Any) -> str:
    if isinstance(reason, str) and reason in _REASONS:
        return reason
    return "error" if reason == "failed" else "completed"


def _count(value: Any) -> Any:
    """A finite number, or None."""
    return value if _is_number(value) and math.isfinite(value) else None


def _usage(usage: Any) -> Any:
    """A run's usage with all five numbers, if the two that matter are there."""
    if not _is_number(_member(usage, "inputTokens")) or not _is_number(_member(usage, "outputTokens")):
        return UNSET
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "totalCost")
    return {name: usage.get(name) if _is_number(usage.get(name)) else 0 for name in names}


def _valid_snapshot(value: Any) -> dict[str, Any] | None:
    version = _member(value, "version")
    whole = _is_number(version) and version == 1 and isinstance(_member(value, "sessionId"), str)
    return value if whole else None


def _snapshot(payload: dict[str, Any]) -> _Found:
    snapshot = _valid_snapshot(payload.get("snapshot"))
    return [("session_snapshot", {"snapshot": snapshot})] if snapshot else []


def _agent_names(owner: Any) -> dict[str, Any]:
    names = ("agentId", "conversationId", "parentAgentId")
    return {name: _text(_member(owner, name)) for name in names}


def _team_role(owner: Any) -> Any:
    role = _member(owner, "teamRole")
    return role if role in _TEAM_ROLES else UNSET


def _iteration_started(payload: dict[str, Any]) -> _Found:
    return _event(type="iteration_start", iteration=_or_zero(payload.get("iteration")))


def _or_zero(value: Any) -> Any:
    return value if _is_number(value) else 0


def _iteration_finished(payload: dict[str, Any]) -> _Found:
    return _event(
        type="iteration_end",
        iteration=_or_zero(payload.get("iteration")),
        hadToolCalls=payload.get("hadToolCalls") is True,
        toolCallCount=_or_zero(payload.get("toolCallCount")),
    )


def _notice(payload: dict[str, Any]) -> _Found:
    kind, role, owner = payload.get("noticeType"), payload.get("displayRole"), payload.get("agent")
    metadata = payload.get("metadata")
    event = present(
        type="notice",
        **_agent_names(owner),
        noticeType=kind if kind in ("recovery", "stop") else "status",
        message=payload["message"] if isinstance(payload.get("message"), str) else "",
        displayRole=role if role in ("system", "status") else UNSET,
        reason=_text(payload.get("reason")),
        metadata=metadata if isinstance(metadata, dict | list) else UNSET,
    )
    team = present(teamRole=_team_role(owner), teamAgentId=_text(_member(owner, "teamAgentId")))
    return [("agent_event", {**team, "event": event})]


def _usage_updated(payload: dict[str, Any]) -> _Found:
    delta, totals, owner = payload.get("delta"), payload.get("totals"), payload.get("agent")
    event = present(
        type="usage",
        **_agent_names(owner),
        inputTokens=_count(_member(delta, "inputTokens")) or 0,
        outputTokens=_count(_member(delta, "outputTokens")) or 0,
        cacheReadTokens=_count(_member(delta, "cacheReadTokens")) or 0,
        cacheWriteTokens=_count(_member(delta, "cacheWriteTokens")) or 0,
        cost=_cost(delta),
        totalInputTokens=_count(_member(totals, "inputTokens")) or 0,
        totalOutputTokens=_count(_member(totals, "outputTokens")) or 0,
        totalCacheReadTokens=_count(_member(totals, "cacheReadTokens")) or 0,
        totalCacheWriteTokens=_count(_member(totals, "cacheWriteTokens")) or 0,
        totalCost=_cost(totals),
    )
    team = present(teamAgentId=_text(_member(owner, "teamAgentId")), teamRole=_team_role(owner))
    return [("agent_event", {"event": event, **team})]


def _cost(tokens: Any) -> Any:
    cost = _count(_member(tokens, "totalCost"))
    return UNSET if cost is None else cost


def _assistant_delta(payload: dict[str, Any]) -> _Found:
    text = payload.get("text")
    found = isinstance(text, str) and text
    return _event(type="content_start", contentType="text", text=text) if found else []


def _assistant_media(payload: dict[str, Any]) -> _Found:
    media = payload.get("media")
    valid = agent.is_generated_media(media)
    return _event(type="content_end", contentType="media", media=media) if valid else []


def _assistant_finished(payload: dict[str, Any]) -> _Found:
    return _event(type="content_end", contentType="text", text=_text(payload.get("text")))


def _reasoning_delta(payload: dict[str, Any]) -> _Found:
    text = payload["text"] if isinstance(payload.get("text"), str) else ""
    redacted = payload.get("redacted") is True
    if not text and not redacted:
        return []
    return _event(type="content_start", contentType="reasoning", reasoning=text, redacted=redacted)


def _reasoning_finished(payload: dict[str, Any]) -> _Found:
    return _event(type="content_end", contentType="reasoning", reasoning=_text(payload.get("reasoning")))


def _tool_started(payload: dict[str, Any]) -> _Found:
    return _event(
        type="content_start", contentType="tool", **_tool(payload), input=payload.get("input", UNSET)
    )


def _tool_updated(payload: dict[str, Any]) -> _Found:
    return _event(
        type="content_update", contentType="tool", **_tool(payload), update=payload.get("update", UNSET)
    )


def _tool_finished(payload: dict[str, Any]) -> _Found:
    return _event(
        type="content_end",
        contentType="tool",
        **_tool(payload),
        output=payload.get("output", UNSET),
        error=_text(payload.get("error")),
    )


def _tool(payload: dict[str, Any]) -> dict[str, Any]:
    return {"toolCallId": _text(payload.get("toolCallId")), "toolName": _text(payload.get("toolName"))}


def _session_changed(payload: dict[str, Any]) -> _Found:
    snapshot = _valid_snapshot(payload.get("snapshot"))
    status = _known(_member(payload.get("session"), "status"), _member(snapshot, "status"))
    return _snapshot(payload) + ([("status", {"status": status})] if status else [])


def _pending_prompts(payload: dict[str, Any]) -> _Found:
    prompts = payload.get("prompts")
    return [("pending_prompts", {"prompts": prompts if isinstance(prompts, list) else []})]


def _prompt_submitted(payload: dict[str, Any]) -> _Found:
    prompt = payload.get("prompt")
    if not prompt and not isinstance(prompt, dict | list):
        return []
    names = ("id", "prompt", "delivery", "attachmentCount", "userImages", "userFiles")
    given = prompt if isinstance(prompt, dict) else {}
    return [("pending_prompt_submitted", {name: given[name] for name in names if name in given})]


_Rule: TypeAlias = Callable[[HubEventTranslator, str, dict[str, Any], HubEventEnvelope], _Found]


def _stateless(rule: Callable[[dict[str, Any]], _Found]) -> _Rule:
    return lambda _, __, payload, ___: rule(payload)


_RULES: dict[str, _Rule] = {
    "run.started": HubEventTranslator._run_started,
    "run.completed": HubEventTranslator._run_ended,
    "run.failed": HubEventTranslator._run_ended,
    "run.aborted": HubEventTranslator._run_ended,
    "agent.done": HubEventTranslator._agent_done,
    "iteration.started": _stateless(_iteration_started),
    "iteration.finished": _stateless(_iteration_finished),
    "session.notice": _stateless(_notice),
    "usage.updated": _stateless(_usage_updated),
    "assistant.delta": _stateless(_assistant_delta),
    "assistant.media": _stateless(_assistant_media),
    "assistant.finished": _stateless(_assistant_finished),
    "reasoning.delta": _stateless(_reasoning_delta),
    "reasoning.finished": _stateless(_reasoning_finished),
    "tool.started": _stateless(_tool_started),
    "tool.updated": _stateless(_tool_updated),
    "tool.finished": _stateless(_tool_finished),
    "session.created": _stateless(_session_changed),
    "session.updated": _stateless(_session_changed),
    "session.attached": _stateless(_session_changed),
    "session.detached": _stateless(_session_changed),
    "session.pending_prompts": _stateless(_pending_prompts),
    "session.pending_prompt_submitted": _stateless(_prompt_submitted),
}

TRANSLATED = frozenset(_RULES)
"""The hub events that mean something in layer 3."""
