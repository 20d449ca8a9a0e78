"""A client of a running Cline hub: its events as they happen, its answers to commands (extra `[hub]`).

Finds the hub by its discovery file or takes a url and token. Every wait has a limit: opening and answering
by the timeouts below, a silent hub by the WebSocket's own pings. Nothing runs behind the caller's back but
one reader for replies, which ends with the client.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from stenograph.agents.cline.discovery import Discovery, discovery_path, parse_discovery, subprotocol
from stenograph.agents.cline.hub import HubEvent, Protocol, Reply
from stenograph.errors import HubError, MissingExtra, UsageError
from stenograph.notes import Report

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

_TOO_BIG = 1009  # the WebSocket close code for a frame above the limit
_STEADY_S = 5.0  # a connection that lasted this long has ended the trouble before it


class Lost(HubError):
    """The hub is not there, or no longer: another attempt may find it again."""


class HubClient:
    """A watcher of one hub; use it in `async with`, which closes all that it opened.

    `url` and `token` name the hub; otherwise the file `discovery` does, or the files where Cline puts them.
    `timeout_s` limits opening and registering, `reconnect_s` how long a lost hub is looked for (0: not at
    all), `ping_s` how long a hub may be silent before it is asked, and then until it is given up;
    `frame_bytes` is the largest frame taken. Notes go to `report`, see `Protocol`.
    Raises MissingExtra without `websockets`.
    """

    def __init__(
        self,
        *,
        url: str | None = None,
        token: str | None = None,
        discovery: Path | None = None,
        workspace: str | None = None,
        timeout_s: float = 10.0,
        reconnect_s: float = 30.0,
        ping_s: float = 20.0,
        frame_bytes: int = 64 * 2**20,
        read_only: bool = True,
        report: Report | None = None,
    ) -> None:
        _library()
        self.report = report if report is not None else Report()
        self.hub: Discovery | None = None
        """The hub that answered last."""
        self._fixed = Discovery(hub_id="", url=url, token=token or "") if url else None
        self._path = discovery
        self._workspace = workspace or os.getcwd()
        self._timeout_s = timeout_s
        self._reconnect_s = reconnect_s
        self._ping_s = ping_s
        self._frame_bytes = frame_bytes
        self._read_only = read_only
        self._commands = _Commands(self)
        self._watches: list[Watch] = []

    async def __aenter__(self) -> HubClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection and end every iteration."""
        for watch in tuple(self._watches):
            await watch.aclose()
        await self._commands.aclose()

    async def command(
        self, name: str, payload: Any = None, *, session_id: str | None = None, timeout_s: float = 30.0
    ) -> Any:
        """The payload of the hub's reply to one command; several may wait at once.

        Raises HubError when the hub refuses (`code` is its reason), is lost, or does not answer in time, and
        UsageError for a command that acts, unless the client was made with `read_only=False`.
        """
        return await self._commands.ask(name, payload, session_id=session_id, timeout_s=timeout_s)

    def events(self, *, session_id: str | None = None, since: int | None = None) -> Watch:
        """The hub's events, of one session or all, from behind sequence `since` (0: all kept) or from now on.

        A slow consumer holds up nothing but its own connection: the hub cuts it, and the next event comes
        over a new one.
        """
        protocol = self._protocol(stream=True, session_id=session_id, since=since)
        watch = Watch(self, protocol, reconnect_s=self._reconnect_s)
        self._watches.append(watch)
        return watch

    def _forget(self, watch: Watch) -> None:
        if watch in self._watches:
            self._watches.remove(watch)

    def _protocol(self, *, stream: bool, session_id: str | None = None, since: int | None = None) -> Protocol:
        return Protocol(
            workspace=self._workspace,
            stream=stream,
            session_id=session_id,
            since=since,
            read_only=self._read_only,
            report=self.report,
        )

    async def _open(self, protocol: Protocol) -> ClientConnection:
        """A connection on which the protocol is ready. Raises Lost, or HubError when trying again is vain."""
        connection = await self._reach()
        try:
            with self._losses():
                async with asyncio.timeout(self._timeout_s):
                    protocol.connect(f"steno-{secrets.token_hex(8)}")
                    await _send(connection, protocol)
                    while not protocol.ready:
                        protocol.receive(await connection.recv(decode=False))
                        await _send(connection, protocol)
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _reach(self) -> ClientConnection:
        """A connection to the first hub that answers; the file that led to it is used from then on."""
        faults: list[str] = []
        for path, found in self._candidates():
            if found is None:
                faults.append(f"{path} is no discovery file")
                continue
            found.check()
            try:
                connection = await self._dial(found)
            except Lost as fault:
                stale = f"stale file {path} of process {found.pid}: " if path else ""
                faults.append(f"{stale}{fault}")
                continue
            self.hub, self._path = found, path
            return connection
        raise Lost("; ".join(faults) or f"no hub runs here: {self._path or _files()[0]} is not there")

    async def _dial(self, found: Discovery) -> ClientConnection:
        connect = _library()
        offered = [subprotocol(found.token)] if found.token else None
        with self._losses(found.url):
            try:
                connection: ClientConnection = await connect(
                    found.url,
                    subprotocols=offered,
                    compression=None,
                    proxy=None,
                    open_timeout=self._timeout_s,
                    ping_interval=self._ping_s,
                    ping_timeout=self._ping_s,
                    close_timeout=min(2.0, self._timeout_s),
                    max_size=self._frame_bytes,
                    max_queue=4,
                )
            except (ValueError, OverflowError) as fault:
                raise HubError(f"{found.url!r} is no WebSocket url: {fault}") from fault
        return connection

    def _candidates(self) -> Iterator[tuple[Path | None, Discovery | None]]:
        """Where a hub may be, best first, as each file says now: a hub that starts again has a new token."""
        if self._fixed:
            yield None, self._fixed
            return
        for path in [self._path] if self._path else _files():
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue
            except OSError:
                data = b""
            yield path, parse_discovery(data)

    @contextmanager
    def _losses(self, url: str = "") -> Iterator[None]:
        """Turn what the library raises into Lost, or into HubError where trying again is vain."""
        from websockets import exceptions

        where = url or (self.hub.url if self.hub else "the hub")
        try:
            yield
        except exceptions.ConcurrencyError as fault:
            raise UsageError("a watch has one consumer: make another for another task") from fault
        except exceptions.InvalidURI as fault:
            raise HubError(f"{where!r} is no WebSocket url") from fault
        except exceptions.ConnectionClosed as fault:
            if fault.sent and fault.sent.code == _TOO_BIG:
                raise HubError(f"{where} sent a frame of more than {self._frame_bytes} bytes") from fault
            raise Lost(f"{where} closed the connection: {fault}") from fault
        # the hub's answer to a token that it does not take is to hang up
        except exceptions.InvalidMessage as fault:
            raise Lost(f"{where} hung up: a wrong or missing token, or no hub") from fault
        except TimeoutError as fault:
            raise Lost(f"{where} did not answer in time") from fault
        except (OSError, exceptions.WebSocketException) as fault:
            raise Lost(f"{where} does not answer: {fault}") from fault


class Watch:
    """The events of a hub as an asynchronous iterator, made by `HubClient.events`.

    Goes on over a new connection when one is lost. Raises HubError once the hub could not be found again
    within the client's `reconnect_s`, and at once where it refuses or when there was none to begin with.
    """

    def __init__(self, client: HubClient, protocol: Protocol, *, reconnect_s: float) -> None:
        self.reconnects = 0
        """How many times a lost connection was made anew."""
        self._client = client
        self._protocol = protocol
        self._reconnect_s = reconnect_s
        self._connection: ClientConnection | None = None
        self._ended = False
        self._lost_at: float | None = None  # when the present trouble began, None while all is well
        self._opened_at = 0.0
        self._pause_s = 0.05

    @property
    def cursor(self) -> int | None:
        """The sequence up to which all events were given out: `since` for another watch."""
        return self._protocol.cursor

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> HubEvent:
        while not self._ended:
            try:
                event = await self._next()
            except Lost as fault:
                await self._recover(fault)
                continue
            if isinstance(event, HubEvent):
                self._lost_at, self._pause_s = None, 0.05
                return event
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Close the connection; the iteration ends."""
        self._ended = True
        self._client._forget(self)
        await self._drop()

    async def _next(self) -> HubEvent | Reply | None:
        if self._connection is None:
            self._connection = await self._client._open(self._protocol)
            self.reconnects += self._opened_at > 0
            self._opened_at = asyncio.get_running_loop().time()
            if self._ended:
                raise Lost("the watch was closed")
        with self._client._losses():
            return self._protocol.receive(await self._connection.recv(decode=False))

    async def _recover(self, fault: Lost) -> None:
        """Wait a little before the next attempt, or raise when there was no hub or it is gone too long."""
        now = asyncio.get_running_loop().time()
        steady = self._connection is not None and now - self._opened_at > _STEADY_S
        await self._drop()
        if self._ended:
            return
        if not self._opened_at:
            raise fault
        if self._lost_at is None or steady:
            self._lost_at = now
        if now - self._lost_at >= self._reconnect_s:
            raise HubError(f"{fault}; gave up after {self._reconnect_s:g} s") from fault
        await asyncio.sleep(self._pause_s)
        self._pause_s = min(2 * self._pause_s, 2.0)

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection:
            await connection.close()


class _Commands:
    """The connection for commands, opened by the first, and those that wait for their replies."""

    def __init__(self, client: HubClient) -> None:
        self._client = client
        self._opening = asyncio.Lock()
        self._connection: ClientConnection | None = None
        self._protocol = client._protocol(stream=False)
        self._reader: asyncio.Task[None] | None = None
        self._waiting: dict[str, asyncio.Future[Reply]] = {}

    async def ask(self, name: str, payload: Any, *, session_id: str | None, timeout_s: float) -> Any:
        connection = await self._connected()
        request_id = self._protocol.command(name, payload, session_id=session_id)
        waiting = self._waiting[request_id] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(timeout_s):
                with self._client._losses():
                    await _send(connection, self._protocol)
                return (await waiting).value()
        except TimeoutError:
            raise HubError(f"no reply to {name} in {timeout_s:g} s", code="hub_command_timeout") from None
        finally:
            del self._waiting[request_id]
            self._protocol.forget(request_id)
            if not waiting.cancel() and not waiting.cancelled():
                waiting.exception()  # seen, should nobody else have asked for it

    async def aclose(self) -> None:
        reader, self._reader = self._reader, None
        if reader:
            reader.cancel()
            await asyncio.wait([reader])
        if self._connection:
            await self._connection.close()
            self._connection = None

    async def _connected(self) -> ClientConnection:
        async with self._opening:
            if self._connection is None or self._reader is None or self._reader.done():
                await self.aclose()
                self._connection = await self._client._open(self._protocol)
                self._reader = asyncio.create_task(self._read(self._connection))
            return self._connection

    async def _read(self, connection: ClientConnection) -> None:
        try:
            with self._client._losses():
                while True:
                    reply = self._protocol.receive(await connection.recv(decode=False))
                    if not isinstance(reply, Reply):
                        continue
                    waiting = self._waiting.get(reply.request_id)
                    if waiting and not waiting.done():
                        waiting.set_result(reply)
        except HubError as fault:
            self._fail(fault)
        except asyncio.CancelledError:
            self._fail(HubError("the client was closed"))
            raise

    def _fail(self, fault: HubError) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(fault)


async def _send(connection: ClientConnection, protocol: Protocol) -> None:
    for frame in protocol.take():
        await connection.send(frame)


def _files() -> list[Path]:
    """Where discovery files are: the released program's first, then other owners' by time, newest first."""
    first = discovery_path(os.environ, home=Path.home())
    if "CLINE_HUB_DISCOVERY_PATH" in os.environ:
        return [first]
    others = sorted(first.parent.glob("owners/hub-*.json"), key=_changed, reverse=True)
    return [first, *others]


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _library() -> Callable[..., Any]:
    try:
        from websockets.asyncio.client import connect
    except ImportError:
        raise MissingExtra("websockets", "hub") from None
    return connect
