from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenograph.paths import clean, is_absolute, line_range, resolve, to_line


@pytest.mark.parametrize(
    ("path", "cleaned"),
    [
        ("/", "/"),
        ("//", "/"),
        ("/a", "/a"),
        ("/a/", "/a"),
        ("//a//b//", "/a/b"),
        ("/a/./b/.", "/a/b"),
        ("/a/../b", "/b"),
        ("/a/b/../../c", "/c"),
        ("/..", "/"),
        ("/../../a", "/a"),
        ("/a/...", "/a/..."),
        ("/a b/ü", "/a b/ü"),
        ("a//b/../c", "a//b/../c"),
        ("./a", "./a"),
        ("~/a//b", "~/a//b"),
        ("$HOME/../a", "$HOME/../a"),
        ("C:\\a\\..\\b", "C:\\a\\..\\b"),
        ("\\\\host\\share\\.", "\\\\host\\share\\."),
        ("", ""),
    ],
)
def test_clean(path: str, cleaned: str) -> None:
    assert clean(path) == cleaned


@pytest.mark.parametrize("path", ["/", "/a", "~", "~/a", "~bob/a", "$A/b", "C:\\a", "c:/a", "C:", "\\\\h\\s"])
def test_absolute(path: str) -> None:
    assert is_absolute(path)


@pytest.mark.parametrize("path", ["", "a", "./a", "../a", "a/~", "a$b", "ab:/c", "C:a", "\\a", "1:/a"])
def test_relative(path: str) -> None:
    assert not is_absolute(path)


@pytest.mark.parametrize(
    ("path", "base", "resolved"),
    [
        ("a", "/w", "/w/a"),
        ("a", "/w/", "/w/a"),
        ("a", "/w//x/..", "/w/a"),
        ("a", "/", "/a"),
        ("./a/../b/", "/w", "/w/b"),
        ("../../../a", "/w", "/a"),
        (".", "/w", "/w"),
        ("/x//y", "/w", "/x/y"),
        ("/x//y", None, "/x/y"),
        ("./a//b/../c/", None, "./a//b/../c/"),
        ("a", "", "a"),
        ("~/a/../b", "/w", "~/a/../b"),
        ("$X/a", "/w", "$X/a"),
        ("C:\\a", "/w", "C:\\a"),
        ("\\\\h\\s", "/w", "\\\\h\\s"),
        ("a/../b", "C:\\w", "C:\\w\\a/../b"),
        ("a", "C:\\w\\", "C:\\w\\a"),
        ("a", "C:/w", "C:/w/a"),
        ("a", "C:", "C:\\a"),
        ("a", "\\\\h\\s", "\\\\h\\s\\a"),
        ("../a", "~/w", "~/w/../a"),
        ("a", "~", "~/a"),
        ("a", "$W/x/", "$W/x/a"),
        ("a", "src", "src/a"),
        ("../a", "src/", "src/../a"),
        ("", "/w", ""),
    ],
)
def test_resolve(path: str, base: str | None, resolved: str) -> None:
    assert resolve(path, base) == resolved


@given(st.text(alphabet="/.a b~$\\C:"), st.text(alphabet="/.a"))
def test_a_cleaned_path_stays_as_it_is(path: str, base: str) -> None:
    once = resolve(path, "/" + base)
    assert resolve(once, "/x") == once or not path
    if once.startswith("/"):
        assert not {"..", "."} & set(once.split("/"))


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (1, 1),
        (2**63 - 1, 2**63 - 1),
        ("7", 7),
        ("007", 7),
        (3.0, 3),
        (0, None),
        (-1, None),
        ("0", None),
        ("-1", None),
        ("+1", None),
        (" 1", None),
        ("1.0", None),
        ("", None),
        ("٣", None),
        ("²", None),
        pytest.param("9" * 5000, None, id="5,000 nines"),
        (2**63, None),
        pytest.param(10**5000, None, id="5,001 digits"),
        (3.5, None),
        (float("inf"), None),
        (float("nan"), None),
        (1e300, None),
        (True, None),
        (False, None),
        (None, None),
        ([1], None),
        ({}, None),
    ],
)
def test_to_line(value: object, line: int | None) -> None:
    assert to_line(value) == line
    assert type(to_line(value)) is type(line)


@pytest.mark.parametrize(
    ("start", "rest", "expected"),
    [
        (5, {"end": 9}, (5, 9)),
        (5, {"end": 5}, (5, 5)),
        (5, {"end": 4}, (5, None)),
        (5, {}, (5, None)),
        (None, {"end": 9}, (None, 9)),
        (5, {"count": 10}, (5, 14)),
        (5, {"count": 1}, (5, 5)),
        (None, {"count": 10}, (1, 10)),
        (0, {"count": 10}, (1, 10)),
        (5, {"count": 0}, (5, None)),
        (5, {"count": -1}, (5, None)),
        (5, {"end": 9, "count": 100}, (5, 9)),
        ("5", {"count": "10"}, (5, 14)),
        (5.0, {"end": "9"}, (5, 9)),
        (True, {"end": False}, (None, None)),
        (2**63 - 1, {"count": 2}, (2**63 - 1, None)),
        (None, {}, (None, None)),
    ],
)
def test_line_range(start: object, rest: dict[str, Any], expected: tuple[int | None, int | None]) -> None:
    assert line_range(start, **rest) == expected
