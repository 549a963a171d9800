"""Searches on one sample: every solver, many runs, with the losses of both sides."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout import group_losses
from leftout.evidence.stability import Stability, agreement, pairwise_jaccard
from leftout.reproduce.formulas import Formula
from leftout.solvers import Sorting

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Found:
    """Runs of one solver: labels (1 = left out), and the losses of rest and left-out group."""

    stability: Stability
    losses: Array  # (runs, 2)

    @property
    def labels(self) -> NDArray[np.int8]:
        return self.stability.labels

    @property
    def disparities(self) -> Array:
        return self.losses[:, 1] - self.losses[:, 0]

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Rest and left-out group, a run."""
        left_out = self.labels.sum(axis=1, dtype=np.intp)
        return np.stack([self.labels.shape[1] - left_out, left_out], axis=1)

    @property
    def best(self) -> int:
        return int(np.argmax(self.disparities))

    @property
    def group(self) -> NDArray[np.int8]:
        """Labels of the best run."""
        return self.labels[self.best]

    def agreement(self) -> Array:
        """Jaccard of every two runs: the largest of the four pairings of their sides.

        So the published range can be read: "the maximum, accounting for the arbitrary labelling".
        """
        return sides_agree(self.labels)[np.triu_indices(len(self.labels), 1)]

    def agreement_by_chance(self) -> Array:
        """About the same, of groups of the same sizes whose rows are drawn at random."""
        share = self.sizes.max(axis=1) / self.labels.shape[1]
        return random_agreement(*share[np.array(np.triu_indices(len(share), 1))])

    def within(self) -> list[Array]:
        """For every run, the Jaccard of adjacent epochs and, last, of the first and last one."""
        every = []
        for labels in self.stability.epoch_labels or []:
            J = sides_agree(labels[1:])
            every.append(np.append(np.diag(J, 1), J[0, -1]))
        return every


def random_agreement(share: Array, other: Array) -> Array:
    """Jaccard of two groups with these shares of the rows, both drawn at random, more or less."""
    return share * other / (share + other - share * other)


def sides_agree(labels: NDArray[np.int8]) -> Array:
    """Jaccard of partitions: the largest of the four pairings of their sides."""
    return np.maximum(pairwise_jaccard(labels), pairwise_jaccard(1 - labels))


def searched(
    X: Array,
    d: int,
    formula: Formula,
    solver: Any,
    runs: int,
    seed: int,
    n_jobs: int | None,
) -> Found:
    """Run a solver with several seeds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a smallest size above a quarter of few rows
        stability = agreement(formula.search(d, solver, seed, n_jobs), X, runs=runs)
    losses = [group_losses(X, labels, d, **formula.options) for labels in stability.labels]
    return Found(stability, np.array(losses))


@dataclass(frozen=True)
class Sorted:
    """Rows cut by their residual: losses and sizes of the side of high and that of low ones."""

    losses: Array  # (2,)
    sizes: NDArray[np.intp]

    @property
    def disparity(self) -> float:
        return float(abs(self.losses[0] - self.losses[1]))


def sorted_rows(X: Array, d: int, formula: Formula, split: str, size: int | None = None) -> Sorted:
    """The paper's second algorithm: the rows of high residual against the others.

    With ``size``, the first side has that many rows (of either end of the order, whichever gives
    the larger gap).
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a matched group may lose less than the rest
        search = formula.search(d, Sorting(split=split), 0, 1).set_params(group_size=size).fit(X)
    first = search.labels_ == 1
    if size is None:
        residual = residuals(X, d, formula)
        first = first if residual[first].mean() > residual[~first].mean() else ~first
    losses = group_losses(X, np.where(first, 0, 1), d, **formula.options)
    return Sorted(losses, np.array([first.sum(), (~first).sum()]))


def residuals(X: Array, d: int, formula: Formula) -> Array:
    """Squared error of every row under the shared PCA; with the paper, of rows not centred."""
    centred: Array = X - X.mean(axis=0)
    V = np.linalg.svd(centred, full_matrices=False)[2][:d]
    rows = X if formula.centering == "paper" else centred
    errors: Array = np.sum((rows - rows @ V.T @ V) ** 2, axis=1)
    return errors
