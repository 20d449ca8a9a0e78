"""Ctrl-C at a live pipe: the agent in front of it is interrupted too, and its last words are still wanted."""

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
    does. Nothing changes where interrupts are ignored or handled already.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    told: list[int] = []

    def first(number: int, _frame: FrameType | None) -> None:
        told.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if told:
        raise KeyboardInterrupt
