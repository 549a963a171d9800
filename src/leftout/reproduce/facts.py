"""What a run teaches beyond the published numbers, each with its measurement."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout import Trust, group_losses, trust
from leftout.explain import align, compare_outcome, describe, disparity_by_feature
from leftout.reproduce.formulas import DEFINITION, PAPER, Formula
from leftout.reproduce.known import Known
from leftout.reproduce.measured import (
    Sampled,
    components,
    cumulative_variance,
    known_groups,
    matrix,
)
from leftout.reproduce.searches import Array, residuals, sorted_rows
from leftout.reproduce.tables import Prepared, Sample

_LINES = 5


def spread(values: Any) -> dict[str, float]:
    """Range and median of some values."""
    low, median, high = np.quantile(np.asarray(values, dtype=np.float64), [0.0, 0.5, 1.0])
    return {"low": float(low), "median": float(median), "high": float(high)}


def who(
    known: Known, sample: Sample, labels: NDArray[Any], d: int, formula: Formula
) -> dict[str, Any]:
    """A group in words: a sentence, the columns it looks like, the features, the outcome."""
    raw, drop = sample.raw, [known.target]
    codes = [*known.categories, *known.codes]
    sentence = describe(raw, labels, categorical=codes, drop=drop)
    parts = disparity_by_feature(sample.X, labels, d, **formula.options)
    order = np.argsort(-parts, kind="stable")[:_LINES]
    (outcome,) = compare_outcome(
        raw[known.target], labels, positive=known.positive, name=known.target
    )
    return {
        "rows": int(labels.sum()),
        "sentence": str(sentence),
        "f1": sentence.f1,
        "looks_like": [
            {"text": str(line), "strength": line.strength}
            for line in align(raw, labels, categorical=codes, drop=drop)[:_LINES]
        ],
        "features": [
            {"feature": str(sample.X.columns[i]), "share": float(parts[i] / parts.sum())}
            for i in order
        ],
        "outcome": str(outcome),
    }


def believed(known: Known, first: Sampled, chance: int, seed: int, n_jobs: int | None,
             progress: Any) -> dict[str, Any]:  # fmt: skip
    """The definition's group at the size with the most evidence, and whether it is real."""
    search = DEFINITION.search(first.d, "alternating", seed, n_jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a smallest size above a quarter of few rows
        found: Trust = trust(
            search, first.X, group_size="evidence", chance=chance, kinds="copula", runs=0,
            progress=progress,
        )  # fmt: skip
    labels = found.partition.labels_
    return {
        "rows": found.group_size,
        "disparity": found.disparity,
        "by_chance": found.by_chance,
        "p_value": found.p_value,
        "beyond_chance": found.beyond_chance,
        "chance_tables": chance,
        "held_out": None if found.held_out is None else found.held_out.disparity,
        "who": who(known, first.sample, labels, first.d, DEFINITION),
    }


def ceiling(X: Array, d: int, smallest: int) -> float:
    """No partition with sides of so many rows has a larger disparity under the definition.

    ``X`` are the rows that PCA sees: about their means, or as they are.
    """
    V = np.linalg.svd(X, full_matrices=False)[2][:d]
    errors = np.sort(np.sum((X - X @ V.T @ V) ** 2, axis=1))[::-1]
    return float(errors[:smallest].mean())


def formulas_tried(known: Known, every: list[Sampled]) -> list[dict[str, Any]]:
    """Losses of the groups that the paper names, by both losses under every centring."""
    lines = []
    for loss, centering in product(("projection_gap", "excess"), ("paper", "none", "global")):
        found: dict[str, list[Array]] = {}
        for sample in every:
            for name, groups in known_groups(known, sample.sample.raw).items():
                losses = group_losses(sample.X, groups, sample.d, loss=loss, centering=centering)
                found.setdefault(name, []).append(losses)
        spreads = {name: [spread(side) for side in np.transpose(e)] for name, e in found.items()}
        lines.append({"loss": loss, "centering": centering, "groups": spreads})
    return lines


def shared_projection_moves(first: Sampled) -> float:
    """Largest entry by which the PCA of A and B together changes over the epochs of a run."""
    greedy = first.formulas[PAPER.key].found["greedy"]
    every = greedy.stability.epoch_labels
    assert every is not None
    projections = []
    for labels in every[greedy.best]:
        rows = np.concatenate([first.X[labels == 0], first.X[labels == 1]])
        V = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][: first.d]
        projections.append(V.T @ V)
    return float(max(np.abs(P - projections[0]).max() for P in projections))


def centrings(first: Sampled) -> list[dict[str, Any]]:
    """The paper's best partition, by both losses under every centring: what the mix is worth."""
    labels = first.formulas[PAPER.key].found["greedy"].group
    lines = []
    for loss, centering in product(("projection_gap", "excess"), ("paper", "none", "global")):
        rest, group = group_losses(first.X, labels, first.d, loss=loss, centering=centering)
        lines.append({
            "loss": loss, "centering": centering, "losses": [float(rest), float(group)],
            "disparity": float(group - rest),
        })  # fmt: skip
    return lines


def energy(first: Sampled) -> dict[str, float]:
    """Squared length of the mean row, and the variance of all columns."""
    mean = first.X.mean(axis=0)
    return {"mean": float(mean @ mean), "variance": float(first.X.var(axis=0).sum())}


def cuts(first: Sampled, smallest: int) -> dict[str, Any]:
    """Sorting at the half against the best cut, by the definition and by plain residuals."""
    measured = first.formulas[DEFINITION.key]
    errors = np.sort(residuals(first.X, first.d, DEFINITION))[::-1]
    m = len(errors)
    head = np.cumsum(errors)
    sizes = np.arange(smallest, m - smallest + 1)
    gaps = head[sizes - 1] / sizes - (head[-1] - head[sizes - 1]) / (m - sizes)
    best = int(np.argmax(gaps))
    return {
        "half": measured.half.disparity,
        "best": measured.cut.disparity,
        "best_rows": int(measured.cut.sizes[0]),
        "residuals_half": float(gaps[m // 2 - smallest]),
        "residuals_best": float(gaps[best]),
        "residuals_best_rows": int(sizes[best]),
    }


def preparation(
    prepared: Prepared, rows: int, seeds: list[int], d: int | None, threshold: float
) -> list[dict[str, Any]]:
    """Encoding before and after rows are drawn: what of the published numbers comes out?"""
    lines = []
    for first in (True, False):
        chosen, halves, known = [], [], []
        for seed in seeds:
            sample = prepared.sample(rows, seed, encode_first=first)
            X = matrix(sample)
            chosen.append(components(cumulative_variance(X), threshold))
            used = chosen[0] if d is None else d
            halves.append(sorted_rows(X, used, PAPER, "half").losses)
            known.append({
                name: group_losses(X, groups, used, **PAPER.options)
                for name, groups in known_groups(prepared.known, sample.raw).items()
            })  # fmt: skip
        lines.append({
            "order": "encoded, then drawn" if first else "drawn, then encoded",
            "n_components": chosen,
            "half": [spread(side) for side in np.transpose(halves)],
            "known_groups": {
                name: [spread(side) for side in np.transpose([each[name] for each in known])]
                for name in known[0]
            },
        })  # fmt: skip
    return lines


def smallest_side(X: Array) -> int:
    """The paper's smallest side, five rows a feature, but at most a quarter of the rows."""
    return min(5 * X.shape[1], len(X) // 4)
