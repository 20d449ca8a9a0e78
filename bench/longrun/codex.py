"""`codex exec --json`.

Shapes of tests/data/codex `shell_ok`, `shell_fail`, `reasoning`, `apply_patch` and `message`. There is no
tool to read with: a read is a command. A patch's record names the files and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from generate import Record

from longrun.talk import Deed, Run


def codex(seed: int = 1) -> Iterator[Record]:
    """One thread, a turn for each prompt."""
    run = Run(seed)
    yield {"type": "thread.started", "thread_id": run.session}
    while True:
        yield {"type": "turn.started"}
        for item in _items(run):
            yield from item
        yield {"type": "turn.completed", "usage": _USAGE}


_USAGE = {
    "input_tokens": 4500,
    "cached_input_tokens": 3000,
    "cache_write_input_tokens": 0,
    "output_tokens": 360,
    "reasoning_output_tokens": 192,
}


def _items(run: Run) -> Iterator[list[Record]]:
    for step in run.steps():
        if step.thought:
            yield [_item(run, "completed", type="reasoning", text=step.thought)]
        if step.text:
            yield [_item(run, "completed", type="agent_message", text=step.text)]
        yield from (_call(run, deed) for deed in step.deeds)


def _call(run: Run, deed: Deed) -> list[Record]:
    if deed.kind in ("edit", "write"):
        change = {"path": deed.path, "kind": "update" if deed.kind == "edit" else "add"}
        told = {"type": "file_change", "changes": [change]}
        begun = _item(run, "started", **told, status="in_progress")
        return [begun, _again(begun, **told, status="completed")]
    command = deed.command if deed.kind == "shell" else f"sed -n '1,200p' {deed.path}"
    told = {"type": "command_execution", "command": _in_shell(command)}
    begun = _item(run, "started", **told, aggregated_output="", exit_code=None, status="in_progress")
    status = "failed" if deed.code else "completed"
    return [begun, _again(begun, **told, aggregated_output=deed.output, exit_code=deed.code, status=status)]


def _in_shell(command: str) -> str:
    """The command as it is run: between double quotes where it has single ones."""
    if "'" not in command:
        return f"/bin/bash -lc '{command}'"
    escaped = re.sub(r'([\\"$`])', r"\\\1", command)
    return f'/bin/bash -lc "{escaped}"'


def _item(run: Run, end: str, **members: object) -> Record:
    run.count += 1
    return {"type": f"item.{end}", "item": {"id": f"item_{run.count}", **members}}


def _again(begun: Record, **members: object) -> Record:
    return {"type": "item.completed", "item": {"id": begun["item"]["id"], **members}}
