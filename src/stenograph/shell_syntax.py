"""Shell text as a syntax tree, and the tree as statements, stages of a pipeline, and words.

The grammar is tree-sitter-bash, loaded at first use. A parse has a budget, for the parser needs quadratic
time to recover from some faulty texts (64 KiB of `(a)` take 12 s, of `a|` 50 s).
"""

from __future__ import annotations

import re
import threading
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from stenograph.shell_words import Unclear, Word, word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Point

_LONGEST = 64 * 1024  # bytes
_CHUNK = 1024  # bytes handed to the parser at a time
_READS = 40  # chunks that a parse may ask for, per chunk of text; ordinary scripts need 3
_MISREAD = re.compile(
    rb"[\0\r]|(?:^|[\s;|&(])\\[ \t]"
)  # the grammar drops a word that begins with a quoted blank
_JOINTS = 2000  # with so many pipes recovery stays below a quarter of a second
_MISREAD = re.compile(rb"[\0\r]|(?:^|[\s;|&(])\\[ \t]")  # of a word that begins with `\ ` the blank is lost


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
        start = end = -1
        for node in nodes:
            if end >= 0 and self._apart(end, node.start_byte):
                found.append(word(self.text(start, end)))
                start = -1
            start = node.start_byte if start < 0 else start
            end = node.end_byte
        if end >= 0:
            found.append(word(self.text(start, end)))
        return found

    def _apart(self, end: int, start: int) -> bool:
        gap = self._source[end:start]
        if gap == b" ":
            return True
        if gap.replace(b"\\\n", b"").strip(b" \t"):
            raise Unclear
        return b" " in gap or b"\t" in gap


@lru_cache(maxsize=8)  # one command is asked about three times: what it does, and where it moves
def parse(text: str) -> Syntax:
    """The tree of a shell text; raises Unclear when it is too long, no text, or takes too much work."""
    try:
        source = text.replace("\r\n", "\n").encode()
    except UnicodeEncodeError:
        raise Unclear from None
    if len(source) > _LONGEST or _MISREAD.search(source):
        raise Unclear
    if len(source) <= _CHUNK:
        return Syntax(source, _parser().parse(source).root_node)
    if source.count(b"|") > _JOINTS or source.count(b"[[") > _JOINTS:
        raise Unclear
    return Syntax(source, _parse_within(source))


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


def _parse_within(source: bytes) -> Node:
    """The root node, or Unclear when the parser asked for more of the text than the budget allows."""
    left = _READS * (len(source) // _CHUNK + 2)

    def read(offset: int, _point: Point) -> bytes:
        nonlocal left
        left -= 1
        return source[offset : offset + _CHUNK] if left > 0 else b""

    def spent(_offset: int, _faulty: bool) -> bool:
        return left <= 0

    parser = _parser()
    try:
        tree = parser.parse(read, progress_callback=spent)
    except ValueError:  # stopped by `spent`
        tree = None
    if tree is None or left <= 0:
        parser.reset()
        raise Unclear
    return tree.root_node


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
