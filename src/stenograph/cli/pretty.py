"""Events for people: one aligned line each, cut to the terminal."""

from __future__ import annotations

from stenograph import event as ev
from stenograph import jsonio
from stenograph.cli.terminal import clean, cut_front, fold, width

_KIND_WIDTH = 9
_FRAME = 8 + 2 + _KIND_WIDTH + 2  # clock, kind, and the blanks behind each
_LEAST = 60 - _FRAME  # cells for the rest, however narrow the terminal
_MAX_SUBAGENTS = 10_000  # beyond, their numbers begin again

_DIM, _RED = "2", "31"
_STYLES = {
    "agent": "1",
    "reasoning": "2",
    "command": "33",
    "read": "36",
    "write": "32",
    "search": "34",
    "list": "34",
    "skill": "35",
    "orchestration": "35",
    "usage": "2",
    "error": "1;31",
    "warning": "33",
    "system": "2",
    "unknown": "2",
}
_NAMES = {"orchestration": "subagent"}
_WHOLE = frozenset(
    {"reasoning", "usage", "error", "warning", "unknown"}
)  # their texts have the kind's colour


class Painter:
    """Turns events into lines of at most `columns` cells, though never under 60; `colour` adds our escapes.

    Paths in `workspace` are shown relative to it. Subagents are numbered in the order in which they come.
    """

    def __init__(self, *, columns: int, colour: bool, workspace: str | None = None) -> None:
        self.columns = columns
        self.colour = colour
        self.workspace = workspace
        self._subagents: dict[str, int] = {}

    def line(self, event: ev.Event) -> str:
        """One event as one line, without a line end."""
        kind = str(event.__struct_config__.tag)
        style = _RED if _failed(event) else _STYLES[kind]
        clock = fold(event.timestamp[11:19], 8)
        mark = self._mark(event.subagent)
        ending = _ending(event)
        room = max(self.columns - _FRAME, _LEAST) - len(mark) - len(ending)
        parts = [
            self._paint(clock + " " * (8 - width(clock)), _DIM),
            "  ",
            self._paint(_NAMES.get(kind, kind).ljust(_KIND_WIDTH), style),
            "  ",
            self._paint(mark, _DIM),
            self._paint(self._body(event, room), style if kind in _WHOLE else ""),
            self._paint(ending, style),
        ]
        return "".join(parts).rstrip(" ")

    def _paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.colour and style and text else text

    def _mark(self, subagent: str | None) -> str:
        """`↳1 ` before what the first subagent did, and so on."""
        if subagent is None:
            return ""
        if len(self._subagents) >= _MAX_SUBAGENTS:
            self._subagents.clear()
        return f"↳{self._subagents.setdefault(subagent, len(self._subagents) + 1)} "

    def _body(self, event: ev.Event, room: int) -> str:
        match event:
            case ev.Read() | ev.Write():
                return self._stretch(event, room)
            case ev.Skill(skill_name=name):
                lead = f"{fold(name, room // 2)} " if name else ""
                return lead + self._stretch(event, room - width(lead))
            case ev.List(path=path):
                return self._path(path or ".", room)
            case ev.Search(query=text, path=str(folder)) if folder != self.workspace:
                return self._beside(text, f" in {self._path(folder, room // 2 - 4)}", room)
            case ev.Command(command=text, working_directory=str(folder)) if folder != self.workspace:
                return self._beside(text, f" (in {self._path(folder, room // 2 - 6)})", room)
        return fold(_text(event, room), room)

    def _beside(self, text: str, tail: str, room: int) -> str:
        return fold(text, room - width(tail)) + tail

    def _stretch(self, event: ev.Read | ev.Write | ev.Skill, room: int) -> str:
        """`path:10-20`, the path cut at its front so that the lines stay."""
        start, end = event.start_line, event.end_line
        lines = "" if start is None else f":{start}" if start == end else f":{start}-{end or ''}"
        return self._path(event.path, room - len(lines)) + lines

    def _path(self, path: str, room: int) -> str:
        base = self.workspace
        if base and base != "/" and path.startswith(base):
            path = "." if path == base else path[len(base) + 1 :] if path[len(base)] in "/\\" else path
        return cut_front(clean(path), room)


def to_bytes(painter: Painter, events: list[ev.Event]) -> bytes:
    """Events as the bytes for a terminal, one line each."""
    return "".join(f"{painter.line(event)}\n" for event in events).encode("utf-8", "replace")


def _failed(event: ev.Event) -> bool:
    return getattr(event, "is_success", None) is False or bool(
        getattr(event, "exit_code", None) and getattr(event, "is_success", None) is None
    )


def _ending(event: ev.Event) -> str:
    if isinstance(event, ev.Orchestration):
        return ""
    if code := getattr(event, "exit_code", None):
        return f" (exit {code})"
    return " (failed)" if _failed(event) else ""


def _text(event: ev.Event, room: int) -> str:
    match event:
        case ev.Agent(message=text) | ev.Reasoning(message=text):
            return text
        case ev.Command(command=text) | ev.Search(query=text):
            return text
        case ev.Error(message=text, code=code) | ev.Warning(message=text, code=code):
            return f"[{code}] {text}" if code and code not in text[: 16 * room] else text
        case ev.Orchestration(action=action, subagent_id=id_, subagent_name=name):
            return f"{action.removeprefix('subagent_')} {name or id_ or ''}"
        case ev.Usage():
            return _usage(event)
        case ev.System(stage=stage, status=status, message=text):
            return f"{stage} {status}: {text}"
        case ev.Unknown(json=raw):
            return _raw(memoryview(raw), 64 * room)
    return ""


def _raw(json: memoryview, limit: int) -> str:
    """The beginning of a JSON value as it is written, or the text that it holds."""
    if bytes(json[:1]) == b'"':
        return str(jsonio.loads(bytes(json)))
    return bytes(json[:limit]).decode("utf-8", "replace")


def _usage(event: ev.Usage) -> str:
    counts = (
        ("input", event.tokens.uncached_input),
        ("cached", event.tokens.cached_input),
        ("output", event.tokens.output),
        ("reasoning", event.tokens.reasoning),
    )
    parts = [f"{name} {count:,}" for name, count in counts if count is not None]
    if event.cost is not None:
        parts.append(f"${event.cost:.4f}")
    return ", ".join(parts)
