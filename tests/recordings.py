"""The recordings under tests/data and in the folders of STENOGRAPH_EXTRA_DATA, and what is known of each.

`python tests/recordings.py` writes the expected events and usage beside the recordings again.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stenograph import Event, EventParser, NotRecognized, detect, encode, jsonio, usage
from stenograph.agents.cline.hub import runtime_event
from stenograph.agents.cline.layers import Layer, LayerTranslator
from stenograph.agents.cline.session import to_envelope
from stenograph.jsonio import dumps
from stenograph.meter import Account

DATA = Path(__file__).parent / "data"
LAYER_1 = frozenset(
    {
        "text",
        "redacted",
        "media",
        "tool_ok",
        "tools_parallel",
        "max_tokens",
        "soft_error",
        "provider_tool",
        "error_retried_out",
        "throw_second_turn",
        "aborted_in_tool",
        "max_iterations",
    }
)
"""Runs of the SDK's own runtime with their events kept beside; all of its runs are compared across layers."""
EXTRA = [Path(name) for name in os.environ.get("STENOGRAPH_EXTRA_DATA", "").split(":") if name]
PROFILES = ("standard", "extended")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Recording:
    """One run: its format, both outputs, and the exit code (negative: killed by that signal)."""

    name: str
    format: str
    stdout: bytes
    stderr: bytes
    exit_code: int | None
    beside: Path  # the expected events stand at this path with `.PROFILE.jsonl` behind it

    def expected(self, profile: str) -> Path:
        return self.beside.with_name(f"{self.beside.name}.{profile}.jsonl")

    @property
    def expected_usage(self) -> Path:
        return self.beside.with_name(f"{self.beside.name}.usage.jsonl")


def recordings() -> list[Recording]:
    """All of ours, then all of the extra folders."""
    return [*_below(DATA), *(found for folder in EXTRA for found in _below(folder))]


def play(
    recording: Recording, *, profile: str = "standard", chunk: int = 0, detail: bool = False
) -> list[Event]:
    """The events of a run: standard output in chunks of so many bytes (0: one), standard error, the exit."""
    parser = EventParser(recording.format, now=lambda: NOON, profile=profile, detail=detail)
    size = chunk or len(recording.stdout) or 1
    events: list[Event] = []
    for at in range(0, len(recording.stdout), size):
        events += parser.feed(recording.stdout[at : at + size])
    events += parser.feed(recording.stderr, "stderr")
    return events + parser.close(recording.exit_code)


def lines(events: list[Event]) -> bytes:
    return b"".join(encode(event) + b"\n" for event in events)


def rows(account: Account) -> bytes:
    """An account's rows as JSON, one on a line."""
    return b"".join(jsonio.dumps(row) + b"\n" for row in account.rows)


def _below(folder: Path) -> Iterator[Recording]:
    for stdout in sorted(folder.rglob("*.stdout.jsonl")):
        found = _recording(stdout, folder)
        if found:
            yield found
    for wild in sorted(folder.glob("wild/*-stream*.json")) + sorted(folder.glob("wild/cline-json-*.json")):
        yield _wild(wild)
    yield from layers(folder)


def layers(folder: Path) -> Iterator[Recording]:
    """Runs of the Cline SDK, as each of its layers."""
    for tapped in sorted(folder.glob("cline-hub/*.live.jsonl")):
        yield from _tapped(tapped)
    for runs in sorted(folder.glob("cline-sdk/layer1_runs*.jsonl")):
        yield from _layer_1(runs)


def _tapped(path: Path) -> Iterator[Recording]:
    """What a hub sent of a run, layers 3 and 2 as its client has them, and the layer 1 that hooks saw."""
    name = path.name.removesuffix(".live.jsonl")
    frames = [json.loads(line).get("frame") for line in path.read_text(encoding="utf-8").splitlines()]
    envelopes = [frame["envelope"] for frame in frames if frame and frame["kind"] == "event"]
    told = (runtime_event(to_envelope(envelope)) for envelope in envelopes)
    hub = as_lines(envelopes)
    yield _layer("hub", name, hub, path.parents[1])
    yield _layer("core", name, translated(hub, source="hub", target="core"), path.parents[1])
    yield _layer("agent", name, translated(hub, source="hub", target="agent"), path.parents[1])
    yield _layer("runtime", name, as_lines(event for event in told if event), path.parents[1])


def _layer_1(path: Path) -> Iterator[Recording]:
    for line in path.read_text(encoding="utf-8").splitlines():
        run = json.loads(line)
        if run["name"] in LAYER_1:
            yield _layer("runtime", run["name"], as_lines(run["layer1"]), path.parents[1])


def _layer(layer: str, name: str, data: bytes, folder: Path) -> Recording:
    form, beside = f"cline-{layer}", folder / f"cline-{layer}" / name
    return Recording(f"{form}/{name}", form, stdout=data, stderr=b"", exit_code=None, beside=beside)


def as_lines(records: Iterable[Any]) -> bytes:
    """Records as JSON lines."""
    return b"".join(dumps(record) + b"\n" for record in records)


def translated(data: bytes, *, source: Layer, target: Layer, session_id: str = "s1") -> bytes:
    """Events of one layer of the Cline SDK as lines of another's."""
    translator = LayerTranslator(source=source, target=target, session_id=session_id)
    return b"".join(line + b"\n" for line in translator.feed(data) + translator.close())


def _recording(stdout: Path, folder: Path) -> Recording | None:
    beside = stdout.with_name(stdout.name.removesuffix(".stdout.jsonl"))
    meta = _meta(stdout)
    data = stdout.read_bytes()
    told = meta.get("program") or ("cline" if "cline_version" in meta else None)
    try:
        form = told or detect(data)
    except NotRecognized:
        return None
    stderr = beside.with_name(f"{beside.name}.stderr.txt")
    code = meta.get("exit_code")
    return Recording(
        name=str(beside.relative_to(folder)),
        format=form,
        stdout=data,
        stderr=stderr.read_bytes() if stderr.exists() else b"",
        exit_code=code if isinstance(code, int) else None,
        beside=beside,
    )


def _meta(stdout: Path) -> dict[str, object]:
    for path in (
        stdout.with_name(stdout.name.replace(".stdout.jsonl", ".meta.json")),
        stdout.with_name("meta.json"),
    ):
        if path.exists():
            return json.loads(path.read_text())
    return {}


def _wild(path: Path) -> Recording:
    told = json.loads(path.read_text())
    parts = [
        base64.b64decode(line["base64"]) if isinstance(line, dict) else line.encode()
        for line in told["lines"]
    ]
    end = told["eol"].encode()
    data = end.join(parts) + (end if told["end_newline"] else b"")
    return Recording(
        name=f"wild/{told['name']}",
        format=told["kind"],
        stdout=data,
        stderr=b"",
        exit_code=None,
        beside=path.with_name(told["name"]),
    )


if __name__ == "__main__":
    for each in _below(DATA):
        for kind in PROFILES:
            each.expected(kind).parent.mkdir(exist_ok=True)
            each.expected(kind).write_bytes(lines(play(each, profile=kind)))
        each.expected_usage.write_bytes(rows(usage(each.stdout, format=each.format)))
