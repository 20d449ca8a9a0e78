"""Events of hand-made records, for what no recording shows."""

from __future__ import annotations

import json
from typing import Any

from recordings import NOON
from stenograph import EventParser, encode


def fed(
    form: str, *records: Any, stderr: str = "", exit_code: int | None = None, cwd: str | None = None
) -> list[dict[str, Any]]:
    """The events of a whole run as JSON, without times and sessions; both profiles must agree."""
    standard, extended = (
        _played(EventParser(form, now=lambda: NOON, profile=profile, cwd=cwd), records, stderr, exit_code)
        for profile in ("standard", "extended")
    )
    assert standard == extended
    return standard


def _played(
    parser: EventParser, records: tuple[Any, ...], stderr: str, exit_code: int | None
) -> list[dict[str, Any]]:
    events = [event for record in records for event in parser.feed(_line(record))]
    events += parser.feed(stderr, "stderr") + parser.close(exit_code)
    return [_bare(json.loads(encode(event))) for event in events]


def _line(record: Any) -> str:
    return (record if isinstance(record, str) else json.dumps(record)) + "\n"


def _bare(event: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in ("timestamp", "sessionId")}
