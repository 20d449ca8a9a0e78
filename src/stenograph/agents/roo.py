"""Roo Code: where its task directories differ from classic Cline's, from which it was forked.

The records, files and readers are those of `cline.task`; here stand Roo's own XML trimming, its native tool
names, and what its requests held. From Roo Code's source up to 3.52 and published tasks. XML tools were
removed in 3.42, so newer tasks hold tool_use blocks alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stenograph.agents.cline import task as cline
from stenograph.agents.cline.task import Message, Task, TaskStore, XMLToolCall
from stenograph.model import Request, Sent

NATIVE_TOOLS = ("skill", "read_command_output", "edit", "custom_tool")
"""Tools that Roo offers as native calls only; those of MCP servers are named `mcp--server--tool`."""


class RooStore(TaskStore):
    """Task directories of Roo Code and its successors.

    Which agent wrote one is told when it is read.
    """

    format = "roo-task"
    agent = "roo"
    place = "…/rooveterinaryinc.roo-cline/tasks/ID"

    def sent(self, task: Task, request: Request) -> list[Sent]:
        """The messages of a request, by Roo's rules."""
        return sent(task, request)


def parse_xml_tools(text: str) -> list[XMLToolCall]:
    """The calls a model wrote as XML, as Roo read them: of a file's content only the outer line breaks go."""
    return cline.parse_xml_tools(text, keep=_trim)


def sent(task: Task, request: Request) -> list[Sent]:
    """The messages of a request: nothing is deleted, tags say what is left out.

    With a summary only the last one and what follows is sent. A message whose parent names a truncation
    marker or, without a summary, a summary that is there is left out; orphans are sent. Results of calls that
    are not sent are dropped.
    """
    history = task.api.elements[: request.last + 1]
    summary = max((at for at, message in enumerate(history) if message.is_summary), default=None)
    markers = {m.truncation_id for m in history if m.is_truncation_marker and m.truncation_id}
    summaries = {m.condense_id for m in history if m.condense_id} if summary is None else set()
    kept = [
        at
        for at in range(summary or 0, len(history))
        if history[at].truncation_parent not in markers and history[at].condense_parent not in summaries
    ]
    return _without_orphans(history, kept)


def _without_orphans(history: Sequence[Message], kept: Sequence[int]) -> list[Sent]:
    """Drop the results of calls that are not sent, and messages that held nothing else."""
    calls = {use.id for at in kept for use in history[at].tool_uses}
    found: list[Sent] = []
    for at in kept:
        message, content = history[at], history[at].get("content")
        if not isinstance(content, list):
            found.append(Sent(role=message.role, content=content, index=at))
            continue
        blocks = [block for block in content if not _is_orphan(block, calls)]
        if blocks or not content:
            edited = len(blocks) != len(content)
            found.append(Sent(role=message.role, content=blocks, index=at, is_edited=edited))
    return found


def _is_orphan(block: Any, calls: set[str]) -> bool:
    is_result = isinstance(block, dict) and block.get("type") == "tool_result"
    return is_result and block.get("tool_use_id") not in calls


def _trim(name: str, value: str) -> str:
    if name != "content":
        return cline.trim(name, value)
    return value.removeprefix("\n").removesuffix("\n")
