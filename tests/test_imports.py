"""The public face: what it exports, and how little it loads."""

import subprocess
import sys

import stenograph

PUBLIC = ["Error", "Event", "EventParser", "NotRecognized", "ReadError", "Report", "UnknownFormat"]
PUBLIC += ["Session", "convert", "detect", "encode", "events", "find", "formats", "read", "usage"]
OPTIONAL = {
    "rich",
    "websockets",
    "pyarrow",
    "duckdb",
    "starlette",
    "uvicorn",
    "jinja2",
    "genai_prices",
    "mcp",
}
OPTIONAL |= {"opentelemetry", "ray", "openai", "anthropic"}
LATE = {"tree_sitter", "tree_sitter_bash", "click", "asyncio", "subprocess"}
"""Our own libraries, and heavy parts of the standard one, that only some calls need."""


def loaded(code: str) -> set[str]:
    """The top-level modules that a piece of code leaves loaded in a fresh interpreter."""
    show = "import sys; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{show}"], check=True, capture_output=True, text=True, timeout=60
    )
    return set(done.stdout.splitlines()[-1].split())


def test_the_exported_names_are_the_documented_ones():
    assert sorted(stenograph.__all__) == sorted(PUBLIC)
    for name in PUBLIC:
        assert getattr(stenograph, name)


def test_the_import_loads_no_optional_library():
    assert not loaded("import stenograph") & (OPTIONAL | LATE)


def test_the_check_can_fail():
    assert "asyncio" in loaded("import stenograph, asyncio")


def test_the_version_loads_no_parser():
    names = loaded("from stenograph.cli.main import run; run(['--version']); run(['--help'])")
    assert "click" in names
    assert not names & ({"msgspec", "json"} | OPTIONAL | (LATE - {"click"}))
