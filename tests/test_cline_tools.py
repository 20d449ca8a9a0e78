"""Cline's tools in every shape of input that the program takes."""

from __future__ import annotations

from typing import Any

import pytest

from cline_records import end, item, start
from recordings import PROFILES
from rules import Rule, params, told


def shape(
    tool: str, given: Any, *events: str, extended: list[str] | None = None, cwd: str | None = None
) -> Rule:
    """A call that nobody says the outcome of."""
    return Rule([start("c", tool, given), end("c", input=given)], list(events), extended, cwd=cwd)


LOST = "unknown event 2"

COMMANDS = {
    "an array": shape(
        "run_commands", {"commands": ["make", "make test"]}, "command make", "command make test"
    ),
    "one string": shape("run_commands", {"commands": "make"}, "command make"),
    "one object": shape("run_commands", {"commands": {"command": "make"}}, "command make"),
    "objects with arguments": shape(
        "run_commands",
        {"commands": [{"command": "run", "args": ["a", "b c", "", "d\te"]}, "make"]},
        'command run a "b c" "" "d\te"',
        "command make",
    ),
    "one object with arguments": shape(
        "run_commands", {"command": "run", "args": ["a", 5]}, "command run a 5"
    ),
    "arguments as a string": shape("run_commands", {"command": "run", "args": "a"}, "command run a"),
    "command": shape("run_commands", {"command": "make"}, "command make"),
    "cmd": shape("run_commands", {"command": "", "cmd": "make"}, "command make"),
    "a bare string": shape("run_commands", "make", "command make"),
    "a bare array": shape("run_commands", ["make", {"command": "test"}], "command make", "command test"),
    "empty ones are skipped": shape("run_commands", {"commands": ["", "make", None]}, "command make"),
    "nothing usable in commands": shape(
        "run_commands", {"commands": [""], "command": "make"}, "command make"
    ),
    "an empty commands": shape("run_commands", {"commands": "", "cmd": "make"}, "command make"),
    "none left": shape("run_commands", {"commands": ["", 5]}, LOST),
    "other names of the tool": shape("execute_command", {"command": "make"}, "command make"),
    "the third name": shape("bash", {"command": "make"}, "command make"),
    "never looked into by the standard profile": shape(
        "run_commands",
        {"commands": ["cat a && ls b"]},
        "command cat a && ls b",
        extended=["read a", "list b"],
    ),
    "a here-document over several strings": shape(
        "run_commands",
        {"commands": ["cat <<'EOF' > f", "one", "EOF", "make"]},
        "command cat <<'EOF' > f\none\nEOF",
        "command make",
    ),
    "two of them": shape(
        "run_commands",
        ["cat <<A > f", "A", 'cat <<"B" > g', "A", "B"],
        "command cat <<A > f\nA",
        'command cat <<"B" > g\nA\nB',
    ),
    "one whose end is indented": shape(
        "run_commands", ["cat <<-EOF > f", "\tone", "\tEOF"], "command cat <<-EOF > f\n\tone\n\tEOF"
    ),
    "an indented end ends only that kind": shape(
        "run_commands", ["cat <<EOF > f", "\tEOF"], "command cat <<EOF > f", "command \tEOF"
    ),
    "one that never ends": shape(
        "run_commands", ["cat <<EOF > f", "one"], "command cat <<EOF > f", "command one"
    ),
    "one in a single string": shape(
        "run_commands", ["cat <<EOF > f\none\nEOF", "EOF"], "command cat <<EOF > f\none\nEOF", "command EOF"
    ),
    "a here-string is none": shape(
        "run_commands", ["cat <<< EOF", "EOF"], "command cat <<< EOF", "command EOF"
    ),
}

READS = {
    "files": shape(
        "read_files",
        {
            "files": [
                {"path": "/a"},
                {"path": "/b", "start_line": 2, "end_line": 4},
                "/c",
                {"file_path": "/d"},
            ]
        },
        "read /a",
        "read /b:2-4",
        "read /c",
        "read /d",
    ),
    "one object": shape("read_files", {"files": {"path": "/a", "end_line": 4}}, "read /a:-4"),
    "one string": shape("read_files", {"files": "/a"}, "read /a"),
    "path": shape("read_files", {"path": "/a", "start_line": 2}, "read /a:2-"),
    "filePath": shape("read_files", {"filePath": "/a"}, "read /a"),
    "file_paths": shape("read_files", {"file_paths": ["/a", "/b"]}, "read /a", "read /b"),
    "paths": shape("read_files", {"paths": "/a"}, "read /a"),
    "the first usable one": shape("read_files", {"files": [], "paths": ["", "/a"], "path": "/b"}, "read /a"),
    "a bare string": shape("read_files", "/a", "read /a"),
    "a bare array": shape("read_files", ["/a", {"path": "/b"}], "read /a", "read /b"),
    "a range without a path belongs to the entry before it": shape(
        "read_files",
        {
            "files": [
                {"start_line": 9},
                "/a",
                {"start_line": 2, "end_line": 4},
                {"path": "/b"},
                {"end_line": 5},
            ]
        },
        "read /a:2-4",
        "read /b:-5",
    ),
    "bounds that are none": shape(
        "read_files",
        {
            "files": [
                {"path": "/a", "start_line": None, "end_line": 0},
                {"path": "/b", "start_line": 5, "end_line": 2},
            ]
        },
        "read /a",
        "read /b:5-",
    ),
    "bounds in other spellings": shape(
        "read_files", {"path": "/a", "startLine": "2", "endLine": 4.0}, "read /a:2-4"
    ),
    "offset and limit": shape("read_file", {"path": "/a", "offset": 3, "limit": 2}, "read /a:3-4"),
    "limit alone": shape("read_file", {"path": "/a", "limit": 2}, "read /a:1-2"),
    "nothing": shape("read_files", {"files": [{}, 5, ""]}, LOST),
    "in the caller's folder": shape(
        "read_files", {"files": ["./a", "/b//c"]}, "read /w/a", "read /b/c", cwd="/w"
    ),
    "without one": shape("read_files", {"files": ["./a"]}, "read ./a"),
}

WRITES = {
    "editor": shape("editor", {"path": "/a", "new_text": "x"}, "write /a"),
    "write_to_file": shape("write_to_file", {"file_path": "/a"}, "write /a"),
    "replace_in_file": shape("replace_in_file", {"path": "", "filepath": "/a"}, "write /a"),
    "new_rule": shape("new_rule", {"absolutePath": "/a"}, "write /a"),
    "no path": shape("editor", {"new_text": "x"}, LOST),
    "a patch": shape(
        "apply_patch",
        {
            "input": "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n@@\n-x\n"
            "*** Delete File: d\n*** Update File: b\n*** End Patch"
        },
        "write a",
        "write b",
        "write c",
        "write d",
    ),
    "a bare patch": shape("apply_patch", "*** Begin Patch\n*** Add File: a\n*** End Patch", "write a"),
    "a patch in another key": shape("apply_patch", {"patch": "", "diff": "*** Add File: a"}, "write a"),
    "marks that are none": shape(
        "apply_patch",
        "*** Begin Patch\n*** Update File: a\n@@\n *** Add File: b\n+*** Delete File: c\n-*** Move to: d\n"
        "  *** Update File: e\n*** Move to: f\n*** End Patch\n*** Add File: g",
        "write a",
    ),
    "a named file": shape("apply_patch", {"path": "/a", "input": "*** Add File: b"}, "write /a"),
    "no files": shape("apply_patch", {"input": "words"}, LOST),
}

LOOKS = {
    "queries": shape("search_codebase", {"queries": ["x", "", "y"]}, "search x", "search y"),
    "one string": shape("search_codebase", {"queries": "x"}, "search x"),
    "one object": shape("search_codebase", {"queries": {"query": "x"}}, "search x"),
    "objects": shape("search_codebase", {"queries": [{"pattern": "x"}, "y"]}, "search x", "search y"),
    "a bare string": shape("search_codebase", "x", "search x"),
    "a bare array": shape("search_codebase", ["x", "y"], "search x", "search y"),
    "a pattern in a folder": shape("search_files", {"regex": "x", "path": "src"}, "search x in src"),
    "the first usable key": shape(
        "search_files", {"pattern": "", "query": "x", "scope": "s"}, "search x in s"
    ),
    "nothing": shape("search_files", {"path": "src"}, LOST),
    "list": shape("list_files", {"path": "src", "recursive": True}, "list src"),
    "list, by its other key": shape("list_files", {"directory": "src"}, "list src"),
    "list, a bare string": shape("list_files", "src", "list src"),
    "list of nothing named": shape("list_files", {}, "list"),
    "skills": shape("skills", {"skill": "s", "args": "x"}, "skill s at skills/s/SKILL.md"),
    "skills, a bare string": shape("skills", "s", "skill s at skills/s/SKILL.md"),
    "use_skill": shape("use_skill", {"skill_name": "s"}, "skill s at /w/skills/s/SKILL.md", cwd="/w"),
    "a skill's own file": shape("use_skill", {"name": "s", "path": "/k.md"}, "skill s at /k.md"),
    "a skill's own folder": shape("use_skill", {"dir": "/k/"}, "skill None at /k/SKILL.md"),
    "no skill": shape("skills", {}, LOST),
}

GREP = "Command exited with code 1"

CLASSIFIED = {
    "a grep that found nothing did not fail": Rule(
        [
            start("c", "run_commands", {"commands": ["grep x a", "cat b"]}),
            end("c", output=[item(False, error=GREP), item(False, error=GREP)]),
        ],
        ["command grep x a -", "command cat b -"],
        ["search x in a +", "read b -"],
    ),
    "each operation of a command has its item's verdict": Rule(
        [
            start("c", "run_commands", {"commands": ["cat a && ls b", "make"]}),
            end("c", output=[item(), item(False)]),
        ],
        ["command cat a && ls b -", "command make -"],
        ["read a +", "list b +", "command make -"],
    ),
    "in the caller's folder": Rule(
        [start("c", "run_commands", {"commands": ["cat a", "ls"]}), end("c", output=[item(), item()])],
        ["command cat a +", "command ls +"],
        ["read /w/a +", "list +"],
        cwd="/w",
    ),
    "never answered": Rule([start("c", "run_commands", ["cat a"])], ["command cat a"], ["read a"]),
}

TABLES = {"commands": COMMANDS, "reads": READS, "writes": WRITES, "looks": LOOKS, "classified": CLASSIFIED}


@pytest.mark.parametrize("rule", params(TABLES))
@pytest.mark.parametrize("profile", PROFILES)
def test_rule(rule: Rule, profile: str) -> None:
    assert told("cline", rule, profile) == rule.expected(profile)
