"""What is in a stored SDK session: the session, its summary, its faults."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from stenograph.agents.cline.drift import note_new
from stenograph.agents.cline.projection import TOOLS
from stenograph.agents.cline.replay import metrics_of, replay, totals_of
from stenograph.agents.cline.requests import to_time
from stenograph.agents.cline.scalars import to_float, to_rfc3339
from stenograph.agents.cline.sessions import Manifest, SDKMessage, StoredSession, Transcript, read_session
from stenograph.agents.cline.usage import add
from stenograph.document import Object
from stenograph.errors import Place
from stenograph.model import Entry, Noticed, Part, Request, Sent, Session, Summary, Totals, Where
from stenograph.notes import Kind, Report

_TITLE = 200
_TOOLS = frozenset(
    (*TOOLS, "fetch_web_content", "ask_question", "submit_and_exit", "spawn_agent", "switch_to_act_mode")
)
_BLOCKS = frozenset(("text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "file"))


def load(path: str) -> Session:
    """The session as one timeline, sub-agents inside."""
    session = read_session(path)
    report = Report()
    _note_faults(session, report)
    return Session(
        summary=summed_up(session),
        entries=list(replay(session)),
        requests=_requests(session),
        report=report,
        source=session,
        sent=lambda request: _sent(session, request),
        rest=list(_rest(session)),
    )


def live(path: str) -> Iterator[Entry]:
    """The entries of the run as its stream told them; raises ReadError behind them for what is not loaded."""
    session = read_session(path)
    yield from replay(session, as_live=True)
    for fault in session.unloaded():
        raise fault


def check(path: str) -> tuple[int, Report]:
    """Faults of files and messages; members, blocks and tools that are new."""
    session = read_session(path)
    report = Report()
    _note_faults(session, report)
    if session.manifest:
        _check_members(session.manifest, Place(os.path.join(session.dir, f"{session.id}.json")), report)
    for transcript in _transcripts(session):
        _check_transcript(session, transcript, report)
    return session.units, report


def _rest(session: StoredSession) -> Iterator[Entry]:
    """What is no part of the timeline: the manifest, the message files' own members, the database's rows."""
    if session.manifest:
        name = f"{session.id}.json"
        yield Noticed(kind=f"file/{name}", raw=Part(session.manifest.raw), place=Where(file=name))
    for transcript in _transcripts(session):
        header = transcript.header
        members = {key: header.get(key) for key in header.cells if key not in ("messages", "system_prompt")}
        yield Noticed(kind=f"file/{transcript.name}", record=members, place=Where(file=transcript.name))
    for row in session.rows.values():
        yield Noticed(kind="file/sessions.db", record=row, place=Where(file="sessions.db"))


def summed_up(session: StoredSession) -> Summary:
    """The summary of a session that was read."""
    manifest, lead = session.manifest or Manifest(b"{}"), session.lead
    messages = lead.messages if lead else []
    times = [time for message in messages if (time := message.time)]
    taken = [totals_of(m) for t in _transcripts(session) for m in metrics_of(t)]
    return Summary(
        path=session.dir,
        format="cline-session",
        agent="cline",
        id=session.id,
        variant="sdk",
        started=manifest.started_at or to_time(min(times, default=None)),
        updated=manifest.ended_at
        or (lead.header.updated_at if lead else "")
        or to_time(max(times, default=None)),
        cwd=manifest.cwd,
        model=manifest.model or _model(messages),
        title=_title(manifest, messages),
        requests=len(taken),
        totals=_with_cost(add(taken), manifest),
        faults=sum(error is not None for error in _errors(session)),
    )


def _with_cost(taken: Totals, manifest: Manifest) -> Totals:
    """Costs that are 0 are left out of the messages; the manifest has their sum, sub-agents included."""
    told = manifest.metadata.get("aggregateUsage") if isinstance(manifest.metadata, dict) else None
    cost = to_float(told.get("totalCost")) if isinstance(told, dict) else None
    if taken.cost is not None or cost is None:
        return taken
    return Totals(
        tokens_in=taken.tokens_in,
        tokens_out=taken.tokens_out,
        cache_writes=taken.cache_writes,
        cache_reads=taken.cache_reads,
        cost=cost,
    )


def _transcripts(session: StoredSession) -> list[Transcript]:
    return [*([session.lead] if session.lead else []), *session.agents]


def _errors(session: StoredSession) -> list[str | None]:
    return [session.manifest_error, session.rows_error, *(each.error for each in _transcripts(session))]


def _model(messages: Sequence[SDKMessage]) -> str:
    return next((info.id for message in messages if (info := message.model_info)), "")


def _title(manifest: Manifest, messages: Sequence[SDKMessage]) -> str:
    told = manifest.metadata.get("title") if isinstance(manifest.metadata, dict) else None
    first = "".join(block.text for message in messages[:1] for block in message.blocks)
    return (told if isinstance(told, str) and told else manifest.plain_prompt or first)[:_TITLE]


def _requests(session: StoredSession) -> list[Request]:
    """One for each answer of the lead; what went before it was sent."""
    messages = session.lead.messages if session.lead else []
    answers = [
        at
        for at, message in enumerate(messages)
        if message.role == "assistant" and not message.is_display_only
    ]
    return [
        Request(
            number=number,
            last=at - 1,
            element=at,
            at=to_rfc3339(messages[at].ts),
            totals=totals_of(metrics) if (metrics := messages[at].metrics) else Totals(),
        )
        for number, at in enumerate(answers)
    ]


def _sent(session: StoredSession, request: Request) -> list[Sent]:
    """Every message before the answer but those only shown."""
    messages = session.lead.messages[: request.last + 1] if session.lead else []
    return [
        Sent(role=message.role, content=message.get("content"), index=at)
        for at, message in enumerate(messages)
        if not message.is_display_only
    ]


def _note_faults(session: StoredSession, report: Report) -> None:
    files = [f"{session.id}.json", *(each.name for each in _transcripts(session))]
    manifest, *logs = (os.path.join(session.dir, name) for name in files)
    for path, error in zip((manifest, session.rows_path, *logs), _errors(session)):
        if error:
            report.add(Kind.DAMAGED, "damaged-file", Place(path), error)


def _check_transcript(session: StoredSession, transcript: Transcript, report: Report) -> None:
    path = os.path.join(session.dir, transcript.name)
    _check_members(transcript.header, Place(path), report)
    for at, (message, span) in enumerate(zip(transcript.messages, transcript.spans)):
        where = Place(path, span[0], at + 1)
        if message.error:
            report.add(Kind.UNREAD, "odd-element", where, message.error)
        _check_members(message, where, report)
        for block in message.blocks:
            if not block.error and block.type not in _BLOCKS:
                note_new(report, "block", block.type, where)
            if block.type == "tool_use" and not _is_known(block.name):
                note_new(report, "tool", block.name, where)


def _is_known(tool: str) -> bool:
    """MCP tools have names of the user's making, `<server>__<tool>`."""
    return tool in _TOOLS or tool.startswith("team_") or "__" in tool


def _check_members(record: Object, where: Place, report: Report) -> None:
    for name in record.undeclared:
        note_new(report, "member", f"{type(record).__name__}.{name}", where)
