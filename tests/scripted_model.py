"""A model for tests that answers with events given beforehand, and short names for those events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from stenograph.agents.cline import models
from stenograph.agents.cline.models import AgentModelRequest, ModelInfo
from stenograph.agents.cline.tools import AgentTool

OBJECT = {"type": "object"}


class Model:
    """Answers each request with what `answers` holds next; a float is a pause in seconds."""

    def __init__(self, *answers: list[Any]) -> None:
        self.answers = list(answers)
        self.requests: list[AgentModelRequest] = []
        self.closed = 0

    def info(self) -> ModelInfo:
        return ModelInfo(id="m", provider="p")

    async def stream(self, request: AgentModelRequest) -> AsyncIterator[Any]:
        self.requests.append(request)
        try:
            for event in self.answers.pop(0):
                if isinstance(event, float):
                    await asyncio.sleep(event)
                else:
                    yield event
        finally:
            self.closed += 1


def text(words: str) -> models.ModelTextDelta:
    return models.ModelTextDelta(text=words)


def call(name: str, value: Any, call_id: str = "c1") -> models.ModelToolCallDelta:
    return models.ModelToolCallDelta(tool_call_id=call_id, tool_name=name, input=value)


def end(reason: Any = "stop", **more: Any) -> models.ModelFinish:
    return models.ModelFinish(reason=reason, **more)


def tool(name: str, execute: Callable[..., Any], **more: Any) -> AgentTool:
    return AgentTool(name, "", more.pop("schema", OBJECT), execute, **more)
