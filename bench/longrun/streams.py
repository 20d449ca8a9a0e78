"""The long runs by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import generate

from longrun import cline, codex, gemini, goose, opencode, pi, qwen


class Stream(NamedTuple):
    """A long run: its name, the format that reads it, and what makes its records."""

    name: str
    format: str
    records: Callable[[], Iterator[generate.Record]]


STREAMS = (
    Stream("codex-exec", "codex-exec", codex.codex),
    Stream("opencode-stream", "opencode-stream", opencode.opencode),
    Stream("kilo-stream", "kilo-stream", opencode.kilo),
    Stream("pi-stream", "pi-stream", pi.pi),
    Stream("gemini-stream", "gemini-stream", gemini.gemini),
    Stream("qwen-stream", "qwen-stream", qwen.qwen),
    Stream("qwen-stream, partial", "qwen-stream", qwen.qwen_deltas),
    Stream("goose-stream", "goose-stream", goose.goose),
    Stream("cline-stream", "cline-stream", cline.cline),
    Stream("generic", "generic", generate.mixed),
)
