"""The structs of the three layers: every recorded object is read, and written back as it was."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from stenograph.agents.cline import agent, runtime, session, wire

VECTORS = Path(os.environ.get("STENOGRAPH_VECTORS", Path(__file__).parent / "data" / "cline-sdk"))


def lines(name: str) -> Iterator[dict[str, Any]]:
    path = VECTORS / name
    return (json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip())


def recorded() -> Iterator[tuple[Any, dict[str, Any]]]:
    """Every object in the vectors, beside the function that reads it."""
    for vector in lines("adapter_vectors.jsonl"):
        yield from ((runtime.to_runtime_event, event) for event in vector["input"])
        yield from ((agent.to_agent_event, event) for event in vector["output"])
    for run in lines("layer1_runs.jsonl"):
        yield from ((runtime.to_runtime_event, event) for event in run["layer1"])
        yield from ((agent.to_agent_event, event) for event in run["layer2"])
    for vector in lines("projector_vectors.jsonl"):
        yield from ((session.to_session_event, event) for event in vector["input"])
    for vector in lines("hub_client_vectors.jsonl"):
        yield from ((session.to_envelope, event) for event in vector["input"])
        yield from ((session.to_session_event, event) for event in vector["output"])


def test_every_recorded_object_comes_back_with_its_members_in_their_order() -> None:
    count = 0
    for read, record in recorded():
        event = read(record)
        known = record.get("type") != "__reset__"
        assert isinstance(event, wire.Unknown) is not known, record
        assert json.dumps(wire.to_wire(event)) == json.dumps(record)
        assert json.loads(wire.encode(event)) == record
        count += 1
    assert count > 500


def test_a_runtime_event_is_a_struct_down_to_the_parts_of_its_messages() -> None:
    run = next(run for run in lines("layer1_runs.jsonl") if len(run["layer1"]) > 8)
    event = runtime.to_runtime_event(run["layer1"][-1])
    match event:
        case runtime.RunFinished(result=runtime.AgentRunResult(messages=[first, *_], usage=usage)):
            assert isinstance(first, runtime.AgentMessage)
            assert isinstance(first.content[0], runtime.AgentTextPart)
            assert isinstance(usage, runtime.AgentUsage)
        case _:
            pytest.fail(f"not taken apart: {event!r}")
    assert event.type == "run-finished"


def test_absent_and_null_are_told_apart() -> None:
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "t", "input": None}
    absent = {"type": "tool-call", "toolCallId": "c", "toolName": "t"}
    with_null, without = (
        runtime.to_runtime_event({"type": "tool-started", "toolCall": part}) for part in (call, absent)
    )
    assert isinstance(with_null, runtime.ToolStarted)
    assert isinstance(without, runtime.ToolStarted)
    assert with_null.tool_call.input is None
    assert without.tool_call.input is UNSET
    assert (
        wire.encode(without)
        == b'{"type":"tool-started","toolCall":'
        + json.dumps(absent).replace(": ", ":").replace(", ", ",").encode()
        + b"}"
    )


def test_unknown_types_and_members_and_odd_members_are_kept() -> None:
    record = {"type": "turn-started", "later": [1], "iteration": "seven", "snapshot": 5}
    event = runtime.to_runtime_event(record)
    assert isinstance(event, runtime.TurnStarted)
    assert event.snapshot == 5
    assert json.loads(wire.encode(event)) == record
    strange = {"type": "no-such-thing", "a": {"b": 1}}
    unknown = runtime.to_runtime_event(strange)
    assert isinstance(unknown, wire.Unknown)
    assert unknown.type == "no-such-thing"
    assert json.loads(wire.encode(unknown)) == strange


def test_a_record_without_the_object_it_is_about_is_unknown() -> None:
    for record in ({"type": "tool-started"}, {"type": "usage-updated", "usage": 3}, {"type": ["x"]}, {}):
        assert isinstance(runtime.to_runtime_event(record), wire.Unknown)
    assert isinstance(session.to_session_event({"type": "ended"}), wire.Unknown)


def test_a_changed_copy_keeps_the_order_and_what_it_does_not_know() -> None:
    record = {"iteration": 1, "extra": True, "type": "turn-started"}
    event = runtime.to_runtime_event(record)
    changed = msgspec.structs.replace(event, iteration=2)
    assert wire.encode(changed) == b'{"iteration":2,"extra":true,"type":"turn-started"}'
    assert changed != event
    assert runtime.to_runtime_event(dict(record)) == event


def test_the_documented_shapes_of_chunk_and_ended_are_read_beside_the_real_ones() -> None:
    documented = session.to_session_event(
        {"type": "chunk", "payload": {"type": "text", "text": "hi", "sessionId": "s"}}
    )
    assert isinstance(documented, session.CoreChunk)
    assert documented.payload == session.DocumentedChunk(session_id="s", kind="text", text="hi")
    real = session.to_session_event(
        {"type": "chunk", "payload": {"sessionId": "s", "stream": "stdout", "chunk": "x", "ts": 1}}
    )
    assert isinstance(real, session.CoreChunk)
    assert isinstance(real.payload, session.SessionChunkEvent)
    ended = session.to_session_event(
        {"type": "ended", "payload": {"sessionId": "s", "finishReason": "completed", "result": {"text": "t"}}}
    )
    assert isinstance(ended, session.CoreEnded)
    assert isinstance(ended.payload, session.DocumentedEnded)
    assert isinstance(ended.payload.result, agent.AgentResult)
    assert ended.payload.result.text == "t"


def test_made_objects_are_written_in_the_declared_order() -> None:
    event = agent.AgentContentEndEvent(
        duration_ms=3.0, tool_name="t", tool_call_id="c", content_type="tool", output=None
    )
    assert wire.encode(event) == (
        b'{"type":"content_end","contentType":"tool","toolName":"t","toolCallId":"c","output":null,"durationMs":3}'
    )


def test_parse_object_refuses_what_is_no_object() -> None:
    assert wire.parse_object(b' {"a":1} ') == {"a": 1}
    for other in (b"[1]", b"3", "null"):
        with pytest.raises(ValueError, match="no JSON object"):
            wire.parse_object(other)
    for broken in (b"", b"{", '{"a"}'):
        with pytest.raises(ValueError, match="Expecting"):
            wire.parse_object(broken)
