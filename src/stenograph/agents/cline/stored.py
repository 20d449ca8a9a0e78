"""Messages of layer 1 in the dialect of Cline's store and of `AgentResult`: other roles, other block names.

There a tool's result is a user's message, thinking is `thinking` or `redacted_thinking`, and an object that
a tool gave is JSON text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from stenograph.agents.cline import javascript, runtime
from stenograph.agents.cline.runtime import AgentMessage, AgentMessagePart
from stenograph.agents.cline.wire import plain, present


def to_stored(message: AgentMessage) -> dict[str, Any]:
    """The message as the store has it; parts of no known type are left out."""
    blocks = (_BLOCKS[type(part)](part) for part in message.content if type(part) in _BLOCKS)
    return present(
        id=message.id,
        role="user" if message.role == "tool" else message.role,
        content=[block for block in blocks if block],
        ts=message.created_at,
        metadata=message.metadata,
        modelInfo=message.model_info,
        metrics=_metrics(message.metrics),
    )


def _metrics(metrics: Any) -> Any:
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "cost")
    if not isinstance(metrics, dict):
        return UNSET
    return {name: metrics[name] for name in names if name in metrics}


def _noted(part: AgentMessagePart, name: str) -> Any:
    metadata = getattr(part, "metadata", None)
    return metadata.get(name, UNSET) if isinstance(metadata, dict) else UNSET


def _text(part: runtime.AgentTextPart) -> dict[str, Any]:
    return {"type": "text", "text": part.text}


def _reasoning(part: runtime.AgentReasoningPart) -> dict[str, Any]:
    if part.redacted is True:
        return {"type": "redacted_thinking", "data": _noted(part, "data") or ""}
    details = {"signature": _noted(part, "signature"), "details": _noted(part, "details")}
    return present(type="thinking", thinking=part.text, **details)


def _image(part: runtime.AgentImagePart) -> dict[str, Any]:
    if not isinstance(part.image, str):
        return {}
    return {"type": "image", "data": part.image, "mediaType": part.media_type or "image/png"}


def _file(part: runtime.AgentFilePart) -> dict[str, Any]:
    return {"type": "file", "path": part.path, "content": part.content}


def _media(part: runtime.AgentMediaPart) -> dict[str, Any]:
    return {"type": "media", "media": plain(part.media)}


def _tool_call(part: runtime.AgentToolCallPart) -> dict[str, Any]:
    value = {} if part.input is None or part.input is UNSET else part.input
    return present(
        type="tool_use",
        id=part.tool_call_id,
        name=part.tool_name,
        input=value,
        signature=_noted(part, "signature"),
    )


def _tool_result(part: runtime.AgentToolResultPart) -> dict[str, Any]:
    output = part.output
    as_it_is = output is UNSET or isinstance(output, str | list)
    return present(
        type="tool_result",
        tool_use_id=part.tool_call_id,
        name=part.tool_name,
        content=output if as_it_is else javascript.stringify(output),
        is_error=part.is_error,
    )


_BLOCKS: dict[type, Callable[[Any], dict[str, Any]]] = {
    runtime.AgentTextPart: _text,
    runtime.AgentReasoningPart: _reasoning,
    runtime.AgentImagePart: _image,
    runtime.AgentFilePart: _file,
    runtime.AgentMediaPart: _media,
    runtime.AgentToolCallPart: _tool_call,
    runtime.AgentToolResultPart: _tool_result,
}
