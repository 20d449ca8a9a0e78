"""What a stream took: tokens and cost, added up by session, model and day as its records tell them.

An agent's module says which of its records tell usage and how they combine; the arithmetic stands here.
None is "not reported", which is not 0: a sum is None only where every part of it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any, ClassVar

import msgspec

from stenograph.event import Tokens

NO_END = "no-end"
"""The end of a turn is missing: what the last records told is counted, more may have been spent."""

NOT_TOLD = "not-told"
"""Something was done of which no record tells the tokens."""

SUBAGENT = "subagent-not-told"
"""A subagent worked, and this stream does not tell what it took."""

AT_START = "output-at-start"
"""Output is told as it was at the beginning of messages, so there was more."""

DAMAGED = "damaged"
"""A broken record, which may have told usage."""


class Counts(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """Token counts by class: `uncached_input` holds cache writes, `output` no reasoning.

    `cache_write` tells how many of `uncached_input` were written to a cache, `cache_write_1h` how many of
    these for an hour.
    """

    uncached_input: int | None = None
    cached_input: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = msgspec.field(default=None, name="cacheWrite1h")

    @classmethod
    def apart(
        cls,
        *,
        fresh: int | None,
        read: int | None,
        written: int | None = None,
        output: int | None = None,
        reasoning: int | None = None,
        cache_write_1h: int | None = None,
    ) -> Counts:
        """Counts told with input apart from what was read from a cache or written to it."""
        return cls(
            uncached_input=_sum(fresh, written),
            cached_input=read,
            output=output,
            reasoning=reasoning,
            cache_write=written,
            cache_write_1h=cache_write_1h,
        )

    @classmethod
    def together(
        cls,
        *,
        given: int | None,
        read: int | None,
        written: int | None = None,
        output: int | None = None,
        reasoning: int | None = None,
    ) -> Counts:
        """Counts told with an input that holds what was read from a cache or written to it."""
        return cls(
            uncached_input=None if given is None else max(0, given - (read or 0)),
            cached_input=read,
            output=output,
            reasoning=reasoning,
            cache_write=written,
        )

    @classmethod
    def of(cls, tokens: Tokens) -> Counts:
        """The four classes that an event has."""
        return cls(
            uncached_input=tokens.uncached_input,
            cached_input=tokens.cached_input,
            output=tokens.output,
            reasoning=tokens.reasoning,
        )

    @property
    def given(self) -> int | None:
        """All input, whatever came from a cache."""
        return _sum(self.uncached_input, self.cached_input)

    @property
    def made(self) -> int | None:
        """All output, reasoning among it."""
        return _sum(self.output, self.reasoning)

    @property
    def total(self) -> int | None:
        """All tokens."""
        return _sum(self.given, self.made)

    @property
    def tokens(self) -> Tokens:
        """The four classes, as events have them."""
        return Tokens(
            uncached_input=self.uncached_input,
            cached_input=self.cached_input,
            output=self.output,
            reasoning=self.reasoning,
        )

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            uncached_input=_sum(self.uncached_input, other.uncached_input),
            cached_input=_sum(self.cached_input, other.cached_input),
            output=_sum(self.output, other.output),
            reasoning=_sum(self.reasoning, other.reasoning),
            cache_write=_sum(self.cache_write, other.cache_write),
            cache_write_1h=_sum(self.cache_write_1h, other.cache_write_1h),
        )

    def at_least(self, other: Counts) -> Counts:
        """Class by class the larger of two accounts of the same thing."""
        names = self.__struct_fields__
        return Counts(**{name: _most(getattr(self, name), getattr(other, name)) for name in names})


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


def _most(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else max(one, other)


def without_reasoning(output: int | None, reasoning: int | None) -> int | None:
    """Output of which reasoning is a part, less that part."""
    return output if output is None or reasoning is None else max(0, output - reasoning)


class Row(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one session took of one model on one day.

    `turns` counts what the agent reports one by one: answers of the model, or (Codex, Gemini, Goose) whole
    turns. `cost` is in USD, as the agent reported it. `gaps` names why more may have been spent in this
    session; empty when nothing is missing. `is_running`: the agent told the session's totals so far, earlier
    runs included.
    """

    agent: str | None
    session: str | None = None
    model: str | None = None
    day: str | None = None
    turns: int = 0
    tokens: Counts = Counts()
    cost: int | float | None = None
    gaps: tuple[str, ...] = ()
    is_running: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether everything that was spent is counted, as far as the stream tells."""
        return not self.gaps


class Account(msgspec.Struct, frozen=True):
    """What one or more streams took, row by row."""

    rows: tuple[Row, ...] = ()

    @property
    def total(self) -> Row:
        """All rows added up; a member that differs between them is None."""
        return added(self.rows)

    @property
    def tokens(self) -> Counts:
        """The tokens of all rows."""
        return self.total.tokens

    @property
    def cost(self) -> int | float | None:
        """The reported cost of all rows in USD; None when no agent reported any."""
        return self.total.cost

    @property
    def turns(self) -> int:
        """The turns of all rows."""
        return self.total.turns

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were told, in the order in which they came."""
        return tuple(dict.fromkeys(row.model for row in self.rows if row.model is not None))

    @property
    def gaps(self) -> tuple[str, ...]:
        """Why more may have been spent; empty when nothing is missing."""
        return self.total.gaps

    @property
    def is_complete(self) -> bool:
        """Whether everything that was spent is counted; False when nothing was told."""
        return bool(self.rows) and not self.gaps


def added(rows: Iterable[Row]) -> Row:
    """Rows as one: counts, costs and turns added up, gaps united, a member that differs set to None."""
    rows = list(rows)
    if not rows:
        return Row(agent=None)
    tokens, gaps = Counts(), dict.fromkeys(gap for row in rows for gap in row.gaps)
    for row in rows:
        tokens += row.tokens
    costs = [row.cost for row in rows if row.cost is not None]
    return Row(
        agent=_same(row.agent for row in rows),
        session=_same(row.session for row in rows),
        model=_same(row.model for row in rows),
        day=_same(row.day for row in rows),
        turns=sum(row.turns for row in rows),
        tokens=tokens,
        cost=sum(costs) if costs else None,
        gaps=tuple(gaps),
        is_running=any(row.is_running for row in rows),
    )


def merged(rows: Iterable[Row]) -> list[Row]:
    """Rows of the same agent, session, model and day as one, in the order in which they first come.

    Of a session's running totals, told by several runs, the largest counts instead of their sum.
    """
    groups: dict[tuple[str | None, ...], list[Row]] = {}
    for row in _latest(rows):
        groups.setdefault((row.agent, row.session, row.model, row.day), []).append(row)
    return [added(group) for group in groups.values()]


def _latest(rows: Iterable[Row]) -> list[Row]:
    """Without the running totals that a later run of the session has outgrown."""
    rows = list(rows)
    best: dict[tuple[str | None, ...], Row] = {}
    for row in rows:
        key = (row.agent, row.session, row.model)
        if row.is_running and row.session and (row.tokens.total or 0) >= (_total(best.get(key)) or 0):
            best[key] = row
    kept = {id(row) for row in best.values()}
    return [row for row in rows if not (row.is_running and row.session) or id(row) in kept]


def _total(row: Row | None) -> int | None:
    return row.tokens.total if row else None


def _same(told: Iterable[str | None]) -> str | None:
    found = set(told)
    return found.pop() if len(found) == 1 else None


class Meter:
    """Adds up one stream's usage; a subclass says what its agent's records tell.

    `zone` is where days begin and end; None is the machine's own.
    """

    reads: ClassVar[frozenset[str]] = frozenset()
    """The kinds of records that `take` wants to see."""
    clocked: ClassVar[frozenset[str] | None] = None
    """The kinds among them whose time may decide a row's day; None: all. Only for speed."""
    shapes: ClassVar[Mapping[bytes, msgspec.json.Decoder[Any]]] = {}
    """By record type: decoders of what `take` looks at. Only for speed: they change no result."""

    def __init__(self, agent: str | None = None, *, zone: tzinfo | None = UTC) -> None:
        self.agent = agent
        self.session: str | None = None
        self.model: str | None = None  # of what is told without its model
        self.at: str | None = None  # the last time that a record told of itself
        self.open = False  # something was begun whose end has not come
        self._zone = zone
        self._rows: dict[tuple[str | None, str | None, str | None], Row] = {}
        self._gaps: dict[str | None, dict[str, None]] = {}

    def take(self, kind: str, record: dict[str, Any]) -> None:
        """Look at one record of a kind that is in `reads`."""

    def gap(self, code: str) -> None:
        """Note why more may have been spent in the present session."""
        self._gaps.setdefault(self.session, {})[code] = None

    def spend(
        self,
        tokens: Counts,
        *,
        model: str | None = None,
        cost: int | float | None = None,
        turns: int = 0,
        is_running: bool = False,
    ) -> None:
        """Add what the present session took."""
        key = session, model, day = (self.session, model or self.model, self._day())
        if known := self._rows.get(key):
            turns, tokens = known.turns + turns, known.tokens + tokens
            cost = cost if known.cost is None else known.cost + (cost or 0)
            is_running = known.is_running or is_running
        self._rows[key] = Row(
            agent=self.agent,
            session=session,
            model=model,
            day=day,
            turns=turns,
            tokens=tokens,
            cost=cost,
            is_running=is_running,
        )

    def pending(self) -> Iterable[Row]:
        """What was told of a turn whose end has not come, and would give no row otherwise."""
        return ()

    def account(self) -> Account:
        """What was taken so far; what no end has confirmed is counted and marked by a gap."""
        pending = list(self.pending())
        gaps = {session: dict(codes) for session, codes in self._gaps.items()}
        if self.open or pending:
            gaps.setdefault(self.session, {})[NO_END] = None
        rows = merged([*self._rows.values(), *pending])
        told = {row.session for row in rows}
        rows += [Row(agent=self.agent, session=session) for session in gaps if session not in told]
        rows = rows or [Row(agent=self.agent, session=self.session)]
        for session in {row.session for row in rows if row.session not in gaps}:
            if all(row.tokens.total is None for row in rows if row.session == session):
                gaps[session] = {NOT_TOLD: None}
        return Account(rows=tuple(_marked(row, gaps.get(row.session, {})) for row in rows))

    def row(self, tokens: Counts, *, model: str | None, turns: int, cost: int | float | None = None) -> Row:
        """A row of the present session that is not added up yet."""
        return Row(
            agent=self.agent,
            session=self.session,
            model=model or self.model,
            day=self._day(),
            turns=turns,
            tokens=tokens,
            cost=cost,
        )

    def _day(self) -> str | None:
        """The day of the last time told, where the reader of the account lives."""
        if not self.at:
            return None
        try:
            moment = datetime.fromisoformat(self.at)
            there = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(self._zone)
        except (ValueError, OverflowError):
            return None
        return there.date().isoformat()


def _marked(row: Row, gaps: Mapping[str, None]) -> Row:
    return msgspec.structs.replace(row, gaps=tuple(gaps)) if gaps else row
