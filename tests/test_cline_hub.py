"""The hub's protocol without a socket: recorded frames, resuming, refusals, garbage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fake_hub import DATA, RUNS, FakeHub, Seat, envelopes, frames
from stenograph.agents.cline.discovery import discovery_path, parse_discovery, subprotocol
from stenograph.agents.cline.hub import HubEvent, Protocol, Reply, runtime_event
from stenograph.errors import HubError, UsageError
from stenograph.notes import Report

RECORD = json.loads((DATA / "hub_tools.discovery.json").read_text())


class Wire:
    """A protocol and a fake hub joined by lists instead of a socket."""

    def __init__(self, protocol: Protocol, hub: FakeHub) -> None:
        self.protocol, self.hub = protocol, hub
        self.inbox: list[str | bytes] = []
        self.seat: Seat | None = None
        self.got: list[HubEvent | Reply] = []
        self._connections = 0

    def connect(self) -> None:
        self.drop()
        self._connections += 1
        self.seat = Seat(self.hub, self.inbox.append)
        self.protocol.connect(f"c{self._connections}")
        self.exchange()

    def drop(self, keep: int = 0) -> None:
        """End the connection; of what the hub has sent only the first `keep` frames have come."""
        del self.inbox[keep:]
        self.deliver()
        if self.seat:
            self.seat.leave()
        self.seat = None
        self.inbox.clear()

    def exchange(self) -> None:
        while outgoing := self.protocol.take():
            for frame in outgoing:
                assert self.seat is not None
                self.seat.receive(frame)
            if not self.protocol.ready:
                self.deliver(1)

    def deliver(self, count: int | None = None) -> None:
        for frame in self.inbox[:count]:
            arrival = self.protocol.receive(frame)
            if arrival is not None:
                self.got.append(arrival)
        del self.inbox[:count]
        self.exchange()

    def sequences(self) -> list[int | None]:
        return [each.sequence for each in self.got if isinstance(each, HubEvent)]


def watching(hub: FakeHub, **options: Any) -> tuple[Wire, Report]:
    report = Report()
    wire = Wire(Protocol(report=report, **options), hub)
    wire.connect()
    return wire, report


# Discovery


@pytest.mark.parametrize("run", RUNS)
def test_recorded_discovery_files_are_read(run: str) -> None:
    data = (DATA / f"{run}.discovery.json").read_bytes()
    found = parse_discovery(data)
    assert found is not None
    found.check()
    told = json.loads(data)
    assert (found.hub_id, found.url, found.token) == (told["hubId"], told["url"], told["authToken"])
    assert (found.pid, found.core_version, found.started_at) == (
        told["pid"],
        "0.0.86",
        told["startedAt"],
    )
    assert found.token not in repr(found)
    assert found.token not in str(found)


@pytest.mark.parametrize(
    "member", ["hubId", "protocolVersion", "authToken", "host", "port", "url", "startedAt", "updatedAt"]
)
def test_a_discovery_file_without_a_needed_member_counts_as_absent(member: str) -> None:
    lacking = {name: value for name, value in RECORD.items() if name != member}
    assert parse_discovery(json.dumps(lacking).encode()) is None
    assert parse_discovery(json.dumps({**RECORD, member: None}).encode()) is None


@pytest.mark.parametrize("data", [b"", b"[]", b"nul", b'{"hubId":', b"\xff\xfe", b"[" * 100_000])
def test_a_broken_discovery_file_counts_as_absent(data: bytes) -> None:
    assert parse_discovery(data) is None


@pytest.mark.parametrize(
    ("members", "fits"),
    [
        ({}, True),
        ({"minClientProtocolVersion": None, "maxClientProtocolVersion": 3}, True),
        ({"protocolVersion": "v2"}, True),  # its range still has v1
        ({"protocolVersion": "v2", "minClientProtocolVersion": None}, False),
        ({"minClientProtocolVersion": "v2", "maxClientProtocolVersion": "v3"}, False),
        (
            {"protocolVersion": "v0", "maxClientProtocolVersion": "v0", "minClientProtocolVersion": "v0"},
            False,
        ),
        ({"protocolVersion": "2026-11"}, False),
    ],
)
def test_the_version_range_of_a_hub(members: dict[str, Any], fits: bool) -> None:
    found = parse_discovery(json.dumps({**RECORD, **members}).encode())
    assert found is not None
    if fits:
        found.check()
    else:
        with pytest.raises(HubError, match="v1"):
            found.check()


def test_where_the_discovery_file_stands() -> None:
    home = Path("/home/dev")
    released = "locks/hub/production.json"
    assert discovery_path({}, home=home) == home / ".cline/data" / released
    assert discovery_path({"CLINE_DIR": "/c", "CLINE_DATA_DIR": " "}, home=home) == Path("/c/data") / released
    assert discovery_path({"CLINE_DIR": "/c", "CLINE_DATA_DIR": "/d"}, home=home) == Path("/d") / released
    assert discovery_path({"CLINE_HUB_DISCOVERY_PATH": "/x.json"}, home=home) == Path("/x.json")
    other = discovery_path({}, home=home, owner="me")
    assert other == home / ".cline/data/locks/hub/owners/hub-2744ccd10c75.json"


def test_a_token_is_shown_as_a_sub_protocol_or_refused() -> None:
    assert subprotocol("ab12") == "cline-hub-auth.ab12"
    with pytest.raises(HubError, match="token"):
        subprotocol("ab\r\nX: y")


# Recorded connections


@pytest.mark.parametrize("run", RUNS)
def test_a_recorded_run_is_given_as_it_came(run: str) -> None:
    live = envelopes(f"{run}.live")
    hub = FakeHub()
    hub.last = live[0]["sequence"] - 1
    wire, report = watching(hub)
    wire.inbox += [json.dumps(frame) for frame in frames(f"{run}.live") if frame["kind"] == "event"]
    wire.deliver()
    assert [json.loads(each.raw) for each in wire.got] == live
    assert [each.event for each in wire.got] == [each["event"] for each in live]
    assert [each.session_id for each in wire.got] == [each.get("sessionId") for each in live]
    assert not report.notes


@pytest.mark.parametrize("run", RUNS)
def test_what_was_seen_live_is_what_is_replayed(run: str) -> None:
    live, replayed = envelopes(f"{run}.live"), envelopes(f"{run}.replay")
    wire, report = watching(FakeHub(replayed), since=0)
    wire.deliver()
    first = live[0]["sequence"]
    assert wire.sequences() == list(range(1, replayed[-1]["sequence"] + 1))
    assert [json.loads(each.raw) for each in wire.got][first - 1 : first - 1 + len(live)] == live
    assert not report.notes


def test_the_recorded_client_registered_as_we_do() -> None:
    hub = FakeHub()
    watching(hub, workspace="/home/dev/app")
    recorded = frames("hub_tools.live", "out")[0]["envelope"]
    ours = hub.commands[0]
    assert list(ours) == list(recorded)
    assert set(ours["payload"]) == set(recorded["payload"])
    assert ours["payload"]["capabilities"] == []
    for member in ("transport", "actorKind", "workspaceContext"):
        assert ours["payload"][member] == recorded["payload"][member]


@pytest.mark.parametrize("run", RUNS)
def test_recorded_replies_come_in_another_order_than_their_commands(run: str) -> None:
    asked = [frame["envelope"] for frame in frames(f"{run}.session", "out") if frame["kind"] == "command"][1:]
    replies = [frame["envelope"] for frame in frames(f"{run}.session") if frame["kind"] == "reply"][1:]
    assert [each["requestId"] for each in replies] != [each["requestId"] for each in asked]
    wire, _ = watching(FakeHub(), stream=False, read_only=False)
    ids = {each["requestId"]: wire.protocol.command(each["command"], each["payload"]) for each in asked}
    wire.protocol.take()
    wire.inbox += [
        json.dumps({"kind": "reply", "envelope": {**each, "requestId": ids[each["requestId"]]}})
        for each in replies
    ]
    wire.deliver()
    by_id = {each.request_id: each for each in wire.got if isinstance(each, Reply)}
    unknown = by_id[ids[asked[2]["requestId"]]]
    assert (unknown.ok, unknown.code) == (False, "unsupported_command")
    with pytest.raises(HubError, match=r"nonsense\.command") as refused:
        unknown.value()
    assert refused.value.code == "unsupported_command"
    assert by_id[ids[asked[0]["requestId"]]].value()["session"]["sessionId"] == asked[0]["sessionId"]
    assert by_id[ids[asked[1]["requestId"]]].value()["messages"]


def test_layer_1_is_found_where_the_owner_of_the_run_is_asked() -> None:
    wire, _ = watching(FakeHub(envelopes("hub_tools.replay")), since=0)
    wire.deliver()
    found = [runtime_event(each.envelope) for each in wire.got]
    types = [each["type"] for each in found if each]
    assert types[:3] == ["run-started", "turn-started", "usage-updated"]
    assert types[-1] == "run-finished"
    assert types.count("tool-finished") == 3
    assert len(types) == 26


# Subscribing and resuming


def test_from_now_on_begins_at_the_end_of_the_log() -> None:
    hub = FakeHub()
    hub.publish("a")
    wire, report = watching(hub)
    assert hub.subscriptions[0]["sinceSequence"] == 1
    hub.publish("b")
    wire.deliver()
    assert wire.sequences() == [2]
    assert not report.notes


def test_a_connection_lost_before_the_first_event_loses_none() -> None:
    hub = FakeHub()
    hub.publish("a")
    wire, report = watching(hub)
    wire.drop()
    hub.publish("b")
    wire.connect()
    wire.deliver()
    assert wire.sequences() == [2]
    assert not report.notes


@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(["a", "b", None]).map(lambda session: ("publish", session)),
            st.integers(0, 4).map(lambda count: ("drop", count)),
            st.integers(0, 4).map(lambda count: ("deliver", count)),
            st.just(("connect", 0)),
        ),
        max_size=30,
    ),
    st.sampled_from(["a", None]),
    st.sampled_from([None, 0, 2]),
)
def test_whatever_is_lost_each_event_comes_once_and_in_order(
    steps: list[tuple[str, Any]], session: str | None, since: int | None
) -> None:
    hub = FakeHub()
    for each in ("a", "b", "a"):
        hub.publish("before", session_id=each)
    wire, report = watching(hub, session_id=session, since=since)
    for step, value in steps:
        if step == "publish":
            hub.publish("event", session_id=value)
        elif step == "drop":
            wire.drop(value)
        elif step == "deliver":
            wire.deliver(value)
        else:
            wire.connect()
    wire.connect()
    wire.deliver()
    start = 3 if since is None else since
    due = [each for each in hub.log if each["sequence"] > start]
    assert wire.sequences() == [each["sequence"] for each in due if session in (None, each.get("sessionId"))]
    assert not report.notes


def test_events_of_one_session_have_no_gaps_to_note() -> None:
    hub = FakeHub()
    wire, report = watching(hub, session_id=" a ")
    for session in ("a", "b", "b", "a"):
        hub.publish("event", session_id=session)
    wire.deliver()
    assert wire.sequences() == [1, 4]
    assert hub.subscriptions[0]["sessionId"] == "a"
    assert not report.notes


def test_events_that_the_hub_no_longer_keeps_are_noted() -> None:
    hub = FakeHub()
    for _ in range(9):
        hub.publish("event")
    del hub.log[:5]
    wire, report = watching(hub, since=2)
    wire.deliver()
    assert wire.sequences() == [6, 7, 8, 9]
    assert [(note.code, note.example) for note in report.notes] == [("events-missing", "3 to 5")]
    everything, report = watching(hub, since=0)
    everything.deliver()
    assert everything.sequences() == [6, 7, 8, 9]
    assert not report.notes


def test_a_log_that_begins_anew_is_noted_and_read_from_its_start() -> None:
    hub = FakeHub()
    wire, report = watching(hub, since=0)
    for _ in range(3):
        hub.publish("old")
    wire.deliver()
    wire.hub = FakeHub()
    wire.hub.publish("new")
    wire.connect()
    wire.hub.publish("new")
    wire.deliver()
    assert wire.sequences() == [1, 2, 3, 1, 2]
    assert [note.code for note in report.notes] == ["log-restarted"]


def test_another_log_that_has_grown_past_ours_is_noted() -> None:
    hub = FakeHub()
    wire, report = watching(hub, since=0)
    hub.publish("old")
    hub.publish("old")
    wire.deliver()
    wire.hub = FakeHub()
    for number in range(4):
        wire.hub.publish("new", {"n": number})["eventId"] += "-new"
    wire.connect()
    wire.deliver()
    assert wire.sequences() == [1, 2, 2, 3, 4]
    assert [note.code for note in report.notes] == ["log-replaced"]


def test_a_hub_without_a_log_is_watched_live_and_a_gap_is_noted() -> None:
    hub = FakeHub()
    hub.has_log = False
    wire, report = watching(hub)
    assert "sinceSequence" not in hub.subscriptions[0]
    assert not report.notes
    hub.publish("event", logged=False)
    wire.deliver()
    assert [each.event for each in wire.got] == ["event"]
    _, report = watching(hub, since=5)
    assert [note.code for note in report.notes] == ["no-event-log"]


def test_an_approval_that_waits_is_sent_again_and_given_once() -> None:
    hub = FakeHub()
    wire, _ = watching(hub, since=0)
    asked = hub.publish("approval.requested", session_id="a")
    wire.deliver()
    wire.connect()
    again = {name: value for name, value in asked.items() if name != "sequence"}
    wire.inbox.append(json.dumps({"kind": "event", "envelope": again}))
    wire.deliver()
    assert wire.sequences() == [1]
    wire.inbox.append(json.dumps({"kind": "event", "envelope": {**again, "eventId": "hevt_other"}}))
    wire.deliver()
    assert wire.sequences() == [1, None]


# Refusals and garbage


def test_a_hub_that_refuses_to_register() -> None:
    hub = FakeHub()
    hub.refused["client.register"] = ("invalid_client_registration", "cwd must be inside its workspace")
    with pytest.raises(HubError, match="cwd must be inside") as refused:
        watching(hub)
    assert refused.value.code == "invalid_client_registration"


def test_a_hub_of_another_version() -> None:
    hub = FakeHub()
    hub.version = "v2"
    with pytest.raises(HubError, match="'v2'"):
        watching(hub)


def test_acting_commands_are_refused_before_they_are_sent() -> None:
    hub = FakeHub()
    wire, _ = watching(hub, stream=False)
    with pytest.raises(UsageError, match=r"run\.abort acts"):
        wire.protocol.command("run.abort")
    assert wire.protocol.take() == []
    acting, _ = watching(hub, stream=False, read_only=False)
    acting.protocol.command("run.abort", {"sessionId": "s"}, session_id="s")
    acting.exchange()
    assert hub.commands[-1]["sessionId"] == "s"


def test_a_reply_that_nobody_waits_for_is_noted() -> None:
    hub = FakeHub()
    wire, report = watching(hub, stream=False)
    request_id = wire.protocol.command("session.list")
    wire.exchange()
    wire.protocol.forget(request_id)
    wire.deliver()
    assert wire.got == []
    assert report.count("late-reply") == 1


GARBAGE = [
    "",
    "no json",
    "[]",
    "null",
    "17",
    '{"kind":"event"}',
    '{"kind":"event","envelope":3}',
    '{"kind":"event","envelope":{"event":7}}',
    '{"kind":"reply","envelope":{}}',
    '{"kind":"tea","envelope":{}}',
    '{"kind":"event","envelope":{"event":"x","sequence":1}',
    "[" * 100_000,
    '{"kind":"event","envelope":' + '{"a":' * 100_000,
    b"\x00\xff\xfe",
    b'{"kind":"event","envelope":"\xff"}',
]


@pytest.mark.parametrize("frame", GARBAGE, ids=range(len(GARBAGE)))
def test_a_frame_that_is_none_is_noted_and_costs_only_itself(frame: str | bytes) -> None:
    hub = FakeHub()
    hub.greeting = [frame]
    wire, report = watching(hub, since=0)
    hub.publish("event")
    wire.deliver()
    assert wire.sequences() == [1]
    assert report.count("hub-frame-unread") + report.count("hub-frame-unknown") == 1


def test_odd_members_cost_themselves_and_not_the_event() -> None:
    wire, _ = watching(FakeHub())
    odd = {"event": "x", "eventId": 5, "sessionId": [], "sequence": "7", "timestamp": {}, "payload": "\ud800"}
    wire.inbox.append(json.dumps({"kind": "event", "envelope": odd}))
    wire.inbox.append(json.dumps({"kind": "event", "envelope": {"event": "y", "sequence": True}}))
    wire.deliver()
    first, second = wire.got
    assert (first.event_id, first.session_id, first.sequence) == (None, None, None)
    assert json.loads(first.raw) == odd
    assert second.sequence is None


def test_a_deep_payload_is_kept_as_it_is() -> None:
    wire, report = watching(FakeHub())
    deep = '{"event":"x","payload":' + "[" * 50_000 + "]" * 50_000 + "}"
    wire.inbox.append('{"kind":"event","envelope":' + deep + "}")
    wire.deliver()
    assert wire.got[0].raw == deep.encode()
    assert not report.notes


def test_an_event_before_the_subscription_is_noted() -> None:
    report = Report()
    protocol = Protocol(report=report)
    protocol.connect("c")
    assert protocol.receive('{"kind":"event","envelope":{"event":"x","sequence":1}}') is None
    assert report.count("event-unasked") == 1
    assert protocol.cursor is None


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(frames("hub_tools.replay")), st.data())
def test_mutated_frames_never_raise(frame: dict[str, Any], data: st.DataObject) -> None:
    text = bytearray(json.dumps(frame).encode()[:2000])
    for _ in range(data.draw(st.integers(1, 4))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    wire, _ = watching(FakeHub())
    wire.inbox.append(bytes(text))
    wire.deliver()
    assert wire.protocol.ready
