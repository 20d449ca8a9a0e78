"""`steno run`: an agent, watched and on request recorded, from its start to the end of its last process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import sys
import time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from stenograph import launch, runner
from stenograph.cli import terminal
from stenograph.cli.main import complain
from stenograph.cli.output import Output
from stenograph.cli.pretty import Painter, to_bytes
from stenograph.cli.seconds import Seconds
from stenograph.errors import MissingExtra, WriteError
from stenograph.event import Event, encode
from stenograph.runner import Run

if TYPE_CHECKING:
    from stenograph.live.view import View

_EXAMPLES = """\b
Examples:
  steno run claude -- "fix the tests"
  steno run --out runs/1 --timeout 600 --idle-timeout 120 cline -- "fix the tests"
  steno run --json claude --model haiku -- "what happened here?" < run.jsonl
  steno run --dry-run codex --sandbox workspace-write -- "fix the tests"
  steno run --pretty generic ./cline --json "fix the tests"

\b
Options of steno stand before AGENT. All behind it goes to the agent, but for the
first -- and the prompt behind it.

\b
Exit codes:
  N      the agent's own; 128+N when signal N ended it
  124    it was ended for its time, and exited with 0 all the same
  1      it could not be started, or the record could not be written
  2      wrong usage
"""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_OUT_OF_TIME = 124
_PAUSE = 0.5  # seconds between two looks at the account, which is added up anew each time
_WHY = {"timeout": ", its time was over", "idle": ", silent for too long", "signal": ", told to by a signal"}
_OURS = frozenset({"--out", "--idle-timeout", "--grace", "--pretty", "--live", "--no-stdin", "--dry-run"})

Form: TypeAlias = Literal["json", "pretty", "live"]


@click.command(epilog=_EXAMPLES, context_settings={"allow_interspersed_args": False})
@click.argument("agent")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENT]... [-- PROMPT]")
@click.option("--out", metavar="DIR", help="Keep a record of the run in this folder, which must hold none.")
@click.option("--timeout", type=Seconds(from_zero=False), metavar="SECONDS", help="End it after that.")
@click.option(
    "--idle-timeout",
    type=Seconds(from_zero=False),
    metavar="SECONDS",
    help="End it when it has said nothing for so long.",
)
@click.option(
    "--grace",
    type=Seconds(),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How long it may take to end by itself.",
)
@click.option(
    "--profile",
    type=click.Choice(["standard", "extended"]),
    default="standard",
    show_default=True,
    help="Map the core vocabulary only, or all that today's versions print.",
)
@click.option("--detail", is_flag=True, help="Add each event's origin, call id, tool, subagent and duration.")
@click.option("--json", "form", flag_value="json", help="Events as JSON lines, also on a terminal.")
@click.option("--pretty", "form", flag_value="pretty", help="One line for people for each event.")
@click.option("--live", "form", flag_value="live", help="The live view (the default on a terminal).")
@click.option("--program", metavar="FILE", help="The program to run in place of the agent's usual one.")
@click.option("--cwd", metavar="DIR", help="The folder it is to work in.")
@click.option(
    "--no-stdin", is_flag=True, help="Give the agent nothing to read; else it has our standard input."
)
@click.option("--dry-run", is_flag=True, help="Print the command line and do nothing.")
def run(agent: str, words: tuple[str, ...], form: Form | None, *, dry_run: bool, **options: Any) -> int:
    """Run an agent, and show and record what it does.

    AGENT is started with the flags that make its output readable. Its events are shown live on a terminal
    and as JSON lines elsewhere. SIGINT, SIGTERM and SIGHUP are passed on to it; its whole process group is
    ended when it does not heed them in time.
    """
    arguments, prompt = _split(words)
    for word in _OURS.intersection(arguments):
        complain(f"{word} stands behind {agent} and so goes to it; options of steno stand before the agent")
    if dry_run:
        how = launch.launch(agent)
        line = shlex.join(launch.command(how, arguments, prompt=prompt, program=options["program"]))
        click.echo(os.fsencode(line))
        return 0
    if sys.stdout is None:
        raise WriteError("standard output is closed")
    return asyncio.run(_run(agent, arguments, prompt, form, options))


def _split(words: tuple[str, ...]) -> tuple[list[str], str | None]:
    """The agent's own arguments, and the prompt behind the first `--`."""
    if "--" not in words:
        return list(words), None
    at = words.index("--")
    if at + 1 == len(words):
        raise click.UsageError("there is no prompt behind --")
    return list(words[:at]), " ".join(words[at + 1 :])


async def _run(
    agent: str, arguments: list[str], prompt: str | None, form: Form | None, options: dict[str, Any]
) -> int:
    no_stdin = options.pop("no_stdin")
    with contextlib.ExitStack() as stack:
        screen = _Screen(form, stack, agent)
        run = runner.run(
            agent,
            arguments=arguments,
            prompt=prompt,
            stdin=None if no_stdin else _piped(),
            watch=screen.view.entry if screen.view else None,
            **options,
        )
        output = Output(patience=options["grace"])
        _listen(run, output)
        async with contextlib.aclosing(run.events()) as events:
            async for event in events:
                await output.write(screen.show(event, run))
        screen.end(run)
    _tell(run)
    code = run.exit_code or 0
    return code or (_OUT_OF_TIME if run.outcome.stopped in ("timeout", "idle") else 0)


class _Screen:
    """What becomes of an event on standard output, by the form that was asked for."""

    def __init__(self, form: Form | None, stack: contextlib.ExitStack, agent: str) -> None:
        self.view = None
        self._due = 0.0
        is_terminal = sys.stdout is not None and sys.stdout.isatty()
        if form == "live" or (form is None and is_terminal):
            self.view = _view(agent, must=form == "live")
        if self.view:
            stack.enter_context(self.view)
        self._painter = None
        if form == "pretty" or (form is None and is_terminal):
            self._painter = Painter(columns=terminal.columns(), colour=terminal.has_colour())

    def show(self, event: Event, run: Run) -> bytes:
        """What is to be written for an event."""
        if self.view:
            self.view.event(event)
            if time.monotonic() >= self._due:
                self.view.spent(run.usage)
                self._due = time.monotonic() + _PAUSE
            return b""
        if self._painter is None:
            return encode(event) + b"\n"
        self._painter.columns, self._painter.workspace = terminal.columns(), run.cwd
        return to_bytes(self._painter, [event])

    def end(self, run: Run) -> None:
        """Say in the live view how it ended."""
        if self.view:
            why = _WHY.get(run.outcome.stopped or "", "")
            self.view.spent(run.usage)
            self.view.end(f"ended with {run.exit_code}{why}")


def _view(agent: str, *, must: bool) -> View | None:
    from stenograph.live.view import View

    try:
        return View(agent)
    except MissingExtra:
        if must:
            raise
        return None


def _piped() -> int | None:
    """Our standard input, unless it is a terminal, which the agent could not read, or there is none."""
    try:
        return None if sys.stdin is None or sys.stdin.isatty() else sys.stdin.fileno()
    except (OSError, ValueError):
        return None


def _listen(run: Run, output: Output) -> None:
    """Pass on the signals that ask for an end; a hang-up that we were told to ignore stays ignored."""
    loop = asyncio.get_running_loop()

    def heard(number: int) -> None:
        run.stop(number)
        output.hurry()

    for number in _SIGNALS:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            loop.add_signal_handler(number, heard, number)


def _tell(run: Run) -> None:
    """Say what else is worth knowing; the events have the rest."""
    if run.report.count("no-final-record"):
        complain(f"{run.outcome.agent} exited with 0, but never said that it had come to its end")
    if run.report.count("pipe-held"):
        complain("something that the agent had started kept its output open; it was not waited for")
    if run.outcome.stopped == "timeout":
        complain(f"{run.outcome.agent} was ended: its time was over")
    if run.outcome.stopped == "idle":
        complain(f"{run.outcome.agent} was ended: it had been silent for too long")
