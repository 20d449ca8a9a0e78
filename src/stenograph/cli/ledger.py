"""What runs took, as a table for people or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from stenograph.cli import terminal
from stenograph.meter import AT_START, DAMAGED, NO_END, NOT_TOLD, SUBAGENT, Row, added

if TYPE_CHECKING:
    from stenograph.prices import Prices

By: TypeAlias = Literal["session", "model", "day", "agent"]

_WHAT = ("session", "agent", "model", "day")
_NUMBERS = ("turns", "input", "cached", "output", "reasoning", "cost")
_CELLS = 40  # for a name
_GAPS = {
    NO_END: "the end of a turn is missing",
    NOT_TOLD: "no record tells the tokens",
    SUBAGENT: "no record tells what a subagent took",
    AT_START: "output as it was when messages began",
    DAMAGED: "a broken record may have told more",
}


def grouped(rows: Sequence[Row], by: By | None) -> list[list[Row]]:
    """The rows of each session, model, day (in order) or agent; each row alone when `by` is None."""
    if by is None:
        return [[row] for row in rows]
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(getattr(row, by) or "", []).append(row)
    names = sorted(groups) if by == "day" else list(groups)
    return [groups[name] for name in names]


def to_json(rows: Sequence[Row], *, by: By | None = None, prices: Prices | None = None) -> dict[str, Any]:
    """Rows and their total; with prices, what the list says they cost and which list that is."""
    found: dict[str, Any] = {
        "rows": [_row(group, prices) for group in grouped(rows, by)],
        "total": _row(rows, prices),
    }
    return found | {"prices": prices.source} if prices else found


def _row(rows: Sequence[Row], prices: Prices | None) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(added(rows))
    return told | {"computedCost": prices.total(rows)} if prices else told


def to_text(rows: Sequence[Row], *, by: By | None = None, prices: Prices | None = None) -> str:
    """A table with a total and, below it, what is missing."""
    what = (by,) if by else _WHAT
    head = [*what, *_NUMBERS, *(("list price",) if prices else ()), ""]
    lines = [head, *(_line(group, what, prices) for group in grouped(rows, by))]
    total = _line(rows, what, prices)
    total[: len(what)] = ["total", *[""] * (len(what) - 1)]
    return _aligned([*lines, total], len(what)) + "".join(_remarks(rows, prices))


def _line(rows: Sequence[Row], what: Sequence[str], prices: Prices | None) -> list[str]:
    row, tokens = added(rows), added(rows).tokens
    names = [getattr(row, name) for name in what]
    numbers = (row.turns, tokens.uncached_input, tokens.cached_input, tokens.output, tokens.reasoning)
    return [
        *("-" if name is None else terminal.cut(terminal.clean(name), _CELLS) for name in names),
        *("-" if number is None else f"{number:,}" for number in numbers),
        _money(row.cost),
        *([_money(prices.total(rows))] if prices else ()),
        "" if row.is_complete else "*",
    ]


def _money(cost: float | None) -> str:
    return "-" if cost is None else f"${cost:,.4f}"


def _aligned(lines: list[list[str]], names: int) -> str:
    """Columns side by side, the first ones to the left and the numbers to the right."""
    widths = [max(map(terminal.width, column)) for column in zip(*lines, strict=True)]
    text = ""
    for line in lines:
        cells = []
        for place, (cell, width) in enumerate(zip(line, widths, strict=True)):
            gap = " " * (width - terminal.width(cell))
            cells.append(cell + gap if place < names else gap + cell)
        text += "  ".join(cells).rstrip() + "\n"
    return text


def _remarks(rows: Iterable[Row], prices: Prices | None) -> Iterable[str]:
    rows = list(rows)
    gaps = added(rows).gaps
    if gaps:
        yield f"* not all: {'; '.join(_GAPS.get(gap, gap) for gap in gaps)}\n"
    if any(row.is_running for row in rows):
        yield "  totals of whole sessions: this agent does not tell what one run took\n"
    if prices:
        unknown = dict.fromkeys(row.model or "unnamed" for row in rows if _has_no_price(row, prices))
        yield f"  list price: {prices.source}"
        yield f"; none for {', '.join(map(terminal.clean, unknown))}\n" if unknown else "\n"


def _has_no_price(row: Row, prices: Prices) -> bool:
    return bool(row.tokens.total) and prices.cost(row) is None
