"""What the model was sent at each request, by both agents' rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stenograph.agents import roo
from stenograph.agents.cline.requests import MISSING, requests, sent
from stenograph.agents.cline.task import Task, parse_task
from stenograph.errors import UsageError
from stenograph.model import Request
from stenograph.stores import read
from taskdirs import DATA, TASKDIRS, task_path


def task(api: list[Any], ui: list[Any] | None = None, context: list[Any] | None = None) -> Task:
    files = {"api_conversation_history.json": json.dumps(api).encode()}
    if ui is not None:
        files["ui_messages.json"] = json.dumps(ui).encode()
    if context is not None:
        files["context_history.json"] = json.dumps(context).encode()
    return parse_task("1", files)


def user(*texts: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts], **more}


def answer(*texts: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text} for text in texts], **more}


def asked(index: int, ts: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "type": "say",
        "say": "api_req_started",
        "ts": ts,
        "conversationHistoryIndex": index,
        "text": "{}",
        **more,
    }


def shown(index: int, **more: Any) -> dict[str, Any]:
    return {"type": "say", "say": "text", "text": "x", "conversationHistoryIndex": index, **more}


TURNS = [
    user("u0"),
    answer("a1"),
    user("u2"),
    answer("a3"),
    user("u4"),
    answer("a5"),
    user("u6"),
    answer("a7"),
]
ASKED = [asked(-1), shown(0), asked(1), shown(2), asked(3), shown(4), asked(5), shown(6)]


def indices(found: Task, number: int) -> list[int | None]:
    return [message.index for message in sent(found, requests(found)[number])]


def test_a_request_sends_the_history_up_to_the_users_message_that_it_adds() -> None:
    found = task(TURNS, ASKED)
    assert [request.last for request in requests(found)] == [0, 2, 4, 6]
    assert indices(found, 0) == [0]
    assert indices(found, 3) == [0, 1, 2, 3, 4, 5, 6]


def test_a_deleted_range_leaves_out_what_is_behind_the_first_two_messages() -> None:
    ui = [
        *ASKED[:6],
        asked(5, conversationHistoryDeletedRange=[2, 3]),
        shown(6, conversationHistoryDeletedRange=[2, 5]),
    ]
    assert indices(task(TURNS, ui), 3) == [0, 1, 6]


def test_the_range_in_force_is_the_one_that_the_answers_messages_are_stamped_with() -> None:
    ui = [*ASKED[:4], asked(3), shown(4, conversationHistoryDeletedRange=[2, 3]), asked(5)]
    found = task(TURNS, ui)
    assert indices(found, 1) == [0, 1, 2]
    assert indices(found, 2) == [0, 1, 4]
    assert indices(found, 3) == [0, 1, 2, 3, 4, 5, 6]


def test_without_ui_messages_each_answer_is_a_request_and_the_index_tells_the_range() -> None:
    found = parse_task(
        "1",
        {
            "api_conversation_history.json": json.dumps(TURNS).encode(),
            "history_item.json": b'{"id":"1","conversationHistoryDeletedRange":[2,5]}',
        },
    )
    assert [request.last for request in requests(found)] == [0, 2, 4, 6]
    assert indices(found, 3) == [0, 1, 6]


def test_requests_without_an_index_are_told_by_time() -> None:
    api = [user("u0", ts=11), answer("a1", ts=15), user("u2", ts=21)]
    ui = [{**asked(0, ts=10)}, {**asked(0, ts=20)}]
    for message in ui:
        del message["conversationHistoryIndex"]
    assert [request.last for request in requests(task(api, ui))] == [0, 2]


def result(call: str, text: str = "r") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": [{"type": "text", "text": text}]}


def use(call: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": "read_file", "input": {}}


def content(found: Task, number: int, at: int) -> Any:
    return sent(found, requests(found)[number])[at].content


def test_tool_results_of_the_first_message_behind_a_cut_are_dropped() -> None:
    api = [user("u0"), answer("a1"), user("u2"), {"role": "assistant", "content": [use("c")]}]
    api.append({"role": "user", "content": [result("c"), {"type": "text", "text": "u4"}]})
    found = task(api, [asked(3), shown(4, conversationHistoryDeletedRange=[2, 3])])
    assert content(found, 0, 2) == [{"type": "text", "text": "u4"}]
    assert sent(found, requests(found)[0])[2].is_edited


def test_an_edit_replaces_a_blocks_text_and_the_last_one_wins() -> None:
    edits = [[0, [0, [[0, [[1, "text", ["first"], []], [2, "text", ["second"], []]]]]]]]
    found = task(TURNS[:1], [asked(-1)], edits)
    assert content(found, 0, 0) == [{"type": "text", "text": "second"}]


def test_an_edit_of_a_tool_result_replaces_its_first_text() -> None:
    api = [
        user("u0"),
        {"role": "assistant", "content": [use("c")]},
        {"role": "user", "content": [result("c")]},
    ]
    found = task(api, [asked(1)], [[2, [2, [[0, [[1, "text", ["cut"], []]]]]]]])
    assert content(found, 0, 2) == [result("c", "cut")]


def test_an_edit_is_in_force_from_the_request_it_was_made_in() -> None:
    edits = [[0, [2, [[0, [[150, "text", ["later"], []]]]]]]]
    found = task(TURNS, [asked(-1, 50), asked(1, 100), asked(3, 200)], edits)
    texts = [content(found, number, 0)[0]["text"] for number in range(3)]
    assert texts == ["u0", "later", "later"]


def test_block_numbers_are_not_shifted_when_results_were_dropped() -> None:
    api = [user("u0"), answer("a1"), user("u2"), {"role": "assistant", "content": [use("c")]}]
    api.append(
        {
            "role": "user",
            "content": [result("c"), {"type": "text", "text": "b1"}, {"type": "text", "text": "b2"}],
        }
    )
    found = task(
        api,
        [asked(3), shown(4, conversationHistoryDeletedRange=[2, 3])],
        [[4, [2, [[1, [[1, "text", ["edited"], []]]]]]]],
    )
    assert [block["text"] for block in content(found, 0, 2)] == ["b1", "edited"]


def test_an_edit_that_fits_no_block_changes_nothing() -> None:
    edits = [[0, [2, [[7, [[1, "text", ["x"], []]]]]]], [9, [2, [[0, [[1, "text", ["x"], []]]]]]]]
    found = task([{"role": "user", "content": "u0"}], [asked(-1)], edits)
    (message,) = sent(found, requests(found)[0])
    assert (message.content, message.is_edited) == ("u0", False)


def test_a_missing_result_is_filled_in_and_results_stand_first() -> None:
    api = [
        user("u0"),
        {"role": "assistant", "content": [use("c"), use("d")]},
        {"role": "user", "content": [{"type": "text", "text": "u2"}, result("d")]},
    ]
    blocks = content(task(api, [asked(1)]), 0, 2)
    assert blocks == [
        {"type": "tool_result", "tool_use_id": "c", "content": MISSING},
        result("d"),
        {"type": "text", "text": "u2"},
    ]


def roo_indices(api: list[Any]) -> list[int | None]:
    found = task(api)
    return [message.index for message in roo.sent(found, Request(number=0, last=len(api) - 1, element=0))]


def test_roo_sends_the_last_summary_and_what_follows() -> None:
    summary = user("s", isSummary=True, condenseId="k")
    assert roo_indices([user("u0"), answer("a1"), summary, answer("a3"), summary, user("u5")]) == [4, 5]


def test_roo_leaves_out_what_a_marker_that_is_there_hides() -> None:
    hidden = [user("u0"), answer("a1", truncationParent="t"), user("u2", truncationParent="t")]
    marker = user("m", isTruncationMarker=True, truncationId="t")
    assert roo_indices([*hidden, marker, answer("a4")]) == [0, 3, 4]
    assert roo_indices([*hidden, answer("a4")]) == [0, 1, 2, 3]
    assert roo_indices([user("s", isSummary=True), *hidden, marker]) == [0, 1, 4]


def test_roo_sends_messages_whose_summary_is_gone() -> None:
    assert roo_indices([user("u0", condenseParent="k"), answer("a1")]) == [0, 1]
    assert roo_indices([user("u0", condenseParent="k"), user("s", condenseId="k")]) == [1]


def test_roo_drops_results_of_calls_that_are_not_sent() -> None:
    api = [
        {"role": "assistant", "content": [use("c")]},
        user("s", isSummary=True),
        {"role": "user", "content": [result("c"), {"type": "text", "text": "u2"}]},
        {"role": "user", "content": [result("c")]},
    ]
    found = roo.sent(task(api), Request(number=0, last=3, element=0))
    assert [(m.index, m.content, m.is_edited) for m in found] == [
        (1, [{"type": "text", "text": "s"}], False),
        (2, [{"type": "text", "text": "u2"}], True),
    ]


def test_roo_trims_a_files_content_less() -> None:
    text = "<write_to_file><path> a </path><content>\n\n  x\n\n</content></write_to_file>"
    assert roo.parse_xml_tools(text)[0].params == {"path": "a", "content": "\n  x\n"}


def test_a_session_answers_for_its_own_agent(tmp_path: Path) -> None:
    session = read(task_path(TASKDIRS["roo-condensed-string-summary"], tmp_path))
    assert (session.summary.format, session.summary.agent) == ("roo-task", "roo")
    assert [message.index for message in session.context_at(0)] == [0]
    classic = read(DATA / "cline-store" / "legacy_read" / "tasks" / "1796041090826")
    assert [[message.index for message in classic.context_at(number)] for number in range(3)] == [
        [0],
        [0, 1, 2],
        [0, 1, 2, 3, 4],
    ]
    assert classic.context_at(-1) == classic.context_at(2)
    with pytest.raises(UsageError, match="there is no request 3: the session has 3"):
        classic.context_at(3)


def test_an_sdk_session_sends_all_that_was_said() -> None:
    session = read(DATA / "cline-store" / "hub_tools" / "sessions" / "1796040521569_zl4py")
    assert [[message.role for message in session.context_at(number)] for number in range(3)] == [
        ["user"],
        ["user", "assistant", "user", "user"],
        ["user", "assistant", "user", "user", "assistant", "user"],
    ]
    assert [request.totals.tokens_in for request in session.requests] == [100, 120, 150]
