"""Rules as tables: hand-made records in, events out as one short line each.

`read /w/a:1-2 +` is a read of lines 1 to 2 that succeeded; `-` failed, nothing: nobody said. What an unknown
event holds is named by its place in the input: `record 2`, `block 2.1` (of its message), `event 2`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from recordings import NOON
from stenograph import EventParser, encode

FLUSH = object()


@dataclass(frozen=True)
class Rule:
    """Records and the events they give; `extended` is for the extended profile where that differs."""

    records: list[Any]
    events: list[str]
    extended: list[str] | None = None
    cwd: str | None = None
    exit_code: int | None = None

    def expected(self, profile: str) -> list[str]:
        return self.events if profile == "standard" or self.extended is None else self.extended


def params(tables: dict[str, dict[str, Rule]]) -> list[Any]:
    """The rules of several tables, each named after its table and its name there."""
    return [
        pytest.param(rule, id=f"{table}: {name}")
        for table, named in tables.items()
        for name, rule in named.items()
    ]


def told(form: str, rule: Rule, profile: str) -> list[str]:
    """What the records of a rule give, the close included."""
    parser = EventParser(form, now=lambda: NOON, profile=profile, cwd=rule.cwd)
    events = []
    for record in rule.records:
        if record is FLUSH:
            events += parser.flush()
        elif isinstance(record, tuple):
            events += parser.feed(record[0] + "\n", "stderr")
        else:
            events += parser.feed(line(record))
    events += parser.close(rule.exit_code)
    places = _places(rule.records)
    return [brief(json.loads(encode(event)), places) for event in events]


def line(record: Any) -> str:
    """A record as the programs write it; a text line as it is."""
    return (record if isinstance(record, str) else json.dumps(record, separators=(",", ":"))) + "\n"


def brief(event: dict[str, Any], places: dict[str, str]) -> str:
    """One event as a line."""
    mark = {True: " +", False: " -", None: ""}[event.get("isSuccess")]
    match event["type"]:
        case "agent" | "reasoning" | "command" as kind:
            return f"{kind} {event.get('message', event.get('command'))}{mark}"
        case "read" | "write" | "list" as kind:
            return f"{kind}{_path(event)}{mark}"
        case "skill":
            return f"skill {event.get('skillName')} at{_path(event)}{mark}"
        case "search":
            scope = f" in {event['path']}" if "path" in event else ""
            return f"search {event['query']}{scope}{mark}"
        case "orchestration":
            names = [
                event["action"].removeprefix("subagent_"),
                event.get("subagentId"),
                event.get("subagentName"),
            ]
            return " ".join(filter(None, names)) + mark
        case "usage":
            return " ".join(["usage", *map(str, event["tokens"].values()), *_cost(event)])
        case "error" | "warning" as kind:
            code = f"[{event['code']}]" if "code" in event else ""
            return f"{kind}{code} {event['message']}"
    return f"unknown {_found(event['raw'], places)}"


def _path(event: dict[str, Any]) -> str:
    lines = f":{event.get('startLine', '')}-{event.get('endLine', '')}"
    path = f" {event['path']}" if "path" in event else ""
    return path + (lines if lines != ":-" else "")


def _cost(event: dict[str, Any]) -> list[str]:
    return [f"${event['cost']}"] if "cost" in event else []


def _found(raw: Any, places: dict[str, str]) -> str:
    if isinstance(raw, dict) and raw and set(raw) <= {"tool_use", "tool_result"}:
        return " with ".join(places[json.dumps(part)] for part in raw.values())
    return places.get(json.dumps(raw)) or json.dumps(raw)


def _places(records: list[Any]) -> dict[str, str]:
    places: dict[str, str] = {}
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            continue
        content = (
            (record.get("message") or {}).get("content") if isinstance(record.get("message"), dict) else None
        )
        blocks = content if isinstance(content, list) else []
        named = [(f"block {number}.{at}", block) for at, block in enumerate(blocks, 1)]
        if isinstance(record.get("event"), dict):
            named.append((f"event {number}", record["event"]))
            if isinstance(record["event"].get("event"), dict):
                named.append((f"inner event {number}", record["event"]["event"]))
        for name, value in [*named, (f"record {number}", record)]:
            places.setdefault(json.dumps(value), name)
    return places
