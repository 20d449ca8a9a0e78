"""ATIF documents: planted facts, subagents, late results, pictures; documents of other writers."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from atif import Trajectory

from sources import sources
from stenograph import convert, read
from stenograph.stores import replayed

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
from convert import plant

Json = dict[str, Any]
WHO = {"session_id": "3aebc39d-c878-4e32-8591-e6ca5d9fca0a"}


def document(source: Path, folder: Path) -> Json:
    report = convert(source, folder / "t.json", to="atif", check=True)
    assert report.count("check-failed") == 0
    found: Json = json.loads((folder / "t.json").read_bytes())
    Trajectory.model_validate(found)
    return found


def stream(folder: Path, *records: Json) -> Path:
    path = folder / "run.jsonl"
    head = {"type": "system", "subtype": "init", "cwd": "/", "claude_code_version": "2.1.332"}
    path.write_text("".join(f"{json.dumps(record | WHO)}\n" for record in [head, *records]))
    return path


def assistant(message: str, *blocks: Json, thread: str | None = None) -> Json:
    return {
        "type": "assistant",
        "parent_tool_use_id": thread,
        "message": {"id": message, "model": "m", "role": "assistant", "content": list(blocks)},
    }


def result(call: str, content: Any) -> Json:
    block = {"type": "tool_result", "tool_use_id": call, "content": content}
    return {"type": "user", "message": {"role": "user", "content": [block]}}


def use(call: str, name: str = "Bash") -> Json:
    return {"type": "tool_use", "id": call, "name": name, "input": {"command": "ls"}}


@pytest.mark.parametrize("to", ["asf", "atif"])
def test_every_planted_fact_is_kept(to: str, tmp_path: Path) -> None:
    marks = plant(tmp_path / "planted.jsonl")
    target = tmp_path / ("out.json" if to == "atif" else "out.jsonl")
    convert(tmp_path / "planted.jsonl", target, to=to, strict=True, check=True)
    text = target.read_text()
    assert [kind for kind, mark in marks.items() if mark not in text] == []


def test_the_steps_of_parallel_calls(tmp_path: Path) -> None:
    found = document(sources()["parallel_tools/claude"], tmp_path)
    first, second = found["steps"]
    assert (first["source"], first["message"], first["llm_call_count"]) == ("agent", "Several at once.", 1)
    assert [call["function_name"] for call in first["tool_calls"]] == ["Read", "Read", "Bash", "Bash"]
    answered = [each["source_call_id"][-1] for each in first["observation"]["results"]]
    assert answered == ["2", "1", "3", "4"]  # in the order in which they came
    assert first["observation"]["results"][2]["extra"]["details"]["stdout"] == "app.py\nutil.py"
    assert first["metrics"]["prompt_tokens"] == 2400
    assert "completion_tokens" not in first["metrics"]
    assert second["message"] == "All done."
    assert found["final_metrics"] == {
        "total_prompt_tokens": 4800,
        "total_completion_tokens": 138,
        "total_cached_tokens": 1800,
        "total_cost_usd": 0.015719999999999998,
        "total_steps": 2,
    }


def test_a_subagents_trajectory_is_named_by_its_calls_observation(tmp_path: Path) -> None:
    found = document(sources()["agent_foreground/claude"], tmp_path)
    (child,) = found["subagent_trajectories"]
    refs = [
        (each["source_call_id"], ref["trajectory_id"])
        for step in found["steps"]
        for each in step.get("observation", {}).get("results", ())
        for ref in each.get("subagent_trajectory_ref", ())
    ]
    assert refs == [(child["extra"]["stenograph"]["thread"], child["trajectory_id"])]
    assert child["steps"][0]["source"] == "user"


def test_a_late_result_is_a_step_of_its_own(tmp_path: Path) -> None:
    text = {"type": "text", "text": "meanwhile"}
    source = stream(tmp_path, assistant("a", use("c1")), assistant("b", text), result("c1", "done"))
    found = document(source, tmp_path)
    assert [step["source"] for step in found["steps"]] == ["agent", "agent", "system"]
    assert found["steps"][2]["observation"]["results"] == [{"source_call_id": "c1", "content": "done"}]


def test_a_call_that_results_came_in_between_of_stays_one_step(tmp_path: Path) -> None:
    source = stream(
        tmp_path, assistant("a", use("c1")), result("c1", "1"), assistant("a", use("c2")), result("c2", "2")
    )
    (step,) = document(source, tmp_path)["steps"]
    assert [call["tool_call_id"] for call in step["tool_calls"]] == ["c1", "c2"]
    report = convert(source, tmp_path / "asf", to="asf", check=True)
    assert report.count("check-failed") == 0
    (file,) = (tmp_path / "asf").glob("*/*.jsonl")
    responses = [json.loads(line) for line in file.read_text().splitlines() if '"type":"response"' in line]
    assert len({each["response_id"] for each in responses}) == 2


@pytest.mark.parametrize(("kind", "is_part"), [("image/png", True), ("image/bmp", False)])
def test_pictures(kind: str, is_part: bool, tmp_path: Path) -> None:
    source = {"type": "base64", "media_type": kind, "data": "QUJD"}
    picture = [{"type": "text", "text": "seen"}, {"type": "image", "source": source}]
    path = stream(tmp_path, assistant("a", use("c1", "Read")), result("c1", picture))
    (step,) = document(path, tmp_path)["steps"]
    content = step["observation"]["results"][0]["content"]
    if is_part:
        assert content[1]["source"] == {"media_type": kind, "path": f"data:{kind};base64,QUJD"}
    else:
        assert json.loads(content) == picture


def test_a_foreign_document(tmp_path: Path) -> None:
    path = tmp_path / "theirs.json"
    call = {"tool_call_id": "c1", "function_name": "now", "arguments": {}}
    answer = {
        "step_id": 2,
        "source": "agent",
        "message": "Let me check.",
        "reasoning_content": "A clock.",
        "tool_calls": [call],
        "observation": {"results": [{"source_call_id": "c1", "content": "noon"}]},
        "metrics": {"prompt_tokens": 120, "cached_tokens": 20, "completion_tokens": 18, "cost_usd": 0.5},
    }
    steps = [{"step_id": 1, "source": "user", "message": "What time is it?"}, answer]
    agent = {"name": "my-agent", "version": "1", "model_name": "m"}
    path.write_text(json.dumps({"schema_version": "ATIF-v1.5", "agent": agent, "steps": steps}))
    session = read(path)
    assert [str(entry.__struct_config__.tag) for entry in session.entries] == [
        "started",
        "prompted",
        "spent",
        "thought",
        "said",
        "called",
        "returned",
    ]
    assert session.summary.agent == "my-agent"
    convert(path, tmp_path / "out.jsonl", to="asf", check=True)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    (response,) = [line for line in lines if line["type"] == "response"]
    assert response["usage"]["total_tokens"] == 138
    assert response["stenograph:cost_usd"] == 0.5


@pytest.mark.parametrize(
    "damage",
    [
        {"steps": 3, "agent": [], "subagent_trajectories": {}},
        {"steps": [1, {"message": 4, "tool_calls": "x", "source": "agent"}, None]},
        {"steps": [{"source": "agent", "tool_calls": [3], "observation": {"results": [None]}}]},
        {
            "extra": {"stenograph": {}},
            "steps": [{"extra": {"stenograph": {"entries": [{"call": 7}, 3, {"said": [1]}]}}}],
        },
    ],
)
def test_a_damaged_document_is_read_as_far_as_it_goes(damage: Json, tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"schema_version": "ATIF-v1.8"} | damage))
    assert read(path).summary.format == "atif"


def test_events_of_both_formats_are_those_of_the_agent(tmp_path: Path) -> None:
    source = sources()["edit_ok/claude"]
    convert(source, tmp_path / "a.jsonl", to="asf")
    convert(source, tmp_path / "b.json", to="atif")
    kinds = [[type(event).__name__ for event in replayed(tmp_path / name)] for name in ("a.jsonl", "b.json")]
    assert kinds[0] == kinds[1]
    assert {"Read", "Write", "Agent"} <= set(kinds[0])
