"""What does a shared PCA cost a group downstream, and what do Fair PCA and MinimaxPCA give back?

Rows are predicted by models that have not seen them, from columns and from components. Whatever
learns (an encoder, the projections, a scaler, a model) learns on the other folds only. A projection
is fitted once for each fold and shared by all models; MinimaxPCA, which takes longest, is fitted
when folds are dealt for the first time, and its predictions stand for all times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from leftout.checks import check_choice, check_count, check_weights, check_whole, generator
from leftout.data.columns import Column
from leftout.data.frames import as_frame, rows_of
from leftout.data.matrix import check_matrix
from leftout.downstream.metrics import BootstrapMeasures, HeldOutPredictions, interval
from leftout.downstream.outcomes import (
    ALL,
    FAIR_PCA,
    MINIMAX_PCA,
    MITIGATIONS,
    SHARED,
    VARIANTS,
    ComparedGroups,
    PredictionTarget,
    Rows,
    as_target,
    prediction_target,
)
from leftout.downstream.result import COMPARED, Cost, Figure, Harm
from leftout.errors import InputError, parameter_label
from leftout.fair.estimator import FairPCA
from leftout.fair.minimax import MinimaxPCA
from leftout.groups.measured import measure
from leftout.linalg.losses import WIDE, Array
from leftout.representation.base import as_representation
from leftout.running import Report, Steps, collected_warnings, imap_ordered, one_thread, warn

# Rows up to this many are all used, if nobody says how many.
_PREDICTED_ROWS = 10_000
MODELS = ("logistic", "boosting")
# Few and small trees: what the kinds of features do to a model shows long before its best fit.
_TREES = {"max_iter": 40, "max_leaf_nodes": 8, "early_stopping": False, "random_state": 0}
# Penalized, and on one scale, it ends long before; warnings of one that did not cannot be kept from
# people without changing the whole process.
_MAX_ITERATIONS = 10_000
# Rounds of MinimaxPCA's game and how near it must come: it is played in every fold, and its
# numbers are not reported.
_GAME_ROUNDS, _GAME_TOL = 4, 0.05


def harm(
    X: Any,
    y: Any,
    groups: ArrayLike,
    n_components: int | float = 0.8,
    *,
    representation: Any = None,
    encoder: Any = None,
    positive: Any = None,
    models: Any = ("logistic", "boosting"),
    folds: int = 5,
    repeats: int = 3,
    rest: Any = None,
    bootstrap: int = 999,
    max_rows: int | None = _PREDICTED_ROWS,
    sample_weight: ArrayLike | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Report | bool | None = None,
) -> Harm:
    """Predict a target from all columns and from the components of three PCAs, and compare sides.

    These are a shared PCA, Fair PCA for the groups, and MinimaxPCA, which is given no group, and
    protects every one of as many rows as the smallest of them. Every row is predicted by models
    that have not seen it: whatever learns, learns on the other folds. What the shared PCA costs a
    side is its error there minus the error from all columns; what Fair PCA or MinimaxPCA gives back
    is the shared PCA's error minus its own. MinimaxPCA, which takes longest, plays four rounds, is
    fitted when folds are dealt for the first time only, and not to tables that have more than 200
    rows and columns. Harm is a cost that is larger for a group than for the rest, in errors and in
    AUC (of numbers, R2), from a model that does better than always guessing the same. A different
    rate of the target alone is none.

    Parameters
    ----------
    X : table of shape (m, n)
        Numbers; with an ``encoder``, any table that it takes.
    y : array of shape (m,)
        What to predict: classes, or numbers of more than two values. Rows without are left out.
    groups : array of shape (m,)
        True or 1 for a group and False or 0 for the rest; or a label for each of up to 20 groups,
        each of which is compared with all other rows.
    n_components : int or float, default=0.8
        Number of components, or the share of the whole table's variance to exceed.
    representation : transformer or None, default=None
        What takes the place of the shared PCA, with its own number of components; it is fitted anew
        on the other folds.
    encoder : transformer, optional
        Turns rows of ``X`` into numbers, such as :class:`leftout.TableEncoder`; fitted on the other
        folds.
    positive : value, optional
        The class that counts; all others are one. None: of two the larger or second, and more stay
        several.
    models : names or scikit-learn estimators, default=("logistic", "boosting")
        Cloned for each fold; or a dict of these by what they are called. The first one leads.
        ``"logistic"`` is ridge regression where numbers are predicted.
        Estimators see classes as 0, 1, ...
    folds, repeats : int, default=5 and 3
        Folds have their share of each class and group; each repeat has others.
    rest : label, optional
        Compare every other group with the one of this label, instead of with all other rows.
        :meth:`Harm.of` describes each.
    bootstrap : int, default=999
        Draws of rows, within each group, for the intervals.
    max_rows : int or None, default=10000
        Of larger tables a random part is used.
    sample_weight : array of shape (m,), optional
        How many rows each row stands for: errors and AUC count it so often. Encoder, projections
        and models learn with weights if their ``fit`` takes them.
    random_state, n_jobs
        Of folds and draws; threads for the folds.
    progress : callable, bool or None
        Called with what is done, how many steps are done and how many there are; True prints it.

    Returns
    -------
    Harm
        ``table``, ``extra_cost``, ``fair_return``, ``costs_more``, ``gives_back``, ``costs``,
        ``gain``, ``everybody``, ``summary()``, ``to_dict()``.

    Examples
    --------
    >>> import numpy as np
    >>> from leftout import datasets, harm
    >>> X, groups = datasets.make_planted(600, 8, 2, 120, random_state=0)
    >>> own, shared = (np.linalg.svd(X[groups == side])[2][0] for side in (1, 0))
    >>> chance = 1.0 / (1.0 + np.exp(-X @ (4.0 * own + 2.0 * shared)))
    >>> y = np.random.default_rng(0).random(600) < chance
    >>> found = harm(X, y, groups, 2, models="logistic", repeats=1)
    >>> found.costs_more, found.gives_back
    (True, True)
    """
    check_count("folds", folds, 2, "not a number of folds")
    check_count("repeats", repeats)
    check_whole("bootstrap", bootstrap)
    if max_rows is not None:
        check_count("max_rows", max_rows)
    rng = generator(random_state)
    table = check_matrix(X) if encoder is None else X
    n = len(table) if as_frame(table) is None else as_frame(table).shape[0]
    sides, column = ComparedGroups.of(groups, n, rest), as_target(y)
    if len(column) != n:
        raise InputError(
            f"Found a target of {len(column):,} values for {n:,} rows; one for each row is needed."
        )
    places, weights = check_weights(sample_weight, n)
    counting = np.arange(n)[places]
    target, known = prediction_target(column.take(counting), positive, folds, weights)
    chosen = counting[known]
    if max_rows is not None and len(chosen) > max_rows:
        kept = np.sort(rng.choice(len(chosen), max_rows, replace=False))
        warn(
            f"Predictions are for {max_rows:,} of {len(chosen):,} rows, drawn at random. "
            f"Raise {parameter_label('max_rows')} for more."
        )
        chosen, target = chosen[kept], target.take(kept)
    table, sides = taken(table, chosen), sides.take(chosen)
    sides.check(target)
    given = np.asarray(y.values if isinstance(y, Column) else y)[chosen]
    whole = table
    if encoder is not None:
        how = weights_for(encoder, target.weights)
        whole = check_matrix(clone(encoder).fit_transform(table, given, **how))
    if representation is not None:
        n_components = min(as_representation(representation).rank, *whole.shape)
    # only the number of components and who is first come from the whole table
    fitted = measure(
        whole, sides.place, len(sides.names), n_components, "excess", "global",
        weights=None if target.weights is None else target.weights / target.weights.mean(),
    )  # fmt: skip
    sides = sides.led_by(fitted.losses())
    task = PredictionTask(
        X=table,
        y=given,
        target=target,
        place=sides.place,
        variants=[v for v in VARIANTS if v != MINIMAX_PCA or min(whole.shape) <= WIDE],
        n_components=fitted.built.problem.d,
        models=models_of(models, not target.classes),
        encoder=encoder,
        representation=representation,
    )
    with one_thread():
        found = cross_validate(task, folds, repeats, rng, n_jobs, Steps(folds * repeats, progress))
        measures = BootstrapMeasures.of(target, *found, sides, bootstrap, rng)
    # over all rows, the last side: how far below one guess for all, and errors themselves
    guessed, wrong = (measures.values[name][:, 0, :, -1] for name in ("guess_error", "error"))
    gain, everybody = (
        {v: interval(of, len(chosen)) for v, of in zip(task.variants, errors.T, strict=True)}
        for errors in (guessed - wrong, wrong)
    )
    return Harm(
        target=target.text,
        kind=target.kind,
        group=sides.group,
        rest=sides.rest,
        sizes=dict(zip(sides.names, measures.rows.tolist(), strict=False)),
        n_rows=len(chosen),
        missing=int(np.sum(~known)),
        set_aside=int(known.sum() - len(chosen)),
        n_components=task.n_components,
        folds=folds,
        repeats=repeats,
        models=list(task.models),
        scale=target.scale,
        figures=_figures(task, sides, measures),
        costs=_costs(task, sides, measures),
        gain=gain,
        everybody=everybody,
        held_out=HeldOutPredictions(target, chosen, found.guesses[0], found.chances[0]),
        shared="PCA" if representation is None else as_representation(representation).name,
    )


def _figures(task: PredictionTask, sides: ComparedGroups, found: BootstrapMeasures) -> list[Figure]:
    """Measures of every group, and of the rest of the first one."""
    ordered = sorted(sides.sides, key=lambda side: side[0] != sides.first)
    return [
        Figure(model, name, variant, float(found.rows[side]), found.at(m, v, side))
        for m, model in enumerate(task.models)
        for side, name in ordered
        for v, variant in enumerate(task.variants)
    ]


def _costs(task: PredictionTask, sides: ComparedGroups, found: BootstrapMeasures) -> list[Cost]:
    """How far each kind of features is below the shared PCA; of two groups, for the first."""
    codes = set(range(len(sides.names))) - {sides.beside}
    groups = sorted(codes, key=lambda group: group != sides.first)
    lines = []
    for m, model in enumerate(task.models):
        for group in groups if len(sides.names) > 2 else groups[:1]:
            for name in (name for name in COMPARED if name in found.values):
                drawn = found.values[name][:, m]
                shared = drawn[:, task.variants.index(SHARED)]
                below = {
                    variant: found.apart(shared - drawn[:, v], group, sides.rest_side(group))
                    for v, variant in enumerate(task.variants)
                }
                returns = {variant: below[variant] for variant in below if variant in MITIGATIONS}
                lines.append(Cost(model, sides.names[group], name, *below[ALL], returns))
    return lines


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
        how = weights_for(encoder, self.target.take(train).weights)
        learnt = check_matrix(encoder.fit_transform(learnt, self.y[train], **how), min_features=1)
        return learnt, check_matrix(encoder.transform(new), min_features=1)


def weights_for(estimator: Any, weights: Array | None) -> dict[str, Array]:
    """Weights as ``fit`` takes them; a pipeline's are for each of its steps that takes some."""
    if weights is None:
        return {}
    if isinstance(estimator, Pipeline):
        steps = [name for name, step in estimator.steps if _takes_weights(step)]
        return {f"{name}__sample_weight": weights for name in steps}
    return {"sample_weight": weights} if _takes_weights(estimator) else {}


def _takes_weights(estimator: Any) -> bool:
    return hasattr(estimator, "fit") and has_fit_parameter(estimator, "sample_weight")


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
    target = task.target.take(train)
    n_classes = len(task.target.classes)
    shape = (len(task.models), len(task.variants), len(test))
    guesses, chances = np.zeros(shape), np.zeros((*shape, n_classes))
    for v, variant in enumerate(task.variants):
        if repeat and variant == MINIMAX_PCA:
            continue
        project = projection(task, variant, learnt, task.place[train], target.weights)
        seen, unseen = project(learnt), project(new)
        for m, model in enumerate(task.models.values()):
            how = weights_for(model, target.weights)
            fitted = clone(model).fit(seen, target.values, **how)
            guesses[m, v] = fitted.predict(unseen)
            if n_classes and hasattr(fitted, "predict_proba"):
                columns = np.asarray(fitted.classes_, dtype=np.intp)
                chances[m, v][:, columns] = fitted.predict_proba(unseen)
            elif n_classes:
                chances[m, v] = np.eye(n_classes)[guesses[m, v].astype(np.intp)]
    return CrossValidated(guesses, chances)


def projection(
    task: PredictionTask, variant: str, learnt: Array, place: Rows, weights: Array | None
) -> Callable[[Array], Array]:
    """What turns rows into coordinates under one kind of features, fitted to rows.

    A representation takes the place of the PCA: what can be fitted is fitted anew. MinimaxPCA
    protects groups of as many rows as the smallest here has (of its weight), and is given none.
    """
    d, representation = min(task.n_components, *learnt.shape), task.representation
    if variant == FAIR_PCA:
        fair = FairPCA(d).fit(learnt, groups=place, sample_weight=weights)
        # more than two groups may take more dimensions than were asked for
        V = getattr(fair, "rank_d_components_", fair.components_)
        return lambda X: (X - fair.mean_) @ V.T
    if variant == MINIMAX_PCA:
        each = np.bincount(place, weights)
        fewest = max(1, round(len(place) * each[each > 0].min() / each.sum()))
        minimax = MinimaxPCA(
            d, group_size=fewest, max_rounds=_GAME_ROUNDS, tol=_GAME_TOL, random_state=0
        )
        return minimax.fit(learnt, sample_weight=weights).transform
    if variant == SHARED and representation is None:
        if weights is not None:
            return FairPCA(d).fit(learnt, sample_weight=weights).transform
        solver = "covariance_eigh" if learnt.shape[0] >= learnt.shape[1] else "full"
        return PCA(d, svd_solver=solver).fit(learnt).transform
    if variant == SHARED and not isinstance(representation, np.ndarray):
        if hasattr(representation, "fit"):
            how = weights_for(representation, weights)
            representation = clone(representation).fit(learnt, **how)
        return representation.transform
    return lambda X: X if variant == ALL else X @ representation.T
