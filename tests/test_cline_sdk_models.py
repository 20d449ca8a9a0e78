"""The ready models against a local HTTP server: what they send and make of the stream, and its faults."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from scripted_model import OBJECT
from sse_server import Server, serving
from stenograph.agents.cline import models, runtime, wire
from stenograph.agents.cline.anthropic_api import AnthropicModel
from stenograph.agents.cline.loop import Agent
from stenograph.agents.cline.models import TokenPrices
from stenograph.agents.cline.openai_api import OpenAIModel
from stenograph.agents.cline.state import Limits
from stenograph.agents.cline.tools import AgentTool
from stenograph.errors import MissingExtra

PRICES = TokenPrices(input=2.0, output=10.0, cache_read=0.5, cache_write=4.0)
ECHO = AgentTool("echo", "says it again", OBJECT, lambda value, _: {"got": value})
DETAILS = {
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 7},
}
QUICK = Limits(retry_delay_s=0.001)


def chunk(delta: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    finish = more.pop("finish_reason", None)
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {
        "id": "x",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": choices,
        **more,
    }


def used(prompt: int, completion: int, **more: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return chunk(usage={**usage, **more})


def call_piece(index: int, text: str, **more: Any) -> dict[str, Any]:
    name = more.pop("name", None)
    function = {"arguments": text, **({"name": name} if name else {})}
    return {"tool_calls": [{"index": index, "type": "function", "function": function, **more}]}


async def ask(model: Any, prompt: str = "go", **more: Any) -> tuple[runtime.AgentRunResult, list[Any]]:
    seen: list[Any] = []
    async with model, asyncio.timeout(10):
        agent = Agent(model=model, limits=QUICK, **more)
        agent.subscribe(seen.append)
        result = await agent.run(prompt)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return result, seen


def openai(server: Server, **more: Any) -> OpenAIModel:
    return OpenAIModel("some-model", base_url=f"{server.url}/v1", api_key="k", **more)


def claude(server: Server, **more: Any) -> AnthropicModel:
    return AnthropicModel("some-model", base_url=server.url, api_key="k", **more)


def test_openai_a_turn_with_tools_and_one_with_words() -> None:
    first = [
        chunk({"role": "assistant", "content": "", "reasoning_content": "let me "}),
        chunk({"reasoning_content": "see"}),
        chunk({"content": "I "}),
        chunk({"content": "look"}),
        chunk(call_piece(0, "", id="call_1", name="echo")),
        chunk(call_piece(0, '{"a":')),
        chunk(call_piece(1, '{"b": 2}', id="call_2", name="echo")),
        chunk(call_piece(0, "[1]}")),
        chunk({}, finish_reason="tool_calls"),
        used(
            100,
            20,
            prompt_tokens_details={"cached_tokens": 40},
            completion_tokens_details={"reasoning_tokens": 7},
        ),
        "[DONE]",
    ]
    second = [chunk({"content": "done"}, finish_reason="stop"), used(150, 5), "[DONE]"]
    with serving((200, first), (200, second)) as server:
        model = openai(server, prices=PRICES, options={"temperature": 0})
        result, seen = asyncio.run(ask(model, tools=[ECHO], system_prompt="be brief"))
    assert (result.status, result.output_text) == ("completed", "done")
    deltas = ["assistant-reasoning-delta"] * 2 + ["assistant-text-delta"] * 2
    assert [event.type for event in seen][3:9] == [*deltas, "usage-updated", "message-added"]
    cost = (60 * 2.0 + 40 * 0.5 + 20 * 10.0 + 150 * 2.0 + 5 * 10.0) / 1_000_000
    assert result.usage.total_cost == pytest.approx(cost)
    assert wire.to_wire(result.usage) | {"totalCost": 0} == {
        "inputTokens": 250,
        "outputTokens": 25,
        "cacheReadTokens": 40,
        "cacheWriteTokens": 0,
        "reasoningTokenCount": 7,
        "totalCost": 0,
    }
    sent = server.requests[1]
    assert (sent["model"], sent["temperature"], sent["stream_options"]) == (
        "some-model",
        0,
        {"include_usage": True},
    )
    assert sent["tools"][0]["function"] == {
        "name": "echo",
        "description": "says it again",
        "parameters": OBJECT,
    }
    assert sent["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": "I look",
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "echo", "arguments": '{"a":[1]}'}},
                {"id": "call_2", "type": "function", "function": {"name": "echo", "arguments": '{"b":2}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": '{"got":{"a":[1]}}'},
        {"role": "tool", "tool_call_id": "call_2", "content": '{"got":{"b":2}}'},
    ]


def test_openai_cut_off_and_filtered_answers() -> None:
    cut = [chunk({"content": "long"}, finish_reason="length"), "[DONE]"]
    rest = [chunk({"content": "rest"}, finish_reason="stop"), "[DONE]"]
    with serving((200, cut), (200, rest)) as server:
        result, _ = asyncio.run(ask(openai(server)))
    assert (result.output_text, len(result.messages)) == ("rest", 4)
    with serving((200, [chunk({}, finish_reason="content_filter"), "[DONE]"])) as server:
        result, _ = asyncio.run(ask(openai(server)))
    assert result.error.message == "the provider filtered the answer"


@pytest.mark.parametrize("make", [openai, claude])
def test_faults_of_the_server_fail_the_run_or_are_tried_again(make: Any) -> None:
    error = {"type": "error", "error": {"type": "some_error", "message": "prompt is too long"}}
    with serving((401, [error])) as server:
        result, seen = asyncio.run(ask(make(server)))
    assert (result.status, seen[-1].error_class) == ("failed", "auth")
    with serving((400, [error])) as server:
        result, seen = asyncio.run(ask(make(server)))
    assert (result.status, seen[-1].error_class) == ("failed", "context_window_exceeded")
    assert "prompt is too long" in result.error.message
    with serving(*[(529, [error])] * 9) as server:
        result, seen = asyncio.run(ask(make(server)))
    assert (result.status, len(server.requests)) == ("failed", 4)
    assert [event.metadata["attempt"] for event in seen if event.type == "status-notice"] == [1, 2, 3]


@pytest.mark.parametrize("make", [openai, claude])
def test_no_server_at_all_is_tried_again(make: Any) -> None:
    with serving() as server:
        pass
    result, seen = asyncio.run(ask(make(server)))
    assert result.status == "failed"
    assert [event.type for event in seen].count("status-notice") == 3


@pytest.mark.parametrize("make", [openai, claude])
def test_cancelling_lets_go_of_the_connection(make: Any) -> None:
    async def cancel() -> None:
        async with make(server) as model:
            task = asyncio.create_task(Agent(model=model).run("go"))
            while not server.requests:
                await asyncio.sleep(0.005)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    with serving((200, [0.3, "{}"])) as server:
        asyncio.run(cancel())


def begun(**usage: Any) -> dict[str, Any]:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    return {"type": "message_start", "message": message}


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    opened = {"type": "content_block_start", "index": index, "content_block": start}
    pieces = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [opened, *pieces, {"type": "content_block_stop", "index": index}]


def ended(reason: str, output_tokens: int) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": output_tokens}},
        {"type": "message_stop"},
    ]


def thinking(index: int, words: str, signature: str) -> list[dict[str, Any]]:
    return block(
        index,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": words},
        {"type": "signature_delta", "signature": signature},
    )


def tool_result(call_id: str, content: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": False}


def test_anthropic_a_turn_with_thinking_and_tools_and_one_with_words() -> None:
    first = [
        begun(input_tokens=10, output_tokens=1, cache_read_input_tokens=30, cache_creation_input_tokens=20),
        *thinking(0, "hm", "sig1"),
        *thinking(1, "so", "sig2"),
        *block(2, {"type": "redacted_thinking", "data": "xyz"}),
        *block(3, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I look"}),
        *block(
            4,
            {"type": "tool_use", "id": "toolu_1", "name": "echo", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"a":'},
            {"type": "input_json_delta", "partial_json": "[1]}"},
        ),
        *block(5, {"type": "tool_use", "id": "toolu_2", "name": "echo", "input": {}}),
        *ended("tool_use", 40),
    ]
    second = [
        begun(input_tokens=100, output_tokens=1),
        *block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}),
        *ended("end_turn", 5),
    ]
    with serving((200, first), (200, second)) as server:
        model = claude(server, prices=PRICES, max_tokens=100)
        result, _ = asyncio.run(ask(model, tools=[ECHO], system_prompt="be brief"))
    assert (result.status, result.output_text) == ("completed", "done")
    assert (result.usage.input_tokens, result.usage.output_tokens) == (160, 45)
    assert (result.usage.cache_read_tokens, result.usage.cache_write_tokens) == (30, 20)
    cost = (10 * 2.0 + 30 * 0.5 + 20 * 4.0 + 40 * 10.0 + 100 * 2.0 + 5 * 10.0) / 1_000_000
    assert result.usage.total_cost == pytest.approx(cost)
    sent = server.requests[1]
    assert (sent["max_tokens"], sent["system"], sent["stream"]) == (100, "be brief", True)
    assert sent["tools"] == [{"name": "echo", "description": "says it again", "input_schema": OBJECT}]
    assert sent["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig1"},
                {"type": "thinking", "thinking": "so", "signature": "sig2"},
                {"type": "redacted_thinking", "data": "xyz"},
                {"type": "text", "text": "I look"},
                {"type": "tool_use", "id": "toolu_1", "name": "echo", "input": {"a": [1]}},
                {"type": "tool_use", "id": "toolu_2", "name": "echo", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": '{"got":{"a":[1]}}',
                    "is_error": False,
                },
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": '{"got":{}}', "is_error": False},
            ],
        },
    ]


@pytest.mark.parametrize(
    ("reason", "message", "error_class"),
    [
        ("refusal", "the model refused to answer", "unknown"),
        (
            "model_context_window_exceeded",
            "The conversation is too long for the model: the context window is full",
            "context_window_exceeded",
        ),
    ],
)
def test_anthropic_answers_that_are_none(reason: str, message: str, error_class: str) -> None:
    with serving((200, [begun(input_tokens=1, output_tokens=1), *ended(reason, 1)])) as server:
        result, seen = asyncio.run(ask(claude(server)))
    assert (result.error.message, seen[-1].error_class) == (message, error_class)


def test_anthropic_an_error_in_mid_stream() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    words = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "half"})
    with serving((200, [begun(input_tokens=1, output_tokens=1), *words, error])) as server:
        result, _ = asyncio.run(ask(claude(server)))
    assert (result.status, result.output_text) == ("failed", "half")
    assert "busy" in result.error.message


def test_pictures_and_files_are_given_to_the_model() -> None:
    message = runtime.AgentMessage(
        id="m",
        role="user",
        created_at=0,
        content=[
            runtime.AgentTextPart(text="look"),
            runtime.AgentFilePart(path="a.txt", content="x"),
            runtime.AgentImagePart(image="AAAA", media_type="image/gif"),
        ],
    )
    with serving((200, [chunk({"content": "ok"}, finish_reason="stop"), "[DONE]"])) as server:
        asyncio.run(ask(openai(server), message))
    assert server.requests[0]["messages"][0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "text", "text": "a.txt:\nx"},
        {"type": "image_url", "image_url": {"url": "data:image/gif;base64,AAAA"}},
    ]
    words = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "ok"})
    with serving((200, [begun(input_tokens=1, output_tokens=1), *words, *ended("end_turn", 1)])) as server:
        asyncio.run(ask(claude(server), message))
    source = {"type": "base64", "media_type": "image/gif", "data": "AAAA"}
    assert server.requests[0]["messages"][0]["content"][2] == {"type": "image", "source": source}


@pytest.mark.parametrize(("library", "make"), [("openai", OpenAIModel), ("anthropic", AnthropicModel)])
def test_the_missing_library_is_named(library: str, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=rf"pip install 'stenograph\[{library}\]'"):
        make("some-model")


def test_usage_without_prices_has_no_cost() -> None:
    assert "totalCost" not in models.to_usage(sent=1, made=2).usage
