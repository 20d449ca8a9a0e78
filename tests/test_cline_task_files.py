"""Which files a task directory has, and what each accounts for (the reader's rules, sections 1 and 2)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stenograph.agents.cline import task as cline
from stenograph.agents.cline.task import (
    parse_context_history,
    parse_messages,
    parse_task,
    parse_ui,
    read_task,
)
from stenograph.errors import NotExact, ReadError

API = b'[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]'
UI = b'[{"ts":1,"type":"say","say":"text","text":"x"}]'


def make(folder: Path, files: dict[str, bytes], *, storage: str = "store") -> Path:
    task = folder / storage / "tasks" / "17"
    task.mkdir(parents=True)
    for name, data in files.items():
        (task / name).write_bytes(data)
    return task


def test_the_file_names_are_the_writers() -> None:
    assert (cline.FILE_API, cline.FILE_UI, cline.FILE_LEGACY) == (
        "api_conversation_history.json",
        "ui_messages.json",
        "claude_messages.json",
    )
    assert (cline.FILE_METADATA, cline.FILE_CONTEXT_HISTORY, cline.FILE_SETTINGS) == (
        "task_metadata.json",
        "context_history.json",
        "settings.json",
    )
    assert (cline.FILE_HISTORY_ITEM, cline.FILE_TASK_HISTORY) == ("history_item.json", "taskHistory.json")
    assert (cline.STORAGE_CLASSIC, cline.STORAGE_ROO) == (
        "saoudrizwan.claude-dev",
        "rooveterinaryinc.roo-cline",
    )
    assert cline.MAX_SIZE == 2**30


@pytest.mark.parametrize("parse", [parse_messages, parse_ui])
def test_an_element_that_is_no_object_is_kept_with_its_error_and_is_no_fault_of_the_file(
    parse: object,
) -> None:
    array = parse(b'[{"role":"user"},5,"x",null,[{}],{"ts":1}]')  # type: ignore[operator]  # one of two
    assert [element.error for element in array.elements] == [None, *["not an object"] * 4, None]
    assert [element.raw for element in array.elements[1:5]] == [b"5", b'"x"', b"null", b"[{}]"]
    assert array.error is None
    assert array.units == 6


@pytest.mark.parametrize("data", [b"", b"{}", b"null", b"5", b"nonsense", b'{"role":"user"}'])
def test_a_document_that_is_no_array_is_one_fault(data: bytes) -> None:
    for array in (parse_messages(data), parse_ui(data), parse_context_history(data)):
        assert array.error
        assert (array.elements, array.units, array.present) == ([], 1, True)


def test_an_array_cut_short_keeps_the_elements_that_end_before_the_cut() -> None:
    for end in range(len(API)):
        array = parse_messages(API[:end])
        assert len(array.elements) == (end >= 30) + (end >= 65)
        assert array.error
        assert array.units == len(array.elements) + 1


def test_a_complete_array_with_a_stale_tail_is_one_fault() -> None:
    array = parse_messages(API + b',{"role":"user","content":"older"}]')
    assert len(array.elements) == 2
    assert array.error == "35 bytes behind the end of the array at byte 66"


def test_elements_behind_damage_are_recovered_and_marked() -> None:
    array = parse_messages(b'[{"role":"user"},{"role":@},{"role":"assistant"},{"role":"user","content":"x"}')
    assert [(m.role, m.recovered) for m in array.elements] == [
        ("user", False),
        ("assistant", True),
        ("user", True),
    ]
    assert array.units == 4


def test_present_tells_a_file_that_is_there_from_one_that_is_not() -> None:
    task = parse_task("17", {"ui_messages.json": UI})
    assert (task.ui.present, task.ui.name) == (True, "ui_messages.json")
    assert (task.api.present, task.api.name, task.api.units, task.api.error) == (False, "", 0, None)
    assert not task.context.present


def test_the_units_of_a_task_are_its_files_units_and_one_for_each_other_file(tmp_path: Path) -> None:
    folder = make(
        tmp_path,
        {
            "api_conversation_history.json": API,  # 2
            "ui_messages.json": UI[:-1],  # 1, and 1 for the fault
            "context_history.json": b'[[1,[2,[[0,[[5,"text",["a"],[]],[6,"text",["b"],[]]]]]]]]',  # 2
            "task_metadata.json": b"{}",  # 1
            "settings.json": b"{}",  # 1
            "history_item.json": b'{"id":"17"}',  # 1
            "ui_messages.json.tmp.17.ab.json": b"[",  # 1
            "focus_chain_taskid_17.md": b"- [ ] x",  # 1
        },
    )
    (folder / "checkpoints").mkdir()
    task = read_task(folder)
    assert task.units == 11
    assert task.others == ["focus_chain_taskid_17.md", "ui_messages.json.tmp.17.ab.json"]
    assert task.dirs == ["checkpoints"]


def test_an_entry_of_the_index_is_a_unit_when_it_was_found(tmp_path: Path) -> None:
    folder = make(tmp_path, {"ui_messages.json": UI})
    index = folder.parent.parent / "state" / "taskHistory.json"
    index.parent.mkdir()
    index.write_bytes(b'[{"id":"16","ts":1},{"id":"17","ts":2,"task":"x"}]')
    task = read_task(folder)
    assert task.history
    assert (task.history.task, task.history_file, task.history_unit) == ("x", "state/taskHistory.json", True)
    assert task.units == 2
    index.write_bytes(b'[{"id":"16"}]')
    task = read_task(folder)
    assert (task.history, task.history_file, task.history_unit, task.units) == (None, "", False, 1)
    index.write_bytes(b'["17"]')
    task = read_task(folder)
    assert (task.history, task.history_unit, task.units) == (None, True, 2)
    assert "no object" in (task.history_error or "")
    index.write_bytes(b'[{"id":"16"},{"id')
    task = read_task(folder)
    assert (task.history, task.history_unit) == (None, False)
    assert task.history_error == "state/taskHistory.json: cut short at byte 17"


def test_roos_own_item_comes_before_the_index(tmp_path: Path) -> None:
    folder = make(tmp_path, {"ui_messages.json": UI, "history_item.json": b'{"id":"17","task":"own"}'})
    state = folder.parent.parent / "state"
    state.mkdir()
    (state / "taskHistory.json").write_bytes(b'[{"id":"17","task":"index"}]')
    task = read_task(folder)
    assert task.history
    assert (task.history.task, task.history_file) == ("own", "tasks/17/history_item.json")


@pytest.mark.parametrize("name", ["task_metadata.json", "settings.json", "history_item.json"])
@pytest.mark.parametrize("data", [b"", b"{", b'{"a":1}}', b"{'a':1}", b"\xff"])
def test_a_broken_object_file_is_recorded_and_comes_back(name: str, data: bytes) -> None:
    task = parse_task("17", {"ui_messages.json": UI, name: data})
    errors = {
        "task_metadata.json": (task.metadata, task.metadata_error),
        "settings.json": (task.settings, task.settings_error),
        "history_item.json": (task.history, task.history_error),
    }
    value, error = errors[name]
    assert value is None
    assert error
    assert task.units == 2
    assert task.dump()[name] == data


def test_a_byte_order_mark_is_no_fault_and_comes_back() -> None:
    files = {
        name: b"\xef\xbb\xbf" + data
        for name, data in [("ui_messages.json", UI), ("task_metadata.json", b"{}")]
    }
    task = parse_task("17", files)
    assert (task.ui.error, len(task.ui.elements), task.metadata_error) == (None, 1, None)
    assert task.dump() == files
    assert task.metadata
    task.metadata["x"] = 1
    task.ui.elements[0].text = "y"
    assert task.dump() == {
        "ui_messages.json": files["ui_messages.json"].replace(b'"x"', b'"y"'),
        "task_metadata.json": b'\xef\xbb\xbf{"x":1}',
    }


def test_a_file_over_the_limit_is_refused_without_being_loaded(tmp_path: Path) -> None:
    folder = make(tmp_path, {"ui_messages.json": UI})
    for name in ("api_conversation_history.json", "task_metadata.json", "settings.json", "history_item.json"):
        with open(folder / name, "wb") as file:
            file.truncate(2**30 + 1)
    task = read_task(folder)
    assert task.api.error == "larger than 1073741824 bytes: not loaded"
    assert (task.api.units, task.api.present, task.ui.error) == (1, True, None)
    assert {task.metadata_error, task.settings_error, task.history_error} == {task.api.error}
    assert task.dump() == {"ui_messages.json": UI}
    with pytest.raises(NotExact):
        task.api.dump()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this platform")
def test_what_is_no_file_is_recorded_without_waiting_for_it(tmp_path: Path) -> None:
    folder = make(tmp_path, {"ui_messages.json": UI})
    os.mkfifo(folder / "api_conversation_history.json")
    (folder / "settings.json").symlink_to(tmp_path / "nowhere")
    (folder / "task_metadata.json").mkdir()
    task = read_task(folder)
    assert task.api.error == "not a regular file"
    assert task.settings_error == "cannot be read: No such file or directory"
    assert (task.has_settings, task.has_metadata, task.dirs) == (True, False, ["task_metadata.json"])


def test_reading_fails_only_without_a_directory_or_without_both_main_files(tmp_path: Path) -> None:
    folder = make(tmp_path, {"task_metadata.json": b"{}", "conversation_history_17.json": API})
    with pytest.raises(ReadError, match="holds neither an API history nor UI messages"):
        read_task(folder)
    with pytest.raises(ReadError, match="no such file or directory"):
        read_task(folder / "nowhere")
    for name in ("api_conversation_history.json", "ui_messages.json", "claude_messages.json"):
        (folder / name).write_bytes(b"")
        assert read_task(folder).units == 3
        (folder / name).unlink()


def test_a_task_is_read_by_any_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(tmp_path, {"ui_messages.json": UI, "task_metadata.json": b"{}"})
    for path in (folder, folder / "ui_messages.json", folder / "task_metadata.json", str(folder)):
        task = read_task(path)
        assert (task.id, task.dir) == ("17", str(folder))
    monkeypatch.chdir(folder)
    assert read_task(".").id == "17"
    assert read_task("ui_messages.json").id == "17"


def test_the_oldest_name_is_read_as_what_it_holds() -> None:
    chat = parse_task("17", {"claude_messages.json": UI})
    assert (chat.ui.name, len(chat.ui.elements), chat.api.present) == ("claude_messages.json", 1, False)
    history = parse_task("17", {"claude_messages.json": API})
    assert (history.api.name, len(history.api.elements), history.ui.present) == (
        "claude_messages.json",
        2,
        False,
    )
    both = parse_task("17", {"claude_messages.json": API, "ui_messages.json": UI})
    assert (both.api.name, both.ui.name) == ("claude_messages.json", "ui_messages.json")
    late = parse_task("17", {"claude_messages.json": UI, "ui_messages.json": UI})
    assert (late.ui.name, late.others) == ("ui_messages.json", ["claude_messages.json"])
    empty = parse_task("17", {"claude_messages.json": b""})
    assert (empty.ui.name, empty.ui.units) == ("claude_messages.json", 1)


def test_other_files_given_as_bytes_are_listed_and_not_read() -> None:
    task = parse_task("17", {"ui_messages.json": UI, "z.txt": b"", "taskHistory.json": b"["})
    assert task.others == ["taskHistory.json", "z.txt"]
    assert task.dump() == {"ui_messages.json": UI}
