"""What only the extended profile makes of Cline's records, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from cline_records import agent, end, finished, hook, item, mate, say, start, team, words
from recordings import NOON
from rules import Rule, line, params, told
from stenograph import EventParser

BOOM = agent("error", error={"name": "Error", "message": "boom"}, recoverable=False)

ERRORS = {
    "an inner error": Rule([BOOM], ["error boom"]),
    "one that can be recovered from": Rule(
        [agent("error", error={"message": "m"}, recoverable=True)], ["warning m"]
    ),
    "an error as a text, a message, nothing": Rule(
        [agent("error", error="e"), agent("error", message="m"), agent("error", error={})],
        ["error e", "error m", "error error"],
    ),
    "inner errors are always given": Rule([BOOM, BOOM, agent("error", error="boom")], ["error boom"] * 3),
    "the run's result does not repeat it": Rule([BOOM, finished("error", "boom")], ["error boom"]),
    "another text": Rule([BOOM, finished("error", "bang")], ["error boom", "error bang"]),
    "a result alone": Rule([finished("error", "boom")], ["error boom"]),
    "a result without a text": Rule([finished("error")], ["error error"]),
    "other reasons are the code": Rule(
        [finished("max_iterations", "m"), finished("mistake_limit")],
        ["error[max_iterations] max_iterations: m", "error[mistake_limit] mistake_limit"],
    ),
    "only up to the run's result": Rule(
        [BOOM, finished("error", "boom"), finished("error", "boom")], ["error boom", "error boom"]
    ),
    "a warning's text is no error's": Rule(
        [agent("error", error="boom", recoverable=True), finished("error", "boom")],
        ["warning boom", "error boom"],
    ),
    "standard error does not repeat an error of the stream": Rule(
        [
            BOOM,
            finished("error", "boom"),
            finished("mistake_limit", "bang"),
            ("boom",),
            ('{"type":"error","message":"boom"}',),
            ("bang",),
            ("other",),
        ],
        [
            "error boom",
            "error[mistake_limit] mistake_limit: bang",
            "warning other",
            "error exit code 1\nboom\nboom\nbang\nother",
        ],
        exit_code=1,
    ),
    "nor a failed older run's": Rule([say("error", "boom"), ("boom",)], ["error boom"]),
    "a top-level error once per text": Rule(
        [BOOM, {"type": "error", "message": "boom"}, {"type": "error", "message": "bang"}],
        ["error boom", "error bang"],
    ),
    "an aborted run": Rule(
        [
            {"type": "run_aborted", "reason": "r", "message": "m"},
            {"type": "run_aborted", "reason": "r"},
            {"type": "run_aborted"},
        ],
        ["warning m", "warning r", "warning run_aborted"],
    ),
}


def notice(**members: Any) -> dict[str, Any]:
    return agent("notice", message="m", **members)


NOTICES = {
    "most are consumed": Rule([notice(noticeType="status", metadata={"phase": "started"}), notice()], []),
    "grave ones": Rule(
        [
            notice(noticeType="recovery"),
            notice(noticeType="stop"),
            notice(noticeType="status", metadata={"phase": "failed"}),
            agent("notice", noticeType="stop"),
        ],
        ["warning m", "warning m", "warning m", "warning notice"],
    ),
}


def spent(**members: Any) -> dict[str, Any]:
    return agent("usage", **members)


USAGE = {
    "input holds what was cached": Rule(
        [spent(inputTokens=130, outputTokens=9, cacheReadTokens=90, cacheWriteTokens=30, cost=0.5)],
        ["usage 40 90 9 None $0.5"],
    ),
    "left-out cache counts are 0": Rule([spent(inputTokens=5, outputTokens=1)], ["usage 5 0 1 None"]),
    "a cost of 0": Rule([spent(inputTokens=5, outputTokens=1, cost=0)], ["usage 5 0 1 None $0"]),
    "never below 0": Rule([spent(inputTokens=5, outputTokens=1, cacheReadTokens=9)], ["usage 0 9 1 None"]),
    "all zero is none": Rule([spent(inputTokens=0, outputTokens=0), spent()], []),
    "a teammate's only where it is told first": Rule(
        [spent(inputTokens=5, outputTokens=1), mate("scout", "usage", inputTokens=5, outputTokens=1)],
        ["usage 5 0 1 None"],
    ),
}

SPAWN = start("c", "spawn_agent", {"systemPrompt": "p", "task": "Look"})

SUBAGENTS = {
    "started at its start, completed at its end": Rule(
        [SPAWN, words("x"), end("c", output={"text": "x", "finishReason": "completed"})],
        ["started c Look", "agent x", "completed c Look +"],
    ),
    "any other reason is a failure": Rule(
        [SPAWN, end("c", output={"finishReason": "aborted"})], ["started c Look", "failed c Look -"]
    ),
    "so is an error": Rule([SPAWN, end("c", error="e")], ["started c Look", "failed c Look -"]),
    "never answered": Rule([SPAWN], ["started c Look"]),
    "its start was missed": Rule(
        [end("c", toolName="spawn_agent", input={"task": "Look"}, output={"finishReason": "completed"})],
        ["completed c Look +"],
    ),
}


def hire(output: Any = None, **members: Any) -> list[dict[str, Any]]:
    given = {"agentId": "scout", "rolePrompt": "p"}
    return [
        start("s", "team_spawn_teammate", given),
        end("s", output=output or {"agentId": "scout"}, **members),
    ]


SHUT = [start("x", "team_shutdown_teammate", {"agentId": "scout"}), end("x", output={"status": "stopped"})]

TEAMS = {
    "a teammate starts when it was spawned": Rule(hire(), ["started scout"]),
    "not when that failed": Rule(hire({"error": "no"}), []),
    "and ends when it is shut down": Rule([*hire(), *SHUT], ["started scout", "completed scout +"]),
    "unless its task ended before": Rule(
        [*hire(), team("task_end", agentId="scout", status="completed"), *SHUT],
        ["started scout", "completed scout +"],
    ),
    "a shutdown that failed": Rule([SHUT[0], end("x", error="no")], []),
    "neither was answered": Rule([hire()[0], SHUT[0]], []),
    "a task that failed": Rule(
        [
            team("task_end", agentId="a", status="failed"),
            team("task_end", agentId="b", status="completed", error="e"),
            team("task_end", agentId="c", status="completed", error={"message": "e"}),
            team("task_end", agentId="d", status="completed", error=""),
            team("task_end", agentId="e", error=None),
        ],
        ["failed a -", "failed b -", "failed c -", "completed d +", "completed e +"],
    ),
    "its events read as such": Rule(
        [
            mate("scout", "content_end", contentType="text", text="a"),
            mate("scout", "content_end", contentType="reasoning", reasoning="t"),
            mate(
                "scout",
                "content_start",
                contentType="tool",
                toolName="editor",
                toolCallId="c",
                input={"path": "/a"},
            ),
            mate("scout", "content_end", contentType="tool", toolCallId="c", output={"success": True}),
            mate("scout", "error", error={"message": "boom"}),
            mate("scout", "iteration_start"),
            mate("scout", "later"),
            team("agent_event", event={"type": "content_end", "contentType": "text", "text": "nameless"}),
        ],
        ["agent a", "reasoning t", "write /a +", "error boom", "unknown inner event 7", "agent nameless"],
    ),
    "its call that is never answered": Rule(
        [
            mate(
                "scout",
                "content_start",
                contentType="tool",
                toolName="editor",
                toolCallId="c",
                input={"path": "/a"},
            )
        ],
        ["write /a"],
    ),
    "a call of the lead with the same id": Rule(
        [
            start("c", "editor", {"path": "/lead"}),
            mate(
                "scout",
                "content_start",
                contentType="tool",
                toolName="editor",
                toolCallId="c",
                input={"path": "/a"},
            ),
            mate("scout", "content_end", contentType="tool", toolCallId="c", output={"success": True}),
            end("c", output={"success": False}),
        ],
        ["write /a +", "write /lead -"],
    ),
    "an answer that is nobody's own is the oldest call's": Rule(
        [
            start("c", "editor", {"path": "/lead1"}),
            mate(
                "a",
                "content_start",
                contentType="tool",
                toolName="editor",
                toolCallId="c",
                input={"path": "/a"},
            ),
            start("c", "editor", {"path": "/lead2"}),
            end("c", output={"success": True}),
            mate("b", "content_end", contentType="tool", toolCallId="c", output={"success": False}),
        ],
        ["write /lead1 +", "write /a -", "write /lead2"],
    ),
    "the rest is consumed": Rule(
        [
            team("task_start", agentId="scout"),
            team("teammate_spawned", agentId="scout"),
            team("run_failed"),
            start("c", "team_task", {"action": "list"}),
            end("c", output={"tasks": []}),
            start("d", "team_status"),
            {"type": "team_restored"},
            {"type": "zen_dispatched"},
            {"type": "team_event"},
        ],
        [],
    ),
}

SPEAKING = {
    "a question is asked at its start": Rule(
        [start("c", "ask_question", {"question": "Why?"}), "line", end("c", output="a")],
        ["agent Why?", "warning line"],
    ),
    "once, answered or not": Rule([start("c", "ask_question", {"question": "Why?"})], ["agent Why?"]),
    "one that asks nothing": Rule([start("c", "ask_question", {}), end("c", input={})], ["unknown event 2"]),
    "a summary is given at its end": Rule(
        [
            start("c", "submit_and_exit", {"summary": "All done", "verified": True}),
            "line",
            end("c", output="ok"),
        ],
        ["warning line", "agent All done"],
    ),
    "or at the close": Rule(
        [start("c", "submit_and_exit", {"summary": "All done"}), "line"], ["warning line", "agent All done"]
    ),
    "one that says nothing": Rule(
        [start("c", "submit_and_exit", {}), end("c", input={})], ["unknown event 2"]
    ),
}

TABLES = {
    "errors": ERRORS,
    "notices": NOTICES,
    "usage": USAGE,
    "subagents": SUBAGENTS,
    "teams": TEAMS,
    "speaking": SPEAKING,
}


@pytest.mark.parametrize("rule", params(TABLES))
def test_the_extended_profile(rule: Rule) -> None:
    assert told("cline", rule, "extended") == rule.events


@pytest.mark.parametrize("items", [[], [item()]])
def test_a_call_in_a_batch_of_one(items: list[Any]) -> None:
    rule = Rule(
        [start("c", "read_files", ["/a"]), end("c", output=items)], ["read /a +" if items else "read /a"]
    )
    assert told("cline", rule, "extended") == rule.events


def test_details() -> None:
    records = [
        start("c", "run_commands", ["cat a", "make"]),
        end("c", output=[item(), item()], durationMs=7),
        end("d", toolName="demo__add"),
        SPAWN,
        hook("agent_start", "sub", "lead"),
        words("x"),
        hook("agent_end", "sub", "lead"),
        words("y"),
        mate("scout", "content_end", contentType="text", text="z"),
        mate(
            "scout",
            "content_start",
            contentType="tool",
            toolName="editor",
            toolCallId="e",
            input={"path": "/a"},
        ),
        say("text", "w"),
    ]
    parser = EventParser("cline", now=lambda: NOON, profile="extended", detail=True)
    found = [event for record in records for event in parser.feed(line(record))] + parser.close()
    names = ("call_id", "tool", "subagent", "duration_ms")
    told = [
        (event.origin and event.origin.line, *(getattr(event, name) for name in names)) for event in found
    ]
    assert told == [
        (2, "c", "run_commands", None, 7),
        (2, "c", "run_commands", None, 7),
        (3, "d", "demo__add", None, None),
        (4, "c", "spawn_agent", None, None),
        (6, None, None, "sub", None),
        (8, None, None, None, None),
        (9, None, None, "scout", None),
        (11, None, None, None, None),
        (10, "e", "editor", "scout", None),
    ]
