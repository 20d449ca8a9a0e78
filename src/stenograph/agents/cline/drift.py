"""What releases up to now have written into task directories, to tell what is new.

Kinds and members by the writers' sources: Cline up to 3.89 and Roo Code up to 3.52.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from stenograph.agents.cline.taskdir import Task
from stenograph.agents.cline.types import Block, HistoryItem, Message, UIMessage
from stenograph.agents.cline.xml import TOOL_NAMES
from stenograph.document import Array, Object
from stenograph.errors import Place
from stenograph.notes import Kind, Report


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ASKS = _names(
    """followup command completion_result tool api_req_failed command_output request_limit_reached resume_task
    resume_completed_task mistake_limit_reached browser_action_launch use_mcp_server
    auto_approval_max_req_reached plan_mode_response plan_mode_respond new_task condense report_bug
    summarize_task act_mode_respond use_subagents"""
)
_SAYS = _names(
    """task error api_req_started api_req_finished text command_output completion_result user_feedback
    api_req_retried tool user_feedback_diff shell_integration_warning inspect_site_result browser_action
    browser_action_result mcp_server_request_started mcp_server_response command browser_action_launch
    use_mcp_server diff_error deleted_api_reqs reasoning clineignore_error checkpoint_created
    load_mcp_documentation info mcp_notification task_progress error_retry
    shell_integration_warning_with_suggestion hook hook_output hook_status hook_output_stream
    generate_explanation command_permission_denied conditional_rules_applied subagent use_subagents
    subagent_usage compaction plan_completion_result api_req_retry_delayed api_req_rate_limit_wait
    api_req_deleted image subtask_result checkpoint_saved rooignore_error condense_context
    condense_context_error sliding_window_truncation codebase_search_result user_edit_todos
    too_many_tools_warning new_task new_task_started browser_session_status"""
)
_MEMBERS: Mapping[type[Object], frozenset[str]] = {
    UIMessage: _names(
        """images files reasoning commandCompleted lastCheckpointHash isCheckpointCheckedOut
        isOperationOutsideWorkspace checkpoint progressStatus isProtected isAnswered metadata"""
    ),
    Block: _names("call_id reasoning_details summary"),
    HistoryItem: _names(
        """tokensIn tokensOut cacheWrites cacheReads totalCost size ulid isFavorited number tokens
        delegatedToId awaitingChildId completedByChildId toolProtocol checkpointTrackerErrorMessage
        checkpointManagerErrorMessage"""
    ),
}
_BLOCKS = _names(
    """text image document tool_use tool_result thinking redacted_thinking reasoning
    thoughtSignature"""
)
_NAME = 80
_ROO_NATIVE = frozenset(("skill", "read_command_output", "edit", "custom_tool", "access_mcp_resource"))


def check_task(task: Task, report: Report) -> None:
    """Note each kind, member and tool of a task that no release up to now has written."""
    for at, shown in enumerate(task.ui.elements):
        where = _where(task, task.ui, at)
        _check_members(shown, where, report)
        known = {"ask": _ASKS, "say": _SAYS}.get(shown.type, frozenset())
        if not shown.error and shown.kind not in known:
            note_new(report, "kind", f"{shown.type}/{shown.kind}", where)
    for at, message in enumerate(task.api.elements):
        where = _where(task, task.api, at)
        _check_members(message, where, report)
        _check_blocks(message, where, report)
    for item in filter(None, (task.history,)):
        _check_members(item, Place(task.history_path), report)


def note_new(report: Report, what: str, name: str, where: Place) -> None:
    """Note something new, each name on its own."""
    report.add(Kind.DRIFT, f"new-{what}:{name[:_NAME]}", where, name)


def _check_blocks(message: Message, where: Place, report: Report) -> None:
    for block in message.content.blocks:
        _check_members(block, where, report)
        if not block.error and block.type not in _BLOCKS:
            note_new(report, "block", block.type, where)
        if block.type == "tool_use" and not _is_known_tool(block.name):
            note_new(report, "tool", block.name, where)


def _is_known_tool(name: str) -> bool:
    """Tools of MCP servers have names made by the user's settings."""
    return name in TOOL_NAMES or name in _ROO_NATIVE or "mcp" in name or "--" in name


def _check_members(record: Object, where: Place, report: Report) -> None:
    known = _MEMBERS.get(type(record), frozenset())
    for name in _new(record.cells, record.declared, known):
        note_new(report, "member", f"{type(record).__name__}.{name}", where)


def _new(names: Iterable[str], declared: Mapping[str, Any], known: frozenset[str]) -> list[str]:
    return [name for name in names if name not in declared and name not in known]


def _where(task: Task, array: Array[Any], at: int) -> Place:
    return Place(os.path.join(task.dir, array.name), array.spans[at][0], at + 1)
