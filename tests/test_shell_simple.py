"""The short way through a command of plain words gives what the grammar gives."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stenograph import shell
from stenograph.shell import line as shell_line

WORDS = st.sampled_from(
    [
        *("cat", "head", "tail", "sed", "rg", "grep", "find", "fd", "ls", "tree", "git", "nl", "bat", "less"),
        *("env", "time", "timeout", "bash", "sh", "cd", "set", "true", "command", "if", "then", "in", "do"),
        *("A=1", "-x=1", "-n", "-A", "3", "-e", "-lc", "-C", "--", "-", "10", "5s", "-type", "f", "2", "0x1"),
        *("--include=*.py", "-name", "'*.py'", "'1,20p'", "'$HOME'", '"a b"', "'a b'", '""', "''", "--files"),
        *(
            "|",
            "| head -n 3",
            "| wc -l",
            "|grep x",
            "| sed -n 2,4p",
            "HEAD~3",
            "~",
            "~/a",
            "*.py",
            "a?b",
            "x^",
            "^",
            "||",
        ),
        *("a.py", "src/", ".", "..", "./x", "/etc/x", "grep-x", "ls-files", "[", "{", "}", "!", "é"),
    ]
)
BLANKS = st.sampled_from([" ", "  ", "\t", " \t "])


@st.composite
def commands(draw: st.DrawFn) -> str:
    words = draw(st.lists(WORDS, min_size=1, max_size=7))
    return "".join(word + draw(BLANKS) for word in words) + draw(st.sampled_from(["", "\n"]))


@given(commands())
@settings(max_examples=400, deadline=None)
def test_both_ways_agree(command: str) -> None:
    shell._walked.cache_clear()
    short = shell.classify(command, base="/w", workspace="/w", ok=True)
    shell._walked.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shell_line, "_SIMPLE", re.compile(r"(?!)"))
        patch.setattr(shell, "_FIRST", re.compile(r"(?!)"))
        assert shell.classify(command, base="/w", workspace="/w", ok=True) == short
    shell._walked.cache_clear()
