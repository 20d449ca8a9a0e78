"""Computed costs: by a price list, apart from what agents report."""

import subprocess
import sys

import pytest
from genai_prices import Usage, calc_price
from hypothesis import given, settings
from hypothesis import strategies as st

from recordings import recordings
from stenograph import usage
from stenograph.meter import Counts, Row
from stenograph.prices import Prices, Rates, inclusive, priced

PRICES = Prices()
NUMBERS = st.integers(0, 30_000)  # together below the 200,000 from which some requests cost more


def row(model: str | None, **counts: int) -> Row:
    return Row(agent="a", model=model, day="2026-11-30", tokens=Counts(**counts))


@settings(max_examples=60, deadline=None)
@given(fresh=NUMBERS, read=NUMBERS, short=NUMBERS, hour=NUMBERS, output=NUMBERS, thought=NUMBERS)
def test_a_cost_is_what_the_list_says_of_an_input_with_its_cache(fresh, read, short, hour, output, thought):
    tokens = Counts(
        uncached_input=fresh + short + hour,
        cached_input=read,
        cache_write=short + hour,
        cache_write_1h=hour,
        output=output,
        reasoning=thought,
    )
    told = inclusive(tokens)
    assert told["input_tokens"] == fresh + read + short + hour
    expected = calc_price(Usage(**told), "claude-opus-5-5").total_price
    assert PRICES.cost(Row(agent="a", model="claude-opus-5-5", tokens=tokens)) == pytest.approx(
        float(expected)
    )


@given(fresh=NUMBERS, read=NUMBERS, written=NUMBERS)
def test_counts_come_back_from_the_lists_terms(fresh, read, written):
    tokens = Counts.apart(fresh=fresh, read=read, written=written)
    told = inclusive(tokens)
    back = Counts.together(
        given=told["input_tokens"], read=told["cache_read_tokens"], written=told["cache_write_tokens"]
    )
    assert back == tokens


def test_the_price_of_a_recorded_run_is_the_reported_one():
    for recording in recordings():
        if recording.name.startswith("claude/") and recording.format == "claude":
            account = usage(recording.stdout, format="claude")
            if account.cost and "server_tool" not in recording.name:
                assert PRICES.total(account.rows) == pytest.approx(account.cost), recording.name


def test_cache_writes_for_an_hour_have_a_rate_of_their_own():
    rates = PRICES.rates("claude-opus-5-5")
    assert rates is not None
    assert (rates.write, rates.write_1h) == (rates.fresh * 5 / 4, rates.fresh * 2)
    short = PRICES.cost(row("claude-opus-5-5", uncached_input=1000, cache_write=1000))
    hour = PRICES.cost(row("claude-opus-5-5", uncached_input=1000, cache_write=1000, cache_write_1h=1000))
    assert (short, hour) == (0.005, 0.008)


@pytest.mark.parametrize("model", ["fake-model", "gpt-fake", "<synthetic>", "", "no/such", None])
def test_an_unknown_model_has_no_price(model):
    assert PRICES.cost(row(model, uncached_input=1, output=1)) is None
    assert PRICES.total([row(model, output=1), row("claude-opus-5-5", output=1)]) is None


def test_what_took_nothing_needs_no_price():
    assert PRICES.cost(row("claude-opus-5-5")) is None
    assert PRICES.cost(row("claude-opus-5-5", output=0)) == 0
    assert PRICES.total([row("fake-model", output=0), row("claude-opus-5-5", output=10)]) == 0.0002
    assert PRICES.total([]) is None


def test_a_class_without_a_rate_makes_the_cost_unknown():
    rates = Rates(fresh=None, read=None, write=None, write_1h=None, output=PRICES.rates("gpt-5").output)
    assert priced(Counts(output=1), rates) == 0.00001
    assert priced(Counts(output=1, uncached_input=0), rates) == 0.00001
    assert priced(Counts(output=1, uncached_input=1), rates) is None


def test_models_behind_a_router_are_known_by_their_names_there():
    assert PRICES.rates("openrouter/anthropic/claude-sonnet-4.5") == PRICES.rates(
        "anthropic/claude-sonnet-4.5"
    )
    assert PRICES.cost(row("qwen/qwen3-coder:free", output=5)) is None  # known, but not its price


def test_each_model_is_looked_up_once(monkeypatch):
    prices = Prices()
    calls = []
    monkeypatch.setattr(prices, "_look_up", lambda model, day: calls.append(model))
    for _ in range(3):
        prices.cost(row("fake-model", output=1))
    assert calls == ["fake-model"]


def test_the_source_names_the_list_and_its_version():
    name, version = PRICES.source.split()
    assert name == "genai-prices"
    assert version[0].isdigit()


def test_without_the_list_the_extra_is_named():
    code = (
        "import sys; sys.modules['genai_prices'] = None\n"
        "from stenograph.prices import Prices\n"
        "try: Prices()\nexcept ImportError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "genai-prices is not installed; run: pip install 'stenograph[prices]'\n"
