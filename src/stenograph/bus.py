"""Events to whoever listens: called at once, awaited, replayed, or queued with a bound.

One `Bus` serves all three event layers of the Cline SDK, whose listeners differ in what happens when one
raises and in whether the same function can stand twice: see `AGENT`, `SESSION` and `CORE`. A bus belongs to
one thread and one event loop, reads no clock, and knows nothing of what its events are.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from stenograph.errors import Error, Place, UsageError
from stenograph.notes import Kind, Report

E = TypeVar("E")

Unsubscribe: TypeAlias = Callable[[], None]
Policy: TypeAlias = Literal["block", "drop"]


class Rule(NamedTuple):
    """What one layer does with its listeners and hooks.

    `caught`: one that raises is noted (`listener-raised`) and the others still run; otherwise the exception
    leaves `emit`, and all that stand behind it miss the event. `once`: the same function (for the same
    session) is kept once, however often it is added.
    """

    caught: bool
    once: bool


AGENT = Rule(caught=False, once=True)
"""Layer 1, `AgentRuntime.subscribe`: the exception reaches the run, which fails with it."""
SESSION = Rule(caught=True, once=True)
"""Layer 2, the session runtime: a listener's fault stays its own."""
CORE = Rule(caught=False, once=False)
"""Layer 3, `ClineCore.subscribe`: entries are kept, not functions."""


class Numbered(NamedTuple, Generic[E]):
    """An event with its number on its bus (from 1 on) and the session it belongs to."""

    sequence: int
    event: E
    session_id: str | None


class Bus(Generic[E]):
    """Listeners, hooks, streams and a history over one sequence of events.

    `history` is how many of the latest events are kept for replay; `report` takes the notes `listener-raised`
    and `slow-consumer` (one for each event dropped).
    """

    def __init__(self, *, rule: Rule = CORE, history: int = 0, report: Report | None = None) -> None:
        self.sequence = 0
        """The number of the latest event; 0 before the first."""
        self._rule = rule
        self._report = report
        self._history: deque[Numbered[E]] = deque(maxlen=history)
        self._listeners: list[_Listener[E]] = []
        self._hooks: list[_Hook[E]] = []
        self._streams: list[Stream[E]] = []
        self._emitting = 0
        self._someone_left = False
        self._turn = asyncio.Lock()

    def subscribe(
        self, listener: Callable[[E], object], *, session_id: str | None = None, since: int | None = None
    ) -> Unsubscribe:
        """Call `listener` for every event from now on, or first for the kept ones behind number `since`.

        A blank `session_id` means all sessions. A listener added during an `emit` gets that very event; one
        removed before its turn does not. The returned function may be called again. Raises UsageError for a
        coroutine function, which nothing would await: give it to `on_event`.
        """
        if inspect.iscoroutinefunction(listener):
            raise UsageError("a listener is called, not awaited: register a coroutine function with on_event")
        entry = _Listener(listener, session_id=_session(session_id))
        if self._rule.once:
            entry = next((known for known in self._listeners if known.same(entry)), entry)
        if entry not in self._listeners:
            self._catch_up(entry, since)
            self._listeners.append(entry)
        return lambda: self._leave(entry)

    def on_event(self, hook: Callable[[E], Awaitable[object] | None]) -> Unsubscribe:
        """Await `hook` for every published event, behind the listeners, in order of registration."""
        entry = _Hook(hook)
        self._hooks.append(entry)
        return lambda: self._hooks.remove(entry) if entry in self._hooks else None

    def emit(self, event: E, *, session_id: str | None = None) -> int:
        """Give an event to streams and listeners without waiting, hooks left out; returns its number.

        Streams come first, so that a listener which raises takes nothing from them.
        """
        self.sequence += 1
        numbered = Numbered(self.sequence, event, session_id)
        self._history.append(numbered)
        for stream in tuple(self._streams):
            self._note_dropped(numbered, dropped=stream._offer(numbered))
        self._emitting += 1
        try:
            for entry in self._listeners:  # grows under us: who is added now is called now
                if entry.wants(numbered):
                    self._call(entry.listener, event)
        finally:
            self._emitting -= 1
            self._sweep()
        return numbered.sequence

    async def run_hooks(self, event: E) -> None:
        """Await the hooks for an event that was given to `emit`: the second half of `publish`."""
        for entry in tuple(self._hooks):
            if entry not in self._hooks:
                continue
            try:
                answer = entry.hook(event)
                if inspect.isawaitable(answer):
                    await answer
            except Exception as fault:
                self._fault(fault)

    async def publish(self, event: E, *, session_id: str | None = None) -> int:
        """Wait for room in the blocking streams, `emit`, then await each hook; returns the event's number.

        Publishers take turns, so their events keep the order in which they called. Cancelled while it
        waits for room, it has given the event to nobody.
        """
        async with self._turn:
            while full := next((stream for stream in self._streams if stream._blocks(session_id)), None):
                await full._room()
            sequence = self.emit(event, session_id=session_id)
        await self.run_hooks(event)
        return sequence

    def replay(self, since: int = 0) -> list[Numbered[E]]:
        """The kept events behind number `since`, oldest first; see `missed` for those no longer kept."""
        return [numbered for numbered in self._history if numbered.sequence > since]

    def missed(self, since: int) -> int:
        """How many events behind number `since` are no longer kept."""
        return max(0, self.sequence - len(self._history) - since)

    def stream(
        self,
        *,
        session_id: str | None = None,
        since: int | None = None,
        size: int = 1000,
        when_full: Policy = "block",
        patience_s: float = 30.0,
    ) -> Stream[E]:
        """An asynchronous iterator over the events from now on, or from the kept ones behind `since` on.

        Holds at most `size` events. When its consumer is slower than that, `"drop"` lets the oldest go and
        counts them in `dropped`; `"block"` lets `publish` wait until it takes one, at most `patience_s`,
        then cuts the stream off, which its consumer sees as an Error. `emit` cannot wait: it may fill a
        blocking stream to twice `size` before it cuts. Nothing is ever lost unsaid.
        """
        stream: Stream[E] = Stream(
            session_id=_session(session_id), size=size, when_full=when_full, patience_s=patience_s
        )
        if since is not None:
            stream.missed = self.missed(since)
            stream._behind.extend(each for each in self.replay(since) if stream._wants(each.session_id))
        stream._leave = lambda: self._streams.remove(stream) if stream in self._streams else None
        self._streams.append(stream)
        return stream

    def close(self) -> None:
        """End every stream once its consumer has taken what it holds."""
        for stream in tuple(self._streams):
            stream._end()

    def _catch_up(self, entry: _Listener[E], since: int | None) -> None:
        """Replay to a new listener until it stands where the bus stands, which its own emits may move."""
        if since is None:
            return
        entry.seen = since
        while entry.seen < self.sequence:
            kept = self.replay(entry.seen)
            entry.seen = self.sequence
            for numbered in kept:
                if entry.matches(numbered.session_id):
                    self._call(entry.listener, numbered.event)

    def _call(self, listener: Callable[[E], object], event: E) -> None:
        try:
            listener(event)
        except Exception as fault:
            self._fault(fault)

    def _fault(self, fault: Exception) -> None:
        if not self._rule.caught:
            raise fault
        if self._report is not None:
            place = Place(source="bus", line=self.sequence)
            self._report.add(Kind.DROPPED, "listener-raised", place, f"{type(fault).__name__}: {fault}")

    def _note_dropped(self, numbered: Numbered[E], *, dropped: bool) -> None:
        if dropped and self._report is not None:
            place = Place(source="bus", line=numbered.sequence)
            self._report.add(Kind.DROPPED, "slow-consumer", place)

    def _leave(self, entry: _Listener[E]) -> None:
        entry.gone = self._someone_left = True
        self._sweep()

    def _sweep(self) -> None:
        """Forget who left, but never under an `emit` that walks the list."""
        if self._someone_left and not self._emitting:
            self._listeners = [entry for entry in self._listeners if not entry.gone]
            self._someone_left = False


class Stream(Generic[E]):
    """The events of a `Bus` for one asynchronous consumer, made by `Bus.stream`.

    Iterate over it, best inside `async with`, which leaves the bus at the end. Events already held are
    given out before the end or the Error.
    """

    def __init__(self, *, session_id: str | None, size: int, when_full: Policy, patience_s: float) -> None:
        if size < 1:
            raise UsageError("a stream holds at least one event")
        self.dropped = 0
        """How many events the consumer did not get because it was slow."""
        self.missed = 0
        """How many events behind `since` the bus no longer kept, of all sessions."""
        self.sequence = 0
        """The number of the event given out last."""
        self._session_id = session_id
        self._size = size
        self._policy = when_full
        self._patience_s = patience_s
        self._behind: deque[Numbered[E]] = deque()
        self._held: deque[Numbered[E]] = deque()
        self._ended = False
        self._fault: Error | None = None
        self._filled = asyncio.Event()
        self._emptied = asyncio.Event()
        self._leave: Callable[[], None] = lambda: None

    def __aiter__(self) -> Stream[E]:
        return self

    async def __anext__(self) -> E:
        while not self._behind and not self._held:
            if self._fault:
                raise self._fault
            if self._ended:
                raise StopAsyncIteration
            self._filled.clear()
            await self._filled.wait()
        numbered = (self._behind or self._held).popleft()
        self._emptied.set()
        self.sequence = numbered.sequence
        return numbered.event

    async def __aenter__(self) -> Stream[E]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the bus and let go of what is held; a publisher that waits goes on."""
        self._behind.clear()
        self._held.clear()
        self._end()

    def _end(self) -> None:
        self._ended = True
        self._leave()
        self._filled.set()
        self._emptied.set()

    def _wants(self, session_id: str | None) -> bool:
        return self._session_id is None or self._session_id == session_id

    def _blocks(self, session_id: str | None) -> bool:
        """Whether a publisher has to wait before this stream can take an event of that session."""
        return self._policy == "block" and self._wants(session_id) and len(self._held) >= self._size

    def _offer(self, numbered: Numbered[E]) -> bool:
        """Take an event if it is wanted; True when one was lost for it."""
        if not self._wants(numbered.session_id):
            return False
        full = len(self._held) >= (self._size if self._policy == "drop" else 2 * self._size)
        if full and self._policy == "block":
            self._cut()
            return True
        if full:
            self._held.popleft()
            self.dropped += 1
        self._held.append(numbered)
        self._filled.set()
        return full

    async def _room(self) -> None:
        self._emptied.clear()
        try:
            await asyncio.wait_for(self._emptied.wait(), self._patience_s)
        except TimeoutError:
            self._cut()

    def _cut(self) -> None:
        self._fault = Error(f"too slow: the stream was cut off behind event {self._held[-1].sequence}")
        self._end()


class _Listener(Generic[E]):
    """A subscribed function; `seen` is the number up to which replay has served it."""

    def __init__(self, listener: Callable[[E], object], *, session_id: str | None) -> None:
        self.listener = listener
        self.session_id = session_id
        self.seen = 0
        self.gone = False

    def same(self, other: _Listener[E]) -> bool:
        return not self.gone and (self.listener, self.session_id) == (other.listener, other.session_id)

    def matches(self, session_id: str | None) -> bool:
        return self.session_id is None or self.session_id == session_id

    def wants(self, numbered: Numbered[E]) -> bool:
        return not self.gone and numbered.sequence > self.seen and self.matches(numbered.session_id)


class _Hook(Generic[E]):
    """An awaited hook; an object of its own, for the same function may stand twice."""

    def __init__(self, hook: Callable[[E], Awaitable[object] | None]) -> None:
        self.hook = hook


def _session(session_id: str | None) -> str | None:
    return (session_id or "").strip() or None
