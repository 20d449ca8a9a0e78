"""The speed and memory of stenograph beside floors measured in the same run: prints a Markdown table.

CPU time, best of some rounds, each in a process of its own; exits with 1 when a bound is broken.
`--mb 20` for a quick look. The row of claude-agent-sdk needs an environment that has it:

    python3 -m venv bench/.cache/sdk && bench/.cache/sdk/bin/pip install claude-agent-sdk
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
import generate

FLOORS = Path(__file__).with_name("floors.py")
STENO = Path(sys.executable).with_name("steno")
SDK = generate.CACHE / "sdk" / "bin" / "python"

_PEAK = """
import sys
from stenograph.cli.main import run
code = run(sys.argv[1:])
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")), file=sys.stderr)
sys.exit(code)
"""


class Row(NamedTuple):
    """One line of the table: what was measured, its value, and the bound with whether it holds."""

    what: str
    value: str
    bound: str = ""
    holds: bool = True


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--mb", type=float, default=200, help="size of the two streams (default: 200)")
    options.add_argument("--rounds", type=int, default=3, help="best of so many (default: 3)")
    given = options.parse_args()
    rows = [
        *speeds(generate.cached(generate.mixed, mb=given.mb), given.rounds, least=1.0),
        *speeds(generate.cached(generate.deltas, mb=given.mb), given.rounds, least=0.6),
        *memory(given.mb),
        *linearity(given.mb, max(given.rounds, 5)),
        *start_up(max(given.rounds, 5)),
        latency(),
    ]
    python = f"{platform.python_implementation()} {platform.python_version()}"
    print(f"{python}, {processor()}, {os.cpu_count()} cores")
    print(f"\n| what | measured | bound |\n| --- | --- | --- |\n{''.join(map(_render, rows))}", end="")
    broken = [row for row in rows if not row.holds]
    for row in broken:
        print(f"broken: {row.what}: {row.value}, not {row.bound}", file=sys.stderr)
    return 1 if broken else 0


def _render(row: Row) -> str:
    return f"| {row.what} | {row.value} | {row.bound}{'' if row.holds else ' **broken**'} |\n"


def processor() -> str:
    """The processor's name, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def speeds(path: Path, rounds: int, *, least: float) -> list[Row]:
    """Every way of reading one stream, in turns; ours is held against json.loads and the SDK."""
    pythons = {"json_loads": sys.executable, "msgspec_dict": sys.executable, "stenograph": sys.executable}
    if SDK.exists():
        pythons["sdk"] = str(SDK)
    else:
        print(f"skipped: claude-agent-sdk is not installed in {SDK.parent.parent}", file=sys.stderr)
    warm_up(path)
    best = dict.fromkeys(pythons, float("inf"))
    for _ in range(rounds):
        for way, python in pythons.items():
            best[way] = min(best[way], seconds([python, str(FLOORS), way, str(path)]))
    return [_speed(path, way, best, least) for way in best]


def _speed(path: Path, way: str, best: dict[str, float], least: float) -> Row:
    ratio = best["json_loads"] / best[way]
    rate = path.stat().st_size / generate.MB / best[way]
    row = Row(f"{path.stem}: {way}", f"{rate:.0f} MB/s, {ratio:.2f} × json_loads")
    if way != "stenograph":
        return row
    beats_sdk = best[way] < best.get("sdk", float("inf"))
    bound = f"≥ {least} × json_loads{', faster than sdk' if 'sdk' in best else ''}"
    return row._replace(bound=bound, holds=ratio >= least and beats_sdk)


def warm_up(path: Path) -> None:
    """Write a small stream beside a large one, read before the clock starts."""
    with path.open("rb") as file:
        lines = [file.readline() for _ in range(200)]
    path.with_name("warm-up.jsonl").write_bytes(b"".join(lines))


def seconds(command: list[str]) -> float:
    """The CPU seconds that a timing script prints."""
    return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout)


def cpu(command: list[str]) -> float:
    """The CPU seconds of a whole process, its start included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def best_cpu(command: list[str], rounds: int) -> float:
    return min(cpu(command) for _ in range(rounds))


def memory(mb: float) -> list[Row]:
    """Peak memory over the length of a stream, over one long line, and over tiny chunks."""
    rows = [
        _memory(f"peak memory, {path.stem}", [str(path)], bound=64)
        for path in (generate.cached(generate.mixed, mb=mb), generate.cached(generate.deltas, mb=mb))
    ]
    line = generate.long_line(mb=50)
    return [*rows, _memory("peak memory, one line of 50 MB", [str(line)], bound=None)]


def _memory(what: str, files: list[str], *, bound: int | None) -> Row:
    command = [sys.executable, "-c", _PEAK, "events", "--from", "claude", *files]
    done = subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=600)
    peak = int(done.stderr) / 1024
    return Row(what, f"{peak:.0f} MB", f"< {bound} MB" if bound else "works", bound is None or peak < bound)


def linearity(mb: float, rounds: int) -> list[Row]:
    """Twice the input takes at most 2.3 times as long: lines, length of a line, number of chunks."""
    half = generate.cached(generate.mixed, mb=mb / 2)
    whole = generate.cached(generate.mixed, mb=mb)
    short, long = generate.long_line(mb=25), generate.long_line(mb=50)
    tiny = generate.cached(generate.mixed, mb=1), generate.cached(generate.mixed, mb=2)
    return [
        _doubling("twice the lines", half, whole, rounds),
        _doubling("twice the length of one line", short, long, rounds),
        _doubling("twice the chunks of 16 bytes", *tiny, rounds, way="tiny_chunks"),
    ]


def _doubling(what: str, half: Path, whole: Path, rounds: int, way: str = "stenograph") -> Row:
    for path in (half, whole):
        warm_up(path)
    command = [sys.executable, str(FLOORS), way]
    once, twice = (min(seconds([*command, str(path)]) for _ in range(rounds)) for path in (half, whole))
    return Row(
        what, f"{twice / once:.2f} × the time ({once:.2f} s, {twice:.2f} s)", "≤ 2.3 ×", twice <= 2.3 * once
    )


def start_up(rounds: int) -> list[Row]:
    """The CPU time of whole commands."""
    small = generate.cached(generate.mixed, mb=1)
    return [
        _whole("steno --version", ["--version"], rounds, bound=80),
        _whole("steno --help", ["--help"], rounds, bound=80),
        _whole("steno events, a file of 1 MB", ["events", "--from", "claude", str(small)], rounds, bound=200),
        _whole("steno events, the same, format detected", ["events", str(small)], rounds, bound=200),
    ]


def _whole(what: str, arguments: list[str], rounds: int, *, bound: int) -> Row:
    spent = best_cpu([str(STENO), *arguments], rounds) * 1000
    return Row(what, f"{spent:.0f} ms CPU", f"< {bound} ms", spent < bound)


def latency() -> Row:
    """How long after its record an event comes out of a live pipe: the median of 200."""
    command = [str(STENO), "events", "--from", "claude"]
    record = b'{"type":"system","subtype":"news","session_id":"s"}\n'
    waits = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin
        assert process.stdout
        for _ in range(201):  # the first one pays for the start
            begun = time.perf_counter()
            process.stdin.write(record)
            process.stdout.read(65536)
            waits.append((time.perf_counter() - begun) * 1000)
    median = statistics.median(waits[1:])
    return Row("from a record to its event", f"{median:.2f} ms", "< 5 ms", median < 5)


if __name__ == "__main__":
    sys.exit(main())
