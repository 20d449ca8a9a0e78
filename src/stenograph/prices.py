"""What tokens would cost by a published price list: genai-prices (extra `[prices]`), used without a network.

A computed cost stays apart from the one that an agent reported, and names its source.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from stenograph.errors import MissingExtra
from stenograph.meter import Counts, Row

_PREFIX = "openrouter/"
_ONE = {  # a single token of each class that has a price of its own
    "fresh": Counts(uncached_input=1),
    "read": Counts(cached_input=1),
    "write": Counts(uncached_input=1, cache_write=1),
    "write_1h": Counts(uncached_input=1, cache_write=1, cache_write_1h=1),
    "output": Counts(output=1),
}


class Rates(NamedTuple):
    """A model's prices in USD for one token of each class; None where the list knows none."""

    fresh: Decimal | None
    read: Decimal | None
    write: Decimal | None
    write_1h: Decimal | None
    output: Decimal | None


class Prices:
    """The price list; raises MissingExtra when it is not installed.

    The rates are those of ordinary requests: totals do not tell which requests were so long that some
    providers ask more for them.
    """

    def __init__(self) -> None:
        try:
            import genai_prices
        except ImportError:
            raise MissingExtra("genai-prices", "prices") from None
        from importlib.metadata import version

        self.source = f"genai-prices {version('genai-prices')}"
        """The list's name and version."""
        self._library: Any = genai_prices
        self._known: dict[tuple[str, str | None], Rates | None] = {}

    def cost(self, row: Row) -> float | None:
        """What a row's tokens cost in USD on its day; None when a class that was used has no known price.

        None as well for a row without a model or without a single class that was reported.
        """
        if row.model is None or row.tokens.total is None:
            return None
        rates = self.rates(row.model, day=row.day)
        return priced(row.tokens, rates) if rates else None

    def total(self, rows: Iterable[Row]) -> float | None:
        """What rows cost together; None when one that has tokens cannot be priced."""
        costs = [self.cost(row) for row in rows if row.tokens.total]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if costs and len(known) == len(costs) else None

    def rates(self, model: str, *, day: str | None = None) -> Rates | None:
        """The prices of a model by its id, on a day (ISO 8601; else today's); None for an unknown model."""
        key = (model, day)
        if key not in self._known:
            self._known[key] = self._look_up(model, day)
        return self._known[key]

    def _look_up(self, model: str, day: str | None) -> Rates | None:
        name, provider = model.removeprefix(_PREFIX), None
        if "/" in name:
            provider = "openrouter"
        when = datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC) if day else None
        found = {}
        for word, token in _ONE.items():
            try:
                usage = self._library.Usage(**inclusive(token))
                price = self._library.calc_price(
                    usage, name, provider_id=provider, genai_request_timestamp=when
                )
            except (LookupError, ValueError):
                return None
            told = price.model_price.output_mtok if word == "output" else price.model_price.input_mtok
            found[word] = None if told is None else price.total_price
        return Rates(**found)


def inclusive(tokens: Counts) -> dict[str, int]:
    """Counts as genai-prices has them: its input holds both cache classes, its output the reasoning."""
    return {
        "input_tokens": tokens.given or 0,
        "cache_read_tokens": tokens.cached_input or 0,
        "cache_write_tokens": tokens.cache_write or 0,
        "cache_write_1h_tokens": tokens.cache_write_1h or 0,
        "output_tokens": tokens.made or 0,
    }


def priced(tokens: Counts, rates: Rates) -> float | None:
    """The cost of tokens in USD; None when a class that was used has no rate."""
    hour = tokens.cache_write_1h or 0
    written = max(hour, tokens.cache_write or 0)
    parts = (
        (max(0, (tokens.uncached_input or 0) - written), rates.fresh),
        (tokens.cached_input or 0, rates.read),
        (written - hour, rates.write),
        (hour, rates.write_1h),
        (tokens.made or 0, rates.output),
    )
    used = [(number, rate) for number, rate in parts if number]
    costs = [number * rate for number, rate in used if rate is not None]
    return float(sum(costs, Decimal(0))) if len(costs) == len(used) else None
