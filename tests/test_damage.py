"""Section by section: what a damaged line still gives, and that each repair is counted."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from stenograph import EventParser, encode

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LIMIT = b'{"type":"rate_limit_event","rate_limit_info":{"status":"rejected"},"session_id":"s"}'
SAID = (
    b'{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"hello"}]},"session_id":"s"}'
)
ODD = b'{"type":"later","n":1}'
WARNED = ("warning", "rate limit: rejected")
HELLO = ("agent", "hello")


def fed(data: bytes, *, form: str = "claude", size: int = 0) -> tuple[list[tuple[str, Any]], dict[str, int]]:
    """The (type, message or raw) of each event, and the counts of the notes; the same for any chunking."""
    parser = EventParser(form, now=lambda: NOON)
    step = size or len(data) or 1
    events = [event for at in range(0, len(data), step) for event in parser.feed(data[at : at + step])]
    events += parser.close()
    told = [json.loads(encode(event)) for event in events]
    brief = [
        (event["type"], event["raw"] if event["type"] == "unknown" else event.get("message"))
        for event in told
    ]
    return brief, {note.code: note.count for note in parser.report.notes}


CASES: dict[str, tuple[bytes, list[tuple[str, Any]], dict[str, int]]] = {
    "plain": (LIMIT + b"\n", [WARNED], {}),
    "no line end": (LIMIT, [WARNED], {}),
    "carriage returns": (LIMIT + b"\r\n" + SAID + b"\r\n", [WARNED, HELLO], {}),
    "unicode white space around a line": (b"\xe2\x80\xa8" + LIMIT + b"\xc2\x85\xe3\x80\x80\n", [WARNED], {}),
    "control characters are no white space": (
        b"\x1c" + LIMIT + b"\n",
        [("warning", "\x1c" + LIMIT.decode())],
        {"text-line": 1},
    ),
    "blank lines": (b"\n \t\n" + LIMIT + b"\n\n", [WARNED], {}),
    "text": (b"npm warn old\n" + LIMIT, [("warning", "npm warn old"), WARNED], {"text-line": 1}),
    "values that are no object": (
        b'1\n"x"\nnull\n[]\n[1]\n' + LIMIT,
        [("unknown", 1), ("unknown", "x"), ("unknown", None), ("unknown", []), ("unknown", [1]), WARNED],
        {"unknown-record": 5},
    ),
    "NaN is no JSON": (
        b'{"type":"later","n":NaN}\n',
        [("warning", '{"type":"later","n":NaN}')],
        {"text-line": 1},
    ),
    "trailing comma": (b'{"type":"later",}\n', [("warning", '{"type":"later",}')], {"text-line": 1}),
    "trailing text": (ODD + b" and more\n", [("warning", ODD.decode() + " and more")], {"text-line": 1}),
    "byte-order mark": (b"\xef\xbb\xbf" + LIMIT, [WARNED], {"byte-order-mark": 1}),
    "UTF-16, little end first": (
        b"\xff\xfe" + (LIMIT + b"\n" + SAID).decode().encode("utf-16-le"),
        [WARNED, HELLO],
        {"utf-16": 1},
    ),
    "UTF-16, big end first, with U+0A0A": (
        b"\xfe\xff" + f"\u0a0a\n{ODD.decode()}\n".encode("utf-16-be"),
        [("warning", "\u0a0a"), ("unknown", {"type": "later", "n": 1})],
        {"utf-16": 1, "text-line": 1, "unknown-record": 1},
    ),
    "terminal sequences around a record": (
        b"\x1b[2K\x1b[1m" + LIMIT + b"\x1b[0m\n",
        [WARNED],
        {"terminal-escapes": 1},
    ),
    "terminal sequences around a text": (
        b"\x1b[33mwarn: old\x1b[0m\n",
        [("warning", "warn: old")],
        {"terminal-escapes": 1, "text-line": 1},
    ),
    "a window title ahead of a record": (b"\x1b]0;claude\x07" + LIMIT, [WARNED], {"terminal-escapes": 1}),
    "raw control characters inside strings": (
        b'{"type":"later","s":"a\tb\x00c"}\n',
        [("unknown", {"type": "later", "s": "a\tb\x00c"})],
        {"control-characters": 1, "unknown-record": 1},
    ),
    "two records on one line": (LIMIT + SAID + b"\n", [WARNED, HELLO], {"glued-records": 1}),
    "three records with blanks between": (
        LIMIT + b"  " + ODD + b" " + SAID + b"\n",
        [WARNED, ("unknown", {"type": "later", "n": 1}), HELLO],
        {"glued-records": 1, "unknown-record": 1},
    ),
    "a whole record in front of a torn one": (
        LIMIT + SAID[:40] + b"\n" + ODD,
        [WARNED, ("warning", SAID[:40].decode()), ("unknown", {"type": "later", "n": 1})],
        {"glued-records": 1, "text-line": 1, "unknown-record": 1},
    ),
    "a whole record behind a torn one": (
        SAID[:60] + LIMIT + b"\n" + ODD,
        [WARNED, ("warning", SAID[:60].decode()), ("unknown", {"type": "later", "n": 1})],
        {"torn-record": 1, "unknown-record": 1},
    ),
    "the same at the end of the stream": (
        SAID[:60] + LIMIT,
        [WARNED, ("warning", SAID[:60].decode())],
        {"torn-record": 1},
    ),
    "a foreign object behind a torn record": (
        SAID[:60] + ODD,
        [("warning", (SAID[:60] + ODD).decode())],
        {"text-line": 1},
    ),
    "an object of our type without its members behind a torn record": (
        SAID[:60] + b'{"type":"system","subtype":"x"}',
        [("warning", (SAID[:60] + b'{"type":"system","subtype":"x"}').decode())],
        {"text-line": 1},
    ),
    "a record split by another": (
        SAID.replace(b"hello", b"hel" + LIMIT + b"\nlo"),
        [WARNED, HELLO],
        {"split-record": 1},
    ),
    "a record split where a blank begins the rest": (
        SAID.replace(b"hello", b"hello" + LIMIT + b"\n there"),
        [WARNED, ("agent", "hello there")],
        {"split-record": 1},
    ),
    "a split record whose rest never comes": (
        SAID[:80] + LIMIT + b"\n" + ODD + b"\n",
        [WARNED, ("warning", SAID[:80].decode()), ("unknown", {"type": "later", "n": 1})],
        {"torn-record": 1, "unknown-record": 1},
    ),
    "an array on one line": (b"[" + LIMIT + b"," + SAID + b"]\n", [WARNED, HELLO], {"array": 1}),
    "an array over many lines, behind text": (
        b"starting\n[\n" + LIMIT + b",\n" + SAID.replace(b',"', b',\n  "') + b", 5\n]\n" + ODD,
        [
            ("warning", "starting"),
            WARNED,
            ("unknown", 5),
            ("agent", "hello"),
            ("unknown", {"type": "later", "n": 1}),
        ],
        {"text-line": 1, "array": 1, "unknown-record": 2},
    ),
    "a cut array": (
        b"[" + LIMIT + b",\n" + SAID[:30] + b"\n",
        [WARNED, ("warning", SAID[:30].decode())],
        {"array": 1, "cut-array": 1},
    ),
    "an array that lacks only its end": (b"[" + LIMIT + b",\n" + SAID + b"\n", [WARNED, HELLO], {"array": 1}),
    "a broken array": (
        b"[" + LIMIT + b",\noops\n" + SAID + b"\n",
        [WARNED, ("warning", "oops"), HELLO],
        {"array": 1, "text-line": 1},
    ),
    "an array of something else": (
        b'[{"a":1}]\n' + LIMIT,
        [("unknown", [{"a": 1}]), WARNED],
        {"unknown-record": 1},
    ),
    "an array behind a record": (
        LIMIT + b"\n[" + ODD + b"]\n",
        [WARNED, ("unknown", [{"type": "later", "n": 1}])],
        {"unknown-record": 1},
    ),
    "text that begins like an array": (
        b"[info] ready\n" + LIMIT,
        [("warning", "[info] ready"), WARNED],
        {"text-line": 1},
    ),
    "a log prefix": (
        b"".join(
            b"2026-01-0%d app: " % day + record + b"\n" for day, record in enumerate((LIMIT, ODD, SAID))
        ),
        [WARNED, ("unknown", {"type": "later", "n": 1}), HELLO],
        {"log-prefix": 1, "unknown-record": 1},
    ),
    "a log prefix, later lines without it": (
        b"".join(b"t%d: " % day + ODD + b"\n" for day in (7, 20, 300))
        + LIMIT
        + b"\nt4: broken\nt5: "
        + LIMIT,
        [("unknown", {"type": "later", "n": 1})] * 3
        + [("warning", LIMIT.decode()), ("warning", "t4: broken"), WARNED],
        {"log-prefix": 1, "text-line": 2, "unknown-record": 3},
    ),
    "a prefix on two lines only": (
        b"t1: " + ODD + b"\nt2: " + ODD + b"\n" + LIMIT,
        [("warning", "t1: " + ODD.decode()), ("warning", "t2: " + ODD.decode()), WARNED],
        {"text-line": 2},
    ),
    "prefixes of different shapes": (
        b"t1: " + ODD + b"\n[2] " + ODD + b"\nt3: " + ODD + b"\n" + LIMIT,
        [("warning", f"{prefix}{ODD.decode()}") for prefix in ("t1: ", "[2] ", "t3: ")] + [WARNED],
        {"text-line": 3},
    ),
    "a log prefix in brackets": (
        b"".join(b"[2026-01-01 12:00:0%d] " % second + LIMIT + b"\n" for second in range(4)),
        [WARNED] * 4,
        {"log-prefix": 1},
    ),
    "a log prefix that is a JSON array": (
        b"".join(b"[%d] " % number + LIMIT + b"\n" for number in (9, 10, 11)),
        [WARNED] * 3,
        {"log-prefix": 1},
    ),
    "a log prefix with an object in it": (
        b"".join(b't%d {"a":%d} ' % (number, number) + LIMIT + b"\n" for number in (9, 10, 11)),
        [WARNED] * 3,
        {"log-prefix": 1},
    ),
    "records glued together behind a log prefix": (
        b"".join(b"t%d: " % number + LIMIT + SAID + b"\n" for number in (1, 2, 3)) + b"t4: " + ODD + LIMIT,
        [*([WARNED, HELLO] * 3), ("unknown", {"type": "later", "n": 1}), WARNED],
        {"log-prefix": 1, "glued-records": 4, "unknown-record": 1},
    ),
    "a log prefix in colour, behind a byte-order mark": (
        b"\xef\xbb\xbf"
        + b"".join(b"\x1b[2mt%d \x1b[32mINFO\x1b[0m " % day + LIMIT + b"\x1b[0m\n" for day in range(3)),
        [WARNED] * 3,
        {"byte-order-mark": 1, "terminal-escapes": 3, "log-prefix": 1},
    ),
    "torn records on lines that may have been an array": (
        b'[\n{"a":1,' + LIMIT + b'\n{"b":2,' + LIMIT + b"\n?\n",
        [("warning", "["), WARNED, ("warning", '{"a":1,'), WARNED, ("warning", '{"b":2,'), ("warning", "?")],
        {"text-line": 2, "torn-record": 2},
    ),
    "invalid UTF-8": (
        b'{"type":"later","s":"a\xffb"}\n\xfe\xfe\n',
        [("unknown", {"type": "later", "s": "a\ufffdb"}), ("warning", "\ufffd\ufffd")],
        {"invalid-utf-8": 1, "unknown-record": 1, "text-line": 1},
    ),
    "a lone surrogate": (
        SAID.replace(b"hello", b"a\\ud83db"),
        [("agent", "a\ud83db")],
        {},
    ),
    "a repeated name": (
        LIMIT.replace(b'"type":"rate_limit_event"', b'"type":"assistant","type":"rate_limit_event"'),
        [WARNED],
        {},
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", [0, 1, 5])
def test_damage(name: str, size: int) -> None:
    data, events, notes = CASES[name]
    found, counted = fed(data, size=size)
    assert (sorted_by_release(found), counted) == (sorted_by_release(events), notes)


def sorted_by_release(events: list[tuple[str, Any]]) -> list[str]:
    """Texts are held until their message is complete, so the table leaves their place open."""
    held = [repr(event) for event in events if event == HELLO or event[0] == "agent"]
    return [repr(event) for event in events if event[0] != "agent"] + held


def test_generic_output_is_kept_line_by_line() -> None:
    found, notes = fed(b'{"a":1}\n[1]\n text \xff\n\n' + LIMIT + ODD, form="generic")
    assert found == [
        ("unknown", {"a": 1}),
        ("unknown", [1]),
        ("unknown", "text \ufffd"),
        ("unknown", (LIMIT + ODD).decode()),
    ]
    assert notes == {"unknown-record": 4}


@pytest.mark.parametrize("deep", [1_000, 200_000])
def test_deep_nesting_is_kept(deep: int) -> None:
    data = b'{"type":"later","deep":' + b"[" * deep + b"]" * deep + b"}"
    parser = EventParser("claude", now=lambda: NOON)
    (event,) = parser.feed(data) + parser.close()
    assert data in encode(event)


def test_numbers_of_any_size_are_kept() -> None:
    digits = b"9" * 5000
    data = b'{"type":"later","n":' + digits + b',"x":1e400,"y":1.0}'
    parser = EventParser("claude", now=lambda: NOON)
    (event,) = parser.feed(data) + parser.close()
    assert data in encode(event)
    assert event.raw["y"] == 1.0


def test_a_surrogate_is_written_back_as_an_escape() -> None:
    parser = EventParser("claude", now=lambda: NOON)
    (event,) = parser.feed(SAID.replace(b"hello", b"\\udc00")) + parser.close()
    assert rb'"message":"\udc00"' in encode(event)


def laid_out(data: bytes) -> list[bytes]:
    """The bytes that each event's origin names."""
    parser = EventParser("claude", now=lambda: NOON, profile="extended", detail=True)
    told = [event.origin for event in parser.feed(data) + parser.close()]
    return [data[origin.offset :][: origin.length] for origin in told if origin]


def places(data: bytes) -> list[int]:
    """Where the record of each event begins."""
    parser = EventParser("claude", now=lambda: NOON, profile="extended", detail=True)
    told = [event.origin for event in parser.feed(data) + parser.close()]
    return [origin.offset for origin in told if origin]


WITHIN = b'{"type":"later","n":1,"m":{"type":"late"}}'


@pytest.mark.parametrize(
    ("data", "records"),
    [
        (ODD + LIMIT + ODD + b"\n", [ODD, LIMIT, ODD]),
        (LIMIT + b"\n" + WITHIN + b' {"type":"late"}\r\n', [LIMIT, WITHIN, b'{"type":"late"}']),
        (b"".join(b"t %d: " % at + ODD + ODD + b"\n" for at in range(3)), [ODD] * 6),
        (b"[" + ODD + b" , " + LIMIT + b"," + ODD + b"]", [ODD, LIMIT, ODD]),
        (b"[\n" + ODD + b", " + ODD + b",\n  " + LIMIT + b"\n]\n", [ODD, ODD, LIMIT]),
        (b"\xef\xbb\xbf [" + ODD + b"," + ODD + b"]", [ODD, ODD]),
    ],
)
def test_each_record_of_a_line_has_a_place_of_its_own(data: bytes, records: list[bytes]) -> None:
    assert laid_out(data) == records
    assert places(data) == sorted(set(places(data)))


@pytest.mark.parametrize(
    "record",
    [
        b'{"type":"user","skipped":"\xff","session_id":"s","message":{"content":"x"}}',
        b'{"type":"stream_event","session_id":"s","event":{"\xe9":1}}',
    ],
)
def test_invalid_utf_8_is_told_of_though_a_shape_skips_it(record: bytes) -> None:
    _, notes = fed(LIMIT + b"\n" + record + b"\n")
    assert notes == {"invalid-utf-8": 1}


def test_standard_error_is_warnings_line_by_line() -> None:
    parser = EventParser("claude", now=lambda: NOON)
    events = parser.feed(b"one\n\n  two \xff", "stderr") + parser.close()
    assert [event.message for event in events] == ["one", "two \ufffd"]


def test_text_lines_do_not_release_what_is_held() -> None:
    parser = EventParser("claude", now=lambda: NOON)
    events = (
        parser.feed(SAID + b"\nnoise\n[1]\n") + parser.feed(b"oops\n", "stderr") + parser.feed(LIMIT + b"\n")
    )
    assert [event.message if hasattr(event, "message") else event.raw for event in events] == [
        "noise",
        [1],
        "oops",
        "hello",
        "rate limit: rejected",
    ]
