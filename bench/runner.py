"""What the runner costs: CPU and delay for each event, against `cat` on the same pipe.

Bulk: an agent that prints recorded lines as fast as it can. Paced: one that prints a line each few
milliseconds with the time in it, as a live agent does. Run: python bench/runner.py [MEGABYTES] [SECONDS]
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from stenograph.event import Unknown, encode
from stenograph.launch import Launch
from stenograph.parser import EventParser
from stenograph.runner import run

DATA = Path(__file__).parent.parent / "tests" / "data" / "claude"
RATES = 100, 200  # lines a second of the paced agent: a model that streams its answer, and a quick one
ROUNDS = 3

BULK = """
import os, sys
data = open(sys.argv[1], "rb").read()
for _ in range(int(sys.argv[2])):
    rest = data
    while rest:
        rest = rest[os.write(1, rest[:65536]):]
"""

PACED = """
import sys, time
end = time.time() + float(sys.argv[1])
while time.time() < end:
    sys.stdout.write('{"at":%r,"pad":"%s"}\\n' % (time.time(), "x" * 400))
    sys.stdout.flush()
    time.sleep(1 / float(sys.argv[2]))
"""


class Cost(NamedTuple):
    """CPU and wall seconds, events, and the delays in seconds where the agent told when it wrote."""

    cpu: float
    wall: float
    events: int = 0
    delays: tuple[float, ...] = ()


def used() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def agent(script: str, *words: str, form: str) -> Launch:
    return Launch(
        agent="bench", program=sys.executable, format=form, command=("-c", script, *words), ends=False
    )


async def through(launch: Launch, out: Path | None) -> Cost:
    cpu, wall, count, delays = used(), time.monotonic(), 0, []
    with open(os.devnull, "wb", buffering=0) as sink:
        async for event in run(launch, out=out):
            sink.write(encode(event) + b"\n")
            count += 1
            if isinstance(event, Unknown) and launch.format == "generic":
                delays.append(time.time() - event.raw["at"])
    return Cost(used() - cpu, time.monotonic() - wall, count, tuple(sorted(delays)))


def cat(launch: Launch) -> Cost:
    wall = time.monotonic()
    writer = subprocess.Popen([launch.program, *launch.command], stdout=subprocess.PIPE)
    reader = subprocess.Popen(["cat"], stdin=writer.stdout, stdout=subprocess.DEVNULL)
    _, _, usage = os.wait4(reader.pid, 0)
    reader.returncode = 0
    writer.communicate()
    return Cost(usage.ru_utime + usage.ru_stime, time.monotonic() - wall)


def parser_alone(data: bytes, times: int) -> Cost:
    cpu, wall, count = used(), time.monotonic(), 0
    parser = EventParser("claude")
    for _ in range(times):
        for at in range(0, len(data), 65536):
            count += sum(1 for event in parser.feed(data[at : at + 65536]) if encode(event))
    return Cost(used() - cpu, time.monotonic() - wall, count)


def bulk(megabytes: int, folder: Path) -> None:
    data = b"".join(path.read_bytes() for path in sorted(DATA.glob("*/*.stdout.jsonl")))
    times = max(1, megabytes * 1_000_000 // len(data))
    lines = folder / "lines"
    lines.write_bytes(data)
    launch = agent(BULK, str(lines), str(times), form="claude-stream")
    size = len(data) * times / 1e6
    print(f"bulk: {size:.0f} MB of recorded Claude Code lines")
    rows: dict[str, Callable[[], Cost]] = {
        "cat": lambda: cat(launch),
        "parser alone": lambda: parser_alone(data, times),
        "run": lambda: asyncio.run(through(launch, None)),
        "run --out": lambda: asyncio.run(through(launch, folder / "bulk")),
    }
    for name, measure in rows.items():
        cost = measure()
        each = f"  {cost.cpu / cost.events * 1e6:6.1f} us an event" if cost.events else ""
        print(f"  {name:13} {cost.cpu:6.2f} s CPU  {size / cost.wall:6.1f} MB/s{each}")


def paced(seconds: float, rate: int, folder: Path) -> None:
    launch = agent(PACED, str(seconds), str(rate), form="generic")
    base = least(lambda _: cat(launch))
    print(f"paced: {rate} lines a second for {seconds:g} s, the least CPU of {ROUNDS}")
    print(f"  {'cat':13} {base.cpu / base.wall:7.2%} CPU")
    for name, kept in (("run", None), ("run --out", folder / f"paced-{rate}")):
        cost = least(lambda at, kept=kept: asyncio.run(through(launch, kept and kept / str(at))))
        middle, late = cost.delays[len(cost.delays) // 2], cost.delays[int(len(cost.delays) * 0.99)]
        print(
            f"  {name:13} {cost.cpu / cost.wall:7.2%} CPU, {cost.cpu / cost.wall - base.cpu / base.wall:.2%}"
            f" over cat  delay {middle * 1e3:.2f} ms, 99 of 100 under {late * 1e3:.2f} ms"
        )


def least(measure: Callable[[int], Cost]) -> Cost:
    return min(map(measure, range(ROUNDS)), key=lambda cost: cost.cpu)


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 5.0
    with tempfile.TemporaryDirectory() as name:
        bulk(megabytes, Path(name))
        for rate in RATES:
            paced(seconds, rate, Path(name))


if __name__ == "__main__":
    main()
