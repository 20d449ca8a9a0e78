"""The public parser: bytes of a live stream in, events out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Literal, TypeAlias, get_args

from stenograph import event
from stenograph.errors import UsageError
from stenograph.event import Event
from stenograph.framing import WHITE_SPACE
from stenograph.meter import Account
from stenograph.model import Entry, Unread, Warned
from stenograph.notes import Report
from stenograph.reader import Channel
from stenograph.registry import stream

Clock: TypeAlias = Callable[[], datetime] | Literal["record"] | None
Profile: TypeAlias = Literal["standard", "extended"]

_TAIL = 20  # lines of output that an exit error repeats


class EventParser:
    """Reads one live stream of one agent.

    `cwd` is the workspace until the stream names its own. `now` gives the time of what is fed (default: the
    system's clock at each feed); "record" takes the records' own times, and the clock where none is told.
    `watch` is called with every entry, ahead of the events made of it. Raises UnknownFormat, and UsageError
    for a profile that there is not.
    """

    def __init__(
        self,
        format: str,  # noqa: A002 - the word that users know
        *,
        cwd: str | None = None,
        now: Clock = None,
        profile: Profile = "standard",
        detail: bool = False,
        watch: Callable[[Entry], None] | None = None,
    ) -> None:
        if profile not in get_args(Profile):
            raise UsageError(f"no profile {profile!r}: it is {' or '.join(get_args(Profile))}")
        kind = stream(format)
        self._reader = kind()
        self._projection = kind.projection(cwd=cwd, extended=profile == "extended", detail=detail)
        self._projection.report = self._reader.report
        self._by_record = self._reader.timed = now == "record"
        self._now: Callable[[], datetime] = now if callable(now) else _utc_now
        self._stamp: str | None = None  # the last time that a record told of itself
        self._errors: deque[str] = deque(maxlen=_TAIL)
        self._texts: deque[str] = deque(maxlen=_TAIL)
        self._watch = watch
        self._closed = False

    @property
    def session_id(self) -> str | None:
        """The harness's own id of the session, once it was told."""
        return self._reader.session_id

    @property
    def cwd(self) -> str | None:
        """The workspace, as the stream or else the caller names it."""
        return self._projection.cwd

    @property
    def report(self) -> Report:
        """What was repaired, and what was not understood."""
        return self._reader.report

    @property
    def usage(self) -> Account:
        """What was taken so far, by session, model and (UTC) day."""
        return self._reader.meter.account()

    def feed(self, data: bytes | str, channel: Channel = "stdout") -> list[Event]:
        """The events that the next bytes complete, cut anywhere. Raises UsageError when closed."""
        if self._closed:
            raise UsageError("the parser is closed; make a new one for another stream")
        raw = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
        return self._events(self._reader.feed(raw, channel))

    def flush(self) -> list[Event]:
        """The events that wait for more of their message; later pieces of it begin new ones."""
        events = self._events(self._reader.release())
        return events + self._projection.flush()

    def close(self, exit_code: int | None = None) -> list[Event]:
        """The last events: what was held, calls without an answer, and the error of a non-zero exit.

        `exit_code` is the process's: negative when a signal ended it, as Python tells it. Raises UsageError
        when called twice.
        """
        if self._closed:
            raise UsageError("the parser is closed already")
        events = self._events(self._reader.flush())
        self._closed = True
        events += self._projection.close()
        if exit_code:
            events += self._projection.stamp([event.Error(message=self._exit(exit_code))], None)
        return events

    def _events(self, entries: Iterable[Entry]) -> list[Event]:
        projection, reader, by_record, watch = self._projection, self._reader, self._by_record, self._watch
        reader.now = projection.now = self._time(None)
        events: list[Event] = []
        project = projection.project
        for entry in entries:
            place = entry.place
            projection.session_id = reader.session_id
            projection.now = self._time(place.at) if by_record else place.seen
            if not place.is_object:
                self._keep(entry)
            if watch is not None:
                watch(entry)
            if made := project(entry):
                events += made
        projection.now, projection.session_id = reader.now, reader.session_id
        return events

    def _keep(self, entry: Entry) -> None:
        """Remember a line that is no record, for the error of a non-zero exit."""
        if type(entry) is Warned and entry.channel is not None:
            (self._errors if entry.channel == "stderr" else self._texts).append(entry.message)
        elif type(entry) is Unread and entry.line is not None:
            self._texts.append(entry.line)

    def _time(self, told: str | None) -> str:
        """The time of a record: when it was observed, or what it and those before it tell of themselves."""
        if self._by_record:
            self._stamp = _normal(told) or self._stamp
            if self._stamp:
                return self._stamp
        return spell(self._now())

    def _exit(self, code: int) -> str:
        line = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        tail = self._errors or self._texts
        return "\n".join([line, *(text.strip(WHITE_SPACE) for text in tail)])


def _utc_now() -> datetime:
    return datetime.now(UTC)


def spell(moment: datetime) -> str:
    """RFC 3339 in UTC, to the millisecond."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _normal(told: str | None) -> str | None:
    """A record's own time in our spelling; None when it is no time."""
    if told is None:
        return None
    try:
        moment = datetime.fromisoformat(told)
        return spell(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None
