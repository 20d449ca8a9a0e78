"""`Agent` over the model scripts of recorded runs: its events are those of the real runtime, in order."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stenograph import jsonio
from stenograph.agents.cline import wire
from stenograph.agents.cline.adapt import RuntimeEventAdapter
from stenograph.agents.cline.loop import Agent
from stenograph.agents.cline.models import MODEL_EVENTS, AgentModelRequest, ModelInfo
from stenograph.agents.cline.runtime import AgentRunResult
from stenograph.agents.cline.state import Limits
from stenograph.agents.cline.tools import AgentTool, AgentToolContext

VECTORS = Path(os.environ.get("STENOGRAPH_VECTORS", Path(__file__).parent / "data" / "cline-sdk"))
RUNS = [
    jsonio.loads(line)
    for path in sorted(VECTORS.glob("layer1_runs*.jsonl"))
    for line in path.read_bytes().splitlines()
    if line.strip()
]

read_model_event = wire.variant_of(MODEL_EVENTS)


class ScriptedModel:
    """Answers request after request with the recorded events of the model."""

    def __init__(self, script: list[list[dict[str, Any]]]) -> None:
        self._answers = iter(script)
        self.requests: list[AgentModelRequest] = []

    def info(self) -> ModelInfo:
        return ModelInfo(id="m", provider="p")

    async def stream(self, request: AgentModelRequest) -> AsyncIterator[Any]:
        self.requests.append(request)
        for event in next(self._answers, []):
            if "wait" in event:
                await asyncio.sleep(event["wait"] / 1000)
            elif "throw" in event:
                raise RuntimeError(event["throw"])
            else:
                yield read_model_event(event)


class Replay:
    """The recorded run's tools: they tell progress, return and fail as recorded, each in its turn."""

    def __init__(self, run: dict[str, Any]) -> None:
        self.events = run["layer1"]
        self.steps = [event for event in self.events if event["type"] in ("tool-updated", "tool-finished")]
        self.done = 0
        self.moved = asyncio.Condition()

    def watch(self, event: Any) -> None:
        self.done += event.type in ("tool-updated", "tool-finished")

    async def turn_of(self, call_id: str) -> dict[str, Any]:
        """The next recorded step, once it is one of this call."""
        while self.steps[self.done]["toolCall"]["toolCallId"] != call_id:
            await asyncio.sleep(0)
        step: dict[str, Any] = self.steps[self.done]
        return step

    async def execute(self, _: Any, context: AgentToolContext) -> Any:
        while (step := await self.turn_of(context.tool_call_id))["type"] == "tool-updated":
            context.emit_update(step["update"])
        result = step["message"]["content"][0]
        if result.get("isError"):
            raise RuntimeError(result["output"]["error"])
        return result["output"]

    def tools(self) -> list[AgentTool]:
        finished = [event for event in self.steps if event["type"] == "tool-finished"]
        names = {event["toolCall"]["toolName"] for event in finished if not is_unknown(event)}
        schema = {"type": "object"}
        return [
            AgentTool(
                name,
                "",
                schema,
                self.execute,
                execution_mode="parallel" if name in self.parallel() else "sequential",
                completes_run=name == self.completing(),
            )
            for name in names
        ]

    def parallel(self) -> set[str]:
        """The tools that began while another one ran."""
        running: dict[str, str] = {}
        found: set[str] = set()
        for event in self.events:
            if event["type"] == "tool-started":
                running[event["toolCall"]["toolCallId"]] = event["toolCall"]["toolName"]
                found |= set(running.values()) if len(running) > 1 else set()
            if event["type"] == "tool-finished":
                running.pop(event["toolCall"]["toolCallId"], None)
        return found

    def completing(self) -> str | None:
        """The tool whose success ended the run, if a tool did."""
        types = [event["type"] for event in self.events]
        if types[-2:] != ["turn-finished", "run-finished"] or not self.events[-2]["toolCallCount"]:
            return None
        if self.events[-1]["result"]["status"] != "completed":
            return None
        begun = len(types) - 1 - types[::-1].index("assistant-message")
        name: str = self.events[begun + 1]["toolCall"]["toolName"]
        return name


def is_unknown(finished: dict[str, Any]) -> bool:
    output = finished["message"]["content"][0].get("output")
    return isinstance(output, dict) and str(output.get("error", "")).startswith("Unknown tool")


def max_iterations(run: dict[str, Any]) -> int | None:
    message = (run["result"].get("error") or {}).get("__error__", {}).get("message", "")
    found = re.search(r"maxIterations \((\d+)\)", message)
    return int(found[1]) if found else None


def aborted_after(run: dict[str, Any]) -> int:
    """How many events there were when the run was aborted; -1 when it was not."""
    if run["result"]["status"] != "aborted":
        return -1
    marked = (at for at, event in enumerate(run["layer1"]) if "lastError" in event["snapshot"])
    return next(marked, len(run["layer1"]) - 1)


async def play(run: dict[str, Any]) -> tuple[list[Any], AgentRunResult, ScriptedModel]:
    replay, model, seen = Replay(run), ScriptedModel(run["model_script"]), []
    limits = Limits(iterations=max_iterations(run), retry_delay_s=0.001)
    agent = Agent(model=model, tools=replay.tools(), agent_id="agent_1", limits=limits)
    last = aborted_after(run)

    def listen(event: Any) -> None:
        seen.append(event)
        replay.watch(event)
        if len(seen) == last:
            agent.abort("enough")

    agent.subscribe(listen)
    first = run["layer1"][1].get("message", {}).get("content", [{}])[0].get("text", "")
    async with asyncio.timeout(10):
        result = await agent.run(first)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return seen, result, model


SENTENCES = [
    ("<nudge>", r"Your previous response was cut off .*|Your last answer ended at the limit .*"),
    ("<unread>", r".*Tool call \w+ (?:emitted invalid JSON|has no valid JSON as its input).*"),
    ("<iterations>", r"Agent runtime exceeded maxIterations .*|The run took more than \d+ iterations"),
    ("<tokens>", r"Model reached the maximum output .*|The model came to the limit of output tokens .*"),
    ("<overflow>", r"The conversation (?:exceeds the model's context window|is too long for).*"),
]


def comparable(value: Any, names: dict[str, str]) -> Any:
    """The value without what differs from run to run, and with marks for sentences of our own."""
    match value:
        case {"__error__": {"message": str() as message}}:
            return comparable(message, names)
        case {"name": str(), "message": str() as message, **rest} if not rest:
            return comparable(message, names)
        case dict():
            told = {name: member for name, member in value.items() if name not in VARYING}
            return {name: comparable(member, names) for name, member in told.items()}
        case list():
            return [comparable(item, names) for item in value]
        case str() if re.fullmatch(r"(msg|run|tool|agent)_[\w-]+", value):
            return names.setdefault(value, f"{value.partition('_')[0]}_{len(names)}")
        case str():
            return next((mark for mark, words in SENTENCES if re.fullmatch(words, value)), value)
    return value


VARYING = {"createdAt", "delayMs", "parseError"}


def without_notices(event: dict[str, Any]) -> dict[str, Any]:
    """A status notice's wording is ours."""
    return {**event, "message": "<notice>"} if event["type"] in ("status-notice", "notice") else event


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run["name"])
def test_events_are_those_of_the_real_runtime(run: dict[str, Any]) -> None:
    seen, result, model = asyncio.run(play(run))
    assert [event.type for event in seen] == [event["type"] for event in run["layer1"]]
    ours, theirs = {}, {}
    for event, recorded in zip(seen, run["layer1"], strict=True):
        mine = without_notices(wire.to_wire(event))
        assert comparable(mine, ours) == comparable(without_notices(recorded), theirs)
    assert comparable(wire.to_wire(result), ours) == comparable(run["result"], theirs)
    adapter = RuntimeEventAdapter(now_ms=lambda: 0)
    legacy = [without_notices(wire.to_wire(each)) for event in seen for each in adapter.translate(event)]
    assert comparable(legacy, ours) == comparable([without_notices(each) for each in run["layer2"]], theirs)
    assert model.requests or "turn-started" not in [event.type for event in seen]
