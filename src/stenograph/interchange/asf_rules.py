"""The rules for each type of entry of the Agent Session Format, once the tree stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

from stenograph import jsonio
from stenograph.interchange.asf_log import content_hash
from stenograph.interchange.asf_tree import Node, Tree, request

Found: TypeAlias = tuple[int, str, str, Literal["error", "warning"]]

_DEMANDED: dict[str, tuple[str, ...]] = {
    "item": ("item",),
    "compaction": ("first_kept", "summary", "config"),
    "branch_summary": ("from", "summary"),
    "run": ("run_id", "phase"),
    "dispatch": ("call_id", "target"),
    "decision": ("call_id", "target", "verdict"),
    "queued": ("item", "mode"),
    "label": ("target", "label"),
    "outcome": ("kind", "target"),
    "link": ("rel", "session"),
    "custom": ("ns",),
}
_VALUES: dict[tuple[str, str], tuple[str, ...]] = {
    ("run", "phase"): ("start", "end"),
    ("decision", "verdict"): ("proceed", "reject", "hold", "answer"),
    ("queued", "mode"): ("steer", "followup"),
    ("link", "rel"): ("subsession", "fork_of", "continued_in", "judged_by"),
    ("outcome", "kind"): ("feedback", "test", "task", "tool_error", "eval", "custom"),
}
_CORE = {*_DEMANDED, "response", "config", "info", "env", "withdraw"}
_REASONS = ("done", "stopped", "interrupted", "input_required", "aborted", "error")
_SINCE_UNIQUE_CALLS = 9
_SINCE_OMIT = 11


class Rules:
    """Checks the entries of one file in their order."""

    def __init__(self, tree: Tree, header: dict[str, Any], minor: int) -> None:
        self.tree = tree
        self.header = header
        self.minor = minor
        self.calls: dict[str, Node] = {}
        self.outputs: dict[str, Node] = {}
        self.steps: dict[str, list[Node]] = {}  # dispatches and decisions by call
        self._by_type: dict[str, Callable[[Node], Iterator[Found]]] = {
            "item": self._item,
            "response": self._response,
            "config": self._config,
            "compaction": self._compaction,
            "dispatch": self._dispatch,
            "decision": self._decision,
            "run": self._run,
            "outcome": self._target,
        }

    def run(self) -> Iterator[Found]:
        """All that is wrong."""
        for root in self.tree.roots:
            if root.type != "config":
                yield root.line, "first-entry", f"a root that is no config but {root.type}", "warning"
        for node in self.tree.nodes.values():
            yield from self._members(node)
            check = self._by_type.get(str(node.type))
            if check:
                yield from check(node)
        yield from self._undispatched()

    def _members(self, node: Node) -> Iterator[Found]:
        kind = str(node.type)
        if kind not in _CORE and ":" not in kind:
            yield node.line, "type", f"{kind} is neither a core type nor NS:NAME", "error"
        for name in _DEMANDED.get(kind, ()):
            if name not in node.value:
                yield node.line, "member", f"{kind} has no {name}", "error"
            elif (allowed := _VALUES.get((kind, name))) and node.value[name] not in allowed:
                yield (
                    node.line,
                    "member",
                    f"{name} is {node.value[name]!r}, not one of {', '.join(allowed)}",
                    "error",
                )

    def _item(self, node: Node) -> Iterator[Found]:
        item = node.value.get("item")
        if not isinstance(item, dict) or not isinstance(item.get("type"), str):
            yield node.line, "item", "no item with a type", "error"
            return
        if item["type"] == "item_reference":
            yield node.line, "item-reference", "a writer never writes item_reference", "warning"
        if item["type"] not in ("function_call", "function_call_output"):
            return
        call = item.get("call_id")
        if not isinstance(call, str) or not call:
            yield node.line, "call-id", "an empty call_id", "error"
        elif item["type"] == "function_call_output":
            self.outputs.setdefault(call, node)
        else:
            if call in self.calls:
                is_error = self.minor >= _SINCE_UNIQUE_CALLS
                yield node.line, "call-id", f"{call} is used twice", "error" if is_error else "warning"
            self.calls[call] = node

    def _response(self, node: Node) -> Iterator[Found]:
        told = node.value.get("request_hash")
        attempts = node.value.get("attempts", 1)
        if type(attempts) is not int or attempts < 1:
            yield node.line, "member", f"attempts is no positive integer: {attempts}", "error"
        path = self.tree.path(node.parent)
        if told is not None:
            try:
                found = content_hash(jsonio.canonical(request(path, node)))
            except (ValueError, RecursionError) as fault:
                found = str(fault)
            if found != told:
                yield node.line, "request-hash", f"the hash is {told}, computed {found}", "error"

    def _config(self, node: Node) -> Iterator[Found]:
        omit = node.value.get("omit")
        if omit is not None:
            yield from self._omit(node, omit)
        for name in ("instructions_parts", "instructions_omitted"):
            parts = node.value.get(name)
            for part in parts if isinstance(parts, list) else ():
                if isinstance(part, dict) and "keep" in part and not self._can_keep(node, name, part["keep"]):
                    yield node.line, "keep", f"nothing to keep {part['keep']} of", "warning"

    def _omit(self, node: Node, omit: Any) -> Iterator[Found]:
        if self.minor < _SINCE_OMIT:
            yield node.line, "omit", "known since 0.11 only", "error"
        if not isinstance(omit, dict) or omit.get("reasoning", "other_models") != "other_models":
            yield node.line, "omit", "not {reasoning: other_models, items: […]}", "error"
            return
        items = omit.get("items", [])
        for item in items if isinstance(items, list) else (items,):
            found = self.tree.nodes.get(str(item))
            if not found or found.type != "item" or not self.tree.is_above(found, node):
                yield node.line, "omit", f"no item on the path: {item}", "error"

    def _can_keep(self, node: Node, name: str, count: Any) -> bool:
        """Whether earlier settings on the path have so many parts."""
        for above in reversed(self.tree.path(node.parent)):
            parts = above.value.get(name) if above.type == "config" else None
            if isinstance(parts, list):
                return isinstance(count, int) and (
                    count <= len(parts) or any(isinstance(part, dict) and "keep" in part for part in parts)
                )
        return False

    def _compaction(self, node: Node) -> Iterator[Found]:
        kept = self.tree.nodes.get(str(node.value.get("first_kept")))
        if "first_kept" in node.value and (not kept or kept is node or not self.tree.is_above(kept, node)):
            yield node.line, "first-kept", f"not on the path: {node.value['first_kept']}", "error"
        if not isinstance(node.value.get("summary", {}), dict):
            yield node.line, "member", "summary is no item", "error"

    def _target(self, node: Node) -> Iterator[Found]:
        if "target" in node.value and str(node.value["target"]) not in self.tree.nodes:
            yield node.line, "target", f"no entry {node.value['target']}", "error"

    def _step(self, node: Node) -> Iterator[Found]:
        """A dispatch or decision names an earlier call by its entry and its id."""
        target = self.tree.nodes.get(str(node.value.get("target")))
        item = target.value.get("item") if target else None
        call = node.value.get("call_id")
        is_call = isinstance(item, dict) and item.get("type") == "function_call"
        if not target or not is_call or not self.tree.is_above(target, node):
            yield node.line, "target", "the target is no earlier call", "error"
        elif isinstance(item, dict) and item.get("call_id") != call:
            yield node.line, "target", f"the target's call_id is not {call}", "error"

    def _dispatch(self, node: Node) -> Iterator[Found]:
        yield from self._step(node)
        before = self._before(node)
        if any(each in ("reject", "answer", "output") for each in before):
            yield node.line, "order", "a dispatch after a reject, an answer or an output", "error"
        self.steps.setdefault(str(node.value.get("call_id")), []).append(node)

    def _decision(self, node: Node) -> Iterator[Found]:
        yield from self._step(node)
        before = self._before(node)
        verdict = node.value.get("verdict")
        if "reject" in before or "answer" in before:
            yield node.line, "order", "a decision after a reject or an answer", "error"
        if verdict == "reject" and ("dispatch" in before or "output" in before):
            yield node.line, "order", "a reject after a dispatch or an output", "error"
        if verdict == "reject" and "reason" not in node.value:
            yield node.line, "member", "a reject has no reason", "error"
        self.steps.setdefault(str(node.value.get("call_id")), []).append(node)

    def _before(self, node: Node) -> list[str]:
        """What happened to a call on the path so far."""
        call = str(node.value.get("call_id"))
        found = [
            str(each.value.get("verdict", "dispatch"))
            for each in self.steps.get(call, ())
            if self.tree.is_above(each, node)
        ]
        output = self.outputs.get(call)
        return [*found, "output"] if output and self.tree.is_above(output, node) else found

    def _undispatched(self) -> Iterator[Found]:
        """A header that promises dispatches needs one for each of its own calls that has an output."""
        records = self.header.get("records")
        if not isinstance(records, list) or "dispatch" not in records:
            return
        base = self.tree.nodes.get(str(self.header.get("base")))
        for call, output in self.outputs.items():
            made = self.calls.get(call)
            own = made and (base is None or made.line > base.line)
            if own and not any(each.type == "dispatch" for each in self.steps.get(call, ())):
                yield output.line, "records", f"the header promises dispatches; {call} has none", "error"

    def _run(self, node: Node) -> Iterator[Found]:
        if node.value.get("phase") == "start":
            if node.value.get("source") not in ("input", "resume"):
                yield node.line, "run", f"the source is {node.value.get('source')!r}", "error"
            return
        told = node.value.get("reason")
        if told not in _REASONS or not isinstance(node.value.get("pending"), list):
            yield node.line, "run", f"the reason is {told!r}, or pending is no list", "error"
            return
        path = self.tree.path(node.parent)
        start = max(
            (n for n, each in enumerate(path) if each.type == "run" and each.value.get("phase") == "start"),
            default=None,
        )
        if start is None or path[start].value.get("run_id") != node.value.get("run_id"):
            yield node.line, "run", "no start of this run above it", "error"
        elif told not in ("error", "interrupted") and told != (found := self._reason(path, start)):
            yield node.line, "run", f"the reason is {told}, the segment's shape says {found}", "error"

    def _reason(self, path: list[Node], start: int) -> str:
        """How a run ended, by the shape of its segment: the first rule that fits."""
        segment = path[start + 1 :]
        responses = [node for node in segment if node.type == "response"]
        last = responses[-1].value if responses else {}
        if last.get("error") is not None:
            return "error"
        pending = _pending(path)
        states = [self._state(call, path) for call in pending]
        if "hold" in states and "dispatch" not in states:
            return "input_required"
        if pending or last.get("incomplete") is not None:
            return "aborted"
        if responses and any(not _calls_of(path, node) for node in responses):
            return "done"
        after = max((node.line for node in responses), default=0)
        has_more = any(node.type == "decision" or _is_output(node) for node in segment if node.line > after)
        before = [node for node in path if node.type == "response"]
        if before and _calls_of(path, before[-1]) and has_more:
            return "stopped"
        return "aborted"

    def _state(self, call: str, path: list[Node]) -> str:
        on_path = {node.line for node in path}
        steps = [each for each in self.steps.get(call, ()) if each.line in on_path]
        return str(steps[-1].value.get("verdict", "dispatch")) if steps else ""


def _pending(path: list[Node]) -> list[str]:
    """Calls on a path that have no output."""
    called: dict[str, None] = {}
    for node in path:
        item = node.value.get("item")
        if node.type != "item" or not isinstance(item, dict):
            continue
        if item.get("type") == "function_call":
            called[str(item.get("call_id"))] = None
        elif item.get("type") == "function_call_output":
            called.pop(str(item.get("call_id")), None)
    return list(called)


def _calls_of(path: list[Node], response: Node) -> bool:
    """Whether a response's output holds a call."""
    name = response.value.get("response_id")
    return any(
        node.type == "item"
        and node.value.get("response") == name
        and isinstance(node.value.get("item"), dict)
        and node.value["item"].get("type") == "function_call"
        for node in path
    )


def _is_output(node: Node) -> bool:
    item = node.value.get("item")
    return node.type == "item" and isinstance(item, dict) and item.get("type") == "function_call_output"
