"""Predictions of rows that a model has not seen, from columns and from components.

Whatever learns (an encoder, a search, the two PCAs, a scaler, a model) learns on the other folds
only. A PCA is fitted once for each fold and shared by all models.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_limits

from leftout.core.losses import Array
from leftout.downstream.aims import VARIANTS, Aim
from leftout.downstream.models import Model
from leftout.fair.estimator import FairPCA
from leftout.running import Steps, collected_notes, in_turn
from leftout.tables.frames import as_frame, rows_of
from leftout.tables.matrix import check_matrix

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Task:
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
    task: Task,
    folds: int,
    repeats: int,
    rng: np.random.Generator,
    n_jobs: int | None,
    steps: Steps,
) -> Predicted:
    """Predict every row from what the other folds taught, once in each repeat."""
    n, classes = len(task.place), task.aim.classes
    shape = (len(task.models), len(VARIANTS), repeats, n)
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
    return replace(found, sure=tuple(sure.tolist()))


def _quietly(function: Any, tasks: list[Any], n_jobs: int | None, steps: Steps, what: str) -> Any:
    """Run tasks without the notes of searches and PCAs; what a model warns of, its owner reads."""
    with collected_notes():
        return list(in_turn(function, tasks, n_jobs, steps, what))


@dataclass(frozen=True)
class _Part:
    repeat: int
    test: Rows
    place: Rows
    guesses: Array
    chances: Array | None
    sure: NDArray[np.bool_]


# the trees of a fold are too small to share among threads, which would wait by spinning
@threadpool_limits.wrap(limits=1, user_api="openmp")
def _fold(task: Task, repeat: int, fold: Rows, k: int) -> _Part:
    """One fold: both PCAs once, then every model on all columns and on either's components."""
    train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
    learnt, new = task.matrices(train, test)
    before, place = task.groups(learnt, new, train, test)
    views = [(learnt, new)]
    views += components(learnt, new, before, task.n_components, task.representation)
    y, classes = task.aim.values[train], task.aim.classes
    shape = (len(task.models), len(VARIANTS), len(test))
    guesses = np.zeros(shape)
    chances = None if classes is None else np.zeros((*shape, len(classes)))
    sure = np.ones(len(task.models), dtype=bool)
    for m, model in enumerate(task.models):
        for v, (seen, unseen) in enumerate(views):
            fitted = model.fitted(seen, y)
            guesses[m, v] = fitted.predict(unseen)
            if chances is not None:
                sure[m] = hasattr(fitted, "predict_proba")
                chances[m, v] = _chances(fitted, unseen, guesses[m, v], chances.shape[-1])
    return _Part(repeat, test, place, guesses, chances, sure)


def _chances(fitted: Any, X: Array, guesses: Array, n_classes: int) -> Array:
    """Probabilities of all classes, or the guesses where a model has none."""
    if not hasattr(fitted, "predict_proba"):
        return np.eye(n_classes)[guesses.astype(np.intp)]
    chances = np.zeros((len(X), n_classes))
    chances[:, np.asarray(fitted.classes_, dtype=np.intp)] = fitted.predict_proba(X)
    return chances


def components(
    learnt: Array, new: Array, place: Rows, n_components: int, representation: Any = None
) -> list[tuple[Array, Array]]:
    """Coordinates of rows, learnt from and new, under the shared PCA and under Fair PCA.

    A ``representation`` takes the place of the PCA: what can be fitted is fitted anew.
    """
    d = min(n_components, *learnt.shape)
    shared = _shared(learnt, d) if representation is None else _again(representation, learnt)
    fair = FairPCA(d).fit(learnt, groups=place)
    # more than two groups may take more dimensions than were asked for
    V = getattr(fair, "rank_d_components_", fair.components_)
    return [
        (shared.transform(learnt), shared.transform(new)),
        ((learnt - fair.mean_) @ V.T, (new - fair.mean_) @ V.T),
    ]


def _shared(learnt: Array, d: int) -> Any:
    solver = "covariance_eigh" if learnt.shape[0] >= learnt.shape[1] else "full"
    return PCA(d, svd_solver=solver).fit(learnt)


def _again(representation: Any, learnt: Array) -> Any:
    """A representation that has learnt from some rows, or one that cannot learn, as it is."""
    if isinstance(representation, np.ndarray):
        return FunctionTransformer(lambda X: X @ representation.T)
    return clone(representation).fit(learnt) if hasattr(representation, "fit") else representation


def across(
    task: Task,
    numbers: list[int],
    folds: int,
    rng: np.random.Generator,
    n_jobs: int | None,
    steps: Steps,
) -> tuple[Array, Rows]:
    """The first model's guesses from both PCAs of several numbers of components, and groups.

    Guesses have the shape (numbers, 2, rows).
    """
    fold = deal(task.aim, task.place, folds, rng)
    guesses, place = np.zeros((len(numbers), 2, len(fold))), task.place.copy()
    tasks = [(task, numbers, fold, k) for k in range(folds)]
    for test, part, groups in _quietly(_numbers, tasks, n_jobs, steps, "numbers of components"):
        guesses[:, :, test], place[test] = part, groups
    return guesses, place


@threadpool_limits.wrap(limits=1, user_api="openmp")
def _numbers(task: Task, numbers: list[int], fold: Rows, k: int) -> tuple[Rows, Array, Rows]:
    train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
    learnt, new = task.matrices(train, test)
    before, place = task.groups(learnt, new, train, test)
    guesses = np.zeros((len(numbers), 2, len(test)))
    for row, d in enumerate(numbers):
        for side, (seen, unseen) in enumerate(components(learnt, new, before, d)):
            fitted = task.models[0].fitted(seen, task.aim.values[train])
            guesses[row, side] = fitted.predict(unseen)
    return test, guesses, place
