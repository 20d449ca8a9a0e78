"""JSON files whose bytes come back: objects and arrays as views over bytes, edits as splices.

Nothing is decoded before it is asked for, and what is not edited is written back byte for byte. An array is
read element by element: what damage leaves whole is kept, and what stands behind the damage is marked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeAlias, TypeVar, overload

import msgspec

from stenograph import jsonio
from stenograph.errors import NotExact, UsageError
from stenograph.salvage import ANY, Shape, Span, scan, skip_space

Bytes: TypeAlias = msgspec.Raw | bytes
T = TypeVar("T")
N = TypeVar("N", bound="Node")

_COMMA = re.compile(rb"[ \t\n\r]*,[ \t\n\r]*")

_read_object = jsonio.decoder(dict[str, msgspec.Raw]).decode
_read_array = jsonio.decoder(list[msgspec.Raw]).decode
_read_value = jsonio.decoder(object).decode


class Node:
    """JSON bytes that come back as they were read; `recovered` marks what stood behind damage."""

    recovered = False

    def __init__(self, raw: Bytes) -> None:
        self._raw = raw

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
        return opens(self._raw, byte)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({bytes(memoryview(self._raw)[:60])!r})"


class _Fields:
    """The declared members of an object, decoded together when the first of them is asked for."""

    def __get__(self, owner: Object, kind: type) -> Any:
        owner.fields = fields = owner._decode()
        return fields


class Object(Node):
    """A JSON object: its members by their names on the wire, of repeated ones the last.

    Subclasses declare members as attributes; `present`, `nulls`, `misfits` and `undeclared` tell what the
    object holds of the declaration and beside it. Members are set and deleted by name or by attribute.
    """

    declared: ClassVar[dict[str, Member[Any]]] = {}
    _shape: ClassVar[type[msgspec.Struct]]
    _decoder: ClassVar[msgspec.json.Decoder[Any]]
    fields: Any = _Fields()
    _is_odd = False
    _known: dict[str, msgspec.Raw] | None = None
    _changes: dict[str, bytes | None] | None = None
    _views: dict[str, Node] | None = None

    def __init_subclass__(cls) -> None:
        found = (member for each in reversed(cls.__mro__) for member in vars(each).values())
        cls.declared = {member.name: member for member in found if isinstance(member, Member)}
        fields = [(name, member.kind, member.default) for name, member in cls.declared.items()]
        cls._shape = msgspec.defstruct(f"{cls.__name__}Fields", fields, gc=False)
        cls._decoder = jsonio.decoder(cls._shape)

    def _decode(self) -> Any:
        """The declared members as a struct; one by one where one of them is odd."""
        try:
            return self._decoder.decode(self._raw)
        except (ValueError, RecursionError):
            fields, self._is_odd = self._shape(), True
        with suppress(ValueError):  # a text that was only taken for an object has no members
            for name in self.present:
                setattr(fields, name, self.declared[name].decoded(self.cells[name]))
        return fields

    @property
    def error(self) -> str | None:
        """Why nothing could be read, or None."""
        return None if opens(self._raw, b"{") else "not an object"

    @property
    def is_whole(self) -> bool:
        """Whether the bytes are one JSON object and nothing else."""
        if self.error:
            return False
        if self.fields is not None and not self._is_odd:
            return True
        try:
            jsonio.check(self.raw)
        except ValueError:
            return False
        return True

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
        """All members' values by name, decoded anew: for what reads a record as a whole."""
        values = None if self._changes or self.error else _decoded(self._raw)
        if isinstance(values, dict):
            return values
        return {name: _decoded(cell) for name, cell in self.cells.items()}

    def get(self, name: str, default: Any = None) -> Any:
        """The member's decoded value."""
        cell = self.cells.get(name)
        return default if cell is None else _decoded(cell)

    def __getitem__(self, name: str) -> Any:
        return _decoded(self.cells[name])

    def __contains__(self, name: str) -> bool:
        return name in self.cells

    def __setitem__(self, name: str, value: Any) -> None:
        self._change(name, value.embedded() if isinstance(value, Node) else jsonio.dumps(value))

    def __delitem__(self, name: str) -> None:
        if name not in self.cells:
            raise KeyError(name)
        self._change(name, None)

    def _change(self, name: str, cell: bytes | None) -> None:
        if self.error:
            raise UsageError(f"{name!r} cannot be set: {self.error}")
        fields, cells = self.fields, self.cells
        self._changes = {**(self._changes or {}), name: cell}
        if self._views:
            self._views.pop(name, None)
        if cell is None:
            del cells[name]
        else:
            cells[name] = msgspec.Raw(cell)
        if member := self.declared.get(name):
            setattr(fields, name, member.decoded(cells.get(name)))

    def pairs(self) -> list[tuple[str, bytes]]:
        """All members as (name, value's bytes), repeated ones too, as `dump` would write them."""
        return [] if self.error else list(jsonio.members(self.dump()))

    def view(self, name: str, make: Callable[[Bytes], N], opening: bytes) -> N | None:
        """The declared member as a node; None unless it begins with `opening`."""
        found: Any = getattr(self.fields, name)
        if found is None or isinstance(found, Node):
            return found  # type: ignore[return-value]  # what an earlier call made
        node = self.keep(name, make(found)) if opens(found, opening) else None
        setattr(self.fields, name, node)
        return node

    def seen(self, name: str) -> Node | None:
        """The node that stands for the member, when there is one already."""
        return self._views.get(name) if self._views else None

    def keep(self, name: str, node: N) -> N:
        """Remember a node as what stands for the member: its edits are this object's too."""
        if self._views is None:
            self._views = {}
        self._views[name] = node
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

    def dump(self) -> bytes:
        """Raises NotExact."""
        raise NotExact(f"{self.name} was not loaded: {self.error}")


class Member(property, Generic[T]):
    """A declared member: its name on the wire, the type that fits it, and what it reads as when none does.

    A property that looks into the decoded fields; lists and objects are the same ones at each reading, so
    assign to the member to change it.
    """

    def __init__(
        self,
        name: str,
        kind: Any,
        fits: Callable[[Any], bool],
        empty: Any = None,
        *,
        get: Callable[[Object], T] | None = None,
    ) -> None:
        super().__init__(get or attrgetter(f"fields.{name}"), lambda owner, to: owner.__setitem__(name, to))
        self.name = name
        self.kind = kind
        self.fits = fits
        self.empty = empty

    if TYPE_CHECKING:

        @overload  # type: ignore[override]  # for the type checker, what `property` does
        def __get__(self, owner: None, kind: type) -> Self: ...
        @overload
        def __get__(self, owner: Object, kind: type) -> T: ...
        def __get__(self, owner: Object | None, kind: type) -> Self | T: ...
        def __set__(self, owner: Object, value: T) -> None: ...

    @property
    def default(self) -> Any:
        """What the fields hold for an absent member."""
        return None if self.kind is msgspec.Raw else self.empty

    def decoded(self, cell: Bytes | None) -> Any:
        """What the fields hold for a member's bytes."""
        return cell if self.kind is msgspec.Raw else self.value(cell)

    def value(self, cell: Bytes | None) -> Any:
        """The member's value, the empty one when it is absent or of another type."""
        if cell is None:
            return copy(self.empty)
        value = _decoded(cell)
        return value if self.fits(value) else copy(self.empty)

    def fresh(self, owner: Object) -> T:
        """The value, decoded anew: for what is too long to be kept."""
        cell = getattr(owner.fields, self.name)
        found: T = self.empty if cell is None else self.value(cell)
        return found


def opens(raw: Bytes, byte: bytes) -> bool:
    """Whether a JSON value begins with this byte."""
    view = memoryview(raw)
    if view and view[0] == byte[0]:
        return True
    at = skip_space(view, 0)
    return at > 0 and view[at : at + 1] == byte


def _decoded(cell: Bytes) -> Any:
    """A member's value; the fast way does not copy its bytes first."""
    try:
        return _read_value(cell)
    except (ValueError, RecursionError):
        return jsonio.loads(bytes(cell))


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
