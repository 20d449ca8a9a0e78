"""`gemini --output-format stream-json`: shapes of tests/data/gemini `message`, `read`, `shell`, `parallel`.

An answer comes in pieces as the server sends them; the recordings' server sent each answer as one, here they
are of 200 characters. Reads and writes print next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from generate import Record

from longrun.talk import Deed, Run, pieces, short

_LENGTH = 200
_STATS = {"total_tokens": 8420, "input_tokens": 7500, "output_tokens": 600, "cached": 5000, "input": 2500}


def gemini(seed: int = 1) -> Iterator[Record]:
    """One run after another of the same session."""
    run = Run(seed)
    while True:
        yield _record(run, "init", session_id=run.session, model="gemini-2.5-flash")
        yield _record(run, "message", role="user", content=run.prose(50, 500))
        for step in run.steps():
            for piece in pieces(step.text, _LENGTH):
                yield _record(run, "message", role="assistant", content=piece, delta=True)
            calls = [_call(run, deed) for deed in step.deeds]
            yield from (call for call, _ in calls)
            yield from (result for _, result in calls)
        models = {"gemini-2.5-flash": _STATS}
        stats = {**_STATS, "duration_ms": 865, "tool_calls": 40, "models": models}
        yield _record(run, "result", status="success", stats=stats)


def _record(run: Run, kind: str, **members: object) -> Record:
    return {"type": kind, "timestamp": run.at(), **members}


def _call(run: Run, deed: Deed) -> tuple[Record, Record]:
    tool, given, output = _told(run, deed)
    call = f"{tool}__{tool}_{run.ms()}_0"
    return (
        _record(run, "tool_use", tool_name=tool, tool_id=call, parameters=given),
        _record(run, "tool_result", tool_id=call, status="success", output=output),
    )


def _told(run: Run, deed: Deed) -> tuple[str, Record, str]:
    match deed.kind:
        case "shell":
            given = {"command": deed.command, "description": run.prose(20, 60)}
            return "run_shell_command", given, deed.output
        case "read":
            return "read_file", {"file_path": short(deed.path)}, ""
        case "edit":
            given = {"file_path": deed.path, "old_string": deed.old, "new_string": deed.new}
            return "replace", {"instruction": run.prose(20, 90), **given}, ""
    return "write_file", {"file_path": deed.path, "content": deed.new}, ""
