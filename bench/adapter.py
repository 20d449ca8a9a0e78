"""Events a second of CPU through the Cline SDK's adapter, projector, hub client translator and readers.

    python bench/adapter.py [FOLDER] [--node PATH/TO/@cline/core]

Runs the recorded vectors round after round; what is timed begins and ends with structs. Reading JSON
lines into structs, writing them, and reading recorded layers as normalized events are timed apart. With
`--node`, the compiled adapter of that package runs the same events under Node.js.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stenograph import EventParser, jsonio
from stenograph.agents.cline import wire
from stenograph.agents.cline.adapt import RuntimeEventAdapter
from stenograph.agents.cline.layers import LAYERS, LayerTranslator
from stenograph.agents.cline.project import SessionEventProjector
from stenograph.agents.cline.receive import HubEventTranslator
from stenograph.agents.cline.runtime import to_runtime_event
from stenograph.agents.cline.session import to_envelope, to_session_event

DATA = Path(__file__).parent.parent / "tests" / "data" / "cline-sdk"
GOAL = 300_000
SECONDS = 0.5
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

NODE = """
const { readFileSync } = require("node:fs");
const [bundle, vectors] = process.argv.slice(1);
const source = readFileSync(bundle, "utf8");
const start = source.lastIndexOf("class ", source.indexOf("lastUsage={inputTokens:0"));
const name = /^class (\\w+)/.exec(source.slice(start))[1];
const helpers = source.lastIndexOf("function ", source.lastIndexOf('case"auto_compaction":', start));
const end = source.indexOf("}]}}", source.indexOf("translateRunFinished($){", start)) + 4;
const Adapter = new Function(source.slice(helpers, end) + ";return " + name)();
const events = readFileSync(vectors, "utf8").split("\\n").filter(Boolean)
  .flatMap((line) => JSON.parse(line).input).filter((event) => event.type !== "__reset__");
const adapter = new Adapter();
let count = 0;
const begun = process.cpuUsage();
do { for (const event of events) adapter.translate(event); count += events.length; }
while (process.cpuUsage(begun).user < 1e6);
console.log(Math.round(count / (process.cpuUsage(begun).user / 1e6)));
"""
"""Cuts the adapter's class and its functions out of the bundle and runs them for a second."""


def inputs(folder: Path, stem: str) -> list[dict[str, Any]]:
    """The input records of all vectors whose file name begins with the stem."""
    lines = itertools.chain.from_iterable(
        path.read_bytes().splitlines() for path in sorted(folder.glob(f"{stem}*.jsonl"))
    )
    records = (record for line in lines if line for record in jsonio.loads(line)["input"])
    return [record for record in records if record.get("type") != "__reset__"]


def rate(step: Callable[[Any], object], items: Iterable[Any]) -> float:
    """Items a second of CPU time, over whole rounds."""
    todo = list(items)
    count = 0
    begun = time.process_time()
    while (spent := time.process_time() - begun) < SECONDS:
        for item in todo:
            step(item)
        count += len(todo)
    return count / spent


def rates(folder: Path) -> dict[str, float]:
    """The rate of each stage over the vectors of the folder."""
    runtime = [to_runtime_event(record) for record in inputs(folder, "adapter_vectors")]
    core = [to_session_event(record) for record in inputs(folder, "projector_vectors")]
    hub = [to_envelope(record) for record in inputs(folder, "hub_client_vectors")]
    lines = [jsonio.dumps(record) for record in inputs(folder, "adapter_vectors")]
    return {
        "adapter": rate(RuntimeEventAdapter(now_ms=lambda: 0).translate, runtime),
        "projector": rate(SessionEventProjector(now_ms=lambda: 0).project, core),
        "hub client": rate(HubEventTranslator(now_ms=lambda: 0).translate, hub),
        "read layer 1": rate(lambda line: to_runtime_event(wire.parse_object(line)), lines),
        "write layer 1": rate(wire.encode, runtime),
    }


def readings(folder: Path) -> dict[str, float]:
    """The rate at which each layer's lines become normalized events, over the recorded runs."""
    lines = itertools.chain.from_iterable(
        path.read_bytes().splitlines() for path in sorted(folder.glob("layer1_runs*.jsonl"))
    )
    runs = [jsonio.loads(line)["layer1"] for line in lines if line]
    runtime = b"".join(jsonio.dumps(record) + b"\n" for run in runs for record in run)
    found = {}
    for layer in LAYERS:
        translator = LayerTranslator(source="runtime", target=layer)
        made = [line + b"\n" for line in translator.feed(runtime)]
        parser = EventParser(f"cline-{layer}", now=lambda: NOON, profile="extended")
        found[f"cline-{layer}"] = rate(parser.feed, made)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--node", type=Path, help="folder of the npm package @cline/core")
    arguments = parser.parse_args()
    for stage, found in rates(arguments.folder).items():
        goal = f"  (goal {GOAL:,})" if stage in ("adapter", "projector") else ""
        print(f"{stage:14} {found:12,.0f} events/s CPU{goal}")
    for form, found in readings(arguments.folder).items():
        print(f"{form:14} {found:12,.0f} records/s CPU to events")
    if arguments.node:
        command = [
            "node",
            "-e",
            NODE,
            arguments.node / "dist" / "index.js",
            arguments.folder / "adapter_vectors.jsonl",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        print(f"{'real adapter':14} {float(done.stdout):12,.0f} events/s CPU (Node.js)")


if __name__ == "__main__":
    main()
