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
  steno replay runs/1
  steno replay --check runs/1
  steno replay --profile extended --out - runs/1
"""


@click.command(epilog=_EXAMPLES)
@click.argument("folder", metavar="DIR")
@click.option("--out", metavar="FILE|-", help="Where the events go, in place of events.jsonl in DIR.")
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 when events.jsonl is not the same.")
@click.option("--profile", type=click.Choice(["standard", "extended"]), help="In place of the recorded one.")
@click.option("--detail/--no-detail", default=None, help="In place of what was recorded.")
@click.pass_context
def replay(ctx: click.Context, /, folder: str, out: str | None, *, check: bool, **options: Any) -> int:
    """Make the events of the run recorded in DIR again, with the recorded clock.

    With the same version of steno they are the same, byte for byte.
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
    with Fresh(Path(folder) / EVENTS if out is None else Path(out)) as file:
        for line in lines:
            file.write(line)
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
