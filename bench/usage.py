"""A usage-only pass over the mixed stream beside decoding all of it with msgspec: prints the ratio.

CPU time, best of some rounds in turns, in one process; exits with 1 when the pass is the slower one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import floors
import generate

from stenograph.counting import Counter


def usage_only(path: Path) -> None:
    """Bytes in, an account out."""
    counter = Counter("claude")
    with path.open("rb", buffering=0) as file:
        while part := file.read(floors.CHUNK):
            counter.feed(part)
    assert counter.close().turns, "nothing was counted"


def seconds(way: Callable[[Path], None], path: Path) -> float:
    start = time.process_time()
    way(path)
    return time.process_time() - start


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--mb", type=float, default=20, help="size of the stream (default: 20)")
    options.add_argument("--rounds", type=int, default=5, help="best of so many (default: 5)")
    given = options.parse_args()
    path = generate.cached(generate.mixed, mb=given.mb)
    ways = (floors.msgspec_dict, usage_only)
    rounds = [[seconds(way, path) for way in ways] for _ in range(given.rounds)]
    floor, ours = (min(column) for column in zip(*rounds, strict=True))
    size = path.stat().st_size / generate.MB
    print(f"msgspec to dict: {size / floor:.0f} MB/s; usage only: {size / ours:.0f} MB/s")
    print(f"{floor / ours:.2f} × msgspec to dict (bound: 1.0)")
    return 0 if floor >= ours else 1


if __name__ == "__main__":
    sys.exit(main())
