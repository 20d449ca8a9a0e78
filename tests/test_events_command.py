"""`steno events`: what comes out of files, pipes and faulty inputs, and when."""

import fcntl
import gzip
import json
import os
import pty
import re
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import termios
import time

import pytest

from command import CLINE, PLAIN, STENO, TOOLS, Done, started, steno
from stenograph import EventParser, encode, events, read
from stenograph.cli.terminal import width
from stenograph.stores import replayed

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

STORED = CLINE.parents[2] / "cline-store"
LEGACY = STORED / "legacy_read" / "tasks" / "1796041090826"
SDK = STORED / "plain_text" / "sessions" / "1796039948224_lqzj1"
RECORD = ("--clock", "record")


def expected(path, agent: str = "claude", **options) -> bytes:
    parser = EventParser(agent, now="record", **options)
    events = parser.feed(path.read_bytes()) + parser.close()
    return b"".join(encode(event) + b"\n" for event in events)


def test_a_file_gives_the_events_of_its_parser():
    assert expected(TOOLS).count(b"\n") >= 4
    assert steno("events", "--from", "claude", *RECORD, TOOLS) == Done(0, expected(TOOLS), "")


def test_the_format_is_told_by_the_first_records():
    assert steno("events", *RECORD, TOOLS) == Done(0, expected(TOOLS), "")
    assert steno("events", *RECORD, CLINE) == Done(0, expected(CLINE, "cline"), "")
    banner = b"Loading...\nReady.\n" + TOOLS.read_bytes()
    done = steno("events", *RECORD, given=banner)
    assert [json.loads(line).get("message") for line in done.out.splitlines()[:2]] == ["Loading...", "Ready."]
    assert done.out.endswith(expected(TOOLS).split(b"\n", 1)[1])


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress], ids=["plain", "gzip", "zstd"])
def test_standard_input_may_be_packed(pack):
    given = pack(TOOLS.read_bytes())
    assert steno("events", *RECORD, given=given) == Done(0, expected(TOOLS), "")
    assert steno("events", *RECORD, "-", given=given) == Done(0, expected(TOOLS), "")


def test_several_files_have_a_parser_each():
    done = steno("events", *RECORD, TOOLS, CLINE, PLAIN)
    assert done == Done(0, expected(TOOLS) + expected(CLINE, "cline") + expected(PLAIN), "")


@pytest.mark.parametrize(
    "name", ["legacy_read/tasks/1796041090826", "plain_text/sessions/1796039948224_lqzj1"]
)
def test_a_stored_session_gives_the_events_of_its_run(name):
    path = STORED / name
    kept = b"".join(encode(event) + b"\n" for event in replayed(path, profile="extended"))
    assert kept.count(b"\n") >= 2
    assert steno("events", "--profile", "extended", path) == Done(0, kept, "")
    assert steno("events", "--profile", "extended", next(path.glob("*messages.json"))) == Done(0, kept, "")


def test_a_stored_session_is_shown_from_its_workspace_and_its_faults_are_noted(tmp_path):
    path = shutil.copytree(STORED / "legacy_read/tasks/1796041090826", tmp_path / "tasks" / "1796041090826")
    shown = steno("events", "--pretty", "--profile", "extended", STORED / "legacy_read/tasks/1796041090826")
    assert b"read       README.md:1-3\n" in shown.out
    api = path / "api_conversation_history.json"
    api.write_bytes(api.read_bytes()[:-9])
    done = steno("events", "--report", "text", "--fail-on", "damaged", path)
    assert done.code == 3
    assert done.err.startswith("damaged: damaged-file x1")


def test_a_folder_that_is_no_session_is_told(tmp_path):
    is_none = "is a directory and no stored session: steno ls lists those below it"
    assert steno("events", tmp_path) == Done(1, b"", f"steno: {tmp_path} {is_none}\n")


@pytest.mark.parametrize(
    ("form", "path", "code", "told"),
    [
        ("cline-session", LEGACY, 1, f"{LEGACY} holds a cline-task, no cline-session"),
        ("cline", LEGACY, 1, f"{LEGACY} holds a cline-task, no cline-stream"),
        ("cline-task", SDK, 1, f"{SDK} holds a cline-session, no cline-task"),
        ("cline-task", TOOLS, 1, f"{TOOLS} is no stored session, no cline-task"),
        ("roo", "nowhere", 1, "no such file or directory: nowhere"),
        ("cline-task", "-", 2, "'cline-task' is a format of stored sessions: give the path of one"),
    ],
)
def test_a_format_that_does_not_fit_what_is_there_is_told(form, path, code, told):
    assert steno("events", "--from", form, path) == Done(code, b"", f"steno: {told}\n")


@pytest.mark.parametrize("form", ["cline-task", "roo-task", "roo"])
def test_a_stored_session_is_read_as_the_format_that_is_named(form):
    assert steno("events", "--from", form, LEGACY) == steno("events", LEGACY)
    assert list(events(LEGACY, format=form)) == list(events(LEGACY))
    assert read(LEGACY, format=form).summary.id == LEGACY.name


@pytest.mark.parametrize("name", ["ui_messages.json", "task_metadata.json", "api_conversation_history.json"])
def test_a_session_is_named_by_any_file_of_it_that_is_read(name):
    assert steno("events", LEGACY / name) == steno("events", LEGACY)


def test_options_reach_the_parser():
    arguments = ("events", *RECORD, "--profile", "extended", "--detail", "--cwd", "/srv", TOOLS)
    assert steno(*arguments).out == expected(TOOLS, profile="extended", detail=True, cwd="/srv")
    assert expected(TOOLS, profile="extended", detail=True) != expected(TOOLS)


def test_without_a_clock_of_records_the_time_is_now():
    stamps = [json.loads(line)["timestamp"] for line in steno("events", TOOLS).out.splitlines()]
    year = time.gmtime().tm_year
    assert all(re.fullmatch(rf"{year}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", stamp) for stamp in stamps)


def test_what_cannot_be_read_is_told_and_the_others_are_read(tmp_path):
    done = steno("events", *RECORD, tmp_path / "none.jsonl", TOOLS, tmp_path)
    assert (done.code, done.out) == (1, expected(TOOLS))
    assert done.err.splitlines() == [
        f"steno: {tmp_path}/none.jsonl: no such file or directory",
        f"steno: {tmp_path} is a directory and no stored session: steno ls lists those below it",
    ]


def test_a_cut_archive_gives_its_readable_part(tmp_path):
    packed = tmp_path / "cut.jsonl.gz"
    packed.write_bytes(gzip.compress(TOOLS.read_bytes())[:-600])
    done = steno("events", *RECORD, "--from", "claude", packed)
    assert done.code == 1
    assert done.err.startswith(f"steno: {packed}, byte ")
    assert done.err.endswith("the gzip data is cut off\n")
    assert expected(TOOLS).startswith(done.out[: done.out.index(b"\n") + 1])


def test_garbage_is_kept_line_by_line():
    garbage = bytes(range(128, 256)) * 3 + b"\n\x00\x01\x02\n"
    done = steno("events", given=garbage)
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert done.err.startswith("steno: standard input: no known agent's records found")
    assert [json.loads(line)["type"] for line in done.out.splitlines()] == ["unknown", "unknown"]


@pytest.mark.parametrize("given", [b"", b"\n \r\n"])
def test_an_empty_input_is_told(given):
    assert steno("events", "--from", "claude", given=given) == Done(
        0, b"", "steno: standard input: is empty\n"
    )
    assert steno("events", given=given) == Done(1, b"", "steno: standard input: is empty\n")


def test_an_unknown_format_is_wrong_usage():
    done = steno("events", "--from", "cluade", TOOLS)
    assert (done.code, done.out) == (2, b"")
    assert re.fullmatch(r"steno: unknown format 'cluade'; did you mean claude\b.*\n", done.err)


@pytest.mark.parametrize(
    "wrong", [["--profile", "x"], ["--form", "claude"], ["--fail-on", "x"], ["--report", "x"]]
)
def test_wrong_usage_is_one_line(wrong):
    done = steno("events", *wrong)
    assert (done.code, done.out, done.err.count("\n")) == (2, b"", 1)
    assert done.err.endswith("(see: steno events --help)\n")


def test_the_report_goes_to_standard_error(tmp_path):
    marked = tmp_path / "marked.jsonl"
    marked.write_bytes(b"\xef\xbb\xbf" + TOOLS.read_bytes())
    done = steno("events", *RECORD, "--report", "json", marked)
    notes = json.loads(done.err)
    assert (done.code, done.out) == (0, expected(TOOLS))
    assert [note["kind"] for note in notes] == ["changed"]
    assert notes[0]["where"]["source"] == str(marked)
    assert steno("events", "--report", "text", marked).err.startswith("changed: ")
    assert steno("events", "--report", "text", TOOLS).err == ""


def test_notes_can_fail_the_run(tmp_path):
    marked = tmp_path / "marked.jsonl"
    marked.write_bytes(b"\xef\xbb\xbf" + TOOLS.read_bytes())
    assert steno("events", "--fail-on", "changed", marked).code == 3
    assert steno("events", "--fail-on", "drift", marked).code == 3
    assert steno("events", "--fail-on", "dropped", marked).code == 0
    assert steno("events", "--fail-on", "drift", TOOLS).code == 0
    assert steno("events", "--fail-on", "changed", marked, tmp_path / "none").code == 1


def test_a_closed_pipe_ends_quietly():
    many = TOOLS.read_bytes() * 2000
    done = subprocess.run(
        ["bash", "-c", '"$0" events - | head -n 1; echo ${PIPESTATUS[0]}', STENO],
        check=True,
        input=many,
        capture_output=True,
        timeout=60,
    )
    assert done.stdout.splitlines()[1:] == [b"0"]
    assert done.stderr == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
def test_a_full_disk_is_an_error():
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [STENO, "events", TOOLS], check=False, stdout=full, stderr=subprocess.PIPE, timeout=60
        )
    assert (done.returncode, done.stderr) == (1, b"steno: no space left on device\n")


def line_of(process: subprocess.Popen[bytes], seconds: float = 10) -> bytes:
    assert process.stdout
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    assert ready, "no event came"
    return os.read(process.stdout.fileno(), 65536)


def unknown(number: int) -> bytes:
    return b'{"type":"system","subtype":"news","session_id":"s","n":%d}\n' % number


@pytest.mark.parametrize("arguments", [["--from", "claude"], [], ["--pretty"]])
def test_an_event_is_out_within_5_ms(arguments):
    with started("events", *arguments) as process:
        process.stdin.write(PLAIN.read_bytes())  # the first one pays for the start
        line_of(process)
        waits = []
        for number in range(40):
            begun = time.perf_counter()
            process.stdin.write(unknown(number))
            line = line_of(process)
            waits.append((time.perf_counter() - begun) * 1000)
            assert b"%d}" % number in line
        process.stdin.close()
        assert process.wait(timeout=10) == 0
    median = statistics.median(waits)
    assert median < 5, f"an event is out {median:.2f} ms after its record (worst: {max(waits):.2f} ms)"


def test_the_last_words_behind_an_interrupt_are_read():
    first, *rest = TOOLS.read_bytes().splitlines(keepends=True)
    with started("events", "--from", "claude", *RECORD) as process:
        process.stdin.write(first + unknown(1))
        said = line_of(process)
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        process.stdin.write(b"".join(rest))
        process.stdin.close()
        said += process.stdout.read()
        assert (process.wait(timeout=10), process.stderr.read()) == (130, b"")
    assert said.count(b"\n") == expected(TOOLS).count(b"\n") + 1


HELD = (
    b'{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"held"}]},"session_id":"s"}\n'
)


@pytest.mark.parametrize("interrupts", [1, 2])
def test_an_interrupt_ends_a_silent_pipe_and_what_was_held_is_given(interrupts):
    with started("events", "--from", "claude") as process:
        process.stdin.write(unknown(1) + HELD)
        line_of(process)
        begun = time.perf_counter()
        for _ in range(interrupts):
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)
        assert process.wait(timeout=10) == 130
        waited = time.perf_counter() - begun
        assert waited < 1.5 if interrupts == 2 else 1.5 < waited < 5
        assert json.loads(process.stdout.read())["message"] == "held"
        assert process.stderr.read() == b""


IN_THE_BACKGROUND = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
"""What a script's `&` does to a command: it ignores interrupts."""


@pytest.mark.parametrize("ahead", [(), IN_THE_BACKGROUND])
def test_termination_gives_what_was_held(ahead):
    with started("events", "--from", "claude", ahead=ahead) as process:
        process.stdin.write(unknown(1) + HELD)
        line_of(process)
        if ahead:
            process.send_signal(signal.SIGINT)
        process.terminate()
        assert process.wait(timeout=10) == 143
        assert json.loads(process.stdout.read())["message"] == "held"
        assert process.stderr.read() == b""


@pytest.mark.parametrize("piped", [True, False])
def test_termination_tells_the_report(tmp_path, piped):
    os.mkfifo(tmp_path / "live")
    path = "-" if piped else tmp_path / "live"
    with started("events", "--from", "claude", "--report", "json", path) as process:
        with process.stdin if piped else (tmp_path / "live").open("wb", buffering=0) as live:
            live.write(unknown(1) + b"text\n" + HELD)
            line_of(process)
            process.terminate()
            assert process.wait(timeout=10) == 143
        assert json.loads(process.stdout.read().splitlines()[-1])["message"] == "held"
        assert [note["code"] for note in json.loads(process.stderr.read())] == ["unknown-record", "text-line"]


def test_names_that_are_no_text_are_told(tmp_path):
    done = steno("events", "--report", "json", os.fsdecode(os.fsencode(tmp_path) + b"/\xff\x1b[31m"))
    assert (done.code, done.out) == (1, b"")
    assert done.err == f"steno: {tmp_path}/<U+DCFF>␛[31m: no such file or directory\n[]\n"


def on_terminal(*arguments: object, columns: int, **environment: str) -> str:
    """What a command writes to a terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        [STENO, *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**env, "TERM": "xterm", **environment},
    )
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        parts.append(part)
    process.wait(timeout=10)
    os.close(ours)
    return b"".join(parts).decode()


@pytest.mark.parametrize("columns", [80, 120])
def test_pretty_fits_the_terminal_and_is_coloured(columns):
    shown = on_terminal("events", "--pretty", TOOLS, columns=columns)
    assert "\x1b[" in shown
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).split("\r\n")
    assert max(map(width, lines)) <= columns
    assert re.fullmatch(r"\d\d:\d\d:\d\d  write      src/app\.py", lines[1])


def test_no_color_is_obeyed():
    assert "\x1b" not in on_terminal("events", "--pretty", TOOLS, columns=80, NO_COLOR="1")


def test_pretty_has_no_escapes_in_a_pipe():
    done = steno("events", "--pretty", TOOLS)
    assert b"\x1b" not in done.out
    assert done.out.count(b"\n") == expected(TOOLS).count(b"\n")


def test_a_terminal_is_not_waited_at():
    shown = on_terminal("events", columns=80)
    assert shown.startswith("steno: no input: name a file, or pipe an agent's output into this command")
