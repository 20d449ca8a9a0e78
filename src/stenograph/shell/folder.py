"""Where a command line leaves the folder of the shell that runs it: a linear scan, without the grammar.

Any text may come here, also such as the parser must not see.
"""

from __future__ import annotations

import re

from stenograph.shell.plain import GAP, PIECES
from stenograph.shell.words import WORD, Unclear, word
from stenograph.shell.wrappers import destination

_WORD = rf"(?!\d+[<>]){PIECES}++"
_LEADING = re.compile(
    rf"""(?:\s++ | \#[^\n]*+\n)*+
    cd(?=\s) {GAP}
    (?P<words>(?:{_WORD} {GAP})++)
    (?:\d*+(?:&>>?|>[>|&]?|<&?)[ \t]*+{PIECES}++{GAP})*+
    (?:&& | (?:[;\s] | \#[^\n]*+)*+\Z)""",
    re.VERBOSE | re.DOTALL,
)
_USUAL = re.compile(
    rf"cd ((?!-)[{WORD}./:@%+,=-]+)(?: && (?:[^&\\'\"`$(){{}}<#;\n\r]|&&|2>&1)*+)?",
)
"""A plain folder, and plain text behind it that nothing sends to the background."""
_WORDS = re.compile(rf"({_WORD}){GAP}", re.VERBOSE | re.DOTALL)
_NAMED = re.compile(r"(?<![\w./-])(?:cd|pushd)(?![\w./-])")
_BACKGROUND = re.compile(r"(?:[^;\n&]|&&|(?<=[<>])&|&(?=>))*+&")
_MOVING = re.compile(
    r"""(?:^ | [;&|\n()] | (?<!\S)(?:\{|!))[ \t]*+
    (?:(?:[{!]|then|do|else|elif|if|while|until|time|command|builtin|eval|[A-Za-z_]\w*=\S*)[ \t]++)*+
    \\?(?:cd|pushd)(?![^\s;&|<>()])""",
    re.VERBOSE,
)


def leading_cd(command: str) -> str | None:
    """The PATH of a command that is `cd PATH` or begins with `cd PATH &&`, where PATH is a plain literal.

    None when that list runs in the background, where it moves nothing.
    """
    if "cd" not in command:
        return None
    text = command.replace("\r\n", "\n")
    found = _LEADING.match(text)
    if found is None or "\0" in found["words"] or _BACKGROUND.match(_flat(text[found.end() :]) or ""):
        return None
    try:
        return destination([word(source) for source in _WORDS.findall(found["words"])])
    except Unclear:
        return None


def moves_directory(command: str) -> bool:
    """Whether there is a `cd` or `pushd`, other than the one of `leading_cd`, outside `( … )` and `$( … )`.

    Of a text whose quotes or brackets do not match the answer is yes when one of the words stands in it.
    """
    return _moves_further(command, leads=leading_cd(command) is not None)


def moves(command: str) -> tuple[str | None, bool]:
    """Both answers at once: of `leading_cd` and of `moves_directory`."""
    usual = _USUAL.fullmatch(command)
    if usual and len(_NAMED.findall(command)) == 1:
        return usual[1], False
    folder = leading_cd(command)
    return folder, _moves_further(command, leads=folder is not None)


def _moves_further(command: str, *, leads: bool) -> bool:
    named = len(_NAMED.findall(command))
    if named == leads and (named == 0 or _QUIET.fullmatch(command)):
        return False
    flat = _flat(command.replace("\r\n", "\n"))
    return flat is None or len(_MOVING.findall(flat)) > leads


_PART = r"""'[^'\n]*+' | "[^"\n]*+\""""
_OUTSIDE = re.compile(
    rf"""(?P<joined>\\\n)
      | (?P<named>\\\w)
      | (?P<skip>\\[^\n\w] | \$'(?:[^'\\]++ | \\.)*+' | '[^']*+' | (?<![^\s;|&()])\#[^\n]*+)
      | (?P<open>[$<>]?\( | \$\{{ | ["`])
      | (?P<close>[)}}])
      | (?<!<)<<(?P<tabs>-?)[ \t]*+(?P<here>(?:[A-Za-z_\\] | {_PART})(?:[\w.-] | {_PART})*+)
      | (?P<line>\n)
      | (?P<more>[^\\'"`$()\{{}}<>\#\n]++ | [^'])""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED = re.compile(
    r"""(?P<skip>\\.) | (?P<open>\$\( | \$\{ | `) | (?P<close>") | (?P<more>[^"\\$`]++ | .)""",
    re.VERBOSE | re.DOTALL,
)
_QUIET = re.compile(r"[^\\'\"`$(){}<#]*+")
_BODIES = 100  # here-documents behind one line
_LEFT = {"skip": "_", "here": " <", "joined": ""}
_CLOSERS = {"{": "}", "(": ")", '"': '"', "`": "`"}


def _flat(text: str) -> str | None:
    """The text with its quotes, brackets, comments and here-documents emptied; None when one never ends."""
    if _QUIET.fullmatch(text):
        return text
    kept: list[str] = []
    closers: list[str] = []
    bodies: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        token = (_QUOTED if closers[-1:] == ['"'] else _OUTSIDE).match(text, at)
        if token is None or len(bodies) > _BODIES:
            return None
        at, kind, source = token.end(), token.lastgroup, token[0]
        opens = kind == "open" and closers[-1:] != [source]
        if opens:
            closers.append(_CLOSERS[source[-1]])
        elif kind in ("open", "close") and closers[-1:] == [source]:
            closers.pop()
        elif kind == "here":
            bodies.append((token["here"], token["tabs"]))
        elif kind == "line":
            at = _behind(text, at, bodies)
        if not closers or (opens and len(closers) == 1):
            kept.append(_LEFT.get(kind or "", source))
    return None if closers else "".join(kept)


def _behind(text: str, at: int, bodies: list[tuple[str, str]]) -> int:
    """Where the here-documents end whose bodies begin here; one that never ends is none."""
    for here, tabs in bodies:
        word = re.escape(re.sub(r"['\"\\]", "", here))
        indent = "\t*" if tabs else ""
        found = re.compile(rf"^{indent}{word}$", re.MULTILINE).search(text, at)
        at = min(found.end() + 1, len(text)) if found else at
    bodies.clear()
    return at
