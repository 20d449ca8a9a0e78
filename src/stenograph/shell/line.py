"""One command line, walked statement by statement."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from stenograph.paths import resolve
from stenograph.shell.programs import PROGRAMS, Act, Found, Stretch
from stenograph.shell.syntax import (
    Statement,
    Syntax,
    check_assignment,
    command_words,
    parse,
    stages,
    statements,
)
from stenograph.shell.usual import usual
from stenograph.shell.words import LITERAL, WORD, Unclear, Word, word
from stenograph.shell.wrappers import destination, script, unwrap

if TYPE_CHECKING:
    from tree_sitter import Node

_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})

_BARE = re.compile(rf"[{WORD}./:@%+,| \t-]+\n?")
"""Nothing but words that are what they look like, blanks and bars."""
_QUOTES = r"'[^'\n]*+'|\"[^\"\\$`\n]*+\""
_WORD = rf"(?:[{WORD}./:@%+,=~^*?-]++|{_QUOTES})++"
_STAGE = rf"[ \t]*+[{WORD}./:@%+,-]++(?:[ \t]++{_WORD})*+[ \t]*+"
_SIMPLE = re.compile(rf"{_STAGE}(?:\|{_STAGE})*+\n?")
"""A pipeline of plain and quoted words: the grammar has no other reading of it, so none is asked for."""
_TOKEN = re.compile(rf"([{WORD}./:@%+,=-]++(?![~^*?'\"]))|({_WORD})|\|")
"""A word that is what it looks like, any other word, or a bar."""
_SHORT = 4096

KNOWN = frozenset({*PROGRAMS, *_SHELLS, "env", "command", "time", "timeout", "cd", "set", "true"})
"""What a line can begin with that is understood: a first word outside makes the whole line one command."""
_PROGRAMS = KNOWN | {":"}
_DEPTH = 40  # statements inside one another
_SET = re.compile(r"-[abBeEfhkmpPTuvxCHo]+(?: [a-z]+)?(?: -[abBeEfhkmpPTuvxCHo]+(?: [a-z]+)?)*")


class Line:
    """One command line as it is walked: operations so far, the folder it is in, and its last program."""

    def __init__(self, base: str | None, workspace: str | None) -> None:
        self.found: list[Found] = []
        self.last = ""
        self._base = base
        self._workspace = workspace
        self._depth = 0

    def script(self, text: str) -> None:
        """Walk a whole script; raises Unclear at the first thing that is not understood."""
        if self.usual(text):
            return
        if len(text) < _SHORT and (stages := _plain(text)):
            self._stages(stages)
        else:
            syntax = parse(text, _PROGRAMS)
            self._sequence(syntax, syntax.root.children, piped=False, inside=False)

    def usual(self, text: str) -> bool:
        """Take a script that is one usual command; False for any other."""
        known = usual(text) if len(text) < _SHORT else None
        if known is None:
            return False
        self.last, act = known
        self._add(act)
        return True

    def _stages(self, stages: list[list[Word]]) -> None:
        """A pipeline whose words are known."""
        current: list[Found] = []
        for i, words in enumerate(stages):
            known = len(self.found)
            stretch = self._run(words, "", piped=i > 0, inside=len(stages) > 1)
            current = self._passed(current, known, stretch)

    def _sequence(self, syntax: Syntax, nodes: list[Node], *, piped: bool, inside: bool) -> None:
        for statement in statements(syntax, nodes):
            self._statement(syntax, statement, piped=piped, inside=inside)

    def _statement(self, syntax: Syntax, statement: Statement, *, piped: bool, inside: bool) -> None:
        node = statement.node
        self._depth += 1
        if self._depth > _DEPTH:
            raise Unclear
        match node.type:
            case "command":
                self._command(syntax, statement, piped=piped, inside=inside)
            case "pipeline":
                self._pipeline(syntax, statement, piped=piped)
            case "subshell" | "compound_statement" if not statement.trailing:
                self._group(syntax, node, piped=piped, inside=inside)
            case "variable_assignment" | "variable_assignments" if not statement.trailing:
                self._assign(syntax, node)
            case _:
                raise Unclear
        self._depth -= 1

    def _group(self, syntax: Syntax, node: Node, *, piped: bool, inside: bool) -> None:
        """`( … )`, which ends with the folder in which it began, and `{ …; }`, which does not."""
        children = node.children
        opener = children[0].type
        if opener not in ("(", "{") or (opener == "{" and not syntax.blank(children[0].end_byte)):
            raise Unclear  # `((…))`, and `{cat`, which is one word
        base = self._base
        self._sequence(syntax, children[1:-1], piped=piped, inside=inside)
        if node.type == "subshell":
            self._base = base

    def _assign(self, syntax: Syntax, node: Node) -> None:
        """Assignments that lead the line; their values may hold variables, but no substitution."""
        if self.found:
            raise Unclear
        for assignment in [node] if node.type == "variable_assignment" else node.children:
            check_assignment(syntax, assignment)

    def _pipeline(self, syntax: Syntax, statement: Statement, *, piped: bool) -> None:
        parts = stages(syntax, statement)
        self._flow([partial(self._stage, syntax, stage) for stage in parts], piped=piped)

    def _flow(self, steps: list[Callable[..., Stretch | None]], *, piped: bool) -> None:
        """The stages of a pipeline, each narrowing what the one before it read."""
        current: list[Found] = []
        for i, step in enumerate(steps):
            base, known = self._base, len(self.found)
            stretch = step(piped=piped or i > 0)
            self._base = base
            current = self._passed(current, known, stretch)

    def _passed(self, current: list[Found], known: int, stretch: Stretch | None) -> list[Found]:
        """What a pipeline shows so far: the reads of its last stage, or the ones before it, narrowed."""
        if len(self.found) > known:
            return self.found[known:]
        _narrow(current, stretch)
        return current

    def _stage(self, syntax: Syntax, stage: Statement, *, piped: bool) -> Stretch | None:
        if stage.node.type == "command":
            return self._command(syntax, stage, piped=piped, inside=True)
        self._statement(syntax, stage, piped=piped, inside=True)
        return None

    def _command(self, syntax: Syntax, statement: Statement, *, piped: bool, inside: bool) -> Stretch | None:
        words = command_words(syntax, statement)
        return self._run(words, statement.operator, piped=piped, inside=inside)

    def _run(self, words: list[Word], operator: str, *, piped: bool, inside: bool) -> Stretch | None:
        """One simple command; the lines of its input that it passes on, where that is certain."""
        name, at = unwrap(words)
        self.last = name
        program = PROGRAMS.get(name)
        if program is not None:
            return self._add(program(words[at:], piped))
        if name in _SHELLS:
            self._shell(words, at, inside=inside)
        elif name == "cd":
            self._cd(words[at:], operator)
        elif name == "set":
            self._set(words[at:])
        elif name not in ("true", ":"):
            raise Unclear
        return None

    def _shell(self, words: list[Word], at: int, *, inside: bool) -> None:
        """`bash -lc SCRIPT` and the like: a folder that the script moves to ends with it."""
        if inside:
            raise Unclear
        base = self._base
        self.script(script(words[at:]))
        self._base = base

    def _cd(self, words: list[Word], operator: str) -> None:
        if operator != "&&":
            raise Unclear
        self._base = resolve(destination(words), self._base)

    def _set(self, words: list[Word]) -> None:
        options = "".join(word.text for word in words)
        plain = all(word.kind == LITERAL for word in words) and "noexec" not in options
        if self.found or not plain or not _SET.fullmatch(" ".join(word.text for word in words)):
            raise Unclear

    def _add(self, act: Act) -> Stretch | None:
        """Take what a program did; the lines of its input that it passes on."""
        base = resolve(act.within, self._base) if act.within else self._base
        for found in act.found:
            if found.path is not None:
                found.path = resolve(found.path, base)
            elif not found.baseless and base is not None and not self._is_workspace(base):
                found.path = resolve(base, None)
        self.found += act.found
        if self.last == "git" and act.found[0].kind == "search":
            self.last = "git grep"
        return act.stretch

    def _is_workspace(self, folder: str) -> bool:
        workspace = self._workspace
        return folder == workspace or resolve(folder, None) == resolve(workspace or "", None)


def _plain(text: str) -> list[list[Word]]:
    """The words of each stage of a pipeline that needs no grammar; empty when it needs one."""
    if _BARE.fullmatch(text):
        stages = [[Word(part) for part in stage.split()] for stage in text.split("|")]
        return stages if all(stages) else []
    if not _SIMPLE.fullmatch(text):
        return []
    words: list[Word] = []
    stages = [words]
    for bare, other in _TOKEN.findall(text):
        if bare:
            words.append(Word(bare))
        elif other:
            words.append(word(other))
        else:
            stages.append(words := [])
    return stages


def _narrow(reads: list[Found], stretch: Stretch | None) -> None:
    """Take a stretch within the range of the one read behind which a pipe stands."""
    if stretch is None or len(reads) != 1 or not reads[0].certain:
        for read in reads:
            read.certain = False
        return
    (read,), (first, last) = reads, stretch
    offset = (read.start or 1) - 1
    ends = [end for end in (read.end, last and last + offset) if end]
    start, end = first + offset, min(ends, default=None)
    if end is not None and end < start:
        read.start, read.end, read.certain = None, None, False
    else:
        read.start, read.end = start, end
