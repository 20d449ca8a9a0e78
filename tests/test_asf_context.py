"""What the model saw: tasks made for each way in which agents leave messages out, at every request."""

import json
from pathlib import Path
from typing import Any

import pytest

from stenograph import Report, convert, read
from stenograph.interchange.asf_verify import verify_file
from stenograph.model import Sent

Json = dict[str, Any]
START = 1_770_000_000_000
STORAGE = {"classic": "saoudrizwan.claude-dev", "roo": "rooveterinaryinc.roo-cline"}


def write(folder: Path, variant: str, files: dict[str, Any], *, task: str = "1770000000000") -> Path:
    path = folder / STORAGE[variant] / "tasks" / task
    path.mkdir(parents=True)
    for name, value in files.items():
        (path / name).write_text(json.dumps(value))
    return path


def message(at: int, **more: Any) -> Json:
    """A message whose text is its index; odd ones are answers that call a tool, even ones give the result."""
    text = {"type": "text", "text": f"m{at}"}
    if at % 2:
        call = {"type": "tool_use", "id": f"call_{at}", "name": "read_file", "input": {"path": f"{at}.py"}}
        return {"role": "assistant", "content": [text, call], "ts": START + at * 1000} | more
    result = [{"type": "tool_result", "tool_use_id": f"call_{at - 1}", "content": f"r{at}"}] if at else []
    return {"role": "user", "content": [*result, text], "ts": START + at * 1000} | more


def asked(last: int, left_out: list[int] | None = None, **more: Any) -> list[Json]:
    """The UI messages of one request whose last message is `last`."""
    stamp = {"conversationHistoryDeletedRange": left_out} if left_out else {}
    told = {"tokensIn": 10, "tokensOut": 5, "cacheWrites": 2, "cacheReads": 1, "cost": 0.5} | more
    ts = START + last * 1000
    begun = {"ts": ts + 10, "type": "say", "say": "api_req_started", "text": json.dumps(told)}
    text = {"ts": ts + 900, "type": "say", "say": "text", "text": f"m{last + 1}"}
    return [
        begun | {"conversationHistoryIndex": last - 1},
        text | {"conversationHistoryIndex": last} | stamp,
    ]


def texts(sent: list[Sent]) -> set[str]:
    """All texts that the messages of a request hold, without what Cline puts in for results left out."""
    contents = [{"text": each.content} if isinstance(each.content, str) else each.content for each in sent]
    return set(_texts(contents)) - {"result missing"}


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        found = [value[key] for key in ("text", "output", "content") if isinstance(value.get(key), str)]
        return found + [text for member in value.values() for text in _texts(member)]
    return [text for each in value for text in _texts(each)] if isinstance(value, list) else []


def agree(path: Path, folder: Path) -> list[Json]:
    """Convert a task and compare what was sent at each request; gives the lines behind the header."""
    report = convert(path, folder, to="asf", check=True)
    assert report.count("check-failed") == 0
    (file,) = folder.glob("*/*.jsonl")
    assert verify_file(file) == []
    source, made = read(path), read(file)
    assert len(made.requests) == len(source.requests)
    for number in range(len(source.requests)):
        assert texts(made.context_at(number)) == texts(source.context_at(number)), f"request {number}"
    return [json.loads(line) for line in file.read_text().splitlines()]


def report_of(task: Path) -> Report:
    return convert(task, None, to="asf")


def test_nothing_left_out(tmp_path: Path) -> None:
    api = [message(at) for at in range(6)]
    ui = [*asked(0), *asked(2), *asked(4)]
    task = write(tmp_path, "classic", {"api_conversation_history.json": api, "ui_messages.json": ui})
    lines = agree(task, tmp_path / "out")
    assert lines[0]["format"] == "agentsession/0.5"
    usages = [line["usage"] for line in lines if line["type"] == "response"]
    assert (
        usages
        == [
            {
                "input_tokens": 13,
                "input_tokens_details": {"cached_tokens": 1, "cache_creation_tokens": 2},
                "output_tokens": 5,
                "total_tokens": 18,
            }
        ]
        * 3
    )
    assert [line["stenograph:cost_usd"] for line in lines if line["type"] == "response"] == [0.5] * 3


def test_a_range_that_grows(tmp_path: Path) -> None:
    api = [message(at) for at in range(10)]
    ui = [*asked(0), *asked(2), *asked(4), *asked(6, [2, 3]), *asked(8, [2, 5])]
    task = write(tmp_path, "classic", {"api_conversation_history.json": api, "ui_messages.json": ui})
    lines = agree(task, tmp_path / "out")
    assert lines[0]["format"] == "agentsession/0.11"
    omits = [line["omit"] for line in lines if "omit" in line]
    assert report_of(task).count("stand-in") == 2
    assert len(omits) == 2  # the second names only what is new
    assert not set(omits[0]["items"]) & set(omits[1]["items"])


def test_a_range_that_shrinks(tmp_path: Path) -> None:
    api = [message(at) for at in range(10)]
    ui = [*asked(0), *asked(2), *asked(4), *asked(6, [2, 5]), *asked(8, [2, 3])]
    task = write(tmp_path, "classic", {"api_conversation_history.json": api, "ui_messages.json": ui})
    lines = agree(task, tmp_path / "out")
    assert [line["omit"] for line in lines if "omit" in line][1] == {}


def test_a_context_edit_is_reported(tmp_path: Path) -> None:
    api = [message(at) for at in range(4)]
    edits = [[2, [2, [[0, [[START + 500, "text", ["[shortened]"], []]]]]]]]
    files = {
        "api_conversation_history.json": api,
        "ui_messages.json": [*asked(0), *asked(2)],
        "context_history.json": edits,
    }
    task = write(tmp_path, "classic", files)
    report = convert(task, tmp_path / "out", to="asf", check=True)
    assert report.count("context-edit") == 1
    (file,) = (tmp_path / "out").glob("*/*.jsonl")
    records = [json.loads(line) for line in file.read_text().splitlines()]
    told = [line["data"]["record"] for line in records if line.get("data", {}).get("kind") == "context_edit"]
    assert told == [{"message": 2, "block": 0, "type": 2, "text": "[shortened]"}]
    assert "r2" in texts(read(file).context_at(1))  # the format cannot put the edit into force


def test_roo_truncation(tmp_path: Path) -> None:
    api = [
        message(0),
        message(1, truncationParent="t1"),
        message(2, truncationParent="t1"),
        message(3),
        {
            "role": "user",
            "content": "[truncated]",
            "ts": START + 3500,
            "isTruncationMarker": True,
            "truncationId": "t1",
        },
        message(4),
        message(5),
    ]
    ui = [
        {"ts": START + ts, "type": "say", "say": "api_req_started", "text": '{"tokensIn":1,"tokensOut":1}'}
        for ts in (-10, 1990, 3990)
    ]
    task = write(tmp_path, "roo", {"api_conversation_history.json": api, "ui_messages.json": ui})
    lines = agree(task, tmp_path / "out")
    assert len([line for line in lines if "omit" in line]) == 1


@pytest.mark.parametrize("content", ["The story so far.", [{"type": "text", "text": "The story so far."}]])
def test_roo_condensing(content: Any, tmp_path: Path) -> None:
    api = [
        message(0),
        message(1, condenseParent="c1"),
        message(2, condenseParent="c1"),
        message(3, condenseParent="c1"),
        {
            "role": "user",
            "content": content,
            "ts": START + 3500,
            "isSummary": True,
            "condenseId": "c1",
        },
        message(4),
        message(5),
    ]
    condensed = {
        "cost": 0.25,
        "prevContextTokens": 900,
        "newContextTokens": 90,
        "summary": "The story so far.",
    }
    ui = [
        {"ts": START + ts, "type": "say", "say": "api_req_started", "text": '{"tokensIn":1,"tokensOut":1}'}
        for ts in (-10, 1990)
    ]
    ui += [
        {"ts": START + 3600, "type": "say", "say": "condense_context", "contextCondense": condensed},
        {"ts": START + 3990, "type": "say", "say": "api_req_started", "text": '{"tokensIn":1,"tokensOut":1}'},
    ]
    task = write(tmp_path, "roo", {"api_conversation_history.json": api, "ui_messages.json": ui})
    lines = agree(task, tmp_path / "out")
    (compaction,) = [line for line in lines if line["type"] == "compaction"]
    assert compaction["summary"]["content"][0]["text"] == "The story so far."
    paid = [line for line in lines if line["type"] == "custom" and "usage" in (line.get("data") or {})]
    assert [line["data"]["stenograph:cost_usd"] for line in paid] == [0.25]


def test_calls_that_a_restored_checkpoint_took_back_are_paid_calls(tmp_path: Path) -> None:
    api = [message(at) for at in range(2)]
    back = {"tokensIn": 7, "tokensOut": 3, "cacheWrites": 0, "cacheReads": 0, "cost": 0.125}
    ui = [
        *asked(0),
        {
            "ts": START + 1500,
            "type": "say",
            "say": "checkpoint_created",
            "lastCheckpointHash": "4f1c9d2a",
            "conversationHistoryIndex": 0,
        },
        {
            "ts": START + 1600,
            "type": "say",
            "say": "deleted_api_reqs",
            "text": json.dumps(back),
            "conversationHistoryIndex": 0,
        },
    ]
    task = write(tmp_path, "classic", {"api_conversation_history.json": api, "ui_messages.json": ui})
    lines = agree(task, tmp_path / "out")
    assert [line["cline:tree"] for line in lines if line["type"] == "env"] == ["4f1c9d2a"]
    (paid,) = [line["data"] for line in lines if "usage" in (line.get("data") or {})]
    assert (paid["about"], paid["usage"]["total_tokens"]) == ("deleted_api_reqs", 10)
    assert sum(each.totals.tokens_in for each in [read(task).summary]) == 17


def test_subtasks_are_linked_both_ways(tmp_path: Path) -> None:
    parent, child = "5d0f3f5e-2a17-4c55-9a6e-0b7c41d2e9aa", "0b7c41d2-4c55-2a17-9a6e-5d0f3f5e9aaa"
    files = {"api_conversation_history.json": [message(at) for at in range(2)]}
    item = {"id": parent, "ts": START, "task": "t", "childIds": [child]}
    write(tmp_path, "roo", files | {"history_item.json": item}, task=parent)
    item = {"id": child, "ts": START, "task": "t", "parentTaskId": parent}
    write(tmp_path, "roo", files | {"history_item.json": item}, task=child)
    convert(tmp_path / STORAGE["roo"], tmp_path / "out", to="asf")
    made = {}
    for file in (tmp_path / "out").glob("*/*.jsonl"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        made[lines[0]["id"]] = lines
        assert verify_file(file) == []
    assert made[child][0]["parent_session"] == parent
    links = [(line["rel"], line["session"]) for line in made[parent] if line["type"] == "link"]
    assert links == [("subsession", child)]


def test_a_call_that_failed_has_its_reason(tmp_path: Path) -> None:
    api = [message(at) for at in range(2)]
    ui = asked(0, cancelReason="streaming_failed", streamingFailedMessage="reset")
    task = write(tmp_path, "classic", {"api_conversation_history.json": api, "ui_messages.json": ui})
    lines = agree(task, tmp_path / "out")
    (response,) = [line for line in lines if line["type"] == "response"]
    assert response["error"] == {"code": "streaming_failed", "message": "streaming_failed"}
