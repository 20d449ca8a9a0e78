"""Objects and arrays as views over bytes: what is read, what comes back, what an edit changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stenograph.document import Array, Object
from stenograph.errors import NotExact, UsageError
from stenograph.members import Bulk, Child, Children, Flag, Prose, Text, Texts, Value


class Leaf(Object):
    name = Text("name")


class Tree(Object):
    text = Prose("text")
    input = Bulk("input")
    name = Text("name")
    is_old = Flag("isOld")
    tags = Texts("tags")
    ts = Value("ts")
    leaf = Child("leaf", Leaf)
    leaves = Children("leaves", Leaf)


ODD = (
    b'{ "name" : "\\u00e9\\/" ,"n":12.0,"e":1e3,"f":0.12345678901234567,"big":36893488147419103232,'
    b'"huge":1e400,"lone":"\\ud83d","name":"last","isOld":null,"ts":-0, "bad":"\xff" }'
)


def test_what_is_not_edited_comes_back_byte_for_byte() -> None:
    tree = Tree(ODD)
    assert (tree.name, tree["n"], tree["lone"], tree["bad"]) == ("last", 12.0, "\ud83d", "\ufffd")
    assert tree.dump() == ODD


def test_an_edit_leaves_every_other_byte_alone() -> None:
    tree = Tree(ODD)
    tree.name = "new"
    assert tree.name == "new"
    assert tree.dump() == ODD.replace(b'"last"', b'"new"')


def test_the_last_of_repeated_members_is_read_and_edited_and_all_are_listed() -> None:
    tree = Tree(b'{"ts":1,"ts":2,"ts":3}')
    assert tree.ts == 3
    tree.ts = 4
    assert tree.dump() == b'{"ts":1,"ts":2,"ts":4}'
    assert tree.pairs() == [("ts", b"1"), ("ts", b"2"), ("ts", b"4")]


def test_a_member_is_deleted_with_all_its_repeats() -> None:
    tree = Tree(b'{ "ts":1, "a":2, "ts":3, "b":4 }')
    del tree["ts"]
    assert tree.dump() == b'{ "a":2, "b":4 }'
    assert "ts" not in tree
    with pytest.raises(KeyError):
        del tree["ts"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"{}", b'{"ts":5}'),
        (b"{ }", b'{"ts":5 }'),
        (b'{"a":1}', b'{"a":1,"ts":5}'),
        (b'{"a": 1, "b": 2}', b'{"a": 1, "b": 2, "ts": 5}'),
        (b'{\n  "a": 1\n}\n', b'{\n  "a": 1,\n  "ts": 5\n}\n'),
    ],
)
def test_a_member_is_added_in_the_manner_of_the_others(before: bytes, after: bytes) -> None:
    tree = Tree(before)
    tree.ts = 5
    assert tree.dump() == after


def test_edits_of_nested_objects_are_the_owners() -> None:
    tree = Tree(b'{"leaf": {"name": "a", "x": 1.0}, "leaves": [ {"name":"b"} , {"name":"c"}]}')
    assert tree.leaf
    tree.leaf.name = "A"
    tree.leaves[1].name = "C"
    assert tree.dump() == b'{"leaf": {"name": "A", "x": 1.0}, "leaves": [ {"name":"b"} , {"name":"C"}]}'


def test_a_list_of_objects_may_be_changed() -> None:
    tree = Tree(b'{"leaves": [ {"name":"b"}, {"name":"c"} ]}')
    tree.leaves.insert(0, Leaf(b'{"name":"a"}'))
    del tree.leaves[2]
    assert tree.dump() == b'{"leaves": [ {"name":"a"}, {"name":"b"} ]}'
    absent = Tree(b"{}")
    absent.leaves.append(Leaf(b"{}"))
    assert absent.dump() == b'{"leaves":[{}]}'


def test_what_differs_from_the_declaration_is_told() -> None:
    tree = Tree(b'{"name":5,"isOld":null,"tags":["a",1],"leaf":{},"x":[1],"leaves":{}}')
    assert (tree.name, tree.is_old, tree.tags, tree.leaves) == ("", False, [], [])
    assert tree.present == {"name", "isOld", "tags", "leaf", "leaves"}
    assert tree.nulls == {"isOld"}
    assert tree.misfits == {"name", "tags", "leaves"}
    assert tree.undeclared == {"x": [1]}
    assert tree.error is None


@pytest.mark.parametrize("raw", [b"5", b'"x"', b"[{}]", b"null", b"true"])
def test_what_is_no_object_is_kept_with_its_error(raw: bytes) -> None:
    tree = Tree(raw)
    assert tree.error == "not an object"
    assert (tree.name, tree.ts, tree.leaf, tree.undeclared, tree.pairs()) == ("", None, None, {}, [])
    assert tree.dump() == raw
    with pytest.raises(UsageError):
        tree.name = "x"


def test_nesting_of_any_depth_is_read() -> None:
    deep = b'{"name":"x","deep":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    tree = Tree(deep)
    assert tree.name == "x"
    tree.name = "y"
    assert tree.dump() == deep.replace(b'"x"', b'"y"')
    assert Array.parse(b"[" + deep + b"]", Tree).elements[0].name == "x"


def test_a_list_with_damage_takes_edits_but_no_moves() -> None:
    array = Array.parse(b'[{"ts":1},@,{"ts":2}]', Tree)
    array.elements[1].ts = 3
    assert array.dump() == b'[{"ts":1},@,{"ts":3}]'
    array.elements.pop()
    with pytest.raises(NotExact):
        array.dump()


def test_an_array_that_is_absent_has_no_name_and_no_units() -> None:
    array: Array[Tree] = Array(b"", [])
    assert (array.present, array.units, array.error, array.dump()) == (False, 0, None, b"")


def test_spans_are_the_elements_bytes() -> None:
    data = b' [ {"ts":1} , 5,\n{"ts":2}] '
    array = Array.parse(data, Tree)
    assert [data[start:end] for start, end in array.spans] == [b'{"ts":1}', b"5", b'{"ts":2}']


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
NAMES = ["a", "b", "ts", "name"]


@given(
    members=st.lists(st.tuples(st.sampled_from(NAMES), JSON), max_size=5),
    edits=st.lists(st.tuples(st.sampled_from(NAMES), st.none() | JSON), max_size=4),
    indent=st.sampled_from([None, 2]),
)
@settings(max_examples=200, deadline=None)
def test_edited_objects_have_the_edited_value(
    members: list[tuple[str, Any]], edits: list[tuple[str, Any]], indent: int | None
) -> None:
    gap = "\n  " if indent else ""
    inner = ",".join(f"{gap}{json.dumps(name)}: {json.dumps(value)}" for name, value in members)
    tree, expected = Tree(f"{{{inner}}}".encode()), dict(members)
    for name, value in edits:
        if value is None and name in tree:
            del tree[name]
            expected.pop(name)
        elif value is not None:
            tree[name] = value
            expected[name] = value
    assert json.loads(tree.dump()) == expected


def test_what_may_be_long_is_decoded_at_each_reading() -> None:
    tree = Tree(b'{"text":"long","input":{"a":[1]},"name":5}')
    assert (tree.text, tree.input, tree.misfits) == ("long", {"a": [1]}, {"name"})
    assert tree.input is not tree.input
    tree.text, tree.input = "longer", None
    assert (tree.text, tree.input) == ("longer", None)
    assert tree.dump() == b'{"text":"longer","input":null,"name":5}'
    assert (Tree(b"{}").text, Tree(b'{"text":1,"input":null}').text) == ("", "")
    del tree["text"]
    assert (tree.text, Tree(b"{}").input) == ("", None)


def test_a_whole_object_decodes_with_its_edits() -> None:
    tree = Tree(ODD)
    assert tree.decode() == {name: tree[name] for name in tree.cells}
    tree.name = "new"
    del tree["n"]
    assert tree.decode() == {name: tree[name] for name in tree.cells}
    assert (tree.decode()["name"], "n" in tree.decode()) == ("new", False)
    assert Tree(b"5").decode() == {}
