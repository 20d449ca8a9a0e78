"""What a conversion may say of itself: the closed list of report codes, and the notes that use it."""

from __future__ import annotations

from typing import NamedTuple

from stenograph.errors import NotExact, Place
from stenograph.model import Entry
from stenograph.notes import Kind, Report


class Code(NamedTuple):
    """One code: how far it goes, what it means, and an example of what it tells."""

    kind: Kind
    meaning: str
    example: str


CODES: dict[str, Code] = {
    "record-beside": Code(
        Kind.CHANGED,
        "Members of a record that the format has no place for are kept beside what was made of it.",
        "uuid, request_id",
    ),
    "fact-beside": Code(
        Kind.CHANGED,
        "A fact that the format has no form for is kept as a record of our own (`custom`, `extra`).",
        "noticed say/task_progress",
    ),
    "thread-apart": Code(
        Kind.CHANGED,
        "A subagent's part of the timeline became a session or trajectory of its own, linked by its call.",
        "agent_1796040015882_hvyk7h",
    ),
    "cost-beside": Code(
        Kind.CHANGED, "A cost stands in a member of our own: the format has none for it.", "0.0371"
    ),
    "json-as-text": Code(
        Kind.CHANGED, "A structured value is written as its JSON text.", '{"stdout": "app.py"}'
    ),
    "call-in-text": Code(
        Kind.CHANGED,
        "A call or result that the agent keeps as text stays text; its reading stands beside.",
        "",
    ),
    "call-id-changed": Code(
        Kind.CHANGED, "An id that two calls had was made unique; the native one is kept beside.", "toolu_1"
    ),
    "late-result": Code(
        Kind.CHANGED, "A result came after its turn had ended and is a step of its own.", "toolu_1"
    ),
    "media-beside": Code(
        Kind.CHANGED,
        "Media of a type that the format does not take are kept in a member of our own.",
        "image/bmp",
    ),
    "normalised": Code(
        Kind.CHANGED,
        "What I-JSON does not allow (a number, a lone surrogate) was spelled anew; the original is kept.",
        "/item/content/0/text",
    ),
    "usage-by-protocol": Code(
        Kind.APPROXIMATED,
        "Whether an input count holds cached tokens was decided by the protocol named, not told.",
        "",
    ),
    "usage-partial": Code(
        Kind.APPROXIMATED,
        "A call's output tokens are told only for the whole run, not for the call.",
        "msg_01ParallelTools000005",
    ),
    "spawn-inferred": Code(
        Kind.APPROXIMATED, "Which call started a subagent was told by order alone.", "agent_1 by call_1_0"
    ),
    "time-carried": Code(
        Kind.APPROXIMATED, "A record without a time of its own got that of the one before it.", "system"
    ),
    "no-time": Code(
        Kind.INVENTED, "No time was told yet: the first known one stands, or 1970-01-01.", "system"
    ),
    "session-id-made": Code(
        Kind.INVENTED,
        "The session's id was made of the agent's name and its native id or first record.",
        "17960",
    ),
    "session-id-taken": Code(
        Kind.INVENTED, "Another session with this id stands in the target: a new id was made of it.", "17960"
    ),
    "call-id-made": Code(Kind.INVENTED, "A call or result without an id got one.", "call-3"),
    "response-id-made": Code(Kind.INVENTED, "A model call without an id got one.", "response-3"),
    "version-unknown": Code(
        Kind.INVENTED, "The agent's version, which the format demands, is not told.", "cline"
    ),
    "context-edit": Code(
        Kind.DROPPED,
        "An edit of what later requests send is kept as a record, but the format cannot put it into force.",
        "message 3, block 0",
    ),
    "stand-in": Code(
        Kind.DROPPED,
        "A call stays in requests whose result was left out; what was sent in its place is not written.",
        "call_1",
    ),
    "left-out-unknown": Code(
        Kind.DROPPED, "A range was left out of requests whose messages are not stored.", "2 to 57"
    ),
    "silent-record": Code(
        Kind.DROPPED, "A record that repeats what others tell is not written.", "stream_event"
    ),
    "unknown-record": Code(
        Kind.UNREAD, "A record that was not understood is an `unknown` event.", '{"type": "news"}'
    ),
    "not-an-event": Code(Kind.DROPPED, "The vocabulary of events has no word for it.", "prompted"),
    "not-shown": Code(Kind.DROPPED, "The page for readers leaves it out.", "spent"),
    "byte-order-mark": Code(Kind.CHANGED, "A stream began with a byte order mark.", "EF BB BF"),
    "utf-16": Code(Kind.CHANGED, "A stream was UTF-16 and is read as UTF-8.", '{"type": "system"}'),
    "terminal-escapes": Code(
        Kind.CHANGED,
        "Terminal escapes around a line's record were taken off.",
        '\\x1b[?25h{"type": "result"}',
    ),
    "log-prefix": Code(
        Kind.CHANGED,
        "Lines stood behind a log's prefix, which was taken off.",
        '12:00:01 INFO {"type": "say"}',
    ),
    "array": Code(Kind.CHANGED, "Records stood in an array and were taken out.", '[{"type": "system"},'),
    "text-line": Code(Kind.UNREAD, "A line between records is no JSON; its text is kept.", "npm notice"),
    "glued-records": Code(
        Kind.DAMAGED, "Several records stood on one line; each was read.", '{"type": "user"}{"type": "user"}'
    ),
    "split-record": Code(
        Kind.DAMAGED, "A record was torn in two by another one's lines, and was put together.", '{"type": "us'
    ),
    "torn-record": Code(Kind.DAMAGED, "A record breaks off; its text is kept.", '{"type": "us'),
    "cut-array": Code(Kind.DAMAGED, "An array of records breaks off; what is left is kept as text.", '{"ty'),
    "invalid-utf-8": Code(Kind.DAMAGED, "A line is no valid UTF-8; what is none became U+FFFD.", "caf\\xe9"),
    "control-characters": Code(
        Kind.DAMAGED, "Control characters stood in a string as they are; the record was read.", "a\\x07b"
    ),
    "odd-element": Code(Kind.UNREAD, "An element of a file is no record; its text is kept.", "not an object"),
    "damaged-file": Code(
        Kind.DAMAGED,
        "A file breaks off or cannot be parsed; what is whole is converted.",
        "no value at byte 40",
    ),
    "not-read": Code(Kind.DAMAGED, "A session in a folder could not be read at all.", "cannot be read"),
    "check-failed": Code(
        Kind.DAMAGED, "What was written does not read back as what was read; this is our fault.", "entry 17"
    ),
}
"""All codes of conversions: of writers, then of what readers had to repair or could not read."""


class Notes:
    """A report being made for one source; `strict` stops at the first loss."""

    def __init__(self, report: Report, source: str | None = None, *, strict: bool = False) -> None:
        self.report = report
        self.source = source
        self.strict = strict

    def take(self, other: Report) -> None:
        """Take over what another part of the conversion has noted."""
        self.report.merge(other, source=self.source)

    def add(self, code: str, entry: Entry | None = None, example: str = "") -> None:
        """Note something at an entry's record; raises NotExact when it is a loss and none is allowed."""
        kind = CODES[code].kind
        if not self.strict and self.report.again(kind, code):
            return
        place = entry.place if entry else None
        name = place.file if place and place.file else self.source
        where = Place(name, place.offset if place else None, place.line or None if place else None)
        if self.strict and kind in (Kind.DROPPED, Kind.DAMAGED):
            raise NotExact(f"{code}: {example}" if example else code, where=where)
        self.report.add(kind, code, where, example)
