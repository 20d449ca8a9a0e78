"""The closed list of report codes: it holds what the code can say, and the code can say what it holds."""

import ast
from collections.abc import Iterator
from pathlib import Path

import stenograph
from sources import format_of, sources
from stenograph import convert
from stenograph.interchange.codes import CODES

ROOT = Path(stenograph.__file__).parent
ELSEWHERE = {
    "asf_tree.py",
    "asf_verify.py",
    "asf_rules.py",
    "bus.py",
    "runner.py",
    "hub.py",
    "loop.py",
    "layers.py",
    "drift.py",
    "host.py",
}
"""Modules whose notes are of something else than a conversion: files verified, live runs, `steno check`."""
TARGETS = ("asf", "atif", "events", "markdown")


def said(path: Path) -> Iterator[str]:
    """The codes that a module can note: literals given to `add` and `_note`, `code=` and its default."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.arguments):
            named = zip(node.kwonlyargs, node.kw_defaults)
            yield from (
                str(default.value)
                for argument, default in named
                if argument.arg == "code" and isinstance(default, ast.Constant) and default.value
            )
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        given = [*node.args[:2], *(each.value for each in node.keywords if each.arg == "code")]
        if name not in ("add", "_note", "_text"):
            continue
        for argument in given:
            for each in ast.walk(argument):
                if isinstance(each, ast.Constant) and isinstance(each.value, str) and "-" in each.value:
                    yield each.value


def test_the_list_is_what_the_code_can_say() -> None:
    found = {code for path in ROOT.rglob("*.py") if path.name not in ELSEWHERE for code in said(path)}
    plain = {"normalised", "array"}  # without a hyphen
    assert found | plain == CODES.keys()


def test_every_code_of_every_report_is_documented_and_every_kind_is_its_own() -> None:
    seen = set()
    for at, path in enumerate(sources().values()):
        for note in convert(path, None, to=TARGETS[at % len(TARGETS)], format=format_of(path)).notes:
            assert CODES[note.code].kind == note.kind, note
            seen.add(note.code)
    assert len(seen) > 15


def test_every_code_has_a_meaning() -> None:
    assert all(code.meaning.endswith(".") for code in CODES.values())
