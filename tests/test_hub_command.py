"""`steno hub`: what it prints of a hub, and how it ends."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import stenograph.cli.hub as hub_command
from fake_hub import FakeHub, envelopes, running
from stenograph.errors import HubError
from stenograph.event import Agent, Event
from stenograph.notes import Kind, Place, Report

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


class Parser:
    """Stands for EventParser: an event for each line, and one at the close."""

    made: list[Parser]

    def __init__(self, name: str, **options: Any) -> None:
        self.report = Report()
        self.options = {"format": name, **options}
        self.fed = b""
        self.made.append(self)

    def feed(self, data: bytes) -> list[Event]:
        self.fed += data
        return [Agent(message=json.loads(data)["event"])]

    def close(self) -> list[Event]:
        self.report.add(Kind.DAMAGED, "made-up", Place())
        return [Agent(message=f"closed behind {len(self.fed.splitlines())}")]


def test_normalized_events_come_from_a_parser_for_each_session(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Parser.made = []
    monkeypatch.setattr(hub_command, "EventParser", Parser)
    hub = FakeHub()
    hub.log = [
        {"event": f"e{at}", "sequence": at + 1, **({"sessionId": session} if session else {})}
        for at, session in enumerate(["a", None, "b", "a"])
    ]
    hub.last = hub.cut_after = 4
    result = watched(hub, file, "--since", 0, "--profile", "extended", "--detail", "--report", "json")
    told = [each["message"] for each in records(result)]
    assert told == ["e0", "e1", "e2", "e3", "closed behind 1", "closed behind 1", "closed behind 2"]
    assert [each.options for each in Parser.made] == 3 * [
        {"format": "cline-hub", "profile": "extended", "detail": True}
    ]
    assert [(note["code"], note["count"]) for note in json.loads(result.stderr)] == [("made-up", 3)]


def test_of_many_sessions_the_one_that_was_quiet_longest_is_closed(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Parser.made = []
    monkeypatch.setattr(hub_command, "EventParser", Parser)
    monkeypatch.setattr(hub_command, "_SESSIONS", 2)
    hub = FakeHub()
    hub.log = [
        {"event": session, "sequence": at + 1, "sessionId": session} for at, session in enumerate("abac")
    ]
    hub.last = hub.cut_after = 4
    told = [each["message"] for each in records(watched(hub, file, "--since", 0))]
    assert told == ["a", "b", "a", "c", "closed behind 1", "closed behind 2", "closed behind 1"]


def test_a_watch_of_some_seconds_is_done_and_its_notes_decide(file: Path) -> None:
    hub = FakeHub()
    hub.publish("event")
    arguments = ("watch", "--discovery", file, "--layer", "hub", "--for", 0.2, "--report", "text")
    with running(hub, discovery=file):
        quiet = invoke(*arguments, "--since", 0, "--fail-on", "drift")
        noted = invoke(*arguments, "--since", 9, "--fail-on", "dropped")
        graver = invoke(*arguments, "--since", 9, "--fail-on", "damaged")
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
            assert process.wait(5) == 130
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
