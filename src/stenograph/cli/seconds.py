"""Options that take a number of seconds."""

from __future__ import annotations

import math
from typing import Any

import click


class Seconds(click.FloatRange):
    """A finite number of seconds from 0 on; NaN, which passes every comparison with a limit, is refused."""

    def __init__(self, *, from_zero: bool = True) -> None:
        """`from_zero`: whether 0 itself will do."""
        super().__init__(min=0, min_open=not from_zero)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds; fails as wrong usage."""
        seconds: float = super().convert(value, param, ctx)
        if not math.isfinite(seconds):
            self.fail(f"{seconds} is no number of seconds.", param, ctx)
        return seconds
