"""Cline, rule by rule: its events, verdicts, ids and the older say/ask records."""

from __future__ import annotations

import json

import pytest

from cline_records import (
    agent,
    ask,
    block,
    end,
    finished,
    hook,
    ink,
    item,
    say,
    start,
    team,
    words,
)
from recordings import PROFILES
from rules import FLUSH, Rule, line, params, told
from stenograph import EventParser

EVENTS = {
    "consumed": Rule(
        [
            {"type": "hook_event", "hookEventName": "tool_call"},
            finished("completed", "bye"),
            finished("aborted", "bye"),
            {"type": "run_result"},
            agent("iteration_start", iteration=1),
            agent("iteration_end"),
            agent("done", reason="error", text="x"),
            agent("content_start", contentType="text", text="a"),
            agent("content_start", contentType="reasoning", reasoning="a"),
            agent("content_start", contentType="tool"),
        ],
        [],
    ),
    "texts": Rule(
        [
            block("text", text="a", content="b"),
            block("text", text="", content="b"),
            block("text", text=None, content="c"),
            block("text", text=5),
            block("text"),
        ],
        ["agent a", "agent b", "agent c"],
    ),
    "thoughts": Rule(
        [
            block("reasoning", reasoning="a", text="b", content="c"),
            block("reasoning", reasoning="", text="b", content="c"),
            block("thinking", content="c"),
            block("thinking", reasoning="d"),
            block("reasoning"),
        ],
        ["reasoning a", "reasoning b", "reasoning c", "reasoning d"],
    ),
    "blocks in the order in which they end": Rule(
        [words("a"), block("reasoning", reasoning="t"), words("b")], ["agent a", "reasoning t", "agent b"]
    ),
    "other content, other events, no event": Rule(
        [
            block("media", media={}),
            agent("later"),
            {"type": "agent_event", "event": {}},
            {"type": "agent_event"},
            {"type": "agent_event", "event": None},
            {"type": "agent_event", "event": 5},
        ],
        [
            "unknown event 1",
            "unknown event 2",
            "unknown event 3",
            "unknown record 4",
            "unknown null",
            "unknown 5",
        ],
    ),
    "updates, notices and errors inside": Rule(
        [
            agent("content_update", contentType="tool"),
            agent("notice", message="m"),
            agent("error", error={"message": "e"}),
        ],
        ["unknown event 1", "unknown event 2", "unknown event 3"],
        ["error e"],
    ),
    "records that the tables do not name": Rule(
        [
            {"type": "run_start"},
            {"type": "team_restored"},
            {"type": "zen_dispatched"},
            {"type": "run_aborted", "message": "m"},
            team("task_start"),
            {"type": "later"},
            {"type": 5},
            {"type": "say"},
        ],
        [f"unknown record {number}" for number in range(1, 9)],
        ["warning m", "unknown record 6", "unknown record 7", "unknown record 8"],
    ),
    "text and values": Rule(["text", "[1]"], ["warning text", "unknown [1]"]),
    "standard error, line by line, records too": Rule(
        [
            ("one",),
            ("  at x",),
            ('{"ts":"t","type":"error","message":"boom"}',),
            ('{"type":"error","message":""}',),
            ('{"type":"later"}',),
            ('{"type":"error"',),
        ],
        [
            "warning one",
            "warning at x",
            "warning boom",
            'warning {"type":"error","message":""}',
            'warning {"type":"later"}',
            'warning {"type":"error"',
            "error exit code 1\none\nat x\nboom\n"
            '{"type":"error","message":""}\n{"type":"later"}\n{"type":"error"',
        ],
        exit_code=1,
    ),
}


def verdict(mark: str, **members: object) -> Rule:
    """One call whose end has these members."""
    return Rule([start("c", "editor", {"path": "/a"}), end("c", **members)], [f"write /a{mark}"])


VERDICTS = {
    "a flag": verdict(" +", output={"success": True, "error": "x"}, error="y"),
    "a flag, false": verdict(" -", output={"success": False}),
    "a flag that is no boolean": verdict(" -", output={"success": "yes", "error": "x"}),
    "every item": verdict(" +", output=[item(), item()]),
    "one item failed": verdict(" -", output=[item(), item(False)]),
    "an item that does not say": verdict(" -", output=[item(), {"query": "q"}]),
    "items that are no objects": verdict(" -", output=["x"]),
    "every item of results": verdict(" +", output={"results": [item()]}, error="x"),
    "no items, an error": verdict(" -", output=[], error="x"),
    "no items": verdict("", output=[]),
    "an error": verdict(" -", error="x"),
    "an error inside the output": verdict(" -", output={"error": "x"}),
    "empty errors": verdict("", output={"error": ""}, error=""),
    "an error that is no text": verdict("", error={"message": "x"}),
    "a string": verdict("", output="done"),
    "nothing": verdict(""),
    "null": verdict("", output=None, error=None),
    "one verdict for all, or each item's own": Rule(
        [start("c", "read_files", {"files": ["/a", "/b"]}), end("c", output=[item(), item(False)])],
        ["read /a -", "read /b -"],
        ["read /a +", "read /b -"],
    ),
    "items that do not pair one to one": Rule(
        [start("c", "read_files", {"files": ["/a", "/b"]}), end("c", output=[item(), item(), item(False)])],
        ["read /a -", "read /b -"],
    ),
    "items of results pair too": Rule(
        [
            start("c", "search_codebase", {"queries": ["x", "y"]}),
            end("c", output={"results": [item(False), item()]}),
        ],
        ["search x -", "search y -"],
        ["search x -", "search y +"],
    ),
}

READ = start("c", "read_files", {"path": "/a"})

IDS = {
    "equal ids pair first in, first out": Rule(
        [
            READ,
            start("c", "read_files", {"path": "/b"}),
            end("c", output=[item()]),
            end("c", output=[item(False)]),
        ],
        ["read /a +", "read /b -"],
    ),
    "what the end restates does not count": Rule(
        [READ, end("c", toolName="editor", input={"path": "/b"}, output=[item()])], ["read /a +"]
    ),
    "another order": Rule(
        [READ, start("d", "editor", {"path": "/b"}), end("d"), end("c", output=[item()])],
        ["write /b", "read /a +"],
    ),
    "an id that is used again": Rule([READ, end("c"), READ, end("c")], ["read /a", "read /a"]),
    "an end that restates what was missed": Rule(
        [
            end("c", toolName="editor", input={"path": "/b"}, output={"success": True}),
            agent("content_end", contentType="tool", toolName="editor", input={"path": "/c"}),
        ],
        ["write /b +", "write /c"],
    ),
    "an end without a start or a name": Rule(
        [end("c", output=[item()]), end("c", input={"path": "/a"})], ["unknown event 1", "unknown event 2"]
    ),
    "an end that names its tool alone": Rule([end("c", toolName="editor")], ["unknown event 1"]),
    "starts without an id or a name are nothing": Rule(
        [
            agent("content_start", contentType="tool", toolName="editor", input={"path": "/a"}),
            agent("content_start", contentType="tool", toolCallId="c", input={"path": "/a"}),
        ],
        [],
    ),
    "never answered": Rule(
        [READ, start("d", "fetch_web_content", {"requests": []}), start("e", "editor", {}), words("x")],
        ["agent x", "read /a", "unknown event 2", "unknown event 3"],
    ),
    "another agent's equal id": Rule(
        [
            hook("agent_start", "lead"),
            start("c", "run_commands", {"commands": ["make"]}),
            hook("agent_start", "sub", "lead"),
            start("c", "editor", {"path": "/a"}),
            end("c", output={"success": True}),
            hook("agent_end", "sub", "lead"),
            end("c", output=[item(False)]),
        ],
        ["write /a +", "command make -"],
    ),
}

FETCH = {"requests": [{"url": "u"}]}


def with_input(record: dict, given: object) -> str:
    return "unknown " + json.dumps({**record["event"], "input": given})


ROO_CALLS = {
    "apply_diff": {"path": "/a", "diff": "x"},
    "edit_file": {"file_path": "/a"},
    "codebase_search": {"query": "where", "path": "/b"},
    "list_code_definition_names": {"path": "/b"},
    "skill": {"skill": "notes"},
}
FETCHED = end("c", toolName="fetch_web_content", output=[item()])
FAILED = end("c", output={"error": "bad"}, error="bad")

OTHERS = {
    "another tool: its end with the recorded input": Rule(
        [start("c", "fetch_web_content", FETCH), FETCHED], [with_input(FETCHED, FETCH)]
    ),
    "an input that the end has itself": Rule(
        [start("c", "demo__add", {"a": 1}), end("c", input={"a": 2})], ["unknown event 2"]
    ),
    "tools of Roo Code": Rule(
        [
            record
            for tool, given in ROO_CALLS.items()
            for record in (start("c", tool, given), end("c", output=""))
        ],
        [with_input(end("c", output=""), given) for given in ROO_CALLS.values()],
        [
            "write /a",
            "write /a",
            "search where in /b",
            "list /b",
            "skill notes at skills/notes/SKILL.md",
        ],
    ),
    "a start without input": Rule([start("c", "demo__add"), end("c")], ["unknown event 2"]),
    "a known tool that lacks what it needs": Rule(
        [start("c", "run_commands", {"wrong": 1}), FAILED], [with_input(FAILED, {"wrong": 1})]
    ),
    "names have case": Rule(
        [start("c", "Editor", {"path": "/a"}), FAILED], [with_input(FAILED, {"path": "/a"})]
    ),
}

QUESTION = json.dumps({"question": "Why?", "options": ["a"]})
RETRY = {"attempt": 1, "maxAttempts": 3, "errorMessage": "busy"}


def old(tool: str, **members: object) -> str:
    return json.dumps({"tool": tool, "path": "src", **members})


LEGACY = {
    "what is said": Rule(
        [say("text", "a"), say("completion_result", "b"), say("reasoning", "t"), say("error", "e")],
        ["agent a", "agent b", "reasoning t", "error e"],
    ),
    "empty texts": Rule(
        [say("text", ""), say("text"), say("completion_result", None), say("reasoning"), ask("followup", "")],
        [],
    ),
    "an error without text": Rule([say("error"), say("error", "")], ["error error", "error error"]),
    "a failed request, as say and as ask": Rule(
        [say("api_req_failed", "s"), ask("api_req_failed", '{"message":"a"}', 2)],
        ["error s", "unknown record 2"],
        ["error s", "error a"],
    ),
    "a question": Rule(
        [ask("followup", "Why?"), ask("followup", QUESTION, 2)],
        ["agent Why?", f"agent {QUESTION}"],
        ["agent Why?", "agent Why?"],
    ),
    "an error of the program": Rule(
        [{"type": "error", "message": "e"}, {"type": "error"}],
        ["unknown record 1", "unknown record 2"],
        ["error e", "error error"],
    ),
    "an error once per text": Rule(
        [
            ask("api_req_failed", '{"message":"a"}'),
            {"type": "error", "message": '{"message":"a"}'},
            say("error", "b", 2),
            {"type": "error", "message": "b"},
            ask("api_req_failed", "a", 3),
        ],
        ["unknown record 1", "unknown record 2", "error b", "unknown record 4", "unknown record 5"],
        ["error a", "error b"],
    ),
    "bookkeeping": Rule(
        [
            {"type": "task_started", "taskId": "1"},
            *(
                say(kind, "x", number)
                for number, kind in enumerate(
                    (
                        "task",
                        "api_req_started",
                        "api_req_finished",
                        "api_req_retried",
                        "command_output",
                        "checkpoint_created",
                        "info",
                        "user_feedback",
                    )
                )
            ),
            ask("command_output", "x", 99),
        ],
        [f"unknown record {number}" for number in range(1, 11)],
        [],
    ),
    "retries": Rule(
        [
            say("error_retry", json.dumps(RETRY)),
            say("error_retry", json.dumps({**RETRY, "errorMessage": '{"message":"slow"}'}), 2),
            say("error_retry", json.dumps({**RETRY, "failed": True}), 3),
            say("error_retry", json.dumps({"attempt": 2, "maxAttempts": 3}), 4),
            say("error_retry", json.dumps({"errorMessage": "busy"}), 5),
            say("error_retry", "words", 6),
        ],
        [f"unknown record {number}" for number in range(1, 7)],
        [
            "warning api retry 1 of 3: busy",
            "warning api retry 1 of 3: slow",
            "warning api retry 2 of 3",
            "warning api retry: busy",
            "warning words",
        ],
    ),
    "tools": Rule(
        [
            say("tool", old("readFile", readLineStart=2, readLineEnd=4)),
            say("tool", old("readFile"), 2),
            say("tool", old("newFileCreated"), 3),
            ask("tool", old("editedExistingFile"), 4),
            say("tool", old("fileDeleted"), 5),
            say("tool", old("searchFiles", regex="x"), 6),
            say("tool", old("listFilesTopLevel"), 7),
            say("tool", old("listFilesRecursive"), 8),
            say("tool", old("listCodeDefinitionNames"), 9),
            say("tool", old("webFetch"), 10),
            say("tool", old("searchFiles"), 11),
            say("tool", "words", 12),
            say("command", "cat a", 13),
            ask("command", "make", 14),
        ],
        [f"unknown record {number}" for number in range(1, 15)],
        [
            "read src:2-4",
            "read src",
            "write src",
            "write src",
            "write src",
            "search x in src",
            "list src",
            "list src",
            "list src",
            "unknown record 10",
            "unknown record 11",
            "unknown record 12",
            "command cat a",
            "command make",
        ],
    ),
    "further tools": Rule(
        [
            ask("tool", old("appliedDiff")),
            ask("tool", old("insertContent", lineNumber=3), 2),
            ask("tool", old("searchAndReplace"), 3),
            ask("tool", old("generateImage", content="a cat"), 4),
            ask("tool", old("codebaseSearch", query="where"), 5),
            ask("tool", old("skill", skill="notes"), 6),
            say("tool", json.dumps({"tool": "useSkill", "path": "notes"}), 7),
            ask("tool", json.dumps({"tool": "readFile", "batchFiles": [{"path": "a"}, 7, {"path": "b"}]}), 8),
            ask("tool", json.dumps({"tool": "appliedDiff", "batchDiffs": [{"path": "a"}, {"path": "b"}]}), 9),
            ask("tool", json.dumps({"tool": "listFilesTopLevel", "batchDirs": [{"path": "a"}]}), 10),
            ask("tool", json.dumps({"tool": "appliedDiff", "batchDiffs": []}), 11),
        ],
        [f"unknown record {number}" for number in range(1, 12)],
        [
            "write src",
            "write src",
            "write src",
            "write src",
            "search where in src",
            "skill notes at skills/notes/SKILL.md",
            "skill notes at skills/notes/SKILL.md",
            "read a",
            "read b",
            "write a",
            "write b",
            "list a",
            "unknown record 11",
        ],
    ),
    "other kinds": Rule(
        [say("later", "x"), ask("use_mcp_server", "{}", 2), {"type": "ask", "say": "text"}],
        [f"unknown record {number}" for number in range(1, 4)],
    ),
}

PARTIAL = {
    "a partial record is replaced by the next of its ts and kind": Rule(
        [say("text", "a", partial=True), say("text", "ab", partial=True), say("text", "abc", partial=False)],
        ["agent abc"],
    ),
    "it is given when another ts comes": Rule(
        [say("text", "a", partial=True), "line", say("text", "b", 2)], ["warning line", "agent a", "agent b"]
    ),
    "the last partial one is given": Rule(
        [say("text", "a", partial=True), say("text", "ab", partial=True), say("reasoning", "t", 2)],
        ["agent ab", "reasoning t"],
    ),
    "another kind of the same ts leaves it waiting": Rule(
        [say("text", "a", partial=True), say("reasoning", "t"), say("text", "ab")],
        ["reasoning t", "agent ab"],
    ),
    "partial ones of two kinds": Rule(
        [say("text", "a", partial=True), say("reasoning", "t", partial=True), say("text", "b", 2)],
        ["agent a", "reasoning t", "agent b"],
    ),
    "it is given at flush and at close": Rule(
        [say("text", "a", partial=True), FLUSH, "line", say("text", "b", 2, partial=True)],
        ["agent a", "warning line", "agent b"],
    ),
    "records of other types have another ts": Rule(
        [
            say("text", "a", partial=True),
            words("b"),
            say("text", "c", 2, partial=True),
            {"type": "task_started"},
            "line",
        ],
        ["agent a", "agent b", "agent c", "unknown record 4", "warning line"],
        ["agent a", "agent b", "agent c", "warning line"],
    ),
    "a flag that is not true": Rule([say("text", "a", partial="yes"), "line"], ["agent a", "warning line"]),
    "unknown ones too": Rule(
        [say("later", "a", partial=True), say("later", "ab"), say("later", "b", 2)],
        ["unknown record 2", "unknown record 3"],
    ),
}

INK = {
    "reads as the same say and ask": Rule(
        [ink("say", "text", "a"), ink("say", "reasoning", "t", 2), ink("ask", "followup", "Why?", 3)],
        ["agent a", "reasoning t", "agent Why?"],
    ),
    "what the user said is echo": Rule([ink("say", "text", "a", role="user")], []),
    "its end is consumed": Rule([{"type": "completion", "status": "ok", "timestamp": 3}], []),
    "partial ones": Rule(
        [
            ink("say", "text", "a", partial=True),
            ink("say", "text", "ab", partial=True),
            ink("say", "text", "c", 2, partial=True),
            {"type": "completion"},
            "line",
        ],
        ["agent ab", "agent c", "warning line"],
    ),
    "neither say nor ask": Rule(
        [{"type": "message", "role": "assistant", "text": "a"}], ["unknown record 1"]
    ),
}

TABLES = {
    "events": EVENTS,
    "verdicts": VERDICTS,
    "ids": IDS,
    "others": OTHERS,
    "legacy": LEGACY,
    "partial": PARTIAL,
    "ink": INK,
}


@pytest.mark.parametrize("rule", params(TABLES))
@pytest.mark.parametrize("profile", PROFILES)
def test_rule(rule: Rule, profile: str) -> None:
    assert told("cline", rule, profile) == rule.expected(profile)


@pytest.mark.parametrize(
    ("record", "session"),
    [
        ({"type": "hook_event", "sessionId": "a", "session_id": "b", "id": "c"}, "a"),
        ({"type": "later", "sessionId": "", "session_id": "b"}, "b"),
        ({"type": "say", "say": "text", "sessionId": 5, "id": "c"}, "c"),
        ({"type": "task_started", "taskId": "t", "task_id": "t"}, None),
        (agent("later", sessionId="inner"), None),
    ],
)
def test_where_the_session_is_told(record: dict, session: str | None) -> None:
    parser = EventParser("cline")
    parser.feed(line(record) + line({"type": "hook_event", "sessionId": "late"}))
    assert parser.session_id == (session or "late")
