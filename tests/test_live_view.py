"""The live view: what is seen, and that nothing an agent wrote reaches the terminal as it is."""

from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

from stenograph import event as ev
from stenograph.errors import MissingExtra
from stenograph.live.view import View
from stenograph.meter import Account, Counts, Row
from stenograph.model import ToolCalled, ToolReturned


def seen(view: View, *, columns: int = 100) -> str:
    console = Console(file=io.StringIO(), width=columns, color_system=None, force_terminal=False)
    console.print(view.picture())
    return console.file.getvalue()


def view(*, at: float = 0.0) -> View:
    clock = iter([0.0])
    return View("claude", console=Console(file=io.StringIO(), width=100), clock=lambda: next(clock, at))


def test_what_it_does_now_and_for_how_long() -> None:
    picture = view(at=3725.0)
    assert seen(picture).split() == ["agent", "claude", "1:02:05", "now", "thinking"]
    picture.entry(ToolCalled(id="1", tool="Bash", input={"command": "make test", "timeout": 5}))
    assert "now    Bash make test" in seen(picture)
    picture.entry(ToolCalled(id="2", tool="read_files", input={"files": [{"path": "a.py"}]}))
    assert "now    read_files a.py  and 1 more" in seen(picture)
    picture.entry(ToolReturned(id="2", ok=True))
    picture.entry(ToolReturned(id="1", ok=True))
    assert "now    thinking" in seen(picture)
    picture.end("ended with 0")
    assert "now    ended with 0" in seen(picture)


def test_files_tokens_cost_and_last_message() -> None:
    picture = view()
    for number in [*range(7), 6]:
        picture.event(ev.Write(path=f"/w/{number}.py"))
    first = Row(agent="x", tokens=Counts(uncached_input=1000, cached_input=500, output=20), cost=0.25)
    picture.spent(Account((first,)))
    picture.spent(Account((first, Row(agent="x", tokens=Counts(uncached_input=1), cost=0.5))))
    picture.event(ev.Agent(message="First."))
    picture.event(ev.Agent(message="Last\nwords."))
    picture.event(ev.Warning(message="api retry 1 of 2"))
    rows = [line.strip().split(None, 1) for line in seen(picture).splitlines()]
    assert dict(rows[2:]) == {
        "files": "7: /w/2.py, /w/3.py, /w/4.py, /w/5.py, /w/6.py and 2 more",
        "tokens": "1,501 in, 20 out  $0.7500",
        "last": "Last words.",
        "trouble": "api retry 1 of 2",
    }


def test_foreign_text_is_harmless() -> None:
    picture = view()
    evil = "\x1b[2J\x1b]0;title\x07\x9b31m[bold]not markup[/bold]\u202eflip\r\x00"
    picture.event(ev.Agent(message=evil))
    picture.event(ev.Write(path=evil))
    picture.event(ev.Error(message=evil))
    picture.entry(ToolCalled(id="1", tool=evil, input={"x": evil}))
    text = seen(picture, columns=400)
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "[bold]not markup[/bold]" in text


def test_a_message_of_any_length_stays_a_picture() -> None:
    picture = view()
    picture.event(ev.Agent(message="word " * 1_000_000))
    assert len(seen(picture)) < 2000


def test_a_terminal_sees_it_come_and_stay() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    with View("claude", console=console) as picture:
        picture.event(ev.Agent(message="Hello."))
        picture.end("ended with 0")
    assert "Hello." in console.file.getvalue()


def test_without_rich_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(MissingExtra, match=r"stenograph\[live\]"):
        View("claude")
