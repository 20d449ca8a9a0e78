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
        ids = {"id": f"prt_{self._run.id()[:26]}", **self._ids}
        is_last = kind == "tool_use" and not self._is_kilo
        part = {**own, **ids} if is_last else {**ids, **own}
        when = self._run.ms()
        return {"type": kind, "timestamp": when, "sessionID": ids["sessionID"], "part": part}

    def _finish(self, reason: str) -> Record:
        own = {"type": "step-finish", "reason": reason, "snapshot": _SNAPSHOT}
        if self._is_kilo:
            own["metrics"] = {"generation": 153.45, "source": "computed"}
            own["time"] = {**_time(self._run), "elapsed": 96}
        return {**own, "tokens": _TOKENS, "cost": 0.00074}

    def _call(self, deed: Deed) -> Record:
        tool, given, output, details, title = _TOOLS[deed.kind](self._run, deed)
        state = {"status": "completed", "input": given, "output": output}
        if self._is_kilo:
            details["approval"] = {"source": "global", "rule": _RULE}
            state |= {"title": title, "metadata": details}
        else:
            state |= {"metadata": details, "title": title}
        call = {"tool": tool, "callID": self._run.number("call")}
        return {"type": "tool", **call, "state": {**state, "time": _time(self._run)}}


_SNAPSHOT = "faacac48b951ae8df792072c1dd0ccb40f216948"
_TOKENS = {"total": 1620, "input": 500, "output": 56, "reasoning": 64, "cache": {"write": 0, "read": 1000}}
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
