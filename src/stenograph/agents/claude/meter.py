"""What Claude Code's records tell of tokens and cost, by the recordings of 1.0.60, 2.1.197 and 2.1.332.

2.1.332 tells with each `result` what every model took since the last one, subagents and side requests among
it. 2.1.197 tells the process's totals so far, 1.0.60 only `usage`, which counts each answer twice and no
subagent. What no `result` has told is taken from the messages; since 2.1 their output is that of their start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple, TypedDict

import msgspec

from stenograph import jsonio
from stenograph.fields import amount, count, members, word
from stenograph.meter import AT_START, NO_END, Counts, Meter, Row, without_reasoning

_KNOWN = 4096  # messages of one turn that are told from one another
_NULL = msgspec.Raw(b"null")  # as a shape leaves it
_SYNTHETIC = "<synthetic>"  # the model of words that no model said


class Written(TypedDict, total=False):
    """Cache writes by how long they last."""

    ephemeral_1h_input_tokens: Any


class Usage(TypedDict, total=False):
    """The usage of a message or a `result`."""

    input_tokens: Any
    cache_creation_input_tokens: Any
    cache_read_input_tokens: Any
    output_tokens: Any
    output_tokens_details: Any
    cache_creation: Written | None


class Message(TypedDict, total=False):
    """The message of an `assistant` record."""

    id: Any
    model: Any
    stop_reason: Any
    usage: Usage | None


class Assistant(TypedDict, total=False):
    """An `assistant` record."""

    type: str
    session_id: Any
    timestamp: Any
    parent_tool_use_id: Any
    message: Message


class System(TypedDict, total=False):
    """A `system` record."""

    type: str
    subtype: Any
    session_id: Any
    model: Any


class Result(TypedDict, total=False):
    """A `result` record."""

    type: str
    session_id: Any
    usage: Any
    modelUsage: Any
    model_usage_since_last_result: Any
    total_cost_usd: Any


SHAPES: dict[bytes, msgspec.json.Decoder[Any]] = {
    b"assistant": jsonio.decoder(Assistant),
    b"result": jsonio.decoder(Result),
    b"system": jsonio.decoder(System),
}


class ClaudeMeter(Meter):
    """Adds up what Claude Code's records tell."""

    reads = frozenset(("assistant", "result", "system"))
    shapes = SHAPES

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._answers: dict[str, _Answer] = {}  # by message id, those that no result has told yet
        self._older: list[_Sum] = []  # those added up, when there are too many to know each
        self._models: dict[str, dict[str, Any]] = {}  # what this session's last result told of each model
        self._cost: int | float = 0  # and of the cost

    def take(self, kind: str, record: dict[str, Any]) -> None:
        """An answer of the model, the end of a turn, or the beginning of one."""
        if kind == "assistant":
            self._answer(record)
            return
        self._enter(record)
        if kind == "result":
            self._result(record)
        elif record.get("subtype") == "init":
            self.model, self.open = _bare(record.get("model")), True

    def pending(self) -> Iterable[Row]:
        """The answers that no result has confirmed."""
        for answers in self._waiting():
            yield self.row(answers.tokens, model=answers.model, turns=answers.turns)

    def _waiting(self) -> list[_Sum]:
        return _united([*self._older, *map(_summed, self._answers.values())])

    def _enter(self, record: dict[str, Any]) -> None:
        """Notice another session; what the one before it has left open stays without its end."""
        session = record.get("session_id")
        if session == self.session or not word(session):
            return
        if self.open:
            self.gap(NO_END)
        self._spend(self._waiting())
        self._forget()
        self.session, self.open, self._models, self._cost = session, False, {}, 0

    def _answer(self, record: dict[str, Any]) -> None:
        """One record of a message: each repeats its usage, the last one (1.0) tells why the message ended."""
        message = record.get("message")
        if not isinstance(message, dict):
            return
        name, is_final = message.get("id"), message.get("stop_reason") is not None
        if type(name) is not str:
            name = f"{len(self._answers)} without id"
        elif (known := self._answers.get(name)) and known.is_final >= is_final:
            return
        if record.get("session_id") != self.session:
            self._enter(record)
        self.open = True
        model, usage = message.get("model"), message.get("usage")
        if usage is None or usage == _NULL or model == _SYNTHETIC:
            return
        if type(usage) is msgspec.Raw:
            usage = usage.copy()  # else the whole line would be kept with it
        self._answers[name] = _Answer(model, record.get("parent_tool_use_id"), is_final, usage)
        if len(self._answers) > _KNOWN:
            self._older, self._answers = self._waiting(), {}

    def _result(self, record: dict[str, Any]) -> None:
        self.open = False
        since, whole = record.get("model_usage_since_last_result"), record.get("modelUsage")
        if isinstance(since, dict):
            self._spend_models(since, record)
        elif isinstance(whole, dict):
            self._spend_models(self._growth(whole), record)
        else:
            self._spend_usage(record)
        self._models = members(whole)
        self._cost = amount(record.get("total_cost_usd")) or 0
        self._forget()

    def _spend_models(self, told: dict[str, Any], record: dict[str, Any]) -> None:
        """Add what a result tells of each model; the answers seen say how many turns that were."""
        turns = Counter({each.model: each.turns for each in self._older})
        turns.update(_bare(answer.model) for answer in self._answers.values())
        for name, usage in told.items():
            model = _bare(name)
            cost = amount(members(usage).get("costUSD"))
            self.spend(_of_model(members(usage)), model=model, cost=cost, turns=turns.pop(model, 0))
        if not told:
            cost = None if amount(record.get("total_cost_usd")) is None else 0
            self.spend(_nothing(counted(members(record.get("usage")))), cost=cost)
        for other, number in turns.items():
            self.spend(Counts(), model=other, turns=number)

    def _growth(self, whole: dict[str, Any]) -> dict[str, Any]:
        """Totals so far, as what came to them; less than the answers seen means that they began anew."""
        grown = {name: _less(members(now), members(self._models.get(name))) for name, now in whole.items()}
        seen = sum(answers.tokens.given or 0 for answers in self._waiting())
        came = sum(_of_model(usage).given or 0 for usage in grown.values())
        return whole if came < seen else grown

    def _spend_usage(self, record: dict[str, Any]) -> None:
        """Add a turn of which only `usage` is told: final messages are truer, and tell of subagents too."""
        main = [answer for answer in self._answers.values() if not word(answer.parent)]
        turns = len(main) + sum(answers.turns for answers in self._older if answers.is_main)
        total = amount(record.get("total_cost_usd"))
        cost = None if total is None else _step(total, self._cost)
        if main and all(answer.is_final for answer in main):
            self.spend(Counts(), model=_bare(main[-1].model), cost=cost)
            self._spend(self._waiting())
            return
        tokens = counted(members(record.get("usage")))
        self.spend(tokens, model=_bare(main[-1].model) if main else None, cost=cost, turns=turns)
        others = [_summed(answer) for answer in self._answers.values() if word(answer.parent)]
        self._spend(_united([*(answers for answers in self._older if not answers.is_main), *others]))

    def _spend(self, sums: list[_Sum]) -> None:
        for answers in sums:
            self.spend(answers.tokens, model=answers.model, turns=answers.turns)
            if not answers.is_final:
                self.gap(AT_START)

    def _forget(self) -> None:
        self._answers, self._older = {}, []


class _Answer(msgspec.Struct, frozen=True):
    """One answer of a model, as its record tells it."""

    model: Any
    parent: Any  # the call that started the subagent which asked
    is_final: bool  # the usage is that of the end
    usage: Any


class _Sum(NamedTuple):
    """Answers of one kind."""

    model: str | None
    is_main: bool
    is_final: bool
    tokens: Counts
    turns: int


def _summed(answer: _Answer) -> _Sum:
    tokens = counted(members(jsonio.value(answer.usage)))
    return _Sum(_bare(answer.model), word(answer.parent) is None, answer.is_final, tokens, 1)


def _united(sums: list[_Sum]) -> list[_Sum]:
    """One sum for each kind."""
    found: dict[tuple[str | None, bool, bool], _Sum] = {}
    for one in sums:
        known = found.get(one[:3])
        if known:
            one = one._replace(tokens=known.tokens + one.tokens, turns=known.turns + one.turns)
        found[one[:3]] = one
    return list(found.values())


def counted(usage: dict[str, Any]) -> Counts:
    """A `usage`: input counts neither cache class, output counts the thinking."""
    thinking = count(members(usage.get("output_tokens_details")).get("thinking_tokens"))
    return Counts.apart(
        fresh=count(usage.get("input_tokens")),
        read=count(usage.get("cache_read_input_tokens")),
        written=count(usage.get("cache_creation_input_tokens")),
        output=without_reasoning(count(usage.get("output_tokens")), thinking),
        reasoning=thinking,
        cache_write_1h=count(members(usage.get("cache_creation")).get("ephemeral_1h_input_tokens")),
    )


def _of_model(usage: dict[str, Any]) -> Counts:
    """What a result tells of one model."""
    thinking = count(usage.get("thinkingTokens"))
    return Counts.apart(
        fresh=count(usage.get("inputTokens")),
        read=count(usage.get("cacheReadInputTokens")),
        written=count(usage.get("cacheCreationInputTokens")),
        output=without_reasoning(count(usage.get("outputTokens")), thinking),
        reasoning=thinking,
        cache_write_1h=count(usage.get("cacheCreationEphemeral1hInputTokens")),
    )


def cost_since(models: Any) -> int | float | None:
    """What a result tells of the turn's cost in USD, summed over the models that served it."""
    told = [amount(members(model).get("costUSD")) for model in members(models).values()]
    costs = [cost for cost in told if cost is not None]
    return sum(costs) if costs else None


def _bare(model: Any) -> str | None:
    """A model's name without the program's own mark of a long context, `[1m]`."""
    return word(model.removesuffix("[1m]")) if isinstance(model, str) else None


def _nothing(tokens: Counts) -> Counts:
    """Zero of each class that is told at all."""
    names = tokens.__struct_fields__
    return Counts(**{name: None if getattr(tokens, name) is None else 0 for name in names})


def _less(now: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    return {
        name: told if amount(told) is None else _step(told, amount(before.get(name)) or 0)
        for name, told in now.items()
    }


def _step(now: int | float, before: int | float) -> int | float:
    """What a running total grew by; one that has shrunk began anew."""
    return (
        now if now < before else round(now - before, 12) if isinstance(now - before, float) else now - before
    )
