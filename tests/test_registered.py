"""A loss or a finding from outside: the same answers as from inside, or a clear refusal."""

from __future__ import annotations

import numpy as np
import pytest

import known
from leftout import Finding, InputError, MaxDisparityPartition, disparity, group_losses, losses
from leftout.linalg.losses import Loss, basis_loss, basis_loss_by_feature, row_losses
from leftout.solvers import Alternating, Sorting, alternating

SIZE, D = 40, 2


@pytest.fixture
def registered():
    """Two losses: the plain error, and one that comes with the package, once more."""
    losses.register("error", lambda V, W: np.eye(V.shape[1]) - V.T @ V, at_most="residual")
    losses.register("again", lambda V, W: np.linalg.matrix_power(W.T @ W - V.T @ V, 2))
    yield
    for name in ("error", "again"):
        del losses._FORMS[losses.LOSSES.pop(name)]


def errors(X):
    """Squared residuals of rows under the PCA of all of them, from an SVD."""
    X = X - X.mean(axis=0)
    V = np.linalg.svd(X, full_matrices=False)[2][:D]
    return np.sum((X - X @ V.T @ V) ** 2, axis=1)


def test_plain_errors_are_searched_exactly(mixed, registered):
    """The rows of the largest errors have the largest gap, whatever a group's own PCA is."""
    worst = np.sort(errors(mixed))[::-1]
    best = worst[:SIZE].mean() - worst[SIZE:].mean()
    for solver in (Alternating(n_starts=2), Sorting(split="matched")):
        found = MaxDisparityPartition(
            D, group_size=SIZE, loss="error", solver=solver, random_state=0
        ).fit(mixed)
        assert found.disparity_ == pytest.approx(best)
        assert found.bound_ == pytest.approx(worst[:SIZE].mean())
        assert found.disparity_ == pytest.approx(disparity(mixed, found.labels_, D, loss="error"))
        np.testing.assert_allclose(found.loss_samples(mixed)[:, 1], errors(mixed), atol=1e-12)


def test_the_same_loss_once_more(mixed, registered):
    labels = np.arange(len(mixed)) % 3
    ours, theirs = (
        group_losses(mixed, labels, D, loss=name) for name in ("again", "projection_gap")
    )
    np.testing.assert_allclose(ours, theirs)
    X = mixed - mixed.mean(axis=0)
    V, W = (np.linalg.svd(part, full_matrices=False)[2][:D] for part in (X, X[labels == 1]))
    again, gap = (Loss.named(name, "global") for name in ("again", "projection_gap"))
    kept = np.sum((X @ V.T) ** 2, axis=1)
    np.testing.assert_allclose(
        row_losses(again, X, kept, V, W), row_losses(gap, X, kept, V, W), atol=1e-12
    )
    S = X[labels == 1].T @ X[labels == 1]
    assert basis_loss_by_feature(again, S, V, W).sum() == pytest.approx(basis_loss(gap, S, V, W))


def test_free_sizes_and_large_tables(mixed, registered, monkeypatch):
    free = MaxDisparityPartition(D, loss="error", min_group_size=SIZE, random_state=0).fit(mixed)
    assert free.sizes_[1] == SIZE  # the fewest have the largest errors
    monkeypatch.setattr(alternating, "STREAMED_ABOVE", 0)
    passed = MaxDisparityPartition(D, loss="error", group_size=SIZE, random_state=0).fit(mixed)
    assert passed.disparity_ == pytest.approx(free.disparity_)


@pytest.mark.parametrize("asked", [{"solver": "greedy"}, {"n_groups": 2}])
def test_compiled_searches_refuse_it(mixed, registered, asked):
    with pytest.raises(InputError, match="are compiled for the losses 'excess' and"):
        MaxDisparityPartition(D, loss="error", **asked).fit(mixed)


def test_names_of_losses():
    with pytest.raises(InputError, match="'excess' comes with the package and cannot be replaced"):
        losses.register("excess", lambda V, W: W.T @ W)
    with pytest.raises(InputError, match="at_most='width'"):
        losses.register("other", lambda V, W: W.T @ W, at_most="width")
    assert "other" not in losses.LOSSES


@pytest.mark.parametrize(
    ("code", "status", "says"),
    [
        ("D001", "found", "'D001' of a finding .* not twice"),
        ("x1", "found", "'x1' of a finding is needed in the form of a capital letter and three"),
        ("X001", "yes", "status='yes'"),
    ],
)
def test_findings_that_could_not_be_told_apart(code, status, says):
    with pytest.raises(InputError, match=says):
        known.audit().with_finding(lambda found: Finding(code, status, "Another", "Detail."))


def test_a_finding_from_outside_is_told_as_the_others_are():
    found = known.audit()
    more = found.with_finding(lambda audit: Finding("X001", "found", "Another", audit.headline()))
    assert more.findings[:-1] == found.findings and more.to_dict()["findings"][-1] == {
        "code": "X001", "status": "found", "title": "Another", "detail": found.headline(),
        "caution": "",
    }  # fmt: skip
