"""A linear check of a shell text, made before the grammar sees it.

It lets pass what the classifier may understand: simple commands of known programs, their quotes and
redirections, joined by `&&`, `||`, `|`, `;` and line ends, in `( … )` and `{ …; }`. The parser must not see
anything else: on faulty text its recovery takes exponential time (160 bytes of `` f|t`i|-| `` run for
minutes) and can end in a crash.
"""

from __future__ import annotations

import re
from collections.abc import Container

from stenograph.shell.words import Unclear

# More of these than anyone writes, and the parser needs quadratic time.
_STAGES = 100  # of one pipeline
_EQUALS = 100
_ARROWS = 500
GAP = r"(?:[ \t]|\\\n)*+"
PIECES = r"""(?:
    [^\s\\'"`$|&;<>()\#]++ | (?<=[^\s;|&()])\# | \\.
  | '[^']*+'
  | \$?"(?:[^"\\`$]++ | \\. | \$(?![({\[]) | \$\{[^{}'"`\\$()]*+\})*+"
  | \$'(?:[^'\\]++ | \\.)*+'
  | \$(?![({\['"]) | \$\{[^{}'"`\\$()]*+\}
)"""
_TOKEN = re.compile(
    rf"""(?:
        (?P<comment>(?<![^\s;|&()])\#[^\n]*+)
      | (?P<redirect>\d*+(?:&>>?|>[>|&]?|<&?)[ \t]*+(?=[^\s|&;<>()\#]))
      | (?P<words>(?:[ \t]++ | {PIECES})++)
      | (?P<join>&&|\|[|&]?)
      | (?P<end>[;\n])
      | (?P<open>\()
      | (?P<close>\))
    )"""
    + GAP,
    re.VERBOSE | re.DOTALL,
)
_RESERVED = re.compile(r"[{}](?![^\s;|&()<>])")
_WORD = re.compile(PIECES + "++" + GAP, re.VERBOSE | re.DOTALL)
_ASSIGNED = re.compile(r"[A-Za-z_]\w*(?:\[\w+\])?\+?=", re.ASCII)
_NAME = re.compile(r"[\\'\"]?(?:/[\w./+-]*/)?([\w.:-]+)")
_SKIP = re.compile(GAP)


def check_plain(text: str, programs: Container[str]) -> None:
    """Raise Unclear unless the text is plain and well-formed, and each simple command one of the programs."""
    if text.count("==") + text.count("=~") > _EQUALS or text.count("<") + text.count(">") > _ARROWS:
        raise Unclear
    shape = _Shape(text, programs)
    at = shape.skip(0)
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None or token.lastgroup is None:
            raise Unclear
        at = shape.take(token.lastgroup, at, token.end())
    shape.finish()


class _Shape:
    """What has been seen: open brackets, whether a command stands here, and whether one must follow."""

    def __init__(self, text: str, programs: Container[str]) -> None:
        self._text = text
        self._programs = programs
        self._closers: list[str] = []
        self._have = self._need = self._closed = self._redirected = False
        self._stages = 0

    def skip(self, at: int) -> int:
        """Where the blanks end that begin here."""
        gap = _SKIP.match(self._text, at)
        return gap.end() if gap else at

    def take(self, kind: str, at: int, end: int) -> int:
        """Take the token between two offsets; where the next one begins."""
        match kind:
            case "words" if not self._have:
                return self._begin(at, end)
            case "words" if self._closed:
                raise Unclear
            case "redirect":
                self._redirected, self._closed = not self._have, False
            case "join":
                self._join(self._text[at : at + 2])
            case "end":
                self._end(self._text[at])
            case "open":
                self._open(")")
            case "close":
                self._close(")")
        return end

    def finish(self) -> None:
        """Check that nothing is left open."""
        if self._closers or self._need:
            raise Unclear

    def _begin(self, at: int, end: int) -> int:
        if reserved := _RESERVED.match(self._text, at):
            if reserved[0] == "{":
                self._open("}")
            else:
                self._close("}")
            return self.skip(reserved.end())
        at = self._prefix(at, end)
        name = _NAME.match(self._text, at, end)
        if at < end and (name is None or name[1] not in self._programs):
            raise Unclear
        self._have, self._need = True, False
        return end

    def _prefix(self, at: int, end: int) -> int:
        """Behind the target of a redirection and the assignments in front of a program."""
        while at < end and (self._redirected or _ASSIGNED.match(self._text, at)):
            word = _WORD.match(self._text, at)
            at = word.end() if word else end
            self._redirected = False
        return at

    def _join(self, operator: str) -> None:
        self._stages = 0 if operator in ("&&", "||") else self._stages + 1
        if not self._have or self._stages > _STAGES:
            raise Unclear
        self._have, self._need, self._closed = False, True, False

    def _end(self, text: str) -> None:
        if text == ";" and not self._have:
            raise Unclear
        self._have = self._closed = False
        self._stages = 0

    def _open(self, closer: str) -> None:
        if self._have:
            raise Unclear
        self._closers.append(closer)
        self._need = True  # brackets must hold something

    def _close(self, closer: str) -> None:
        if self._need or self._closers[-1:] != [closer] or (closer == "}" and self._have):
            raise Unclear
        self._closers.pop()
        self._have = self._closed = True
