"""Reads ATIF documents as timelines, their subagents' trajectories as threads.

Documents of other writers are read by what their steps say; in ours `extra.stenograph.entries` says the rest.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from stenograph import jsonio
from stenograph.errors import ReadError
from stenograph.event import Tokens
from stenograph.interchange import facts
from stenograph.interchange.atif_step import from_image, from_part
from stenograph.model import (
    Entry,
    Noticed,
    Part,
    Prompted,
    Reply,
    Request,
    Said,
    Session,
    Spent,
    Started,
    Summary,
    Thought,
    ToolCalled,
    ToolReturned,
    Totals,
    Where,
)
from stenograph.notes import Report
from stenograph.projection import Projection
from stenograph.store import Skipped, Store

_MARK = b'"ATIF-v'
_PEEK = 1 << 16
_TEXTS = {
    "said": ("message", "text"),
    "prompted": ("message", "text"),
    "thought": ("reasoning_content", "text"),
    "instructions": ("message", "instructions"),
}
"""How our own steps name a piece of text: where it stands, and which member of the entry it is."""


class AtifStore(Store):
    """ATIF documents, ours and those of other writers."""

    format = "atif"
    agent = "atif"
    place = "NAME.json"
    is_file = True

    def find(self, root: str, *, skipped: Skipped | None = None) -> Iterator[str]:
        """The documents that stand directly in a folder."""
        try:
            names = sorted(os.listdir(root))
        except OSError as fault:
            if skipped and os.path.isdir(root):
                skipped(ReadError(f"cannot list {root}: {(fault.strerror or str(fault)).lower()}"))
            return
        for name in names:
            path = os.path.join(root, name)
            if self.holds(path):
                yield path

    def holds(self, path: str) -> bool:
        """Whether a path is a JSON file whose beginning names a version of the format."""
        if not path.endswith(".json") or not os.path.isfile(path):
            return False
        try:
            with open(path, "rb") as file:
                head = file.read(_PEEK)
        except OSError:
            return False
        return _MARK in head and b'"schema_version"' in head

    def files(self, path: str) -> list[str]:
        """The file itself."""
        return [path]

    def summary(self, path: str) -> Summary:
        """From the whole file."""
        return self.load(path).summary

    def session_id(self, path: str) -> str | None:
        """The agent's own id, None where it told none; the document's in those of other writers."""
        session = self.load(path)
        extra = _dict(session.source.get("extra"))
        return (
            _word(_dict(extra["stenograph"]).get("id")) if "stenograph" in extra else session.summary.id
        ) or None

    def projection(self) -> type[Projection]:
        """That of no agent; which one is right depends on the session."""
        return Projection

    def load(self, path: str) -> Session:
        """The trajectory; raises ReadError when the file is no JSON object."""
        return read_document(path)

    def live(self, path: str) -> Iterator[Entry]:
        """The entries in the order of the steps."""
        return iter(self.load(path).entries)

    def check(self, path: str) -> tuple[int, Report]:
        """How many steps there are."""
        return len(_list(self.load(path).source.get("steps"))), Report()


def read_document(path: str) -> Session:
    """The session of one document; raises ReadError when it cannot be read."""
    try:
        with open(path, "rb") as file:
            document = jsonio.loads(file.read())
    except OSError as fault:
        raise ReadError(f"{path}: {(fault.strerror or str(fault)).lower()}") from fault
    except ValueError as fault:
        raise ReadError(f"{path} is no JSON: {fault}") from fault
    if not isinstance(document, dict):
        raise ReadError(f"{path} is no JSON object")
    entries = list(_entries(document, None, os.path.basename(path)))
    agent = _dict(document.get("agent"))
    source = _dict(_dict(document.get("extra")).get("stenograph"))
    times = [entry.place.at for entry in entries if entry.place.at]
    steps = _list(document.get("steps"))
    summary = Summary(
        path=path,
        format=AtifStore.format,
        agent=_word(agent.get("name")) or "atif",
        id=_word(source.get("id"))
        or _word(document.get("session_id"))
        or _word(document.get("trajectory_id")),
        variant=_word(source.get("variant")),
        parent=_word(source.get("parent")),
        started=times[0] if times else None,
        updated=times[-1] if times else None,
        cwd=_word(source.get("cwd")),
        model=_word(agent.get("model_name")),
        title=_word(source.get("title")),
        requests=sum(_dict(step).get("source") == "agent" for step in steps),
        totals=_totals(_dict(document.get("final_metrics"))),
    )
    return Session(
        summary=summary,
        entries=entries,
        requests=list(_requests(steps)),
        report=Report(),
        source=document,
        sent=lambda request: [],
    )


def _entries(document: dict[str, Any], thread: str | None, file: str) -> Iterator[Entry]:
    """The entries of one trajectory, then those of its subagents."""
    ours = "stenograph" in _dict(document.get("extra"))
    if not ours:
        agent = _dict(document.get("agent"))
        version, model = _word(agent.get("version")) or None, _word(agent.get("model_name")) or None
        yield Started(version=version, model=model, thread=thread, place=Where(file=file))
    for number, step in enumerate(_list(document.get("steps")), 1):
        if not isinstance(step, dict):
            continue
        place = Where(line=number, at=_word(step.get("timestamp")) or None, file=file)
        source = Part(jsonio.dumps(step))
        for entry in _step(step):
            entry.thread, entry.place, entry.source = thread, place, source
            yield entry
    for child in _list(document.get("subagent_trajectories")):
        told = _dict(_dict(_dict(child).get("extra")).get("stenograph"))
        name = _word(told.get("thread")) or _word(_dict(child).get("trajectory_id")) or "subagent"
        yield from _entries(_dict(child), name, file)


def _step(step: dict[str, Any]) -> Iterator[Entry]:
    kept = _dict(_dict(step.get("extra")).get("stenograph")).get("entries")
    if not isinstance(kept, list):
        yield from _plainly(step)
        return
    for each in kept:
        if isinstance(each, dict):
            yield _restored(step, each)


def _restored(step: dict[str, Any], kept: dict[str, Any]) -> Entry:
    """The entry that a step keeps in one of our own forms."""
    for name, (member, field) in _TEXTS.items():
        match kept.get(name):
            case [int(start), int(end)]:
                text = _text(step.get(member))[start:end]
                tag = "started" if name == "instructions" else name
                return _from(kept, {"entry": tag, field: text}, name)
    number = kept.get("call")
    if isinstance(number, int):
        return _from(kept, facts.to_json(_called(_at(step.get("tool_calls"), number))), "call")
    number = kept.get("result")
    if isinstance(number, int):
        results = _dict(step.get("observation")).get("results")
        entry = _returned(_at(results, number), is_json=kept.get("json") is True)
        return _from(kept, facts.to_json(entry), "result")
    number = kept.get("image")
    if isinstance(number, int):
        images = [part for part in _list(step.get("message")) if _dict(part).get("type") == "image"]
        return Noticed(kind="block/image", raw=Part(jsonio.dumps(from_image(_dict(_at(images, number))))))
    return facts.from_json(kept)


def _from(kept: dict[str, Any], known: dict[str, Any], mark: str) -> Entry:
    rest = {name: value for name, value in kept.items() if name not in (mark, "json")}
    return facts.from_json(facts.restored(rest, known))


def _plainly(step: dict[str, Any]) -> Iterator[Entry]:
    """What a step of another writer says."""
    text = _text(step.get("message"))
    if step.get("source") != "agent":
        yield Prompted(text=text, synthetic=step.get("source") == "system")
        yield from _observed(step)
        return
    model = _word(step.get("model_name"))
    reply = Reply(model=model) if model else None
    if step.get("metrics"):
        yield _spent(_dict(step["metrics"]))
    if thought := _word(step.get("reasoning_content")):
        yield Thought(text=thought, reply=reply)
    if text:
        yield Said(text=text, reply=reply)
    for call in _list(step.get("tool_calls")):
        entry = _called(call)
        entry.reply = reply
        yield entry
    yield from _observed(step)


def _observed(step: dict[str, Any]) -> Iterator[Entry]:
    for result in _list(_dict(step.get("observation")).get("results")):
        entry = _returned(result)
        entry.raw = facts.block_of(entry)
        yield entry


def _called(call: Any) -> ToolCalled:
    told = _dict(call)
    name, given = _word(told.get("tool_call_id")) or None, told.get("arguments")
    tool = _word(told.get("function_name"))
    block = {"type": "tool_use", "id": name, "name": tool, "input": given}
    return ToolCalled(id=name, tool=tool, input=given, raw=Part(jsonio.dumps(block)))


def _returned(result: Any, *, is_json: bool = False) -> ToolReturned:
    told = _dict(result)
    content = told.get("content")
    if is_json and isinstance(content, str):
        with suppress(ValueError):  # else the text stays one
            content = jsonio.loads(content.encode("utf-8", "surrogatepass"))
    elif isinstance(content, list):
        content = [from_part(part) for part in content]
    details = _dict(told.get("extra")).get("details")
    return ToolReturned(
        id=_word(told.get("source_call_id")) or None,
        ok=None,
        output=content,
        details=Part(jsonio.dumps(details)),
    )


def _spent(metrics: dict[str, Any]) -> Spent:
    prompt, cached = _count(metrics.get("prompt_tokens")), _count(metrics.get("cached_tokens"))
    cost = metrics.get("cost_usd")
    return Spent(
        tokens=Tokens(
            uncached_input=None if prompt is None else max(0, prompt - (cached or 0)),
            cached_input=cached,
            output=_count(metrics.get("completion_tokens")),
        ),
        cost=cost if isinstance(cost, int | float) else None,
    )


def _requests(steps: list[Any]) -> Iterator[Request]:
    answers = [at for at, step in enumerate(steps) if _dict(step).get("source") == "agent"]
    for number, at in enumerate(answers):
        told = _word(_dict(steps[at]).get("timestamp")) or None
        yield Request(number=number, last=at - 1, element=at, at=told)


def _totals(metrics: dict[str, Any]) -> Totals:
    cost = metrics.get("total_cost_usd")
    return Totals(
        tokens_in=_count(metrics.get("total_prompt_tokens")) or 0,
        tokens_out=_count(metrics.get("total_completion_tokens")) or 0,
        cache_reads=_count(metrics.get("total_cached_tokens")) or 0,
        cost=cost if isinstance(cost, int | float) else None,
    )


def _text(message: Any) -> str:
    if isinstance(message, list):
        return "".join(_word(_dict(part).get("text")) for part in message)
    return _word(message)


def _at(values: Any, number: int) -> Any:
    return values[number] if isinstance(values, list) and 0 <= number < len(values) else {}


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    return value if type(value) is int else None
