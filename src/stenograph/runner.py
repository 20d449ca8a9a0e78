"""Runs an agent's command line and gives its events while it works; on request keeps a record of the run."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import IO

from stenograph import launch as launches
from stenograph import record
from stenograph.errors import Place, RunError, UsageError
from stenograph.event import Error as Fault
from stenograph.event import Event
from stenograph.launch import Launch
from stenograph.meter import Account
from stenograph.model import Entry
from stenograph.notes import Kind, Report
from stenograph.parser import EventParser, Profile, spell
from stenograph.process import Chunk, Limits, Process, utc_now
from stenograph.record import End, Outcome, Recorder
from stenograph.tally import Tally

Watch = Callable[[Entry], None]


def run(
    agent: str | Launch,
    *,
    arguments: Sequence[str] = (),
    prompt: str | None = None,
    program: str | None = None,
    out: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    idle_timeout: float | None = None,
    grace: float = 5.0,
    profile: Profile = "standard",
    detail: bool = False,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int | IO[bytes] | None = None,
    watch: Watch | None = None,
    now: Callable[[], datetime] = utc_now,
) -> Run:
    """Make a run of an agent; iterate over it asynchronously for the events.

    `arguments` go to the agent as they are, `program` takes the place of its usual one, `out` names a folder
    for the record. After `timeout` seconds, or `idle_timeout` seconds of silence, the agent is told to end,
    and its process group is ended when that has not helped in `grace` seconds. `watch` is called with every
    entry, `now` gives the time of each arrival. Without `stdin` the agent reads nothing.

    Raises UnknownFormat for an agent that nobody knows and RunError for a program that is not there;
    iterating raises RunError when it cannot be started and WriteError when the record cannot be kept.
    """
    how = launches.launch(agent) if isinstance(agent, str) else agent
    return Run(
        how,
        launches.command(how, arguments, prompt=prompt, program=program),
        out=None if out is None else Path(out),
        limits=Limits(timeout, idle_timeout, grace),
        profile=profile,
        detail=detail,
        cwd=_folder(cwd),
        env=env,
        stdin=stdin,
        watch=watch,
        now=now,
    )


def _folder(cwd: str | os.PathLike[str] | None) -> str:
    try:
        return os.path.abspath(cwd or os.getcwd())
    except FileNotFoundError:
        raise RunError("the folder that we are in is not there any more") from None


def _text(name: str) -> str:
    """What may stand for bytes that are no text, as text: such a byte reads `\\udcff`."""
    return name.encode("utf-8", "backslashreplace").decode()


class Run:
    """One run: iterate over it once for the events; `outcome` says what it came to, `command` what is run."""

    def __init__(
        self,
        how: Launch,
        command: Sequence[str],
        *,
        out: Path | None,
        limits: Limits,
        profile: Profile,
        detail: bool,
        cwd: str,
        env: Mapping[str, str] | None,
        stdin: int | IO[bytes] | None,
        watch: Watch | None,
        now: Callable[[], datetime],
    ) -> None:
        program = launches.locate(command[0], cwd=cwd, env=env)
        self.command = tuple(command)
        self.report = Report()
        self.outcome = Outcome(
            steno=version("stenograph"),
            agent=how.agent,
            format=how.format,
            profile=profile,
            detail=detail,
            program=_text(program),
            version=launches.installed_version(program),
            arguments=[_text(word) for word in command[1:]],
            cwd=_text(cwd),
            started=now(),
        )
        self._how = how
        self._program = program
        self._cwd = cwd
        self._out = out
        self._limits = limits
        self._env = env
        self._stdin = stdin
        self._watch = watch
        self._now = now
        self._process = Process(limits, hear=self._heard, now=now)
        self._waiting: deque[Event] = deque()  # for whoever iterates
        self._whole = record.Whole()
        self._tally = Tally()
        self._recorder: Recorder | None = None
        self._reading = Reading(self.outcome, watch=self._entry)
        self._begun = False

    @property
    def exit_code(self) -> int | None:
        """The agent's exit code, 128+N when signal N ended it; None while it runs."""
        signal_number = self.outcome.signal
        return self.outcome.exit_code if signal_number is None else 128 + signal_number

    @property
    def usage(self) -> Account:
        """What was taken so far, by session, model and (UTC) day."""
        return self._reading.parser.usage

    def stop(self, number: int = signal.SIGINT) -> None:
        """Pass a signal on to the agent; its group is ended after the grace period, at once when repeated."""
        self._process.stop("signal", number)

    @property
    def cwd(self) -> str | None:
        """The workspace, as the agent names it once it does."""
        return self._reading.parser.cwd

    def __aiter__(self) -> AsyncIterator[Event]:
        return self.events()

    async def events(self) -> AsyncGenerator[Event, None]:
        """The events as they come; closing the iterator ends the agent. Raises UsageError the second time."""
        if self._begun:
            raise UsageError("a run can be iterated over once; make another one")
        self._begun = True
        with self._kept():
            command = (self._program, *self.command[1:])
            await self._process.start(command, cwd=self._cwd, env=self._env, stdin=self._stdin)
            try:
                while await self._process.news():
                    while self._waiting:
                        yield self._waiting.popleft()
            finally:
                try:
                    await self._process.close()
                finally:
                    last = self._end()
            for event in last:
                yield event
            if self._process.code is None:
                raise RunError(f"{self.command[0]} could not be ended")

    @contextlib.contextmanager
    def _kept(self) -> Iterator[None]:
        """The record is begun, and finished whatever happens."""
        if self._out is not None:
            self._recorder = Recorder(self._out, self.outcome)
        try:
            yield
        except RunError as error:
            self.outcome.failure = str(error)
            raise
        finally:
            self.outcome.ended = self.outcome.ended or self._now()
            if self._recorder:
                with contextlib.closing(self._recorder) as recorder:
                    recorder.sum_up(self.outcome)

    def _heard(self, chunk: Chunk) -> int:
        events = self._take(self._whole.take(chunk))
        self._waiting += events
        return len(events)

    def _take(self, chunk: Chunk) -> list[Event]:
        """Keep what came, then what it means."""
        if self._recorder and chunk.data:
            self._recorder.heard(chunk)
        events = self._reading.feed(chunk)
        if events:
            self._count(events)
        if self.outcome.session_id is None and self._reading.parser.session_id is not None:
            self.outcome.session_id = self._reading.parser.session_id
            if self._recorder:
                self._recorder.sum_up(self.outcome)
        return events

    def _end(self) -> list[Event]:
        at = self._now()
        events = [event for chunk in self._whole.rest(at) for event in self._take(chunk)]
        end = self._ending(at)
        if self._recorder:
            self._recorder.ended(end)
        last = self._reading.close(end)
        self._count(last)
        self._conclude(end)
        return events + last

    def _count(self, events: list[Event]) -> None:
        for event in events:
            self._tally.event(event)
        if self._recorder:
            self._recorder.gave(events)

    def _entry(self, entry: Entry) -> None:
        self._tally.entry(entry)
        if self._watch:
            self._watch(entry)

    def _ending(self, at: datetime) -> End:
        code, stopped = self._process.code, self._process.stopped
        limit = {"timeout": self._limits.timeout, "idle": self._limits.idle}.get(stopped or "")
        killed = code is not None and code < 0
        return End(
            at=at,
            exit_code=None if killed else code,
            signal=-code if killed and code else None,
            stopped=stopped,
            limit=limit,
        )

    def _conclude(self, end: End) -> None:
        """Write into the outcome all that is known now."""
        outcome, tally = self.outcome, self._tally
        outcome.ended = end.at
        outcome.exit_code, outcome.signal, outcome.stopped = end.exit_code, end.signal, end.stopped
        outcome.session_id = self._reading.parser.session_id
        outcome.version = tally.version or outcome.version
        outcome.complete = tally.ended if self._how.ends else None
        outcome.final_text = tally.text
        outcome.spent(self.usage)
        outcome.tools, outcome.events = dict(tally.tools), tally.events
        self._note()
        outcome.report = self.report.to_json()

    def _note(self) -> None:
        self.report.merge(self._reading.parser.report)
        quiet = self._how.ends and not self._tally.ended and self.outcome.stopped is None
        if quiet and self.outcome.exit_code == 0:
            self.report.add(
                Kind.DAMAGED, "no-final-record", Place(), "exit code 0, but not a word of the end"
            )
        if self._process.held:
            self.report.add(Kind.DROPPED, "pipe-held", Place(), "output of a process that outlived the agent")


class Reading:
    """What came, as events: the one way from the pieces of a run to its events, live and from the record."""

    def __init__(self, outcome: Outcome, *, watch: Watch | None = None) -> None:
        self._at = outcome.started
        self.parser = EventParser(
            outcome.format,
            cwd=outcome.cwd,
            now=lambda: self._at,
            profile=outcome.profile,
            detail=outcome.detail,
            watch=watch,
        )

    def feed(self, chunk: Chunk) -> list[Event]:
        """The events that a piece completes."""
        self._at = chunk.at
        return self.parser.feed(chunk.data, chunk.channel)

    def close(self, end: End | None) -> list[Event]:
        """The last events; a run that was ended for its time has an error that says so."""
        if end is None:
            return self.parser.close()
        self._at = end.at
        if end.stopped not in ("timeout", "idle"):
            return self.parser.close(end.status)
        events = self.parser.close()
        what = "timed out after" if end.stopped == "timeout" else "silent for"
        message = f"{what} {end.limit:g} s"
        fault = Fault(
            message=message,
            code=end.stopped,
            timestamp=spell(end.at),
            session_id=self.parser.session_id,
        )
        return [*events, fault]


class Replay:
    """The events of a recorded run once more: iterate over it, then look at `is_cut` and `held`.

    The record of a run whose steno was killed has no end. Its events are then those of what came, as they
    were recorded; `held` are those that the end would have added: calls without an answer, unfinished text.
    """

    def __init__(self, folder: Path, outcome: Outcome) -> None:
        self._folder = folder
        self._outcome = outcome
        self.is_cut = False
        self.held: tuple[Event, ...] = ()

    def __iter__(self) -> Iterator[Event]:
        reading = Reading(self._outcome)
        for piece in record.read_raw(self._folder):
            if isinstance(piece, End):
                yield from reading.close(piece)
                return
            yield from reading.feed(piece)
        self.is_cut = True
        self.held = tuple(reading.close(None))


def replay(
    folder: str | os.PathLike[str], *, profile: Profile | None = None, detail: bool | None = None
) -> Replay:
    """The events of a recorded run, from what came and when; the same bytes when encoded.

    `profile` and `detail` take the place of the recorded ones. Raises ReadError when the folder holds no run.
    """
    path = Path(folder)
    outcome = record.read_outcome(path)
    outcome.profile = profile or outcome.profile
    outcome.detail = outcome.detail if detail is None else detail
    return Replay(path, outcome)
