"""What every recording must obey, ours and those of STENOGRAPH_EXTRA_DATA."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from recordings import DATA, NOON, PROFILES, Recording, lines, play, recordings
from stenograph import EventParser, NotRecognized, detect
from stenograph.event import decode, encode
from stenograph.framing import Lines
from stenograph.registry import canonical, stream

ALL = recordings()
OURS = [recording for recording in ALL if DATA in recording.beside.parents]
DETAIL = {"origin", "callId", "tool", "subagent", "durationMs"}

each = pytest.mark.parametrize("recording", ALL, ids=lambda recording: recording.name)
each_profile = pytest.mark.parametrize("profile", PROFILES)


@pytest.mark.parametrize("recording", OURS, ids=lambda recording: recording.name)
@each_profile
def test_the_events_are_the_expected_ones(recording: Recording, profile: str) -> None:
    assert lines(play(recording, profile=profile)) == recording.expected(profile).read_bytes()


@pytest.mark.parametrize("recording", OURS, ids=lambda recording: recording.name)
def test_only_claude_and_cline_have_two_profiles(recording: Recording) -> None:
    if recording.format.split("-")[0] not in ("claude", "cline"):
        assert recording.expected("standard").read_bytes() == recording.expected("extended").read_bytes()


@each
@each_profile
def test_events_do_not_depend_on_chunks(recording: Recording, profile: str) -> None:
    whole = lines(play(recording, profile=profile))
    for size in (1, 7, 4096) if len(recording.stdout) < 40_000 else (61, 4096):
        assert lines(play(recording, profile=profile, chunk=size)) == whole


@each
def test_the_spans_of_the_lines_make_up_the_input(recording: Recording) -> None:
    framing = Lines()
    found = [*framing.feed(recording.stdout), *framing.flush()]
    ends = [line.offset + line.length for line in found]
    starts = [line.offset for line in found[1:]] + [len(recording.stdout)] * bool(found)
    assert [line.number for line in found] == list(range(1, len(found) + 1))
    assert all(start - end in (0, 1) for start, end in zip(starts, ends, strict=True))
    assert all(recording.stdout[line.offset :][: line.length] == line.data for line in found)


@each
@each_profile
def test_a_cut_stream_gives_a_prefix(recording: Recording, profile: str) -> None:
    whole = [encode(event) for event in _fed(recording, recording.stdout, profile)]
    rng = random.Random(recording.name)
    cuts = {rng.randrange(len(recording.stdout) + 1) for _ in range(12)}
    for cut in cuts:
        part = [encode(event) for event in _fed(recording, recording.stdout[:cut], profile)]
        assert part == whole[: len(part)]


@each
def test_detail_only_adds_members(recording: Recording) -> None:
    for profile in PROFILES:
        plain = [json.loads(encode(event)) for event in play(recording, profile=profile)]
        detailed = [json.loads(encode(event)) for event in play(recording, profile=profile, detail=True)]
        assert [_without(event, DETAIL) for event in detailed] == plain


@each
def test_an_origin_is_the_place_of_a_record(recording: Recording) -> None:
    parser = EventParser(recording.format, now=lambda: NOON, profile="extended", detail=True)
    rows = recording.stdout.split(b"\n")
    for event in parser.feed(recording.stdout):
        assert event.origin is not None
        span = recording.stdout[event.origin.offset :][: event.origin.length]
        assert span
        assert span in rows[event.origin.line - 1]


@each
def test_the_session_is_on_every_event_from_its_first(recording: Recording) -> None:
    told = [event.session_id for event in play(recording)]
    known = next((at for at, session in enumerate(told) if session), len(told))
    assert len(set(told[known:])) <= 1


@each
def test_shapes_change_no_event(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    with_shapes = [lines(play(recording, profile=profile, detail=True)) for profile in PROFILES]
    monkeypatch.setattr(stream(recording.format), "shapes", {})
    assert [lines(play(recording, profile=profile, detail=True)) for profile in PROFILES] == with_shapes


@each
def test_our_own_json_comes_back(recording: Recording) -> None:
    for event in play(recording, profile="extended", detail=True):
        assert encode(decode(encode(event))) == encode(event)


@each
def test_the_format_is_recognized(recording: Recording) -> None:
    if _is_either_twin(recording):
        with pytest.raises(NotRecognized, match="opencode-stream or kilo-stream"):
            detect(recording.stdout)
    elif recording.stdout.strip():
        assert detect(recording.stdout) == canonical(recording.format)


def _is_either_twin(recording: Recording) -> bool:
    """OpenCode and its fork Kilo print the same records as long as no step has ended."""
    twins = recording.format.split("-")[0] in ("opencode", "kilo")
    return twins and bool(recording.stdout.strip()) and b'"type":"step_finish"' not in recording.stdout


@each
def test_no_damage_raises(recording: Recording) -> None:
    rng = random.Random(recording.name)
    for damaged in _damaged(recording.stdout, rng):
        for profile in PROFILES:
            parser = EventParser(recording.format, now=lambda: NOON, profile=profile, detail=True)
            for event in parser.feed(damaged) + parser.flush() + parser.close(1):
                json.loads(encode(event))


def _damaged(data: bytes, rng: random.Random) -> Iterator[bytes]:
    for _ in range(6):
        broken = bytearray(data)
        for _ in range(rng.randrange(1, 20)):
            at = rng.randrange(len(broken) + 1)
            match rng.randrange(4):
                case 0:
                    broken[at : at + 1] = bytes([rng.randrange(256)])
                case 1:
                    del broken[at : at + rng.randrange(40)]
                case 2:
                    broken[at:at] = rng.choice(
                        [b"\n", b"{", b'"', b"\xff", b"\x1b[31m", b"[", b"null", b"\\"]
                    )
                case _:
                    source = rng.randrange(len(data) + 1)
                    broken[at:at] = data[source : source + rng.randrange(200)]
        yield bytes(broken)


def _fed(recording: Recording, data: bytes, profile: str) -> list[Any]:
    parser = EventParser(recording.format, now=lambda: NOON, profile=profile)
    return parser.feed(data)


def _without(event: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in names}
