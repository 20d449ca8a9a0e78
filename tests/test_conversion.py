"""Laws of conversion over all data: what is read back is what was written, and hashes and schemas hold."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from atif import Trajectory

from sources import entries_of, format_of, sources, told
from stenograph import conversion, read
from stenograph.interchange.asf_verify import verify_file
from stenograph.interchange.codes import CODES
from stenograph.model import Ended, Entry, Prompted, Said, Spent, ToolCalled, Unread

SOURCES = sources()
each = pytest.mark.parametrize("name", SOURCES)
some = pytest.mark.parametrize(
    "name", [name for at, name in enumerate(SOURCES) if at % 8 == 0 or "wild" in name]
)


def convert(source: Path, target: Path, **options: Any) -> conversion.Conversion:
    return conversion.convert(source, target, format=format_of(source), **options)


def main_file(folder: Path, pattern: str) -> Path:
    """The file of the session itself, without those of its subagents."""
    files = sorted(folder.glob(pattern))
    if pattern.endswith("jsonl"):
        files = [path for path in files if b'"spawned_by":' not in path.read_bytes().split(b"\n", 1)[0]]
    (found,) = files
    return found


def recomputed(line: dict) -> str:
    """An entry's id by the recipe, with another implementation of canonical JSON."""
    envelope = {name: line[name] for name in ("type", "parent", "ts")}
    body = {name: value for name, value in line.items() if name not in (*envelope, "id", "parents")}
    envelope["content"] = "sha256:" + hashlib.sha256(rfc8785.dumps(body)).hexdigest()
    return "sha256:" + hashlib.sha256(rfc8785.dumps(envelope)).hexdigest()


@each
def test_asf_reads_back_equal_and_keeps_every_rule(name: str, tmp_path: Path) -> None:
    report = convert(SOURCES[name], tmp_path, to="asf", check=True)
    path = main_file(tmp_path, "*/*.jsonl")
    assert told(read(path).entries) == told(entries_of(SOURCES[name]))
    assert report.count("check-failed") == 0
    assert {note.code for note in report.notes} <= CODES.keys()
    for file in tmp_path.glob("*/*.jsonl"):
        assert verify_file(file) == []
        parent = None
        for line in map(json.loads, file.read_text().splitlines()[1:]):
            assert line["parent"] == parent
            assert line["id"] == recomputed(line)
            parent = line["id"]


@each
def test_atif_reads_back_equal_and_passes_the_models(name: str, tmp_path: Path) -> None:
    report = convert(SOURCES[name], tmp_path, to="atif", check=True)
    (path,) = tmp_path.glob("*.json")
    assert told(read(path).entries) == told(entries_of(SOURCES[name]))
    assert report.count("check-failed") == 0
    document = json.loads(path.read_bytes())
    trajectory = Trajectory.model_validate(document)
    assert trajectory.final_metrics
    assert trajectory.final_metrics.total_steps == len(document["steps"])
    totals_are_the_agents_own(document["final_metrics"], entries_of(SOURCES[name]))


def totals_are_the_agents_own(metrics: dict[str, Any], entries: list[Entry]) -> None:
    main = [entry for entry in entries if not isinstance(entry.thread, str)]
    spent = [entry for entry in main if isinstance(entry, Spent)]
    ended = [entry for entry in main if isinstance(entry, Ended) and entry.tokens]
    source = spent or ended
    tokens = [entry.tokens for entry in source if entry.tokens]
    prompt = sum((t.uncached_input or 0) + (t.cached_input or 0) for t in tokens)
    output = sum((t.output or 0) + (t.reasoning or 0) for t in tokens)
    assert metrics.get("total_prompt_tokens", 0) == prompt
    assert metrics.get("total_completion_tokens", 0) == output
    assert metrics.get("total_cost_usd", 0) == pytest.approx(sum(entry.cost or 0 for entry in source))


@some
def test_again_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    for to in ("asf", "atif", "markdown", "events"):
        first = convert(SOURCES[name], tmp_path / to, to=to)
        before = {path: path.read_bytes() for path in (tmp_path / to).rglob("*.*") if path.is_file()}
        again = convert(SOURCES[name], tmp_path / to, to=to)
        assert {path: path.read_bytes() for path in (tmp_path / to).rglob("*.*") if path.is_file()} == before
        assert again.to_json() == first.to_json()
        assert not list((tmp_path / to).rglob("*.tmp"))


@pytest.mark.parametrize("to", ["asf", "atif"])
@some
def test_one_interchange_format_to_the_other_loses_nothing_said(name: str, to: str, tmp_path: Path) -> None:
    convert(SOURCES[name], tmp_path / "one", to=to)
    path = main_file(tmp_path / "one", "*/*.jsonl" if to == "asf" else "*.json")
    other = "atif" if to == "asf" else "asf"
    convert(path, tmp_path / "two", to=other)
    back = main_file(tmp_path / "two", "*/*.jsonl" if other == "asf" else "*.json")
    kinds = (Prompted, Said, ToolCalled, Unread)
    assert told([e for e in read(back).entries if isinstance(e, kinds)]) == told(
        [e for e in entries_of(SOURCES[name]) if isinstance(e, kinds)]
    )


def test_the_law_can_fail(tmp_path: Path) -> None:
    name = "parallel_tools/claude"
    convert(SOURCES[name], tmp_path, to="asf")
    path = main_file(tmp_path, "*/*.jsonl")
    path.write_bytes(path.read_bytes().replace(b"Several at once.", b"Several at 1ce.", 1))
    assert told(read(path).entries) != told(entries_of(SOURCES[name]))
    assert {found.rule for found in verify_file(path)} == {"hash"}
