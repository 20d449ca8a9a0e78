"""`steno convert`: sessions in another format, and what became different on the way."""

from __future__ import annotations

from typing import cast

import click

from stenograph import jsonio
from stenograph.cli.terminal import clean, counted
from stenograph.conversion import WRITERS, Conversion, Options, Target, convert_all
from stenograph.errors import UsageError
from stenograph.notes import Kind

_KINDS = [kind.word for kind in Kind]
_EXAMPLES = """\b
Examples:
  steno convert run.jsonl -o trajectory.json --to atif
  steno convert tasks -o sessions --to asf --check
  claude -p "fix the tests" --output-format stream-json --verbose | steno convert - -o runs --to asf
  steno convert run.jsonl -o pages --to markdown --report text
  steno convert run.jsonl -o strict --to asf --strict

\b
Exit codes:
  0  done
  1  a session could not be read or written, or --strict met a loss
  2  wrong usage
  3  done, with notes at or above --fail-on
"""


@click.command(epilog=_EXAMPLES)
@click.argument("sources", nargs=-1, required=True, metavar="SRC...")
@click.option("-o", "--output", required=True, metavar="OUT", help="A folder, or one file by its suffix.")
@click.option("--to", type=click.Choice(list(WRITERS)), required=True, help="The format to write.")
@click.option("--from", "format", default="auto", metavar="FORMAT", help="What a stream is; else it is told.")
@click.option("--strict", is_flag=True, help="Stop at the first loss.")
@click.option("--calls-from-text", is_flag=True, help="asf: make items of calls kept as text (XML), too.")
@click.option("--check", is_flag=True, help="Read everything back and compare.")
@click.option("--report", type=click.Choice(["text", "json"]), help="Tell what became different.")
@click.option(
    "--fail-on",
    type=click.Choice(_KINDS),
    metavar="KIND",
    help=f"Exit with 3 when a note is of this kind or a graver one: {', '.join(_KINDS)}.",
)
def convert(
    *,
    sources: tuple[str, ...],
    output: str,
    to: str,
    format: str,  # noqa: A002 - the word that users know
    strict: bool,
    calls_from_text: bool,
    check: bool,
    report: str | None,
    fail_on: str | None,
) -> int:
    """Write sessions in another format, with a report of every difference.

    A source is a stored session, a recorded stream, a folder of them, or - for standard input. No file is
    overwritten: an equal one is left as it is, and a session whose id is taken gets another one.
    """
    options = Options(
        to=cast("Target", to), format=format, strict=strict, check=check, calls_from_text=calls_from_text
    )
    try:
        done = convert_all(sources, output, options)
    except UsageError as error:
        raise click.UsageError(str(error)) from None
    if report:
        click.echo(told(done, report), nl=False)
    else:
        counts = f"{counted(len(done.sessions), 'session')} in {counted(len(done.files), 'file')}"
        click.echo(clean(f"{output}: {counts}"))
    return exit_code(done, fail_on, is_checked=check)


def exit_code(done: Conversion, fail_on: str | None, *, is_checked: bool = False) -> int:
    """1 when what was written did not read back, 3 when a note is grave enough."""
    if is_checked and done.count("check-failed"):
        return 1
    worst = done.worst
    return 3 if fail_on and worst is not None and worst >= Kind[fail_on.upper()] else 0


def told(done: Conversion, form: str, *, each: bool = False) -> str:
    """The report as text, or as one JSON object; `each` adds the sessions' own."""
    records = sum(session.records for session in done.sessions)
    if form == "json":
        value = {
            "sessions": [
                {"path": one.path, "id": one.id, "records": one.records, "notes": one.report.to_json()}
                for one in done.sessions
            ],
            "records": records,
            "notes": done.to_json(),
        }
        return f"{jsonio.dumps(value).decode()}\n"
    lines = []
    for one in done.sessions if each else ():
        lines.append(f"{one.path}: {counted(one.records, 'record')}")
        lines += [f"  {line}" for line in one.report.to_text().splitlines()]
    lines.append(f"{counted(len(done.sessions), 'session')}, {counted(records, 'record')}")
    lines += done.to_text().splitlines()
    return "".join(f"{clean(line)}\n" for line in lines)
