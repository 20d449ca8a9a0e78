"""The bus: order, the three rules for listeners that raise, replay, and consumers that are slow."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stenograph.bus import AGENT, CORE, SESSION, Bus, Rule
from stenograph.errors import Error, UsageError
from stenograph.notes import Report


def test_listeners_are_called_in_order_and_leave_for_good() -> None:
    bus: Bus[int] = Bus()
    seen: list[tuple[str, int]] = []
    leave = bus.subscribe(lambda event: seen.append(("a", event)))
    bus.subscribe(lambda event: seen.append(("b", event)))
    assert bus.emit(1) == 1
    leave()
    leave()
    assert bus.emit(2) == 2
    assert seen == [("a", 1), ("b", 1), ("b", 2)]


def test_a_session_filter_is_trimmed_and_blank_means_all() -> None:
    bus: Bus[int] = Bus()
    one: list[int] = []
    every: list[int] = []
    bus.subscribe(one.append, session_id="  s1 ")
    bus.subscribe(every.append, session_id="  ")
    bus.emit(1, session_id="s1")
    bus.emit(2, session_id="s2")
    bus.emit(3)
    assert one == [1]
    assert every == [1, 2, 3]


@pytest.mark.parametrize(("rule", "calls"), [(AGENT, 1), (SESSION, 1), (CORE, 2)])
def test_the_same_function_added_twice(rule: Rule, calls: int) -> None:
    bus: Bus[int] = Bus(rule=rule)
    seen: list[int] = []
    first = bus.subscribe(seen.append)
    second = bus.subscribe(seen.append)
    bus.emit(1)
    assert len(seen) == calls
    first()
    bus.emit(2)
    assert len(seen) == 2 * calls - 1
    second()
    bus.emit(3)
    assert 3 not in seen


@pytest.mark.parametrize("rule", [AGENT, CORE])
def test_an_uncaught_listener_keeps_the_event_from_those_behind_it(rule: Rule) -> None:
    bus: Bus[int] = Bus(rule=rule)
    seen: list[Any] = []

    def fail(event: int) -> None:
        raise ValueError("no")

    async def hook(event: int) -> None:
        seen.append(("hook", event))

    bus.subscribe(lambda event: seen.append(("before", event)))
    leave = bus.subscribe(fail)
    bus.subscribe(lambda event: seen.append(("behind", event)))
    bus.on_event(hook)
    with pytest.raises(ValueError, match="no"):
        asyncio.run(bus.publish(1))
    assert seen == [("before", 1)]
    leave()
    asyncio.run(bus.publish(2))
    assert seen[1:] == [("before", 2), ("behind", 2), ("hook", 2)]


def test_a_caught_listener_is_noted_and_the_others_run() -> None:
    report = Report()
    bus: Bus[int] = Bus(rule=SESSION, report=report)
    seen: list[Any] = []

    def fail(event: int) -> None:
        raise ValueError("no")

    bus.subscribe(fail)
    bus.subscribe(seen.append)
    bus.on_event(fail)
    bus.on_event(seen.append)
    asyncio.run(bus.publish(7))
    assert seen == [7, 7]
    assert report.count("listener-raised") == 2
    assert report.notes[0].example == "ValueError: no"


def test_who_is_added_during_an_emit_gets_that_event_and_who_left_does_not() -> None:
    bus: Bus[int] = Bus(rule=AGENT)
    seen: list[tuple[str, int]] = []

    def late(event: int) -> None:
        seen.append(("late", event))

    def first(event: int) -> None:
        seen.append(("first", event))
        bus.subscribe(late)
        leave()

    bus.subscribe(first)
    leave = bus.subscribe(lambda event: seen.append(("gone", event)))
    bus.emit(1)
    assert seen == [("first", 1), ("late", 1)]


def test_hooks_are_awaited_in_order_and_may_be_plain() -> None:
    bus: Bus[int] = Bus()
    seen: list[str] = []

    async def slow(event: int) -> None:
        await asyncio.sleep(0.01)
        seen.append("slow")

    bus.subscribe(lambda event: seen.append("listener"))
    leave = bus.on_event(slow)
    bus.on_event(lambda event: seen.append("plain"))
    asyncio.run(bus.publish(1))
    assert seen == ["listener", "slow", "plain"]
    leave()
    leave()
    asyncio.run(bus.publish(2))
    assert seen[3:] == ["listener", "plain"]


def test_a_coroutine_function_is_no_listener() -> None:
    async def listener(event: int) -> None: ...

    with pytest.raises(UsageError, match="on_event"):
        Bus[int]().subscribe(listener)


def test_replay_gives_what_is_kept_and_says_what_is_not() -> None:
    bus: Bus[str] = Bus(history=3)
    for event in "abcde":
        bus.emit(event, session_id="s" if event in "ad" else None)
    assert [(each.sequence, each.event) for each in bus.replay(0)] == [(3, "c"), (4, "d"), (5, "e")]
    assert bus.replay(5) == []
    assert [bus.missed(since) for since in (0, 1, 2, 5)] == [2, 1, 0, 0]
    seen: list[str] = []
    bus.subscribe(seen.append, since=3)
    bus.emit("f")
    assert seen == ["d", "e", "f"]
    seen.clear()
    bus.subscribe(seen.append, since=0, session_id="s")
    assert seen == ["d"]


def test_a_listener_that_emits_while_it_is_caught_up_misses_and_repeats_nothing() -> None:
    bus: Bus[int] = Bus(history=10)
    bus.emit(1)
    bus.emit(2)
    seen: list[int] = []

    def listener(event: int) -> None:
        seen.append(event)
        if event == 1:
            bus.emit(3)

    bus.subscribe(listener, since=0)
    bus.emit(4)
    assert seen == [1, 2, 3, 4]


def test_a_listener_added_with_replay_during_an_emit_gets_that_event_once() -> None:
    bus: Bus[int] = Bus(history=10)
    seen: list[int] = []
    bus.subscribe(lambda event: event == 1 and bus.subscribe(seen.append, since=0))
    bus.emit(1)
    bus.emit(2)
    assert seen == [1, 2]


async def _all(stream: Any) -> list[Any]:
    return [event async for event in stream]


def test_a_stream_gives_the_kept_and_the_new_events_and_ends() -> None:
    async def main() -> None:
        bus: Bus[int] = Bus(history=2)
        for number in range(1, 5):
            bus.emit(number, session_id="even" if number % 2 == 0 else "odd")
        async with bus.stream(since=1) as every, bus.stream(session_id="even", since=0) as even:
            bus.emit(5, session_id="odd")
            bus.emit(6, session_id="even")
            bus.close()
            assert await _all(every) == [3, 4, 5, 6]
            assert await _all(even) == [4, 6]
            assert (every.missed, every.dropped, every.sequence) == (1, 0, 6)
            assert even.missed == 2

    asyncio.run(main())


def test_a_slow_consumer_that_drops_loses_the_oldest_and_knows_how_many() -> None:
    async def main() -> None:
        report = Report()
        bus: Bus[int] = Bus(report=report)
        stream = bus.stream(size=2, when_full="drop")
        for number in range(5):
            await bus.publish(number)
        bus.close()
        assert await _all(stream) == [3, 4]
        assert stream.dropped == report.count("slow-consumer") == 3

    asyncio.run(main())


def test_a_slow_consumer_that_blocks_slows_the_publisher_and_loses_nothing() -> None:
    async def main() -> None:
        bus: Bus[int] = Bus()
        stream = bus.stream(size=2)
        most = 0

        async def publish() -> None:
            nonlocal most
            for number in range(20):
                await bus.publish(number)
                most = max(most, len(stream._held))
            bus.close()

        async with asyncio.TaskGroup() as group:
            group.create_task(publish())
            got = []
            async for event in stream:
                await asyncio.sleep(0)
                got.append(event)
        assert got == list(range(20))
        assert most == 2

    asyncio.run(main())


def test_publishers_take_turns_and_a_cancelled_one_gave_its_event_to_nobody() -> None:
    async def main() -> None:
        bus: Bus[int] = Bus()
        stream = bus.stream(size=1)
        tasks = [asyncio.create_task(bus.publish(number)) for number in range(4)]
        await asyncio.sleep(0)
        tasks[2].cancel()
        got = [await anext(stream) for _ in range(3)]
        assert got == [0, 1, 3]
        assert [task.cancelled() or task.result() for task in tasks] == [1, 2, True, 3]

    asyncio.run(main())


def test_a_blocking_consumer_that_never_comes_is_cut_off_and_told() -> None:
    async def main() -> None:
        report = Report()
        bus: Bus[int] = Bus(report=report)
        seen: list[int] = []
        bus.subscribe(seen.append)
        stream = bus.stream(size=1, patience_s=0.02)
        for number in range(3):
            await asyncio.wait_for(bus.publish(number), 1)
        assert seen == [0, 1, 2]
        assert await anext(stream) == 0
        with pytest.raises(Error, match="behind event 1"):
            await anext(stream)

    asyncio.run(main())


def test_emit_cannot_wait_and_cuts_a_blocking_stream_at_twice_its_size() -> None:
    async def main() -> None:
        bus: Bus[int] = Bus()
        stream = bus.stream(size=2)
        for number in range(6):
            bus.emit(number)
        got = [await anext(stream) for _ in range(4)]
        assert got == [0, 1, 2, 3]
        with pytest.raises(Error, match="too slow"):
            await anext(stream)

    asyncio.run(main())


def test_a_consumer_that_leaves_frees_the_publisher() -> None:
    async def main() -> None:
        bus: Bus[int] = Bus()
        async with bus.stream(size=1):
            waiting = asyncio.create_task(bus.publish(1)), asyncio.create_task(bus.publish(2))
            await asyncio.sleep(0)
            assert not waiting[1].done()
        await asyncio.wait_for(asyncio.gather(*waiting), 1)
        assert bus.sequence == 2

    asyncio.run(main())


def test_a_stream_holds_at_least_one_event() -> None:
    with pytest.raises(UsageError):
        Bus[int]().stream(size=0)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from(["publish", "take"]), max_size=40),
    st.integers(1, 4),
    st.integers(0, 5),
)
def test_what_a_dropping_stream_gives_and_counts_is_all_there_was(
    steps: list[str], size: int, before: int
) -> None:
    async def main() -> None:
        bus: Bus[int] = Bus(history=3)
        for number in range(before):
            bus.emit(number)
        stream = bus.stream(since=0, size=size, when_full="drop")
        got: list[int] = []
        for step in steps:
            if step == "publish":
                await bus.publish(bus.sequence)
            elif stream._behind or stream._held:
                got.append(await anext(stream))
        bus.close()
        got += await _all(stream)
        assert got == sorted(set(got))
        assert len(got) + stream.dropped + stream.missed == bus.sequence

    asyncio.run(main())
