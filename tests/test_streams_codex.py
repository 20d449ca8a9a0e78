"""What the recordings of Codex do not show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from feeding import fed
from stenograph import EventParser, detect, shell


def item(kind: str, *, end: bool = True, **members: Any) -> dict[str, Any]:
    told = {"id": "item_0", "type": kind, **members}
    return {"type": "item.completed" if end else "item.started", "item": told}


def collab(tool: str, *, end: bool = True, **members: Any) -> dict[str, Any]:
    return item("collab_tool_call", end=end, tool=tool, **{"status": "completed", **members})


def test_a_declined_command_is_unsuccessful() -> None:
    told = item("command_execution", command="rm -r x", exit_code=None, status="declined")
    assert fed("codex", told) == [{"type": "command", "command": "rm -r x", "isSuccess": False}]


def test_a_command_without_an_exit_code_does_not_say() -> None:
    told = item("command_execution", command="make", status="completed")
    assert fed("codex", told) == [{"type": "command", "command": "make"}]


def test_a_command_is_taken_even_when_empty() -> None:
    told = item("command_execution", command="", exit_code=0)
    assert fed("codex", told) == [{"type": "command", "command": "", "exitCode": 0, "isSuccess": True}]


def test_an_item_that_lacks_what_it_needs_is_unknown() -> None:
    told = [item("command_execution", exit_code=0), item("file_change", changes=[]), item("agent_message")]
    assert fed("codex", *told) == [{"type": "unknown", "raw": each["item"]} for each in told]


def test_an_end_that_lacks_the_command_takes_the_one_of_the_start() -> None:
    told = item("command_execution", end=False, command="make"), item("command_execution", exit_code=2)
    assert fed("codex", *told) == [{"type": "command", "command": "make", "exitCode": 2, "isSuccess": False}]


def test_changed_files_lie_in_the_workspace_that_the_caller_names() -> None:
    told = item("file_change", changes=[{"path": "src/../a.py", "kind": "add"}, {"kind": "add"}])
    assert fed("codex", told, cwd="/home/dev/app") == [
        {"type": "write", "path": "/home/dev/app/a.py", "isSuccess": True}
    ]


def test_an_empty_message_is_nothing() -> None:
    assert fed("codex", item("agent_message", text=""), item("reasoning", text="")) == []


def test_of_two_equal_failures_the_first_stands_within_a_turn() -> None:
    failed = {"type": "turn.failed", "error": {"message": "it broke"}}
    error = {"type": "error", "message": "it broke"}
    once = [{"type": "error", "message": "it broke"}]
    assert fed("codex", error, failed) == once
    assert fed("codex", failed, error) == once
    assert fed("codex", error, {"type": "turn.started"}, failed) == once * 2


def test_an_unlike_failure_is_told_as_well() -> None:
    events = fed("codex", {"type": "error", "message": "a"}, {"type": "turn.failed", "error": "b"})
    assert [event["message"] for event in events] == ["a", "b"]


def test_a_subagent_that_errs_has_failed_once() -> None:
    spawn = collab("spawn_agent", receiver_thread_ids=["t1"], agents_states={"t1": {"status": "running"}})
    wait = collab("wait", receiver_thread_ids=["t1"], agents_states={"t1": {"status": "errored"}})
    close = collab("close_agent", agents_states={"t1": {"status": "completed"}})
    assert fed("codex", spawn, wait, close) == [
        {"type": "orchestration", "action": "subagent_started", "subagentId": "t1"},
        {"type": "orchestration", "action": "subagent_failed", "subagentId": "t1", "isSuccess": False},
    ]


def test_a_subagent_that_could_not_be_started_has_only_failed() -> None:
    assert fed("codex", collab("spawn_agent", status="failed", receiver_thread_ids=[])) == [
        {"type": "orchestration", "action": "subagent_failed", "isSuccess": False}
    ]


def test_a_subagent_whose_start_was_cut_off_has_started() -> None:
    cut = collab("spawn_agent", end=False, status="in_progress"), collab("wait", end=False)
    assert fed("codex", *cut) == [{"type": "orchestration", "action": "subagent_started"}]


def test_the_wait_for_standard_input_is_no_warning() -> None:
    events = fed("codex", stderr="Reading additional input from stdin...\nnot logged in\n", exit_code=1)
    assert events == [
        {"type": "warning", "message": "not logged in"},
        {"type": "error", "message": "exit code 1\nnot logged in"},
    ]


def test_a_later_thread_takes_the_place_of_an_earlier() -> None:
    parser = EventParser("codex")
    for name in ("t1", "t2"):
        parser.feed(f'{{"type":"thread.started","thread_id":"{name}"}}\n')
    assert parser.session_id == "t2"


def test_a_whole_record_behind_a_torn_one_counts() -> None:
    torn = '{"type":"item.completed","item":{"id":"item_0","ty'
    assert fed("codex", torn + '{"type":"turn.completed","usage":{"input_tokens":3}}') == [
        {
            "type": "usage",
            "tokens": {"uncachedInput": 3, "cachedInput": None, "output": None, "reasoning": None},
        },
        {"type": "warning", "message": torn},
    ]


@pytest.mark.parametrize("line", ['{"id":"0","msg":{"type":"task_started"}}', '{"type":"turn.started"}'])
def test_all_schemas_are_recognized(line: str) -> None:
    assert detect(line.encode()) == "codex-exec"


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_script_is_read_as_the_login_shell_around_it_is(quote: str) -> None:
    """What Codex puts around commands is taken off ahead of the general rules, which look through it too."""
    tables = sorted((Path(__file__).parent / "data" / "shell").glob("*.jsonl"))
    rows = [json.loads(row) for table in tables for row in table.read_text("utf-8").splitlines()]
    scripts = [row["command"] if isinstance(row, dict) else row for row in rows]
    for command in (f"/bin/bash -lc {quote}{script}{quote}" for script in scripts):
        told = fed("codex", item("command_execution", command=command, exit_code=0, status="completed"))
        kinds = [operation.kind for operation in shell.classify(command, ok=True)]
        paths = [operation.path for operation in shell.classify(command, ok=True)]
        assert [event["type"] for event in told] == kinds
        assert [event.get("path") for event in told] == paths
        assert all(event["command"] == command for event in told if event["type"] == "command")
