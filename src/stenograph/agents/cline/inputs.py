"""Every shape of tool input that Cline accepts: 3.0.65 takes arrays, one object, one string, or bare ones."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from stenograph import jsonio, paths
from stenograph.tools import COMMAND, COUNT, END, PATH, QUERY, START, line, text

_HERE = re.compile(r"(?<!<)<<(?!<)(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([\w.]+))")


class Stretch(NamedTuple):
    """A file to read, and its lines (1-based, inclusive) where the input names them."""

    path: str
    start: int | None
    end: int | None


def commands(source: Any) -> list[str]:
    """The commands of a call: `commands`, `command` with `args`, or bare; a split here-document is one."""
    many = source.get("commands") if isinstance(source, Mapping) else None
    return _here_documents(list(_commands(many)) or list(_commands(source)))


def _commands(source: Any) -> Iterator[str]:
    for item in source if isinstance(source, list) else [source]:
        if isinstance(item, str):
            command: str | None = item
        else:
            command = text(item, COMMAND)
            command = _with_arguments(command, item.get("args")) if command else None
        if command:
            yield command


def _with_arguments(command: str, arguments: Any) -> str:
    if isinstance(arguments, str):
        arguments = [arguments]
    if not isinstance(arguments, list):
        return command
    words = [word if isinstance(word, str) else jsonio.dumps(word).decode() for word in arguments]
    return " ".join(
        [command, *(f'"{word}"' if not word or re.search(r"\s", word) else word for word in words)]
    )


def _here_documents(lines: list[str]) -> list[str]:
    """Join the strings that together make one here-document."""
    if not any("<<" in told for told in lines):
        return lines
    ends: dict[tuple[str, str], list[int]] = {}
    for position, told in enumerate(lines):
        last = told.rsplit("\n", 1)[-1]
        ends.setdefault(("", last), []).append(position)
        ends.setdefault(("-", last.lstrip("\t")), []).append(position)
    joined: list[str] = []
    at = 0
    while at < len(lines):
        end = _here_end(lines, at, ends)
        joined.append("\n".join(lines[at : end + 1]))
        at = end + 1
    return joined


def _here_end(lines: list[str], at: int, ends: Mapping[tuple[str, str], list[int]]) -> int:
    """Where the here-document ends that begins at `at`: `at` itself when it does not go on.

    `ends` has the positions by their last line, and with a `-` by the same without leading tabs.
    """
    found = _HERE.search(lines[at])
    if found is None or "\n" in lines[at][found.end() :]:
        return at
    dash, *words = found.groups()
    places = ends.get((dash, next(word for word in words if word)), [])
    later = bisect(places, at)
    return places[later] if later < len(places) else at


def files(source: Any) -> list[Stretch]:
    """The files of a call: `files`, `file_paths`, `paths`, one path, or bare."""
    for key in ("files", "file_paths", "paths"):
        named = source.get(key) if isinstance(source, Mapping) else None
        found = _stretches(named) if named is not None else []
        if found:
            return found
    return _stretches(source)


def _stretches(source: Any) -> list[Stretch]:
    """One stretch for each item; a range without a path belongs to the item before it."""
    found: list[Stretch] = []
    for item in source if isinstance(source, list) else [source]:
        if isinstance(item, str) and item:
            found.append(Stretch(item, None, None))
        if not isinstance(item, Mapping):
            continue
        start, end = paths.line_range(line(item, START), end=line(item, END), count=line(item, COUNT))
        path = text(item, PATH)
        if path is not None:
            found.append(Stretch(path, start, end))
        elif found and (start or end):
            found[-1] = found[-1]._replace(start=start, end=end)
    return found


def queries(source: Any) -> list[str]:
    """The patterns of a search: `queries`, one of the usual keys, or bare."""
    many = source.get("queries") if isinstance(source, Mapping) else source
    found = many if isinstance(many, list) else [many]
    told = [text(item, QUERY) if isinstance(item, Mapping) else item for item in found]
    usable = [query for query in told if isinstance(query, str) and query]
    if usable:
        return usable
    query = text(source, QUERY)
    return [query] if query else []


def patch(source: Any) -> str | None:
    """The text of a patch: bare, or in one of the keys that tools use."""
    return (
        source if isinstance(source, str) and source else text(source, ("patch", "diff", "content", "input"))
    )
