"""Shell text as a syntax tree, and the tree as statements, stages of a pipeline, and words.

The grammar is tree-sitter-bash, loaded at first use.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Container
from typing import TYPE_CHECKING

import msgspec

from stenograph.shell.plain import check_plain
from stenograph.shell.words import Unclear, Word, word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_LONGEST = 64 * 1024  # bytes
_MISREAD = re.compile(r"[\0\r\ud800-\udfff]|(?:^|[\s;|&(])\\[ \t]")  # of a word like `\ a` the blank is lost


class Syntax:
    """The tree of one shell text; offsets are those of its UTF-8 bytes."""

    def __init__(self, source: bytes, root: Node) -> None:
        self.root = root
        self._source = source

    def text(self, start: int, end: int) -> str:
        """The text between two byte offsets."""
        return self._source[start:end].decode()

    def blank(self, at: int) -> bool:
        """Whether a blank or a line end stands at a byte offset."""
        return self._source[at : at + 1] in (b" ", b"\t", b"\n")

    def words(self, nodes: list[Node]) -> list[Word]:
        """The words that these neighbours make; nodes with no blank between them are one word."""
        found: list[Word] = []
        source, start, end = self._source, -1, -1
        for node in nodes:
            at = node.start_byte
            if end < 0:
                start = at
            elif source[end:at] == b" " or self._apart(end, at):
                found.append(word(source[start:end].decode()))
                start = at
            end = node.end_byte
        if end >= 0:
            found.append(word(source[start:end].decode()))
        return found

    def _apart(self, end: int, start: int) -> bool:
        gap = self._source[end:start]
        if gap.replace(b"\\\n", b"").strip(b" \t"):
            raise Unclear
        return b" " in gap or b"\t" in gap


def parse(text: str, programs: Container[str]) -> Syntax:
    """The tree of a shell text; raises Unclear unless it is plain, free of faults, and of these programs."""
    plain = text.replace("\r\n", "\n")
    if len(text) > _LONGEST or _MISREAD.search(plain):
        raise Unclear
    check_plain(plain, programs)
    source = plain.encode()
    if len(source) + len(text) - len(plain) > _LONGEST:
        raise Unclear
    root = _parser().parse(source).root_node
    if root.has_error:
        raise Unclear
    return Syntax(source, root)


class _Own(threading.local):
    """What each thread has for itself, since a parser must not be shared."""

    parser: Parser | None = None


_own = _Own()


def _parser() -> Parser:
    if _own.parser is None:
        import tree_sitter_bash
        from tree_sitter import Language, Parser

        _own.parser = Parser(Language(tree_sitter_bash.language()))
    return _own.parser


class Statement(msgspec.Struct):
    """A node of a sequence, the operator behind it, and words that stand behind its redirections."""

    node: Node
    operator: str = ""
    trailing: list[Node] = []


_NULL_OPERATORS = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<"})
_ASSIGNED = re.compile(r"[A-Za-z_]\w*(?:\[\w+\])?\+?=", re.ASCII)
_DESCRIPTOR = re.compile(r"\d+-?|-")


def statements(syntax: Syntax, nodes: list[Node]) -> list[Statement]:
    """The statements of a sequence, lists and redirections taken apart, without recursion."""
    found: list[Statement] = []
    todo: list[Node | list[Node]] = list(reversed(nodes))
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            found[-1].trailing = found[-1].trailing + node
        elif node.type == "list":
            todo.extend(reversed(node.children))
        elif node.type == "redirected_statement":
            body, trailing = _redirected(syntax, node)
            todo.extend((trailing, body) if trailing else (body,))
        elif node.is_named:
            if node.type != "comment":
                found.append(Statement(node))
        elif node.type not in (";", "\n", "&&", "||"):
            raise Unclear
        elif found:
            found[-1].operator = found[-1].operator or node.type
    return found


def stages(syntax: Syntax, statement: Statement) -> list[Statement]:
    """The parts of a pipeline; words behind its last redirections belong to the last."""
    found: list[Statement] = []
    for node in statement.node.children:
        if node.type == "redirected_statement":
            body, trailing = _redirected(syntax, node)
            found.append(Statement(body, trailing=trailing))
        elif node.is_named:
            found.extend([] if node.type == "comment" else [Statement(node)])
        elif node.type not in ("|", "|&"):
            raise Unclear
    found[-1].trailing = found[-1].trailing + statement.trailing
    return found


def _redirected(syntax: Syntax, node: Node) -> tuple[Node, list[Node]]:
    """The body of a statement whose redirections lead nowhere, and the words that stand behind those."""
    body, *redirects = node.children
    trailing: list[Node] = []
    for redirect in redirects:
        trailing.extend(_void(syntax, redirect))
    return body, trailing


def _void(syntax: Syntax, redirect: Node) -> list[Node]:
    """Check that a redirection leads to /dev/null or another descriptor; the words behind its target."""
    if redirect.type != "file_redirect":
        raise Unclear
    parts = redirect.children
    if parts[0].type == "file_descriptor":
        descriptor = parts.pop(0)
        if not syntax.text(descriptor.start_byte, descriptor.end_byte).isdigit():
            raise Unclear  # the grammar takes any word that ends in a digit
    operator, targets = parts[0].type, parts[1:]
    if operator in ("<&-", ">&-"):
        return targets
    if not targets:
        raise Unclear
    target = syntax.words(targets[:1])[0].text
    duplicate = operator in ("<&", ">&") and _DESCRIPTOR.fullmatch(target)
    if not duplicate and not (operator in _NULL_OPERATORS and target == "/dev/null"):
        raise Unclear
    return targets[1:]


def check_assignment(syntax: Syntax, node: Node) -> None:
    """Check that an assignment is one for the shell, and holds no substitution; raises Unclear."""
    source = syntax.text(node.start_byte, node.end_byte)
    if not _ASSIGNED.match(source):
        raise Unclear  # the grammar takes `--a=b` for one
    word(source)


def command_words(syntax: Syntax, statement: Statement) -> list[Word]:
    """The words of a simple command, without leading assignments and redirections that lead nowhere."""
    own: list[Node] = []
    late: list[Node] = []
    for node in statement.node.children:
        kind = node.type
        if kind == "variable_assignment" and not own:
            check_assignment(syntax, node)
        elif kind == "file_redirect":
            late.extend(_void(syntax, node))
        elif kind.endswith("_redirect"):
            raise Unclear
        elif kind != "comment":
            own.append(node)
    words = syntax.words(own)
    for node in late + statement.trailing:
        words.extend(syntax.words([node]))
    return words
