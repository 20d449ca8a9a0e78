"""What the recordings of OpenCode and Kilo do not show."""

from __future__ import annotations

from typing import Any

import pytest

from feeding import fed


def call(tool: str, source: Any, *, status: str = "completed", **state: Any) -> dict[str, Any]:
    part = {"tool": tool, "callID": "call_1", "state": {"status": status, "input": source, **state}}
    return {"type": "tool_use", "sessionID": "ses_1", "part": part}


def test_a_read_of_1_0_counts_lines_from_0() -> None:
    old = call("read", {"filePath": "/a.py", "offset": 0, "limit": 2}, output="<file>\n00001| x\n</file>")
    assert fed("opencode", old) == [
        {"type": "read", "path": "/a.py", "startLine": 1, "endLine": 2, "isSuccess": True}
    ]


def test_a_command_may_run_in_a_folder_of_its_own() -> None:
    told = call("bash", {"command": "make", "workdir": "lib"}, metadata={"exit": 2})
    assert fed("opencode", told, cwd="/home/dev/app") == [
        {
            "type": "command",
            "command": "make",
            "workingDirectory": "/home/dev/app/lib",
            "exitCode": 2,
            "isSuccess": False,
        }
    ]


def test_the_exit_status_of_another_tool_decides_nothing() -> None:
    assert fed("opencode", call("write", {"filePath": "/a"}, metadata={"exit": 1})) == [
        {"type": "write", "path": "/a", "isSuccess": True}
    ]


@pytest.mark.parametrize("name", ["patch", "apply_patch", "Apply_Patch"])
def test_a_patch_writes_each_file_that_it_names(name: str) -> None:
    body = "*** Begin Patch\n*** Add File: a.py\n+x\n*** Delete File: b.py\n*** End Patch"
    assert fed("opencode", call(name, {"patchText": body}), cwd="/w") == [
        {"type": "write", "path": "/w/a.py", "isSuccess": True},
        {"type": "write", "path": "/w/b.py", "isSuccess": True},
    ]


def test_a_skill_lies_in_its_real_folder() -> None:
    told = call("skill", {"name": "greet"}, metadata={"name": "greet", "dir": "/w/.opencode/skill/greet"})
    assert fed("opencode", told) == [
        {
            "type": "skill",
            "path": "/w/.opencode/skill/greet/SKILL.md",
            "skillName": "greet",
            "isSuccess": True,
        }
    ]


def test_a_subagent_that_fails_has_only_failed() -> None:
    told = call("task", {"description": "Inspect", "subagent_type": "general"}, status="error")
    assert fed("opencode", told) == [
        {
            "type": "orchestration",
            "action": "subagent_failed",
            "subagentName": "Inspect",
            "isSuccess": False,
        }
    ]


def test_a_subagent_that_nobody_names_is_unknown() -> None:
    told = call("task", {"prompt": "look"})
    assert fed("opencode", told) == [{"type": "unknown", "raw": told}]


def test_a_background_process_is_a_command_when_it_has_one() -> None:
    told = (
        call("background_process", {"command": "npm start"}),
        call("background_process", {"action": "list"}),
    )
    assert fed("kilo", *told) == [{"type": "command", "command": "npm start", "isSuccess": True}]


def test_only_kilo_searches_code() -> None:
    told = call("codesearch", {"query": "greet"})
    assert fed("kilo", told) == [{"type": "search", "query": "greet", "isSuccess": True}]
    assert fed("opencode", told) == [{"type": "unknown", "raw": told}]


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        ({"name": "E", "data": {"message": "bad key", "statusCode": 401}}, "E, 401: bad key", "E"),
        ({"name": "UnknownError", "data": {}}, "UnknownError", "UnknownError"),
        ({"message": "no model"}, "no model", None),
        ("it broke", "it broke", None),
        ({"odd": [1]}, '{"odd":[1]}', None),
        ({}, "error", None),
    ],
)
def test_an_error_says_all_that_it_knows(error: Any, message: str, code: str | None) -> None:
    told = {"type": "error", "sessionID": "ses_1", "error": error}
    expected = {"type": "error", "message": message} | ({"code": code} if code else {})
    assert fed("opencode", told) == [expected]


def test_cache_writes_are_fresh_input_and_an_empty_step_is_no_usage() -> None:
    tokens = {"input": 5, "output": 7, "reasoning": 0, "cache": {"read": 3, "write": 2}}
    nothing = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    steps = [{"type": "step_finish", "part": {"tokens": each, "cost": 0}} for each in (tokens, nothing)]
    assert fed("opencode", *steps) == [
        {
            "type": "usage",
            "tokens": {"uncachedInput": 7, "cachedInput": 3, "output": 7, "reasoning": 0},
            "cost": 0,
        }
    ]
