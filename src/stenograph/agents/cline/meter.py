"""What Cline's records tell of tokens and cost, by the recordings of 3.0.65.

Every request of every agent gives one `usage` event, subagents' and teammates' too; a teammate's is printed
again inside a `team_event`. `run_result` counts teammates, but no subagents. 2.x tells no usage.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypedDict

from stenograph import jsonio
from stenograph.fields import amount, count, members, word
from stenograph.meter import Counts, Meter, Row

_SESSION = ("sessionId", "session_id", "id")


class Event(TypedDict, total=False):
    """An agent's event."""

    type: Any
    inputTokens: Any
    outputTokens: Any
    cacheReadTokens: Any
    cacheWriteTokens: Any
    cost: Any
    totalCost: Any


class AgentEvent(TypedDict, total=False):
    """An `agent_event` record."""

    type: str
    ts: Any
    event: Event


SHAPES = {b"agent_event": jsonio.decoder(AgentEvent)}


class ClineMeter(Meter):
    """Adds up what Cline's records tell."""

    reads = frozenset(("agent_event", "run_start", "run_result", "zen_dispatched"))
    shapes = SHAPES

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._sum = Counts()  # of the run's requests
        self._cost: int | float | None = None
        self._requests = 0

    def take(self, kind: str, record: dict[str, Any]) -> None:
        """A request's usage, the end of a run, or its beginning."""
        if self.session is None and kind != "agent_event":
            self.session = next((found for key in _SESSION if (found := word(record.get(key)))), None)
        if kind == "agent_event":
            self._event(members(record.get("event")))
        elif kind == "run_start":
            self.model = word(record.get("modelId"))
        elif kind == "run_result":
            self._result(record)

    def pending(self) -> Iterable[Row]:
        """The requests of a run whose end has not come."""
        if self._requests:
            yield self.row(self._sum, model=None, turns=self._requests, cost=self._cost)

    def _event(self, event: dict[str, Any]) -> None:
        self.open = True
        if event.get("type") != "usage":
            return
        self._sum += counted(event)
        self._requests += 1
        cost = cost_of(event)
        self._cost = self._cost if cost is None else (self._cost or 0) + cost

    def _result(self, record: dict[str, Any]) -> None:
        """The end of a run: what it tells counts where more was spent than its requests told."""
        usage = members(record.get("usage"))
        told = amount(usage.get("totalCost"))
        costs = [cost for cost in (told, self._cost) if cost is not None]
        self.spend(
            self._sum.at_least(counted(usage)),
            model=word(members(record.get("model")).get("id")),
            cost=max(costs) if costs else None,
            turns=self._requests,
        )
        self.open, self._sum, self._cost, self._requests = False, Counts(), None, 0


def counted(usage: dict[str, Any]) -> Counts:
    """A request's tokens: input counts what was read from a cache or written; these are left out when 0."""
    given = count(usage.get("inputTokens"))
    unsaid = None if given is None else 0
    return Counts.together(
        given=given,
        read=count(usage.get("cacheReadTokens")) or unsaid,
        written=count(usage.get("cacheWriteTokens")) or unsaid,
        output=count(usage.get("outputTokens")),
    )


def cost_of(usage: dict[str, Any]) -> int | float | None:
    """A request's cost in USD; where only the sum so far is told, nothing came to it."""
    told = amount(usage.get("cost"))
    return 0 if told is None and amount(usage.get("totalCost")) is not None else told
