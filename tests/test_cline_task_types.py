"""What each record says (the reader's rules, section 4)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from stenograph.agents.cline.task import parse_context_history, parse_messages, parse_ui
from stenograph.agents.cline.types import (
    Block,
    HistoryItem,
    Message,
    ReqInfo,
    TaskMetadata,
    UIMessage,
)


def ui(**members: Any) -> UIMessage:
    return UIMessage(json.dumps(members).encode())


def test_a_message_has_the_members_of_both_agents() -> None:
    message = Message(
        b'{"role":"assistant","content":"x","id":"r1","ts":1742300000000,'
        b'"modelInfo":{"modelId":"m","providerId":"p","mode":"act","new":1},'
        b'"metrics":{"tokens":{"prompt":11,"completion":"402","cached":9100},"cost":0.5},'
        b'"isSummary":true,"condenseId":"c","condenseParent":"cp","truncationId":"t","truncationParent":"tp",'
        b'"isTruncationMarker":true,"type":"x","encrypted_content":"e","summary":[1],"reasoning_details":[2],'
        b'"reasoning_content":"rc"}'
    )
    assert (message.role, message.content.text, message.id, message.ts) == (
        "assistant",
        "x",
        "r1",
        1742300000000,
    )
    assert message.time == datetime(2025, 3, 18, 12, 13, 20, tzinfo=UTC)
    info, metrics = message.model_info, message.metrics
    assert info
    assert (info.model_id, info.provider_id, info.mode, info.undeclared) == ("m", "p", "act", {"new": 1})
    assert metrics
    assert metrics.tokens
    assert (metrics.tokens.prompt, metrics.tokens.completion, metrics.tokens.cached) == (11, "402", 9100)
    assert metrics.cost == 0.5
    assert (message.is_summary, message.is_truncation_marker) == (True, True)
    assert (message.condense_id, message.condense_parent) == ("c", "cp")
    assert (message.truncation_id, message.truncation_parent) == ("t", "tp")
    assert (message.type, message.encrypted_content, message.summary) == ("x", "e", [1])
    assert (message.reasoning_details, message.reasoning_content) == ([2], "rc")
    assert message.undeclared == {}


def test_standalone_reasoning_is_of_type_reasoning_and_has_no_role() -> None:
    assert Message(b'{"type":"reasoning","summary":[]}').is_standalone_reasoning
    assert not Message(b'{"type":"reasoning","role":"assistant"}').is_standalone_reasoning
    assert not Message(b'{"type":"text"}').is_standalone_reasoning


def test_tool_uses_are_the_blocks_of_that_type_that_could_be_read_in_order() -> None:
    message = Message(
        b'{"content":[{"type":"tool_use","id":"b"},"tool_use",{"type":"text"},{"type":"tool_use"}]}'
    )
    assert [block.id for block in message.tool_uses] == ["b", ""]
    assert Message(b'{"content":"x"}').tool_uses == []
    assert Message(b"{}").tool_uses == []


def test_a_message_has_no_time_without_ts() -> None:
    assert Message(b"{}").time is None
    assert Message(b'{"ts":"1742300000000"}').time == datetime(2025, 3, 18, 12, 13, 20, tzinfo=UTC)


def test_a_block_has_the_members_of_every_type() -> None:
    block = Block(
        b'{"type":"tool_result","text":"t","thinking":"th","signature":"s","data":"d","id":"i","name":"n",'
        b'"input":{"path":"a"},"tool_use_id":"u","content":[{"type":"text","text":"in"}],"is_error":true,'
        b'"source":{"type":"base64","media_type":"image/png","data":"AA==","url":"http://x"},'
        b'"encrypted_content":"e","thoughtSignature":"ts"}'
    )
    assert (block.type, block.text, block.thinking, block.signature, block.data) == (
        "tool_result",
        "t",
        "th",
        "s",
        "d",
    )
    assert (block.id, block.name, block.input, block.tool_use_id) == ("i", "n", {"path": "a"}, "u")
    assert (block.content.blocks[0].text, block.is_error) == ("in", True)
    source = block.source
    assert source
    assert (source.type, source.media_type, source.data, source.url) == (
        "base64",
        "image/png",
        "AA==",
        "http://x",
    )
    assert (block.encrypted_content, block.thought_signature) == ("e", "ts")
    assert block.undeclared == {}


def test_kind_is_the_ask_or_the_say_as_type_names() -> None:
    assert ui(type="ask", ask="command", say="text").kind == "command"
    assert ui(type="say", ask="command", say="text").kind == "text"
    assert ui(type="other", ask="command", say="text").kind == ""
    assert ui(say="text").kind == ""


def test_a_ui_message_has_the_members_of_both_agents() -> None:
    message = ui(
        ts=1742300000000,
        type="say",
        say="text",
        text="x",
        partial=True,
        apiProtocol="openai",
        contextCondense={"cost": 1},
        contextTruncation={"messagesRemoved": 2},
        images=[],
    )
    assert (message.text, message.partial, message.api_protocol) == ("x", True, "openai")
    assert (message.context_condense, message.context_truncation) == ({"cost": 1}, {"messagesRemoved": 2})
    assert message.time == datetime(2025, 3, 18, 12, 13, 20, tzinfo=UTC)
    assert message.undeclared == {"images": []}


@pytest.mark.parametrize(
    ("index", "found"), [(-1, -1), (0, 0), (3, 3), ("4", 4), (5.0, 5), (None, None), ("x", None), ([], None)]
)
def test_the_history_index_is_untold_only_when_it_is_absent_or_no_number(
    index: Any, found: int | None
) -> None:
    assert ui(conversationHistoryIndex=index).history_index == found
    assert ui().history_index is None


@pytest.mark.parametrize(
    ("value", "found"), [([2, 57], (2, 57)), ([2, 1], None), ([2], None), (None, None), ("2,57", None)]
)
def test_the_deleted_range_is_read_by_the_range_rule(value: Any, found: tuple[int, int] | None) -> None:
    assert ui(conversationHistoryDeletedRange=value).deleted_range == found
    item = HistoryItem(json.dumps({"conversationHistoryDeletedRange": value}).encode())
    assert item.deleted_range == found


INFO = (
    '{"request":"r","tokensIn":12,"tokensOut":"5","cacheWrites":null,"cacheReads":3.0,"cost":0.08242899999999999,'
    '"cancelReason":"user_cancelled","streamingFailedMessage":"f","apiProtocol":"openai","retryStatus":{}}'
)


@pytest.mark.parametrize("kind", ["api_req_started", "deleted_api_reqs"])
def test_req_info_is_the_text_of_a_request_decoded(kind: str) -> None:
    info = ui(type="say", say=kind, text=INFO).req_info
    assert info
    assert (info.request, info.tokens_in, info.tokens_out, info.cache_writes, info.cache_reads) == (
        "r",
        12,
        "5",
        None,
        3.0,
    )
    assert (info.cost, info.cancel_reason, info.streaming_failed_message) == (
        0.08242899999999999,
        "user_cancelled",
        "f",
    )
    assert (info.api_protocol, info.undeclared, info.nulls) == (
        "openai",
        {"retryStatus": {}},
        {"cacheWrites"},
    )
    assert info.dump() == INFO.encode()


@pytest.mark.parametrize(
    "members",
    [
        {"type": "say", "say": "text", "text": INFO},
        {"type": "ask", "ask": "command", "say": "api_req_started", "text": INFO},
        {"type": "say", "say": "api_req_started"},
        {"type": "say", "say": "api_req_started", "text": ""},
        {"type": "say", "say": "api_req_started", "text": "[1]"},
        {"type": "say", "say": "api_req_started", "text": INFO[:-1]},
        {"type": "say", "say": "api_req_started", "text": 5},
        {"type": "say", "say": "api_req_finished", "text": INFO},
    ],
)
def test_req_info_is_none_for_other_kinds_and_for_what_is_no_json_object(members: dict[str, Any]) -> None:
    assert ui(**members).req_info is None


@pytest.mark.parametrize(
    "kind", ["api_req_started", "deleted_api_reqs", "api_req_finished", "subagent_usage"]
)
def test_usage_is_told_by_every_kind_that_counts(kind: str) -> None:
    usage = ui(type="say", say=kind, text='{"tokensIn":1,"source":"subagents"}').usage
    assert usage
    assert usage.tokens_in == 1


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ('{"request":"x"}', False),
        ('{"tokensIn":null,"cost":null}', False),
        ('{"tokensIn":0}', True),
        ('{"tokensOut":1}', True),
        ('{"cacheWrites":1}', True),
        ('{"cacheReads":1}', True),
        ('{"cost":0}', True),
    ],
)
def test_a_request_has_usage_when_any_count_or_a_cost_is_there(text: str, has: bool) -> None:
    assert ReqInfo(text.encode()).has_usage is has


def test_lone_surrogates_in_a_request_are_kept() -> None:
    info = UIMessage(
        b'{"type":"say","say":"api_req_started","text":"{\\"request\\":\\"\\ud83d\\"}"}'
    ).req_info
    assert info
    assert info.request == "\ud83d"


def test_metadata_has_models_and_environments() -> None:
    metadata = TaskMetadata(
        b'{"files_in_context":[{"path":"a"}],'
        b'"model_usage":[{"ts":1,"model_id":"m","model_provider_id":"p","mode":"plan"}],'
        b'"environment_history":[{"ts":2,"cline_version":"3.51.0","os_name":"linux"},5],"title":"x"}'
    )
    assert metadata.files_in_context == [{"path": "a"}]
    usage = metadata.model_usage[0]
    assert (usage.ts, usage.model_id, usage.model_provider_id, usage.mode) == (1, "m", "p", "plan")
    environment, odd = metadata.environment_history
    assert (environment.cline_version, environment.undeclared) == ("3.51.0", {"os_name": "linux"})
    assert odd.error == "not an object"
    assert metadata.undeclared == {"title": "x"}


def test_a_history_item_has_the_members_of_both_agents() -> None:
    item = HistoryItem(
        b'{"id":"1","ts":1742300000000,"task":"t","cwdOnTaskInitialization":"/a","shadowGitConfigWorkTree":"/b",'
        b'"modelId":"m","rootTaskId":"r","parentTaskId":"p","workspace":"/w","mode":"code","apiConfigName":"c",'
        b'"status":"active","childIds":["x","y"],"completionResultSummary":"s","tokensIn":600,"ulid":"U"}'
    )
    assert (item.id, item.task, item.cwd_on_task_initialization) == ("1", "t", "/a")
    assert (item.shadow_git_config_work_tree, item.model_id) == ("/b", "m")
    assert (item.root_task_id, item.parent_task_id, item.workspace, item.mode) == ("r", "p", "/w", "code")
    assert (item.api_config_name, item.status, item.child_ids) == ("c", "active", ["x", "y"])
    assert item.completion_result_summary == "s"
    assert item.time == datetime(2025, 3, 18, 12, 13, 20, tzinfo=UTC)
    assert item.undeclared == {"tokensIn": 600, "ulid": "U"}
    assert HistoryItem(b'{"childIds":["x",1]}').child_ids == []


def test_context_edits_are_told_one_by_one() -> None:
    data = (
        b'[[3,[2,[[0,[[1742300000000,"text",["first"],[]],[1742300000001,"text",["second","x"],[["a"],["b"]]]]],'
        b'[2,[[5,"text",["early release"]]]]]]],[7,[4,[[1,[["6","text",["seven"],[]]]]]]]]'
    )
    array = parse_context_history(data)
    assert [(u.message, u.edit_type, u.block, u.ts, u.kind, u.new_text) for u in array.elements] == [
        (3, 2, 0, 1742300000000, "text", "first"),
        (3, 2, 0, 1742300000001, "text", "second"),
        (3, 2, 2, 5, "text", "early release"),
        (7, 4, 1, "6", "text", "seven"),
    ]
    assert [u.metadata for u in array.elements] == [[], [["a"], ["b"]], None, []]
    assert array.elements[1].text == ["second", "x"]
    assert array.elements[0].time == datetime(2025, 3, 18, 12, 13, 20, tzinfo=UTC)
    assert [data[start:end] for start, end in array.spans] == [u.raw for u in array.elements]
    assert (array.units, array.error, array.dump()) == (4, None, data)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"[5]", [(-1, -1)]),
        (b"[[3]]", [(-1, -1)]),
        (b'[["x",[2,[]]]]', [(-1, -1)]),
        (b"[[3,[2,{}]]]", [(-1, -1)]),
        (b"[[3,[2,[5]]]]", [(3, -1)]),
        (b'[[3,[2,[["x",[]]]]]]', [(3, -1)]),
        (b"[[3,[2,[[0,[5]]]]]]", [(3, 0)]),
        (b'[[3,[2,[[0,[[1,"text",[5],[]]]]]]]]', [(3, 0)]),
        (b'[[3,[2,[[0,[[1,"text","x",[]]]]]]]]', [(3, 0)]),
        (b"[[3,[2,[]]]]", []),
    ],
)
def test_an_entry_of_context_edits_that_does_not_read_is_one_unit(
    data: bytes, told: list[tuple[int, int]]
) -> None:
    array = parse_context_history(data)
    assert [(update.message, update.block) for update in array.elements] == told
    assert all(update.error and not update.text and update.ts is None for update in array.elements)
    assert (array.units, array.error, array.dump()) == (len(told), None, data)


def test_context_edits_cut_short_keep_the_whole_entries() -> None:
    array = parse_context_history(b'[[3,[2,[[0,[[1,"text",["a"],[]]]]]]],[4,[2,[[0,[[1,"text",["b"],[]]')
    assert ([u.new_text for u in array.elements], array.units) == (["a"], 2)


def test_context_edits_behind_damage_are_recovered() -> None:
    entry = b'[%d,[2,[[0,[[1,"text",["a"],[]]]]]]]'
    array = parse_context_history(b"[" + entry % 3 + b",[4,@]," + entry % 5 + b"," + entry % 6 + b"]")
    assert [(u.message, u.recovered) for u in array.elements] == [(3, False), (5, True), (6, True)]


def test_records_of_what_is_no_object_have_nothing_set() -> None:
    message, shown = parse_messages(b"[5]").elements[0], parse_ui(b"[5]").elements[0]
    assert (message.role, message.content.is_absent, message.time, message.tool_uses) == ("", True, None, [])
    assert (shown.kind, shown.text, shown.req_info, shown.history_index, shown.deleted_range) == (
        "",
        "",
        None,
        None,
        None,
    )
