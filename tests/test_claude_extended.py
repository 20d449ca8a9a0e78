"""What only the extended profile makes of Claude Code's records, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from claude_records import (
    DONE,
    INIT,
    LIMIT,
    answer,
    assistant,
    bash,
    called,
    ended,
    failure,
    notified,
    said,
    system,
    text,
    thought,
    user,
)
from rules import FLUSH, Rule, params, told
from stenograph.agents.claude.shapes import SHAPES
from stenograph.agents.claude.stream import ClaudeStream

Shapes = dict[bytes, Any]

AGENT = called("T", "Agent", description="Look", subagent_type="Explore", prompt="p")
LAUNCHED = {"status": "async_launched", "agentId": "a1"}


def started(task: str = "t1", call: str = "T", **more: Any) -> dict[str, Any]:
    told = {"task_id": task, "tool_use_id": call, "task_type": "local_agent", "description": "Look"}
    return system("task_started", **{**told, **more})


SUBAGENTS = {
    "started, notified, answered": Rule(
        [AGENT, started(), notified("T"), "line", answer("T")],
        ["started t1 Look", "completed t1 Look +", "warning line"],
    ),
    "any other status is a failure": Rule(
        [AGENT, started(), notified("T", status="stopped")], ["started t1 Look", "failed t1 Look -"]
    ),
    "no status is one too": Rule(
        [AGENT, started(), system("task_notification", task_id="t1", tool_use_id="T")],
        ["started t1 Look", "failed t1 Look -"],
    ),
    "without a notification the result is the end": Rule(
        [AGENT, started(), "line", answer("T", tool_use_result={"status": "completed", "agentId": "a1"})],
        ["started t1 Look", "warning line", "completed t1 Look +"],
    ),
    "the result failed": Rule([AGENT, started(), failure("T")], ["started t1 Look", "failed t1 Look -"]),
    "one end only": Rule(
        [AGENT, started(), notified("T"), failure("T")], ["started t1 Look", "completed t1 Look +"]
    ),
    "launched in the background": Rule(
        [AGENT, started(is_backgrounded=True), answer("T", tool_use_result=LAUNCHED), "line", notified("T")],
        ["started t1 Look", "warning line", "completed t1 Look +"],
    ),
    "launched where the result does not say so": Rule(
        [AGENT, started(is_backgrounded=True), answer("T"), "line", notified("T")],
        ["started t1 Look", "warning line", "completed t1 Look +"],
    ),
    "launched, its start not told": Rule(
        [AGENT, answer("T", tool_use_result=LAUNCHED), "line", notified("T", "a1")],
        ["started a1 Look", "warning line", "completed a1 Look +"],
    ),
    "launched and never ended": Rule([AGENT, answer("T", tool_use_result=LAUNCHED)], ["started a1 Look"]),
    "only a result: started just ahead of its end": Rule(
        [AGENT, answer("T", tool_use_result={"status": "completed", "agentId": "a1"})],
        ["started a1 Look", "completed a1 Look +"],
    ),
    "nobody tells an id": Rule([AGENT, answer("T")], ["started Look", "completed Look +"]),
    "failed without having started": Rule([AGENT, failure("T")], ["failed Look -"]),
    "only a notification: started just ahead of its end": Rule(
        [AGENT, notified("T"), answer("T")], ["started t1 Look", "completed t1 Look +"]
    ),
    "never answered: started at close": Rule([AGENT, "line"], ["warning line", "started Look"]),
    "started and never ended": Rule([AGENT, started(), "line"], ["started t1 Look", "warning line"]),
    "named by its type where there is no description": Rule(
        [called("T", "Task", subagent_type="Explore"), answer("T")],
        ["started Explore", "completed Explore +"],
    ),
    "the description of the call before the type of the task": Rule(
        [AGENT, started(description="", subagent_type="Explore"), notified("T")],
        ["started t1 Look", "completed t1 Look +"],
    ),
    "the type of the task where nothing else is told": Rule(
        [started(description=None, subagent_type="Explore"), notified("T")],
        ["started t1 Explore", "completed t1 Explore +"],
    ),
    "nested, its call never shown": Rule(
        [
            AGENT,
            started(),
            started("t2", "U", description="Deep", parent_task_id="t1"),
            notified("U", "t2"),
            notified("T"),
        ],
        ["started t1 Look", "started t2 Deep", "completed t2 Deep +", "completed t1 Look +"],
    ),
    "several, ended in another order": Rule(
        [
            AGENT,
            called("U", "Agent", description="Two"),
            started(),
            started("t2", "U", description="Two"),
            notified("U", "t2"),
            failure("T"),
            answer("U"),
        ],
        ["started t1 Look", "started t2 Two", "completed t2 Two +", "failed t1 Look -"],
    ),
    "a notification that names the task alone": Rule(
        [AGENT, started(), system("task_notification", task_id="t1", status="completed"), answer("T")],
        ["started t1 Look", "completed t1 Look +"],
    ),
    "a notification of a task that nobody knows": Rule([notified("none")], []),
    "tasks of other types": Rule(
        [bash("T", "make"), started(task_type="local_bash"), answer("T"), notified("T")], ["command make +"]
    ),
    "ambient tasks": Rule(
        [
            called("T", "Skill", skill="s"),
            started(ambient=True),
            notified("T"),
            failure("T"),
            called("U", "Agent", description="Two"),
            started("t2", "U", ambient=True),
            notified("U", "t2"),
        ],
        ["skill s at skills/s/SKILL.md -", "started Two"],
    ),
    "an id that is used again": Rule(
        [AGENT, answer("T"), called("T", "Agent", description="Two"), answer("T")],
        ["started Look", "completed Look +", "started Two", "completed Two +"],
    ),
    "a task that is started again": Rule(
        [AGENT, started(), notified("T"), started(), notified("T")],
        ["started t1 Look", "completed t1 Look +"],
    ),
    "what it said stands ahead of its end": Rule(
        [AGENT, started(), said("x", "n", "T"), notified("T")],
        ["started t1 Look", "agent x", "completed t1 Look +"],
    ),
    "a malformed call": Rule(
        [assistant({"type": "tool_use", "id": "T", "name": "Agent"}), answer("T")],
        ["unknown block 1.1 with block 2.1"],
    ),
}

OUTPUT = called("o1", "StructuredOutput", b=[1, 2.0, "ü"], a=None)
ANSWERED = answer("o1", "ok", tool_use_result="ok")

STRUCTURED = {
    "given at the end of the turn": Rule(
        [OUTPUT, ANSWERED, "line", DONE], ["warning line", 'agent {"b":[1,2.0,"ü"],"a":null}']
    ),
    "not when it failed": Rule([OUTPUT, failure("o1"), DONE], []),
    "the one that succeeded": Rule(
        [OUTPUT, failure("o1"), called("o2", "StructuredOutput", n=2), answer("o2"), DONE], ['agent {"n":2}']
    ),
    "not when a text follows": Rule([OUTPUT, ANSWERED, said("a"), DONE, DONE], ["agent a"]),
    "a text ahead of it does not matter": Rule(
        [said("a"), OUTPUT, ANSWERED, DONE], ["agent a", 'agent {"b":[1,2.0,"ü"],"a":null}']
    ),
    "once": Rule([OUTPUT, ANSWERED, DONE, DONE], ['agent {"b":[1,2.0,"ü"],"a":null}']),
    "ahead of usage and error": Rule(
        [OUTPUT, ANSWERED, ended(is_error=True, result="x", usage={"output_tokens": 1})],
        ['agent {"b":[1,2.0,"ü"],"a":null}', "usage None None 1 None", "error x"],
    ),
}

SYNTHETIC = assistant(text("boom"))
SYNTHETIC["message"]["model"] = "<synthetic>"
FAULT = said("boom", is_api_error_message=True)

FAULTS = {
    "marked by its flag": Rule([FAULT, ended(is_error=True, result="boom")], ["error boom"]),
    "marked by its model": Rule([SYNTHETIC, ended(is_error=True, result="boom")], ["error boom"]),
    "among the errors": Rule(
        [FAULT, ended(subtype="error_x", errors=["boom"])], ["error[error_x] error_x: boom"]
    ),
    "another text": Rule([FAULT, ended(is_error=True, result="bang")], ["agent boom", "error bang"]),
    "a turn that did not fail": Rule([SYNTHETIC, ended(result="boom")], ["agent boom"]),
    "not marked": Rule([said("boom"), ended(is_error=True, result="boom")], ["agent boom", "error boom"]),
    "a flag that is not true": Rule(
        [said("boom", is_api_error_message="yes"), ended(is_error=True, result="boom")],
        ["agent boom", "error boom"],
    ),
    "given before the turn ended": Rule(
        [FAULT, LIMIT, ended(is_error=True, result="boom")],
        ["agent boom", "warning rate limit: rejected", "error boom"],
    ),
    "its thinking stays": Rule(
        [thought("t"), FAULT, ended(is_error=True, result="boom")], ["reasoning t", "error boom"]
    ),
    "only the thread that said it": Rule(
        [FAULT, said("x", "n", "T"), ended(is_error=True, result="boom")], ["agent x", "error boom"]
    ),
}

GREET = [INIT, called("k", "Skill", skill="greet"), answer("k", tool_use_result={"success": True})]
MADE = "skill greet at /w/skills/greet/SKILL.md +"
FOLDER = user(text("Base directory for this skill: /w/.claude/skills/greet\n\nSay hello"), isSynthetic=True)

SKILLS = {
    "its real folder": Rule([*GREET, FOLDER, DONE], ["skill greet at /w/.claude/skills/greet/SKILL.md +"]),
    "text lines in between": Rule(
        [*GREET, "line", ("oops",), FOLDER],
        ["warning line", "warning oops", "skill greet at /w/.claude/skills/greet/SKILL.md +"],
    ),
    "the next record shows none": Rule([*GREET, said("a"), FOLDER], [MADE, "agent a"]),
    "ahead of what the next record gives": Rule([*GREET, LIMIT], [MADE, "warning rate limit: rejected"]),
    "flush": Rule([*GREET, FLUSH, "line"], [MADE, "warning line"]),
    "close": Rule([*GREET, "line"], ["warning line", MADE]),
    "one that failed does not wait": Rule(
        [INIT, called("k", "Skill", skill="greet"), failure("k"), "line", FOLDER],
        ["skill greet at /w/skills/greet/SKILL.md -", "warning line"],
    ),
    "a relative folder": Rule(
        [*GREET, user(text("Base directory for this skill: .claude/skills/greet"))],
        ["skill greet at /w/.claude/skills/greet/SKILL.md +"],
    ),
}


def turn(usage: Any, **more: Any) -> dict[str, Any]:
    return ended(subtype="success", usage=usage, **more)


FULL = {
    "input_tokens": 1,
    "cache_creation_input_tokens": 20,
    "cache_read_input_tokens": 300,
    "output_tokens": 4000,
}

USAGE = {
    "the four classes": Rule([turn(FULL)], ["usage 21 300 4000 None"]),
    "thinking is taken off the output": Rule(
        [turn({**FULL, "output_tokens_details": {"thinking_tokens": 1500}})], ["usage 21 300 2500 1500"]
    ),
    "a class that is not told": Rule([turn({"output_tokens": 1})], ["usage None None 1 None"]),
    "only cache writes": Rule([turn({"cache_creation_input_tokens": 5})], ["usage 5 None None None"]),
    "counts that are none": Rule(
        [turn({"input_tokens": "5", "output_tokens": True, "cache_read_input_tokens": 2})],
        ["usage None 2 None None"],
    ),
    "all zero is none": Rule(
        [turn(dict.fromkeys(FULL, 0)), turn({}), turn(None), ended(subtype="success")], []
    ),
    "its cost": Rule(
        [
            turn(
                FULL,
                total_cost_usd=9,
                model_usage_since_last_result={"a": {"costUSD": 0.25}, "b": {"costUSD": 0.5}, "c": 5},
            )
        ],
        ["usage 21 300 4000 None $0.75"],
    ),
    "no models, no cost": Rule(
        [turn(FULL, total_cost_usd=9, model_usage_since_last_result={}), turn(FULL, total_cost_usd=9)],
        ["usage 21 300 4000 None", "usage 21 300 4000 None"],
    ),
    "a cost without tokens is none": Rule(
        [turn(dict.fromkeys(FULL, 0), model_usage_since_last_result={"a": {"costUSD": 0.5}})],
        [],
    ),
    "one for each turn, behind the text and ahead of the error": Rule(
        [said("a"), turn(FULL), said("b", "n"), turn({"output_tokens": 7}, is_error=True, result="x")],
        ["agent a", "usage 21 300 4000 None", "agent b", "usage None None 7 None", "error x"],
    ),
}

TABLES = {
    "subagents": SUBAGENTS,
    "structured": STRUCTURED,
    "faults": FAULTS,
    "skills": SKILLS,
    "usage": USAGE,
}


@pytest.mark.parametrize("rule", params(TABLES))
@pytest.mark.parametrize("shapes", [SHAPES, {}], ids=["by shape", "in full"])
def test_the_extended_profile(rule: Rule, shapes: Shapes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClaudeStream, "shapes", shapes)
    assert told("claude", rule, "extended") == rule.events
