"""Predictions of rows that a model has not seen, from columns and from components.

Whatever learns (an encoder, the projections, a scaler, a model) learns on the other folds only. A
projection is fitted once for each fold and shared by all models; MinimaxPCA, which takes
longest, is fitted when folds are dealt for the first time, and its predictions stand for all times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from leftout.checks import check_choice
from leftout.data.frames import as_frame, rows_of
from leftout.data.matrix import check_matrix
from leftout.downstream.outcomes import ALL, FAIR_PCA, MINIMAX_PCA, SHARED, PredictionTarget, Rows
from leftout.errors import InputError, parameter_label
from leftout.fair.estimator import FairPCA
from leftout.fair.minimax import MinimaxPCA
from leftout.linalg.losses import Array
from leftout.running import Steps, collected_warnings, imap_ordered

MODELS = ("logistic", "boosting")
# Few and small trees: what the kinds of features do to a model shows long before its best fit.
_TREES = {"max_iter": 40, "max_leaf_nodes": 8, "early_stopping": False, "random_state": 0}
# Penalized, and on one scale, it ends long before; warnings of one that did not cannot be kept from
# people without changing the whole process.
_MAX_ITERATIONS = 10_000
# Rounds of MinimaxPCA's game and how near it must come: it is played in every fold, and its
# numbers are not reported.
_GAME_ROUNDS, _GAME_TOL = 4, 0.05


def models_of(models: Any, numbers: bool) -> dict[str, Any]:
    """Unfitted models by what they are called: from names, estimators, or a dict of either."""
    if isinstance(models, Mapping):
        found = {str(name): _model(one, numbers)[1] for name, one in models.items()}
    else:
        each = [models] if isinstance(models, str) or not isinstance(models, Iterable) else models
        found, times = {}, Counter[str]()
        for name, model in (_model(one, numbers) for one in each):
            times[name] += 1
            found[name if times[name] == 1 else f"{name} {times[name]}"] = model
    if not found:
        raise InputError(
            f"{parameter_label('models')} names no model; at least one is needed, for example "
            "'logistic'."
        )
    return found


def _model(model: Any, numbers: bool) -> tuple[str, Any]:
    """What a model is called, and an estimator; models by name are small, quick, one for all."""
    if isinstance(model, str):
        check_choice("models", model, MODELS)
        if model == "boosting":
            kind = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
            return model, kind(**_TREES)
        last = Ridge() if numbers else LogisticRegression(max_iter=_MAX_ITERATIONS)
        return "ridge" if numbers else model, make_pipeline(StandardScaler(), last)
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise InputError(
            f"Found {model!r} among {parameter_label('models')}; a name or a scikit-learn "
            f"estimator with fit and predict is needed. Names are {', '.join(map(repr, MODELS))}."
        )
    return type(model[-1] if isinstance(model, Pipeline) else model).__name__, model


@dataclass(frozen=True)
class PredictionTask:
    """A table, what to predict, the groups, and what models see."""

    X: Any
    y: NDArray[Any]  # the target as it came, for an encoder that reads it
    target: PredictionTarget
    place: Rows  # each row's group
    variants: list[str]
    n_components: int
    models: dict[str, Any]
    encoder: Any = None
    representation: Any = None  # fitted anew in every fold; None: PCA

    def matrices(self, train: Rows, test: Rows) -> tuple[Array, Array]:
        """The rows that are learnt from and those that are not, as numbers."""
        learnt, new = taken(self.X, train), taken(self.X, test)
        if self.encoder is None:
            return learnt, new
        encoder = clone(self.encoder)
        learnt = check_matrix(encoder.fit_transform(learnt, self.y[train]), min_features=1)
        return learnt, check_matrix(encoder.transform(new), min_features=1)


def taken(table: Any, rows: Rows) -> Any:
    """Some rows of a table or matrix."""
    return rows_of(table, rows) if as_frame(table) is not None else np.asarray(table)[rows]


class CrossValidated(NamedTuple):
    """What was predicted for each row, while it was held out.

    ``guesses`` (models, variants, repeats, rows) are codes of classes, or numbers; ``chances``
    (..., classes) the probabilities of classes, 0 or 1 where a model gives none. Of a single fold,
    there are no repeats.
    """

    guesses: Array
    chances: Array


def assign_folds(
    target: PredictionTarget, place: Rows, folds: int, rng: np.random.Generator
) -> Rows:
    """A fold for each row: classes, and groups within them, spread as evenly as cards are dealt.

    A class and group of few rows shares a round with its neighbours of the same class.
    """
    order = np.lexsort((rng.random(len(place)), place, target.strata))
    fold = np.empty(len(place), dtype=np.intp)
    fold[order] = np.arange(len(place)) % folds
    return fold


def cross_validate(
    task: PredictionTask,
    folds: int,
    repeats: int,
    rng: np.random.Generator,
    n_jobs: int | None,
    steps: Steps,
) -> CrossValidated:
    """Predict every row from what the other folds taught, once in each repeat."""
    shape = (len(task.models), len(task.variants), repeats, len(task.place))
    found = CrossValidated(np.zeros(shape), np.zeros((*shape, len(task.target.classes))))
    dealt = [assign_folds(task.target, task.place, folds, rng) for _ in range(repeats)]
    parts = [(repeat, fold == k) for repeat, fold in enumerate(dealt) for k in range(folds)]
    with collected_warnings():  # of searches and PCAs; what a model warns of, its owner reads
        what = "predicting held-out rows"
        each = imap_ordered(_fold, [(task, *part) for part in parts], n_jobs, steps, what)
        for (repeat, test), part in zip(parts, each, strict=True):
            found.guesses[:, :, repeat, test] = part.guesses
            found.chances[:, :, repeat, test] = part.chances
    if MINIMAX_PCA in task.variants:
        once = task.variants.index(MINIMAX_PCA)
        for values in found:
            values[:, once] = values[:, once, :1]
    return found


# the trees of a fold are too small to share among threads, which would wait by spinning
@threadpool_limits.wrap(limits=1, user_api="openmp")
def _fold(task: PredictionTask, repeat: int, held_out: NDArray[np.bool_]) -> CrossValidated:
    """One fold: each projection once, then every model on all columns and on its components."""
    train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    learnt, new = task.matrices(train, test)
    n_classes = len(task.target.classes)
    shape = (len(task.models), len(task.variants), len(test))
    guesses, chances = np.zeros(shape), np.zeros((*shape, n_classes))
    for v, variant in enumerate(task.variants):
        if repeat and variant == MINIMAX_PCA:
            continue
        project = projection(task, variant, learnt, task.place[train])
        seen, unseen = project(learnt), project(new)
        for m, model in enumerate(task.models.values()):
            fitted = clone(model).fit(seen, task.target.values[train])
            guesses[m, v] = fitted.predict(unseen)
            if n_classes and hasattr(fitted, "predict_proba"):
                columns = np.asarray(fitted.classes_, dtype=np.intp)
                chances[m, v][:, columns] = fitted.predict_proba(unseen)
            elif n_classes:
                chances[m, v] = np.eye(n_classes)[guesses[m, v].astype(np.intp)]
    return CrossValidated(guesses, chances)


def projection(
    task: PredictionTask, variant: str, learnt: Array, place: Rows
) -> Callable[[Array], Array]:
    """What turns rows into coordinates under one kind of features, fitted to rows.

    A representation takes the place of the PCA: what can be fitted is fitted anew. MinimaxPCA
    protects groups of as many rows as the smallest here has, and is not told any.
    """
    d, representation = min(task.n_components, *learnt.shape), task.representation
    if variant == FAIR_PCA:
        fair = FairPCA(d).fit(learnt, groups=place)
        # more than two groups may take more dimensions than were asked for
        V = getattr(fair, "rank_d_components_", fair.components_)
        return lambda X: (X - fair.mean_) @ V.T
    if variant == MINIMAX_PCA:
        fewest = int(np.unique(place, return_counts=True)[1].min())
        minimax = MinimaxPCA(
            d, group_size=fewest, max_rounds=_GAME_ROUNDS, tol=_GAME_TOL, random_state=0
        )
        return minimax.fit(learnt).transform
    if variant == SHARED and representation is None:
        solver = "covariance_eigh" if learnt.shape[0] >= learnt.shape[1] else "full"
        return PCA(d, svd_solver=solver).fit(learnt).transform
    if variant == SHARED and not isinstance(representation, np.ndarray):
        if hasattr(representation, "fit"):
            representation = clone(representation).fit(learnt)
        return representation.transform
    return lambda X: X if variant == ALL else X @ representation.T
