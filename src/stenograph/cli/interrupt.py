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
    does. Where interrupts are ignored (behind `&` in a script) or handled already, they stay so. A request to
    terminate raises SystemExit(143) in any case, so that the block may clean up.
    """
    with terminable():
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            with _first_passes(seconds):
                yield
        else:
            yield


@contextmanager
def _first_passes(seconds: float) -> Iterator[None]:
    told: list[int] = []

    def first(number: int, _frame: FrameType | None) -> None:
        told.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM)}
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.signal(signal.SIGINT, first)
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
