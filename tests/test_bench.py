"""The made-up streams of the benchmark are what the benchmark says they are."""

import itertools
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
import generate
from longrun.streams import STREAMS, Stream

from recordings import NOON, PROFILES, recordings
from stenograph import EventParser, detect, encode
from stenograph.event import Unknown
from stenograph.registry import stream as reader_of


def lines(make, count: int) -> list[bytes]:
    return [generate.line(record) for record in itertools.islice(make(), count)]


@pytest.mark.parametrize("make", [generate.mixed, generate.deltas])
def test_the_same_seed_gives_the_same_bytes(make):
    assert lines(make, 300) == lines(make, 300)


def test_a_line_of_the_mixed_stream_has_4_kb_on_average():
    made = lines(generate.mixed, 3000)
    assert 3500 < sum(map(len, made)) / len(made) < 4500
    assert max(map(len, made)) > 50_000


def test_deltas_are_most_of_the_partial_stream_and_260_bytes_long():
    made = [line for line in lines(generate.deltas, 3000) if b'"content_block_delta"' in line]
    assert len(made) > 2000
    assert 240 < sum(map(len, made)) / len(made) < 280


@pytest.mark.parametrize("make", [generate.mixed, generate.deltas])
def test_each_call_has_its_answer(make):
    text = b"".join(lines(make, 2000)).decode()
    blocks = [
        block
        for record in map(json.loads, text.splitlines())
        if isinstance(record.get("message"), dict)
        for block in record["message"]["content"]
    ]
    called = [block["id"] for block in blocks if block["type"] == "tool_use"]
    answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert len(called) > 10
    assert answered == called[: len(answered)]
    assert len(called) - len(answered) <= 1


LONG_RUNS = [made for made in STREAMS if made.format != "generic"]
each_run = pytest.mark.parametrize("made", LONG_RUNS, ids=lambda made: made.name)


def read(made: Stream, data: bytes, profile: str = "standard") -> EventParser:
    parser = EventParser(made.format, now=lambda: NOON, profile=profile, detail=True)
    parser.events = parser.feed(data) + parser.close()
    return parser


@each_run
def test_a_long_run_is_the_same_each_time_and_recognized(made: Stream):
    assert lines(made.records, 200) == lines(made.records, 200)
    assert detect(b"".join(lines(made.records, 200))) == made.format


@each_run
def test_nothing_in_a_long_run_is_unknown_but_what_the_standard_profile_of_cline_calls_so(made: Stream):
    for profile in PROFILES:
        parser = read(made, b"".join(lines(made.records, 1500)), profile)
        unknown = [json.loads(encode(event)) for event in parser.events if isinstance(event, Unknown)]
        cline = made.format == "cline-stream" and profile == "standard"
        assert {event["raw"].get("type") for event in unknown} == ({"content_update"} if cline else set())
        assert {note.code for note in parser.report.notes} == ({"unknown-record"} if cline else set())


@each_run
def test_a_long_run_tells_all_that_a_run_does(made: Stream):
    """Thoughts are no part of what Gemini CLI prints; Cline's usage is an event of the extended profile."""
    events = read(made, b"".join(lines(made.records, 3000)), "extended").events
    kinds = Counter(event.__struct_config__.tag for event in events)
    told = {"agent", "reasoning", "read", "write", "command", "usage"}
    assert told - kinds.keys() <= ({"reasoning"} if made.format == "gemini-stream" else set())


@each_run
def test_records_of_a_long_run_have_the_members_that_recorded_ones_have(made: Stream):
    """Every object in them has the members of one at the same place of some recording, in that order."""
    own = [recording for recording in recordings() if reader_of(recording.format) is reader_of(made.format)]
    rows = [row for recording in own for row in recording.stdout.split(b"\n") if row.startswith(b"{")]
    known = {place for row in rows for place in places(json.loads(row))}
    assert {place for row in lines(made.records, 1500) for place in places(json.loads(row))} <= known


def places(value: Any, path: str = "") -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each object's path and members, but for what differs from tool to tool."""
    if isinstance(value, dict):
        yield path, tuple(value)
        for name, member in value.items():
            if name not in {"input", "args", "arguments", "parameters", "metadata"}:
                yield from places(member, f"{path}/{name}")
    elif isinstance(value, list):
        for element in value:
            yield from places(element, f"{path}/*")


@each_run
def test_shapes_change_nothing_in_a_long_run(made: Stream, monkeypatch: pytest.MonkeyPatch):
    data = b"".join(lines(made.records, 800))
    for profile in PROFILES:
        by_shape = read(made, data, profile)
        with monkeypatch.context() as patch:
            patch.setattr(reader_of(made.format), "shapes", {})
            in_full = read(made, data, profile)
        assert list(map(encode, by_shape.events)) == list(map(encode, in_full.events))
        assert by_shape.usage == in_full.usage
