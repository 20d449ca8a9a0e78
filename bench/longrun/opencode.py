"""`opencode run --format json` and `kilo run --format json`.

Shapes of tests/data/opencode `bash`, `read`, `reasoning`, `message` and of tests/data/kilo `bash`,
`parallel`, `reasoning`. No recording has an edit or a write; theirs are made after the metadata that the
programs' public descriptions name (`diff` and `filediff`, `filepath` and `exists`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from generate import Record

from longrun.talk import Deed, Run, Step, numbered, short


def opencode(seed: int = 1) -> Iterator[Record]:
    """OpenCode: steps without end."""
    return _Program(Run(seed), is_kilo=False).records()


def kilo(seed: int = 1) -> Iterator[Record]:
    """Kilo: the same with metrics at each step's end and the approval of each call."""
    return _Program(Run(seed), is_kilo=True).records()


class _Program:
    """One of the two programs, at work."""

    def __init__(self, run: Run, *, is_kilo: bool) -> None:
        self._run = run
        self._is_kilo = is_kilo
        self._ids = {"sessionID": f"ses_{run.session[:26]}", "messageID": ""}

    def records(self) -> Iterator[Record]:
        while True:
            for step in self._run.steps():
                self._ids["messageID"] = f"msg_{self._run.id()[:26]}"
                yield from self._step(step)

    def _step(self, step: Step) -> Iterator[Record]:
        run = self._run
        yield self._record("step_start", {"type": "step-start", "snapshot": _SNAPSHOT})
        if step.thought:
            yield self._record("reasoning", {"type": "reasoning", "text": step.thought, "time": _time(run)})
        if step.text:
            yield self._record("text", {"type": "text", "text": step.text, "time": _time(run)})
        for deed in step.deeds:
            yield self._record("tool_use", self._call(deed))
        yield self._record("step_finish", self._finish("tool-calls" if step.deeds else "stop"))

    def _record(self, kind: str, own: Record) -> Record:
        when = self._run.ms()
        return {"type": kind, "timestamp": when, "sessionID": self._ids["sessionID"], "part": self._part(own)}

    def _part(self, own: Record) -> Record:
        ids = {"id": f"prt_{self._run.id()[:26]}", **self._ids}
        if self._is_kilo:
            return {**ids, **own}
        part = {**own, **ids}
        return {name: part[name] for name in _ORDER.get(own["type"], part)}

    def _finish(self, reason: str) -> Record:
        own = {"type": "step-finish", "reason": reason, "snapshot": _SNAPSHOT}
        if not self._is_kilo:
            return {**own, "tokens": {**_TOKENS, "cache": {"write": 0, "read": 1000}}, "cost": 0.00074}
        metrics = {"generation": 153.45, "source": "computed"}
        taken = {"cost": 0.00074, "tokens": {**_TOKENS, "cache": {"read": 1000, "write": 0}}}
        return {**own, "metrics": metrics, "time": {**_time(self._run), "elapsed": 96}, **taken}

    def _call(self, deed: Deed) -> Record:
        tool, given, output, details, title = _TOOLS[deed.kind](self._run, deed)
        name = {"tool": tool, "callID": self._run.number("call")}
        state = {"status": "completed", "input": given, "output": output, "metadata": details, "title": title}
        if self._is_kilo:
            name = dict(reversed(name.items()))
            state |= _as_kilo(given, state.pop("metadata"), state.pop("title"))
        return {"type": "tool", **name, "state": {**state, "time": _time(self._run)}}


def _as_kilo(given: Record, details: Record, title: str) -> Record:
    """Kilo describes a command, also in its metadata, and tells who approved a call."""
    if "command" in given:
        title = given["description"]
        details = {
            "output": details["output"],
            "exit": details["exit"],
            "description": title,
            "truncated": False,
        }
    approval = {"source": "global", "rule": _RULE}
    return {"title": title, "metadata": {**details, "approval": approval}}


_SNAPSHOT = "faacac48b951ae8df792072c1dd0ccb40f216948"
_TOKENS = {"total": 1620, "input": 500, "output": 56, "reasoning": 64}
_ORDER = {
    "step-start": ("id", "messageID", "sessionID", "snapshot", "type"),
    "step-finish": ("id", "reason", "snapshot", "messageID", "sessionID", "type", "tokens", "cost"),
    "text": ("id", "messageID", "sessionID", "type", "text", "time"),
    "reasoning": ("id", "messageID", "sessionID", "type", "text", "time"),
}
"""The members of OpenCode's parts; a call's are as they come, the ids last."""

_RULE = {"permission": "bash", "pattern": "*", "action": "allow"}


def _time(run: Run) -> Record:
    start = run.ms()
    return {"start": start, "end": start + 96}


Told = tuple[str, Record, str, dict[str, Any], str]


def _bash(run: Run, deed: Deed) -> Told:
    given = {"command": deed.command, "description": run.prose(20, 60)}
    details = {"output": deed.output, "exit": deed.code, "truncated": False}
    return "bash", given, deed.output, details, deed.command


def _read(run: Run, deed: Deed) -> Told:
    lines = deed.output.split("\n")
    body = numbered(deed.output, ": ")
    output = f"<path>{deed.path}</path>\n<type>file</type>\n<content>\n{body}\n</content>"
    shown = {
        "type": "file",
        "path": deed.path,
        "text": deed.output,
        "lineStart": 1,
        "lineEnd": len(lines),
        "totalLines": len(lines),
        "truncated": False,
    }
    preview = "\n".join(lines[:20])
    details = {"preview": preview, "truncated": False, "loaded": [], "display": shown}
    return "read", {"filePath": deed.path}, output, details, short(deed.path)


def _edit(run: Run, deed: Deed) -> Told:
    old, new = deed.old.split("\n"), deed.new.split("\n")
    diff = "\n".join([f"--- {deed.path}", *(f"-{line}" for line in old), *(f"+{line}" for line in new)])
    shown = {"file": deed.path, "patch": diff, "additions": len(new), "deletions": len(old)}
    given = {"filePath": deed.path, "oldString": deed.old, "newString": deed.new}
    details = {"diagnostics": {}, "diff": diff, "filediff": shown, "truncated": False}
    return "edit", given, "Edit applied successfully.", details, short(deed.path)


def _write(run: Run, deed: Deed) -> Told:
    given = {"content": deed.new, "filePath": deed.path}
    details = {"diagnostics": {}, "filepath": deed.path, "exists": False, "truncated": False}
    return "write", given, "Wrote file successfully.", details, short(deed.path)


_TOOLS: dict[str, Callable[[Run, Deed], Told]] = {
    "shell": _bash,
    "read": _read,
    "edit": _edit,
    "write": _write,
}
