"""Verifies files of the Agent Session Format against the rules of RFC 0001 (draft 0.11).

Every violation has its line and the name of its rule. Hashes are recomputed from each line's own members.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from stenograph import jsonio
from stenograph.errors import ReadError
from stenograph.interchange import asf_rules
from stenograph.interchange.asf_log import content_hash, envelope_hash
from stenograph.interchange.asf_tree import Node, Tree
from stenograph.interchange.moments import is_spelled, spelled

ENVELOPE = ("id", "type", "parent", "parents", "ts")
_FORMAT = re.compile(r"agentsession/(\d+)\.(\d+)")
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_MINORS = range(5, 12)
_RECORDS = ("run", "dispatch", "decision", "queued", "label", "info", "env", "outcome", "link", "custom")


class Violation(NamedTuple):
    """One rule broken in a line (from 1); warnings leave a file valid."""

    line: int
    rule: str
    message: str
    level: Literal["error", "warning"] = "error"


def verify_file(path: str | os.PathLike[str]) -> list[Violation]:
    """What is wrong with a file, in the order of its lines; raises ReadError when it cannot be read."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError as fault:
        raise ReadError(f"{name}: {(fault.strerror or str(fault)).lower()}") from fault
    return verify(data, path=name)


def verify(data: bytes, *, path: str | None = None) -> list[Violation]:
    """What is wrong with a file's bytes; with its path, subsessions and media beside it are looked at."""
    return sorted(_Check(path).run(data))


class _Check:
    def __init__(self, path: str | None) -> None:
        self.path = path
        self.tree = Tree()
        self.header: dict[str, Any] = {}
        self.minor = 11
        self.found: list[Violation] = []

    def add(self, line: int, rule: str, message: str, level: Literal["error", "warning"] = "error") -> None:
        self.found.append(Violation(line, rule, message, level))

    def run(self, data: bytes) -> list[Violation]:
        lines = data.split(b"\n")
        if lines[-1] == b"":
            lines.pop()
        elif lines:
            self.add(len(lines), "line-end", "the last line has no line end", "warning")
        values = [
            self._value(number, line, is_last=number == len(lines)) for number, line in enumerate(lines, 1)
        ]
        if not self._header(values[0] if values else None):
            return self.found
        for number, value in enumerate(values[1:], 2):
            if value is not None:
                self._entry(number, value)
        self._base()
        rules = asf_rules.Rules(self.tree, self.header, self.minor)
        for line, rule, message, level in rules.run():
            self.add(line, rule, message, level)
        if self.path:
            self._beside(self.path)
        return self.found

    def _value(self, number: int, line: bytes, *, is_last: bool) -> dict[str, Any] | None:
        try:
            line.decode()
            name = jsonio.repeated_name(line)
            value = jsonio.loads(line)
        except (ValueError, RecursionError) as fault:
            if is_last and number > 1:
                self.add(number, "truncated", f"the last line is cut: {fault}", "warning")
            else:
                self.add(number, "broken-line", str(fault))
            return None
        if name is not None:
            self.add(number, "i-json", f"the member {name!r} stands twice in one object")
        if isinstance(value, dict):
            return value
        self.add(number, "broken-line", "not a JSON object")
        return None

    def _header(self, header: dict[str, Any] | None) -> bool:
        """Check the header; without one nothing else is worth a word."""
        if header is None or header.get("type") != "session":
            self.add(1, "header", "the first line is no session header")
            return False
        self.header = header
        for name in ("format", "id", "created_at", "payload"):
            if not isinstance(header.get(name), str) or not header[name]:
                self.add(1, "header", f"the header has no {name}")
        created = header.get("created_at")
        if isinstance(created, str) and spelled(created) is None:
            self.add(1, "header", f"created_at is no RFC 3339 time: {created}")
        payload = header.get("payload")
        if isinstance(payload, str) and not payload.startswith("openresponses/"):
            self.add(1, "header", f"unknown payload {payload}")
        self._version(header.get("format"))
        records = header.get("records", [])
        if not isinstance(records, list) or any(each not in _RECORDS for each in records):
            self.add(1, "records", f"records names what is no record type: {records}")
        return True

    def _version(self, told: Any) -> None:
        found = _FORMAT.fullmatch(told) if isinstance(told, str) else None
        if found is None:
            self.add(1, "format", f"not agentsession/MAJOR.MINOR: {told}")
        elif found.group(1) != "0" or int(found.group(2)) not in _MINORS:
            self.add(1, "format", f"{told} is not read: known are 0.{_MINORS[0]} to 0.{_MINORS[-1]}")
        else:
            self.minor = int(found.group(2))

    def _entry(self, number: int, value: dict[str, Any]) -> None:
        if value.get("type") == "session":
            self.add(number, "header", "a header that is not the first line")
            return
        missing = [name for name in ("type", "id", "parent", "ts") if name not in value]
        if missing:
            self.add(number, "envelope", f"the entry has no {', '.join(missing)}")
        if "content" in value:
            self.add(number, "reserved", "`content` is a reserved name")
        if not isinstance(value.get("type"), str):
            self.add(number, "envelope", "type is no string")
        if "ts" in value and not is_spelled(value["ts"]):
            self.add(number, "ts", f"not in the one spelling: {value['ts']}")
        if not missing:
            self._hash(number, value)
        parent = self._parent(number, value.get("parent"))
        if "parents" in value:
            self._parents(number, value)
        if "id" in value and str(value["id"]) in self.tree.nodes:
            self.add(number, "repeated-id", f"{value.get('id')} stands twice", "warning")
        self.tree.add(number, value, parent)

    def _hash(self, number: int, value: dict[str, Any]) -> None:
        told = value["id"]
        if not isinstance(told, str) or not _HASH.fullmatch(told):
            self.add(number, "id", f"no sha256 id: {told}")
            return
        body = {name: member for name, member in value.items() if name not in ENVELOPE}
        try:
            content = content_hash(jsonio.canonical(body))
            found = envelope_hash(value["type"], value["parent"], value["ts"], content, value.get("parents"))
        except (ValueError, RecursionError) as fault:
            self.add(number, "i-json", str(fault))
            return
        if found != told:
            self.add(number, "hash", f"the id is {told}, computed {found}")

    def _parent(self, number: int, told: Any) -> Node | None:
        if told is None:
            return None
        parent = self.tree.nodes.get(told) if isinstance(told, str) else None
        if parent is None:
            self.add(number, "parent", f"no earlier entry {told}")
        return parent

    def _parents(self, number: int, value: dict[str, Any]) -> None:
        told = value["parents"]
        if not isinstance(told, list) or not all(
            isinstance(each, dict) and isinstance(each.get("entry"), str) for each in told
        ):
            self.add(number, "parents", "not a list of {entry, session?}")
            return
        keys = [(str(each.get("session") or ""), each["entry"]) for each in told]
        if keys != sorted(set(keys)) or not keys:
            self.add(number, "parents", "empty, unsorted or repeated")
        if ("", str(value.get("parent"))) in keys:
            self.add(number, "parents", "holds the parent")

    def _base(self) -> None:
        """With a base the file opens with the path to it, and goes on below it."""
        base = self.header.get("base")
        if base is None:
            return
        node = self.tree.nodes.get(str(base))
        if node is None:
            self.add(1, "base", f"no entry {base}")
            return
        for root in self.tree.roots[1:]:
            self.add(root.line, "base", "a second root")
        for other in self.tree.nodes.values():
            if other.line < node.line and not self.tree.is_above(other, node):
                self.add(other.line, "base", "stands before the base and off its path")
            elif other.line > node.line and not self.tree.is_above(node, other):
                self.add(other.line, "base", "hangs above the base")
        if node.type == "label" and node.value.get("label") == "leaf":
            self.add(1, "base", "the base is a leaf label")

    def _beside(self, path: str) -> None:
        """What the files beside this one say."""
        folder = os.path.dirname(path) or os.curdir
        names = os.listdir(folder)
        for node in self.tree.nodes.values():
            if node.type == "link" and node.value.get("rel") == "subsession":
                self._child(node, folder, names)
        blobs = os.path.join(folder, str(self.header.get("id")))
        for node in self.tree.nodes.values():
            for digest in _sidecars(node.value):
                self._blob(node.line, os.path.join(blobs, digest), digest)

    def _child(self, node: Node, folder: str, names: list[str]) -> None:
        session = node.value.get("session")
        for name in names:
            if isinstance(session, str) and name.endswith(f"{session}.jsonl"):
                child = _header_of(os.path.join(folder, name))
                call = node.value.get("call_id")
                if child.get("id") != session:
                    continue
                if child.get("parent_session") != self.header.get("id"):
                    self.add(node.line, "link", f"{session} names another parent session")
                if call is not None and child.get("spawned_by") != call:
                    self.add(
                        node.line, "link", f"{session} was spawned by {child.get('spawned_by')}, not {call}"
                    )

    def _blob(self, line: int, path: str, digest: str) -> None:
        try:
            with open(path, "rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            self.add(line, "sidecar", f"no blob {digest}", "warning")
            return
        if found != digest:
            self.add(line, "sidecar", f"the blob {digest} has the hash {found}")


def _header_of(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            value = jsonio.loads(file.readline())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _sidecars(value: dict[str, Any]) -> Iterator[str]:
    if "sidecar:sha256:" not in str(value):
        return
    for digest in re.findall(rb'"sidecar:sha256:([0-9a-f]{64})"', jsonio.dumps(value)):
        yield digest.decode()
