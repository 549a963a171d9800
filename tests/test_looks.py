"""How many comparison tables are enough."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from leftout.core.ranks import LEVEL, p_value
from leftout.evidence.looks import drawing_interval, most_tables, settled


def reached(above, n):
    """Values of ``n`` tables of which ``above`` reach 1, spread widely, so that none is clear."""
    return np.array([2.0] * above + [-((-1.0) ** i) * 0.9 for i in range(n - above)])


def plainly_settled(value, others, asked):
    """The rules as the module's first lines say them."""
    n, above = len(others), sum(other >= value for other in others)
    if n == (4 * (asked + 1) - 1 if asked >= 99 else asked):
        return True
    if n < 9:
        return False
    if n <= 19 and above >= 4 or 19 < n <= 39 and above >= 5 or 39 < n <= 99 and above >= 11:
        return True
    clear = {19: 1.5, 39: 1.0}
    if n in clear and above == 0:
        return value - max(others) >= clear[n] * np.std([*others, value])
    if n >= 99 and n >= asked:
        inside = stats.binomtest(above, n).proportion_ci(0.9, "exact")
        return not inside.low < 0.05 < inside.high
    return False


@given(
    st.integers(0, 10_000),
    st.sampled_from([-0.5, 0.5, 1.3, 1.7, 2.2, 3.0, 4.5]),
    st.sampled_from([5, 19, 30, 99, 150]),
)
def test_settled_is_its_rules(seed, value, asked):
    others = np.random.default_rng(seed).standard_normal(most_tables(asked))
    looks = [*range(8, 41), 98, 99, 100, 149, 150, 200, 398, most_tables(asked)]
    for seen in (others[:n] for n in looks if n <= len(others)):
        assert settled(value, seen, asked) == plainly_settled(value, seen, asked), len(seen)


@pytest.mark.parametrize(
    ("above", "n", "enough"),
    [
        *((8, 8, False), (4, 9, True), (3, 9, False), (4, 19, True), (3, 19, False)),
        *((4, 20, False), (5, 39, True), (4, 39, False), (10, 40, False), (11, 40, True)),
        *((10, 98, False), (11, 98, True), (10, 99, True), (9, 99, False), (2, 99, False)),
        *((1, 99, True), (0, 98, False), (4, 200, True), (20, 398, False), (20, 399, True)),
    ],
)
def test_settled_on_both_sides_of_every_number(above, n, enough):
    assert settled(1.0, reached(above, n), 99) == enough


@pytest.mark.parametrize(("n", "clear"), [(19, 1.5), (39, 1.0), (20, np.inf)])
def test_a_table_that_stands_clear(n, clear):
    """The spread of values and the table's own together decides."""
    others = np.append(np.tile([-1.0, 1.0], n // 2), [0.0] * (n % 2))
    values = 1.0 + np.linspace(0.5, 4.0, 15)
    found = [settled(value, others, 99) for value in values]
    assert found == [value - 1.0 >= clear * np.append(others, value).std() for value in values]
    assert not any(found) if n == 20 else {True, False} == set(found)


def stopped(value, others, asked=99):
    n = next(n for n in range(len(others) + 1) if settled(value, others[:n], asked))
    return others[:n]


@given(st.integers(0, 10_000), st.sampled_from([-1.0, 0.5, 1.0, 1.3, 1.6, 2.0]))
def test_an_early_no_is_that_of_99_tables(seed, value):
    """After a no, p is above the level, and 99 tables would hardly have said anything else.

    Five that reach the value leave 99 tables a p of 0.06 at least. Four, which end the drawing
    among the first 19, leave 0.05, if none of all the others reaches it: the one exception.
    """
    others = np.random.default_rng(seed).standard_normal(99)
    seen = stopped(value, np.append(others, np.full(300, -9.0)))
    p, fixed = p_value(value, seen), p_value(value, others)
    if len(seen) < 99 and p > LEVEL:
        above = int(np.sum(seen >= value))
        assert above >= (4 if len(seen) <= 19 else 5) and p >= 0.12
        if above == 4 and not np.any(others[len(seen) :] >= value):
            assert fixed == LEVEL
        else:
            assert fixed > LEVEL


def test_the_one_exception_exists():
    others = np.append(reached(4, 19), np.full(80, -1.0))
    assert len(stopped(1.0, others)) == 9 and p_value(1.0, others) == LEVEL


@given(st.integers(0, 10_000), st.sampled_from([2.5, 3.0, 4.0, 6.0]))
def test_an_early_yes_has_none_that_reach(seed, value):
    seen = stopped(value, np.random.default_rng(seed).standard_normal(399))
    if len(seen) < 99 and p_value(value, seen) <= LEVEL:
        assert len(seen) in (19, 39) and seen.max() < value


@given(st.integers(1, 500), st.floats(0, 1))
def test_drawing_interval_is_clopper_and_pearsons(n, share):
    above = round(share * n)
    p, low, high = drawing_interval(above, n)
    want = stats.binomtest(above, n).proportion_ci(0.9, method="exact")
    assert p == (1 + above) / (1 + n)
    assert (low, high) == pytest.approx((want.low, want.high), rel=1e-9, abs=1e-12)


def test_most_tables():
    assert [most_tables(asked) for asked in (0, 5, 98, 99, 199)] == [0, 5, 98, 399, 799]
