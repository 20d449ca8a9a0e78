"""Write the generated parts of the pages about formats again, from docstrings, tool tables and recordings.

`formats.py --check` only names the pages that are stale, and exits with 1 when one is. Each part ends at its
`<!-- end -->`: `about` is the reader's docstring and what it was run on, `records` the kinds of records, what
their method says of them and the events that the recordings gave, or the entries of stored sessions, `tools`
the table of tools; the index has `keys` and `pages`.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

from stenograph import EventParser, encode, find, formats, read
from stenograph import tools as vocabulary
from stenograph.agents.cline import chat
from stenograph.model import Entry, Session
from stenograph.reader import Reader
from stenograph.registry import INTERCHANGE, STORES, canonical, store, stream
from stenograph.tools import Tool

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
import recordings as tests  # noqa: E402 - behind the path
import taskdirs  # noqa: E402 - behind the path

DATA = ROOT / "tests" / "data"
FOLDER = ROOT / "docs" / "formats"
INDEX = FOLDER / "README.md"

_PART = re.compile(r"(<!-- (about|records|tools|keys|pages) -->\n).*?(<!-- end -->)", re.S)
_KEYS = {
    "path": vocabulary.PATH,
    "start": vocabulary.START,
    "end": vocabulary.END,
    "count": vocabulary.COUNT,
    "query": vocabulary.QUERY,
    "scope": vocabulary.SCOPE,
    "command": vocabulary.COMMAND,
    "name": vocabulary.SKILL,
    "patch": vocabulary.PATCH,
}
_WANTS = {
    "read": ("path", "start", "end", "count"),
    "write": ("path",),
    "patch": ("path", "patch"),
    "search": ("query", "scope"),
    "list": ("scope",),
    "command": ("command", "folder"),
    "skill": ("name",),
    "agent": ("name",),
}
_GIVES = {
    "patch": "`write`, one for each file",
    "command": "`command`, or what it was: `read`, `search`, `list`",
    "agent": "`orchestration`",
    "silent": "nothing",
    "other": "see above",
}
_READERS = {
    "cline-session": "stenograph.agents.cline.sessions",
    "cline-task": "stenograph.agents.cline.task",
    "roo-task": "stenograph.agents.roo",
}
_CHATS = ("cline-task", "roo-task")  # what their tools table holds is the chat view's records
_DRAFTERS = {
    "_commands": "command",
    "_reads": "read",
    "_write": "write",
    "_patch": "patch",
    "_searches": "search",
    "_list": "list",
    "_skill": "skill",
    "slash_command": "skill",
}


def renewed(path: Path) -> str:
    """A page with its generated parts written anew."""
    name = path.stem

    def part(found: re.Match[str]) -> str:
        begin, what, end = found.groups()
        body = {"about": about, "records": records, "tools": tools, "keys": keys, "pages": pages}[what](name)
        return f"{begin}{body}{end}"

    return _PART.sub(part, path.read_text(encoding="utf-8"))


def about(name: str) -> str:
    """The docstring of the reader's module, the command, and the releases of the recordings."""
    if name in STORES:
        return _about_stored(name)
    reader = stream(name)
    told = inspect.cleandoc(sys.modules[reader.__module__].__doc__ or "")
    runs = Counter(release for _, release in recordings(name))
    seen = "; ".join(f"{release}: {count} runs" for release, count in runs.items())
    return f"{told}\n\nPrinted by `{reader.command}`. Under `tests/data`: {seen or 'nothing'}.\n"


def records(name: str) -> str:
    """Each kind of record: what its method says of it, how often it was seen, and what it gave."""
    if name in STORES:
        return _entries(name)
    reader = stream(name)
    seen: Counter[str] = Counter()
    gave: dict[str, dict[str, Counter[str]]] = {profile: {} for profile in ("standard", "extended")}
    for data, _ in recordings(name):
        for profile, kinds in gave.items():
            for kind, event in _told(name, data, profile, seen if profile == "standard" else Counter()):
                kinds.setdefault(kind, Counter())[event] += 1
    profiles = ["standard", "extended"] if gave["standard"] != gave["extended"] else ["standard"]
    titles = profiles if len(profiles) > 1 else ["events in the recordings"]
    rows = [
        f"| records | what they are | seen | {' | '.join(titles)} |",
        f"| --- | --- | ---: |{' --- |' * len(titles)}",
    ]
    for method, kinds in _methods(reader, seen).items():
        first = (inspect.getdoc(method) or "").splitlines()[0].replace("|", "\\|")
        cells = [_counts(gave[profile], kinds) for profile in profiles]
        count = sum(seen[kind] for kind in kinds) or ""
        rows.append(f"| {_names(kinds)} | {first} | {count} | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def tools(name: str) -> str:
    """Each tool, what it gives, and the input's keys where they are not the common ones."""
    projection = store(name).projection() if name in STORES else stream(name).projection
    module = chat if name in _CHATS else sys.modules[projection.__module__]
    table: dict[str, Any] = {**getattr(module, "TOOLS", {}), **projection.tools}
    more: dict[str, Tool] = getattr(module, "MORE_TOOLS", {})
    rows = ["| tool | event | keys of the input |\n| --- | --- | --- |"]
    rows += [_tool(tool, row) for tool, row in table.items()]
    rows += [_tool(tool, row, mark=" (extended)") for tool, row in more.items()]
    return "\n".join(rows) + "\n" if len(rows) > 1 else "None.\n"


def keys(_: str) -> str:
    """The keys that are looked for where a format's page names none."""
    words = {
        "path": "a file's path",
        "start": "its first line",
        "end": "its last line",
        "count": "how many lines",
        "query": "what is searched for",
        "scope": "where, or which folder is listed",
        "command": "a shell command",
        "name": "a skill",
        "patch": "a patch",
    }
    rows = [f"| {words[name]} | {_names(found)} |" for name, found in _KEYS.items()]
    return "\n".join(["| what | keys, the first usable one counts |\n| --- | --- |", *rows]) + "\n"


def _about_stored(name: str) -> str:
    """The docstring of the store's reader, the place, and how many such sessions the tests have."""
    told = inspect.cleandoc(importlib.import_module(_READERS[name]).__doc__ or "")
    count = len(sessions(name))
    return f"{told}\n\nStored in `{store(name).place}`. Under `tests/data`: {count} sessions.\n"


def _entries(name: str) -> str:
    """Each kind of entry: what it is, and how often the stored sessions gave it."""
    seen = Counter(type(entry) for session in sessions(name) for entry in session.entries)
    rows = ["| entry | what it is | seen |\n| --- | --- | ---: |"]
    for kind in get_args(Entry):
        told = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
        rows.append(f"| `{kind.__name__}` | {told} | {seen[kind] or ''} |")
    return "\n".join(rows) + "\n"


@cache
def sessions(name: str) -> list[Session]:
    """The stored sessions of a format among the tests' data."""
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(taskdirs.cases()):
            taskdirs.lay_out(case, Path(folder, str(number)))
        found = [read(each.path) for each in find((DATA / "cline-store", folder))]
    return [session for session in found if session.summary.format == name]


def pages(_: str) -> str:
    """The list of all pages."""
    return "".join(
        f"- [`{each.name}`]({'../' if each.name in INTERCHANGE else ''}{each.name}.md): {each.about}\n"
        for each in formats()
    )


def _methods(reader: type[Reader], seen: Counter[str]) -> dict[Any, list[str]]:
    """Each method that reads records, and the kinds it reads; what none takes is `other`'s."""
    methods: dict[Any, list[str]] = {}
    for kind, method in reader._handlers.items():
        methods.setdefault(method, []).append(kind)
    unknown = sorted(set(seen) - set(reader._handlers))
    return methods | ({reader.other: unknown} if unknown else {})


@cache
def recordings(name: str) -> list[tuple[bytes, str]]:
    """The recordings of a format: standard output, and the release that made it."""
    found = []
    for stdout in sorted(DATA.rglob("*.stdout.jsonl")):
        meta = json.loads(stdout.with_name("meta.json").read_text(encoding="utf-8"))
        program = meta.get("program") or ("cline" if "cline_version" in meta else "")
        if program and canonical(program) == name:
            found.append((stdout.read_bytes(), _release(meta)))
    layers = (each for each in tests.layers(DATA) if each.format == name)
    return found + [(each.stdout, "the SDK 0.0.86") for each in layers]


def _release(meta: dict[str, Any]) -> str:
    return str(meta.get("version") or meta.get("cline_version") or "made by hand")


def _told(name: str, data: bytes, profile: str, seen: Counter[str]) -> Iterator[tuple[str, str]]:
    """The kind of record behind each event of a run, and the event's type."""
    parser, reader = EventParser(name, profile=profile, detail=True), stream(name)
    kinds = {number: _kind(reader(), line) for number, line in enumerate(data.split(b"\n"), 1)}
    seen.update(kind for kind in kinds.values() if kind is not None)
    for event in parser.feed(data) + parser.close():
        kind = kinds.get(event.origin.line) if event.origin else None
        if kind is not None:
            yield kind, str(json.loads(encode(event))["type"])


def _kind(reader: Reader, line: bytes) -> str | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return reader.kind(record) if isinstance(record, dict) else None


def _counts(gave: dict[str, Counter[str]], kinds: list[str]) -> str:
    events = sum((gave.get(kind, Counter()) for kind in kinds), Counter())
    return ", ".join(f"{count} `{event}`" for event, count in sorted(events.items())) or "nothing"


def _tool(name: str, row: Any, *, mark: str = "") -> str:
    does = row.does if isinstance(row, Tool) else _DRAFTERS[row.__name__]
    told = []
    for what in _WANTS.get(does, ()) if isinstance(row, Tool) else ():
        found = getattr(row, what)
        if found and found != _KEYS.get(what):
            told.append(f"{what}: {_names(found)}")
    if isinstance(row, Tool) and row.first == 0:
        told.append("lines counted from 0")
    return f"| `{name}`{mark} | {_GIVES.get(does, f'`{does}`')} | {'; '.join(told)} |"


def _names(found: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in found)


def main() -> int:
    """Renew every page, or with `--check` name those that would change."""
    stale = [path for path in sorted(FOLDER.glob("*.md")) if renewed(path) != path.read_text("utf-8")]
    for path in stale:
        sys.stdout.write(f"{path.relative_to(ROOT)} {'is stale' if '--check' in sys.argv else 'renewed'}\n")
        if "--check" not in sys.argv:
            path.write_text(renewed(path), encoding="utf-8")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
