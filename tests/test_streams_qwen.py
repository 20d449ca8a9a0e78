"""What the recordings of Qwen Code do not show."""

from __future__ import annotations

import json
from typing import Any

import pytest

from feeding import fed
from stenograph import NotRecognized, detect


def said(*content: Any, message: str = "m1", parent: str | None = None) -> dict[str, Any]:
    told = {"id": message, "role": "assistant", "content": list(content)}
    return {"type": "assistant", "session_id": "s", "parent_tool_use_id": parent, "message": told}


def returned(content: Any, *, failed: bool = False, call: str = "c1") -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, "is_error": failed, "content": content}
    return {"type": "user", "session_id": "s", "message": {"role": "user", "content": [block]}}


def ended(**members: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "session_id": "s", "is_error": False, **members}


def text(told: str) -> dict[str, Any]:
    return {"type": "text", "text": told}


def use(tool: str, source: Any, call: str = "c1") -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": tool, "input": source}


FAULT = "[API Error: 400 no]"
FAILED = ended(subtype="error_during_execution", is_error=True, error={"message": FAULT})
ERROR = {
    "type": "error",
    "message": f"error_during_execution: {FAULT}",
    "code": "error_during_execution",
}


def test_an_api_error_is_told_once() -> None:
    assert fed("qwen", said(text(FAULT)), FAILED) == [ERROR]


def test_an_api_error_of_another_text_is_kept() -> None:
    other = "[API Error: 500 no]"
    assert fed("qwen", said(text(other)), FAILED) == [{"type": "agent", "message": other}, ERROR]


def test_a_failed_result_without_a_text_says_its_subtype() -> None:
    assert fed("qwen", ended(subtype="error_max_turns", is_error=True)) == [
        {"type": "error", "message": "error_max_turns", "code": "error_max_turns"}
    ]


def test_texts_of_one_message_are_joined_and_a_subagents_are_its_own() -> None:
    events = fed(
        "qwen",
        said(text("a"), {"type": "thinking", "thinking": "t"}, text("b")),
        said(text("sub"), message="m2", parent="c9"),
        said(text("c")),
        said(text("d"), message="m3"),
    )
    assert [event["message"] for event in events] == ["t", "ab\n\nc", "sub", "d"]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ({"offset": 0, "limit": 2}, {"startLine": 1, "endLine": 2}),
        ({"offset": "4"}, {"startLine": 5}),
        ({"limit": 3}, {"startLine": 1, "endLine": 3}),
        ({"offset": False, "limit": 3}, {"startLine": 1, "endLine": 3}),
        ({}, {}),
    ],
)
def test_reads_count_lines_from_0(source: dict[str, Any], lines: dict[str, Any]) -> None:
    call = said(use("read_file", {"file_path": "/a", **source}))
    assert fed("qwen", call, returned("x")) == [{"type": "read", "path": "/a", **lines, "isSuccess": True}]


def test_the_exit_code_stands_in_the_sheet() -> None:
    sheet = "Command: make\nDirectory: (root)\nOutput: x\nError: (none)\nExit Code: 2\nSignal: (none)\n"
    call = said(use("run_shell_command", {"command": "make", "directory": "/w/lib"}))
    made = {"type": "command", "command": "make", "workingDirectory": "/w/lib"}
    assert fed("qwen", call, returned(sheet, failed=True)) == [{**made, "exitCode": 2, "isSuccess": False}]
    assert fed("qwen", call, returned([text(sheet)])) == [{**made, "exitCode": 2, "isSuccess": True}]
    for output in ("\\nExit Code: 1\\nSignal: ", "\nExit Code: 1\n", "\x00", "\\\nExit Code: x"):
        told = fed("qwen", call, returned(sheet.replace("t: x", f"t: {output}"), failed=True))
        assert told == [{**made, "exitCode": 2, "isSuccess": False}], output
    first = sheet.replace("t: x", "t: \nExit Code: 7\nSignal: ")
    assert fed("qwen", call, returned(first, failed=True)) == [{**made, "exitCode": 7, "isSuccess": False}]
    assert fed("qwen", call, returned("\nExit Code: 2\nSignal: ")) == [{**made, "isSuccess": True}]


def test_the_structured_answer_is_the_answer() -> None:
    call = said(use("structured_output", {"n": 1}))
    assert fed("qwen", call, returned("ok"), ended(structured_result={"n": 1})) == [
        {"type": "agent", "message": '{"n":1}'}
    ]


def test_running_totals_are_told_as_each_turns_own() -> None:
    totals = [
        {"input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 60},
        {"input_tokens": 250, "output_tokens": 30, "cache_read_input_tokens": 160},
        {"input_tokens": 250, "output_tokens": 30, "cache_read_input_tokens": 160},
    ]
    assert [event["tokens"] for event in fed("qwen", *(ended(usage=usage) for usage in totals))] == [
        {"uncachedInput": 40, "cachedInput": 60, "output": 10, "reasoning": None},
        {"uncachedInput": 50, "cachedInput": 100, "output": 20, "reasoning": None},
    ]


def test_what_lacks_its_members_is_unknown() -> None:
    block = {"type": "tool_use", "id": "c1", "input": {}}
    odd = {"type": "system", "subtype": "news", "session_id": "s"}
    silent = said(use("todo_write", {}))
    assert fed("qwen", odd, said(block), silent, returned("ok"), returned("ok", call="c2")) == [
        {"type": "unknown", "raw": odd},
        {"type": "unknown", "raw": block},
        {"type": "unknown", "raw": returned("ok", call="c2")["message"]["content"][0]},
    ]


def test_results_alone_may_be_claudes_or_qwens() -> None:
    line = json.dumps({**returned("ok"), "uuid": "u"}).encode()
    with pytest.raises(NotRecognized, match="claude-stream or qwen-stream"):
        detect(line)
