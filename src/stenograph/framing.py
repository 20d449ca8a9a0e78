"""Bytes to lines: cut at LF alone, whatever chunks the bytes come in, each line with its place."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

_BOMS = {b"\xff\xfe": ("utf-16-le", b"\n\x00"), b"\xfe\xff": ("utf-16-be", b"\x00\n")}

WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode's White_Space property; Python's own `strip` takes four control characters more."""


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line without its end, as UTF-8: 1-based number, byte offset and length in the input."""

    number: int
    offset: int
    length: int
    data: bytes


class Lines:
    """Cuts one channel's bytes into lines; the unfinished one is held as a list of chunks.

    A stream that begins with a UTF-16 byte-order mark is cut at UTF-16 line ends; `encoding` then names it.
    """

    def __init__(self) -> None:
        self.encoding: str | None = None
        self._end = b"\n"
        self._number = 1
        self._offset = 0
        self._parts: list[bytes] = []
        self._start = b""  # the first two bytes, until they have told the encoding
        self._begun = False
        self._odd = b""  # half a UTF-16 code unit

    def feed(self, data: bytes) -> Iterator[Line]:
        """The lines that end in `data`."""
        if not self._begun:
            data = self._begin(data)
        return self._wide(data) if self.encoding else self._narrow(data)

    def flush(self) -> Iterator[Line]:
        """The last line, when no line end came behind it."""
        if self._start and not self._begun:
            self._begun = True
            self._parts.append(self._start)
        if self._odd:
            self._parts.append(self._odd)
            self._odd = b""
        if self._parts:
            yield self._line(b"".join(self._parts), 0)
            self._parts = []

    def _begin(self, data: bytes) -> bytes:
        self._start += data
        if len(self._start) < 2:
            return b""
        self._begun = True
        data, self._start = self._start, b""
        if data[:2] in _BOMS:
            self.encoding, self._end = _BOMS[data[:2]]
            self._offset = 2
            return data[2:]
        return data

    def _narrow(self, data: bytes) -> Iterator[Line]:
        start = 0
        if self._parts and (start := data.find(b"\n") + 1):
            line, self._parts = b"".join([*self._parts, data[: start - 1]]), []
            yield self._line(line, 1)
        find, number, origin = data.find, self._number, self._offset - start
        while (end := find(b"\n", start)) >= 0:  # `split` looks at each byte, `find` at 32 at once
            yield Line(number, origin + start, end - start, data[start:end])
            number += 1
            start = end + 1
        self._number, self._offset = number, origin + start
        if start < len(data):
            self._parts.append(data[start:])

    def _wide(self, data: bytes) -> Iterator[Line]:
        data = self._odd + data
        if len(data) % 2:
            data, self._odd = data[:-1], data[-1:]
        else:
            self._odd = b""
        start = at = 0
        while (at := data.find(self._end, at)) >= 0:
            if at % 2:
                at += 1
                continue
            line, self._parts = b"".join([*self._parts, data[start:at]]), []
            start = at = at + 2
            yield self._line(line, 2)
        if start < len(data):
            self._parts.append(data[start:])

    def _line(self, data: bytes, end: int) -> Line:
        text = data.decode(self.encoding, "replace").encode() if self.encoding else data
        line = Line(self._number, self._offset, len(data), text)
        self._number += 1
        self._offset += len(data) + end
        return line
