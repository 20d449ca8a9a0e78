"""Records of Claude Code's stream, made by hand."""

from __future__ import annotations

from typing import Any

Record = dict[str, Any]

INIT: Record = {"type": "system", "subtype": "init", "cwd": "/w"}
DONE: Record = {"type": "result", "subtype": "success", "is_error": False, "result": "end"}
HOOK: Record = {"type": "system", "subtype": "hook_started"}
LIMIT: Record = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected"}}


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def thinking(words: str) -> Record:
    return {"type": "thinking", "thinking": words}


REDACTED: Record = {"type": "redacted_thinking", "data": "x"}


def use(call: str, tool: str, **given: Any) -> Record:
    return {"type": "tool_use", "id": call, "name": tool, "input": given}


def outcome(call: str, content: Any = "", **more: Any) -> Record:
    return {"type": "tool_result", "tool_use_id": call, "content": content, **more}


def assistant(*blocks: Any, message: str | None = "m", thread: str | None = None, **more: Any) -> Record:
    told: Record = {"role": "assistant", "content": list(blocks)}
    if message is not None:
        told["id"] = message
    return _record("assistant", told, thread, more)


def user(*blocks: Any, thread: str | None = None, **more: Any) -> Record:
    return _record("user", {"role": "user", "content": list(blocks)}, thread, more)


def said(words: str, message: str | None = "m", thread: str | None = None, **more: Any) -> Record:
    return assistant(text(words), message=message, thread=thread, **more)


def thought(words: str, message: str | None = "m", thread: str | None = None) -> Record:
    return assistant(thinking(words), message=message, thread=thread)


def called(call: str, tool: str, thread: str | None = None, **given: Any) -> Record:
    return assistant(use(call, tool, **given), message=f"message of {call}", thread=thread)


def bash(call: str, command: str, thread: str | None = None) -> Record:
    return called(call, "Bash", thread, command=command)


def answer(call: str, content: Any = "", thread: str | None = None, **more: Any) -> Record:
    return user(outcome(call, content), thread=thread, **more)


def failure(call: str, content: Any = "", thread: str | None = None, **more: Any) -> Record:
    return user(outcome(call, content, is_error=True), thread=thread, **more)


def system(subtype: str, **more: Any) -> Record:
    return {"type": "system", "subtype": subtype, **more}


def notified(call: str, task: str = "t1", status: str = "completed") -> Record:
    return system("task_notification", task_id=task, tool_use_id=call, status=status)


def ended(**more: Any) -> Record:
    return {"type": "result", **more}


def _record(kind: str, message: Record, thread: str | None, more: Record) -> Record:
    return {"type": kind, "message": message, "parent_tool_use_id": thread, **more}
