"""The events of recorded layers: the same run through every layer, and what each layer does not hold."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recordings import DATA, NOON, PROFILES, as_lines, recordings, translated
from stenograph import EventParser, encode, jsonio
from stenograph.agents.cline.projection import SessionsProjection
from stenograph.registry import stream

VECTORS = Path(os.environ.get("STENOGRAPH_VECTORS", DATA / "cline-sdk"))
RUNS = [
    jsonio.loads(line)
    for path in sorted(VECTORS.glob("layer1_runs*.jsonl"))
    for line in path.read_bytes().splitlines()
]
LAYERS = ("runtime", "agent", "core", "hub")
BY_NAME = {each.name: each for each in recordings()}
HUB_RUNS = ("hub_tools", "hub_api_401", "hub_abort_sigint")
IN_PROCESS = sorted(
    path.parent.name for path in DATA.glob("cline/*/*.stdout.jsonl") if path.parent.name not in HUB_RUNS
)

Records = list[dict[str, Any]]


def told(layer: str, records: Iterable[Any] | bytes, profile: str = "extended", **options: Any) -> Records:
    """The events of records, without the members that are the same on all."""
    parser = EventParser(f"cline-{layer}", now=lambda: NOON, profile=profile, **options)
    data = records if isinstance(records, bytes) else as_lines(records)
    events = [json.loads(encode(event)) for event in parser.feed(data) + parser.close()]
    return [{name: member for name, member in event.items() if name != "timestamp"} for event in events]


def without_session(events: Records, session_id: str) -> Records:
    assert {event.pop("sessionId") for event in events} <= {session_id}
    return events


def thinned(events: Records, profile: str) -> Records:
    """What is left of a run's events when they have gone through a hub."""
    for event in events:
        if event["type"] == "usage":
            event.setdefault("cost", 0)
        if event["type"] == "unknown":
            event["raw"].pop("execution", None)
    errors = profile == "standard"  # there an error is unknown, and its end is no event
    return [
        event
        for event in events
        if not (errors and event["type"] == "unknown" and event["raw"]["type"] == "error")
    ]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run["name"])
def test_a_run_is_the_same_through_every_layer(run: dict[str, Any], profile: str) -> None:
    data = {"runtime": as_lines(run["layer1"])}
    for layer in LAYERS[1:]:
        data[layer] = translated(data["runtime"], source="runtime", target=layer)
    events = {layer: told(layer, data[layer], profile) for layer in LAYERS}
    for layer in ("core", "hub"):
        without_session(events[layer], "s1")
    assert events["runtime"] == events["agent"] == events["core"]
    assert events["hub"] == thinned(events["runtime"], profile)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", HUB_RUNS)
def test_a_hub_tells_what_the_command_line_prints(name: str, profile: str) -> None:
    printed = told("stream", BY_NAME[f"cline/{name}/{name}"].stdout, profile)
    through = told("hub", BY_NAME[f"cline-hub/{name}"].stdout, profile)
    session_id = through[0]["sessionId"] if through else ""
    without_session(through, session_id)
    if (name, profile) == ("hub_abort_sigint", "extended"):  # what came of the run after its owner had left
        lost = [event for event in through if event["type"] == "error"]
        assert [event["message"].rpartition(" disconnected ")[2] for event in lost] == [
            "before request was resolved."
        ]
        through.remove(lost[0])
    assert through == printed


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", HUB_RUNS)
def test_layer_1_as_hooks_saw_it_is_what_the_hub_sent(name: str, profile: str) -> None:
    """Hooks are not told of a tool's progress, nor of what happened after their owner had left."""
    seen = thinned(told("runtime", BY_NAME[f"cline-runtime/{name}"].stdout, profile), profile)
    sent = [
        event
        for event in told("hub", BY_NAME[f"cline-hub/{name}"].stdout, profile)
        if "content_update" not in str(event) and "Capability owner" not in str(event)
    ]
    without_session(sent, sent[0]["sessionId"] if sent else "")
    assert seen == sent


def as_core(printed: Iterable[dict[str, Any]]) -> Records:
    """The layer 3 that a local host emitted while `cline --json` printed this, chunks included."""
    records: Records = []
    for record in printed:
        match record:
            case {"type": "agent_event", "event": event}:
                records += _emitted(event)
            case {"type": "team_event", "event": {"type": "agent_event", "event": event, "agentId": mate}}:
                if event["type"] != "usage":  # printed as an agent_event too
                    records += _emitted(event, teamAgentId=mate, teamRole="teammate")
                records.append(_progress("agent_event", mate))
            case {"type": "team_event", "event": {"type": kind, **more}}:
                records.append(_progress(kind, more.get("agentId")))
    return records


def _emitted(event: Any, **owner: str) -> Records:
    payload = {"sessionId": "s1", "event": event, **owner}
    chunk = {"sessionId": "s1", "stream": "agent", "chunk": json.dumps(event), "ts": 0}
    return [{"type": "agent_event", "payload": payload}, {"type": "chunk", "payload": chunk}]


def _progress(kind: str, agent_id: str | None) -> dict[str, Any]:
    lifecycle = {"teamName": "t", "sessionId": "s1", "eventType": kind, "ts": "2026-11-30T12:00:00.000Z"}
    if agent_id:
        lifecycle["agentId"] = agent_id
    payload = {"sessionId": "s1", "teamName": "t", "lifecycle": lifecycle, "summary": {}}
    return {"type": "team_progress", "payload": payload}


@pytest.mark.parametrize("name", IN_PROCESS)
def test_layer_3_tells_what_the_command_line_prints(name: str) -> None:
    data = BY_NAME[f"cline/{name}/{name}"].stdout
    printed = [json.loads(line) for line in data.splitlines() if line.startswith(b"{")]
    own = [record for record in printed if record["type"] in ("agent_event", "team_event", "run_result")]
    core = as_core(own)
    assert without_session(told("core", core), "s1") == told("stream", as_lines(own))
    chunks = [record for record in core if record["type"] == "chunk"]
    if name != "team":  # a chunk does not say whose event it is
        assert told("core", chunks) == told("core", core)


def test_sessions_of_one_stream_do_not_mix() -> None:
    """Two runs with the same call ids, record by record in turn, and one that is no session's."""
    hub = BY_NAME["cline-hub/hub_tools"].stdout.splitlines(keepends=True)
    other = [line.replace(b"1796040521569_zl4py", b"other").replace(b"hub.txt", b"o.txt") for line in hub]
    nobody = b'{"version":"v1","event":"from.the.future","eventId":"e"}\n'
    mixed = told("hub", b"".join(line for pair in zip(hub, other, strict=True) for line in (*pair, nobody)))
    assert {event["type"] for event in mixed if "sessionId" not in event} == {"unknown"}
    for session, lines in (("1796040521569_zl4py", hub), ("other", other)):
        alone = [event for event in mixed if event.get("sessionId") == session]
        assert alone == told("hub", b"".join(lines))
    assert [event["path"] for event in mixed if event["type"] == "write"] == [
        "/home/dev/app/hub.txt",
        "/home/dev/app/o.txt",
    ]


def test_the_only_session_is_that_of_records_that_name_none() -> None:
    named = {"type": "status", "payload": {"sessionId": " s ", "status": "running"}}
    events = told("core", [{"type": "what"}, named, {"type": "what"}, {"type": "what", "payload": 3}])
    assert [event.get("sessionId") for event in events] == [None, "s", "s"]


def test_the_session_that_was_quiet_longest_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SessionsProjection, "KEPT", 2)
    started = {"type": "content_start", "contentType": "tool", "toolName": "bash", "toolCallId": "c"}

    def begun(session: str) -> dict[str, Any]:
        event = {**started, "input": {"command": f"make {session}"}}
        return {"type": "agent_event", "payload": {"sessionId": session, "event": event}}

    parser = EventParser("cline-core", now=lambda: NOON)
    assert parser.feed(as_lines([begun("a"), begun("b"), begun("a")])) == []
    given = parser.feed(as_lines([begun("c")]))
    assert [(event.session_id, event.command) for event in given] == [("b", "make b")]


def core(kind: str, **payload: Any) -> dict[str, Any]:
    return {"type": kind, "payload": {"sessionId": "s", **payload}}


def core_agent(event: dict[str, Any], **owner: str) -> dict[str, Any]:
    return core("agent_event", event=event, **owner)


def hub(event: str, **payload: Any) -> dict[str, Any]:
    return {"version": "v1", "event": event, "eventId": "e", "sessionId": "s", "payload": payload}


FATAL = {"type": "error", "error": {"name": "Error", "message": "no key"}, "recoverable": False}
DONE = {"type": "done", "reason": "error", "text": "no key", "iterations": 1}
BEGIN = {"type": "iteration_start", "iteration": 1}


@pytest.mark.parametrize(
    ("layer", "records", "errors"),
    [
        ("core", [core_agent(FATAL), core_agent(DONE), core("ended", reason="error", ts=1)], ["no key"]),
        ("core", [core_agent(DONE), core("ended", reason="failed", ts=1)], ["no key"]),
        ("core", [core("ended", reason="error", ts=1)], ["error"]),
        ("core", [core("ended", reason="stopped", ts=1)], []),
        ("core", [core("ended", reason="mistake_limit", ts=1)], ["mistake_limit"]),
        ("core", [core("ended", finishReason="error", result={"text": "no key"})], ["no key"]),
        ("core", [core_agent(FATAL), core_agent(BEGIN), core_agent(FATAL)], ["no key", "no key"]),
        ("core", [core_agent(DONE), core_agent(BEGIN), core_agent(DONE)], ["no key", "no key"]),
        ("core", [core_agent({**DONE, "agentId": "b", "parentAgentId": "a"})], []),
        ("core", [core_agent(DONE, teamAgentId="scout", teamRole="teammate")], []),
        ("core", [core_agent({"type": "error", "error": {"__error__": {"message": "m"}}})], ["m"]),
        ("core", [core_agent({"type": "error", "error": {}})], ["error"]),
        ("hub", [hub("run.failed", reason="error", error="no key"), hub("run.failed")], ["no key"]),
        ("hub", [hub("run.failed"), hub("run.started"), hub("iteration.started")] * 2, ["error", "error"]),
        ("hub", [hub("run.failed", result={"text": "no key"})], ["no key"]),
        ("hub", [hub("run.completed", result={"finishReason": "mistake_limit", "text": "t"})], ["t"]),
        ("hub", [hub("agent.done", reason="error", text="t"), hub("run.completed", reason="x")], []),
        ("hub", [hub("run.aborted", reason="user asked")], []),
        ("agent", [DONE, BEGIN, {**DONE, "reason": "max_iterations"}], ["no key", "no key"]),
        ("runtime", [{"type": "run-failed", "error": {}, "snapshot": {"lastError": "no key"}}], ["no key"]),
        (
            "runtime",
            [{"type": "run-failed", "error": {"message": "m"}, "snapshot": {"lastError": "l"}}],
            ["m"],
        ),
        ("runtime", [{"type": "run-failed", "error": "plain", "snapshot": {"lastError": "l"}}], ["plain"]),
        ("runtime", [{"type": "run-finished", "result": {"status": "failed", "outputText": "o"}}], ["o"]),
        ("runtime", [{"type": "run-finished", "result": {"status": "aborted", "outputText": ""}}], []),
    ],
)
def test_a_run_that_fails_says_so_once(layer: str, records: Records, errors: list[str]) -> None:
    events = told(layer, records)
    assert [event["type"] for event in events] == ["error"] * len(errors)
    assert [event["message"].rpartition(": ")[2] for event in events] == errors
    assert told(layer, records, "standard") == [
        event for event in told(layer, records, "standard") if event["type"] == "unknown"
    ]


def test_the_reason_of_a_failed_run_is_its_code() -> None:
    (event,) = told("hub", [hub("run.completed", reason="mistake_limit", text="t")])
    assert event == {
        "type": "error",
        "sessionId": "s",
        "message": "mistake_limit: t",
        "code": "mistake_limit",
    }


def test_a_teammates_task_ends_as_its_own_events_say() -> None:
    mate = {"teamAgentId": "scout", "teamRole": "teammate"}
    ended = core("team_progress", teamName="t", lifecycle={"eventType": "task_end", "agentId": "scout"})
    completed = {"type": "done", "reason": "completed", "text": "t"}
    ends = [
        [event["action"] for event in told("core", records)]
        for records in (
            [core_agent(completed, **mate), ended],
            [core_agent({**completed, "reason": "aborted"}, **mate), ended],
            [ended],
        )
    ]
    assert ends == [["subagent_completed"], ["subagent_failed"], []]
    failed = told("core", [core_agent(FATAL, **mate), ended])
    assert [event["type"] for event in failed] == ["error", "orchestration"]
    assert failed[1] == {
        "type": "orchestration",
        "sessionId": "s",
        "action": "subagent_failed",
        "subagentId": "scout",
        "isSuccess": False,
    }
    assert told("hub", [hub("team.progress", lastEvent={"eventType": "task_end", "agentId": "scout"})]) == []
    (event,) = told("core", [ended], "standard")
    assert event["raw"] == ended


def test_whose_event_it_is_stands_in_the_details() -> None:
    text = {"type": "content_end", "contentType": "text", "text": "t"}
    records = [
        core_agent({**text, "agentId": "b", "parentAgentId": "a"}),
        core_agent(text, teamAgentId="scout", teamRole="teammate"),
        core_agent({**text, "agentId": "a"}, teamRole="lead"),
    ]
    assert [event.get("subagent") for event in told("core", records, detail=True)] == ["b", "scout", None]
    snapshot = {"agentId": "b", "parentAgentId": "a"}
    message = {"role": "assistant", "content": [{"type": "text", "text": "t"}]}
    record = {"type": "assistant-message", "message": message, "snapshot": snapshot}
    assert [event["subagent"] for event in told("runtime", [record], detail=True)] == ["b"]


def test_agents_of_one_stream_have_a_usage_each() -> None:
    def used(agent: str, count: int, kind: str = "usage-updated") -> dict[str, Any]:
        usage = {"inputTokens": count, "outputTokens": 1, "cacheReadTokens": 0, "cacheWriteTokens": 0}
        return {"type": kind, "usage": usage, "snapshot": {"agentId": agent}}

    events = told(
        "runtime", [used("a", 10), used("b", 7), used("a", 30), used("a", 0, "run-started"), used("a", 5)]
    )
    assert [event["tokens"]["uncachedInput"] for event in events] == [10, 7, 20, 5]


def test_raw_output_is_warnings_line_by_line() -> None:
    records = [core("chunk", stream=stream, chunk="one\n\n two\n", ts=1) for stream in ("stdout", "stderr")]
    assert [(event["type"], event["message"]) for event in told("core", records)] == [
        ("warning", "one"),
        ("warning", "two"),
    ] * 2


def test_what_is_not_known_stays_visible() -> None:
    records = [
        core("chunk", stream="agent", chunk="no JSON", ts=1),
        core("chunk", type="text", text="as documented"),
        core("from-the-future"),
        core_agent({"type": "from-the-future"}),
        {"type": "agent_event", "payload": None},
    ]
    events = told("core", records)
    assert [event["raw"] for event in events] == [*records[:3], {"type": "from-the-future"}, records[4]]
    assert told("hub", [hub("from.the.future")])[0]["raw"] == hub("from.the.future")
    assert told("runtime", [{"type": "tool-started"}])[0]["raw"] == {"type": "tool-started"}


def test_housekeeping_is_no_event() -> None:
    quiet = [
        core("status", status="running"),
        core("hook", hookEventName="tool_call", toolName="bash"),
        core("pending_prompts", prompts=[]),
        core("pending_prompt_submitted", id="1", prompt="p", delivery="queue"),
    ]
    for profile in PROFILES:
        assert told("core", quiet, profile) == []
        assert (
            told("hub", [hub("tool.started", toolName="b"), hub("tool.finished", toolName="b")], profile)
            == []
        )
        assert told("hub", [hub("run.heartbeat"), hub("approval.requested"), hub("ui.notify")], profile) == []


def test_the_frames_of_the_wire_are_read_as_their_envelopes() -> None:
    lines = (DATA / "cline-hub" / "hub_tools.live.jsonl").read_bytes().splitlines()
    frames = [frame for line in lines if (frame := json.loads(line).get("frame"))]
    assert {frame["kind"] for frame in frames} == {"command", "reply", "stream.subscribe", "event"}
    assert told("hub", frames) == told("hub", BY_NAME["cline-hub/hub_tools"].stdout)


def test_the_snapshot_tells_the_workspace() -> None:
    snapshot = {"version": 1, "sessionId": "s", "workspace": {"cwd": "/w"}, "model": {"modelId": "m"}}
    call = {"contentType": "tool", "toolName": "read_file", "toolCallId": "c"}
    for layer, records in (
        ("core", [core("session_snapshot", snapshot=snapshot)]),
        ("hub", [hub("session.updated", snapshot=snapshot)]),
    ):
        records += [core_agent({"type": "content_start", **call, "input": "a.txt"})] * (layer == "core")
        records += [hub("tool.started", **call, input="a.txt")] * (layer == "hub")
        parser = EventParser(f"cline-{layer}", cwd="/elsewhere", now=lambda: NOON)
        parser.feed(as_lines(records))
        assert (parser.cwd, parser.session_id) == ("/w", "s")
        assert [event.path for event in parser.close()] == ["/w/a.txt"]


def test_times_are_the_records_own_where_they_have_one() -> None:
    def times(layer: str, name: str) -> list[str]:
        parser = EventParser(f"cline-{layer}", now="record", profile="extended")
        return [event.timestamp for event in parser.feed(BY_NAME[f"cline-{layer}/{name}"].stdout)]

    sent, seen = times("hub", "hub_tools"), times("runtime", "hub_tools")
    assert sent == sorted(sent)
    assert sent[:2] == ["2026-11-30T12:08:42.459Z", "2026-11-30T12:08:42.582Z"]
    assert seen[1:3] == ["2026-11-30T12:08:42.538Z"] * 2
    assert seen[1:] == sorted(seen[1:])


@pytest.mark.parametrize("depth", [500, 3000])
def test_depth_does_not_matter(depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    lines = b"\n".join(
        (
            b'{"type":"assistant-message","message":{"content":[{"type":"text","text":%s}]}}' % deep,
            b'{"type":"tool-started","toolCall":{"toolCallId":"c","toolName":"bash","input":%s}}' % deep,
            b'{"type":"tool-finished","toolCall":{"toolCallId":"c"},"message":{"content":[{"output":%s}]}}'
            % deep,
            b'{"type":"run-failed","error":%s}' % deep,
            b"",
        )
    )
    for layer in LAYERS:
        parser = EventParser(f"cline-{layer}")
        parser.feed(translated(lines, source="runtime", target=layer))
        for event in parser.close():
            encode(event)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
ODD_RUN = max((run["layer1"] for run in RUNS), key=lambda records: len({each["type"] for each in records}))
ODD = {"runtime": as_lines(ODD_RUN)} | {
    layer: translated(as_lines(ODD_RUN), source="runtime", target=layer) for layer in LAYERS[1:]
}


@given(st.sampled_from(LAYERS), st.integers(0), st.integers(0), JSON)
@settings(max_examples=150, deadline=None)
def test_an_odd_member_never_raises(layer: str, which: int, where: int, odd: Any) -> None:
    records = [json.loads(line) for line in ODD[layer].splitlines()]
    places = list(_places(records[which % len(records)]))
    container, key = places[where % len(places)]
    container[key] = odd
    for profile in PROFILES:
        told(layer, records, profile, detail=True)


def _places(record: Any) -> Iterable[tuple[Any, Any]]:
    todo = [record]
    while todo:
        value = todo.pop()
        items: Any = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in items:
            yield value, key
            if isinstance(member, dict | list):
                todo.append(member)


@pytest.mark.parametrize("odd", [None, 3, [], {}, ["type"]])
def test_any_record_can_be_weighed(odd: Any) -> None:
    for layer in LAYERS:
        score = stream(f"cline-{layer}").score
        for name in ("type", "event", "kind", "payload", "snapshot", "envelope", "eventId"):
            assert score({name: odd}) == score({name: odd, "type": odd, "event": odd, "kind": odd}) == 0
