"""The short way through the commands that agents give most says what the general way says."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stenograph import shell
from stenograph.shell import line as shell_line
from stenograph.shell.usual import usual

PATHS = [
    *("a.py", "src/", "./x", "/etc/x", "..", "../a", "a/../b", "x=1", "2", "A=1", "C:/x", "a:b", "@x", "%"),
    *("+1", "+", "a,b", "1-2", ".", ",", "=", "if", "time", "env", "cat", "é", "-", "-n", "*.py", "~", "$x"),
]
QUERIES = [
    *("x", "'x y'", '"x y"', "'-x'", "x.y", "a=b", "'*'", "-e", "''", '"a$b"', '"it\'s"', "'a\\b'", "2", "|"),
    *("'~'", "def", "[", "if", "'a\nb'"),
]
NUMBERS = ["1", "10", "0", "007", "999999999", "1234567890", "5"]
OPTIONS = ["", " -n", " -rn", " -i -l", " -E", " -r", " -w -F", " -nr", " -A 3", " -f x"]


def commands() -> Iterator[str]:
    yield from (
        "ls",
        "ls -la",
        "ls -1",
        "ls -l -R",
        "ls -w 3",
        "cat",
        "cat a.py b.py",
        "cat a.py\n",
        " cat a.py",
    )
    for path in PATHS:
        yield from (
            f"cat {path}",
            f"ls {path}",
            f"ls -l -a {path}",
            f"cat {path} | head",
            f"cat {path}|head -3",
        )
        for number in NUMBERS:
            yield from (f"cat {path} | head -{option}{number}" for option in ("", "n", "n ", "c "))
        for first, last, quote in itertools.product(NUMBERS, NUMBERS, ("'", '"', "")):
            yield f"sed -n {quote}{first},{last}p{quote} {path}"
        for query in QUERIES:
            yield f"find {path} -name {query}"
            yield f"find {path} -type f -name {query} -not -path {query} -type d"
    for program, option, query in itertools.product(("rg", "grep"), OPTIONS, QUERIES):
        yield f"{program}{option} {query}"
        yield from (f"{program}{option} {query} {path}" for path in PATHS)


def test_both_ways_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    told = list(commands())
    short = [told_of(command) for command in told]
    assert sum(usual(command) is not None for command in told) > len(told) // 4
    monkeypatch.setattr(shell_line, "usual", lambda command: None)
    for command, events in zip(told, short, strict=True):
        assert told_of(command) == events, command


def told_of(command: str) -> list[list[shell.Operation]]:
    """The operations in the workspace, below it and without a folder, when the last program found nothing."""
    shell._walked.cache_clear()
    folders = (("/w", "/w"), ("/w/x", "/w"), (None, None))
    return [
        shell.classify(command, base=base, workspace=workspace, ok=False, exit_code=1)
        for base, workspace in folders
    ]


FOLDERS = st.sampled_from(["a", "src/x", "..", "/w", "-", "a=b", "2", "~", "x:y", "@"])
PIECES = st.sampled_from(
    [
        *(
            "cd",
            "a",
            "src/x",
            "&&",
            "make",
            "2>&1",
            "|",
            "tail",
            "-3",
            "pushd",
            "&",
            ";",
            ">",
            "x.txt",
            ">&2",
        ),
        *(
            "cd-x",
            "/cd",
            "(cd",
            "$x",
            "'q'",
            "\0",
            "é",
            "&>",
            "-",
            "..",
            "{",
            "}",
            "!",
            "if",
            "\t",
            "  ",
            "=",
            "\n",
        ),
    ]
)


@given(FOLDERS, st.sampled_from(["", " && ", " &&", " ; "]), st.lists(PIECES, max_size=7))
@settings(max_examples=500, deadline=None)
def test_where_a_command_moves_to_is_the_same_both_ways(folder: str, join: str, pieces: list[str]) -> None:
    command = f"cd {folder}{join}{' '.join(pieces)}"
    assert shell.moves(command) == (shell.leading_cd(command), shell.moves_directory(command))
