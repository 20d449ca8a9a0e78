"""The words of a shell line as the shell would hand them on."""

from __future__ import annotations

import re

import msgspec

LITERAL, GLOB, OPEN = 0, 1, 2
"""How far a word is known: wholly; but for file name patterns; but for variables, `~` or braces."""


class Unclear(Exception):
    """Something that the classifier does not understand; never leaves it."""


class Word(msgspec.Struct, frozen=True, gc=False):
    """One word: its text with quotes taken off, and how far it is known."""

    text: str
    kind: int = LITERAL


WORD = "A-Za-z0-9_"
"""What ASCII's `\\w` stands for: a set of characters is one look into a table, a class is asked apart."""

_BARE = re.compile(rf"[{WORD}./:@%+,=-]+")
_DOUBLE = re.compile(r'"[^"\\$`]*"')
_PIECE = re.compile(
    r"""(?P<plain>[^\\'"$`\s|&;<>()]+)
      | '(?P<single>[^']*)'
      | \$?"(?P<double>[^"\\]*(?:\\.[^"\\]*)*)"
      | \$'(?P<ansi>[^'\\]*(?:\\.[^'\\]*)*)'
      | \\(?P<escaped>.)
      | (?P<open>\$(?:[A-Za-z_]\w*|[\d@*#?$!-]|\{[^{}'"`\\$()]*\}))
      | (?P<dollar>\$)(?![({\['"])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_QUOTED = re.compile(
    r"""(?P<plain>[^\\$`]+)
      | \\(?P<escaped>[$`"\\\n])
      | (?P<backslash>\\)
      | (?P<open>\$(?:[A-Za-z_]\w*|[\d@*#?$!-]|\{[^{}'"`\\$()]*\}))
      | (?P<dollar>\$)(?![({\[])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_BRACES = re.compile(r"\{([^{}]*)\}")


def word(source: str) -> Word:
    """The word that this source makes; raises Unclear for substitutions and for what is no single word."""
    if _BARE.fullmatch(source):
        return Word(source)
    if source[:1] == "'" and source.find("'", 1) == len(source) - 1:
        return Word(source[1:-1])
    if _DOUBLE.fullmatch(source):
        return Word(source[1:-1])
    texts: list[str] = []
    shape: list[str] = []  # the text again, all that is quoted replaced by one letter
    kind = LITERAL
    for name, piece in _pieces(_PIECE, source):
        if name == "plain":
            texts.append(piece)
            shape.append(piece)
            continue
        if name == "double":
            piece, inner = _double_quoted(piece)
            kind = max(kind, inner)
        elif name == "ansi":
            piece = _ansi(piece)
        elif name == "open":
            kind = OPEN
        texts.append("" if name == "escaped" and piece == "\n" else piece)
        shape.append("q")
    return Word("".join(texts), max(kind, _expansion("".join(shape))))


def _pieces(pattern: re.Pattern[str], source: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(source):
        piece = pattern.match(source, at)
        if piece is None or piece.lastgroup is None:
            raise Unclear
        found.append((piece.lastgroup, piece[piece.lastgroup]))
        at = piece.end()
    return found


def _expansion(shape: str) -> int:
    if shape.startswith("~") or any("," in inner or ".." in inner for inner in _BRACES.findall(shape)):
        return OPEN
    wild = "*" in shape or "?" in shape or 0 <= shape.find("[") < shape.rfind("]") - 1
    return GLOB if wild else LITERAL


def _double_quoted(source: str) -> tuple[str, int]:
    """The text inside double quotes, and whether the shell would expand it further."""
    if not ("\\" in source or "$" in source or "`" in source):
        return source, LITERAL
    pieces = _pieces(_QUOTED, source)
    texts = ("" if name == "escaped" and piece == "\n" else piece for name, piece in pieces)
    return "".join(texts), OPEN if any(name == "open" for name, _ in pieces) else LITERAL


_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|(.))", re.DOTALL
)
_NAMED = dict(zip("ntrabeEfv", "\n\t\r\a\b\x1b\x1b\f\v"))


def _ansi(source: str) -> str:
    """The text inside `$'…'`."""
    return _ESCAPE.sub(_unescaped, source)


def _unescaped(found: re.Match[str]) -> str:
    octal, byte, short, long, other = found.groups()
    if other and other in "xuUc":
        raise Unclear
    if other:
        return _NAMED.get(other, other if other in "\\'\"?" else "\\" + other)
    code = int(octal, 8) if octal else int(byte or short or long, 16)
    if not 0 < code < 0x110000 or 0xD800 <= code < 0xE000 or (code > 0x7F and (octal or byte)):
        raise Unclear
    return chr(code)
