"""The made-up streams of the benchmark are what the benchmark says they are."""

import itertools
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
import generate


def lines(make, count: int) -> list[bytes]:
    return [generate.line(record) for record in itertools.islice(make(), count)]


@pytest.mark.parametrize("make", [generate.mixed, generate.deltas])
def test_the_same_seed_gives_the_same_bytes(make):
    assert lines(make, 300) == lines(make, 300)


def test_a_line_of_the_mixed_stream_has_4_kb_on_average():
    made = lines(generate.mixed, 3000)
    assert 3500 < sum(map(len, made)) / len(made) < 4500
    assert max(map(len, made)) > 50_000


def test_deltas_are_most_of_the_partial_stream_and_260_bytes_long():
    made = [line for line in lines(generate.deltas, 3000) if b'"content_block_delta"' in line]
    assert len(made) > 2000
    assert 240 < sum(map(len, made)) / len(made) < 280


@pytest.mark.parametrize("make", [generate.mixed, generate.deltas])
def test_each_call_has_its_answer(make):
    text = b"".join(lines(make, 2000)).decode()
    blocks = [
        block
        for record in map(json.loads, text.splitlines())
        if isinstance(record.get("message"), dict)
        for block in record["message"]["content"]
    ]
    called = [block["id"] for block in blocks if block["type"] == "tool_use"]
    answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert len(called) > 10
    assert answered == called[: len(answered)]
    assert len(called) - len(answered) <= 1
