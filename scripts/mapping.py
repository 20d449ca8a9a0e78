"""What the interchange formats make of each kind of entry, found out by writing one of each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from stenograph.event import Tokens
from stenograph.interchange.asf import AsfWriter
from stenograph.interchange.atif import AtifWriter
from stenograph.interchange.codes import Notes
from stenograph.interchange.run import About
from stenograph.interchange.sink import Discarded, OutFile
from stenograph.model import (
    Ended,
    Entry,
    Failed,
    Noticed,
    Part,
    Prompted,
    Said,
    Spent,
    Started,
    Thought,
    ToolCalled,
    ToolReturned,
    Unread,
    Warned,
    Where,
)
from stenograph.notes import Report

_PNG = b'{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}'
_HERE = Where(file="api.json", line=1)
_CALL = ToolCalled(id="c1", tool="read", input={"path": "a"})
_TOKENS = Tokens(uncached_input=10, cached_input=5, output=3)

SAMPLES: dict[str, list[Entry]] = {
    "the model and the system prompt": [Started(model="m", instructions="Be brief.")],
    "a prompt": [Prompted(text="Hi.")],
    "context that the harness puts in": [Prompted(text="Hi.", synthetic=True)],
    "a picture": [Noticed(kind="block/image", raw=Part(_PNG))],
    "prose": [Said(text="Well.")],
    "thinking, with its signature": [Thought(text="Hm.", signature="x")],
    "redacted thinking": [Thought(text="", redacted="x")],
    "a call": [_CALL],
    "its result": [_CALL, ToolReturned(id="c1", ok=True, output="done")],
    "a structured result": [_CALL, ToolReturned(id="c1", ok=True, output={"lines": 3})],
    "the usage and cost of a call of the model": [Said(text="Well."), Spent(tokens=_TOKENS, cost=0.1)],
    "a paid call without an answer": [Said(text="Well."), Spent(tokens=_TOKENS, kind="deleted_api_reqs")],
    "messages left out of later requests": [
        Prompted(text="Hi.", place=_HERE),
        Noticed(kind="left_out", record={"file": "api.json", "messages": [0]}),
    ],
    "an edit of what later requests send": [Noticed(kind="context_edit", record={"text": "x"})],
    "a summary in place of what was": [Prompted(text="Hi."), Noticed(kind="summary", record="So far.")],
    "a saved state of the files": [Noticed(kind="say/checkpoint_created", tree="4f1c")],
    "a session that this one started": [Noticed(kind="child", record={"id": "1"})],
    "a subagent's words": [_CALL, Said(text="Well.", thread="c1")],
    "a warning": [Warned(message="slow")],
    "a fault": [Failed(message="broken")],
    "the end of a run": [Said(text="Well."), Ended(ok=True)],
    "housekeeping": [Noticed(kind="system/status", record={"a": 1})],
    "a record that was not understood": [Unread(raw=Part(b'{"a":1}').raw())],
}
"""By what it is: entries of which the last is the one that is meant."""


_ALWAYS = ("`config`", "`response`", "`custom` with `ns`")
"""Lines that are there anyhow: the first settings, the end of a call, entries left at the end."""


class _Memory(Discarded):
    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        """Keep it."""
        self.data += data


class _Place:
    def __init__(self) -> None:
        self.files: list[_Memory] = []

    def place(self, _: About) -> OutFile:
        """A file that nobody sees."""
        self.files.append(_Memory())
        return self.files[-1]

    def keep(self, file: OutFile) -> None:
        """There is nothing to keep."""


def table(to: str) -> str:
    """The kinds of entries and what becomes of each, as a Markdown table."""
    found = {"asf": _asf, "atif": _atif}[to]
    rows = (f"| {name} | {'; '.join(found(sample))} |\n" for name, sample in SAMPLES.items())
    return "".join([f"| an entry | in {to.upper()} |\n| --- | --- |\n", *rows])


def _written(to: str, entries: Sequence[Entry]) -> list[_Memory]:
    place = _Place()
    about = About(id="s", native="s", agent="cline", format="cline-task", version="1")
    writer = (AsfWriter if to == "asf" else AtifWriter)(about, Notes(Report()), place)
    for entry in entries:
        writer.take([entry])
    writer.close()
    writer.discard()
    return place.files


def _asf(entries: list[Entry]) -> list[str]:
    """The lines that the last entry adds, and what a response says more."""
    before = [line for file in _written("asf", entries[:-1]) for line in _lines(file.data)]
    after = [(line, n) for n, file in enumerate(_written("asf", entries)) for line in _lines(file.data)]
    known = {*before, *_ALWAYS}
    return list(
        dict.fromkeys(
            f"{line}{' in a file of its own' if n else ''}" for line, n in after if line not in known
        )
    )


def _lines(data: bytes) -> Iterator[str]:
    for line in map(json.loads, data.splitlines()[1:]):
        body = [name for name in line if name not in ("type", "id", "parent", "ts") and line[name]]
        item = line.get("item", {})
        match line:
            case {"type": "item"}:
                words = [f"`{item['type']}`", *([f"of the {item['role']}"] if "role" in item else [])]
                marks = [f"`{part['type']}`" for part in item.get("content") or () if "image" in part["type"]]
                marks += ["`visible: false`"] if line.get("visible") is False else []
                marks += [f"`{name}`" for name in ("encrypted_content",) if name in item]
                yield " ".join(words) + (f", {', '.join(marks)}" if marks else "")
            case {"type": "custom", "data": {"entry": _}}:
                yield "`custom`"
            case {"type": "custom", "data": data}:
                told = [f"`{name}`" for name in data if name != "about"]
                yield f"`custom` with {', '.join(told) or 'a mark'}"
            case {"type": kind}:
                told = [f"`{name}`" for name in body if name not in ("stenograph:entries", "response_id")]
                yield f"`{kind}`" + (f" with {', '.join(told)}" if told else "")


def _atif(entries: list[Entry]) -> list[str]:
    """The members that the last entry adds."""
    before, after = (_members(_written("atif", part)[0].data) for part in (entries[:-1], entries))
    new = [each for each in after if each not in before]
    return new or ["kept in `extra.stenograph.entries` of a step"]


def _members(data: bytes) -> list[str]:
    document: dict[str, Any] = json.loads(data)
    found = [f"`agent.{name}`" for name in document["agent"] if name == "model_name"]
    for step in document["steps"]:
        names = [name for name, value in step.items() if value and name not in ("step_id", "source", "extra")]
        names = [name for name in names if name != "llm_call_count"]
        of = f"a step of the {step['source']}"
        found += [f"{_shown(name, step[name])} of {of}" for name in names]
    found += [f"`{name}`" for name in ("subagent_trajectories",) if name in document]
    totals = [name for name in document["final_metrics"] if name != "total_steps"]
    return list(dict.fromkeys(found + (["`final_metrics`"] if totals else [])))


def _shown(name: str, value: Any) -> str:
    if name == "message" and isinstance(value, list):
        kinds = [part["type"] for part in value]
        return f"`message` with {', '.join(f'`{kind}`' for kind in kinds)}"
    return f"`{name}`"
