"""A small program that uses the public surface, for ``mypy --strict``: it is checked, never run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import leftout
from leftout import (
    Audit,
    FairPCA,
    Harm,
    InputError,
    KnownGroups,
    MaxDisparityPartition,
    MinimaxPCA,
    Mitigation,
    TableEncoder,
    Trust,
    datasets,
    explain,
    solvers,
)


def search(X: NDArray[np.float64]) -> tuple[float, int]:
    """The estimator, its solvers and what it has when it is fitted."""
    solver = solvers.Alternating(n_starts=10)
    found = MaxDisparityPartition(3, group_size=0.1, solver=solver, random_state=0).fit(X)
    assert_type(found, MaxDisparityPartition)
    trusted: Trust = leftout.trust(found, X, n_surrogates=19)
    assert_type(trusted.verdict, str | None)
    return float(found.disparity_), int(found.sizes_[1])


def known(X: NDArray[np.float64], labels: Sequence[str]) -> float:
    """Losses of groups that are known, and a mitigation."""
    losses = leftout.group_losses(X, labels, 3)
    groups: KnownGroups = leftout.known_groups(X, {"group": list(labels)}, n_components=3)
    mitigated: Mitigation = leftout.mitigate(X, labels, n_components=3)
    fair = FairPCA(n_components=3).fit(X, groups=labels)
    assert_type(fair, FairPCA)
    every = MinimaxPCA(3, trade_off=0.5, random_state=0).fit(X)
    assert_type(every, MinimaxPCA)
    print(groups.summary(), mitigated.summary(), fair.max_loss_, every.worst_loss_)
    return float(losses.max()) + leftout.disparity(X, labels, 3)


def whole(path: Path) -> str:
    """An audit, and what it gives."""
    try:
        audit = leftout.audit(path, target="approved", quick=True, random_state=0)
    except InputError as refusal:
        return str(refusal)
    assert_type(audit, Audit)
    audit.to_html(path.with_suffix(".html"))
    audit.to_json(path.with_suffix(".json"))
    return audit.summary()


def cost(X: NDArray[np.float64], y: NDArray[np.int64], groups: NDArray[np.int64]) -> str:
    """What it costs, and the rest of the names."""
    paid: Harm = leftout.harm(X, y, groups, 3)
    encoder = TableEncoder()
    planted, labels = datasets.make_planted(100, 8, 2, 30, random_state=0)
    assert_type(planted, NDArray[np.float64])
    print(encoder, labels, explain, leftout.__version__)
    return paid.summary()
