"""What shapes leave undecoded is told apart as if it had been decoded."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenograph import jsonio
from stenograph.shapes import begins, input_of
from stenograph.tools import Tool


class Holder(msgspec.Struct):
    told: msgspec.Raw


def as_raw(value: Any, *, ascii_only: bool) -> msgspec.Raw:
    data = json.dumps({"told": value}, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    return jsonio.decoder(Holder).decode(data).told


@given(st.text() | st.sampled_from(["<file>", "<fil", '"<file>', "\n<file>"]), st.booleans())
def test_a_raw_text_begins_like_the_text(text: str, ascii_only: bool) -> None:
    for how in ("<file>", "", text[:3]):
        if how.isascii() and json.dumps(how) == f'"{how}"':
            raw = as_raw(text.encode("utf-8", "replace").decode(), ascii_only=ascii_only)
            assert begins(raw, how) is text.startswith(how)


@pytest.mark.parametrize("value", [None, 5, ["<file>"], {"<file>": 1}, [], True])
def test_what_is_no_text_begins_like_nothing(value: Any) -> None:
    assert not begins(value, "")
    assert not begins(as_raw(value, ascii_only=True), "")


def test_an_escaped_beginning_is_decoded() -> None:
    raw = jsonio.decoder(Holder).decode(rb'{"told":"\u003cfile>x"}').told
    assert begins(raw, "<file>")


def test_an_input_has_the_members_that_its_tools_ask_for_and_no_others() -> None:
    tools = [Tool(does="write", path=("p",)), Tool(does="list", scope=("where", "p")), Tool(does="silent")]
    decode = jsonio.decoder(input_of(tools, ("name",))).decode
    told = {"p": "/a", "content": "x", "where": 5, "name": [1], "query": "q"}
    assert decode(json.dumps(told)) == {"p": "/a", "where": 5, "name": [1]}
