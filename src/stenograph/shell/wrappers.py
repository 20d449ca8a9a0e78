"""What stands around a program: `env`, `command`, `time`, `timeout`, a shell with a script; and `cd`."""

from __future__ import annotations

import re

from stenograph.shell.words import LITERAL, Unclear, Word

_SHELL_FLAGS = re.compile(r"-[abefhilmpruvxBCEHPT]*c?[abefhilmpruvxBCEHPT]*")
_SHELL_LONG = frozenset({"--login", "--noprofile", "--norc", "--posix", "--verbose", "--restricted"})
_ENV_WORD = re.compile(
    r"-i?|--|--ignore-environment|--unset=.*|[A-Za-z_][A-Za-z0-9_]*=.*",
    re.DOTALL,
)
_TIMEOUT_OPTION = re.compile(
    r"-[sk].+|--(?:signal|kill-after)=.+|--(?:preserve-status|foreground|verbose)|-[fpv]"
)
_WRAPPERS = frozenset(("env", "timeout", "command", "time"))
_DURATION = re.compile(r"\d*\.?\d+[smhd]?", re.ASCII)


def unwrap(words: list[Word]) -> tuple[str, int]:
    """The program behind `env`, `command`, `time` and `timeout`, and where its arguments begin."""
    name, at = _program_name(words, 0), 1
    if name not in _WRAPPERS:
        return name, at
    at = 0
    alone = True  # only then a builtin can move the shell's folder
    while True:
        name = _program_name(words, at)
        at += 1
        if name == "env":
            at = _env(words, at)
        elif name == "timeout":
            at = _timeout(words, at)
        elif name in ("command", "time"):
            at = _skip(words, at, "-p", "--")
            continue
        else:
            break
        alone = False
    if not alone and name in ("cd", "set", ":"):
        raise Unclear
    return name, at


def _program_name(words: list[Word], at: int) -> str:
    if at >= len(words) or words[at].kind != LITERAL:
        raise Unclear
    text = words[at].text
    return text.rpartition("/")[2] if text.startswith("/") else text


def _skip(words: list[Word], at: int, *options: str) -> int:
    while at < len(words) and words[at].text in options:
        at += 1
    return at


def _env(words: list[Word], at: int) -> int:
    """Behind the options and assignments of `env`."""
    while at < len(words) and words[at].kind == LITERAL:
        text = words[at].text
        if text in ("-u", "--unset"):
            at += 2
        elif _ENV_WORD.fullmatch(text):
            at += 1
        else:
            break
    return at


def _timeout(words: list[Word], at: int) -> int:
    """Behind the options and the duration of `timeout`."""
    while at < len(words) and words[at].text.startswith("-"):
        text = words[at].text
        if text in ("-s", "-k", "--signal", "--kill-after"):
            at += 2
        elif _TIMEOUT_OPTION.fullmatch(text):
            at += 1
        else:
            raise Unclear
    if at >= len(words) or not _DURATION.fullmatch(words[at].text):
        raise Unclear
    return at + 1


def script(words: list[Word]) -> str:
    """The script among a shell's arguments."""
    at, given = 0, False
    while at < len(words) and words[at].text.startswith("-"):
        text = words[at].text
        at += 1
        if text == "--":
            break
        if _SHELL_FLAGS.fullmatch(text[:-1]) and text[-1] == "o":
            at += 1
        elif text not in _SHELL_LONG and not _SHELL_FLAGS.fullmatch(text):
            raise Unclear
        given = given or (not text.startswith("--") and "c" in text)
    if not given or at >= len(words) or any(word.kind != LITERAL for word in words[: at + 1]):
        raise Unclear
    return words[at].text


def destination(words: list[Word]) -> str:
    """The folder that `cd` names; raises Unclear unless it is one plain literal."""
    at = _skip(words, 0, "-L", "-P", "--")
    if len(words) != at + 1:
        raise Unclear
    target = words[at]
    if target.kind != LITERAL or not target.text or target.text.startswith("-"):
        raise Unclear
    return target.text
