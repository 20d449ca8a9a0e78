"""Token counts and costs of a task: which UI messages count, and what their numbers mean."""

from __future__ import annotations

import math
from collections.abc import Iterable

from stenograph.agents.cline.scalars import to_float, to_int
from stenograph.agents.cline.types import ReqInfo
from stenograph.event import Tokens
from stenograph.model import Totals

_MANY = 2**63


def totals_of(info: ReqInfo) -> Totals:
    """The counts of one request as written; what is no number is 0."""
    return Totals(
        tokens_in=_count(info.tokens_in),
        tokens_out=_count(info.tokens_out),
        cache_writes=_count(info.cache_writes),
        cache_reads=_count(info.cache_reads),
        cost=to_float(info.cost),
    )


def add(parts: Iterable[Totals]) -> Totals:
    """All counts added; the cost is the correctly rounded sum of those told, None when none is."""
    every = list(parts)
    costs = [part.cost for part in every if part.cost is not None]
    return Totals(
        tokens_in=sum(part.tokens_in for part in every),
        tokens_out=sum(part.tokens_out for part in every),
        cache_writes=sum(part.cache_writes for part in every),
        cache_reads=sum(part.cache_reads for part in every),
        cost=math.fsum(costs) if costs else None,
    )


def tokens_of(spent: Totals, protocol: str) -> Tokens:
    """The classes of tokens of one request, from its counts and the protocol that its record names.

    By the OpenAI protocol, which Roo names, `tokensIn` holds what came from the cache; by Anthropic's, and
    where no protocol is named, it holds neither cache reads nor writes.
    """
    whole = spent.tokens_in + spent.cache_writes
    if protocol == "openai":
        whole = max(0, spent.tokens_in - spent.cache_reads)
    return Tokens(uncached_input=whole, cached_input=spent.cache_reads, output=spent.tokens_out)


def _count(value: object) -> int:
    if type(value) is int and 0 <= value < _MANY:
        return value
    found = to_int(value)
    return found[0] if found else 0
