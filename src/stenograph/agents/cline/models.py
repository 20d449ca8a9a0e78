"""What an `Agent` needs of a model: two methods, a request, and the events of its answer.

The events and their members have the names of `AgentModelEvent` in `@cline/shared` 0.0.86.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

from msgspec import UNSET, UnsetType

from stenograph.agents.cline import wire
from stenograph.agents.cline.agent import Execution, GeneratedMedia
from stenograph.agents.cline.runtime import AgentMessage, ModelFinishReason
from stenograph.agents.cline.wire import Wire


class ModelInfo(Wire, frozen=True, kw_only=True):
    """Which model answers; each message of its carries this."""

    id: str
    provider: str
    family: str | UnsetType = UNSET


class ToolDefinition(NamedTuple):
    """A tool as the model is told of it; `input_schema` is a JSON Schema of an object."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


class AgentModelRequest(NamedTuple):
    """One request: the conversation so far and the tools that may be called."""

    system_prompt: str
    messages: list[AgentMessage]
    tools: list[ToolDefinition]


class ModelTextDelta(Wire, frozen=True, kw_only=True):
    """A piece of prose."""

    type: ClassVar[Literal["text-delta"]] = "text-delta"
    text: str


class ModelReasoningDelta(Wire, frozen=True, kw_only=True):
    """A piece of thinking; `metadata` holds what the provider wants back, such as a signature."""

    type: ClassVar[Literal["reasoning-delta"]] = "reasoning-delta"
    text: str
    redacted: bool | UnsetType = UNSET
    metadata: Any = UNSET


class ModelMedia(Wire, frozen=True, kw_only=True):
    """A medium that the model made."""

    type: ClassVar[Literal["media"]] = "media"
    media: GeneratedMedia

    NESTED: ClassVar = {"media": wire.reader(GeneratedMedia)}


class ModelToolCallDelta(Wire, frozen=True, kw_only=True):
    """A piece of a tool call: `input_text` is more of its JSON, `input` the whole value.

    Pieces with the same `tool_call_id` or `index` belong together. With `execution` the provider runs it.
    """

    type: ClassVar[Literal["tool-call-delta"]] = "tool-call-delta"
    index: int | UnsetType = UNSET
    tool_call_id: str | UnsetType = UNSET
    tool_name: str | UnsetType = UNSET
    input_text: str | UnsetType = UNSET
    input: Any = UNSET
    metadata: Any = UNSET
    execution: Execution | UnsetType = UNSET


class ModelToolResult(Wire, frozen=True, kw_only=True):
    """The result of a tool that the provider ran."""

    type: ClassVar[Literal["tool-result"]] = "tool-result"
    tool_call_id: str
    tool_name: str
    input: Any = UNSET
    output: Any = UNSET
    is_error: bool | UnsetType = UNSET
    execution: Execution


class ModelUsage(Wire, frozen=True, kw_only=True):
    """Tokens and cost (USD) to be added to the run's: some members of `AgentUsage`, by their wire names."""

    type: ClassVar[Literal["usage"]] = "usage"
    usage: dict[str, Any]


class ModelFinish(Wire, frozen=True, kw_only=True):
    """The answer's end. After `error`, `error_retryable` says whether asking again may help."""

    type: ClassVar[Literal["finish"]] = "finish"
    reason: ModelFinishReason
    error: str | UnsetType = UNSET
    error_class: str | UnsetType = UNSET
    error_retryable: bool | UnsetType = UNSET


AgentModelEvent: TypeAlias = (
    ModelTextDelta
    | ModelReasoningDelta
    | ModelMedia
    | ModelToolCallDelta
    | ModelToolResult
    | ModelUsage
    | ModelFinish
)

MODEL_EVENTS: Mapping[str, type[Wire]] = wire.tagged(
    ModelTextDelta,
    ModelReasoningDelta,
    ModelMedia,
    ModelToolCallDelta,
    ModelToolResult,
    ModelUsage,
    ModelFinish,
)
"""The classes of a model's events by their `type`."""


class AgentModel(Protocol):
    """A model, whoever serves it."""

    def info(self) -> ModelInfo:
        """Which model this is."""

    def stream(self, request: AgentModelRequest) -> AsyncIterator[AgentModelEvent]:
        """The events of one answer. A fault of the provider is a `finish` with reason `error`, or raised."""
