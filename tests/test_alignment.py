"""Alignment with known attributes, and outcomes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import naive
from explaining import explained
from known import compare_outcome
from leftout import MaxDisparityPartition, datasets
from leftout.data.columns import column_of
from leftout.data.roles import levels_of
from leftout.explain.alignment import Alignment, align, holm
from leftout.groups.outcome import without_outcome
from test_binning import raw_tables


@given(raw_tables(least=10), st.integers(0, 2**32 - 1))
def test_numbers_are_those_of_scipy(table, seed):
    group = np.random.default_rng(seed).permutation(np.arange(len(table)) % 3 == 0)
    lines = align(table, group)
    for line in lines:
        cells = table[line.column]
        assert 0.0 <= line.strength <= 1.0 and 0.0 <= line.p_value <= line.corrected <= 1.0
        if line.kind == "number":
            a, b = cells[group].dropna(), cells[~group].dropna()
            gap = (a.mean() - b.mean()) / np.sqrt((a.var(ddof=0) + b.var(ddof=0)) / 2)
            assert line.difference == pytest.approx(gap, rel=1e-9, nan_ok=True) or len(a) == 1
            assert line.ks == pytest.approx(stats.ks_2samp(a, b, method="asymp").statistic)
        else:
            inside = group
            if line.kind == "missing":
                cells = cells.isna()
            else:
                cells, inside = cells.dropna(), group[cells.notna()]
                assert naive_matters(table, group, line) == line.matters
            counts = pd.crosstab(cells.astype(object), inside)
            v = stats.contingency.association(counts.to_numpy(), method="cramer")
            assert line.cramers_v == pytest.approx(v, abs=1e-12)
    strengths = [line.strength for line in lines]
    assert strengths == sorted(strengths, reverse=True)
    want = naive.holm([line.p_value for line in lines])
    assert [line.corrected for line in lines] == pytest.approx(want)
    first = table.columns[0]
    for line in align(table, group, sensitive=[first]):
        if line.column == first and not table[first].isna().any():
            assert line.corrected == line.p_value  # a test among tests alone


def naive_matters(table, group, line):
    """Whether means, distributions or the share of any value are far enough apart."""
    known = table[line.column].notna()
    a, b = table[line.column][known & group], table[line.column][known & ~group]
    sides = [(a == value, b == value) for value in table[line.column].dropna().unique()]
    apart = [abs(x.mean() - y.mean()) for x, y in sides]
    if line.kind == "number":
        sides, apart = [(a, b)], [stats.ks_2samp(a, b, method="asymp").statistic]
    sizes = [abs(naive.standardised(x, y)) for x, y in sides]
    return max(apart) >= 0.03 - 1e-9 or max(sizes) >= 0.1 - 1e-9


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm(p_values):
    assert holm(np.array(p_values)) == pytest.approx(naive.holm(p_values))


def test_strength_is_one_scale_for_all_kinds():
    rng = np.random.default_rng(0)
    yes = rng.random(500) < 0.3
    group = rng.random(500) < 0.2 + 0.5 * yes
    as_text = align(pd.DataFrame({"v": np.where(yes, "y", "n")}), group)[0]
    assert as_text.cramers_v == pytest.approx(abs(np.corrcoef(yes, group)[0, 1]))
    assert as_text.strength == pytest.approx(as_text.cramers_v, abs=0.01)
    assert (as_text.contrast, as_text.left_out_share) == ("y", pytest.approx(yes[group].mean()))
    assert str(as_text).startswith("v = y: ")
    # a third value makes it a number; it is rare
    values = np.where(np.arange(500) == 7, 2.0, yes)
    as_number = align(pd.DataFrame({"v": values}), group)[0]
    assert as_number.kind == "number" and as_number.difference > 0.1
    by = naive.standardised(values[group], values[~group])
    assert str(as_number) == f"v higher on average, by {by:.2f} standard deviations"
    assert as_number.strength == pytest.approx(as_text.strength, abs=0.02)
    assert as_number.means == pytest.approx((values[group].mean(), values[~group].mean()))


def test_strength_sees_a_wider_spread():
    rng = np.random.default_rng(0)
    group = np.arange(600) < 200
    values = rng.standard_normal(600) * np.where(group, 5.0, 1.0)
    line = align(values[:, None], group)[0]
    assert abs(line.difference) < 0.3 and line.strength > 0.4


def test_a_column_of_identifiers_does_not_look_like_every_group():
    table = pd.DataFrame({"id": np.arange(400).astype(str), "k": np.arange(400) % 4 == 0})
    group = np.arange(400) % 4 == 0
    group[:8] = ~group[:8]
    lines = align(table, group)
    assert [line.column for line in lines] == ["k", "id"]
    assert lines[1].cramers_v == pytest.approx(1.0) and lines[1].strength < 0.05
    assert lines[1].p_value == 1.0


def test_many_categories_are_not_alike_by_chance():
    rng = np.random.default_rng(0)
    strengths, plain = [], []
    for _ in range(50):
        group, column = rng.permutation(np.arange(300) < 60), rng.integers(0, 30, 300)
        line = align(column.astype(str)[:, None], group)[0]
        strengths.append(line.strength)
        plain.append(line.cramers_v)
        k, m = len(np.unique(column)), 300
        phi2 = max(0.0, line.cramers_v**2 - (k - 1) / (m - 1))
        want = np.sqrt(phi2 / (min(k - (k - 1) ** 2 / (m - 1), 2 - 1 / (m - 1)) - 1))
        assert line.strength == pytest.approx(want)
    assert np.mean(plain) > 0.25 and np.mean(strengths) < 0.1


def test_columns_kept_out_of_the_search_are_marked_and_their_p_values_hold():
    """Under independence, 5% of the p-values of a hidden column are below 5%."""
    rng = np.random.default_rng(0)
    below = {"t": 0, "n": 0, "r": 0}
    for _ in range(300):
        table = pd.DataFrame(
            {
                "t": rng.choice(list("abc"), 200),
                "n": rng.standard_normal(200),
                "r": np.where(rng.random(200) < 0.02, "rare", rng.choice(list("xyz"), 200)),
            }
        )
        group = rng.permutation(np.arange(200) < 40)
        for line in align(table, group, sensitive=["t"]):
            below[line.column] += line.p_value <= 0.05
            assert line.searched == (line.column != "t")
    assert all(2 <= times <= 27 for times in below.values())


def test_small_groups_have_exact_tests():
    sex = np.where(np.arange(100) < 50, "M", "F")[:, None]
    for k in (3, 9, 12):
        group = np.arange(100) < k
        counts = np.array([[k, 0], [50 - k, 50]])
        p = align(sex, group)[0].p_value
        assert p == pytest.approx(stats.fisher_exact(counts)[1], rel=0.2 if k == 12 else 1e-9)


@pytest.mark.parametrize("k", [1, 3, 8])
def test_tiny_groups_raise_no_more_false_alarms_than_they_should(k):
    rng = np.random.default_rng(k)
    below = np.zeros(3)
    for _ in range(200):
        table = pd.DataFrame(
            {
                "n": rng.standard_normal(60),
                "t": rng.choice(list("ab"), 60),
                "c": rng.choice(list("abcdefgh"), 60),
            }
        )
        lines = {line.column: line for line in align(table, np.arange(60) < k)}
        below += [lines[name].p_value <= 0.05 for name in "ntc"]
    assert (below <= 20).all()


def test_infinite_values_have_a_strength_of_the_others():
    rng = np.random.default_rng(0)
    group = np.arange(300) % 4 == 0
    values = rng.standard_normal(300) + 2.0 * group
    clean = align(values[:200, None], group[:200])[0]
    for high, low in ((0, 100), (60, 40), (100, 0)):
        infinite = np.r_[values[:200], np.full(high, np.inf), np.full(low, -np.inf)]
        line = align(infinite[:, None], group)[0]
        assert (line.ks, line.difference) == (clean.ks, clean.difference)
        assert 0.2 < line.strength <= 1.0
    mostly = np.r_[np.full(290, np.inf), np.arange(10.0)]
    assert 0.0 <= align(mostly[:, None], group)[0].strength <= 1.0


def test_constant_columns_have_no_line_and_a_perfect_one_has_strength_1():
    table = pd.DataFrame({"c": [1] * 20, "g": [3.0] * 10 + [4.0] * 10, "m": [None] * 20})
    lines = align(table, np.arange(20) >= 10)
    assert [line.column for line in lines] == ["g"] and lines[0].strength == pytest.approx(1.0)


def test_rates_and_their_intervals():
    rng = np.random.default_rng(0)
    group = np.arange(300) < 100
    approved = np.where(group, rng.random(300) < 0.6, rng.random(300) < 0.9).astype(float)
    approved[:3] = np.nan
    (found,) = compare_outcome(approved, group, name="approved")
    known = ~np.isnan(approved)
    a, b = approved[group & known], approved[~group]
    assert found.kind == "rate" and found.positive == "1" and found.missing == 3
    assert (found.left_out.value, found.rest.value) == pytest.approx((a.mean(), b.mean()))
    for side, values in ((found.left_out, a), (found.rest, b)):
        p, n, z = values.mean(), len(values), stats.norm.ppf(0.975)
        middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        assert (side.low, side.high) == pytest.approx((middle - half, middle + half))
    # Newcombe: the difference reaches as far as the intervals of the two rates do, squared
    a, b, gap = found.left_out, found.rest, found.gap
    assert gap.value - gap.low == pytest.approx(np.hypot(a.value - a.low, b.high - b.value))
    assert gap.high - gap.value == pytest.approx(np.hypot(a.high - a.value, b.value - b.low))
    assert gap.low < gap.value < gap.high < 0
    assert str(found).startswith("approved = 1: ") and "points (95% interval" in str(found)


def test_the_interval_of_a_gap_covers_the_truth():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        y = np.append(rng.random(40) < 0.6, rng.random(160) < 0.9)
        (found,) = compare_outcome(y, np.arange(200) < 40, positive=True)
        covered += found.gap.low <= -0.3 <= found.gap.high
    assert covered >= 370


def test_means_categories_and_positive_values():
    group = np.array([1] * 5 + [0] * 5)
    income = np.array([1.0, 2, 3, 4, 5, 11, 12, 13, 14, 16])
    (found,) = compare_outcome(income, group, name="income")
    welch = stats.ttest_ind(income[:5], income[5:], equal_var=False).confidence_interval()
    assert found.kind == "mean" and found.gap[1:] == pytest.approx((welch.low, welch.high))
    for each, side in ((found.left_out, income[group == 1]), (found.rest, income[group == 0])):
        student = stats.ttest_1samp(side, 0.0).confidence_interval()
        assert each == pytest.approx((side.mean(), student.low, student.high))
    assert str(found).startswith("income: 3 on average in the group, 13.2 in the rest: -10.2")
    status = ["Graduate", "Dropout", "Enrolled", "Dropout", "Dropout"] + ["Graduate"] * 5
    each = compare_outcome(status, group)
    assert [o.positive for o in each] == ["Dropout", "Enrolled", "Graduate"]
    assert each[0].left_out.value == pytest.approx(0.6) and each[0].rest.value == 0.0
    (one,) = compare_outcome(pd.Series(status), group, positive="Graduate")
    assert one.rest.value == 1.0
    (equal,) = compare_outcome(income, group, positive=5)
    assert equal.kind == "rate" and equal.left_out.value == pytest.approx(0.2)
    for positive in (1, 1.0, np.float64(1.0), True, "1"):
        (found,) = compare_outcome([0, 1] * 5, group, positive=positive)
        assert found.positive == "1"
    (found,) = compare_outcome([False, True] * 5, group, positive=1)
    assert found.positive == "True"
    (flat,) = compare_outcome([1.0] * 5 + [2.0, 2.0, 2.0, 2.0, 3.0], group)
    assert flat.gap.value == pytest.approx(-1.2) and flat.gap.low < -1.2
    (alone,) = compare_outcome([1.0, 2, 3], [1, 0, 0])
    assert "too few rows for an interval" in str(alone)
    (infinite,) = compare_outcome([1.0, np.inf, 3, 4], [1, 0, 0, 1])
    assert infinite.missing == 1 and infinite.rest.value == 3.0
    for target, options, words in (
        (["a"] * 10, {}, "takes 1 value"),
        (status, {"positive": "graduate"}, "'graduate' is not a value of the target"),
        (np.arange("2020-01", "2020-11", dtype="datetime64[M]"), {}, "is a date"),
    ):
        with pytest.raises(ValueError, match=words):
            compare_outcome(target, group, **options)


def test_missing_cells_make_a_difference_under_their_own_name():
    """34 of 100 rows of the group have no town, 20 of 400 of the rest; known ones are alike."""
    group = np.arange(500) < 100
    town = np.where(np.arange(500) % 2, "a", "b").astype(object)
    town[:34], town[100:120] = None, None
    pay = np.where(np.isin(np.arange(500), [*range(34), *range(100, 120)]), np.nan, 1.0)
    pay[40:60], pay[200:300] = 3.0, 2.0
    lines = {(a.column, a.kind): a for a in align(pd.DataFrame({"t": town, "p": pay}), group)}
    known, gaps = lines["t", "category"], lines["t", "missing"]
    assert (known.left_out_share, known.rest_share) == (0.5, 0.5) and not known.matters
    assert (gaps.left_out_share, gaps.rest_share) == (0.34, 0.05) and gaps.matters
    assert gaps.standardised == pytest.approx(0.29 / np.sqrt((0.34 * 0.66 + 0.05 * 0.95) / 2))
    assert str(gaps) == "t is missing: 34% of the group, 5% of the rest"
    assert lines["p", "number"].matters
    assert str(lines["p", "missing"]) == "p is missing: 34% of the group, 5% of the rest"


def test_the_value_named_is_the_one_that_differs():
    """The group has 12 values a little more often, and one far less; or a rare one."""
    counts = np.array([[8] * 12 + [4], [70] * 12 + [160]])
    codes = [str(c) for side in counts for c, n in enumerate(side) for _ in range(n)]
    group = np.repeat([True, False], counts.sum(axis=1))
    line = align(pd.DataFrame({"v": codes}), group)[0]
    assert (line.contrast, line.left_out_share, line.rest_share) == ("12", 0.04, 0.16)
    counts = np.array([[510, 12, 478], [5_000, 5, 4_995]])
    codes = [str(c) for side in counts for c, n in enumerate(side) for _ in range(n)]
    group = np.repeat([True, False], counts.sum(axis=1))
    line = align(pd.DataFrame({"v": codes}), group)[0]
    assert (line.contrast, line.left_out_share, line.rest_share) == ("1", 0.012, 0.0005)


@pytest.mark.parametrize("kind", ["rate", "category", "mean"])
def test_rows_without_an_outcome_are_compared_too(kind):
    rng = np.random.default_rng(3)
    group = np.arange(700) < 120
    gone = rng.random(700) < np.where(group, 0.2, 0.1)
    values = {
        "rate": np.where(gone, np.nan, rng.integers(0, 2, 700)),
        "category": np.where(gone, None, rng.choice(list("abc"), 700)),
        "mean": np.where(gone, rng.choice([np.nan, np.inf], 700), rng.standard_normal(700)),
    }[kind]
    column = column_of(values, "y")
    levels = levels_of(column)
    found = without_outcome(column, group, levels)
    hits = [gone[side].sum() for side in (group, ~group)]
    a, b = naive.wilson(hits[0], 120), naive.wilson(hits[1], 580)
    assert hits[0] / 120 != hits[1] / 580
    assert found.left_out == pytest.approx(a) and found.rest == pytest.approx(b)
    assert found.gap == pytest.approx(naive.newcombe(a, b))
    assert found.difference == pytest.approx(naive.standardised(gone[group], gone[~group]))
    first = compare_outcome(values, group)[0]
    assert found.missing == first.missing == gone.sum() and found.notable
    assert str(found).startswith(f"y is missing: {100 * a[0]:.1f}% of the group, ")
    assert without_outcome(column_of(values[~gone], "y"), group[~gone], levels) is None


def test_differences_of_outcomes_are_standardised():
    rng = np.random.default_rng(4)
    group = np.arange(300) < 90
    pay = rng.standard_normal(300) + 0.3 * group
    (found,) = compare_outcome(pay, group)
    assert found.difference == pytest.approx(naive.standardised(pay[group], pay[~group]))
    (found,) = compare_outcome(pay > 0, group)
    assert found.difference == pytest.approx(naive.standardised(pay[group] > 0, pay[~group] > 0))
    many = np.arange(200_000) % 10 == 0
    for share, sign in ((0.02, 0), (0.04, -1)):  # both are clear
        rates = np.arange(200_000) // 10 % 100 < np.where(many, 50 - 100 * share, 50)
        (found,) = compare_outcome(rates, many)
        assert found.gap.value == pytest.approx(-share)
        assert found.gap.clear == -1 and found.differs == sign


def test_rows_are_the_deepest_and_the_most_typical():
    X, _ = datasets.make_planted(200, 6, 2, 40, random_state=0)
    found = MaxDisparityPartition(2, group_size=40, random_state=0).fit(X)
    rows = explained(found, X, rows=2).rows
    scores = found.score_samples(X)
    assert [row["row"] for row in rows["left_out"]] == np.argsort(-scores)[:2].tolist()
    rest = np.flatnonzero(found.labels_ == 0)
    middle = X[rest].mean(axis=0)
    near = rest[np.argsort(np.linalg.norm(X[rest] - middle, axis=1))[:2]]
    assert [row["row"] for row in rows["rest"]] == near.tolist()
    assert set(rows["rest"][0]["values"]) == {f"x{j}" for j in range(6)}


def test_small_shares_are_told_apart():
    line = Alignment(
        column="age", kind="missing", strength=0.1, p_value=0.01, left_out_share=0.204,
        rest_share=0.197,
    )  # fmt: skip
    assert str(line) == "age is missing: 20.4% of the group, 19.7% of the rest"
    line = replace(line, left_out_share=0.304)
    assert str(line) == "age is missing: 30% of the group, 20% of the rest"
