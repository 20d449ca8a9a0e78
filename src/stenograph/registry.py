"""The formats by name. An agent's bare name means its live stream; modules are imported on first use."""

from __future__ import annotations

import importlib
from typing import NamedTuple

from stenograph.errors import UnknownFormat
from stenograph.reader import Reader

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

ALIASES = {name.split("-")[0]: name for name in reversed(STREAMS) if "-" in name}
"""An agent's bare name is the first of its formats."""


class Format(NamedTuple):
    """One known format: its name, the agent, and the command that prints it."""

    name: str
    agent: str
    command: str
    about: str


def formats() -> list[Format]:
    """All known formats, in the order of the table."""
    return [_describe(name) for name in STREAMS]


def stream(name: str) -> type[Reader]:
    """The reader of a live stream by format or agent name; raises UnknownFormat."""
    target = STREAMS.get(ALIASES.get(name, name))
    if target is None:
        raise UnknownFormat(name, [*STREAMS, *ALIASES])
    module, attribute = target.split(":")
    reader: type[Reader] = getattr(importlib.import_module(module), attribute)
    return reader


def canonical(name: str) -> str:
    """The format's full name for an agent's or a format's name; raises UnknownFormat."""
    full = ALIASES.get(name, name)
    if full not in STREAMS:
        raise UnknownFormat(name, [*STREAMS, *ALIASES])
    return full


def _describe(name: str) -> Format:
    reader = stream(name)
    about = (reader.__doc__ or "").strip().splitlines()[0]
    return Format(name, reader.agent, reader.command, about)
