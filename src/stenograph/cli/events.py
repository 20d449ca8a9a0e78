"""`steno events`: what an agent prints, as events, each given out as soon as its record is there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, Literal

import click
import msgspec

from stenograph import EventParser, encode, jsonio, source, stores
from stenograph.cli import terminal
from stenograph.cli.interrupt import last_words, terminable
from stenograph.cli.main import complain
from stenograph.cli.pretty import Painter, to_bytes
from stenograph.cli.recognize import Recognizer
from stenograph.errors import NotRecognized, ReadError, WriteError
from stenograph.event import Event
from stenograph.notes import Kind, Report
from stenograph.store import project
from stenograph.streams import is_stored

_AT_ONCE = 256  # events of a stored session that are written together
_KINDS = [kind.word for kind in Kind]

_EXAMPLES = """\b
Examples:
  claude -p "fix the tests" --output-format stream-json --verbose | steno events --from claude
  cline --json "fix the tests" | steno events --pretty
  steno events run.jsonl
  steno events --pretty --profile extended run.jsonl
  steno events --clock record --report text run.jsonl.gz other.jsonl.zst > events.jsonl
  steno events --fail-on damaged run.jsonl
  steno events --pretty ~/.cline/data/tasks/1796041090826

\b
Exit codes:
  0    done
  1    an input could not be read or recognized; the others were
  2    wrong usage
  3    done, with notes at or above --fail-on
  130  interrupted; 143 told to terminate
"""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asked for."""

    format: str | None
    profile: Literal["standard", "extended"]
    detail: bool
    pretty: bool
    clock: Literal["now", "record"]
    cwd: str | None
    is_judged: bool
    """Whether notes are asked for."""


@click.command(epilog=_EXAMPLES)
@click.argument("files", nargs=-1, metavar="[FILE|DIR|-]...")
@click.option(
    "--from",
    "format",
    metavar="FORMAT",
    help="What the input is (see steno formats); else its first records tell.",
)
@click.option(
    "--profile",
    type=click.Choice(["standard", "extended"]),
    default="standard",
    show_default=True,
    help="Map the core vocabulary only, or all that today's versions print.",
)
@click.option("--detail", is_flag=True, help="Add each event's origin, call id, tool, subagent and duration.")
@click.option("--pretty", is_flag=True, help="One line for people instead of JSON, coloured on a terminal.")
@click.option(
    "--report",
    type=click.Choice(["text", "json"]),
    help="Tell on standard error what was repaired or not understood.",
)
@click.option(
    "--fail-on",
    type=click.Choice(_KINDS),
    metavar="KIND",
    help=f"Exit with 3 when a note is of this kind or a graver one: {', '.join(_KINDS)}.",
)
@click.option(
    "--clock",
    type=click.Choice(["now", "record"]),
    default="now",
    show_default=True,
    help="An event's time is when it is read, or its record's own.",
)
@click.option("--cwd", metavar="DIR", help="The agent's folder, until the input tells it.")
@click.pass_context
def events(
    ctx: click.Context, /, files: tuple[str, ...], report: str | None, fail_on: str | None, **options: Any
) -> int:
    """Print what an agent does as events, one JSON object per line.

    Reads the named files one after another, or standard input. They may be compressed with gzip or zstd. An
    event is printed as soon as the record that completes it has come. The folder of a stored session, or a
    file in it, gives the events of its run, at its own times.
    """
    if sys.stdout is None:
        raise WriteError("standard output is closed")
    if not files and sys.stdin is not None and sys.stdin.isatty():
        raise click.UsageError("no input: name a file, or pipe an agent's output into this command", ctx)
    is_judged = report is not None or fail_on is not None
    run = _Run(msgspec.convert(options | {"is_judged": is_judged}, Options))
    code = run.read_all(files or ("-",))
    if report:
        click.echo(_told(run.report, report), nl=False, err=True)
    worst = run.report.worst
    return code or (3 if fail_on and worst is not None and worst >= Kind[fail_on.upper()] else 0)


def _told(report: Report, form: str) -> str:
    return f"{jsonio.dumps(report.to_json()).decode()}\n" if form == "json" else report.to_text()


class _Run:
    """Reads one input after another; a fault of one is told and keeps no other from being read."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.report = Report()
        self._failed = False

    def read_all(self, paths: tuple[str, ...]) -> int:
        """Print the events of all inputs; the exit code of doing so."""
        try:
            for path in paths:
                self._read(path)
        except KeyboardInterrupt:
            return 130
        except SystemExit as told:  # to terminate: the report is still wanted
            return int(told.code or 0)
        return 1 if self._failed else 0

    def _read(self, path: str) -> None:
        if is_stored(path, format=self.options.format or "auto"):
            self._replay(path)
            return
        name = "standard input" if path == "-" else path
        reader = Recognizer(self._parser, format=self.options.format)
        show = _printer(self.options)
        fault = None
        try:
            with last_words() if path == "-" else terminable():
                for part in source.chunks(path):
                    show(reader.feed(part), reader.cwd)
        except ReadError as error:
            fault = str(error)
        finally:  # an interrupt, too, must not take along what is held
            show(reader.close(), reader.cwd)
            self.report.merge(reader.report, source=name)
        self._judge(reader, name, fault)

    def _replay(self, path: str) -> None:
        """Print the events of a stored session; its notes are the faults of its files."""
        options, show = self.options, _printer(self.options)
        detail = options.detail or options.pretty
        try:
            store = stores.store_at(path, format=options.format or "auto")
            cwd = options.cwd or store.summary(path).cwd or None
            by = stores.projection(store, path)
            found = project(store, path, cwd=options.cwd, profile=options.profile, detail=detail, by=by)
            for part in _batches(found):
                show(part, cwd)
            if options.is_judged:
                self.report.merge(store.load(path).report)
        except (NotRecognized, ReadError) as error:
            complain(str(error))
            self._failed = True

    def _judge(self, reader: Recognizer, name: str, fault: str | None) -> None:
        """Tell what went wrong with one input; an empty one is an error when it had to tell its format."""
        if fault is None and reader.is_blank:
            complain(f"{name}: is empty")
            self._failed |= self.options.format is None
            return
        if fault is None and reader.doubt is not None:
            fault = f"{name}: {reader.doubt}; read as generic"
        if fault is not None:
            complain(fault)
            self._failed = True

    def _parser(self, format: str) -> EventParser:  # noqa: A002 - the word that EventParser uses
        options = self.options
        return EventParser(
            format,
            cwd=options.cwd,
            now="record" if options.clock == "record" else None,
            profile=options.profile,
            detail=options.detail or options.pretty,
        )


def _batches(events: Iterator[Event]) -> Iterator[list[Event]]:
    """Events in lists; what came before a fault is given before the fault is raised."""
    part: list[Event] = []
    fault = None
    try:
        for event in events:
            part.append(event)
            if len(part) == _AT_ONCE:
                yield part
                part = []
    except ReadError as error:
        fault = error
    yield part
    if fault is not None:
        raise fault


def _printer(options: Options) -> Callable[[list[Event], str | None], None]:
    """What writes events to standard output, all of one read at once."""
    painter = Painter(columns=terminal.columns(), colour=terminal.has_colour())

    def show(events: list[Event], cwd: str | None) -> None:
        if not events:
            return
        if options.pretty:
            painter.columns, painter.workspace = terminal.columns(), cwd
            data = to_bytes(painter, events)
        else:
            data = b"\n".join(map(encode, events)) + b"\n"
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    return show
