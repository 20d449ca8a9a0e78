"""One way of reading a stream, timed: `floors.py WAY FILE` prints the CPU seconds it took.

Runs under any interpreter that has the way's library, so that libraries can be compared across environments.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

CHUNK = 256 * 1024


def json_loads(path: Path) -> None:
    """The standard library's decoder alone, to a dictionary per line."""
    loads = json.loads
    with path.open("rb", buffering=CHUNK) as file:
        for line in file:
            loads(line)


def msgspec_dict(path: Path) -> None:
    """The fastest decoder to a dictionary per line."""
    import msgspec

    decode = msgspec.json.Decoder().decode
    with path.open("rb", buffering=CHUNK) as file:
        for line in file:
            decode(line)


def sdk(path: Path) -> None:
    """claude-agent-sdk: its decoder (json) and its message parser; no events are made or written."""
    from claude_agent_sdk._internal.message_parser import parse_message

    loads = json.loads
    with path.open("rb", buffering=CHUNK) as file:
        for line in file:
            parse_message(loads(line))


def stenograph(path: Path, chunk: int = CHUNK) -> None:
    """Bytes in, encoded events out."""
    from stenograph import EventParser, encode

    parser = EventParser("claude")
    size = 0
    with path.open("rb", buffering=0 if chunk == CHUNK else CHUNK) as file:
        while part := file.read(chunk):
            if events := parser.feed(part):
                size += len(b"\n".join(map(encode, events)))
    size += len(b"\n".join(map(encode, parser.close())))
    assert size, "no event came out"


def tiny_chunks(path: Path) -> None:
    """The same, 16 bytes at a time."""
    stenograph(path, chunk=16)


_WAYS: tuple[Callable[[Path], None], ...] = (json_loads, msgspec_dict, sdk, stenograph, tiny_chunks)
WAYS = {way.__name__: way for way in _WAYS}


def main() -> None:
    way, path = WAYS[sys.argv[1]], Path(sys.argv[2])
    way(path.with_name("warm-up.jsonl"))  # so that imports and first calls are not counted
    start = time.process_time()
    way(path)
    print(time.process_time() - start)


if __name__ == "__main__":
    main()
