"""`steno hub`: what it prints of a hub, and how it ends."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import stenograph.cli.hub as hub_command
from fake_hub import DATA, FakeHub, envelopes, running
from stenograph.errors import HubError

LOG = envelopes("hub_tools.replay")


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(hub_command.hub, [str(each) for each in arguments], standalone_mode=False)


def watched(hub: FakeHub, file: Path, *arguments: object) -> Result:
    """`hub watch` of a hub that hangs up behind its last event."""
    with running(hub, discovery=file):
        return invoke("watch", "--discovery", file, "--wait", 0, *arguments)


def ending(log: list[dict[str, Any]]) -> FakeHub:
    hub = FakeHub(log)
    hub.cut_after = len(log)
    return hub


def records(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.split("\n") if line]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "production.json"


def test_the_hubs_own_envelopes_come_out_as_they_are(file: Path) -> None:
    result = watched(ending(LOG), file, "--since", 0, "--layer", "hub")
    assert records(result) == LOG
    assert isinstance(result.exception, HubError)
    assert "closed the connection" in str(result.exception)


def test_one_session_behind_a_number(file: Path) -> None:
    session = LOG[10]["sessionId"]
    due = [each for each in LOG if each["sequence"] > 50 and each.get("sessionId") == session]
    hub = ending(LOG)
    hub.cut_after = len(due)
    assert records(watched(hub, file, "--session", session, "--since", 50, "--layer", "hub")) == due


def test_layers_3_2_and_1(file: Path) -> None:
    core = records(watched(ending(LOG), file, "--since", 0, "--layer", "core"))
    agent = records(watched(ending(LOG), file, "--since", 0, "--layer", "agent"))
    runtime = records(watched(ending(LOG), file, "--since", 0, "--layer", "runtime"))
    kinds = [each["type"] for each in core]
    assert kinds[:2] == ["session_snapshot", "status"]
    assert kinds.count("ended") == 1
    assert agent == [each["payload"]["event"] for each in core if each["type"] == "agent_event"]
    assert [each["text"] for each in agent if each["type"] == "done"] == ["All done via the hub."]
    assert [each["type"] for each in runtime][-2:] == ["turn-finished", "run-finished"]


def both_runs() -> list[dict[str, Any]]:
    """Two recorded runs in one log, event by event in turn; their calls have the same ids."""
    runs = zip_longest(LOG, envelopes("hub_abort_sigint.replay"))
    found = [each for pair in runs for each in pair if each]
    return [{**each, "eventId": f"e{at}", "sequence": at} for at, each in enumerate(found, 1)]


@pytest.mark.parametrize("profile", ["standard", "extended"])
def test_normalized_events_are_those_of_each_session_alone(file: Path, profile: str) -> None:
    result = watched(ending(both_runs()), file, "--since", 0, "--profile", profile)
    found = [{**each, "timestamp": "2026-01-01T12:00:00.000Z"} for each in records(result)]
    for name, session in (
        ("hub_tools", "1796040521569_zl4py"),
        ("hub_abort_sigint", "1796040697546_fjxis"),
    ):
        lines = (DATA / f"{name}.{profile}.jsonl").read_text(encoding="utf-8").splitlines()
        assert [each for each in found if each["sessionId"] == session] == [
            json.loads(line) for line in lines
        ]
    assert isinstance(result.exception, HubError)


def test_details_are_those_of_the_hubs_events(file: Path) -> None:
    result = watched(ending(LOG), file, "--since", 0, "--detail", "--report", "json")
    write = next(each for each in records(result) if each["type"] == "write")
    at = next(
        at
        for at, each in enumerate(LOG, 1)
        if each["event"] == "tool.finished" and each["payload"]["toolName"] == "editor"
    )
    assert (write["callId"], write["tool"], write["origin"]["line"]) == ("call_2_0", "editor", at)
    assert write["timestamp"] == "2026-11-30T12:08:43.681Z"
    noted = {note["code"]: note["count"] for note in json.loads(result.stderr)}
    assert noted == {"unknown-record": 3}


def watched_for_long_enough(*arguments: object) -> Result:
    """The first of ever longer watches that saw something, be the machine as slow as it may."""
    for seconds in (0.2, 1, 5, 20):
        result = invoke("watch", *arguments, "--for", seconds)
        if result.stdout:
            break
    return result


def test_a_watch_of_some_seconds_is_done_and_its_notes_decide(file: Path) -> None:
    hub = FakeHub()
    hub.publish("event")
    arguments = ("--discovery", file, "--layer", "hub", "--report", "text")
    with running(hub, discovery=file):
        quiet = watched_for_long_enough(*arguments, "--since", 0, "--fail-on", "drift")
        noted = watched_for_long_enough(*arguments, "--since", 9, "--fail-on", "dropped")
        graver = watched_for_long_enough(*arguments, "--since", 9, "--fail-on", "damaged")
    assert [json.loads(quiet.stdout)["sequence"], quiet.stderr, quiet.return_value] == [1, "", 0]
    assert noted.stderr == (
        "dropped: log-restarted x1, first at hub, line 2: 'asked behind 9, the log ends at 1'\n"
    )
    assert (noted.return_value, graver.return_value) == (3, 0)


def test_a_watch_ends_at_once_by_an_interrupt_from_outside(file: Path) -> None:
    hub = FakeHub()
    hub.publish("event")
    command = "import sys; from stenograph.cli.hub import hub; sys.exit(hub(standalone_mode=False))"
    with running(hub, discovery=file):
        process = subprocess.Popen(
            [sys.executable, "-c", command, "watch", "--discovery", file, "--since", "0", "--layer", "hub"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert json.loads(process.stdout.readline())["event"] == "event"
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130
            assert process.stderr.read() == b""


def test_status_for_people_and_as_json(file: Path) -> None:
    hub = FakeHub(LOG)
    hub.payloads["session.list"] = {"sessions": [{"status": "running"}, {"status": "failed"}, {}, 3]}
    with running(hub, discovery=file):
        found = json.loads(invoke("status", "--discovery", file, "--json").stdout)
        text = invoke("status", "--url", hub.url, "--token", hub.token).stdout
    assert found == {
        "url": hub.url,
        "hubId": "hub_fake",
        "pid": 63,
        "coreVersion": "0.0.86",
        "startedAt": "2026-11-30T12:08:24.365Z",
        "draining": False,
        "activeRpcTurns": 1,
        "pendingRuns": 0,
        "lastSequence": LOG[-1]["sequence"],
        "sessions": {"running": 1, "failed": 1, "None": 1},
    }
    assert "lastSequence    110\n" in text
    assert "sessions        1 running, 1 failed, 1 None\n" in text
    assert "pid             -\n" in text


def test_no_hub_is_an_error_and_shows_no_token(file: Path) -> None:
    absent = invoke("status", "--discovery", file)
    assert isinstance(absent.exception, HubError)
    assert str(file) in str(absent.exception)
    with running(FakeHub(), discovery=file) as _:
        pass
    stale = invoke("watch", "--discovery", file)
    assert isinstance(stale.exception, HubError)
    assert "stale file" in str(stale.exception)
    assert "ab" * 32 not in str(stale.exception)


@pytest.mark.parametrize(
    "arguments", [["watch", "--since", "-1"], ["watch", "--layer", "x"], ["status", "x"]]
)
def test_wrong_usage(arguments: list[str]) -> None:
    assert getattr(invoke(*arguments).exception, "exit_code", None) == 2


@pytest.mark.parametrize("command", [[], ["watch"], ["status"]])
def test_help_has_examples_and_exit_codes(command: list[str]) -> None:
    text = invoke(*command, "--help").stdout
    assert "steno hub watch --since 0" in text
    assert ("Exit codes:" in text) == bool(command)


def test_the_commands_on_the_hubs_page_are_commands() -> None:
    page = Path(__file__).parents[1] / "docs" / "cline-hub.md"
    lines = re.findall(r"^steno hub (\w+)([^#\n]*)", page.read_text(encoding="utf-8"), re.M)
    assert len(lines) == 4
    for name, rest in lines:
        command = hub_command.hub.commands[name]
        assert command.make_context(name, rest.split()).params
