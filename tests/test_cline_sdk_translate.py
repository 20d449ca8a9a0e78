"""`LayerTranslator` and `steno translate`: layers into one another, in any chunks, bad lines noted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from stenograph import jsonio
from stenograph.agents.cline.layers import LAYERS, LayerTranslator
from stenograph.cli.translate import translate
from stenograph.errors import UsageError
from stenograph.notes import Kind

VECTORS = Path(os.environ.get("STENOGRAPH_VECTORS", Path(__file__).parent / "data" / "cline-sdk"))
RUNS = [
    jsonio.loads(line)
    for path in sorted(VECTORS.glob("layer1_runs*.jsonl"))
    for line in path.read_bytes().splitlines()
]


def as_lines(records: list[Any]) -> bytes:
    return b"".join(jsonio.dumps(record) + b"\n" for record in records)


def through(data: bytes, source: Any, target: Any, *, size: int = 1 << 20, **more: Any) -> list[Any]:
    translator = LayerTranslator(source=source, target=target, **more)
    lines = [line for at in range(0, len(data), size) for line in translator.feed(data[at : at + size])]
    return [jsonio.loads(line) for line in lines + translator.close()]


def without_durations(events: list[Any]) -> list[Any]:
    return [{name: member for name, member in event.items() if name != "durationMs"} for event in events]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run["name"])
def test_runtime_to_agent_is_what_the_real_adapter_gave(run: dict[str, Any]) -> None:
    data = as_lines(run["layer1"])
    assert through(data, "runtime", "agent") == without_durations(run["layer2"])
    assert through(data, "runtime", "agent", now_ms=lambda: 5) == run["layer2"]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run["name"])
def test_core_holds_agent_and_hub_gives_a_thinner_core_back(run: dict[str, Any]) -> None:
    data = as_lines(run["layer1"])
    core = through(data, "runtime", "core", session_id="s1")
    assert [event["payload"]["event"] for event in core] == through(data, "runtime", "agent")
    assert {event["payload"]["sessionId"] for event in core} == {"s1"}
    assert through(as_lines(core), "core", "agent") == through(data, "runtime", "agent")
    hub = through(as_lines(core), "core", "hub")
    assert hub == through(data, "runtime", "hub", session_id="s1")
    back = through(as_lines(hub), "hub", "core")
    kept = [event for event in core if event["payload"]["event"]["type"] != "error"]
    assert [event["payload"]["event"]["type"] for event in back if event["type"] == "agent_event"] == [
        event["payload"]["event"]["type"]
        for event in kept
        if event["payload"]["event"].get("text") != "" or event["payload"]["event"]["type"] != "content_start"
    ] + ["done"] * (run["layer1"][-1]["type"] == "run-failed")


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_chunks_do_not_matter(size: int) -> None:
    data = as_lines(RUNS[0]["layer1"])[:-1]
    assert through(data, "runtime", "hub", size=size) == through(data, "runtime", "hub")


def test_each_run_begins_with_a_fresh_state() -> None:
    data = as_lines(RUNS[0]["layer1"] * 2)
    events = through(data, "runtime", "agent")
    assert events == without_durations(RUNS[0]["layer2"] * 2)


def test_frames_of_the_wire_are_taken_as_their_envelopes() -> None:
    envelope = {"version": "v1", "event": "assistant.delta", "sessionId": "s", "payload": {"text": "x"}}
    framed = through(as_lines([{"kind": "event", "envelope": envelope}]), "hub", "core")
    assert framed == through(as_lines([envelope]), "hub", "core") != []


def test_bad_lines_are_noted_and_cost_only_themselves() -> None:
    good = {"type": "turn-started", "iteration": 1}
    data = b"\n".join(
        [b"nonsense", jsonio.dumps(good), b"[1]", b'{"type":"no-such"}', b"", b'{"type":"usage-upd']
    )
    translator = LayerTranslator(source="runtime", target="agent")
    assert translator.feed(data) + translator.close() == [b'{"type":"iteration_start","iteration":1}']
    notes = {note.code: note for note in translator.report.notes}
    assert (notes["not-json"].count, notes["not-json"].kind) == (3, Kind.DAMAGED)
    assert (notes["unknown-event"].count, notes["unknown-event"].where.line) == (1, 4)
    assert notes["unknown-event"].where.offset == data.index(b'{"type":"no-such"}')


def test_layer_1_cannot_be_made() -> None:
    for source in LAYERS[1:]:
        with pytest.raises(UsageError, match="do not hold"):
            LayerTranslator(source=source, target="runtime")
    assert through(as_lines([RUNS[0]["layer1"][0]]), "runtime", "runtime") == [RUNS[0]["layer1"][0]]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
RECORDS = [event for run in RUNS[:6] for event in run["layer1"]]


def nested(record: Any) -> list[tuple[Any, Any]]:
    """Every place in a record that can be given another value: its container and key."""
    found = []
    todo = [record]
    while todo:
        value = todo.pop()
        items = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        for key, member in items:
            found.append((value, key))
            todo.append(member)
    return found


@given(st.integers(0, len(RECORDS) - 1), st.integers(0), JSON)
@settings(max_examples=150, deadline=None)
def test_an_odd_member_never_raises(which: int, where: int, odd: Any) -> None:
    record = jsonio.loads(jsonio.dumps(RECORDS[which]))
    places = nested(record)
    container, key = places[where % len(places)]
    container[key] = odd
    for target in LAYERS:
        through(as_lines([record, record]), "runtime", target, now_ms=lambda: 1)
    core = through(as_lines([record]), "runtime", "core")
    for event in core:
        places = nested(event)
        container, key = places[where % len(places)]
        container[key] = odd
    hub = through(as_lines(core), "core", "hub")
    for event in hub:
        places = nested(event)
        container, key = places[where % len(places)]
        container[key] = odd
    through(as_lines(hub), "hub", "agent")


def test_the_command_filters(tmp_path: Path) -> None:
    path = tmp_path / "layer1.jsonl"
    path.write_bytes(as_lines(RUNS[0]["layer1"]) + b"nonsense\n")
    runner = CliRunner()
    arguments = ["--from", "runtime", "--to", "core", "--session", "s1", "--report", "text", str(path)]
    done = runner.invoke(translate, arguments)
    assert done.exit_code == 0
    assert [jsonio.loads(line.encode()) for line in done.stdout.splitlines()] == through(
        path.read_bytes(), "runtime", "core", session_id="s1"
    )
    assert "damaged: not-json x1" in done.stderr
    piped = runner.invoke(translate, ["--from", "agent", "--to", "runtime"], input=b"{}\n")
    assert (piped.exit_code, "do not hold" in piped.stderr) == (2, True)


def test_the_command_gives_its_exit_code_by_returning_it(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"nonsense\n")
    call = {"layer": "agent", "target": "core", "session": "s", "clock": "now", "report": None}
    with translate.make_context("translate", ["--from", "agent", "--to", "core", str(path)]):
        assert translate.callback is not None
        assert translate.callback((str(path),), fail_on="damaged", **call) == 3
        assert translate.callback((str(path),), fail_on=None, **call) == 0
        assert translate.callback((str(path), "no-such-file"), fail_on=None, **call) == 1
