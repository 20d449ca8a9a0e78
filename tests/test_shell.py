"""Every sentence of docs/shell.md against tables of command lines: what they are, what they are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stenograph import shell

DATA = Path(__file__).parent / "data" / "shell"
TABLES = ["looked_through", "joined", "words", "reads", "pipes", "searches", "lists", "bases"]


def rows(name: str) -> list[Any]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").split("\n") if line]


def told(operation: shell.Operation) -> list[Any]:
    """An operation as the tables write it: its kind, then its members without what is unset behind them."""
    match operation.kind:
        case "read":
            members: list[Any] = ["read", operation.path, operation.start, operation.end]
        case "search":
            members = ["search", operation.query, operation.path]
        case "list":
            members = ["list", operation.path]
        case "command":
            members = ["command", operation.command]
    while members[-1] is None:
        members.pop()
    return members


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{name}: {row['command']!r}") for name in TABLES for row in rows(name)]
)
def test_table(row: dict[str, Any]) -> None:
    found = shell.classify(row["command"], base=row.get("base"), workspace=row.get("workspace"))
    assert [told(operation) for operation in found] == (row["is"] or [["command", row["command"]]])


@pytest.mark.parametrize("command", rows("not_understood"), ids=repr)
def test_what_is_not_understood_is_one_command(command: str) -> None:
    found = shell.classify(command, base="/w/x", workspace="/w", ok=False, exit_code=7)
    assert found == [shell.Operation(kind="command", command=command, ok=False, exit_code=7)]
