"""`Agent` where no recording helps: cancellation, time limits, hooks, listeners that raise, bad input."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from scripted_model import Model, call, end, text, tool
from stenograph.agents.cline import models, runtime
from stenograph.agents.cline.loop import Agent, AgentRuntimeHooks
from stenograph.agents.cline.state import Limits
from stenograph.agents.cline.tools import AgentToolContext
from stenograph.errors import UsageError
from stenograph.notes import Report


def results(outcome: runtime.AgentRunResult) -> list[Any]:
    parts = [part for message in outcome.messages for part in message.content]
    return [
        (part.output, part.is_error is True)
        for part in parts
        if isinstance(part, runtime.AgentToolResultPart)
    ]


async def with_no_task_left(agent: Agent, prompt: str = "go") -> runtime.AgentRunResult:
    async with asyncio.timeout(5):
        outcome = await agent.run(prompt)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return outcome


def run(agent: Agent, prompt: str = "go") -> runtime.AgentRunResult:
    return asyncio.run(with_no_task_left(agent, prompt))


def test_a_cancelled_run_tells_its_end_and_leaves_no_task() -> None:
    model = Model([text("a"), 60.0, end()])
    agent = Agent(model=model)
    seen: list[Any] = []
    agent.subscribe(seen.append)

    async def cancel() -> None:
        task = asyncio.create_task(agent.run("go"))
        while len(seen) < 4:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(cancel())
    assert model.closed == 1
    assert isinstance(seen[-1], runtime.RunFinished)
    assert seen[-1].result.status == "aborted"
    assert not agent.running


def test_cancelled_during_tools_that_run_together() -> None:
    ended: list[str] = []

    async def slow(value: Any, _: AgentToolContext) -> str:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(value["n"])
        return "late"

    tools = [tool("slow", slow, execution_mode="parallel", timeout_s=None)]
    agent = Agent(
        model=Model([call("slow", {"n": "1"}, "a"), call("slow", {"n": "2"}, "b"), end()]), tools=tools
    )
    started: list[Any] = []
    agent.subscribe(lambda event: started.append(event) if event.type == "tool-started" else None)

    async def cancel() -> None:
        task = asyncio.create_task(agent.run("go"))
        while len(started) < 2:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(cancel())
    assert sorted(ended) == ["1", "2"]


def test_an_abort_cancels_the_tool_and_ends_the_run() -> None:
    async def slow(_: Any, context: AgentToolContext) -> str:
        context.emit_update("begun")
        await asyncio.sleep(60)
        return "late"

    agent = Agent(model=Model([call("slow", {}), end("tool-calls")]), tools=[tool("slow", slow)])
    types: list[str] = []

    def listen(event: runtime.AgentRuntimeEvent) -> None:
        types.append(event.type)
        if event.type == "tool-updated":
            asyncio.get_running_loop().call_later(0.01, agent.abort, "enough")

    agent.subscribe(listen)
    outcome = run(agent)
    assert outcome.status == "aborted"
    assert results(outcome) == [({"error": "enough"}, True)]
    assert types[-4:] == ["tool-finished", "message-added", "turn-finished", "run-finished"]
    agent.abort("too late to matter")
    assert agent.snapshot().last_error == "enough"


def test_an_abort_lets_go_of_the_model_at_once() -> None:
    model = Model([text("a"), 60.0, end()])
    agent = Agent(model=model)
    agent.subscribe(
        lambda event: (
            asyncio.get_running_loop().call_later(0.01, agent.abort)
            if event.type == "assistant-text-delta"
            else None
        )
    )
    outcome = run(agent)
    assert (outcome.status, outcome.output_text, model.closed) == ("aborted", "", 1)


def test_an_abort_while_waiting_to_ask_again() -> None:
    agent = Agent(
        model=Model([end("error", error="busy", error_retryable=True)]), limits=Limits(retry_delay_s=60)
    )
    agent.subscribe(
        lambda event: (
            asyncio.get_running_loop().call_later(0.01, agent.abort)
            if event.type == "status-notice"
            else None
        )
    )
    assert run(agent).status == "aborted"


def test_a_model_that_says_nothing_fails_the_run() -> None:
    agent = Agent(model=Model([text("a"), 60.0]), limits=Limits(model_idle_s=0.02))
    outcome = run(agent)
    assert outcome.status == "failed"
    assert outcome.error.message == "The model said nothing for 0.02 seconds"


def test_tools_are_stopped_after_their_time_and_their_faults_are_results() -> None:
    async def slow(_: Any, __: AgentToolContext) -> None:
        await asyncio.sleep(60)

    def own(_: Any, __: AgentToolContext) -> None:
        raise TimeoutError("upstream took too long")

    def nameless(_: Any, __: AgentToolContext) -> None:
        raise KeyError

    tools = [tool("slow", slow, timeout_s=0.02), tool("own", own), tool("nameless", nameless)]
    calls = [call(each.name, {}, each.name) for each in tools]
    outcome = run(Agent(model=Model([*calls, end()], [text("ok"), end()]), tools=tools))
    assert results(outcome) == [
        ({"error": "Tool slow was stopped after 0.02 seconds"}, True),
        ({"error": "upstream took too long"}, True),
        ({"error": "KeyError"}, True),
    ]
    assert outcome.output_text == "ok"


def test_input_is_checked_before_the_tool_is_run() -> None:
    ran: list[Any] = []
    schema = {
        "type": "object",
        "properties": {"path": {"type": "string"}, "lines": {"type": "array", "items": {"type": "integer"}}},
        "required": ["path"],
    }
    tools = [tool("read", lambda value, _: ran.append(value) or "done", schema=schema)]
    calls = [
        call("read", {"path": "a", "lines": [1, 2.0]}, "1"),
        call("read", {}, "2"),
        call("read", {"path": 5}, "3"),
        call("read", {"path": "a", "lines": [1, 1.5]}, "4"),
        call("read", [], "5"),
        call("read", {"path": "a", "lines": [math.inf]}, "6"),
    ]
    outcome = run(Agent(model=Model([*calls, end()], [text("ok"), end()]), tools=tools))
    assert ran == [{"path": "a", "lines": [1, 2.0]}]
    prefix = "Invalid input for tool read: input"
    assert results(outcome) == [
        ("done", False),
        ({"error": f"{prefix}.path is missing"}, True),
        ({"error": f"{prefix}.path must be string"}, True),
        ({"error": f"{prefix}.lines[1] must be integer"}, True),
        ({"error": f"{prefix} must be object"}, True),
        ({"error": f"{prefix}.lines[0] must be integer"}, True),
    ]


def test_outputs_without_json_are_given_as_text() -> None:
    class Odd:
        def __str__(self) -> str:
            return "odd"

    outputs = iter([Odd(), {1: (2, {3})}, b"x", None])
    tools = [tool("t", lambda _, __: next(outputs))]
    calls = [call("t", {}, str(n)) for n in range(4)]
    outcome = run(Agent(model=Model([*calls, end()], [text("ok"), end()]), tools=tools))
    assert results(outcome) == [("odd", False), ({"1": [2, [3]]}, False), ("eA==", False), (None, False)]


def test_hooks_are_awaited_behind_the_listeners() -> None:
    order: list[str] = []

    async def hook(event: runtime.AgentRuntimeEvent) -> None:
        await asyncio.sleep(0)
        order.append(f"hook {event.type}")

    agent = Agent(model=Model([text("a"), end()]), hooks=AgentRuntimeHooks(on_event=hook))
    agent.subscribe(lambda event: order.append(event.type))
    run(agent)
    assert order[::2] == [name.removeprefix("hook ") for name in order[1::2]]
    assert len(order) == 2 * 8


def test_what_a_listener_or_hook_raises_fails_the_run() -> None:
    def angry(event: runtime.AgentRuntimeEvent) -> None:
        if event.type == "assistant-text-delta":
            raise ValueError("no more")

    agent = Agent(model=Model([text("a"), end()]))
    agent.subscribe(angry)
    outcome = run(agent)
    assert (outcome.status, outcome.error.name, outcome.error.message) == ("failed", "ValueError", "no more")
    hooked = run(Agent(model=Model([text("a"), end()]), hooks=AgentRuntimeHooks(on_event=angry)))
    assert (hooked.status, hooked.error.message) == ("failed", "no more")


def test_a_listener_that_raises_for_the_last_event_reaches_the_caller() -> None:
    def angry(event: runtime.AgentRuntimeEvent) -> None:
        if event.type == "run-failed":
            raise ValueError("even now")

    agent = Agent(model=Model([end()]))
    agent.subscribe(angry)
    with pytest.raises(ValueError, match="even now"):
        run(agent)
    assert not agent.running


def test_faults_around_progress_are_noted_and_cost_nothing_else() -> None:
    def angry(event: runtime.AgentRuntimeEvent) -> None:
        if event.type == "tool-updated":
            raise ValueError("not this")

    async def hook(event: runtime.AgentRuntimeEvent) -> None:
        angry(event)

    def progress(_: Any, context: AgentToolContext) -> str:
        context.emit_update(1)
        return "done"

    report = Report()
    agent = Agent(
        model=Model([call("t", {}), end()], [text("ok"), end()]),
        tools=[tool("t", progress)],
        hooks=AgentRuntimeHooks(on_event=hook),
        report=report,
    )
    agent.subscribe(angry)
    assert run(agent).output_text == "ok"
    assert report.count("listener-raised") == 2


def test_a_fault_among_tools_that_run_together_stops_the_others() -> None:
    async def slow(_: Any, __: AgentToolContext) -> None:
        await asyncio.sleep(60)

    def angry(event: runtime.AgentRuntimeEvent) -> None:
        if isinstance(event, runtime.ToolFinished):
            raise ValueError("no more")

    tools = [
        tool("slow", slow, execution_mode="parallel"),
        tool("fast", lambda _, __: 1, execution_mode="parallel"),
    ]
    agent = Agent(model=Model([call("slow", {}, "a"), call("fast", {}, "b"), end()]), tools=tools)
    agent.subscribe(angry)
    assert run(agent).error.message == "no more"


def test_an_empty_answer_is_asked_for_again_when_the_limits_say_so() -> None:
    model = Model([end()], [models.ModelUsage(usage={"inputTokens": 1}), end()], [text("at last"), end()])
    agent = Agent(model=model, limits=Limits(empty_retries=2))
    notices: list[Any] = []
    agent.subscribe(lambda event: notices.append(event.metadata) if event.type == "status-notice" else None)
    assert run(agent).output_text == "at last"
    assert [(notice["kind"], notice["attempt"]) for notice in notices] == [
        ("empty_response_retry", 1),
        ("empty_response_retry", 2),
    ]
    assert run(Agent(model=Model([end()]))).error.message == "Model returned empty response"


def test_usage_and_cost_add_up_over_requests() -> None:
    def used(**numbers: float) -> models.ModelUsage:
        return models.ModelUsage(usage=dict(numbers))

    model = Model(
        [call("t", {}), used(inputTokens=10, outputTokens=2, totalCost=0.5, cacheReadTokens=3), end()],
        [
            text("ok"),
            used(inputTokens=20, outputTokens=4, totalCost=0.25, odd=True),
            used(inputTokens=None),
            end(),
        ],
    )
    outcome = run(Agent(model=model, tools=[tool("t", lambda _, __: 1)]))
    assert outcome.usage == runtime.AgentUsage(
        input_tokens=30,
        output_tokens=6,
        cache_read_tokens=3,
        cache_write_tokens=0,
        reasoning_token_count=0,
        total_cost=0.75,
    )
    assert [message.metrics for message in outcome.messages if message.role == "assistant"] == [
        {"inputTokens": 10, "outputTokens": 2, "cacheReadTokens": 3, "cacheWriteTokens": 0, "cost": 0.5},
        {"inputTokens": 20, "outputTokens": 4, "cacheReadTokens": 0, "cacheWriteTokens": 0, "cost": 0.25},
    ]


def test_a_second_run_goes_on_with_the_conversation() -> None:
    model = Model([text("one"), end()], [text("two"), end()], [text("three"), end()])
    agent = Agent(model=model, system_prompt="be brief")
    run(agent, "a")
    assert run(agent, "b").output_text == "two"
    assert [len(request.messages) for request in model.requests] == [1, 3]
    assert model.requests[0].system_prompt == "be brief"
    agent.restore([])
    assert len(run(agent, "c").messages) == 2


def test_one_run_at_a_time() -> None:
    agent = Agent(model=Model([0.05, text("a"), end()]))

    async def twice() -> None:
        first = asyncio.create_task(agent.run("a"))
        await asyncio.sleep(0.01)
        with pytest.raises(UsageError, match="running already"):
            await agent.run("b")
        with pytest.raises(UsageError, match="running already"):
            agent.restore([])
        assert (await first).output_text == "a"

    asyncio.run(twice())
