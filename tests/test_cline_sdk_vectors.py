"""Adapter, projector and hub client give exactly what the real code gave: order and spelling included."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stenograph import jsonio
from stenograph.agents.cline import javascript, wire
from stenograph.agents.cline.adapt import RuntimeEventAdapter, to_legacy_agent_event
from stenograph.agents.cline.project import SessionEventProjector
from stenograph.agents.cline.receive import HubEventTranslator
from stenograph.agents.cline.runtime import to_runtime_event
from stenograph.agents.cline.session import to_envelope, to_session_event

VECTORS = Path(os.environ.get("STENOGRAPH_VECTORS", Path(__file__).parent / "data" / "cline-sdk"))


def vectors(stem: str) -> list[Any]:
    """The vectors of every file whose name begins with the stem, by name."""
    found = [
        pytest.param(jsonio.loads(line), id=f"{path.stem}-{jsonio.loads(line)['name']}")
        for path in sorted(VECTORS.glob(f"{stem}*.jsonl"))
        for line in path.read_bytes().splitlines()
        if line.strip()
    ]
    assert found, f"no {stem} in {VECTORS}"
    return found


def spelled(values: Any) -> list[str]:
    """Each value as the text that JavaScript would write."""
    return [javascript.stringify(value) for value in values]


def adapted(vector: dict[str, Any]) -> Iterator[list[wire.Wire]]:
    now = 0
    adapter = RuntimeEventAdapter(now_ms=lambda: now)
    for event, clock in zip(vector["input"], vector["clock"], strict=True):
        now = clock
        if event["type"] == "__reset__":
            adapter.reset()
            yield []
        else:
            yield list(adapter.translate(to_runtime_event(event)))


@pytest.mark.parametrize("vector", vectors("adapter_vectors"))
def test_adapter(vector: dict[str, Any]) -> None:
    answers = list(adapted(vector))
    assert spelled(wire.to_wire(event) for answer in answers for event in answer) == spelled(vector["output"])
    assert [len(answer) for answer in answers] == vector["counts"]


@pytest.mark.parametrize("vector", vectors("adapter_vectors"))
def test_stateless_adapter(vector: dict[str, Any]) -> None:
    answers = [to_legacy_agent_event(to_runtime_event(event)) for event in vector["input"]]
    assert spelled(answer and wire.to_wire(answer) for answer in answers) == spelled(vector["stateless"])


@pytest.mark.parametrize("run", vectors("layer1_runs"))
def test_adapter_over_real_runs(run: dict[str, Any]) -> None:
    adapter = RuntimeEventAdapter(now_ms=lambda: 0)
    answers = [event for record in run["layer1"] for event in adapter.translate(to_runtime_event(record))]
    assert spelled(wire.to_wire(event) for event in answers) == spelled(run["layer2"])


def fails(_: str) -> None:
    raise LookupError


@pytest.mark.parametrize("vector", vectors("projector_vectors"))
def test_projector(vector: dict[str, Any]) -> None:
    context = vector["context"]
    projector = SessionEventProjector(
        now_ms=lambda: 7,
        usage=fails if context.get("usageThrows") else lambda _: context.get("usage"),
        session=lambda _: context.get("session"),
        snapshot=lambda _: context.get("snapshot"),
        answer=lambda _: context.get("answer"),
    )
    for _ in range(context.get("rpc", 0)):
        projector.begin_turn("s1")
    if context.get("suppress"):
        projector.suppress_next_terminal("s1", context["suppress"])
    answers = [projector.project(to_session_event(event)) for event in vector["input"]]
    envelopes = [wire.to_wire(envelope) for answer in answers for envelope in answer]
    told = ({name: each[name] for name in ("event", "sessionId", "payload")} for each in envelopes)
    assert spelled(told) == spelled(vector["output"])
    assert [len(answer) for answer in answers] == vector["counts"]
    assert [each["eventId"] for each in envelopes] == [f"hevt_{n + 1}" for n in range(len(envelopes))]
    assert all(
        list(each) == ["version", "event", "eventId", "sessionId", "timestamp", "payload"]
        for each in envelopes
    )


@pytest.mark.parametrize("vector", vectors("hub_client_vectors"))
def test_hub_client(vector: dict[str, Any]) -> None:
    translator = HubEventTranslator(now_ms=lambda: 1700000099999)
    answers = [translator.translate(to_envelope(envelope)) for envelope in vector["input"]]
    assert spelled(wire.to_wire(event) for answer in answers for event in answer) == spelled(vector["output"])
    assert [len(answer) for answer in answers] == vector["counts"]


def test_media_at_no_address_is_dropped() -> None:
    """The real client fails on these, where it drops other bad media; we drop them too."""
    translator = HubEventTranslator(now_ms=lambda: 0)
    for url in (
        "https://",
        "example.com",
        "https://a b",
        "https://a:99999/",
        "https://[::1",
        "https://a:b/",
        "",
    ):
        media = {
            "id": "m",
            "modality": "image",
            "mediaType": "image/png",
            "source": {"type": "url", "url": url},
        }
        envelope = {"event": "assistant.media", "sessionId": "s1", "payload": {"media": media}}
        assert translator.translate(to_envelope(envelope)) == []
