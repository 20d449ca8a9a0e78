"""Which format a stream is, by its first records; banners and preambles in front of them do not matter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stenograph.errors import NotRecognized
from stenograph.notes import Report
from stenograph.reader import Reader
from stenograph.records import Dialect, Records
from stenograph.registry import STREAMS, stream

_ENOUGH = 20  # records that settle the matter
_LOOK = 4 * 1024 * 1024  # bytes after which nothing more is expected
_SURE = 10  # a score that no other format's records reach


class Detector:
    """Fed with the beginning of a stream, tells its format as soon as its records do."""

    def __init__(self) -> None:
        self._readers = {name: stream(name) for name in STREAMS if name != "generic"}
        self._records = Records(_union(self._readers.values()), Report())
        self._scores = dict.fromkeys(self._readers, 0)
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
        for name, reader in self._readers.items():
            self._scores[name] += reader.score(record)

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


def _union(readers: Iterable[type[Reader]]) -> Dialect:
    dialects = [reader.dialect for reader in readers]
    types = frozenset(name for dialect in dialects for name in dialect.types)
    return Dialect(types, tuple(mark for dialect in dialects for mark in dialect.marks))
