"""Streams as Claude Code 2.1 prints them, made up by a seed: the same bytes on every machine.

`mixed`: text, thinking, calls and results of 0.5 to 20 KB, whose `tool_use_result` repeats them as the
program's does, and some pictures; 4 KB a line on average. `deltas`: the same talk with
`--include-partial-messages`, nearly all of it `stream_event` records of 260 bytes.
"""

from __future__ import annotations

import base64
import json
import random
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

CACHE = Path(__file__).parent / ".cache"
MB = 1_000_000
FOLDER = "/home/dev/app"

Record = dict[str, Any]

_COMMANDS = (  # few are given twice, as in real runs
    "pytest -q tests/{0}/test_{1}.py::test_{2}_{3}",
    "git diff --stat HEAD~{3} -- src/{0}/{1}.py",
    "git status",
    "rg -n 'def {0}_{1}' src/{2}",
    "sed -n '{3},99999p' src/{0}/{1}.py",
    "cat src/{0}/{1}.py | head -n {3}",
    f"cd {FOLDER}/src/{{0}} && make {{1}} 2>&1 | tail -{{3}}",  # relative, each would lie in the one before
    "ls -la src/{0}/{1}",
    "find . -name '{0}_{1}*.py' -not -path './.venv/*'",
    "python - <<'EOF'\nimport {0}\nprint({0}.{1}({3}))\nEOF",
    "for f in src/{0}/*.py; do wc -l $f; done > {1}_{3}.txt",
)

_WORDS = [
    *(
        "the",
        "a",
        "test",
        "file",
        "function",
        "value",
        "returns",
        "error",
        "when",
        "reading",
        "path",
        "config",
    ),
    *("module", "class", "parser", "stream", "line", "event", "buffer", "should", "check", "first", "then"),
    *("because", "output", "result", "change", "call", "update", "import", "handles", "missing", "default"),
]
_RARE = ["naïve", "—", "→", "“so”", "…", "日本語", "✅", "größer"]
_CODE = (
    "def {0}_{1}({2}, *, {3}=None):",
    '    """Give the {0} of a {1}."""',
    "    if {0} is None or {1}[{4}] == '{2}':",
    '        raise ValueError(f"no {0} for {{{1}!r}}")',
    "    {0}.{1}({2}, {3}={4})",
    "    for {0}, {1} in enumerate({2}):",
    "        return {0}[{4}:{1}]",
    "",
)


class Talk:
    """Makes records one after another; all chance comes from one seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.session = self.id()
        self.count = 0
        self._prose = self._make_prose(400_000)
        self._code = self._make_code(600_000)

    def id(self) -> str:
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def number(self, kind: str) -> str:
        self.count += 1
        return f"{kind}_01Bench{self.count:012d}"

    def prose(self, least: int, most: int) -> str:
        return self._slice(self._prose, least, most)

    def code(self, least: int, most: int) -> str:
        return self._slice(self._code, least, most)

    def path(self) -> str:
        return f"{FOLDER}/src/{self.chance.choice(_WORDS)}/{self.chance.choice(_WORDS)}.py"

    def picture(self) -> str:
        return base64.b64encode(self.chance.randbytes(self.chance.randint(15_000, 80_000))).decode()

    def record(self, kind: str, members: Record, *, thread: str | None = None) -> Record:
        when = f"2026-11-30T12:{self.count // 60 % 60:02d}:{self.count % 60:02d}.107Z"
        return {
            "type": kind,
            **members,
            "parent_tool_use_id": thread,
            "session_id": self.session,
            "uuid": self.id(),
            "timestamp": when,
        }

    def _slice(self, text: str, least: int, most: int) -> str:
        length = self.chance.randint(least, most)
        start = self.chance.randrange(len(text) - length)
        return text[start : start + length]

    def _make_prose(self, length: int) -> str:
        words: list[str] = []
        size = 0
        while size < length:
            word = self.chance.choice(_RARE if self.chance.random() < 0.02 else _WORDS)
            words.append(word + ("\n\n" if self.chance.random() < 0.02 else " "))
            size += len(word) + 1
        return "".join(words)

    def _make_code(self, length: int) -> str:
        lines: list[str] = []
        size = 0
        while size < length:
            words = [*self.chance.choices(_WORDS, k=4), str(self.chance.randrange(100))]
            lines.append(self.chance.choice(_CODE).format(*words))
            size += len(lines[-1]) + 1
        return "\n".join(lines)


def mixed(seed: int = 1) -> Iterator[Record]:
    """An endless talk, one record per block and per result."""
    talk = Talk(seed)
    yield _init(talk)
    while True:
        for _ in range(talk.chance.randint(10, 60)):
            yield from _turn(talk)
        yield _result(talk)


def deltas(seed: int = 1) -> Iterator[Record]:
    """An endless talk of partial messages."""
    talk = Talk(seed)
    yield _init(talk)
    while True:
        for _ in range(talk.chance.randint(10, 60)):
            yield from _partial_turn(talk)
        yield _result(talk)


def _init(talk: Talk) -> Record:
    tools = ["Task", "Bash", "Edit", "Read", "Write", "Skill", "WebFetch", "WebSearch", "NotebookEdit"]
    return {
        "type": "system",
        "subtype": "init",
        "cwd": FOLDER,
        "session_id": talk.session,
        "tools": tools,
        "mcp_servers": [],
        "model": "claude-opus-5-5",
        "permissionMode": "bypassPermissions",
        "slash_commands": [f"command-{n}" for n in range(40)],
        "claude_code_version": "2.1.332",
        "uuid": talk.id(),
    }


def _result(talk: Talk) -> Record:
    usage = {"input_tokens": 2400, "cache_read_input_tokens": 90_000, "output_tokens": 1300}
    return {
        "duration_api_ms": 4800,
        "stop_reason": "end_turn",
        "session_id": talk.session,
        "total_cost_usd": 0.1377,
        "usage": usage,
        "permission_denials": [],
        "is_error": False,
        "num_turns": 40,
        "subtype": "success",
        "result": talk.prose(100, 1500),
        "type": "result",
        "duration_ms": 16_800,
        "uuid": talk.id(),
    }


def _turn(talk: Talk) -> Iterator[Record]:
    message = talk.number("msg")
    if talk.chance.random() < 0.3:
        yield _block(talk, message, _thought(talk))
    if talk.chance.random() < 0.4:
        yield _block(talk, message, {"type": "text", "text": talk.prose(60, 1500)})
    if talk.chance.random() < 0.03:
        limits = {"status": "allowed", "resetsAt": 1_796_040_000, "rateLimitType": "five_hour"}
        about = {"uuid": talk.id(), "session_id": talk.session}
        yield {"type": "rate_limit_event", "rate_limit_info": limits, **about}
    for tool in talk.chance.choices(_TOOLS, _WEIGHTS, k=talk.chance.choice((1, 1, 1, 2, 3))):
        call = talk.number("toolu")
        given, content, details = tool(talk)
        name = tool.__name__.strip("_").title()
        yield _block(talk, message, {"type": "tool_use", "id": call, "name": name, "input": given})
        yield _answer(talk, call, content, details)


def _thought(talk: Talk) -> Record:
    signature = base64.b64encode(talk.chance.randbytes(300)).decode()
    return {"type": "thinking", "thinking": talk.prose(200, 3000), "signature": signature}


def _block(talk: Talk, message: str, block: Record) -> Record:
    usage = {
        "input_tokens": 1200,
        "cache_creation_input_tokens": 300,
        "cache_read_input_tokens": 900,
        "output_tokens": 5,
        "service_tier": "standard",
        "cache_creation": {"ephemeral_5m_input_tokens": 300, "ephemeral_1h_input_tokens": 0},
    }
    body = {
        "id": message,
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [block],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
        "context_management": None,
    }
    return talk.record("assistant", {"message": body})


def _answer(talk: Talk, call: str, content: Any, details: Any) -> Record:
    block = {"tool_use_id": call, "type": "tool_result", "content": content}
    record = talk.record("user", {"message": {"role": "user", "content": [block]}})
    decision = {"decision": "accept", "source": "config", "reason_type": "mode"}
    meta = [{"id": call, "permission_decision": decision}]
    return {**record, "tool_use_result": details, "tool_result_meta": meta}


def _read(talk: Talk) -> tuple[Record, Any, Any]:
    path, text = talk.path(), talk.code(300, 6000)
    lines = text.split("\n")
    numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, 1))
    file = {
        "filePath": path,
        "content": text,
        "numLines": len(lines),
        "startLine": 1,
        "totalLines": len(lines),
    }
    return {"file_path": path}, numbered, {"type": "text", "file": file}


def _bash(talk: Talk) -> tuple[Record, Any, Any]:
    words = talk.chance.choices(_WORDS, k=3)
    command = talk.chance.choice(_COMMANDS).format(*words, talk.chance.randrange(1, 900))
    output = talk.code(30, 4500)
    details = {
        "stdout": output,
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
    }
    return {"command": command, "description": talk.prose(20, 60)}, output, details


def _edit(talk: Talk) -> tuple[Record, Any, Any]:
    path, old, new = talk.path(), talk.code(60, 1200), talk.code(60, 1500)
    lines = [f"-{line}" for line in old.split("\n")] + [f"+{line}" for line in new.split("\n")]
    patch = [{"oldStart": 10, "oldLines": 20, "newStart": 10, "newLines": 24, "lines": lines}]
    details = {
        "filePath": path,
        "oldString": old,
        "newString": new,
        "originalFile": talk.code(500, 6000),
        "structuredPatch": patch,
        "userModified": False,
        "replaceAll": False,
    }
    given = {"replace_all": False, "file_path": path, "old_string": old, "new_string": new}
    return given, f"The file {path} has been updated successfully.", details


def _write(talk: Talk) -> tuple[Record, Any, Any]:
    path, text = talk.path(), talk.code(500, 7000)
    details = {
        "type": "create",
        "filePath": path,
        "content": text,
        "structuredPatch": [],
        "originalFile": None,
        "userModified": False,
    }
    return {"file_path": path, "content": text}, f"File created successfully at: {path}", details


def _picture(talk: Talk) -> tuple[Record, Any, Any]:
    data = talk.picture()
    source = {"type": "base64", "data": data, "media_type": "image/png"}
    file = {"base64": data, "type": "image/png", "originalSize": len(data) * 3 // 4}
    return {"file_path": talk.path()}, [{"type": "image", "source": source}], {"type": "image", "file": file}


_picture.__name__ = "_read"
_TOOLS = (_read, _bash, _edit, _write, _picture)
_WEIGHTS = (34, 40, 18, 7, 1)


def _partial_turn(talk: Talk) -> Iterator[Record]:
    message = talk.number("msg")
    command = "pytest -q tests/" + talk.chance.choice(_WORDS)
    call = {"type": "tool_use", "id": talk.number("toolu"), "name": "Bash", "input": {"command": command}}
    blocks = (_thought(talk), {"type": "text", "text": talk.prose(100, 1500)})
    begun = {"id": message, "role": "assistant", "content": []}
    yield _event(talk, {"type": "message_start", "message": begun})
    for index, block in enumerate(blocks):
        kind = block["type"]
        empty = {"type": kind, kind: ""}
        yield _event(talk, {"type": "content_block_start", "index": index, "content_block": empty})
        yield from _pieces(talk, index, {"type": f"{kind}_delta"}, kind, block[kind])
        yield _block(talk, message, block)
        yield _event(talk, {"type": "content_block_stop", "index": index})
    yield _event(talk, {"type": "content_block_start", "index": 2, "content_block": {**call, "input": {}}})
    yield from _pieces(talk, 2, {"type": "input_json_delta"}, "partial_json", json.dumps(call["input"]))
    yield _block(talk, message, call)
    yield _event(talk, {"type": "content_block_stop", "index": 2})
    yield _event(talk, {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}})
    yield _event(talk, {"type": "message_stop"})
    output = talk.code(30, 600)
    yield _answer(talk, call["id"], output, {"stdout": output, "stderr": "", "interrupted": False})


def _pieces(talk: Talk, index: int, delta: Record, member: str, text: str) -> Iterator[Record]:
    for at in range(0, len(text), 24):
        piece = {**delta, member: text[at : at + 24]}
        yield _event(talk, {"type": "content_block_delta", "index": index, "delta": piece})


def _event(talk: Talk, event: Record) -> Record:
    return {
        "type": "stream_event",
        "event": event,
        "session_id": talk.session,
        "parent_tool_use_id": None,
        "uuid": talk.id(),
    }


def line(record: Record) -> bytes:
    """A record as the program prints it."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def cached(records: Callable[[], Iterator[Record]], *, mb: float) -> Path:
    """A file of that many megabytes of whole lines, made on the first call."""
    path = CACHE / f"{records.__name__}-{mb:g}.jsonl"
    if path.exists():
        return path
    CACHE.mkdir(exist_ok=True)
    part = path.with_suffix(".part")
    left = mb * MB
    with part.open("wb") as file:
        for record in records():
            left -= file.write(line(record))
            if left <= 0:
                break
    part.rename(path)
    return path


def long_line(*, mb: float) -> Path:
    """One stream whose third line, a picture that was read, is that many megabytes long."""
    path = CACHE / f"long-{mb:g}.jsonl"
    if path.exists():
        return path
    CACHE.mkdir(exist_ok=True)
    talk = Talk(1)
    source = {"type": "base64", "data": "QUJD" * int(mb * MB / 4), "media_type": "image/png"}
    call = talk.number("toolu")
    use = {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": talk.path()}}
    records = [
        _init(talk),
        _block(talk, talk.number("msg"), use),
        _answer(talk, call, [{"type": "image", "source": source}], None),
    ]
    path.write_bytes(b"".join(map(line, records)))
    return path


if __name__ == "__main__":
    for make in (mixed, deltas):
        made = cached(make, mb=200)
        print(f"{made}: {made.stat().st_size:,} bytes")
