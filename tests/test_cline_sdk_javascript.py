"""Spelling as JavaScript's: every line of a recording of Node.js."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from stenograph import jsonio
from stenograph.agents.cline import javascript

RECORDED = Path(__file__).parent / "data" / "cline-sdk" / "javascript.jsonl"
LINES = [jsonio.loads(line) for line in RECORDED.read_bytes().splitlines()]

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=())), inner),
    max_leaves=10,
)


@pytest.mark.parametrize(
    "line", LINES, ids=lambda line: line["json"][:40].encode("ascii", "replace").decode()
)
def test_recorded_spelling(line: dict[str, str]) -> None:
    value = jsonio.loads(line["json"].encode("utf-8", "surrogatepass"))
    assert javascript.stringify(value) == line["stringify"]
    assert javascript.stringify([value, {"k": value}]) == f'[{line["stringify"]},{{"k":{line["stringify"]}}}]'
    assert javascript.to_string(value) == line["string"]


def test_what_json_has_no_word_for() -> None:
    assert javascript.stringify([math.nan, math.inf, -math.inf, 10**400]) == "[null,null,null,null]"
    assert javascript.to_string([math.nan, math.inf, -math.inf]) == "NaN,Infinity,-Infinity"
    assert javascript.to_string(UNSET) == "undefined"
    assert javascript.to_string([10**400, -(10**400)]) == "Infinity,-Infinity"
    with pytest.raises(TypeError):
        javascript.stringify({"a": object()})


def test_what_the_decoder_left_as_bytes_is_written_as_it_was() -> None:
    assert javascript.stringify({"10": msgspec.Raw(b"[1.0, 2]")}) == '{"10":[1.0, 2]}'


def test_depth_does_not_matter() -> None:
    deep: Any = 1.0
    for _ in range(50_000):
        deep = [deep]
    text = javascript.stringify(deep)
    assert text == "[" * 50_000 + "1" + "]" * 50_000
    assert javascript.to_string([deep, [[]], 2]) == "1,,2"


@given(ANY_JSON)
@settings(max_examples=200, deadline=None)
def test_the_text_is_json_for_the_same_value(value: Any) -> None:
    again = jsonio.loads(javascript.stringify(value).encode())
    assert javascript.stringify(again) == javascript.stringify(value)
