"""What is in a task directory: the session, its live entries, its faults."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from stenograph import jsonio
from stenograph.agents.cline import summary
from stenograph.agents.cline.drift import check_task
from stenograph.agents.cline.folders import FILE_METADATA, FILE_SETTINGS
from stenograph.agents.cline.requests import requests
from stenograph.agents.cline.stream import ClineStream
from stenograph.agents.cline.taskdir import Task, read_task
from stenograph.agents.cline.timeline import place_of, timeline, workspace
from stenograph.document import Array
from stenograph.errors import Place
from stenograph.model import Entry, Noticed, Part, Request, Sent, Session, Started, Unread, Where
from stenograph.notes import Kind, Report


def load(path: str, sent: Callable[[Task, Request], list[Sent]]) -> Session:
    """The task as one timeline; `sent` tells what a request held, by its agent's rules."""
    task = read_task(path).require()
    report = Report()
    note_faults(task, report)
    entries = list(timeline(task))  # first, for it decodes what the others look at
    return Session(
        summary=summary.of_loaded(task, task.ui.elements),
        entries=entries,
        requests=requests(task),
        report=report,
        source=task,
        sent=lambda request: sent(task, request),
        rest=list(_rest(task)),
    )


def live(path: str) -> Iterator[Entry]:
    """What the command line of that time printed: the UI messages; without any, the API history.

    Raises ReadError behind what there is when the UI messages could not be loaded.
    """
    task = read_task(path).require()
    if task.ui.elements:
        yield Started(session_id=task.id, cwd=workspace(task) or None)
        yield from _shown(task)
        return
    yield from timeline(task)
    for fault in task.unloaded():
        raise fault


def check(path: str) -> tuple[int, Report]:
    """Faults of files and elements; kinds, members and tools that are new."""
    task = read_task(path)
    report = Report()
    note_faults(task, report)
    check_task(task, report)
    return task.units, report


def _rest(task: Task) -> Iterator[Entry]:
    """What is no part of the timeline: other files that were read, what damage left unread, subtasks."""
    known: tuple[Array[Any], ...] = (task.api, task.ui, task.context)
    for name, data in task.files.items():
        if name not in [array.name for array in known]:
            yield _file(name, data)
    if task.history and os.path.basename(task.history_file) not in task.files:
        yield _file(task.history_file, task.history.raw)
    yield from (
        Noticed(kind=f"file/{name}", record="not read", place=Where(file=name)) for name in task.others
    )
    for array in known:
        if array.error:
            data = task.files.get(array.name, b"")
            tail = data[array.spans[-1][1] if array.spans else 0 :].decode("utf-8", "replace")
            record = {"error": array.error, "text": tail}
            yield Noticed(kind=f"fault/{array.name}", record=record, place=Where(file=array.name))
    for child in task.history.child_ids if task.history else ():
        yield Noticed(kind="child", record={"id": child}, place=Where(file=task.history_file))


def _file(name: str, data: bytes) -> Entry:
    """A whole file: its JSON, or its text where it is none."""
    part = Part(data.removeprefix(b"\xef\xbb\xbf"))
    try:
        jsonio.check(part.data)
    except ValueError:
        part = Part(jsonio.dumps(data.decode("utf-8", "replace")))
    return Noticed(kind=f"file/{name}", raw=part, place=Where(file=name))


def note_faults(task: Task, report: Report) -> None:
    """Note each file of a task that is damaged, and each element that is no object."""
    arrays: tuple[Array[Any], ...] = (task.api, task.ui, task.context)
    for array in arrays:
        if array.error:
            report.add(Kind.DAMAGED, "damaged-file", _at(task, array.name), array.error)
        for number, element in enumerate(array.elements):
            if element.error:
                where = Place(os.path.join(task.dir, array.name), array.spans[number][0], number + 1)
                report.add(Kind.UNREAD, "odd-element", where, f"{element.error}: {element.raw[:80]!r}")
    for name, error in (
        (FILE_METADATA, task.metadata_error),
        (FILE_SETTINGS, task.settings_error),
    ):
        if error:
            report.add(Kind.DAMAGED, "damaged-file", _at(task, name), error)
    if task.history_error:
        report.add(Kind.DAMAGED, "damaged-file", Place(task.history_path), task.history_error)


def _at(task: Task, name: str) -> Place:
    return Place(os.path.join(task.dir, name))


def _shown(task: Task) -> Iterator[Entry]:
    """The UI messages, read as the records that the command line prints."""
    reader = ClineStream()
    places = []
    for at, message in enumerate(task.ui.elements):
        places.append(place_of(task.ui, at, message))
        if message.error:
            yield Unread(raw=msgspec.Raw(message.raw), place=places[-1])
        for entry in reader.feed(jsonio.compact(message.raw if not message.error else b"") + b"\n"):
            entry.place = places[entry.place.line - 1]
            yield entry
    for entry in reader.flush():
        entry.place = places[entry.place.line - 1]
        yield entry
