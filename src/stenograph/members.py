"""The declared members of `document.Object`s: strings, flags, values, and objects of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from stenograph.document import Array, Bytes, Member, Node, Object

N = TypeVar("N", bound=Node)


class Child(Member[N | None]):
    """A declared member that is an object of its own, None when it is not one."""

    def __init__(self, name: str, make: Callable[[Bytes], N]) -> None:
        super().__init__(name, msgspec.Raw, lambda value: isinstance(value, dict), get=self._view)
        self._make = make

    def _view(self, owner: Object) -> N | None:
        """The object as a view: its edits are edits of the owner."""
        found: Any = getattr(owner.fields, self.name)
        return owner.view(self.name, self._make, b"{") if isinstance(found, msgspec.Raw) else found


class Children(Member[list[N]]):
    """A declared member that is a list of objects; an empty list when it is none."""

    def __init__(self, name: str, make: Callable[[Bytes], N]) -> None:
        super().__init__(name, msgspec.Raw, lambda value: isinstance(value, list), get=self._view)
        self._make = make

    def _view(self, owner: Object) -> list[N]:
        """The objects as views: their edits, and those of the list, are edits of the owner."""
        found: Array[N] | None = owner.view(self.name, self._array, b"[")
        if found is None:
            found = owner.keep(self.name, Array(b"[]", []))
        return found.elements

    def _array(self, raw: Bytes) -> Array[N]:
        return Array.parse(raw, self._make)


class Text(Member[str]):
    """A declared member that is a string, empty when it is none."""

    def __init__(self, name: str) -> None:
        super().__init__(name, str, _is_text, "")


class Prose(Member[str]):
    """A Text that may be long: it is decoded at each reading, so that only its bytes are kept."""

    def __init__(self, name: str) -> None:
        super().__init__(name, msgspec.Raw, _is_text, "", get=self.fresh)


class Flag(Member[bool]):
    """A declared member that is true or false, False when it is neither."""

    def __init__(self, name: str) -> None:
        super().__init__(name, bool, lambda value: isinstance(value, bool), False)


class Texts(Member[list[str]]):
    """A declared member that is a list of strings, empty when it is none."""

    def __init__(self, name: str) -> None:
        super().__init__(name, list[str], _are_texts, [])


class Value(Member[Any]):
    """A declared member of any type as it decodes, None when it is absent."""

    def __init__(self, name: str) -> None:
        super().__init__(name, Any, _is_any)


class Bulk(Member[Any]):
    """A Value that may be long: it is decoded at each reading, so that only its bytes are kept."""

    def __init__(self, name: str) -> None:
        super().__init__(name, msgspec.Raw, _is_any, get=self.fresh)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_any(_: Any) -> bool:
    return True


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
