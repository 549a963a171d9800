"""Predictions of rows that a model has not seen, from columns and from components.

Whatever learns (an encoder, a search, the projections, a scaler, a model) learns on the other folds
only. A projection is fitted once for each fold and shared by all models; MinimaxPCA, which takes
longest, is fitted when folds are dealt for the first time, and its predictions stand for all times.

Models by name: small, quick, and the same for everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
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
from leftout.downstream.outcomes import ALL, FAIR, MINIMAX, SHARED, VARIANTS, Aim
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
_STEPS = 10_000


class Model(NamedTuple):
    """A model to be fitted on some features, and what it is called."""

    name: str
    unfitted: Any

    def fitted(self, X: Any, y: Any) -> Any:
        """A copy of it that has learnt; the original stays as it was."""
        return clone(self.unfitted).fit(X, y)


def models_of(models: Any, numbers: bool) -> list[Model]:
    """Models from names and scikit-learn estimators, or from these by labels of one's own."""
    each = [models] if isinstance(models, str) or not isinstance(models, Iterable) else list(models)
    if not each:
        raise InputError(
            f"{parameter_label('models')} names no model; at least one is needed, for example "
            "'logistic'."
        )
    if isinstance(models, Mapping):
        return [Model(str(name), _model(one, numbers).unfitted) for name, one in models.items()]
    found = [_model(model, numbers) for model in each]
    for place, model in enumerate(found):
        again = sum(other.name == model.name for other in found[:place])
        if again:
            found[place] = Model(f"{model.name} {again + 1}", model.unfitted)
    return found


def _model(model: Any, numbers: bool) -> Model:
    if isinstance(model, str):
        check_choice("models", model, MODELS)
        return Model("ridge" if numbers and model == "logistic" else model, _named(model, numbers))
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise InputError(
            f"Found {model!r} among {parameter_label('models')}; a name or a scikit-learn "
            "estimator with "
            f"fit and predict is needed. Names are {', '.join(map(repr, MODELS))}."
        )
    last = model[-1] if isinstance(model, Pipeline) else model
    return Model(type(last).__name__, model)


def _named(name: str, numbers: bool) -> Any:
    if name == "boosting":
        kind = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
        return kind(**_TREES)
    last = Ridge() if numbers else LogisticRegression(max_iter=_STEPS)
    return make_pipeline(StandardScaler(), last)


Rows = NDArray[np.intp]
# Rounds of MinimaxPCA's game and how near it must come, and the effort of its last search: it is
# played in every fold, and its numbers are not told.
_ROUNDS, _TOL, _LAST = 6, 0.05, (2, 8)
_ONCE = (MINIMAX,)


@dataclass(frozen=True)
class PredictionTask:
    """A table, what to predict, and the groups, or the search that finds them."""

    X: Any
    y: NDArray[Any]  # the target as it came, for an encoder that reads it
    aim: Aim
    place: Rows  # each row's group
    n_components: int
    models: list[Model]
    encoder: Any = None
    search: Any = None
    representation: Any = None  # fitted anew in every fold; None: PCA
    variants: tuple[str, ...] = VARIANTS

    def matrices(self, train: Rows, test: Rows) -> tuple[Array, Array]:
        """The rows that are learnt from and those that are not, as numbers."""
        learnt, new = taken(self.X, train), taken(self.X, test)
        if self.encoder is None:
            return learnt, new
        encoder = clone(self.encoder)
        learnt = encoder.fit_transform(learnt, self.y[train])
        return check_matrix(learnt, min_features=1), check_matrix(
            encoder.transform(new), min_features=1
        )

    def groups(self, learnt: Array, new: Array, train: Rows, test: Rows) -> tuple[Rows, Rows]:
        """Groups of the rows learnt from and of the new ones; the search sees only the former."""
        if self.search is None:
            return self.place[train], self.place[test]
        search = clone(self.search).fit(learnt)
        # the left-out group comes first
        return 1 - search.labels_, 1 - search.predict(new)


def taken(table: Any, rows: Rows) -> Any:
    """Some rows of a table or matrix."""
    return rows_of(table, rows) if as_frame(table) is not None else np.asarray(table)[rows]


@dataclass(frozen=True)
class Predicted:
    """What was predicted for each row, while it was held out, in each repeat.

    ``guesses`` (models, variants, repeats, rows) are codes of classes, or numbers; ``chances``
    (..., classes) the probabilities, None for numbers. ``place`` (repeats, rows) are groups.
    ``sure`` says of each model whether it gives probabilities; else these are its guesses.
    """

    guesses: Array
    chances: Array | None
    place: Rows
    sure: tuple[bool, ...]


def deal(aim: Aim, place: Rows, folds: int, rng: np.random.Generator) -> Rows:
    """A fold for each row: classes, and groups within them, spread as evenly as cards are dealt.

    A class and group of few rows shares a round with its neighbours of the same class.
    """
    order = np.lexsort((rng.random(len(place)), place, aim.strata))
    fold = np.empty(len(place), dtype=np.intp)
    fold[order] = np.arange(len(place)) % folds
    return fold


def predictions(
    task: PredictionTask,
    folds: int,
    repeats: int,
    rng: np.random.Generator,
    n_jobs: int | None,
    steps: Steps,
) -> Predicted:
    """Predict every row from what the other folds taught, once in each repeat."""
    n, classes = len(task.place), task.aim.classes
    shape = (len(task.models), len(task.variants), repeats, n)
    found = Predicted(
        np.zeros(shape),
        None if classes is None else np.zeros((*shape, len(classes))),
        np.tile(task.place, (repeats, 1)),
        (True,) * len(task.models),
    )
    dealt = [deal(task.aim, task.place, folds, rng) for _ in range(repeats)]
    tasks = [(task, repeat, fold, k) for repeat, fold in enumerate(dealt) for k in range(folds)]
    sure = np.ones(len(task.models), dtype=bool)
    for part in _quietly(_fold, tasks, n_jobs, steps, "predicting held-out rows"):
        repeat, test = part.repeat, part.test
        found.place[repeat, test] = part.place
        found.guesses[:, :, repeat, test] = part.guesses
        if found.chances is not None:
            found.chances[:, :, repeat, test] = part.chances
        sure &= part.sure
    once = [place for place, variant in enumerate(task.variants) if variant in _ONCE]
    found.guesses[:, once] = found.guesses[:, once, :1]
    if found.chances is not None:
        found.chances[:, once] = found.chances[:, once, :1]
    return replace(found, sure=tuple(sure.tolist()))


def _quietly(function: Any, tasks: list[Any], n_jobs: int | None, steps: Steps, what: str) -> Any:
    """Run tasks without the notes of searches and PCAs; what a model warns of, its owner reads."""
    with collected_warnings():
        return list(imap_ordered(function, tasks, n_jobs, steps, what))


@dataclass(frozen=True)
class _FoldPart:
    repeat: int
    test: Rows
    place: Rows
    guesses: Array
    chances: Array | None
    sure: NDArray[np.bool_]


# the trees of a fold are too small to share among threads, which would wait by spinning
@threadpool_limits.wrap(limits=1, user_api="openmp")
def _fold(task: PredictionTask, repeat: int, fold: Rows, k: int) -> _FoldPart:
    """One fold: each projection once, then every model on all columns and on its components."""
    train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
    learnt, new = task.matrices(train, test)
    before, place = task.groups(learnt, new, train, test)
    views = [
        components(variant, learnt, before, task.n_components, task.representation)
        if repeat == 0 or variant not in _ONCE
        else None
        for variant in task.variants
    ]
    y, classes = task.aim.values[train], task.aim.classes
    shape = (len(task.models), len(task.variants), len(test))
    guesses = np.zeros(shape)
    chances = None if classes is None else np.zeros((*shape, len(classes)))
    sure = np.ones(len(task.models), dtype=bool)
    for v, view in enumerate(views):
        if view is None:
            continue
        seen, unseen = view(learnt), view(new)
        for m, model in enumerate(task.models):
            fitted = model.fitted(seen, y)
            guesses[m, v] = fitted.predict(unseen)
            if chances is not None:
                sure[m] = hasattr(fitted, "predict_proba")
                chances[m, v] = _chances(fitted, unseen, guesses[m, v], chances.shape[-1])
    return _FoldPart(repeat, test, place, guesses, chances, sure)


def _chances(fitted: Any, X: Array, guesses: Array, n_classes: int) -> Array:
    """Probabilities of all classes, or the guesses where a model has none."""
    if not hasattr(fitted, "predict_proba"):
        return np.eye(n_classes)[guesses.astype(np.intp)]
    chances = np.zeros((len(X), n_classes))
    chances[:, np.asarray(fitted.classes_, dtype=np.intp)] = fitted.predict_proba(X)
    return chances


# From rows to their coordinates.
Fitted = Callable[[Array], Array]


def components(
    variant: str, learnt: Array, place: Rows, d: int, representation: Any = None
) -> Fitted:
    """What turns rows into coordinates under one kind of features, fitted to rows.

    A ``representation`` takes the place of the PCA: what can be fitted is fitted anew. MinimaxPCA
    protects groups of as many rows as the smallest here has, and is not told any.
    """
    d = min(d, *learnt.shape)
    return _KINDS[variant](learnt, place, d, representation)


def _all_columns(learnt: Array, place: Rows, d: int, representation: Any) -> Fitted:
    return lambda X: X


def _shared(learnt: Array, place: Rows, d: int, representation: Any) -> Fitted:
    if representation is None:
        solver = "covariance_eigh" if learnt.shape[0] >= learnt.shape[1] else "full"
        return PCA(d, svd_solver=solver).fit(learnt).transform
    if isinstance(representation, np.ndarray):
        return lambda X: X @ representation.T
    if hasattr(representation, "fit"):
        representation = clone(representation).fit(learnt)
    return representation.transform


def _fair(learnt: Array, place: Rows, d: int, representation: Any) -> Fitted:
    fair = FairPCA(d).fit(learnt, groups=place)
    # more than two groups may take more dimensions than were asked for
    V = getattr(fair, "rank_d_components_", fair.components_)
    return lambda X: (X - fair.mean_) @ V.T


def _minimax(learnt: Array, place: Rows, d: int, representation: Any) -> Fitted:
    sizes = np.bincount(place)
    fair = MinimaxPCA(
        d, group_size=int(sizes[sizes > 0].min()), max_rounds=_ROUNDS, tol=_TOL, random_state=0
    )
    fair._last = _LAST
    return fair.fit(learnt).transform


_KINDS: dict[str, Callable[[Array, Rows, int, Any], Fitted]] = {
    ALL: _all_columns, SHARED: _shared, FAIR: _fair, MINIMAX: _minimax,
}  # fmt: skip


def across(
    task: PredictionTask,
    numbers: list[int],
    folds: int,
    rng: np.random.Generator,
    n_jobs: int | None,
    steps: Steps,
) -> tuple[Array, Rows]:
    """The first model's guesses from PCA and Fair PCA of several numbers of components, and groups.

    Guesses have the shape (numbers, 2, rows).
    """
    fold = deal(task.aim, task.place, folds, rng)
    guesses, place = np.zeros((len(numbers), 2, len(fold))), task.place.copy()
    tasks = [(task, numbers, fold, k) for k in range(folds)]
    for test, part, groups in _quietly(_numbers, tasks, n_jobs, steps, "numbers of components"):
        guesses[:, :, test], place[test] = part, groups
    return guesses, place


@threadpool_limits.wrap(limits=1, user_api="openmp")
def _numbers(
    task: PredictionTask, numbers: list[int], fold: Rows, k: int
) -> tuple[Rows, Array, Rows]:
    train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
    learnt, new = task.matrices(train, test)
    before, place = task.groups(learnt, new, train, test)
    guesses = np.zeros((len(numbers), 2, len(test)))
    for row, d in enumerate(numbers):
        for side, variant in enumerate((SHARED, FAIR)):
            view = components(variant, learnt, before, d)
            fitted = task.models[0].fitted(view(learnt), task.aim.values[train])
            guesses[row, side] = fitted.predict(view(new))
    return test, guesses, place
