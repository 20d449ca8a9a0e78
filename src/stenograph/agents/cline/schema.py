"""Checks a tool's input against its JSON Schema, as far as tools use it.

Known: type, enum, const, properties, required, additionalProperties, items, anyOf, oneOf, allOf, the
bounds of numbers, strings and lists. Other keywords demand nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

from stenograph.agents.cline import javascript


def find_fault(value: Any, schema: Mapping[str, Any], *, path: str = "input") -> str | None:
    """What is wrong with the value, in one line that names the place; None when nothing is."""
    return next(_faults(value, schema, path), None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_KINDS: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": _is_number,
    "integer": lambda value: _is_number(value) and value % 1 == 0,
}


def _faults(value: Any, schema: Any, path: str) -> Iterator[str]:
    if not isinstance(schema, Mapping):
        if schema is False:
            yield f"{path} is not allowed"
        return
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_KINDS.get(kind, lambda _: True)(value) for kind in kinds):
        yield f"{path} must be {' or '.join(kinds)}"
        return
    yield from _wrong_choice(value, schema, path)
    yield from _wrong_branch(value, schema, path)
    if isinstance(value, dict):
        yield from _wrong_members(value, schema, path)
    elif isinstance(value, list):
        yield from _wrong_items(value, schema, path)
    elif isinstance(value, str):
        yield from _out_of_bounds(len(value), schema, ("minLength", "maxLength"), f"the length of {path}")
    elif _is_number(value):
        yield from _out_of_bounds(value, schema, ("minimum", "maximum"), path)


def _wrong_choice(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    choices = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(choices, list) and not any(_same(value, choice) for choice in choices):
        yield f"{path} must be {' or '.join(javascript.stringify(choice) for choice in choices)}"


def _same(value: Any, choice: Any) -> bool:
    return value == choice and isinstance(value, bool) is isinstance(choice, bool)


def _wrong_branch(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    for branch in schema.get("allOf", ()):
        yield from _faults(value, branch, path)
    for keyword in ("anyOf", "oneOf"):
        branches = schema.get(keyword, ())
        found = [next(_faults(value, branch, path), None) for branch in branches]
        if found and all(found):
            yield f"{found[0]}" if len(found) == 1 else f"{path} fits none of the forms it may have"


def _wrong_members(value: dict[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path}.{name} is missing"
    others = schema.get("additionalProperties", True)
    for name, member in value.items():
        yield from _faults(member, properties.get(name, others), f"{path}.{name}")


def _wrong_items(value: list[Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    yield from _out_of_bounds(len(value), schema, ("minItems", "maxItems"), f"the number of items of {path}")
    items = schema.get("items", True)
    yield from chain.from_iterable(_faults(item, items, f"{path}[{at}]") for at, item in enumerate(value))


def _out_of_bounds(
    size: float, schema: Mapping[str, Any], names: tuple[str, str], what: str
) -> Iterator[str]:
    least, most = schema.get(names[0]), schema.get(names[1])
    if least is not None and size < least:
        yield f"{what} must be at least {javascript.number(least)}"
    if most is not None and size > most:
        yield f"{what} must be at most {javascript.number(most)}"
