"""Goose's records in shapes that the recordings and inputs under tests/data do not have."""

from __future__ import annotations

from typing import Any

import pytest

from feeding import fed
from stenograph import detect, usage


def message(*content: Any, role: str = "assistant", name: str | None = "m1") -> dict[str, Any]:
    return {"type": "message", "message": {"id": name, "role": role, "content": list(content)}}


def text(told: str) -> dict[str, Any]:
    return {"type": "text", "text": told}


def request(tool: str, source: Any) -> dict[str, Any]:
    return {"type": "toolRequest", "id": "c1", "toolCall": {"value": {"name": tool, "arguments": source}}}


def response(**result: Any) -> dict[str, Any]:
    return {"type": "toolResponse", "id": "c1", "toolResult": {"status": "success", **result}}


@pytest.mark.parametrize(
    ("block", "answer"),
    [
        (
            {"type": "toolRequest", "toolRequest": {"id": "c1"}, "name": "shell", "input": {"cmd": "make"}},
            {"type": "toolResponse", "toolResponse": {"id": "c1", "toolResult": {"status": "success"}}},
        ),
        (
            {
                "type": "toolRequest",
                "toolCallId": "c1",
                "tool_call": {"value": {"name": "Developer__Shell"}},
                "arguments": {"script": "make"},
            },
            {"type": "toolResponse", "toolCallId": "c1", "status": "success"},
        ),
    ],
)
def test_calls_are_read_in_every_shape(block: Any, answer: Any) -> None:
    assert fed("goose", message(block), message(answer, role="user")) == [
        {"type": "command", "command": "make", "isSuccess": True}
    ]


@pytest.mark.parametrize(
    ("answer", "success"),
    [
        (response(value={"isError": True}), False),
        (response(value={"structuredContent": {"exit_code": 1}}), False),
        ({"type": "toolResponse", "id": "c1", "toolResult": {"status": "error", "error": "no"}}, False),
        ({"type": "toolResponse", "id": "c1"}, None),
    ],
)
def test_a_flag_inside_a_success_decides(answer: Any, success: bool | None) -> None:
    call = message(request("developer__edit", {"path": "/a"}))
    events = fed("goose", call, message(answer, role="user"))
    assert [event.get("isSuccess") for event in events] == [success]


def test_a_users_words_end_what_was_said_and_are_none() -> None:
    events = fed("goose", message(text("a")), message(text("b"), role="user"), message(text("c")))
    assert events == [{"type": "agent", "message": "a"}, {"type": "agent", "message": "c"}]


def test_a_thought_comes_ahead_of_the_words_it_leads_to() -> None:
    thought = {"type": "thinking", "thinking": "Hm."}
    assert fed("goose", message(thought), message(text("So.")), message(thought, name="m2")) == [
        {"type": "reasoning", "message": "Hm."},
        {"type": "agent", "message": "So."},
        {"type": "reasoning", "message": "Hm."},
    ]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ({"command": "view", "view_range": [3, -1]}, {"startLine": 3}),
        ({"cmd": "Read", "view_range": "all"}, {}),
    ],
)
def test_an_editor_may_view(source: dict[str, Any], lines: dict[str, Any]) -> None:
    call = message(request("text_editor", {**source, "path": "/a"}))
    assert fed("goose", call) == [{"type": "read", "path": "/a", **lines}]


def test_other_blocks_and_records_come_behind_what_was_said() -> None:
    confirm = {"type": "toolConfirmationRequest", "id": "c1"}
    model = {"type": "model_change", "model": "x"}
    events = fed("goose", message(text("a"), confirm), message(text("b")), model, {"type": "message"})
    assert events == [
        {"type": "agent", "message": "a"},
        {"type": "unknown", "raw": confirm},
        {"type": "agent", "message": "b"},
        {"type": "unknown", "raw": model},
        {"type": "unknown", "raw": {"type": "message"}},
    ]


@pytest.mark.parametrize(
    ("error", "told"), [("it broke", "it broke"), ({"message": "it broke"}, "it broke"), (None, "error")]
)
def test_an_error_is_found_wherever_it_stands(error: Any, told: str) -> None:
    assert fed("goose", {"type": "error", "error": error}) == [{"type": "error", "message": told}]


def test_an_end_is_enough_to_recognize_it() -> None:
    assert detect(b'{"type":"complete","total_tokens":null}') == "goose-stream"


def test_an_error_told_twice_is_given_once() -> None:
    told = message({"type": "error", "kind": "authentication", "message": "no key"})
    again, other = {"type": "error", "error": "no key"}, {"type": "error", "error": "no disk"}
    assert fed("goose", told, again, other) == [
        {"type": "error", "message": "no key"},
        {"type": "error", "message": "no disk"},
    ]


def test_zeros_are_no_usage() -> None:
    end = b'{"type":"complete","input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0}'
    (row,) = usage(end, format="goose").rows
    assert (row.tokens.total, row.gaps) == (None, ("not-told",))


def test_input_holds_what_was_cached_and_is_the_sessions() -> None:
    end = b'{"type":"complete","input_tokens":9,"output_tokens":1,"cache_read_input_tokens":4,"cost_usd":2}'
    (row,) = usage(end, format="goose").rows
    assert (row.tokens.uncached_input, row.tokens.cached_input, row.cost, row.is_running) == (5, 4, 2, True)
