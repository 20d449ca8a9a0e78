"""Layer 1 of the Cline SDK: the fifteen `AgentRuntimeEvent`s of its Agent, messages, usage, `AgentRunResult`.

Facts from `@cline/shared` 0.0.86 (agent), where messages, parts, usage and results have these names; the
variants of the event have none there and are named by their `type`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from stenograph.agents.cline import wire
from stenograph.agents.cline.agent import Execution, GeneratedMedia, to_error
from stenograph.agents.cline.wire import Unknown, Wire

ModelFinishReason: TypeAlias = Literal["stop", "tool-calls", "max-tokens", "aborted", "error"]
RunStatus: TypeAlias = Literal["idle", "running", "completed", "aborted", "failed"]


class AgentTextPart(Wire, frozen=True, kw_only=True):
    """Prose."""

    type: ClassVar[Literal["text"]] = "text"
    text: str


class AgentReasoningPart(Wire, frozen=True, kw_only=True):
    """Thinking; empty where the provider redacted it."""

    type: ClassVar[Literal["reasoning"]] = "reasoning"
    text: str
    redacted: bool | UnsetType = UNSET
    metadata: Any = UNSET


class AgentImagePart(Wire, frozen=True, kw_only=True):
    """A picture given to the model: base64, a data URL or a URL."""

    type: ClassVar[Literal["image"]] = "image"
    image: Any
    media_type: str | UnsetType = UNSET


class AgentFilePart(Wire, frozen=True, kw_only=True):
    """A file given to the model."""

    type: ClassVar[Literal["file"]] = "file"
    path: str
    content: str


class AgentMediaPart(Wire, frozen=True, kw_only=True):
    """A medium that the model made."""

    type: ClassVar[Literal["media"]] = "media"
    media: GeneratedMedia

    NESTED: ClassVar = {"media": wire.reader(GeneratedMedia)}


class AgentToolCallPart(Wire, frozen=True, kw_only=True):
    """A call of a tool; `execution` is absent for tools that the runtime itself executes."""

    type: ClassVar[Literal["tool-call"]] = "tool-call"
    tool_call_id: str
    tool_name: str
    input: Any = UNSET
    metadata: Any = UNSET
    execution: Execution | UnsetType = UNSET


class AgentToolResultPart(Wire, frozen=True, kw_only=True):
    """What a tool gave; `output` is any value."""

    type: ClassVar[Literal["tool-result"]] = "tool-result"
    tool_call_id: str
    tool_name: str
    output: Any = UNSET
    is_error: bool | UnsetType = UNSET
    execution: Execution | UnsetType = UNSET


AgentMessagePart: TypeAlias = (
    AgentTextPart
    | AgentReasoningPart
    | AgentImagePart
    | AgentFilePart
    | AgentMediaPart
    | AgentToolCallPart
    | AgentToolResultPart
    | Unknown
)

_PARTS = wire.tagged(
    AgentTextPart,
    AgentReasoningPart,
    AgentImagePart,
    AgentFilePart,
    AgentMediaPart,
    AgentToolCallPart,
    AgentToolResultPart,
)


class AgentUsage(Wire, frozen=True, kw_only=True):
    """Tokens and cost (USD) since the run began. One that was read may lack any of them."""

    input_tokens: float
    output_tokens: float
    cache_read_tokens: float
    cache_write_tokens: float
    reasoning_token_count: float | UnsetType = UNSET
    total_cost: float | UnsetType = UNSET


class AgentMessage(Wire, frozen=True, kw_only=True):
    """One message of the conversation; `created_at` is in milliseconds since 1970.

    `metrics` are the tokens and the `cost` of this message alone, `model_info` is {id, provider, family?}.
    """

    id: str
    role: Literal["user", "assistant", "tool"]
    content: list[AgentMessagePart]
    created_at: float
    metadata: dict[str, Any] | UnsetType = UNSET
    metrics: dict[str, Any] | UnsetType = UNSET
    model_info: dict[str, Any] | UnsetType = UNSET

    NESTED: ClassVar = {"content": wire.list_of(wire.variant_of(_PARTS))}


class AgentRuntimeStateSnapshot(Wire, frozen=True, kw_only=True):
    """The whole state of the runtime at the time of an event."""

    agent_id: str
    agent_role: str | UnsetType = UNSET
    parent_agent_id: str | UnsetType | None = UNSET
    conversation_id: str | UnsetType = UNSET
    run_id: str | UnsetType = UNSET
    status: RunStatus
    iteration: int
    messages: list[AgentMessage]
    pending_tool_calls: list[str]
    usage: AgentUsage
    last_error: str | UnsetType = UNSET
    last_error_class: str | UnsetType = UNSET

    NESTED: ClassVar = {
        "messages": wire.list_of(wire.reader(AgentMessage)),
        "usage": wire.reader(AgentUsage),
    }


class AgentRunResult(Wire, frozen=True, kw_only=True):
    """What an agent's `run` returns. A failed run is a result with an `error`, not an exception."""

    agent_id: str
    agent_role: str | UnsetType = UNSET
    run_id: str
    status: Literal["completed", "aborted", "failed"]
    iterations: int
    output_text: str
    messages: list[AgentMessage]
    usage: AgentUsage
    error: Any = UNSET

    NESTED: ClassVar = {
        "messages": wire.list_of(wire.reader(AgentMessage)),
        "usage": wire.reader(AgentUsage),
        "error": to_error,
    }


class RuntimeEvent(Wire, frozen=True, kw_only=True):
    """The base of layer 1's events. Cline gives each a `snapshot`; recordings may leave it out."""

    snapshot: AgentRuntimeStateSnapshot | UnsetType = UNSET

    NESTED: ClassVar = {
        "snapshot": wire.reader(AgentRuntimeStateSnapshot),
        "message": wire.reader(AgentMessage),
        "media": wire.reader(GeneratedMedia),
        "tool_call": wire.reader(AgentToolCallPart),
        "usage": wire.reader(AgentUsage),
        "result": wire.reader(AgentRunResult),
        "error": to_error,
    }


class RunStarted(RuntimeEvent, frozen=True, kw_only=True):
    """A run begins."""

    type: ClassVar[Literal["run-started"]] = "run-started"


class MessageAdded(RuntimeEvent, frozen=True, kw_only=True):
    """A message of whatever role joined the conversation."""

    type: ClassVar[Literal["message-added"]] = "message-added"
    message: AgentMessage

    NEEDS: ClassVar = ("message",)


class TurnStarted(RuntimeEvent, frozen=True, kw_only=True):
    """A request to the model begins; `iteration` counts from 1."""

    type: ClassVar[Literal["turn-started"]] = "turn-started"
    iteration: int


class AssistantTextDelta(RuntimeEvent, frozen=True, kw_only=True):
    """A piece of prose, and all of this request's prose so far."""

    type: ClassVar[Literal["assistant-text-delta"]] = "assistant-text-delta"
    iteration: int
    text: str
    accumulated_text: str


class AssistantReasoningDelta(RuntimeEvent, frozen=True, kw_only=True):
    """A piece of thinking, and all of this request's thinking so far."""

    type: ClassVar[Literal["assistant-reasoning-delta"]] = "assistant-reasoning-delta"
    iteration: int
    text: str
    accumulated_text: str
    redacted: bool | UnsetType = UNSET
    metadata: Any = UNSET


class AssistantMedia(RuntimeEvent, frozen=True, kw_only=True):
    """A medium that the model made."""

    type: ClassVar[Literal["assistant-media"]] = "assistant-media"
    iteration: int
    media: GeneratedMedia | Any


class AssistantMessage(RuntimeEvent, frozen=True, kw_only=True):
    """The whole answer to one request, after its usage."""

    type: ClassVar[Literal["assistant-message"]] = "assistant-message"
    iteration: int
    message: AgentMessage
    finish_reason: ModelFinishReason

    NEEDS: ClassVar = ("message",)


class ToolStarted(RuntimeEvent, frozen=True, kw_only=True):
    """A tool is about to be executed."""

    type: ClassVar[Literal["tool-started"]] = "tool-started"
    iteration: int
    tool_call: AgentToolCallPart

    NEEDS: ClassVar = ("tool_call",)


class ToolUpdated(RuntimeEvent, frozen=True, kw_only=True):
    """Progress of a tool; `update` is any value."""

    type: ClassVar[Literal["tool-updated"]] = "tool-updated"
    iteration: int
    tool_call: AgentToolCallPart
    update: Any = UNSET

    NEEDS: ClassVar = ("tool_call",)


class ToolFinished(RuntimeEvent, frozen=True, kw_only=True):
    """A tool is done; its output is the `tool-result` part of `message`."""

    type: ClassVar[Literal["tool-finished"]] = "tool-finished"
    iteration: int
    tool_call: AgentToolCallPart
    message: AgentMessage

    NEEDS: ClassVar = ("tool_call", "message")


class UsageUpdated(RuntimeEvent, frozen=True, kw_only=True):
    """Tokens and cost since the run began."""

    type: ClassVar[Literal["usage-updated"]] = "usage-updated"
    usage: AgentUsage

    NEEDS: ClassVar = ("usage",)


class TurnFinished(RuntimeEvent, frozen=True, kw_only=True):
    """A request and its tool calls are done."""

    type: ClassVar[Literal["turn-finished"]] = "turn-finished"
    iteration: int
    tool_call_count: int


class StatusNotice(RuntimeEvent, frozen=True, kw_only=True):
    """Words of the runtime itself; `metadata` says of what kind and in which phase."""

    type: ClassVar[Literal["status-notice"]] = "status-notice"
    message: str
    metadata: dict[str, Any] | UnsetType = UNSET


class RunFinished(RuntimeEvent, frozen=True, kw_only=True):
    """The run completed or was aborted."""

    type: ClassVar[Literal["run-finished"]] = "run-finished"
    result: AgentRunResult

    NEEDS: ClassVar = ("result",)


class RunFailed(RuntimeEvent, frozen=True, kw_only=True):
    """The run failed; `error_class` is an open set (`context_window_exceeded`, `auth`, `unknown`)."""

    type: ClassVar[Literal["run-failed"]] = "run-failed"
    error: Any
    error_class: str | UnsetType = UNSET


AgentRuntimeEvent: TypeAlias = (
    RunStarted
    | MessageAdded
    | TurnStarted
    | AssistantTextDelta
    | AssistantReasoningDelta
    | AssistantMedia
    | AssistantMessage
    | ToolStarted
    | ToolUpdated
    | ToolFinished
    | UsageUpdated
    | TurnFinished
    | StatusNotice
    | RunFinished
    | RunFailed
    | Unknown
)

AGENT_RUNTIME_EVENTS: Mapping[str, type[Wire]] = wire.tagged(
    RunStarted,
    MessageAdded,
    TurnStarted,
    AssistantTextDelta,
    AssistantReasoningDelta,
    AssistantMedia,
    AssistantMessage,
    ToolStarted,
    ToolUpdated,
    ToolFinished,
    UsageUpdated,
    TurnFinished,
    StatusNotice,
    RunFinished,
    RunFailed,
)
"""The classes of layer 1 by their `type`."""

_read = wire.variant_of(AGENT_RUNTIME_EVENTS)


def to_runtime_event(record: Mapping[str, Any]) -> AgentRuntimeEvent:
    """The layer 1 event that a JSON object is; `Unknown` for any other object. Never fails."""
    event: AgentRuntimeEvent = _read(record)
    return event


def agent_of(event: AgentRuntimeEvent) -> str | None:
    """The id of the agent that an event's snapshot is of, where there is one."""
    snapshot = None if isinstance(event, Unknown) else event.snapshot
    agent_id: Any = snapshot.agent_id if isinstance(snapshot, AgentRuntimeStateSnapshot) else None
    return agent_id if isinstance(agent_id, str) else None
