"""The runner against agents that do what agents do on bad days."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from running import AGENTS, collect, fake, is_childless, is_running, play
from stenograph import event as ev
from stenograph.errors import RunError, UnknownFormat, UsageError, WriteError
from stenograph.launch import Launch
from stenograph.runner import run


def summary(folder: Path) -> dict:
    return json.loads((folder / "run.json").read_bytes())


def raw(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "raw.jsonl").read_bytes().splitlines()]


def interrupt(made: object) -> None:
    made.stop(signal.SIGINT)


def test_failure_gives_terminal_error(tmp_path: Path) -> None:
    made, events = play("fails", out=tmp_path / "run")
    assert events[-1] == ev.Error(
        message="exit code 3\nfirst reason\nsecond reason", timestamp=events[-1].timestamp
    )
    assert made.exit_code == 3
    assert summary(tmp_path / "run")["exitCode"] == 3
    assert summary(tmp_path / "run")["events"] == {"warning": 3, "error": 1}
    assert is_childless()


def test_half_a_line_then_killed(tmp_path: Path) -> None:
    made, events = play("half_line", out=tmp_path / "run")
    assert [event.message.split("\n")[0] for event in events] == [
        '{"type":"assis',
        "killed by signal 9",
    ]
    assert events[-1].session_id == "s1"
    assert made.exit_code == 128 + 9
    assert (summary(tmp_path / "run")["exitCode"], summary(tmp_path / "run")["signal"]) == (None, 9)


def test_crash_at_start(tmp_path: Path) -> None:
    made, events = play("crashes", out=tmp_path / "run")
    assert [event.message for event in events] == [f"killed by signal {int(signal.SIGSEGV)}"]
    assert made.exit_code == 128 + signal.SIGSEGV


def test_stdout_closed_early(tmp_path: Path) -> None:
    made, events = play("closes_stdout", out=tmp_path / "run")
    assert [event.message for event in events] == ["still here", "exit code 4\nstill here"]
    assert made.outcome.final_text == "early"


def test_both_pipes_closed_and_idle() -> None:
    made, events = play("closes_both", idle_timeout=0.2)
    assert [(event.message, event.code) for event in events] == [("silent for 0.2 s", "idle")]
    assert made.exit_code == 128 + signal.SIGINT


def test_timeout_is_no_exit_error(tmp_path: Path) -> None:
    made, events = play("sleeps", out=tmp_path / "run", timeout=0.2)
    assert [(event.message, event.code) for event in events] == [("timed out after 0.2 s", "timeout")]
    assert summary(tmp_path / "run")["stopped"] == "timeout"
    assert raw(tmp_path / "run")[-1]["limit"] == 0.2
    assert made.exit_code == 128 + signal.SIGINT


def test_silence_ends_the_run(tmp_path: Path) -> None:
    made, events = play("sleeps", out=tmp_path / "run", idle_timeout=0.6)
    assert [(event.message, event.code) for event in events] == [("silent for 0.6 s", "idle")]
    assert made.outcome.session_id == "s1"


def test_a_chatty_agent_is_not_idle() -> None:
    made, events = play("ticks", timeout=1.2, idle_timeout=0.8)
    assert made.outcome.stopped == "timeout"
    assert len(events) > 5


def test_deaf_agent_is_killed_with_its_group() -> None:
    made, events = play("stubborn", then=interrupt, grace=0.1)
    assert made.exit_code == 128 + 9
    pid = events[0].raw
    assert not is_running(pid)
    assert is_childless()


def test_interrupt_reaches_the_agent_first(tmp_path: Path) -> None:
    made, _ = play("polite", out=tmp_path / "run", then=interrupt, detail=True)
    assert made.exit_code == 0
    assert made.outcome.final_text == "stopped"
    assert made.outcome.complete
    assert summary(tmp_path / "run")["stopped"] == "signal"
    assert not is_running(json.loads(raw(tmp_path / "run")[0]["text"])["pid"])


def test_second_interrupt_does_not_wait_for_grace() -> None:
    def twice(made: object) -> None:
        made.stop(signal.SIGINT)
        asyncio.get_running_loop().call_later(0.1, made.stop, signal.SIGINT)

    began = time.monotonic()
    made, _ = play("stubborn", then=twice, grace=30)
    assert made.exit_code == 128 + 9
    assert time.monotonic() - began < 10


def test_grandchild_that_holds_the_pipes_is_ended(tmp_path: Path) -> None:
    made, events = play("heir", out=tmp_path / "run", prints="generic", grace=0.1)
    assert made.exit_code == 0
    assert made.report.count("pipe-held") == 1
    assert not is_running(events[0].raw)


def test_grandchild_that_goes_on_writing_is_cut_off() -> None:
    made, events = play("chatty_heir", prints="generic", grace=0.1)
    assert made.report.count("pipe-held") == 1
    assert {event.raw for event in events[:-1]} == {"mine", "more"}


def test_grandchild_in_another_session_is_not_waited_for() -> None:
    began = time.monotonic()
    made, events = play("runaway", "20", prints="generic", grace=0.1)
    assert made.report.count("pipe-held") == 1
    assert time.monotonic() - began < 10
    os.kill(events[0].raw, signal.SIGKILL)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    _, events = play("not_utf8", out=tmp_path / "run", prints="generic")
    assert [event.raw for event in events] == ["\ufffd\ufffd broken", "été \0 nul", "no line end \ufffd"]
    kept = raw(tmp_path / "run")[:-1]
    assert [piece.get("text") for piece in kept] == [None, "été \0 nul\n", "no line end ", None]
    assert [piece.get("base64") for piece in kept] == ["gP8gYnJva2VuCg==", None, None, "ww=="]


def test_quiet_end_is_reported(tmp_path: Path) -> None:
    made, events = play("reads", "x", out=tmp_path / "run")
    assert made.exit_code == 0
    assert made.report.count("no-final-record") == 1
    assert summary(tmp_path / "run")["complete"] is False
    assert [note["code"] for note in summary(tmp_path / "run")["report"]] == ["text-line", "no-final-record"]
    assert [event.message for event in events] == ["arg x"]


def test_standard_input_is_passed_on(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"from a file\n")
    with (tmp_path / "in").open("rb") as file:
        _, events = play("reads", stdin=file)
    assert [event.message for event in events] == ["from a file"]


def test_prompt_and_folder(tmp_path: Path) -> None:
    made = run(fake("reads"), arguments=["-a"], prompt="do it", cwd=tmp_path)
    assert [event.message for event in asyncio.run(collect(made))] == ["arg -a", "arg do it"]
    assert made.outcome.cwd == str(tmp_path)
    assert made.outcome.arguments == ["-a", "do it"]


_MUCH = """
import asyncio, resource, sys
sys.path.insert(0, sys.argv[1])
from running import fake
from stenograph.runner import run

async def through(channel, size, out):
    count = 0
    async for event in run(fake("writes_much"), arguments=[channel, str(size)], out=out):
        count += 1
    return count

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

asyncio.run(through(sys.argv[2], 4_000_000, sys.argv[3] + "/little"))
before = peak()
count = asyncio.run(through(sys.argv[2], 50_000_000, sys.argv[3] + "/much"))
print(count, peak() - before)
"""


@pytest.mark.parametrize("channel", ["1", "2"])
def test_much_output_in_bounded_memory(tmp_path: Path, channel: str) -> None:
    command = [sys.executable, "-c", _MUCH, str(Path(__file__).parent), channel, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    count, grown = map(int, done.stdout.split())
    assert count == 50_000
    assert grown < 16
    assert (tmp_path / "much" / "raw.jsonl").stat().st_size > 50_000_000


def test_slow_reader_holds_the_agent_up_and_loses_nothing() -> None:
    async def slowly() -> int:
        count = 0
        async for _ in run(fake("writes_much"), arguments=["1", "6000000"], grace=0.1):
            count += 1
            if count in (1, 2000, 4000):
                await asyncio.sleep(0.15)
        return count

    assert asyncio.run(slowly()) == 6000


def test_leaving_the_loop_ends_the_agent(tmp_path: Path) -> None:
    async def leave() -> object:
        made = run(fake("polite"), out=tmp_path / "run")
        async with contextlib.aclosing(made.events()) as events:
            async for _ in events:
                break
        return made

    made = asyncio.run(leave())
    assert made.outcome.stopped == "abandoned"
    assert made.exit_code == 128 + signal.SIGTERM
    assert not is_running(json.loads(raw(tmp_path / "run")[0]["text"])["pid"])
    assert is_childless()


def test_cancelling_ends_the_agent(tmp_path: Path) -> None:
    async def cancel() -> object:
        made = run(fake("ticks"), out=tmp_path / "run")
        seen = asyncio.Event()

        async def read() -> None:
            async for _ in made:
                seen.set()

        task = asyncio.create_task(read())
        await seen.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return made

    made = asyncio.run(cancel())
    assert made.outcome.stopped == "abandoned"
    assert summary(tmp_path / "run")["stopped"] == "abandoned"
    assert is_childless()


def test_a_run_is_iterated_over_once() -> None:
    made, _ = play("fails")
    with pytest.raises(UsageError, match="once"):
        asyncio.run(collect(made))


def test_no_such_agent() -> None:
    with pytest.raises(UnknownFormat, match="claude"):
        run("clode")


def test_agent_is_not_installed() -> None:
    with pytest.raises(RunError, match="not on PATH"):
        run("claude", env={"PATH": "/nowhere"})


def test_agent_is_not_executable(tmp_path: Path) -> None:
    (tmp_path / "claude").write_text("#!/bin/sh\n")
    with pytest.raises(RunError, match="not executable"):
        run("claude", env={"PATH": str(tmp_path)})


@pytest.mark.parametrize(
    ("head", "says"),
    [("#!/no/such/interpreter\n", "No such file"), ("no program\n", "neither a program nor a script")],
)
def test_agent_cannot_be_started(tmp_path: Path, head: str, says: str) -> None:
    program = tmp_path / "agent"
    program.write_text(head)
    program.chmod(0o755)
    made = run(Launch(agent="x", program=str(program), format="generic"), out=tmp_path / "run")
    with pytest.raises(RunError, match=says):
        asyncio.run(collect(made))
    assert says in summary(tmp_path / "run")["failure"]
    assert is_childless()


def test_folder_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="there is no folder"):
        run(fake("reads"), cwd=tmp_path / "no")


def test_limit_is_no_number() -> None:
    with pytest.raises(UsageError, match="no number of seconds"):
        run(fake("reads"), timeout=float("nan"))


def test_prompt_too_long_for_the_system() -> None:
    made = run(fake("reads"), prompt="x" * 4_000_000)
    with pytest.raises(RunError, match="standard input"):
        asyncio.run(collect(made))


def test_record_is_never_overwritten(tmp_path: Path) -> None:
    play("fails", out=tmp_path / "run")
    before = (tmp_path / "run" / "raw.jsonl").read_bytes()
    with pytest.raises(WriteError, match="holds a recorded run already"):
        play("fails", out=tmp_path / "run")
    assert (tmp_path / "run" / "raw.jsonl").read_bytes() == before


def test_full_disk_ends_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = run(fake("ticks"), out=tmp_path / "run")
    real = os.write

    def full(file: int, data: bytes) -> int:
        if b"tick" in data:
            raise OSError(28, "No space left on device")
        return real(file, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(WriteError, match="No space left"):
        asyncio.run(collect(made))
    assert is_childless()


def test_agents_are_there() -> None:
    assert all(os.access(path, os.X_OK) for path in AGENTS.iterdir())


def test_what_nobody_takes_is_not_read(tmp_path: Path) -> None:
    """Lines of two bytes become events a hundred times as large, so it is these that are bounded."""

    async def stop_at_first() -> int:
        made = run(fake("repeats", "generic"), arguments=["1", "400000"], out=tmp_path / "run", grace=0.1)
        async with contextlib.aclosing(made.events()) as events:
            async for _ in events:
                await asyncio.sleep(0.3)
                return (tmp_path / "run" / "raw.jsonl").read_bytes().count(b"\n")
        return 0

    assert 1 <= asyncio.run(stop_at_first()) < 80_000


def test_a_fault_of_the_watch_ends_the_agent(tmp_path: Path) -> None:
    def watch(_: object) -> None:
        raise ZeroDivisionError

    made = run(fake("ticks"), out=tmp_path / "run", watch=watch)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(collect(made))
    assert made.outcome.stopped == "abandoned"
    assert is_childless()
