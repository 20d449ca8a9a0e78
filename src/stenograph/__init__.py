"""Reads what coding agents say and do, live and from disk, as one vocabulary of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stenograph.conversion import convert
    from stenograph.corpus import find
    from stenograph.counting import usage
    from stenograph.errors import Error, NotRecognized, ReadError, UnknownFormat
    from stenograph.event import Event, encode
    from stenograph.model import Session
    from stenograph.notes import Report
    from stenograph.parser import EventParser
    from stenograph.registry import formats
    from stenograph.stores import read
    from stenograph.streams import detect, events

__version__ = "0.1.0"

__all__ = [
    "Error",
    "Event",
    "EventParser",
    "NotRecognized",
    "ReadError",
    "Report",
    "Session",
    "UnknownFormat",
    "convert",
    "detect",
    "encode",
    "events",
    "find",
    "formats",
    "read",
    "usage",
]

_HOMES = {
    "Error": "errors",
    "Event": "event",
    "EventParser": "parser",
    "NotRecognized": "errors",
    "ReadError": "errors",
    "Report": "notes",
    "Session": "model",
    "UnknownFormat": "errors",
    "convert": "conversion",
    "detect": "streams",
    "encode": "event",
    "events": "streams",
    "find": "corpus",
    "formats": "registry",
    "read": "stores",
    "usage": "counting",
}


def __getattr__(name: str) -> Any:
    """A public name, from its module on first use: `steno --version` needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
