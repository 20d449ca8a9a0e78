"""The formats by name. An agent's bare name means its live stream; modules are imported on first use."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any, NamedTuple

from stenograph.errors import UnknownFormat
from stenograph.reader import Reader
from stenograph.store import Store

STREAMS = {
    "claude-stream": "stenograph.agents.claude.stream:ClaudeStream",
    "cline-stream": "stenograph.agents.cline.stream:ClineStream",
    "cline-runtime": "stenograph.agents.cline.sdk:RuntimeReader",
    "cline-agent": "stenograph.agents.cline.sdk:AgentReader",
    "cline-core": "stenograph.agents.cline.sdk:CoreReader",
    "cline-hub": "stenograph.agents.cline.sdk:HubReader",
    "codex-exec": "stenograph.agents.codex.stream:CodexExec",
    "opencode-stream": "stenograph.agents.opencode:OpenCodeStream",
    "kilo-stream": "stenograph.agents.opencode:KiloStream",
    "pi-stream": "stenograph.agents.pi:PiStream",
    "gemini-stream": "stenograph.agents.gemini:GeminiStream",
    "qwen-stream": "stenograph.agents.qwen:QwenStream",
    "goose-stream": "stenograph.agents.goose:GooseStream",
    "generic": "stenograph.agents.generic:GenericStream",
}
"""Live streams: format name to the reader that takes its records."""

STORES = {
    "cline-session": "stenograph.agents.cline.sessionstore:SessionStore",
    "cline-task": "stenograph.agents.cline.taskstore:TaskStore",
    "roo-task": "stenograph.agents.roo:RooStore",
    "asf": "stenograph.interchange.asf_read:AsfStore",
    "atif": "stenograph.interchange.atif_read:AtifStore",
}
"""Stored sessions: format name to the store that finds and reads them."""

INTERCHANGE = {"asf": ".jsonl", "atif": ".json"}
"""Formats that hold sessions of any agent, and what the names of their files end with."""

ALIASES = {name.split("-")[0]: name for name in reversed([*STREAMS, *STORES]) if "-" in name}
"""An agent's bare name is the first of its formats."""


class Format(NamedTuple):
    """One known format: its name, the agent, and the command that prints it or the place it is stored in."""

    name: str
    agent: str
    command: str
    about: str
    place: str = ""

    @property
    def source(self) -> str:
        """Where it comes from: the command, or the place."""
        return self.command or self.place


def formats() -> list[Format]:
    """All known formats, in the order of the tables: live streams, then stored sessions."""
    return [*map(_describe, STREAMS), *map(_describe_stored, STORES)]


def stream(name: str) -> type[Reader]:
    """The reader of a live stream by format or agent name; raises UnknownFormat."""
    full = canonical(name)
    if full in STORES:
        raise UnknownFormat(name, STREAMS, instead="is a format of stored sessions: give the path of one")
    reader: type[Reader] = _load(STREAMS[full])
    return reader


@cache
def store(name: str) -> Store:
    """The store of a format of stored sessions; raises UnknownFormat."""
    if name not in STORES:
        raise UnknownFormat(name, STORES)
    made: Store = _load(STORES[name])()
    return made


def canonical(name: str) -> str:
    """The format's full name for an agent's or a format's name; raises UnknownFormat."""
    full = ALIASES.get(name, name)
    if full not in STREAMS and full not in STORES:
        raise UnknownFormat(name, [*STREAMS, *STORES, *ALIASES])
    return full


def _load(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _describe(name: str) -> Format:
    reader = stream(name)
    return Format(name, reader.agent, reader.command, _first_line(reader))


def _describe_stored(name: str) -> Format:
    kind = store(name)
    return Format(name, kind.agent, "", _first_line(type(kind)), kind.place)


def _first_line(kind: type) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0]
