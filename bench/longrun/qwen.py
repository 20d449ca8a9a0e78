"""`qwen --output-format stream-json`.

Shapes of tests/data/qwen `read`, `shell`, `thinking`, `parallel` and `partial`. What `result` tells of tokens
are totals of the session.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from generate import FOLDER, Record

from longrun.talk import PIECE, Deed, Run, pieces

_USAGE = {"input_tokens": 1500, "output_tokens": 120, "cache_read_input_tokens": 1000, "total_tokens": 1620}
_NO_USAGE = {"input_tokens": 0, "output_tokens": 0}


def qwen(seed: int = 1) -> Iterator[Record]:
    """Whole messages: text and thought each in a record, all calls of a step in one."""
    return _session(Run(seed), partial=False)


def qwen_deltas(seed: int = 1) -> Iterator[Record]:
    """The same with `--include-partial-messages`, in pieces of 20 characters as recorded."""
    return _session(Run(seed), partial=True)


def _session(run: Run, *, partial: bool) -> Iterator[Record]:
    yield _init(run)
    state = {"v": 2, "goal": None, "activity": "idle"}
    yield _record(run, "stream_event", event={"type": "goal_state", "goal_state": state})
    for number in count(1):
        answer = ""
        for step in run.steps():
            calls = [(run.number("call"), deed) for deed in step.deeds]
            told: list[list[Record]] = []
            if step.thought:
                told.append([{"type": "thinking", "thinking": step.thought, "signature": ""}])
            if step.text:
                told.append([{"type": "text", "text": step.text}])
            if calls:
                told.append([_use(run, call, deed) for call, deed in calls])
            for blocks in told:
                if partial:
                    yield from _events(run, blocks)
                yield _assistant(run, blocks, is_last=blocks is told[-1])
            if partial:
                yield _record(run, "stream_event", event={"type": "message_stop"})
            for call, deed in calls:
                yield _result(run, call, deed)
            answer = step.text
        yield _end(run, number, answer)


def _init(run: Run) -> Record:
    tools = ["read_file", "write_file", "edit", "run_shell_command", "grep_search", "glob", "agent", "skill"]
    told = {
        "session_id": run.session,
        "cwd": FOLDER,
        "tools": tools,
        "mcp_servers": [],
        "model": "fake-model",
        "permission_mode": "yolo",
        "slash_commands": [f"command-{number}" for number in range(40)],
        "qwen_code_version": "0.24.4",
        "agents": ["general-purpose", "Explore", "review-agent"],
    }
    return {"type": "system", "subtype": "init", "uuid": run.session, **told}


def _record(run: Run, kind: str, **members: object) -> Record:
    ids = {"uuid": run.id(), "session_id": run.session}
    return {"type": kind, **ids, "parent_tool_use_id": None, **members}


def _assistant(run: Run, blocks: list[Record], *, is_last: bool) -> Record:
    record = _record(run, "assistant")
    message = {"id": record["uuid"], "type": "message", "role": "assistant", "model": "fake-model"}
    stop = "tool_use" if blocks[0]["type"] == "tool_use" else None
    usage = _USAGE if is_last else _NO_USAGE
    return {**record, "message": {**message, "content": blocks, "stop_reason": stop, "usage": usage}}


def _use(run: Run, call: str, deed: Deed) -> Record:
    name, given = _given(run, deed)
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def _given(run: Run, deed: Deed) -> tuple[str, Record]:
    match deed.kind:
        case "shell":
            about = {"description": run.prose(20, 60), "is_background": False}
            return "run_shell_command", {"command": deed.command, **about}
        case "read":
            return "read_file", {"file_path": deed.path}
        case "edit":
            return "edit", {"file_path": deed.path, "old_string": deed.old, "new_string": deed.new}
    return "write_file", {"file_path": deed.path, "content": deed.new}


def _result(run: Run, call: str, deed: Deed) -> Record:
    output = deed.output or f"Successfully modified file: {deed.path}."
    if deed.code:
        output = (
            f"Command: {deed.command}\nDirectory: (root)\nOutput: {output}\nError: (none)\n"
            f"Exit Code: {deed.code}\nSignal: (none)\nProcess Group PGID: (none)"
        )
    told = {"type": "tool_result", "tool_use_id": call, "is_error": deed.code != 0, "content": output}
    return _record(run, "user", message={"role": "user", "content": [told]})


def _end(run: Run, number: int, answer: str) -> Record:
    about = {"is_error": False, "duration_ms": 1366, "duration_api_ms": 966, "num_turns": 40}
    ids = {"uuid": run.id(), "session_id": run.session}
    usage = {name: value * number for name, value in _USAGE.items()}
    told = {"result": answer, "usage": usage, "permission_denials": []}
    return {"type": "result", "subtype": "success", **ids, **about, **told}


_EMPTY: dict[str, Record] = {"thinking": {"thinking": "", "signature": ""}, "text": {"text": ""}}


def _events(run: Run, blocks: list[Record]) -> Iterator[Record]:
    for block in blocks:
        kind = block["type"]
        empty = {"type": kind, **_EMPTY[kind]} if kind in _EMPTY else {**block, "input": {}}
        yield _event(run, "content_block_start", content_block=empty)
        form, member = ("input_json_delta", "partial_json") if kind == "tool_use" else (f"{kind}_delta", kind)
        text = json.dumps(block["input"]) if kind == "tool_use" else block[kind]
        for piece in pieces(text, PIECE - 4):
            yield _event(run, "content_block_delta", delta={"type": form, member: piece})
        yield _event(run, "content_block_stop")


def _event(run: Run, kind: str, **members: Any) -> Record:
    return _record(run, "stream_event", event={"type": kind, "index": 0, **members})
