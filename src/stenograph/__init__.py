"""Reads what coding agents say and do, live and from disk, as one vocabulary of events."""

from __future__ import annotations

from stenograph.errors import Error, NotRecognized, ReadError, UnknownFormat
from stenograph.event import Event, encode
from stenograph.notes import Report
from stenograph.parser import EventParser
from stenograph.registry import formats
from stenograph.streams import detect, events

__version__ = "0.1.0"

__all__ = [
    "Error",
    "Event",
    "EventParser",
    "NotRecognized",
    "ReadError",
    "Report",
    "UnknownFormat",
    "detect",
    "encode",
    "events",
    "formats",
]
