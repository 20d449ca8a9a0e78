"""The chain of entries of one session file: canonical bodies, ids that commit to the path before them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from stenograph import jsonio

DEPTH = 100
"""Levels of nesting below which a value is written as its JSON text."""


def content_hash(body: bytes) -> str:
    """The hash of a canonical body."""
    return "sha256:" + hashlib.sha256(body).hexdigest()


def envelope_hash(kind: str, parent: str | None, ts: str, content: str, parents: Any = None) -> str:
    """An entry's id: the hash of its canonical envelope."""
    envelope: dict[str, Any] = {"type": kind, "parent": parent, "ts": ts, "content": content}
    if parents:
        envelope["parents"] = parents
    return content_hash(jsonio.canonical(envelope))


class Log:
    """Writes entries, each the child of the one before it."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self.last: str | None = None
        self.changes = 0  # members that had to be normalised
        self._write = write

    def put(self, kind: str, body: dict[str, Any], ts: str) -> str:
        """Write one entry; gives its id."""
        data = self._canonical(body)
        parent = f'"{self.last}"' if self.last else "null"
        # The canonical envelope, spelled by hand: nothing in it needs an escape.
        envelope = f'{{"content":"{content_hash(data)}","parent":{parent},"ts":"{ts}","type":"{kind}"}}'
        entry = content_hash(envelope.encode())
        head = f'{{"type":"{kind}","id":"{entry}","parent":{parent},"ts":"{ts}"'
        tail = b"," + data[1:] if len(data) > 2 else b"}"
        self._write(head.encode() + tail + b"\n")
        self.last = entry
        return entry

    def _canonical(self, body: dict[str, Any]) -> bytes:
        try:
            return jsonio.canonical(body)
        except (ValueError, RecursionError):
            found, changes = normalised(body)
            self.changes += len(changes)
            return jsonio.canonical(found | {"normalised": changes})


def normalised(body: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """A body that I-JSON allows, and what was changed: pointer and original source text, sorted by pointer.

    A lone surrogate becomes U+FFFD, a whole number its nearest binary64 one. A number beyond that, and what
    is nested more than 100 levels deep, becomes a string of its JSON text.
    """
    changes: list[dict[str, str]] = []
    found = _clean(body, "", changes, 0)
    return found, sorted(changes, key=lambda change: change["at"])


def without_surrogates(value: Any, at: str = "") -> tuple[Any, str | None]:
    """A value whose strings are all valid, and a pointer to the first that was not."""
    changes: list[dict[str, str]] = []
    match value:
        case str():
            return _text(value, at, changes), changes[0]["at"] if changes else None
        case dict():
            pairs = [
                (_text(name, at, changes), without_surrogates(member, f"{at}/{_escaped(name)}"))
                for name, member in value.items()
            ]
            first = next((found for _, (_, found) in pairs if found is not None), None)
            return {name: member for name, (member, _) in pairs}, changes[0]["at"] if changes else first
        case list() | tuple():
            parts = [without_surrogates(each, f"{at}/{number}") for number, each in enumerate(value)]
            return [part for part, _ in parts], next((found for _, found in parts if found is not None), None)
    return value, None


def _clean(value: Any, at: str, changes: list[dict[str, str]], depth: int) -> Any:
    match value:
        case str():
            return _text(value, at, changes)
        case dict() | list() if depth > DEPTH:
            return _as_text(jsonio.dumps(value), at, changes)
        case dict():
            return {
                _text(name, f"{at}/{_escaped(name)}", changes): _clean(
                    member, f"{at}/{_escaped(name)}", changes, depth + 1
                )
                for name, member in value.items()
            }
        case list() | tuple():
            return [_clean(each, f"{at}/{number}", changes, depth + 1) for number, each in enumerate(value)]
        case msgspec.Raw():
            return _as_text(bytes(value), at, changes)
        case int() | float():
            return _number(value, at, changes)
    return value


def _text(value: str, at: str, changes: list[dict[str, str]]) -> str:
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        changes.append({"at": _printable(at), "was": jsonio.dumps(value).decode()})
        return _printable(value)
    return value


def _as_text(data: bytes, at: str, changes: list[dict[str, str]]) -> str:
    text = data.decode("utf-8", "replace")
    changes.append({"at": at, "was": text})
    return text


def _number(value: int | float, at: str, changes: list[dict[str, str]]) -> Any:
    try:
        jsonio.canonical(value)
    except ValueError:
        source = str(value) if isinstance(value, int) else repr(value)
        changes.append({"at": at, "was": source})
        try:
            return float(value) if isinstance(value, int) else source
        except OverflowError:
            return source
    return value


def _printable(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _escaped(name: str) -> str:
    return _printable(name).replace("~", "~0").replace("/", "~1")
