"""`steno show`: one stored session as a transcript, as entries, or a unit's own bytes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

import click

from stenograph import jsonio
from stenograph.cli.sessions import resolve
from stenograph.cli.terminal import clean
from stenograph.cli.transcript import lines, to_json
from stenograph.errors import ReadError
from stenograph.model import Session
from stenograph.stores import read

T = TypeVar("T")

_AT_ONCE = 256
_EXAMPLES = """\b
Examples:
  steno show 1796041090826
  steno show ~/.cline/data/tasks/1796041090826 --all
  steno show 17960 --json
  steno show 17960 --raw ui_messages.json:3

\b
Exit codes:
  0  done
  1  no such session, or it cannot be read
  2  wrong usage
"""


@click.command(epilog=_EXAMPLES)
@click.argument("session")
@click.option("--root", "roots", multiple=True, metavar="FOLDER", help="Where to look for an id.")
@click.option("--all", "everything", is_flag=True, help="Also context, usage and housekeeping, uncut.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per entry.")
@click.option(
    "--raw", "unit", metavar="FILE:ELEMENT", help="The bytes of one unit, as they stand in the file."
)
def show(*, session: str, roots: tuple[str, ...], everything: bool, as_json: bool, unit: str | None) -> None:
    """Show one stored session: a path, or the beginning of an id."""
    path = resolve(session, roots=roots)
    if unit:
        click.echo(_unit(path, unit), nl=False)
        return
    found = read(path)
    if as_json:
        for entries in _parts(found.entries):
            click.echo(b"".join(jsonio.dumps(to_json(entry)) + b"\n" for entry in entries), nl=False)
        return
    text = _transcript(found, everything=everything)
    if sys.stdout is not None and sys.stdout.isatty():
        click.echo_via_pager(f"{line}\n" for line in text)
        return
    for part in _parts(text):
        click.echo("\n".join(part))


def _parts(things: Iterable[T]) -> Iterator[list[T]]:
    """The same in lists, for each print is a system call."""
    rest = iter(things)
    while part := list(islice(rest, _AT_ONCE)):
        yield part


def _transcript(session: Session, *, everything: bool) -> Iterator[str]:
    summary = session.summary
    yield from (
        f"{label:10} {clean(value)}"
        for label, value in (
            ("session", f"{summary.id} ({summary.format})"),
            ("started", summary.started),
            ("workspace", summary.cwd),
            ("model", summary.model),
        )
        if value
    )
    yield from (f"{'note':10} {clean(line)}" for line in session.report.to_text().splitlines())
    yield ""
    yield from lines(session.entries, everything=everything)


def _unit(path: str, unit: str) -> bytes:
    """The bytes of an element, counted from 1, of one of a session's files."""
    name, _, number = unit.rpartition(":")
    if not name or not number.isdecimal():
        raise click.UsageError("--raw takes FILE:ELEMENT, such as ui_messages.json:3")
    for entry in read(path).entries:
        place = entry.place
        if place.file == name and place.line == int(number):
            folder = path if os.path.isdir(path) else os.path.dirname(path)
            with open(os.path.join(folder, name), "rb") as file:
                file.seek(place.offset)
                return file.read(place.length)
    raise ReadError(f"{path} has no unit {unit}")
