"""Write the generated parts of the documentation again: help texts, the table of formats, what snippets give.

`docs.py --check` only names the pages that are stale, and exits with 1 when one is.

- `<!-- help NAME -->`, `<!-- formats -->`, `<!-- codes -->` or `<!-- mapping FORMAT -->`, up to
  `<!-- end -->`: written anew.
- A `console` block: each line behind `$ ` is run by the shell (a backslash at its end joins the next one),
  and what follows is its output, both streams.
- A `python` block: what it prints stands in the `text` block right behind it.

In an output a line `...` stands for any lines. The snippets of one page run in order in a folder of their
own, in which `tests` is the repository's, on a terminal of 100 columns without colours.
"""

from __future__ import annotations

import contextlib
import copy
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parent))
import mapping

import stenograph
from stenograph.cli.main import COMMANDS, steno
from stenograph.interchange.codes import CODES

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])

_WIDTH = 100
_PART = re.compile(r"(<!-- (help|formats|codes|mapping)(?: ([a-z]+))? -->\n).*?(<!-- end -->)", re.S)
_SNIPPET = re.compile(r"^```(console|python)\n(.*?)^```\n(?:(\n?)```text\n(.*?)^```\n)?", re.M | re.S)


def help_text(name: str) -> str:
    """What `steno NAME --help` says (`steno` for the group itself)."""
    top = click.Context(steno, info_name="steno", terminal_width=_WIDTH, **steno.context_settings)
    if name == "steno":
        return _unused(steno).get_help(top)
    command = steno.get_command(top, name)
    if command is None:
        raise SystemExit(f"no command {name!r}")
    return _unused(command).get_help(click.Context(command, info_name=name, parent=top))


def _unused(command: click.Command) -> click.Command:
    """The command as nobody has called it: click keeps the help option of its first call."""
    fresh = copy.copy(command)
    fresh._help_option = None
    return fresh


def format_table() -> str:
    """The formats as a Markdown table."""
    rows = (f"| `{each.name}` | {each.about} | `{each.source}` |\n" for each in stenograph.formats())
    return "".join(["| format | what it is | printed by, or stored in |\n| --- | --- | --- |\n", *rows])


def code_table() -> str:
    """The codes of conversion reports as a Markdown table."""
    rows = (
        f"| `{name}` | {code.kind.word} | {code.meaning} | {f'`{code.example}`' if code.example else ''} |\n"
        for name, code in CODES.items()
    )
    return "".join(["| code | kind | meaning | example |\n| --- | --- | --- | --- |\n", *rows])


def renewed(text: str) -> str:
    """A page with its generated parts and the outputs of its snippets written anew."""
    names: dict[str, object] = {"__name__": "snippet"}
    with _workplace():
        return _SNIPPET.sub(lambda found: _snippet(found, names), _PART.sub(_part, text))


def missing() -> list[str]:
    """The commands that have no part in the commands' page."""
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    return [name for name in ("steno", *COMMANDS) if f"<!-- help {name} -->" not in page]


def agrees(actual: str, expected: str) -> bool:
    """Whether an output is the expected one, in which a line `...` stands for any lines."""
    lines = expected.splitlines(keepends=True)
    pattern = "".join("(?:.*\n)*?" if line == "...\n" else re.escape(line) for line in lines)
    return re.fullmatch(pattern, actual) is not None


def _part(found: re.Match[str]) -> str:
    begin, what, name, end = found.groups()
    if what == "help":
        return f"{begin}```text\n{help_text(name)}\n```\n{end}"
    if what == "mapping":
        return f"{begin}{mapping.table(name)}{end}"
    body = format_table() if what == "formats" else code_table()
    return f"{begin}{body}{end}"


def _snippet(found: re.Match[str], names: dict[str, object]) -> str:
    kind, code, gap, output = found.groups()
    if kind == "console":
        return f"```console\n{''.join(map(_session, re.split(r'^(?=[$] )', code, flags=re.M)))}```\n"
    actual, expected = _python(code, names), output or ""
    shown = expected if agrees(actual, expected) else actual
    return f"```python\n{code}```\n" + (f"{gap or ''}```text\n{shown}```\n" if shown else "")


def _session(step: str) -> str:
    """One command and its output."""
    if not step.startswith("$ "):
        return step
    command, _, expected = step[2:].partition("\n")
    while command.endswith("\\"):
        more, _, expected = expected.partition("\n")
        command += f"\n{more}"
    actual = _shell(command)
    return f"$ {command}\n{expected if agrees(actual, expected) else actual}"


def _shell(command: str) -> str:
    bash = ["bash", "-c", f"exec 2>&1; {command}"]
    return subprocess.run(bash, check=False, stdout=subprocess.PIPE, text=True, timeout=60).stdout


def _python(code: str, names: dict[str, object]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, "snippet", "exec"), names)
    return out.getvalue()


@contextlib.contextmanager
def _workplace() -> Iterator[None]:
    """The folder and the environment in which the snippets of a page run."""
    before, environ = Path.cwd(), dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tests").symlink_to(ROOT / "tests")
        path = f"{Path(sys.executable).parent}:{environ['PATH']}"
        os.environ.update(PATH=path, COLUMNS=str(_WIDTH), NO_COLOR="1", XDG_CACHE_HOME=f"{folder}/.cache")
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environ)


def main() -> int:
    """Renew every page, or with `--check` name those that would change."""
    pages = {path: path.read_text(encoding="utf-8") for path in PAGES}
    stale = {path: new for path, text in pages.items() if (new := renewed(text)) != text}
    for path, new in stale.items():
        sys.stdout.write(f"{path.relative_to(ROOT)} {'is stale' if '--check' in sys.argv else 'renewed'}\n")
        if "--check" not in sys.argv:
            path.write_text(new, encoding="utf-8")
    for name in missing():
        sys.stdout.write(f"docs/commands.md has no <!-- help {name} --> with its <!-- end -->\n")
    return 1 if missing() or ("--check" in sys.argv and stale) else 0


if __name__ == "__main__":
    sys.exit(main())
