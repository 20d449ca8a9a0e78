"""A task directory as one timeline: the API history, what the chat view showed, edits, requests' usage.

The API history says what was said and called; the UI messages, each stamped with how long the history was
when it was shown, say when, at what cost, and what went wrong. What both hold is taken from the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from stenograph import jsonio
from stenograph.agents.cline.scalars import to_float, to_int, to_rfc3339
from stenograph.agents.cline.taskdir import Task
from stenograph.agents.cline.turns import Turns
from stenograph.agents.cline.types import USAGE, ContextUpdate, Message, UIMessage
from stenograph.agents.cline.usage import tokens_of, totals_of
from stenograph.document import Array
from stenograph.event import Tokens
from stenograph.model import (
    Entry,
    Failed,
    Noticed,
    Part,
    Prompted,
    Said,
    Spent,
    Started,
    Thought,
    ToolCalled,
    Unread,
    Warned,
    Where,
)

_TREES = {"checkpoint_created": "lastCheckpointHash", "checkpoint_saved": "text"}
"""The messages that name a saved state of the files, and the member that does."""

_FAULTS = ("error", "api_req_failed")
_WARNINGS = (
    "diff_error",
    "clineignore_error",
    "rooignore_error",
    "condense_context_error",
    "shell_integration_warning",
    "shell_integration_warning_with_suggestion",
    "mistake_limit_reached",
    "too_many_tools_warning",
    "command_permission_denied",
)


def timeline(task: Task) -> Iterator[Entry]:
    """The entries of a task in order, each with its file, element and byte range."""
    yield _started(task)
    yield from _Merge(task).entries()


class _Merge:
    """Walks the UI messages and puts in front of each what was there before it."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.turns = Turns()
        self.next_message = 0
        self.next_edit = 0
        self.truncated: dict[str, list[int]] = {}
        for at, message in enumerate(task.api.elements):
            message.decode()
            if parent := message.truncation_parent:
                self.truncated.setdefault(parent, []).append(at)
        self.left_out: tuple[int, int] | None = None
        self.edits = sorted(enumerate(task.context.elements), key=lambda each: _order(each[1]))

    def entries(self) -> Iterator[Entry]:
        """Everything, in order."""
        count = len(self.task.api.elements)
        for at, message in enumerate(self.task.ui.elements):
            source = Part(message.raw, held=message.decode())
            index = message.history_index
            reach = self._reach(message, index)
            if reach > self.next_message:
                yield from self._history(reach)
            if self.next_edit < len(self.edits):
                yield from self._edits(message)
            place = place_of(self.task.ui, at, message)
            if told := message.deleted_range:
                yield from self._range(told, source, place)
            is_kept = count > 0 if index is None else index + 1 < count  # the history holds it, too
            for entry in _shown(message, source, is_kept=is_kept, is_first=at == 0):
                entry.place, entry.source = place, source
                yield entry
        yield from self._history(count)
        yield from self._edits(None)

    def _reach(self, shown: UIMessage, told: int | None) -> int:
        """How many messages of the history stand before a UI message, by the index that it tells."""
        if told is not None:
            return told + (2 if shown.kind == "api_req_started" else 1)
        time, reach = shown.time, self.next_message
        messages = self.task.api.elements
        while time and reach < len(messages) and (at := messages[reach].time) and at <= time:
            reach += 1
        return reach

    def _history(self, reach: int) -> Iterator[Entry]:
        messages = self.task.api.elements
        while self.next_message < min(reach, len(messages)):
            at, message = self.next_message, messages[self.next_message]
            self.next_message += 1
            place = place_of(self.task.api, at, message)
            for entry in self.turns.read(message, at):
                entry.place = place
                yield entry
            gone = self.truncated.get(message.truncation_id) if message.is_truncation_marker else None
            if gone:
                told = {"file": self.task.api.name, "messages": gone}
                yield Noticed(kind="left_out", record=told, place=place, source=Part(message.raw))

    def _edits(self, until: UIMessage | None) -> Iterator[Entry]:
        """The context edits that were made before a UI message, or all that are left."""
        time = until.time if until else None
        while self.next_edit < len(self.edits):
            at, update = self.edits[self.next_edit]
            if until and not (time and update.time and update.time <= time):
                return
            self.next_edit += 1
            yield _edit(update, place_of(self.task.context, at, update))

    def _range(self, told: tuple[int, int], source: Part, place: Where) -> Iterator[Entry]:
        if told != self.left_out:
            self.left_out = told
            record = {"file": self.task.api.name, "start": told[0], "end": told[1]}
            yield Noticed(kind="left_out", record=record, place=place, source=source)


def place_of(array: Array[Any], at: int, element: Message | UIMessage | ContextUpdate) -> Where:
    """Where an element stands: its file, its number from 1, its bytes."""
    start, end = array.spans[at]
    return Where(
        at=to_rfc3339(element.ts),
        line=at + 1,
        offset=start,
        length=end - start,
        is_object=element.error is None,
        file=array.name,
    )


def _order(update: ContextUpdate) -> int:
    found = to_int(update.ts)
    return found[0] if found else 0


def _edit(update: ContextUpdate, place: Where) -> Entry:
    if update.error:
        return Unread(raw=msgspec.Raw(update.raw), place=place)
    record = {
        "message": update.message,
        "block": update.block,
        "type": update.edit_type,
        "text": update.new_text,
    }
    return Noticed(kind="context_edit", record=record, raw=Part(update.raw), place=place)


def _started(task: Task) -> Entry:
    metadata = task.metadata
    versions = [each.cline_version for each in metadata.environment_history] if metadata else []
    return Started(
        session_id=task.id,
        cwd=workspace(task) or None,
        model=model(task) or None,
        version=versions[-1] if versions else None,
        place=Where(file=task.history_file),
    )


def workspace(task: Task) -> str:
    """The folder the task ran in, empty when no index entry tells it."""
    item = task.history
    return (item.cwd_on_task_initialization or item.workspace) if item else ""


def model(task: Task) -> str:
    """The last model that is named, empty when none is."""
    usage = task.metadata.model_usage if task.metadata else []
    if usage:
        return usage[-1].model_id
    told = (message.model_info for message in reversed(task.api.elements))
    found = next((info.model_id for info in told if info), "")
    return found or (task.history.model_id if task.history else "")


def _shown(message: UIMessage, source: Part, *, is_kept: bool, is_first: bool) -> Iterable[Entry]:
    if message.error:
        return (Unread(raw=msgspec.Raw(source.data)),)
    kind = message.kind
    if kind in USAGE and message.usage:
        return _request(message)
    if kind in _FAULTS:
        return (Failed(message=_inner(message.text) or kind),)
    if kind in _WARNINGS:
        return (Warned(message=_inner(message.text) or kind, code=kind),)
    if not is_kept and (entry := _alone(message, is_first=is_first)):
        return (entry,)
    tree = message.get(_TREES[kind]) if kind in _TREES else None
    seen = Noticed(
        kind=f"{message.type}/{kind}",
        record=source.held,
        raw=source,
        tree=tree if isinstance(tree, str) and tree else None,
    )
    condense = message.context_condense
    if isinstance(condense, dict) and (cost := to_float(condense.get("cost"))) is not None:
        return (seen, Spent(tokens=Tokens(), cost=cost, kind=kind))
    return (seen,)


def _request(message: UIMessage) -> Iterator[Entry]:
    info = message.usage
    if info is None:
        return
    if info.has_usage:
        took = totals_of(info)
        kind = None if message.kind in ("api_req_started", "api_req_finished") else message.kind
        yield Spent(
            tokens=tokens_of(took, info.api_protocol),
            cost=took.cost,
            cache_writes=took.cache_writes or None,
            kind=kind,
            fault_code=info.cancel_reason or None,
        )
    else:
        yield Noticed(kind=f"{message.type}/{message.kind}", raw=Part(message.raw))
    if info.cancel_reason:
        fault = _inner(info.streaming_failed_message)
        said = f"{info.cancel_reason}: {fault}" if fault else info.cancel_reason
        yield Warned(message=said, code=info.cancel_reason)


def _alone(message: UIMessage, *, is_first: bool) -> Entry | None:
    """What a UI message says where there is no history to say it; the first text is the user's."""
    kind, text = message.kind, message.text
    match kind:
        case "task" | "user_feedback":
            return Prompted(text=text)
        case "text" if is_first:
            return Prompted(text=text)
        case "text" | "completion_result" if text:
            return Said(text=text)
        case "reasoning":
            return Thought(text=text or str(message.get("reasoning", "")))
        case "command":
            return ToolCalled(id=None, tool=kind, input={"command": text}, raw=Part(message.raw))
        case "tool" | "use_mcp_server" | "browser_action":
            source = _loads(text)
            name = source.get("tool") if isinstance(source, dict) else None
            return ToolCalled(
                id=None, tool=name if isinstance(name, str) else kind, input=source, raw=Part(message.raw)
            )
    return None


def _inner(text: str) -> str:
    """The `message` inside a text that is JSON, else the text."""
    found = _loads(text)
    told = found.get("message") if isinstance(found, dict) else None
    return told if isinstance(told, str) and told else text


def _loads(text: str) -> Any:
    try:
        return jsonio.loads(text.encode("utf-8", "backslashreplace"))
    except ValueError:
        return None
