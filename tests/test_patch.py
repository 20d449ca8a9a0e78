from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stenograph.patch import patch_paths

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "patch" / "cases.jsonl").read_text("utf-8").split("\n")
    if line
]
LINES = sorted({line for case in CASES for line in case["patch"].split("\n")})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["why"])
def test_paths(case: dict[str, Any]) -> None:
    assert patch_paths(case["patch"]) == case["paths"]


@given(st.lists(st.sampled_from(LINES) | st.text(max_size=20), max_size=30))
@settings(max_examples=200, deadline=None)
def test_paths_are_distinct_and_stand_behind_a_marker(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = patch_paths(text)
    assert len(found) == len(set(found))
    heads = [line.partition(":") for line in text.split("\n") if line.startswith("*** ")]
    assert {path.strip() for _, colon, path in heads if colon} >= set(found)
