"""`pi --mode json --print`: shapes of tests/data/pi `message`, `reasoning`, `bash`, `read` and `parallel`.

Each update holds the whole message so far twice, and `message_end`, `turn_end` and `agent_end` tell it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from generate import FOLDER, Record

from longrun.talk import PIECE, Deed, Run, Step, pieces, short

_COST = {"input": 0.0005, "output": 0.00024, "cacheRead": 0.0001, "cacheWrite": 0, "total": 0.00084}
_TOKENS = {"input": 500, "output": 120, "cacheRead": 1000, "cacheWrite": 0, "totalTokens": 1620}
_USAGE = {**_TOKENS, "cost": _COST}
_NO_USAGE = {**dict.fromkeys(_TOKENS, 0), "cost": dict.fromkeys(_COST, 0)}


def pi(seed: int = 1) -> Iterator[Record]:
    """One prompt after another."""
    run = Run(seed)
    yield {"type": "session", "version": 3, "id": run.session, "timestamp": run.at(), "cwd": FOLDER}
    while True:
        yield {"type": "agent_start"}
        said: list[Record] = []
        for step in run.steps():
            yield {"type": "turn_start"}
            yield from _turn(run, step, said)
        yield {"type": "agent_end", "messages": said}


def _turn(run: Run, step: Step, said: list[Record]) -> Iterator[Record]:
    calls = [(run.number("call"), deed) for deed in step.deeds]
    content = [*_texts(step), *(_call(call, deed) for call, deed in calls)]
    about = {"api": "openai-completions", "provider": "fake", "model": "fake-model"}
    stop = {
        "stopReason": "toolUse" if calls else "stop",
        "timestamp": run.ms(),
        "responseId": run.number("r"),
    }
    yield {"type": "message_start", "message": _message([], about, _NO_USAGE, stop)}
    for event, so_far in _updates(content):
        partial = _message(so_far, about, _NO_USAGE, stop)
        yield {
            "type": "message_update",
            "assistantMessageEvent": {**event, "partial": partial},
            "message": partial,
        }
    whole = _message(content, about, _USAGE, stop)
    yield {"type": "message_end", "message": whole}
    results = []
    for call, deed in calls:
        results.append(_result(run, call, deed))
        yield from _execution(call, deed)
        yield {"type": "message_start", "message": results[-1]}
        yield {"type": "message_end", "message": results[-1]}
    yield {"type": "turn_end", "message": whole, "toolResults": results}
    said += [whole, *results]


def _message(content: list[Record], about: Record, usage: Any, stop: Record) -> Record:
    return {"role": "assistant", "content": content, **about, "usage": usage, **stop}


def _texts(step: Step) -> Iterator[Record]:
    if step.thought:
        yield {"type": "thinking", "thinking": step.thought, "thinkingSignature": "reasoning_content"}
    if step.text:
        yield {"type": "text", "text": step.text}


def _call(call: str, deed: Deed) -> Record:
    name, given = _given(deed)
    return {"type": "toolCall", "id": call, "name": name, "arguments": given}


def _given(deed: Deed) -> tuple[str, Record]:
    match deed.kind:
        case "shell":
            return "bash", {"command": deed.command}
        case "read":
            return "read", {"path": short(deed.path)}
        case "edit":
            return "edit", {"path": deed.path, "edits": [{"oldText": deed.old, "newText": deed.new}]}
    return "write", {"path": deed.path, "content": deed.new}


def _updates(content: list[Record]) -> Iterator[tuple[Record, list[Record]]]:
    """Each delta with the message up to it."""
    for index, block in enumerate(content):
        kind, before = block["type"], content[:index]
        word = kind.lower()
        if kind == "toolCall":
            text, member = json.dumps(block["arguments"]), "partialArgs"
            empty = {**block, "arguments": {}, "partialArgs": "", "streamIndex": index}
        else:
            text, member, empty = block[kind], kind, block
        yield {"type": f"{word}_start", "contentIndex": index}, [*before, {**empty, member: ""}]
        for at, piece in zip(range(PIECE, len(text) + PIECE, PIECE), pieces(text), strict=False):
            event = {"type": f"{word}_delta", "contentIndex": index, "delta": piece}
            yield event, [*before, {**empty, member: text[:at]}]
        told = {"toolCall": block} if kind == "toolCall" else {"content": text}
        yield {"type": f"{word}_end", "contentIndex": index, **told}, content[: index + 1]


def _result(run: Run, call: str, deed: Deed) -> Record:
    told = {"role": "toolResult", "toolCallId": call, "toolName": _given(deed)[0]}
    return {**told, "content": _printed(deed), "isError": deed.code != 0, "timestamp": run.ms()}


def _printed(deed: Deed) -> list[Record]:
    text = deed.output or f"Successfully wrote {len(deed.new)} bytes to {deed.path}"
    return [{"type": "text", "text": f"{text}\n\nCommand exited with code 1" if deed.code else text}]


def _execution(call: str, deed: Deed) -> Iterator[Record]:
    name, given = _given(deed)
    ids = {"toolCallId": call, "toolName": name}
    yield {"type": "tool_execution_start", **ids, "args": given}
    if deed.kind == "shell":
        update = {"type": "tool_execution_update", **ids, "args": given}
        yield {**update, "partialResult": {"content": []}}
        told = {"content": [{"type": "text", "text": deed.output}], "details": {}}
        yield {**update, "partialResult": told}
    result = {"content": _printed(deed), **({"details": {}} if deed.code else {})}
    yield {"type": "tool_execution_end", **ids, "result": result, "isError": deed.code != 0}
