"""What readers report: entries, past facts in the order in which they were told.

An entry says what a record meant and where that record stands; the bytes themselves stay the lossless form.
Entries are unfrozen for one reason: the reader's base class stamps `at`, `line`, `offset` and `length`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from stenograph.event import Action, Tokens


class _Nowhere:
    """The thread of records that belong to none: housekeeping, rate limits, unknown types."""

    def __repr__(self) -> str:
        return "NOWHERE"


NOWHERE = _Nowhere()
Thread: TypeAlias = str | _Nowhere | None
"""A subagent's id, None for the main thread, or NOWHERE."""


class Fact(msgspec.Struct, kw_only=True):
    """What every entry has: its record's own time, its place, and the thread it belongs to.

    `at` is RFC 3339, None when the record tells no time; `line` is 1-based, `offset` and `length` are bytes.
    """

    at: str | None = None
    line: int = 0
    offset: int = 0
    length: int = 0
    thread: Any = None


class Started(Fact, tag="started"):
    """A session, or a turn of it, began: the workspace and what else was told."""

    session_id: str | None = None
    cwd: str | None = None
    model: str | None = None
    version: str | None = None


class Prompted(Fact, tag="prompted"):
    """Words given to the agent: a prompt, or context put in by the harness (`synthetic`)."""

    text: str
    synthetic: bool = False


class Said(Fact, tag="said"):
    """Prose of the agent. Pieces with one `message` id belong together; `fault` marks an API error's text."""

    text: str
    message: str | None = None
    fault: bool = False


class Thought(Fact, tag="thought"):
    """The model's thinking; empty where only its place is told (redacted)."""

    text: str
    message: str | None = None


class ToolCalled(Fact, tag="called"):
    """A tool was called; `input` as the agent gave it, `raw` the bytes of the call."""

    id: str | None
    tool: str
    input: Any
    raw: msgspec.Raw = msgspec.Raw()


class ToolReturned(Fact, tag="returned"):
    """A call was answered. `ok` is None when nobody said; `output` and `details` are the harness's own.

    `oks` holds one verdict for each item of a batch, where the harness tells them apart.
    """

    id: str | None
    ok: bool | None
    tool: str | None = None
    input: Any = None
    output: Any = None
    details: Any = None
    oks: tuple[bool, ...] | None = None
    exit_code: int | None = None
    duration_ms: float | None = None
    raw: msgspec.Raw = msgspec.Raw()


class Delegated(Fact, tag="delegated"):
    """A subagent started, completed or failed, told by a record of its own."""

    action: Action
    id: str | None = None
    name: str | None = None
    call: str | None = None


class Spent(Fact, tag="spent"):
    """Tokens and cost of one turn, as a delta."""

    tokens: Tokens
    cost: float | None = None


class Warned(Fact, tag="warned"):
    """A possible problem."""

    message: str
    code: str | None = None


class Failed(Fact, tag="failed"):
    """A fault of the harness."""

    message: str
    code: str | None = None


class Ended(Fact, tag="ended"):
    """A turn or run ended; `text` is its final answer where the record holds one."""

    ok: bool | None = None
    text: str | None = None
    message: str | None = None
    code: str | None = None


class Noticed(Fact, tag="noticed"):
    """Known housekeeping, named by `kind`; only some projections speak of it."""

    kind: str
    record: Any = None
    raw: msgspec.Raw = msgspec.Raw()


class Unread(Fact, tag="unread"):
    """Not understood: the JSON as it came, or the text of a line that is none."""

    raw: msgspec.Raw


Entry: TypeAlias = (
    Started
    | Prompted
    | Said
    | Thought
    | ToolCalled
    | ToolReturned
    | Delegated
    | Spent
    | Warned
    | Failed
    | Ended
    | Noticed
    | Unread
)
