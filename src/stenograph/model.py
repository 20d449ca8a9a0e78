"""What readers report: entries, past facts in the order in which they were told.

An entry says what a record meant and where that record stands; the bytes themselves stay the lossless form.
Entries are unfrozen for one reason: the reader's base class stamps `place`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec

from stenograph import jsonio
from stenograph.errors import UsageError
from stenograph.event import Action, Tokens
from stenograph.notes import Report


class _Nowhere:
    """The thread of records that belong to none: housekeeping, rate limits, unknown types."""

    def __repr__(self) -> str:
        return "NOWHERE"


NOWHERE = _Nowhere()
Thread: TypeAlias = str | _Nowhere | None
"""A subagent's id, None for the main thread, or NOWHERE."""


class Part(msgspec.Struct, frozen=True):
    """A part of a record's JSON, cut out when asked for: member names and positions lead to it.

    `held` is the record's value where that was decoded already; it is not to be changed.
    """

    data: bytes = b"null"
    path: tuple[str | int, ...] = ()
    held: Any = None

    def raw(self) -> msgspec.Raw:
        """The part's own bytes."""
        return msgspec.Raw(jsonio.compact(jsonio.part(self.data, self.path)))

    def value(self) -> Any:
        """The part's value, or None when nothing stands there."""
        try:
            if self.held is None:
                return jsonio.loads(jsonio.part(self.data, self.path))
            found = self.held
            for step in self.path:
                found = found[step]
            return found
        except (LookupError, ValueError):
            return None


NO_PART = Part()


class Where(msgspec.Struct, frozen=True, gc=False):
    """When and where a record was told: `seen` is when it was observed, `at` the time it tells itself.

    Times are RFC 3339 (`at`: or None); `line` is 1-based, `offset` and `length` are bytes. In a stored
    session `file` names the file and `line` counts its elements. `is_object` is False for text and for JSON
    that is no object.
    """

    seen: str = ""
    at: str | None = None
    line: int = 0
    offset: int = 0
    length: int = 0
    is_object: bool = True
    file: str = ""


UNPLACED = Where()


class Fact(msgspec.Struct, kw_only=True):
    """What every entry has: the place of its record, the thread it belongs to, and what it was made of.

    `source` is the record, or the part of it that the entry tells in other words; only stored sessions and
    readers told to be `in_full` set it.
    """

    place: Where = UNPLACED
    thread: Any = None
    source: Part = NO_PART


class Reply(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """The call of a model that an entry came out of; entries with one `id` came out of one call.

    `tokens` and `cache_writes` (a part of the uncached input) are what the call's own records say of it; an
    output count is left out where it was told before the end. `request` is the provider's id of the request.
    """

    id: str | None = None
    model: str | None = None
    provider: str | None = None
    request: str | None = None
    stop: str | None = None
    tokens: Tokens | None = None
    cache_writes: int | None = None


class Started(Fact, tag="started"):
    """A session, or a turn of it, began: the workspace, the system prompt, and what else was told."""

    session_id: str | None = None
    cwd: str | None = None
    model: str | None = None
    version: str | None = None
    instructions: str | None = None


class Prompted(Fact, tag="prompted"):
    """Words given to the agent: a prompt, or context put in by the harness (`synthetic`)."""

    text: str
    synthetic: bool = False


class Said(Fact, tag="said"):
    """Prose of the agent. Pieces with one `message` id belong together; `fault` marks an API error's text."""

    text: str
    message: str | None = None
    fault: bool = False
    reply: Reply | None = None


class Thought(Fact, tag="thought"):
    """The model's thinking; empty where only its place is told (redacted).

    `signature` is the provider's proof of it, `redacted` what stands for it encrypted.
    """

    text: str
    message: str | None = None
    signature: str | None = None
    redacted: str | None = None
    reply: Reply | None = None


class ToolCalled(Fact, tag="called"):
    """A tool was called; `input` as the agent gave it, `raw` where the call stands."""

    id: str | None
    tool: str
    input: Any
    raw: Part = Part()
    reply: Reply | None = None


class ToolReturned(Fact, tag="returned"):
    """A call was answered. `ok` is None when nobody said; `output` and `details` are the harness's
    own, `output` maybe still as `Raw`.

    `oks` holds one verdict for each item of a batch, where the harness tells them apart.
    """

    id: str | None
    ok: bool | None
    tool: str | None = None
    input: Any = None
    output: Any = None
    details: Part = Part()
    oks: tuple[bool, ...] | None = None
    exit_code: int | None = None
    duration_ms: int | float | None = None
    raw: Part = Part()


class Delegated(Fact, tag="delegated"):
    """A subagent started, completed or failed, told by a record of its own."""

    action: Action
    id: str | None = None
    name: str | None = None
    call: str | None = None


class Spent(Fact, tag="spent"):
    """Tokens and cost of one turn, as a delta.

    `cache_writes` is a part of the uncached input. `kind` is set where it was no turn of its own: requests
    that a restored checkpoint took back, subagents' sums, the making of a summary. `fault_code` says why the
    call ended early.
    """

    tokens: Tokens
    cost: float | None = None
    cache_writes: int | None = None
    kind: str | None = None
    fault_code: str | None = None


class Warned(Fact, tag="warned"):
    """A possible problem; `channel` is set when it is a line of text from there."""

    message: str
    code: str | None = None
    channel: Literal["stdout", "stderr"] | None = None


class Failed(Fact, tag="failed"):
    """A fault of the harness."""

    message: str
    code: str | None = None


class Ended(Fact, tag="ended"):
    """A turn or run ended: its final answer, why it failed, and what it took, where the record says so."""

    ok: bool | None = None
    text: str | None = None
    message: str | None = None
    code: str | None = None
    tokens: Tokens | None = None
    cost: float | None = None


class Noticed(Fact, tag="noticed"):
    """Known housekeeping, named by `kind`; only some projections speak of it.

    `tree` is the harness's own name for the state of the workspace's files that it saved.
    """

    kind: str
    record: Any = None
    raw: Part = Part()
    inside: tuple[Any, ...] = ()  # entries of another agent's event that the record carries
    tree: str | None = None


class Unread(Fact, tag="unread"):
    """Not understood: the JSON as it came, or the text of a line that is none.

    `line` is set when it is a whole line of output that was no record.
    """

    raw: msgspec.Raw
    line: str | None = None


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


class Totals(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a session took, each count as its agent defines it; the cost in USD is None where none is told."""

    tokens_in: int = 0
    tokens_out: int = 0
    cache_writes: int = 0
    cache_reads: int = 0
    cost: float | None = None


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a list of sessions says of one; times are RFC 3339, `path` is its folder."""

    path: str
    format: str
    agent: str
    id: str
    variant: str = ""
    parent: str = ""
    started: str | None = None
    updated: str | None = None
    cwd: str = ""
    model: str = ""
    title: str = ""
    requests: int = 0
    totals: Totals = Totals()
    faults: int = 0


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One call of the model: `last` is the newest message of the history then, `element` its record."""

    number: int
    last: int
    element: int
    at: str | None = None
    totals: Totals = Totals()


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """One message as the model was sent it; `index` is its place in the history, None when it was put in."""

    role: str
    content: Any
    index: int | None
    is_edited: bool = False


class Session(msgspec.Struct, kw_only=True, eq=False):
    """One stored session: what happened in it, and the agent's own records in `source`.

    `rest` is what the agent keeps beside the timeline: whole files (`file/NAME`), what damage left unread
    (`fault/NAME`), sessions that this one started (`child`).
    """

    summary: Summary
    entries: list[Entry]
    requests: list[Request]
    report: Report
    source: Any
    sent: Callable[[Request], list[Sent]]
    rest: list[Entry] = []

    def context_at(self, request: int) -> list[Sent]:
        """What the model was sent at a request, counted from 0 as in `requests`; raises UsageError for none.

        By the agent's own rules; system prompts and tool schemas are stored by no agent.
        """
        if not -len(self.requests) <= request < len(self.requests):
            raise UsageError(f"there is no request {request}: the session has {len(self.requests)}")
        return self.sent(self.requests[request])
