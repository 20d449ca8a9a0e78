"""What the recordings of Pi do not show."""

from __future__ import annotations

from typing import Any

import pytest

from feeding import fed


def end(content: Any = (), **members: Any) -> dict[str, Any]:
    return {"type": "message_end", "message": {"role": "assistant", "content": content, **members}}


def called(tool: str, args: Any, call: str = "c1") -> dict[str, Any]:
    return {"type": "tool_execution_start", "toolCallId": call, "toolName": tool, "args": args}


def returned(call: str = "c1", **members: Any) -> dict[str, Any]:
    return {"type": "tool_execution_end", "toolCallId": call, **members}


def output(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


BROKEN = end(stopReason="error", errorMessage="529 overloaded")
RETRY = {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "errorMessage": "529 overloaded"}
WORD = {"type": "warning", "message": "api retry 1 of 3: 529 overloaded"}


def test_a_failure_that_is_tried_again_is_a_warning() -> None:
    good = end([{"type": "text", "text": "Hi."}], stopReason="stop")
    over = {"type": "auto_retry_end", "success": True, "attempt": 1}
    events = fed("pi", BROKEN, {"type": "turn_end"}, {"type": "agent_end"}, RETRY, good, over)
    assert events == [WORD, {"type": "agent", "message": "Hi."}]


def test_a_retry_that_is_given_up_is_an_error() -> None:
    over = {"type": "auto_retry_end", "success": False, "attempt": 1, "finalError": "Retry cancelled"}
    assert fed("pi", BROKEN, RETRY, over) == [WORD, {"type": "error", "message": "Retry cancelled"}]


def test_a_failure_comes_ahead_of_what_follows_it() -> None:
    assert fed("pi", BROKEN, {"type": "news"}) == [
        {"type": "error", "message": "529 overloaded"},
        {"type": "unknown", "raw": {"type": "news"}},
    ]


@pytest.mark.parametrize(
    ("members", "event"),
    [
        ({"stopReason": "length"}, {"type": "error", "message": "length", "code": "length"}),
        ({"stopReason": "aborted"}, {"type": "warning", "message": "aborted"}),
        ({"stopReason": "error"}, {"type": "error", "message": "error"}),
    ],
)
def test_an_answer_that_did_not_end_well_is_told(members: dict[str, Any], event: dict[str, Any]) -> None:
    assert fed("pi", end(**members)) == [event]


def test_thoughts_and_texts_are_joined_each_without_anything_between() -> None:
    parts = [
        {"type": "text", "text": "a"},
        {"type": "thinking", "thinking": "b"},
        {"type": "toolCall", "id": "c1", "name": "ls", "arguments": {}},
        {"type": "text", "text": "c"},
    ]
    assert fed("pi", end(parts)) == [
        {"type": "reasoning", "message": "b"},
        {"type": "agent", "message": "ac"},
    ]
    assert fed("pi", end("plain")) == [{"type": "agent", "message": "plain"}]


@pytest.mark.parametrize(
    ("members", "success"),
    [
        ({"isError": True, "result": {}}, False),
        ({"error": "no"}, False),
        ({"error": None, "result": None}, True),
        ({"status": "completed"}, True),
        ({"state": "failed"}, False),
        ({}, None),
    ],
)
def test_the_first_word_on_success_counts(members: dict[str, Any], success: bool | None) -> None:
    events = fed("pi", called("Write", {"path": "a.py"}), returned(**members))
    assert [event.get("isSuccess") for event in events] == [success]


@pytest.mark.parametrize(
    ("tool", "args", "event"),
    [
        ("ls", {}, {"type": "list"}),
        ("find", {"pattern": "*.py", "path": "src"}, {"type": "search", "query": "*.py", "path": "src"}),
        ("edit", {"path": "a.py", "edits": []}, {"type": "write", "path": "a.py"}),
    ],
)
def test_each_tool_gives_its_event(tool: str, args: Any, event: dict[str, Any]) -> None:
    events = fed("pi", called(tool, args), returned(isError=False))
    assert events == [{**event, "isSuccess": True}]


def test_only_a_failed_commands_last_line_is_its_exit_code() -> None:
    text = output("Command exited with code 3")
    shell = called("bash", {"command": "make"})
    assert fed("pi", shell, returned(result=text, isError=False)) == [
        {"type": "command", "command": "make", "isSuccess": True}
    ]
    assert fed("pi", shell, returned(result=text, isError=True)) == [
        {"type": "command", "command": "make", "exitCode": 3, "isSuccess": False}
    ]


def test_another_tool_is_one_unknown_with_call_and_result() -> None:
    call, result = called("fetch", {"url": "http://a"}), returned(isError=False)
    assert fed("pi", call, result) == [{"type": "unknown", "raw": {"tool_use": call, "tool_result": result}}]


def test_a_result_without_its_call_is_unknown() -> None:
    assert fed("pi", returned(isError=False)) == [{"type": "unknown", "raw": returned(isError=False)}]
