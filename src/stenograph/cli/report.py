"""`steno report`: what a conversion would change, over a whole corpus, without writing anything."""

from __future__ import annotations

from typing import cast

import click

from stenograph.cli.convert import exit_code, told
from stenograph.conversion import WRITERS, Options, Target, convert_all
from stenograph.notes import Kind

_KINDS = [kind.word for kind in Kind]
_EXAMPLES = """\b
Examples:
  steno report run.jsonl
  steno report tasks --to atif --each
  steno report run.jsonl --to events --json

\b
Exit codes:
  0  done
  1  a session could not be read
  2  wrong usage
  3  done, with notes at or above --fail-on
"""


@click.command(epilog=_EXAMPLES)
@click.argument("roots", nargs=-1, required=True, metavar="ROOT...")
@click.option("--to", type=click.Choice(list(WRITERS)), default="asf", show_default=True, help="The format.")
@click.option("--from", "format", default="auto", metavar="FORMAT", help="What a stream is; else it is told.")
@click.option("--each", is_flag=True, help="Also each session's own notes.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option(
    "--fail-on",
    type=click.Choice(_KINDS),
    metavar="KIND",
    help=f"Exit with 3 when a note is of this kind or a graver one: {', '.join(_KINDS)}.",
)
def report(
    *,
    roots: tuple[str, ...],
    to: str,
    format: str,  # noqa: A002 - the word that users know
    each: bool,
    as_json: bool,
    fail_on: str | None,
) -> int:
    """Tell what a conversion would change, and write nothing."""
    done = convert_all(roots, None, Options(to=cast("Target", to), format=format))
    click.echo(told(done, "json" if as_json else "text", each=each), nl=False)
    return exit_code(done, fail_on)
