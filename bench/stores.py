"""Reading stored tasks: speed beside json.loads, memory, the list of many, totals beside llm-usage-metrics.

Made-up storage of `--mb` MB in 66 tasks, one file of 20 MB among them, and 1,000 small tasks for the list.
CPU time, best of some rounds; exits with 1 when a bound is broken. The rows of llm-usage-metrics need npm's:

    npm install --prefix bench/.cache/npm llm-usage-metrics
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import generate
from run import Row, processor

from stenograph.agents.cline.task import Task, find_sessions, read_task
from stenograph.document import Member
from stenograph.stores import store

TASKS = 66
MANY = 1_000
BIG = 20 * generate.MB
OTHER = generate.CACHE / "npm" / "node_modules" / "llm-usage-metrics" / "dist" / "index.js"
_LS = "from stenograph.cli.ls import ls; ls.main(prog_name='ls')"


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--mb", type=float, default=200, help="size of the storage (default: 200)")
    options.add_argument("--rounds", type=int, default=3, help="best of so many (default: 3)")
    given = options.parse_args()
    storage = made(f"stores-{given.mb:g}", TASKS, given.mb * generate.MB)
    many = made("stores-many", MANY, MANY * 20_000)
    rows = [*speeds(storage, given.rounds), *memory(storage), *listing(many), *totals(storage)]
    python = f"{platform.python_implementation()} {platform.python_version()}"
    print(f"{python}, {processor()}, {os.cpu_count()} cores")
    print("\n| what | measured | bound |\n| --- | --- | --- |")
    for row in rows:
        print(f"| {row.what} | {row.value} | {row.bound}{'' if row.holds else ' **broken**'} |")
    return 0 if all(row.holds for row in rows) else 1


def made(name: str, tasks: int, size: float) -> Path:
    """A storage of about so many bytes, made once; the first task has one big file when there is room."""
    root = generate.CACHE / name / "saoudrizwan.claude-dev"
    done = root / ".made"
    if done.exists():
        return root
    shutil.rmtree(root, ignore_errors=True)
    rest = (size - BIG) / (tasks - 1) if size > 2 * BIG and tasks == TASKS else size / tasks
    chance = random.Random(66)
    for number in range(tasks):
        wanted = BIG if number == 0 and rest != size / tasks else rest
        write_task(root / "tasks" / str(1_742_300_000_000 + number * 10_000_000), wanted, chance)
    done.write_bytes(b"")
    return root


def write_task(folder: Path, size: float, chance: random.Random) -> None:
    """One task of classic Cline, two thirds of it API history."""
    folder.mkdir(parents=True)
    api: list[str] = []
    shown: list[str] = []
    written, ts = 0, int(folder.name)
    while written < size:
        said, showing = turn(chance, len(api), ts)
        api += map(dump, said)
        shown += map(dump, showing)
        written += sum(len(each.encode()) + 1 for each in (*api[-2:], *shown[-2:]))
        ts += 100
    for name, elements in (("api_conversation_history", api), ("ui_messages", shown)):
        (folder / f"{name}.json").write_text(f"[{','.join(elements)}]", encoding="utf-8")


def turn(chance: random.Random, index: int, ts: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A question with its answer, and what the chat view shows of them."""
    ask, said = text(chance, 2_000), text(chance, 600)
    request = {
        "request": ask[:900],
        "tokensIn": chance.randrange(1, 90_000),
        "tokensOut": chance.randrange(1, 4_000),
        "cacheWrites": 0,
        "cacheReads": chance.randrange(9_000),
        "cost": chance.random() / 10,
    }
    stamp = {"modelInfo": {"providerId": "own", "modelId": "own-1"}, "conversationHistoryIndex": index - 1}
    shown = [
        {"ts": ts, "type": "say", "say": "api_req_started", "text": dump(request), **stamp},
        {"ts": ts + 5, "type": "say", "say": "text", "text": said, "partial": False, **stamp},
    ]
    answer = {
        "role": "assistant",
        "content": [{"type": "text", "text": said}, call(chance, index)],
        "ts": ts + 9,
    }
    answer["modelInfo"] = {"modelId": "own-1", "providerId": "own", "mode": "act"}
    return [{"role": "user", "content": [{"type": "text", "text": ask}], "ts": ts + 1}, answer], shown


def dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def call(chance: random.Random, number: int) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": f"toolu_{number}",
        "name": "write_to_file",
        "input": {"path": f"src/{chance.randrange(99)}.py", "content": text(chance, 400)},
    }


def text(chance: random.Random, size: int) -> str:
    """Words, quotes, line breaks and some letters beyond ASCII, of about so many characters."""
    length = chance.randrange(size // 2, size * 3 // 2)
    return " ".join(chance.choices(_WORDS, k=length // 6))


_WORDS = [
    "the",
    "file",
    "return",
    '"quoted"',
    "\n",
    "déjà",
    "函数",
    "value",
    "x = 1",
    "path/to/it.py",
    "\t",
    "done.",
]


def files(storage: Path) -> list[Path]:
    return sorted(storage.glob("tasks/*/*.json"))


def speeds(storage: Path, rounds: int) -> Iterator[Row]:
    paths, tasks = files(storage), find_sessions(storage)
    size = sum(path.stat().st_size for path in paths) / generate.MB
    floor = size / best(rounds, lambda: [json.loads(path.read_bytes()) for path in paths])
    kept = size / best(rounds, lambda: [read_task(path) for path in tasks])
    seen = size / best(rounds, lambda: [walk(read_task(path)) for path in tasks])
    whole = size / best(1, lambda: [len(store("cline-task").load(path).entries) for path in tasks])
    yield Row(f"json.loads, {size:.0f} MB in {len(tasks)} tasks", f"{floor:.0f} MB/s")
    yield Row("read_task, everything kept", f"{kept:.0f} MB/s", f"≥ {0.6 * floor:.0f}", kept >= 0.6 * floor)
    yield Row("read_task, and every declared member asked for", f"{seen:.0f} MB/s")
    yield Row("the session with its entries", f"{whole:.0f} MB/s")


def walk(task: Task) -> Task:
    """Ask for every declared member of every message, block and UI message."""
    for message in task.api.elements:
        for block in message.content.blocks:
            touch(block)
        touch(message)
    for shown in task.ui.elements:
        touch(shown)
        info = shown.req_info
        if info:
            touch(info)
    return task


def touch(record: Any) -> None:
    members(type(record))(record)


@cache
def members(kind: type) -> attrgetter[Any]:
    """What asks for every declared member of such a record."""
    return attrgetter(*(name for name, member in vars(kind).items() if isinstance(member, Member)))


def best(rounds: int, run: Callable[[], object]) -> float:
    """The least CPU seconds of some runs."""
    times = []
    for _ in range(rounds):
        began = time.process_time()
        kept = run()
        times.append(time.process_time() - began)
        del kept
    return min(times)


_MEMORY = """
import sys
sys.path.insert(0, sys.argv[3])
from stores import read_task, resident, walk
before = resident()
task = read_task(sys.argv[1])
if sys.argv[2] == "walk":
    walk(task)
print(resident() - before)
"""


def resident() -> int:
    """The bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def memory(storage: Path) -> Iterator[Row]:
    task = max(storage.glob("tasks/*"), key=lambda path: sum(each.stat().st_size for each in path.iterdir()))
    size = sum(path.stat().st_size for path in task.iterdir())
    for what, how in (("read", "read"), ("every declared member asked for", "walk")):
        script = [sys.executable, "-c", _MEMORY, str(task), how, str(Path(__file__).parent)]
        grown = int(subprocess.run(script, check=True, capture_output=True, text=True).stdout)
        times = grown / size
        yield Row(
            f"memory of a task of {size / generate.MB:.0f} MB, {what}",
            f"{times:.2f} × its size",
            "< 4",
            times < 4,
        )


def listing(many: Path) -> Iterator[Row]:
    cache = generate.CACHE / "xdg"
    shutil.rmtree(cache, ignore_errors=True)
    first, _ = children([sys.executable, "-c", _LS, str(many), "--json"], XDG_CACHE_HOME=str(cache))
    again, out = children([sys.executable, "-c", _LS, str(many), "--json"], XDG_CACHE_HOME=str(cache))
    yield Row(f"ls over {len(out.splitlines())} tasks, first run", f"{first:.2f} s CPU")
    yield Row("ls again, nothing changed", f"{again:.2f} s CPU", "< 0.3", again < 0.3)


def children(command: list[str], **environ: str) -> tuple[float, bytes]:
    """The CPU seconds of a command, and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, check=True, capture_output=True, env={**os.environ, **environ}, timeout=600
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def totals(storage: Path) -> Iterator[Row]:
    """The sums of all tasks, ours and those of npm's llm-usage-metrics."""
    began = time.process_time()
    ours = [store("cline-task").summary(path).totals for path in find_sessions(storage)]
    took = time.process_time() - began
    yield Row("totals of all tasks", f"{took:.2f} s CPU")
    if not OTHER.exists() or shutil.which("node") is None:
        yield Row("llm-usage-metrics", "not installed")
        return
    command = ["node", str(OTHER), "events", "--source", "cline", "--cline-dir", str(storage / "tasks")]
    seconds, out = children([*command, "--format", "jsonl"], HOME=str(generate.CACHE / "home"))
    theirs = [json.loads(line) for line in out.splitlines()]
    told = {
        "tokens in": (sum(t.tokens_in for t in ours), sum(e["inputTokens"] for e in theirs)),
        "tokens out": (sum(t.tokens_out for t in ours), sum(e["outputTokens"] for e in theirs)),
        "cache reads": (sum(t.cache_reads for t in ours), sum(e["cacheReadTokens"] for e in theirs)),
    }
    yield Row("llm-usage-metrics, events of the same tasks", f"{seconds:.2f} s CPU")
    for what, (own, other) in told.items():
        yield Row(f"{what}, ours and theirs", f"{own:,} and {other:,}", "equal", own == other)
    own_cost = math.fsum(t.cost or 0.0 for t in ours)
    cost = math.fsum(e.get("costUsd") or 0.0 for e in theirs)
    same = math.isclose(own_cost, cost, rel_tol=1e-12)
    yield Row("cost, ours and theirs", f"{own_cost:.9f} and {cost:.9f}", "equal", same)


if __name__ == "__main__":
    sys.exit(main())
