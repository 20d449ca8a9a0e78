"""Where bytes come from: files and streams, plain or compressed, as chunks in bounded memory.

What is compressed is told by its first bytes (gzip, zstd), never by its name. A chunk is handed on as soon as
it is there, so a live pipe stays live. A cut or corrupt archive gives all that could be read, then ReadError.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from stenograph.errors import Place, ReadError

CHUNK = 256 * 1024
"""How many bytes are asked for at once."""

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x2a\x4d\x18"  # of a zstd frame, behind one byte from 0x50 to 0x5f
_PIECE = 4096  # fed to the zstd decoder at once: what an error in it can take along
_OUT = 64 * 1024  # bytes taken from a decoder at once


def chunks(path: str) -> Iterator[bytes]:
    """The bytes of a file, decompressed; `-` is standard input.

    Raises ReadError when it cannot be opened or read, or (after its readable part) is cut or corrupt.
    """
    name = "standard input" if path == "-" else path
    descriptor = _open(path)
    try:
        yield from unpacked(_reads(descriptor, name), source=name)
    finally:
        if path != "-":
            os.close(descriptor)


def unpacked(parts: Iterator[bytes], *, source: str) -> Iterator[bytes]:
    """The same bytes, decompressed when they begin as gzip or zstd do; raises ReadError naming `source`."""
    head, decoder = b"", None
    for part in parts:
        head += part
        decoder = _decoder(head)
        if decoder is not None or not _may_be_packed(head):
            break
    if decoder is None:
        yield from _chain(head, parts)
        return
    yield from filter(None, decoder(_chain(head, parts), source))


def _chain(head: bytes, parts: Iterator[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from parts


def _open(path: str) -> int:
    try:
        if path == "-":
            return sys.stdin.fileno()
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise ReadError(_reason(error), where=Place(path)) from None
    except (AttributeError, ValueError):
        raise ReadError("is closed", where=Place("standard input")) from None
    return descriptor


def _reads(descriptor: int, name: str) -> Iterator[bytes]:
    while True:
        try:
            part = os.read(descriptor, CHUNK)
        except OSError as error:
            raise ReadError(_reason(error), where=Place(name)) from None
        if not part:
            return
        yield part


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _decoder(head: bytes) -> Callable[[Iterator[bytes], str], Iterator[bytes]] | None:
    if head.startswith(_GZIP):
        return _gunzip
    if head.startswith(_ZSTD) or (head[1:4] == _SKIPPABLE and 0x50 <= head[0] <= 0x5F):
        return _unzstd
    return None


def _may_be_packed(head: bytes) -> bool:
    """Whether the next bytes could still make this the beginning of an archive."""
    skippable = 0x50 <= head[0] <= 0x5F and _SKIPPABLE.startswith(head[1:4])
    return _GZIP.startswith(head) or _ZSTD.startswith(head) or skippable


def _gunzip(parts: Iterator[bytes], source: str) -> Iterator[bytes]:
    """Any number of gzip members, one behind the other; zero bytes behind the last are padding."""
    decoder = zlib.decompressobj(31)
    offset = 0
    for part in parts:
        rest = part
        while rest:
            if decoder.eof:
                rest = rest.lstrip(b"\0")
                if not rest:
                    break
                decoder = zlib.decompressobj(31)
            before, at = decoder.copy(), offset + len(part) - len(rest)
            try:
                out = decoder.decompress(rest, _OUT)
            except zlib.error as error:
                yield _salvage(before, rest)
                raise ReadError(f"corrupt gzip data: {error}", where=Place(source, at)) from None
            yield out
            rest = decoder.unused_data or decoder.unconsumed_tail
        offset += len(part)
    if not decoder.eof:
        with suppress(zlib.error):
            yield decoder.flush()
        raise ReadError("the gzip data is cut off", where=Place(source, offset))


def _salvage(decoder: Any, data: bytes) -> bytes:
    """What a decoder gives, byte for byte, before the error that `data` is known to hold."""
    found = bytearray()
    with suppress(zlib.error):
        for at in range(len(data)):
            found += decoder.decompress(data[at : at + 1])
    return bytes(found)


def _unzstd(parts: Iterator[bytes], source: str) -> Iterator[bytes]:
    """Any number of zstd frames, one behind the other."""
    new, fault = _zstd(source)
    decoder, offset = new(), 0
    for part in parts:
        for at in range(0, len(part), _PIECE):
            rest = part[at : at + _PIECE]
            while rest or not (decoder.eof or decoder.needs_input):
                if decoder.eof:
                    decoder = new()
                try:
                    out = decoder.decompress(rest, _OUT)
                except fault as error:
                    raise ReadError(f"corrupt zstd data: {error}", where=Place(source, offset + at)) from None
                yield out
                rest = decoder.unused_data if decoder.eof else b""
        offset += len(part)
    if not decoder.eof:
        raise ReadError("the zstd data is cut off", where=Place(source, offset))


def _zstd(source: str) -> tuple[Callable[[], Any], type[Exception]]:
    """The decoder of the standard library (3.14), else of its backport, and what it raises."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:  # a Python built without it
        raise ReadError("this Python cannot read zstd", where=Place(source)) from None
    return zstd.ZstdDecompressor, zstd.ZstdError
