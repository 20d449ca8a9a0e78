"""Members of odd types and sizes cost themselves, never the record or the run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from recordings import NOON, Recording, recordings
from stenograph import EventParser, detect, encode
from stenograph.detection import Detector
from stenograph.errors import NotRecognized
from stenograph.event import Agent, Unknown, decode
from stenograph.fields import amount, count
from stenograph.registry import ALIASES
from stenograph.tally import Tally

ODD: list[Any] = [None, True, [], {}, [{}], "", "\ud800", -1, 1.5, 2**64, 10**3998, -(10**3998)]
HUGE = 10**3998


def one_of_each_format() -> list[Recording]:
    """The shortest recording of each format that has calls in it."""
    shortest: dict[str, Recording] = {}
    for recording in sorted(recordings(), key=lambda one: len(one.stdout)):
        if b"tool" in recording.stdout or b"command" in recording.stdout:
            shortest.setdefault(ALIASES.get(recording.format, recording.format), recording)
    return list(shortest.values())


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a JSON value as a container and the key or position in it."""
    for key, member in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(member, dict | list):
            yield from places(member)


def spoilt(recording: Recording) -> Iterator[bytes]:
    """The recording with each line's members replaced, one odd value at a time going round."""
    turn = 0
    for line in recording.stdout.split(b"\n"):
        if not line.startswith(b"{") or len(line) > 4000:
            yield line
            continue
        try:
            record = json.loads(line)
        except ValueError:
            yield line
            continue
        for container, key in places(record):
            turn += 1
            kept, container[key] = container[key], ODD[turn % len(ODD)]
            yield json.dumps(record).encode()
            container[key] = kept


@pytest.mark.parametrize("recording", one_of_each_format(), ids=lambda one: one.format)
@pytest.mark.parametrize("profile", ["standard", "extended"])
def test_an_odd_value_in_any_place(recording: Recording, profile: Any) -> None:
    data = b"\n".join(spoilt(recording))
    tally = Tally()
    parser = EventParser(recording.format, now=lambda: NOON, profile=profile, detail=True, watch=tally.entry)
    events = parser.feed(data) + parser.close(1)
    for event in events:
        line = encode(event)
        assert b"\n" not in line
        assert encode(decode(line)) == line
    assert len(events) > 10


@pytest.mark.parametrize("kind", [b"[]", b"{}", b"3", b"null", b'"\\ud800"'])
def test_a_type_that_is_no_text_is_of_no_format(kind: bytes) -> None:
    with pytest.raises(NotRecognized):
        detect(b'{"type":' + kind + b"}\n")


@pytest.mark.parametrize("attempts", [{}, {"attempt": [1]}, {"attempt": int("9" * 4200), "maxAttempts": 3}])
def test_a_retry_that_tells_no_number(attempts: dict[str, Any]) -> None:
    parser = EventParser("pi", now=lambda: NOON)
    record = {"type": "auto_retry_start", "errorMessage": "busy", **attempts}
    (event,) = parser.feed(json.dumps(record) + "\n")
    assert getattr(event, "message", None) == "api retry: busy"


def test_an_amount_is_one_that_can_be_added_up() -> None:
    assert [amount(told) for told in (0, 0.25, -3, 1e299, HUGE, -HUGE, True, "1")] == [
        *(0, 0.25, -3, 1e299),
        *(None, None, None, None),
    ]


def test_a_count_is_one_that_can_be_written() -> None:
    assert [count(told) for told in (0, 7, 2**63 - 1, 2**63, HUGE, -1, 1.0, True)] == [
        *(0, 7, 2**63 - 1),
        *(None, None, None, None, None),
    ]


def test_the_format_does_not_hang_on_the_chunks() -> None:
    """Records of two programs that are both beyond doubt: the first one counts."""
    pi = b'{"type":"session","id":"s","cwd":"/w"}\n'
    claude = b'{"type":"system","subtype":"init","session_id":"s","claude_code_version":"2"}\n'
    for data, name in ((pi + claude, "pi-stream"), (claude + pi, "claude-stream")):
        assert [told_in_chunks(data, size) for size in (1, 7, len(data))] == [name] * 3


def told_in_chunks(data: bytes, size: int) -> str:
    detector = Detector()
    for at in range(0, len(data), size):
        if told := detector.feed(data[at : at + size]):
            return told
    return detector.close()


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"unknown","raw":"\\ud800"}',
        b'{"type":"unknown","raw":{"\\ud800":1}}',
        b'{"type":"agent","message":"a\\udfffb"}',
        b'{"type":"unknown","raw":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"type":"unknown","raw":' + b"9" * 5000 + b"}",
    ],
    ids=["surrogate", "surrogate in a name", "surrogate in a message", "deep", "long number"],
)
def test_our_own_events_are_read_back(line: bytes) -> None:
    event = decode(line)
    assert isinstance(event, Agent | Unknown)
    assert encode(event) == line


@pytest.mark.parametrize(
    "line", [b'{"type":"agent","message":"\\ud800"} x', b'{"type":"agent","text":"\\ud800"}', b"", b"3"]
)
def test_what_is_no_event_of_ours(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(line)
