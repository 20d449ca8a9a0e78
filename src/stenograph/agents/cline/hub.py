"""The protocol of Cline's hub without a socket: frames in; events, replies and frames to send out.

Run against the hub of `cline` 3.0.65 (`@cline/core` 0.0.86), protocol v1; see docs/cline-hub.md. Oddities:
replies come in any order, `stream.subscribe` has none, a pending approval is sent again without a sequence
to whoever subscribes, and a cursor behind the end of the log silences the hub until the log grew past it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import msgspec

from stenograph import jsonio
from stenograph.agents.cline.discovery import VERSION
from stenograph.agents.cline.session import HubEventEnvelope, to_envelope
from stenograph.errors import HubError, Place, UsageError
from stenograph.fields import whole
from stenograph.notes import Kind, Report

_REMEMBERED = 4096  # ids of events without a sequence are only known to be repeats by these

OBSERVING = frozenset(
    {
        "client.list",
        "client.register",
        "client.unregister",
        "hub.status",
        "run.list",
        "schedule.list",
        "session.get",
        "session.list",
        "session.messages",
        "settings.get",
        "task.get",
        "task.list",
    }
)
"""The commands that change nothing at the hub."""


class HubEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a hub: its envelope, the JSON that it was, and what it is routed by, None when absent."""

    event: str
    envelope: HubEventEnvelope
    raw: bytes
    event_id: str | None = None
    session_id: str | None = None
    sequence: int | None = None


class Reply(NamedTuple):
    """A hub's answer to the command with this id; `code` and `message` are its words when it is not `ok`."""

    request_id: str
    ok: bool
    payload: Any
    code: str | None
    message: str

    def value(self) -> Any:
        """The payload; raises HubError when the hub refused."""
        if self.ok:
            return self.payload
        raise HubError(f"the hub refused: {self.message or self.code or 'no reason given'}", code=self.code)


class Protocol:
    """One client of a hub, over as many connections as it takes.

    Give each new connection to `connect` and each frame to `receive`; after both, send what `take` returns.
    Advertises no capability, so no run waits for it. With `stream` it subscribes, from the event behind
    number `since` (0: all that the hub keeps; None: from now on), and on the next connection goes on
    without gap or repeat. Notes: `hub-frame-unread`, `hub-frame-unknown`, `event-unasked`, `late-reply`,
    `events-missing`, `log-restarted`, `log-replaced`, `no-event-log`.
    """

    def __init__(
        self,
        *,
        workspace: str | None = None,
        stream: bool = True,
        session_id: str | None = None,
        since: int | None = None,
        read_only: bool = True,
        report: Report | None = None,
    ) -> None:
        self.ready = False
        """Whether this connection is registered and, with `stream`, subscribed."""
        self.cursor = since
        """The sequence up to which all events were given out."""
        self._workspace = workspace
        self._stream = stream
        self._session_id = (session_id or "").strip() or None
        self._read_only = read_only
        self._report = report if report is not None else Report()
        self._client_id = ""
        self._asked: dict[str, str] = {}  # open commands by request id, emptied with each connection
        self._probe = ""  # the request id of this connection's own hub.status
        self._count = 0
        self._frames = 0
        self._out: list[str] = []
        self._last_id: str | None = None  # the id of the event at the cursor, once one was seen
        self._overlap = False  # whether that event is due again, as the first of this connection
        self._given: OrderedDict[str, None] = OrderedDict()

    def connect(self, client_id: str) -> None:
        """Begin on a new connection; `client_id` should be new each time: the hub forgets a lost one late."""
        self._client_id = client_id
        self._asked.clear()
        self._out.clear()
        self.ready = False
        registration: dict[str, Any] = {
            "clientId": client_id,
            "clientType": "stenograph",
            "displayName": "stenograph",
            "actorKind": "client",
            "transport": "native",
            "capabilities": [],
        }
        if self._workspace:
            registration["workspaceContext"] = {"workspaceRoot": self._workspace, "cwd": self._workspace}
        self.command("client.register", registration)

    def command(self, name: str, payload: Any = None, *, session_id: str | None = None) -> str:
        """Queue a command and return its request id. Raises UsageError for one that acts, when read-only."""
        if self._read_only and name not in OBSERVING:
            raise UsageError(f"{name} acts on the hub; this client only watches")
        self._count += 1
        request_id = f"steno-{self._count}"
        self._asked[request_id] = name
        envelope = {"version": VERSION, "command": name, "requestId": request_id, "clientId": self._client_id}
        if session_id:
            envelope["sessionId"] = session_id
        self._queue(
            {"kind": "command", "envelope": {**envelope, "payload": {} if payload is None else payload}}
        )
        return request_id

    def forget(self, request_id: str) -> None:
        """Wait no longer for the reply to a command; should it come, it is noted."""
        self._asked.pop(request_id, None)

    def take(self) -> list[str]:
        """The text frames to send now, in order."""
        out, self._out = self._out, []
        return out

    def receive(self, frame: str | bytes) -> HubEvent | Reply | None:
        """What one frame brings, if it is for the caller. Raises HubError when the hub refuses us."""
        self._frames += 1
        try:
            kind, raw = _split(frame.encode("utf-8", "replace") if isinstance(frame, str) else frame)
            envelope = jsonio.loads(raw)
        except ValueError:
            self._note(Kind.UNREAD, "hub-frame-unread", repr(frame[:80]))
            return None
        match kind, envelope:
            case "event", {"event": str()}:
                return self._event(envelope, raw)
            case "reply", {"requestId": str()}:
                return self._reply(envelope)
        self._note(Kind.DRIFT, "hub-frame-unknown", repr(frame[:80]))
        return None

    def _event(self, envelope: dict[str, Any], raw: bytes) -> HubEvent | None:
        if not self.ready:
            self._note(Kind.UNREAD, "event-unasked", envelope["event"])
            return None
        event = HubEvent(
            event=envelope["event"],
            envelope=to_envelope(envelope),
            raw=raw,
            event_id=_text(envelope.get("eventId")),
            session_id=(_text(envelope.get("sessionId")) or "").strip() or None,
            sequence=whole(envelope.get("sequence")),
        )
        if self._known(event):
            return None
        if event.sequence is not None:
            self._advance(event.sequence)
            self._last_id = event.event_id
        self._remember(event.event_id)
        return event

    def _known(self, event: HubEvent) -> bool:
        """Whether this event was given out before."""
        if event.sequence is None:
            return event.event_id in self._given
        if self.cursor is None or event.sequence > self.cursor:
            return False
        if self._overlap and event.sequence == self.cursor and event.event_id != self._last_id:
            self._note(Kind.DROPPED, "log-replaced", f"number {self.cursor} is another event than before")
            return False
        self._overlap = False
        return True

    def _advance(self, sequence: int) -> None:
        # Only an unfiltered stream shows every number; from 0 on, all that is kept is all that was asked for.
        if self.cursor and self._session_id is None and sequence > self.cursor + 1:
            self._note(Kind.DROPPED, "events-missing", f"{self.cursor + 1} to {sequence - 1}")
        self.cursor = sequence
        self._overlap = False

    def _remember(self, event_id: str | None) -> None:
        if event_id is None:
            return
        self._given[event_id] = None
        if len(self._given) > _REMEMBERED:
            self._given.popitem(last=False)

    def _reply(self, envelope: dict[str, Any]) -> Reply | None:
        request_id = envelope["requestId"]
        command = self._asked.pop(request_id, None)
        if command is None:
            self._note(Kind.DROPPED, "late-reply", request_id)
            return None
        error = envelope.get("error")
        error = error if isinstance(error, dict) else {}
        reply = Reply(
            request_id,
            envelope.get("ok") is True,
            envelope.get("payload"),
            _text(error.get("code")),
            _text(error.get("message")) or "",
        )
        if command == "client.register":
            self._registered(reply, version=envelope.get("version"))
            return None
        if request_id == self._probe:
            self._subscribe(reply)
            return None
        return reply

    def _registered(self, reply: Reply, *, version: Any) -> None:
        if version != VERSION:
            raise HubError(f"the hub answers in version {version!r}; this client speaks {VERSION}")
        reply.value()
        if self._stream:
            self._probe = self.command("hub.status")
        else:
            self.ready = True

    def _subscribe(self, status: Reply) -> None:
        match status.payload:
            case {"eventLog": {"lastSequence": int(last)}}:
                self._align(last)
            case _ if status.ok and self.cursor is not None:
                self._note(Kind.DROPPED, "no-event-log", f"events behind {self.cursor} cannot be asked for")
        frame: dict[str, Any] = {"kind": "stream.subscribe", "clientId": self._client_id}
        if self._session_id:
            frame["sessionId"] = self._session_id
        if self.cursor is not None:
            # One event is asked for again where we have it: that it is the same proves the log is.
            self._overlap = self._last_id is not None
            frame["sinceSequence"] = self.cursor - 1 if self._overlap else self.cursor
        self._queue(frame)
        self.ready = True

    def _align(self, last: int) -> None:
        """Set the cursor against the end of the hub's log."""
        if self.cursor is None:
            self.cursor = last
        elif self.cursor > last:
            self._note(Kind.DROPPED, "log-restarted", f"asked behind {self.cursor}, the log ends at {last}")
            self.cursor, self._last_id = 0, None

    def _queue(self, frame: dict[str, Any]) -> None:
        self._out.append(jsonio.dumps(frame).decode())

    def _note(self, kind: Kind, code: str, example: str) -> None:
        self._report.add(kind, code, Place(source="hub", line=self._frames), example)


def runtime_event(envelope: HubEventEnvelope) -> dict[str, Any] | None:
    """The layer 1 event inside an envelope: the client that owns a run, if it has hooks, is asked with it.

    All of a run but its text and reasoning deltas come this way.
    """
    match envelope.event, envelope.payload:
        case (
            "capability.requested",
            {"capabilityName": "hook.onEvent", "payload": {"context": dict() as context}},
        ):
            return context
    return None


class _Frame(msgspec.Struct):
    kind: str
    envelope: msgspec.Raw


_decode = jsonio.decoder(_Frame).decode


def _split(data: bytes) -> tuple[Any, bytes]:
    """A frame's kind and the bytes of its envelope; raises ValueError when it has none."""
    try:
        frame = _decode(data)
        return frame.kind, bytes(frame.envelope)
    except (ValueError, RecursionError):
        members = dict(jsonio.members(data))
        if "envelope" not in members:
            raise ValueError("no envelope") from None
        return jsonio.loads(members.get("kind", b"null")), members["envelope"]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
