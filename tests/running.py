"""Small agents to run, and a look at what they leave behind."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stenograph.event import Event, encode
from stenograph.launch import Launch
from stenograph.runner import Run, replay, run

AGENTS = Path(__file__).parent / "agents"


def fake(name: str, prints: str = "claude-stream") -> Launch:
    return Launch(agent="claude", program=str(AGENTS / name), format=prints, prompt=("",))


async def collect(made: Run, *, then: Callable[[Run], None] | None = None) -> list[Event]:
    """All events; `then` is called at the first one."""
    events = []
    async for event in made:
        if then and not events:
            then(made)
        events.append(event)
    return events


def play(
    name: str, *arguments: str, out: Path | None = None, then: Any = None, **options: Any
) -> tuple[Run, list[Event]]:
    """Run one of the agents to its end; a record, if one is kept, must replay to the same bytes."""
    made = run(fake(name, options.pop("prints", "claude-stream")), arguments=arguments, out=out, **options)
    events = asyncio.run(collect(made, then=then))
    if out is not None:
        kept = (out / "events.jsonl").read_bytes()
        assert kept == lines(events)
        assert kept == lines(list(replay(out)))
    return made, events


def lines(events: list[Event]) -> bytes:
    return b"".join(encode(event) + b"\n" for event in events)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def is_childless() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


def wait_for(done: Callable[[], bool], *, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
