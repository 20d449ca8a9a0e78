"""Sessions of the Cline SDK on disk: manifest, messages, files of sub-agents and teammates, database rows.

One folder a session, `<data>/sessions/<id>/`, written by CLI 3.x and the 4.x extension (run on 3.0.65, both
backends). Messages are in another dialect than the live events. The manifest's prompt is plain in local runs
and wrapped in hub runs, which also put mode and system prompt into its metadata. Sub-agents have no
manifest: their rows are in `<data>/db/sessions.db`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec

from stenograph import database, jsonio
from stenograph.agents.cline.folders import list_dir, read_bounded
from stenograph.agents.cline.scalars import to_millis
from stenograph.agents.cline.sessionfolders import MESSAGES
from stenograph.agents.cline.types import Block, ContentMember
from stenograph.document import Array, Child, Children, Flag, Object, Refused, Text, Value
from stenograph.errors import ReadError
from stenograph.salvage import Shape, Span, scan

_LIST = re.compile(rb'"messages"[ \t\n\r]*:[ \t\n\r]*(?=\[)')
_WRAPPED = re.compile(r'\s*<user_input mode="([^"]*)">(.*)</user_input>\s*', re.DOTALL)
_QUERY = "SELECT * FROM sessions WHERE session_id = ? OR substr(session_id, 1, ?) = ? ORDER BY started_at"


class Manifest(Object):
    """A session's own record, `<id>.json`; `metadata` holds title, usage, checkpoints, in hub runs more."""

    __slots__ = ()
    version = Value("version")
    session_id = Text("session_id")
    source = Text("source")
    pid = Value("pid")
    started_at = Text("started_at")
    ended_at = Text("ended_at")
    exit_code = Value("exit_code")
    status = Text("status")
    interactive = Flag("interactive")
    provider = Text("provider")
    model = Text("model")
    cwd = Text("cwd")
    workspace_root = Text("workspace_root")
    team_name = Text("team_name")
    enable_tools = Flag("enable_tools")
    enable_spawn = Flag("enable_spawn")
    enable_teams = Flag("enable_teams")
    prompt = Text("prompt")
    metadata = Value("metadata")
    messages_path = Text("messages_path")
    compaction_path = Text("compaction_path")

    @property
    def plain_prompt(self) -> str:
        """The prompt without the wrapper that hub runs put around it."""
        return unwrap(self.prompt)[1]

    @property
    def mode(self) -> str:
        """The mode (act, plan, yolo), empty where the manifest does not tell it: local runs."""
        mode = self._more("mode")
        return mode if isinstance(mode, str) else unwrap(self.prompt)[0]

    @property
    def system_prompt(self) -> str:
        """The system prompt, empty where the manifest does not tell it: local runs."""
        prompt = self._more("systemPrompt")
        return prompt if isinstance(prompt, str) else ""

    @property
    def is_hub(self) -> bool:
        """Whether the run went through the hub, told by what only its manifests hold."""
        return bool(unwrap(self.prompt)[0]) or self._more("systemPrompt") is not None

    def _more(self, name: str) -> Any:
        return self.metadata.get(name) if isinstance(self.metadata, dict) else None


class SDKModelInfo(Object):
    """The model that an assistant message was written with."""

    __slots__ = ()
    id = Text("id")
    provider = Text("provider")


class SDKMetrics(Object):
    """What one assistant message took; `input_tokens` holds cache reads and writes."""

    __slots__ = ()
    input_tokens = Value("inputTokens")
    output_tokens = Value("outputTokens")
    cache_read_tokens = Value("cacheReadTokens")
    cache_write_tokens = Value("cacheWriteTokens")
    cost = Value("cost")


class SDKMessage(Object):
    """One stored message: `role` is user or assistant, each tool result has a user message of its own."""

    __slots__ = ()
    id = Text("id")
    role = Text("role")
    content = ContentMember()
    ts = Value("ts")
    model_info = Child("modelInfo", SDKModelInfo)
    metrics = Child("metrics", SDKMetrics)
    metadata = Value("metadata")

    @property
    def time(self) -> datetime | None:
        """When it was written, by `ts`."""
        return to_millis(self.ts)

    @property
    def blocks(self) -> list[Block]:
        """The content's blocks."""
        return self.content.blocks

    @property
    def is_display_only(self) -> bool:
        """Whether it is shown and never sent: not a part of the conversation."""
        return isinstance(self.metadata, dict) and self.metadata.get("displayOnly") is True

    @property
    def is_error(self) -> bool:
        """Whether it stands for the failure of the run."""
        return self.is_display_only and self.metadata.get("displayRole") == "error"


class Origin(Object):
    """Where a message file comes from; the last two members are those of sub-agents and teammates."""

    __slots__ = ()
    source = Text("source")
    mode = Text("mode")
    session_id = Text("sessionId")
    version = Text("version")
    parent_thread_id = Text("parentThreadId")
    subagent = Text("subagent")


class Header(Object):
    """The members of a message file."""

    __slots__ = ()
    version = Value("version")
    updated_at = Text("updated_at")
    agent = Text("agent")
    session_id = Text("sessionId")
    task_type = Text("taskType")
    origin = Child("origin", Origin)
    messages = Children("messages", SDKMessage)
    system_prompt = Text("system_prompt")


class Transcript(msgspec.Struct, kw_only=True, frozen=True, eq=False):
    """One message file; of a broken one, `error` says why and the messages that are whole are kept.

    `source` holds the file's bytes, `offset` tells where in the file the list of messages begins.
    """

    name: str
    header: Header
    messages: list[SDKMessage]
    source: Header | Array[SDKMessage]
    offset: int = 0
    error: str | None = None

    @property
    def conversation(self) -> list[SDKMessage]:
        """The messages that were said, without those only shown."""
        return [message for message in self.messages if not message.is_display_only]

    @property
    def units(self) -> int:
        """How many units the file accounts for: messages, and one for a fault."""
        return len(self.messages) + (self.error is not None)

    @property
    def spans(self) -> list[Span]:
        """Where each message that was read stands in the file."""
        array = self.source if isinstance(self.source, Array) else self.header.seen("messages")
        found = array.spans if isinstance(array, Array) else []
        return [(start + self.offset, end + self.offset) for start, end in found]

    def dump(self) -> bytes:
        """The file's bytes, edits spliced in; raises NotExact when it was not loaded."""
        return self.source.dump()


class StoredSession(msgspec.Struct, kw_only=True, frozen=True, eq=False):
    """One session folder as read: `lead` is the session's own message file, `agents` those of the others.

    `rows` are the database's rows of the session and its agents by session id, as stored: booleans are 0
    and 1, `metadata_json` is text.
    """

    dir: str
    id: str
    manifest: Manifest | None
    manifest_error: str | None
    has_manifest: bool
    lead: Transcript | None
    agents: list[Transcript]
    rows: dict[str, dict[str, Any]]
    rows_error: str | None
    others: list[str]
    dirs: list[str]

    @property
    def units(self) -> int:
        """How many units the session accounts for: messages, faults, its manifest, and each other file."""
        files = [*self.agents, *([self.lead] if self.lead else [])]
        return sum(file.units for file in files) + self.has_manifest + len(self.others)

    def row_of(self, transcript: Transcript) -> dict[str, Any] | None:
        """The database's row of a message file."""
        return self.rows.get(transcript.header.session_id)


def read_session(path: str | os.PathLike[str], *, db: str | None = None, rows: bool = True) -> StoredSession:
    """Read the session folder that a path names, or the folder of the file it names.

    `db` is the database, by default `../../db/sessions.db` of the folder; without `rows` it is not opened.
    Raises ReadError when the folder cannot be listed or holds neither a manifest nor messages; every other
    fault is recorded.
    """
    name = os.fspath(path)
    folder = name if os.path.isdir(name) else os.path.dirname(name) or os.curdir
    found = list_dir(folder)
    id = os.path.basename(os.path.abspath(folder))  # noqa: A001 - the wire's word
    logs = [file for file in found.files if file.endswith(MESSAGES)]
    if f"{id}.json" not in found.files and not logs:
        raise ReadError(f"{folder} holds neither a manifest nor messages")
    manifest, manifest_error = _manifest(folder, f"{id}.json", found.files)
    transcripts = {log: _read_transcript(os.path.join(folder, log), log) for log in logs}
    known, rows_error = (
        _rows(db or os.path.join(folder, "..", "..", "db", "sessions.db"), id) if rows else ({}, None)
    )
    return StoredSession(
        dir=folder,
        id=id,
        manifest=manifest,
        manifest_error=manifest_error,
        has_manifest=f"{id}.json" in found.files,
        lead=transcripts.pop(id + MESSAGES, None),
        agents=list(transcripts.values()),
        rows=known,
        rows_error=rows_error,
        others=[file for file in found.files if file not in logs and file != f"{id}.json"],
        dirs=found.dirs,
    )


def parse_manifest(data: bytes) -> tuple[Manifest | None, str | None]:
    """A manifest from its bytes, or why it does not read."""
    manifest = Manifest(data)
    try:
        jsonio.check(data)
    except ValueError as fault:
        return None, str(fault)
    return (None, manifest.error) if manifest.error else (manifest, None)


def parse_transcript(data: bytes, *, name: str = "") -> Transcript:
    """A message file from its bytes: an object with `messages`, or the bare list; never raises.

    The program reads broken JSON as an empty session; here the messages that are whole are kept.
    """
    header = Header(data)
    try:
        jsonio.check(data)
    except ValueError as fault:
        return _parse_broken(data, name, str(fault))
    if header.error:
        messages = Array.parse(data, SDKMessage, name=name, shape=_MESSAGE)
        return Transcript(
            name=name,
            header=Header(b"{}"),
            messages=messages.elements,
            source=messages,
            error=messages.error,
        )
    at = {span.name: span.value for span in jsonio.member_spans(data)}.get("messages", 0)
    odd = None if data[at : at + 1] == b"[" else "no list of messages"
    return Transcript(name=name, header=header, messages=header.messages, source=header, offset=at, error=odd)


def unwrap(text: str) -> tuple[str, str]:
    """The mode and the words of a user's text, without the tags around it; without any, the mode is empty."""
    found = _WRAPPED.fullmatch(text)
    return (found.group(1), found.group(2)) if found else ("", text)


def _is_message(data: bytes) -> bool:
    return SDKMessage(data).role in ("user", "assistant")


_MESSAGE = Shape(fits=_is_message)


def _parse_broken(data: bytes, name: str, fault: str) -> Transcript:
    begin = _LIST.search(data)
    start = begin.end() if begin else 0
    found = scan(data[start:], shape=_MESSAGE)
    spans = [(start + at, start + end) for at, end in found.spans]
    messages = [SDKMessage(data[at:end]) for at, end in spans]
    for message in messages[found.whole :]:
        message.recovered = True
    return Transcript(
        name=name,
        header=Header(_whole_members(data) if begin else b"{}"),
        messages=messages,
        source=Array.placed(data, messages, spans, name=name, error=fault),
        error=fault,
    )


def _whole_members(data: bytes) -> bytes:
    """An object of the members that end before the fault."""
    members: list[bytes] = []
    with suppress(ValueError):
        for span in jsonio.member_spans(data):
            members.append(data[span.start : span.end])  # noqa: PERF401 - kept when a later one is broken
    return b"{" + b",".join(members) + b"}"


def _manifest(folder: str, name: str, files: Iterable[str]) -> tuple[Manifest | None, str | None]:
    if name not in files:
        return None, None
    try:
        return parse_manifest(read_bounded(os.path.join(folder, name)))
    except ReadError as fault:
        return None, str(fault)


def _read_transcript(path: str, name: str) -> Transcript:
    try:
        return parse_transcript(read_bounded(path), name=name)
    except ReadError as fault:
        refused: Refused[SDKMessage] = Refused(b"", [], name=name, error=str(fault))
        return Transcript(name=name, header=Header(b"{}"), messages=[], source=refused, error=str(fault))


def _rows(path: str, id: str) -> tuple[dict[str, dict[str, Any]], str | None]:  # noqa: A002 - its word
    if not os.path.exists(path):
        return {}, None
    prefix = f"{id}__"
    try:
        rows = database.read_rows(path, _QUERY, (id, len(prefix), prefix))
    except ReadError as fault:
        return {}, str(fault)
    return {str(row["session_id"]): row for row in rows}, None
