"""Each live format's parser beside json.loads, on a long run and on its recordings: prints two tables.

CPU time, best of some rounds in turns, in one process. Long runs are made up (`longrun`); of them a stream
whose lines are 2 KB or more on average is to be read as fast as json.loads does, any other, which consists of
deltas, at 0.6 times its speed; exits with 1 when one is not. The recordings under tests/data, those of a
format as one stream again and again, have no bound: they are denser than any long run.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import generate
from longrun.streams import STREAMS, Stream

from recordings import recordings
from stenograph import EventParser, encode
from stenograph.registry import canonical

MB = 1_000_000
CHUNK = 256 * 1024
_FEWEST = 1000  # bytes of recordings below which a ratio says nothing
_LONG = 2000  # bytes a line, on average, from which on a stream is one of whole messages


class Speed(NamedTuple):
    """One stream's size, its average line in bytes, and both ways' speeds in MB/s."""

    size: int
    line: float
    least: float
    ours: float

    @property
    def ratio(self) -> float:
        """How many times as fast as json.loads."""
        return self.ours / self.least

    @property
    def bound(self) -> float:
        """The least that the ratio is to be."""
        return 1.0 if self.line >= _LONG else 0.6


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--mb", type=float, default=10, help="size of each stream (default: 10)")
    options.add_argument("--rounds", type=int, default=5, help="best of so many (default: 5)")
    options.add_argument("--only", default="", help="streams whose name has this in it")
    given = options.parse_args()
    size = int(given.mb * MB)
    broken = long_runs(size, given.rounds, given.only)
    own_recordings(size // 2, given.rounds, given.only)
    for name in broken:
        print(f"broken: {name}", file=sys.stderr)
    return 1 if broken else 0


def long_runs(size: int, rounds: int, only: str) -> list[str]:
    """Print the table of long runs; the names of those below their bounds."""
    print("| long run | a line | json_loads | stenograph | ratio | bound |")
    print("| --- | --- | --- | --- | --- | --- |")
    broken = []
    for stream in STREAMS:
        if only not in stream.name:
            continue
        speed = measured(stream.format, made(stream, size), rounds)
        holds = speed.ratio >= speed.bound
        print(
            f"| `{stream.name}` | {_columns(speed)} | ≥ {speed.bound}{'' if holds else ' **broken**'} |",
            flush=True,
        )
        broken += [] if holds else [stream.name]
    return broken


def own_recordings(size: int, rounds: int, only: str) -> None:
    """Print the table of the recordings."""
    print("\n| format | recorded | a line | json_loads | stenograph | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    for form, own in sorted(recorded().items()):
        if only in form:
            speed = measured(form, own * max(1, size // len(own)), rounds)
            print(f"| `{form}` | {len(own) / 1000:.0f} KB | {_columns(speed)} |", flush=True)


def _columns(speed: Speed) -> str:
    return f"{speed.line:.0f} B | {speed.least:.0f} MB/s | {speed.ours:.0f} MB/s | {speed.ratio:.2f}"


def made(stream: Stream, size: int) -> bytes:
    """So many bytes of a long run, in whole lines."""
    lines: list[bytes] = []
    for record in stream.records():
        lines.append(generate.line(record))
        size -= len(lines[-1])
        if size <= 0:
            break
    return b"".join(lines)


def recorded() -> dict[str, bytes]:
    """By format: the JSON lines of all its recordings."""
    found: dict[str, bytes] = {}
    for recording in recordings():
        form = canonical(recording.format)
        found[form] = found.get(form, b"") + b"".join(json_lines(recording.stdout))
    return {form: data for form, data in found.items() if len(data) >= _FEWEST}


def json_lines(data: bytes) -> Iterator[bytes]:
    """The lines that json.loads takes."""
    for line in data.splitlines():
        try:
            json.loads(line)
        except ValueError:
            continue
        yield line + b"\n"


def measured(form: str, data: bytes, rounds: int) -> Speed:
    """Both ways in turns, the best round of each."""
    ways: tuple[Callable[[], None], ...] = (lambda: floor(data), lambda: parse(form, data))
    times = [[seconds(way) for way in ways] for _ in range(rounds)]
    least, ours = (len(data) / MB / min(column) for column in zip(*times, strict=True))
    return Speed(len(data), len(data) / data.count(b"\n"), least, ours)


def floor(data: bytes) -> None:
    """The standard library's decoder alone."""
    for line in io.BytesIO(data):
        json.loads(line)


def parse(form: str, data: bytes) -> None:
    """Bytes in, encoded events out."""
    parser, size = EventParser(form), 0
    for at in range(0, len(data), CHUNK):
        if events := parser.feed(data[at : at + CHUNK]):
            size += len(b"\n".join(map(encode, events)))
    size += len(b"\n".join(map(encode, parser.close())))
    assert size, "no event came out"


def seconds(way: Callable[[], None]) -> float:
    start = time.process_time()
    way()
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
