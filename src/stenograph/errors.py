"""Every error we raise.

Error                 the base; `.where` is a Place when there is one
  UnknownFormat       no such reader or writer (also a LookupError)
  NotRecognized       detection found nothing, or two equal scores
  ReadError           the input as a whole cannot be read, or strict mode met a fault
  WriteError          the target cannot be written
    NotExact          an exact rewrite was asked for and cannot be promised
  RunError            the agent could not be started or had to be killed
  HubError            refused, version mismatch, connection lost
  MissingExtra        an optional library is not installed (also an ImportError)
  UsageError          a call that the object's state forbids (also a RuntimeError)
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple


class Place(NamedTuple):
    """Where in an input something stands: its source, byte offset and 1-based line, as far as known."""

    source: str | None = None
    offset: int | None = None
    line: int | None = None

    def __str__(self) -> str:
        parts = [self.source or "input"]
        if self.line is not None:
            parts.append(f"line {self.line}")
        if self.offset is not None:
            parts.append(f"byte {self.offset}")
        return ", ".join(parts)


class Error(Exception):
    """Everything stenograph raises; `where` names the place in the input when there is one."""

    def __init__(self, message: str, *, where: Place | None = None) -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where


class UnknownFormat(Error, LookupError):
    """No reader or writer has this name; the message suggests near ones, or says `instead` what it is."""

    def __init__(self, name: str, known: Iterable[str], *, instead: str | None = None) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known are: {', '.join(names)}"
        super().__init__(f"{name!r} {instead}" if instead else f"unknown format {name!r}; {hint}")
        self.name = name
        self.near = near


class NotRecognized(Error):
    """Detection found no format, or several with the same score."""


class ReadError(Error):
    """The input as a whole cannot be read, or strict mode met a fault."""

    @classmethod
    def of(cls, path: str, fault: OSError) -> ReadError:
        """What the system says of a path."""
        return cls(f"{(fault.strerror or str(fault)).lower()}: {path}")


class WriteError(Error):
    """The target cannot be written."""


class NotExact(WriteError):
    """An exact rewrite was asked for and cannot be promised."""


class RunError(Error):
    """The agent could not be started or had to be killed."""


class HubError(Error):
    """The hub refused, speaks another version, or was lost; `code` is the hub's own word for it."""

    def __init__(self, message: str, *, code: str | None = None, where: Place | None = None) -> None:
        super().__init__(message, where=where)
        self.code = code


class MissingExtra(Error, ImportError):
    """An optional library is not installed; the message names the extra to install."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"{library} is not installed; run: pip install 'stenograph[{extra}]'")
        self.extra = extra


class UsageError(Error, RuntimeError):
    """A call that the object's state forbids, such as feeding a closed parser."""
