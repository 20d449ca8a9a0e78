"""Losses and repairs as data: what a reader or writer could not take as it was, counted by kind and code."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import msgspec

from stenograph.errors import Place


class Kind(IntEnum):
    """How far a note goes, mildest first; `--fail-on` means this kind or a graver one."""

    DRIFT = 0
    """Something never seen before, kept as it is."""
    APPROXIMATED = 1
    """Said in other terms, with less precision."""
    INVENTED = 2
    """Made by us because the target demands it."""
    CHANGED = 3
    """The same fact in another spelling."""
    DROPPED = 4
    """Not written, for the target has no place for it."""
    UNREAD = 5
    """Not understood, kept as it came."""
    DAMAGED = 6
    """Broken in the input; repaired, or kept as text."""

    @property
    def word(self) -> str:
        """The name on the command line and in JSON."""
        return self.name.lower()


class Note(msgspec.Struct, kw_only=True):
    """All notes of one kind and code: how often, where first, and one example (at most 200 characters)."""

    kind: Kind
    code: str
    count: int
    where: Place
    example: str


class Report:
    """Notes added up by kind and code, in the order in which they first came."""

    def __init__(self) -> None:
        self._notes: dict[tuple[Kind, str], Note] = {}

    def add(self, kind: Kind, code: str, where: Place, example: str = "") -> None:
        """Count one more; `code` is a short hyphenated word that stays the same between releases."""
        if not self.again(kind, code):
            self._notes[kind, code] = Note(kind=kind, code=code, count=1, where=where, example=example[:200])

    def again(self, kind: Kind, code: str) -> bool:
        """Count one more of what was noted before; False when it was not."""
        known = self._notes.get((kind, code))
        if known:
            known.count += 1
        return known is not None

    def merge(self, other: Report, *, source: str | None = None) -> None:
        """Add the notes of another report; `source` names the input for places that name none."""
        for note in other.notes:
            known = self._notes.get((note.kind, note.code))
            if known:
                known.count += note.count
                continue
            where = note.where if note.where.source else note.where._replace(source=source)
            self._notes[note.kind, note.code] = msgspec.structs.replace(note, where=where)

    @property
    def notes(self) -> list[Note]:
        """All notes, in the order in which their first came."""
        return list(self._notes.values())

    @property
    def worst(self) -> Kind | None:
        """The gravest kind noted, or None."""
        return max((note.kind for note in self._notes.values()), default=None)

    def count(self, code: str) -> int:
        """How many notes have this code."""
        return sum(note.count for note in self._notes.values() if note.code == code)

    def to_json(self) -> list[dict[str, Any]]:
        """The notes as JSON values, places as {source, offset, line} with unknown parts left out."""
        return [
            {
                "kind": note.kind.word,
                "code": note.code,
                "count": note.count,
                "where": {name: part for name, part in note.where._asdict().items() if part is not None},
                "example": note.example,
            }
            for note in self.notes
        ]

    def to_text(self) -> str:
        """One line for each note, gravest first; empty when there is none."""
        ordered = sorted(self.notes, key=lambda note: -note.kind)
        return "".join(
            f"{note.kind.word}: {_shown(note.code)} x{note.count}, first at {_shown(str(note.where))}: "
            f"{note.example!r}\n"
            for note in ordered
        )


def _shown(text: str) -> str:
    """Foreign names as they are, unless that would break the line or the terminal."""
    return text if text.isprintable() else repr(text)[1:-1]
