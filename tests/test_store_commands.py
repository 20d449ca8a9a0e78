"""`steno ls`, `show` and `check`, run as functions of the command line."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from click.testing import CliRunner

from stenograph.agents.cline.task import TaskStore
from stenograph.cli.check import check
from stenograph.cli.ls import _watched, ls
from stenograph.cli.show import show
from stenograph.corpus.catalog import Listed
from stenograph.corpus.search import Found
from stenograph.errors import NotRecognized, ReadError
from stenograph.model import Summary
from taskdirs import DATA, TASKDIRS, lay_out

STORE = DATA / "cline-store"
LEGACY = STORE / "legacy_read" / "tasks" / "1796041090826"


class Done(NamedTuple):
    code: Any
    out: str
    err: str


def run(command: click.Command, *arguments: object, columns: int = 160, **environment: str) -> Done:
    """Run a command; raises what it raises."""
    runner = CliRunner(env={"COLUMNS": str(columns), **environment})
    done = runner.invoke(command, [str(each) for each in arguments], standalone_mode=False)
    if done.exception:
        raise done.exception
    return Done(done.return_value, done.stdout, done.stderr)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, case in TASKDIRS.items():
        lay_out(case, tmp_path / "root" / name)
    shutil.copytree(STORE / "hub_tools", tmp_path / "root" / "hub_tools")
    return tmp_path / "root"


def test_ls_lists_newest_first_and_cuts_to_the_terminal(root: Path) -> None:
    done = run(ls, root, "--no-cache")
    head, *rows = done.out.splitlines()
    assert done.code == 0
    assert head.split()[:4] == ["started", "agent", "id", "req"]
    times = [row[:16] for row in rows]
    assert times == sorted(times, reverse=True)
    assert len(rows) == len(TASKDIRS) + 1
    assert rows[0] == (
        "2026-11-30 12:08  cline/sdk         1796040521569    3   370   42  0.00  fake-model                "
        "/home/dev/app  please do the task"
    )
    assert any(row.split()[2:4] == ["cline/classic", "!1"] for row in rows)
    narrow = run(ls, root, "--no-cache", columns=70)
    assert max(map(len, narrow.out.splitlines())) <= 70


def test_ls_gives_json_and_a_limit(root: Path) -> None:
    done = run(ls, root, "--no-cache", "--json", "--limit", 2)
    first, second = map(json.loads, done.out.splitlines())
    assert first["id"] == "1796040521569_zl4py"
    counts = {"tokens_in": 370, "tokens_out": 42, "cache_writes": 0, "cache_reads": 220, "cost": 0.0}
    assert first["totals"] == counts
    assert (second["agent"], second["variant"]) == ("cline", "classic")
    assert second["title"] == "Add a tide table for Bergen"


def test_ls_searches_the_default_places_and_remembers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    shutil.copytree(STORE / "legacy_read", tmp_path / ".cline" / "data")
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_CONFIG_HOME": "", "CLINE_DIR": ""}
    first = run(ls, **environment)
    assert "read the files" in first.out
    assert (tmp_path / "cache" / "stenograph" / "catalog.json").exists()
    assert run(ls, **environment) == first


def test_ls_of_an_empty_place_is_its_head(tmp_path: Path) -> None:
    assert len(run(ls, tmp_path, "--no-cache").out.splitlines()) == 1
    done = run(ls, tmp_path / "nowhere", tmp_path, "--no-cache")
    assert (done.code, done.err) == (1, f"steno: no such file or directory: {tmp_path}/nowhere\n")
    assert len(done.out.splitlines()) == 1


def test_ls_tells_what_could_not_be_read_and_goes_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = TaskStore.summary

    def refuse(self: TaskStore, path: str) -> Summary:
        if "1742300000000" in path:
            raise ReadError("cannot list it: Permission denied")
        return summary(self, path)

    monkeypatch.setattr(TaskStore, "summary", refuse)
    done = run(ls, root, "--no-cache")
    assert done.code == 1
    assert len(done.out.splitlines()) == len(TASKDIRS) + 1
    assert done.err.count("\n") == 1
    assert done.err.endswith(
        "1742300000000/api_conversation_history.json: cannot list it: Permission denied\n"
    )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_ls_shows_a_bar_on_a_terminal_once_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stenograph.cli.ls._PATIENCE_S", -1.0)
    sessions = [Listed(Found("x", "cline-task"), None, None)] * 3
    for error, said in (
        (Terminal(), "\r[##########--------------------] 1 of 3 sessions"),
        (io.StringIO(), ""),
    ):
        monkeypatch.setattr("sys.stderr", error)
        assert list(_watched(sessions, 3)) == sessions
        assert error.getvalue().startswith(said)
        assert error.getvalue().endswith("\r\x1b[K" if said else "")
        assert bool(error.getvalue()) == bool(said)


def test_show_gives_a_readable_transcript() -> None:
    done = run(show, LEGACY)
    assert done.out.startswith(
        "session    1796041090826 (cline-task)\n"
        "started    2026-11-30T12:18:10.889Z\n"
        "workspace  /home/dev/app\n"
        "model      fake-model\n\n"
        "12:18:19  user\n"
        "  read the files\n\n"
        "12:18:20  agent\n"
        "  I will read.\n\n"
        "12:18:20  call read_file\n"
        "  path: README.md\n\n"
        "12:18:20  result read_file\n"
        "  1 | # Demo app\n"
    )
    assert "12:18:22  result read_file failed\n  The tool execution failed" in done.out
    assert done.out.endswith("12:18:22  agent\n  All finished.\n\n")
    assert "environment_details" not in done.out


def test_show_all_leaves_nothing_out() -> None:
    done = run(show, LEGACY, "--all")
    assert "12:18:19  context\n  <environment_details>" in done.out
    assert "12:18:19  spent 100 + 0 in, 10 out, $0.0000\n" in done.out
    assert "12:18:23  ask/resume_task\n" in done.out


def test_show_cuts_long_results_and_says_what_is_damaged(tmp_path: Path) -> None:
    folder = tmp_path / "tasks" / "5"
    folder.mkdir(parents=True)
    lines = "\\n".join(f"line {number} \x7f" for number in range(30))
    (folder / "api_conversation_history.json").write_text(
        f'[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c","content":"{lines}"}}]}}'
    )
    done = run(show, folder)
    assert "note       damaged: damaged-file x1" in done.out
    assert "  line 11 ␡\n  … 18 more lines\n" in done.out
    assert "  line 29 ␡\n" in run(show, folder, "--all").out


def test_show_json_gives_each_entry() -> None:
    done = run(show, LEGACY, "--json")
    assert done.out.encode() == (STORE / "legacy_read" / "entries.jsonl").read_bytes()


def test_show_raw_gives_a_units_own_bytes() -> None:
    data = (LEGACY / "ui_messages.json").read_bytes()
    found = run(show, LEGACY, "--raw", "ui_messages.json:7").out.encode()
    assert found in data
    assert json.loads(found)["text"] == "All finished."
    with pytest.raises(ReadError, match="has no unit"):
        run(show, LEGACY, "--raw", "ui_messages.json:99")
    for wrong in ("ui_messages.json", "7", "ui_messages.json:x"):
        with pytest.raises(click.UsageError):
            run(show, LEGACY, "--raw", wrong)


@pytest.mark.parametrize("name", ["1796041090826", "17960410", str(LEGACY), str(LEGACY / "ui_messages.json")])
def test_a_session_is_named_by_its_path_or_the_beginning_of_its_id(name: str) -> None:
    assert "read the files" in run(show, name, "--root", STORE).out


def test_a_whole_id_is_not_ambiguous(tmp_path: Path) -> None:
    for name in ("12", "123"):
        folder = tmp_path / "tasks" / name
        folder.mkdir(parents=True)
        (folder / "ui_messages.json").write_text(f'[{{"type":"say","say":"task","text":"task {name}"}}]')
    assert "task 12\n" in run(show, "12", "--root", tmp_path).out
    with pytest.raises(NotRecognized, match="'1' begins the ids of 2 sessions: 12, 123"):
        run(show, "1", "--root", tmp_path)


def test_no_such_session_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no session 'x': steno ls lists them"):
        run(show, "x", "--root", tmp_path)
    with pytest.raises(ReadError, match=f"no such file or directory: {tmp_path}/nowhere"):
        run(show, tmp_path / "nowhere", "--root", tmp_path)
    (tmp_path / "y.txt").write_text("")
    with pytest.raises(NotRecognized, match=r"y\.txt is no stored session"):
        run(show, tmp_path / "y.txt")


def test_check_tells_what_is_damaged_and_fails(root: Path) -> None:
    done = run(check, root)
    assert done.code == 3
    assert done.out.count("damaged-file") == 3
    assert done.out.endswith(f"{len(TASKDIRS) + 1} sessions, 98 units, 4 notes\n")
    assert run(check, root / "hub_tools").code == 0


def test_check_tells_what_is_new(tmp_path: Path) -> None:
    folder = tmp_path / "tasks" / "1"
    folder.mkdir(parents=True)
    (folder / "ui_messages.json").write_text('[5,{"ts":1,"type":"say","say":"dreamt","mood":"x"}]')
    (folder / "api_conversation_history.json").write_text(
        '[{"role":"assistant","content":[{"type":"poem"},{"type":"tool_use","name":"fly"}],"hue":1}]'
    )
    done = run(check, tmp_path, "--json", "--fail-on", "drift")
    (told,) = map(json.loads, done.out.splitlines())
    assert done.code == 3
    assert (told["units"], told["format"]) == (3, "cline-task")
    assert [note["code"] for note in told["notes"]] == [
        "odd-element",
        "new-member:UIMessage.mood",
        "new-kind:say/dreamt",
        "new-member:Message.hue",
        "new-block:poem",
        "new-tool:fly",
    ]
    (folder / "ui_messages.json").write_text('[{"ts":1,"type":"say","say":"dreamt"}]')
    assert run(check, tmp_path).code == 0


@pytest.mark.parametrize("name", sorted(path.name for path in STORE.iterdir()))
def test_nothing_that_the_recorded_programs_wrote_is_new(name: str) -> None:
    assert run(check, STORE / name, "--fail-on", "drift").code == 0
