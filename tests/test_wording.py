"""Numbers, dates and spans of time as people read them."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cells
import leftout
from known import compare_outcome
from leftout.explain import describe
from leftout.explain.alignment import align
from leftout.text import as_name, date, number, points, shortest

EXPONENT = re.compile(r"\d[eE][+-]?\d")
DAY = 86_400e6


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (-0.0, "0"), (1.0, "1"), (0.5, "0.5"), (0.12345, "0.123"), (-0.9996, "-1"),
        (12.345, "12.3"), (99.96, "100"), (129.7, "130"), (999.6, "1,000"), (1234.5, "1,234"),
        (1e6, "1,000,000"), (-1234567.8, "-1,234,568"), (1.383e12, "1,383,000,000,000"),
        (999_999_999_999_999.0, "999,999,999,999,999"), (1e15, "1 \u00d7 10^15"),
        (-1.2345e200, "-1.23 \u00d7 10^200"), (6.14e-05, "0.0000614"), (1e-9, "0.000000001"),
        (9.9e-10, "9.9 \u00d7 10^-10"), (1e-17, "1 \u00d7 10^-17"), (5e-324, "4.94 \u00d7 10^-324"),
        (np.nan, "unknown"), (np.inf, "infinite"), (-np.inf, "-infinite"),
        (np.float64(0.25), "0.25"), (7, "7"),
    ],
)  # fmt: skip
def test_a_number(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "scale", "text"),
    [
        (-6.14e-05, 1.0, "0"), (1e-17, 0.3, "0"), (0.0004, 1.0, "0"), (0.0009, 1.0, "0"),
        (0.0016, 1.0, "0.002"),
        (0.0614, 1.0, "0.061"), (51.7, 17.0, "51.7"), (2013.47, 1.7, "2,013.5"),
        (2013.4712, 0.017, "2,013.471"), (45_123.4, 1e10, "0"), (45_123.4, 1e4, "45,123"),
        (6.17e-05, 2.7e-06, "0.0000617"), (3e-13, 1e-13, "3 \u00d7 10^-13"),
        (12.345, 0.0, "12.3"), (12.345, np.nan, "12.3"), (12.345, np.inf, "12.3"),
    ],
)  # fmt: skip
def test_a_number_of_a_scale(value, scale, text):
    assert number(value, scale) == text


finite = st.floats(-1e300, 1e300)


@given(finite)
def test_numbers_are_right_to_half_of_their_third_digit(value):
    text = number(value).replace(",", "").replace(" \u00d7 10^", "e")
    assert abs(float(text) - value) <= 0.0051 * abs(value) or abs(value) < 1e-320
    assert not EXPONENT.search(number(value))


@given(finite, st.floats(1e-6, 1e6))
def test_numbers_of_a_scale_are_right_to_a_share_of_it(value, scale):
    text = number(value, scale).replace(",", "").replace(" \u00d7 10^", "e")
    near = max(0.0051 * abs(value), 0.001 * scale)
    assert abs(float(text) - value) <= near


@given(finite)
def test_the_shortest_text_is_the_value(value):
    read = float(shortest(value))  # of single precision, where it is one
    assert read == value or np.float32(read) == value
    if 1e-9 <= abs(value) < 1e15:
        assert not EXPONENT.search(shortest(value))


def test_shares():
    assert [points(share) for share in (0.0083, 0.0366, 0.714, 1.0, 1e-6)] == [
        "0.83", "3.66", "71.4", "100", "0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("spread", "text"),
    [
        (None, "2013-10-01 05:12:33.123456"), (407 * DAY, "2013-10-01"), (DAY, "2013-10-01"),
        (0.99 * DAY, "2013-10-01 05:12"), (60e6, "2013-10-01 05:12"),
        (59e6, "2013-10-01 05:12:33.123456"),
    ],
)  # fmt: skip
def test_a_date(spread, text):
    when = np.datetime64("2013-10-01T05:12:33.123456").astype(np.int64)
    assert date(float(when), spread) == text


def test_dates_without_a_time_or_before_1970():
    assert date(-DAY) == "1969-12-31"
    assert date(-DAY / 2) == "1969-12-31 12:00:00"
    assert date(-DAY / 2, 9 * DAY) == "1969-12-31"


def people(n=300):
    """Dates, an epoch, incomes of 1e12, tiny means, tiny and huge values; the group is last."""
    rng = np.random.default_rng(0)
    group = np.arange(n) >= n - 60
    joined = pd.Timestamp("2013-10-01") + pd.to_timedelta(
        rng.uniform(0, 900, n) + 1000 * group, "D"
    )
    noise = rng.standard_normal(n)
    table = pd.DataFrame(
        {
            "joined": joined,
            "logged": pd.Timestamp("2021-05-05 08:00") + pd.to_timedelta(rng.uniform(0, 9, n), "h"),
            "epoch": np.round(1.38e9 + 1e7 * rng.random(n)) * 1000,
            "income": 1e12 * rng.lognormal(size=n) * (1 + 2 * group),
            "centred": noise - noise.mean() - 6.14e-05,
            "minute": 3e-7 * (1 + rng.random(n)) + 2e-7 * group,
            "loss": -1e9 * rng.random(n),
            "kind": rng.choice(["a", "b", "c"], n),
        }
    )
    return table, group


def test_means_of_columns_are_in_the_columns_own_words():
    table, group = people()
    lines = {line.column: line for line in align(table, group)}
    for name in ("joined", "logged"):
        means = [table[name][side].mean() for side in (group, ~group)]
        form = "%Y-%m-%d" if name == "joined" else "%Y-%m-%d %H:%M"
        assert lines[name].dates and lines[name].sides() == tuple(m.strftime(form) for m in means)
        # data keep the number
        assert lines[name].means[0] == pytest.approx(means[0].value / 1e3, rel=1e-12)
    spread = abs(lines["joined"].difference)
    by = f"on average, by {spread:.2f} standard deviations"
    assert str(lines["joined"]) == f"joined later {by}"
    back = {line.column: line for line in align(table, ~group)}
    assert str(back["joined"]) == f"joined earlier {by}"
    for name in ("epoch", "income", "loss"):
        means = [table[name][side].mean() for side in (group, ~group)]
        assert lines[name].sides() == tuple(f"{mean:,.0f}" for mean in means)
    spreads = [table["income"][side].std(ddof=0) for side in (group, ~group)]
    assert lines["income"].spreads == pytest.approx(spreads)
    means = [table["minute"][side].mean() for side in (group, ~group)]
    assert lines["minute"].sides() == tuple(f"{mean:.9f}".rstrip("0") for mean in means)


def test_a_mean_that_is_zero_but_for_rounding_is_zero():
    values = np.tile([-1.0, 0.0, 1.0], 40) - 6.14e-05
    line = align(pd.DataFrame({"x": values}), np.arange(120) < 60)[0]
    assert line.means == pytest.approx((-6.14e-05, -6.14e-05))
    assert line.sides() == ("0", "0")
    found, *_ = compare_outcome(values, np.arange(120) < 60, name="x")
    assert found.sides() == ("0", "0")
    assert str(found).startswith("x: 0 on average in the group, 0 in the rest: 0 (95% interval -0.")


def test_outcomes_of_any_size():
    labels = np.repeat([0, 1], 50)
    rng = np.random.default_rng(1)
    year = 2000 + rng.integers(0, 20, 100) + labels * 3
    found, *_ = compare_outcome(year, labels, name="year")
    a, b = year[labels == 1].mean(), year[labels == 0].mean()
    assert found.sides() == tuple(f"{mean:,.1f}".removesuffix(".0") for mean in (a, b))
    large, *_ = compare_outcome(year * 1e11, labels, name="year")
    assert not EXPONENT.search(str(large)) and f"{a * 1e11:,.0f}" in str(large)
    small, *_ = compare_outcome((year - 2000) * 1e-7, labels, name="year")
    assert not EXPONENT.search(str(small)) and small.sides()[0].startswith("0.00000")


def test_ends_of_long_columns():
    encoder = leftout.TableEncoder().fit(
        pd.DataFrame({
            "when": pd.date_range("2009-02-06 23:42:04.123169", periods=50, freq="35h"),
            "x": np.linspace(1 / 3e10, 2 / 3, 50), "n": np.arange(50) * 30 + 1400,
        })
    )  # fmt: skip
    assert [line.how for line in encoder.columns_] == [
        "2009-02-06 to 2009-04-19, scaled", "0 to 0.667, scaled", "1400 to 2870, scaled",
    ]  # fmt: skip


def test_a_report_has_no_exponents():
    table, group = people()
    for column in ("epoch", "income", "loss", "minute"):
        table.loc[group, column] = table.loc[group, column].sample(frac=1, random_state=0).values
    found = leftout.audit(table, target="income", n_surrogates=0, group_size=60, n_restarts=0)
    lines = cells.Page(found.html()).lines
    told = map(str, found.explanation.alignment)
    text = "\n".join([*lines, found.summary(), *told])
    assert not [line for line in text.splitlines() if EXPONENT.search(line)]


def test_names_that_are_numbers_are_quoted():
    table = pd.DataFrame({1: np.arange(400.0) / 80, "town": ["a", "b"] * 200})
    left_out = (table[1] >= 1.65) & (table[1] < 2.5)
    assert re.fullmatch(r"1\.\d+ <= '1' < 2\.\d+", describe(table, left_out.to_numpy()).text)
    for name, text in (("1", "'1'"), ("2020", "'2020'"), ("1,5%", "'1,5%'"), ("x1", "x1")):
        assert as_name(name) == text
