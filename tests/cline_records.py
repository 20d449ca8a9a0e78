"""Records of Cline's stream, made by hand."""

from __future__ import annotations

from typing import Any

Record = dict[str, Any]
UNSET: Any = object()


def agent(kind: str, /, **members: Any) -> Record:
    return {"ts": "2026-01-01T00:00:00.000Z", "type": "agent_event", "event": {"type": kind, **members}}


def mate(name: str, kind: str, /, **members: Any) -> Record:
    """An event of a teammate."""
    return team("agent_event", agentId=name, event={"type": kind, **members})


def team(kind: str, /, **members: Any) -> Record:
    return {"ts": "2026-01-01T00:00:00.000Z", "type": "team_event", "event": {"type": kind, **members}}


def block(kind: str, /, **members: Any) -> Record:
    """The end of a block of content."""
    return agent("content_end", contentType=kind, **members)


def words(text: str) -> Record:
    return block("text", text=text)


def start(call: str, tool: str, given: Any = UNSET) -> Record:
    members = {"toolCallId": call, "toolName": tool} | ({} if given is UNSET else {"input": given})
    return agent("content_start", contentType="tool", **members)


def end(call: str, **members: Any) -> Record:
    return agent("content_end", contentType="tool", toolCallId=call, **members)


def hook(name: str, who: str, parent: str | None = None) -> Record:
    return {"type": "hook_event", "hookEventName": name, "agentId": who, "parentAgentId": parent}


def item(ok: Any = True, **members: Any) -> Record:
    return {"query": "q", "result": "", "success": ok, **members}


def finished(reason: str, text: str = "") -> Record:
    return {"ts": "2026-01-01T00:00:00.000Z", "type": "run_result", "finishReason": reason, "text": text}


def say(kind: str, text: Any = UNSET, ts: Any = 1, **members: Any) -> Record:
    return {"ts": ts, "type": "say", "say": kind} | ({} if text is UNSET else {"text": text}) | members


def ask(kind: str, text: Any = UNSET, ts: Any = 1, **members: Any) -> Record:
    return {"ts": ts, "type": "ask", "ask": kind} | ({} if text is UNSET else {"text": text}) | members


def ink(
    side: str, kind: str, text: str, timestamp: Any = 1, role: str = "assistant", **members: Any
) -> Record:
    """A record of the dialect that 2.x prints on a terminal."""
    told = {
        "type": "message",
        "timestamp": timestamp,
        "role": role,
        "messageType": side,
        side: kind,
        "text": text,
    }
    return told | members
