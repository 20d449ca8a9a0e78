"""Writes a timeline as our own events, one JSON object a line, in the extended profile with detail."""

from __future__ import annotations

from collections.abc import Sequence

from stenograph.event import Event, encode
from stenograph.interchange.codes import Notes
from stenograph.interchange.run import About, Place
from stenograph.model import Entry, Noticed, Prompted, Started
from stenograph.projection import Projection


class EventsWriter:
    """Writes one session's events; `projection` is that of its agent."""

    def __init__(self, about: About, notes: Notes, place: Place, projection: type[Projection]) -> None:
        self._notes = notes
        self._place = place
        self._file = place.place(about)
        self._projection = projection(cwd=about.cwd or None, extended=True, detail=True)
        self._projection.session_id = about.native or None

    def take(self, group: Sequence[Entry]) -> None:
        """The events that the entries of one record complete."""
        for entry in group:
            self._projection.now = entry.place.at or self._projection.now
            made = self._projection.project(entry)
            if not made and isinstance(entry, Prompted | Started | Noticed):
                self._notes.add("not-an-event", entry, str(entry.__struct_config__.tag))
            self._write(made)

    def close(self) -> None:
        """Write the last events and put the file into place."""
        self._write(self._projection.close())
        self._notes.take(self._projection.report)
        self._file.commit()
        self._place.keep(self._file)

    def discard(self) -> None:
        """Take the file away."""
        self._file.discard()

    def _write(self, events: Sequence[Event]) -> None:
        for event in events:
            self._file.write(encode(event) + b"\n")
