"""`goose run --output-format stream-json`: shapes of tests/data/goose `pieces` and `tools`.

Those were written after public descriptions, for the program itself was never recorded.
"""

from __future__ import annotations

from collections.abc import Iterator

from generate import Record

from longrun.talk import Deed, Run, pieces


def goose(seed: int = 1) -> Iterator[Record]:
    """Thoughts and texts in pieces, calls whole."""
    run = Run(seed)
    while True:
        yield _message(run, run.number("u"), "user", {"type": "text", "text": run.prose(50, 500)})
        for step in run.steps():
            name = run.number("m")
            for piece in pieces(step.thought):
                block = {"type": "thinking", "thinking": piece, "signature": ""}
                yield _message(run, name, "assistant", block)
            for piece in pieces(step.text):
                yield _message(run, name, "assistant", {"type": "text", "text": piece})
            calls = [(run.number("call"), deed) for deed in step.deeds]
            if calls:
                yield _message(run, name, "assistant", *(_request(call, deed) for call, deed in calls))
            for call, deed in calls:
                yield _message(run, run.number("u"), "user", _response(call, deed))
        yield {"type": "complete", "total_tokens": 9720, "input_tokens": 9000, "output_tokens": 720}


def _message(run: Run, name: str, role: str, *content: Record) -> Record:
    made = run.ms() // 1000
    told = {"id": name, "role": role, "created": made, "content": list(content)}
    return {"type": "message", "message": {**told, "metadata": {"userVisible": True, "agentVisible": True}}}


def _request(call: str, deed: Deed) -> Record:
    name, given = _given(deed)
    value = {"name": f"developer__{name}", "arguments": given}
    return {"type": "toolRequest", "id": call, "toolCall": {"status": "success", "value": value}}


def _given(deed: Deed) -> tuple[str, Record]:
    match deed.kind:
        case "shell":
            return "shell", {"command": deed.command}
        case "read":
            return "text_editor", {"command": "view", "path": deed.path}
        case "edit":
            texts = {"old_str": deed.old, "new_str": deed.new}
            return "text_editor", {"command": "str_replace", "path": deed.path, **texts}
    return "write", {"path": deed.path, "content": deed.new}


def _response(call: str, deed: Deed) -> Record:
    value: Record = {"content": [{"type": "text", "text": deed.output or "edited"}], "isError": False}
    if deed.kind == "shell":
        value["structuredContent"] = {"stdout": deed.output, "stderr": "", "exit_code": deed.code}
    return {"type": "toolResponse", "id": call, "toolResult": {"status": "success", "value": value}}
