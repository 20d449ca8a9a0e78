"""Recorded events of one layer of the Cline SDK as JSON lines, turned into those of another layer.

Downwards as far as the events go: a hub's envelopes hold layer 3, and that holds layer 2; layer 1 cannot be
made from anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeAlias, get_args

from stenograph.agents.cline import agent, runtime, session, wire
from stenograph.agents.cline.adapt import AgentAdapters
from stenograph.agents.cline.project import SessionEventProjector
from stenograph.agents.cline.receive import HubEventTranslator
from stenograph.errors import Place, UsageError
from stenograph.framing import Line, Lines
from stenograph.notes import Kind, Report

Layer: TypeAlias = Literal["runtime", "agent", "core", "hub"]
LAYERS: tuple[Layer, ...] = get_args(Layer)
"""The layers, from the innermost one on."""

_Step: TypeAlias = Callable[[Any], list[Any]]


class LayerTranslator:
    """Takes bytes of JSON lines of the layer `source` and gives lines of the layer `target`.

    `session_id` names the session where layers 1 and 2 do not. With `now_ms`, a clock in milliseconds, tools
    get their durations and envelopes their timestamps, as the lines come; a recording is better translated
    without. A line that is no JSON object is noted as `not-json`, one of no known shape as `unknown-event`.
    Raises UsageError for a target that cannot be made from the source.
    """

    def __init__(
        self,
        *,
        source: Layer,
        target: Layer,
        session_id: str = "session",
        now_ms: Callable[[], float] | None = None,
        report: Report | None = None,
    ) -> None:
        if target == "runtime" != source:
            raise UsageError(f"the events of layer {source!r} do not hold those of layer 'runtime'")
        self.report = report if report is not None else Report()
        self._read = _READERS[source]
        self._steps = list(_steps(source, target, session_id, now_ms))
        self._lines = Lines()

    def feed(self, data: bytes) -> list[bytes]:
        """The lines, without their ends, that come of the lines that end in `data`."""
        return [made for line in self._lines.feed(data) for made in self._translated(line)]

    def close(self) -> list[bytes]:
        """The same for a last line without an end."""
        return [made for line in self._lines.flush() for made in self._translated(line)]

    def _translated(self, line: Line) -> list[bytes]:
        if not line.data.strip():
            return []
        try:
            event = self._read(wire.parse_object(line.data))
        except ValueError:
            self._note(Kind.DAMAGED, "not-json", line)
            return []
        if isinstance(event, wire.Unknown):
            self._note(Kind.UNREAD, "unknown-event", line)
            return []
        events = [event]
        for step in self._steps:
            events = [after for before in events for after in step(before)]
        return [wire.encode(each) for each in events]

    def _note(self, kind: Kind, code: str, line: Line) -> None:
        place = Place(offset=line.offset, line=line.number)
        self.report.add(kind, code, place, line.data[:200].decode("utf-8", "replace"))


def _steps(
    source: Layer, target: Layer, session_id: str, now_ms: Callable[[], float] | None
) -> Iterator[_Step]:
    begin, end = LAYERS.index(source), LAYERS.index(target)
    upward: list[Callable[[], _Step]] = [
        lambda: _adapted(AgentAdapters(now_ms=now_ms)),
        lambda: lambda event: [_owned(event, session_id)],
        lambda: SessionEventProjector(now_ms=now_ms).project,
    ]
    downward: list[Callable[[], _Step]] = [
        lambda: HubEventTranslator(now_ms=now_ms).translate,
        lambda: _content,
    ]
    for make in upward[begin:end]:
        yield make()
    for make in downward[len(LAYERS) - 1 - begin : len(LAYERS) - 1 - end]:
        yield make()


def _adapted(adapters: AgentAdapters) -> _Step:
    def step(event: runtime.AgentRuntimeEvent) -> list[agent.AgentEvent]:
        return adapters.translate(event, agent_id=runtime.agent_of(event))

    return step


def _owned(event: agent.AgentEvent, session_id: str) -> session.CoreAgentEvent:
    return session.CoreAgentEvent(payload=session.SessionAgentEvent(session_id=session_id, event=event))


def _content(event: session.CoreSessionEvent) -> list[agent.AgentEvent]:
    """The layer 2 event inside; chunks only repeat it."""
    inside = event.payload.event if isinstance(event, session.CoreAgentEvent) else None
    return [] if inside is None or isinstance(inside, wire.Unknown) else [inside]


def _read_envelope(record: Mapping[str, Any]) -> Any:
    """An envelope, or the frame of the wire that holds one."""
    if record.get("kind") == "event" and isinstance(record.get("envelope"), dict):
        record = record["envelope"]
    return session.to_envelope(record) if isinstance(record.get("event"), str) else wire.Unknown(wire=record)


_READERS: dict[Layer, Callable[[Mapping[str, Any]], Any]] = {
    "runtime": runtime.to_runtime_event,
    "agent": agent.to_agent_event,
    "core": session.to_session_event,
    "hub": _read_envelope,
}
