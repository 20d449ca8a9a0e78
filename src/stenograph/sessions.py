"""Sources of sessions: what a path holds, as one kind of object to convert from.

Stored sessions give their whole timeline; streams give theirs as it is read, so that a stream of any length
takes the memory of a few records.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from stenograph import registry, stores, streams
from stenograph.errors import NotRecognized, Place, ReadError
from stenograph.interchange.leftovers import units
from stenograph.interchange.moments import EPOCH, spelled
from stenograph.interchange.run import About, session_id
from stenograph.model import Entry, Session, Spent, Started
from stenograph.notes import Kind, Report
from stenograph.projection import Projection
from stenograph.reader import Reader

_STREAMS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson")
_AHEAD = 256  # entries that are held until a stream's session, time and workspace are known


class Source:
    """One session: `about` says which, `groups` gives its entries record by record, once."""

    def __init__(self, path: str, about: About, groups: Iterator[list[Entry]], report: Report) -> None:
        self.path = path
        self.about = about
        self.groups = groups
        self.report = report
        self.projection: type[Projection] = Projection
        self.session: Session | None = None


def find_sources(root: str) -> Iterator[str]:
    """The paths of all sessions in a folder and those below it, sorted; a path of one session is its own.

    Folders of sessions are not searched for more. Raises ReadError when there is no such path.
    """
    if root == "-" or stores.store_of(root) or os.path.isfile(root):
        yield root
        return
    if not os.path.isdir(root):
        raise ReadError(f"no such file or directory: {root}")
    for folder, folders, files in os.walk(root):
        if folder != root and stores.store_of(folder):
            folders.clear()
            yield folder
            continue
        folders.sort()
        for name in sorted(files):
            path = os.path.join(folder, name)
            if _is_session(path, name):
                yield path


def open_source(
    path: str,
    *,
    format: str = "auto",  # noqa: A002 - the word that users know
    as_live: bool = False,
) -> Source:
    """The session that a path holds, `-` for a stream on standard input; raises ReadError, NotRecognized.

    With `as_live` a stored session's entries are those that its live stream would have given.
    """
    if path == "-" or not streams.is_stored(path, format=format):
        return _stream(path, format)
    store = stores.store_at(path, format=format)
    source = _stored(path, format)
    if store.infers_cached and source.session:
        _note_inferred(source.session, path if os.path.isdir(path) else os.path.dirname(path))
    source.projection = stores.projection(store, path)
    if as_live:
        source.groups = units(store.live(path))
    return source


def _is_session(path: str, name: str) -> bool:
    """Whether a file is a session, and no part of one that another file holds."""
    store = stores.store_of(path)
    if store:
        return not store.is_inside(path)
    return name.endswith(_STREAMS) and _is_stream(path)


def _is_stream(path: str) -> bool:
    try:
        return streams.detect(path) != "generic"
    except (NotRecognized, ReadError):
        return False


def _stored(path: str, format: str) -> Source:  # noqa: A002 - users' word
    session = stores.read(path, format=format)
    summary = session.summary
    entries = [*session.entries, *session.rest]
    began = next((entry for entry in entries if isinstance(entry, Started)), Started())
    times = (spelled(entry.place.at) for entry in entries)
    about = About(
        id=session_id(summary.agent, summary.id),
        native=summary.id,
        agent=summary.agent,
        format=summary.format,
        variant=summary.variant,
        version=began.version or "",
        model=summary.model,
        cwd=summary.cwd,
        title=summary.title,
        parent=session_id(summary.agent, summary.parent) if summary.parent else "",
        spawned_by=session.spawned_by,
        created_at=spelled(summary.started) or next((time for time in times if time), EPOCH),
    )
    found = Source(path, about, units(entries), session.report)
    found.session = session
    return found


def _note_inferred(session: Session, folder: str) -> None:
    """Note each usage in which cached tokens count as told beside the input, or within it, by inference."""
    for entry in session.entries:
        if isinstance(entry, Spent) and (entry.tokens.cached_input or entry.cache_writes):
            file = os.path.join(folder, entry.place.file)
            place = Place(file, entry.place.offset, entry.place.line)
            session.report.add(
                Kind.APPROXIMATED, "usage-by-protocol", place, f"{entry.tokens.uncached_input}"
            )


def _stream(path: str, format: str) -> Source:  # noqa: A002 - users' word
    name = streams.detect(path) if format == "auto" and path != "-" else format
    parts = streams.pieces(path)
    head: list[bytes] = []
    if name == "auto":
        name = streams.recognized(parts, head)
    reader = registry.stream(name)().in_full()
    groups = units(_flat(_entries(reader, head, parts)))
    held: list[list[Entry]] = []
    for group in groups:
        held.append(group)
        if len(held) >= _AHEAD or (reader.session_id and group[0].place.at):
            break
    about = _about(registry.canonical(name), reader, [entry for group in held for entry in group])
    source = Source(path, about, _chained(held, groups), reader.report)
    source.projection = reader.projection
    return source


def _entries(reader: Reader, head: list[bytes], parts: Iterator[bytes]) -> Iterator[Entry]:
    for part in head:
        yield from reader.feed(part)
    head.clear()
    for part in parts:
        yield from reader.feed(part)
    yield from reader.flush()


def _flat(entries: Iterator[Entry]) -> Iterator[Entry]:
    """The entries with those of other agents that a record carries, in its place."""
    for entry in entries:
        inside = getattr(entry, "inside", ())
        for each in inside:
            each.place, each.source = entry.place, entry.source
            yield each
        if not inside:
            yield entry


def _chained(held: list[list[Entry]], groups: Iterator[list[Entry]]) -> Iterator[list[Entry]]:
    yield from held
    held.clear()
    yield from groups


def _about(name: str, reader: Reader, ahead: list[Entry]) -> About:
    began = next((entry for entry in ahead if isinstance(entry, Started)), Started())
    created = next((time for entry in ahead if (time := spelled(entry.place.at))), EPOCH)
    native = reader.session_id or ""
    first = next((entry.source.data for entry in ahead if entry.source.data != b"null"), b"")
    return About(
        id=session_id(reader.agent, native or f"{created}/{first.decode('utf-8', 'replace')}"),
        native=native,
        agent=reader.agent,
        format=name,
        version=began.version or "",
        model=began.model or "",
        cwd=began.cwd or "",
        created_at=created,
    )
