"""Pairs of conditions, weighed by sums of counts, are those of the rows they hold for."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest

from leftout.explain.pairing import Stretches, best_pairs

ROWS = 70


def conditions(n_items, rng):
    """Every stretch of some columns' items, and about half of them as all but that stretch."""
    found = []
    for k in n_items:
        ends = list(combinations(range(k + 1), 2))
        found.append([(*end, False) for end in ends])
        found[-1] += [(*end, True) for end in ends if rng.random() < 0.5]
    start, stop, all_but = np.array(sum(found, []), dtype=np.intp).T.copy()
    return Stretches(
        start,
        stop,
        all_but.astype(bool),
        rng.choice([0.0, 0.01, 0.02], len(start)),
        np.cumsum([0, *map(len, found)]),
        np.cumsum([0, *n_items]),
    )


def naive(codes, of, counted, group, size, spent, more):
    """The best of all pairs on two columns, row by row."""
    scores, which = [], []
    for a, b in combinations_with_replacement(range(len(codes)), 2):
        best = [(-np.inf, None, None)] * 2
        for s in range(of.first[a], of.first[a + 1]):
            for t in range(of.first[b], of.first[b + 1]):
                one, other = (
                    counted & (((of.start[c] <= code) & (code < of.stop[c])) != of.all_but[c])
                    for c, code in ((s, codes[a]), (t, codes[b]))
                )
                for place, rows in enumerate((one & other, one | other)):
                    count, covered = more[1] + (rows & group).sum(), more[0] + rows.sum()
                    score = 2.0 * count / (covered + size) - (spent + of.cost[s] + of.cost[t])
                    if score > best[place][0]:
                        best[place] = score, s, t
        scores.append([score for score, *_ in best])
        which.append([pair for _, *pair in best])
    return np.array(scores), np.array(which)


@pytest.mark.parametrize("seed", range(6))
def test_the_best_pairs_are_those_of_all(seed):
    rng = np.random.default_rng(seed)
    n_items = rng.integers(1, 5, 3).tolist()
    # rows of other items than those that are kept have none of them
    codes = [rng.integers(-1, k, ROWS) for k in n_items]
    counted, group = rng.random(ROWS) < 0.9, rng.random(ROWS) < 0.3
    of, more = conditions(n_items, rng), rng.integers(0, 5, 2).astype(float)
    items = [np.ones(ROWS, dtype=bool)]
    items += [code == i for code, k in zip(codes, n_items, strict=True) for i in range(k)]
    bits = np.array(items) & counted
    every, inside = (np.int64(bits) @ np.int64(bits & rows).T for rows in (True, group))
    found = best_pairs(every, inside, of, int(group.sum()), 0.03, more)
    expected = naive(codes, of, counted, group, int(group.sum()), 0.03, more)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
