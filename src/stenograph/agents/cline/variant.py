"""Which agent wrote a task directory: told by the storage directory's name, else by shapes only one writes.

The files record no version and no agent. The names and shapes come from both agents' sources and from
published files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest

from stenograph.agents.cline.folders import (
    FILE_CONTEXT_HISTORY,
    FILE_HISTORY_ITEM,
    FILE_TASK_HISTORY,
)
from stenograph.agents.cline.types import HistoryItem, Message, TaskMetadata, UIMessage, Variant

STORAGE_CLASSIC = "saoudrizwan.claude-dev"
STORAGE_ROO = "rooveterinaryinc.roo-cline"
STORAGES: Mapping[str, Variant] = {
    STORAGE_CLASSIC: "classic",
    "saoudrizwan.cline-nightly": "classic",
    STORAGE_ROO: "roo",
    "rooveterinaryinc.roo-code-nightly": "roo",
    "zoocodeorganization.zoo-code": "roo",
}
"""The storage directories' names, lower-cased as VS Code writes them."""

Told = tuple[Variant, str]

_FILES: Mapping[str, Variant] = {
    FILE_CONTEXT_HISTORY: "classic",
    FILE_TASK_HISTORY: "classic",
    FILE_HISTORY_ITEM: "roo",
}
_MESSAGE_MEMBERS: Mapping[str, Variant] = {
    **dict.fromkeys(("modelInfo", "metrics"), "classic"),
    **dict.fromkeys(
        (
            "isSummary",
            "condenseId",
            "condenseParent",
            "truncationId",
            "truncationParent",
            "isTruncationMarker",
            "encrypted_content",
            "reasoning_details",
            "reasoning_content",
        ),
        "roo",
    ),
}
_BLOCK_TYPES: Mapping[str, Variant] = {"reasoning": "roo", "thoughtSignature": "roo"}
_UI_MEMBERS: Mapping[str, Variant] = {
    **dict.fromkeys(
        (
            "conversationHistoryDeletedRange",
            "modelInfo",
            "files",
            "commandCompleted",
            "lastCheckpointHash",
            "isCheckpointCheckedOut",
            "isOperationOutsideWorkspace",
        ),
        "classic",
    ),
    **dict.fromkeys(
        (
            "apiProtocol",
            "contextCondense",
            "contextTruncation",
            "checkpoint",
            "progressStatus",
            "isProtected",
            "isAnswered",
        ),
        "roo",
    ),
}
_SAYS: Mapping[str, Variant] = {
    **dict.fromkeys(
        ("checkpoint_created", "deleted_api_reqs", "task_progress", "hook_status", "subagent_usage"),
        "classic",
    ),
    **dict.fromkeys(
        (
            "checkpoint_saved",
            "condense_context",
            "sliding_window_truncation",
            "subtask_result",
            "codebase_search_result",
            "user_edit_todos",
            "rooignore_error",
        ),
        "roo",
    ),
}
_METADATA_MEMBERS: Mapping[str, Variant] = {"model_usage": "classic", "environment_history": "classic"}
_CONTEXT_MEMBERS: Mapping[str, Variant] = {
    "cline_read_date": "classic",
    "cline_edit_date": "classic",
    "roo_read_date": "roo",
    "roo_edit_date": "roo",
}
_ITEM_MEMBERS: Mapping[str, Variant] = {
    **dict.fromkeys(
        ("conversationHistoryDeletedRange", "cwdOnTaskInitialization", "shadowGitConfigWorkTree", "modelId"),
        "classic",
    ),
    **dict.fromkeys(
        ("rootTaskId", "parentTaskId", "workspace", "mode", "apiConfigName", "status", "childIds", "number"),
        "roo",
    ),
}
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def by_storage(name: str) -> Told | None:
    """The variant by the name of the storage directory; copies may spell it in mixed case."""
    variant = STORAGES.get(name.lower())
    return (variant, "storage directory name") if variant else None


def by_shape(
    *,
    id: str,  # noqa: A002 - the wire's word
    files: Iterable[str],
    metadata: TaskMetadata | None,
    history: HistoryItem | None,
    api: Iterable[Message],
    ui: Iterable[UIMessage],
) -> Told:
    """The variant by the first shape that only one agent writes, cheapest first; classic when none tells."""
    return (
        _of(files, _FILES, "file")
        or _by_metadata(metadata)
        or (_of(history.cells, _ITEM_MEMBERS, "history item member") if history else None)
        or next(filter(None, _by_elements(api, ui)), None)
        or (("roo", "task id is a UUID") if _UUID.fullmatch(id) else None)
        or ("classic", "nothing tells; the elder assumed")
    )


def _of(names: Iterable[str], table: Mapping[str, Variant], what: str) -> Told | None:
    return next(((table[name], f"{what} {name}") for name in names if name in table), None)


def _by_metadata(metadata: TaskMetadata | None) -> Told | None:
    if metadata is None:
        return None
    logged = metadata.files_in_context
    records = [each for each in logged if isinstance(each, dict)] if isinstance(logged, list) else []
    names = [name for record in records for name in record]
    return _of(metadata.cells, _METADATA_MEMBERS, "metadata member") or _of(
        names, _CONTEXT_MEMBERS, "files_in_context member"
    )


def _by_elements(api: Iterable[Message], ui: Iterable[UIMessage]) -> Iterator[Told | None]:
    """Both files at once, for one may be long and tell nothing."""
    for message, shown in zip_longest(api, ui):
        yield _by_message(message) if message else None
        yield _by_ui_message(shown) if shown else None


def _by_message(message: Message) -> Told | None:
    if message.is_standalone_reasoning:
        return "roo", "reasoning without a role"
    told = _of(message.cells, _MESSAGE_MEMBERS, "message member")
    if told:
        return told
    blocks = message.content.blocks
    return _of((block.type for block in blocks), _BLOCK_TYPES, "block type") or (
        ("roo", "block member encrypted_content")
        if any("encrypted_content" in block for block in blocks)
        else None
    )


def _by_ui_message(message: UIMessage) -> Told | None:
    told = _of(message.cells, _UI_MEMBERS, "UI member") or _of((message.kind,), _SAYS, "UI kind")
    if told or message.kind != "api_req_started":
        return told
    info = message.req_info
    return ("roo", "request member apiProtocol") if info and "apiProtocol" in info else None
