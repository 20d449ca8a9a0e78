"""Each kind of event on one line."""

import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stenograph import event as ev
from stenograph.cli.pretty import Painter, to_bytes
from stenograph.cli.terminal import width

AT = "2026-05-04T10:11:12.345Z"


def shown(event: ev.Event, *, columns: int = 80, workspace: str | None = "/home/dev/app") -> str:
    return Painter(columns=columns, colour=False, workspace=workspace).line(event)


TOKENS = ev.Tokens(uncached_input=1200, cached_input=0, output=56)
LINES = [
    (ev.Agent(message="I look\n\ninto it."), "agent      I look into it."),
    (ev.Reasoning(message="hm"), "reasoning  hm"),
    (ev.Command(command="pytest -q"), "command    pytest -q"),
    (ev.Command(command="pytest -q", exit_code=0, is_success=True), "command    pytest -q"),
    (ev.Command(command="pytest -q", exit_code=2, is_success=False), "command    pytest -q (exit 2)"),
    (ev.Command(command="ls", is_success=False), "command    ls (failed)"),
    (ev.Command(command="ls", working_directory="/home/dev/app"), "command    ls"),
    (ev.Command(command="ls", working_directory="/home/dev/app/src"), "command    ls (in src)"),
    (ev.Read(path="/home/dev/app/a.py", start_line=10, end_line=20), "read       a.py:10-20"),
    (ev.Read(path="/home/dev/app/a.py", start_line=10, end_line=10), "read       a.py:10"),
    (ev.Read(path="/home/dev/app/a.py", start_line=10), "read       a.py:10-"),
    (ev.Read(path="/home/dev/application/a.py"), "read       /home/dev/application/a.py"),
    (ev.Write(path="/etc/x", is_success=False), "write      /etc/x (failed)"),
    (ev.Search(query="TODO|FIXME", is_success=True), "search     TODO|FIXME"),
    (ev.Search(query="TODO", path="/home/dev/app/src"), "search     TODO in src"),
    (ev.Search(query="TODO", path="/home/dev/app"), "search     TODO"),
    (ev.List(), "list       ."),
    (ev.List(path="/home/dev/app", is_success=True), "list       ."),
    (ev.List(path="/srv", is_success=False), "list       /srv (failed)"),
    (ev.Skill(path="skills/greet/SKILL.md", skill_name="greet"), "skill      greet skills/greet/SKILL.md"),
    (ev.Orchestration(action="subagent_started", subagent_name="Look"), "subagent   started Look"),
    (ev.Orchestration(action="subagent_failed", subagent_id="a1", is_success=False), "subagent   failed a1"),
    (ev.Usage(tokens=TOKENS, cost=0.5), "usage      input 1,200, cached 0, output 56, $0.5000"),
    (ev.Error(message="no key", code="401"), "error      [401] no key"),
    (ev.Error(message="status 401: no key", code="401"), "error      status 401: no key"),
    (ev.Warning(message="slow"), "warning    slow"),
    (ev.System(stage="teardown", status="failed", message="gone"), "system     teardown failed: gone"),
    (ev.Unknown(json=msgspec.Raw(b'{"type":"x"}')), 'unknown    {"type":"x"}'),
    (ev.Unknown(json=msgspec.Raw(b'"say \\"hi\\"\\u001b[0m"')), 'unknown    say "hi"␛[0m'),
]


@pytest.mark.parametrize(("event", "line"), LINES, ids=[line for _, line in LINES])
def test_line(event, line):
    assert shown(msgspec.structs.replace(event, timestamp=AT)) == f"10:11:12  {line}"


def test_every_kind_has_a_line():
    assert {type(event) for event, _ in LINES} == set(ev.Event.__args__)


def test_the_ending_stays_when_the_text_is_cut():
    line = shown(ev.Command(command="x" * 500, exit_code=2, is_success=False), columns=60)
    assert line.endswith("x… (exit 2)")
    assert width(line) == 60


def test_a_path_is_cut_at_its_front():
    line = shown(ev.Read(path="/srv/" + "deep/" * 50 + "a.py", start_line=3, end_line=9), columns=60)
    assert line.endswith("/deep/a.py:3-9")
    assert "  …" in line
    assert width(line) == 60


def test_subagents_are_numbered_as_they_come():
    painter = Painter(columns=80, colour=False)
    marks = [painter.line(ev.List(subagent=name))[21:] for name in ("a", "b", "a")] + [
        painter.line(ev.List())[21:]
    ]
    assert marks == ["↳1 .", "↳2 .", "↳1 .", "."]


def test_colour_is_ours_alone_and_a_failure_is_red():
    painter = Painter(columns=80, colour=True)
    line = painter.line(ev.Command(command="\x1b[32mls", exit_code=1, is_success=False))
    assert re.findall(r"\x1b\[[0-9;]*m", line) == ["\x1b[2m", "\x1b[0m", *["\x1b[31m", "\x1b[0m"] * 2]
    assert "␛[32mls" in line


def test_an_expected_exit_code_is_shown_but_is_no_failure():
    painter = Painter(columns=80, colour=True)
    assert "\x1b[31m" not in painter.line(ev.Command(command="diff a b", exit_code=1, is_success=True))


@given(st.text(), st.text(), st.integers(1, 200))
@settings(max_examples=200, deadline=None)
def test_one_line_within_the_terminal_for_any_text(text, path, columns):
    events = [
        ev.Agent(message=text, timestamp=text, subagent=text),
        ev.Command(command=text, working_directory=path, exit_code=127),
        ev.Search(query=text, path=path, is_success=False),
        ev.Skill(path=path, skill_name=text, start_line=1, end_line=10**6),
        ev.Orchestration(action="subagent_started", subagent_name=text),
        ev.Error(message=text, code=path),
    ]
    painter = Painter(columns=columns, colour=False, workspace=path)
    lines = to_bytes(painter, events).decode().split("\n")
    assert len(lines) == len(events) + 1
    for line in lines:
        assert width(line) <= max(columns, 60)
        assert line.isprintable()
