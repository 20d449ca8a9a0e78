"""Recordings with odd members: whatever stands in a record costs that member, never the run."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from recordings import NOON, PROFILES, Recording, lines, recordings
from stenograph import Event, EventParser, encode
from stenograph.event import decode
from stenograph.meter import Account
from stenograph.registry import stream

ODD: list[Any] = [
    *(None, True, False, 0, -1, 2.0, 1.5, 10**25, 1e300, "", "x", "5", "\ud800", "a\nb"),
    *([], [None], [[1]], ["x"], [{"success": True}], {}, {"a": 1}, {"message": "m"}, {"success": True}),
    *({"error": "x"}, {"type": 5}, {"type": {}}, {"type": "text"}, {"type": "tool_use"}, '{"message":"m"}'),
    {"file": {"filePath": "/a", "numLines": "2"}},
]
SOME = 0.3  # how many records are changed


@pytest.mark.parametrize("recording", recordings(), ids=lambda recording: recording.name)
@pytest.mark.parametrize("profile", PROFILES)
def test_no_odd_member_raises_or_depends_on_shapes(
    recording: Recording, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(recording.name)
    for _ in range(3):
        data = b"".join(_line(record) for record in _changed(recording, rng))
        by_shape, usage = _read(recording, data, profile)
        assert lines([decode(encode(event)) for event in by_shape]) == lines(by_shape)
        with monkeypatch.context() as patch:
            patch.setattr(stream(recording.format), "shapes", {})
            in_full, in_full_usage = _read(recording, data, profile)
            assert lines(in_full) == lines(by_shape)
            assert in_full_usage == usage


def _read(recording: Recording, data: bytes, profile: str) -> tuple[list[Event], Account]:
    parser = EventParser(recording.format, now=lambda: NOON, profile=profile, detail=True)
    events = parser.feed(data) + parser.flush() + parser.close(1)
    return events, parser.usage


def _changed(recording: Recording, rng: random.Random) -> Iterator[Any]:
    for record in _records(recording):
        chance = rng.random()
        if chance > SOME / 10:
            yield _odd(record, rng) if chance < SOME else record
        if chance > 1 - SOME / 10:
            yield record


def _records(recording: Recording) -> Iterator[Any]:
    for row in recording.stdout.split(b"\n"):
        try:
            yield json.loads(row)
        except ValueError:
            continue


def _odd(record: Any, rng: random.Random) -> Any:
    """The record with one of its members gone or replaced."""
    found = copy.deepcopy(record)
    places = list(_places(found))
    if places:
        holder, name = rng.choice(places)
        if isinstance(holder, dict) and rng.random() < SOME:
            del holder[name]
        else:
            holder[name] = copy.deepcopy(rng.choice(ODD))
    return found


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    names: list[Any] = []
    if isinstance(value, dict):
        names = list(value)
    elif isinstance(value, list):
        names = list(range(min(len(value), 4)))
    for name in names:
        yield value, name
        yield from _places(value[name])


def _line(record: Any) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"
