"""The record of a run: what stands in it, and that its events can be made again, byte for byte."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recordings import Recording, recordings
from running import lines, play
from stenograph import record, usage
from stenograph.errors import ReadError
from stenograph.event import Event, encode
from stenograph.meter import Account, Counts
from stenograph.parser import EventParser
from stenograph.process import Chunk
from stenograph.record import End, Outcome, Recorder, Whole
from stenograph.runner import replay

AT = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)


def outcome() -> Outcome:
    return Outcome(
        steno="0",
        agent="x",
        format="generic",
        profile="standard",
        detail=False,
        program="x",
        version=None,
        arguments=[],
        cwd="/w",
        started=AT,
    )


@pytest.mark.parametrize("recording", recordings(), ids=lambda recording: recording.name)
def test_recording_played_by_a_fake_agent(tmp_path: Path, recording: Recording) -> None:
    code = recording.exit_code or 0
    (tmp_path / "out").write_bytes(recording.stdout)
    (tmp_path / "err").write_bytes(recording.stderr)
    parts = (str(tmp_path / "out"), str(tmp_path / "err"), str(code))
    made, events = play("plays", *parts, out=tmp_path / "run", prints=recording.format)
    assert made.exit_code == (code if code >= 0 else 128 - code)
    assert sorted(map(what, events)) == sorted(map(what, direct(recording, code)))
    assert_usage(record.read_outcome(tmp_path / "run"), usage(recording.stdout, format=recording.format))


def assert_usage(kept: Outcome, account: Account) -> None:
    """What the run took is what `usage` counts in its stream; a class that is not told is null, never 0."""
    assert kept.usage == (None if account.tokens == Counts() else account.tokens)
    assert (kept.cost, kept.turns, kept.models) == (account.cost, account.turns, list(account.models))
    assert (kept.gaps, kept.is_running) == (list(account.gaps), account.total.is_running)


def direct(recording: Recording, code: int) -> list[Event]:
    """The events without a process."""
    parser = EventParser(recording.format, cwd=str(Path.cwd()), now=lambda: AT)
    events = parser.feed(recording.stdout) + parser.feed(recording.stderr, "stderr")
    return events + parser.close(code)


def what(event: Event) -> bytes:
    """An event without what depends on which pipe was heard first: time, and whether a session is known."""
    return encode(msgspec.structs.replace(event, timestamp="", session_id=None))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["stdout", "stderr"]), st.binary(max_size=40))))
def test_what_came_is_read_back_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[tuple[str, bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("run") / "r"
    whole, recorder = Whole(), Recorder(folder, outcome())
    chunks = [Chunk(channel, AT, data) for channel, data in pieces]
    for chunk in [*map(whole.take, chunks), *whole.rest(AT)]:
        recorder.heard(chunk)
    recorder.ended(End(at=AT, exit_code=0))
    recorder.close()
    *back, end = record.read_raw(folder)
    assert end == End(at=AT, exit_code=0)
    for channel in ("stdout", "stderr"):
        want = b"".join(data for name, data in pieces if name == channel)
        assert b"".join(chunk.data for chunk in back if chunk.channel == channel) == want
    assert all(chunk.at == AT for chunk in back)


@pytest.mark.parametrize("text", ["é", "漢", "😀", "a漢b😀c"])
def test_a_cut_character_stays_text(tmp_path: Path, text: str) -> None:
    data = text.encode()
    for cut in range(len(data) + 1):
        whole = Whole()
        first, second = (whole.take(Chunk("stdout", AT, part)).data for part in (data[:cut], data[cut:]))
        assert first.decode() + second.decode() == text
        assert whole.rest(AT) == []


def test_one_line_of_the_record_for_each_line(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r", outcome())
    recorder.heard(Chunk("stdout", AT, b"a\r\n\nb\xe2\x80\xa8c\nhalf"))
    recorder.heard(Chunk("stdout", AT, b" a line\n"))
    recorder.close()
    kept = [json.loads(line) for line in (tmp_path / "r" / "raw.jsonl").read_bytes().split(b"\n")[:-1]]
    assert [piece["text"] for piece in kept] == ["a\r\n", "\n", "b\u2028c\n", "half", " a line\n"]
    assert kept[0] == {"at": "2026-11-30T12:00:00.123456Z", "channel": "stdout", "text": "a\r\n"}


def test_a_line_cut_while_it_was_written_is_left_out(tmp_path: Path) -> None:
    play("fails", out=tmp_path / "run")
    path = tmp_path / "run" / "raw.jsonl"
    whole = path.read_bytes()
    events = (tmp_path / "run" / "events.jsonl").read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == 10]
    for cut in (0, ends[0] - 5, ends[0], ends[1] + 3, ends[2]):
        path.write_bytes(whole[:cut])
        assert events.startswith(lines(list(replay(tmp_path / "run"))))


@pytest.mark.parametrize(
    ("name", "tokens", "cost", "gaps"),
    [
        ("claude/agent_background", [9000, 5400, 179, 0], 0.04246, []),
        ("codex/message", [500, 1000, 56, 64], None, []),
        ("codex/sigint", None, None, ["no-end"]),
    ],
)
def test_usage_of_a_run(
    tmp_path: Path, name: str, tokens: list[int] | None, cost: float | None, gaps: list[str]
) -> None:
    (recording,) = (one for one in recordings() if one.name.startswith(f"{name}/"))
    (tmp_path / "out").write_bytes(recording.stdout)
    (tmp_path / "err").touch()
    parts = (str(tmp_path / "out"), str(tmp_path / "err"), "0")
    made, _ = play("plays", *parts, out=tmp_path / "run", prints=recording.format)
    kept = json.loads((tmp_path / "run" / "run.json").read_bytes())
    classes = ("uncachedInput", "cachedInput", "output", "reasoning")
    assert (kept["usage"] and [kept["usage"][each] for each in classes]) == tokens
    assert (kept["cost"], kept["gaps"], list(made.usage.gaps)) == (pytest.approx(cost), gaps, gaps)


def test_other_profile_and_detail_on_request(tmp_path: Path) -> None:
    play("ticks", out=tmp_path / "run", then=lambda made: made.stop())
    events = list(replay(tmp_path / "run", detail=True))
    assert events[0].origin.line == 2
    assert len(events) == len(list(replay(tmp_path / "run", profile="extended")))


def test_no_record_is_a_read_error(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"cannot read .*run\.json"):
        list(replay(tmp_path))
    (tmp_path / "run.json").write_bytes(b"{}")
    with pytest.raises(ReadError, match="no run's record"):
        list(replay(tmp_path))


def test_foreign_line_is_a_read_error(tmp_path: Path) -> None:
    play("fails", out=tmp_path / "run")
    (tmp_path / "run" / "raw.jsonl").write_bytes(
        b'{"at":"2026-11-30T12:00:00Z","channel":"stdout","text":"x"}\n[]\n'
    )
    with pytest.raises(ReadError, match="line 2"):
        list(replay(tmp_path / "run"))


def test_fresh_file_takes_the_place_only_when_whole(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def write(*parts: object) -> None:
        with record.Fresh(path) as file:
            for part in parts:
                file.write(part)

    with pytest.raises(TypeError):
        write(b"new", None)
    assert path.read_bytes() == b"old"
    write(b"new", b"er")
    assert path.read_bytes() == b"newer"
    assert list(tmp_path.iterdir()) == [path]


def test_a_fresh_file_behind_a_link_leaves_the_link(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    with record.Fresh(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "kept").read_bytes() == b"new"


def test_a_fresh_pipe_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with record.Fresh(pipe) as file:
            file.write(b"events")
        assert os.read(reader, 10) == b"events"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_a_time_out_of_the_calendar_is_a_read_error(at: str, tmp_path: Path) -> None:
    line = f'{{"at":"{at}","channel":"stdout","text":"x"}}\n'
    (tmp_path / "raw.jsonl").write_text(line)
    with pytest.raises(ReadError, match="no line of a run"):
        list(record.read_raw(tmp_path))
