"""Who belongs: votes of subsamples of the rows."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from leftout import MaxDisparityPartition, datasets
from leftout.errors import InputError
from leftout.evidence import subsample
from leftout.evidence.refit import SearchTask
from leftout.evidence.subsample import Membership, memberships
from leftout.linalg.distinct import distinct_rows
from leftout.running import Steps
from leftout.solvers import Alternating, Sorting


@pytest.fixture(scope="module")
def labelled():
    return datasets.make_planted(120, 6, 2, 24, random_state=0)


def asked(task, group, parts=5, seed=0):
    rngs = np.random.default_rng(seed).spawn(parts)
    labels = group.astype(int)
    found = memberships(task, [labels.sum()], rngs, Steps(1, None), labels, task.X, labels)
    return None if found is None else found[0]


@pytest.fixture
def parts(monkeypatch):
    """The rows of every part, and how many are looked for in it."""
    kept, fit = [], subsample.fit_group_rule

    def keep(task, X, sizes, *how):
        kept.append((X, *sizes))
        return fit(task, X, sizes, *how)

    monkeypatch.setattr(subsample, "fit_group_rule", keep)
    return kept


def test_votes_counted_by_hand(labelled, parts):
    X, labels = labelled
    search = MaxDisparityPartition(2, solver=Sorting(split="matched"), min_group_size=4)
    found = asked(SearchTask.of(search, X), labels.astype(bool))
    votes = np.zeros(120)
    for rows, size in parts:
        assert len(rows) == 96 and size == 19
        assert distinct_rows(np.vstack([X, rows])).n_distinct == 120  # all are rows of the table
        _, score = naive.rule(rows, search.set_params(group_size=19).fit(rows).labels_, 2)
        for i in sorted(range(120), key=lambda i: -score(X[i]))[:24]:
            votes[i] += 1
    assert len(parts) == found.parts == 5
    assert found.shares.tolist() == (votes / 5).tolist()
    assert set(votes) - {0.0, 5.0}  # some rows are left out of some parts only


def test_members_and_those_at_the_border():
    group = np.array([1, 1, 1, 1, 1, 0, 0], dtype=bool)
    shares = np.array([1.0, 0.8, 0.79, 0.5, 0.49, 0.9, 0.0])
    found = Membership(shares=shares, group=group, parts=16)
    assert found.members.tolist() == [True, True] + 5 * [False]
    assert (found.n_members, found.n_borderline, found.n_doubtful) == (2, 3, 1)
    assert found.named().tolist() == ["member"] * 2 + ["borderline"] * 3 + ["rest"] * 2
    assert found.told == (
        "2 of 5 rows are members: left out in at least 80% of 16 searches on 80% of the rows; 3 "
        "are borderline."
    )
    alone = Membership(shares=shares[[0, 4]], group=group[:2], parts=16)
    assert alone.told.endswith("; 1 is borderline.")
    counts = {"parts": 16, "n_members": 2, "n_borderline": 3, "n_doubtful": 1}
    assert found.to_dict() == counts | {"told": found.told}


def test_planted_rows_are_members(labelled):
    X, labels = labelled
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=8), random_state=0)
    found = asked(SearchTask.of(search, X), labels.astype(bool))
    assert found.members[labels == 1].mean() > 0.8 and found.shares[labels == 0].mean() < 0.05


def test_copies_stay_together(labelled, parts):
    X = np.repeat(labelled[0], 3, axis=0)
    group = np.repeat(labelled[1], 3).astype(bool)
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=4), random_state=0)
    found = asked(SearchTask.of(search, X), group, parts=4)
    for rows, size in parts:
        assert set(distinct_rows(rows).counts.tolist()) == {3} and len(rows) < len(X)
        assert size == round(72 * len(rows) / 360)
    assert len({len(rows) for rows, _ in parts}) > 1
    assert np.array_equal(found.shares[0::3], found.shares[1::3])


def test_parts_with_too_few_dimensions_have_no_vote(labelled, monkeypatch):
    X, labels = labelled
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=2), random_state=0)
    task, group = SearchTask.of(search, X), labels.astype(bool)
    calls, fit = [], subsample.fit_group_rule

    def refuse(every):
        def refused(*args):
            calls.append(1)
            if every or len(calls) == 2:
                raise InputError("Too few dimensions.")
            return fit(*args)

        return refused

    monkeypatch.setattr(subsample, "fit_group_rule", refuse(every=False))
    assert asked(task, group).parts == 4
    monkeypatch.setattr(subsample, "fit_group_rule", refuse(every=True))
    assert asked(task, group) is None
