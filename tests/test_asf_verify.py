"""Each rule of the format's validator, by a valid file that is made to break it."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from stenograph import ReadError
from stenograph.interchange.asf_verify import Violation, verify, verify_file

Json = dict[str, Any]
TS = "2026-09-17T12:00:00Z"
HEADER = {
    "type": "session",
    "format": "agentsession/0.11",
    "id": "0199-a",
    "created_at": TS,
    "payload": "openresponses/2026-04-24",
}


def sha(value: Any) -> str:
    return "sha256:" + hashlib.sha256(rfc8785.dumps(value)).hexdigest()


def user(text: str = "hello") -> Json:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def call(name: str) -> Json:
    return {"type": "function_call", "call_id": name, "name": "read", "arguments": "{}"}


def output(name: str) -> Json:
    return {"type": "function_call_output", "call_id": name, "output": "done"}


class File:
    """A session file being made; `add` hangs an entry below the last one, or a given one."""

    def __init__(self, **header: Any) -> None:
        self.header = HEADER | header
        self.lines: list[Json] = []
        self.add("config", model="m")

    def add(self, kind: str, /, *, below: str | bool | None = True, ts: str = TS, **body: Any) -> str:
        parent = (self.lines[-1]["id"] if self.lines else None) if below is True else below
        envelope: Json = {"type": kind, "parent": parent, "ts": ts}
        if "parents" in body:
            envelope["parents"] = body.pop("parents")
        line = envelope | {"id": sha(envelope | {"content": sha(body)})} | body
        self.lines.append(line)
        return str(line["id"])

    def bytes(self) -> bytes:
        return b"".join(json.dumps(line).encode() + b"\n" for line in [self.header, *self.lines])

    def found(self) -> set[tuple[int, str, str]]:
        return {(each.line, each.rule, each.level) for each in verify(self.bytes())}


def whole() -> File:
    """A file with an entry of every core type that keeps every rule."""
    file = File(records=["dispatch", "decision"])
    file.add("run", run_id="r", phase="start", source="input")
    prompt = file.add("item", item=user())
    asked = file.add("item", item=call("c1"), response="resp")
    request = {"model": "m", "input": [user()], "store": False}
    file.add("response", response_id="resp", request_hash=sha(request), attempts=2)
    file.add("decision", call_id="c1", target=asked, verdict="proceed", by="human")
    file.add("dispatch", call_id="c1", target=asked)
    file.add("item", item=output("c1"))
    file.add("item", item={"type": "message", "role": "assistant", "content": []}, response="resp2")
    file.add("response", response_id="resp2")
    file.add("run", run_id="r", phase="end", reason="done", pending=[])
    file.add("config", omit={"items": [prompt]})
    file.add("label", target=prompt, label="start")
    file.add("env", cwd="/x")
    file.add("info", name="n")
    file.add("outcome", kind="test", target=prompt, **{"pass": True})
    file.add("queued", item=user("later"), mode="steer")
    file.add("link", rel="subsession", session="other")
    file.add("custom", ns="x", data={})
    file.add("compaction", first_kept=prompt, summary=user("so far"), config={"model": "m"})
    file.add("my:own", anything=1)
    file.add("item", item=user("branch"), below=prompt)
    return file


def test_a_valid_file_has_no_violation() -> None:
    assert verify(whole().bytes()) == []


def swap(member: str, value: Any, *, at: int = 1) -> Callable[[File], None]:
    def change(file: File) -> None:
        file.lines[at][member] = value

    return change


def header(**members: Any) -> Callable[[File], None]:
    def change(file: File) -> None:
        file.header = {name: value for name, value in (file.header | members).items() if value is not None}

    return change


def adding(kind: str, /, **body: Any) -> Callable[[File], None]:
    """Add an entry; members that are functions are called with the file."""

    def change(file: File) -> None:
        made = {name: value(file) if callable(value) else value for name, value in body.items()}
        file.add(kind, **made)

    return change


def line(number: int) -> Callable[[File], str]:
    return lambda file: str(file.lines[number]["id"])


BROKEN: list[tuple[Callable[[File], None], str, str]] = [
    (header(type="other"), "header", "error"),
    (header(id=None), "header", "error"),
    (header(created_at="yesterday"), "header", "error"),
    (header(payload="other/1"), "header", "error"),
    (header(format="agentsession"), "format", "error"),
    (header(format="agentsession/0.12"), "format", "error"),
    (header(format="agentsession/0.4"), "format", "error"),
    (header(records=["item"]), "records", "error"),
    (swap("ts", "2026-09-17T12:00:00.50Z"), "ts", "error"),
    (swap("ts", "2026-09-17T12:00:00+00:00"), "ts", "error"),
    (swap("ts", "2026-02-30T12:00:00Z"), "ts", "error"),
    (swap("run_id", "changed"), "hash", "error"),
    (swap("id", "sha256:ABC"), "id", "error"),
    (swap("content", 1), "reserved", "error"),
    (lambda file: file.lines[1].pop("parent"), "envelope", "error"),
    (lambda file: file.lines[1].pop("id"), "envelope", "error"),
    (adding("item", item=user(), below="sha256:" + "0" * 64), "parent", "error"),
    (swap("model", 9007199254740993, at=0), "i-json", "error"),
    (swap("model", "\ud800", at=0), "i-json", "error"),
    (adding("custom", ns="x", parents=[]), "parents", "error"),
    (adding("custom", ns="x", parents=lambda f: [{"entry": f.lines[-1]["id"]}]), "parents", "error"),
    (
        adding("custom", ns="x", parents=lambda f: [{"entry": "b", "session": "s"}, {"entry": "a"}]),
        "parents",
        "error",
    ),
    (adding("compaction", first_kept="sha256:x", summary={}, config={}), "first-kept", "error"),
    (adding("compaction", first_kept=line(4), summary={}, config={}), "first-kept", "error"),
    (adding("compaction", first_kept=line(1), summary={}), "member", "error"),
    (adding("item", item=call("")), "call-id", "error"),
    (adding("item", item=call("c1")), "call-id", "error"),
    (adding("item", item={"type": "item_reference", "id": "x"}), "item-reference", "warning"),
    (adding("item", item="text"), "item", "error"),
    (adding("dispatch", call_id="c1", target=line(2)), "target", "error"),
    (adding("dispatch", call_id="c9", target=line(3), below=line(3)), "target", "error"),
    (adding("dispatch", call_id="c1", target=line(3), below=line(7)), "order", "error"),
    (
        adding("decision", call_id="c1", target=line(3), verdict="reject", reason="no", below=line(6)),
        "order",
        "error",
    ),
    (adding("decision", call_id="c1", target=line(3), verdict="reject", below=line(3)), "member", "error"),
    (adding("decision", call_id="c1", target=line(3), verdict="perhaps", below=line(3)), "member", "error"),
    (adding("run", run_id="r", phase="start", source="timer"), "run", "error"),
    (adding("run", run_id="r", phase="end", reason="stopped", pending=[], below=line(9)), "run", "error"),
    (adding("run", run_id="q", phase="end", reason="done", pending=[], below=line(9)), "run", "error"),
    (adding("run", run_id="r", phase="end", reason="tired", pending=[]), "run", "error"),
    (adding("response", response_id="q", request_hash="sha256:" + "0" * 64), "request-hash", "error"),
    (adding("response", response_id="q", attempts=0), "member", "error"),
    (adding("config", omit={"items": ["sha256:x"]}), "omit", "error"),
    (adding("config", omit=lambda f: {"items": [f.lines[0]["id"]]}), "omit", "error"),
    (adding("config", omit={"reasoning": "all"}), "omit", "error"),
    (adding("config", instructions_parts=[{"keep": 3}]), "keep", "warning"),
    (adding("outcome", kind="test", target="sha256:x"), "target", "error"),
    (adding("link", rel="friend", session="x"), "member", "error"),
    (adding("unheard", x=1), "type", "error"),
    (adding("item", item=user("root"), below=None), "first-entry", "warning"),
    (lambda file: file.lines.append(file.lines[-1]), "repeated-id", "warning"),
    (header(base="sha256:x"), "base", "error"),
    (lambda file: header(base=file.lines[6]["id"])(file), "base", "error"),
    (header(records=["dispatch"]), "records", "error"),
]


@pytest.mark.parametrize(("change", "rule", "level"), BROKEN)
def test_a_broken_rule_is_found(change: Callable[[File], None], rule: str, level: str) -> None:
    file = whole()
    if rule == "records" and file.header["records"] and change is BROKEN[-1][0]:
        file.add("item", item=call("c5"))
        file.add("item", item=output("c5"))
    change(file)
    assert (rule, level) in {(each[1], each[2]) for each in file.found()}


def test_before_0_9_a_repeated_call_is_a_warning_and_before_0_11_omit_is_unknown() -> None:
    file = whole()
    file.header["format"] = "agentsession/0.8"
    file.add("item", item=call("c1"))
    assert {(rule, level) for _, rule, level in file.found()} == {("call-id", "warning"), ("omit", "error")}


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda data: data[:-30], [(23, "line-end", "warning"), (23, "truncated", "warning")]),
        (lambda data: data[:-1], [(23, "line-end", "warning")]),
        (lambda data: data.replace(b'"phase": "start"', b'"phase": "st', 1), [(3, "broken-line", "error")]),
        (lambda data: data.replace(b'"ns": "x"', b'"ns": "y", "ns": "x"', 1), [(20, "i-json", "error")]),
        (lambda data: data.replace(b'"hello"', b'"h\xff"', 1), [(4, "broken-line", "error")]),
        (lambda data: b"", [(1, "header", "error")]),
        (lambda data: b"[" * 100_000 + b"\n", [(1, "broken-line", "error"), (1, "header", "error")]),
    ],
)
def test_damaged_lines(spoil: Callable[[bytes], bytes], expected: list[tuple[int, str, str]]) -> None:
    found = [(each.line, each.rule, each.level) for each in verify(spoil(whole().bytes()))]
    assert found[: len(expected)] == expected


def test_subsessions_and_media_beside_a_file(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"picture").hexdigest()
    file = File()
    image = {"type": "input_image", "image_url": f"sidecar:sha256:{digest}", "detail": "auto"}
    file.add("item", item=call("c1"))
    file.add("item", item={"type": "message", "role": "user", "content": [image]})
    file.add("link", rel="subsession", session="child", call_id="c1")
    path = tmp_path / "x_0199-a.jsonl"
    path.write_bytes(file.bytes())
    child = tmp_path / "x_child.jsonl"
    child.write_bytes(File(id="child", parent_session="0199-a", spawned_by="c1").bytes())
    blob = tmp_path / "0199-a" / digest
    assert [(each.rule, each.level) for each in verify_file(path)] == [("sidecar", "warning")]
    blob.parent.mkdir()
    blob.write_bytes(b"picture")
    assert verify_file(path) == []
    blob.write_bytes(b"other")
    child.write_bytes(File(id="child", parent_session="another", spawned_by="c2").bytes())
    assert [each.rule for each in verify_file(path)] == ["sidecar", "link", "link"]


def test_what_is_no_file_cannot_be_verified(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="is a directory"):
        verify_file(tmp_path)
    assert Violation(1, "r", "m").level == "error"
