"""Did the target reach the search? The outcome's gap under encodings that know less of it."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from leftout.checks import generator
from leftout.core.losses import Array
from leftout.evidence.repeats import find_repeats
from leftout.evidence.stability import pairwise_jaccard
from leftout.running import Steps
from leftout.search.fitted import for_same_size
from leftout.search.outcome import Outcome, outcomes
from leftout.search.partition import MaxDisparityPartition
from leftout.tables.columns import Column
from leftout.tables.encoding import LEVELS, Words, coded
from leftout.tables.targets import as_numbers

ENCODINGS = ("cross-fitted", "target-free")
# Folds of cross-fitting, and rows with the overall mean that every category gets on top.
_FOLDS, _PRIOR = 5, 1.0


def other_encodings(
    partition: MaxDisparityPartition,
    X: Array,
    places: dict[int, Column],
    target: Column,
    positive: Any,
    steps: Steps,
) -> list[Outcome]:
    """Search again with the target kept further away, and compare the outcome again.

    ``places`` are the columns of ``X`` that hold the target's mean, each with the raw column it was
    made from. ``"cross-fitted"``: a row's mean comes from rows of other folds. ``"target-free"``:
    categories become yes-or-no columns, scaled so that two categories are as far apart as the ends
    of a number; with more columns, as many components as keep as much of the variance.
    """
    group = partition.left_out_.mask
    search = for_same_size(partition)
    share = float(partition.explained_variance_ratio_.sum())
    found = []
    for encoding in ENCODINGS:
        steps.tell(f"searching again, {encoding} encoding")
        if encoding == "target-free":
            encoded = _target_free(X, places)
            search.set_params(n_components=share)
        else:
            encoded = _cross_fitted(X, places, target, positive, partition.random_state)
        other = clone(search).fit(encoded).left_out_.mask
        overlap = float(pairwise_jaccard(np.stack([other, group]), either=False)[0, 1])
        found += [
            replace(outcome, encoding=encoding, overlap=overlap)
            for outcome in outcomes(target, other, positive)
        ]
        steps.tell(f"searching again, {encoding} encoding", 1)
    return found


def _cross_fitted(
    X: Array, places: dict[int, Column], target: Column, positive: Any, random_state: Any
) -> Array:
    """A row's encoding never saw its own target: means, prior and scale are of the other folds.

    Nor that of a copy of the row: equal rows of a table whose rows repeat share a fold.
    """
    y = as_numbers(target, positive)
    copies, rng = find_repeats(X).copies, generator(random_state)
    if copies is None:
        fold = rng.permutation(len(y)) % _FOLDS
    else:
        fold = rng.permutation(copies.n_distinct)[copies.place] % _FOLDS
    result = X.copy()
    for place, column in places.items():
        codes = coded(column)[1]
        for held in range(_FOLDS):
            own = fold == held
            others = np.where(own, np.nan, y)
            scaled = np.full(len(codes), 0.5)  # where the others' target does not vary
            if len(np.unique(others[np.isfinite(others)])) > 1:
                scaled = Words.by_target(column, others, _PRIOR).vectors[codes, 0]
            result[own, place] = scaled[own]
    return result


def _target_free(X: Array, places: dict[int, Column]) -> Array:
    parts = [np.delete(X, list(places), axis=1)]
    for column in places.values():
        # by place: encode reads text as cleaned, and a raw column's may not be
        parts.append(Words.of(column, LEVELS).vectors[coded(column)[1]])
    return np.column_stack(parts)
