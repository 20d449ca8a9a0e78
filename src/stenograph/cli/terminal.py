"""Foreign text made fit for a terminal: folded, cut to a number of cells, and harmless.

Nothing an agent wrote reaches the terminal as it is: control characters, escapes, bidirectional overrides and
invisible characters are shown by name. The widths follow Unicode's East Asian Width.
"""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from itertools import chain

_COLUMNS_ELSEWHERE = 120  # where standard output is no terminal and COLUMNS says nothing

# Printable by Unicode's word, yet nothing is seen of them: fillers, joiners, variation selectors.
_INVISIBLE = frozenset(
    map(
        chr,
        chain(
            (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
            range(0x180B, 0x1810),
            range(0xFE00, 0xFE0F),
            range(0xE0100, 0xE01F0),
        ),
    )
)
_COLOURED_FORM = "\ufe0f"  # behind an emoji: makes it two cells wide


def columns() -> int:
    """The width of the terminal, else of `COLUMNS`, else 120."""
    return shutil.get_terminal_size((_COLUMNS_ELSEWHERE, 24)).columns


def has_colour() -> bool:
    """Whether standard output is a terminal that may be given colours (`NO_COLOR` and TERM=dumb forbid)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout is not None and sys.stdout.isatty()


def clean(text: str) -> str:
    """The text on one line: white space folded to one blank, what is not printable shown by name."""
    folded = " ".join(text.split())
    if folded.isascii() and folded.isprintable():
        return folded
    return "".join(map(_shown, folded))


def fold(text: str, cells: int) -> str:
    """The beginning of a text of any length, cleaned and cut to so many cells; `…` stands for the rest."""
    start = len(text) - len(text.lstrip()) if text[:1].isspace() else 0
    head = text[start : start + 16 * cells]  # more white space than that inside is not looked through
    shown = cut(clean(head), cells)
    whole = start + len(head) >= len(text) or shown.endswith("…")
    return shown if whole else cut(shown, cells - 1).removesuffix("…") + "…"


def width(text: str) -> int:
    """How many cells a cleaned text takes: 0 for combining marks, 2 for wide characters."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def cut(text: str, cells: int) -> str:
    """A cleaned text of at most so many cells; `…` at its end stands for what was cut off."""
    return text if width(text) <= cells else _fitting(text, cells - 1) + "…"


def cut_front(text: str, cells: int) -> str:
    """Like `cut`, but keeping the end: for paths, whose end tells more."""
    return text if width(text) <= cells else "…" + _fitting(text[::-1], cells - 1)[::-1]


def _shown(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return char if char.isprintable() and char not in _INVISIBLE else f"<U+{code:04X}>"


def _cells(char: str) -> int:
    if char == _COLOURED_FORM:
        return 1
    if unicodedata.east_asian_width(char) in "WF":
        return 2
    return 0 if unicodedata.category(char) in ("Mn", "Me") else 1


def _fitting(text: str, cells: int) -> str:
    used = 0
    for at, char in enumerate(text):
        used += _cells(char)
        if used > cells:
            return text[:at]
    return text


def counted(number: int, what: str) -> str:
    """A number and the noun behind it: `1 note`, `2 notes`."""
    return f"{number} {what}{'' if number == 1 else 's'}"
