"""`steno usage`: what it reads, its table, its JSON."""

import gzip
import json
import shutil
import signal

import pytest

from command import CLINE, DATA, PLAIN, Done, started, steno
from stenograph.cli import ledger
from stenograph.meter import Counts, Row

CODEX = DATA / "codex" / "message" / "message.stdout.jsonl"
TEAM = DATA / "claude" / "agent_background" / "agent_background.stdout.jsonl"


def table(*arguments: object, given: bytes = b"") -> list[str]:
    done = steno("usage", "--tz", "UTC", *arguments, given=given)
    assert (done.code, done.err) == (0, "")
    return done.out.decode().splitlines()


def told(*arguments: object) -> dict:
    done = steno("usage", "--json", "--tz", "UTC", *arguments)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def test_a_table_has_a_row_for_each_session_and_a_total():
    head, row, total = table(TEAM)
    assert " ".join(head.split()) == "session agent model day turns input cached output reasoning cost"
    numbers = "6 9,000 5,400 179 0 $0.0425"
    assert " ".join(row.split()[1:]) == f"claude claude-opus-5-5 2026-11-30 {numbers}"
    assert " ".join(total.split()) == f"total {numbers}"


def test_what_is_not_reported_is_a_dash_and_what_is_missing_is_named():
    lines = table(DATA / "codex" / "spawn_agent")
    assert lines[1].split()[1:] == ["codex", "-", "-", "1", "2,000", "4,000", "224", "256", "-", "*"]
    assert lines[3] == "* not all: no record tells what a subagent took"


def test_the_input_may_come_from_a_pipe():
    assert table(given=PLAIN.read_bytes()) == table("-", given=PLAIN.read_bytes()) == table(PLAIN)


@pytest.mark.parametrize("by", ["session", "model", "day", "agent"])
def test_rows_are_joined_by_what_was_asked_for(by):
    found = told("--by", by, TEAM, CLINE, CODEX)
    names = [row[by] for row in found["rows"]]
    expected = {
        "session": [
            "0ecee94d-ac6e-4546-b937-cdfbd71d6f2d",
            str(CLINE),
            "01a22c56-bbd1-7413-a41e-c0c26c18cbc4",
        ],
        "model": ["claude-opus-5-5", "fake-model", None],
        "day": [None, "2026-11-30"],
        "agent": ["claude", "cline", "codex"],
    }
    assert names == expected[by]
    assert found["total"]["tokens"]["uncachedInput"] == 9000 + 300 + 500


def test_json_tells_null_apart_from_zero():
    (row,) = told(CODEX)["rows"]
    assert row["tokens"] == {
        "uncachedInput": 500,
        "cachedInput": 1000,
        "output": 56,
        "reasoning": 64,
        "cacheWrite": 0,
        "cacheWrite1h": None,
    }
    assert (row["cost"], row["gaps"], row["turns"]) == (None, [], 1)


def test_a_folder_is_searched_for_streams(tmp_path):
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "run.jsonl.gz").write_bytes(gzip.compress(PLAIN.read_bytes()))
    shutil.copy(CODEX, tmp_path / "codex.out")
    (tmp_path / "notes.txt").write_text("no stream {at all}\n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0{" + bytes(100_000))
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / ".git").mkdir()
    shutil.copy(CODEX, tmp_path / ".git" / "x.jsonl")
    assert [row["agent"] for row in told(tmp_path)["rows"]] == ["codex", "claude"]


def test_a_record_of_a_run_counts_once(tmp_path):
    (tmp_path / "agent").write_text(f"#!/bin/sh\ncat '{CODEX}'\n")
    (tmp_path / "agent").chmod(0o755)
    run = steno("run", "--out", tmp_path / "runs" / "1", "generic", tmp_path / "agent")
    assert run.code == 0
    outcome = tmp_path / "runs" / "1" / "run.json"
    outcome.write_text(outcome.read_text().replace('"generic"', '"codex-exec"'))
    (row,) = told(tmp_path / "runs")["rows"]
    assert (row["agent"], row["tokens"]["uncachedInput"]) == ("codex", 500)


def test_one_session_in_several_files_is_one_row():
    runs = [DATA / "qwen" / name for name in ("resume", "resume_2")]
    (row,) = told(*runs)["rows"]
    assert row["tokens"]["uncachedInput"] + row["tokens"]["cachedInput"] == 6000
    assert "totals of whole sessions" in table(*runs)[-1]


def test_prices_stand_beside_the_reported_cost():
    found = told("--prices", TEAM, DATA / "pi" / "message")
    assert [row["computedCost"] for row in found["rows"]] == [pytest.approx(0.04246), None]
    assert found["total"]["computedCost"] is None
    assert found["prices"].startswith("genai-prices ")
    assert table("--prices", DATA / "pi" / "message")[-1].endswith("; none for fake-model")


def test_days_begin_where_one_lives():
    (row,) = told(TEAM)["rows"]
    there = json.loads(steno("usage", "--json", "--tz", "Pacific/Kiritimati", TEAM).out)["rows"][0]
    here = json.loads(steno("usage", "--json", TEAM, TZ="Pacific/Kiritimati").out)["rows"][0]
    assert (row["day"], there["day"], here["day"]) == ("2026-11-30", "2026-12-01", "2026-12-01")


def test_an_input_that_cannot_be_read_keeps_no_other_from_it(tmp_path):
    (tmp_path / "odd.txt").write_text("nothing\n")
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(CODEX.read_bytes())[:-20])
    done = steno("usage", "--json", tmp_path / "none", tmp_path / "odd.txt", cut, PLAIN)
    assert done.code == 1
    assert done.err.splitlines() == [
        f"steno: {tmp_path}/none: no such file or directory",
        f"steno: {tmp_path}/odd.txt: no known agent's records found in the first 8 bytes;"
        " say which with --from or format=",
        f"steno: {cut}, byte {cut.stat().st_size}: the gzip data is cut off",
    ]
    rows = json.loads(done.out)["rows"]
    assert [row["agent"] for row in rows] == ["codex", "claude"]
    assert "damaged" in rows[0]["gaps"]


def test_a_folder_without_streams_is_an_error(tmp_path):
    assert steno("usage", tmp_path) == Done(
        1, b"", f"steno: {tmp_path}: no stream or session of a known agent in it\n"
    )


@pytest.mark.parametrize(
    "arguments", [["--tz", "Nowhere/Land"], ["--by", "week"], ["--from", "claud", PLAIN]]
)
def test_wrong_usage(arguments):
    done = steno("usage", *arguments)
    assert (done.code, done.out) == (2, b"")


def test_names_are_made_fit_for_a_terminal():
    row = Row(agent="claude", session="s", model="\x1b[31mred" + "x" * 100, tokens=Counts(output=1))
    text = ledger.to_text([row])
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) < 120


@pytest.mark.parametrize("name", ["apply_patch", "hub_tools", "spawn_agent", "team", "plain_text", "skills"])
def test_a_stored_session_took_what_its_stream_tells(name):
    (stored,) = told(DATA / "cline-store" / name)["rows"]
    (printed,) = told(DATA / "cline" / name / f"{name}.stdout.jsonl")["rows"]
    for member in ("agent", "model", "day", "turns", "cost"):
        assert stored[member] == printed[member]
    for kind in ("uncachedInput", "cachedInput", "output", "reasoning"):
        assert stored["tokens"][kind] == printed["tokens"][kind]


def test_a_task_that_prints_no_usage_has_it_in_its_store():
    (row,) = told(DATA / "cline-store" / "legacy_read")["rows"]
    assert (row["turns"], row["tokens"]["uncachedInput"], row["tokens"]["output"]) == (3, 600, 60)


def test_events_are_no_stream(tmp_path):
    shutil.copy(DATA / "claude" / "api_401" / "api_401.standard.jsonl", tmp_path / "events.jsonl")
    assert steno("usage", tmp_path).code == 1


MORE_THAN_A_PIPE_HOLDS = b'{"type":"keep_alive"}\n' * 20_000


def test_an_interrupt_waits_for_the_last_words():
    """The agent in front of the pipe gets it too, and what it took is in what it says then."""
    *most, last = PLAIN.read_bytes().splitlines(keepends=True)
    with started("usage", "--tz", "UTC", "--from", "claude") as process:
        process.stdin.write(b"".join(most) + MORE_THAN_A_PIPE_HOLDS)
        process.send_signal(signal.SIGINT)
        process.stdin.write(last)
        process.stdin.close()
        out, err = process.stdout.read(), process.stderr.read()
        assert (process.wait(timeout=10), err) == (130, b"")
    assert out.decode().splitlines() == table(PLAIN)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_was_counted_when_a_signal_came_is_told_and_marked(number, code):
    with started("usage", "--tz", "UTC", "--from", "claude") as process:
        process.stdin.write(PLAIN.read_bytes() + MORE_THAN_A_PIPE_HOLDS)
        process.send_signal(number)
        assert process.wait(timeout=10) == code
        assert process.stderr.read() == b"steno: standard input: was not read to its end\n"
        assert process.stdout.read().decode().splitlines()[2].split()[:3] == ["total", "1", "1,500"]
