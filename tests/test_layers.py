"""The shape of the package: who may import whom, and how long things may be."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "stenograph"

LAYERS = [
    {"errors", "notes"},
    {
        "jsonio",
        "blocks",
        "database",
        "document",
        "members",
        "fields",
        "framing",
        "records",
        "repair",
        "salvage",
    }
    | {"model", "event", "paths"},
    {"reader", "meter", "store", "projection", "tools", "usage", "patch"} | {"shell", "bus"},
    {"agents", "interchange"},
    {"registry", "counting", "detection", "parser", "source", "streams", "stores"}
    | {"launch", "process", "record", "tally", "runner"}
    | {"conversion", "sessions", "targets", "run", "follow", "prices", "compare", "redact"},
    {"corpus"},
    {"cli", "live", "web"},
]
"""An import may go to the left or stay within its own group."""

EXEMPT = {"__init__", "__main__"}  # the public face
VAGUE = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "base", "core"}
PUBLIC_VERBS = {
    "events",
    "encode",
    "read",
    "parse",
    "write",
    "convert",
    "detect",
    "formats",
    "find",
    "run",
    "usage",
}

FILES = sorted(ROOT.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def top(path: Path) -> str:
    """The module or package directly below the root that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def layer(name: str) -> int:
    found = [number for number, names in enumerate(LAYERS) if name in names]
    assert found, f"{name} stands in no layer: add it to LAYERS in {__file__}"
    return found[0]


def imported(tree: ast.Module) -> Iterator[str]:
    """Every module of ours that a file imports, anywhere in it, as a dotted name below the root."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (
            name.removeprefix("stenograph").lstrip(".")
            for name in names
            if name.split(".")[0] == "stenograph"
        )


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def public(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    """Public functions and classes, and the public methods of public classes, by dotted name."""
    definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    for node in tree.body:
        if not isinstance(node, definition) or node.name.startswith("_"):
            continue
        yield node.name, node
        for inner in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(inner, definition) and not inner.name.startswith("_"):
                yield f"{node.name}.{inner.name}", inner


files = pytest.mark.parametrize("path", FILES, ids=name_of)


def test_there_is_something_to_check():
    assert len(FILES) > 10
    assert {"errors", "cli"} <= {top(path) for path in FILES}


@files
def test_imports_go_to_the_left(path: Path):
    if top(path) in EXEMPT:
        return
    own = layer(top(path))
    for name in imported(TREES[path]):
        target = name.split(".")[0]
        if target and ((ROOT / f"{target}.py").exists() or (ROOT / target).is_dir()):
            assert layer(target) <= own, f"{name_of(path)} imports {name}"
        else:  # a public name from the package's own face
            assert top(path) in LAYERS[-1], f"{name_of(path)} imports {name} from the public face"


@files
def test_agents_do_not_import_one_another(path: Path):
    if top(path) != "agents" or len(path.relative_to(ROOT).parts) < 2:
        return
    agent = path.relative_to(ROOT).parts[1].removesuffix(".py")
    for name in imported(TREES[path]):
        parts = name.split(".")
        if parts[0] != "agents" or agent == "__init__":
            continue
        allowed = parts[1] == agent or (agent == "roo" and parts[1:3] == ["cline", "task"])
        assert allowed, f"{name_of(path)} imports {name}"


@files
def test_optional_libraries_are_imported_where_they_are_used(path: Path):
    optional = {"rich", "websockets", "pyarrow", "duckdb", "starlette", "uvicorn", "jinja2", "genai_prices"}
    optional |= {"mcp", "opentelemetry", "ray", "openai", "anthropic"}
    for node in TREES[path].body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            assert name.split(".")[0] not in optional, f"{name_of(path)} imports {name} at its top"


@files
def test_json_goes_through_jsonio(path: Path):
    if name_of(path) == "jsonio.py":
        return
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Import):
            assert "json" not in [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            assert node.module != "json"


@files
def test_files_and_functions_are_short(path: Path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500, name_of(path)
    for function in functions(TREES[path]):
        length = (function.end_lineno or 0) - function.lineno + 1
        assert length <= 60, f"{name_of(path)}: {function.name} has {length} lines"


@files
def test_names_say_something(path: Path):
    assert path.stem not in VAGUE
    if top(path) not in {"cli", "formats", "agents"} and path.parent == ROOT:
        assert path.stem not in PUBLIC_VERBS - {"convert", "run", "usage"}


@files
def test_what_is_public_is_documented_and_annotated(path: Path):
    tree = TREES[path]
    assert ast.get_docstring(tree), f"{name_of(path)} has no docstring"
    for name, node in public(tree):
        assert ast.get_docstring(node), f"{name_of(path)}: {name} has no docstring"
    for function in functions(tree):
        arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        bare = [
            each.arg for each in arguments if each.annotation is None and each.arg not in ("self", "cls", "_")
        ]
        assert not bare, f"{name_of(path)}: {function.name} does not annotate {bare}"
        assert function.returns is not None, f"{name_of(path)}: {function.name} does not annotate its result"


@files
def test_no_flag_is_passed_by_position(path: Path):
    """A public function takes a boolean by keyword only."""
    for name, node in public(TREES[path]):
        if isinstance(node, ast.ClassDef):
            continue
        for argument in [*node.args.posonlyargs, *node.args.args]:
            assert not (isinstance(argument.annotation, ast.Name) and argument.annotation.id == "bool"), name


@files
def test_nothing_is_left_undone(path: Path):
    words = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    comments = [line for line in path.read_text(encoding="utf-8").splitlines() if "#" in line]
    assert not [line for line in comments if words.search(line.split("#", 1)[1])]
