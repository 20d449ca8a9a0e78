"""Command lines: what each agent is started with, and where its program and version are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from recordings import NOON, recordings
from stenograph import launch
from stenograph.errors import RunError
from stenograph.parser import EventParser
from stenograph.tally import Tally

COMMANDS = {
    "claude": ["claude", "-p", "--output-format", "stream-json", "--verbose", "--model", "m", "--", "-do it"],
    "cline": ["cline", "--json", "--model", "m", "--", "-do it"],
    "codex": ["codex", "exec", "--json", "--model", "m", "--", "-do it"],
    "gemini": ["gemini", "--output-format", "stream-json", "--model", "m", "--prompt=-do it"],
    "generic": ["--model", "m", "-do it"],
    "goose": ["goose", "run", "--quiet", "--output-format", "stream-json", "--model", "m", "--text=-do it"],
    "kilo": ["kilo", "run", "--format", "json", "--model", "m", "--", "-do it"],
    "opencode": ["opencode", "run", "--format", "json", "--model", "m", "--", "-do it"],
    "pi": ["pi", "--mode", "json", "--print", "--model", "m", " -do it"],
    "qwen": ["qwen", "--output-format", "stream-json", "--model", "m", "--prompt=-do it"],
}


@pytest.mark.parametrize("agent", launch.LAUNCHES)
def test_command(agent: str) -> None:
    assert launch.command(launch.launch(agent), ["--model", "m"], prompt="-do it") == COMMANDS[agent]


QUIET = {
    "claude": {"claude-1.0/sigint_bash"},
    "cline": {
        "cline/hub_abort_sigint",
        "cline-2.18/legacy_completion",
        "cline-2.18/legacy_native_tools",
        "cline-2.18/legacy_read",
        "cline-2.18/legacy_search_list",
    },
    "codex": {"codex-0.77/sigint", "codex-older/msg"},
    "gemini": {"gemini/sigint"},
}
"""Runs that exited with 0 without a record of their end: interrupted ones, and formats that had none."""


@pytest.mark.parametrize("agent", [name for name, how in launch.LAUNCHES.items() if how.ends])
def test_what_exits_with_0_has_said_that_it_is_done(agent: str) -> None:
    """Else `steno run` would complain of every run."""
    quiet, count = set(), 0
    for recording in recordings():
        if recording.format.removesuffix("-stream") == agent and recording.exit_code == 0:
            tally, count = Tally(), count + 1
            EventParser(recording.format, now=lambda: NOON, watch=tally.entry).feed(recording.stdout)
            quiet |= set() if tally.ended else {recording.name.rpartition("/")[0]}
    assert count
    assert quiet == QUIET.get(agent, set())


def test_the_documentation_shows_these_commands() -> None:
    page = (Path(__file__).parents[1] / "docs" / "run.md").read_text(encoding="utf-8")
    for agent, how in launch.LAUNCHES.items():
        words = launch.command(how, ["ARGUMENTS"], prompt="PROMPT now")
        line = " ".join(words).replace("PROMPT now", "PROMPT")
        assert f"| `{agent}` | `{line}` |" in page


def test_without_prompt_the_words_stand_as_given() -> None:
    assert launch.command(launch.launch("codex"), ["resume", "id"]) == [
        "codex",
        "exec",
        "--json",
        "resume",
        "id",
    ]


def test_one_word_is_no_subcommand_of_cline() -> None:
    assert launch.command(launch.launch("cline"), prompt="continue")[-1] == "continue "
    assert launch.command(launch.launch("cline"), prompt="go on")[-1] == "go on"


def test_a_flag_given_by_the_caller_is_not_given_twice() -> None:
    given = ["--output-format", "stream-json", "--include-partial-messages"]
    assert launch.command(launch.launch("claude"), given) == ["claude", "-p", "--verbose", *given]
    assert launch.command(launch.launch("goose"), ["-q"])[:3] == ["goose", "run", "--output-format"]
    joined = ["--output-format=stream-json"]
    assert launch.command(launch.launch("qwen"), joined) == ["qwen", *joined]


def test_program_in_place_of_the_usual_one() -> None:
    assert launch.command(launch.launch("cline"), program="./cline-dev") == ["./cline-dev", "--json"]
    assert launch.command(launch.launch("generic"), ["-x"], program="prog") == ["prog", "-x"]


def test_generic_needs_a_program() -> None:
    with pytest.raises(RunError, match="name of a program"):
        launch.command(launch.launch("generic"))


def test_program_on_path_and_beside_the_folder(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "agent"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert launch.locate("agent", env={"PATH": f"/nowhere:{program.parent}"}) == str(program)
    assert launch.locate("bin/agent", cwd=str(tmp_path)) == str(program)
    with pytest.raises(RunError, match="no program"):
        launch.locate("bin/other", cwd=str(tmp_path))
    with pytest.raises(RunError, match="not executable"):
        launch.locate("./bin", cwd=str(tmp_path))
    with pytest.raises(RunError, match="no folder"):
        launch.locate("bin/agent", cwd=str(tmp_path / "elsewhere"))


def test_version_that_the_package_states(tmp_path: Path) -> None:
    package = tmp_path / "lib" / "node_modules" / "agent"
    (package / "bin").mkdir(parents=True)
    (package / "bin" / "agent.js").write_text("#!/usr/bin/env node\n")
    (package / "package.json").write_text('{"name": "agent", "version": "3.0.65"}')
    (tmp_path / "agent").symlink_to(package / "bin" / "agent.js")
    assert launch.installed_version(str(tmp_path / "agent")) == "3.0.65"
    (package / "package.json").write_text("{")
    assert launch.installed_version(str(tmp_path / "agent")) is None
