"""One step of an ATIF trajectory, built from the entries that belong to it.

`extra.stenograph.entries` tells, in order, what the step was made of: `said`, `thought` and `prompted` name
a piece of the step's text by its begin and end, `call` and `result` a tool call or observation by number;
whatever else an entry says stands beside that. Facts that have no form in a step stand there whole.
"""

from __future__ import annotations

from typing import Any

from stenograph import jsonio
from stenograph.interchange import asf_items, facts
from stenograph.interchange.answers import Answer
from stenograph.interchange.codes import Notes
from stenograph.interchange.moments import spelled
from stenograph.model import Ended, Entry, Noticed, Prompted, Said, Spent, Thought, ToolCalled, ToolReturned

IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_BETWEEN = "\n\n"


class Step:
    """A step being built; `source` is system, user or agent."""

    def __init__(self, source: str, entry: Entry | None, answer: Answer | None = None) -> None:
        self.source = source
        self.answer = answer
        self.time = spelled(entry.place.at) if entry else None
        self.kept: list[dict[str, Any]] = []
        self.records: list[Any] = []
        self.calls: list[dict[str, Any]] = []
        self.results: list[dict[str, Any]] = []
        self.media: list[dict[str, Any]] = []
        self._ids: dict[str | None, str] = {}
        self._texts: dict[str, list[str]] = {"message": [], "reasoning_content": []}
        self._at = {"message": 0, "reasoning_content": 0}

    def holds(self, call: str | None) -> bool:
        """Whether a call was made in this step."""
        return call in self._ids

    def text(self, entry: Prompted | Said | Thought, said: dict[str, Any], whole: str | None) -> None:
        """Add a text; `whole` is the block's own, of which the entry's may be a part."""
        member = "reasoning_content" if isinstance(entry, Thought) else "message"
        text = entry.text if whole is None else whole
        if self._texts[member]:
            self._at[member] += len(_BETWEEN)
        start = self._at[member]
        self._texts[member].append(text)
        self._at[member] += len(text)
        at = [start, start + len(text)]
        known = {"entry": said["entry"], "text": text}
        self.kept.append({said["entry"]: at} | facts.difference(said, known))

    def instructions(self, words: str, said: dict[str, Any]) -> None:
        """Add the system prompt."""
        self._texts["message"].append(words)
        known = {"entry": "started", "instructions": words}
        self.kept.append({"instructions": [0, len(words)]} | facts.difference(said, known))

    def call(self, entry: ToolCalled, said: dict[str, Any], name: str) -> None:
        """Add a tool call under an id."""
        given = jsonio.value(entry.input)
        arguments = given if isinstance(given, dict) else {}
        self._ids[entry.id] = name
        known = {"entry": "called", "id": name, "tool": entry.tool, "input": arguments}
        self.kept.append({"call": len(self.calls)} | facts.difference(said, known))
        self.calls.append({"tool_call_id": name, "function_name": entry.tool, "arguments": arguments})

    def result(self, entry: ToolReturned, said: dict[str, Any], notes: Notes) -> None:
        """Add an observation; one of a call of this step names it."""
        name = self._ids.get(entry.id, entry.id)
        content, is_json = _content(entry.output)
        found: dict[str, Any] = {"source_call_id": name} if name else {}
        if content is not None:
            found["content"] = content
        known = {"entry": "returned", "output": said.get("output")} | ({"id": name} if name else {})
        if is_json:
            notes.add("json-as-text", entry, str(content)[:60])
        if "details" in said:
            found["extra"] = {"details": said["details"]}
            known["details"] = said["details"]
        mark = {"result": len(self.results)} | ({"json": True} if is_json else {})
        self.kept.append(mark | facts.difference(said, known))
        self.results.append(found)

    def picture(self, entry: Noticed, said: dict[str, Any], notes: Notes) -> None:
        """Add an image to the message, where the format takes its type."""
        part = image_part(entry.raw.value())
        if part is None:
            notes.add("media-beside", entry, entry.kind)
            self.kept.append(said)
            return
        self.kept.append({"image": len(self.media)})
        self.media.append(part)

    def refer(self, call: str | None, trajectory: str) -> bool:
        """Name the trajectory of the subagent that a call started; False when the call is not here."""
        if call not in self._ids:
            return False
        name = self._ids[call]
        found = next((each for each in self.results if each.get("source_call_id") == name), None)
        if found is None:
            found = {"source_call_id": name}
            self.results.append(found)
        found.setdefault("subagent_trajectory_ref", []).append({"trajectory_id": trajectory})
        return True

    def to_json(self, number: int, model: str | None) -> dict[str, Any]:
        """The step's object; `model` is the trajectory's own, which is not repeated."""
        step: dict[str, Any] = {"step_id": number, "source": self.source}
        if self.time:
            step["timestamp"] = self.time
        message = _BETWEEN.join(self._texts["message"])
        step["message"] = self._parts(message) if self.media else message
        thought = _BETWEEN.join(self._texts["reasoning_content"])
        if self.source == "agent":
            if thought:
                step["reasoning_content"] = thought
            if self.calls:
                step["tool_calls"] = self.calls
            step |= self._answer(model)
        if self.results:
            step["observation"] = {"results": self.results}
        more = {"entries": self.kept} | ({"records": self.records} if self.records else {})
        return step | {"extra": {"stenograph": more}}

    def _parts(self, message: str) -> list[dict[str, Any]]:
        return [*([{"type": "text", "text": message}] if message else []), *self.media]

    def _answer(self, model: str | None) -> dict[str, Any]:
        answer = self.answer
        if answer is None:
            return {}
        found: dict[str, Any] = {"llm_call_count": 1}
        if answer.model and answer.model != model:
            found["model_name"] = answer.model
        metrics = metrics_of(answer)
        return found | ({"metrics": metrics} if metrics else {})


def metrics_of(answer: Answer) -> dict[str, Any]:
    """What one call of the model took."""
    tokens, spent = answer.tokens, answer.spent
    found: dict[str, Any] = {}
    if tokens:
        counts = {
            "prompt_tokens": _sum(tokens.uncached_input, tokens.cached_input),
            "completion_tokens": _sum(tokens.output, tokens.reasoning),
            "cached_tokens": tokens.cached_input,
        }
        found |= {name: count for name, count in counts.items() if count is not None}
        more = {"cache_creation_tokens": answer.cache_writes, "reasoning_tokens": tokens.reasoning}
        told = {name: count for name, count in more.items() if count is not None}
        found |= {"extra": told} if told else {}
    if spent and spent.cost is not None:
        found["cost_usd"] = spent.cost
    return found


class Sums:
    """What a trajectory took in all: by its calls, or by the ends of its runs where no call tells it."""

    def __init__(self) -> None:
        self._calls = _Sum()
        self._runs = _Sum()

    def take(self, entry: Entry) -> None:
        """Count an entry that tells usage."""
        if isinstance(entry, Spent):
            self._calls.add(entry.tokens, entry.cost)
        elif isinstance(entry, Ended):
            self._runs.add(entry.tokens, entry.cost)

    def to_json(self, steps: int) -> dict[str, Any]:
        """The final metrics."""
        told = self._calls if self._calls.is_told else self._runs
        known = {
            "total_prompt_tokens": told.prompt,
            "total_completion_tokens": told.completion,
            "total_cached_tokens": told.cached,
            "total_cost_usd": told.cost,
        }
        return {name: value for name, value in known.items() if value is not None} | {"total_steps": steps}


class _Sum:
    def __init__(self) -> None:
        self.is_told = False
        self.prompt: int | None = None
        self.completion: int | None = None
        self.cached: int | None = None
        self.cost: float | None = None

    def add(self, tokens: Any, cost: float | None) -> None:
        self.is_told = self.is_told or tokens is not None or cost is not None
        if tokens is not None:
            self.prompt = _sum(self.prompt, tokens.uncached_input, tokens.cached_input)
            self.completion = _sum(self.completion, tokens.output, tokens.reasoning)
            self.cached = _sum(self.cached, tokens.cached_input)
        if cost is not None:
            self.cost = (self.cost or 0) + cost


def image_part(block: Any) -> dict[str, Any] | None:
    """The content part for a picture; None when it has a type that the format does not take."""
    part = asf_items.media_part(block)
    url = part.get("image_url") if part else None
    match block:
        case {"source": {"media_type": str(kind)}} | {"mediaType": str(kind)} if url and kind in IMAGES:
            return {"type": "image", "source": {"media_type": kind, "path": url}}
    return None


def from_image(part: dict[str, Any]) -> Any:
    """The block that a picture was made of; the part itself when it names none."""
    match part:
        case {"source": {"path": str(path)}}:
            return asf_items.from_output([{"type": "input_image", "image_url": path}])[0]
    return part


def _content(output: Any) -> tuple[Any, bool]:
    """An output as the format takes it, and whether it is a value's JSON text."""
    value = jsonio.value(output)
    if value is None or isinstance(value, str):
        return value, False
    if isinstance(value, list) and value:
        parts = [_part(block) for block in value]
        if None not in parts and [from_part(part) for part in parts] == value:
            return parts, False
    return jsonio.dumps(value).decode("utf-8", "replace"), True


def _part(block: Any) -> dict[str, Any] | None:
    match block:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
    return image_part(block)


def from_part(part: Any) -> Any:
    """The block that a content part was made of."""
    is_image = isinstance(part, dict) and part.get("type") == "image"
    return from_image(part) if is_image else part


def _sum(*counts: int | None) -> int | None:
    told = [count for count in counts if count is not None]
    return sum(told) if told else None
