"""`steno usage`: what recorded runs took, by session, model and day."""

from __future__ import annotations

import os
import sys
from collections.abc import Container, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from stenograph import event, find, jsonio, source, stores
from stenograph.cli import ledger
from stenograph.cli.interrupt import last_words
from stenograph.cli.main import complain
from stenograph.counting import Counter, of_session
from stenograph.errors import NotRecognized, Place, ReadError
from stenograph.meter import Row, merged
from stenograph.streams import is_stored, recognized

if TYPE_CHECKING:
    from datetime import tzinfo

_EXAMPLES = """\b
Examples:
  steno usage run.jsonl
  claude -p "fix the tests" --output-format stream-json --verbose | steno usage
  steno usage --by day --tz Europe/Berlin runs
  steno usage --by model --prices run.jsonl.gz other.jsonl.zst
  steno usage --json runs > usage.json

\b
Exit codes:
  0    done
  1    an input could not be read or recognized; the others were
  2    wrong usage
  130  interrupted; 143 told to terminate
"""

_LOOK = 4096  # bytes of a file by which it may already be known not to be a stream
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_SKIPPED = (".git", "node_modules")


def _zone(_: click.Context, __: click.Parameter, name: str | None) -> tzinfo | None:
    """The time zone of this name; None for the machine's own."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return None if name is None else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise click.BadParameter(f"no time zone {name!r}") from None


@click.command(epilog=_EXAMPLES)
@click.argument("paths", nargs=-1, metavar="[FILE|DIR|-]...")
@click.option("--from", "format", metavar="FORMAT", help="What the files are; else their first records tell.")
@click.option("--by", type=click.Choice(["session", "model", "day", "agent"]), help="One row for each.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
@click.option("--prices", "with_prices", is_flag=True, help="Add what it costs by an offline price list.")
@click.option("--tz", "zone", callback=_zone, metavar="ZONE", help="Where days begin; else where you are.")
@click.pass_context
def usage(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    format: str | None,  # noqa: A002 - the word that users know
    by: ledger.By | None,
    zone: tzinfo | None,
    *,
    as_json: bool,
    with_prices: bool,
) -> int:
    """Add up the tokens and the cost of recorded runs.

    Reads files, what is below folders (streams, records of steno run, stored sessions), or standard input.
    A class of tokens that an agent does not report is no 0; a row that may not be all is marked. Cost is what
    the agents reported.
    """
    if not paths and sys.stdin is not None and sys.stdin.isatty():
        raise click.UsageError("no input: name a file or a folder, or pipe an agent's output", ctx)
    prices = None
    if with_prices:
        from stenograph.prices import Prices

        prices = Prices()
    found = _Reading(format, zone)
    rows = merged(chain.from_iterable(map(found.rows, paths or ("-",))))
    if as_json:
        click.echo(jsonio.dumps(ledger.to_json(rows, by=by, prices=prices)) + b"\n", nl=False)
    elif rows:
        click.echo(ledger.to_text(rows, by=by, prices=prices), nl=False)
    return found.interrupted or (1 if found.failed else 0)


class _Reading:
    """Counts one input after another; a fault of one is told and keeps no other from being read."""

    def __init__(self, format: str | None, zone: tzinfo | None) -> None:  # noqa: A002 - users' word
        self.failed = False
        self.interrupted = 0  # the exit code when a signal ended the reading
        self._format = format
        self._zone = zone

    def rows(self, path: str) -> Iterator[Row]:
        """The rows of a file, or of every stored session and stream below a folder."""
        if path != "-" and os.path.isdir(path):
            count = 0
            for row in self._below(path):
                yield row
                count += 1
            if not count:
                self._fail(f"{path}: no stream or session of a known agent in it")
        elif is_stored(path, format=self._format or "auto"):
            yield from self._session(path, self._format or "auto")
        else:
            name, parts = ("standard input", self._live()) if path == "-" else (path, source.chunks(path))
            yield from self._stream(name, parts, self._format)

    def _live(self) -> Iterator[bytes]:
        """Standard input to its end; an interrupt takes nothing along of what was counted by then."""
        is_whole = False
        try:
            with last_words():
                yield from source.chunks("-")
                is_whole = True
        except KeyboardInterrupt:
            self.interrupted = 130
        except SystemExit as told:
            self.interrupted = int(told.code or 0)
        if not is_whole:
            raise _cut_off()

    def _below(self, folder: str) -> Iterator[Row]:
        stored = set()
        for found in find(folder, skipped=lambda fault: self._fail(str(fault))):
            stored.add(os.path.abspath(found.place))
            yield from self._session(found.path, "auto")
        for name, parts, form in streams_below(folder, without=stored):
            yield from self._stream(name, parts, form)

    def _session(self, path: str, form: str) -> list[Row]:
        try:
            return list(of_session(stores.read(path, format=form), zone=self._zone).rows)
        except (NotRecognized, ReadError) as fault:
            self._fail(str(fault))
            return []

    def _stream(self, name: str, parts: Iterator[bytes], form: str | None) -> list[Row]:
        """What one stream took; what could be read of it counts."""
        head: list[bytes] = []
        try:
            counter = Counter(form or recognized(parts, head), zone=self._zone)
        except (NotRecognized, ReadError) as fault:
            self._fail(f"{name}: {fault}" if isinstance(fault, NotRecognized) else str(fault))
            return []
        try:
            for part in chain(head, parts):
                counter.feed(part)
        except ReadError as fault:
            self._fail(str(fault))
            counter.lose()
        except SystemExit as told:  # to terminate, which came while what had been read was counted
            self.interrupted = int(told.code or 0)
            self._fail(str(_cut_off()))
            counter.lose()
        return list(self._named(name, counter.close().rows))

    def _named(self, name: str, rows: Iterable[Row]) -> Iterator[Row]:
        """Where no session is told, the file's name stands for it."""
        for row in rows:
            yield row if row.session else msgspec.structs.replace(row, session=name)

    def _fail(self, message: str) -> None:
        complain(message)
        self.failed = True


def _cut_off() -> ReadError:
    return ReadError("was not read to its end", where=Place("standard input"))


def streams_below(
    folder: str, *, without: Container[str]
) -> Iterator[tuple[str, Iterator[bytes], str | None]]:
    """Streams and records of runs below a folder: a name, the bytes, and the format where that is told.

    The folders and files `without` are those of stored sessions.
    """
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        if os.path.abspath(place) in without:
            continue
        if {"raw.jsonl", "run.json"} <= set(files):
            yield from _record(place)
            files = [name for name in files if name not in ("raw.jsonl", "run.json", "events.jsonl")]
        for name in sorted(files):
            path = os.path.join(place, name)
            if os.path.abspath(path) in without:
                continue
            form = _recognize(path)
            if form is not None:
                yield path, source.chunks(path), form


def _record(folder: str) -> Iterator[tuple[str, Iterator[bytes], str | None]]:
    from stenograph import record

    try:
        form = record.read_outcome(Path(folder)).format
    except ReadError as fault:
        complain(str(fault))
        return
    pieces = (each for each in record.read_raw(Path(folder)) if not isinstance(each, record.End))
    yield folder, (piece.data for piece in pieces if piece.channel == "stdout"), form


def _recognize(path: str) -> str | None:
    """The format of a file that is a stream; None for any other file, most of them by their first bytes."""
    if not os.path.isfile(path):
        return None
    try:
        parts = source.chunks(path)
        first = next(parts, b"")
        start = first[:_LOOK]
        if b"{" not in start or (b"\0" in start and start[:2] not in _UTF_16):
            return None
        if _is_ours(first):
            return None
        return recognized(chain([first], parts), [])
    except (NotRecognized, ReadError):
        return None


def _is_ours(data: bytes) -> bool:
    """Whether a file holds events, which may look like an agent's records."""
    try:
        event.decode(data.split(b"\n", 1)[0])
    except ValueError:
        return False
    return True
