"""The chat view's records as events of the extended profile: 2.x prints them, stored tasks hold them.

Kinds by Cline's source up to 3.89 and Roo Code's up to 3.52. A call is told by one `tool` record, whose text
is JSON; its outcome is not told. Web pages, browsers and MCP servers have no event and stay unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from stenograph import event, jsonio
from stenograph.event import Event
from stenograph.tools import Resolve, Tool, draft, line, text


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


_SILENT = _names(
    """
    task api_req_started api_req_finished api_req_retried api_req_deleted deleted_api_reqs subagent_usage
    api_req_retry_delayed api_req_rate_limit_wait command_output completion_result user_feedback
    user_feedback_diff user_edit_todos resume_task resume_completed_task checkpoint_created checkpoint_saved
    info task_progress condense summarize_task condense_context sliding_window_truncation compaction new_task
    new_task_started codebase_search_result mcp_server_request_started hook hook_output hook_status
    hook_output_stream conditional_rules_applied load_mcp_documentation report_bug image
    """
)
_WARNINGS = _names(
    """
    diff_error clineignore_error rooignore_error condense_context_error shell_integration_warning
    shell_integration_warning_with_suggestion mistake_limit_reached too_many_tools_warning
    command_permission_denied auto_approval_max_req_reached request_limit_reached
    """
)
_ANSWERS = _names("plan_mode_respond plan_mode_response act_mode_respond")
TOOLS: Mapping[str, Tool] = {
    "readFile": Tool(does="read", start=("readLineStart", "startLine"), end=("readLineEnd",), count=()),
    "newFileCreated": Tool(does="write"),
    "editedExistingFile": Tool(does="write"),
    "fileDeleted": Tool(does="write"),
    "searchFiles": Tool(does="search", query=("regex",)),
    "listFilesTopLevel": Tool(does="list"),
    "listFilesRecursive": Tool(does="list"),
    "listCodeDefinitionNames": Tool(does="list"),
    "useSkill": Tool(does="skill", name=("path",), skill_file=()),
    "summarizeTask": Tool(does="silent"),
    # Roo Code's
    "appliedDiff": Tool(does="write"),
    "insertContent": Tool(does="write"),
    "searchAndReplace": Tool(does="write"),
    "generateImage": Tool(does="write"),
    "imageGenerated": Tool(does="silent"),  # the file was told by `generateImage`
    "codebaseSearch": Tool(does="search", query=("query",)),
    "skill": Tool(does="skill", name=("skill",), skill_file=()),
    "newTask": Tool(does="agent", name=("content",)),
    "finishTask": Tool(does="silent"),
    "switchMode": Tool(does="silent"),
    "updateTodoList": Tool(does="silent"),
    "fetchInstructions": Tool(does="silent"),
    "readCommandOutput": Tool(does="silent"),
    "runSlashCommand": Tool(does="skill", name=("command",)),
}
"""The `tool` records, by the member of that name."""
_BATCHES = ("batchFiles", "batchDiffs", "batchDirs")
_COMMANDS = {"project": ".roo/commands", "global": "~/.roo/commands"}


def events(kind: str, record: Any, resolve: Resolve) -> list[Event] | None:
    """What an ask or a say of a kind tells; None when it is not understood."""
    told = text(record, ("text",)) or ""
    if kind in _SILENT:
        return []
    if kind in _WARNINGS:
        return [event.Warning(message=message(told) or kind, code=kind)]
    if kind in _ANSWERS:
        answer = text(parsed(told), ("response",)) or told
        return [event.Agent(message=answer)] if answer else []
    read = _READERS.get(kind)
    return read(told, resolve) if read else None


def slash_command(source: Any, resolve: Resolve) -> list[Event]:
    """Roo's slash command as the skill that its file is; one that is built in has no file."""
    name, where = text(source, ("command",)), text(source, ("source",)) or "project"
    if name is None or where not in _COMMANDS:
        return []
    return [event.Skill(path=resolve(f"{_COMMANDS[where]}/{name}.md"), skill_name=name)]


def parsed(told: str | None) -> Any:
    """The value of a text that is JSON, else None."""
    try:
        return jsonio.loads((told or "").encode("utf-8", "backslashreplace"))
    except ValueError:
        return None


def message(told: str | None) -> str | None:
    """The `message` inside a text that is JSON, else the text."""
    return text(parsed(told), ("message",)) or told


def _command(told: str, _: Resolve) -> list[Event] | None:
    return [event.Command(command=told)] if told else None


def _tool(told: str, resolve: Resolve) -> list[Event] | None:
    source = parsed(told)
    name = text(source, ("tool",)) or ""
    tool = TOOLS.get(name)
    if tool is None:
        return None
    if tool.does == "silent":
        return []
    if name == "runSlashCommand":
        return slash_command(source, resolve)
    if tool.does == "agent":
        return [_started(text(source, tool.name))]
    return [made for each in _each(source) for made in draft(tool, each, resolve) or ()] or None


def _each(source: Any) -> list[Any]:
    """The files or folders that one record of Roo's tells at once, else the record itself."""
    for key in _BATCHES:
        many = source.get(key) if isinstance(source, dict) else None
        if isinstance(many, list) and many:
            return many
    return [source]


def _retry(told: str, _: Resolve) -> list[Event]:
    source = parsed(told)
    if not isinstance(source, dict):
        return [event.Warning(message=told)] if told else []
    if source.get("failed") is True:
        return []
    attempt, most = line(source, ("attempt",)), line(source, ("maxAttempts",))
    words = f"api retry {attempt} of {most}" if attempt and most else "api retry"
    fault = message(text(source, ("errorMessage",)))
    return [event.Warning(message=f"{words}: {fault}" if fault else words)]


def _subagents(told: str, _: Resolve) -> list[Event] | None:
    """Classic's subagents: asked for together, one for each prompt."""
    source = parsed(told)
    prompts = source.get("prompts") if isinstance(source, dict) else None
    if not isinstance(prompts, list):
        return None
    return [_started(each) for each in prompts if isinstance(each, str) and each] or None


def _subagent(told: str, _: Resolve) -> list[Event] | None:
    """How far classic's subagents are: those that are done."""
    source = parsed(told)
    items = source.get("items") if isinstance(source, dict) else None
    return list(_ends(items)) if isinstance(items, list) else None


def _ends(items: list[Any]) -> Iterator[Event]:
    for item in items:
        match item:
            case {"status": "completed" | "failed" as status}:
                ok = status == "completed"
                yield event.Orchestration(
                    action="subagent_completed" if ok else "subagent_failed",
                    subagent_name=text(item, ("prompt",)),
                    is_success=ok,
                )


def _subtask_ended(_: str, __: Resolve) -> list[Event]:
    """Roo's subtask came back with its result; which one is not told."""
    return [event.Orchestration(action="subagent_completed", is_success=True)]


def _started(name: str | None) -> Event:
    return event.Orchestration(action="subagent_started", subagent_name=name)


_READERS: Mapping[str, Callable[[str, Resolve], list[Event] | None]] = {
    "tool": _tool,
    "command": _command,
    "error_retry": _retry,
    "use_subagents": _subagents,
    "subagent": _subagent,
    "subtask_result": _subtask_ended,
}
