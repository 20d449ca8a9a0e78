"""Shell command lines as file operations.

A line becomes reads, searches and lists only when all of it is understood as such; otherwise it is one
command with the original text. Rules: docs/shell.md.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from stenograph.shell.folder import leading_cd, moves, moves_directory
from stenograph.shell.line import KNOWN, Line
from stenograph.shell.programs import Found
from stenograph.shell.words import WORD, Unclear

__all__ = [
    "Found",
    "Kind",
    "Operation",
    "classify",
    "leading_cd",
    "moves",
    "moves_directory",
    "succeeded",
    "understood",
    "verdict",
]

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
    line = understood(command, base, workspace)
    if line is None:
        return [Operation(kind="command", command=command, ok=ok, exit_code=exit_code)]
    ok = verdict(line.last, ok, exit_code, text)
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
    line = understood(command, None, None)
    return True if line and line.last in _GREPS else ok


_LEAD = rf"[ \t\n]*cd[ \t]+([{WORD}./][{WORD}./-]*)[ \t]*&&[ \t]*"
_FIRST = re.compile(rf"(?:{_LEAD})?[ \t\n]*([{WORD}./+-]+)(?=[ \t\n;|&]|$)")
"""The first word behind a `cd PATH &&`, when all of that is plain."""
_OTHER_GIT = re.compile(r"git[ \t]+(?!(?:grep|ls-files)(?![a-z-]))[a-z][a-z-]*(?=[ \t\n;|&]|$)")
"""Git commands that are not understood."""
_KEPT = 4096  # characters; longer commands are not remembered
_GREPS = frozenset({"rg", "grep", "egrep", "fgrep", "git grep"})
_EXIT = re.compile(r"^(?:Error: )?\[?(?:command |process )?exit(?:ed with)? code:? (\d+)\b", re.I | re.M)


def verdict(last: str, ok: bool | None, exit_code: int | None, text: str) -> bool | None:
    """The success of a line that became operations; `last` is its last program. See `succeeded`."""
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


def understood(command: str, base: str | None, workspace: str | None) -> Line | None:
    """A command line that is reads, searches and lists and nothing else; None for any other."""
    walk = _walked if len(command) <= _KEPT else _walked.__wrapped__
    return walk(command, base, workspace)


@lru_cache(maxsize=128)  # agents run the same few commands again and again
def _walked(command: str, base: str | None, workspace: str | None) -> Line | None:
    line = Line(base, workspace)
    if line.usual(command):
        return line
    first = _FIRST.match(command)
    if first and (first[2].rpartition("/")[2] not in KNOWN or _OTHER_GIT.match(command, first.start(2))):
        return None
    try:
        line.script(command)
    except Unclear:
        return None
    return line if line.found else None
