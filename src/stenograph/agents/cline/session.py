"""Layer 3 of the Cline SDK: every `CoreSessionEvent`, and the envelopes in which a hub sends its events.

Facts from `@cline/core` and `@cline/shared` 0.0.86 (types/events, hub), where the payloads have these
names. The documentation of Cline shows other payloads for `chunk` and `ended`; both are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

from msgspec import UNSET, UnsetType, field

from stenograph.agents.cline import agent, wire
from stenograph.agents.cline.agent import AgentEvent, AgentResult
from stenograph.agents.cline.wire import Unknown, Wire

Delivery: TypeAlias = Literal["queue", "steer"]
TeamRole: TypeAlias = Literal["lead", "teammate"]

LIVE_STATUSES = frozenset({"idle", "running", "pending"})
"""The statuses of a session that is not over."""


class SessionChunkEvent(Wire, frozen=True, kw_only=True):
    """Raw output. On `agent` the chunk is the layer 2 event that came just before, as JSON text."""

    session_id: str
    stream: Literal["stdout", "stderr", "agent"]
    chunk: str
    ts: float


class DocumentedChunk(Wire, frozen=True, kw_only=True):
    """What Cline's documentation says a chunk is; no release is known to send it."""

    session_id: str
    kind: Literal["text", "reasoning"] = field(name="type")
    text: str


class SessionAgentEvent(Wire, frozen=True, kw_only=True):
    """A layer 2 event and whose it is."""

    session_id: str
    event: AgentEvent
    team_agent_id: str | UnsetType = UNSET
    team_role: TeamRole | UnsetType = UNSET

    NESTED: ClassVar = {"event": wire.variant_of(agent.AGENT_EVENTS)}


class SessionTeamProgressEvent(Wire, frozen=True, kw_only=True):
    """How far a team of agents is."""

    session_id: str
    team_name: str
    lifecycle: Any
    summary: Any


class SessionPendingPrompt(Wire, frozen=True, kw_only=True):
    """A prompt that waits for the end of the run (`queue`) or of the request (`steer`)."""

    id: str
    prompt: str
    delivery: Delivery
    attachment_count: int
    user_images: list[str] | UnsetType = UNSET
    user_files: list[str] | UnsetType = UNSET


class SessionPendingPromptsEvent(Wire, frozen=True, kw_only=True):
    """All prompts that wait."""

    session_id: str
    prompts: list[SessionPendingPrompt]

    NESTED: ClassVar = {"prompts": wire.list_of(wire.reader(SessionPendingPrompt))}


class SessionPendingPromptSubmittedEvent(Wire, frozen=True, kw_only=True):
    """A prompt that waited was given to the agent."""

    session_id: str
    id: str
    prompt: str
    delivery: Delivery
    attachment_count: int
    user_images: list[str] | UnsetType = UNSET
    user_files: list[str] | UnsetType = UNSET


class CoreSessionSnapshot(Wire, frozen=True, kw_only=True):
    """All that is known of a session; times are ISO 8601. `version` is 1."""

    version: int
    session_id: str
    source: str
    status: str
    created_at: str
    updated_at: str
    ended_at: str | UnsetType | None = UNSET
    exit_code: int | UnsetType | None = UNSET
    interactive: bool
    workspace: dict[str, Any]
    model: dict[str, Any]
    capabilities: dict[str, Any]
    lineage: dict[str, Any]
    team: dict[str, Any] | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET
    artifacts: dict[str, Any] | UnsetType = UNSET
    messages: list[dict[str, Any]] | UnsetType = UNSET
    usage: dict[str, Any] | UnsetType = UNSET
    aggregate_usage: dict[str, Any] | UnsetType = UNSET
    checkpoint: dict[str, Any] | UnsetType = UNSET


class SessionSnapshotEvent(Wire, frozen=True, kw_only=True):
    """The session's state changed."""

    session_id: str
    snapshot: CoreSessionSnapshot

    NESTED: ClassVar = {"snapshot": wire.reader(CoreSessionSnapshot)}


class SessionEndedEvent(Wire, frozen=True, kw_only=True):
    """The session is over; `ts` is in milliseconds since 1970."""

    session_id: str
    reason: str
    ts: float


class DocumentedEnded(Wire, frozen=True, kw_only=True):
    """What Cline's documentation says of an end; no release is known to send it."""

    session_id: str
    finish_reason: str
    result: AgentResult | UnsetType = UNSET

    NESTED: ClassVar = {"result": wire.reader(AgentResult)}


class SessionToolEvent(Wire, frozen=True, kw_only=True):
    """Something that a hook told."""

    session_id: str
    hook_event_name: Literal["tool_call", "tool_result", "agent_end", "agent_error", "session_shutdown"]
    agent_id: str | UnsetType = UNSET
    conversation_id: str | UnsetType = UNSET
    parent_agent_id: str | UnsetType = UNSET
    iteration: int | UnsetType = UNSET
    tool_name: str | UnsetType = UNSET
    input_tokens: int | UnsetType = UNSET
    output_tokens: int | UnsetType = UNSET
    ts: str | UnsetType = UNSET


class SessionStatus(Wire, frozen=True, kw_only=True):
    """The session's status; `LIVE_STATUSES` are those of a session that goes on."""

    session_id: str
    status: str


def _read_chunk(member: Any) -> Any:
    documented = isinstance(member, dict) and "chunk" not in member and "text" in member
    return wire.reader(DocumentedChunk if documented else SessionChunkEvent)(member)


def _read_ended(member: Any) -> Any:
    documented = isinstance(member, dict) and "reason" not in member and "finishReason" in member
    return wire.reader(DocumentedEnded if documented else SessionEndedEvent)(member)


class CoreEvent(Wire, frozen=True, kw_only=True):
    """The base of layer 3's events: a type and a payload, which has the session's id."""

    NEEDS: ClassVar = ("payload",)


class CoreChunk(CoreEvent, frozen=True, kw_only=True):
    """Raw output; a local host repeats each agent event as one."""

    type: ClassVar[Literal["chunk"]] = "chunk"
    payload: SessionChunkEvent | DocumentedChunk

    NESTED: ClassVar = {"payload": _read_chunk}


class CoreAgentEvent(CoreEvent, frozen=True, kw_only=True):
    """A layer 2 event of the session."""

    type: ClassVar[Literal["agent_event"]] = "agent_event"
    payload: SessionAgentEvent

    NESTED: ClassVar = {"payload": wire.reader(SessionAgentEvent)}


class CoreTeamProgress(CoreEvent, frozen=True, kw_only=True):
    """How far a team of agents is."""

    type: ClassVar[Literal["team_progress"]] = "team_progress"
    payload: SessionTeamProgressEvent

    NESTED: ClassVar = {"payload": wire.reader(SessionTeamProgressEvent)}


class CorePendingPrompts(CoreEvent, frozen=True, kw_only=True):
    """The prompts that wait."""

    type: ClassVar[Literal["pending_prompts"]] = "pending_prompts"
    payload: SessionPendingPromptsEvent

    NESTED: ClassVar = {"payload": wire.reader(SessionPendingPromptsEvent)}


class CorePendingPromptSubmitted(CoreEvent, frozen=True, kw_only=True):
    """A prompt that waited was given to the agent."""

    type: ClassVar[Literal["pending_prompt_submitted"]] = "pending_prompt_submitted"
    payload: SessionPendingPromptSubmittedEvent

    NESTED: ClassVar = {"payload": wire.reader(SessionPendingPromptSubmittedEvent)}


class CoreSnapshot(CoreEvent, frozen=True, kw_only=True):
    """The session's state changed."""

    type: ClassVar[Literal["session_snapshot"]] = "session_snapshot"
    payload: SessionSnapshotEvent

    NESTED: ClassVar = {"payload": wire.reader(SessionSnapshotEvent)}


class CoreEnded(CoreEvent, frozen=True, kw_only=True):
    """The session is over."""

    type: ClassVar[Literal["ended"]] = "ended"
    payload: SessionEndedEvent | DocumentedEnded

    NESTED: ClassVar = {"payload": _read_ended}


class CoreHook(CoreEvent, frozen=True, kw_only=True):
    """Something that a hook told."""

    type: ClassVar[Literal["hook"]] = "hook"
    payload: SessionToolEvent

    NESTED: ClassVar = {"payload": wire.reader(SessionToolEvent)}


class CoreStatus(CoreEvent, frozen=True, kw_only=True):
    """The session's status changed."""

    type: ClassVar[Literal["status"]] = "status"
    payload: SessionStatus

    NESTED: ClassVar = {"payload": wire.reader(SessionStatus)}


CoreSessionEvent: TypeAlias = (
    CoreChunk
    | CoreAgentEvent
    | CoreTeamProgress
    | CorePendingPrompts
    | CorePendingPromptSubmitted
    | CoreSnapshot
    | CoreEnded
    | CoreHook
    | CoreStatus
    | Unknown
)

CORE_SESSION_EVENTS: Mapping[str, type[Wire]] = wire.tagged(
    CoreChunk,
    CoreAgentEvent,
    CoreTeamProgress,
    CorePendingPrompts,
    CorePendingPromptSubmitted,
    CoreSnapshot,
    CoreEnded,
    CoreHook,
    CoreStatus,
)
"""The classes of layer 3 by their `type`."""

_read = wire.variant_of(CORE_SESSION_EVENTS)


def to_session_event(record: Mapping[str, Any]) -> CoreSessionEvent:
    """The layer 3 event that a JSON object is; `Unknown` for any other object. Never fails."""
    event: CoreSessionEvent = _read(record)
    return event


class HubEventEnvelope(Wire, frozen=True, kw_only=True):
    """An event as a hub sends it; `timestamp` is in milliseconds since 1970, `payload` plain JSON.

    `sequence` grows by the hub's durable log and is absent where there is none. `event` is one of
    `HUB_EVENT_NAMES` in the releases seen, and any string in others.
    """

    version: str = "v1"
    event: str
    event_id: str | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    timestamp: float | UnsetType = UNSET
    payload: dict[str, Any] | UnsetType = UNSET
    client_id: str | UnsetType = UNSET
    source_hub_id: str | UnsetType = UNSET
    sequence: int | UnsetType = UNSET


def to_envelope(record: Mapping[str, Any]) -> HubEventEnvelope:
    """The envelope that a JSON object is; what it lacks is UNSET. Never fails."""
    return wire.from_wire(HubEventEnvelope, record)


_NAMES = """
    hub.client.registered hub.client.updated hub.client.disconnected hub.drain_changed
    session.created session.updated session.attached session.detached session.forked session.notice
    session.pending_prompts session.pending_prompt_submitted
    run.started run.heartbeat run.aborted run.completed run.failed run.enqueued run.interrupted
    iteration.started iteration.finished
    assistant.delta assistant.media assistant.finished reasoning.delta reasoning.finished
    agent.done usage.updated tool.started tool.updated tool.finished
    approval.requested approval.resolved capability.requested capability.resolved
    team.progress artifact.created diff.created
    spoke.started spoke.failed spoke.stopped
    peer.registered peer.session_attached peer.session_detached
    schedule.created schedule.updated schedule.deleted schedule.triggered
    schedule.execution_completed schedule.execution_failed
    task.created task.updated task.deleted task.run.started task.run.completed task.run.failed
    task.automation.updated
    settings.changed ui.notify ui.show_window
"""

HUB_EVENT_NAMES = frozenset(_NAMES.split())
"""The names that `@cline/shared` 0.0.86 knows."""
