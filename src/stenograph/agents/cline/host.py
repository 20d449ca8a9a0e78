"""`Core`: one object for many sessions, whose events come out as layer 3, as from ClineCore's local host.

Each layer 2 event is followed by a `chunk` that repeats it as JSON text. Nothing is stored on disk.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable

from stenograph import bus
from stenograph.agents.cline.hosted import Session, SessionResult
from stenograph.agents.cline.loop import Agent
from stenograph.agents.cline.models import AgentModel
from stenograph.agents.cline.runtime import AgentMessage
from stenograph.agents.cline.session import CoreSessionEvent, CoreSessionSnapshot
from stenograph.agents.cline.state import Clock, Limits
from stenograph.agents.cline.tools import AgentTool
from stenograph.agents.cline.track import MistakeLimits
from stenograph.errors import UsageError
from stenograph.notes import Report


class Core:
    """Starts sessions, sends them prompts, and tells what they do.

    `history` is how many of the latest events are kept for replay. `now_ms` and `new_id(prefix)` are its
    clock and its source of names. What a listener raises for an agent's event goes to `report` as
    `listener-raised`; for any other event it reaches whoever called.
    """

    def __init__(
        self,
        *,
        history: int = 0,
        now_ms: Callable[[], float] | None = None,
        new_id: Callable[[str], str] | None = None,
        report: Report | None = None,
    ) -> None:
        self._clock = Clock(now_ms=now_ms, new_id=new_id)
        self._report = report if report is not None else Report()
        self._sessions: dict[str, Session] = {}
        self.bus: bus.Bus[CoreSessionEvent] = bus.Bus(rule=bus.CORE, history=history, report=self._report)
        """Where the events go: for replay and for streams with a bound."""

    def subscribe(
        self,
        listener: Callable[[CoreSessionEvent], object],
        *,
        session_id: str | None = None,
        since: int | None = None,
    ) -> bus.Unsubscribe:
        """Call `listener` for each event, of one session or of all; the returned function ends that."""
        return self.bus.subscribe(listener, session_id=session_id, since=since)

    async def start(
        self,
        prompt: str,
        *,
        model: AgentModel,
        tools: Iterable[AgentTool] = (),
        system_prompt: str = "",
        messages: Iterable[AgentMessage] = (),
        session_id: str | None = None,
        interactive: bool = True,
        cwd: str | None = None,
        limits: Limits | None = None,
        mistakes: MistakeLimits | None = None,
    ) -> SessionResult:
        """Begin a session and run it on its first prompt; the result holds its id.

        One that is not `interactive` is over after that. Raises UsageError for an id that is in use.
        """
        name = session_id or self._clock.new_id("session")
        if name in self._sessions:
            raise UsageError(f"there is a session {name!r} already")
        agent = Agent(
            model=model,
            tools=tools,
            system_prompt=system_prompt,
            messages=messages,
            limits=limits,
            now_ms=self._clock.now_ms,
            new_id=self._clock.new_id,
            report=self._report,
        )
        self._sessions[name] = Session(
            name,
            agent=agent,
            model=model.info(),
            emit=lambda event: self.bus.emit(event, session_id=name),
            interactive=interactive,
            cwd=os.getcwd() if cwd is None else cwd,
            mistakes=mistakes or MistakeLimits(),
            now_ms=self._clock.now_ms,
            report=self._report,
        )
        return await self.send(name, prompt)

    async def send(self, session_id: str, prompt: str) -> SessionResult:
        """Run a session on one more prompt, behind those that wait.

        Raises UsageError when there is no such session, or it is stopped meanwhile.
        """
        session = self._session(session_id)
        try:
            return await session.run(prompt)
        finally:
            self._forget(session)

    def abort(self, session_id: str, reason: str = "Run aborted") -> None:
        """End the run of a session; raises UsageError when there is no such session."""
        self._session(session_id).abort(reason)

    async def stop(self, session_id: str, reason: str = "stopped") -> None:
        """End a session; raises UsageError when there is no such one."""
        session = self._session(session_id)
        await session.stop(reason)
        self._forget(session)

    async def close(self) -> None:
        """End all sessions and the streams on the bus."""
        await asyncio.gather(*(self.stop(name, "disposed") for name in tuple(self._sessions)))
        self.bus.close()

    def snapshot(self, session_id: str) -> CoreSessionSnapshot | None:
        """All that is known of a session that is not over."""
        session = self._sessions.get(session_id)
        return session.snapshot() if session else None

    def usage(self, session_id: str) -> dict[str, dict[str, float]] | None:
        """Tokens and cost (USD), by wire names, of a session that is not over: {usage, aggregateUsage}."""
        session = self._sessions.get(session_id)
        return {"usage": session.usage, "aggregateUsage": session.usage} if session else None

    def _session(self, session_id: str) -> Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise UsageError(f"there is no session {session_id!r}")
        return session

    def _forget(self, session: Session) -> None:
        if session.ended and self._sessions.get(session.session_id) is session:
            del self._sessions[session.session_id]
