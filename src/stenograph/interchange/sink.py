"""Files that come into being whole or not at all, and never in another's place."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from types import TracebackType
from typing import Protocol

from stenograph.errors import WriteError

_CHUNK = 1 << 20


class Taken(WriteError):
    """Another file stands where this one should, and says something else."""


class OutFile(Protocol):
    """What a writer writes to."""

    def write(self, data: bytes) -> None:
        """Add bytes."""

    def put_head(self, data: bytes) -> None:
        """Write over the first bytes."""

    def commit(self) -> bool:
        """Put it into place."""

    def discard(self) -> None:
        """Take it away, unless it is in place."""

    def withdraw(self) -> None:
        """Take it away even from its place, when it was put there just now."""


class Discarded:
    """Takes everything in vain, for a report alone."""

    def write(self, data: bytes) -> None:
        """Nothing is kept."""

    def put_head(self, data: bytes) -> None:
        """Nothing is kept."""

    def commit(self) -> bool:
        """Nothing is put anywhere."""
        return False

    def discard(self) -> None:
        """There is nothing to take away."""

    def withdraw(self) -> None:
        """There is nothing to take away."""


class NewFile:
    """A file being written under a temporary name beside its own.

    Leaving the block by an exception takes it away again; `commit` puts it into place. A file that stands
    there already is left alone: an equal one is fine, another one raises Taken. Everything that the file
    system refuses raises WriteError.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = 0
        self._temporary = f"{path}.tmp"
        self._parts: list[bytes] = []
        self._held = 0
        self._is_new = False
        with _refused(path):
            os.makedirs(os.path.dirname(path) or os.curdir, exist_ok=True)
            self._file = _exclusive(self._temporary)

    def write(self, data: bytes) -> None:
        """Add bytes; they may be held until there are enough of them."""
        self._parts.append(data)
        self._held += len(data)
        self.size += len(data)
        if self._held >= _CHUNK:
            self._flush()

    def put_head(self, data: bytes) -> None:
        """Write over the first bytes, as many as given."""
        self._flush()
        with _refused(self.path):
            os.pwrite(self._file, data, 0)

    def commit(self) -> bool:
        """Put the file into place; False when an equal one stands there. Raises Taken, WriteError."""
        self._flush()
        with _refused(self.path):
            os.fsync(self._file)
        try:
            return self._place()
        finally:
            self.discard()

    def discard(self) -> None:
        """Take the temporary file away."""
        if self._file < 0:
            return
        os.close(self._file)
        self._file = -1
        self._parts.clear()
        with contextlib.suppress(OSError):
            os.unlink(self._temporary)

    def withdraw(self) -> None:
        """Take the file away again, when `commit` has put it into place."""
        if self._is_new:
            self._is_new = False
            with contextlib.suppress(OSError):
                os.unlink(self.path)

    def __enter__(self) -> NewFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    def _place(self) -> bool:
        try:
            with _refused(self.path):
                os.link(self._temporary, self.path)
        except FileExistsError:
            with _refused(self.path):
                is_equal = _is_equal(self._temporary, self.path)
            if is_equal:
                return False
            raise Taken(f"{self.path} exists and is another session or an older state of this one") from None
        self._is_new = True
        folder = os.open(os.path.dirname(self.path) or os.curdir, os.O_RDONLY)
        with contextlib.suppress(OSError):  # not every file system syncs folders
            os.fsync(folder)
        os.close(folder)
        return True

    def _flush(self) -> None:
        data, self._parts, self._held = b"".join(self._parts), [], 0
        view = memoryview(data)
        with _refused(self.path):
            while view:
                view = view[os.write(self._file, view) :]


@contextlib.contextmanager
def _refused(path: str) -> Iterator[None]:
    """Say which file it was that could not be written."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as fault:
        raise WriteError(f"{path} cannot be written: {(fault.strerror or str(fault)).lower()}") from fault


def _exclusive(path: str) -> int:
    """Open a temporary file that nobody else has; one that a killed run left is taken over."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)


def _is_equal(one: str, other: str) -> bool:
    if os.path.getsize(one) != os.path.getsize(other):
        return False
    with open(one, "rb") as first, open(other, "rb") as second:
        while part := first.read(_CHUNK):
            if part != second.read(_CHUNK):
                return False
    return True
