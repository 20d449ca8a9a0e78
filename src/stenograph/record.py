"""A run on disk: `raw.jsonl` (what came), `events.jsonl` (what it meant) and `run.json` (what it came to).

Every line is handed to the system before the next step is taken, so whatever ends us leaves a readable
record: what came stands in `raw.jsonl` before it is parsed, and `run.json` says from the start what is run.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec

from stenograph import jsonio
from stenograph.errors import Place, ReadError, WriteError
from stenograph.event import Event, encode
from stenograph.meter import Account, Counts
from stenograph.process import Channel, Chunk, Reason

RAW, EVENTS, RUN = "raw.jsonl", "events.jsonl", "run.json"

_TAIL = 3  # the most bytes that an unfinished UTF-8 character can have


class End(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """How a run ended: when, the exit code or the signal that did it, and why we ended it, if we did.

    `limit` is the time limit in seconds, for the reasons `timeout` and `idle`.
    """

    at: datetime
    exit_code: int | None = None
    signal: int | None = None
    stopped: Reason | None = None
    limit: float | None = None

    @property
    def status(self) -> int | None:
        """The exit code, or -N for signal N."""
        return self.exit_code if self.signal is None else -self.signal


class Outcome(msgspec.Struct, kw_only=True, rename="camel"):
    """What `run.json` holds; what is not known (yet) is null.

    `usage` counts tokens and `cost` is in USD, both as `steno usage` adds them up; `gaps` names why more may
    have been spent, `is_running` says that these are the session's totals, earlier runs included.
    `failure` says why it could not be started or ended, `complete` whether the agent told that it was done;
    `tools` counts calls by lower-cased tool name,
    `events` by type; `report` holds the notes of the parser and of the run.
    """

    steno: str
    agent: str
    format: str
    profile: Literal["standard", "extended"]
    detail: bool
    program: str
    version: str | None
    arguments: list[str]
    cwd: str
    started: datetime
    ended: datetime | None = None
    exit_code: int | None = None
    signal: int | None = None
    stopped: Reason | None = None
    failure: str | None = None
    complete: bool | None = None
    session_id: str | None = None
    final_text: str | None = None
    usage: Counts | None = None
    cost: int | float | None = None
    turns: int | None = None
    models: list[str] = []
    gaps: list[str] = []
    is_running: bool = False
    tools: dict[str, int] = {}
    events: dict[str, int] = {}
    report: list[dict[str, Any]] = []

    def spent(self, account: Account) -> None:
        """Take over what the run took."""
        total = account.total
        self.usage = None if total.tokens == Counts() else total.tokens
        self.cost, self.turns, self.models = total.cost, total.turns, list(account.models)
        self.gaps, self.is_running = list(total.gaps), total.is_running


class _Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One line of `raw.jsonl`: a piece of a channel as `text`, or as `base64` where it is no UTF-8.

    The last line of a run that ended has no channel and the members of `End`.
    """

    at: datetime
    channel: Channel | None = None
    text: str | None = None
    base64: bytes | None = None
    exit_code: int | None = None
    signal: int | None = None
    stopped: Reason | None = None
    limit: float | None = None


class Whole:
    """Holds back the bytes of a character that a read cut in two, so that the record stays text."""

    def __init__(self) -> None:
        self._held: dict[Channel, bytes] = {}

    def take(self, chunk: Chunk) -> Chunk:
        """The chunk with what was held before it, less the character that it cuts."""
        if not self._held and chunk.data.endswith(b"\n"):
            return chunk
        data = self._held.pop(chunk.channel, b"") + chunk.data
        cut = _cut(data)
        if cut:
            self._held[chunk.channel] = data[-cut:]
            data = data[:-cut]
        return chunk._replace(data=data)

    def rest(self, at: datetime) -> list[Chunk]:
        """What is still held at the end."""
        held, self._held = self._held, {}
        return [Chunk(channel, at, data) for channel, data in held.items()]


class Recorder:
    """Writes one run into a folder of its own."""

    def __init__(self, folder: Path, outcome: Outcome) -> None:
        """Make the folder and its files; raises WriteError when there is a record already."""
        self._folder = folder
        self._files: list[int] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(os.path.lexists(folder / name) for name in (RAW, EVENTS, RUN)):
                raise FileExistsError
            self._raw, self._events = self._open(RAW), self._open(EVENTS)
            self.sum_up(outcome)
        except OSError as error:
            self.close()
            raise _unwritable(folder, error) from error

    def heard(self, chunk: Chunk) -> None:
        """Keep what came, line by line."""
        self._write(self._raw, b"".join(_lines(chunk)))

    def gave(self, events: Iterable[Event]) -> None:
        """Keep what it meant."""
        self._write(self._events, b"\n".join([*map(encode, events), b""]))

    def ended(self, end: End) -> None:
        """Keep how the run ended."""
        self._write(self._raw, jsonio.dumps(end) + b"\n")

    def sum_up(self, outcome: Outcome) -> None:
        """Write `run.json` anew, as a whole or not at all."""
        with Fresh(self._folder / RUN) as file:
            file.write(jsonio.dumps(outcome) + b"\n")

    def close(self) -> None:
        """Have all of it on the disk, and let go of the files."""
        while self._files:
            file = self._files.pop()
            with contextlib.suppress(OSError):
                os.fsync(file)
            os.close(file)

    def _open(self, name: str) -> int:
        file = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        self._files.append(file)
        return file

    def _write(self, file: int, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(file, data) :]
        except OSError as error:
            raise _unwritable(self._folder, error) from error


class Fresh:
    """A file written aside that takes the old one's place when the block ends well, as a whole or not at all.

    A link stays one, and what is no file, such as a device or a pipe, is written to as it is. Raises
    WriteError when it cannot.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._real = Path(os.path.realpath(path))
        self._is_whole = path.is_file() or not path.exists()
        beside = self._real.with_name(f".{self._real.name}.{os.getpid()}")
        self._aside = beside if self._is_whole else path

    def __enter__(self) -> BinaryIO:
        try:
            self._file = self._aside.open("wb")
        except OSError as error:
            raise WriteError(f"cannot write {self._path}: {error.strerror}") from error
        return self._file

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            with self._file as file:
                file.flush()
                if self._is_whole:
                    os.fsync(file.fileno())
            if kind is None and self._is_whole:
                self._aside.replace(self._real)
        except OSError as error:
            raise WriteError(f"cannot write {self._path}: {error.strerror}") from error
        finally:
            if self._is_whole:
                self._aside.unlink(missing_ok=True)


def read_outcome(folder: Path) -> Outcome:
    """The `run.json` of a recorded run; raises ReadError when it is not there or is no such thing."""
    path = folder / RUN
    try:
        with opened(path) as file:
            return _outcome.decode(file.read())
    except ValueError as error:
        raise ReadError(f"this is no run's record: {error}", where=Place(str(path))) from error


def read_raw(folder: Path) -> Iterator[Chunk | End]:
    """What `raw.jsonl` holds: what came, then, unless the run was cut off, its end.

    A last line that was cut while it was written is left out; raises ReadError for any other odd line.
    """
    path = folder / RAW
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if line.endswith(b"\n"):
                yield _read(line, Place(str(path), line=number))


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A file of a record, to be read; raises ReadError where it cannot be, or is none, such as a pipe."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ReadError(f"cannot read {path}: it is no file")
            yield file
    except OSError as error:
        raise ReadError(f"cannot read {path}: {error.strerror}") from error


def _lines(chunk: Chunk) -> list[bytes]:
    *whole, last = chunk.data.split(b"\n")
    if len(whole) == 1 and not last:
        return [_line(chunk, chunk.data)]
    return [_line(chunk, line + b"\n") for line in whole] + ([_line(chunk, last)] if last else [])


def _line(chunk: Chunk, data: bytes) -> bytes:
    try:
        piece = _Line(at=chunk.at, channel=chunk.channel, text=data.decode())
    except UnicodeDecodeError:
        piece = _Line(at=chunk.at, channel=chunk.channel, base64=data)
    return jsonio.dumps(piece) + b"\n"


def _read(line: bytes, place: Place) -> Chunk | End:
    try:
        found = _raw.decode(line)
        at = found.at.astimezone(UTC)
    except (ValueError, OverflowError) as error:  # the latter for a time that falls out of the calendar
        raise ReadError(f"this is no line of a run: {error}", where=place) from error
    if found.channel is None:
        return End(
            at=at,
            exit_code=found.exit_code,
            signal=found.signal,
            stopped=found.stopped,
            limit=found.limit,
        )
    return Chunk(found.channel, at, found.base64 or (found.text or "").encode())


def _cut(data: bytes) -> int:
    """How many bytes at the end begin a UTF-8 character that is not finished."""
    for back in range(1, min(_TAIL, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            size = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < size else 0
        if byte < 0x80:
            return 0
    return 0


def _unwritable(folder: Path, error: OSError) -> WriteError:
    if isinstance(error, FileExistsError):
        why = "holds a recorded run already" if folder.is_dir() else "is no folder"
        return WriteError(f"{folder} {why}; name another folder")
    return WriteError(f"cannot record into {folder}: {error.strerror}")


_raw = jsonio.decoder(_Line)
_outcome = jsonio.decoder(Outcome)
