"""A tool's input to the operation it asks for: the vocabulary of every agent's tool table.

`draft` gives events without success; whoever sees the result adds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from stenograph import event, jsonio, paths, shell
from stenograph.event import Event
from stenograph.patch import patch_paths

Resolve: TypeAlias = Callable[[str], str]

PATH = ("path", "file_path", "filePath", "filepath", "abs_path", "absolutePath", "source")
START = ("offset", "start_line", "startLine", "line")
END = ("end_line", "endLine")
COUNT = ("limit", "line_count", "lineCount", "num_lines", "numLines")
QUERY = ("pattern", "query", "regex", "glob", "search", "searchText", "q")
SCOPE = ("path", "dir", "directory", "cwd", "scope")
FOLDER = ("path", "dir", "directory")
COMMAND = ("command", "cmd", "script")
SKILL = ("name", "skill", "skill_name", "skillName")
PATCH = ("patch", "patchText", "diff", "content", "input")


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """What one tool does, and the input keys that say what to: of each tuple the first usable one counts."""

    does: Literal["read", "write", "patch", "search", "list", "command", "skill", "agent", "silent", "other"]
    path: tuple[str, ...] = PATH
    start: tuple[str, ...] = START
    end: tuple[str, ...] = END
    count: tuple[str, ...] = COUNT
    query: tuple[str, ...] = QUERY
    scope: tuple[str, ...] = SCOPE
    command: tuple[str, ...] = COMMAND
    folder: tuple[str, ...] = ()
    name: tuple[str, ...] = SKILL
    patch: tuple[str, ...] = PATCH
    first: Literal[0, 1] = 1
    """The number that the tool gives to a file's first line, in its start keys."""
    skill_file: tuple[str, ...] = ("path", "file_path", "filePath", "skillPath")
    skill_folder: tuple[str, ...] = ("dir", "directory")


def text(source: Any, keys: tuple[str, ...]) -> str | None:
    """The first of the keys that holds a non-empty string."""
    if not isinstance(source, dict):
        return None
    for key in keys:
        value = source.get(key)
        if isinstance(value, str) and value:
            return value
    return None


def line(source: Mapping[str, Any], keys: tuple[str, ...], *, first: Literal[0, 1] = 1) -> int | None:
    """The first of the keys that holds a line number, counted from 1; `first` is how the source counts."""
    for key in keys:
        told = source.get(key)
        number = None if told is None else paths.to_line(told)
        if number is not None:
            return number if first else paths.to_line(number + 1)
        if first == 0 and told in (0, "0") and told is not False:
            return 1
    return None


def draft(tool: Tool, source: Any, resolve: Resolve) -> list[Event] | None:
    """The events of a call, without success; None when the input lacks what the tool needs."""
    if tool.does == "silent" and source is not None:
        return []
    if not isinstance(source, dict):
        return None
    drafted = _DRAFTS.get(tool.does)
    return drafted(tool, source, resolve) if drafted else []


def command(tool: Tool, source: Mapping[str, Any], resolve: Resolve) -> list[Event] | None:
    """One command, in the folder that is named."""
    told = text(source, tool.command)
    if told is None:
        return None
    folder = text(source, tool.folder) if tool.folder else None
    return [event.Command(command=told, working_directory=resolve(folder) if folder else None)]


def write(tool: Tool, source: Mapping[str, Any], resolve: Resolve) -> list[Event] | None:
    """One write of the named file."""
    path = text(source, tool.path)
    return [event.Write(path=resolve(path))] if path else None


def listing(tool: Tool, source: Mapping[str, Any], resolve: Resolve) -> list[Event]:
    """One listing, of the named folder or of none."""
    path = text(source, tool.scope)
    return [event.List(path=resolve(path) if path else None)]


def read(tool: Tool, source: Mapping[str, Any], resolve: Resolve) -> list[Event] | None:
    """One read; the range from explicit bounds, or from an offset and a count."""
    path = text(source, tool.path)
    if path is None:
        return None
    if len(source) == 1:  # no range is told
        return [event.Read(path=resolve(path))]
    start, end, count = (
        line(source, tool.start, first=tool.first),
        line(source, tool.end),
        line(source, tool.count),
    )
    if end is not None or count is not None:
        start, end = paths.line_range(start, end=end, count=count)
    return [event.Read(path=resolve(path), start_line=start, end_line=end)]


def patch(tool: Tool, source: Mapping[str, Any], resolve: Resolve) -> list[Event] | None:
    """One write for the file that is named, else one for each file in the patch's text."""
    path = text(source, tool.path)
    named = [path] if path else patch_paths(text(source, tool.patch) or "")
    return [event.Write(path=resolve(path)) for path in named] or None


def search(tool: Tool, source: Mapping[str, Any], resolve: Resolve) -> list[Event] | None:
    """One search, its scope resolved."""
    query = text(source, tool.query)
    if query is None:
        return None
    scope = text(source, tool.scope)
    return [event.Search(query=query, path=resolve(scope) if scope else None)]


def skill(tool: Tool, source: Mapping[str, Any], resolve: Resolve) -> list[Event] | None:
    """One skill: its file as named, in the named folder, or where skills of that name stand."""
    name = text(source, tool.name)
    path, folder = text(source, tool.skill_file), text(source, tool.skill_folder)
    if path is None and folder:
        path = f"{folder.rstrip('/')}/SKILL.md"
    if path is None and name:
        path = f"skills/{name}/SKILL.md"
    return [event.Skill(path=resolve(path), skill_name=name)] if path else None


_DRAFTS: dict[str, Callable[[Tool, Mapping[str, Any], Resolve], list[Event] | None]] = {
    "read": read,
    "write": write,
    "patch": patch,
    "search": search,
    "list": listing,
    "command": command,
    "skill": skill,
}


def shell_events(
    made: event.Command,
    *,
    base: str | None,
    workspace: str | None,
    ok: bool | None = None,
    exit_code: int | None = None,
    output: Any = None,
) -> list[Event]:
    """What a command was: itself, with its success, or the reads, searches and lists that it came to.

    `output` is what it printed, in any form that agents use.
    """
    line = shell.understood(made.command, base, workspace)
    if line is None:
        force_setattr(made, "exit_code", exit_code)
        force_setattr(made, "is_success", ok)
        return [made]
    asks = ok is False and exit_code is None
    ok = shell.verdict(line.last, ok, exit_code, printed(output) if asks else "")
    return [_shell_event(found, ok) for found in line.found]


def _shell_event(found: shell.Found, ok: bool | None) -> Event:
    match found.kind:
        case "read":
            return event.Read(
                path=found.path or "", start_line=found.start, end_line=found.end, is_success=ok
            )
        case "search":
            return event.Search(query=found.query or "", path=found.path, is_success=ok)
    return event.List(path=found.path, is_success=ok)


def printed(output: Any) -> str:
    """The text of a result: a string, blocks of text, or either of them still as `Raw`."""
    told = jsonio.value(output)
    if isinstance(told, list):
        told = "\n".join(filter(None, (text(block, ("text",)) for block in told)))
    return told if isinstance(told, str) else ""
