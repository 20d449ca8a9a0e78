"""What holds for events of every format: sessions, times, details, the order at the end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from claude_records import (
    DONE,
    INIT,
    LIMIT,
    answer,
    assistant,
    bash,
    called,
    ended,
    outcome,
    said,
    thought,
    use,
    user,
)
from cline_records import end, say, start
from recordings import NOON
from rules import line
from stenograph import EventParser, encode
from stenograph.errors import UsageError
from stenograph.event import decode


def events(
    parser: EventParser, records: Iterable[Any], *, exit_code: int | None = None
) -> list[dict[str, Any]]:
    """The events of records fed one by one; a pair is a line of standard error."""
    found = []
    for record in records:
        channel, what = ("stderr", record[0]) if isinstance(record, tuple) else ("stdout", record)
        found += parser.feed(line(what), channel)
    found += parser.close(exit_code)
    return [json.loads(encode(event)) for event in found]


def ticking() -> Any:
    """A clock that moves on by one second each time it is read, from 12:00:00 on."""
    seconds = iter(range(1000))
    return lambda: NOON + timedelta(seconds=next(seconds))


def at(second: int) -> str:
    return f"2026-01-01T12:00:{second:02}.000Z"


# Members.


def test_unset_members_are_left_out_and_no_detail_is_given() -> None:
    parser = EventParser("claude", now=lambda: NOON)
    found = events(
        parser,
        [bash("c1", "make"), answer("c1", tool_use_result={"durationMs": 5}), "null", {"type": "later"}],
    )
    assert found == [
        {"type": "command", "timestamp": at(0), "command": "make", "isSuccess": True},
        {"type": "unknown", "timestamp": at(0), "raw": None},
        {"type": "unknown", "timestamp": at(0), "raw": {"type": "later"}},
    ]


def test_token_classes_that_are_not_told_are_null() -> None:
    parser = EventParser("claude", now=lambda: NOON, profile="extended")
    (found,) = events(parser, [ended(usage={"output_tokens": 3})])
    assert found["tokens"] == {"uncachedInput": None, "cachedInput": None, "output": 3, "reasoning": None}


# Sessions.


def test_a_session_is_on_every_event_given_after_it_was_told() -> None:
    parser = EventParser("claude", now=lambda: NOON)
    records = [
        "line",
        said("a"),
        {**INIT, "session_id": ""},
        {**LIMIT, "session_id": 5},
        {**bash("c1", "make"), "session_id": "s1"},
        {**LIMIT, "session_id": "s2"},
        ("oops",),
    ]
    found = [(event["type"], event.get("sessionId")) for event in events(parser, records, exit_code=2)]
    assert found == [
        ("warning", None),
        ("agent", None),
        ("warning", None),
        ("warning", "s1"),
        ("warning", "s1"),
        ("command", "s1"),
        ("error", "s1"),
    ]
    assert parser.session_id == "s1"


def test_a_joined_text_has_the_session_told_before_it_was_given() -> None:
    parser = EventParser("claude", now=lambda: NOON)
    found = events(parser, [said("a"), {**said("b"), "session_id": "s"}])
    assert [event["sessionId"] for event in found] == ["s"]


@pytest.mark.parametrize(
    ("form", "record"),
    [
        ("claude", {"type": "stream_event", "session_id": "s"}),
        ("claude", {**INIT, "session_id": "s"}),
        ("cline", {"type": "hook_event", "sessionId": "s"}),
        ("cline", {"type": "run_result", "finishReason": "completed", "sessionId": "s"}),
    ],
)
def test_a_session_told_by_a_record_that_gives_no_event(form: str, record: dict[str, Any]) -> None:
    parser = EventParser(form, now=lambda: NOON)
    (found,) = events(parser, [record], exit_code=1)
    assert (found["type"], found["sessionId"]) == ("error", "s")


def test_a_session_is_on_what_flush_gives() -> None:
    parser = EventParser("claude", now=lambda: NOON)
    parser.feed(line(said("a")) + line({"type": "stream_event", "session_id": "s"}))
    assert [event.session_id for event in parser.flush()] == ["s"]


# Times.


def test_events_have_the_time_at_which_their_record_was_observed() -> None:
    parser = EventParser("claude", now=ticking())
    records = [said("a"), said("b"), "line", thought("t"), INIT, LIMIT]
    found = [(event["timestamp"], event["message"]) for event in events(parser, records)]
    assert found == [
        (at(2), "line"),
        (at(3), "t"),
        (at(3), "a\n\nb"),
        (at(5), "rate limit: rejected"),
    ]


def test_a_call_has_the_time_of_its_result_and_without_one_that_of_the_close() -> None:
    parser = EventParser("claude", now=ticking())
    found = events(parser, [bash("c1", "make"), bash("c2", "test"), answer("c1")], exit_code=1)
    assert [(event["timestamp"], event["type"]) for event in found] == [
        (at(2), "command"),
        (at(3), "command"),
        (at(3), "error"),
    ]


def test_a_skill_has_the_time_of_the_record_that_shows_its_folder() -> None:
    shown = user({"type": "text", "text": "Base directory for this skill: /s"})
    for follows, second in ((shown, 2), (LIMIT, 1)):
        parser = EventParser("claude", now=ticking(), profile="extended")
        found = events(parser, [called("k", "Skill", skill="s"), answer("k"), follows])
        assert [event["timestamp"] for event in found if event["type"] == "skill"] == [at(second)]


def test_the_records_own_times() -> None:
    parser = EventParser("claude", now="record")
    records = [
        {**said("a"), "timestamp": "2025-05-05T10:00:00+02:00"},
        {**said("b"), "timestamp": "2025-05-05T08:00:01.5Z"},
        {**said("c", "n"), "timestamp": "2025-05-05T08:00:02.123456Z"},
        DONE,
        "line",
        {**LIMIT, "timestamp": "never"},
        {**LIMIT, "timestamp": "0001-01-01T00:00:00+14:00"},
        {**LIMIT, "timestamp": "2025-05-05T08:00:09"},
    ]
    found = [(event["timestamp"], event["type"]) for event in events(parser, records, exit_code=1)]
    assert found == [
        ("2025-05-05T08:00:01.500Z", "agent"),
        ("2025-05-05T08:00:02.123Z", "agent"),
        ("2025-05-05T08:00:02.123Z", "warning"),
        ("2025-05-05T08:00:02.123Z", "warning"),
        ("2025-05-05T08:00:02.123Z", "warning"),
        ("2025-05-05T08:00:09.000Z", "warning"),
        ("2025-05-05T08:00:09.000Z", "error"),
    ]


def test_without_any_time_of_a_record_the_clock_counts() -> None:
    before = datetime.now(UTC)
    parser = EventParser("claude", now="record")
    (found,) = events(parser, [LIMIT])
    assert before - timedelta(seconds=1) <= datetime.fromisoformat(found["timestamp"]) <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("ts", "spelled"),
    [
        (1773780171439, "2026-03-17T20:42:51.439Z"),
        ("2026-03-17T20:42:51.439Z", "2026-03-17T20:42:51.439Z"),
    ],
)
def test_the_times_of_cline_records(ts: Any, spelled: str) -> None:
    parser = EventParser("cline", now="record")
    (found,) = events(parser, [{"ts": ts, "type": "say", "say": "text", "text": "a"}])
    assert found["timestamp"] == spelled


@pytest.mark.parametrize("ts", [10**30, -(10**30), True, "soon", None, [1], 1e400])
def test_times_that_are_none(ts: Any) -> None:
    parser = EventParser("cline", now="record")
    (found,) = events(parser, [{"ts": ts, "type": "say", "say": "text", "text": "a"}])
    assert found["timestamp"].endswith("Z")


# Details.


def detailed(
    records: Iterable[Any], *, form: str = "claude", profile: str = "standard"
) -> list[dict[str, Any]]:
    """The detail members of each event, its type or action first."""
    parser = EventParser(form, now=lambda: NOON, profile=profile, detail=True)
    found = []
    for event in events(parser, records):
        kept = {"is": event.get("action", event["type"])}
        kept |= {name: event[name] for name in ("callId", "tool", "subagent", "durationMs") if name in event}
        kept |= {"line": event["origin"]["line"]} if "origin" in event else {}
        found.append(kept)
    return found


def test_details_of_a_call_and_of_a_text() -> None:
    records = [
        said("a"),
        said("b"),
        called("c1", "Read", file_path="/a"),
        bash("c2", "make", "T"),
        answer("c1", tool_use_result={"durationMs": 7}),
        said("x", "n", "T"),
        answer("c2", thread="T", tool_use_result={"totalDurationMs": 1.5}),
        called("c3", "Grep", pattern="x"),
    ]
    assert detailed(records) == [
        {"is": "agent", "line": 2},
        {"is": "read", "callId": "c1", "tool": "Read", "durationMs": 7, "line": 5},
        {"is": "agent", "subagent": "T", "line": 6},
        {"is": "command", "callId": "c2", "tool": "Bash", "subagent": "T", "durationMs": 1.5, "line": 7},
        {"is": "search", "callId": "c3", "tool": "Grep", "line": 8},
    ]


def test_details_of_what_is_unknown() -> None:
    records = [
        called("c1", "WebFetch", url="u"),
        answer("c1"),
        answer("none", tool_use_result={"file": {"filePath": "/a"}}),
    ]
    assert detailed(records) == [
        {"is": "unknown", "callId": "c1", "tool": "WebFetch", "line": 1},
        {"is": "unknown", "callId": "c1", "line": 2},
        {"is": "read", "callId": "none", "line": 3},
    ]
    assert detailed(records, profile="extended") == [
        {"is": "unknown", "callId": "c1", "tool": "WebFetch", "line": 2},
        {"is": "read", "callId": "none", "line": 3},
    ]


def test_details_of_ambiguous_calls() -> None:
    reads = assistant(use("c", "Read", file_path="/a"), use("c", "Read", file_path="/b"))
    assert detailed([reads, answer("c"), answer("c")]) == [
        {"is": "unknown", "callId": "c", "line": 2},
        {"is": "unknown", "callId": "c", "line": 3},
        {"is": "read", "callId": "c", "tool": "Read", "line": 3},
        {"is": "read", "callId": "c", "tool": "Read", "line": 3},
    ]


def test_details_of_a_subagent() -> None:
    task = {"task_id": "t", "tool_use_id": "T", "task_type": "local_agent"}
    records = [
        called("T", "Agent", description="d"),
        {"type": "system", "subtype": "task_started", **task},
        {"type": "system", "subtype": "task_notification", "status": "completed", **task},
        answer("T"),
    ]
    assert detailed(records, profile="extended") == [
        {"is": "subagent_started", "callId": "T", "line": 2},
        {"is": "subagent_completed", "callId": "T", "line": 3},
    ]


def test_an_origin_is_a_span_of_the_channel() -> None:
    parser = EventParser("claude", now=lambda: NOON, detail=True)
    first, second = parser.feed('{"type":"later"}\n\n  ä {"type":"x"}  \n')
    (third,) = parser.feed("one\n two\n", "stderr")[1:]
    spans = [json.loads(encode(event))["origin"] for event in (first, second, third)]
    assert spans == [
        {"line": 1, "offset": 0, "length": 16},
        {"line": 3, "offset": 18, "length": 19},
        {"line": 2, "offset": 4, "length": 4},
    ]


# The end.


@pytest.mark.parametrize(
    ("code", "words"), [(2, "exit code 2"), (143, "exit code 143"), (-9, "killed by signal 9")]
)
def test_the_exit_line_alone(code: int, words: str) -> None:
    (found,) = events(EventParser("claude", now=lambda: NOON), [], exit_code=code)
    assert (found["type"], found["message"]) == ("error", words)


@pytest.mark.parametrize("code", [0, None])
def test_no_error_for_a_good_exit(code: int | None) -> None:
    assert events(EventParser("claude", now=lambda: NOON), [INIT], exit_code=code) == []


def last(records: Iterable[Any], form: str = "claude") -> list[str]:
    message: str = events(EventParser(form, now=lambda: NOON), records, exit_code=1)[-1]["message"]
    return message.split("\n")


def test_the_exit_error_repeats_the_last_lines_of_standard_error() -> None:
    lines = [(f"  line {number} \t",) for number in range(30)]
    assert last(["out", *lines, ("",), ("  ",)]) == [
        "exit code 1",
        *(f"line {number}" for number in range(10, 30)),
    ]


def test_without_standard_error_those_of_standard_output_that_were_no_records() -> None:
    lines = [f" line {number} " for number in range(30)]
    assert last([INIT, *lines, "", {"type": "later"}]) == [
        "exit code 1",
        *(f"line {number}" for number in range(10, 30)),
    ]


def test_a_value_that_is_no_object_is_no_record() -> None:
    assert last([INIT, '"fatal"', "[1, 2]"]) == ["exit code 1", '"fatal"', "[1, 2]"]


def test_a_program_without_records_has_its_output_repeated() -> None:
    assert last(["one", '{"n":1}', ' "two" '], "generic") == ["exit code 1", "one", '{"n":1}', '"two"']


def test_an_unfinished_line_counts_too() -> None:
    parser = EventParser("claude", now=lambda: NOON)
    assert parser.feed("cut", "stderr") == []
    assert [event.message for event in parser.close(1)] == ["cut", "exit code 1\ncut"]  # type: ignore[union-attr]  # one


def test_the_order_at_the_close() -> None:
    parser = EventParser("claude", now=lambda: NOON)
    records = [bash("c1", "make"), called("c2", "Grep", pattern="x"), said("a"), ("oops",)]
    found = [event["type"] for event in events(parser, records, exit_code=1)]
    assert found == ["warning", "agent", "command", "search", "error"]


def test_a_closed_parser_takes_no_more() -> None:
    parser = EventParser("claude", now=lambda: NOON)
    parser.close()
    with pytest.raises(UsageError):
        parser.feed("x")
    with pytest.raises(UsageError):
        parser.close()


def test_a_profile_that_nobody_knows() -> None:
    with pytest.raises(UsageError, match="extendd"):
        EventParser("claude", profile="extendd")  # type: ignore[arg-type]  # wrong on purpose


def test_an_event_with_a_lone_surrogate_can_be_read_back() -> None:
    parser = EventParser("claude", now=lambda: NOON)
    events = parser.feed(line(said("a\ud800")) + line({"type": "later", "s": "\udfff"})) + parser.close()
    assert [encode(decode(encode(event))) for event in events] == [encode(event) for event in events]
    assert decode(encode(events[0])).message == "a\ud800"  # type: ignore[union-attr]  # one


# Cost: of each of these a loop in a loop would take from 14 to 80 seconds.

MANY = 20_000
READ = line(called("x", "Read", file_path="/a"))


def many(record: Callable[[str], Any]) -> str:
    return "".join(line(record(str(number))) for number in range(MANY))


def crowded_records() -> str:
    uses = [use(str(number), "Odd") for number in range(MANY)]
    results = [outcome(str(number)) for number in range(MANY)]
    metas = [{"id": str(number)} for number in range(MANY)]
    told = {"tool_use_result": {"id": "1"}, "tool_result_meta": metas}
    return line(assistant(*uses)) + line(user(*results, **told))


CROWDS: dict[str, tuple[str, Callable[[], str]]] = {
    "open calls of one id": ("claude", lambda: READ * MANY + line(answer("x")) * MANY),
    "blocks of a record": ("claude", crowded_records),
    "threads": ("claude", lambda: many(lambda n: said("x", "n", n)) + line(LIMIT) * MANY + line(DONE)),
    "pieces of a message": ("claude", lambda: line(said("x")) * MANY),
    "open calls of one id of Cline's": (
        "cline",
        lambda: line(start("x", "editor", {"path": "/a"})) * MANY + line(end("x")) * MANY,
    ),
    "commands of a call": ("cline", lambda: line(start("x", "run_commands", ["cat <<EOF"] * MANY))),
    "partial records": ("cline", lambda: many(lambda n: say(n, "x", partial=True))),
}


@pytest.mark.parametrize("name", CROWDS)
def test_no_crowd_takes_long(name: str) -> None:
    form, made = CROWDS[name]
    data = made()
    parser = EventParser(form, now=lambda: NOON)
    begun = time.process_time()
    assert parser.feed(data) + parser.close(1)
    assert time.process_time() - begun < 6
