"""A run recorded both ways gives the same events from its stream and from its store.

What a store cannot know is listed for each pair; everything else is equal, event by event.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stenograph import Event, EventParser, encode
from stenograph.stores import read, replayed
from taskdirs import DATA

STORE = DATA / "cline-store"
NAMES = sorted(path.name for path in STORE.iterdir())
LOST = {
    # Updates while a command runs are records of their own, which only the stream has.
    ("hub_tools", "standard"): Counter({"live unknown": 3}),
    # Usage tells a cost of 0 in hub runs; messages are stored without it.
    ("hub_tools", "extended"): Counter({"live usage": 3, "stored usage": 3}),
    # (The store of `legacy_read` has an ask to resume, written when the stream had ended, the stream its own
    # `task_started`: an unknown event each in the standard profile, none in the extended one.)
    # The team's own records (spawned, log, runs) and their updates are not stored with the session.
    ("team", "standard"): Counter({"live unknown": 23}),
}
"""What differs, counted by side and type."""

OPERATIONS = {
    "agent",
    "reasoning",
    "read",
    "write",
    "search",
    "list",
    "command",
    "skill",
    "orchestration",
    "error",
}


def folder(name: str) -> Path:
    (found,) = [*(STORE / name).glob("sessions/*"), *(STORE / name).glob("tasks/*")]
    return found


def live(name: str, profile: Any) -> list[Event]:
    (stream,) = DATA.glob(f"cline*/{name}/{name}.stdout.jsonl")
    cwd = read(folder(name)).summary.cwd
    parser = EventParser("cline", cwd=cwd, now="record", profile=profile)
    return parser.feed(stream.read_bytes()) + parser.close()


def plain(event: Event) -> dict[str, Any]:
    """An event without its time and session, and without the record of what is not understood."""
    found: dict[str, Any] = json.loads(encode(event))
    gone = ("timestamp", "sessionId", *(("raw",) if found["type"] == "unknown" else ()))
    return {name: value for name, value in found.items() if name not in gone}


@pytest.mark.parametrize("profile", ["standard", "extended"])
@pytest.mark.parametrize("name", NAMES)
def test_operations_are_the_same_in_the_same_order(name: str, profile: Any) -> None:
    told = [plain(event) for event in live(name, profile)]
    kept = [plain(event) for event in replayed(folder(name), profile=profile)]
    assert [e for e in kept if e["type"] in OPERATIONS] == [e for e in told if e["type"] in OPERATIONS]


@pytest.mark.parametrize("profile", ["standard", "extended"])
@pytest.mark.parametrize("name", NAMES)
def test_all_other_events_are_the_same_but_for_what_is_listed(name: str, profile: Any) -> None:
    told = Counter(json.dumps(plain(event)) for event in live(name, profile))
    kept = Counter(json.dumps(plain(event)) for event in replayed(folder(name), profile=profile))
    lost = Counter[str]()
    for side, more in (("live", told - kept), ("stored", kept - told)):
        for event, count in more.items():
            lost[f"{side} {json.loads(event)['type']}"] += count
    assert lost == LOST.get((name, profile), Counter())


@pytest.mark.parametrize("name", NAMES)
def test_stored_events_carry_the_session_and_the_records_own_times(name: str) -> None:
    session = read(folder(name)).summary
    found = list(replayed(folder(name), profile="extended"))
    assert {event.session_id for event in found} == {session.id}
    times = [event.timestamp for event in found]
    assert all(time.endswith("Z") and time.startswith("2026-11-30T1") for time in times)


def test_the_workspace_of_the_store_is_known() -> None:
    found = [plain(event) for event in replayed(folder("legacy_read"), profile="extended")]
    assert {"type": "read", "path": "/home/dev/app/README.md", "startLine": 1, "endLine": 3} in found


def test_places_of_stored_events_are_elements_and_bytes_of_their_file() -> None:
    path = folder("legacy_read")
    data = (path / "ui_messages.json").read_bytes()
    found = [event.origin for event in replayed(path, profile="extended", detail=True) if event.origin]
    assert [origin.line for origin in found] == sorted(origin.line for origin in found)
    for origin in found:
        assert json.loads(data[origin.offset : origin.offset + origin.length])["ts"]
