"""Claude Code, rule by rule: how pieces are joined, results read and errors told."""

from __future__ import annotations

from typing import Any

import pytest

from claude_records import (
    DONE,
    HOOK,
    INIT,
    LIMIT,
    REDACTED,
    answer,
    assistant,
    bash,
    called,
    ended,
    failure,
    notified,
    outcome,
    said,
    system,
    text,
    thinking,
    thought,
    use,
    user,
)
from recordings import PROFILES
from rules import FLUSH, Rule, params, told
from stenograph.agents.claude.shapes import SHAPES
from stenograph.agents.claude.stream import ClaudeStream

Shapes = dict[bytes, Any]

JOINING = {
    "pieces of a message are joined by a blank line, reasoning first": Rule(
        [said("a"), thought("t"), said("b"), thought("u"), DONE],
        ["reasoning t\n\nu", "agent a\n\nb"],
    ),
    "blocks of one record are joined with nothing between": Rule(
        [assistant(text("a"), thinking("t"), text("b"), thinking("u")), said("c"), DONE],
        ["reasoning tu", "agent ab\n\nc"],
    ),
    "text on both sides of a tool use is one message": Rule(
        [assistant(text("a"), use("c1", "Read", file_path="/f"), text("b")), answer("c1")],
        ["agent ab", "read /f +"],
    ),
    "a string is one text block": Rule(
        [
            {"type": "assistant", "message": {"id": "m", "content": "a"}},
            said("b"),
            {"type": "user", "message": {"content": "echo"}},
        ],
        ["agent a\n\nb"],
    ),
    "empty texts are nothing": Rule(
        [said(""), thought(""), assistant(text(""), text("a")), said(""), DONE], ["agent a"]
    ),
    "redacted thinking is nothing and ends nothing": Rule(
        [said("a"), assistant(REDACTED), said("b"), DONE], ["agent a\n\nb"]
    ),
    "another block of the message ends the text so far": Rule(
        [said("a"), assistant(use("c1", "Read", file_path="/f")), "line", said("b"), DONE],
        ["agent a", "warning line", "agent b", "read /f"],
    ),
    "another block ends the text of its own record too": Rule(
        [said("a"), assistant(text("b"), use("c1", "Read", file_path="/f")), "line"],
        ["agent a\n\nb", "warning line", "read /f"],
    ),
    "an unknown block stands behind the text": Rule(
        [said("a"), assistant({"type": "later"}, text("b"))], ["agent a\n\nb", "unknown block 2.1"]
    ),
    "another message ends it": Rule(
        [said("a"), said("b", "n"), "line"], ["agent a", "warning line", "agent b"]
    ),
    "another message without text ends it": Rule(
        [said("a"), assistant(REDACTED, message="n"), "line"], ["agent a", "warning line"]
    ),
    "another message without blocks ends it": Rule(
        [said("a"), assistant(message="n"), "line"], ["agent a", "warning line"]
    ),
    "the same message without blocks does not": Rule(
        [said("a"), assistant(), "line", said("b")], ["warning line", "agent a\n\nb"]
    ),
    "a user record ends it, whatever it holds": Rule(
        [
            said("a"),
            user(text("x")),
            "line 1",
            said("b"),
            user(),
            "line 2",
            said("c"),
            answer("none"),
            "line 3",
        ],
        [
            "agent a",
            "warning line 1",
            "agent b",
            "warning line 2",
            "agent c",
            "unknown block 8.1",
            "warning line 3",
        ],
    ),
    "threads are apart": Rule(
        [said("a"), said("x", "n", "T"), said("b"), said("y", "n", "T"), DONE],
        ["agent a\n\nb", "agent x\n\ny"],
    ),
    "a user record ends its own thread only": Rule(
        [said("a"), said("x", "n", "T"), user(text("u"), thread="T"), "line"],
        ["agent x", "warning line", "agent a"],
    ),
    "the result of a call ends what its thread said": Rule(
        [called("T", "Bash", command="x"), said("x", "n", "T"), answer("T"), "line"],
        ["agent x", "command x +", "warning line"],
    ),
    "the result ends both threads in the order in which their text began": Rule(
        [said("x", "n", "T"), said("a"), answer("T")], ["agent x", "agent a", "unknown block 3.1"]
    ),
    "a notification ends the thread of the call that it names": Rule(
        [said("x", "n", "T"), said("y", "n", "S"), notified("T"), "line"],
        ["agent x", "unknown record 3", "warning line", "agent y"],
        ["agent x", "warning line", "agent y"],
    ),
    "the end of a turn ends all, in the order in which their text began": Rule(
        [said("x", "n", "T"), said("a"), said("y", "n", "S"), said("z", "n", "T"), DONE, "line"],
        ["agent x\n\nz", "agent a", "agent y", "warning line"],
    ),
    "text that begins again begins later": Rule(
        [said("a"), said("x", "n", "T"), said("b", "o"), DONE], ["agent a", "agent x", "agent b"]
    ),
    "a record of no thread that gives an event ends the main thread only": Rule(
        [said("x", "n", "T"), said("a"), LIMIT, "line"],
        ["agent a", "warning rate limit: rejected", "warning line", "agent x"],
    ),
    "a record of no thread that gives none ends nothing": Rule(
        [
            said("a"),
            INIT,
            system("status"),
            system("thinking_tokens"),
            {"type": "stream_event", "event": {"type": "message_stop"}},
            {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}},
            {"type": "rate_limit_event"},
            said("b"),
        ],
        ["agent a\n\nb"],
    ),
    "what gives an event differs by profile": Rule(
        [said("a"), HOOK, said("b")], ["agent a", "unknown record 2", "agent b"], ["agent a\n\nb"]
    ),
    "a record of unknown type has no thread": Rule(
        [said("x", "n", "T"), said("a"), {"type": "later", "parent_tool_use_id": "T"}, "line"],
        ["agent a", "unknown record 3", "warning line", "agent x"],
    ),
    "text, other values and standard error end nothing": Rule(
        [said("a"), "text", "[1]", "null", ("oops",), said("b")],
        ["warning text", "unknown [1]", "unknown null", "warning oops", "agent a\n\nb"],
    ),
    "records without a message id are messages of their own": Rule(
        [said("a", None), said("b", None), said("c"), said("d", None), said("e")],
        ["agent a", "agent b", "agent c", "agent d", "agent e"],
    ),
    "flush gives what is held, and a later piece begins anew": Rule(
        [said("a"), thought("t"), FLUSH, "line", said("b")],
        ["reasoning t", "agent a", "warning line", "agent b"],
    ),
    "a record that cannot be read ends the text of its thread": Rule(
        [said("a"), {"type": "assistant", "message": {"id": "m", "content": 5}}, "line"],
        ["agent a", "unknown record 2", "warning line"],
    ),
}

RATES = {
    "a status that is not allowed is a warning": Rule(
        [
            {"type": "rate_limit_event", "rate_limit_info": {"status": status}}
            for status in ("allowed", "allowed_warning", "rejected", "", None, 5)
        ],
        ["warning rate limit: allowed_warning", "warning rate limit: rejected"],
    ),
}


READ = called("c1", "Read", file_path="/a")
OTHER = called("c2", "Read", file_path="/b")

RESULTS = {
    "is_error": Rule([READ, failure("c1")], ["read /a -"]),
    "a flag that is no boolean says nothing": Rule(
        [READ, user(outcome("c1", is_error="true", interrupted=1))], ["read /a +"]
    ),
    **{
        f"{flag} on the {place}": Rule([READ, record], [f"read /a {mark}"])
        for flag in ("is_interruption", "is_interrupted", "interrupted")
        for place, record, mark in (
            ("block", user(outcome("c1", **{flag: True})), "-"),
            ("record's tool_use_result", answer("c1", tool_use_result={flag: True}), "-"),
            ("block's tool_use_result", user(outcome("c1", tool_use_result={flag: True})), "-"),
            ("record itself, where nobody puts it", answer("c1", **{flag: True}), "+"),
        )
    },
    "a call that was not run": Rule(
        [READ, answer("c1", tool_result_meta=[{"id": "c1", "non_execution_kind": "user-rejected"}])],
        ["read /a -"],
    ),
    "another call that was not run": Rule(
        [
            READ,
            answer("c1", tool_result_meta=[5, {"id": "c2", "non_execution_kind": "x"}, {"id": "c1"}]),
        ],
        ["read /a +"],
    ),
    "an empty kind of non-execution": Rule(
        [READ, answer("c1", tool_result_meta=[{"id": "c1", "non_execution_kind": ""}])], ["read /a +"]
    ),
    "a tool_use_result that is a string, a list or a number": Rule(
        [
            READ,
            answer("c1", tool_use_result="Error: interrupted"),
            OTHER,
            answer("c2", tool_use_result=[{"interrupted": True}]),
            called("c3", "Read", file_path="/c"),
            answer("c3", tool_use_result=5),
        ],
        ["read /a +", "read /b +", "read /c +"],
    ),
    "results in the order in which they come": Rule(
        [READ, OTHER, answer("c2"), answer("c1")], ["read /b +", "read /a +"]
    ),
    "several results in one record": Rule(
        [READ, OTHER, user(outcome("c2", is_error=True), text("echo"), outcome("c1"))],
        ["read /b -", "read /a +"],
    ),
    "metadata of a record with several results belongs to none": Rule(
        [READ, OTHER, user(outcome("c1"), outcome("c2"), tool_use_result={"interrupted": True})],
        ["read /a +", "read /b +"],
    ),
    "unless its id says to which": Rule(
        [
            READ,
            OTHER,
            user(outcome("c1"), outcome("c2"), tool_use_result={"interrupted": True, "tool_use_id": "c2"}),
        ],
        ["read /a +", "read /b -"],
    ),
    "each result of a record has its own entry in tool_result_meta": Rule(
        [
            READ,
            OTHER,
            user(outcome("c1"), outcome("c2"), tool_result_meta=[{"id": "c2", "non_execution_kind": "x"}]),
        ],
        ["read /a +", "read /b -"],
    ),
    "one result among texts has the record's metadata": Rule(
        [READ, user(text("x"), outcome("c1"), tool_use_result={"interrupted": True})], ["read /a -"]
    ),
    "calls without an answer, in the order of the calls": Rule(
        [bash("c1", "make"), OTHER, called("c3", "Grep", pattern="x"), answer("c2")],
        ["read /b +", "command make", "search x"],
    ),
    "an answer in another thread": Rule(
        [called("c1", "Read", "T", file_path="/a"), answer("c1")], ["read /a +"]
    ),
}

SAME_ID = called("c1", "Read", file_path="/b")

AMBIGUOUS = {
    "a result that names two open calls": Rule(
        [READ, SAME_ID, answer("c1"), "line"],
        ["unknown block 3.1", "warning line", "read /a", "read /b"],
    ),
    "as many results as calls: given without success, and the id is free": Rule(
        [
            READ,
            SAME_ID,
            answer("c1", "x"),
            failure("c1"),
            "line",
            OTHER,
            called("c1", "Read", file_path="/c"),
            answer("c1"),
        ],
        [
            "unknown block 3.1",
            "unknown block 4.1",
            "read /a",
            "read /b",
            "warning line",
            "read /c +",
            "read /b",
        ],
    ),
    "a third call of the id in between": Rule(
        [
            READ,
            SAME_ID,
            answer("c1", "1"),
            called("c1", "Read", file_path="/c"),
            answer("c1", "2"),
            answer("c1", "3"),
        ],
        ["unknown block 3.1", "unknown block 5.1", "unknown block 6.1", "read /a", "read /b", "read /c"],
    ),
    "an id may be used again once it was answered": Rule(
        [READ, answer("c1"), SAME_ID, failure("c1")], ["read /a +", "read /b -"]
    ),
}


def recovered(*files: dict[str, Any]) -> list[Any]:
    return [INIT, *(answer("none", tool_use_result={"type": "text", "file": file}) for file in files)]


RECOVERED = {
    "a read whose use was missed": Rule(
        recovered({"filePath": "a", "content": "x", "numLines": 3, "startLine": 5, "totalLines": 30}),
        ["read /w/a:5-7 +"],
    ),
    "the empty line behind the last line end is not counted": Rule(
        recovered(
            {"filePath": "/a", "content": "x\ny\n", "numLines": 3, "startLine": 1, "totalLines": 3},
            {"filePath": "/a", "content": "y\n", "numLines": 2, "startLine": 2, "totalLines": 3},
        ),
        ["read /a:1-2 +", "read /a:2-2 +"],
    ),
    "without a line end at the end all lines count": Rule(
        recovered({"filePath": "/a", "content": "x\ny", "numLines": 2, "startLine": 1, "totalLines": 2}),
        ["read /a:1-2 +"],
    ),
    "a line end inside the file does not matter": Rule(
        recovered({"filePath": "/a", "content": "x\n", "numLines": 2, "startLine": 1, "totalLines": 9}),
        ["read /a:1-2 +"],
    ),
    "only a count": Rule(recovered({"filePath": "/a", "numLines": 4}), ["read /a:1-4 +"]),
    "only a start": Rule(recovered({"file_path": "/a", "start_line": "4"}), ["read /a:4- +"]),
    "neither": Rule(recovered({"path": "/a"}), ["read /a +"]),
    "a start of 0": Rule(
        recovered({"filePath": "/a", "content": "x\n", "numLines": 2, "startLine": 0, "totalLines": 2}),
        ["read /a:1-1 +"],
    ),
    "nothing was there": Rule(
        recovered({"filePath": "/a", "content": "", "numLines": 0, "startLine": 90, "totalLines": 9}),
        ["read /a:90- +"],
    ),
    "metadata inside the block, a failure": Rule(
        [user(outcome("none", is_error=True, tool_use_result={"file": {"filePath": "/a"}}))], ["read /a -"]
    ),
    "metadata inside the block beside a record's text": Rule(
        [user(outcome("none", tool_use_result={"file": {"filePath": "/a"}}), tool_use_result="words")],
        ["read /a +"],
    ),
    "a file without a path": Rule(
        [
            answer("none", tool_use_result={"file": {"filePath": ""}}),
            answer("none", tool_use_result={"file": "/a"}),
        ],
        ["unknown block 1.1", "unknown block 1.1"],
    ),
    "of several results only the named one": Rule(
        [user(outcome("x"), outcome("y"), tool_use_result={"file": {"filePath": "/a"}, "id": "y"})],
        ["unknown block 1.1", "read /a +"],
    ),
    "a recorded call counts, not its metadata": Rule(
        [
            called("c1", "Read", file_path="/a", offset=2),
            answer("c1", tool_use_result={"file": {"filePath": "/b", "numLines": 9}}),
        ],
        ["read /a:2- +"],
    ),
}


ERRORS = {
    "success": Rule([ended(subtype="success", is_error=False, result="x"), ended()], []),
    "a status of null is none": Rule([ended(subtype="success", api_error_status=None)], []),
    "a flag alone": Rule([ended(subtype="success", is_error=True)], ["error error"]),
    "a flag and a text": Rule([ended(is_error=True, result="boom")], ["error boom"]),
    "a subtype alone": Rule([ended(subtype="error_max_turns")], ["error[error_max_turns] error_max_turns"]),
    "a subtype and texts": Rule(
        [ended(subtype="error_x", errors=["a", "", 5, "b"])], ["error[error_x] error_x: a; b"]
    ),
    "a status alone": Rule([ended(subtype="success", api_error_status=529)], ["error[529] 529"]),
    "a status and a text": Rule(
        [ended(subtype="success", is_error=True, api_error_status=401, result="no")], ["error[401] 401: no"]
    ),
    "a status that is a word": Rule([ended(api_error_status="overloaded")], ["error[overloaded] overloaded"]),
    "all of them": Rule(
        [ended(subtype="error_x", api_error_status=500, result="r", errors=["e"])],
        ["error[error_x] error_x, 500: r; e"],
    ),
    "errors as one text": Rule([ended(is_error=True, errors="e")], ["error e"]),
    "a flag that is no boolean": Rule([ended(is_error="yes", subtype=5, result="x")], []),
    "several results, and what follows": Rule(
        [
            ended(is_error=True, result="a"),
            said("b"),
            ended(subtype="success"),
            INIT,
            said("c", "n"),
            ended(is_error=True),
        ],
        ["error a", "agent b", "agent c", "error error"],
    ),
    "the text, the error, the exit": Rule(
        [said("boom", model="x"), ended(is_error=True, result="boom")],
        ["agent boom", "error boom", "error exit code 1"],
        exit_code=1,
    ),
}


TABLES = {
    "joining": JOINING,
    "rates": RATES,
    "results": RESULTS,
    "ambiguous": AMBIGUOUS,
    "recovered": RECOVERED,
    "errors": ERRORS,
}


@pytest.mark.parametrize("rule", params(TABLES))
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("shapes", [SHAPES, {}], ids=["by shape", "in full"])
def test_rule(rule: Rule, profile: str, shapes: Shapes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClaudeStream, "shapes", shapes)
    assert told("claude", rule, profile) == rule.expected(profile)
