"""`steno ls`: the stored sessions, newest first."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from stenograph import jsonio
from stenograph.cli import terminal
from stenograph.cli.main import complain
from stenograph.cli.sessions import told
from stenograph.corpus import find
from stenograph.corpus.catalog import Catalog, Listed, cache_path
from stenograph.corpus.search import this_system
from stenograph.errors import ReadError
from stenograph.model import Summary

_EXAMPLES = """\b
Examples:
  steno ls
  steno ls ~/exports --json
  steno ls --limit 20

\b
Exit codes:
  0  done
  1  a session or a folder could not be read; the others were
  2  wrong usage
"""

_PATIENCE_S = 1.0
_BAR = 30
_COLUMNS = ("started", "agent", "id", "req", "in", "out", "cost", "model", "workspace", "first words")
_NUMBERS = range(3, 7)  # the columns that are set to the right


@click.command(epilog=_EXAMPLES)
@click.argument("roots", nargs=-1, metavar="[ROOT]...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line, with all that is known.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="The newest N only.")
@click.option("--no-cache", is_flag=True, help="Read every session again, and remember nothing.")
def ls(*, roots: tuple[str, ...], as_json: bool, limit: int | None, no_cache: bool) -> int:
    """List the sessions that agents have stored, newest first.

    Without a ROOT the default places of this user are searched. A ROOT is a session, a store, or any folder
    above some.
    """
    catalog = Catalog(None if no_cache else _cache())
    skipped: list[ReadError] = []
    found = list(find(roots or None, skipped=skipped.append))
    listed = list(_watched(catalog.listed(found), len(found)))
    catalog.save()
    summaries = [each.summary for each in listed if each.summary]
    summaries.sort(key=lambda each: each.started or each.updated or "", reverse=True)
    if as_json:
        click.echo(b"".join(jsonio.dumps(each) + b"\n" for each in summaries[:limit]), nl=False)
    else:
        _print(summaries[:limit])
    faults = [told(each.found, each.fault) for each in listed if each.fault]
    for fault in (*map(str, skipped), *faults):
        complain(fault)
    return 1 if skipped or faults else 0


def _cache() -> Path:
    system = this_system()
    return cache_path(system.environ, system.home, system.platform)


def _watched(listed: Iterable[Listed], whole: int) -> Iterator[Listed]:
    """The same, with a bar on a terminal's standard error once it takes long."""
    began, bar = time.monotonic(), ""
    shows = sys.stderr is not None and sys.stderr.isatty()
    for count, each in enumerate(listed, 1):
        if shows and time.monotonic() - began > _PATIENCE_S:
            done = "#" * (_BAR * count // whole)
            now = f"\r[{done:-<{_BAR}}] {count} of {whole} sessions"
            bar = bar if bar == now else _echo(now)
        yield each
    if bar:
        _echo("\r\x1b[K")


def _echo(text: str) -> str:
    click.echo(text, nl=False, err=True)
    return text


def _print(summaries: list[Summary]) -> None:
    rows = [_COLUMNS, *(_row(each) for each in summaries)]
    widths = [max(terminal.width(row[at]) for row in rows) for at in range(len(_COLUMNS))]
    for row in rows:
        cells = [_pad(cell, width, right=at in _NUMBERS) for at, (cell, width) in enumerate(zip(row, widths))]
        click.echo(terminal.cut("  ".join(cells).rstrip(), max(terminal.columns(), 60)))


def _row(summary: Summary) -> tuple[str, ...]:
    totals = summary.totals
    cost = "" if totals.cost is None else f"{totals.cost:.2f}"
    return (
        terminal.clean(summary.started or summary.updated or "")[:16].replace("T", " "),
        terminal.clean(_agent(summary)),
        terminal.clean(summary.id[:13]),
        str(summary.requests),
        _short(totals.tokens_in),
        _short(totals.tokens_out),
        cost,
        terminal.cut(terminal.clean(summary.model), 24),
        terminal.cut_front(terminal.clean(summary.cwd), 28),
        terminal.fold(summary.title, 80),
    )


def _agent(summary: Summary) -> str:
    """The agent, with its variant where that says more, and how many of its files are damaged."""
    name = summary.agent if summary.variant in ("", summary.agent) else f"{summary.agent}/{summary.variant}"
    return f"{name} !{summary.faults}" if summary.faults else name


def _short(count: int) -> str:
    if count < 10_000:
        return str(count)
    return f"{count / 1e3:.0f}k" if count < 10_000_000 else f"{count / 1e6:.0f}M"


def _pad(cell: str, width: int, *, right: bool) -> str:
    gap = " " * (width - terminal.width(cell))
    return gap + cell if right else cell + gap
