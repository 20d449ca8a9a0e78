"""Files come into being whole or not at all: collisions, full disks, strictness, folders, damage."""

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command import CLINE, PLAIN, STENO, TOOLS, steno
from sources import sources
from stenograph import NotRecognized, ReadError, UnknownFormat, convert, read
from stenograph.errors import NotExact, UsageError, WriteError
from stenograph.interchange import facts, sink

SUBAGENT = sources()["agent_foreground/claude"]
TARGETS = ("asf", "atif", "events", "markdown")


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("to", TARGETS)
def test_two_sessions_with_one_id_stand_side_by_side(to: str, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    more = b'{"type":"assistant","session_id":"x","message":{"content":[{"type":"text","text":"More."}]}}'
    other.write_bytes(TOOLS.read_bytes() + more + b"\n")
    out = tmp_path / "out"
    convert(TOOLS, out, to=to)
    before = {path: path.read_bytes() for path in files(out)}
    report = convert(other, out, to=to)
    assert report.count("session-id-taken") == 1
    assert len(files(out)) == 2
    assert {path: path.read_bytes() for path in before} == before
    convert(other, out, to=to)
    assert len(files(out)) == 2


@pytest.mark.parametrize("to", TARGETS)
def test_an_existing_file_is_never_overwritten(to: str, tmp_path: Path) -> None:
    target = tmp_path / f"mine{'.md' if to == 'markdown' else '.json' if to == 'atif' else '.jsonl'}"
    target.write_text("mine")
    with pytest.raises(WriteError, match="exists"):
        convert(TOOLS, target, to=to)
    assert target.read_text() == "mine"
    assert files(tmp_path) == [target]


@pytest.mark.parametrize("to", TARGETS)
def test_a_full_disk_leaves_no_half_file(to: str, tmp_path: Path) -> None:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))

    done = subprocess.run(
        [STENO, "convert", SUBAGENT, "-o", tmp_path, "--to", to],
        check=False,
        capture_output=True,
        text=True,
        preexec_fn=limit,
        timeout=60,
    )
    assert done.returncode == 1
    assert "cannot be written: file too large" in done.stderr
    assert done.stderr.count("\n") == 1
    assert files(tmp_path) == []


def test_when_the_last_of_several_files_fails_none_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, count = os.link, iter(range(10))

    def fail(source: str, target: str) -> None:
        if next(count) == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        link(source, target)

    monkeypatch.setattr(sink.os, "link", fail)
    with pytest.raises(WriteError, match="no space left"):
        convert(SUBAGENT, tmp_path, to="asf")
    assert files(tmp_path) == []


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_whatever_the_disk_refuses_leaves_no_file(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sink.os, call, fail)
    for to in TARGETS:
        with pytest.raises(WriteError, match="cannot be written: no space left on device"):
            convert(SUBAGENT, tmp_path, to=to)
        assert files(tmp_path) == []


def test_a_target_that_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for target in (tmp_path / "file" / "out", Path("/dev/full")):
        done = steno("convert", PLAIN, "-o", target, "--to", "asf")
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert "not a directory" in done.err
    assert files(tmp_path) == [tmp_path / "file"]


API, UI = "api_conversation_history.json", "ui_messages.json"
ODD = (
    b'[1,"x",null,{"role":5,"content":{"a":1}},{"role":"user","content":[3,null,{"type":7}]},'
    b'{"role":"assistant","content":[{"type":"tool_use"}]}]'
)
DAMAGE = {
    "cut": (API, lambda data: data[:-700]),
    "empty": (UI, lambda data: b""),
    "no text": (API, lambda data: b"\xff\xfe garbage"),
    "no array": (UI, lambda data: b'{"a":1}'),
    "odd elements": (API, lambda data: ODD),
    "no times": (UI, lambda data: data.replace(b'"ts"', b'"tz"')),
    "torn in the middle": (UI, lambda data: data.replace(b'"type"', b'"type', 1)),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_task_converts_as_far_as_it_can_be_read(name: str, tmp_path: Path) -> None:
    task = tmp_path / "tasks" / "1770000000001"
    shutil.copytree(sources()["classic-native-tools-text-results/wild"], task)
    file, spoil = DAMAGE[name]
    (task / file).write_bytes(spoil((task / file).read_bytes()))
    is_damaged = name not in ("odd elements", "no times")
    for to in TARGETS:
        report = convert(task, tmp_path / to, to=to, check=to in ("asf", "atif"))
        assert report.count("check-failed") == 0, report.to_text()
        assert (report.count("damaged-file") > 0) == is_damaged
        assert len(report.files) == 1
        strict = steno("convert", task, "-o", tmp_path / "strict", "--to", to, "--strict")
        assert strict.code == (1 if is_damaged or to in ("events", "markdown") else 0)
    assert len(files(tmp_path / "strict")) == (0 if is_damaged else 2)
    assert all(task.as_posix() in str(note.where) for note in report.notes if note.code == "damaged-file")


def test_a_killed_run_leaves_no_file_that_looks_whole(tmp_path: Path) -> None:
    code = (
        "import os, sys; from stenograph.interchange.sink import NewFile\n"
        "file = NewFile(sys.argv[1]); file.write(b'x' * 3_000_000); os._exit(9)"
    )
    target = tmp_path / "a.jsonl"
    subprocess.run([sys.executable, "-c", code, target], check=False, timeout=60)
    assert files(tmp_path) == [tmp_path / "a.jsonl.tmp"]
    with sink.NewFile(str(target)) as file:
        file.write(b"whole")
        assert file.commit()
    assert files(tmp_path) == [target]
    assert target.read_bytes() == b"whole"


def test_the_file_is_the_owners_alone_like_the_references(tmp_path: Path) -> None:
    convert(PLAIN, tmp_path / "x.jsonl", to="asf")
    assert (tmp_path / "x.jsonl").stat().st_mode & 0o777 == 0o600


def test_strict_stops_at_the_first_loss_and_writes_nothing(tmp_path: Path) -> None:
    partial = sources()["partial_messages/claude"]
    with pytest.raises(NotExact, match="silent-record"):
        convert(partial, tmp_path, to="asf", strict=True)
    damaged = sources()["api-cut-inside-character-ui-stale-tail/wild"]
    with pytest.raises(NotExact, match="damaged-file"):
        convert(damaged, tmp_path, to="atif", strict=True)
    with pytest.raises(NotExact, match="not-an-event"):
        convert(TOOLS, tmp_path, to="events", strict=True)
    assert files(tmp_path) == []
    assert not convert(TOOLS, tmp_path, to="asf", strict=True).count("silent-record")


def test_a_folder_of_sessions(tmp_path: Path) -> None:
    root = tmp_path / "in"
    (root / "deep").mkdir(parents=True)
    (root / "deep" / "run.jsonl").write_bytes(TOOLS.read_bytes())
    (root / "cline.jsonl").write_bytes(CLINE.read_bytes())
    (root / "notes.txt").write_text("no session")
    (root / "other.jsonl").write_text('{"a": 1}\n')
    store = sources()["spawn_agent/cline-store"].parents[1]
    (root / "data").symlink_to(store)
    report = convert(root, tmp_path / "out", to="asf", check=True)
    assert [Path(done.path).name for done in report.sessions] == ["cline.jsonl", "run.jsonl"]
    assert len(files(tmp_path / "out")) == 2
    found = convert(store, tmp_path / "stored", to="asf", check=True)
    assert len(found.sessions) == 1
    assert len(files(tmp_path / "stored")) == 2  # the subagent's own
    again = convert(tmp_path / "out", tmp_path / "atif", to="atif")
    assert len(again.sessions) == 2
    assert sum(done.records for done in report.sessions) > 20


def test_several_sessions_do_not_go_into_one_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_bytes(TOOLS.read_bytes())
    with pytest.raises(WriteError, match="is one file"):
        convert(tmp_path, tmp_path / "out.json", to="atif")


def test_a_report_writes_nothing_and_counts_the_same(tmp_path: Path) -> None:
    for name in ("parallel_tools/claude", "roo-condensed-string-summary/wild"):
        dry = convert(sources()[name], None, to="asf")
        wet = convert(sources()[name], tmp_path / name, to="asf")
        assert dry.to_json() == wet.to_json()
        assert dry.files == []


@pytest.mark.parametrize(
    ("source", "options", "error"),
    [
        ("nowhere", {"to": "asf"}, ReadError),
        (__file__, {"to": "asf"}, NotRecognized),
        (TOOLS, {"to": "pdf"}, UnknownFormat),
        (TOOLS, {"to": "asf", "format": "clade"}, UnknownFormat),
        ("-", {"to": "asf", "check": True}, UsageError),
    ],
)
def test_wrong_calls(
    source: object, options: dict[str, object], error: type[Exception], tmp_path: Path
) -> None:
    with pytest.raises(error):
        convert(source, tmp_path / "out", **options)  # type: ignore[arg-type]  # wrong on purpose
    assert files(tmp_path) == []


@pytest.mark.parametrize("depth", [1, 90, 150, 960, 100_000])
def test_what_i_json_does_not_allow_is_spelled_anew_and_checks(depth: int, tmp_path: Path) -> None:
    odd = '{"n": 9007199254740993, "big": 1e400, "s": "\\ud800", "deep": ' + "[" * depth + "]" * depth + "}"
    head = '{"type":"assistant","session_id":"s","timestamp":"2026-01-01T00:00:00.120Z","message":{"id":"m",'
    block = '"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Odd","input":' + odd
    record = head + block + "}]}}\n"
    source = tmp_path / "odd.jsonl"
    unknown = '{"type":"news","session_id":"s","value":' + odd + "}\n"
    source.write_text(PLAIN.read_text() + record + unknown)
    for to in ("asf", "atif"):
        report = convert(source, tmp_path / to, to=to, check=True)
        assert report.count("check-failed") == 0, report.to_text()
    (file,) = files(tmp_path / "asf")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    changed = [each["at"] for line in lines for each in line.get("normalised", ())]
    assert len(changed) >= 3
    assert {note.code for note in convert(source, None, to="asf").notes} >= {"normalised"}
    assert "2026-01-01T00:00:00.12Z" in {line.get("ts") for line in lines}
    assert read(file).entries


def test_the_command_reads_standard_input_and_tells(tmp_path: Path) -> None:
    done = steno(
        "convert", "-", "-o", tmp_path / "o", "--to", "atif", "--report", "json", given=TOOLS.read_bytes()
    )
    assert done.code == 0
    told = json.loads(done.out)
    assert told["sessions"][0]["path"] == "-"
    assert told["records"] == TOOLS.read_bytes().count(b"\n")
    (path,) = files(tmp_path / "o")
    assert b"standard input" in done.out
    assert steno("convert", TOOLS, "-o", tmp_path / "o", "--to", "atif").code == 0
    assert files(tmp_path / "o") == [path]


def test_fail_on_gives_3_and_verify_1(tmp_path: Path) -> None:
    assert steno("report", TOOLS, "--fail-on", "approximated").code == 3
    assert steno("report", TOOLS, "--fail-on", "damaged").code == 0
    assert (
        steno("convert", TOOLS, "-o", tmp_path / "x.jsonl", "--to", "asf", "--fail-on", "changed").code == 3
    )
    assert steno("verify", tmp_path / "x.jsonl").code == 0
    spoiled = tmp_path / "y.jsonl"
    spoiled.write_bytes((tmp_path / "x.jsonl").read_bytes().replace(b"opus", b"0pus"))
    done = steno("verify", spoiled, tmp_path / "none", "--json")
    assert done.code == 1
    assert json.loads(done.out.splitlines()[0])["rule"] == "hash"
    assert "no such file" in done.err


def test_calls_kept_as_text_become_items_when_that_is_asked_for(tmp_path: Path) -> None:
    source = sources()["classic-xml-weak-model/wild"]
    plain = convert(source, tmp_path / "plain.jsonl", to="asf", check=True)
    asked = convert(source, tmp_path / "asked.jsonl", to="asf", check=True, calls_from_text=True)
    assert (plain.count("check-failed"), asked.count("check-failed")) == (0, 0)
    count = plain.count("call-in-text")
    assert count
    assert (plain.count("call-from-text"), asked.count("call-from-text")) == (0, count)
    assert asked.count("call-in-text") == 0
    told = [facts.to_json(entry) for entry in read(tmp_path / "plain.jsonl").entries]
    assert told == [facts.to_json(entry) for entry in read(tmp_path / "asked.jsonl").entries]
    kinds = []
    for name in ("plain", "asked"):
        lines = [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
        kinds.append([line["item"]["type"] for line in lines if line["type"] == "item"])
    called = sum(each["entry"] == "called" for each in told)
    assert (kinds[0].count("function_call"), kinds[1].count("function_call")) == (0, called)
    text = next(
        block["text"]
        for message in json.loads((source / "api_conversation_history.json").read_text())
        if message["role"] == "assistant"
        for block in message["content"]
    )
    assert json.dumps(text, ensure_ascii=False)[1:-1] in (tmp_path / "asked.jsonl").read_text()
    with pytest.raises(UsageError):
        convert(source, tmp_path / "x.json", to="atif", calls_from_text=True)
    assert steno("convert", source, "-o", tmp_path, "--to", "atif", "--calls-from-text").code == 2
    done = steno("convert", source, "-o", tmp_path / "by.jsonl", "--to", "asf", "--calls-from-text")
    assert done.code == 0
    assert (tmp_path / "by.jsonl").read_bytes() == (tmp_path / "asked.jsonl").read_bytes()


def test_the_list_of_formats_is_still_a_function() -> None:
    code = "import stenograph, stenograph.conversion as c; c.convert; print(len(stenograph.formats()) > 1)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)
    assert done.stdout == b"True\n"


def test_a_stored_sessions_format_may_be_named(tmp_path: Path) -> None:
    task = tmp_path / "tasks" / "1770000000001"
    shutil.copytree(sources()["classic-native-tools-text-results/wild"], task)
    told = steno("convert", task, "-o", tmp_path / "out", "--to", "asf", "--from", "cline-task")
    assert told.code == 0
    found = files(tmp_path / "out")
    assert [read(path, format="asf").summary.agent for path in found] == ["cline"]
    again = steno("convert", found[0], "-o", tmp_path / "again", "--to", "atif", "--from", "asf")
    assert (again.code, len(files(tmp_path / "again"))) == (0, 1)
    with pytest.raises(NotRecognized, match="holds a cline-task, no cline-session"):
        convert(task, tmp_path / "wrong", to="asf", format="cline-session")
    report = convert(tmp_path / "tasks", tmp_path / "wrong", to="asf", format="cline-session")
    assert ([note.code for note in report.notes], report.files) == (["not-read"], [])
