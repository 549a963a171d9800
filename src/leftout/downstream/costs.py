"""What does a shared PCA cost a group downstream, and what do Fair PCA and MinimaxPCA give back?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from leftout.checks import check_count, check_whole, generator
from leftout.data.columns import Column
from leftout.data.frames import as_frame
from leftout.data.matrix import check_matrix
from leftout.downstream.cross_validation import (
    PredictionTask,
    cross_validate,
    models_of,
    taken,
)
from leftout.downstream.metrics import BootstrapMeasures, HeldOutPredictions, interval
from leftout.downstream.outcomes import (
    ALL,
    MINIMAX_PCA,
    MITIGATIONS,
    SHARED,
    VARIANTS,
    ComparedGroups,
    prediction_target,
)
from leftout.downstream.result import COMPARED, Cost, Figure, Harm
from leftout.errors import InputError, parameter_label
from leftout.groups.measured import measure
from leftout.linalg.losses import WIDE
from leftout.representation.base import as_representation
from leftout.running import Report, Steps, one_thread, warn

# Rows up to this many are all used, if nobody says how many.
_PREDICTED_ROWS = 10_000


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
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Report | bool | None = None,
) -> Harm:
    """Predict a target from all columns and from the components of three PCAs, and compare sides.

    These are a shared PCA, Fair PCA for the groups, and MinimaxPCA, which protects every group of
    as many rows as the smallest of them and is told of none. Every row is predicted by models that
    have not seen it: whatever learns, learns on the other folds. What the shared PCA costs a side
    is its error there minus the error from all columns; what Fair PCA or MinimaxPCA gives back is
    the shared PCA's error minus its own. MinimaxPCA, which takes longest, plays four rounds, is
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
    sides = ComparedGroups.of(groups, n, rest)
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
    sides.check(target)
    given = np.asarray(y.values if isinstance(y, Column) else y)[chosen]
    whole = table
    if encoder is not None:
        whole = check_matrix(clone(encoder).fit_transform(table, given))
    if representation is not None:
        n_components = min(as_representation(representation).rank, *whole.shape)
    # only the number of components and who is first come from the whole table
    fitted = measure(whole, sides.place, len(sides.names), n_components, "excess", "global")
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
        missing=int(n - known.sum()),
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
