"""What does a shared PCA cost a group downstream, and what do Fair PCA and MinimaxPCA give back?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from leftout.checks import check_count, check_whole, generator, is_int
from leftout.data.columns import Column
from leftout.data.frames import as_frame
from leftout.data.matrix import check_matrix
from leftout.downstream.measures import (
    Mask,
    drawn,
    errors,
    interval,
    lines,
    members,
    summed,
)
from leftout.downstream.other_groups import OtherCost, beside, check_also
from leftout.downstream.outcomes import (
    ALL,
    GROUP,
    MINIMAX,
    MITIGATIONS,
    REST,
    SHARED,
    VARIANTS,
    GroupSides,
    aim_of,
    check_sides,
    numbered,
    sides_of,
)
from leftout.downstream.predictions import Predicted, PredictionTask, across, models_of, predictions
from leftout.downstream.predictions import taken as rows_taken
from leftout.downstream.result import COMPARED, AtDimension, Cost, Difference, Figure, Harm
from leftout.errors import InputError, parameter_label
from leftout.groups.known import measure
from leftout.linalg.effects import Interval
from leftout.linalg.losses import WIDE, Array
from leftout.representation.base import as_representation
from leftout.running import Report, Steps, one_thread, warn

# Rows up to this many are all used, if nobody says how many.
_ROWS = 10_000
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
    max_rows: int | None = _ROWS,
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
    task, sides, chosen, counts = _posed(
        X, y, groups, n_components, representation, search, encoder, positive, models, folds,
        max_rows, rest, rng,
    )  # fmt: skip
    more = {name: mask[chosen] for name, mask in check_also(also, sum(counts)).items()}
    with one_thread():
        found = predictions(task, folds, repeats, rng, n_jobs, steps)
        for place in found.place if search is not None else ():
            check_sides(task.aim, sides.names, place)
        told = _drawn(task, sides, found, bootstrap, rng)
        gain, everybody = _overall(task, sides, found, bootstrap, rng)
        dimensions = _by_dimension(task, sides, folds, rng, n_jobs, steps) if by_dimension else []
        others = _others(task, found, more, bootstrap, rng)
    names, aim = [model.name for model in task.models], task.aim
    return Harm(
        target=aim.text,
        kind=aim.kind,
        group=sides.names[sides.first],
        rest=sides.rests[sides.first],
        sizes=dict(zip(sides.names, told.rows.tolist(), strict=False)),
        n_rows=len(aim.values),
        missing=counts[1],
        set_aside=counts[2],
        n_components=task.n_components,
        folds=folds,
        repeats=repeats,
        models=names,
        new_rows=search is not None,
        scale=aim.scale,
        figures=told.figures(names, sides),
        costs=told.costs(names, sides),
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
    if not (is_int(folds) and folds >= 2):
        raise InputError(
            f"{parameter_label('folds', folds)} is not a number of folds; give an int from 2."
        )
    check_count("repeats", repeats)
    check_whole("bootstrap", bootstrap)
    if max_rows is not None:
        check_count("max_rows", max_rows)
    if (groups is None) == (search is None):
        found = "neither" if groups is None else "both"
        raise InputError(
            f"Found {found} of {parameter_label('groups')} and {parameter_label('search')}; one "
            "of them says who is "
            "compared with whom. Give labels of the rows, or a search that finds them."
        )


def _posed(
    X: Any, y: Any, groups: Any, n_components: Any, representation: Any, search: Any, encoder: Any,
    positive: Any, models: Any, folds: int, max_rows: int | None, rest: int | None,
    rng: np.random.Generator,
) -> tuple[PredictionTask, GroupSides, NDArray[np.intp], tuple[int, int, int]]:  # fmt: skip
    """Everything checked, rows chosen, and the number of components and the group settled."""
    table = check_matrix(X) if encoder is None else X
    n = len(table) if as_frame(table) is None else as_frame(table).shape[0]
    names: tuple[str, ...] = (GROUP, REST)
    place, marked = np.zeros(n, dtype=np.intp), True
    if groups is not None:
        names, place, marked = (sides_of if rest is None else numbered)(groups, n)
    aim, known = aim_of(y, positive, folds)
    if len(known) != n:
        raise InputError(
            f"Found a target of {len(known):,} values for {n:,} rows; one for each row is needed."
        )
    chosen = np.flatnonzero(known)
    missing, set_aside = n - len(chosen), 0
    if max_rows is not None and len(chosen) > max_rows:
        kept = np.sort(rng.choice(len(chosen), max_rows, replace=False))
        set_aside, chosen, aim = len(chosen) - max_rows, chosen[kept], aim.take(kept)
        warn(
            f"Predictions are for {max_rows:,} of {set_aside + max_rows:,} rows, drawn at random. "
            f"Raise {parameter_label('max_rows')} for more.",
            stacklevel=3,
        )
    table, place = rows_taken(table, chosen), place[chosen]
    given = np.asarray(y.values if isinstance(y, Column) else y)[chosen]
    if groups is not None:
        check_sides(aim, names, place)
    whole = table if encoder is None else _encoded(encoder, table, given)
    n_groups = len(names) if groups is not None else 1
    if representation is not None:
        n_components = min(as_representation(representation).rank, *whole.shape)
    told = measure(whole, place, n_groups, n_components, "excess", "global")
    losses = told.losses()
    if rest is not None:
        losses[rest] = -np.inf
    first = 0 if marked else int(losses.argmax())
    slow = min(whole.shape) > WIDE
    task = PredictionTask(
        table,
        given,
        aim,
        place,
        len(told.V),
        models_of(models, aim.classes is None),
        encoder,
        search,
        representation,
        tuple(variant for variant in VARIANTS if not (slow and variant == MINIMAX)),
    )
    counts = len(chosen), missing, set_aside
    return task, GroupSides(names, place, first, rest), chosen, counts


def _encoded(encoder: Any, table: Any, y: Any) -> Array:
    """The whole table as numbers: only the number of components and who is first come from it."""
    return check_matrix(clone(encoder).fit_transform(table, y))


@dataclass(frozen=True)
class _Drawn:
    """Measures of all rows (first) and of draws of them: (1 + draws, models, variants, sides).

    Sides are the groups, and where there are more than two, then all other rows for each of them.
    """

    measures: dict[str, Array]
    rows: Array
    variants: tuple[str, ...]

    def figures(self, models: list[str], sides: GroupSides) -> list[Figure]:
        """Measures of every group, and of the rest of the first one."""
        k = len(sides.names)
        told = list(enumerate(sides.names))
        told += [(k + sides.first, sides.rests[sides.first])] * (k > 2 and sides.beside is None)
        told.sort(key=lambda side: side[0] != sides.first)
        return [
            Figure(model, name, variant, float(self.rows[side]), {
                measure: interval(drawn[:, m, v, side], self.rows[side])
                for measure, drawn in self.measures.items()
            })
            for m, model in enumerate(models)
            for side, name in told
            for v, variant in enumerate(self.variants)
        ]  # fmt: skip

    def costs(self, models: list[str], sides: GroupSides) -> list[Cost]:
        """Differences between kinds of features, for the first group, or for each of several."""
        k = len(sides.names)
        groups = sorted(set(range(k)) - {sides.beside}, key=lambda group: group != sides.first)
        return [
            self._cost(model, sides.names[group], name, m, group, sides.beside)
            for m, model in enumerate(models)
            for group in (groups if k > 2 else groups[:1])
            for name in COMPARED
            if name in self.measures
        ]  # fmt: skip

    def _cost(
        self, model: str, side: str, measure: str, m: int, group: int, beside: int | None
    ) -> Cost:
        """How far each kind of features is below the shared PCA."""
        drawn = self.measures[measure][:, m]
        rest = 1 - group if drawn.shape[-1] == 2 else drawn.shape[-1] // 2 + group
        rest = rest if beside is None else beside
        few = min(self.rows[group], self.rows[rest])
        shared = drawn[:, self.variants.index(SHARED)]
        below = {}
        for v, variant in enumerate(self.variants):
            by_side = shared - drawn[:, v]
            below[variant] = Difference(
                interval(by_side[:, group], self.rows[group]),
                interval(by_side[:, rest], self.rows[rest]),
                interval(by_side[:, group] - by_side[:, rest], few),
            )
        returns = {variant: below[variant] for variant in below if variant in MITIGATIONS}
        return Cost(model, side, measure, *below[ALL], returns)


def _drawn(
    task: PredictionTask,
    sides: GroupSides,
    found: Predicted,
    bootstrap: int,
    rng: np.random.Generator,
) -> _Drawn:
    """Lines of rows averaged over repeats, then summed up for all rows and for draws of them."""
    masks = [members(place, len(sides.names)) for place in found.place]
    averaged: dict[str, list[Array]] = {}
    for m, sure in enumerate(found.sure):
        for v in range(len(task.variants)):
            repeats = [
                lines(
                    task.aim, guesses, None if found.chances is None else found.chances[m, v, r],
                    masks[r], sure,
                )
                for r, guesses in enumerate(found.guesses[m, v])
            ]  # fmt: skip
            for name in repeats[0]:
                mean = np.mean([each[name] for each in repeats], axis=0)
                averaged.setdefault(name, []).append(mean)
    strata = _strata(task, sides)
    shape = (len(strata), len(found.sure), len(task.variants), -1)
    columns = {name: np.stack(each, axis=1).reshape(shape) for name, each in averaged.items()}
    measures, rows = drawn(task.aim, columns, strata, bootstrap, rng)
    return _Drawn(measures, rows[0, 0], task.variants)


def _strata(task: PredictionTask, sides: GroupSides) -> NDArray[np.intp]:
    """Rows are drawn within groups, where these do not change with the fold."""
    return sides.place if task.search is None else np.zeros_like(sides.place)


def _overall(
    task: PredictionTask,
    sides: GroupSides,
    found: Predicted,
    bootstrap: int,
    rng: np.random.Generator,
) -> list[dict[str, Interval]]:
    """The leading model's errors over all rows: how far below one guess for all, and themselves."""
    wrong = errors(task.aim, found.guesses[0]).mean(axis=1)
    n, strata = wrong.shape[1], _strata(task, sides)
    each = np.vstack([errors(task.aim, task.aim.guess) - wrong, wrong])
    means = (summed(each.T, strata, bootstrap, rng) / n).reshape(1 + bootstrap, 2, -1)
    return [
        {variant: interval(means[:, what, v], n) for v, variant in enumerate(task.variants)}
        for what in (0, 1)
    ]


def _others(
    task: PredictionTask,
    found: Predicted,
    masks: dict[str, Mask],
    bootstrap: int,
    rng: np.random.Generator,
) -> list[OtherCost]:
    """What the shared PCA costs more groups in errors of the leading model, and all its errors."""
    if not masks:
        return []
    wrong = dict(zip(task.variants, errors(task.aim, found.guesses[0]).mean(axis=1), strict=True))
    paid = wrong[SHARED] - wrong[ALL]
    told = beside(OtherCost, task.aim, paid, masks, bootstrap, rng, varied=True)
    return [
        line if line.why
        else replace(line, errors={seen: float(of[mask].mean()) for seen, of in wrong.items()})
        for line, mask in zip(told, masks.values(), strict=True)
    ]  # fmt: skip


def _by_dimension(
    task: PredictionTask,
    sides: GroupSides,
    folds: int,
    rng: np.random.Generator,
    n_jobs: int | None,
    steps: Steps,
) -> list[AtDimension]:
    n = task.X.shape[1] if task.encoder is None else _encoded(task.encoder, task.X, task.y).shape[1]
    most = max(n - 1, 1)
    spaced = np.arange(1, most + 1) if most <= _ACROSS else np.geomspace(1, most, _ACROSS - 1)
    numbers = sorted({*np.round(spaced).astype(int).tolist(), task.n_components})
    guesses, place = across(task, numbers, folds, rng, n_jobs, steps)
    wrong, group = errors(task.aim, guesses), place == sides.first
    return [
        AtDimension(d, *(float(each[v, side].mean()) for v in (0, 1) for side in (group, ~group)))
        for d, each in zip(numbers, wrong, strict=True)
    ]
