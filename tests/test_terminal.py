"""Foreign text on a terminal: nothing active passes, nothing is wider than allowed."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stenograph.cli.terminal import clean, columns, cut, cut_front, fold, has_colour, width

NASTY = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            list(
                "\x00\x07\x08\t\n\r\x1b\x7f\x85\x9b\u202e\u2066\u200b\u200d\ufeff\u2028ab 日本é\u0301😀\ufe0f"
            )
        ),
    )
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("two\n\n  lines\t and\r\nmore ", "two lines and more"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("back\x08\x08space\x7f", "back␈␈space␡"),
        ("c1 \x9b31m", "c1 <U+009B>31m"),
        ("user\u202etxt.exe", "user<U+202E>txt.exe"),
        ("zero\u200bwidth\ufeff", "zero<U+200B>width<U+FEFF>"),
        ("hidden\U000e0101", "hidden<U+E0101>"),
        ("filler \u3164", "filler <U+3164>"),
        ("lone \ud800", "lone <U+D800>"),
        ("[bold]as it is[/bold]", "[bold]as it is[/bold]"),
        ("café 日本 ⚠️", "café 日本 ⚠️"),
    ],
)
def test_clean(text, shown):
    assert clean(text) == shown


@given(NASTY)
@settings(max_examples=300, deadline=None)
def test_nothing_active_passes(text):
    for char in clean(text):
        assert unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}


@given(NASTY, st.integers(1, 40))
@settings(max_examples=300, deadline=None)
def test_nothing_is_wider_than_allowed(text, cells):
    assert width(fold(text, cells)) <= cells
    assert width(cut(clean(text), cells)) <= cells
    assert width(cut_front(clean(text), cells)) <= cells


@given(NASTY)
@settings(max_examples=100, deadline=None)
def test_what_fits_is_not_cut(text):
    shown = clean(text)
    assert fold(text, max(width(shown), len(text), 1)) == shown


@pytest.mark.parametrize(
    ("text", "cells"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("⚠\ufe0f", 2), ("😀", 2)]
)
def test_width(text, cells):
    assert width(text) == cells


def test_cutting_shows_that_something_is_missing():
    assert cut("abcdef", 4) == "abc…"
    assert cut("日本語", 4) == "日…"
    assert cut_front("/home/dev/app.py", 7) == "…app.py"
    assert fold("a" * 100, 5) == "aaaa…"
    assert fold(" " * 1000 + "found", 10) == "found"
    assert fold("a" + " " * 1000 + "b", 10) == "a…"


def test_a_long_text_is_not_looked_through():
    assert fold("word " * 10_000_000, 20) == "word word word word…"


def test_colour_only_on_a_terminal_that_wants_it(monkeypatch):
    monkeypatch.setattr("sys.stdout", type("Terminal", (), {"isatty": lambda _: True})())
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert has_colour()
    monkeypatch.setenv("TERM", "dumb")
    assert not has_colour()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not has_colour()
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setattr("sys.stdout", None)
    assert not has_colour()


def test_the_width_can_be_set(monkeypatch):
    monkeypatch.setenv("COLUMNS", "66")
    assert columns() == 66
