"""Counting laws over every recording, and what each agent's records mean."""

import contextlib
import json
import tracemalloc
from datetime import timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recordings import EXTRA, Recording, recordings, rows
from stenograph import EventParser, UnknownFormat, usage
from stenograph.counting import Counter
from stenograph.meter import Account, Counts, Row, added, merged
from stenograph.registry import STREAMS

ALL = recordings()
OURS = [each for each in ALL if not any(folder in each.beside.parents for folder in EXTRA)]
NAMED = {each.name: each for each in ALL}
PLANTED = {  # what the scripted servers said each request took: fresh and written input, read, output
    "claude": (1500, 900, None),
    "codex": (500, 1000, 120),
    "opencode": (500, 1000, 120),
    "kilo": (500, 1000, 120),
    "pi": (500, 1000, 120),
    "gemini": (500, 1000, 184),
    "qwen": (500, 1000, 120),
}
TWO_TURNS = {"claude/stream_input/stream_input"}  # two prompts: one more may come behind any result

every = pytest.mark.parametrize("recording", ALL, ids=lambda each: each.name)


def counted(recording: Recording, size: int = 0) -> Account:
    counter = Counter(recording.format)
    for at in range(0, len(recording.stdout), size or len(recording.stdout) or 1):
        counter.feed(recording.stdout[at : at + (size or len(recording.stdout))])
    return counter.close()


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def classes(account: Account) -> tuple[int | None, ...]:
    tokens = account.tokens
    return tokens.uncached_input, tokens.cached_input, tokens.output, tokens.reasoning


# Laws over the recordings.


@pytest.mark.parametrize("recording", OURS, ids=lambda each: each.name)
def test_the_usage_is_the_expected_one(recording):
    assert rows(counted(recording)) == recording.expected_usage.read_bytes()


@every
def test_a_parser_counts_the_same(recording):
    parser = EventParser(recording.format)
    parser.feed(recording.stdout)
    parser.close(recording.exit_code)
    assert parser.usage == counted(recording)


@every
def test_chunks_do_not_matter(recording):
    assert counted(recording, 61) == counted(recording)


@pytest.mark.parametrize("recording", OURS, ids=lambda each: each.name)
def test_totals_are_whole_requests_of_the_server(recording):
    fresh, read, output = PLANTED.get(recording.format.split("-")[0], (0, 0, None))
    made_up = recording.name.startswith(("wild/", "codex-older/"))
    for row in counted(recording).rows:
        told = row.tokens
        if not fresh or made_up or told.cached_input is None:
            continue
        requests = told.cached_input // read
        assert (told.uncached_input, told.cached_input) == (requests * fresh, requests * read)
        assert output is None or told.made == requests * output


@every
def test_a_lost_tail_is_never_a_silent_partial(recording):
    pieces = [line + b"\n" for line in recording.stdout.split(b"\n") if line]
    whole = counted(recording)
    last = len(pieces) - 1
    for number in (
        {*range(0, last, len(pieces) // 8 + 1), *range(max(0, last - 3), last + 1)} if pieces else ()
    ):
        part = usage(b"".join(pieces[:number]), format=recording.format)
        if recording.name not in TWO_TURNS:
            assert part.tokens == whole.tokens or not part.is_complete, number


@every
def test_a_torn_last_record_is_never_a_silent_partial(recording):
    part = usage(recording.stdout[:-5], format=recording.format)
    assert part.tokens == counted(recording).tokens or not part.is_complete


# Claude Code.


def claude(kind: str, session: str = "s", **members: object) -> dict[str, object]:
    return {"type": kind, "session_id": session, **members}


def answer(name: str | None, *, output: int = 5, session: str = "s", parent: str | None = None, **members):
    told = {"input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 30}
    message = {"id": name, "model": "m", "usage": {**told, "output_tokens": output}, **members}
    return claude("assistant", session, message=message, parent_tool_use_id=parent)


def of_model(given: int, cost: float = 0.5) -> dict[str, object]:
    return {"inputTokens": given, "outputTokens": 1, "costUSD": cost}


def test_a_message_in_many_records_counts_once():
    once, twice = lines(answer("a"), answer("b")), lines(answer("a"), answer("a"), answer("b"), answer("a"))
    assert usage(twice, format="claude") == usage(once, format="claude")
    assert classes(usage(once, format="claude")) == (60, 60, 10, None)


def test_every_record_twice_counts_once_where_messages_are_told():
    whole = NAMED["claude-1.0/parallel_tools/parallel_tools"].stdout.split(b"\n")
    body = [line for line in whole if b'"type":"assistant"' in line]
    assert classes(usage(b"\n".join(body * 2), format="claude"))[:2] == (3000, 1800)


def test_the_last_result_of_a_session_is_not_all_of_it():
    first = claude(
        "result", model_usage_since_last_result={"m": of_model(10)}, modelUsage={"m": of_model(10)}
    )
    second = claude(
        "result", model_usage_since_last_result={"m": of_model(7)}, modelUsage={"m": of_model(17, 1)}
    )
    account = usage(lines(first, second), format="claude")
    assert (account.tokens.uncached_input, account.cost, account.is_complete) == (17, 1.0, True)


def test_growing_totals_count_what_came_to_them():
    told = [
        claude("result", modelUsage={"m": of_model(given, cost)}) for given, cost in ((10, 1.0), (25, 1.5))
    ]
    account = usage(lines(*told), format="claude")
    assert (account.tokens.uncached_input, account.cost) == (25, 1.5)


def test_totals_that_began_anew_count_in_full():
    many = [answer(str(number)) for number in range(15)]
    runs = (
        claude("result", modelUsage={"m": of_model(500)}),
        *many,
        claude("result", modelUsage={"m": of_model(900)}),
    )
    assert usage(lines(*runs), format="claude").tokens.uncached_input == 1400


def test_a_result_with_nothing_but_usage_adds_the_subagents():
    told = claude("result", usage={"input_tokens": 100, "output_tokens": 50}, total_cost_usd=0.1)
    account = usage(lines(answer("a"), answer("b", parent="call"), told), format="claude")
    assert (account.tokens.uncached_input, account.tokens.output) == (100 + 30, 50 + 5)
    assert (account.cost, account.gaps, account.turns) == (0.1, ("output-at-start",), 2)


def test_a_message_without_usage_is_no_answer_whoever_reads_it():
    message = {"id": "m", "model": "big", "content": [], "usage": None}
    told = claude("result", usage={"input_tokens": 100, "output_tokens": 50})
    data = lines(claude("system", subtype="init"), claude("assistant", message=message), told)
    parser = EventParser("claude")
    parser.feed(data)
    assert parser.usage == usage(data, format="claude")
    assert classes(parser.usage) == (100, None, 50, None)


def test_sessions_in_one_stream_are_added_up_and_kept_apart():
    one = NAMED["claude/plain_text/plain_text"].stdout
    other = NAMED["claude/sigterm_bash/sigterm_bash"].stdout
    account = usage(one + other + one, format="claude")
    assert [(row.turns, row.tokens.given, row.is_complete) for row in account.rows] == [
        (2, 4800, True),
        (1, 2400, False),
    ]
    assert not account.is_complete


def test_thinking_is_no_output():
    told = {"input_tokens": 1, "output_tokens": 50, "output_tokens_details": {"thinking_tokens": 30}}
    since = {"m": {"inputTokens": 1, "outputTokens": 50, "thinkingTokens": 30}}
    for members in ({"usage": told}, {"model_usage_since_last_result": since}):
        account = usage(lines(claude("result", **members)), format="claude")
        assert (account.tokens.output, account.tokens.reasoning) == (20, 30)


def test_many_messages_of_one_turn_are_added_up_in_bounded_memory():
    account = usage(lines(*(answer(str(number)) for number in range(9000))), format="claude")
    assert (account.turns, account.tokens.output, account.gaps) == (9000, 45000, ("no-end",))


# The others.


def test_a_teammate_that_is_printed_twice_counts_once():
    team = NAMED["cline/team/team"]
    kept = [line for line in team.stdout.split(b"\n") if b'"type":"team_event"' not in line]
    assert usage(b"\n".join(kept), format="cline") == counted(team)


def test_subagents_count_though_the_run_result_leaves_them_out():
    account = counted(NAMED["cline/spawn_agent/spawn_agent"])
    assert classes(account) == (1000, 0, 100, None)
    assert b'"usage":{"inputTokens":500,' in NAMED["cline/spawn_agent/spawn_agent"].stdout


def test_a_run_result_counts_where_requests_are_missing():
    run = NAMED["cline/team/team"].stdout.split(b"\n")
    kept = [line for line in run if b'"type":"usage"' not in line]
    assert usage(b"\n".join(kept), format="cline").tokens.given == 6600


def test_turns_of_codex_are_added_up():
    turn = {"type": "turn.started"}
    told = {
        "type": "turn.completed",
        "usage": {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 3},
    }
    account = usage(
        lines({"type": "thread.started", "thread_id": "t"}, turn, told, turn, told), format="codex"
    )
    assert (classes(account), account.turns, account.is_complete) == ((12, 8, 6, None), 2, True)


def test_running_totals_of_a_session_in_several_runs_are_not_added_up():
    runs = [counted(NAMED[f"qwen/{name}/{name}"]).rows for name in ("resume", "resume_2")]
    whole = [row.tokens.total for row in merged([*runs[0], *runs[1]])]
    assert whole == [row.tokens.total for row in merged([*runs[1], *runs[0]])] == [6480]


def test_models_have_rows_of_their_own():
    stats = {"models": {"pro": {"input_tokens": 9, "output_tokens": 1}, "lite": {"input_tokens": 5}}}
    account = usage(
        lines({"type": "init", "timestamp": "x"}, {"type": "result", "stats": stats}), format="gemini"
    )
    assert [(row.model, row.tokens.given, row.turns) for row in account.rows] == [
        ("pro", 9, 1),
        ("lite", 5, 0),
    ]
    assert account.models == ("pro", "lite")


# Null and zero, days, odd input.


def test_what_nobody_reports_is_not_zero():
    assert classes(counted(NAMED["codex/sigint/sigint"])) == (None, None, None, None)
    assert classes(counted(NAMED["codex/message/message"])) == (500, 1000, 56, 64)
    assert classes(counted(NAMED["pi/error_401/error_401"])) == (0, 0, 0, None)
    assert counted(NAMED["claude/api_401/api_401"]).cost == 0
    assert counted(NAMED["codex/message/message"]).cost is None


@pytest.mark.parametrize("name", STREAMS)
def test_an_empty_stream_tells_nothing(name):
    account = usage(b"", format=name)
    assert (account.total.tokens.total, account.gaps, account.is_complete) == (None, ("not-told",), False)


def test_an_unknown_format_is_an_error():
    with pytest.raises(UnknownFormat):
        usage(b"", format="nothing")


def test_the_day_is_that_of_the_zone():
    step = {
        "type": "step_finish",
        "timestamp": 1796083200000 - 1,
        "sessionID": "s",
        "part": {"reason": "stop"},
    }
    days = {
        usage(lines(step), format="opencode", zone=timezone(timedelta(hours=hours))).rows[0].day
        for hours in (-1, 0, 1)
    }
    assert days == {"2026-11-30", "2026-12-01"}


def test_a_broken_record_is_a_gap():
    data = NAMED["pi/message/message"].stdout
    assert usage(data + b'{"type":"message_e\n', format="pi").gaps == ("damaged",)
    assert usage(data + b"a word of the shell\n", format="pi").is_complete


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.decode().encode("utf-16"),
        lambda data: data.replace(b"\n", b"\r\n\r\n"),
        lambda data: b"[" + data.strip().replace(b"\n", b",\n") + b"]",
        lambda data: b"a banner\n" + data,
    ],
)
def test_repairs_are_those_of_events(damage):
    recording = NAMED["claude/stream_input/stream_input"]
    assert usage(damage(recording.stdout), format="claude") == counted(recording)


def parsed(data: bytes) -> list[object]:
    """The records of a stream, without the lines that are none."""
    found = []
    for line in data.split(b"\n"):
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_odd_members_never_raise(data):
    recording = data.draw(st.sampled_from(OURS))
    records = parsed(recording.stdout)
    for _ in range(data.draw(st.integers(1, 4))):
        if not records:
            return
        place: object = data.draw(st.sampled_from(records))
        while isinstance(place, dict) and place:
            key = data.draw(st.sampled_from(sorted(place)))
            if data.draw(st.booleans()) or not isinstance(place[key], dict):
                place[key] = data.draw(VALUES)
                break
            place = place[key]
    stream = lines(*records)
    parser = EventParser(recording.format)
    parser.feed(stream)
    parser.close()
    assert parser.usage == usage(stream, format=recording.format)


# Arithmetic.

COUNTS = st.builds(
    Counts,
    **{
        name: st.none() | st.integers(0, 10**6)
        for name in ("uncached_input", "cached_input", "output", "reasoning")
    },
)


@given(one=COUNTS, other=COUNTS)
def test_adding_keeps_null_apart_from_zero(one, other):
    both = one + other
    for name in Counts.__struct_fields__:
        parts = [part for each in (one, other) if (part := getattr(each, name)) is not None]
        assert getattr(both, name) == (sum(parts) if parts else None)


@given(fresh=st.integers(0, 9999), read=st.integers(0, 9999), written=st.integers(0, 9999))
def test_input_with_and_without_its_cache_is_the_same(fresh, read, written):
    apart = Counts.apart(fresh=fresh, read=read, written=written)
    together = Counts.together(given=fresh + read + written, read=read, written=written)
    assert apart == together
    assert apart.given == fresh + read + written


def test_rows_that_differ_have_no_name_in_common():
    rows = [
        Row(agent="a", session="s", model="m", turns=1, cost=1),
        Row(agent="a", session="s", model="n", turns=2),
    ]
    total = added(rows)
    assert (total.agent, total.session, total.model, total.turns, total.cost) == ("a", "s", None, 3, 1)


def test_what_is_kept_of_an_answer_is_not_its_line() -> None:
    parser = EventParser("claude")
    long = "x" * 100_000
    tracemalloc.start()
    for number in range(100):
        usage = {"input_tokens": 1, "output_tokens": 2}
        block = {"type": "text", "text": long}
        message = {"id": f"m{number}", "model": "claude", "content": [block], "usage": usage}
        record = {"type": "assistant", "session_id": "s", "message": message}
        parser.feed(json.dumps(record, separators=(",", ":")) + "\n")
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert parser.usage.turns == 100
    assert kept < 20 * len(long)
