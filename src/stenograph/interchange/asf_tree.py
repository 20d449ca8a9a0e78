"""The tree of a session file while it is verified: paths, settings, and what a request was made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec


class Node(msgspec.Struct, eq=False):
    """One entry: `chain` is the run of lines, each the child of the one before, that it stands in."""

    line: int
    value: dict[str, Any]
    parent: Node | None
    chain: int
    at: int

    @property
    def type(self) -> Any:
        """The entry's type."""
        return self.value.get("type")

    @property
    def id(self) -> Any:
        """The entry's id."""
        return self.value.get("id")


class Tree:
    """The entries of a file by id."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.roots: list[Node] = []
        self._heads: list[Node] = []  # the first entry of each chain
        self._ends: dict[int, int] = {}

    def add(self, line: int, value: dict[str, Any], parent: Node | None) -> Node:
        """Hang an entry below its parent."""
        if parent and self._ends.get(parent.chain) == parent.at:
            node = Node(line, value, parent, parent.chain, parent.at + 1)
        else:
            node = Node(line, value, parent, len(self._heads), 0)
            self._heads.append(node)
        self._ends[node.chain] = node.at
        if parent is None:
            self.roots.append(node)
        self.nodes.setdefault(str(value.get("id")), node)
        return node

    def is_above(self, upper: Node, lower: Node) -> bool:
        """Whether an entry stands on the path from the root to another, or is that one."""
        node: Node | None = lower
        while node and node.chain != upper.chain:
            node = self._heads[node.chain].parent
        return node is not None and upper.at <= node.at

    def path(self, leaf: Node | None) -> list[Node]:
        """The entries from the root to one, itself included."""
        return list(_upwards(leaf))[::-1]


def _upwards(node: Node | None) -> Iterator[Node]:
    while node:
        yield node
        node = node.parent


def request(path: list[Node], response: Node) -> dict[str, Any]:
    """The request that a response answered, as the format rebuilds it from the path above it."""
    own = _outputs(path, response)
    start, items = _beginning(path)
    settings: dict[str, Any] = {}
    omitted: set[Any] = set()
    for number, node in enumerate(path):
        if number == start:
            settings = dict(node.value.get("config") or {})
            omitted = set(_items_of(settings.pop("omit", None)))
        elif node.type == "config":
            settings = merged(settings, node.value)
            omitted = _after(omitted, node.value)
        elif node.type in ("item", "branch_summary") and number > start and node.line not in own:
            items.append((node.id, node.value.get("item") or node.value.get("summary")))
    known = {
        name: settings[name] for name in ("model", "instructions", "reasoning", "text") if settings.get(name)
    }
    if settings.get("tools"):
        known["tools"] = settings["tools"]
    extra = settings.get("extra")
    known |= extra if isinstance(extra, dict) else {}
    return known | {"input": [item for id, item in items if id not in omitted], "store": False}  # noqa: A001 - the wire's word


def merged(settings: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Settings after a `config` entry."""
    found = {} if change.get("replace") is True else dict(settings)
    for name in ("model", "instructions", "reasoning", "text", "instructions_parts"):
        if name in change:
            found[name] = change[name]
    parts = found.get("instructions_parts")
    if "instructions_parts" in change and isinstance(parts, list):
        texts = [
            part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)
        ]
        found.setdefault("instructions", "\n\n".join(texts))
    gone = change.get("tools_removed") or []
    tools = [tool for tool in found.get("tools") or [] if tool.get("name") not in gone]
    found["tools"] = [*tools, *(change.get("tools_added") or [])]
    extra = {**(found.get("extra") or {}), **(change.get("extra") or {})}
    found["extra"] = {name: value for name, value in extra.items() if value is not None}
    return found


def _after(omitted: set[Any], change: dict[str, Any]) -> set[Any]:
    omit = change.get("omit")
    if not isinstance(omit, dict):
        return omitted
    return omitted | set(_items_of(omit)) if omit else set()


def _items_of(omit: Any) -> list[Any]:
    items = omit.get("items") if isinstance(omit, dict) else None
    return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []


def _beginning(path: list[Node]) -> tuple[int, list[tuple[Any, Any]]]:
    """Where the last compaction stands (-1: nowhere), and the items that it begins with."""
    at = max((number for number, node in enumerate(path) if node.type == "compaction"), default=-1)
    if at < 0:
        return -1, []
    value = path[at].value
    pinned = value.get("pinned") if isinstance(value.get("pinned"), list) else []
    first = next((n for n, node in enumerate(path) if node.id == value.get("first_kept")), at)
    kept = [(node.id, node.value.get("item")) for node in path[first:at] if node.type == "item"]
    return at, [(None, value.get("summary")), *((None, item) for item in pinned or ()), *kept]


def _outputs(path: list[Node], response: Node) -> set[int]:
    """The lines of a response's own items: those right above it that name it."""
    name = response.value.get("response_id")
    own: set[int] = set()
    for node in reversed(path):
        if node.type != "item":
            continue
        if name is None or node.value.get("response") != name:
            break
        own.add(node.line)
    return own
