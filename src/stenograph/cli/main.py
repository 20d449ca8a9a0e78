"""The group `steno`: finds a command, loads it alone, and turns every end into an exit code.

0 done; 1 error; 2 wrong usage; 3 done, with notes at or above `--fail-on`; 130 interrupted. A closed pipe
ends quietly. A command gives its exit code by returning it.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from stenograph import __version__
from stenograph.errors import Error, UnknownFormat

COMMANDS: dict[str, tuple[str, str]] = {
    "events": (
        "stenograph.cli.events:events",
        "Print what an agent does as events, one JSON object per line.",
    ),
    "run": ("stenograph.cli.run:run", "Run an agent, and show and record what it does."),
    "replay": ("stenograph.cli.replay:replay", "Make the events of a recorded run again."),
    "ls": ("stenograph.cli.ls:ls", "List the sessions that agents have stored, newest first."),
    "show": ("stenograph.cli.show:show", "Show one stored session: a path, or the beginning of an id."),
    "check": (
        "stenograph.cli.check:check",
        "Check stored sessions: faults, and kinds, members and tools never seen before.",
    ),
    "translate": (
        "stenograph.cli.translate:translate",
        "Turn recorded events of one layer of the Cline SDK into another layer's, JSON lines to JSON lines.",
    ),
    "convert": (
        "stenograph.cli.convert:convert",
        "Write sessions in another format, with a report of every difference.",
    ),
    "report": ("stenograph.cli.report:report", "Tell what a conversion would change, and write nothing."),
    "verify": (
        "stenograph.cli.verify:verify",
        "Check files of the Agent Session Format against every rule of the format.",
    ),
    "hub": (
        "stenograph.cli.hub:hub",
        "Watch a running Cline hub. Needs the extra: pip install 'stenograph[hub]'.",
    ),
    "usage": (
        "stenograph.cli.usage:usage",
        "Add up the tokens and the cost of recorded runs.",
    ),
    "formats": (
        "stenograph.cli.formats:formats",
        "List the formats that can be read, by the names that --from takes.",
    ),
}
"""Name to where the command stands and what `--help` says of it, so that nothing is loaded to list them."""

_COMPLETE = "_STENO_COMPLETE"


class LazyGroup(click.Group):
    """A group whose commands stand in `COMMANDS` and are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, imported now; None when there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; a wrong name is answered with near ones."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"no command {name!r}{_near(name)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of commands, without importing one of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, short) for name, (_, short) in COMMANDS.items()])


def _near(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def _show_version(ctx: click.Context, _: click.Parameter, value: Any) -> None:
    if not value or ctx.resilient_parsing:
        return
    click.echo(f"steno {__version__}")
    ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Examples:
  claude -p "fix the tests" --output-format stream-json --verbose | steno events
  steno formats
""",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Print the version.",
)
def steno() -> None:
    """Read what coding agents say and do, live and from disk, as one vocabulary of events."""


def main() -> NoReturn:
    """The entry point: run the arguments of this process and exit."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # it may be set to an encoding that lacks our characters
        sys.stdout.reconfigure(errors="backslashreplace")
    code = run(sys.argv[1:])
    sys.exit(_flush() or code)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and give its exit code; every error is one line on standard error."""
    try:
        code = _invoke(list(arguments))
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except BrokenPipeError:
        return 0
    except (KeyboardInterrupt, click.Abort):
        return 130
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return error.exit_code
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        complain(f"{error.format_message()}{f' (see: {context.command_path} --help)' if context else ''}")
        return error.exit_code
    except UnknownFormat as error:
        complain(str(error))
        return 2
    except Error as error:
        complain(str(error))
        return 1
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        complain(f"{error.filename}: {reason}" if error.filename else reason)
        return 1
    return code if isinstance(code, int) else 0


def complain(message: str) -> None:
    """Say one thing that went wrong: one line on standard error, fit for a terminal."""
    from stenograph.cli.terminal import clean

    click.echo(f"steno: {clean(message)}", err=True)


def _invoke(arguments: list[str]) -> Any:
    """What click's own `main` does, which would exit with 1 on a closed pipe."""
    if instruction := os.environ.get(_COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(steno, {}, "steno", _COMPLETE, instruction)
    with steno.make_context("steno", arguments) as context:
        return steno.invoke(context)


def _flush() -> int:
    """Write out what standard output still holds; 1 when that fails, unless for a closed pipe."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or the interpreter would complain at its end
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        complain(f"standard output: {error.strerror}")
        return 1
    except AttributeError:  # there is no standard output
        return 0
    return 0
