"""Which entries came out of one call of a model, and what that call took.

Entries with one reply id belong together. Without ids a call's entries end where a result, a prompt or the
next call's usage comes. Usage stands in front of the entries that it paid for, or right behind them; usage
that belongs to no entry is a paid call of its own.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import msgspec

from stenograph.event import Tokens
from stenograph.model import (
    Ended,
    Entry,
    Noticed,
    Prompted,
    Reply,
    Said,
    Spent,
    Thought,
    ToolCalled,
    ToolReturned,
)

Told: TypeAlias = Said | Thought | ToolCalled

_TOLD = (Said, Thought, ToolCalled)
_GIVEN = (Prompted, ToolReturned)
_BETWEEN = ("summary", "truncation", "left_out")
"""Housekeeping that stands between one call of the model and the next."""


class Answer(msgspec.Struct, eq=False):
    """One call of a model that entries came out of."""

    number: int
    reply: Reply | None = None
    spent: Spent | None = None
    first: Entry | None = None
    is_more: bool = False  # goes on with a call that results came in between of; its usage was told

    @property
    def tokens(self) -> Tokens | None:
        """What the call took, as its usage record says, or else its own records."""
        if self.spent:
            return self.spent.tokens
        return self.reply.tokens if self.reply and not self.is_more else None

    @property
    def cache_writes(self) -> int | None:
        """How many input tokens were written to the cache, of those not read from it."""
        source = self.spent or self.reply
        return source.cache_writes if source else None

    @property
    def model(self) -> str | None:
        """The model that answered."""
        return self.reply.model if self.reply else None


class Turn(NamedTuple):
    """What an entry changes: usage that had no answer, an answer that is complete, the one it belongs to."""

    paid: tuple[Spent, ...] = ()
    done: Answer | None = None
    own: Answer | None = None


class Answers:
    """Follows the entries of one thread."""

    def __init__(self) -> None:
        self.open: Answer | None = None
        self._pending: Spent | None = None
        self._count = 0
        self._last: str | None = None  # the reply id of the last answer

    def take(self, entry: Entry) -> Turn:
        """What the next entry of the thread changes."""
        if isinstance(entry, _TOLD):
            return Turn() if isinstance(entry, Said) and entry.fault else self._told(entry)
        if isinstance(entry, Spent):
            return Turn(paid=self._spent(entry))
        is_turn = isinstance(entry, Noticed) and entry.kind in _BETWEEN
        if is_turn or isinstance(entry, _GIVEN):
            done, self.open = self.open, None
            return Turn(done=done)
        return self.close() if isinstance(entry, Ended) else Turn()

    def close(self) -> Turn:
        """The thread ends, or a turn of it."""
        done, self.open = self.open, None
        paid = (self._pending,) if self._pending else ()
        self._pending = None
        return Turn(paid=paid, done=done)

    def _told(self, entry: Told) -> Turn:
        done = None
        if self.open and self._is_next(self.open, entry):
            done, self.open = self.open, None
        if self.open is None:
            self._count += 1
            name = entry.reply.id if entry.reply else None
            is_more = name is not None and name == self._last
            self.open = Answer(self._count, entry.reply, self._pending, entry, is_more)
            self._pending, self._last = None, name
        return Turn(done=done, own=self.open)

    def _is_next(self, answer: Answer, entry: Told) -> bool:
        """Whether an entry begins another call of the model."""
        known, told = answer.reply, entry.reply
        if known and told and known.id and told.id:
            return known.id != told.id
        return self._pending is not None

    def _spent(self, entry: Spent) -> tuple[Spent, ...]:
        if entry.kind is not None:
            return (entry,)
        answer = self.open
        if answer and answer.spent is None:
            answer.spent = entry
            return ()
        before, self._pending = self._pending, entry
        return (before,) if before else ()
