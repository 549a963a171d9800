"""Groups that have a name: conditions on raw columns whose rows a shared PCA represents badly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from numbers import Real
from typing import Any

import numpy as np

from leftout.checks import check_count, check_floor, generator, is_int
from leftout.data.columns import Column, columns_of
from leftout.data.conditions import Mask
from leftout.data.matrix import check_matrix, check_rows
from leftout.data.roles import assign, level_of, value_of
from leftout.errors import InputError, parameter_label
from leftout.groups.cross_fitting import cross_fitted
from leftout.groups.greedy_cover import Line
from leftout.groups.named_result import NamedGroup, NamedGroups
from leftout.groups.outcome import Outcome, outcomes
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.problem_setup import build_problem
from leftout.groups.rows import Rows
from leftout.groups.sizes import smallest_named
from leftout.groups.subgroup_search import (
    BINS,
    BUDGET,
    SubgroupQuery,
    SubgroupSearch,
    conditions_on,
)
from leftout.linalg.bounds import certified_bound
from leftout.linalg.losses import Array
from leftout.linalg.problem import Problem
from leftout.representation.base import features_of
from leftout.running import Report, Steps, clean_interrupts, collected_warnings, one_thread
from leftout.solvers import Alternating, SolverContext

# The group that names are held against: the worst-represented tenth.
TENTH = 0.1
# Random groups that each is held against.
_RANDOM = 20
# Of very many rows, a group has this share at least.
_SHARE = 1.0 / 200.0
_DEPTHS = (1, 2, 3)
# More names of the same columns than this cannot be looked at in a sensible time.
_MOST = 1 << 22


@clean_interrupts()
def named_groups(
    X: Any,
    table: Any,
    *,
    n_components: int | float = 0.8,
    representation: Any = None,
    depth: int = 2,
    min_group_size: int | float | None = None,
    top: int = 20,
    weight: float = 0.5,
    distinct: bool = True,
    bins: int = BINS,
    target: Any = None,
    positive: Any = None,
    categorical: Iterable[Any] | None = None,
    drop: Iterable[Any] | None = None,
    folds: int = 10,
    budget: float = BUDGET,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Report | bool | None = None,
) -> NamedGroups:
    """The groups with a name that a shared PCA leaves out most.

    A name joins up to ``depth`` conditions on raw columns: a category's value, or all but one; an
    interval of numbers; missing, or known. Names are ranked by ``k ** weight`` times the difference
    between the group's loss and the rest's, with ``k`` its rows, and the search is exact.

    Parameters
    ----------
    X : table of shape (m, n)
        What PCA sees: numbers.
    table : raw table of m rows
        What people know: its columns name the groups.
    n_components : int or float, default=0.8
        Number of components, or the share of variance to exceed.
    representation : fitted transformer, array of shape (d, n) or None, default=None
        What the rows share, with its own number of components; None: their PCA.
    depth : {1, 2, 3}, default=2
        Most conditions of a name.
    min_group_size : int, float or None, default=None
        Fewest rows of a group and of the rest, as a number or a share. None: 30, two for each
        component or one in 200 rows, whichever is most (but at most a quarter of the rows).
    top : int, default=20
        Most groups to list.
    weight : float, default=0.5
        How much size counts: at 0 the loss alone ranks names, at 1 the total loss.
    distinct : bool, default=True
        Each line says something new: next comes the name with the largest worth times the share of
        its rows that no line before covers (at least half); a further condition must raise the
        worth by 5 %; the list ends at a third of the first worth. False: simply the names of
        largest worth, of those for the same rows the easiest to read.
    bins : int, default=4
        Intervals of about equally many rows that numbers are cut into; neighbours may join. At
        most 63 where names have two conditions, 17 where they have three.
    target, positive
        An outcome to compare: a column of the table or values of its own, and which value counts.
    categorical, drop : names of columns that are codes, and of columns to leave aside
    folds : int, default=10
        Of the cross-fitted losses.
    budget : float
        Multiplications after which the search ends where it is, and says so.
    random_state, n_jobs, progress
        As everywhere. The list does not depend on them.

    Returns
    -------
    NamedGroups

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from leftout import datasets, named_groups
    >>> X, planted = datasets.make_planted(600, 8, 2, 100, random_state=0)
    >>> table = pd.DataFrame(X).assign(town=np.where(planted, "Beeley", "Ashford"))
    >>> found = named_groups(X, table, n_components=2)
    >>> found[0].condition, found[0].size
    ('town = Beeley', 100)
    """
    matrix = check_matrix(features_of(representation, X))
    _check(depth, top, weight, bins, folds, budget)
    columns = columns_of(table, categorical=categorical, unread=drop)
    check_rows(table, X, len(columns[0]))
    roles = assign(columns, target, drop=drop)
    columns = [column for column in columns if column.name not in roles.aside]
    outcome = Target.of(roles.target, positive)
    steps = Steps(2, progress)
    steps.tell("names")
    with one_thread():
        problem = build_problem(
            matrix, n_components, "excess", "global", 1, None, representation
        ).problem
        rows = Rows.of(problem)
        smallest = smallest_named(min_group_size, len(matrix), problem.d, _SHARE)
        query = SubgroupQuery(smallest, float(weight), depth, float(budget))
        search = SubgroupSearch(rows, conditions_on(columns, bins, smallest), query)
        lines, looked = search.best_first(top, distinct, n_jobs)
        steps.tell("what they lose", 1)
        measuring = Measuring(matrix, problem, folds, generator(random_state), representation)
        groups = measuring.groups(search, lines, outcome)
        steps.tell("what they lose", 1)
    return NamedGroups(
        groups=groups,
        smallest=smallest,
        depth=depth,
        weight=float(weight),
        n_components=problem.d,
        names=looked.looked_at,
        complete=looked.complete,
        left=None if looked.complete else looked.left,
        columns=list(search.columns),
    )


@dataclass(frozen=True)
class Target:
    """A target, and which of its values counts."""

    target: Column
    positive: Any

    @classmethod
    def of(cls, target: Column | None, positive: Any) -> Target | None:
        """Of several values the most frequent counts, if nobody says which."""
        if target is None:
            if positive is not None:
                raise InputError(
                    f"{parameter_label('positive', positive)} is a value of a target, but none "
                    "is given."
                )
            return None
        level = level_of(target, positive)
        return cls(target, None if level is None else value_of(target, level))

    def gap(self, mask: Mask) -> Outcome:
        return outcomes(self.target, mask, self.positive)[0]


@dataclass(frozen=True)
class Measuring:
    """What is told of each group in a list."""

    matrix: Array
    problem: Problem
    folds: int
    rng: np.random.Generator
    representation: Any = None

    def groups(
        self, search: SubgroupSearch, lines: list[Line], outcome: Target | None
    ) -> list[NamedGroup]:
        if not lines:
            return []
        masks = [line.mask for line in lines]
        sizes = [line.subgroup.size for line in lines]
        worst, ceilings, random = (dict[int, float]() for _ in range(3))
        distinct = sorted(set(sizes))
        of_worst, of_random, of_folds = self.rng.spawn(3)
        m = len(self.matrix)
        results = Alternating().profile(self.problem, distinct, SolverContext(rng=of_worst))
        for size, result in zip(distinct, results, strict=True):
            worst[size] = float(self.problem.losses(result.labels, result.own)[0][1])
            ceilings[size] = certified_bound(self.problem, size)
            draws = (of_random.choice(m, size, replace=False) for _ in range(_RANDOM))
            random[size] = float(np.mean([search.rows.loss(rows) for rows in draws]))
        fitted = cross_fitted(
            self.matrix, masks, self.problem.d, folds=self.folds, rng=of_folds,
            representation=self.representation,
        )  # fmt: skip
        tenth, covered = self._tenth(), np.zeros(m, dtype=bool)
        groups = []
        for line, each in zip(lines, fitted, strict=True):
            rest, loss = self.problem.losses(line.mask.astype(np.int8))[0].tolist()
            covered |= line.mask
            size = line.subgroup.size
            groups.append(NamedGroup(
                key=line.subgroup.key,
                conditions=search.conditions(line.subgroup.key),
                mask=line.mask,
                size=size,
                share=size / len(line.mask),
                loss=loss,
                rest_loss=rest,
                worth=line.subgroup.quality,
                new=line.new,
                covers=float(covered[tenth].mean()),
                worst=max(worst[size], loss),
                ceiling=ceilings[size],
                random=random[size],
                cross_fitted=each.loss,
                outcome=None if outcome is None else outcome.gap(line.mask),
            ))  # fmt: skip
        return groups

    def _tenth(self) -> Mask:
        """The worst-represented tenth of the rows."""
        search = MaxDisparityPartition(
            self.problem.d, representation=self.representation, group_size=TENTH, random_state=0
        )
        with collected_warnings():  # of the components, which are the same
            return search.fit(self.matrix).left_out_.mask


def _check(depth: Any, top: Any, weight: Any, bins: Any, folds: Any, budget: Any) -> None:
    check_count("top", top)
    if depth not in _DEPTHS or not is_int(depth):
        raise InputError(
            f"{parameter_label('depth', depth)} is not a number of conditions; give 1, 2 or 3."
        )
    if not (is_int(bins) and int(bins) >= 2):
        raise InputError(
            f"{parameter_label('bins', bins)} is not a number of intervals; give an int from 2."
        )
    most = next(most for most in count(2) if _runs(most + 1) ** int(depth) > _MOST)
    if int(bins) > most:
        raise InputError(
            f"{parameter_label('bins', bins)} makes more names than can be looked at; give at "
            f"most {most}" + (f", or lower {parameter_label('depth')}." if int(depth) > 1 else ".")
        )
    check_floor("weight", weight)
    if not (is_int(folds) and int(folds) >= 2):
        raise InputError(f"{parameter_label('folds', folds)} is too few; give an int from 2.")
    if not isinstance(budget, Real) or isinstance(budget, bool) or not float(budget) >= 0.0:
        raise InputError(
            f"{parameter_label('budget', budget)} is not a budget; give a number from 0."
        )


def _runs(bins: int) -> int:
    """Intervals and runs of neighbouring ones."""
    return bins * (bins + 1) // 2
