"""Cline's JSON objects as frozen structs: typed members in front, the object they were read from behind.

An attribute has the wire name in snake_case. A member that is absent is UNSET and one that is null is None.
What Cline's types do not know, what has another type than they say and the order of the members are
all kept: the struct holds the object it was made from, and `to_wire` follows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET

from stenograph import jsonio
from stenograph.agents.cline import javascript

W = TypeVar("W", bound="Wire")


class Wire(msgspec.Struct, frozen=True, kw_only=True, eq=False, gc=False, rename="camel"):
    """The base of every object on Cline's wire; `wire` is the object that this one was read from.

    `type` is the wire's discriminator where there is one. Two are equal when their JSON values are.
    """

    wire: Mapping[str, Any] | None = None

    type: ClassVar[str] = ""
    NESTED: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    """How the member of this attribute is read; an attribute that a class lacks is passed over."""
    NEEDS: ClassVar[tuple[str, ...]] = ()
    """Attributes without whose object the record says nothing."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and to_wire(self) == to_wire(other)

    def __hash__(self) -> int:
        return hash(javascript.stringify(to_wire(self)))

    def __repr__(self) -> str:
        members = ((name, getattr(self, name)) for name in _shape(type(self)).attributes.values())
        shown = ", ".join(f"{name}={member!r}" for name, member in members if member is not UNSET)
        return f"{type(self).__name__}({shown})"


class Unknown(Wire, frozen=True, kw_only=True):
    """A record of no known type, or one without the object it is about; `wire` holds all of it."""

    @property
    def type(self) -> Any:  # type: ignore[override]  # elsewhere a constant of the class
        """The record's own `type`, of whatever sort it is."""
        return (self.wire or {}).get("type")

    def __repr__(self) -> str:
        return f"Unknown({self.wire!r})"


class _Shape(NamedTuple):
    attributes: dict[str, str]
    readers: tuple[tuple[str, Callable[[Any], Any]], ...]
    absent: dict[str, Any]


@cache
def _shape(cls: type[Wire]) -> _Shape:
    fields = [field for field in msgspec.structs.fields(cls) if field.name != "wire"]
    names = {field.name for field in fields}
    return _Shape(
        {field.encode_name: field.name for field in fields},
        tuple((name, reader) for name, reader in cls.NESTED.items() if name in names),
        {field.name: UNSET for field in fields if field.required},
    )


def from_wire(cls: type[W], wire: Mapping[str, Any]) -> W:
    """The object as a `cls`; members that `cls` demands and the object lacks are UNSET. Never fails."""
    attributes, readers, absent = _shape(cls)
    members = dict(absent)
    for name, member in wire.items():
        attribute = attributes.get(name)
        if attribute is not None:
            members[attribute] = member
    for attribute, reader in readers:
        if attribute in members:
            members[attribute] = reader(members[attribute])
    return cls(wire=wire, **members)


def reader(cls: type[W]) -> Callable[[Any], W | Any]:
    """What reads a member as a `cls`; a member that is no object stays what it is."""

    def read(member: Any) -> W | Any:
        return from_wire(cls, member) if isinstance(member, dict) else member

    return read


def list_of(element: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What reads a list of such elements; a member that is no list stays what it is."""

    def read(member: Any) -> Any:
        return [element(item) for item in member] if isinstance(member, list) else member

    return read


def variant_of(classes: Mapping[Any, type[Wire]], *, key: str = "type") -> Callable[[Any], Any]:
    """What reads an object as the class that its `key` names, or as `Unknown`; other values stay."""

    def read(member: Any) -> Any:
        if not isinstance(member, dict):
            return member
        kind = member.get(key)
        cls = classes.get(kind) if isinstance(kind, str) else None
        if cls is None:
            return Unknown(wire=member)
        found = from_wire(cls, member)
        whole = all(isinstance(getattr(found, name), Wire) for name in cls.NEEDS)
        return found if whole else Unknown(wire=member)

    return read


def tagged(*classes: type[Wire]) -> dict[str, type[Wire]]:
    """The classes by their `type`."""
    return {cls.type: cls for cls in classes}


def to_wire(value: Wire) -> dict[str, Any]:
    """The JSON object of a struct: members in the order in which they were read, made or declared."""
    attributes = _shape(type(value)).attributes
    built: dict[str, Any] = {}
    if value.wire is None:
        if value.type:
            built["type"] = value.type
    else:
        for name, member in value.wire.items():
            attribute = attributes.get(name)
            current = member if attribute is None else getattr(value, attribute)
            if current is not UNSET:
                built[name] = current if current is member else plain(current)
    for name, attribute in attributes.items():
        if name not in built:
            member = getattr(value, attribute)
            if member is not UNSET:
                built[name] = plain(member)
    return built


def present(**members: Any) -> dict[str, Any]:
    """The members that are not UNSET, by the names given."""
    return {name: member for name, member in members.items() if member is not UNSET}


def plain(value: Any) -> Any:
    """A member as JSON values: structs become objects, all else stays what it is."""
    if isinstance(value, Wire):
        return to_wire(value)
    if isinstance(value, list | tuple) and any(isinstance(item, Wire) for item in value):
        return [plain(item) for item in value]
    return value


def encode(value: Wire) -> bytes:
    """The JSON of a struct, spelled as JavaScript spells it (1.0 as 1, 1e-7, NaN as null)."""
    return javascript.stringify(to_wire(value)).encode()


def parse_object(line: bytes | str) -> dict[str, Any]:
    """The JSON object of one line; raises ValueError when the line holds none."""
    value = jsonio.loads(line.encode() if isinstance(line, str) else line)
    if not isinstance(value, dict):
        raise ValueError("no JSON object")
    return value
