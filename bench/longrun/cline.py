"""`cline --json`.

Shapes of tests/data/cline `plain_text`, `reasoning_then_text`, `command_ok`, `read_files_two` and
`editor_create_edit`. Text and reasoning come in pieces, each text with all of it so far; a command's output
comes as it is printed (one empty piece and one whole, as recorded) and again at its end.
"""

from __future__ import annotations

from collections.abc import Iterator

from generate import Record

from longrun.talk import Deed, Run, Step, numbered, pieces


def cline(seed: int = 1) -> Iterator[Record]:
    """One run after another of the same agent."""
    run = Run(seed)
    while True:
        yield _hook(run, "agent_start")
        text = ""
        for number, step in enumerate(run.steps(), 1):
            yield from _iteration(run, number, step)
            text = step.text
        yield _hook(run, "agent_end")
        usage = {"inputTokens": 300, "outputTokens": 30, "totalCost": 0}
        yield _event(run, "done", reason="completed", text=text, iterations=2, usage=usage)
        yield _result(run, text)


def _result(run: Run, text: str) -> Record:
    usage = {**_USED, "cacheReadTokens": 0, "cacheWriteTokens": 0, "totalCost": 0}
    told = {"finishReason": "completed", "iterations": 2, "usage": usage, "aggregateUsage": usage}
    model = {"id": "fake-model", "provider": "openai-compatible"}
    return {"ts": run.at(), "type": "run_result", **told, "durationMs": 1771, "text": text, "model": model}


_USED = {"inputTokens": 300, "outputTokens": 30}


def _hook(run: Run, name: str) -> Record:
    ids = {"agentId": "agent_1796039963730_mzpew9", "taskId": "conv_1796039964260_dj4n7a1"}
    return {"ts": run.at(), "type": "hook_event", "hookEventName": name, **ids, "parentAgentId": None}


def _event(run: Run, kind: str, **members: object) -> Record:
    return {"ts": run.at(), "type": "agent_event", "event": {"type": kind, **members}}


def _iteration(run: Run, number: int, step: Step) -> Iterator[Record]:
    yield _event(run, "iteration_start", iteration=number)
    for piece in pieces(step.thought):
        yield _event(run, "content_start", contentType="reasoning", reasoning=piece, redacted=False)
    at = 0
    for piece in pieces(step.text):
        at += len(piece)
        yield _event(run, "content_start", contentType="text", text=piece, accumulated=step.text[:at])
    total = {"totalInputTokens": 100 * number, "totalOutputTokens": 10 * number, "totalCost": 0}
    yield _event(run, "usage", inputTokens=100, outputTokens=10, **total)
    if step.text:
        yield _event(run, "content_end", contentType="text", text=step.text)
    if step.thought:
        yield _event(run, "content_end", contentType="reasoning", reasoning=step.thought)
    for deed in step.deeds:
        yield from _call(run, deed)
    count = len(step.deeds)
    yield _event(run, "iteration_end", iteration=number, hadToolCalls=count > 0, toolCallCount=count)


def _call(run: Run, deed: Deed) -> Iterator[Record]:
    name, given, output = _told(deed)
    ids = {"contentType": "tool", "toolName": name, "toolCallId": run.number("call")}
    yield _hook(run, "tool_call")
    yield _event(run, "content_start", **ids, input=given)
    if deed.kind == "shell":
        for chunk in ("", deed.output):
            yield _event(run, "content_update", **ids, update=_update(run, deed, chunk))
    yield _hook(run, "tool_result")
    yield _event(run, "content_end", **ids, output=output, durationMs=351)


def _update(run: Run, deed: Deed, chunk: str) -> Record:
    told = {"stream": "stdout", "chunk": chunk, "executionId": run.session, "detachable": False}
    return {**told, "commandIndex": 0, "query": deed.command}


def _told(deed: Deed) -> tuple[str, Record, list[Record] | Record]:
    match deed.kind:
        case "shell":
            item = {"query": deed.command, "result": deed.output, "success": deed.code == 0}
            return "run_commands", {"commands": [deed.command]}, [item]
        case "read":
            item = {"query": deed.path, "result": numbered(deed.output, " | "), "success": True}
            return "read_files", {"files": [{"path": deed.path}]}, [item]
        case "edit":
            given = {"path": deed.path, "old_text": deed.old, "new_text": deed.new}
            diff = "\n".join(f"+{line}" for line in deed.new.split("\n"))
            told = f"Edited {deed.path}\n```diff\n{diff}\n```"
            return "editor", given, {"query": f"edit:{deed.path}", "result": told, "success": True}
    told = f"File created successfully at: {deed.path}"
    return (
        "editor",
        {"path": deed.path, "new_text": deed.new},
        {"query": f"edit:{deed.path}", "result": told, "success": True},
    )
