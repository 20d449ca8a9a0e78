"""What further tools of classic Cline and Roo Code become: as records of the chat view, and as calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cline_records import ask, end, say, start
from recordings import PROFILES, lines
from rules import Rule, params, told
from stenograph.stores import replayed
from taskdirs import DATA, task_path

MADE = DATA / "cline-tasks"
NAMES = sorted(path.stem for path in MADE.glob("*.json"))


def tool(name: str, **members: Any) -> str:
    return json.dumps({"tool": name, **members})


def shown(*records: dict[str, Any], extended: list[str], cwd: str | None = None) -> Rule:
    """Records that the standard profile does not know."""
    return Rule(
        [{**record, "ts": number} for number, record in enumerate(records)],
        [f"unknown record {number}" for number in range(1, len(records) + 1)],
        extended,
        cwd=cwd,
    )


QUIET = ("switchMode", "finishTask", "updateTodoList", "fetchInstructions", "readCommandOutput")
RECORDS = {
    "housekeeping": shown(
        *(ask("tool", tool(name)) for name in (*QUIET, "summarizeTask", "imageGenerated")), extended=[]
    ),
    "a subtask of Roo's": shown(
        ask("tool", tool("newTask", mode="code", content="mend it", todos=[])),
        ask("tool", tool("newTask")),
        say("subtask_result", "mended"),
        extended=["started mend it", "started", "completed +"],
    ),
    "slash commands": shown(
        ask("tool", tool("runSlashCommand", command="go", source="project", args="x")),
        ask("tool", tool("runSlashCommand", command="go")),
        ask("tool", tool("runSlashCommand", command="go", source="global")),
        ask("tool", tool("runSlashCommand", command="init", source="built-in")),
        ask("tool", tool("runSlashCommand")),
        extended=[
            "skill go at /w/.roo/commands/go.md",
            "skill go at /w/.roo/commands/go.md",
            "skill go at ~/.roo/commands/go.md",
        ],
        cwd="/w",
    ),
    "classic's subagents": shown(
        ask("use_subagents", json.dumps({"prompts": ["a", "", "b", 7]})),
        say("subagent", json.dumps({"status": "running", "items": [{"status": "running", "prompt": "a"}]})),
        say(
            "subagent",
            json.dumps({"items": [{"status": "completed", "prompt": "a"}, {"status": "failed"}, 7]}),
        ),
        say("subagent_usage", "{}"),
        extended=["started a", "started b", "completed a +", "failed -"],
    ),
    "subagents that tell nothing": shown(
        say("use_subagents", "{}"),
        say("use_subagents", '{"prompts":[]}'),
        say("subagent", "[]"),
        extended=["unknown record 1", "unknown record 2", "unknown record 3"],
    ),
    "an answer that waits for the user": shown(
        ask("plan_mode_respond", '{"response":"First.","options":[]}'),
        ask("plan_mode_response", "Then."),
        ask("act_mode_respond", ""),
        extended=["agent First.", "agent Then."],
    ),
    "warnings": shown(
        say("diff_error", "a.py"),
        say("clineignore_error", "b.py"),
        say("rooignore_error"),
        ask("mistake_limit_reached", '{"message":"again"}'),
        extended=[
            "warning[diff_error] a.py",
            "warning[clineignore_error] b.py",
            "warning[rooignore_error] rooignore_error",
            "warning[mistake_limit_reached] again",
        ],
    ),
    "a run that stands still": shown(
        ask("completion_result", ""), ask("resume_task"), ask("resume_completed_task"), extended=[]
    ),
    "what has no event": shown(
        say("tool", tool("webFetch", path="https://example.org")),
        say("tool", tool("webSearch", path="words")),
        ask("use_mcp_server", "{}"),
        say("browser_action", "{}"),
        say("mcp_notification", "x"),
        extended=[f"unknown record {number}" for number in range(1, 6)],
    ),
}


def call(name: str, given: Any, *extended: str, cwd: str | None = None) -> Rule:
    """A call that no row of the standard profile names, and its answer."""
    return Rule(
        [start("c", name, given), end("c", input=given, output="ok")],
        ["unknown event 2"],
        list(extended),
        cwd=cwd,
    )


CALLS = {
    **{
        name: call(name, {"path": "x"})
        for name in (
            "update_todo_list",
            "focus_chain",
            "switch_mode",
            "fetch_instructions",
            "read_command_output",
            "condense",
            "summarize_task",
            "load_mcp_documentation",
            "report_bug",
        )
    },
    "attempt_completion": call("attempt_completion", {"result": "All done."}, "agent All done."),
    "ask_followup_question": call("ask_followup_question", {"question": "Why?"}, "agent Why?"),
    "plan_mode_respond": call("plan_mode_respond", {"response": "First."}, "agent First."),
    "plan_mode_response": call("plan_mode_response", {"response": "First."}, "agent First."),
    "act_mode_respond": call("act_mode_respond", {"response": "Now."}, "agent Now."),
    "new_task of Roo's": call(
        "new_task", {"mode": "code", "message": "mend"}, "started c mend", "completed c mend +"
    ),
    "new_task of classic's": call("new_task", {"context": "so far"}),
    "use_subagents": call(
        "use_subagents",
        {"prompt_1": "a", "prompt_2": "b"},
        "started c a",
        "started c b",
        "completed c a +",
        "completed c b +",
    ),
    "run_slash_command": call("run_slash_command", {"command": "go"}, "skill go at .roo/commands/go.md"),
    "nothing to tell": call("attempt_completion", {}, "unknown event 2"),
    "web_fetch": call("web_fetch", {"url": "https://example.org"}, "unknown event 2"),
    "web_search": call("web_search", {"query": "x"}, "unknown event 2"),
}

TABLES = {"records": RECORDS, "calls": CALLS}


@pytest.mark.parametrize("rule", params(TABLES))
@pytest.mark.parametrize("profile", PROFILES)
def test_rule(rule: Rule, profile: str) -> None:
    assert told("cline", rule, profile) == rule.expected(profile)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("profile", PROFILES)
def test_a_stored_task_gives_the_events_beside_it(name: str, profile: Any, tmp_path: Path) -> None:
    path = task_path(json.loads((MADE / f"{name}.json").read_bytes()), tmp_path)
    assert lines(list(replayed(path, profile=profile))) == (MADE / f"{name}.{profile}.jsonl").read_bytes()
