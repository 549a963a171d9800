"""Losses of groups that are known already: do they lose more than random groups of their sizes?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leftout.checks import (
    check_choice,
    check_groups,
    check_several,
    check_whole,
    generator,
    is_int,
    parameters_of,
)
from leftout.data.matrix import check_features, check_matrix, reordered
from leftout.data.stratify import Stratum, known_columns, strata
from leftout.errors import InputError, parameter_label
from leftout.groups.cross_fitting import cross_fitted
from leftout.groups.known_result import KnownGroup, KnownGroups
from leftout.groups.permutation import (
    Groups,
    InAxes,
    permutation_test,
    permuting_steps,
)
from leftout.groups.problem_setup import check_given
from leftout.groups.sizes import smallest_named
from leftout.linalg.losses import CENTERINGS, LOSSES, Array, Loss, Summary, evaluate, summarise
from leftout.linalg.moments import Moments
from leftout.representation.base import (
    Representation,
    as_representation,
    check_components,
    features_of,
)
from leftout.running import Report, Steps, clean_interrupts, collected_warnings, one_thread, warn
from leftout.text import counted, shortened


class Measured(NamedTuple):
    """What every number about known groups is computed from."""

    rule: Loss
    table: Summary  # one row of its moments for each group, in the order of the sorted labels
    V: Array  # the shared components
    # squared errors by group and feature, under a representation that is no projection
    errors: Array | None = None

    def losses(self) -> Array:
        """Average loss of each group."""
        return evaluate(self.rule, self.table.moments, self.V)

    def in_columns(self) -> tuple[Loss, Moments, Array, Array | None]:
        """Moments and components in the table's columns, for splits over features."""
        moments, back = self.table.moments, self.table.back
        if back is not None:
            second = np.stack([back @ S @ back.T for S in moments.second])
            moments = moments._replace(
                total=moments.total @ back.T, second=second, origin=self.table.mean
            )
        return self.rule, moments, self.table.in_columns(self.V), self.errors


def measured(
    X: Any,
    labels: ArrayLike,
    n_components: int | float = 0.8,
    *,
    representation: Any = None,
    loss: str = "excess",
    centering: str = "global",
) -> Measured:
    """Check what users pass in, and take the moments of each group."""
    check_choice("loss", loss, LOSSES)
    check_choice("centering", centering, CENTERINGS)
    X = check_features(features_of(representation, X))
    names, index = check_groups(labels, len(X))
    given = None if representation is None else as_representation(representation)
    if given is not None:
        check_given(given, Loss.named(loss, centering), X)
    return measure(X, index, len(names), n_components, loss, centering, given)


def measure(
    X: Array,
    index: NDArray[np.integer],
    n_groups: int,
    n_components: int | float,
    loss: str,
    centering: str,
    given: Representation | None = None,
) -> Measured:
    """:func:`measured` on a matrix that is checked, and groups that are counted from 0."""
    rule, origin = Loss.named(loss, centering), None if given is None else given.origin
    table = summarise(X, centering, index, n_groups, mean_first=True, origin=origin)
    if given is None:
        shared = check_components(rule, table, n_components, below_rank=False)
        return Measured(rule, table, shared.components)
    given = given.at(table.mean)
    if given.components is not None:
        V = given.components if table.back is None else given.components @ table.back
        return Measured(rule, table, V)
    squares = given.errors(X) ** 2
    errors = np.stack([squares[index == group].sum(axis=0) for group in range(n_groups)])
    variance = np.trace(table.moments.second, axis1=1, axis2=2)
    moments = table.moments._replace(kept=variance - errors.sum(axis=1))
    # only their number counts
    V = np.eye(moments.second.shape[1])[: given.rank]
    return Measured(rule, table._replace(moments=moments), V, errors)


@parameters_of(measured)
def group_losses(*args: Any, **named: Any) -> Array:
    r"""Average loss of every group under the PCA that all rows share.

    Under the default, ``excess``, a group's loss is the reconstruction error it suffers because it
    must share a projection,

    .. math:: (\|G - GP\|_F^2 - \|G - G P_G\|_F^2) / |G|,

    with ``P`` the projection onto the table's leading components and ``P_G`` the group's own.

    Parameters
    ----------
    X : table of shape (m, n)
        Numbers: an array, a pandas, polars or pyarrow table, or a sparse matrix.
    labels : array of shape (m,)
        The group of each row; any values that can be sorted.
    n_components : int or float
        Number of components, or the share of variance to exceed.
    representation : fitted transformer, array of shape (d, n) or None, default=None
        What the rows share, with its own number of components; None: their PCA.
    loss : {"excess", "projection_gap"}
    centering : {"global", "none", "paper"}

    Returns
    -------
    array of shape (n_groups,)
        Losses in the order of the sorted labels.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> group_losses(X, ["along", "along", "across", "across"], 1)
    array([1., 0.])
    """
    return measured(*args, **named).losses()


@parameters_of(measured)
def disparity(*args: Any, **named: Any) -> float:
    """Largest minus smallest of the groups' average losses.

    Parameters are those of :func:`group_losses`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> disparity(X, [0, 0, 1, 1], 1)
    1.0
    """
    losses = group_losses(*args, **named)
    return float(losses.max() - losses.min())


_DEEPEST = 3
# More groups than this cannot be looked at in a sensible time.
_MOST = 50_000


@clean_interrupts()
def known_groups(
    X: Any,
    columns: Any,
    *,
    n_components: int | float = 0.8,
    representation: Any = None,
    depth: int = 2,
    permutations: int = 999,
    min_group_size: int | float | None = None,
    bands: int = 4,
    folds: int = 10,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Report | bool | None = None,
) -> KnownGroups:
    """Losses of the groups that known columns name, and of random groups of the same sizes.

    A group's own PCA always fits it better than the shared one, a small group's by far: a loss says
    something only beside those of random groups of that size. Known values are permuted over the
    rows, all columns together; p-values are corrected for all groups looked at, by the largest
    standardised loss of each permutation.

    Parameters
    ----------
    X, n_components, representation
        As for :func:`leftout.group_losses`.
    columns : table, dict of columns, or one column
        Known values of the same rows, such as sex or age. Categories are groups by value, missing
        ones are a group; numbers and dates of more than 8 values are cut into ``bands``; of a
        category of more than 50 values the rare ones are one group.
    depth : {1, 2, 3}, default=2
        How many columns a group combines at most.
    permutations : int, default=999
        0: losses alone.
    min_group_size : int or float, optional
        Fewest rows of a group, and of the others; smaller ones are listed, not measured. By default
        the larger of 30 and twice the components, but no more than a quarter of the rows.
    bands : int, default=4
    folds : int, default=10
        Of the cross-fitted losses.
    random_state : int, Generator or None, default=0
    n_jobs : int, optional
        Threads; results do not depend on it.
    progress : callable, bool or None
        Called with what is done, how many steps are done and how many there are; True prints it.

    Returns
    -------
    KnownGroups
        ``by_group``, ``overall``, ``difference()``, ``groups``, ``summary()``, ``to_dict()``.

    Examples
    --------
    >>> from leftout import datasets, known_groups
    >>> X, labels = datasets.make_planted(400, 12, 3, 100, random_state=0)
    >>> found = known_groups(X, {"side": labels}, n_components=3, permutations=99)
    >>> found.by_group["p_value"].to_dict()
    {'0': 0.04, '1': 0.01}
    >>> print(found.left_out[0].text)
    side = 1
    """
    if not (is_int(depth) and 1 <= int(depth) <= _DEEPEST):
        raise InputError(
            f"{parameter_label('depth', depth)} is not a number of columns to combine; give 1, 2 "
            "or 3."
        )
    check_whole("permutations", permutations)
    check_several("bands", bands)
    check_several("folds", folds)
    _check_order(columns, X)
    X = check_matrix(features_of(representation, X))
    with collected_warnings() as notes:
        posed = InAxes.of(X, n_components, representation)
        d, n_rows = posed.d, len(X)
        smallest = smallest_named(min_group_size, n_rows, d)
        parts = _parts(columns, n_rows, bands, smallest)
        ways = _ways(parts, depth, smallest)
    for text in notes:
        warn(text)
    rng, folding = generator(random_state).spawn(2)
    steps = Steps(permuting_steps(permutations) + 1, progress)
    steps.tell("known groups")
    every = [group for way in ways for group in way if not group.too_small]
    numbers, place = np.full((n_rows, len(ways)), -1), count()
    for column, way in enumerate(ways):
        for group in way:
            numbers[group.rows, column] = -1 if group.too_small else next(place)
    with one_thread():
        looked = Groups.of(*posed, numbers)
        here, rest = looked.shares(rest=True)
    chance = permutation_test(looked, permutations, rng, n_jobs, steps)
    sizes = looked.sizes
    fitted = cross_fitted(
        X, [group.mask for group in every], d,
        folds=folds, rng=folding, representation=representation,
    )  # fmt: skip
    variance = np.where(here.variance > 0.0, here.variance, np.nan)
    figures = {
        "retained": here.kept / variance,
        "retained_own": here.own / variance,
        "loss": here.losses / sizes,
        "rest_loss": rest.losses / (n_rows - sizes),
        "random": chance.random,
        "random_high": chance.high,
        "p_value": chance.corrected,
        "p_alone": chance.alone,
    }
    found = (
        replace(group, cross_fitted=around.loss, **dict(zip(figures, numbers, strict=True)))
        for group, around, *numbers in zip(
            every, fitted, *(each.tolist() for each in figures.values()), strict=True
        )
    )
    steps.tell("known groups", 1)
    together: dict[str, Any] = {}
    if representation is not None:
        given, everyone = as_representation(representation), np.zeros(n_rows, dtype=np.intp)
        (loss,) = measure(X, everyone, 1, d, "excess", "global", given).losses()
        together = {"loss": float(loss), "shared": given.name}
    return KnownGroups(
        columns=[part.name for part in parts],
        groups=[group if group.too_small else next(found) for way in ways for group in way],
        n_rows=n_rows,
        n_components=d,
        retained=float(posed.kept.sum() / np.vdot(posed.rows, posed.rows)),
        smallest=smallest,
        permutations=permutations,
        notes=notes,
        **together,
    )


def _check_order(columns: Any, X: Any) -> None:
    """Known values belong to the rows of ``X`` by place, which an index may deny."""
    every = columns.values() if isinstance(columns, dict) else [columns]
    if any(reordered(each, X) for each in every):
        raise InputError(
            "The known columns have the rows of X in another order (their index says so). Pass "
            "columns.loc[X.index]."
        )


def _parts(columns: Any, n_rows: int, bands: int, smallest: int) -> list[Stratum]:
    """The groups of each column that has more than one."""
    every = [strata(column, bands, smallest) for column in known_columns(columns, n_rows)]
    parts = [part for part in every if not part.single]
    flat = [part for part in every if part.single]
    if not parts:
        which = f"The known column {shortened(flat[0].name)!r} has"
        if len(flat) > 1:
            which = f"All {len(flat)} known columns have"
        raise InputError(
            f"{which} a single group ({_only(flat[0])} in every row); at least two are needed. "
            "Pass a column whose values differ and are shared by enough rows."
        )
    for part in flat:
        warn(
            f"The known column {shortened(part.name)!r} has a single group ({_only(part)} in every "
            "row) and is left aside."
        )
    return parts


def _only(part: Stratum) -> str:
    return part.labels[int(part.codes[0])]


def _ways(parts: Sequence[Stratum], depth: int, smallest: int) -> list[list[KnownGroup]]:
    """Every way to part the rows, by one column or several, as the groups that have rows."""
    ways = []
    for deep in range(1, depth + 1):
        for chosen in combinations(parts, deep):
            ways.append(_way(chosen, smallest))
            total = sum(map(len, ways))
            if total > _MOST:
                raise InputError(
                    f"{counted(len(parts), 'known column')} have more than {_MOST:,} groups. "
                    f"Lower {parameter_label('depth')}, or pass fewer columns."
                )
    return ways


def _way(chosen: Sequence[Stratum], smallest: int) -> list[KnownGroup]:
    shape = [len(part.labels) for part in chosen]
    cell = np.ravel_multi_index([part.codes for part in chosen], shape)
    order = np.argsort(cell, kind="stable")
    present, starts = np.unique(cell[order], return_index=True)
    groups = []
    for which, rows in zip(present, np.split(order, starts[1:]), strict=True):
        codes = np.unravel_index(which, shape)
        each = [(part, int(code)) for part, code in zip(chosen, codes, strict=True)]
        groups.append(
            KnownGroup(
                conditions=tuple(part.conditions[code] for part, code in each),
                labels={part.name: part.labels[code] for part, code in each},
                rows=rows,
                n_rows=len(cell),
                too_small=not smallest <= len(rows) <= len(cell) - smallest,
            )
        )
    return groups
