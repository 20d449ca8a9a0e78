"""The hub's client over real sockets on loopback: finding, losing, resuming, commands, garbage, ends."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fake_hub import FakeHub, envelopes, running, serving
from stenograph.agents.cline.client import HubClient
from stenograph.agents.cline.hub import HubEvent
from stenograph.errors import HubError, MissingExtra, UsageError


def alone(main: Callable[[], Awaitable[None]]) -> None:
    """Run a test to its end, at most 10 seconds, and see that no task is left behind."""

    async def watched() -> None:
        async with asyncio.timeout(10):
            await main()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left

    asyncio.run(watched())


def client(hub: FakeHub, **options: Any) -> HubClient:
    options = {"url": hub.url, "token": hub.token, "timeout_s": 2.0, "reconnect_s": 2.0, **options}
    return HubClient(**options)


async def take(watch: AsyncIterator[HubEvent], count: int) -> list[HubEvent]:
    return [await anext(watch) for _ in range(count)]


async def _every(watch: AsyncIterator[HubEvent]) -> list[HubEvent]:
    return [event async for event in watch]


def sequences(events: list[HubEvent]) -> list[int | None]:
    return [event.sequence for event in events]


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


def test_a_recorded_log_is_replayed_then_watched() -> None:
    async def main() -> None:
        log = envelopes("hub_tools.replay")
        async with serving(FakeHub(log)) as hub, client(hub) as watcher:
            watch = watcher.events(since=0)
            events = await take(watch, len(log))
            assert [json.loads(event.raw) for event in events] == log
            hub.publish("event")
            assert sequences(await take(watch, 1)) == [hub.last]
            assert watch.cursor == hub.last
            assert watch.reconnects == 0
            assert not watcher.report.notes

    alone(main)


def test_several_watches_of_one_client() -> None:
    async def main() -> None:
        async with serving(FakeHub()) as hub, client(hub) as watcher:
            one, every = watcher.events(session_id="a", since=0), watcher.events(since=0)
            for session in ("a", "b", "a"):
                hub.publish("event", session_id=session)
            assert sequences(await take(one, 2)) == [1, 3]
            assert sequences(await take(every, 3)) == [1, 2, 3]

    alone(main)


@pytest.mark.parametrize("cut_after", [1, 7, 50])
def test_a_hub_that_closes_again_and_again_is_read_without_gap_or_repeat(cut_after: int) -> None:
    async def main() -> None:
        count = 20 * cut_after if cut_after < 3 else 100
        hub = FakeHub(envelopes("hub_tools.replay")[:count])
        hub.cut_after = cut_after + 1  # one of them is asked for again, to see that the log is the same
        async with serving(hub), client(hub) as watcher:
            watch = watcher.events(since=0)
            events = await take(watch, count)
            assert sequences(events) == list(range(1, count + 1))
            assert watch.reconnects >= count // (cut_after + 1) - 1
            assert not watcher.report.notes

    alone(main)


def test_a_hub_that_starts_again_elsewhere_is_found_by_its_file(tmp_path: Path) -> None:
    async def main() -> None:
        file = tmp_path / "production.json"
        hub = FakeHub()
        async with HubClient(discovery=file, timeout_s=2, reconnect_s=5) as watcher:
            async with serving(hub, discovery=file):
                hub.publish("event")
                watch = watcher.events(since=0)
                assert sequences(await take(watch, 1)) == [1]
                first = hub.url
            waiting = asyncio.create_task(take(watch, 2))
            await asyncio.sleep(0.1)
            hub.publish("event")
            hub.token = "cd" * 32
            async with serving(hub, discovery=file):
                hub.publish("event")
                assert sequences(await waiting) == [2, 3]
                assert hub.url != first
                assert watcher.hub is not None
                assert watcher.hub.url == hub.url
                assert await watcher.command("session.list") == {"sessions": []}

    alone(main)


def test_a_hub_that_is_gone_is_given_up_in_time() -> None:
    async def main() -> None:
        async with serving(FakeHub()) as hub:
            watcher = client(hub, reconnect_s=0.3)
            hub.publish("event")
            watch = watcher.events(since=0)
            await take(watch, 1)
        with pytest.raises(HubError, match=r"gave up after 0\.3 s"):
            await anext(watch)
        await watcher.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(watch)

    alone(main)


def test_a_hub_that_takes_everyone_and_keeps_nobody_is_given_up_in_time() -> None:
    async def main() -> None:
        async with serving(FakeHub()) as hub, client(hub, reconnect_s=0.4) as watcher:
            closer = asyncio.create_task(_close_all(hub))
            with pytest.raises(HubError, match="gave up"):
                await anext(watcher.events())
            closer.cancel()
            await asyncio.wait([closer])

    alone(main)


async def _close_all(hub: FakeHub) -> None:
    while True:
        if hub.subscriptions:
            hub.subscriptions.clear()
            for connection in tuple(hub.connections):
                await connection.close()
        await asyncio.sleep(0.005)


def test_reconnecting_can_be_forbidden() -> None:
    async def main() -> None:
        async with serving(FakeHub()) as hub, client(hub, reconnect_s=0) as watcher:
            watch = watcher.events()
            waiting = asyncio.create_task(take(watch, 1))
            await until(lambda: hub.subscriptions)
            for connection in tuple(hub.connections):
                await connection.close()
            with pytest.raises(HubError, match="closed the connection"):
                await waiting

    alone(main)


def test_a_watch_has_one_consumer() -> None:
    async def main() -> None:
        async with serving(FakeHub()) as hub, client(hub) as watcher:
            watch = watcher.events()
            first = asyncio.create_task(take(watch, 1))
            await until(lambda: hub.subscriptions)
            await asyncio.sleep(0.01)
            with pytest.raises(UsageError, match="one consumer"):
                await anext(watch)
            hub.publish("event")
            assert sequences(await first) == [1]

    alone(main)


# Finding


def test_no_discovery_file_and_a_stale_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        monkeypatch.setenv("CLINE_DATA_DIR", str(tmp_path))
        monkeypatch.delenv("CLINE_HUB_DISCOVERY_PATH", raising=False)
        file = tmp_path / "locks" / "hub" / "production.json"
        async with HubClient() as watcher:
            with pytest.raises(HubError, match="no hub runs here") as absent:
                await watcher.command("hub.status")
            assert str(file) in str(absent.value)
            file.parent.mkdir(parents=True)
            file.write_text("{")
            with pytest.raises(HubError, match="no discovery file"):
                await anext(watcher.events())
            async with serving(FakeHub(), discovery=file) as hub:
                pass
            with pytest.raises(
                HubError, match=r"stale file .*production\.json of process 63: ws://"
            ) as stale:
                await anext(watcher.events())
            assert hub.token not in str(stale.value)

    alone(main)


def test_behind_a_stale_file_the_other_owners_are_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        monkeypatch.setenv("CLINE_DATA_DIR", str(tmp_path))
        monkeypatch.delenv("CLINE_HUB_DISCOVERY_PATH", raising=False)
        folder = tmp_path / "locks" / "hub"
        (folder / "owners").mkdir(parents=True)
        async with serving(FakeHub(), discovery=folder / "production.json"):
            pass
        (folder / "owners" / "hub-0123456789ab.json").write_text("[]")
        other = folder / "owners" / "hub-ba9876543210.json"
        async with serving(FakeHub(), discovery=other) as hub, HubClient() as watcher:
            await watcher.command("hub.status")
            assert watcher.hub is not None
            assert watcher.hub.url == hub.url

    alone(main)


def test_a_file_named_by_the_environment_is_the_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        file = tmp_path / "mine.json"
        monkeypatch.setenv("CLINE_HUB_DISCOVERY_PATH", str(file))
        async with serving(FakeHub(), discovery=file) as hub, HubClient() as watcher:
            hub.publish("event")
            assert sequences(await take(watcher.events(since=0), 1)) == [1]

    alone(main)


def test_a_hub_for_other_versions_is_not_even_connected(tmp_path: Path) -> None:
    async def main() -> None:
        file = tmp_path / "production.json"
        async with serving(FakeHub(), discovery=file) as hub, HubClient(discovery=file) as watcher:
            file.write_text(json.dumps({**hub.discovery(), "minClientProtocolVersion": "v2"}))
            with pytest.raises(HubError, match="from v2 to v1"):
                await watcher.command("hub.status")
            assert not hub.commands

    alone(main)


@pytest.mark.parametrize("url", ["http://127.0.0.1/hub", "nonsense", "ws://127.0.0.1:99999/hub", "ws://[/"])
def test_a_url_that_is_none(url: str) -> None:
    async def main() -> None:
        async with HubClient(url=url, token="ab") as watcher:
            with pytest.raises(HubError, match="no WebSocket url"):
                await watcher.command("hub.status")

    alone(main)


# Refusals


def test_a_wrong_token_and_a_hub_that_is_still_starting() -> None:
    async def main() -> None:
        async with serving(FakeHub()) as hub:
            async with client(hub, token="00") as watcher:
                with pytest.raises(HubError, match="401"):
                    await anext(watcher.events())
            hub.starting = True
            async with client(hub) as watcher:
                with pytest.raises(HubError, match="503"):
                    await watcher.command("hub.status")

    alone(main)


def test_a_hub_that_refuses_to_register_is_not_asked_again() -> None:
    async def main() -> None:
        hub = FakeHub()
        hub.refused["client.register"] = ("invalid_client_registration", "no")
        async with serving(hub), client(hub) as watcher:
            with pytest.raises(HubError) as refused:
                await anext(watcher.events())
            assert refused.value.code == "invalid_client_registration"
            assert len(hub.commands) == 1

    alone(main)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "websockets.asyncio.client", None)
    with pytest.raises(MissingExtra, match=r"stenograph\[hub\]"):
        HubClient()


# Commands


def test_replies_out_of_order_find_their_commands() -> None:
    async def main() -> None:
        hub = FakeHub()
        hub.held = {"session.list", "client.list"}
        async with serving(hub), client(hub) as watcher:
            first = asyncio.create_task(watcher.command("session.list"))
            second = asyncio.create_task(watcher.command("client.list"))
            await until(lambda: len(hub.commands) == 3)
            assert (await watcher.command("hub.status"))["hubId"] == "hub_fake"
            assert await first == {"sessions": []}
            assert await second == {"clients": []}
            assert sum(each["command"] == "client.register" for each in hub.commands) == 1

    alone(main)


def test_a_command_without_reply_ends_in_time_and_the_next_one_works() -> None:
    async def main() -> None:
        hub = FakeHub()
        hub.held = {"session.list"}
        async with serving(hub), client(hub) as watcher:
            with pytest.raises(HubError, match=r"session\.list in 0\.05 s") as late:
                await watcher.command("session.list", timeout_s=0.05)
            assert late.value.code == "hub_command_timeout"
            assert await watcher.command("client.list") == {"clients": []}
            await until(lambda: watcher.report.count("late-reply"))

    alone(main)


def test_refused_and_acting_commands() -> None:
    async def main() -> None:
        async with serving(FakeHub()) as hub, client(hub) as watcher:
            with pytest.raises(UsageError, match="acts"):
                await watcher.command("session.create")
            async with client(hub, read_only=False) as actor:
                with pytest.raises(HubError, match="Unsupported") as refused:
                    await actor.command("session.create")
                assert refused.value.code == "unsupported_command"

    alone(main)


def test_a_hub_that_closes_while_a_command_waits() -> None:
    async def main() -> None:
        hub = FakeHub()
        hub.silent = {"session.list"}
        async with serving(hub), client(hub) as watcher:
            waiting = asyncio.create_task(watcher.command("session.list"))
            await until(lambda: len(hub.commands) == 2)
            for connection in tuple(hub.connections):
                await connection.close()
            with pytest.raises(HubError, match="closed the connection"):
                await waiting
            assert await watcher.command("client.list") == {"clients": []}

    alone(main)


def test_a_client_that_is_closed_ends_what_waits() -> None:
    async def main() -> None:
        hub = FakeHub()
        hub.silent = {"session.list"}
        async with serving(hub), client(hub) as watcher:
            command = asyncio.create_task(watcher.command("session.list"))
            watch = watcher.events()
            events = asyncio.create_task(_every(watch))
            await until(lambda: len(hub.commands) == 4 and hub.subscriptions)
            await watcher.aclose()
            with pytest.raises(HubError, match="the client was closed"):
                await command
            assert await events == []

    alone(main)


@pytest.mark.parametrize("moment", ["opening", "registering", "waiting", "pausing"])
def test_cancelling_leaves_nothing_behind(moment: str) -> None:
    async def main() -> None:
        hub = FakeHub()
        async with _mute_server() as mute, serving(hub):
            if moment == "registering":
                hub.silent = {"hub.status"}
            watcher = client(hub, timeout_s=30, **({"url": mute} if moment == "opening" else {}))
            waiting = asyncio.create_task(take(watcher.events(), 1))
            await (asyncio.sleep(0.05) if moment == "opening" else until(lambda: len(hub.commands) == 2))
            if moment == "pausing":
                await until(lambda: hub.subscriptions)
                hub.starting = True
                for connection in tuple(hub.connections):
                    await connection.close()
                await asyncio.sleep(0.05)
            waiting.cancel()
            await asyncio.wait([waiting])
            assert waiting.cancelled()
            await watcher.aclose()
            await until(lambda: not hub.connections)

    alone(main)


# Hubs that are broken


@asynccontextmanager
async def _tcp(answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> Any:
    """A server that speaks whatever `answer` does; yields its url."""
    tasks: set[asyncio.Task[None]] = set()

    async def attend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(attend, "127.0.0.1", 0)
    try:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/hub"
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def _mute_server() -> Any:
    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    return _tcp(mute)


async def _shake_hands(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    key = next(line.split(": ")[1] for line in head.split("\r\n") if line.startswith("Sec-WebSocket-Key"))
    digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    accept = base64.b64encode(digest).decode()
    writer.write(
        f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode()
    )


def test_a_server_that_never_answers() -> None:
    async def main() -> None:
        async with _mute_server() as url, HubClient(url=url, token="ab", timeout_s=0.1) as watcher:
            with pytest.raises(HubError, match="did not answer in time"):
                await anext(watcher.events())

    alone(main)


def test_a_hub_that_registers_nobody() -> None:
    async def main() -> None:
        hub = FakeHub()
        hub.silent = {"client.register"}
        async with serving(hub), client(hub, timeout_s=0.1) as watcher:
            with pytest.raises(HubError, match="did not answer in time"):
                await anext(watcher.events())

    alone(main)


def test_a_server_that_is_no_hub() -> None:
    async def main() -> None:
        async def junk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"SSH-2.0-OpenSSH\r\n" + bytes(range(256)))
            await writer.drain()

        async with _tcp(junk) as url, HubClient(url=url, token="ab", timeout_s=1) as watcher:
            with pytest.raises(HubError, match="hung up: a wrong or missing token"):
                await anext(watcher.events())

    alone(main)


def test_bytes_that_are_no_frames() -> None:
    async def main() -> None:
        async def junk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await _shake_hands(reader, writer)
            writer.write(b"\xff" * 1000)
            await reader.read(1)

        async with _tcp(junk) as url, HubClient(url=url, timeout_s=1) as watcher:
            with pytest.raises(HubError, match="closed the connection"):
                await anext(watcher.events())

    alone(main)


def test_a_hub_that_falls_silent_is_noticed() -> None:
    async def main() -> None:
        hub = FakeHub()
        with running(hub) as do:
            async with client(hub, timeout_s=5, ping_s=0.3, reconnect_s=0) as watcher:
                waiting = asyncio.create_task(take(watcher.events(), 1))
                await until(lambda: hub.subscriptions)
                do(lambda: time.sleep(1.5))
                with pytest.raises(HubError, match="keepalive ping timeout"):
                    await waiting

    alone(main)


def test_the_hubs_own_pings_are_answered() -> None:
    async def main() -> None:
        async with serving(FakeHub()) as hub, client(hub) as watcher:
            waiting = asyncio.create_task(take(watcher.events(), 1))
            await until(lambda: hub.subscriptions)
            pong = await next(iter(hub.connections)).ping()
            assert await asyncio.wait_for(pong, 1) >= 0
            hub.publish("event")
            await waiting

    alone(main)


def test_garbage_is_noted_and_the_events_come() -> None:
    async def main() -> None:
        hub = FakeHub()
        hub.greeting = ["no json", b"\x00\xff", "{}", '{"kind":"tea","envelope":{}}', "[" * 50_000]
        async with serving(hub), client(hub) as watcher:
            watch = watcher.events(since=0)
            hub.publish("event")
            assert sequences(await take(watch, 1)) == [1]
            hub.publish("event")
            assert sequences(await take(watch, 1)) == [2]
            assert watcher.report.count("hub-frame-unread") == 4
            assert watcher.report.count("hub-frame-unknown") == 1

    alone(main)


def test_a_frame_of_50_mb_is_read() -> None:
    async def main() -> None:
        async with serving(FakeHub()) as hub, client(hub) as watcher:
            watch = watcher.events(since=0)
            hub.publish("big", {"text": "x" * 50_000_000})
            hub.publish("small")
            events = await take(watch, 2)
            assert len(events[0].raw) > 50_000_000
            assert sequences(events) == [1, 2]

    alone(main)


def test_a_frame_above_the_limit_is_a_clear_error() -> None:
    async def main() -> None:
        async with serving(FakeHub()) as hub, client(hub, frame_bytes=1_000_000) as watcher:
            watch = watcher.events(since=0)
            hub.publish("small")
            assert sequences(await take(watch, 1)) == [1]
            hub.publish("big", {"text": "x" * 2_000_000})
            with pytest.raises(HubError, match="more than 1000000 bytes"):
                await anext(watch)

    alone(main)


def test_a_slow_consumer_gets_everything() -> None:
    async def main() -> None:
        async with serving(FakeHub()) as hub, client(hub) as watcher:
            watch = watcher.events(since=0)
            for number in range(400):
                hub.publish("event", {"n": number, "text": "x" * 20_000})
            first = await take(watch, 1)
            await asyncio.sleep(0.3)
            assert sequences(first + await take(watch, 399)) == list(range(1, 401))

    alone(main)
