"""The cost of a stream grows with its length, whatever is held, open or torn meanwhile."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from recordings import NOON
from stenograph import EventParser
from stenograph.agents.cline.inputs import commands

FEW, MANY = 800, 6_400
WORST = 3.0  # how much dearer a line may be in the longer stream; quadratic ones are by MANY / FEW

LIMIT: dict[str, Any] = {"type": "rate_limit_event", "rate_limit_info": {"status": "x"}, "session_id": "s"}


def said(number: int, thread: str | None = None) -> dict[str, Any]:
    content = [{"type": "text", "text": "hi"}]
    return {
        "type": "assistant",
        "session_id": "s",
        "parent_tool_use_id": thread,
        "message": {"id": f"m{number}", "content": content},
    }


def used(number: int, call: str) -> dict[str, Any]:
    content = [{"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": f"/f{number}"}}]
    return {"type": "assistant", "session_id": "s", "message": {"id": f"m{number}", "content": content}}


def answered(call: str) -> dict[str, Any]:
    content = [{"type": "tool_result", "tool_use_id": call, "content": "ok"}]
    return {"type": "user", "session_id": "s", "message": {"content": content}}


def lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


STREAMS: dict[str, Callable[[int], bytes]] = {
    "many threads": lambda n: lines(*(said(i, f"t{i}") for i in range(n)), *[LIMIT] * n),
    "many threads, then a result": lambda n: lines(
        *(said(i, f"t{i}") for i in range(n)), {"type": "result", "session_id": "s"}
    ),
    "many open calls": lambda n: lines(*(used(i, f"c{i}") for i in range(n))),
    "many open calls of one id": lambda n: lines(*(used(i, "c") for i in range(n)), *[answered("c")] * n),
    "last call answered first": lambda n: lines(
        *(used(i, f"c{i}") for i in range(n)), *(answered(f"c{i}") for i in reversed(range(n)))
    ),
    "one long message": lambda n: lines(*[said(1)] * n),
    "torn records": lambda n: (lines(said(1))[:60] + lines(LIMIT)) * n,
    "records glued on one line": lambda n: lines(LIMIT).strip() * n,
    "different records glued on one line": lambda n: lines(*(said(i) for i in range(8 * n))).replace(
        b"\n", b""
    ),
    "records glued behind a log prefix": lambda n: (b"t1: " + lines(LIMIT).strip() * (n // 3) + b"\n") * 3,
    "an array over many lines": lambda n: b"[" + b",".join([lines(LIMIT)] * n) + b"]",
    "a deep array that never ends": lambda n: b'[\n{"type":\n' + b"[\n" * n,
    "a line of backslashes": lambda n: b'{"type":"' + b"\\" * 50 * n + b'"}',
    "a line of quotes and braces": lambda n: b'{"type":"' + b'{"}' * 20 * n + b'"}',
    "a line of escape sequences": lambda n: b"\x1b[0m" * 20 * n + b"{}" + b"\x1b]" * 20 * n,
    "a line of white space": lambda n: b"x" + b" \xc2\xa0" * 20 * n + b"\x1b" + b" " * 20 * n,
}


def cost(data: bytes, profile: Any) -> float:
    """CPU seconds, the least of two times."""
    taken = []
    for _ in range(2):
        parser = EventParser("claude", now=lambda: NOON, profile=profile)
        begun = time.process_time()
        for at in range(0, len(data), 65_536):
            parser.feed(data[at : at + 65_536])
        parser.close()
        taken.append(time.process_time() - begun)
    return min(taken)


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("profile", ["standard", "extended"])
def test_the_longer_the_stream_the_more_work_and_no_more(name: str, profile: Any) -> None:
    few, many = cost(STREAMS[name](FEW), profile), cost(STREAMS[name](MANY), profile)
    assert many < 0.02 or many / few < WORST * MANY / FEW


@pytest.mark.parametrize("end", ["A", "\tA", "B"])
def test_here_documents_told_in_pieces(end: str) -> None:
    def taken(number: int) -> float:
        given = {"commands": ["cat <<A", "x", end] * number}
        begun = time.process_time()
        commands(given)
        return time.process_time() - begun

    assert taken(16_000) / taken(2_000) < WORST * 8
