"""`steno translate`: recorded events of one layer of the Cline SDK as those of another, as a filter."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from stenograph import jsonio, source
from stenograph.agents.cline.layers import LAYERS, LayerTranslator
from stenograph.cli.main import complain
from stenograph.errors import ReadError, UsageError, WriteError
from stenograph.notes import Kind, Report

_KINDS = [kind.word for kind in Kind]

_EXAMPLES = """\b
Examples:
  steno translate --from runtime --to agent layer1.jsonl
  my-agent | steno translate --from runtime --to core --session s1 --clock now
  steno translate --from hub --to core --report text events.jsonl > core.jsonl

\b
Exit codes:
  0    done
  1    an input could not be read; the others were
  2    wrong usage
  3    done, with notes at or above --fail-on
  130  interrupted
"""


@click.command(epilog=_EXAMPLES)
@click.argument("files", nargs=-1, metavar="[FILE|-]...")
@click.option("--from", "layer", type=click.Choice(LAYERS), required=True, help="The layer of the input.")
@click.option("--to", "target", type=click.Choice(LAYERS), required=True, help="The layer to print.")
@click.option(
    "--session",
    metavar="ID",
    default="session",
    show_default=True,
    help="The session's id, where the input does not tell it (runtime, agent).",
)
@click.option(
    "--clock",
    type=click.Choice(["none", "now"]),
    default="none",
    show_default=True,
    help="Give durations and timestamps by the time of reading, or leave them out.",
)
@click.option(
    "--report", type=click.Choice(["text", "json"]), help="Tell on standard error what was not understood."
)
@click.option(
    "--fail-on",
    type=click.Choice(_KINDS),
    metavar="KIND",
    help=f"Exit with 3 when a note is of this kind or a graver one: {', '.join(_KINDS)}.",
)
@click.pass_context
def translate(
    ctx: click.Context, /, files: tuple[str, ...], report: str | None, fail_on: str | None, **options: Any
) -> int:
    """Turn recorded events of one layer of the Cline SDK into another layer's, JSON lines to JSON lines.

    The layers are runtime (AgentRuntimeEvent), agent (AgentEvent), core (CoreSessionEvent) and hub (the
    envelopes of a hub). Layer runtime cannot be made from another one. A bad line is noted and left out.
    """
    if sys.stdout is None:
        raise WriteError("standard output is closed")
    if not files and sys.stdin is not None and sys.stdin.isatty():
        raise click.UsageError("no input: name a file, or pipe events into this command", ctx)
    notes = Report()
    try:
        code = max([_filter(path, notes, **options) for path in files or ("-",)])
    except UsageError as error:
        raise click.UsageError(str(error), ctx) from None
    except KeyboardInterrupt:
        return 130
    if report:
        told = f"{jsonio.dumps(notes.to_json()).decode()}\n" if report == "json" else notes.to_text()
        click.echo(told, nl=False, err=True)
    worst = notes.worst
    return code or (3 if fail_on and worst is not None and worst >= Kind[fail_on.upper()] else 0)


def _filter(path: str, notes: Report, *, layer: Any, target: Any, session: str, clock: str) -> int:
    """Translate one input; the exit code of doing so."""
    translator = LayerTranslator(
        source=layer,
        target=target,
        session_id=session,
        now_ms=(lambda: int(time.time() * 1000)) if clock == "now" else None,
    )
    code = 0
    try:
        for part in source.chunks(path):
            _write(translator.feed(part))
    except ReadError as error:
        complain(str(error))
        code = 1
    _write(translator.close())
    notes.merge(translator.report, source="standard input" if path == "-" else path)
    return code


def _write(lines: list[bytes]) -> None:
    if lines:
        sys.stdout.buffer.write(b"\n".join(lines) + b"\n")
        sys.stdout.buffer.flush()
