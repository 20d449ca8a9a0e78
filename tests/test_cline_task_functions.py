"""The scalar rules, finding tasks, and telling the variant (the reader's rules, section 5)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenograph.agents.cline.task import (
    find_history,
    find_sessions,
    is_null,
    is_task_file,
    parent_task,
    parse_task,
    read_task,
    task_dir,
    to_float,
    to_int,
    to_millis,
    to_range,
)
from stenograph.errors import ReadError

UI = b'[{"ts":1,"type":"say","say":"text","text":"x"}]'


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (12, (12, True)),
        (12.0, (12, True)),
        ("12", (12, True)),
        ("12.0", (12, True)),
        ("1e3", (1000, True)),
        (12.7, (12, False)),
        (-12.7, (-12, False)),
        ("12.7", (12, False)),
        (-1, (-1, True)),
        (-0.0, (0, True)),
        (2**63 - 1, (2**63 - 1, True)),
        ("9223372036854775807", (2**63 - 1, True)),
        ("9007199254740993.0", (9007199254740993, True)),
        (-(2**63), (-(2**63), True)),
        ("1e-400", (0, False)),
    ],
)
def test_int_is_an_integer_written_as_a_number_or_a_string_of_one(
    value: Any, found: tuple[int, bool]
) -> None:
    assert to_int(value) == found


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        "",
        " 12",
        "12 ",
        "+12",
        "012",
        "1_000",
        "١٢",
        "0x10",
        "NaN",
        "Infinity",
        "12.",
        ".5",
        "x",
        [12],
        {},
        2**63,
        -(2**63) - 1,
        "9223372036854775808",
        1e300,
        "1e400",
        "1e99999999999999999999",
        float("inf"),
        float("nan"),
        msgspec.Raw(b"1e400"),
    ],
)
def test_int_is_none_for_anything_else(value: Any) -> None:
    assert to_int(value) is None


@pytest.mark.parametrize(
    ("value", "found"), [(1, 1.0), (0.5, 0.5), ("0.5", 0.5), ("1e-7", 1e-7), ("12", 12.0), (2**70, 2.0**70)]
)
def test_float_is_a_number_or_a_string_of_one(value: Any, found: float) -> None:
    assert to_float(value) == found


@pytest.mark.parametrize(
    "value", [None, True, "", "x", "nan", "inf", "1e400", 10**400, [1.0], msgspec.Raw(b"1e400")]
)
def test_float_is_none_for_anything_else(value: Any) -> None:
    assert to_float(value) is None


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_float_keeps_every_float_and_its_spelling(value: float) -> None:
    assert to_float(value) == value
    assert to_float(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (1742300000123, datetime(2025, 3, 18, 12, 13, 20, 123000, tzinfo=UTC)),
        ("1742300000123", datetime(2025, 3, 18, 12, 13, 20, 123000, tzinfo=UTC)),
        (1742300000123.0, datetime(2025, 3, 18, 12, 13, 20, 123000, tzinfo=UTC)),
        (1742300000123.9, datetime(2025, 3, 18, 12, 13, 20, 123000, tzinfo=UTC)),
        (253402300799999, datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)),
    ],
)
def test_millis_is_a_time_in_ms_as_a_number_or_a_string_of_one(value: Any, found: datetime) -> None:
    assert to_millis(value) == found


@pytest.mark.parametrize("value", [None, -1, 253402300800000, "x", "2025-03-18", True, [0], 1e300])
def test_millis_is_none_for_anything_else_and_outside_the_years_1970_to_9999(value: Any) -> None:
    assert to_millis(value) is None


@pytest.mark.parametrize(("value", "found"), [([2, 57], (2, 57)), ([3, 3], (3, 3)), ([2.0, "5"], (2, 5))])
def test_range_is_exactly_two_integers_with_start_at_most_end(value: Any, found: tuple[int, int]) -> None:
    assert to_range(value) == found


@pytest.mark.parametrize(
    "value", [None, [], [2], [2, 3, 4], [3, 2], [2, 2.5], [2, None], {"0": 2}, "[2,3]", 5]
)
def test_range_is_none_for_anything_else(value: Any) -> None:
    assert to_range(value) is None


def test_null_is_what_is_absent_or_null() -> None:
    assert is_null(None)
    assert is_null(msgspec.Raw(b"null"))
    assert not any(is_null(value) for value in (0, "", False, [], {}, "null"))


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    root = tmp_path / "saoudrizwan.claude-dev"
    for name, files in {
        "3": ["ui_messages.json"],
        "1": ["api_conversation_history.json", "ui_messages.json"],
        "2": ["claude_messages.json"],
        "empty": [],
        "other": ["task_metadata.json", "ui_messages.json.tmp.1.a.json"],
    }.items():
        (root / "tasks" / name).mkdir(parents=True)
        for file in files:
            (root / "tasks" / name / file).write_bytes(UI)
    for deep in ("tasks/1/checkpoints/tasks/9", "checkpoints/tasks/8", "tasks/empty/sub"):
        (root / deep).mkdir(parents=True)
        (root / deep / "ui_messages.json").write_bytes(UI)
    (root / "tasks" / "_index.json").write_bytes(b"{}")
    return root


def test_sessions_are_found_from_the_storage_its_tasks_a_task_and_a_file(storage: Path) -> None:
    found = [
        str(storage / "tasks" / "1" / "api_conversation_history.json"),
        str(storage / "tasks" / "2" / "claude_messages.json"),
        str(storage / "tasks" / "3" / "ui_messages.json"),
    ]
    assert find_sessions(storage) == found
    assert find_sessions(storage / "tasks") == found
    assert find_sessions(storage / "tasks" / "1") == found[:1]
    assert find_sessions(str(storage / "tasks" / "1")) == found[:1]
    for name in ("ui_messages.json", "task_metadata.json"):
        path = str(storage / "tasks" / "1" / name)
        Path(path).touch()
        assert find_sessions(path) == [path]


def test_sessions_of_a_place_without_any_are_none(tmp_path: Path) -> None:
    assert find_sessions(tmp_path) == []
    with pytest.raises(ReadError):
        find_sessions(tmp_path / "nowhere")


def test_a_directory_that_cannot_be_listed_is_skipped(storage: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    listed = os.scandir

    def refuse(path: str) -> Any:
        if str(path).endswith("/1"):
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert [Path(path).parent.name for path in find_sessions(storage)] == ["2", "3"]
    with pytest.raises(ReadError, match=r"cannot list .*permission denied"):
        read_task(storage / "tasks" / "1")


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("/a/tasks/1/ui_messages.json", True),
        ("/a/tasks/1/api_conversation_history.json", True),
        ("tasks/1/claude_messages.json", True),
        ("/a/tasks/1/./ui_messages.json", True),
        ("/a/tasks/1/task_metadata.json", False),
        ("/a/tasks/1/ui_messages.json.tmp.1.a.json", False),
        ("/a/tasks/ui_messages.json", False),
        ("/a/tasks/1/x/ui_messages.json", False),
        ("/a/jobs/1/ui_messages.json", False),
        ("ui_messages.json", False),
    ],
)
def test_a_task_file_is_a_main_file_in_a_directory_inside_tasks(path: str, is_one: bool) -> None:
    assert is_task_file(path) is is_one
    assert is_task_file(Path(path)) is is_one


def test_the_task_dir_is_the_directory_itself_or_the_files(storage: Path) -> None:
    folder = storage / "tasks" / "1"
    assert task_dir(folder) == str(folder)
    assert task_dir(folder / "ui_messages.json") == str(folder)
    with pytest.raises(ReadError):
        task_dir(folder / "nothing.json")


@pytest.mark.parametrize(
    ("item", "parent"),
    [
        (b'{"id":"1","parentTaskId":"p"}', "p"),
        (b'{"id":"1"}', ""),
        (b'{"parentTaskId":5}', ""),
        (b"[]", ""),
        (b"{", ""),
        (b"", ""),
    ],
)
def test_the_parent_task_is_what_the_history_item_names_else_empty(
    item: bytes, parent: str, tmp_path: Path
) -> None:
    assert parent_task(tmp_path) == ""
    (tmp_path / "history_item.json").write_bytes(item)
    assert parent_task(tmp_path) == parent


INDEX = b'[5,{"id":"1","task":"a"},{"id":"2","task":"b","x":1.0},{"ts":1},{"id":"2","task":"later"}]'


def test_history_is_the_first_element_that_names_the_id() -> None:
    item = find_history(INDEX, "2")
    assert item
    assert (item.task, item.undeclared) == ("b", {"x": 1.0})
    assert find_history(INDEX, "3") is None
    assert find_history(b"", "3") is None
    assert find_history(b"{}", "3") is None
    assert find_history(b'[{"id":""},{}]', "") is not None


def test_history_is_found_before_the_cut_and_behind_damage() -> None:
    assert find_history(INDEX[:40], "1")
    assert find_history(INDEX[:40], "2") is None
    assert find_history(b'[{"id":"1",@},{"id":"2","ts":1},{"id":"3"', "2")


@pytest.mark.parametrize("element", [b'"7"', b"7", b'["7",{"ts":1}]', b'{"id":7,"task":"x"}'])
def test_history_raises_when_what_names_the_id_is_no_object_of_the_items_members(element: bytes) -> None:
    with pytest.raises(ReadError, match="no object of the item's members"):
        find_history(b'[{"id":"6"},%s,{"id":"7"}]' % element, "7")
    assert find_history(b'[{"id":"6"},%s]' % element, "6")


@pytest.mark.parametrize(
    ("storage_name", "variant"),
    [
        ("saoudrizwan.claude-dev", "classic"),
        ("saoudrizwan.cline-nightly", "classic"),
        ("rooveterinaryinc.roo-cline", "roo"),
        ("RooVeterinaryInc.roo-cline", "roo"),
        ("zoocodeorganization.zoo-code", "roo"),
    ],
)
def test_the_storage_directory_tells_the_variant_before_any_shape(
    storage_name: str, variant: str, tmp_path: Path
) -> None:
    folder = tmp_path / storage_name / "tasks" / "1"
    folder.mkdir(parents=True)
    (folder / "ui_messages.json").write_bytes(UI)
    (folder / ("context_history.json" if variant == "roo" else "history_item.json")).write_bytes(b"[]")
    task = read_task(folder)
    assert (task.variant, task.variant_by, task.guessed) == (variant, "storage directory name", False)


@pytest.mark.parametrize(
    ("files", "variant", "by"),
    [
        ({"context_history.json": b"[]"}, "classic", "file context_history.json"),
        ({"history_item.json": b"{}"}, "roo", "file history_item.json"),
        ({"task_metadata.json": b'{"model_usage":[]}'}, "classic", "metadata member model_usage"),
        (
            {"task_metadata.json": b'{"files_in_context":[5,{"path":"a"},{"roo_read_date":null}]}'},
            "roo",
            "files_in_context member roo_read_date",
        ),
        (
            {"task_metadata.json": b'{"files_in_context":[{"cline_read_date":1}]}'},
            "classic",
            "files_in_context member cline_read_date",
        ),
        ({"api_conversation_history.json": b'[{},{"modelInfo":{}}]'}, "classic", "message member modelInfo"),
        ({"api_conversation_history.json": b'[{"metrics":{}}]'}, "classic", "message member metrics"),
        ({"api_conversation_history.json": b'[{"isSummary":true}]'}, "roo", "message member isSummary"),
        ({"api_conversation_history.json": b'[{"type":"reasoning"}]'}, "roo", "reasoning without a role"),
        (
            {"api_conversation_history.json": b'[{"content":[{"type":"reasoning"}]}]'},
            "roo",
            "block type reasoning",
        ),
        (
            {"api_conversation_history.json": b'[{"content":[{"type":"thoughtSignature"}]}]'},
            "roo",
            "block type thoughtSignature",
        ),
        (
            {"api_conversation_history.json": b'[{"content":[{"encrypted_content":"x"}]}]'},
            "roo",
            "block member encrypted_content",
        ),
        (
            {"ui_messages.json": b'[{"conversationHistoryDeletedRange":[2,3]}]'},
            "classic",
            "UI member conversationHistoryDeletedRange",
        ),
        ({"ui_messages.json": b'[{"contextCondense":{}}]'}, "roo", "UI member contextCondense"),
        ({"ui_messages.json": b'[{"type":"say","say":"task_progress"}]'}, "classic", "UI kind task_progress"),
        ({"ui_messages.json": b'[{"type":"say","say":"subtask_result"}]'}, "roo", "UI kind subtask_result"),
        (
            {"ui_messages.json": b'[{"type":"say","say":"api_req_started","text":"{\\"apiProtocol\\":1}"}]'},
            "roo",
            "request member apiProtocol",
        ),
    ],
)
def test_shapes_that_only_one_agent_writes_tell_the_variant(
    files: dict[str, bytes], variant: str, by: str
) -> None:
    task = parse_task("17", files)
    assert (task.variant, task.variant_by, task.guessed) == (variant, by, True)


def test_what_both_agents_write_tells_nothing() -> None:
    both = {
        "api_conversation_history.json": b'[{"role":"user","content":[{"type":"text"}],"ts":1,"id":"x"}]',
        "ui_messages.json": b'[{"type":"say","say":"task","conversationHistoryIndex":-1,"ts":1}]',
        "task_metadata.json": b'{"files_in_context":[{"path":"a","record_state":"active"}]}',
    }
    task = parse_task("1742300000000", both)
    assert (task.variant, task.variant_by, task.guessed) == (
        "classic",
        "nothing tells; the elder assumed",
        True,
    )
    task = parse_task("5d0f3f5e-2a17-4c55-9a6e-0b7c41d2e9aa", both)
    assert (task.variant, task.variant_by) == ("roo", "task id is a UUID")
