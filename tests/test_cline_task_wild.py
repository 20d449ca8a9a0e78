"""Inputs that repeat oddities of published files, each with plain facts that a correct reader tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stenograph.agents.cline.task import Task, find_sessions, names, parse_xml_tools, read_task
from stenograph.agents.cline.types import Block
from taskdirs import DATA, TASKDIRS, task_path


def load(name: str, tmp_path: Path) -> Task:
    return read_task(task_path(TASKDIRS[name], tmp_path))


def expected(fact: str) -> list[Any]:
    """The cases that state a fact."""
    return [
        pytest.param(name, case["expect"][fact], id=name)
        for name, case in TASKDIRS.items()
        if fact in case["expect"]
    ]


def blocks(task: Task) -> list[Block]:
    return [block for message in task.api.elements for block in message.content.blocks]


def said_by_the_model(task: Task) -> str:
    return "".join(
        block.text
        for message in task.api.elements
        if message.role == "assistant"
        for block in message.content.blocks
    )


@pytest.mark.parametrize(("name", "count"), expected("api_messages"))
def test_api_messages(name: str, count: int, tmp_path: Path) -> None:
    assert len(load(name, tmp_path).api.elements) == count


@pytest.mark.parametrize(("name", "count"), expected("ui_messages"))
def test_ui_messages(name: str, count: int, tmp_path: Path) -> None:
    assert len(load(name, tmp_path).ui.elements) == count


@pytest.mark.parametrize(("name", "faults"), expected("faults"))
def test_faults(name: str, faults: Any, tmp_path: Path) -> None:
    task = load(name, tmp_path)
    found = {array.name: 1 for array in (task.api, task.ui, task.context) if array.error}
    assert found == (faults or {})


@pytest.mark.parametrize(("name", "variant"), expected("variant"))
def test_variant_by_name(name: str, variant: str, tmp_path: Path) -> None:
    task = load(name, tmp_path)
    assert (task.variant, task.variant_by, task.guessed) == (variant, "storage directory name", False)


@pytest.mark.parametrize(("name", "tools"), expected("xml_tools"))
def test_xml_tools(name: str, tools: list[str], tmp_path: Path) -> None:
    assert names(parse_xml_tools(said_by_the_model(load(name, tmp_path)))) == tools


@pytest.mark.parametrize("name", TASKDIRS)
def test_the_task_is_found_by_its_main_file(name: str, tmp_path: Path) -> None:
    folder = task_path(TASKDIRS[name], tmp_path)
    (found,) = find_sessions(folder.parent.parent)
    assert Path(found).parent == folder


def test_nothing_is_invented_for_a_character_cut_in_two(tmp_path: Path) -> None:
    task = load("api-cut-inside-character-ui-stale-tail", tmp_path)
    assert task.api.error == "cut short at byte 372"
    assert task.ui.error == "106 bytes behind the end of the array at byte 176"
    assert not any("\ufffd" in block.text for block in blocks(task))


def test_failures_nest_json_in_json(tmp_path: Path) -> None:
    task = load("classic-failures-and-retries", tmp_path)
    infos = [info for message in task.ui.elements if (info := message.req_info)]
    assert len(infos) == 3
    assert [info.cancel_reason for info in infos if info.cancel_reason] == [
        "streaming_failed",
        "user_cancelled",
    ]
    inner = json.loads(infos[0].streaming_failed_message)
    assert json.loads(inner["message"].partition("said ")[2])["error"]["statusCode"] == 400
    failed = next(message for message in task.ui.elements if message.kind == "api_req_failed")
    assert json.loads(failed.text)["request_id"] == "r-77"
    assert [m.kind for m in task.ui.elements if "text" not in m] == ["api_req_retried", "resume_task"]


def test_markers_stay_in_the_text_and_equal_times_keep_their_order(tmp_path: Path) -> None:
    task = load("classic-markers-and-equal-timestamps", tmp_path)
    shown = task.ui.elements
    assert not task.api.present
    assert shown[0].kind == "task"
    assert next(m.text for m in shown if m.kind == "completion_result").endswith("HAS_CHANGES")
    assert next(m.text for m in shown if m.kind == "command").endswith("REQ_APP")
    assert [m.text for m in shown if m.ts == 1770500000061] == [
        "12 list.csv",
        "   | note: one gull was asleep\r\n",
        "",
    ]
    assert {m.deleted_range for m in shown if m.deleted_range} == {(2, 57)}
    assert [m.kind for m in shown if "text" not in m] == ["mcp_server_request_started"]


def test_native_calls_may_have_text_for_results(tmp_path: Path) -> None:
    task = load("classic-native-tools-text-results", tmp_path)
    kinds = [block.type for block in blocks(task)]
    assert (kinds.count("tool_use"), kinds.count("tool_result"), kinds.count("thinking")) == (2, 0, 2)
    assert sum(len(message.tool_uses) for message in task.api.elements) == 2
    assert {name for block in blocks(task) for name in block.undeclared} == {
        "summary",
        "reasoning_details",
        "call_id",
    }
    assert [m.metrics.cost for m in task.api.elements if m.metrics] == [None, 0]
    assert task.metadata
    assert [each.cline_version for each in task.metadata.environment_history] == ["3.51.0"]
    assert sum(message.partial for message in task.ui.elements) == 1


def test_a_weak_models_stray_tags_are_no_calls(tmp_path: Path) -> None:
    task = load("classic-xml-weak-model", tmp_path)
    texts = ["".join(block.text for block in message.content.blocks) for message in task.api.elements]
    (read,) = parse_xml_tools(texts[1])
    assert (read.name, read.params["path"], read.partial) == ("read_file", "mast.ts", False)
    assert parse_xml_tools(texts[3]) == parse_xml_tools(texts[5]) == []
    assert task.metadata
    paths = [each["path"] for each in task.metadata.files_in_context]
    assert (len(paths), len(set(paths))) == (7, 2)
    assert not any(m.metrics for m in task.api.elements)
    assert all(
        m.model_info and "mode" not in m.model_info for m in task.api.elements if m.role == "assistant"
    )
    assert task.api.elements[-1].role == "assistant"
    info = task.ui.elements[1].req_info
    assert info
    assert bytes(info.cells["cost"]) == b"0.08242899999999999"


def test_claude_dev_kept_the_chat_in_claude_messages_and_usage_in_api_req_finished(tmp_path: Path) -> None:
    task = load("claude-dev-1x-native-claude-messages", tmp_path)
    assert task.ui.name == "claude_messages.json"
    kinds = [block.type for block in blocks(task)]
    assert (kinds.count("tool_use"), kinds.count("tool_result")) == (1, 1)
    assert sum(message.content.is_text for message in task.api.elements) == 1
    told = [(m.kind, m.usage) for m in task.ui.elements if m.usage and m.usage.has_usage]
    ((kind, usage),) = told
    assert kind == "api_req_finished"
    assert usage
    assert usage.nulls == {"cacheWrites", "cacheReads"}
    assert {"request_limit_reached", "api_req_finished", "inspect_site_result"} < {
        m.kind for m in task.ui.elements
    }


def test_roos_old_condensing_left_a_string_from_the_assistant(tmp_path: Path) -> None:
    task = load("roo-condensed-string-summary", tmp_path)
    summary = task.api.elements[1]
    assert (summary.is_summary, summary.role, summary.content.is_text) == (True, "assistant", True)
    assert summary.ts == task.api.elements[2].ts
    roles = [message.role for message in task.api.elements]
    assert [[n, n + 1] for n in range(5) if roles[n] == roles[n + 1]] == [[4, 5]]
    condensed = next(message for message in task.ui.elements if message.kind == "condense_context")
    assert "text" not in condensed
    assert condensed.context_condense["cost"] == 0.1342123125
    assert task.metadata
    assert not task.metadata.present
    assert list(task.metadata.undeclared) == [
        "status",
        "workspace_path",
        "last_modified_date",
        "creation_date",
        "taskId",
        "title",
    ]


def test_an_empty_main_file_is_still_the_main_file(tmp_path: Path) -> None:
    folder = task_path(TASKDIRS["roo-zero-byte-api"], tmp_path)
    assert find_sessions(folder) == [str(folder / "api_conversation_history.json")]
    assert read_task(folder).api.error == "empty: no JSON in it"


def test_the_store_of_the_2x_command_line_is_a_classic_task() -> None:
    (main,) = find_sessions(DATA / "cline-store" / "legacy_read")
    task = read_task(main)
    assert (task.variant, task.variant_by, task.guessed) == ("classic", "file taskHistory.json", True)
    assert (len(task.api.elements), len(task.ui.elements), task.units) == (5, 8, 15)
    assert task.history
    assert (task.history.task, task.history.cwd_on_task_initialization) == ("read the files", "/home/dev/app")
    assert [message.kind for message in task.ui.elements] == [
        "task",
        "api_req_started",
        "text",
        "tool",
        "api_req_started",
        "api_req_started",
        "completion_result",
        "resume_task",
    ]
    infos = [info for message in task.ui.elements if (info := message.req_info)]
    assert sum(info.tokens_in for info in infos) == task.history["tokensIn"] == 600
    assert names(parse_xml_tools(said_by_the_model(task))) == ["read_file"]


def test_an_extra_bracket_costs_no_element(tmp_path: Path) -> None:
    assert (
        load("ui-extra-closing-bracket", tmp_path).ui.error
        == "1 bytes behind the end of the array at byte 509"
    )
