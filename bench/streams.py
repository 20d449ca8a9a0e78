"""Each live format's parser beside json.loads on its own recordings, repeated: prints a Markdown table.

CPU time, best of some rounds in turns, in one process. Recordings are those under tests/data, those
of a format as one stream, again and again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from recordings import recordings
from stenograph import EventParser, encode
from stenograph.registry import canonical

MB = 1_000_000
CHUNK = 256 * 1024
_FEWEST = 1000  # bytes of recordings below which a ratio says nothing


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--mb", type=float, default=5, help="size of each stream (default: 5)")
    options.add_argument("--rounds", type=int, default=3, help="best of so many (default: 3)")
    given = options.parse_args()
    print("| format | recorded | a line | json_loads | stenograph | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    for form, own in sorted(recorded().items()):
        print(row(form, own, size=int(given.mb * MB), rounds=given.rounds), flush=True)


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


def row(form: str, own: bytes, *, size: int, rounds: int) -> str:
    data = own * max(1, size // len(own))
    lines = data.count(b"\n")
    ways: tuple[Callable[[], None], ...] = (lambda: floor(data), lambda: parse(form, data))
    times = [[seconds(way) for way in ways] for _ in range(rounds)]
    least, ours = (min(column) for column in zip(*times, strict=True))
    rates = f"{len(data) / MB / least:.0f} MB/s | {len(data) / MB / ours:.0f} MB/s"
    return (
        f"| `{form}` | {len(own) / 1000:.0f} KB | {len(data) / lines:.0f} B | {rates} | {least / ours:.2f} |"
    )


def floor(data: bytes) -> None:
    """The standard library's decoder alone."""
    for line in data.splitlines():
        json.loads(line)


def parse(form: str, data: bytes) -> None:
    """Bytes in, encoded events out."""
    parser, size = EventParser(form), 0
    for at in range(0, len(data), CHUNK):
        size += len(b"\n".join(map(encode, parser.feed(data[at : at + CHUNK]))))
    size += len(b"\n".join(map(encode, parser.close())))
    assert size, "no event came out"


def seconds(way: Callable[[], None]) -> float:
    start = time.process_time()
    way()
    return time.process_time() - start


if __name__ == "__main__":
    main()
