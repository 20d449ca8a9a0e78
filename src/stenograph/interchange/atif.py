"""Writes ATIF 1.8: one document for each run, subagents' trajectories inside it.

A document is written as it is read: each step goes out when the next one begins, so a stream of any length
takes the memory of one step. Members that follow from the whole (agent, metrics, subagents) stand behind the
steps.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

from stenograph import jsonio
from stenograph.interchange import facts, leftovers
from stenograph.interchange.answers import Answers
from stenograph.interchange.asf_log import normalised, without_surrogates
from stenograph.interchange.atif_step import Step, Sums
from stenograph.interchange.codes import Notes
from stenograph.interchange.run import About, Callers, Place, by_thread, child_id
from stenograph.model import Entry, Noticed, Prompted, Said, Spent, Started, Thought, ToolCalled, ToolReturned

VERSION = "ATIF-v1.8"
_MOST_FACTS = 200  # facts that one step takes along
_SPOOLED = 1 << 20
_CHUNK = 1 << 18


class AtifWriter:
    """Writes one session and, inside it, those of its subagents."""

    def __init__(self, about: About, notes: Notes, place: Place) -> None:
        self._notes = notes
        self._place = place
        self._file = place.place(about)
        self._calls = Callers()
        self._spawned: dict[str, int] = {}
        self._main = Trajectory(about, about.id, notes, self._file.write)
        self._threads: dict[str | None, Trajectory] = {None: self._main}
        self._file.write(b"{%s," % _head(about, about.id))

    def take(self, group: Sequence[Entry]) -> None:
        """The entries of one record, each to its thread's trajectory."""
        for thread, part in by_thread(group):
            self._of(thread, part[0]).take(part)
            self._calls.follow(part, thread)

    def close(self) -> None:
        """Finish the document and put it into place."""
        for each in self._threads.values():
            each.close()
        for data in self._main.tail():
            self._file.write(data)
        self._file.write(b"}\n")
        self._file.commit()
        self._place.keep(self._file)

    def discard(self) -> None:
        """Take everything away."""
        self._file.discard()
        for each in self._threads.values():
            each.discard()

    def _of(self, thread: str | None, entry: Entry) -> Trajectory:
        known = self._threads.get(thread)
        if known or thread is None:
            return known or self._main
        call, above, is_told = self._calls.of(thread)
        if not is_told:
            self._notes.add("spawn-inferred", entry, f"{thread} by {call}")
        parent = self._threads[above]
        number = self._spawned[call] = self._spawned.get(call, -1) + 1
        self._notes.add("thread-apart", entry, thread)
        name = child_id(parent.name, call, number)
        spool = tempfile.SpooledTemporaryFile(_SPOOLED)  # noqa: SIM115 - closed by discard
        made = Trajectory(parent.about, name, self._notes, spool.write, thread=thread, spool=spool)
        self._threads[thread] = made
        parent.spawned(call, made)
        return made


class Trajectory:
    """The steps of one thread, written one by one; the rest of its document is made at the end."""

    def __init__(
        self,
        about: About,
        name: str,
        notes: Notes,
        write: Callable[[bytes], object],
        *,
        thread: str | None = None,
        spool: IO[bytes] | None = None,
    ) -> None:
        self.about = about
        self.name = name
        self.thread = thread
        self._notes = notes
        self._write = write
        self._spool = spool
        self._steps = 0
        self._open: Step | None = None
        self._facts = Step("system", None)  # what waits for the next step
        self._answers = Answers()
        self._sums = Sums()
        self._children: list[Trajectory] = []
        self._model = about.model or None
        self._version = about.version
        self._made = 0

    def take(self, group: Sequence[Entry]) -> None:
        """The entries of one record."""
        record = leftovers.record_of(group)
        told: list[dict[str, Any]] = []
        for entries, text in leftovers.blocks(group, record):
            said = facts.said_of(entries)
            whole = text if len(entries) == 1 and isinstance(entries[0], Prompted | Said) else None
            told += [each | {"text": whole} if whole is not None else each for each in said]
            if whole is None and text is not None and not isinstance(entries[0], Thought):
                self._notes.add("call-in-text", entries[0], text[:60])
            for entry, each in zip(entries, said):
                self._sums.take(entry)
                self._one(entry, each, whole)
        rest = None if record is None else leftovers.beside(record, group, told)
        if rest is not None:
            self._notes.add("record-beside", group[0], leftovers.named(rest))
            (self._open or self._facts).records.append(rest)

    def spawned(self, call: str, child: Trajectory) -> None:
        """A call of this thread started another one."""
        self._children.append(child)
        if self._open and self._open.refer(call, child.name):
            return
        self._facts.results.append({"subagent_trajectory_ref": [{"trajectory_id": child.name}]})

    def close(self) -> None:
        """Write the steps that are not written yet."""
        self._flush()
        if self._facts.kept or self._facts.results:
            self._emit(self._facts)

    def discard(self) -> None:
        """Take the spooled steps away."""
        if self._spool:
            self._spool.close()

    def tail(self) -> Iterator[bytes]:
        """What stands behind the steps: agent, metrics, subagents."""
        yield b"]," if self._steps else b'"steps":[],'
        version = self._version or "unknown"
        if not self._version:
            self._notes.add("version-unknown", None, self.about.agent)
        agent: dict[str, Any] = {"name": self.about.agent, "version": version}
        if self._model:
            agent["model_name"] = self._model
        source = {"agent": self.about.agent, "format": self.about.format, "id": self.about.native}
        more = {"variant": self.about.variant, "cwd": self.about.cwd, "title": self.about.title}
        more |= {"version": self._version, "thread": self.thread or "", "parent": self.about.parent}
        source |= {name: value for name, value in more.items() if value}
        members = {
            "agent": agent,
            "final_metrics": self._sums.to_json(self._steps),
            "extra": {"stenograph": source},
        }
        yield _dumped(members)[0][1:-1]
        if self._children:
            yield b',"subagent_trajectories":['
            for number, child in enumerate(self._children):
                yield b"," if number else b""
                yield from child.document()
            yield b"]"

    def document(self) -> Iterator[bytes]:
        """A subagent's whole document."""
        yield b"{%s," % _head(self.about, self.name)
        if self._spool:
            self._spool.seek(0)
            while part := self._spool.read(_CHUNK):
                yield part
        yield from self.tail()
        yield b"}"

    def _one(self, entry: Entry, said: dict[str, Any], whole: str | None) -> None:
        turn = self._answers.take(entry)
        match entry:
            case Prompted():
                self._flush()
                self._step("system" if entry.synthetic else "user", entry).text(entry, said, whole)
            case Noticed(kind="block/image"):
                step = self._open
                if step is None or step.source != "user":
                    step = self._step("user", entry)
                step.picture(entry, said, self._notes)
            case Said() | Thought() | ToolCalled():
                self._told(entry, said, whole, turn.own)
            case ToolReturned():
                self._result(entry, said)
            case Started(instructions=str(words)):
                self._begun(entry)
                self._step("system", entry).instructions(words, said)
            case _:
                self._fact(entry, said)

    def _begun(self, entry: Started) -> None:
        self._model = self._model or entry.model
        self._version = self._version or entry.version or ""

    def _told(
        self, entry: Said | Thought | ToolCalled, said: dict[str, Any], whole: str | None, answer: Any
    ) -> None:
        """What came out of a call of the model."""
        step = self._open
        if (
            step is None
            or step.source != "agent"
            or not (step.answer is answer or (answer and answer.is_more))
        ):
            step = self._step("agent", entry, answer)
        if answer and answer.tokens and answer.tokens.output is None and answer.first is entry:
            self._notes.add("usage-partial", entry, answer.reply.id or "" if answer.reply else "")
        if not isinstance(entry, ToolCalled):
            step.text(entry, said, whole)
            return
        self._made += 1
        name = entry.id or f"call-{self._made}"
        if not entry.id:
            self._notes.add("call-id-made", entry, name)
        if entry.input is not None and not isinstance(entry.input, dict):
            self._notes.add("fact-beside", entry, "input that is no object")
        step.call(entry, said, name)

    def _result(self, entry: ToolReturned, said: dict[str, Any]) -> None:
        step = self._open
        if step is None or not step.holds(entry.id):
            self._notes.add("late-result", entry, entry.id or "")
            step = self._step("system", entry)
        step.result(entry, said, self._notes)

    def _fact(self, entry: Entry, said: dict[str, Any]) -> None:
        """What has no form in a step goes along with the one that is open, or the next."""
        if isinstance(entry, Started):
            self._begun(entry)
        if not isinstance(entry, Spent):
            self._notes.add("fact-beside", entry, f"{said['entry']} {said.get('kind', '')}".strip())
        if isinstance(entry, Noticed) and entry.kind == "context_edit":
            self._notes.add("context-edit", entry, str(entry.record)[:100])
        step = self._open or self._facts
        step.kept.append(said)
        if len(step.kept) < _MOST_FACTS:
            return
        if self._open:
            self._flush()
        else:
            self._emit(self._facts)
            self._facts = Step("system", None)

    def _step(self, source: str, entry: Entry, answer: Any = None) -> Step:
        """Begin a step; it takes along what waited for it."""
        self._flush()
        if self._facts.results:
            self._emit(self._facts)
            self._facts = Step("system", None)
        step = Step(source, entry, answer)
        step.kept, step.records = self._facts.kept, self._facts.records
        self._facts = Step("system", None)
        self._open = step
        return step

    def _flush(self) -> None:
        if self._open:
            self._emit(self._open)
            self._open = None

    def _emit(self, step: Step) -> None:
        self._write(b"," if self._steps else b'"steps":[')
        self._steps += 1
        data, changed = _dumped(step.to_json(self._steps, self._model))
        if changed is not None:
            self._notes.add("normalised", None, changed)
        self._write(data)


def _head(about: About, name: str) -> bytes:
    members = {"schema_version": VERSION, "session_id": about.id, "trajectory_id": name}
    return jsonio.dumps(members)[1:-1]


def _dumped(value: dict[str, Any]) -> tuple[bytes, str | None]:
    """JSON without lone surrogates, and where one was changed."""
    try:
        return jsonio.dumps_fast(value), None
    except (UnicodeEncodeError, RecursionError):
        data = jsonio.dumps(value)
    if b"\\ud" not in data:
        return data, None
    try:
        found, changed = without_surrogates(value)
    except RecursionError:
        found, changes = normalised(value)
        changed = changes[0]["at"]
    return jsonio.dumps(found), changed
