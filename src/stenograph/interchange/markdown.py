"""Writes a timeline as a Markdown page for readers: what was said, thought and called, and what came back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from stenograph import jsonio
from stenograph.interchange.codes import Notes
from stenograph.interchange.run import About, Place, main_thread
from stenograph.model import (
    Ended,
    Entry,
    Failed,
    Noticed,
    Prompted,
    Said,
    Thought,
    ToolCalled,
    ToolReturned,
    Warned,
)

_TICKS = re.compile(r"`{3,}")


class MarkdownWriter:
    """Writes one session as a page; subagents' parts are marked where they stand."""

    def __init__(self, about: About, notes: Notes, place: Place) -> None:
        self._notes = notes
        self._place = place
        self._file = place.place(about)
        self._thread: str | None = None
        self._file.write(_encoded("".join(_head(about))))

    def take(self, group: Sequence[Entry]) -> None:
        """The entries of one record."""
        for entry in group:
            told = _told(entry)
            if told is None:
                kind = f"{entry.__struct_config__.tag} {getattr(entry, 'kind', '') or ''}"
                self._notes.add("not-shown", entry, kind.strip())
                continue
            thread = main_thread(entry)
            if thread != self._thread:
                self._thread = thread
                who = f"subagent {_line(thread)}" if thread else "main thread"
                self._file.write(_encoded(f"\n---\n\n*{who}*\n"))
            self._file.write(_encoded(f"\n{told}\n"))

    def close(self) -> None:
        """Put the page into place."""
        self._file.commit()
        self._place.keep(self._file)

    def discard(self) -> None:
        """Take the page away."""
        self._file.discard()


def _head(about: About) -> Iterator[str]:
    yield f"# {_line(about.title) or _line(about.native) or about.id}\n\n"
    yield "| | |\n| --- | --- |\n"
    known = {
        "session": about.native or about.id,
        "agent": f"{about.agent} {about.version}".strip(),
        "model": about.model,
        "workspace": about.cwd,
        "started": about.created_at,
    }
    for name, value in known.items():
        if value:
            yield f"| {name} | {_line(value).replace('|', '&#124;')} |\n"


def _told(entry: Entry) -> str | None:
    """An entry's part of the page; None for what readers do not need."""
    match entry:
        case Prompted(text=text, synthetic=False) if text.strip():
            return f"## User\n\n{text.strip()}"
        case Said(text=text) if text.strip():
            return f"## Agent\n\n{text.strip()}"
        case Thought(text=text) if text.strip():
            return "> " + text.strip().replace("\n", "\n> ")
        case ToolCalled(tool=tool, input=given):
            return f"**{_line(tool)}**\n\n{fenced(given)}"
        case ToolReturned(ok=ok, output=output):
            return f"{'Failed' if ok is False else 'Result'}:\n\n{fenced(jsonio.value(output))}"
        case Warned(message=message) | Failed(message=message):
            return f"*{_line(message)}*"
        case Ended(ok=False, message=message) if message:
            return f"*failed: {_line(message)}*"
        case Noticed(kind="summary", record=record):
            return f"## Summary\n\n{fenced(record)}"
    return None


def fenced(value: Any) -> str:
    """A value in a code block whose fence is longer than any inside it."""
    is_text = isinstance(value, str)
    text = value if is_text else jsonio.dumps(value).decode("utf-8", "replace")
    fence = max(["```", *(found + "`" for found in _TICKS.findall(text))], key=len)
    return f"{fence}{'' if is_text else 'json'}\n{text.rstrip()}\n{fence}"


def _line(text: str) -> str:
    return " ".join(text.split())


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")
