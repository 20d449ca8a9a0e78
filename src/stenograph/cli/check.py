"""`steno check`: what is damaged in stored sessions, and what no release up to now has written."""

from __future__ import annotations

from collections.abc import Iterator

import click

from stenograph import jsonio
from stenograph.cli.main import complain
from stenograph.cli.sessions import told
from stenograph.cli.terminal import clean, counted
from stenograph.corpus import find
from stenograph.corpus.search import Found
from stenograph.errors import Error
from stenograph.notes import Kind, Report
from stenograph.stores import store

_KINDS = [kind.word for kind in Kind]
_EXAMPLES = """\b
Examples:
  steno check ~/.cline/data
  steno check exports --fail-on drift --json

\b
Exit codes:
  0  done
  1  a session or a folder could not be read; the others were
  2  wrong usage
  3  done, with notes at or above --fail-on
"""


@click.command(epilog=_EXAMPLES)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per session.")
@click.option(
    "--fail-on",
    type=click.Choice(_KINDS),
    default=Kind.UNREAD.word,
    show_default=True,
    metavar="KIND",
    help=f"Exit with 3 when a note is of this kind or a graver one: {', '.join(_KINDS)}.",
)
def check(*, paths: tuple[str, ...], as_json: bool, fail_on: str) -> int:
    """Check stored sessions: faults, and kinds, members and tools never seen before."""
    whole, sessions, units = Report(), 0, 0
    faults: list[str] = []

    def fail(fault: object) -> None:
        faults.append(str(fault))
        complain(str(fault))

    for found in find(paths, skipped=fail):
        try:
            count, report = store(found.format).check(found.path)
        except (Error, OSError) as fault:
            fail(told(found, fault))
            continue
        sessions, units = sessions + 1, units + count
        whole.merge(report)
        for line in _json(found, count, report) if as_json else _text(found, count, report):
            click.echo(line)
    if not as_json:
        notes = counted(sum(note.count for note in whole.notes), "note")
        click.echo(f"{counted(sessions, 'session')}, {counted(units, 'unit')}, {notes}")
    if faults:
        return 1
    worst = whole.worst
    return 3 if worst is not None and worst >= Kind[fail_on.upper()] else 0


def _json(found: Found, count: int, report: Report) -> Iterator[bytes]:
    yield jsonio.dumps(
        {"path": found.place, "format": found.format, "units": count, "notes": report.to_json()}
    )


def _text(found: Found, count: int, report: Report) -> Iterator[str]:
    """A session that has notes, and they."""
    if report.notes:
        yield f"{clean(found.place)}: {counted(count, 'unit')}"
        yield from (f"  {clean(line)}" for line in report.to_text().splitlines())
