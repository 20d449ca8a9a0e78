"""Signals at a live pipe: the agent in front of it gets them too, and its last words are still wanted."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

GRACE = 2.0
"""Seconds that reading may go on behind the first interrupt."""


@contextmanager
def last_words(*, seconds: float = GRACE) -> Iterator[None]:
    """Let the first interrupt pass until the input ends, at most for so many seconds.

    A second interrupt, or the end of that time, raises KeyboardInterrupt at once; otherwise the block's end
    does. A request to terminate raises SystemExit(143), so that the block may clean up. Nothing changes where
    interrupts are ignored or handled already.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    told: list[int] = []

    def first(number: int, _frame: FrameType | None) -> None:
        told.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM, signal.SIGTERM)}
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.signal(signal.SIGINT, first)
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
    if told:
        raise KeyboardInterrupt


@contextmanager
def terminable() -> Iterator[None]:
    """Let a request to terminate raise SystemExit(143), so that the block may clean up."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
