"""How each agent's command line is started so that a machine can read what it prints."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from stenograph import jsonio
from stenograph.errors import RunError, UnknownFormat


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """How one agent is started, and the format that it then prints.

    `command` are the words behind the program that come first (a sub-command); `flags` make the output
    machine-readable, each left out when the caller gives it too; `prompt` are the words put ahead of a
    prompt, where one that ends in `=` is joined to it. `spaced` puts a blank behind a prompt of one word,
    which the program would take for a sub-command; `not_first` are characters that would make it an option
    or a file, so that a blank goes ahead of them. `ends` tells that a run which came to its end says so in
    a record of its own.
    """

    agent: str
    format: str
    program: str = ""
    command: tuple[str, ...] = ()
    flags: tuple[tuple[str, ...], ...] = ()
    prompt: tuple[str, ...] = ("--",)
    spaced: bool = False
    not_first: str = ""
    ends: bool = True

    def arguments(self, given: Sequence[str], prompt: str | None) -> list[str]:
        """Everything behind the program's name: our flags, the caller's words, the prompt."""
        names = {_full(word.partition("=")[0]) for word in given}
        ours = [word for flag in self.flags if _full(flag[0]) not in names for word in flag]
        return [*self.command, *ours, *given, *self._asking(prompt)]

    def _asking(self, prompt: str | None) -> list[str]:
        if prompt is None:
            return []
        if self.spaced and not any(map(str.isspace, prompt)):
            prompt += " "
        if self.not_first and prompt.startswith(tuple(self.not_first)):
            prompt = f" {prompt}"
        *words, last = self.prompt
        return [*words, last + prompt] if last.endswith("=") or not last else [*words, last, prompt]


LAUNCHES: Mapping[str, Launch] = {
    launch.agent: launch
    for launch in (
        Launch(
            agent="claude",
            program="claude",
            format="claude-stream",
            flags=(("-p",), ("--output-format", "stream-json"), ("--verbose",)),
        ),
        Launch(agent="cline", program="cline", format="cline-stream", flags=(("--json",),), spaced=True),
        Launch(agent="codex", program="codex", format="codex-exec", command=("exec",), flags=(("--json",),)),
        Launch(
            agent="gemini",
            program="gemini",
            format="gemini-stream",
            flags=(("--output-format", "stream-json"),),
            prompt=("--prompt=",),
        ),
        Launch(agent="generic", format="generic", prompt=("",), ends=False),
        Launch(
            agent="goose",
            program="goose",
            format="goose-stream",
            command=("run",),
            flags=(("--quiet",), ("--output-format", "stream-json")),
            prompt=("--text=",),
        ),
        Launch(
            agent="kilo",
            program="kilo",
            format="kilo-stream",
            command=("run",),
            flags=(("--format", "json"),),
            ends=False,
        ),
        Launch(
            agent="opencode",
            program="opencode",
            format="opencode-stream",
            command=("run",),
            flags=(("--format", "json"),),
            ends=False,
        ),
        Launch(
            agent="pi",
            program="pi",
            format="pi-stream",
            flags=(("--mode", "json"), ("--print",)),
            prompt=("",),
            not_first="-@",
        ),
        Launch(
            agent="qwen",
            program="qwen",
            format="qwen-stream",
            flags=(("--output-format", "stream-json"),),
            prompt=("--prompt=",),
        ),
    )
}


def _full(flag: str) -> str:
    """The long name of a flag that has two; Goose refuses one that is given under both."""
    return {"-p": "--print", "-q": "--quiet"}.get(flag, flag)


def launch(agent: str) -> Launch:
    """How the named agent is started; raises UnknownFormat when nobody knows."""
    try:
        return LAUNCHES[agent]
    except KeyError:
        raise UnknownFormat(agent, LAUNCHES) from None


def command(
    agent: Launch, given: Sequence[str] = (), *, prompt: str | None = None, program: str | None = None
) -> list[str]:
    """The whole command line; of the agent `generic` the first of the given words is the program."""
    words = list(given)
    name = program or agent.program or (words.pop(0) if words else "")
    if not name:
        raise RunError(f"the agent {agent.agent!r} needs the name of a program")
    return [name, *agent.arguments(words, prompt)]


def locate(program: str, *, cwd: str | None = None, env: Mapping[str, str] | None = None) -> str:
    """The program's file, looked for where the system would; raises RunError when it cannot be run."""
    if cwd is not None and not os.path.isdir(cwd):
        raise RunError(f"there is no folder {cwd}")
    if os.path.dirname(program):
        path = os.path.join(cwd or ".", program)
        if not os.path.exists(path):
            raise RunError(f"there is no program {program}")
        if os.path.isdir(path) or not os.access(path, os.X_OK):
            raise RunError(f"{program} cannot be run: it is not executable")
        return os.path.abspath(path)
    search = (os.environ if env is None else env).get("PATH", os.defpath)
    found = shutil.which(program, path=search)
    if found:
        return os.path.abspath(found)
    if any(os.path.isfile(os.path.join(folder, program)) for folder in search.split(os.pathsep)):
        raise RunError(f"{program} is on PATH, but cannot be run: it is not executable")
    raise RunError(f"{program} is not on PATH; is the agent installed?")


def installed_version(path: str) -> str | None:
    """The version that the package around a program's file states, without starting the program.

    Looked for in the `package.json` nearest above the real file, which is where npm puts it.
    """
    for folder in Path(os.path.realpath(path)).parents[:6]:
        manifest = folder / "package.json"
        if manifest.is_file():
            return _stated(manifest)
    return None


def _stated(manifest: Path) -> str | None:
    try:
        found: Any = jsonio.loads(manifest.read_bytes())
    except (OSError, ValueError):
        return None
    version = found.get("version") if isinstance(found, dict) else None
    return version if isinstance(version, str) else None
