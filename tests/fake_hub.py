"""As much of Cline's hub as a watcher meets: its log, its refusals, and faults on demand.

`FakeHub` and `Seat` know no socket; `serving` puts them behind a WebSocket on loopback. Behaviour follows the
hub of `cline` 3.0.65, its pages of replay and its silence towards a cursor behind its log included.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

from websockets.asyncio.server import ServerConnection, broadcast, serve
from websockets.http11 import Request, Response

DATA = Path(__file__).with_name("data") / "cline-hub"
RUNS = ("hub_tools", "hub_api_401", "hub_abort_sigint")


def frames(name: str, direction: str = "in") -> list[dict[str, Any]]:
    """The frames of one recorded connection (`RUN.live`, `RUN.replay`, `RUN.session`)."""
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")
    records = [json.loads(line) for line in lines if line]
    return [record["frame"] for record in records if record["dir"] == direction]


def envelopes(name: str) -> list[dict[str, Any]]:
    return [frame["envelope"] for frame in frames(name) if frame["kind"] == "event"]


class FakeHub:
    """One hub: what it has logged, and what shall go wrong."""

    def __init__(self, log: list[dict[str, Any]] | None = None) -> None:
        self.log = list(log or [])
        self.last = self.log[-1]["sequence"] if self.log else 0
        self.seats: list[Seat] = []
        self.token = "ab" * 32
        self.url = ""
        self.version = "v1"
        self.has_log = True
        self.starting = False
        self.refused: dict[str, tuple[str, str]] = {}
        self.silent: set[str] = set()  # commands that get no reply
        self.held: set[str] = set()  # commands whose reply waits until another command is answered
        self.payloads: dict[str, Any] = {"session.list": {"sessions": []}, "client.list": {"clients": []}}
        self.greeting: list[str | bytes] = []  # sent as they are behind each subscription
        self.cut_after: int | None = None  # each connection ends behind so many events
        self.commands: list[dict[str, Any]] = []
        self.subscriptions: list[dict[str, Any]] = []
        self.connections: set[ServerConnection] = set()

    def publish(
        self, event: str, payload: Any = None, *, session_id: str | None = None, logged: bool = True
    ) -> dict[str, Any]:
        """Log an event and send it to everyone whom it concerns."""
        envelope = {"version": "v1", "event": event, "eventId": f"hevt_{self.last + 1}_{len(self.log)}"}
        if session_id:
            envelope["sessionId"] = session_id
        envelope |= {"timestamp": 1796040000000 + self.last, "payload": payload or {}}
        if logged:
            self.last += 1
            envelope["sequence"] = self.last
            self.log.append(envelope)
        for seat in tuple(self.seats):
            seat.offer(envelope)
        return envelope

    def discovery(self) -> dict[str, Any]:
        """What this hub would write about itself."""
        record: dict[str, Any] = json.loads((DATA / "hub_tools.discovery.json").read_text(encoding="utf-8"))
        port = int(self.url.rpartition(":")[2].partition("/")[0])
        return {**record, "authToken": self.token, "port": port, "url": self.url}


class Seat:
    """One connection of a hub; what it has to say goes to `send`."""

    def __init__(
        self, hub: FakeHub, send: Callable[[str | bytes], None], hang_up: Callable[[], object] = lambda: None
    ) -> None:
        self.hub = hub
        self._hang_up = hang_up
        self.closed = False
        self._send = send
        self._client: str | None = None
        self._filters: dict[str, str | None] = {}
        self._floors: dict[str, int] = {}
        self._waiting: list[str] = []
        self._events = 0
        hub.seats.append(self)

    def leave(self) -> None:
        self.closed = True
        if self in self.hub.seats:
            self.hub.seats.remove(self)

    def receive(self, text: str | bytes) -> None:
        frame = json.loads(text)
        if frame["kind"] == "stream.subscribe":
            self._subscribe(frame)
        elif frame["kind"] == "command":
            self._command(frame["envelope"])

    def offer(self, envelope: dict[str, Any]) -> None:
        for key, session_id in self._filters.items():
            if session_id is None or session_id == envelope.get("sessionId"):
                self._event(key, envelope)

    def _event(self, key: str, envelope: dict[str, Any]) -> None:
        if self.closed:
            return
        sequence = envelope.get("sequence")
        if sequence is not None and key in self._floors:
            if sequence <= self._floors[key]:
                return
            self._floors[key] = sequence
        self._send(json.dumps({"kind": "event", "envelope": envelope}, separators=(",", ":")))
        self._events += 1
        if self._events == self.hub.cut_after:
            self.leave()
            self._hang_up()

    def _subscribe(self, frame: dict[str, Any]) -> None:
        self.hub.subscriptions.append(frame)
        session_id = frame.get("sessionId")
        key = f"{frame['clientId']}:{session_id or '*'}"
        if key in self._filters:
            return
        since = frame.get("sinceSequence")
        if since is not None and self.hub.has_log:
            self._floors[key] = since
            for envelope in self.hub.log:
                if envelope["sequence"] > since and session_id in (None, envelope.get("sessionId")):
                    self._event(key, envelope)
        self._filters[key] = session_id
        for text in self.hub.greeting:
            self._send(text)

    def _command(self, envelope: dict[str, Any]) -> None:
        hub, name = self.hub, envelope["command"]
        hub.commands.append(envelope)
        if name in hub.silent:
            return
        reply = {"version": hub.version, "requestId": envelope["requestId"], **self._answer(name, envelope)}
        text = json.dumps({"kind": "reply", "envelope": reply})
        if name in hub.held:
            self._waiting.append(text)
            return
        for each in [text, *self._waiting]:
            self._send(each)
        self._waiting.clear()

    def _answer(self, name: str, envelope: dict[str, Any]) -> dict[str, Any]:
        if name in self.hub.refused:
            return _no(*self.hub.refused[name])
        if name == "client.register":
            if self._client:
                return _no("client_already_registered", "This connection already owns a registered client.")
            self._client = envelope["clientId"]
            return {"ok": True, "payload": {"clientId": self._client}}
        if envelope.get("clientId") != self._client:
            return _no("client_authority_mismatch", "Command clientId does not belong to this connection.")
        if name == "hub.status":
            log = {"eventLog": {"lastSequence": self.hub.last}} if self.hub.has_log else {}
            state = {"draining": False, "activeRpcTurns": 1, "pendingRuns": 0, "idle": False}
            return {"ok": True, "payload": {"hubId": "hub_fake", **state, **log}}
        if name in self.hub.payloads:
            return {"ok": True, "payload": self.hub.payloads[name]}
        return _no("unsupported_command", f"Unsupported hub command: {name}")


def _no(code: str, message: str) -> dict[str, Any]:
    return {"ok": False, "error": {"code": code, "message": message}}


@asynccontextmanager
async def serving(hub: FakeHub, *, discovery: Path | None = None) -> AsyncIterator[FakeHub]:
    """The hub on a free port of loopback; `discovery` is where it writes that it is there."""

    def admit(connection: ServerConnection, request: Request) -> Response | None:
        if hub.starting:
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "")
        offered = request.headers.get("Sec-WebSocket-Protocol", "")
        admitted = offered == f"cline-hub-auth.{hub.token}" and request.path == "/hub"
        return None if admitted else connection.respond(HTTPStatus.UNAUTHORIZED, "")

    async def attend(connection: ServerConnection) -> None:
        def hang_up() -> None:
            task = asyncio.create_task(connection.close())
            closing.add(task)
            task.add_done_callback(closing.discard)

        seat = Seat(hub, lambda text: broadcast([connection], text), hang_up)
        hub.connections.add(connection)
        try:
            async for text in connection:
                seat.receive(text)
        finally:
            hub.connections.discard(connection)
            seat.leave()

    closing: set[asyncio.Task[None]] = set()
    server = await serve(
        attend,
        "127.0.0.1",
        0,
        process_request=admit,
        select_subprotocol=lambda _, offered: offered[0] if offered else None,
        max_size=None,
        compression=None,
        ping_interval=None,
        close_timeout=0.2,
    )
    hub.url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/hub"
    if discovery:
        discovery.write_text(json.dumps(hub.discovery()), encoding="utf-8")
    try:
        yield hub
    finally:
        server.close()
        await server.wait_closed()
        if closing:
            await asyncio.wait(closing)


@contextmanager
def running(hub: FakeHub, *, discovery: Path | None = None) -> Iterator[Callable[[Callable[[], Any]], None]]:
    """The hub in a thread of its own; yields what runs a call there."""
    loop = asyncio.new_event_loop()
    up, down = threading.Event(), asyncio.Event()

    async def main() -> None:
        async with serving(hub, discovery=discovery):
            up.set()
            await down.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),), daemon=True)
    thread.start()
    try:
        assert up.wait(5)
        yield loop.call_soon_threadsafe
    finally:
        loop.call_soon_threadsafe(down.set)
        thread.join(10)
        loop.close()
