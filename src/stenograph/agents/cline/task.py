"""Task directories of classic Cline (before 4.0, and hosts that kept its layout) and of Roo Code.

One directory a task, `<storage>/tasks/<id>/`, holds whole JSON documents that are written again on every
change, so they may be cut, stale or damaged anywhere. Read by the contract of the Go package `cline` of
agentimport v0.0.2 and by the agents' own sources. This module is the public face of the reader's parts.
"""

from __future__ import annotations

from stenograph.agents.cline.elements import (
    find_history,
    parse_context_history,
    parse_messages,
    parse_ui,
)
from stenograph.agents.cline.folders import (
    FILE_API,
    FILE_CONTEXT_HISTORY,
    FILE_HISTORY_ITEM,
    FILE_LEGACY,
    FILE_METADATA,
    FILE_SETTINGS,
    FILE_TASK_HISTORY,
    FILE_UI,
    MAX_SIZE,
    find_sessions,
    is_task_file,
    parent_task,
    task_dir,
)
from stenograph.agents.cline.scalars import is_null, to_float, to_int, to_millis, to_range
from stenograph.agents.cline.taskdir import Task, parse_task, read_task
from stenograph.agents.cline.taskstore import TaskStore
from stenograph.agents.cline.types import (
    Block,
    Content,
    ContextUpdate,
    Environment,
    HistoryItem,
    MediaSource,
    Message,
    Metrics,
    MetricTokens,
    ModelInfo,
    ModelUsage,
    ReqInfo,
    TaskMetadata,
    UIMessage,
)
from stenograph.agents.cline.variant import STORAGE_CLASSIC, STORAGE_ROO
from stenograph.agents.cline.xml import TOOL_NAMES, XMLToolCall, names, parse_xml_tools, trim
from stenograph.document import Array

__all__ = [
    "FILE_API",
    "FILE_CONTEXT_HISTORY",
    "FILE_HISTORY_ITEM",
    "FILE_LEGACY",
    "FILE_METADATA",
    "FILE_SETTINGS",
    "FILE_TASK_HISTORY",
    "FILE_UI",
    "MAX_SIZE",
    "STORAGE_CLASSIC",
    "STORAGE_ROO",
    "TOOL_NAMES",
    "Array",
    "Block",
    "Content",
    "ContextUpdate",
    "Environment",
    "HistoryItem",
    "MediaSource",
    "Message",
    "MetricTokens",
    "Metrics",
    "ModelInfo",
    "ModelUsage",
    "ReqInfo",
    "Task",
    "TaskMetadata",
    "TaskStore",
    "UIMessage",
    "XMLToolCall",
    "find_history",
    "find_sessions",
    "is_null",
    "is_task_file",
    "names",
    "parent_task",
    "parse_context_history",
    "parse_messages",
    "parse_task",
    "parse_ui",
    "parse_xml_tools",
    "read_task",
    "task_dir",
    "to_float",
    "to_int",
    "to_millis",
    "to_range",
    "trim",
]
