"""Sessions from one format to another, with a report of every difference.

Every source gives one timeline and every target is written from it, so a new agent needs no new writer.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from functools import partial
from typing import Literal, TypeAlias

import msgspec

from stenograph.errors import UnknownFormat
from stenograph.formats.codes import Notes
from stenograph.formats.run import About, Writer, child_id
from stenograph.formats.sink import Taken
from stenograph.notes import Report
from stenograph.sessions import Source, find_sources, open_source
from stenograph.targets import Targets

Target: TypeAlias = Literal["asf", "atif", "events", "markdown"]
Make: TypeAlias = Callable[..., Writer]

WRITERS = {
    "asf": "stenograph.formats.asf:AsfWriter",
    "atif": "stenograph.formats.atif:AtifWriter",
    "events": "stenograph.formats.events:EventsWriter",
    "markdown": "stenograph.formats.markdown:MarkdownWriter",
}
"""Targets by name, and what writes them."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to convert; see `convert`."""

    to: Target
    format: str = "auto"
    strict: bool = False
    check: bool = False


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str] | None,
    *,
    to: Target,
    format: str = "auto",  # noqa: A002 - the word that users know
    strict: bool = False,
    check: bool = False,
) -> Report:
    """Write a session, or every session in a folder, in another format; gives what became different.

    `source` is a stored session, a recorded stream, a folder of them, or `-` for a stream on standard input.
    `target` is a file's name that ends as the format's do, else a folder; None writes nothing. No file is
    ever overwritten: an equal one is left, and a session whose id is taken gets one made of it. `strict`
    stops at the first loss (NotExact). `check` reads everything back and compares. Raises UnknownFormat,
    ReadError, NotRecognized, WriteError.
    """
    if to not in WRITERS:
        raise UnknownFormat(to, WRITERS)
    options = Options(to=to, format=format, strict=strict, check=check)
    targets = Targets(None if target is None else os.fspath(target), to)
    report = Report()
    paths = find_sources(os.fspath(source))
    for path in paths:
        convert_one(path, targets, report, options)
    return report


def convert_one(path: str, targets: Targets, report: Report, options: Options) -> None:
    """Convert one session and add its notes to a report."""
    for attempt in range(1000):
        source = open_source(path, format=options.format, as_live=options.to == "events")
        own = Report()
        notes = Notes(own, path, strict=options.strict)
        about = _named(source, notes, attempt)
        try:
            _write(source, about, notes, targets, options)
        except Taken:
            if targets.file or path == "-":
                raise
            continue
        report.merge(own, source=path)
        report.merge(source.report, source=path)
        return


def _write(source: Source, about: About, notes: Notes, targets: Targets, options: Options) -> None:
    module, _, attribute = WRITERS[options.to].partition(":")
    make: Make = getattr(importlib.import_module(module), attribute)
    if options.to == "events":
        make = partial(make, projection=source.projection)
    writer = make(about, notes, targets)
    try:
        for group in source.groups:
            writer.take(group)
        writer.close()
    finally:
        writer.discard()


def _named(source: Source, notes: Notes, attempt: int) -> About:
    """What the session is called; another name at each further attempt."""
    about = source.about
    if about.id != about.native:
        notes.add("session-id-made", None, about.native)
    if not attempt:
        return about
    notes.add("session-id-taken", None, about.id)
    return msgspec.structs.replace(about, id=child_id(about.id, str(attempt)))
