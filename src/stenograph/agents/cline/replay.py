"""A stored SDK session as the entries of its run, in the order in which the live run told them.

A stored answer has thought, text and calls; live, the text ends before the thought that led to it, and the
turn's usage comes first. A sub-agent's messages stand in a file of their own; live they came between the
call that started it and that call's result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from stenograph import jsonio
from stenograph.agents.cline.entries import is_ok, items, verdict
from stenograph.agents.cline.scalars import to_float, to_int, to_rfc3339
from stenograph.agents.cline.sessions import (
    Manifest,
    SDKMessage,
    SDKMetrics,
    StoredSession,
    Transcript,
    unwrap,
)
from stenograph.agents.cline.types import Block
from stenograph.event import Tokens
from stenograph.model import (
    NO_PART,
    NOWHERE,
    UNPLACED,
    Ended,
    Entry,
    Failed,
    Noticed,
    Part,
    Prompted,
    Reply,
    Said,
    Spent,
    Started,
    Thought,
    ToolCalled,
    ToolReturned,
    Totals,
    Unread,
    Where,
)

_RANK = {"text": 0, "thinking": 1, "redacted_thinking": 1}
_MANY = 2**63
_SPAWNS = {"spawn_agent": "task", "team_run_task": "task"}
"""Tools that set another agent to work, and the member that holds the words it is given."""


def replay(session: StoredSession, *, as_live: bool = False) -> Iterator[Entry]:
    """The entries of a session in live order; those of sub-agents and teammates have their id as thread.

    With `as_live` they are told as the stream tells them: a failure as the agent's `error` event, what
    teammates do inside `team_event` records.
    """
    yield from _Replay(session, as_live=as_live).entries()


class _Replay:
    def __init__(self, session: StoredSession, *, as_live: bool) -> None:
        self.session = session
        self.as_live = as_live
        self.left = list(session.agents)  # the files whose agent has not been set to work

    def entries(self) -> Iterator[Entry]:
        session, manifest = self.session, self.session.manifest
        yield Started(
            session_id=session.id,
            cwd=manifest.cwd or None if manifest else None,
            model=manifest.model or None if manifest else None,
            version=_version(session),
            instructions=_instructions(session),
        )
        if session.lead:
            yield from self._transcript(session.lead, None)
        while self.left:  # their call was not found: the lead's file is missing or cut
            yield from self._agent(self.left[0])
        if manifest and manifest.status not in ("", "running"):
            yield _ended(manifest, _error(session.lead))

    def _transcript(self, source: Transcript, thread: str | None) -> Iterator[Entry]:
        """The messages of one file, and inside them those of the agents that they set to work."""
        for at, (message, (start, end)) in enumerate(zip(source.messages, source.spans)):
            place = Where(
                at=to_rfc3339(message.ts),
                line=at + 1,
                offset=start,
                length=end - start,
                is_object=message.error is None,
                file=source.name,
            )
            whole = Part(message.raw)
            for entry in _message(message, as_live=self.as_live):
                entry.place, entry.thread = place, thread
                if entry.source is NO_PART:
                    entry.source = whole
                yield entry
                if isinstance(entry, ToolCalled) and (agent := self._set_to_work(entry)):
                    yield from self._agent(agent)

    def _set_to_work(self, call: ToolCalled) -> Transcript | None:
        """The file of the agent that a call started: its first words are the call's."""
        member = _SPAWNS.get(call.tool)
        words = call.input.get(member) if member and isinstance(call.input, dict) else None
        return next((each for each in self.left if words and _first_words(each) == words), None)

    def _agent(self, agent: Transcript) -> Iterator[Entry]:
        self.left.remove(agent)
        thread = thread_of(agent)
        entries = self._transcript(agent, thread)
        if not self.as_live or agent.header.agent != "teammate":
            yield from entries
            return
        last = UNPLACED
        for entry in entries:
            last = entry.place
            is_usage = isinstance(entry, Spent)
            yield entry if is_usage else _in_team({"type": "agent_event", "agentId": thread}, last, entry)
        row = self.session.row_of(agent)
        if row:
            yield _in_team({"type": "task_end", "agentId": thread, "status": row.get("status")}, last)


def _in_team(record: dict[str, Any], place: Where, *inside: Entry) -> Entry:
    """What a teammate does, as the lead's stream wraps it."""
    raw = next((entry.raw for entry in inside if isinstance(entry, ToolCalled | ToolReturned)), None)
    told = {"type": "team_event", "event": record}
    part = raw or Part(jsonio.dumps(told))
    return Noticed(kind="team_event", record=told, raw=part, inside=inside, place=place, thread=NOWHERE)


def _ended(manifest: Manifest, error: str | None) -> Entry:
    ok = manifest.status not in ("failed", "error")
    place = Where(at=manifest.ended_at or None)
    return Ended(ok=ok, text=error, message=error or manifest.status, place=place)


def thread_of(transcript: Transcript) -> str:
    """The id of the agent whose messages a file holds."""
    origin = transcript.header.origin
    return (origin.subagent if origin else "") or transcript.name


def totals_of(metrics: SDKMetrics) -> Totals:
    """What one message took; `inputTokens` holds the cached ones."""
    return Totals(
        tokens_in=_count(metrics.input_tokens),
        tokens_out=_count(metrics.output_tokens),
        cache_writes=_count(metrics.cache_write_tokens),
        cache_reads=_count(metrics.cache_read_tokens),
        cost=to_float(metrics.cost),
    )


def metrics_of(transcript: Transcript) -> list[SDKMetrics]:
    """What each answer in a file took."""
    return [metrics for message in transcript.messages if (metrics := message.metrics)]


def _version(session: StoredSession) -> str | None:
    origin = session.lead.header.origin if session.lead else None
    return (origin.version or None) if origin else None


def _instructions(session: StoredSession) -> str | None:
    return (session.lead.header.system_prompt or None) if session.lead else None


def _error(lead: Transcript | None) -> str | None:
    shown = [message for message in lead.messages if message.is_error] if lead else []
    return "".join(block.text for block in shown[-1].blocks) if shown else None


def _first_words(source: Transcript) -> str:
    first = source.messages[0] if source.messages else None
    if first is None:
        return ""
    text = first.content.text or "".join(block.text for block in first.blocks)
    return unwrap(text)[1]


def _message(message: SDKMessage, *, as_live: bool) -> Iterator[Entry]:
    raw = message.raw
    if message.error or message.role not in ("user", "assistant"):
        yield Unread(raw=msgspec.Raw(raw))
        return
    if message.is_display_only:
        yield _display(message, as_live=as_live)
        return
    if message.metrics:
        yield _spent(message.metrics)
    if message.content.is_text:
        entry = _words(message, message.content.text)
        entry.source = Part(raw, ("content",))
        yield entry
    numbered = sorted(enumerate(message.blocks), key=lambda each: _RANK.get(each[1].type, 2))
    for number, block in numbered:
        part = Part(raw, ("content", number))
        entry = _block(message, block, part)
        entry.source = part
        yield entry


def _display(message: SDKMessage, *, as_live: bool) -> Entry:
    """A message that is shown and never sent: the run's failure, mostly."""
    text, part = "".join(block.text for block in message.blocks), Part(message.raw)
    if not message.is_error:
        return Noticed(kind="display", record=text, raw=part)
    if as_live:
        return Noticed(kind="inner/error", record={"type": "error", "error": {"message": text}}, raw=part)
    return Failed(message=text)


def _block(message: SDKMessage, block: Block, part: Part) -> Entry:
    match block.type:
        case "text":
            return _words(message, block.text)
        case "thinking" | "redacted_thinking":
            return Thought(
                text=block.thinking,
                signature=block.signature or None,
                redacted=block.data or None,
                reply=_reply(message),
            )
        case "tool_use":
            call = block.id or None
            return ToolCalled(id=call, tool=block.name, input=block.input, raw=part, reply=_reply(message))
        case "tool_result":
            return _returned(block, part)
        case _ if block.error:
            return Unread(raw=msgspec.Raw(block.raw))
        case kind:
            return Noticed(kind=f"block/{kind}", raw=part)


def _words(message: SDKMessage, text: str) -> Entry:
    if message.role == "assistant":
        return Said(text=text, reply=_reply(message))
    mode, words = unwrap(text)
    return Prompted(text=words, synthetic=not mode and text.lstrip().startswith("<"))


def _returned(block: Block, part: Part) -> Entry:
    output = _output(block)
    batch = items(output)
    ok = False if block.is_error else verdict(output, None, batch)
    return ToolReturned(
        id=block.tool_use_id or None,
        tool=block.name or None,
        ok=ok,
        oks=tuple(is_ok(item) for item in batch) if batch else None,
        output=output,
        raw=part,
    )


def _output(block: Block) -> Any:
    """What a tool gave: lists are stored as they are, objects as their JSON text, strings as strings."""
    content = block.get("content")
    if not isinstance(content, str) or not content.startswith("{"):
        return content
    try:
        found = jsonio.loads(content.encode("utf-8", "backslashreplace"))
    except ValueError:
        return content
    return found if isinstance(found, dict) else content


def _spent(metrics: SDKMetrics) -> Entry:
    took = totals_of(metrics)
    tokens = Tokens(
        uncached_input=max(0, took.tokens_in - took.cache_reads),
        cached_input=took.cache_reads,
        output=took.tokens_out,
    )
    return Spent(tokens=tokens, cost=took.cost, cache_writes=took.cache_writes or None)


def _reply(message: SDKMessage) -> Reply:
    info = message.model_info
    return Reply(
        id=message.id or None,
        model=(info.id or None) if info else None,
        provider=(info.provider or None) if info else None,
    )


def _count(value: Any) -> int:
    if type(value) is int and 0 <= value < _MANY:
        return value
    found = to_int(value)
    return found[0] if found else 0
