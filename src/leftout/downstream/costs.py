"""What does a shared PCA cost a group downstream, and what does Fair PCA give back?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from leftout.asking import asking
from leftout.checks import Refusal, check_count, check_whole, generator, is_int
from leftout.core.interval import Interval
from leftout.core.losses import Array
from leftout.downstream.aims import (
    GROUP,
    REST,
    VARIANTS,
    Sides,
    aim_of,
    check_sides,
    numbered,
    sides_of,
)
from leftout.downstream.measures import (
    Mask,
    drawn,
    errors,
    interval,
    lines,
    members,
    summed,
)
from leftout.downstream.models import models_of
from leftout.downstream.others import OtherCost, beside, check_also
from leftout.downstream.predictions import Predicted, Task, across, predictions
from leftout.downstream.predictions import taken as rows_taken
from leftout.downstream.result import COMPARED, AtDimension, Cost, Figure, Harm
from leftout.representation.base import as_representation
from leftout.running import Report, Steps, note, one_thread
from leftout.search.known import measure
from leftout.tables.columns import Column
from leftout.tables.frames import as_frame
from leftout.tables.matrix import check_matrix

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
    """Predict a target from all columns, from a shared PCA and from Fair PCA, and compare sides.

    Every row is predicted by models that have not seen it: whatever learns, learns on the other
    folds. What the shared PCA costs a side is its error there minus the error from all columns;
    what Fair PCA gives back is the shared PCA's error minus its own. Harm is a cost that is larger
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
        Also errors with up to 12 numbers of components, of the leading model, once.
    also : mapping of names to masks of shape (m,), optional
        More groups, each beside all other rows: what the shared PCA costs them follows from the
        same predictions of the leading model. (Fair PCA is that of ``groups``.)
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
        ``gives_back``, ``costs``, ``gain``, ``by_dimension``, ``others``, ``summary()``,
        ``to_dict()``.

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
        gain = _gain(task, sides, found, bootstrap, rng)
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
        by_dimension=dimensions,
        others=others,
        shared="PCA" if representation is None else as_representation(representation).name,
    )


def _check(
    folds: Any, repeats: Any, bootstrap: Any, max_rows: Any, groups: Any, search: Any, rest: Any
) -> None:
    if rest is not None and (rest != 0 or groups is None):
        raise Refusal(
            f"{asking('rest', rest)} is not available; give 0, with a search's labels as "
            f"{asking('groups')}, or None."
        )
    if not (is_int(folds) and folds >= 2):
        raise Refusal(f"{asking('folds', folds)} is not a number of folds; give an int from 2.")
    check_count("repeats", repeats)
    check_whole("bootstrap", bootstrap)
    if max_rows is not None:
        check_count("max_rows", max_rows)
    if (groups is None) == (search is None):
        found = "neither" if groups is None else "both"
        raise Refusal(
            f"Found {found} of {asking('groups')} and {asking('search')}; one of them says who is "
            "compared with whom. Give labels of the rows, or a search that finds them."
        )


def _posed(
    X: Any, y: Any, groups: Any, n_components: Any, representation: Any, search: Any, encoder: Any,
    positive: Any, models: Any, folds: int, max_rows: int | None, rest: int | None,
    rng: np.random.Generator,
) -> tuple[Task, Sides, NDArray[np.intp], tuple[int, int, int]]:  # fmt: skip
    """Everything checked, rows chosen, and the number of components and the group settled."""
    table = check_matrix(X) if encoder is None else X
    n = len(table) if as_frame(table) is None else as_frame(table).shape[0]
    names: tuple[str, ...] = (GROUP, REST)
    place, marked = np.zeros(n, dtype=np.intp), True
    if groups is not None:
        names, place, marked = (sides_of if rest is None else numbered)(groups, n)
    aim, known = aim_of(y, positive, folds)
    if len(known) != n:
        raise Refusal(
            f"Found a target of {len(known):,} values for {n:,} rows; one for each row is needed."
        )
    chosen = np.flatnonzero(known)
    missing, set_aside = n - len(chosen), 0
    if max_rows is not None and len(chosen) > max_rows:
        kept = np.sort(rng.choice(len(chosen), max_rows, replace=False))
        set_aside, chosen, aim = len(chosen) - max_rows, chosen[kept], aim.take(kept)
        note(
            f"Predictions are for {max_rows:,} of {set_aside + max_rows:,} rows, drawn at random. "
            f"Raise {asking('max_rows')} for more.",
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
    task = Task(
        table,
        given,
        aim,
        place,
        len(told.V),
        models_of(models, aim.classes is None),
        encoder,
        search,
        representation,
    )
    counts = len(chosen), missing, set_aside
    return task, Sides(names, place, first, rest), chosen, counts


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

    def figures(self, models: list[str], sides: Sides) -> list[Figure]:
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
            for v, variant in enumerate(VARIANTS)
        ]  # fmt: skip

    def costs(self, models: list[str], sides: Sides) -> list[Cost]:
        """Differences between kinds of features, for the first group, or for each of several."""
        k = len(sides.names)
        groups = sorted(set(range(k)) - {sides.beside}, key=lambda group: group != sides.first)
        return [
            Cost(
                model, sides.names[group], name,
                *self._differences(self.measures[name], m, group, sides.beside),
            )
            for m, model in enumerate(models)
            for group in (groups if k > 2 else groups[:1])
            for name in COMPARED
            if name in self.measures
        ]  # fmt: skip

    def _differences(
        self, drawn: Array, model: int, group: int, beside: int | None
    ) -> list[Interval]:
        rest = 1 - group if drawn.shape[-1] == 2 else drawn.shape[-1] // 2 + group
        rest = rest if beside is None else beside
        few = min(self.rows[group], self.rows[rest])
        found = []
        for less in (0, 2):  # all columns, and Fair PCA, below the shared PCA
            by_side = drawn[:, model, 1] - drawn[:, model, less]
            found += [
                interval(by_side[:, group], self.rows[group]),
                interval(by_side[:, rest], self.rows[rest]),
                interval(by_side[:, group] - by_side[:, rest], few),
            ]
        return found


def _drawn(
    task: Task, sides: Sides, found: Predicted, bootstrap: int, rng: np.random.Generator
) -> _Drawn:
    """Lines of rows averaged over repeats, then summed up for all rows and for draws of them."""
    masks = [members(place, len(sides.names)) for place in found.place]
    averaged: dict[str, list[Array]] = {}
    for m, sure in enumerate(found.sure):
        for v in range(len(VARIANTS)):
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
    shape = (len(strata), len(found.sure), len(VARIANTS), -1)
    columns = {name: np.stack(each, axis=1).reshape(shape) for name, each in averaged.items()}
    measures, rows = drawn(task.aim, columns, strata, bootstrap, rng)
    return _Drawn(measures, rows[0, 0])


def _strata(task: Task, sides: Sides) -> NDArray[np.intp]:
    """Rows are drawn within groups, where these do not change with the fold."""
    return sides.place if task.search is None else np.zeros_like(sides.place)


def _gain(
    task: Task, sides: Sides, found: Predicted, bootstrap: int, rng: np.random.Generator
) -> dict[str, Interval]:
    """How far the leading model's errors, over all rows, are below those of one guess for all."""
    wrong = errors(task.aim, found.guesses[0]).mean(axis=1)
    below = (errors(task.aim, task.aim.guess) - wrong).T
    n, strata = len(below), _strata(task, sides)
    means = summed(below, strata, bootstrap, rng) / n
    return {variant: interval(means[:, v], n) for v, variant in enumerate(VARIANTS)}


def _others(
    task: Task, found: Predicted, masks: dict[str, Mask], bootstrap: int, rng: np.random.Generator
) -> list[OtherCost]:
    """What the shared PCA costs more groups in errors of the leading model."""
    if not masks:
        return []
    wrong = errors(task.aim, found.guesses[0]).mean(axis=1)
    return beside(OtherCost, task.aim, wrong[1] - wrong[0], masks, bootstrap, rng, varied=True)


def _by_dimension(
    task: Task, sides: Sides, folds: int, rng: np.random.Generator, n_jobs: int | None, steps: Steps
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
