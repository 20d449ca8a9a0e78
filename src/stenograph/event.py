"""The normalized events: one flat record for each thing an agent did.

Members carry Python names; the JSON has camelCase names and a snake_case `type`, and leaves out what is
unset.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from stenograph import jsonio

Action: TypeAlias = Literal["subagent_started", "subagent_completed", "subagent_failed"]
Stage: TypeAlias = Literal[
    "pull_image", "start_container", "install_harness", "probe_harness", "init_test_case", "teardown"
]
Status: TypeAlias = Literal["started", "completed", "failed"]


class Origin(msgspec.Struct, frozen=True, gc=False):
    """Where the record stands that completed an event: 1-based line, byte offset and byte length."""

    line: int
    offset: int
    length: int


class Base(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, rename="camel"):
    """What every event has: when its record was observed (RFC 3339, UTC) and, once told, the session.

    The members from `origin` on are set only by a parser made with `detail=True`: the record's place, the
    id of the call, the harness's name of the tool, the subagent it ran in, and how long it took.
    """

    timestamp: str = ""
    session_id: str | None = None
    origin: Origin | None = None
    call_id: str | None = None
    tool: str | None = None
    subagent: str | None = None
    duration_ms: int | float | None = None


class Agent(Base, frozen=True, kw_only=True, tag="agent"):
    """Visible prose of the agent."""

    message: str


class Reasoning(Base, frozen=True, kw_only=True, tag="reasoning"):
    """The model's thinking, where the harness reports it apart from prose."""

    message: str


class Command(Base, frozen=True, kw_only=True, tag="command"):
    """A shell command, as the agent gave it."""

    command: str
    working_directory: str | None = None
    exit_code: int | None = None
    is_success: bool | None = None


class Read(Base, frozen=True, kw_only=True, tag="read"):
    """A file read; the lines are 1-based and inclusive."""

    path: str
    start_line: int | None = None
    end_line: int | None = None
    is_success: bool | None = None


class Write(Base, frozen=True, kw_only=True, tag="write"):
    """A file written, edited, moved to or deleted."""

    path: str
    start_line: int | None = None
    end_line: int | None = None
    is_success: bool | None = None


class Search(Base, frozen=True, kw_only=True, tag="search"):
    """A search in or for files; success says that it ran, not that it matched."""

    query: str
    path: str | None = None
    is_success: bool | None = None


class List(Base, frozen=True, kw_only=True, tag="list"):
    """A directory listing."""

    path: str | None = None
    is_success: bool | None = None


class Skill(Base, frozen=True, kw_only=True, tag="skill"):
    """The use of a skill, where the harness tells it from a read."""

    path: str
    skill_name: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    is_success: bool | None = None


class Orchestration(Base, frozen=True, kw_only=True, tag="orchestration"):
    """A subagent started, completed or failed."""

    action: Action
    subagent_id: str | None = None
    subagent_name: str | None = None
    is_success: bool | None = None


class Tokens(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """Token counts by class; None is "not reported", which is not 0."""

    uncached_input: int | None = None
    cached_input: int | None = None
    output: int | None = None
    reasoning: int | None = None


class Usage(Base, frozen=True, kw_only=True, tag="usage"):
    """What one turn took: tokens, and its cost in USD where the harness says it."""

    tokens: Tokens
    cost: int | float | None = None


class Error(Base, frozen=True, kw_only=True, tag="error"):
    """A fault of the harness itself."""

    message: str
    code: str | None = None


class Warning(Base, frozen=True, kw_only=True, tag="warning"):  # noqa: A001 - the vocabulary's own word
    """A possible problem; every line of standard error is one."""

    message: str
    code: str | None = None


class System(Base, frozen=True, kw_only=True, tag="system"):
    """A step of the surrounding run, made by whoever drives the agent, never by a parser."""

    stage: Stage
    status: Status
    message: str


class Unknown(Base, frozen=True, kw_only=True, tag="unknown"):
    """What could not be classified, kept as the JSON it was; `raw` gives its value."""

    json: msgspec.Raw = msgspec.field(name="raw")

    @property
    def raw(self) -> Any:
        """The JSON value, or the text where the line was no JSON.

        Numbers too large and nesting too deep for Python stay `msgspec.Raw`.
        """
        return jsonio.loads(bytes(self.json))


Event: TypeAlias = (
    Agent
    | Reasoning
    | Command
    | Read
    | Write
    | Search
    | List
    | Skill
    | Orchestration
    | Usage
    | Error
    | Warning
    | System
    | Unknown
)


def encode(event: Event) -> bytes:
    """One event as the bytes of its JSON object, without a line end."""
    return jsonio.dumps(event)


def decode(line: bytes | str) -> Event:
    """The event that one line of our own JSON holds; raises ValueError when it is none."""
    try:
        return _decoder.decode(line)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, RecursionError):  # it refuses lone surrogates and deep nesting
        return _decode_slowly(line.encode() if isinstance(line, str) else line)


def _decode_slowly(line: bytes) -> Event:
    jsonio.check(line)
    members = dict(jsonio.members(line))
    told = {
        name: msgspec.Raw(data) if name == "raw" else jsonio.loads(data) for name, data in members.items()
    }
    event: Event = msgspec.convert(told, Event)
    return event


_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
