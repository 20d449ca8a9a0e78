"""Files of the interchange formats with odd members: each costs that member, never the session."""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recordings import DATA
from stenograph import convert, events
from stenograph.errors import WriteError
from stenograph.interchange.asf_verify import verify_file
from stenograph.interchange.sink import NewFile
from stenograph.model import ToolReturned
from stenograph.registry import store

SOURCES = [
    "claude/agent_background/agent_background.stdout.jsonl",
    "codex/apply_patch/apply_patch.stdout.jsonl",
    "gemini/denied/denied.stdout.jsonl",
    "cline-store/spawn_agent",
]
ODD: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**30, "", "x", "\ud800", [], [None], ["x"], [{}], [[1]], {}, {"a": 1}),
    *({"type": []}, {"\ud800": 1}),
]
ROUNDS = 60


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("form", "suffix"), [("atif", ".json"), ("asf", ".jsonl")])
def test_no_odd_member_raises(source: str, form: str, suffix: str, tmp_path: Path) -> None:
    given = tmp_path / f"given{suffix}"
    convert(DATA / source, given if form == "atif" else tmp_path / "asf", to=form)  # type: ignore[arg-type]  # any
    if form == "asf":
        given = next((tmp_path / "asf").rglob("*.jsonl"))
    odd = given.with_name(f"odd{suffix}")
    rng = random.Random(source)
    for number in range(ROUNDS):
        odd.write_bytes(b"\n".join(_changed(given.read_bytes().splitlines(), rng)))
        assert list(events(odd, format=form)) is not None
        session = store(form).load(str(odd))
        assert all(isinstance(session.sent(request), list) for request in session.requests)
        if form == "asf":
            assert isinstance(verify_file(str(odd)), list)
        if number % 10 == 0:
            convert(odd, tmp_path / f"{number}.md", to="markdown")


def _changed(rows: list[bytes], rng: random.Random) -> Iterator[bytes]:
    at = rng.randrange(min(1, len(rows) - 1), len(rows))
    for number, row in enumerate(rows):
        value = json.loads(row)
        if number == at:
            for _ in range(rng.randrange(1, 4)):
                holder, name = rng.choice(list(_members(value)))
                if name != "schema_version":
                    holder[name] = copy.deepcopy(rng.choice(ODD))
        yield json.dumps(value).encode()


def _members(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict | list):
        for name in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, name
            yield from _members(value[name])


def test_results_of_other_writers_are_blocks(tmp_path: Path) -> None:
    step = {
        "source": "agent",
        "message": "",
        "observation": {"results": [{"source_call_id": "c", "content": "out"}]},
    }
    path = tmp_path / "other.json"
    path.write_text(
        json.dumps(
            {"schema_version": "ATIF-v1.6", "agent": {"name": "cline", "version": "1"}, "steps": [step]}
        )
    )
    (result,) = [each for each in store("atif").load(str(path)).entries if isinstance(each, ToolReturned)]
    assert result.raw.value() == {"type": "tool_result", "tool_use_id": "c", "content": "out"}


def test_a_place_that_cannot_be_compared_is_told(tmp_path: Path) -> None:
    taken = tmp_path / "taken.json"
    taken.mkdir()
    with NewFile(str(taken)) as file:
        file.write(b"x" * os.path.getsize(taken))
        with pytest.raises(WriteError, match="cannot be written"):
            file.commit()
