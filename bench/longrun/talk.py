"""What is said and done in a long run, in no harness's words.

Prose, code and commands are those of `generate.Talk`; results are of 0.5 to 20 KB, small ones the more often.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from generate import _COMMANDS, _WORDS, FOLDER, Talk

PIECE = 24
"""Characters of one delta, about what a model's token or two come to."""

_BEGUN = 1_796_040_000_000  # milliseconds since 1970: 30 November 2026


class Deed(NamedTuple):
    """One call with what it gave; `old` and `new` are texts of an edit, `new` alone that of a write."""

    kind: Literal["read", "shell", "edit", "write"]
    path: str
    command: str
    old: str
    new: str
    output: str
    code: int


class Step(NamedTuple):
    """One request to the model: what it thought, said and called; empty text is none."""

    thought: str
    text: str
    deeds: list[Deed]


class Run(Talk):
    """A talk that knows the time, and the steps of which it is made."""

    def ms(self) -> int:
        """Now, in milliseconds since 1970; a little later at each call."""
        self.count += 1
        return _BEGUN + 137 * self.count

    def at(self) -> str:
        """Now, ISO 8601."""
        return datetime.fromtimestamp(self.ms() / 1000, UTC).isoformat(timespec="milliseconds")[:23] + "Z"

    def steps(self) -> Iterator[Step]:
        """One prompt's work: 10 to 60 requests, the last of them with nothing but an answer."""
        for _ in range(self.chance.randint(10, 60)):
            thought = self.prose(200, 3000) if self.chance.random() < 0.3 else ""
            text = self.prose(60, 1500) if self.chance.random() < 0.4 else ""
            yield Step(thought, text, [self.deed() for _ in range(self.chance.choice((1, 1, 1, 2, 3)))])
        yield Step("", self.prose(100, 1500), [])

    def deed(self) -> Deed:
        """Reads, commands, edits and writes, as often as in the mixed stream of Claude Code."""
        kind = self.chance.choices(("read", "shell", "edit", "write"), (35, 40, 18, 7))[0]
        words = self.chance.choices(_WORDS, k=3)
        command = self.chance.choice(_COMMANDS).format(*words, self.chance.randrange(1, 900))
        return Deed(
            kind=kind,
            path=self.path(),
            command=command,
            old=self.code(60, 1200) if kind == "edit" else "",
            new=self.code(60, 1500) if kind == "edit" else self.code(500, 7000),
            output=self.result() if kind in ("read", "shell") else "",
            code=1 if kind == "shell" and self.chance.random() < 0.1 else 0,
        )

    def result(self) -> str:
        """A tool's output: between 0.5 and 20 KB, each doubling as likely as the next."""
        size = int(500 * 40 ** self.chance.random())
        return self.code(size, size)


def pieces(text: str, length: int = PIECE) -> Iterator[str]:
    """A text as it is streamed."""
    return (text[at : at + length] for at in range(0, len(text), length))


def numbered(text: str, mark: str) -> str:
    """A text with the number of each line ahead of it."""
    return "\n".join(f"{number}{mark}{line}" for number, line in enumerate(text.split("\n"), 1))


def short(path: str) -> str:
    """A path inside the workspace."""
    return path.removeprefix(f"{FOLDER}/")
