"""JSON files whose bytes come back: objects and arrays as views over bytes, edits as splices.

Nothing is decoded before it is asked for, and what is not edited is written back byte for byte. An array is
read element by element: what damage leaves whole is kept, and what stands behind the damage is marked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar, overload

import msgspec

from stenograph import jsonio
from stenograph.errors import NotExact, UsageError
from stenograph.salvage import ANY, Shape, Span, scan, skip_space

Bytes: TypeAlias = msgspec.Raw | bytes
T = TypeVar("T")

_COMMA = re.compile(rb"[ \t\n\r]*,[ \t\n\r]*")

_read_object = jsonio.decoder(dict[str, msgspec.Raw]).decode
_read_array = jsonio.decoder(list[msgspec.Raw]).decode
_read_value = jsonio.decoder(object).decode


class Node:
    """JSON bytes that come back as they were read; `recovered` marks what stood behind damage."""

    __slots__ = ("_raw", "recovered")

    def __init__(self, raw: Bytes) -> None:
        self._raw = raw
        self.recovered = False

    @property
    def raw(self) -> bytes:
        """The bytes as they were read."""
        return bytes(self._raw)

    @property
    def cell(self) -> Bytes:
        """The same bytes without a copy."""
        return self._raw

    @property
    def size(self) -> int:
        """How many bytes were read."""
        return memoryview(self._raw).nbytes

    @property
    def modified(self) -> bool:
        """Whether something in it was edited."""
        return False

    def dump(self) -> bytes:
        """The bytes to write: as read, with each edit spliced in."""
        return self.raw

    def embedded(self) -> bytes:
        """The JSON that stands for this node in the object that holds it."""
        return self.dump()

    def opens(self, byte: bytes) -> bool:
        """Whether the value begins with this byte."""
        view = memoryview(self._raw)
        if view[:1] == byte:
            return True
        at = skip_space(view, 0)
        return at > 0 and view[at : at + 1] == byte

    def __repr__(self) -> str:
        return f"{type(self).__name__}({bytes(memoryview(self._raw)[:60])!r})"


class Object(Node):
    """A JSON object: its members by their names on the wire, of repeated ones the last.

    Subclasses declare members as attributes; `present`, `nulls`, `misfits` and `undeclared` tell what the
    object holds of the declaration and beside it. Members are set and deleted by name or by attribute.
    """

    __slots__ = ("_changes", "_known", "_values", "_views")
    declared: ClassVar[dict[str, Member[Any]]] = {}

    def __init__(self, raw: Bytes, values: dict[str, Any] | None = None) -> None:
        super().__init__(raw)
        self._known: dict[str, msgspec.Raw] | None = None
        self._values = values  # all members decoded, once somebody has done that
        self._changes: dict[str, bytes | None] | None = None
        self._views: dict[str, Node] | None = None

    def __init_subclass__(cls) -> None:
        found = (member for each in reversed(cls.__mro__) for member in vars(each).values())
        cls.declared = {member.name: member for member in found if isinstance(member, Member)}

    @property
    def error(self) -> str | None:
        """Why nothing could be read, or None."""
        return None if self._values or self.opens(b"{") else "not an object"

    @property
    def cells(self) -> dict[str, msgspec.Raw]:
        """The members' own bytes by name, edits included."""
        if self._known is None:
            self._known = self._read()
        return self._known

    def _read(self) -> dict[str, msgspec.Raw]:
        if self.error:
            return {}
        try:
            return _read_object(self._raw)
        except (ValueError, RecursionError):
            return {name: msgspec.Raw(value) for name, value in jsonio.members(self.raw)}

    def decode(self) -> dict[str, Any]:
        """All members, decoded at once; what is asked for from now on is not decoded again."""
        if self._values is None:
            values = None if self._changes or self.error else _decoded(self._raw)
            if not isinstance(values, dict):
                values = {name: _decoded(cell) for name, cell in self.cells.items()}
            self._values = values
        return self._values

    def get(self, name: str, default: Any = None) -> Any:
        """The member's decoded value."""
        if self._values is not None:
            return self._values.get(name, default)
        cell = self.cells.get(name)
        return default if cell is None else _decoded(cell)

    def __getitem__(self, name: str) -> Any:
        return _decoded(self.cells[name])

    def __contains__(self, name: str) -> bool:
        return name in self.cells

    def __setitem__(self, name: str, value: Any) -> None:
        cell = value.embedded() if isinstance(value, Node) else jsonio.dumps(value)
        self._change(name, cell)
        self.cells[name] = msgspec.Raw(cell)

    def __delitem__(self, name: str) -> None:
        del self.cells[name]
        self._change(name, None)

    def _change(self, name: str, cell: bytes | None) -> None:
        if self.error:
            raise UsageError(f"{name!r} cannot be set: {self.error}")
        self._changes = {**(self._changes or {}), name: cell}
        self._values = None
        if self._views:
            self._views.pop(name, None)

    def pairs(self) -> list[tuple[str, bytes]]:
        """All members as (name, value's bytes), repeated ones too, as `dump` would write them."""
        return [] if self.error else list(jsonio.members(self.dump()))

    def view(self, name: str, make: Callable[[Bytes], Any], opening: bytes) -> Any:
        """The member as a node whose edits are this object's too; None unless it begins with `opening`."""
        if node := self.seen(name):
            return node
        if self._values is not None and name not in self._values:
            return None
        cell = self.cells.get(name)
        if cell is None or not Node(cell).opens(opening):
            return None
        return self.keep(name, make(cell))

    def seen(self, name: str) -> Node | None:
        """The node that stands for the member, when there is one already."""
        return self._views.get(name) if self._views else None

    def keep(self, name: str, node: Node) -> Node:
        """Remember a node as what stands for the member."""
        self._views = {**(self._views or {}), name: node}
        return node

    @property
    def present(self) -> frozenset[str]:
        """The declared members that are there, null or not."""
        return frozenset(self.declared.keys() & self.cells.keys())

    @property
    def nulls(self) -> frozenset[str]:
        """The declared members that are there and null."""
        return frozenset(name for name in self.present if bytes(self.cells[name]) == b"null")

    @property
    def misfits(self) -> frozenset[str]:
        """The declared members that are there with another JSON type than declared; null fits."""
        return frozenset(n for n in self.present - self.nulls if not self.declared[n].fits(self.get(n)))

    @property
    def undeclared(self) -> dict[str, Any]:
        """The members that are not declared, decoded, in their order."""
        return {name: self.get(name) for name in self.cells if name not in self.declared}

    @property
    def modified(self) -> bool:
        """Whether a member was edited, here or in a view of one."""
        return bool(self._changes) or any(node.modified for node in (self._views or {}).values())

    def dump(self) -> bytes:
        """The object as read, edited members spliced in; all other bytes are the same."""
        if not self.modified:
            return self.raw
        views = {name: node.embedded() for name, node in (self._views or {}).items() if node.modified}
        return _splice(self.raw, {**(self._changes or {}), **views})


class Array(Node, Generic[T]):
    """A JSON array read element by element.

    `error` says where the text is cut or damaged, or why nothing could be read; `elements` then holds what
    is whole. The list may be changed: elements added, removed and moved.
    """

    __slots__ = ("_given", "_spans", "elements", "error", "name")

    def __init__(self, raw: Bytes, elements: list[T], *, name: str = "", error: str | None = None) -> None:
        super().__init__(raw)
        self.name = name
        self.elements = elements
        self.error = error
        self._given = tuple(elements)
        self._spans: list[Span] | None = None

    @classmethod
    def parse(cls, data: Bytes, make: Callable[[Bytes], T], *, name: str = "", shape: Shape = ANY) -> Self:
        """Read an array; `make` turns an element's bytes into a node. Never raises."""
        try:
            return cls(data, [make(raw) for raw in _read_array(data)], name=name)
        except (ValueError, RecursionError):
            return cls._parse_slowly(bytes(data), make, name, shape)

    @classmethod
    def _parse_slowly(cls, data: bytes, make: Callable[[Bytes], T], name: str, shape: Shape) -> Self:
        found = scan(data, shape=shape)
        elements = [make(msgspec.Raw(data[start:end])) for start, end in found.spans]
        for element in elements[found.whole :]:
            if isinstance(element, Node):
                element.recovered = True
        return cls.placed(data, elements, found.spans, name=name, error=found.error)

    @classmethod
    def placed(
        cls, data: bytes, elements: list[T], spans: list[Span], *, name: str = "", error: str | None = None
    ) -> Self:
        """An array whose elements were found elsewhere, in order, each at its span."""
        array = cls(data, elements, name=name, error=error)
        array._spans = spans
        return array

    @property
    def present(self) -> bool:
        """Whether there is such a file."""
        return bool(self.name)

    @property
    def units(self) -> int:
        """How many units the file accounts for: its elements, and one for a fault."""
        return len(self.elements) + (self.error is not None)

    @property
    def spans(self) -> list[Span]:
        """Where each element that was read stands, as (first byte, byte behind the last)."""
        if self._spans is None:
            self._spans = self._measure()
        return self._spans

    def _measure(self) -> list[Span]:
        data, spans = self.raw, []
        at = skip_space(data, skip_space(data, 0) + 1)
        for node in self._given:
            end = at + node.size if isinstance(node, Node) else jsonio.skim(data, at)
            spans.append((at, end))
            comma = _COMMA.match(data, end)
            at = comma.end() if comma else end
        return spans

    @property
    def modified(self) -> bool:
        """Whether an element was edited, or the list changed."""
        return self._moved or any(node.modified for node in self.elements if isinstance(node, Node))

    @property
    def _moved(self) -> bool:
        return len(self.elements) != len(self._given) or any(
            now is not then for now, then in zip(self.elements, self._given)
        )

    def dump(self) -> bytes:
        """The array as read, edited elements spliced in; raises NotExact for a changed list with damage."""
        if not self.modified:
            return self.raw
        data, spans = self.raw, self.spans
        if self._moved:
            return self._rebuild(data, spans)
        pieces, at = [], 0
        for node, (start, end) in zip(self.elements, spans):
            if isinstance(node, Node) and node.modified:
                pieces += [data[at:start], node.dump()]
                at = end
        return b"".join([*pieces, data[at:]])

    def _rebuild(self, data: bytes, spans: list[Span]) -> bytes:
        if self.error or not all(isinstance(node, Node) for node in self.elements):
            raise NotExact(f"elements cannot be added or removed: {self.error or 'of another type'}")
        lead = spans[0][0] if spans else skip_space(data, 0) + 1
        comma = data[spans[0][1] : spans[1][0]] if len(spans) > 1 else b","
        written = comma.join(node.dump() for node in self.elements if isinstance(node, Node))
        return data[:lead] + written + data[spans[-1][1] if spans else lead :]


class Refused(Array[T]):
    """An array file that was not loaded, `error` says why; it cannot be written."""

    __slots__ = ()

    def dump(self) -> bytes:
        """Raises NotExact."""
        raise NotExact(f"{self.name} was not loaded: {self.error}")


class Member(Generic[T]):
    """A declared member: its name on the wire, which values fit it, and what it reads as when none does."""

    is_view: ClassVar[bool] = False  # whether it reads as a node, whose edits are the owner's

    def __init__(self, name: str, fits: Callable[[Any], bool], empty: Callable[[], T]) -> None:
        self.name = name
        self.fits = fits
        self.empty = empty

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: Object, kind: type) -> T: ...
    def __get__(self, owner: Object | None, kind: type) -> Self | T:
        if owner is None:
            return self
        values = owner._values
        if values is None or self.is_view:
            return self.read(owner)
        found: Any = values.get(self.name)
        value: T = found if self.fits(found) else self.empty()
        return value

    def __set__(self, owner: Object, value: T) -> None:
        owner[self.name] = value

    def read(self, owner: Object) -> T:
        """The member's value, or the empty one when it is absent, null or of another JSON type."""
        known = owner._known
        cell = (owner.cells if known is None else known).get(self.name)
        if cell is None:
            return self.empty()
        value: T = _decoded(cell)
        return value if self.fits(value) else self.empty()


N = TypeVar("N", bound=Node)


class Child(Member[N | None]):
    """A declared member that is an object of its own, None when it is not one."""

    is_view = True

    def __init__(self, name: str, make: Callable[[Bytes], N]) -> None:
        super().__init__(name, lambda value: isinstance(value, dict), lambda: None)
        self.make = make

    def read(self, owner: Object) -> N | None:
        """The object as a view: its edits are edits of the owner."""
        found: N | None = owner.view(self.name, self.make, b"{")
        return found


class Children(Member[list[N]]):
    """A declared member that is a list of objects; an empty list when it is none."""

    is_view = True

    def __init__(self, name: str, make: Callable[[Bytes], N]) -> None:
        super().__init__(name, lambda value: isinstance(value, list), list)
        self.make = make

    def read(self, owner: Object) -> list[N]:
        """The objects as views: their edits, and those of the list, are edits of the owner."""
        found: Array[N] | None = owner.view(self.name, self._array, b"[")
        if found is None:
            found = Array(b"[]", [])
            owner.keep(self.name, found)
        return found.elements

    def _array(self, raw: Bytes) -> Array[N]:
        return Array.parse(raw, self.make)


class Text(Member[str]):
    """A declared member that is a string, empty when it is none."""

    def __init__(self, name: str) -> None:
        super().__init__(name, lambda value: isinstance(value, str), str)

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: Object, kind: type) -> str: ...
    def __get__(self, owner: Object | None, kind: type) -> Self | str:
        values = owner._values if owner is not None else None
        if values is None:
            return super().__get__(owner, kind)
        found = values.get(self.name)
        return found if type(found) is str else ""  # the most asked for, hence without calls


class Flag(Member[bool]):
    """A declared member that is true or false, False when it is neither."""

    def __init__(self, name: str) -> None:
        super().__init__(name, lambda value: isinstance(value, bool), bool)


class Texts(Member[list[str]]):
    """A declared member that is a list of strings, empty when it is none; set it to change it."""

    def __init__(self, name: str) -> None:
        super().__init__(name, _are_texts, list)


class Value(Member[Any]):
    """A declared member of any type as it decodes, None when it is absent."""

    def __init__(self, name: str) -> None:
        super().__init__(name, lambda _: True, lambda: None)

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: Object, kind: type) -> Any: ...
    def __get__(self, owner: Object | None, kind: type) -> Any:
        values = owner._values if owner is not None else None
        return super().__get__(owner, kind) if values is None else values.get(self.name)


def _decoded(cell: Bytes) -> Any:
    """A member's value; the fast way does not copy its bytes first."""
    try:
        return _read_value(cell)
    except (ValueError, RecursionError):
        return jsonio.loads(bytes(cell))


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _splice(raw: bytes, changes: dict[str, bytes | None]) -> bytes:
    """An object's bytes with members replaced, removed (None) and added."""
    spans = list(jsonio.member_spans(raw))
    last = {span.name: at for at, span in enumerate(spans)}
    lead = spans[0].start if spans else skip_space(raw, 0) + 1
    pieces = [raw[:lead]]
    for at, span in enumerate(spans):
        change = changes.get(span.name, b"")
        if change is None:
            continue
        comma = raw[spans[at - 1].end : span.start] if len(pieces) > 1 else b""
        value = change if change and last[span.name] == at else raw[span.value : span.end]
        pieces += [comma, raw[span.start : span.value], value]
    for name, change in changes.items():
        if name not in last and change is not None:
            comma = _separator(raw, spans) if len(pieces) > 1 else b""
            colon = raw[spans[0].colon : spans[0].value] if spans else b":"
            pieces += [comma, jsonio.dumps(name), colon, change]
    return b"".join([*pieces, raw[spans[-1].end if spans else lead :]])


def _separator(raw: bytes, spans: list[jsonio.MemberSpan]) -> bytes:
    """What stands between two members of this object."""
    if len(spans) > 1:
        return raw[spans[0].end : spans[1].start]
    return b"," + (raw[skip_space(raw, 0) + 1 : spans[0].start] if spans else b"")
