"""The Agent Session Format 0.11: one file for each session, subagents' sessions beside their parent's.

Written from RFC 0001 of ChristopherDavenport/agentsession (draft 0.11). Files name the lowest minor that
holds what they use: 0.5, or 0.11 where messages are left out of requests.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from stenograph import jsonio
from stenograph.interchange.asf_write import SessionWriter
from stenograph.interchange.codes import Notes
from stenograph.interchange.moments import for_name
from stenograph.interchange.run import About, Callers, Place, by_thread, child_id
from stenograph.interchange.sink import OutFile
from stenograph.model import Entry

PAYLOAD = "openresponses/2026-04-24"
MAPPING = "1"
"""The version of this mapping, not of the package: another release that maps alike gives the same bytes."""

LOWEST, WITH_OMIT = "agentsession/0.5", "agentsession/0.11"


def store_path(about: About) -> str:
    """Where a store keeps a session: a folder for the workspace, then time and id."""
    return os.path.join(project_key(about.cwd), f"{for_name(about.created_at)}_{about.id}.jsonl")


def project_key(cwd: str) -> str:
    """The folder's name for a working directory."""
    key = cwd.replace("\\", "/").lstrip("/")
    return "".join("-" if each in "/:" else each for each in key) or "default"


def header_line(about: About, *, minor: str = LOWEST, call: str | None = None) -> bytes:
    """The first line, padded so that every minor takes as many bytes."""
    header: dict[str, Any] = {
        "type": "session",
        "id": about.id,
        "created_at": about.created_at,
        "payload": PAYLOAD,
        "harness": {"name": "stenograph", "version": MAPPING},
    }
    known = {"cwd": about.cwd, "parent_session": about.parent, "spawned_by": call}
    header |= {name: value for name, value in known.items() if value}
    told = {"agent": about.agent, "format": about.format, "id": about.native}
    more = {"variant": about.variant, "version": about.version, "title": about.title}
    header["stenograph:source"] = told | {name: value for name, value in more.items() if value}
    padding = " " * (len(WITH_OMIT) - len(minor))
    text = jsonio.dumps({name: _printable(value) for name, value in header.items()})
    return b'{"format":"%s"%s,' % (minor.encode(), padding.encode()) + text[1:] + b"\n"


class AsfWriter:
    """Writes one session and those of its subagents."""

    def __init__(self, about: About, notes: Notes, place: Place) -> None:
        self._notes = notes
        self._place = place
        self._threads: dict[str | None, _Open] = {None: _Open(about, notes, place.place(about))}
        self._spawned: dict[str, int] = {}
        self._calls = Callers()

    def take(self, group: Sequence[Entry]) -> None:
        """The entries of one record, each to its thread's file."""
        for thread, part in by_thread(group):
            self._of(thread, part[0]).writer.take(part)
            self._calls.follow(part, thread)

    def close(self) -> None:
        """Put all files into place, the subagents' first."""
        for each in reversed(self._threads.values()):
            each.finish()
        try:
            for each in reversed(self._threads.values()):
                each.file.commit()
        except BaseException:
            for each in self._threads.values():
                each.file.withdraw()
            raise
        for each in reversed(self._threads.values()):
            self._place.keep(each.file)

    def discard(self) -> None:
        """Take all files away."""
        for each in self._threads.values():
            each.file.discard()

    def _of(self, thread: str | None, entry: Entry) -> _Open:
        known = self._threads.get(thread)
        if known or thread is None:
            return known or self._threads[None]
        call, above, is_told = self._calls.of(thread)
        if not is_told:
            self._notes.add("spawn-inferred", entry, f"{thread} by {call}")
        parent = self._threads[above]
        number = self._spawned[call] = self._spawned.get(call, -1) + 1
        about = _child(parent.about, thread, child_id(parent.about.id, call, number), entry)
        self._notes.add("thread-apart", entry, thread)
        parent.writer.link(about.id, call)
        made = self._threads[thread] = _Open(about, self._notes, self._place.place(about), call)
        return made


class _Open:
    """One session file being written."""

    def __init__(self, about: About, notes: Notes, file: OutFile, call: str | None = None) -> None:
        self.about = about
        self.file = file
        self.call = call
        file.write(header_line(about, call=call))
        self.writer = SessionWriter(file.write, notes, agent=about.agent, created_at=about.created_at)

    def finish(self) -> None:
        self.writer.close()
        if self.writer.context.uses_omit:
            self.file.put_head(header_line(self.about, minor=WITH_OMIT, call=self.call))


def _child(parent: About, thread: str, session: str, entry: Entry) -> About:
    return About(
        id=session,
        native=thread,
        agent=parent.agent,
        format=parent.format,
        version=parent.version,
        cwd=parent.cwd,
        parent=parent.id,
        created_at=parent.created_at,
    )


def _printable(value: Any) -> Any:
    """A header's strings without lone surrogates."""
    if isinstance(value, dict):
        return {name: _printable(member) for name, member in value.items()}
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
