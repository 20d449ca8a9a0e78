"""A parser for input whose format may be unknown: holds the first records until they tell it."""

from __future__ import annotations

from collections.abc import Callable

from stenograph import EventParser
from stenograph.detection import Detector
from stenograph.errors import NotRecognized
from stenograph.event import Event
from stenograph.notes import Report

_FALLBACK = "generic"


class Recognizer:
    """Feeds the parser of the named format, or of the one that the first records tell.

    Those records are held till then. What is never recognized is read as `generic`, which loses nothing;
    `doubt` then says why. `make` makes the parser of a format. `is_blank` holds as long as nothing but white
    space came.
    """

    def __init__(self, make: Callable[[str], EventParser], *, format: str | None = None) -> None:  # noqa: A002 - users' word
        self.doubt: NotRecognized | None = None
        self.is_blank = True
        self._make = make
        self._parser = make(format) if format is not None else None
        self._detector = Detector() if format is None else None
        self._head: list[bytes] = []

    @property
    def cwd(self) -> str | None:
        """The agent's folder, as far as known."""
        return self._parser.cwd if self._parser else None

    @property
    def report(self) -> Report:
        """What was repaired or not understood so far."""
        return self._parser.report if self._parser else Report()

    def feed(self, data: bytes) -> list[Event]:
        """The events of the next bytes, and of those held once the format is known."""
        if self.is_blank:
            self.is_blank = not data or data.isspace()
        if self._parser is not None:
            return self._parser.feed(data)
        self._head.append(data)
        return self._begin(is_last=False)

    def close(self) -> list[Event]:
        """The last events, those of what is still held among them; none when nothing came."""
        held = self._begin(is_last=True) if self._parser is None and not self.is_blank else []
        return held + self._parser.close() if self._parser else []

    def _begin(self, *, is_last: bool) -> list[Event]:
        """Make the parser as soon as the format is settled, and give it what was held."""
        assert self._detector is not None
        try:
            name = self._detector.close() if is_last else self._detector.feed(self._head[-1])
        except NotRecognized as doubt:
            self.doubt, name = doubt, _FALLBACK
        if name is None:
            return []
        self._parser = parser = self._make(name)
        held, self._head, self._detector = self._head, [], None
        return [event for data in held for event in parser.feed(data)]
