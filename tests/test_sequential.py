"""How many comparison tables are enough."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from leftout.evidence.sequential import most_tables, p_value_interval, should_stop
from leftout.linalg.significance import LEVEL, p_value


def reached(above, n):
    """Values of ``n`` tables of which ``above`` reach 1, spread widely, so that none is clear."""
    return np.array([2.0] * above + [-((-1.0) ** i) * 0.9 for i in range(n - above)])


def inside(above, n, confidence):
    return stats.binomtest(above, n).proportion_ci(confidence, "exact")


def plainly_settled(value, others, asked):
    """The rules as the module's first lines say them."""
    n, above = len(others), sum(other >= value for other in others)
    if n == (4 * (asked + 1) - 1 if asked >= 99 else asked):
        return True
    if n < 9:
        return False
    if above >= 3 and inside(above, n, 0.7).low > 0.05:
        return n >= 19 or (1 + above) / (1 + n) >= 0.25
    if n == 19 and above == 0:
        return value - max(others) >= 1.5 * np.std([*others, value])
    if n < 39:
        return False
    yes, margin, error = (1 + above) / (1 + n) <= 0.05, *beyond_quantile(value, others)
    if n < max(asked, 99):
        return yes and margin > 1.645 * error
    return inside(above, n, 0.7).high < 0.05 or yes == (margin >= 0.0)


def beyond_quantile(value, others):
    """In standard deviations of others, how far a value is beyond what 5% of them exceed."""
    z, at = stats.norm.ppf(0.95), (value - np.mean(others)) / np.std(others)
    quantile = z + max(0.0, stats.skew(others)) * (z**2 - 1.0) / 6.0
    return at - quantile, np.sqrt((1.0 + at**2 / 2.0) / len(others))


@given(
    st.integers(0, 10_000),
    st.sampled_from([-0.5, 0.5, 1.3, 1.7, 2.2, 3.0, 4.5]),
    st.sampled_from([5, 19, 30, 99, 150]),
)
def test_settled_is_its_rules(seed, value, asked):
    others = np.random.default_rng(seed).standard_normal(most_tables(asked))
    looks = [*range(8, 41), 60, 80, 98, 99, 100, 149, 150, 200, 398, most_tables(asked)]
    for seen in (others[:n] for n in looks if n <= len(others)):
        assert should_stop(value, seen, asked) == plainly_settled(value, seen, asked), len(seen)


@pytest.mark.parametrize(
    ("above", "n", "enough"),
    [
        *((8, 8, False), (3, 9, True), (2, 9, False), (2, 19, False), (3, 26, True)),
        *((3, 27, False), (4, 41, True), (4, 42, False), (5, 56, True)),
        *((5, 57, False), (6, 71, True), (6, 72, False), (5, 98, False), (5, 99, True)),
        *((2, 98, False), (2, 99, True), (3, 99, False), (4, 143, False), (4, 144, True)),
        *((18, 398, False), (18, 399, True)),
    ],
)
def test_settled_on_both_sides_of_every_number(above, n, enough):
    assert should_stop(1.0, reached(above, n), 99) == enough


@pytest.mark.parametrize(("n", "clear"), [(19, 1.5), (20, np.inf)])
def test_a_table_that_stands_clear(n, clear):
    """The spread of values and the table's own together decides."""
    others = np.append(np.tile([-1.0, 1.0], n // 2), [0.0] * (n % 2))
    values = 1.0 + np.linspace(0.5, 4.0, 15)
    found = [should_stop(value, others, 99) for value in values]
    assert found == [value - 1.0 >= clear * np.append(others, value).std() for value in values]
    assert not any(found) if n == 20 else {True, False} == set(found)


def stopped(value, others, asked=99):
    n = next(n for n in range(len(others) + 1) if should_stop(value, others[:n], asked))
    return others[:n]


@given(st.integers(0, 10_000), st.sampled_from([-1.0, 0.5, 1.0, 1.3, 1.6, 2.0]))
def test_an_early_no_is_far_from_the_level(seed, value):
    seen = stopped(value, np.random.default_rng(seed).standard_normal(399))
    above = int(np.sum(seen >= value))
    if len(seen) < 99 and p_value(value, seen) > LEVEL:
        assert above >= 3 and inside(above, len(seen), 0.7).low > LEVEL


def decided(law, p=None, paths=400):
    """Tables drawn, and "yes" by these rules and by 99 tables, on average over paths.

    Values of the table and of others follow a law; ``p`` is how often others reach the table's, or
    None: as often as its own law has it.
    """
    rng = np.random.default_rng(0)
    others = law.rvs((paths, most_tables(99)), random_state=rng)
    values = law.rvs(paths, random_state=rng) if p is None else np.full(paths, law.isf(p))
    seen = [stopped(*path) for path in zip(values, others, strict=True)]
    yes = [p_value(*path) <= LEVEL for path in zip(values, seen, strict=True)]
    fixed = [p_value(*path) <= LEVEL for path in zip(values, others[:, :99], strict=True)]
    return np.mean([len(each) for each in seen]), np.mean(yes), np.mean(fixed)


LAWS = [stats.norm(), stats.gamma(16.0), stats.gamma(3.3)]


@pytest.mark.parametrize("law", LAWS, ids=["normal", "skewed", "very skewed"])
def test_what_the_rules_do_without_structure(law):
    tables, yes, fixed = decided(law, paths=2000)
    assert tables <= 22.0
    assert 0.035 <= yes <= 0.065 and abs(yes - fixed) <= 0.012


@pytest.mark.parametrize("law", LAWS, ids=["normal", "skewed", "very skewed"])
@pytest.mark.parametrize(("p", "most"), [(0.01, 50), (0.03, 85), (0.12, 55)])
def test_fewer_tables_decide_at_least_as_well_as_99(law, p, most):
    tables, yes, fixed = decided(law, p)
    assert tables <= most
    assert yes >= fixed - 0.005 if p < LEVEL else yes <= fixed + 0.015


@given(st.integers(0, 10_000), st.sampled_from([2.5, 3.0, 4.0, 6.0]))
def test_an_early_yes_is_far_from_the_level(seed, value):
    seen = stopped(value, np.random.default_rng(seed).standard_normal(399))
    if len(seen) < 99 and p_value(value, seen) <= LEVEL:
        margin, error = beyond_quantile(value, seen)
        assert seen.max() < value if len(seen) == 19 else len(seen) >= 39 and margin > error


@given(st.integers(1, 500), st.floats(0, 1))
def test_figures_interval_is_clopper_and_pearsons(n, share):
    above = round(share * n)
    p, low, high = p_value_interval(above, n)
    want = inside(above, n, 0.9)
    assert p == (1 + above) / (1 + n)
    assert (low, high) == pytest.approx((want.low, want.high), rel=1e-9, abs=1e-12)


def test_most_tables():
    assert [most_tables(asked) for asked in (0, 5, 98, 99, 199)] == [0, 5, 98, 399, 799]
