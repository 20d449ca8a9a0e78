"""`steno replay`: the events of a recorded run made again from what came."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from stenograph import runner
from stenograph.cli.main import complain
from stenograph.event import encode
from stenograph.record import EVENTS, Fresh, opened
from stenograph.runner import Replay

_EXAMPLES = """\b
Examples:
  steno run --out runs/1 claude -- "fix the tests" && steno replay runs/1
  steno run --out runs/2 claude -- "fix the tests" && steno replay --check runs/2
  steno run --out runs/3 claude -- "fix the tests" && steno replay --profile extended --out - runs/3
"""


@click.command(epilog=_EXAMPLES)
@click.argument("folder", metavar="DIR")
@click.option("--out", metavar="FILE|-", help="Where the events go, in place of events.jsonl in DIR.")
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 when events.jsonl is not the same.")
@click.option("--rest", is_flag=True, help="Of a record that was cut off, also what was open at its end.")
@click.option("--profile", type=click.Choice(["standard", "extended"]), help="In place of the recorded one.")
@click.option("--detail/--no-detail", default=None, help="In place of what was recorded.")
@click.pass_context
def replay(
    ctx: click.Context, /, folder: str, out: str | None, *, check: bool, rest: bool, **options: Any
) -> int:
    """Make the events of a recorded run again.

    They are made of what came, by the recorded clock: with the same release of steno the same bytes. The
    record of a run whose steno was killed gives those of what came until then.
    """
    changed = [name for name, value in options.items() if value is not None]
    if changed and out is None and not check:
        raise click.UsageError(f"--{changed[0]} would change the record; name another file with --out", ctx)
    events = runner.replay(folder, **options)
    lines = _lines(events, rest=rest)
    if check:
        return _compare(lines, Path(folder) / EVENTS, events)
    if out == "-":
        for line in lines:
            sys.stdout.buffer.write(line)
    else:
        target = Path(folder) / EVENTS if out is None else Path(out)
        with Fresh(target) as file:
            count = sum(1 for line in lines if file.write(line))
        click.echo(f"{target}: {_events(count)}")
    if events.is_cut:
        left = (
            "" if rest or not events.held else f"; --rest adds {_events(len(events.held))} of what was open"
        )
        complain(f"{folder}: the record was cut off{left}")
    return 0


def _lines(events: Replay, *, rest: bool) -> Iterator[bytes]:
    for event in events:
        yield encode(event) + b"\n"
    for event in events.held if rest else ():
        yield encode(event) + b"\n"


def _compare(lines: Iterator[bytes], path: Path, events: Replay) -> int:
    """0 when the file holds exactly these lines; else 1, and the first that differs is named.

    Of a record that was cut off, the last events may not have been written any more, the last one in part.
    """
    count = 0
    with opened(path) as file:
        for count, line in enumerate(lines, 1):
            found = file.readline()
            if found == line:
                continue
            missing = 1 + sum(1 for _ in lines)
            if events.is_cut and line.startswith(found) and not file.read(1):
                click.echo(f"{path}: the same {_events(count - 1)}, cut off; {missing} more not written")
                return 0
            complain(f"{path}: line {count} is another one now")
            return 1
        if file.read(1):
            complain(f"{path}: has more than the {count} lines that it has now")
            return 1
    click.echo(f"{path}: the same {_events(count)}{', cut off' if events.is_cut else ''}")
    return 0


def _events(count: int) -> str:
    return f"{count} event{'' if count == 1 else 's'}"
