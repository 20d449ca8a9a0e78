"""What a list of sessions says of a task, from its UI messages, metadata and index entry alone.

Of the UI messages only those are decoded whose bytes name a kind that counts. The API history is read only
where the UI messages tell of no request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from stenograph.agents.cline.folders import (
    FILE_API,
    FILE_LEGACY,
    FILE_UI,
    list_dir,
)
from stenograph.agents.cline.requests import to_time
from stenograph.agents.cline.scalars import to_float, to_millis
from stenograph.agents.cline.taskdir import Task, read_task
from stenograph.agents.cline.timeline import model, workspace
from stenograph.agents.cline.turns import words
from stenograph.agents.cline.types import USAGE, UIMessage
from stenograph.agents.cline.usage import add, totals_of
from stenograph.model import Summary, Totals

_COUNTS = tuple(b"api_req_started deleted_api_reqs api_req_finished subagent_usage contextCondense".split())
_FOLDER = re.compile(r"# Current (?:Working|Workspace) Directory \((.+)\) Files")
_TITLE = 200


def of_task(folder: str) -> Summary:
    """The summary of a task directory; raises ReadError when it has no main file that can be loaded."""
    names = list_dir(folder).files
    has_ui = FILE_UI in names or FILE_LEGACY in names
    task = read_task(folder, without=(FILE_API,) if has_ui else ())
    found = _of_read(task)
    if found.requests or not (has_ui and FILE_API in names):
        task.require()
        return found
    return _of_read(read_task(folder).require())


def _of_read(task: Task) -> Summary:
    return of_loaded(task, [message for message in task.ui.elements if _may_count(message.raw)])


def of_loaded(task: Task, counting: Sequence[UIMessage]) -> Summary:
    """The summary of a task that was read; `counting` are the UI messages that may count."""
    shown = task.ui.elements
    asked = [message for message in counting if message.kind == "api_req_started"]
    errors = [task.api.error, task.ui.error, task.context.error, task.metadata_error, task.history_error]
    return Summary(
        path=task.dir,
        format=f"{'roo' if task.variant == 'roo' else 'cline'}-task",
        agent="roo" if task.variant == "roo" else "cline",
        id=task.id,
        variant=task.variant,
        parent=task.history.parent_task_id if task.history else "",
        started=to_time(next(_times(task), None) or to_millis(task.id)),
        updated=to_time(next(_times(task, reverse=True), None)),
        cwd=workspace(task) or _folder(asked[:1]),
        model=model(task) or _model(shown),
        title=_title(task),
        requests=len(asked) or sum(message.role == "assistant" for message in task.api.elements),
        totals=_totals(counting),
        faults=sum(error is not None for error in errors),
    )


def _may_count(data: bytes) -> bool:
    """Whether a message's bytes name a kind that counts; five plain searches are faster than one pattern."""
    return any(word in data for word in _COUNTS)


def _times(task: Task, *, reverse: bool = False) -> Iterator[datetime]:
    """The times that are told, from the beginning or from the end."""
    for array in (task.ui, task.api):
        elements: Sequence[object] = array.elements
        for element in reversed(elements) if reverse else elements:
            time = getattr(element, "time", None)
            if isinstance(time, datetime):
                yield time


def _totals(counting: Sequence[UIMessage]) -> Totals:
    """All that was paid: requests, also those a restored checkpoint removed, subagents, Roo's condensing."""
    parts = [totals_of(info) for message in counting if message.kind in USAGE and (info := message.usage)]
    for message in counting:
        condense = message.context_condense
        if isinstance(condense, dict):
            parts.append(Totals(cost=to_float(condense.get("cost"))))
    return add(parts)


def _folder(asked: Sequence[UIMessage]) -> str:
    """The working folder that the first request names; a path may hold `) Files` itself."""
    info = asked[0].req_info if asked else None
    found = _FOLDER.search(info.request) if info else None
    return found.group(1) if found else ""


def _model(shown: Sequence[UIMessage]) -> str:
    for message in reversed(shown):
        info = message.get("modelInfo")
        if isinstance(info, dict) and isinstance(info.get("modelId"), str):
            return str(info["modelId"])
    return ""


def _title(task: Task) -> str:
    """The user's first words."""
    if task.history and task.history.task:
        return task.history.task[:_TITLE]
    shown = next((m.text for m in task.ui.elements if m.kind in ("task", "text") and m.text), "")
    if shown:
        return shown[:_TITLE]
    for message in task.api.elements[:1]:
        text = message.content.text or next((block.text for block in message.content.blocks), "")
        return words(text)[:_TITLE]
    return ""
