"""Which format a stream is, by its first records; banners and preambles in front of them do not matter."""

from __future__ import annotations

from typing import Any

from stenograph.errors import NotRecognized
from stenograph.notes import Report
from stenograph.records import Records
from stenograph.registry import STREAMS, stream

_ENOUGH = 20  # records that settle the matter
_LOOK = 4 * 1024 * 1024  # bytes after which nothing more is expected
_NAMES = [name for name in STREAMS if name != "generic"]
_SURE = 10  # a score that no other format's records reach


class Detector:
    """Fed with the beginning of a stream, tells its format as soon as its records do."""

    def __init__(self) -> None:
        self._records = Records(_is_anyones, Report())
        self._scores = dict.fromkeys(_NAMES, 0)
        self._count = 0
        self._bytes = 0

    def feed(self, data: bytes) -> str | None:
        """The format, once it is beyond doubt; raises NotRecognized when the beginning is long enough."""
        self._bytes += len(data)
        for unit in self._records.feed(data):
            self._weigh(unit.value)
            if self._is_settled() and (found := self._winner()):  # by the record, not by the chunk
                return found
        return self.close() if self._bytes > _LOOK else None

    def _is_settled(self) -> bool:
        best = max(self._scores.values(), default=0)
        return best >= _SURE or (best > 0 and self._count >= _ENOUGH)

    def close(self) -> str:
        """The format by all that was fed; raises NotRecognized when nothing, or no single one, was found."""
        for unit in self._records.flush():
            self._weigh(unit.value)
        found = self._winner()
        if found is None:
            raise NotRecognized(self._reason())
        return found

    def _weigh(self, record: Any) -> None:
        if not isinstance(record, dict):
            return
        self._count += 1
        for name in _NAMES:
            score = stream(name).score(record)
            self._scores[name] += score
            if score >= _SURE and self._count == 1:  # the other readers need not even be loaded
                return

    def _winner(self) -> str | None:
        best = max(self._scores.values(), default=0)
        leaders = [name for name, score in self._scores.items() if score == best]
        return leaders[0] if best and len(leaders) == 1 else None

    def _reason(self) -> str:
        best = max(self._scores.values(), default=0)
        leaders = [name for name, score in self._scores.items() if score == best and best]
        hint = "say which with --from or format="
        if leaders:
            return f"the records could be {' or '.join(leaders)}; {hint}"
        return f"no known agent's records found in the first {self._bytes} bytes; {hint}"


def _is_anyones(value: Any) -> bool:
    """Whether a JSON value is a record of some format."""
    return any(stream(name).dialect.is_own(value) for name in _NAMES)
