"""`steno run` and `steno replay` as programs: signals, exit codes, pipes, and their own violent death."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from command import STENO
from running import AGENTS, is_running, lines, wait_for
from stenograph.runner import replay


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on PATH, in which a script becomes the agent `claude` by being copied there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return folder


def steno(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    given = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": 30, **options}
    return subprocess.run([STENO, *words], check=False, **given)


def start(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [STENO, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def put(folder: Path, name: str) -> None:
    shutil.copy(AGENTS / name, folder / "claude")


def heard(folder: Path) -> bytes:
    path = folder / "raw.jsonl"
    return path.read_bytes() if path.exists() else b""


def test_events_as_lines_and_exit_code_passed_on(agent: Path) -> None:
    put(agent, "fails")
    done = steno("run", "--out", "kept", "claude", "--model", "m", "--", "do", "it")
    assert done.returncode == 3
    assert done.stdout.encode() == Path("kept/events.jsonl").read_bytes()
    assert json.loads(done.stdout.splitlines()[-1])["message"].startswith("exit code 3\n")
    words = json.loads(Path("kept/run.json").read_bytes())["arguments"]
    assert words == ["-p", "--output-format", "stream-json", "--verbose", "--model", "m", "--", "do it"]


def test_killed_by_a_signal(agent: Path) -> None:
    put(agent, "half_line")
    assert steno("run", "claude").returncode == 128 + 9


def test_dry_run_prints_a_command_for_the_shell(agent: Path) -> None:
    done = steno("run", "--dry-run", "codex", "--model", "m", "--", "it's new")
    assert done.stdout == "codex exec --json --model m -- 'it'\"'\"'s new'\n"
    assert done.returncode == 0


def test_standard_input_goes_to_the_agent(agent: Path) -> None:
    put(agent, "reads")
    done = steno("run", "--pretty", "claude", input="from a pipe\n", stdin=None)
    assert "from a pipe" in done.stdout
    assert "never said that it had come to its end" in done.stderr
    silent = steno("run", "--no-stdin", "claude", input="from a pipe\n", stdin=None)
    assert "from a pipe" not in silent.stdout


def test_no_such_agent_and_none_installed(agent: Path) -> None:
    assert steno("run", "clode").returncode == 2
    missing = steno("run", "--out", "kept", "goose")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr == "steno: goose is not on PATH; is the agent installed?\n"
    assert not Path("kept").exists()


def test_option_behind_the_agent_goes_to_the_agent(agent: Path) -> None:
    put(agent, "reads")
    done = steno("run", "claude", "--out", "kept")
    assert "arg --out" in done.stdout
    assert "--out stands behind claude" in done.stderr


def test_timeout(agent: Path) -> None:
    put(agent, "polite")
    done = steno("run", "--timeout", "1", "claude")
    assert done.returncode == 124
    assert json.loads(done.stdout.splitlines()[-1])["code"] == "timeout"
    assert "its time was over" in done.stderr


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_signals_reach_the_agent_and_end_its_group(agent: Path, number: int, code: int) -> None:
    put(agent, "polite")
    running = start("run", "--out", "kept", "claude")
    wait_for(lambda: b'"child' in heard(Path("kept")).replace(b"\\", b""))
    child = json.loads(json.loads(heard(Path("kept")).splitlines()[0])["text"])["pid"]
    running.send_signal(number)
    running.communicate(timeout=20)
    assert running.returncode == code
    assert json.loads(Path("kept/run.json").read_bytes())["stopped"] == "signal"
    assert not is_running(child)


def test_second_signal_kills_a_deaf_agent(agent: Path) -> None:
    put(agent, "stubborn")
    running = start("run", "--grace", "60", "claude")
    child = json.loads(running.stdout.readline())["raw"]
    running.send_signal(signal.SIGINT)
    time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=20)
    assert running.returncode == 128 + 9
    assert not is_running(child)


def test_killed_steno_leaves_a_readable_record(agent: Path) -> None:
    put(agent, "ticks")
    running = start("run", "--out", "kept", "claude")
    wait_for(lambda: heard(Path("kept")).count(b"tick") > 20)
    running.kill()
    running.communicate(timeout=20)
    kept = json.loads(Path("kept/run.json").read_bytes())
    assert (kept["sessionId"], kept["ended"], kept["exitCode"]) == ("s1", None, None)
    events = Path("kept/events.jsonl").read_bytes()
    assert events.count(b"\n") > 15
    assert lines(list(replay("kept"))).startswith(events)


@pytest.fixture
def killed(agent: Path) -> Path:
    """The record of a run whose steno was killed while a call was open."""
    put(agent, "calls")
    running = start("run", "--out", "kept", "claude")
    wait_for(lambda: b"not json" in running.stdout.readline())
    running.kill()
    running.communicate(timeout=20)
    os.kill(json.loads(json.loads(heard(Path("kept")).splitlines()[0])["text"])["pid"], signal.SIGKILL)
    return Path("kept")


def test_killed_run_replays_to_what_was_recorded(killed: Path) -> None:
    kept = (killed / "events.jsonl").read_bytes()
    assert kept.count(b"\n") == 1
    made = replay(killed)
    assert lines(list(made)) == kept
    assert made.is_cut
    assert [(event.command, event.is_success) for event in made.held] == [("make", None)]
    checked = steno("replay", "--check", "kept")
    assert (checked.returncode, checked.stdout) == (0, "kept/events.jsonl: the same 1 event, cut off\n")
    again = steno("replay", "kept")
    assert (killed / "events.jsonl").read_bytes() == kept
    assert again.stderr == ("steno: kept: the record was cut off; --rest adds 1 event of what was open\n")


def test_rest_of_a_killed_run(killed: Path) -> None:
    done = steno("replay", "--rest", "--out", "-", "kept")
    assert [json.loads(line)["type"] for line in done.stdout.splitlines()] == ["warning", "command"]
    assert done.stderr == "steno: kept: the record was cut off\n"


def test_events_that_a_killed_run_did_not_write(killed: Path) -> None:
    path = killed / "events.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    done = steno("replay", "--check", "kept")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "kept/events.jsonl: the same 0 events, cut off; 1 more not written\n"
    path.write_bytes(b'{"type":"error"}\n')
    assert steno("replay", "--check", "kept").returncode == 1


def test_usage_of_a_killed_run(killed: Path) -> None:
    assert json.loads((killed / "run.json").read_bytes())["usage"] is None
    (row,) = json.loads(steno("usage", "--json", "kept").stdout)["rows"]
    assert (row["session"], row["model"], row["gaps"]) == ("s1", "claude-opus-4-8", ["no-end"])
    assert (row["tokens"]["uncachedInput"], row["tokens"]["cachedInput"]) == (100, 40)


@pytest.mark.parametrize("name", ["run.json", "raw.jsonl", "events.jsonl"])
def test_record_files_that_are_pipes(agent: Path, name: str) -> None:
    put(agent, "fails")
    steno("run", "--out", "kept", "claude")
    Path("kept", name).unlink()
    os.mkfifo(Path("kept", name))
    done = steno("replay", "--check", "kept")
    assert (done.returncode, done.stderr) == (1, f"steno: cannot read kept/{name}: it is no file\n")


def test_closed_output_ends_the_agent_quietly(agent: Path) -> None:
    put(agent, "ticks")
    running = start("run", "--out", "kept", "claude")
    running.stdout.readline()
    running.stdout.close()
    assert running.wait(timeout=20) == 0
    assert running.stderr.read() == b""
    running.stderr.close()
    assert json.loads(Path("kept/run.json").read_bytes())["stopped"] == "abandoned"


def test_blocked_output_does_not_hold_up_signals(agent: Path) -> None:
    shutil.copy(AGENTS / "writes_much", agent / "much")
    running = start("run", "--grace", "0.2", "--out", "kept", "generic", "much", "1", "8000000")
    wait_for(lambda: len(heard(Path("kept"))) > 50_000)
    time.sleep(0.1)
    running.send_signal(signal.SIGTERM)
    assert running.wait(timeout=20) == 0
    running.communicate()
    assert json.loads(Path("kept/run.json").read_bytes())["stopped"] == "signal"


def test_replay_makes_the_same_file_again(agent: Path) -> None:
    put(agent, "not_utf8")
    steno("run", "--out", "kept", "--detail", "claude")
    events = Path("kept/events.jsonl").read_bytes()
    assert b"origin" in events
    Path("kept/events.jsonl").unlink()
    assert steno("replay", "kept").returncode == 0
    assert Path("kept/events.jsonl").read_bytes() == events
    assert steno("replay", "kept", "--out", "-", text=False).stdout == events


def test_replay_check(agent: Path) -> None:
    put(agent, "fails")
    steno("run", "--out", "kept", "claude")
    assert steno("replay", "--check", "kept").stdout == "kept/events.jsonl: the same 4 events\n"
    path = Path("kept/events.jsonl")
    whole = path.read_bytes()
    path.write_bytes(whole + b"{}\n")
    assert steno("replay", "--check", "kept").returncode == 1
    path.write_bytes(whole[:-1])
    changed = steno("replay", "--check", "kept")
    assert (changed.returncode, changed.stderr) == (
        1,
        "steno: kept/events.jsonl: line 4 is another one now\n",
    )


def test_replay_in_another_profile_needs_another_file(agent: Path) -> None:
    put(agent, "fails")
    steno("run", "--out", "kept", "claude")
    refused = steno("replay", "--detail", "kept")
    assert refused.returncode == 2
    assert "--out" in refused.stderr
    assert "origin" in steno("replay", "--detail", "--out", "-", "kept").stdout


def test_replay_of_no_record(agent: Path) -> None:
    done = steno("replay", ".")
    assert (done.returncode, done.stderr) == (1, "steno: cannot read run.json: No such file or directory\n")


@pytest.mark.parametrize("option", ["--timeout", "--idle-timeout", "--grace"])
@pytest.mark.parametrize("seconds", ["nan", "inf", "-1"])
def test_what_is_no_number_of_seconds(option: str, seconds: str, agent: Path) -> None:
    done = steno("run", option, seconds, "--json", "--program", str(agent), "claude")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"steno: Invalid value for '{option}'")


def test_replay_to_the_name_of_standard_output(agent: Path) -> None:
    put(agent, "fails")
    events = steno("run", "--out", "kept", "--json", "claude").stdout
    assert steno("replay", "--out", "/dev/stdout", "kept").stdout.startswith(events)


def test_arguments_that_are_no_text(agent: Path, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/no\xfftext"
    os.mkdir(folder)
    word = os.fsdecode(b"arg\xff")
    run = ["run", "--out", "kept", "--cwd", os.fsdecode(folder), "generic", "/bin/echo", word]
    assert json.loads(steno(*run).stdout)["raw"] == "arg\ufffd"
    kept = json.loads(Path("kept/run.json").read_bytes())
    assert (kept["arguments"], kept["cwd"]) == (["arg\\udcff"], f"{tmp_path}/no\\udcfftext")
    assert steno("replay", "--check", "kept").returncode == 0
    command = steno("run", "--dry-run", "generic", "/bin/echo", word, text=False).stdout
    assert command == b"/bin/echo 'arg\xff'\n"


def test_folder_that_is_gone(agent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    done = steno("run", "generic", "/bin/echo")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "steno: the folder that we are in is not there any more\n"


@pytest.mark.parametrize("name", ["run.json", "raw.jsonl", "events.jsonl"])
def test_no_file_is_written_over(agent: Path, name: str) -> None:
    Path("kept").mkdir()
    Path("kept", name).write_text("mine")
    done = steno("run", "--out", "kept", "generic", "/bin/echo", "hi")
    assert (done.returncode, done.stdout) == (1, "")
    assert "holds a recorded run already" in done.stderr
    assert [path.name for path in Path("kept").iterdir()] == [name]
    assert Path("kept", name).read_text() == "mine"


def test_record_into_what_is_no_folder(agent: Path) -> None:
    assert steno("run", "--out", "/dev/full", "generic", "/bin/echo").stderr == (
        "steno: /dev/full is no folder; name another folder\n"
    )


def test_line_that_memory_does_not_hold(agent: Path) -> None:
    endless = "head -c 200000000 /dev/zero | tr '\\0' x; echo"
    done = steno(
        *("run", "generic", "/bin/sh", "-c", endless),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (400_000_000, 400_000_000)),
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "steno: out of memory\n")


def test_live_view_where_there_is_no_terminal(agent: Path) -> None:
    done = steno("run", "--live", "generic", "/bin/echo", "hi")
    assert done.stdout.splitlines()[-1].split() == ["now", "ended", "with", "0"]
    assert done.stdout.endswith("\n")
