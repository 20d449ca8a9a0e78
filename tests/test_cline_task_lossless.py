"""Reading and writing again loses nothing (the reader's rules, section 3): laws over every stored file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stenograph.agents.cline.task import (
    find_history,
    parse_context_history,
    parse_messages,
    parse_task,
    parse_ui,
    read_task,
)
from stenograph.agents.cline.types import Block, HistoryItem, Message, TaskMetadata, UIMessage
from stenograph.document import Array, Object
from taskdirs import TASKDIRS, contents, json_files, task_path

FILES = json_files()
TASK_FILES = {
    name: data
    for name, data in FILES.items()
    if name.endswith(("_history.json", "_messages.json", "_metadata.json", "_item.json"))
}
SMALL = {name: data for name, data in TASK_FILES.items() if 0 < len(data) < 2500}


def parse(name: str, data: bytes) -> Array[Any]:
    return (parse_messages if "api_conv" in name else parse_ui)(data)


def file_name(name: str) -> str:
    return name.rsplit("/", 1)[-1]


@pytest.mark.parametrize("name", TASKDIRS)
def test_load_then_save_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    folder = task_path(TASKDIRS[name], tmp_path)
    task = read_task(folder)
    visit(task)
    assert task.dump() == {path.name: path.read_bytes() for path in folder.iterdir()}


def visit(task: Any) -> None:
    """Touch every member, so that views are made."""
    for element in [*task.api.elements, *task.ui.elements]:
        for node in nodes(element):
            node.dump()
    for update in task.context.elements:
        assert update.raw


def nodes(element: Any) -> Iterator[Object]:
    """An element and every object below it that has a record."""
    yield element
    if isinstance(element, Message | Block):
        for block in element.content.blocks:
            yield from nodes(block)
    for name in type(element).declared:
        child = next(
            (getattr(element, a) for a, m in vars(type(element)).items() if m is element.declared[name]), None
        )
        if isinstance(child, Object):
            yield from nodes(child)
    if isinstance(element, UIMessage) and element.usage:
        yield element.usage


@pytest.mark.parametrize("name", TASK_FILES)
def test_every_array_file_comes_back_from_each_parser(name: str) -> None:
    data = FILES[name]
    for parser in (parse_messages, parse_ui, parse_context_history):
        assert parser(data).dump() == data


@pytest.mark.parametrize("name", SMALL)
def test_a_file_cut_at_every_byte_keeps_a_prefix_and_comes_back(name: str) -> None:
    data = SMALL[name]
    whole = [element.raw for element in parse(name, data).elements]
    counts = []
    for end in range(len(data)):
        task = parse_task("1", {file_name(name): data[:end], "ui_messages.json": data[:end]})
        assert task.dump()[file_name(name)] == data[:end]
        found = [element.raw for element in parse(name, data[:end]).elements]
        assert found == whole[: len(found)]
        counts.append(len(found))
    assert counts == sorted(counts)


@pytest.mark.parametrize("name", [name for name in TASK_FILES if "metadata" not in name])
def test_one_edited_member_leaves_every_other_byte_the_same(name: str) -> None:
    data = FILES[name]
    for at in range(len(parse(name, data).elements)):
        array = parse(name, data)
        element = array.elements[at]
        if element.error or not element.cells:
            continue
        member = next(iter(element.cells))
        old = bytes(element.cells[member])
        element[member] = "edited"
        start, end = array.spans[at]
        assert array.dump() == data[:start] + data[start:end].replace(old, b'"edited"', 1) + data[end:]


def test_an_edit_deep_inside_leaves_every_other_byte_the_same() -> None:
    data = contents(TASKDIRS["classic-native-tools-text-results"])
    files = {file_name(name): text for name, text in data.items()}
    task = parse_task("1", files)
    tool = task.api.elements[1].tool_uses[0]
    tool.input = {**tool.input, "path": "other.py"}
    info = task.ui.elements[2].req_info
    assert info
    info.cost = 0.5
    assert task.metadata
    task.metadata.environment_history[0].cline_version = "3.51.1"
    after = task.dump()
    assert after["api_conversation_history.json"] == files["api_conversation_history.json"].replace(
        b'{"path":"tides.py","task', b'{"path":"other.py","task'
    )
    assert after["ui_messages.json"] == files["ui_messages.json"].replace(
        b'\\"cost\\":0.0371', b'\\"cost\\":0.5'
    )
    assert after["task_metadata.json"] == files["task_metadata.json"].replace(b'"3.51.0"', b'"3.51.1"')


def test_undeclared_members_null_ones_and_those_of_another_type_are_kept() -> None:
    raw = (
        b'{"role":7,"content":[{"type":"text","text":null,"call_id":""}],"id":null,"x":{"deep":[1.0]},'
        b'"isSummary":"yes","metrics":[]}'
    )
    message = Message(raw)
    assert message.error is None
    assert message.undeclared == {"x": {"deep": [1.0]}}
    assert message.present == {"role", "content", "id", "isSummary", "metrics"}
    assert message.nulls == {"id"}
    assert message.misfits == {"role", "isSummary", "metrics"}
    assert (message.role, message.is_summary, message.metrics) == ("", False, None)
    block = message.content.blocks[0]
    assert (block.undeclared, block.nulls, block.error) == ({"call_id": ""}, {"text"}, None)
    assert message.dump() == raw


@pytest.mark.parametrize("make", [Message, UIMessage, HistoryItem, TaskMetadata, Block])
def test_members_of_another_type_make_no_record_bad(make: type[Object]) -> None:
    raw = json.dumps({name: [1] for name in make.declared}).encode()
    record = make(raw)
    assert record.error is None
    assert record.dump() == raw
    assert record.present == make.declared.keys()


def test_a_block_that_is_no_object_keeps_its_bytes_and_its_error() -> None:
    message = Message(b'{"content":[5,{"type":"text","text":"x"},"y"]}')
    assert [(block.raw, block.error) for block in message.content.blocks] == [
        (b"5", "not an object"),
        (b'{"type":"text","text":"x"}', None),
        (b'"y"', "not an object"),
    ]


@pytest.mark.parametrize("raw", [b"5", b'{"text":"x"}', b"null", b"true"])
def test_content_that_is_neither_text_nor_blocks_is_kept_with_an_error(raw: bytes) -> None:
    content = Message(b'{"content":' + raw + b"}").content
    assert (content.raw, content.error) == (raw, "neither a string nor a list of blocks")
    assert (content.is_text, content.text, content.blocks, content.is_absent) == (False, "", [], False)


def test_absent_content_is_not_written_back() -> None:
    message = Message(b'{"role":"user"}')
    assert (message.content.is_absent, message.content.error, message.content.blocks) == (True, None, [])
    assert message.dump() == b'{"role":"user"}'
    message.content.text = "now"
    assert message.dump() == b'{"role":"user","content":"now"}'


def test_content_is_text_or_blocks_and_either_may_be_edited() -> None:
    message = Message(b'{"content":"a","x":[{"content":[{"text":"b"} ]}]}')
    assert (message.content.is_text, message.content.text) == (True, "a")
    message.content.text = "é"
    assert message.dump() == '{"content":"é","x":[{"content":[{"text":"b"} ]}]}'.encode()
    result = Block(b'{"type":"tool_result","content":[ {"type":"text","text":"b"} ]}')
    result.content.blocks[0].text = "c"
    result.content.blocks.append(Block(b'{"type":"text","text":"d"}'))
    assert result.dump() == (
        b'{"type":"tool_result","content":[ {"type":"text","text":"c"},{"type":"text","text":"d"} ]}'
    )


SPELLINGS = [
    b"12.0",
    b"1e3",
    b"-0",
    b"-0.0",
    b"0.08242899999999999",
    b"0.12345678901234567",
    b"36893488147419103232",
    b"1e400",
    b"9" * 5000,
    b'"\\u00e9\\/\\u000a"',
    b'"\\ud83d"',
    b'"raw \xe2\x80\xa8 line"',
    b'{"a":1,"a":2}',
    b"[" * 3000 + b"]" * 3000,
]


@pytest.mark.parametrize("value", SPELLINGS, ids=lambda value: value[:20].decode())
def test_every_spelling_survives_an_edit_beside_it(value: bytes) -> None:
    data = b'[{"ts":%s,"z":%s,"role":"user","a":%s}]' % (value, value, value)
    for parser in (parse_messages, parse_ui):
        array: Array[Any] = parser(data)
        array.elements[0]["role"] = "x"
        assert array.dump() == data.replace(b'"user"', b'"x"')


def test_an_index_entry_comes_back() -> None:
    item = find_history(b'[{"id":"1", "ts":1.0, "tokensIn":5, "id":"1"}]', "1")
    assert item
    assert item.dump() == b'{"id":"1", "ts":1.0, "tokensIn":5, "id":"1"}'


@pytest.mark.parametrize("name", SMALL)
@given(st.data())
@settings(max_examples=25, deadline=None)
def test_random_mutation_never_raises_and_comes_back(name: str, data: st.DataObject) -> None:
    text = bytearray(SMALL[name])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(len(text) - 1, 0)))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    mutated = bytes(text)
    others = {"context_history.json": mutated, "task_metadata.json": mutated, "settings.json": mutated}
    files = {file_name(name): mutated, "history_item.json": mutated, **others}
    task = parse_task("1", files)
    visit(task)
    assert task.dump() == files
