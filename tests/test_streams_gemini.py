"""What the recordings of Gemini CLI do not show."""

from __future__ import annotations

from typing import Any

import pytest

from feeding import fed


def piece(content: Any, **members: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": content, "delta": True, **members}


def called(tool: str, parameters: Any) -> dict[str, Any]:
    return {"type": "tool_use", "tool_name": tool, "tool_id": "t1", "parameters": parameters}


def returned(**members: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_id": "t1", "status": "success", **members}


SHELL = called("run_shell_command", {"command": "make"})


def test_pieces_are_joined_with_nothing_between() -> None:
    whole = piece("Whole.", delta=False)
    assert fed("gemini", piece("Hel"), "a line of text", piece("lo."), whole, piece("Next.")) == [
        {"type": "warning", "message": "a line of text"},
        {"type": "agent", "message": "Hello."},
        {"type": "agent", "message": "Whole."},
        {"type": "agent", "message": "Next."},
    ]


def test_a_call_ends_the_answer_ahead_of_it() -> None:
    events = fed("gemini", piece("I "), piece("look."), SHELL, piece("Done."), returned(output="x"))
    assert [event["type"] for event in events] == ["agent", "agent", "command"]


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (returned(output="some lines"), {}),
        (returned(output=""), {"isSuccess": True}),
        (returned(), {"isSuccess": True}),
        (returned(output="Command exited with code: 2"), {"exitCode": 2, "isSuccess": False}),
        (returned(output="so\nCommand exited with code: 2"), {}),
        (returned(status="error", output="denied"), {"isSuccess": False}),
        (returned(status="odd"), {}),
    ],
)
def test_a_commands_success_is_what_is_known_of_it(result: dict[str, Any], told: dict[str, Any]) -> None:
    assert fed("gemini", SHELL, result) == [{"type": "command", "command": "make", **told}]


@pytest.mark.parametrize(
    ("parameters", "lines"),
    [
        ({"start_line": 5, "end_line": 7}, {"startLine": 5, "endLine": 7}),
        ({"start_line": 5}, {"startLine": 5}),
        ({"offset": 4, "limit": 3}, {"startLine": 5, "endLine": 7}),
        ({"offset": 0, "limit": 3}, {"startLine": 1, "endLine": 3}),
    ],
)
def test_older_reads_count_lines_from_0(parameters: dict[str, Any], lines: dict[str, Any]) -> None:
    events = fed("gemini", called("read_file", {"absolute_path": "/a", **parameters}), returned())
    assert events == [{"type": "read", "path": "/a", **lines, "isSuccess": True}]


def test_a_folder_that_a_call_names_is_told() -> None:
    there = called("run_shell_command", {"command": "make", "dir_path": "lib"})
    assert fed("gemini", there, returned(), cwd="/w") == [
        {"type": "command", "command": "make", "workingDirectory": "/w/lib", "isSuccess": True}
    ]


def test_a_subagent_that_fails_has_started_and_failed() -> None:
    call = called("invoke_agent", {"agent_name": "generalist", "prompt": "look"})
    assert [event["action"] for event in fed("gemini", call, returned(status="error"))] == [
        "subagent_started",
        "subagent_failed",
    ]
    assert [event["action"] for event in fed("gemini", call)] == ["subagent_started"]


def test_an_error_is_told_once_and_a_warning_is_none() -> None:
    error = {"type": "error", "severity": "error", "message": "it broke"}
    warning = {"type": "error", "severity": "warning", "message": "loop"}
    same = {"type": "result", "status": "error", "error": {"type": "Error", "message": "it broke"}}
    other = {"type": "result", "status": "error", "error": {"type": "FatalError", "message": "no"}}
    bare = {"type": "result", "status": "error"}
    once = [{"type": "error", "message": "it broke"}]
    assert fed("gemini", error, same) == once
    assert fed("gemini", error, bare) == once
    assert fed("gemini", error, other) == [
        *once,
        {"type": "error", "message": "FatalError: no", "code": "FatalError"},
    ]
    assert fed("gemini", warning, bare) == [
        {"type": "warning", "message": "loop"},
        {"type": "error", "message": "error"},
    ]


def test_what_lacks_its_members_is_unknown() -> None:
    odd = [piece(["x"]), called("read_file", {}), {"type": "tool_use", "tool_id": "t2"}, {"type": "news"}]
    assert [event["type"] for event in fed("gemini", *odd)] == ["unknown"] * 4
