"""The speed and memory of conversions, and how much of a stream's facts they keep: prints a Markdown table.

CPU time of whole commands, best of some rounds; exits with 1 when a bound is broken. `--mb 20` for a quick
look. The rows of atif-make need an environment that has it (Python 3.12 or newer):

    python3.12 -m venv bench/.cache/atif-make && bench/.cache/atif-make/bin/pip install atif-make
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import generate
from run import Row, best_cpu, processor

CACHE = generate.CACHE
ATIF_MAKE = CACHE / "atif-make" / "bin" / "atif-make"
OUT = CACHE / "converted"

_PEAK = """
import sys
from pathlib import Path
from stenograph.cli.main import run
code = run(sys.argv[1:])
# Not ru_maxrss, which begins with what the parent had when it forked.
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0], file=sys.stderr)
sys.exit(code)
"""


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--mb", type=float, default=200, help="size of the corpus (default: 200)")
    options.add_argument("--rounds", type=int, default=3, help="best of so many (default: 3)")
    given = options.parse_args()
    tasks = task_corpus(given.mb)
    stream = generate.cached(generate.mixed, mb=given.mb)
    rows = [
        speed("classic tasks to ASF", tasks, "asf", given.rounds, least=40),
        speed("classic tasks to ATIF", tasks, "atif", given.rounds, least=60),
        *(memory_of_tasks(tasks, to) for to in ("asf", "atif")),
        speed("Claude stream to ATIF", stream, "atif", given.rounds),
        memory_of_stream(stream),
        *compared(stream, given.rounds),
    ]
    print(f"CPython {sys.version.split()[0]}, {processor()}, {os.cpu_count()} cores")
    print("\n| what | measured | bound |\n| --- | --- | --- |")
    for row in rows:
        print(f"| {row.what} | {row.value} | {row.bound}{'' if row.holds else ' **broken**'} |")
    return 1 if not all(row.holds for row in rows) else 0


def size_of(path: Path) -> float:
    """The size of a file, or of all files below a folder, in MB."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return sum(each.stat().st_size for each in files) / generate.MB


def command(source: Path, to: str) -> list[str]:
    return ["convert", str(source), "-o", str(OUT), "--to", to]


def speed(what: str, source: Path, to: str, rounds: int, *, least: float = 0) -> Row:
    """Megabytes of input for each CPU second of the whole command, its files written anew each time."""
    spent = min(_once(source, to) for _ in range(rounds))
    rate = size_of(source) / spent
    return Row(what, f"{rate:.0f} MB/s", f"≥ {least:.0f} MB/s" if least else "", rate >= least)


def _once(source: Path, to: str) -> float:
    shutil.rmtree(OUT, ignore_errors=True)
    return best_cpu([str(Path(sys.executable).with_name("steno")), *command(source, to)], 1)


def peak(arguments: list[str]) -> float:
    """The peak memory of one command, in MB."""
    shutil.rmtree(OUT, ignore_errors=True)
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=600,
    )
    return int(done.stderr) / 1024


def memory_of_tasks(tasks: Path, to: str) -> Row:
    """Peak memory beyond that of the smallest command, in sizes of the largest session."""
    largest = max(size_of(task) for task in (tasks / "tasks").iterdir())
    base = peak(["formats"])
    times = (peak(command(tasks, to)) - base) / largest
    return Row(f"memory, tasks to {to.upper()}", f"{times:.1f} × the largest session", "< 4 ×", times < 4)


def memory_of_stream(stream: Path) -> Row:
    used = peak(command(stream, "atif"))
    return Row("memory, Claude stream to ATIF", f"{used:.0f} MB", "< 100 MB", used < 100)


def task_corpus(mb: float) -> Path:
    """A storage of classic Cline with tasks of about 4 MB each."""
    root = CACHE / f"tasks-{mb:g}" / "saoudrizwan.claude-dev"
    if root.exists():
        return root
    part = root.with_name("part")
    shutil.rmtree(part, ignore_errors=True)
    talk = generate.Talk(7)
    for number in itertools.count():
        folder = part / "tasks" / str(1_770_000_000_000 + number)
        folder.mkdir(parents=True)
        _task(talk, folder)
        if size_of(part) >= mb:
            break
    part.rename(root)
    return root


def _task(talk: generate.Talk, folder: Path) -> None:
    api: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    begun = int(folder.name)
    api.append(
        {"role": "user", "content": [{"type": "text", "text": f"<task>\n{talk.prose(50, 900)}\n</task>"}]}
    )
    for turn in range(talk.chance.randint(200, 400)):
        now, call = begun + turn * 5000, f"toolu_{turn}"
        said, path, text = talk.prose(40, 1200), talk.path(), talk.code(300, 12_000)
        stamp = {"conversationHistoryIndex": len(api) - 2}
        took = {
            "request": "…",
            "tokensIn": 10,
            "tokensOut": 400,
            "cacheWrites": 900,
            "cacheReads": 8000,
            "cost": 0.01,
        }
        shown.append({"ts": now, "type": "say", "say": "api_req_started", "text": json.dumps(took), **stamp})
        stamp = {"conversationHistoryIndex": len(api) - 1}
        use = {
            "type": "tool_use",
            "id": call,
            "name": "write_to_file",
            "input": {"path": path, "content": text},
        }
        api.append({"role": "assistant", "content": [{"type": "text", "text": said}, use], "ts": now + 900})
        shown.append({"ts": now + 500, "type": "say", "say": "text", "text": said, **stamp})
        tool = json.dumps({"tool": "newFileCreated", "path": path, "content": text})
        shown.append({"ts": now + 800, "type": "say", "say": "tool", "text": tool, **stamp})
        result = {
            "type": "tool_result",
            "tool_use_id": call,
            "content": [{"type": "text", "text": talk.code(50, 9000)}],
        }
        api.append({"role": "user", "content": [result], "ts": now + 1500})
    (folder / "api_conversation_history.json").write_text(json.dumps(api))
    (folder / "ui_messages.json").write_text(json.dumps(shown))


def compared(stream: Path, rounds: int) -> Iterator[Row]:
    """Which planted facts are kept by us and by atif-make, and its speed."""
    planted = CACHE / "planted.jsonl"
    facts = plant(planted)
    ours = OUT / "planted.json"
    shutil.rmtree(OUT, ignore_errors=True)
    steno = str(Path(sys.executable).with_name("steno"))
    subprocess.run(
        [steno, "convert", planted, "-o", ours, "--to", "atif"], check=True, stdout=subprocess.DEVNULL
    )
    yield _kept("facts kept by stenograph", ours, facts, is_bound=True)
    if not ATIF_MAKE.exists():
        print(f"skipped: atif-make is not installed in {ATIF_MAKE.parent.parent}", file=sys.stderr)
        return
    theirs = OUT / "theirs.json"
    subprocess.run([ATIF_MAKE, "convert", planted, "-o", theirs, "-q"], check=True)
    yield _kept("facts kept by atif-make", theirs, facts, is_bound=False)
    theirs_command = [str(ATIF_MAKE), "convert", str(stream), "-o", str(theirs), "-q"]
    spent = best_cpu(theirs_command, rounds)
    yield Row("Claude stream to ATIF by atif-make", f"{size_of(stream) / spent:.0f} MB/s")
    with subprocess.Popen(theirs_command) as process:
        _, process.returncode, used = os.wait4(process.pid, 0)
    yield Row("memory, the same", f"{used.ru_maxrss / 1024:.0f} MB")


def _kept(what: str, path: Path, facts: dict[str, str], *, is_bound: bool) -> Row:
    text = path.read_text(encoding="utf-8")
    lost = [name for name, mark in facts.items() if mark not in text]
    value = f"{len(facts) - len(lost)} of {len(facts)}{': not ' + ', '.join(lost) if lost else ''}"
    return Row(what, value, "all" if is_bound else "", not lost or not is_bound)


def plant(path: Path) -> dict[str, str]:
    """Write a Claude stream with one unmistakable mark for each kind of fact; gives the marks by kind."""
    kinds = (
        "prompt",
        "reply",
        "thinking",
        "signature",
        "redacted thinking",
        "call id",
        "edit's old text",
        "edit's new text",
        "result",
        "structured result",
        "image",
        "unknown record",
        "unknown block",
        "request id",
        "error",
    )
    marks = {kind: f"MARK{number:02d}planted" for number, kind in enumerate(kinds)}
    m = marks
    edit = {"file_path": "/a", "old_string": m["edit's old text"], "new_string": m["edit's new text"]}
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": m["thinking"], "signature": m["signature"]},
        {"type": "redacted_thinking", "data": m["redacted thinking"]},
        {"type": "text", "text": m["reply"]},
        {"type": "unheard", "value": m["unknown block"]},
        {"type": "tool_use", "id": m["call id"], "name": "Edit", "input": edit},
    ]
    source = {"type": "base64", "media_type": "image/png", "data": m["image"]}
    result = {
        "type": "tool_result",
        "tool_use_id": m["call id"],
        "content": [{"type": "text", "text": m["result"]}],
    }
    result["content"].append({"type": "image", "source": source})  # type: ignore[attr-defined]  # a list, above
    who = {"session_id": "3aebc39d-c878-4e32-8591-e6ca5d9fca0a", "parent_tool_use_id": None}
    when = {"timestamp": "2026-11-30T12:00:00.000Z"}
    records: list[dict[str, Any]] = [
        {
            "type": "system",
            "subtype": "init",
            "cwd": "/",
            "model": "m",
            "claude_code_version": "2.1.332",
            **who,
        },
        {"type": "user", "message": {"role": "user", "content": m["prompt"]}, **who, **when},
        *(
            {
                "type": "assistant",
                "message": {"id": "msg_1", "role": "assistant", "model": "m", "content": [block]},
                "request_id": m["request id"],
                **who,
                **when,
            }
            for block in blocks
        ),
        {
            "type": "user",
            "message": {"role": "user", "content": [result]},
            "tool_use_result": {"structuredPatch": [m["structured result"]]},
            **who,
            **when,
        },
        {"type": "news", "value": m["unknown record"], **who},
        {
            "type": "result",
            "subtype": "error_during_execution",
            "is_error": True,
            "errors": [m["error"]],
            **who,
        },
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(map(generate.line, records)))
    return marks


if __name__ == "__main__":
    sys.exit(main())
