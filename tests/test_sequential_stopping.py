"""How many comparison tables are enough."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from leftout.evidence.sequential_stopping import drawing_interval, most_tables, should_stop
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
    if above >= 5 and inside(above, n, 0.7).low > 0.05:
        return True
    clear = {19: 1.5, 39: 1.0}
    if n in clear and above == 0:
        return value - max(others) >= clear[n] * np.std([*others, value])
    return n >= 99 and n >= asked and inside(above, n, 0.7).high < 0.05


@given(
    st.integers(0, 10_000),
    st.sampled_from([-0.5, 0.5, 1.3, 1.7, 2.2, 3.0, 4.5]),
    st.sampled_from([5, 19, 30, 99, 150]),
)
def test_settled_is_its_rules(seed, value, asked):
    others = np.random.default_rng(seed).standard_normal(most_tables(asked))
    looks = [*range(8, 41), 98, 99, 100, 149, 150, 200, 398, most_tables(asked)]
    for seen in (others[:n] for n in looks if n <= len(others)):
        assert should_stop(value, seen, asked) == plainly_settled(value, seen, asked), len(seen)


@pytest.mark.parametrize(
    ("above", "n", "enough"),
    [
        *((8, 8, False), (5, 9, True), (4, 9, False), (4, 19, False), (5, 56, True)),
        *((5, 57, False), (6, 71, True), (6, 72, False), (8, 104, True), (8, 105, False)),
        *((2, 98, False), (2, 99, True), (3, 99, False), (4, 143, False), (4, 144, True)),
        *((20, 398, False), (20, 399, True)),
    ],
)
def test_settled_on_both_sides_of_every_number(above, n, enough):
    assert should_stop(1.0, reached(above, n), 99) == enough


@pytest.mark.parametrize(("n", "clear"), [(19, 1.5), (39, 1.0), (20, np.inf)])
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
def test_an_early_no_is_that_of_99_tables(seed, value):
    others = np.random.default_rng(seed).standard_normal(99)
    seen = stopped(value, np.append(others, np.full(300, -9.0)))
    if len(seen) < 99 and p_value(value, seen) > LEVEL:
        assert np.sum(seen >= value) >= 5 and p_value(value, others) >= 0.06


def paths(p=None):
    """Tables, "yes" and agreement with 99 tables, over all paths: by rank alone, p uniform if None.

    How many of ``n`` tables reach the value is the state; without structure each rank of the value
    is as likely, so the next table reaches it with probability ``(above + 1) / (n + 2)``.
    """
    tables, yes, same = 0.0, 0.0, 0.0
    states = {(0, None): 1.0}  # above, and what 99 tables said
    for n in range(1, 400):
        after = {}
        for (above, said), weight in states.items():
            up = (above + 1) / (n + 1) if p is None else p
            for more, share in ((1, up), (0, 1.0 - up)):
                now = above + more
                known = now <= 4 if n == 99 else said
                if n < 99 and now > 4:
                    known = False
                after[now, known] = after.get((now, known), 0.0) + weight * share
        states = {}
        for (above, said), weight in after.items():
            if should_stop(1.0, reached(above, n), 99):
                assert said is not None  # no early yes: reached() keeps values apart
                tables += n * weight
                answer = (1 + above) / (1 + n) <= LEVEL
                yes += weight * answer
                same += weight * (answer == said)
            else:
                states[above, said] = weight
    return tables, yes, same


def test_what_the_rules_do_without_structure():
    tables, yes, same = paths()
    assert tables == pytest.approx(26.7, abs=0.05) and tables <= 35.0
    assert yes == pytest.approx(0.0501, abs=5e-5)
    assert same == pytest.approx(0.9893, abs=5e-5) and same >= 0.98


@pytest.mark.parametrize(("p", "share"), [(0.02, 0.993), (0.03, 0.946), (0.06, 0.210)])
def test_more_than_99_tables_decide_better_near_the_level(p, share):
    _, yes, _ = paths(p)
    fixed = stats.binom.cdf(4, 99, p)
    assert yes == pytest.approx(share, abs=5e-4)
    assert yes > fixed if p < LEVEL else yes < fixed


@given(st.integers(0, 10_000), st.sampled_from([2.5, 3.0, 4.0, 6.0]))
def test_an_early_yes_has_none_that_reach(seed, value):
    seen = stopped(value, np.random.default_rng(seed).standard_normal(399))
    if len(seen) < 99 and p_value(value, seen) <= LEVEL:
        assert len(seen) in (19, 39) and seen.max() < value


@given(st.integers(1, 500), st.floats(0, 1))
def test_figures_interval_is_clopper_and_pearsons(n, share):
    above = round(share * n)
    p, low, high = drawing_interval(above, n)
    want = inside(above, n, 0.9)
    assert p == (1 + above) / (1 + n)
    assert (low, high) == pytest.approx((want.low, want.high), rel=1e-9, abs=1e-12)


def test_most_tables():
    assert [most_tables(asked) for asked in (0, 5, 98, 99, 199)] == [0, 5, 98, 399, 799]
