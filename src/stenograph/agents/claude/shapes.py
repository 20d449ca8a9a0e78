"""What the projection needs of Claude Code's heavy records: everything else is skipped, not decoded.

A record that does not fit its shape is decoded in full, so a shape changes how fast, never what. A result's
`content` stays `Raw`, and of `tool_use_result` only the flags are read, until somebody asks for the rest.
"""

from __future__ import annotations

from typing import Any, Literal, Required, TypedDict

import msgspec

from stenograph import jsonio


class Input(TypedDict, total=False):
    """The members of a tool's input that name files, lines, patterns and commands."""

    file_path: Any
    filePath: Any
    path: Any
    notebook_path: Any
    notebookPath: Any
    offset: Any
    start_line: Any
    limit: Any
    line_count: Any
    pattern: Any
    query: Any
    glob: Any
    command: Any
    cmd: Any
    skill: Any
    skill_name: Any
    description: Any
    subagent_type: Any


class Block(TypedDict, total=False):
    """A content block of an `assistant` record."""

    type: str
    id: Any
    name: Any
    input: Input
    text: Any
    thinking: Any
    tool_use_id: Any


class Message(TypedDict, total=False):
    """The message of an `assistant` record."""

    id: Any
    model: Any
    stop_reason: Any
    usage: msgspec.Raw
    content: list[Block] | str


class Assistant(TypedDict, total=False):
    """An `assistant` record."""

    type: Required[Literal["assistant"]]
    session_id: Any
    timestamp: Any
    parent_tool_use_id: Any
    is_api_error_message: Any
    message: Message


class Flags(TypedDict, total=False):
    """What a structured result says of an interruption."""

    is_interruption: Any
    is_interrupted: Any
    interrupted: Any


class ResultBlock(TypedDict, total=False):
    """A content block of a `user` record."""

    type: str
    text: Any
    tool_use_id: Any
    is_error: Any
    is_interruption: Any
    is_interrupted: Any
    interrupted: Any
    content: msgspec.Raw
    tool_use_result: Flags | str | list[msgspec.Raw] | None


class ResultMessage(TypedDict, total=False):
    """The message of a `user` record."""

    content: list[ResultBlock] | str


class Meta(TypedDict, total=False):
    """What is told of how a call came to run, or not."""

    id: Any
    non_execution_kind: Any


class User(TypedDict, total=False):
    """A `user` record."""

    type: Required[Literal["user"]]
    session_id: Any
    timestamp: Any
    parent_tool_use_id: Any
    isSynthetic: Any
    isReplay: Any
    tool_result_meta: list[Meta] | None
    tool_use_result: Flags | str | list[msgspec.Raw] | None
    message: ResultMessage


class Consumed(TypedDict, total=False):
    """A record that is read for nothing but its session."""

    type: Required[Literal["stream_event"]]
    session_id: Any


SHAPES: dict[bytes, msgspec.json.Decoder[Any]] = {
    b"assistant": jsonio.decoder(Assistant),
    b"user": jsonio.decoder(User),
    b"stream_event": jsonio.decoder(Consumed),
}
