"""Writes one thread of a timeline as one file of the Agent Session Format 0.11.

Each entry of the timeline becomes an item, a response, a config, an env, a compaction or a custom record.
What the item does not say of it stands beside the item, in members of our own:

- `stenograph:entries`: what a reader needs to make the entries again, where the item alone would not do;
- `stenograph:record`: the members of the native record that nothing else holds;
- `stenograph:reply`, `stenograph:cost_usd`: of a response, the provider's own ids and the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stenograph.interchange import asf_items, facts, leftovers
from stenograph.interchange.answers import Answer, Answers
from stenograph.interchange.asf_context import Context
from stenograph.interchange.asf_log import Log
from stenograph.interchange.codes import Notes
from stenograph.interchange.moments import EPOCH, spelled
from stenograph.interchange.run import session_id
from stenograph.model import (
    Entry,
    Noticed,
    Prompted,
    Said,
    Spent,
    Started,
    Thought,
    ToolCalled,
    ToolReturned,
)

NS = "stenograph"
ENTRIES, RECORD, REPLY, COST = (f"{NS}:{name}" for name in ("entries", "record", "reply", "cost_usd"))

_NOTICED_AS_ITEM = ("block/image", "block/document", "block/file")


class SessionWriter:
    """One session file being written; `write` takes its lines behind the header."""

    def __init__(
        self, write: Callable[[bytes], object], notes: Notes, *, agent: str, created_at: str = EPOCH
    ) -> None:
        self.agent = agent
        self.notes = notes
        self.log = Log(write)
        self.context = Context(self._put)
        self.answers = Answers()
        self.calls: dict[str | None, str] = {}  # native id to the one in use
        self._used: set[str] = set()
        self._names: dict[int, str] = {}  # answers' response ids
        self._responses: set[str] = set()
        self._model: str | None = None
        self._instructions: str | None = None
        self._now = created_at
        self._waiting: list[dict[str, Any]] = []  # entries that the next line carries
        self._is_begun = False

    def take(self, group: Sequence[Entry]) -> None:
        """Write the entries of one native record."""
        self._clock(group[0])
        record = leftovers.record_of(group)
        blocks = list(leftovers.blocks(group, record))
        told: list[dict[str, Any]] = []
        for number, (entries, text) in enumerate(blocks):
            said = facts.said_of(entries)
            told += [each | {"text": text} if text is not None else each for each in said]
            rest = None
            if record is not None and number == len(blocks) - 1:
                rest = leftovers.beside(record, group, told)
                if rest is not None:
                    self.notes.add("record-beside", entries[0], leftovers.named(rest))
            self._block(entries, said, text, rest)

    def link(self, session: str, call: str | None) -> None:
        """Name the session that a call of this one started."""
        body: dict[str, Any] = {"rel": "subsession", "session": session, ENTRIES: []}
        self._put("link", body | ({"call_id": self.calls.get(call, call)} if call else {}))

    def close(self) -> None:
        """Write what is left: the last response, usage without an answer, entries that wait."""
        turn = self.answers.close()
        self._settle(turn.paid, turn.done)
        if self._waiting:
            self._put("custom", {"ns": NS}, [])

    def _block(self, entries: list[Entry], said: list[dict[str, Any]], text: str | None, rest: Any) -> None:
        """Write what was made of one block of a record; the last line takes what remains of the record."""
        for number, entry in enumerate(entries):
            turn = self.answers.take(entry)
            self._settle(turn.paid, turn.done)
            is_last = number == len(entries) - 1
            if text is not None and len(entries) > 1:
                if is_last:
                    self._text(entries, said, text, rest, turn.own)
                continue
            self._one(entry, said[number], text, rest if is_last else None, turn.own)

    def _one(
        self, entry: Entry, said: dict[str, Any], text: str | None, rest: Any, answer: Answer | None
    ) -> None:
        extra = {} if rest is None else {RECORD: rest}
        match entry:
            case Spent() if rest is None:
                self._waiting.append(said)
            case Spent():
                self._fact(entry, said, extra)
            case Started():
                self._started(entry, said, extra)
            case Noticed(kind="summary"):
                self._summary(entry, said, extra)
            case Noticed(kind="truncation"):
                item = asf_items.message("user", asf_items.texts(entry.record))
                self.context.note(entry, self._put("item", {"item": item, **extra}, [said]))
            case Noticed(kind="left_out"):
                self._fact(entry, said, extra)
                if self.context.leave_out(entry.record) == 0:
                    self.notes.add("left-out-unknown", entry, str(entry.record))
                for call in self.context.orphans:
                    self.notes.add("stand-in", entry, call)
            case Noticed(kind="child", record={"id": str(child)}):
                session = session_id(self.agent, child)
                self._put("link", {"rel": "subsession", "session": session, **extra}, [said])
            case Noticed(tree=str(tree)):
                self._put("env", {f"{self.agent}:tree": tree, **extra}, [said])
            case Prompted() | Said() | Thought() | ToolCalled() | ToolReturned() | Noticed():
                self._item(entry, said, text, extra, answer)
            case _:
                self._fact(entry, said, extra)

    def _item(
        self,
        entry: Entry,
        said: dict[str, Any],
        text: str | None,
        extra: dict[str, Any],
        answer: Answer | None,
    ) -> None:
        if text is not None and isinstance(entry, ToolCalled | ToolReturned):
            self._text([entry], [said], text, extra.get(RECORD), answer)
            return
        call = self._call_id(entry) if isinstance(entry, ToolCalled | ToolReturned) else ""
        item = None
        if not isinstance(entry, Noticed) or entry.kind in _NOTICED_AS_ITEM:
            item = asf_items.to_item(entry, call)
        if item is None:
            self._fact(entry, said, extra)
            return
        if text is not None:
            item = asf_items.message("assistant" if isinstance(entry, Said) else "user", text)
        if isinstance(entry, ToolReturned) and not isinstance(entry.output, str | list | None):
            self.notes.add("json-as-text", entry, item["output"][:60])
        body = {"item": item, **extra}
        if isinstance(entry, Prompted) and entry.synthetic:
            body["visible"] = False
        self._line(body, [entry], [said], answer)

    def _text(
        self, entries: list[Entry], said: list[dict[str, Any]], text: str, rest: Any, answer: Answer | None
    ) -> None:
        """A text that several entries were read from stays one message."""
        told = [entry for entry in entries if isinstance(entry, Said | ToolCalled | Thought)]
        if any(isinstance(entry, ToolCalled | ToolReturned) for entry in entries):
            self.notes.add("call-in-text", entries[0], text[:60])
        item = asf_items.message("assistant" if told else "user", text)
        self._line({"item": item} | ({} if rest is None else {RECORD: rest}), entries, said, answer)

    def _line(
        self, body: dict[str, Any], entries: list[Entry], said: list[dict[str, Any]], answer: Answer | None
    ) -> None:
        """Write an item line; beside it, of each entry, what the item does not say."""
        known = _known(body, entries[0], said[0])
        kept = [facts.difference(_without_reply(each, answer), known) for each in said]
        if answer:
            self._use(answer)
            body["response"] = self._name(answer)
        is_plain = len(kept) == 1 and not kept[0] and not self._waiting
        line = self._put("item", body, None if is_plain else kept)
        for entry in entries:
            self.context.note(entry, line)

    def _fact(self, entry: Entry, said: dict[str, Any], extra: dict[str, Any]) -> None:
        """Write what the format has no form for as a record of our own."""
        example = f"{said['entry']} {said.get('kind', '')}".strip()
        self.notes.add("fact-beside", entry, example)
        if isinstance(entry, Noticed) and entry.kind == "context_edit":
            self.notes.add("context-edit", entry, str(entry.record)[:100])
        self._put("custom", {"ns": NS, "data": said, **extra}, [{}] if self._waiting else None)

    def _started(self, entry: Started, said: dict[str, Any], extra: dict[str, Any]) -> None:
        """The session began, or a turn of it: a change of settings."""
        settings = {"model": entry.model, "instructions": entry.instructions}
        if self._is_begun and (entry.model in (None, self._model)):
            self._fact(entry, said, extra)
            return
        self._is_begun = True
        self._model = entry.model or self._model
        self._instructions = entry.instructions or self._instructions
        known = facts.to_json(Started(model=entry.model, instructions=entry.instructions))
        kept = facts.difference(said, known)
        self._put("config", {name: value for name, value in settings.items() if value} | extra, [kept])

    def _begin(self, model: str | None) -> None:
        """The first entry of a session should be a config; so is a change of the model."""
        if self._is_begun and model in (None, self._model):
            return
        self._is_begun = True
        self._model = model or self._model
        self._put("config", {"model": model, ENTRIES: []} if model else {ENTRIES: []})

    def _use(self, answer: Answer) -> None:
        if answer.model:
            self._begin(answer.model)

    def _summary(self, entry: Noticed, said: dict[str, Any], extra: dict[str, Any]) -> None:
        """A summary takes the place of all that stands before it."""
        content = entry.record
        text = content if isinstance(content, str) else asf_items.texts(content)
        settings = {"model": self._model, "instructions": self._instructions}
        config = {name: value for name, value in settings.items() if value}
        mark = self._put("custom", {"ns": NS, "data": {"about": "compaction"}, ENTRIES: []})
        body = {"first_kept": mark, "summary": asf_items.message("user", text), "config": config, **extra}
        self._put("compaction", body, [said])
        self.context.compacted()

    def _settle(self, paid: Iterable[Spent], done: Answer | None) -> None:
        if done:
            self._response(done)
        for spent in paid:
            usage = usage_of(spent.tokens, spent.cache_writes)
            data: dict[str, Any] = {"usage": usage, "about": spent.kind or "request"}
            if self._model:
                data["model"] = self._model
            self._cost(data, spent)
            self._put("custom", {"ns": NS, "data": data, ENTRIES: []})

    def _response(self, answer: Answer) -> None:
        body: dict[str, Any] = {"response_id": self._name(answer), ENTRIES: []}
        tokens, reply, spent = answer.tokens, answer.reply, answer.spent
        if self._model or answer.model:
            body["model"] = answer.model or self._model
        if tokens:
            body["usage"] = usage_of(tokens, answer.cache_writes)
            if tokens.output is None:
                self.notes.add("usage-partial", answer.first, body["response_id"])
        body[REPLY] = facts.plain(reply) or {} if reply else None
        if reply and reply.stop == "max_tokens":
            body["incomplete"] = {"reason": "max_output_tokens"}
        if spent and spent.fault_code:
            body["error"] = {"code": spent.fault_code, "message": spent.fault_code}
        self._cost(body, spent)
        self._put("response", body)

    def _cost(self, body: dict[str, Any], spent: Spent | None) -> None:
        if spent and spent.cost is not None:
            self.notes.add("cost-beside", spent, str(spent.cost))
            body[COST] = spent.cost

    def _name(self, answer: Answer) -> str:
        """The response id of an answer, unique in the session."""
        known = self._names.get(answer.number)
        if known:
            return known
        told = answer.reply.id if answer.reply else None
        if not told:
            told = f"response-{answer.number}"
            self.notes.add("response-id-made", answer.first, told)
        name = told if told not in self._responses else f"{told}-{answer.number}"
        self._responses.add(name)
        self._names = {answer.number: name}
        return name

    def _call_id(self, entry: ToolCalled | ToolReturned) -> str:
        """The id in use for a call: its own, unless that is missing or was used before."""
        native = entry.id
        if isinstance(entry, ToolReturned) and native in self.calls:
            return self.calls[native]
        made = native or f"call-{len(self._used) + 1}"
        if not native:
            self.notes.add("call-id-made", entry, made)
        number = 1
        while made in self._used:
            number += 1
            made = f"{native or 'call'}-{number}"
        if native and made != native:
            self.notes.add("call-id-changed", entry, native)
        if isinstance(entry, ToolCalled):
            self._used.add(made)
            self.calls[native] = made
        return made

    def _clock(self, entry: Entry) -> None:
        told = spelled(entry.place.at)
        if told is not None:
            self._now = told
        else:
            self.notes.add("no-time" if self._now == EPOCH else "time-carried", entry)

    def _put(self, kind: str, body: dict[str, Any], kept: list[dict[str, Any]] | None = None) -> str:
        """Write a line; `kept` are its entries where they do not follow from it."""
        if kind != "config":
            self._begin(None)
        if self._waiting and ENTRIES not in body:
            kept = self._waiting + ([{}] if kept is None else kept)
            self._waiting = []
        if kept is not None:
            body[ENTRIES] = kept
        before = self.log.changes
        line = self.log.put(kind, body, self._now)
        if self.log.changes != before:
            self.notes.add("normalised", None, kind)
        return line


def _known(body: dict[str, Any], entry: Entry, said: dict[str, Any]) -> dict[str, Any]:
    """What an item line says by itself of the first entry that it was made of."""
    item = body["item"]
    if (
        isinstance(entry, ToolCalled) and item["type"] == "function_call"
    ):  # whose input need not be read again
        return {"entry": "called", "id": item["call_id"], "tool": entry.tool, "input": said.get("input")}
    return facts.to_json(read_item(body))


def read_item(body: dict[str, Any]) -> Entry:
    """The entry that an item line says by itself."""
    entry = asf_items.from_item(body["item"])
    if isinstance(entry, Prompted) and body.get("visible") is False:
        entry.synthetic = True
    return entry


def usage_of(tokens: Any, cache_writes: int | None) -> dict[str, Any]:
    """Tokens in the payload's shape: input counts all, cached ones too; what is not told is left out."""
    usage: dict[str, Any] = {}
    if tokens.uncached_input is not None or tokens.cached_input is not None:
        usage["input_tokens"] = (tokens.uncached_input or 0) + (tokens.cached_input or 0)
        details = {"cached_tokens": tokens.cached_input or 0}
        usage["input_tokens_details"] = details | (
            {} if cache_writes is None else {"cache_creation_tokens": cache_writes}
        )
    if tokens.output is not None or tokens.reasoning is not None:
        usage["output_tokens"] = (tokens.output or 0) + (tokens.reasoning or 0)
        if tokens.reasoning is not None:
            usage["output_tokens_details"] = {"reasoning_tokens": tokens.reasoning}
    if "input_tokens" in usage and "output_tokens" in usage:
        usage["total_tokens"] = usage["input_tokens"] + usage["output_tokens"]
    return usage


def _without_reply(said: dict[str, Any], answer: Answer | None) -> dict[str, Any]:
    """What an entry says, without the reply that its response holds."""
    if answer is None or "reply" not in said:
        return said
    held = facts.plain(answer.reply) if answer.reply else None
    return {name: value for name, value in said.items() if name != "reply"} if said["reply"] == held else said
