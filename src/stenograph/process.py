"""One agent's process: what it writes on both pipes in order of arrival, and how it is brought to its end.

The agent leads a session and process group of its own, so no key of our terminal reaches it behind our back.
It is told first; its group is ended only when it does not listen, or leaves others behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import IO, Literal, NamedTuple, TypeAlias

from stenograph.errors import RunError, UsageError

Channel: TypeAlias = Literal["stdout", "stderr"]
Reason: TypeAlias = Literal["timeout", "idle", "signal", "abandoned"]

_CHANNELS: tuple[Channel, ...] = ("stdout", "stderr")
_READ = 1 << 16  # bytes asked for at once, which is what a pipe holds on Linux
_QUEUE = 1 << 20  # bytes that may wait for whoever iterates before the pipes are left to fill up
_EVENT = 256  # bytes that an event takes besides what it was made of
_PIPE = 1 << 20  # the most that a pipe can hold by itself, unless root said otherwise
_LAST = 1.0  # seconds that a group has between SIGTERM and SIGKILL
_POLL = 0.03  # seconds between two looks at a group, whose members nobody tells us about


class Chunk(NamedTuple):
    """Bytes that one read of one pipe gave, and when."""

    channel: Channel
    at: datetime
    data: bytes


class Limits(NamedTuple):
    """How long a run, a silence in it, and the wait after a signal may last, in seconds; None is for ever."""

    timeout: float | None = None
    idle: float | None = None
    grace: float = 5.0


def utc_now() -> datetime:
    """The time on the machine's clock."""
    return datetime.now(UTC)


class Process(asyncio.SubprocessProtocol):
    """An agent that runs: await `news()` until that is False, then `close()`; read `code`, `stopped`, `held`.

    `hear` is called with what one read of one pipe gave, right behind that read, and tells how many events
    it made of it. What makes none wakes nobody up: that is nearly all that an agent writes while it streams
    an answer, and waking costs more than reading. Unheard news make the reading stop, not the memory grow.
    `code` is the exit status, -N when signal N ended it, None when it could not be ended at all; `stopped`
    says why we ended it, if we did; `held` that something else kept a pipe open after it was gone.
    """

    def __init__(
        self, limits: Limits, *, hear: Callable[[Chunk], int], now: Callable[[], datetime] = utc_now
    ) -> None:
        """Raises UsageError when a limit is NaN, which no time ever reaches."""
        if any(seconds is not None and math.isnan(seconds) for seconds in limits):
            raise UsageError("a limit is no number of seconds")
        self.code: int | None = None
        self.stopped: Reason | None = None
        self.held = False
        self._limits = limits
        self._now = now
        self._hear = hear
        self._fault: Exception | None = None
        self._has_news = False
        self._waiting = 0  # bytes, since the last news were asked for
        self._waiter: asyncio.Future[None] | None = None
        self._changed = asyncio.Event()
        self._open: dict[int, Channel] = {}  # the reading ends
        self._exited = self._lost = self._over = self._paused = self._deaf = False
        self._asked = 0
        self._signal = signal.SIGINT
        self._past_exit = 0

    async def start(
        self,
        command: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int | IO[bytes] | None = None,
    ) -> None:
        """Start the command; raises RunError when the system refuses it."""
        self._loop = asyncio.get_running_loop()
        self._began = self._heard = self._loop.time()
        ends: list[int] = []
        try:
            self._connect(ends)
            transport, _ = await self._loop.subprocess_exec(
                lambda: self,
                *command,
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=ends[0],
                stderr=ends[1],
                cwd=cwd,
                env=env,
                start_new_session=True,
            )
        except BaseException as error:
            for fd in tuple(self._open):
                self._shut(fd)
            if isinstance(error, OSError | ValueError):
                raise RunError(f"cannot start {command[0]}: {_why(error, cwd)}") from error
            raise
        finally:
            for end in ends:
                os.close(end)
        self._transport = transport
        self._pid = transport.get_pid()
        self._watcher = self._loop.create_task(self._watch())

    def _connect(self, ends: list[int]) -> None:
        """Make both pipes and listen to them; the ends that the agent writes to go into `ends`."""
        for channel in _CHANNELS:
            fd, end = os.pipe()
            ends.append(end)
            os.set_blocking(fd, False)
            self._open[fd] = channel
            self._loop.add_reader(fd, self._read, fd)

    async def news(self) -> bool:
        """Wait for the next events; False when the run is over. What was told before is taken as dealt with.

        Raises what `hear` raised, on which the agent is told to end.
        """
        self._waiting = 0
        if self._paused:
            self._resume()
        while not (self._has_news or self._over):
            self._waiter = self._loop.create_future()
            await self._waiter
        if self._fault is not None:
            raise self._fault
        told, self._has_news = self._has_news, False
        return told

    def stop(self, reason: Reason = "signal", number: int = signal.SIGINT) -> None:
        """Tell the agent to end; asked again, go on to the next, harder means at once.

        To be called in the thread of the event loop.
        """
        if self._over:
            return
        self.stopped = self.stopped or reason
        self._signal = signal.Signals(number)
        self._asked += 1
        self._changed.set()

    def _read(self, fd: int) -> None:
        data = _take(fd, _READ)
        if data is None:
            return
        if not data:
            self._shut(fd)
            return
        self._heard = self._loop.time()
        self._past_exit += len(data) if self._exited else 0
        if self._deaf:
            return
        self._keep(fd, data)
        if self._waiting > _QUEUE:
            self._pause()

    def _keep(self, fd: int, data: bytes) -> None:
        try:
            made = self._hear(Chunk(self._open[fd], self._now(), data))
        except Exception as fault:
            self._fail(fault)
            return
        if made:
            self._waiting += len(data) + made * _EVENT
            self._has_news = True
            self._wake()

    def _fail(self, fault: Exception) -> None:
        """Nobody can listen any more: end the agent, and tell whoever waits."""
        self._fault, self._deaf, self._has_news = fault, True, True
        self.stop("abandoned", signal.SIGTERM)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _shut(self, fd: int) -> None:
        self._loop.remove_reader(fd)
        del self._open[fd]
        os.close(fd)
        self._changed.set()

    def process_exited(self) -> None:
        """Part of asyncio's protocol."""
        self._exited = True
        self._changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Part of asyncio's protocol."""
        self._lost = True
        self._changed.set()

    def _pause(self) -> None:
        self._paused = True
        for fd in self._open:
            self._loop.remove_reader(fd)

    def _resume(self) -> None:
        self._paused = False
        self._heard = self._loop.time()
        self._changed.set()
        for fd in self._open:
            self._loop.add_reader(fd, self._read, fd)

    async def _watch(self) -> None:
        """From the start to the end of the agent, both pipes and, where it must be, the group."""
        try:
            await self._run()
            if not self._asked:
                self.held = not await self._drain()
            if self._asked or self.held:
                await self._end()
        finally:
            self.code = self._transport.get_returncode()
            self._cut()
            self._over = True
            self._wake()

    async def _run(self) -> None:
        """Until the agent exits, or it is time to end it."""
        while not await self._until(self._exited_or_asked, self._left()):
            now = self._loop.time()
            if self._limits.timeout is not None and now >= self._began + self._limits.timeout:
                self.stop("timeout")
            elif self._is_silent(now):
                self.stop("idle")

    def _exited_or_asked(self) -> bool:
        return self._exited or self._asked > 0

    def _left(self) -> float | None:
        """Seconds until the nearer of the two limits has to be looked at."""
        timeout, idle, _ = self._limits
        ends = [] if timeout is None else [self._began + timeout]
        if idle is not None:
            ends.append((self._loop.time() if self._paused else self._heard) + idle)
        return max(0.0, min(ends) - self._loop.time()) if ends else None

    def _is_silent(self, now: float) -> bool:
        return self._limits.idle is not None and not self._paused and now >= self._heard + self._limits.idle

    async def _drain(self) -> bool:
        """Read on after the exit until both pipes are closed; False when something else holds one."""
        while not await self._until(lambda: not self._open or self._asked > 0, self._limits.grace):
            if not self._paused or self._past_exit > _PIPE:
                return False
        return True

    async def _end(self) -> None:
        """Signal the agent, then its group, then kill that; a further request cuts each wait short."""
        if not self._exited:
            self._send(self._signal)
            await self._patience(lambda: self._exited, self._limits.grace)
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._is_group_gone():
                return
            self._send_group(number)
            await self._patience(self._is_group_gone, _LAST)

    async def _patience(self, done: Callable[[], bool], seconds: float) -> None:
        asked = self._asked
        await self._until(lambda: done() or self._asked > asked, seconds, poll=_POLL)

    def _send(self, number: int) -> None:
        # not through the transport: some releases reap the process there, and its exit status is lost
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self._pid, number)

    def _send_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)

    def _is_group_gone(self) -> bool:
        return self._exited and not _is_alive(self._pid)

    def _cut(self) -> None:
        """Close what is still open, once what lies in the pipes has been read."""
        for fd in tuple(self._open):
            data = None if self._deaf else _take(fd, _PIPE)
            if data:
                self._keep(fd, data)
            self._shut(fd)

    async def close(self) -> None:
        """Leave nothing behind, whatever made the reading end; an agent that still runs is ended."""
        if not self._over:
            self._deaf = True
            self.stop("abandoned", signal.SIGTERM)
            self._resume()
        try:
            await self._watcher
        except asyncio.CancelledError:
            self._send_group(signal.SIGKILL)
            raise
        finally:
            self._transport.close()
        await self._until(lambda: self._lost, _LAST)

    async def _until(
        self, done: Callable[[], bool], seconds: float | None, *, poll: float | None = None
    ) -> bool:
        """Whether it was done in time; looked at on every change, and each `poll` seconds."""
        end = None if seconds is None else self._loop.time() + seconds
        while not done():
            left = None if end is None else end - self._loop.time()
            if left is not None and left <= 0:
                return False
            self._changed.clear()
            naps = [seconds for seconds in (left, poll) if seconds is not None]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(naps, default=None)):
                    await self._changed.wait()
        return True


def _is_alive(group: int) -> bool:
    """Whether a process group has a member that is more than a zombie."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        return any(_membership(name) == group for name in os.listdir("/proc") if name.isdigit())
    except OSError:  # a system without /proc: zombies count
        return True


def _membership(process: str) -> int | None:
    """The process group of a living process; None for a zombie."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            state, _, group = file.read().rpartition(b")")[2].split()[:3]
    except (OSError, ValueError):
        return None
    return None if state in (b"Z", b"X") else int(group)


def _take(fd: int, size: int) -> bytes | None:
    """What a pipe holds now: empty at its end, None when there is nothing yet."""
    try:
        return os.read(fd, size)
    except (BlockingIOError, InterruptedError):
        return None
    except OSError:
        return b""


def _why(error: OSError | ValueError, cwd: str | None) -> str:
    if isinstance(error, OSError) and error.errno == errno.E2BIG:
        return "its arguments are too long; give a long prompt on standard input"
    if isinstance(error, OSError) and error.errno == errno.ENOEXEC:
        return "it is neither a program nor a script with an interpreter line"
    if cwd is not None and not os.path.isdir(cwd):
        return f"there is no folder {cwd}"
    return str(error.strerror if isinstance(error, OSError) else error)
