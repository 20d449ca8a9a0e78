"""What each program that reads, searches or lists does with its arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from stenograph.paths import to_line
from stenograph.shell import options as o
from stenograph.shell.find import split_find
from stenograph.shell.options import Given, Options, take
from stenograph.shell.words import GLOB, LITERAL, Unclear, Word

Kind: TypeAlias = Literal["read", "search", "list"]
Stretch: TypeAlias = tuple[int, int | None]


class Found(msgspec.Struct, kw_only=True, gc=False):
    """One operation; `start` and `end` may still be narrowed by what stands behind a pipe.

    `certain` says that the output is one known stretch of the file, `baseless` that a missing path does not
    mean the base folder.
    """

    kind: Kind
    path: str | None = None
    query: str | None = None
    start: int | None = None
    end: int | None = None
    certain: bool = False
    baseless: bool = False


class Act(msgspec.Struct, kw_only=True, gc=False):
    """What one program did: operations, or none when it only passes on what comes through the pipe.

    `stretch` are the lines of its input that a filter passes on, when that is certain; `within` is the folder
    it moved to for itself.
    """

    found: list[Found] = msgspec.field(default_factory=list)
    stretch: Stretch | None = None
    within: str | None = None


Program: TypeAlias = Callable[[list[Word], bool], Act]
"""Arguments, and whether a pipe feeds the program; raises Unclear."""


def _literal(words: list[Word]) -> list[str]:
    """The texts of operands that name files or folders."""
    texts = [word.text for word in words if word.kind == LITERAL and word.text]
    if len(texts) < len(words):
        raise Unclear
    return texts


def _files(words: list[Word]) -> list[str]:
    """The files among operands; `-` is standard input."""
    return [text for text in _literal(words) if text != "-"]


def _reads(files: list[str], stretch: Stretch | None, *, certain: bool) -> list[Found]:
    start, end = stretch or (None, None)
    if start and end and end < start:
        end = None
    sure = certain and len(files) == 1
    return [Found(kind="read", path=file, start=start, end=end, certain=sure) for file in files]


def _act(files: list[str], stretch: Stretch | None, *, certain: bool, piped: bool) -> Act:
    """Reads of the files; without files the filter that a pipe needs."""
    if files:
        return Act(found=_reads(files, stretch, certain=certain))
    if not piped:
        raise Unclear
    return Act(stretch=stretch)


def _cat(words: list[Word], _piped: bool) -> Act:
    given = take(words, o.CAT)
    squeezed = given.has("s", "squeeze-blank")
    return _act(_files(given.operands), None, certain=not squeezed, piped=False)


def _head(words: list[Word], piped: bool) -> Act:
    given = take(words, o.HEAD)
    stretch = _first_lines(given)
    return _act(_files(given.operands), stretch, certain=stretch is not None, piped=piped)


def _first_lines(given: Given) -> Stretch | None:
    if given.has("c", "bytes", "z", "zero-terminated"):
        return None
    counts = given.values("n", "lines", "#")
    last = to_line(counts[-1].text) if counts else 10
    return (1, last) if last else None


def _tail(words: list[Word], piped: bool) -> Act:
    given = take(words, o.TAIL)
    if any(operand.text.startswith("+") for operand in given.operands):
        raise Unclear  # a line number for some tails, a file for others
    stretch = _from_line(given)
    return _act(_files(given.operands), stretch, certain=stretch is not None, piped=piped)


def _from_line(given: Given) -> Stretch | None:
    counts = [value.text for value in given.values("n", "lines", "#")]
    if given.has("c", "bytes", "z", "zero-terminated") or not counts or counts[-1][:1] != "+":
        return None
    first = to_line(counts[-1][1:])
    return (first, None) if first else None


_BETWEEN = re.compile(r"[;\n]")
_PRINT = re.compile(r"(?:(\d+|\$)(?:\s*,\s*(\d+|\$|\+\d+))?)?\s*p", re.ASCII)


def _sed(words: list[Word], piped: bool) -> Act:
    given = take(words, o.SED)
    scripts = given.values("e", "expression")
    operands = given.operands
    if not scripts:
        scripts, operands = operands[:1], operands[1:]
    if not scripts or not given.has("n", "quiet", "silent"):
        raise Unclear
    prints = [part.strip() for script in _literal(scripts) for part in _BETWEEN.split(script)]
    stretches = [_printed(part) for part in prints if part]
    stretch = stretches[0] if len(stretches) == 1 else None
    files = _files(operands)
    certain = stretch is not None and len(files) < 2
    whole = certain and any(part == "p" for part in prints)
    act = _act(files, stretch if certain else None, certain=certain, piped=piped)
    for read in act.found:
        read.start = None if whole else read.start
    return act


def _printed(command: str) -> Stretch | None:
    """The stretch that a print command passes on, None when that depends on the input."""
    found = _PRINT.fullmatch(command)
    if found is None:
        raise Unclear
    first, last = found.groups()
    if first is None:
        return 1, None
    if first == "0":
        raise Unclear
    start = to_line(first)
    if start is None:
        return None
    if last == "$":
        return start, None
    if last is not None and last[0] == "+":
        return start, start + int(last[1:][:18])
    end = start if last is None else to_line(last)
    return (start, end) if end else None


def _reader(options: Options, *unsure: str) -> Program:
    """A program that shows its files; with one of the `unsure` options its lines are not the file's."""

    def program(words: list[Word], piped: bool) -> Act:
        given = take(words, options)
        return _act(_files(given.operands), None, certain=not given.has(*unsure), piped=piped)

    return program


_JUMP = re.compile(r"\+(?:\d+|[GF]|/.*)", re.ASCII)


def _pager(options: Options) -> Program:
    """`less` and `more`: like a reader, with a place to begin at (`+10`)."""
    show = _reader(options, "s", "squeeze-blank-lines")

    def program(words: list[Word], piped: bool) -> Act:
        rest = [word for word in words if not (word.kind == LITERAL and _JUMP.fullmatch(word.text))]
        if any(word.text.startswith("+") for word in rest):
            raise Unclear
        act = show(rest, piped)
        for read in act.found:
            read.certain = read.certain and len(rest) == len(words)
        return act

    return program


def _filter(options: Options, *, operands: int = 0) -> Program:
    """A helper behind a pipe, which names no file; `operands` of another meaning are allowed."""

    def program(words: list[Word], piped: bool) -> Act:
        given = take(words, options)
        if len(_files(given.operands)) > operands or not piped:
            raise Unclear
        return Act()

    return program


def _search(patterns: list[Word], scopes: list[Word], piped: bool) -> Act:
    """A search: patterns as they are written, and the first scope unless the shell would still expand it."""
    query = "|".join(word.text for word in patterns)
    if not query or any(word.kind > GLOB for word in scopes):
        raise Unclear
    scope = scopes[0] if scopes else None
    path = scope.text if scope and scope.kind == LITERAL and scope.text != "-" else None
    elsewhere = scope is not None and (scope.text[:1] in ("/", "-") or ".." in scope.text.split("/"))
    return Act(found=[Found(kind="search", query=query, path=path or None, baseless=piped or elsewhere)])


def _lists(folders: list[str]) -> Act:
    return Act(found=[Found(kind="list", path=folder) for folder in folders] or [Found(kind="list")])


def _pattern_first(given: Given, *names: str) -> tuple[list[Word], list[Word]]:
    """Patterns and scopes: the first operand is the pattern, unless options gave patterns."""
    patterns = given.values(*names)
    if patterns:
        return patterns, given.operands
    return given.operands[:1], given.operands[1:]


def _rg(words: list[Word], piped: bool) -> Act:
    given = take(words, o.RG)
    if given.has("files"):
        return _lists(_literal(given.operands))
    return _search(*_pattern_first(given, "e", "regexp"), piped)


def _grep(words: list[Word], piped: bool) -> Act:
    return _search(*_pattern_first(take(words, o.GREP), "e", "regexp"), piped)


def _git(words: list[Word], piped: bool) -> Act:
    at, within = _git_options(words)
    name = words[at].text if at < len(words) else ""
    if name == "grep":
        act = _git_grep(words[at + 1 :], piped)
    elif name == "ls-files":
        act = _git_ls_files(words[at + 1 :])
    else:
        raise Unclear
    act.within = within
    return act


def _git_options(words: list[Word]) -> tuple[int, str | None]:
    """Where git's command stands, and the folder that `-C` moves to."""
    at, within = 0, None
    while at < len(words) and words[at].text.startswith("-"):
        text = words[at].text
        if text in ("-C", "-c"):
            (value,) = _literal(words[at + 1 : at + 2]) or (None,)
            if value is None or (text == "-C" and within is not None):
                raise Unclear
            within = value if text == "-C" else within
            at += 2
        elif text in ("--no-pager", "-P", "--no-optional-locks"):
            at += 1
        else:
            raise Unclear
    return at, within


_MAGIC = re.compile(r":|.*[*?\[]", re.DOTALL)
_REVISION = re.compile(r"(?:HEAD|@)(?:[~^@:].*)?|[0-9a-f]{40}", re.DOTALL)


def _git_grep(words: list[Word], piped: bool) -> Act:
    split = next((at for at, word in enumerate(words) if word.text == "--"), None)
    given = take(words[:split], o.GIT_GREP)
    patterns, others = _pattern_first(given, "e")
    if split is not None:
        scopes = words[split + 1 :]
    else:
        scopes = [word for word in others if not _REVISION.fullmatch(word.text)]
    named = [_pathspec(word) for word in scopes]
    return _search(patterns, named, piped)


def _pathspec(word: Word) -> Word:
    """A path of git, which reads wildcards itself."""
    magic = word.kind == LITERAL and _MAGIC.match(word.text)
    return Word(word.text, GLOB) if magic else word


def _git_ls_files(words: list[Word]) -> Act:
    operands = _literal(take(words, o.GIT_LS_FILES).operands)
    return _lists([text for text in operands if not _MAGIC.match(text)])


def _fd(words: list[Word], piped: bool) -> Act:
    given = take(words, o.FD)
    patterns, scopes = given.operands[:1], given.operands[1:]
    patterns = [word for word in patterns + given.values("and") if word.text]
    return _search(patterns, scopes, piped) if patterns else _lists(_literal(scopes))


def _ls(words: list[Word], _piped: bool) -> Act:
    return _lists(_literal(take(words, o.LS).operands))


def _tree(words: list[Word], _piped: bool) -> Act:
    return _lists(_literal(take(words, o.TREE).operands))


def _find(words: list[Word], piped: bool) -> Act:
    paths, patterns = split_find(words)
    return _search(patterns, paths, piped) if patterns else _lists(_literal(paths))


PROGRAMS: dict[str, Program] = {
    "cat": _cat,
    "head": _head,
    "tail": _tail,
    "sed": _sed,
    "nl": _reader(o.NL),
    "bat": _reader(o.BAT, "r", "line-range", "d", "diff", "S", "squeeze-blank"),
    "batcat": _reader(o.BAT, "r", "line-range", "d", "diff", "S", "squeeze-blank"),
    "less": _pager(o.LESS),
    "more": _pager(o.MORE),
    "wc": _filter(o.WC),
    "sort": _filter(o.SORT),
    "uniq": _filter(o.UNIQ),
    "cut": _filter(o.CUT),
    "tr": _filter(o.TR, operands=2),
    "column": _filter(o.COLUMN),
    "rg": _rg,
    "grep": _grep,
    "egrep": _grep,
    "fgrep": _grep,
    "git": _git,
    "find": _find,
    "fd": _fd,
    "fdfind": _fd,
    "ls": _ls,
    "tree": _tree,
}
"""The programs that we understand, by base name."""
