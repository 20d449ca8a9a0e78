"""Every sentence of docs/shell.md against tables of command lines: what they are, what they are not."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stenograph import shell

DATA = Path(__file__).parent / "data" / "shell"
TABLES = ["looked_through", "joined", "words", "reads", "pipes", "searches", "lists", "bases"]


def rows(name: str) -> list[Any]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").split("\n") if line]


def told(operation: shell.Operation) -> list[Any]:
    """An operation as the tables write it: its kind, then its members without what is unset behind them."""
    match operation.kind:
        case "read":
            members: list[Any] = ["read", operation.path, operation.start, operation.end]
        case "search":
            members = ["search", operation.query, operation.path]
        case "list":
            members = ["list", operation.path]
        case "command":
            members = ["command", operation.command]
    while members[-1] is None:
        members.pop()
    return members


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{name}: {row['command']!r}") for name in TABLES for row in rows(name)]
)
def test_table(row: dict[str, Any]) -> None:
    found = shell.classify(row["command"], base=row.get("base"), workspace=row.get("workspace"))
    assert [told(operation) for operation in found] == (row["is"] or [["command", row["command"]]])


@pytest.mark.parametrize("command", rows("not_understood"), ids=repr)
def test_what_is_not_understood_is_one_command(command: str) -> None:
    found = shell.classify(command, base="/w/x", workspace="/w", ok=False, exit_code=7)
    assert found == [shell.Operation(kind="command", command=command, ok=False, exit_code=7)]


def test_the_differences_from_codex_are_the_documented_ones() -> None:
    kinds = {"read": "read", "list_files": "list", "search": "search", "unknown": "command"}
    different = set()
    for row in rows("codex_parsed"):
        codex = [(kinds[c["type"]], c.get("path"), c.get("query")) for c in row["parsed_cmd"]]
        ours = [(o.kind, o.path, o.query) for o in shell.classify(row["command"])]
        if codex != ours:
            different.add(row["command"])
    page = (
        (Path(__file__).parent.parent / "docs" / "shell.md").read_text("utf-8").partition("## Against Codex")
    )
    documented = re.findall(r"^\| `(.*?)` \|", page[2].replace("\\|", "|"), re.MULTILINE)
    assert different == set(documented)
    assert len(documented) == 8


ONE = "Command exited with code 1"


@pytest.mark.parametrize(
    ("command", "ok", "exit_code", "text", "expected"),
    [
        ("grep x f", False, 1, "", True),
        ("grep x f", None, 1, "", True),
        ("grep x f", True, 1, "", True),
        ("grep x f", True, 0, "", True),
        ("grep x f", False, 2, "", False),
        ("grep x f", False, None, "", False),
        ("grep x f", None, None, "", None),
        ("grep x f", None, 2, "", None),
        ("rg x", False, 1, "", True),
        ("rg --files -g '*.c'", False, 1, "", True),
        ("egrep x f", False, 1, "", True),
        ("git grep x", False, 1, "", True),
        ("git ls-files x", False, 1, "", False),
        ("cat f | grep x", False, 1, "", True),
        ("cat f && grep x f", False, 1, "", True),
        ("cd src && rg x", False, 1, "", True),
        ("bash -lc 'cat f; grep x f'", False, 1, "", True),
        ("timeout 5 grep x f 2>/dev/null", False, 1, "", True),
        ("(grep x f)", False, 1, "", True),
        ("grep x f | head", False, 1, "", False),
        ("grep x f; ls g", False, 1, "", False),
        ("cat f", False, 1, "", False),
        ("find . -name x", False, 1, "", False),
        ("grep x f && rm f", False, 1, "", False),
        ("rm f; grep x f", False, 1, "", False),
        ("! grep x f", False, 1, "", False),
        ("grep x f", False, None, ONE, True),
        ("grep x f", False, None, f"[{ONE}]\n[stderr]\n", True),
        ("grep x f", False, None, f"\n\n{ONE}", True),
        ("grep x f", False, None, "Exit code 1", True),
        ("grep x f", False, None, "Error: Exit code 1\n", True),
        ("grep x f", False, None, "Process exited with code 1\nOutput:\n", True),
        ("grep x f", False, None, "Output: (empty)\nExit Code: 1\n", True),
        ("grep x f", False, None, "Command exited with code 2", False),
        ("grep x f", False, None, "Command exited with code 127", False),
        ("grep x f", False, None, "Exit code 2\nCommand exited with code 1", False),
        ("grep x f", False, None, "f: Command exited with code 1", False),
        ("grep x f", False, 2, ONE, False),
        ("cat f", False, None, ONE, False),
    ],
)
def test_a_grep_that_found_nothing_succeeded(
    command: str, ok: bool | None, exit_code: int | None, text: str, expected: bool | None
) -> None:
    assert shell.succeeded(command, ok=ok, exit_code=exit_code, text=text) is expected
    found = shell.classify(command, ok=ok, exit_code=exit_code, text=text)
    assert {operation.ok for operation in found} == {expected}
    assert [o.exit_code for o in found] == [exit_code if o.kind == "command" else None for o in found]


@pytest.mark.parametrize(
    ("command", "leading", "moves"),
    [
        ("cd src", "src", False),
        ("cd src;", "src", False),
        ("# first\ncd src\n", "src", False),
        ("cd src # there", "src", False),
        ("cd /w/src && make", "/w/src", False),
        ("cd 'a b' && make", "a b", False),
        ("cd -- src && make", "src", False),
        ("cd src 2>/dev/null && make", "src", False),
        ("cd src && make > log 2>&1", "src", False),
        ("cd src && cat <<'EOF' > f\ncd x\nEOF", "src", False),
        ("cd src && make && (cd sub && ls)", "src", False),
        ("cd src && echo $(cd sub; pwd)", "src", False),
        ("cd src && echo `cd sub; pwd`", "src", False),
        ("cd src && ls | head &", None, True),
        ("cd src && make 2>&1 | tail &>/dev/null && ls", "src", False),
        ("cd src && make; sleep 9 &", "src", False),
        ("cd src && echo '&' \\& \"&\" # &", "src", False),
        ("\\\ncd src && ls", None, True),
        ("cd<<E\nE\n", None, True),
        ("cd src && git commit -m 'cd x'", "src", False),
        ("cd src && ls || true; pwd", "src", False),
        ("cd src && cd sub", "src", True),
        ("cd src && ls; cd ..", "src", True),
        ("cd src && pushd sub", "src", True),
        ("cd src; make", None, True),
        ("cd src\nmake", None, True),
        ("cd src || exit", None, True),
        ("cd src | cat", None, True),
        ("cd src &", None, True),
        ("cd", None, True),
        ("cd -", None, True),
        ("cd ~/src && ls", None, True),
        ("cd $DIR && ls", None, True),
        ('cd "$DIR" && ls', None, True),
        ("cd s*c && ls", None, True),
        ("cd a b && ls", None, True),
        ("ls && cd src", None, True),
        ("pushd src", None, True),
        ("command cd src", None, True),
        ("builtin cd src", None, True),
        ("\\cd src; ls", None, True),
        ("if true; then cd src; fi", None, True),
        ("for d in a b; do cd $d; ls; done", None, True),
        ("f() { cd src; }; f", None, True),
        ("{ cd src; }", None, True),
        ("(cd src && ls)", None, False),
        ("(cd src; ls) && pwd", None, False),
        ("echo $(cd src && pwd)", None, False),
        ("cat <(cd src && ls)", None, False),
        ("bash -c 'cd src'", None, False),
        ("echo cd src", None, False),
        ("echo 'cd src'", None, False),
        ("git add abcd", None, False),
        ("./cd src", None, False),
        ("cat > f <<'EOF'\ncd src\nEOF", None, False),
        ("cd src && (ls", None, True),
        ("echo 'cd src", None, True),
        ("cd src\0", None, True),
        ("echo cd " + "x" * 65536, None, False),
        ("cd src; " + "x" * 65536, None, True),
        ("cd src && cat <<A <<'B' && cd sub\ncd x\nA\ncd y\nB\nls", "src", True),
        ("cd src && cat <<-E\n\tcd x\n\tE\nls", "src", False),
        ("cat <<E\nE x\ncd y\n E\nE\ncd src", None, True),
        ("cat <<<E\ncd src", None, True),
        ("echo $((1<<2))\nls # cd src", None, False),
        ('echo "a $(cd x; echo "b") c" `cd y`', None, False),
        ("echo \"a; cd x\" 'b; cd y' $'c\\'; cd z' d\\;cd", None, False),
        ('echo ${A:-$(cd x)} "${B:-cd}"', None, False),
        ("case $1 in a) cd x;; esac", None, True),
        ("A=1 B='x y' cd src; ls", None, True),
        ("time cd src; ls", None, True),
        ("! cd src", None, True),
        ("eval cd src", None, True),
        ("ls && (cd a; ls) && cd b", None, True),
        ("cd src &&(ls)", "src", False),
        ("cd  a\\ b  \\\n && ls", "a b", False),
        ("cd it\\'s && ls", "it's", False),
        ("cd a\"b\"'c' && ls", "abc", False),
        ("cd src 2>&1 >/dev/null && ls", "src", False),
        ("cdx && ls", None, False),
        ("cd\tsrc && ls", "src", False),
        ("cd src&&ls", "src", False),
        ("cd src\r\n", "src", False),
        ("echo " + "x" * 65536, None, False),
        ("", None, False),
    ],
)
def test_moves(command: str, leading: str | None, moves: bool) -> None:
    assert shell.moves_directory(command) is moves
    if not moves or leading:
        assert shell.leading_cd(command) == leading


def test_the_longest_text_that_is_parsed_has_64_kib() -> None:
    longest = "cat " + "x" * (64 * 1024 - 4)
    assert [o.kind for o in shell.classify(longest)] == ["read"]
    assert [o.kind for o in shell.classify(longest + "x")] == ["command"]
    assert [o.kind for o in shell.classify("cat é" + longest[6:])] == ["read"]
    assert [o.kind for o in shell.classify("cat é" + longest[5:])] == ["command"]
    assert len(shell.classify("cat x\n" * 10_922)) == 10_922


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        "$(" * 10_000,
        "(cat f" + ")" * 60_000,
        "( " * 5_000 + "cat f" + " )" * 5_000,
        "{ " * 5_000 + "cat f" + "; }" * 5_000,
        "a|" * 32_000,
        "(a)" * 21_000,
        "<<" * 32_000,
        "$[" * 32_000,
        "a=(" * 21_000,
        "[[ a && " * 8_000,
        "cat '" + "\\" * 60_000,
        'cat "' + "\\" * 60_001,
        "\0" * 60_000,
        "cat f\0",
        "cat \ud800",
        "\ufeff\ufeff(",
        "find . " + "( " * 30_000,
        "find . " + "! " * 30_000 + "-exec",
        "env " * 16_000,
        "timeout 1 " * 6_000,
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_odd_texts_are_one_command_soon(text: str) -> None:
    before = time.process_time()
    assert shell.classify(text) == [shell.Operation(kind="command", command=text)]
    assert time.process_time() - before < 5  # seconds; without a budget some take a minute


@pytest.mark.parametrize("name", ["a[" * 30_000, "{" + "," * 60_000, "{a," * 20_000, "]" * 60_000 + "["])
def test_odd_names_are_read_soon(name: str) -> None:
    before = time.process_time()
    assert shell.classify(f"cat {name}") == [shell.Operation(kind="read", path=name)]
    assert time.process_time() - before < 5


def test_nesting_is_followed_to_forty_levels() -> None:
    assert [o.kind for o in shell.classify("( " * 38 + "cat f" + " )" * 38)] == ["read"]
    assert [o.kind for o in shell.classify("( " * 40 + "cat f" + " )" * 40)] == ["command"]
    script = "cat f"
    for _ in range(6):
        script = f"bash -lc {shlex.quote(script)}"
    assert [o.kind for o in shell.classify(script)] == ["read"]


def test_the_grammar_is_loaded_at_first_use() -> None:
    code = (
        "import sys, stenograph.shell as s;"
        "assert not [m for m in sys.modules if m.startswith('tree_sitter')];"
        "s.classify('cat f && ls'); assert 'tree_sitter_bash' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_threads_do_not_share_a_parser() -> None:
    commands = [row["command"] for row in rows("joined")] * 5 + ["cat f\n" * 2_000]
    alone = [shell.classify(command) for command in commands]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(shell.classify, commands)) == alone


COMMANDS = sorted(
    {row["command"] for name in [*TABLES, "codex_parsed"] for row in rows(name)} | set(rows("not_understood"))
)
PIECES = [
    *"'\"\\$`;|&(){}[]<>*?~#!=-\n\t \r\0",
    "&&",
    "||",
    "$(",
    "<<E\n",
    "cd a && ",
    "bash -c ",
    "2>&1",
    "é",
]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(COMMANDS))
    for _ in range(draw(st.integers(1, 5))):
        at, gone = draw(st.integers(0, len(text))), draw(st.integers(0, 3))
        text = text[:at] + draw(st.sampled_from(PIECES) | st.sampled_from(COMMANDS)) + text[at + gone :]
    return text


@given(mutated() | st.text(max_size=80), st.sampled_from([None, "/w", "~/w", "C:\\w", "w"]))
@settings(max_examples=400, deadline=None)
def test_a_line_is_one_command_or_only_operations(text: str, base: str | None) -> None:
    found = shell.classify(text, base=base, workspace="/w", ok=False, exit_code=3, text=text)
    if found[0].kind == "command":
        assert found == [shell.Operation(kind="command", command=text, ok=False, exit_code=3)]
        return
    for operation in found:
        assert operation.kind in ("read", "search", "list")
        assert operation.command is None
        assert operation.exit_code is None
        assert operation.path != ""
        assert (operation.query is not None) == (operation.kind == "search")
        assert operation.kind != "read" or operation.path
        assert (operation.start or 1) <= (operation.end or operation.start or 1)
    assert (
        shell.classify(f"bash -c {shlex.quote(text)}", base=base, workspace="/w", ok=False) == found
        or "cd" in text
    )


@given(mutated() | st.text(max_size=80))
@settings(max_examples=200, deadline=None)
def test_moving_never_raises(text: str) -> None:
    leading = shell.leading_cd(text)
    assert leading is None or (leading in text or "'" in text or '"' in text or "\\" in text)
    assert shell.moves_directory(text) in (True, False)
