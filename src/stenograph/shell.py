"""Shell command lines as file operations.

A line becomes reads, searches and lists only when all of it is understood as such; otherwise it is one
command with the original text. Rules: docs/shell.md.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from stenograph.shell_line import KNOWN, Line
from stenograph.shell_syntax import Statement, Syntax, command_words, parse
from stenograph.shell_words import Unclear, Word
from stenograph.shell_wrappers import destination

if TYPE_CHECKING:
    from tree_sitter import Node

Kind: TypeAlias = Literal["read", "search", "list", "command"]


class Operation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a command line did.

    `path` is set for reads, and for searches and lists that have one; `start` and `end` (1-based, inclusive)
    only for reads, `query` for searches, `command` (the original text) and `exit_code` for commands.
    """

    kind: Kind
    path: str | None = None
    start: int | None = None
    end: int | None = None
    query: str | None = None
    command: str | None = None
    ok: bool | None = None
    exit_code: int | None = None


def classify(
    command: str,
    *,
    base: str | None = None,
    workspace: str | None = None,
    ok: bool | None = None,
    exit_code: int | None = None,
    text: str = "",
) -> list[Operation]:
    """The operations of one command line, never none and never raising.

    Paths are resolved against `base`, the folder in which the line began (None: they stay as written);
    `workspace` only decides whether a list or search without a path names the base. `ok` is what the harness
    said of the call, `text` what it printed, in which an exit code may stand.
    """
    line = _understood(command, base, workspace)
    if line is None:
        return [Operation(kind="command", command=command, ok=ok, exit_code=exit_code)]
    ok = _verdict(line.last, ok, exit_code, text)
    return [
        Operation(kind=f.kind, path=f.path, start=f.start, end=f.end, query=f.query, ok=ok)
        for f in line.found
    ]


def succeeded(command: str, *, ok: bool | None, exit_code: int | None = None, text: str = "") -> bool | None:
    """The success of a command line: `ok`, but a grep or rg that only found nothing did not fail.

    That is so when the line became operations, its last program is a grep or rg, and it ended with exit
    code 1, told by `exit_code` or else by a line such as "Command exited with code 1" in `text`.
    """
    if ok or not _ended_with_one(exit_code, text):
        return ok
    line = _understood(command, None, None)
    return True if line and line.last in _GREPS else ok


def leading_cd(command: str) -> str | None:
    """The PATH of a command that is `cd PATH` or begins with `cd PATH &&`, where PATH is a plain literal."""
    if "cd" not in command:
        return None
    plain = _PLAIN_CD.match(command)
    if plain:
        return plain[1] or plain[2]
    try:
        syntax = parse(command)
        return _leading_cd(syntax, syntax.root)
    except Unclear:
        return None


def moves_directory(command: str) -> bool:
    """Whether there is a `cd` or `pushd`, other than the one of `leading_cd`, outside `( … )` and `$( … )`.

    Of a text that cannot be parsed the answer is yes when one of the words stands in it.
    """
    words = len(_MOVE.findall(command))
    if words == 0 or (words == 1 and _PLAIN_CD.match(command)):
        return False
    try:
        syntax = parse(command)
        if syntax.root.has_error:
            return True
        moves = sum(_moves(syntax, node) for node in _own_commands(syntax.root))
        return moves > (leading_cd(command) is not None)
    except Unclear:
        return True


_LEAD = r"[ \t\n]*cd[ \t]+([\w./][\w./-]*)[ \t]*&&[ \t]*"
_FIRST = re.compile(rf"(?:{_LEAD})?[ \t\n]*([\w./+-]+)(?=[ \t\n;|&]|$)", re.ASCII)
"""The first word behind a `cd PATH &&`, when all of that is plain."""
_PLAIN_CD = re.compile(
    rf"{_LEAD}(?=[\w./])[^()\[\]{{}}'\"`\\$<#\n]+\Z|[ \t\n]*cd[ \t]+([\w./][\w./-]*)[ \t\n]*\Z", re.ASCII
)
_MOVE = re.compile(r"(?<![\w./-])(?:cd|pushd)(?![\w./-])")
_GREPS = frozenset({"rg", "grep", "egrep", "fgrep", "git grep"})
_EXIT = re.compile(r"^(?:Error: )?\[?(?:command |process )?exit(?:ed with)? code:? (\d+)\b", re.I | re.M)


def _verdict(last: str, ok: bool | None, exit_code: int | None, text: str) -> bool | None:
    if ok or last not in _GREPS or not _ended_with_one(exit_code, text):
        return ok
    return True


def _ended_with_one(exit_code: int | None, text: str) -> bool:
    """Whether the exit code is 1; harnesses tell it in the first line of a text or behind the output."""
    if exit_code is not None or not text:
        return exit_code == 1
    first = _EXIT.match(text)
    codes = [first[1]] if first else _EXIT.findall(text)
    return codes[-1:] == ["1"]


@lru_cache(maxsize=128)  # agents run the same few commands again and again
def _understood(command: str, base: str | None, workspace: str | None) -> Line | None:
    first = _FIRST.match(command)
    if first and first[2].rpartition("/")[2] not in KNOWN:
        return None
    line = Line(base, workspace)
    try:
        line.script(command)
    except Unclear:
        return None
    return line if line.found else None


def _leading_cd(syntax: Syntax, root: Node) -> str | None:
    """The folder of the `cd` that leads, or None; what stands behind it need not be understood."""
    own = [node for node in root.children if node.type not in ("comment", "\n", ";")]
    if not own:
        return None
    node, operator = own[0], ""
    while node.type in ("list", "redirected_statement"):
        if node.type == "list":
            operator = next((child.type for child in node.children if not child.is_named), "")
        node = node.children[0]
    if node.type != "command" or not (operator == "&&" or (not operator and len(own) == 1)):
        return None
    words = command_words(syntax, Statement(node))
    return destination(words[1:]) if words[:1] == [Word("cd")] else None


_CLOSED = frozenset({"subshell", "command_substitution", "process_substitution"})


def _own_commands(root: Node) -> list[Node]:
    """All simple commands that run in the shell itself."""
    found: list[Node] = []
    todo = [root]
    while todo:
        node = todo.pop()
        if node.type == "command":
            found.append(node)
        if node.type not in _CLOSED:
            todo.extend(node.named_children)
    return found


def _moves(syntax: Syntax, command: Node) -> bool:
    """Whether a simple command is a `cd` or `pushd`, bare or behind `command`, `builtin` or `time`."""
    for node in command.named_children:
        if node.type in ("variable_assignment", "file_redirect", "comment"):
            continue
        text = syntax.text(node.start_byte, node.end_byte).strip("\\'\"")
        if text in ("cd", "pushd"):
            return True
        if text not in ("command", "builtin", "time"):
            return False
    return False
