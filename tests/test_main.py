"""The group `steno`: its table, its help, its exit codes."""

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from command import CLINE, DATA, STENO, TOOLS, Done, steno
from stenograph import convert
from stenograph.cli import main
from stenograph.errors import Error, UnknownFormat

COMMANDS = list(main.COMMANDS)
STORE = Path(__file__).parent / "data" / "cline-store" / "legacy_read"
LAYERS = Path(__file__).parent / "data" / "cline-sdk" / "layer1_runs.jsonl"


def test_each_row_of_the_table_names_a_command_and_says_what_it_says():
    context = click.Context(main.steno)
    for name, (_, short) in main.COMMANDS.items():
        command = main.steno.get_command(context, name)
        assert isinstance(command, click.Command)
        assert command.name == name
        first = (command.help or "").split("\n\n")[0].replace("\n", " ")
        assert first == short


def test_help_and_version():
    done = steno("--help")
    assert done.code == 0
    assert [name for name in COMMANDS if f"\n  {name} ".encode() in done.out] == COMMANDS
    assert steno() == Done(2, b"", done.out.decode()) or steno().code == 2
    assert re.fullmatch(rb"steno \d+\.\d+\.\d+\n", steno("--version").out)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["evnts"], "steno: no command 'evnts'; did you mean 'events'? (see: steno --help)\n"),
        (["zzz"], "steno: no command 'zzz' (see: steno --help)\n"),
    ],
)
def test_a_wrong_command_is_wrong_usage(arguments, line):
    assert steno(*arguments) == Done(2, b"", line)


@pytest.mark.parametrize(
    ("raised", "code", "line"),
    [
        (Error("broken"), 1, "steno: broken\n"),
        (UnknownFormat("claud", ["claude"]), 2, "steno: unknown format 'claud'; did you mean claude?\n"),
        (click.UsageError("wrong"), 2, "steno: wrong\n"),
        (click.ClickException("said"), 1, "steno: said\n"),
        (OSError(28, "No space left on device"), 1, "steno: no space left on device\n"),
        (OSError(2, "No such file or directory", "x"), 1, "steno: x: no such file or directory\n"),
        (Error("two\nlines \x1b[31m\u202e"), 1, "steno: two lines ␛[31m<U+202E>\n"),
        (BrokenPipeError(), 0, ""),
        (KeyboardInterrupt(), 130, ""),
        (click.exceptions.Exit(3), 3, ""),
    ],
)
def test_every_end_has_its_exit_code(raised, code, line, monkeypatch, capsys):
    def fail(arguments):
        raise raised

    monkeypatch.setattr(main, "_invoke", fail)
    assert main.run([]) == code
    assert capsys.readouterr() == ("", line)


@pytest.mark.parametrize(("given", "code"), [(3, 3), (0, 0), (None, 0), ("text", 0)])
def test_a_command_gives_its_exit_code_by_returning_it(given, code, monkeypatch):
    monkeypatch.setattr(main, "_invoke", lambda arguments: given)
    assert main.run([]) == code


def test_help_into_a_closed_pipe_ends_quietly():
    done = subprocess.run(
        ["bash", "-c", '"$0" --help | true', STENO], check=True, capture_output=True, timeout=60
    )
    assert (done.stdout, done.stderr) == (b"", b"")


def test_the_shell_can_complete_names():
    done = steno(_STENO_COMPLETE="bash_complete", COMP_WORDS="steno ev", COMP_CWORD="1")
    assert done == Done(0, b"plain,events\n", "")


def examples() -> list[tuple[str, str]]:
    """Every example of every help text, by command."""
    context = click.Context(main.steno)
    texts = [
        ("steno", main.steno.epilog),
        *((name, main.steno.get_command(context, name).epilog) for name in COMMANDS),
    ]
    found = []
    for name, text in texts:
        assert text, f"{name} has no examples"
        lines = text.split("Examples:\n")[1].split("\n\n")[0].splitlines()
        found += [(name, line.strip()) for line in lines if line.strip()]
    return found


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A folder with the files that the examples name, and agents that print a recording."""
    shutil.copy(TOOLS, tmp_path / "run.jsonl")
    (tmp_path / "run.jsonl.gz").write_bytes(gzip.compress(TOOLS.read_bytes()))
    shutil.copy(CLINE, tmp_path / "other.jsonl.zst")
    (tmp_path / "runs").mkdir()
    shutil.copy(CLINE, tmp_path / "runs" / "first.jsonl")
    for agent, recording in (("claude", TOOLS), ("cline", CLINE)):
        program = tmp_path / agent
        program.write_text(f"#!/bin/sh\ncat '{recording}'\n")
        program.chmod(0o755)
    runtime = json.loads(LAYERS.read_text().splitlines()[0])["layer1"]
    (tmp_path / "layer1.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in runtime))
    mine = tmp_path / "my-agent"
    mine.write_text(f"#!/bin/sh\ncat '{tmp_path}/layer1.jsonl'\n")
    mine.chmod(0o755)
    envelope = {"event": "iteration.started", "sessionId": "s1", "payload": {"iteration": 1}}
    (tmp_path / "events.jsonl").write_text(f"{json.dumps(envelope)}\n")
    shutil.copytree(DATA / "cline-store" / "legacy_read" / "tasks", tmp_path / "tasks")
    convert(TOOLS, tmp_path / "session.asf.jsonl", to="asf")
    for home in (tmp_path / ".cline" / "data", tmp_path / "exports"):
        shutil.copytree(STORE, home)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("name", "line"), [each for each in examples() if each[0] != "hub"])
def test_each_example_runs(name, line, workplace):
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr if "--report" not in line else "") == (0, "")
    assert done.stdout or ">" in line


@pytest.mark.parametrize("line", [line for name, line in examples() if name == "hub"])
def test_each_example_of_hub_is_well_formed(line):
    """There is no hub to ask here; tests/test_hub_command.py runs the commands against one of its own."""
    words = shlex.split(line.split(" | ")[0].split(" > ")[0])
    group = main.steno.get_command(click.Context(main.steno), "hub")
    command = group.get_command(click.Context(group), words[2])
    context = command.make_context(words[2], words[3:])
    assert words[:2] == ["steno", "hub"]
    assert context.params


def test_there_are_examples():
    assert {name for name, _ in examples()} == {"steno", *COMMANDS}
