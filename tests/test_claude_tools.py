"""Claude Code's tools, row by row, and the folder against which their paths are resolved."""

from __future__ import annotations

from typing import Any

import pytest

from claude_records import INIT, answer, assistant, bash, called, failure, system, text, user
from recordings import PROFILES
from rules import Rule, params, told
from stenograph.agents.claude.shapes import SHAPES
from stenograph.agents.claude.stream import ClaudeStream

Shapes = dict[bytes, Any]


def tool(name: str, given: Any, standard: list[str], extended: list[str] | None = None) -> Rule:
    """A call that succeeds, in the workspace /w."""
    block = {"type": "tool_use", "id": "c1", "name": name, "input": given}
    return Rule([INIT, assistant(block), answer("c1")], standard, extended)


TOOLS = {
    "Read": tool("Read", {"file_path": "a.py"}, ["read /w/a.py +"]),
    "Read by its other key": tool("Read", {"path": "/x/../a.py"}, ["read /a.py +"]),
    "Read, the first usable key": tool("Read", {"file_path": "", "path": "/b"}, ["read /b +"]),
    "Read from a line on": tool("Read", {"file_path": "/a", "offset": 3}, ["read /a:3- +"]),
    "Read some lines": tool("Read", {"file_path": "/a", "offset": 3, "limit": 2}, ["read /a:3-4 +"]),
    "Read the first lines": tool("Read", {"file_path": "/a", "limit": 5}, ["read /a:1-5 +"]),
    "Read by the other line keys": tool(
        "Read",
        {"file_path": "/a", "offset": "x", "start_line": "7", "limit": 0, "line_count": 2.0},
        ["read /a:7-8 +"],
    ),
    "Read, bounds that are no line numbers": tool(
        "Read", {"file_path": "/a", "offset": 0, "limit": -1}, ["read /a +"]
    ),
    "Read, more that are none": tool(
        "Read", {"file_path": "/a", "offset": True, "limit": 2.5}, ["read /a +"]
    ),
    "Write": tool("Write", {"file_path": "a", "content": "x"}, ["write /w/a +"]),
    "Edit": tool("Edit", {"filePath": "/a"}, ["write /a +"]),
    "MultiEdit": tool("MultiEdit", {"path": "/a", "edits": []}, ["write /a +"]),
    "NotebookEdit": tool(
        "NotebookEdit", {"notebook_path": "n.ipynb", "file_path": "/no"}, ["write /w/n.ipynb +"]
    ),
    "NotebookEdit by its other keys": tool("NotebookEdit", {"notebookPath": 1, "path": "/n"}, ["write /n +"]),
    "Grep": tool("Grep", {"pattern": "x"}, ["search x +"]),
    "Grep with a scope": tool("Grep", {"query": "x", "path": "src"}, ["search x in /w/src +"]),
    "Glob": tool("Glob", {"glob": "*.py", "path": ""}, ["search *.py +"]),
    "LS": tool("LS", {"path": "/w/"}, ["list /w +"]),
    "LS of nothing named": tool("LS", {}, ["list +"]),
    "Bash": tool("Bash", {"command": "make"}, ["command make +"]),
    "Bash, a file operation": tool("Bash", {"cmd": "cat a && ls b"}, ["read /w/a +", "list /w/b +"]),
    "Bash, a grep that found nothing did not fail": Rule(
        [
            bash("b1", "grep x a"),
            failure("b1", "Exit code 1"),
            bash("b2", "grep x a"),
            failure("b2", [text("Exit code 1")]),
        ],
        ["search x in a +", "search x in a +"],
    ),
    "Bash, other failures": Rule(
        [
            bash("b1", "grep x a"),
            failure("b1", "Exit code 2\ngrep: a: no such file"),
            bash("b2", "cat a"),
            failure("b2", "Exit code 1\ncat: a: no such file"),
            bash("b3", "grep x a | wc -l"),
            failure("b3", "said no"),
        ],
        ["search x in a -", "read a -", "search x in a -"],
    ),
    "Skill": tool("Skill", {"skill": "greet"}, ["skill greet at /w/skills/greet/SKILL.md +"]),
    "Skill by its other keys": tool(
        "Skill", {"skill": 1, "command": "greet"}, ["skill greet at /w/skills/greet/SKILL.md +"]
    ),
    "Skill, its path always made": tool(
        "Skill", {"skill": "greet", "path": "/p", "dir": "/d"}, ["skill greet at /w/skills/greet/SKILL.md +"]
    ),
    "StructuredOutput": tool("StructuredOutput", {"n": 1}, []),
    "StructuredOutput of another shape": tool("StructuredOutput", [1], []),
    "a tool outside the table": tool(
        "WebFetch",
        {"url": "u"},
        ["unknown block 2.1", "unknown block 3.1"],
        ["unknown block 2.1 with block 3.1"],
    ),
    "names have case": tool(
        "read",
        {"file_path": "/a"},
        ["unknown block 2.1", "unknown block 3.1"],
        ["unknown block 2.1 with block 3.1"],
    ),
    "a call that lacks what its tool needs": tool(
        "Bash",
        {"command": 5},
        ["unknown block 2.1", "unknown block 3.1"],
        ["unknown block 2.1 with block 3.1"],
    ),
    "an input that is no object": tool(
        "Read", "a.py", ["unknown block 2.1", "unknown block 3.1"], ["unknown block 2.1 with block 3.1"]
    ),
    "NotebookRead": tool(
        "NotebookRead", {"notebook_path": "n"}, ["unknown block 2.1", "unknown block 3.1"], ["read /w/n +"]
    ),
    **{
        f"{name}, bookkeeping": tool(name, {"x": 1}, ["unknown block 2.1", "unknown block 3.1"], [])
        for name in ("TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "ToolSearch")
    },
}

NO_NAME = {"type": "tool_use", "id": "c1", "input": {}}
NO_INPUT = {"type": "tool_use", "id": "c1", "name": "Read"}
NO_ID = {"type": "tool_use", "name": "Read", "input": {"file_path": "/a"}}
SERVER = {"type": "server_tool_use", "id": "s1", "name": "Read", "input": {"file_path": "/a"}}
SEARCHED = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}

ODD = {
    "a use without a name": Rule(
        [assistant(NO_NAME), answer("c1")],
        ["unknown block 1.1", "unknown block 2.1"],
        ["unknown block 1.1 with block 2.1"],
    ),
    "a use without input": Rule(
        [assistant(NO_INPUT), answer("c1")],
        ["unknown block 1.1", "unknown block 2.1"],
        ["unknown block 1.1 with block 2.1"],
    ),
    "a use without an id is unknown at once": Rule(
        [assistant(NO_ID), "line"], ["unknown block 1.1", "warning line"]
    ),
    "a malformed use that is never answered": Rule(
        [assistant(NO_INPUT), "line"],
        ["unknown block 1.1", "warning line"],
        ["warning line", "unknown block 1.1"],
    ),
    "a server's tool is outside the table, whatever its name": Rule(
        [assistant(SERVER), assistant(SEARCHED)],
        ["unknown block 1.1", "unknown block 2.1"],
        ["unknown block 1.1 with block 2.1"],
    ),
    "a result that pairs with nothing": Rule(
        [answer("none"), user({"type": "tool_result", "content": "x"})],
        ["unknown block 1.1", "unknown block 2.1"],
    ),
    "blocks that nobody knows": Rule(
        [assistant({"type": "later"}, 5, "words"), user({"type": "later"}, 5)],
        [
            "unknown block 1.1",
            "unknown block 1.2",
            "unknown block 1.3",
            "unknown block 1.1",
            "unknown block 1.2",
        ],
    ),
    "an image in a user record; a replayed one is an echo": Rule(
        [user({"type": "image", "source": {}}), user({"type": "image", "source": {}}, isReplay=True)],
        ["unknown block 1.1", "unknown block 1.1"],
        ["unknown block 1.1"],
    ),
    "records without content": Rule(
        [{"type": "assistant"}, {"type": "user", "message": {"content": None}}],
        ["unknown record 1", "unknown record 2"],
    ),
    "records of no known type": Rule(
        [{"type": "later"}, {"type": 5}, {"n": 1}, {}],
        ["unknown record 1", "unknown record 2", "unknown record 3", "unknown record 4"],
    ),
    "system records of other subtypes": Rule(
        [system("later"), {"type": "system"}, {"type": "system", "subtype": 5}],
        ["unknown record 1", "unknown record 2", "unknown record 3"],
    ),
    "answers to control requests": Rule(
        [{"type": "control_response", "response": {}}], ["unknown record 1"], []
    ),
    "housekeeping of the extended profile": Rule(
        [
            system(name)
            for name in (
                "hook_started",
                "hook_response",
                "hook_progress",
                "task_progress",
                "task_updated",
                "background_tasks_changed",
                "compact_boundary",
            )
        ],
        [f"unknown record {number}" for number in range(1, 8)],
        [],
    ),
    "warnings of the extended profile": Rule(
        [
            system("permission_denied", message="m", content="c"),
            system("model_fallback", content="c"),
            system("model_refusal_no_fallback", message="", content=""),
            system("informational", message=5, content="c"),
        ],
        [f"unknown record {number}" for number in range(1, 5)],
        ["warning m", "warning c", "warning model_refusal_no_fallback", "warning c"],
    ),
    "retries of the API": Rule(
        [
            system("api_retry", attempt=1, max_retries=10, error="overloaded", error_status=529),
            system("api_retry", attempt=2, max_retries=10, error="unknown", error_status=None),
            system("api_retry", attempt=3, max_retries=10, error_status=500),
            system("api_retry", attempt=4, max_retries=10),
            system("api_retry", error="overloaded"),
        ],
        [f"unknown record {number}" for number in range(1, 6)],
        [
            "warning api retry 1 of 10: overloaded 529",
            "warning api retry 2 of 10: unknown",
            "warning api retry 3 of 10: 500",
            "warning api retry 4 of 10",
            "warning api retry: overloaded",
        ],
    ),
}


def after(*commands: str, then: str = "cat f", file: str = "g") -> list[Any]:
    """Bash calls that succeed, then one more and a Read, in the workspace /w."""
    records: list[Any] = [INIT]
    for number, command in enumerate([*commands, then]):
        records += [bash(f"b{number}", command), answer(f"b{number}")]
    return [*records, called("c1", "Read", file_path=file), answer("c1")]


def folder(*commands: str, shell: str, files: str) -> Rule:
    """Where later commands and later file tools are, after some commands that stay commands."""
    ran = [f"command {command} +" for command in commands]
    return Rule(after(*commands), [*ran, f"read {shell} +", f"read {files} +"])


FOLDERS = {
    "cd moves both": folder("cd src && make", shell="/w/src/f", files="/w/src/g"),
    "cd alone": folder("cd src", shell="/w/src/f", files="/w/src/g"),
    "cd from there": folder("cd src && make", "cd lib && make", shell="/w/src/lib/f", files="/w/src/lib/g"),
    "cd without end": folder(*["cd " + "x" * 200] * 30, shell="f", files="/w/" + f"{'x' * 200}/" * 20 + "g"),
    "cd back": folder("cd src && make", "cd .. && make", shell="/w/f", files="/w/g"),
    "cd with quotes": folder("cd 'my src' && make", shell="/w/my src/f", files="/w/my src/g"),
    "cd to an absolute path inside": folder("cd /w/x && make", shell="/w/x/f", files="/w/x/g"),
    "cd out of the workspace puts it back": folder(
        "cd src && make", "cd /tmp && make", shell="/w/f", files="/w/g"
    ),
    "cd above it too": folder("cd .. && make", shell="/w/f", files="/w/g"),
    "a folder that only begins alike is outside": folder("cd /work && make", shell="/w/f", files="/w/g"),
    "cd in parentheses": folder("(cd src && make)", shell="/w/f", files="/w/g"),
    "cd in a substitution": folder("echo $(cd src && pwd)", shell="/w/f", files="/w/g"),
    "another cd: nobody knows where": folder("make; cd src", shell="f", files="/w/g"),
    "a second cd": folder("cd src && cd lib && make", shell="f", files="/w/src/g"),
    "pushd": folder("pushd src && make", shell="f", files="/w/g"),
    "cd - and cd ~": folder("cd - && make", "cd ~ && make", shell="f", files="/w/g"),
    "adrift, a relative cd does not help": folder("make; cd src", "cd lib && make", shell="f", files="/w/g"),
    "adrift, an absolute cd does": folder("make; cd src", "cd /w/x && make", shell="/w/x/f", files="/w/x/g"),
    "a command that speaks of cd": folder("echo cd src", shell="/w/f", files="/w/g"),
    "adrift, a command with its own absolute folder": Rule(
        after("make; cd src", then="cd /x && cat f"), ["command make; cd src +", "read /x/f +", "read /w/g +"]
    ),
    "a command that failed moves nothing": Rule(
        [INIT, bash("b1", "cd src && make"), failure("b1"), bash("b2", "cat f"), answer("b2")],
        ["command cd src && make -", "read /w/f +"],
    ),
    "a subagent's cd moves nothing": Rule(
        [INIT, bash("b1", "cd src", "T"), answer("b1", thread="T"), bash("b2", "cat f"), answer("b2")],
        ["command cd src +", "read /w/f +"],
    ),
    "the program says where it put the shell": Rule(
        [
            INIT,
            bash("b1", "cd src && make"),
            answer("b1"),
            bash("b2", "make; cd /tmp"),
            answer("b2", "ok\nShell cwd was reset to /w/base\n"),
            bash("b3", "cat f"),
            answer("b3"),
        ],
        ["command cd src && make +", "command make; cd /tmp +", "read /w/base/f +"],
    ),
    "also behind a failure and in blocks": Rule(
        [
            INIT,
            bash("b1", "cd /tmp && make"),
            failure("b1", [text("bad"), text("Shell cwd was reset to /w/base")]),
            called("c1", "Read", file_path="g"),
            answer("c1"),
        ],
        ["command cd /tmp && make -", "read /w/base/g +"],
    ),
    "a new init puts it back": Rule(
        [INIT, bash("b1", "cd src"), answer("b1"), INIT, bash("b2", "cat f"), answer("b2")],
        ["command cd src +", "read /w/f +"],
    ),
    "a new init without a folder too": Rule(
        [INIT, bash("b1", "cd src; make"), answer("b1"), system("init"), bash("b2", "cat f"), answer("b2")],
        ["command cd src; make +", "read /w/f +"],
    ),
    "a new init with another folder": Rule(
        [
            INIT,
            {**INIT, "cwd": "/v"},
            bash("b1", "cat f"),
            answer("b1"),
            called("c1", "Skill", skill="s"),
            failure("c1"),
        ],
        ["read /v/f +", "skill s at /v/skills/s/SKILL.md -"],
    ),
    "a file tool is resolved at its use, a command at its result": Rule(
        [
            INIT,
            called("c1", "Read", file_path="g"),
            bash("b1", "cat f"),
            bash("b2", "cd src"),
            answer("b2"),
            answer("c1"),
            answer("b1"),
        ],
        ["command cd src +", "read /w/g +", "read /w/src/f +"],
    ),
    "skills are resolved against the workspace": Rule(
        [INIT, bash("b1", "cd src"), answer("b1"), called("c1", "Skill", skill="s"), failure("c1")],
        ["command cd src +", "skill s at /w/skills/s/SKILL.md -"],
    ),
    "a list of the folder one is in names it": Rule(
        after("cd src", then="ls"), ["command cd src +", "list /w/src +", "read /w/src/g +"]
    ),
    "a list of the workspace names none": Rule(after(then="ls"), ["list +", "read /w/g +"]),
    "without a workspace paths stay as written": Rule(
        [called("c1", "Read", file_path="./a//b"), answer("c1"), bash("b1", "cat ./f"), answer("b1")],
        ["read ./a//b +", "read ./f +"],
    ),
    "the caller's folder counts until the stream speaks": Rule(
        [
            called("c1", "Read", file_path="a"),
            answer("c1"),
            INIT,
            called("c2", "Read", file_path="a"),
            answer("c2"),
        ],
        ["read /caller/a +", "read /w/a +"],
        cwd="/caller",
    ),
    "absolute are also ~, $ and Windows paths, as written": Rule(
        [
            INIT,
            *(
                record
                for n, path in enumerate(("~/./a", "$HOME/a", "C:\\a\\..\\b", "\\\\host\\a"))
                for record in (called(f"c{n}", "Read", file_path=path), answer(f"c{n}"))
            ),
        ],
        ["read ~/./a +", "read $HOME/a +", "read C:\\a\\..\\b +", "read \\\\host\\a +"],
    ),
    "a Windows workspace is joined by its own separator": Rule(
        [{**INIT, "cwd": "C:\\w"}, called("c1", "Read", file_path="a.py"), answer("c1")],
        ["read C:\\w\\a.py +"],
    ),
    "paths are cleaned as strings": Rule(
        [INIT, called("c1", "Read", file_path="/a//b/./../../../c/"), answer("c1")], ["read /c +"]
    ),
}


def worktree(call: str, **told: Any) -> list[Any]:
    name = "EnterWorktree" if "worktreePath" in told else "ExitWorktree"
    return [called(call, name, name="x"), answer(call, tool_use_result=told)]


LOOK = [called("c1", "Read", file_path="g"), answer("c1")]

WORKTREES = {
    "entering moves the workspace, leaving moves it back": Rule(
        [
            INIT,
            *worktree("e1", worktreePath="/t"),
            *LOOK,
            bash("b1", "cd /w/src && make"),
            answer("b1"),
            called("c2", "Skill", skill="s"),
            failure("c2"),
            *worktree("e2", originalCwd="/w"),
            bash("b2", "ls"),
            answer("b2"),
        ],
        [
            "unknown block 2.1",
            "unknown block 3.1",
            "read /t/g +",
            "command cd /w/src && make +",
            "skill s at /t/skills/s/SKILL.md -",
            "unknown block 10.1",
            "unknown block 11.1",
            "list +",
        ],
        [
            "unknown block 2.1 with block 3.1",
            "read /t/g +",
            "command cd /w/src && make +",
            "skill s at /t/skills/s/SKILL.md -",
            "unknown block 10.1 with block 11.1",
            "list +",
        ],
    ),
    "one that failed, or a subagent's, moves nothing": Rule(
        [
            INIT,
            called("e1", "EnterWorktree"),
            failure("e1", tool_use_result={"worktreePath": "/t"}),
            called("e2", "EnterWorktree", "T"),
            answer("e2", thread="T", tool_use_result={"worktreePath": "/t"}),
            *LOOK,
        ],
        ["unknown block 2.1", "unknown block 3.1", "unknown block 4.1", "unknown block 5.1", "read /w/g +"],
        ["unknown block 2.1 with block 3.1", "unknown block 4.1 with block 5.1", "read /w/g +"],
    ),
}

TABLES = {"tools": TOOLS, "odd": ODD, "folders": FOLDERS, "worktrees": WORKTREES}


@pytest.mark.parametrize("rule", params(TABLES))
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("shapes", [SHAPES, {}], ids=["by shape", "in full"])
def test_rule(rule: Rule, profile: str, shapes: Shapes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClaudeStream, "shapes", shapes)
    assert told("claude", rule, profile) == rule.expected(profile)
