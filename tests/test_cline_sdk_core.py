"""`Core`: sessions side by side, their layer 3 events, mistakes, queued prompts, the hub's view."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from scripted_model import OBJECT, Model, call, end, text
from stenograph import jsonio
from stenograph.agents.cline import agent, models, session, wire
from stenograph.agents.cline.host import Core
from stenograph.agents.cline.project import SessionEventProjector
from stenograph.agents.cline.receive import HubEventTranslator
from stenograph.agents.cline.tools import AgentTool
from stenograph.agents.cline.track import MistakeLimits
from stenograph.errors import UsageError
from stenograph.notes import Report

START_MS = 1_700_000_000_000


def core(**more: Any) -> Core:
    ticks, numbers = itertools.count(START_MS, 10), itertools.count(1)
    return Core(now_ms=lambda: next(ticks), new_id=lambda prefix: f"{prefix}_{next(numbers)}", **more)


def fails(_: Any, __: Any) -> None:
    raise RuntimeError("it fell")


ECHO = AgentTool("echo", "", OBJECT, lambda value, _: {"got": value})
FAILS = AgentTool("fails", "", OBJECT, fails)
USED = models.ModelUsage(usage={"inputTokens": 10, "outputTokens": 2, "totalCost": 0.5})


def layer2(seen: list[Any]) -> list[Any]:
    return [event.payload.event for event in seen if isinstance(event, session.CoreAgentEvent)]


def finish(coroutine: Any) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(5):
            value = await coroutine
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return value

    return asyncio.run(bounded())


def test_a_session_tells_its_status_its_events_and_its_end() -> None:
    host = core()
    seen: list[Any] = []
    host.subscribe(seen.append)
    result = finish(
        host.start("go", model=Model([text("hi"), USED, end()]), session_id="s1", interactive=False, cwd="/w")
    )
    assert [event.type for event in seen if event.type not in ("agent_event", "chunk")] == [
        "session_snapshot",
        "status",
        "session_snapshot",
        "status",
        "ended",
    ]
    assert [event.payload.status for event in seen if event.type == "status"] == ["running", "completed"]
    assert [event.type for event in layer2(seen)] == [
        "iteration_start",
        "content_start",
        "usage",
        "content_end",
        "iteration_end",
        "done",
    ]
    assert seen[-1].payload.reason == "completed"
    assert (result.text, result.finish_reason, result.session_id) == ("hi", "completed", "s1")
    assert result.model == {"id": "m", "provider": "p"}
    assert result.usage == agent.LegacyAgentUsage(input_tokens=10, output_tokens=2, total_cost=0.5)
    assert result.started_at.startswith("2023-11-14T22:13:20.")
    assert host.snapshot("s1") is None
    with pytest.raises(UsageError, match="no session 's1'"):
        finish(host.send("s1", "more"))


def test_each_agent_event_is_followed_by_itself_as_a_chunk() -> None:
    host = core()
    seen: list[Any] = []
    host.subscribe(seen.append)
    finish(host.start("go", model=Model([call("echo", {"a": 1}), end()], [text("hi"), end()]), tools=[ECHO]))
    pairs = [(one, two) for one, two in itertools.pairwise(seen) if isinstance(one, session.CoreAgentEvent)]
    assert len(pairs) > 8
    for event, chunk in pairs:
        assert isinstance(chunk, session.CoreChunk)
        assert jsonio.loads(chunk.payload.chunk.encode()) == wire.to_wire(event.payload.event)


def test_one_core_serves_sessions_side_by_side_and_filters_by_session() -> None:
    host = core()
    every, only = [], []
    host.subscribe(every.append)
    host.subscribe(only.append, session_id=" b ")

    async def both() -> list[Any]:
        starts = (
            host.start("go", model=Model([0.01, text(name), 0.01, end()]), session_id=name, interactive=False)
            for name in ("a", "b")
        )
        return await asyncio.gather(*starts)

    assert [result.text for result in finish(both())] == ["a", "b"]
    assert {event.payload.session_id for event in every} == {"a", "b"}
    assert {event.payload.session_id for event in only} == {"b"}
    assert 0 < len(only) < len(every)
    with pytest.raises(UsageError, match="already"):
        finish(two_of_one_name())


async def two_of_one_name() -> None:
    host = core()
    await host.start("go", model=Model([text("a"), end()]), session_id="s")
    await host.start("go", model=Model([text("a"), end()]), session_id="s")


def test_send_goes_on_with_the_conversation_and_the_usage() -> None:
    host = core()
    model = Model([text("one"), USED, end()], [text("two"), USED, end()])

    async def talk() -> Any:
        first = await host.start("a", model=model)
        second = await host.send(first.session_id, "b")
        return second, host.usage(first.session_id), host.snapshot(first.session_id)

    second, usage, snapshot = finish(talk())
    assert [message["role"] for message in second.messages] == ["user", "assistant", "user", "assistant"]
    assert second.usage.input_tokens == 10
    assert usage["usage"] == {
        "inputTokens": 20,
        "outputTokens": 4,
        "cacheReadTokens": 0,
        "cacheWriteTokens": 0,
        "totalCost": 1.0,
    }
    assert (snapshot.status, snapshot.prompt, snapshot.ended_at) == ("idle", "a", None)


def test_prompts_wait_for_the_run_that_goes_on() -> None:
    host = core()
    seen: list[Any] = []
    host.subscribe(lambda event: seen.append(event) if event.type.startswith("pending") else None)
    model = Model([0.02, text("one"), end()], [text("two"), end()], [text("three"), end()])

    async def talk() -> list[Any]:
        first = asyncio.create_task(host.start("a", model=model, session_id="s"))
        await asyncio.sleep(0.005)
        rest = [asyncio.create_task(host.send("s", prompt)) for prompt in ("b", "c", "d")]
        await asyncio.sleep(0)
        rest.pop().cancel()
        return await asyncio.gather(first, *rest)

    assert [result.text for result in finish(talk())] == ["one", "two", "three"]
    waiting = [
        [prompt.prompt for prompt in event.payload.prompts]
        for event in seen
        if event.type == "pending_prompts"
    ]
    assert waiting == [["b"], ["b", "c"], ["b", "c", "d"], ["b", "c"], ["c"], []]
    submitted = [event.payload.prompt for event in seen if event.type == "pending_prompt_submitted"]
    assert submitted == ["b", "c"]


def test_a_fatal_error_is_told_once_the_run_is_over() -> None:
    host = core()
    seen: list[Any] = []
    host.subscribe(seen.append)
    model = Model([end("error", error="no key", error_class="auth")])
    result = finish(host.start("go", model=model, interactive=False))
    assert (result.text, result.finish_reason) == ("no key", "error")
    error = layer2(seen)[-1]
    assert (error.type, error.recoverable, error.error_class, error.iteration) == ("error", False, "auth", 1)
    assert seen[-1].payload.reason == "error"
    assert [event.payload.status for event in seen if event.type == "status"][-1] == "failed"


def test_turns_of_which_every_call_failed_are_mistakes_and_too_many_end_the_run() -> None:
    host = core()
    seen: list[Any] = []
    host.subscribe(seen.append)
    answers = [[call("fails", {"n": n}), end()] for n in range(5)]
    answers[1].insert(0, call("echo", {}, "c0"))
    result = finish(
        host.start("go", model=Model(*answers), tools=[ECHO, FAILS], mistakes=MistakeLimits(mistakes=2))
    )
    errors = [event for event in layer2(seen) if event.type == "error"]
    words = '1 tool call(s) failed: [fails] {"error":"it fell"}'
    assert [(error.error.message, error.recoverable, error.iteration) for error in errors] == [
        (words, True, 1),
        (words, True, 3),
        (words, True, 4),
    ]
    assert (result.finish_reason, result.iterations) == ("aborted", 4)
    assert [record.name for record in result.tool_calls] == ["fails", "echo", "fails", "fails", "fails"]
    assert result.tool_calls[0].error == '{"error":"it fell"}'
    assert result.tool_calls[1].error is wire.UNSET


def test_the_fifth_identical_call_in_a_row_ends_the_run() -> None:
    ran: list[Any] = []
    tool = AgentTool("look", "", OBJECT, lambda value, _: ran.append(value) or "same")
    host = core()
    seen: list[Any] = []
    host.subscribe(seen.append)
    answers = [[call("look", {"a": 1, "b": 2}, f"c{n}"), end()] for n in range(9)]
    result = finish(host.start("go", model=Model(*answers), tools=[tool]))
    assert len(ran) == 4
    assert (result.finish_reason, result.iterations) == ("aborted", 5)
    error = next(event for event in layer2(seen) if event.type == "error")
    assert (
        error.error.message == "Detected 5 consecutive identical calls to `look`; stopping to avoid a loop."
    )
    assert [event.type for event in layer2(seen)][-3:] == ["content_end", "iteration_end", "done"]


def test_abort_and_stop_end_a_session() -> None:
    host = core()
    ends: list[Any] = []
    host.subscribe(lambda event: ends.append(event.payload.reason) if event.type == "ended" else None)

    async def talk() -> list[Any]:
        model = Model([text("a"), 60.0], [text("b"), 60.0])
        first = asyncio.create_task(host.start("a", model=model, session_id="s"))
        await asyncio.sleep(0.01)
        host.abort("s", "enough")
        aborted = await first
        second = asyncio.create_task(host.send("s", "b"))
        third = asyncio.create_task(host.send("s", "c"))
        await asyncio.sleep(0.01)
        await host.stop("s")
        return [aborted, await second, *await asyncio.gather(third, return_exceptions=True)]

    aborted, stopped, refused = finish(talk())
    assert (aborted.finish_reason, stopped.finish_reason) == ("aborted", "aborted")
    assert isinstance(refused, UsageError)
    assert ends == ["stopped"]


def test_a_cancelled_start_ends_the_session_that_is_not_interactive() -> None:
    host = core()
    ends: list[Any] = []
    host.subscribe(lambda event: ends.append(event.payload.reason) if event.type == "ended" else None)

    async def talk() -> None:
        task = asyncio.create_task(host.start("a", model=Model([60.0]), session_id="s", interactive=False))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    finish(talk())
    assert ends == ["aborted"]
    assert host.snapshot("s") is None


def test_close_ends_every_session_and_the_streams() -> None:
    host = core()

    async def talk() -> list[str]:
        stream = host.bus.stream()
        await host.start("a", model=Model([text("a"), end()]), session_id="one")
        await host.start("a", model=Model([text("a"), end()]), session_id="two")
        await host.close()
        return [event.payload.reason async for event in stream if event.type == "ended"]

    assert finish(talk()) == ["disposed", "disposed"]


def test_a_listener_that_raises_for_an_agent_event_is_noted() -> None:
    def angry(event: session.CoreSessionEvent) -> None:
        if event.type == "agent_event":
            raise ValueError("no")

    report = Report()
    host = core(report=report)
    host.subscribe(angry)
    result = finish(host.start("a", model=Model([text("a"), end()])))
    assert result.text == "a"
    assert report.count("listener-raised") == 5


def test_the_hub_sees_the_same_run_with_what_its_layer_keeps() -> None:
    host = core()
    local: list[Any] = []
    host.subscribe(local.append)
    projector = SessionEventProjector(
        now_ms=lambda: 5,
        usage=host.usage,
        snapshot=lambda name: (found := host.snapshot(name)) and wire.to_wire(found),
    )
    translator = HubEventTranslator(now_ms=lambda: 6)
    remote: list[Any] = []
    host.subscribe(
        lambda event: remote.extend(
            each for envelope in projector.project(event) for each in translator.translate(envelope)
        )
    )
    model = Model([call("echo", {"a": 1}), USED, end()], [text("hi"), end()])
    finish(host.start("go", model=model, tools=[ECHO], session_id="s1", interactive=False))
    theirs = [event.type for event in layer2(remote)]
    assert theirs == [event.type for event in layer2(local)]
    assert remote[-1].payload.reason == "completed"
    assert [event.type for event in remote if event.type == "chunk"] == []


def test_messages_come_in_the_dialect_of_the_store() -> None:
    model = Model(
        [models.ModelReasoningDelta(text="hm", metadata={"signature": "sig"}), call("echo", {"a": 1}), end()],
        [models.ModelReasoningDelta(text="", redacted=True), text("hi"), USED, end()],
    )
    result = finish(core().start("go", model=model, tools=[ECHO]))
    content = [message["content"] for message in result.messages]
    assert content == [
        [{"type": "text", "text": "go"}],
        [
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "tool_use", "id": "c1", "name": "echo", "input": {"a": 1}},
        ],
        [{"type": "tool_result", "tool_use_id": "c1", "name": "echo", "content": '{"got":{"a":1}}'}],
        [{"type": "redacted_thinking", "data": ""}, {"type": "text", "text": "hi"}],
    ]
    assert [message["role"] for message in result.messages] == ["user", "assistant", "user", "assistant"]
    assert result.messages[3]["metrics"]["cost"] == 0.5
    assert jsonio.loads(wire.encode(result))["toolCalls"][0]["output"] == {"got": {"a": 1}}
