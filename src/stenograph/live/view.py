"""A run on a terminal while it goes on: what it does now, for how long, what it touched, what it took.

Needs rich (extra `live`). Whatever an agent wrote is shown by `terminal.fold`: one line, harmless.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stenograph import event as ev
from stenograph import model
from stenograph.cli.terminal import fold
from stenograph.errors import MissingExtra
from stenograph.event import Event
from stenograph.meter import Account
from stenograph.model import Entry

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_FILES = 5  # names shown; the rest is a number
_MESSAGE = 600  # cells of the last message
_RATE = 4  # pictures a second


class View:
    """The live picture of one run: give it every entry and event, and use it as a context."""

    def __init__(
        self,
        title: str,
        *,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` gives seconds; raises MissingExtra without rich."""
        try:
            from rich.console import Console
            from rich.live import Live
        except ImportError as error:
            raise MissingExtra("rich", "live") from error
        self._title = title
        self._clock = clock
        self._began = clock()
        self._calls: dict[str | None, str] = {}  # unanswered, by id
        self._files: dict[str, None] = {}  # written, in order
        self._taken: tuple[int, int, float | None] = (0, 0, None)
        self._message = self._trouble = ""
        self._end = ""
        self._live = Live(
            console=console or Console(),
            get_renderable=self.picture,
            refresh_per_second=_RATE,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> View:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
        if not self._live.console.is_terminal:  # there the last picture has no line end
            self._live.console.line()

    def entry(self, entry: Entry) -> None:
        """Take notice of what a record said: calls that begin and end."""
        match entry:
            case model.ToolCalled():
                self._calls[entry.id] = f"{entry.tool} {_gist(entry.input)}"
            case model.ToolReturned():
                self._calls.pop(entry.id, None)

    def event(self, event: Event) -> None:
        """Take notice of what the agent did."""
        match event:
            case ev.Write(path=path):
                self._files[path] = None
            case ev.Agent(message=text):
                self._message = text
            case ev.Error(message=text) | ev.Warning(message=text):
                self._trouble = text

    def spent(self, account: Account) -> None:
        """Show what was taken so far."""
        total = account.total
        self._taken = (total.tokens.given or 0, total.tokens.made or 0, total.cost)

    def end(self, how: str) -> None:
        """Say how the run ended; the picture stays as it is."""
        self._calls.clear()
        self._end = how

    def picture(self) -> RenderableType:
        """What is to be seen now."""
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, text, style in self._rows():
            grid.add_row(name, Text(text, style=style))
        return grid

    def _rows(self) -> list[tuple[str, str, str]]:
        rows = [
            ("agent", f"{fold(self._title, 80)}  {_span(self._clock() - self._began)}", "bold"),
            ("now", self._now(), "yellow"),
            ("files", self._touched(), "green"),
            ("tokens", self._spending(), ""),
            ("last", fold(self._message, _MESSAGE), ""),
            ("trouble", fold(self._trouble, _MESSAGE), "red"),
        ]
        return [row for row in rows if row[1]]

    def _now(self) -> str:
        if self._end:
            return self._end
        if not self._calls:
            return "thinking"
        more = f"  and {len(self._calls) - 1} more" if len(self._calls) > 1 else ""
        return fold(next(reversed(self._calls.values())), 120) + more

    def _touched(self) -> str:
        if not self._files:
            return ""
        names = [fold(path, 60) for path in list(self._files)[-_FILES:]]
        more = len(self._files) - len(names)
        return f"{len(self._files)}: " + ", ".join(names) + (f" and {more} more" if more > 0 else "")

    def _spending(self) -> str:
        spent, made, cost = self._taken
        parts = [f"{spent:,} in, {made:,} out"] if spent or made else []
        if cost is not None:
            parts.append(f"${cost:.4f}")
        return "  ".join(parts)


def _gist(value: Any) -> str:
    """The first text of a tool's input: a path, a command, a pattern."""
    for _ in range(4):
        match value:
            case str():
                return value
            case dict():
                value = next((part for part in value.values() if part), "")
            case list():
                value = value[0] if value else ""
            case _:
                return ""
    return ""


def _span(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
