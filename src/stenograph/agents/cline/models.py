"""What an `Agent` needs of a model: two methods, a request, and the events of its answer.

The events and their members have the names of `AgentModelEvent` in `@cline/shared` 0.0.86.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

from msgspec import UNSET, UnsetType

from stenograph.agents.cline import javascript, wire
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
    """A piece of thinking; `metadata` holds what the provider wants back, such as a signature.

    Pieces in a row are one part of the message, unless `begins` (not Cline's) says that another one begins.
    """

    type: ClassVar[Literal["reasoning-delta"]] = "reasoning-delta"
    text: str
    redacted: bool | UnsetType = UNSET
    metadata: Any = UNSET
    begins: bool | UnsetType = UNSET


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


class TokenPrices(NamedTuple):
    """USD for a million tokens of each sort."""

    input: float
    output: float
    cache_read: float = 0.0
    cache_write: float = 0.0


def to_usage(
    *,
    sent: int,
    made: int,
    cache_read: int = 0,
    cache_write: int = 0,
    reasoning: int | None = None,
    prices: TokenPrices | None = None,
) -> ModelUsage:
    """A request's usage with its cost, if there are prices; `sent` includes what the cache read and wrote."""
    usage: dict[str, Any] = {
        "inputTokens": sent,
        "outputTokens": made,
        "cacheReadTokens": cache_read,
        "cacheWriteTokens": cache_write,
    }
    if reasoning is not None:
        usage["reasoningTokenCount"] = reasoning
    if prices is not None:
        uncached = max(0, sent - cache_read - cache_write)
        micro = uncached * prices.input + made * prices.output
        micro += cache_read * prices.cache_read + cache_write * prices.cache_write
        usage["totalCost"] = micro / 1_000_000
    return ModelUsage(usage=usage)


_PASSING = frozenset({408, 409, 425, 429})
_REFUSED = frozenset({401, 403})


def to_failure(fault: Exception) -> ModelFinish:
    """What a client library raised, as the end of an answer: an HTTP status decides what it is.

    Without a status the connection failed, which may pass.
    """
    status = getattr(fault, "status_code", None)
    passing = not isinstance(status, int) or status in _PASSING or status >= 500
    return ModelFinish(
        reason="error",
        error=str(fault) or type(fault).__name__,
        error_class="auth" if status in _REFUSED else UNSET,
        error_retryable=passing,
    )


def to_text(output: Any) -> str:
    """A tool's output as the text that models are given."""
    return output if isinstance(output, str) else javascript.stringify(None if output is UNSET else output)
