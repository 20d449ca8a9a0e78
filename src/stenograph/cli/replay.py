"""`steno replay`: the events of a recorded run made again from what came."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from stenograph import runner
from stenograph.event import encode
from stenograph.record import EVENTS, Fresh

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
@click.option("--profile", type=click.Choice(["standard", "extended"]), help="In place of the recorded one.")
@click.option("--detail/--no-detail", default=None, help="In place of what was recorded.")
@click.pass_context
def replay(ctx: click.Context, /, folder: str, out: str | None, *, check: bool, **options: Any) -> int:
    """Make the events of a recorded run again.

    They are made of what came, by the recorded clock: with the same release of steno the same bytes.
    """
    changed = [name for name, value in options.items() if value is not None]
    if changed and out is None and not check:
        raise click.UsageError(f"--{changed[0]} would change the record; name another file with --out", ctx)
    lines = (encode(event) + b"\n" for event in runner.replay(folder, **options))
    if check:
        return _compare(lines, Path(folder) / EVENTS)
    if out == "-":
        for line in lines:
            sys.stdout.buffer.write(line)
        return 0
    target = Path(folder) / EVENTS if out is None else Path(out)
    with Fresh(target) as file:
        count = sum(1 for line in lines if file.write(line))
    click.echo(f"{target}: {count} events")
    return 0


def _compare(lines: Iterator[bytes], path: Path) -> int:
    """0 when the file holds exactly these lines; else 1, and the first that differs is named."""
    count = 0
    with path.open("rb") as file:
        for count, line in enumerate(lines, 1):
            if file.readline() != line:
                click.echo(f"{path}: line {count} is another one now", err=True)
                return 1
        if file.readline():
            click.echo(f"{path}: has more than the {count} lines that it has now", err=True)
            return 1
    click.echo(f"{path}: the same {count} events")
    return 0
