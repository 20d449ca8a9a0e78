"""Input of an unknown format: the same events as when it is named, however it is cut."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import CLINE, TOOLS
from stenograph import EventParser, encode
from stenograph.cli.recognize import Recognizer

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def make(name: str) -> EventParser:
    return EventParser(name, now=lambda: NOON)


def run(reader, data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    events = [event for a, b in pairwise(places) for event in reader.feed(data[a:b])]
    return [encode(event) for event in events + reader.close()]


@given(st.sampled_from([(TOOLS, "claude"), (CLINE, "cline")]), st.lists(st.integers(0, 10**6), max_size=6))
@settings(max_examples=60, deadline=None)
def test_any_cut_gives_the_events_of_the_named_format(recording, cuts):
    path, name = recording
    data = path.read_bytes()
    reader = Recognizer(make)
    assert run(reader, data, cuts) == run(make(name), data, [])
    assert (reader.doubt, reader.is_blank) == (None, False)
    assert reader.cwd == "/home/dev/app" if name == "claude" else reader.cwd is None


def test_the_first_record_settles_it():
    reader = Recognizer(make)
    first, second = TOOLS.read_bytes().splitlines(keepends=True)[:2]
    reader.feed(first)
    assert reader.cwd == "/home/dev/app"
    assert run(reader, second, []) == run(make("claude"), first + second, [])


@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=4))
@settings(max_examples=100, deadline=None)
def test_what_is_no_known_format_is_kept_as_it_came(data, cuts):
    reader = Recognizer(make)
    given_out = run(reader, data, cuts)
    if reader.is_blank:
        assert given_out == []
    if reader.doubt is not None:
        assert given_out == run(make("generic"), data, [])


@pytest.mark.parametrize("size", [1000, 1_000_000])
def test_the_search_for_a_format_ends(size):
    reader = Recognizer(make)
    line = b"x" * (size - 1) + b"\n"
    events = 0
    for _ in range(5_000_000 // size):
        events += len(reader.feed(line))
    assert reader.doubt is not None
    assert events >= 4_000_000 // size


def test_a_named_format_is_not_searched_for():
    reader = Recognizer(make, format="cline")
    assert run(reader, TOOLS.read_bytes(), []) == run(make("cline"), TOOLS.read_bytes(), [])
