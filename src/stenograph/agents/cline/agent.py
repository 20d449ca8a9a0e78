"""Layer 2 of the Cline SDK: the nine `AgentEvent`s of its session runtime, and `AgentResult`.

Facts from `@cline/shared` 0.0.86 (agents/types), where the classes have these names. The members stand in
the order in which Cline's adapter writes them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from stenograph.agents.cline import wire
from stenograph.agents.cline.wire import Unknown, Wire

ContentType: TypeAlias = Literal["text", "reasoning", "media", "tool"]
Execution: TypeAlias = Literal["client", "provider"]
FinishReason: TypeAlias = Literal["completed", "max_iterations", "aborted", "mistake_limit", "error"]
NoticeReason: TypeAlias = Literal[
    "api_error",
    "invalid_tool_call",
    "completion_without_submit",
    "tool_execution_failed",
    "mistake_limit",
    "auto_compaction",
    "manual_compaction",
    "compaction_budget_emergency",
]

_WEB_ADDRESS = re.compile(
    r"https?:[/\\]*(?:[^/\\?#]*@)?"
    r"(?:\[[0-9a-f:.]+\]|[^\x00-\x20\x7f#/\\:<>?@\[\]^|]+)(?::(?P<port>[0-9]{0,9}))?(?:[/\\?#].*)?",
    re.IGNORECASE | re.DOTALL,
)
_STRIPPED = "".join(map(chr, range(0x21)))  # what a URL parser drops around the text
_LAST_PORT = 65535


class AgentError(Wire, frozen=True, kw_only=True):
    """A JavaScript Error: its class's name, its message and, in the CLI's output, its stack."""

    name: str = "Error"
    message: str = ""
    stack: str | UnsetType = UNSET


def to_error(member: Any) -> Any:
    """An `AgentError` where the member is an object with a `message`, else the member."""
    return wire.from_wire(AgentError, member) if _has_message(member) else member


def message_of(error: Any) -> str | None:
    """The message of an Error: ours, a Python exception, or one that a recording marks by `__error__`.

    None for everything else, as JavaScript's `instanceof Error` would say.
    """
    match error:
        case AgentError():
            return error.message
        case BaseException():
            return str(error)
        case {"__error__": {"message": str() as message}}:
            return message
        case _:
            return None


def _has_message(member: Any) -> bool:
    return isinstance(member, dict) and isinstance(member.get("message"), str)


class LegacyAgentUsage(Wire, frozen=True, kw_only=True):
    """Tokens and cost (USD) of a run as `done` and `AgentResult` tell them."""

    input_tokens: float
    output_tokens: float
    cache_read_tokens: float | UnsetType = UNSET
    cache_write_tokens: float | UnsetType = UNSET
    total_cost: float | UnsetType = UNSET


class GeneratedMedia(Wire, frozen=True, kw_only=True):
    """A picture, sound, film or file that the model made; `source` is base64, a url or an artifact."""

    id: str
    modality: Literal["image", "audio", "video", "file"]
    media_type: str
    source: dict[str, Any]
    name: str | UnsetType = UNSET
    size_bytes: int | UnsetType = UNSET


def is_generated_media(value: Any) -> bool:
    """Whether a JSON value is media that Cline's schema takes; members that it does not know are fine."""
    match value:
        case {
            "id": str() as name,
            "modality": str() as modality,
            "mediaType": str() as media_type,
            "source": source,
        }:
            extras = _is_optional_name(value) and _is_optional_size(value)
            return (
                bool(name and media_type)
                and modality == _modality(media_type)
                and _is_source(source)
                and extras
            )
        case _:
            return False


def _modality(media_type: str) -> str:
    prefix = media_type.partition("/")[0]
    return prefix if "/" in media_type and prefix in ("image", "audio", "video") else "file"


def _is_source(source: Any) -> bool:
    match source:
        case {"type": "base64", "data": str() as text} | {"type": "artifact", "artifactId": str() as text}:
            return bool(text)
        case {"type": "url", "url": str() as url}:
            return _is_web_address(url)
        case _:
            return False


def _is_web_address(url: str) -> bool:
    """Whether a browser's URL parser would take the text for an HTTP address."""
    found = _WEB_ADDRESS.fullmatch(re.sub(r"[\t\n\r]", "", url.strip(_STRIPPED)))
    return found is not None and int(found["port"] or 0) <= _LAST_PORT


def _is_optional_name(media: dict[str, Any]) -> bool:
    return "name" not in media or (isinstance(media["name"], str) and bool(media["name"]))


def _is_optional_size(media: dict[str, Any]) -> bool:
    size = media.get("sizeBytes", 0)
    return (
        isinstance(size, int | float)
        and not isinstance(size, bool)
        and 0 <= size <= 2**53 - 1
        and size == int(size)
    )


class AgentEventMetadata(Wire, frozen=True, kw_only=True):
    """What each event may carry. Cline's adapter sets none of the three."""

    agent_id: str | UnsetType = UNSET
    conversation_id: str | UnsetType = UNSET
    parent_agent_id: str | UnsetType | None = UNSET

    NESTED: ClassVar = {
        "media": wire.reader(GeneratedMedia),
        "usage": wire.reader(LegacyAgentUsage),
        "error": to_error,
    }


class AgentContentStartEvent(AgentEventMetadata, frozen=True, kw_only=True):
    """A delta of text or reasoning (one event for each delta), or the start of a tool."""

    type: ClassVar[Literal["content_start"]] = "content_start"
    content_type: ContentType
    text: str | UnsetType = UNSET
    accumulated: str | UnsetType = UNSET
    reasoning: str | UnsetType = UNSET
    redacted: bool | UnsetType = UNSET
    tool_name: str | UnsetType = UNSET
    tool_call_id: str | UnsetType = UNSET
    input: Any = UNSET
    execution: Execution | UnsetType = UNSET


class AgentContentUpdateEvent(AgentEventMetadata, frozen=True, kw_only=True):
    """Progress of a tool; `update` is any value."""

    type: ClassVar[Literal["content_update"]] = "content_update"
    content_type: Literal["tool"]
    tool_name: str | UnsetType = UNSET
    tool_call_id: str | UnsetType = UNSET
    update: Any = UNSET


class AgentContentEndEvent(AgentEventMetadata, frozen=True, kw_only=True):
    """A whole text, reasoning or medium, or the end of a tool with its output and `duration_ms`."""

    type: ClassVar[Literal["content_end"]] = "content_end"
    content_type: ContentType
    text: str | UnsetType = UNSET
    reasoning: str | UnsetType = UNSET
    media: GeneratedMedia | UnsetType = UNSET
    tool_name: str | UnsetType = UNSET
    tool_call_id: str | UnsetType = UNSET
    output: Any = UNSET
    error: str | UnsetType = UNSET
    duration_ms: float | UnsetType = UNSET
    execution: Execution | UnsetType = UNSET


class AgentIterationStartEvent(AgentEventMetadata, frozen=True, kw_only=True):
    """A request to the model begins; `iteration` counts from 1."""

    type: ClassVar[Literal["iteration_start"]] = "iteration_start"
    iteration: int


class AgentIterationEndEvent(AgentEventMetadata, frozen=True, kw_only=True):
    """A request and its tool calls are done."""

    type: ClassVar[Literal["iteration_end"]] = "iteration_end"
    iteration: int
    had_tool_calls: bool
    tool_call_count: int


class AgentNoticeEvent(AgentEventMetadata, frozen=True, kw_only=True):
    """Words of the runtime itself, such as of a compaction."""

    type: ClassVar[Literal["notice"]] = "notice"
    notice_type: Literal["recovery", "stop", "status"]
    display_role: Literal["system", "status"] | UnsetType = UNSET
    message: str
    reason: NoticeReason | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class AgentUsageEvent(AgentEventMetadata, frozen=True, kw_only=True):
    """Tokens and cost (USD): what came since the last such event, and `total_…` since the run began."""

    type: ClassVar[Literal["usage"]] = "usage"
    input_tokens: float
    output_tokens: float
    cache_read_tokens: float | UnsetType = UNSET
    cache_write_tokens: float | UnsetType = UNSET
    cost: float | UnsetType = UNSET
    total_input_tokens: float
    total_output_tokens: float
    total_cache_read_tokens: float | UnsetType = UNSET
    total_cache_write_tokens: float | UnsetType = UNSET
    total_cost: float | UnsetType = UNSET


class AgentDoneEvent(AgentEventMetadata, frozen=True, kw_only=True):
    """The run ended; a failed one has the reason `error`."""

    type: ClassVar[Literal["done"]] = "done"
    reason: FinishReason
    text: str
    iterations: int
    usage: LegacyAgentUsage | UnsetType = UNSET


class AgentErrorEvent(AgentEventMetadata, frozen=True, kw_only=True):
    """A fault; after one that is not `recoverable` the run is over."""

    type: ClassVar[Literal["error"]] = "error"
    error: Any
    error_class: str | UnsetType = UNSET
    recoverable: bool
    iteration: int


AgentEvent: TypeAlias = (
    AgentContentStartEvent
    | AgentContentUpdateEvent
    | AgentContentEndEvent
    | AgentIterationStartEvent
    | AgentIterationEndEvent
    | AgentNoticeEvent
    | AgentUsageEvent
    | AgentDoneEvent
    | AgentErrorEvent
    | Unknown
)

AGENT_EVENTS: Mapping[str, type[Wire]] = wire.tagged(
    AgentContentStartEvent,
    AgentContentUpdateEvent,
    AgentContentEndEvent,
    AgentIterationStartEvent,
    AgentIterationEndEvent,
    AgentNoticeEvent,
    AgentUsageEvent,
    AgentDoneEvent,
    AgentErrorEvent,
)
"""The classes of layer 2 by their `type`."""

_read = wire.variant_of(AGENT_EVENTS)


def to_agent_event(record: Mapping[str, Any]) -> AgentEvent:
    """The layer 2 event that a JSON object is; `Unknown` for any other object. Never fails."""
    event: AgentEvent = _read(record)
    return event


class ToolCallRecord(Wire, frozen=True, kw_only=True):
    """One tool call of a finished run; the times are ISO 8601."""

    id: str
    name: str
    execution: Execution | UnsetType = UNSET
    input: Any = UNSET
    output: Any = UNSET
    error: str | UnsetType = UNSET
    duration_ms: float
    started_at: str
    ended_at: str


class AgentResult(Wire, frozen=True, kw_only=True):
    """What a session's `start` and `send` return; `messages` are in the dialect of the store.

    `model` is {id, provider, info?}; the times are ISO 8601.
    """

    text: str
    usage: LegacyAgentUsage
    messages: list[dict[str, Any]]
    tool_calls: list[ToolCallRecord]
    iterations: int
    finish_reason: FinishReason
    model: dict[str, Any]
    started_at: str
    ended_at: str
    duration_ms: float

    NESTED: ClassVar = {
        "usage": wire.reader(LegacyAgentUsage),
        "tool_calls": wire.list_of(wire.reader(ToolCallRecord)),
    }
