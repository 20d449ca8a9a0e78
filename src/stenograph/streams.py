"""One call from a source to its events."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeAlias, cast

from stenograph import source as sources
from stenograph.detection import Detector
from stenograph.event import Event
from stenograph.parser import Clock, EventParser, Profile
from stenograph.registry import STORES, canonical

_PEEK = 4096


class Readable(Protocol):
    """A file object, binary or text."""

    def read(self, size: int = ..., /) -> bytes | str:
        """At most so many bytes or characters; nothing at the end."""


Source: TypeAlias = str | os.PathLike[str] | bytes | Readable | Iterable[bytes | str]


def events(
    source: Source,
    *,
    format: str = "auto",  # noqa: A002 - the word that users know
    cwd: str | None = None,
    now: Clock = None,
    profile: Profile = "standard",
    detail: bool = False,
) -> Iterator[Event]:
    """The events of a recorded or running stream, each as soon as its record is there.

    `source` is a path (also gzip or zstd), bytes, a file object, or an iterable of lines, with or without
    their ends; or the path of a stored session, whose events are those of its run, at its own times. Raises
    UnknownFormat, NotRecognized, ReadError.
    """
    if isinstance(source, str | os.PathLike) and is_stored(os.fspath(source), format=format):
        from stenograph.stores import replayed

        yield from replayed(source, format=format, cwd=cwd, profile=profile, detail=detail)
        return
    parts = pieces(source)
    head: list[bytes] = []
    known = recognized(parts, head) if format == "auto" else format
    parser = EventParser(known, cwd=cwd, now=now, profile=profile, detail=detail)
    for part in head:
        yield from parser.feed(part)
    for part in parts:
        yield from parser.feed(part)
    yield from parser.close()


def detect(source: Source) -> str:
    """The name of a stream's format, by its first records; banners and preambles do not matter.

    Takes no more of the source than it needs. Raises NotRecognized, ReadError.
    """
    return recognized(pieces(source), [])


def pieces(source: Source) -> Iterator[bytes]:
    """The bytes of a source, in pieces."""
    if isinstance(source, bytes):
        return iter([source])
    if isinstance(source, str | os.PathLike):
        return sources.chunks(os.fspath(source))
    if hasattr(source, "read"):
        return _read(cast("Readable", source))
    return _lines(source)


def is_stored(path: str, *, format: str = "auto") -> bool:  # noqa: A002 - users' word
    """Whether a path is to be read as a stored session: a folder, a format of sessions, a session's file.

    The stores are loaded only where the name of the path, or the beginning of the file, leaves it open.
    """
    if os.path.isdir(path):
        return True
    if format != "auto":
        return path != "-" and canonical(format) in STORES
    if not path.endswith(".json") and not (path.endswith(".jsonl") and _names_sessions(path)):
        return False
    from stenograph.stores import store_of

    return store_of(path) is not None


def _names_sessions(path: str) -> bool:
    """Whether the beginning of a file names the Agent Session Format; what is no plain file is not read."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return b"agentsession/" in file.read(_PEEK)
    except OSError:
        return False


def recognized(parts: Iterator[bytes], head: list[bytes]) -> str:
    """The format that the next parts tell, which are taken from `parts` and added to `head`."""
    detector = Detector()
    for part in parts:
        head.append(part)
        found = detector.feed(part)
        if found:
            return found
    return detector.close()


def _read(file: Readable) -> Iterator[bytes]:
    while part := file.read(sources.CHUNK):
        yield _encoded(part)


def _lines(lines: Iterable[bytes | str]) -> Iterator[bytes]:
    for line in lines:
        data = _encoded(line)
        yield data if data.endswith(b"\n") else data + b"\n"


def _encoded(part: bytes | str) -> bytes:
    return part.encode("utf-8", "backslashreplace") if isinstance(part, str) else part
