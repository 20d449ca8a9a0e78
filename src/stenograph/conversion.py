"""Sessions from one format to another, with a report of every difference.

Every source gives one timeline and every target is written from it, so a new agent needs no new writer.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal, TypeAlias

import msgspec

from stenograph import stores
from stenograph.errors import NotExact, NotRecognized, Place, ReadError, UnknownFormat, UsageError, WriteError
from stenograph.interchange import facts
from stenograph.interchange.asf_log import normalised
from stenograph.interchange.asf_verify import verify_file
from stenograph.interchange.codes import Notes
from stenograph.interchange.run import About, Writer, child_id, main_thread
from stenograph.interchange.sink import Taken
from stenograph.model import Entry
from stenograph.notes import Kind, Report
from stenograph.sessions import Source, find_sources, open_source
from stenograph.targets import Targets

Target: TypeAlias = Literal["asf", "atif", "events", "markdown"]
Make: TypeAlias = Callable[..., Writer]

_COMPARED = 50  # levels of nesting that are compared

WRITERS = {
    "asf": "stenograph.interchange.asf:AsfWriter",
    "atif": "stenograph.interchange.atif:AtifWriter",
    "events": "stenograph.interchange.events:EventsWriter",
    "markdown": "stenograph.interchange.markdown:MarkdownWriter",
}
"""Targets by name, and what writes them."""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """One session that was converted: its path and id, how many records it had, what became different."""

    path: str
    id: str
    records: int
    report: Report


class Conversion(Report):
    """The notes of all sessions added up, and each one's own; `files` are those that stand in the target."""

    def __init__(self) -> None:
        super().__init__()
        self.files: list[str] = []
        self.sessions: list[Done] = []


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to convert; see `convert`."""

    to: Target
    format: str = "auto"
    strict: bool = False
    check: bool = False
    calls_from_text: bool = False


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str] | None,
    *,
    to: Target,
    format: str = "auto",  # noqa: A002 - the word that users know
    strict: bool = False,
    check: bool = False,
    calls_from_text: bool = False,
) -> Conversion:
    """Write a session, or every session in a folder, in another format; gives what became different.

    `source` is a stored session, a recorded stream, a folder of them, or `-` for a stream on standard input.
    `target` is a file's name that ends as the format's do, else a folder; None writes nothing. No file is
    ever overwritten: an equal one is left, and a session whose id is taken gets one made of it. `strict`
    stops at the first loss (NotExact). `check` reads everything back and compares. `calls_from_text`, for
    `asf`, makes items of calls that an agent keeps as text (XML). Raises UnknownFormat, ReadError,
    NotRecognized, WriteError, UsageError.
    """
    options = Options(to=to, format=format, strict=strict, check=check, calls_from_text=calls_from_text)
    return convert_all([os.fspath(source)], None if target is None else os.fspath(target), options)


def convert_all(sources: Iterable[str], target: str | None, options: Options) -> Conversion:
    """Like `convert`, for several sources into one target."""
    if options.to not in WRITERS:
        raise UnknownFormat(options.to, WRITERS)
    if options.calls_from_text and options.to != "asf":
        raise UsageError("calls kept as text become items of asf alone")
    targets = Targets(target, options.to)
    report = Conversion()
    report.files = targets.written
    for root in sources:
        if root == "-" and options.check:
            raise UsageError("standard input cannot be read again: convert a file to have it checked")
        for path in find_sources(root):
            if targets.file and report.sessions:
                raise WriteError(f"{target} is one file, and there are several sessions: name a folder")
            try:
                convert_one(path, targets, report, options)
            except (NotRecognized, ReadError) as fault:
                if path == root or options.strict:
                    raise
                report.add(Kind.DAMAGED, "not-read", Place(path), str(fault))
    return report


def convert_one(path: str, targets: Targets, report: Conversion, options: Options) -> None:
    """Convert one session and add its notes to a report; raises what `convert` raises."""
    for attempt in range(1000):
        source = open_source(path, format=options.format, as_live=options.to == "events")
        own = Report()
        name = "standard input" if path == "-" else path
        folder = path if os.path.isdir(path) else os.path.dirname(path)
        notes = Notes(own, name, folder=folder, strict=options.strict)
        about = _named(source, notes, attempt)
        try:
            records = _write(source, about, notes, targets, options)
        except Taken:
            if targets.file or path == "-":
                raise
            continue
        if options.check:
            check_back(path, targets, notes, options)
        own.merge(source.report, source=name)
        report.merge(own, source=name)
        report.sessions.append(Done(path=path, id=about.id, records=records, report=own))
        return


def check_back(path: str, targets: Targets, notes: Notes, options: Options) -> None:
    """Read what was written and compare it with what it was made of, entry by entry.

    Lone surrogates and numbers that I-JSON does not allow count as what they were spelled anew as; what is
    nested more than 50 levels deep is not compared.
    """
    if options.to not in ("asf", "atif") or not targets.written:
        return
    written = targets.written[-1]
    expected = _by_thread(
        entry for group in open_source(path, format=options.format).groups for entry in group
    )
    found = _by_thread(stores.read(written).entries)
    for thread, told in expected.items():
        others = found.get(thread, [])
        for number, entry in enumerate(told):
            if number >= len(others) or others[number] != entry:
                notes.add(
                    "check-failed", None, f"entry {number + 1} of {thread or 'the main thread'}: {entry}"
                )
                break
    if options.to == "asf":
        for wrong in verify_file(written):
            notes.add("check-failed", None, f"line {wrong.line}: {wrong.rule}: {wrong.message}")


def _by_thread(entries: Iterable[Entry]) -> dict[str | None, list[dict[str, Any]]]:
    found: dict[str | None, list[dict[str, Any]]] = {}
    for entry in entries:
        told = _shallow(facts.to_json(entry), _COMPARED)
        found.setdefault(main_thread(entry), []).append(normalised(told)[0])
    return found


def _shallow(value: Any, depth: int) -> Any:
    """A value down to a depth: what is nested deeper may have become text."""
    if not isinstance(value, dict | list):
        return value
    if not depth:
        return None
    if isinstance(value, dict):
        return {name: _shallow(member, depth - 1) for name, member in value.items()}
    return [_shallow(each, depth - 1) for each in value]


def _refuse_losses(report: Report, options: Options) -> None:
    """In strict mode, raise NotExact for what the reader itself had to leave."""
    for note in report.notes if options.strict else ():
        if note.kind in (Kind.DROPPED, Kind.DAMAGED):
            raise NotExact(f"{note.code}: {note.example}", where=note.where)


def _write(source: Source, about: About, notes: Notes, targets: Targets, options: Options) -> int:
    """Write a session; gives how many records it had."""
    _refuse_losses(source.report, options)
    module, _, attribute = WRITERS[options.to].partition(":")
    make: Make = getattr(importlib.import_module(module), attribute)
    if options.to == "events":
        make = partial(make, projection=source.projection)
    if options.calls_from_text:
        make = partial(make, calls_from_text=True)
    writer = make(about, notes, targets)
    records = 0
    try:
        for records, group in enumerate(source.groups, 1):  # noqa: B007 - the count is what is given
            writer.take(group)
        _refuse_losses(source.report, options)
        writer.close()
    finally:
        writer.discard()
    return records + source.report.count("silent-record")


def _named(source: Source, notes: Notes, attempt: int) -> About:
    """What the session is called; another name at each further attempt."""
    about = source.about
    if about.id != about.native:
        notes.add("session-id-made", None, about.native)
    if not attempt:
        return about
    notes.add("session-id-taken", None, about.id)
    return msgspec.structs.replace(about, id=child_id(about.id, str(attempt)))
