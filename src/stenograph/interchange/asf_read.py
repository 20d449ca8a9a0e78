"""Reads a file of the Agent Session Format as a timeline, with the sessions of its subagents inside.

Files of other writers are read by what their items say; in ours `stenograph:entries` says the rest. A line
that cannot be read is an `Unread` entry and a note, never an exception.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from stenograph import jsonio
from stenograph.errors import Place, ReadError
from stenograph.event import Tokens
from stenograph.interchange import facts
from stenograph.interchange.asf_write import COST, ENTRIES, REPLY, read_item
from stenograph.interchange.run import session_id
from stenograph.model import (
    Ended,
    Entry,
    Noticed,
    Part,
    Reply,
    Request,
    Sent,
    Session,
    Spent,
    Started,
    Summary,
    ToolCalled,
    ToolReturned,
    Totals,
    Unread,
    Where,
)
from stenograph.notes import Kind, Report
from stenograph.projection import Projection
from stenograph.store import Skipped, Store

MARK = b"agentsession/"
_PEEK = 4096
_PROSE = ("said", "thought", "called")


class AsfStore(Store):
    """Files of the Agent Session Format, ours and those of other writers."""

    format = "asf"
    agent = "asf"
    place = "NAME.jsonl"
    is_file = True

    def find(self, root: str, *, skipped: Skipped | None = None) -> Iterator[str]:
        """The session files in a folder and the folders directly below it, without those of subagents."""
        for folder, folders, files in os.walk(root):
            if folder != root:
                folders.clear()
            folders.sort()
            for name in sorted(files):
                path = os.path.join(folder, name)
                if self.holds(path) and not self.is_inside(path):
                    yield path

    def holds(self, path: str) -> bool:
        """Whether a path is a file whose first line names the format."""
        return path.endswith(".jsonl") and MARK in _head(path) and is_header(_first_line(path))

    def is_inside(self, path: str) -> bool:
        """Whether a file holds a subagent's part; a session that another one started stands for itself."""
        return is_part(read_header(path))

    def files(self, path: str) -> list[str]:
        """The file itself."""
        return [path]

    def summary(self, path: str) -> Summary:
        """From the whole file."""
        return self.load(path).summary

    def session_id(self, path: str) -> str | None:
        """The agent's own id, None where it told none; the file's in those of other writers."""
        header = read_header(path)
        source = header.get("stenograph:source")
        return _word(source.get("id") if isinstance(source, dict) else header.get("id")) or None

    def projection(self) -> type[Projection]:
        """That of no agent; which one is right depends on the session."""
        return Projection

    def load(self, path: str) -> Session:
        """The session, its subagents' inside where their files stand beside it or in one store with it."""
        return read_file(path)

    def live(self, path: str) -> Iterator[Entry]:
        """The entries in the order of the file."""
        return iter(self.load(path).entries)

    def check(self, path: str) -> tuple[int, Report]:
        """How many lines there are, and which cannot be read."""
        session = self.load(path)
        return len(session.source.lines), session.report


class File(msgspec.Struct, kw_only=True, frozen=True, eq=False):
    """One file as read: `lines` are the entries behind the header that are JSON objects."""

    path: str
    header: dict[str, Any]
    lines: list[dict[str, Any]]
    entries: list[Entry]


def read_file(path: str) -> Session:
    """The session of a file; raises ReadError when it cannot be read or has no header."""
    report = Report()
    file = _read(path, report, None)
    lost = {entry.thread for entry in file.entries}
    for thread, child in _children(file):
        if thread not in lost:
            file.entries.extend(_read(child, report, thread).entries)
    source = file.header.get("stenograph:source")
    told = source if isinstance(source, dict) else {}
    spent = [entry for entry in file.entries if isinstance(entry, Spent)]
    summary = Summary(
        path=path,
        format=AsfStore.format,
        agent=_word(told.get("agent")) or "asf",
        id=_word(told.get("id")) or _word(file.header.get("id")),
        variant=_word(told.get("variant")),
        parent=_word(file.header.get("parent_session")),
        started=_word(file.header.get("created_at")) or None,
        updated=next((entry.place.at for entry in reversed(file.entries) if entry.place.at), None),
        cwd=_word(file.header.get("cwd")),
        model=next((e.model for e in file.entries if isinstance(e, Started) and e.model), ""),
        title=_word(told.get("title")),
        requests=sum(line.get("type") == "response" for line in file.lines),
        totals=_totals(spent or [_took(entry) for entry in file.entries if isinstance(entry, Ended)]),
        faults=sum(note.count for note in report.notes if note.kind == Kind.DAMAGED),
    )
    requests = list(_requests(file))
    return Session(
        summary=summary,
        entries=file.entries,
        requests=requests,
        report=report,
        source=file,
        sent=lambda request: _sent(file, request),
        spawned_by=_word(file.header.get("spawned_by")),
    )


def read_header(path: str) -> dict[str, Any]:
    """The header of a file, empty when it has none."""
    line = _first_line(path)
    return jsonio.loads(line) if is_header(line) else {}


def is_header(line: bytes) -> bool:
    """Whether a line is the header of a session."""
    try:
        value = jsonio.loads(line)
    except ValueError:
        return False
    match value:
        case {"type": "session", "format": str(name)}:
            return name.encode("utf-8", "replace").startswith(MARK)
    return False


def is_part(header: dict[str, Any]) -> bool:
    """Whether a header is that of a subagent's part of a session: of ours, its id is made of the call's."""
    if not header.get("spawned_by"):
        return False
    match header.get("stenograph:source"):
        case {"agent": str(agent), "id": str(native)}:
            return bool(header.get("id") != session_id(agent, native))
    return True


def _head(path: str) -> bytes:
    try:
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as file:
            return file.read(_PEEK)
    except OSError:
        return b""


def _first_line(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.readline(1 << 24)
    except OSError:
        return b""


def _read(path: str, report: Report, thread: str | None) -> File:
    header = read_header(path)
    if not header:
        raise ReadError(f"{path} has no header of an agent session")
    lines: list[dict[str, Any]] = []
    entries: list[Entry] = []
    replies: dict[str, Reply | None] = {}
    waiting: list[tuple[str, Entry]] = []
    offset = 0
    with open(path, "rb") as file:
        for number, data in enumerate(file, 1):
            place = Where(
                line=number, offset=offset, length=len(data.rstrip(b"\n")), file=os.path.basename(path)
            )
            offset += len(data)
            if number == 1 or not data.strip():
                continue
            line = _line(data, place, report)
            if line is None:
                text = jsonio.raw(data.decode("utf-8", "replace").rstrip("\n"))
                entries.append(Unread(raw=text, place=place, thread=thread))
                continue
            lines.append(line)
            ts = line.get("ts")
            place = msgspec.structs.replace(place, at=ts if isinstance(ts, str) else None)
            source = Part(data.rstrip(b"\n"))
            for entry in line_entries(line):
                entry.place, entry.thread, entry.source = place, thread, source
                entries.append(entry)
                if entry.__struct_config__.tag in _PROSE and isinstance(line.get("response"), str):
                    waiting.append((line["response"], entry))
            if line.get("type") == "response" and isinstance(line.get("response_id"), str):
                replies[line["response_id"]] = _reply(line)
    for name, told in waiting:
        if name in replies and getattr(told, "reply", None) is None:
            told.reply = replies[name]  # type: ignore[union-attr]  # these kinds have one
    return File(path=path, header=header, lines=lines, entries=entries)


def _line(data: bytes, place: Where, report: Report) -> dict[str, Any] | None:
    try:
        value = jsonio.loads(data)
    except ValueError as fault:
        report.add(Kind.DAMAGED, "damaged-file", Place(place.file, place.offset, place.line), str(fault))
        return None
    if isinstance(value, dict):
        return value
    report.add(Kind.UNREAD, "odd-element", Place(place.file, place.offset, place.line), "not an object")
    return None


def line_entries(line: dict[str, Any]) -> list[Entry]:
    """The entries of one line behind the header."""
    kept = line.get(ENTRIES)
    if isinstance(kept, list):
        known = facts.to_json(_plainly(line)) if any(_is_beside(each) for each in kept) else {}
        return [
            facts.from_json(facts.restored(each, known) if _is_beside(each) else each)
            for each in kept
            if isinstance(each, dict)
        ]
    return [_plainly(line)]


def _is_beside(kept: Any) -> bool:
    """Whether an object tells only what the line itself does not."""
    return isinstance(kept, dict) and ("entry" not in kept or "without" in kept)


def _plainly(line: dict[str, Any]) -> Entry:
    """What a line says by itself."""
    match line:
        case {"type": "item", "item": dict()}:
            entry = read_item(line)
            if isinstance(entry, ToolCalled | ToolReturned):
                entry.raw = facts.block_of(entry)
            return entry
        case {"type": "custom", "ns": "stenograph", "data": {"entry": str()} as data}:
            return facts.from_json(data)
        case {"type": "config"}:
            model, words = line.get("model"), line.get("instructions")
            return Started(
                model=model if isinstance(model, str) else None,
                instructions=words if isinstance(words, str) else None,
            )
        case {"type": "response", "usage": dict(usage)}:
            cost = line.get(COST)
            return Spent(tokens=_tokens(usage), cost=cost if isinstance(cost, int | float) else None)
        case {"type": "custom", "data": {"usage": dict(usage)}}:
            return Spent(tokens=_tokens(usage), kind="custom")
        case {"type": "compaction", "summary": {"content": content}}:
            return Noticed(kind="summary", record=content)
    return Noticed(kind=f"asf/{line.get('type')}", raw=Part(jsonio.dumps(line)))


def _tokens(usage: dict[str, Any]) -> Tokens:
    whole, output = usage.get("input_tokens"), usage.get("output_tokens")
    details = usage.get("input_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    cached = cached if isinstance(cached, int) else None
    return Tokens(
        uncached_input=max(0, whole - (cached or 0)) if isinstance(whole, int) else None,
        cached_input=cached,
        output=output if isinstance(output, int) else None,
    )


def _reply(line: dict[str, Any]) -> Reply | None:
    """The reply of a response's entries; ours say null where none was told."""
    told = line.get(REPLY, line)
    if told is None:
        return None
    if isinstance(told, dict) and told is not line:
        try:
            return msgspec.convert(told, Reply)
        except ValueError:
            pass
    model = line.get("model")
    return Reply(id=line["response_id"], model=model if isinstance(model, str) else None)


def _children(file: File) -> Iterator[tuple[str, str]]:
    """The files of the sessions that this one's subagents had, with their threads."""
    linked = [line.get("session") for line in file.lines if line.get("rel") == "subsession"]
    if not linked:
        return
    folder = os.path.dirname(file.path) or os.curdir
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        found = next(
            (each for each in linked if isinstance(each, str) and name.endswith(f"{each}.jsonl")), None
        )
        header = read_header(path) if found and path != file.path else {}
        if found and header.get("id") == found and is_part(header):
            source = header.get("stenograph:source")
            native = source.get("id") if isinstance(source, dict) else None
            yield _word(native) or found, path


def _requests(file: File) -> Iterator[Request]:
    responses = [at for at, line in enumerate(file.lines) if line.get("type") == "response"]
    for number, at in enumerate(responses):
        usage = file.lines[at].get("usage")
        tokens = _tokens(usage) if isinstance(usage, dict) else Tokens()
        cost = file.lines[at].get(COST)
        yield Request(
            number=number,
            last=at - 1,
            element=at,
            at=_word(file.lines[at].get("ts")) or None,
            totals=_totals([Spent(tokens=tokens, cost=cost if isinstance(cost, int | float) else None)]),
        )


def _sent(file: File, request: Request) -> list[Sent]:
    """The items of a request, by the format's rules; of a linear file the path is all that stands before."""
    name = file.lines[request.element].get("response_id")
    found: list[Sent] = []
    omitted: set[str] = set()
    for line in file.lines[: request.element]:
        match line:
            case {"type": "config", "omit": dict(omit)}:
                names = omit.get("items")
                told = {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()
                omitted = omitted | told if omit else set()
            case {"type": "compaction", "summary": dict(item)}:
                found = [Sent(role=_word(item.get("role")), content=item, index=None)]
                omitted = set()
            case {"type": "item", "item": dict(item)} if line.get("response") != name:
                found.append(Sent(role=_word(item.get("role")), content=line, index=None))
    return [each for each in found if _word(each.content.get("id")) not in omitted]


def _totals(spent: list[Spent]) -> Totals:
    costs = [each.cost for each in spent if each.cost is not None]
    return Totals(
        tokens_in=sum((e.tokens.uncached_input or 0) + (e.tokens.cached_input or 0) for e in spent),
        tokens_out=sum((e.tokens.output or 0) + (e.tokens.reasoning or 0) for e in spent),
        cache_writes=sum(each.cache_writes or 0 for each in spent),
        cache_reads=sum(each.tokens.cached_input or 0 for each in spent),
        cost=sum(costs) if costs else None,
    )


def _took(entry: Ended) -> Spent:
    """What a run took, where its end alone tells it."""
    return Spent(tokens=entry.tokens or Tokens(), cost=entry.cost)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""
