"""Any program's output, line by line: for agents that nobody has described yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from stenograph import jsonio
from stenograph.framing import WHITE_SPACE, Line, Lines
from stenograph.model import Entry, Unread, Where
from stenograph.reader import Channel, Reader


class GenericStream(Reader):
    """Any other program, live: each line as it came."""

    agent = "generic"
    command = "any"

    def __init__(self) -> None:
        super().__init__()
        self._output = Lines()

    def feed(self, data: bytes, channel: Channel = "stdout") -> Iterator[Entry]:
        """The lines that `data` completes: JSON values as they are, anything else as text."""
        return super().feed(data, channel) if channel == "stderr" else self._each(self._output.feed(data))

    def flush(self) -> Iterator[Entry]:
        """The last line of both channels."""
        yield from self._each(self._output.flush())
        yield from super().flush()

    def _each(self, lines: Iterable[Line]) -> Iterator[Entry]:
        for line in lines:
            text = line.data.decode("utf-8", "replace").strip(WHITE_SPACE)
            if text:
                place = Where(self.now, None, line.number, line.offset, line.length, False)
                yield Unread(raw=_value(text), line=text, place=place)


def _value(text: str) -> msgspec.Raw:
    data = text.encode()
    try:
        jsonio.check(data)
    except ValueError:
        return jsonio.raw(text)
    return msgspec.Raw(jsonio.compact(data))
