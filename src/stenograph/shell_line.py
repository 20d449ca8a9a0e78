"""One command line, walked statement by statement."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from stenograph.paths import resolve
from stenograph.shell_programs import PROGRAMS, Act, Found, Stretch
from stenograph.shell_syntax import (
    Statement,
    Syntax,
    check_assignment,
    command_words,
    parse,
    stages,
    statements,
)
from stenograph.shell_words import LITERAL, Unclear, Word, word
from stenograph.shell_wrappers import destination, script, unwrap

if TYPE_CHECKING:
    from tree_sitter import Node

_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})

_QUOTES = r"'[^'\n]*'|\"[^\"\\$`\n]*\""
_WORD = rf"(?:[\w./:@%+,=~^*?-]|{_QUOTES})+"
_STAGE = rf"[ \t]*[\w./:@%+,-]+(?:[ \t]+{_WORD})*[ \t]*"
_SIMPLE = re.compile(rf"{_STAGE}(?:\|{_STAGE})*\n?", re.ASCII)
"""A pipeline of plain and quoted words: the grammar has no other reading of it, so none is asked for."""
_TOKEN = re.compile(rf"{_WORD}|\|", re.ASCII)
_SHORT = 4096

KNOWN = frozenset({*PROGRAMS, *_SHELLS, "env", "command", "time", "timeout", "cd", "set", "true"})
"""What a line can begin with that is understood: a first word outside makes the whole line one command."""
_DEPTH = 40  # parentheses, braces and scripts inside one another
_SET = re.compile(r"-[abBeEfhkmpPTuvxCHo]+(?: [a-z]+)?(?: -[abBeEfhkmpPTuvxCHo]+(?: [a-z]+)?)*")


class Line:
    """One command line as it is walked: operations so far, the folder it is in, and its last program."""

    def __init__(self, base: str | None, workspace: str | None) -> None:
        self.found: list[Found] = []
        self.last = ""
        self._base = base
        self._workspace = resolve(workspace, None) if workspace else None
        self._depth = 0

    def script(self, text: str) -> None:
        """Walk a whole script; raises Unclear at the first thing that is not understood."""
        if len(text) < _SHORT and _SIMPLE.fullmatch(text):
            self._plain(_TOKEN.findall(text))
            return
        syntax = parse(text)
        if syntax.root.has_error:
            raise Unclear
        self._sequence(syntax, syntax.root.children, piped=False, inside=False)

    def _plain(self, tokens: list[str]) -> None:
        """A pipeline whose words need no grammar."""
        parts: list[list[Word]] = [[]]
        for token in tokens:
            if token == "|":
                parts.append([])
            else:
                parts[-1].append(word(token))
        if len(parts) == 1:
            self._run(parts[0], "", piped=False, inside=False)
        else:
            self._flow([partial(self._run, words, "", inside=True) for words in parts], piped=False)

    def _sequence(self, syntax: Syntax, nodes: list[Node], *, piped: bool, inside: bool) -> None:
        self._depth += 1
        if self._depth > _DEPTH:
            raise Unclear
        for statement in statements(syntax, nodes):
            self._statement(syntax, statement, piped=piped, inside=inside)
        self._depth -= 1

    def _statement(self, syntax: Syntax, statement: Statement, *, piped: bool, inside: bool) -> None:
        node = statement.node
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
        current: Found | None = None
        for i, step in enumerate(steps):
            base, known = self._base, len(self.found)
            stretch = step(piped=piped or i > 0)
            self._base = base
            new = self.found[known:]
            if new:
                current = new[0] if len(new) == 1 and new[0].certain else None
            elif current is not None:
                current = _narrowed(current, stretch)

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
        if name in _SHELLS:
            self._shell(words, at, inside=inside)
        elif name == "cd":
            self._cd(words[at:], operator)
        elif name == "set":
            self._set(words[at:])
        elif name not in ("true", ":"):
            return self._program(name, words[at:], piped=piped)
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

    def _program(self, name: str, words: list[Word], *, piped: bool) -> Stretch | None:
        program = PROGRAMS.get(name)
        if program is None:
            raise Unclear
        act = program(words, piped)
        if name == "git" and act.found[0].kind == "search":
            self.last = "git grep"
        self._add(act)
        return act.stretch

    def _add(self, act: Act) -> None:
        base = resolve(act.within, self._base) if act.within else self._base
        for found in act.found:
            if found.path is not None:
                found.path = resolve(found.path, base)
            elif not found.baseless and base is not None and resolve(base, None) != self._workspace:
                found.path = resolve(base, None)
        self.found.extend(act.found)


def _narrowed(found: Found, stretch: Stretch | None) -> Found | None:
    """Take a stretch within the range so far; None when it no longer changes."""
    if stretch is None:
        return None
    first, last = stretch
    offset = (found.start or 1) - 1
    ends = [end for end in (found.end, last and last + offset) if end]
    start, end = first + offset, min(ends, default=None)
    if end is not None and end < start:
        found.start = found.end = None
        return None
    found.start, found.end = start, end
    return found
