"""Canonical JSON (RFC 8785) against PyPI rfc8785, and where that refuses what the format allows."""

import json
import struct

import msgspec
import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from stenograph import jsonio

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = st.none() | st.booleans() | TEXT | st.integers(-(2**53) + 1, 2**53 - 1)
VALUES = st.recursive(
    SCALARS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None, max_examples=150)
@given(VALUES)
def test_it_is_what_the_library_gives(value):
    assert jsonio.canonical(value) == rfc8785.dumps(value)


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 2**64 - 1))
def test_every_number_is_spelled_as_the_library_spells_it(bits):
    (number,) = struct.unpack(">d", struct.pack(">Q", bits))
    if number != number or number in (float("inf"), float("-inf")):
        with pytest.raises(ValueError, match="not finite"):
            jsonio.canonical(number)
        return
    spelled = jsonio.canonical(number)
    assert spelled == rfc8785.dumps(number)
    assert float(spelled) == number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1152921504606847000, b"1152921504606847000"),
        (1152921504606846976, b"1152921504606847000"),
        (10**21, b"1e+21"),
        (-(2**53), b"-9007199254740992"),
        ({"\U0001f600": 1, "\ufb33": 2, "\r": 3, "1": 4, "é": 5}, None),
        ({"a": {"\U0001f600": 1.0, "\uffff": [2.5]}}, '{"a":{"\U0001f600":1,"\uffff":[2.5]}}'.encode()),
        (-0.0, b"0"),
    ],
)
def test_odd_values(value, text):
    expected = (
        text
        or json.dumps(
            dict(sorted(value.items(), key=lambda each: each[0].encode("utf-16-be"))),
            ensure_ascii=False,
            separators=(",", ":"),
        ).encode()
    )
    assert jsonio.canonical(value) == expected


@pytest.mark.parametrize("value", [9007199254740993, 10**400, "\ud800", {"\ud800": 1}, msgspec.Raw(b"1e400")])
def test_what_has_no_canonical_form_is_refused(value):
    with pytest.raises(ValueError):  # noqa: PT011 - each with words of its own
        jsonio.canonical([value])
