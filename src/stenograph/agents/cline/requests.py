"""The requests of a task, and what classic Cline sent the model at each (its source up to 3.89)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from stenograph.agents.cline.scalars import to_rfc3339
from stenograph.agents.cline.taskdir import Task
from stenograph.agents.cline.types import ContextUpdate, Message, UIMessage
from stenograph.agents.cline.usage import totals_of
from stenograph.model import Request, Sent

MISSING = "result missing"
"""What stands for the result of a call that has none."""

_NEVER = datetime.max.replace(tzinfo=UTC)


def requests(task: Task) -> list[Request]:
    """The requests in order: one for each `api_req_started`, or for each answer when there is no UI file.

    A request is stamped with the index of the message before the user's, which is the last one it sends.
    Where no index is told it is the user's next message, by time, else by count.
    """
    shown = [at for at, m in enumerate(task.ui.elements) if m.kind == "api_req_started"]
    answers = [at for at, message in enumerate(task.api.elements) if message.role == "assistant"]
    if not shown:
        return [
            Request(number=number, last=at - 1, element=at, at=to_rfc3339(task.api.elements[at].ts))
            for number, at in enumerate(answers)
        ]
    timed: list[tuple[datetime, int]] | None = None
    found: list[Request] = []
    for number, at in enumerate(shown):
        message = task.ui.elements[at]
        told = message.history_index
        if told is not None:
            found.append(_request(message, number, at, told + 1))
            continue
        timed = _asked(task) if timed is None else timed
        next_one = bisect_left(timed, (message.time or _NEVER, 0))
        if next_one < len(timed):
            last = timed[next_one][1]
        else:
            last = answers[number] - 1 if number < len(answers) else len(task.api.elements) - 1
        found.append(_request(message, number, at, last))
    return found


def sent(task: Task, request: Request) -> list[Sent]:
    """The messages of a request: the first two, then those behind the range that was left out, with edits.

    Of the first message behind a cut, when it is the user's, tool results are dropped before the edits are
    made, and block numbers are not shifted: so does Cline. Each call's result follows it, or a stand-in.
    """
    history = task.api.elements[: request.last + 1]
    left_out = _left_out(task, request)
    edits = _edits(task, request)
    kept: list[Sent] = []
    for at, message in enumerate(history):
        if left_out and left_out[0] <= at <= left_out[1]:
            continue
        is_behind = bool(left_out) and left_out is not None and at == left_out[1] + 1
        kept.append(
            _edited(at, message, edits.get(at, {}), drops_results=is_behind and message.role == "user")
        )
    return list(_paired(kept))


def to_time(moment: datetime | None) -> str | None:
    """A moment as RFC 3339 in UTC, to the millisecond."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z") if moment else None


def decoded(message: Message) -> Any:
    """A message's content as a JSON value."""
    return message.get("content")


def _asked(task: Task) -> list[tuple[datetime, int]]:
    """The user's messages that tell their time."""
    asked = [(m.time, at) for at, m in enumerate(task.api.elements) if m.role == "user"]
    return [(time, at) for time, at in asked if time]


def _request(message: UIMessage, number: int, at: int, last: int) -> Request:
    info, time = message.req_info, to_rfc3339(message.ts)
    if info is None:
        return Request(number=number, last=last, element=at, at=time)
    return Request(number=number, last=last, element=at, at=time, totals=totals_of(info))


def _left_out(task: Task, request: Request) -> tuple[int, int] | None:
    """The range in force: it is set while the request is made, so the answer's messages have it first."""
    shown = task.ui.elements
    if not shown:
        return task.history.deleted_range if task.history else None
    for message in shown[request.element + 1 :]:
        if message.kind == "api_req_started":
            break
        if message.history_index == request.last:
            return message.deleted_range
    return shown[request.element].deleted_range


def _edits(task: Task, request: Request) -> dict[int, dict[int, ContextUpdate]]:
    """By message and block, the last edit made before the next request."""
    until = next(
        (m.time for m in task.ui.elements[request.element + 1 :] if m.kind == "api_req_started" and m.time),
        None,
    )
    found: dict[int, dict[int, ContextUpdate]] = {}
    for update in task.context.elements:
        if not update.error and (until is None or (update.time is not None and update.time < until)):
            found.setdefault(update.message, {})[update.block] = update
    return found


def _edited(at: int, message: Message, edits: dict[int, ContextUpdate], *, drops_results: bool) -> Sent:
    content = decoded(message)
    if not isinstance(content, list):
        return Sent(role=message.role, content=content, index=at)
    blocks = [block for block in content if not (drops_results and _is_result(block))]
    done = [number for number, update in edits.items() if _put(blocks, number, update.new_text)]
    return Sent(
        role=message.role, content=blocks, index=at, is_edited=bool(done) or len(blocks) != len(content)
    )


def _put(blocks: list[Any], number: int, text: str) -> bool:
    """Replace a block's text, or the first text of a tool result; False when the block has none."""
    block: Any = blocks[number] if number < len(blocks) else None
    match block:
        case {"type": "text"}:
            blocks[number] = {**block, "text": text}
        case {"type": "tool_result", "content": [dict(first), *rest]} if first.get("type") == "text":
            blocks[number] = {**block, "content": [{**first, "text": text}, *rest]}
        case _:
            return False
    return True


def _paired(messages: list[Sent]) -> Iterator[Sent]:
    """Put each call's result first in the user message behind it, a stand-in where there is none."""
    calls: list[str] = []
    for message in messages:
        blocks = message.content if isinstance(message.content, list) else None
        if message.role == "user" and calls and blocks is not None:
            message = _answering(message, calls, blocks)
        calls = _calls(blocks) if message.role == "assistant" and blocks else []
        yield message


def _answering(message: Sent, calls: list[str], blocks: list[Any]) -> Sent:
    given = {block.get("tool_use_id"): block for block in blocks if _is_result(block)}
    results = [given.get(call) or _stand_in(call) for call in calls]
    ordered = results + [block for block in blocks if not (_is_result(block) and block in results)]
    is_edited = message.is_edited or ordered != blocks
    return Sent(role=message.role, content=ordered, index=message.index, is_edited=is_edited)


def _stand_in(call: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": MISSING}


def _calls(blocks: list[Any]) -> list[str]:
    uses = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use"]
    return [block["id"] for block in uses if isinstance(block.get("id"), str)]


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"
