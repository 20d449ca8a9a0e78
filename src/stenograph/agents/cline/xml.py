"""Tool calls that a model wrote as XML in its text, as classic Cline's last parser reads them.

There are no attributes and no entities, and calls are found anywhere: in code fences and thinking too. Only
known tools and known parameters are tags; inside a parameter everything is raw up to its closing tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import msgspec

TOOL_NAMES: tuple[str, ...] = (
    # both agents
    "execute_command",
    "read_file",
    "write_to_file",
    "search_files",
    "list_files",
    "list_code_definition_names",
    "browser_action",
    "use_mcp_tool",
    "access_mcp_resource",
    "ask_followup_question",
    "attempt_completion",
    "new_task",
    # classic Cline
    "replace_in_file",
    "plan_mode_respond",
    "act_mode_respond",
    "load_mcp_documentation",
    "condense",
    "summarize_task",
    "report_bug",
    "new_rule",
    "web_fetch",
    "web_search",
    "use_subagents",
    "focus_chain",
    "generate_explanation",  # 3.39
    "use_skill",
    "plan_mode_response",  # 3.2 to 3.8.3
    "inspect_site",  # 2.0
    # Roo Code
    "apply_diff",
    "insert_content",
    "search_and_replace",
    "codebase_search",
    "switch_mode",
    "update_todo_list",
    "fetch_instructions",
    "run_slash_command",
    "generate_image",
    "search_replace",
    "edit_file",
    "apply_patch",
)
"""The tools that either agent let a model call in this style."""

_PARAMS = (
    "absolutePath|action|additional_context|allowed_domains|api_request_output|args|arguments|"
    "blocked_domains|command|content|context|coordinate|cwd|diff|end_line|file_path|file_pattern|"
    "files|follow_up|from_ref|ignore_case|image|input|instructions|line|line_count|max_turns|"
    "message|mode|mode_slug|needs_more_exploration|new_string|old_string|operations|options|patch|"
    "path|prompt|prompt_1|prompt_2|prompt_3|prompt_4|prompt_5|query|question|reason|recursive|regex|"
    "replace|requires_approval|response|result|search|server_name|size|skill|skill_name|start_line|"
    "steps_to_reproduce|task|task_progress|text|timeout|title|to_ref|todos|tool_name|uri|url|"
    "use_regex|what_happened"
)
_OPENING = re.compile(f"<({'|'.join(TOOL_NAMES)})>")
_INSIDE = re.compile(f"<({_PARAMS})>|</({'|'.join(TOOL_NAMES)})>")
_BLANKS = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)


class XMLToolCall(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One call; `partial` says that the text ends inside it."""

    name: str
    params: dict[str, str] = {}
    partial: bool = False


def trim(_: str, value: str) -> str:
    """A parameter's value without white space around it."""
    return value.strip(_BLANKS)


def parse_xml_tools(text: str, *, keep: Callable[[str, str], str] = trim) -> list[XMLToolCall]:
    """The calls in a text, in order; other text is ignored. Reads what it can, never fails.

    `keep` takes a parameter's name and raw value, and gives what is kept of it.
    """
    return [part for part in split(text, keep=keep) if isinstance(part, XMLToolCall)]


def split(text: str, *, keep: Callable[[str, str], str] = trim) -> list[str | XMLToolCall]:
    """A text as its calls and the prose between them, in order; empty prose is left out."""
    parts: list[str | XMLToolCall] = []
    at = 0
    while opening := _OPENING.search(text, at):
        prose = text[at : opening.start()]
        call, at = _read_call(text, opening.group(1), opening.end(), keep)
        parts += [prose, call] if prose else [call]
    return [*parts, text[at:]] if text[at:] else parts


def names(calls: Iterable[XMLToolCall]) -> list[str]:
    """The distinct tool names of calls, sorted."""
    return sorted({call.name for call in calls})


def _read_call(text: str, tool: str, start: int, keep: Callable[[str, str], str]) -> tuple[XMLToolCall, int]:
    """The call whose opening tag ends at `start`, and where the text goes on behind it."""
    params: dict[str, str] = {}
    at = start
    while tag := _INSIDE.search(text, at):
        param, closed = tag.groups()
        at = tag.end()
        if closed == tool:
            if tool == "write_to_file":
                _reread_content(text[start : tag.start()], params, keep)
            return XMLToolCall(name=tool, params=params), at
        if not param:
            continue
        end = text.find(f"</{param}>", at)
        params[param] = keep(param, text[at : end if end >= 0 else len(text)])
        if end < 0:
            break
        at = end + len(param) + 3
    return XMLToolCall(name=tool, params=params, partial=True), len(text)


def _reread_content(inside: str, params: dict[str, str], keep: Callable[[str, str], str]) -> None:
    """A file's text may hold the closing tag itself: take it up to the last one inside the call."""
    start, end = inside.find("<content>"), inside.rfind("</content>")
    if 0 <= start < end:
        params["content"] = keep("content", inside[start + len("<content>") : end])
