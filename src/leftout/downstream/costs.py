"""What does a shared PCA cost a group downstream, and what do Fair PCA and MinimaxPCA give back?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from leftout.checks import check_count, check_whole, generator
from leftout.data.columns import Column
from leftout.data.frames import as_frame
from leftout.data.matrix import check_matrix
from leftout.downstream.cross_validation import (
    CrossValidated,
    PredictionTask,
    View,
    cross_validate,
    models_of,
    taken,
)
from leftout.downstream.metrics import (
    BootstrapMeasures,
    bootstrap_sums,
    check_also,
    compare_masks,
    interval,
    row_terms,
)
from leftout.downstream.outcomes import (
    ALL,
    FAIR_PCA,
    GROUP,
    MINIMAX_PCA,
    MITIGATIONS,
    REST_NAME,
    SHARED,
    VARIANTS,
    ComparedGroups,
    Mask,
    Rows,
    prediction_target,
)
from leftout.downstream.result import (
    COMPARED,
    AtDimension,
    Cost,
    Difference,
    Figure,
    Harm,
    OtherCost,
)
from leftout.errors import InputError, parameter_label
from leftout.groups.known import measure
from leftout.linalg.losses import WIDE, Array
from leftout.linalg.significance import Interval
from leftout.representation.base import as_representation
from leftout.running import Report, Steps, one_thread, warn

# Rows up to this many are all used, if nobody says how many.
_PREDICTED_ROWS = 10_000
# The most numbers of components that are looked at.
_ACROSS = 12


def harm(
    X: Any,
    y: Any,
    groups: ArrayLike | None = None,
    n_components: int | float = 0.8,
    *,
    representation: Any = None,
    search: Any = None,
    encoder: Any = None,
    positive: Any = None,
    models: Any = ("logistic", "boosting"),
    folds: int = 5,
    repeats: int = 3,
    by_dimension: bool = False,
    also: Mapping[str, ArrayLike] | None = None,
    rest: int | None = None,
    bootstrap: int = 999,
    max_rows: int | None = _PREDICTED_ROWS,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Report | bool | None = None,
) -> Harm:
    """Predict a target from all columns and from the components of three PCAs, and compare sides.

    These are a shared PCA, Fair PCA for the groups, and MinimaxPCA, which protects every group of
    as many rows as the smallest of them and is told of none. Every row is predicted by models that
    have not seen it: whatever learns, learns on the other folds. What the shared PCA costs a side
    is its error there minus the error from all columns; what Fair PCA or MinimaxPCA gives back is
    the shared PCA's error minus its own. MinimaxPCA, which takes longest, plays six rounds, is
    fitted when folds are dealt for the first time only, and not to tables that have more than 200
    rows and columns. Harm is a cost that is larger
    for a group than for the rest, in errors and in AUC (of numbers, R2), from a model that does
    better than always guessing the same. A different rate of the target alone is none.

    Parameters
    ----------
    X : table of shape (m, n)
        Numbers; with an ``encoder``, any table that it takes.
    y : array of shape (m,)
        What to predict: classes, or numbers of more than two values. Rows without are left out.
    groups : array of shape (m,), optional
        True or 1 for a group and False or 0 for the rest; or a label for each of up to 20 groups,
        each of which is compared with all other rows.
    n_components : int or float, default=0.8
        Number of components, or the share of the whole table's variance to exceed.
    representation : transformer or None, default=None
        What takes the place of the shared PCA, with its own number of components; it is fitted anew
        on the other folds.
    search : MaxDisparityPartition, optional
        Instead of ``groups``: it is fitted on the other folds and predicts the group of held-out
        rows, so that what is said holds for rows that it has not seen.
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
    by_dimension : bool, default=False
        Also errors with up to 12 numbers of components, of the leading model, once; from the
        shared PCA and Fair PCA.
    also : mapping of names to masks of shape (m,), optional
        More groups, each beside all other rows: their errors, and what the shared PCA costs them,
        follow from the same predictions of the leading model. (Fair PCA is that of ``groups``.)
    rest : 0 or None, default=None
        With 0, ``groups`` are a search's labels: every left-out group from 1 is compared with the
        rest, not with all other rows. :meth:`Harm.of` tells of each.
    bootstrap : int, default=999
        Draws of rows, within each group, for the intervals.
    max_rows : int or None, default=10000
        Of larger tables a random part is used.
    random_state, n_jobs
        Of folds and draws; threads for the folds.
    progress : callable, bool or None
        Called with what is done, how many steps are done and how many there are; True prints it.

    Returns
    -------
    Harm
        ``table``, ``extra_cost``, ``fair_return``, ``rest_return``, ``costs_more``,
        ``gives_back``, ``costs``, ``gain``, ``everybody``, ``by_dimension``, ``others``,
        ``summary()``, ``to_dict()``.

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
    _check(folds, repeats, bootstrap, max_rows, groups, search, rest)
    rng = generator(random_state)
    steps = Steps(folds * (repeats + by_dimension), progress)
    table = check_matrix(X) if encoder is None else X
    n = len(table) if as_frame(table) is None else as_frame(table).shape[0]
    sides = ComparedGroups((GROUP, REST_NAME), np.zeros(n, dtype=np.intp))
    if groups is not None:
        sides = (ComparedGroups.of if rest is None else ComparedGroups.left_out)(groups, n)
    target, known = prediction_target(y, positive, folds)
    if len(known) != n:
        raise InputError(
            f"Found a target of {len(known):,} values for {n:,} rows; one for each row is needed."
        )
    chosen = np.flatnonzero(known)
    if max_rows is not None and len(chosen) > max_rows:
        kept = np.sort(rng.choice(len(chosen), max_rows, replace=False))
        warn(
            f"Predictions are for {max_rows:,} of {len(chosen):,} rows, drawn at random. "
            f"Raise {parameter_label('max_rows')} for more."
        )
        chosen, target = chosen[kept], target.take(kept)
    table, sides = taken(table, chosen), sides.take(chosen)
    if groups is not None:
        sides.check(target, sides.place)
    given = np.asarray(y.values if isinstance(y, Column) else y)[chosen]
    whole = _encoded(encoder, table, given)
    if representation is not None:
        n_components = min(as_representation(representation).rank, *whole.shape)
    # only the number of components and who is first come from the whole table
    fitted = measure(
        whole, sides.place, 1 if groups is None else len(sides.names), n_components, "excess",
        "global",
    )  # fmt: skip
    d = len(fitted.V)
    if not sides.marked:
        losses = fitted.losses()
        if rest is not None:
            losses[rest] = -np.inf
        sides = replace(sides, first=int(losses.argmax()))
    seen = [v for v in VARIANTS if v != MINIMAX_PCA or min(whole.shape) <= WIDE]
    task = PredictionTask(
        table, given, target, sides.place, tuple(View(variant, d) for variant in seen),
        models_of(models, not target.classes), encoder, search, representation,
    )  # fmt: skip
    more = {name: mask[chosen] for name, mask in check_also(also, n).items()}
    with one_thread():
        found = cross_validate(task, folds, repeats, rng, n_jobs, steps)
        for place in found.place if search is not None else ():
            sides.check(target, place)
        # rows are drawn within groups, where these do not change with the fold
        strata = sides.place if search is None else np.zeros_like(sides.place)
        measures = _measured(task, sides, found, strata, bootstrap, rng)
        gain, everybody = _overall(task, found, strata, bootstrap, rng)
        dimensions: list[AtDimension] = []
        if by_dimension:
            most = max(whole.shape[1] - 1, 1)
            dimensions = _by_dimension(task, sides.first, d, most, folds, rng, n_jobs, steps)
        others = _others(task, found, more, bootstrap, rng)
    return Harm(
        target=target.text,
        kind=target.kind,
        group=sides.group,
        rest=sides.rest,
        sizes=dict(zip(sides.names, measures.rows.tolist(), strict=False)),
        n_rows=len(chosen),
        missing=int(n - known.sum()),
        set_aside=int(known.sum() - len(chosen)),
        n_components=d,
        folds=folds,
        repeats=repeats,
        models=list(task.models),
        new_rows=search is not None,
        scale=target.scale,
        figures=_figures(task, sides, measures),
        costs=_costs(task, sides, measures),
        gain=gain,
        everybody=everybody,
        by_dimension=dimensions,
        others=others,
        shared="PCA" if representation is None else as_representation(representation).name,
    )


def _check(
    folds: Any, repeats: Any, bootstrap: Any, max_rows: Any, groups: Any, search: Any, rest: Any
) -> None:
    if rest is not None and (rest != 0 or groups is None):
        raise InputError(
            f"{parameter_label('rest', rest)} is not available; give 0, with a search's labels as "
            f"{parameter_label('groups')}, or None."
        )
    check_count("folds", folds, 2, "not a number of folds")
    check_count("repeats", repeats)
    check_whole("bootstrap", bootstrap)
    if max_rows is not None:
        check_count("max_rows", max_rows)
    if (groups is None) == (search is None):
        found = "neither" if groups is None else "both"
        raise InputError(
            f"Found {found} of {parameter_label('groups')} and {parameter_label('search')}; one "
            "of them says who is compared with whom. Give labels of the rows, or a search that "
            "finds them."
        )


def _encoded(encoder: Any, table: Any, y: Any) -> Array:
    return table if encoder is None else check_matrix(clone(encoder).fit_transform(table, y))


def _measured(
    task: PredictionTask, sides: ComparedGroups, found: CrossValidated, strata: Rows,
    bootstrap: int, rng: np.random.Generator,
) -> BootstrapMeasures:  # fmt: skip
    """Measures of (models, views, sides), of what rows add on average over repeats."""
    masks = [sides.members(place) for place in found.place]
    averaged: dict[str, list[Array]] = {}
    for m, sure in enumerate(found.sure):
        for v in range(len(task.views)):
            repeats = [
                row_terms(task.target, guesses, found.chances[m, v, r], masks[r], sure)
                for r, guesses in enumerate(found.guesses[m, v])
            ]
            for name in repeats[0]:
                mean = np.mean([each[name] for each in repeats], axis=0)
                averaged.setdefault(name, []).append(mean)
    shape = (len(strata), len(task.models), len(task.views), -1)
    terms = {name: np.stack(each, axis=1).reshape(shape) for name, each in averaged.items()}
    return BootstrapMeasures.of(task.target, terms, strata, bootstrap, rng)


def _figures(task: PredictionTask, sides: ComparedGroups, found: BootstrapMeasures) -> list[Figure]:
    """Measures of every group, and of the rest of the first one."""
    told = sorted(sides.sides, key=lambda side: side[0] != sides.first)
    return [
        Figure(model, name, view.variant, float(found.rows[side]), found.at(m, v, side))
        for m, model in enumerate(task.models)
        for side, name in told
        for v, view in enumerate(task.views)
    ]


def _costs(task: PredictionTask, sides: ComparedGroups, found: BootstrapMeasures) -> list[Cost]:
    """How far each kind of features is below the shared PCA; of two groups, for the first."""
    codes = set(range(len(sides.names))) - {sides.beside}
    groups = sorted(codes, key=lambda group: group != sides.first)
    variants = [view.variant for view in task.views]
    lines = []
    for m, model in enumerate(task.models):
        for group in groups if len(sides.names) > 2 else groups[:1]:
            for name in (name for name in COMPARED if name in found.values):
                drawn = found.values[name][:, m]
                shared = drawn[:, variants.index(SHARED)]
                below = {
                    variant: Difference(
                        *found.apart(shared - drawn[:, v], group, sides.rest_side(group))
                    )
                    for v, variant in enumerate(variants)
                }
                returns = {variant: below[variant] for variant in below if variant in MITIGATIONS}
                lines.append(Cost(model, sides.names[group], name, *below[ALL], returns))
    return lines


def _overall(
    task: PredictionTask,
    found: CrossValidated,
    strata: Rows,
    bootstrap: int,
    rng: np.random.Generator,
) -> list[dict[str, Interval]]:
    """The leading model's errors over all rows: how far below one guess for all, and themselves."""
    wrong = task.target.errors(found.guesses[0]).mean(axis=1)
    n = wrong.shape[1]
    each = np.vstack([task.target.errors(task.target.guess) - wrong, wrong])
    means = (bootstrap_sums(each.T, strata, bootstrap, rng) / n).reshape(1 + bootstrap, 2, -1)
    return [
        {view.variant: interval(means[:, what, v], n) for v, view in enumerate(task.views)}
        for what in (0, 1)
    ]


def _others(
    task: PredictionTask, found: CrossValidated, masks: dict[str, Mask], bootstrap: int,
    rng: np.random.Generator,
) -> list[OtherCost]:  # fmt: skip
    """What the shared PCA costs more groups in errors of the leading model, and all its errors."""
    each = task.target.errors(found.guesses[0]).mean(axis=1)
    wrong = {view.variant: of for view, of in zip(task.views, each, strict=True)}
    paid = wrong[SHARED] - wrong[ALL]
    told = compare_masks(OtherCost, task.target, paid, masks, bootstrap, rng, varied=True)
    return [
        line if line.why
        else replace(line, errors={seen: float(of[mask].mean()) for seen, of in wrong.items()})
        for line, mask in zip(told, masks.values(), strict=True)
    ]  # fmt: skip


def _by_dimension(
    task: PredictionTask, first: int, d: int, most: int, folds: int, rng: np.random.Generator,
    n_jobs: int | None, steps: Steps,
) -> list[AtDimension]:  # fmt: skip
    """The leading model's errors from PCA and Fair PCA of up to ``most`` components."""
    spaced = np.arange(1, most + 1) if most <= _ACROSS else np.geomspace(1, most, _ACROSS - 1)
    numbers = sorted({*np.round(spaced).astype(int).tolist(), d})
    views = tuple(View(variant, number) for number in numbers for variant in (SHARED, FAIR_PCA))
    leading = dict(list(task.models.items())[:1])
    task = replace(task, views=views, models=leading, representation=None)
    found = cross_validate(task, folds, 1, rng, n_jobs, steps, "numbers of components")
    wrong = task.target.errors(found.guesses[0, :, 0]).reshape(len(numbers), 2, -1)
    group = found.place[0] == first
    return [
        AtDimension(d, *(float(each[v, side].mean()) for v in (0, 1) for side in (group, ~group)))
        for d, each in zip(numbers, wrong, strict=True)
    ]
