"""Groups that are known already: do they lose more than random groups of their sizes?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations, count, groupby
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from leftout.checks import check_several, check_whole, generator, is_int
from leftout.data.binning import Stratum, known_columns, strata
from leftout.data.matrix import all_counted, check_matrix, reordered
from leftout.errors import InputError, parameter_label
from leftout.files import Serializable
from leftout.groups.conditioned import ConditionedGroup, measure_groups, permuting_steps
from leftout.groups.problem_setup import build_problem
from leftout.groups.sizes import smallest_named
from leftout.linalg.significance import LEVEL, can_tell, describe_p
from leftout.representation.base import features_of
from leftout.running import Report, Steps, clean_interrupts, collected_warnings, warn
from leftout.text import as_name, counted, leading, listed, number, points, shortened

# A group that loses less than this share of its variance beyond random groups is not left out: of
# very many rows, any difference is beyond that of random groups.
_MATTERS = 0.01
_MEASURED = (
    "size", "share", "retained", "retained_own", "loss", "rest_loss", "random", "random_high",
    "p_value", "p_alone",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownGroup(ConditionedGroup):
    """One group: what holds for its rows, and how PCA serves it.

    Attributes
    ----------
    labels : dict of str
        What the group is called under the name of each of its columns.
    too_small : bool
        Whether it, or what it leaves, has too few rows to say more; then the rest is nan.
    retained, retained_own : float
        Share of its variance, about the table's mean, that the shared PCA keeps, and its own would.
    random_high : float
        What 95% of random groups of that size lose at most.
    p_value : float
        How often some random group stands out as far, of all that were looked at.
    p_alone : float
        How often a random group of its size loses as much, not corrected for the others.
    left_out : bool
        Whether it loses more than random groups (``p_value`` is 0.05 or less), more than the rest,
        and at least a hundredth of its variance more than random groups do.
    """

    also = (*ConditionedGroup.also, "left_out")

    labels: dict[str, str]
    too_small: bool = False
    retained: float = np.nan
    retained_own: float = np.nan
    random_high: float = np.nan
    p_value: float = np.nan
    p_alone: float = np.nan

    @property
    def left_out(self) -> bool:
        worse = self.loss > self.rest_loss and self.lost >= _MATTERS
        return bool(self.p_value <= LEVEL and worse)

    @property
    def lost(self) -> float:
        """Share of its variance that it loses by sharing, beyond what random groups lose."""
        if not self.loss > 0.0:
            return 0.0
        return (self.retained_own - self.retained) * (1.0 - self.random / self.loss)

    def __str__(self) -> str:
        head = f"{self.text} ({counted(self.size, 'row')}"
        if self.too_small:
            return f"{head}, too small to say)"
        text = f"{head}, loss {number(self.loss)}, rest {number(self.rest_loss, self.loss)}"
        if np.isfinite(self.random):
            text += f", random groups {number(self.random)}, {describe_p(self.p_value)}"
        return f"{text})"


@dataclass(frozen=True, kw_only=True)
class KnownGroups(Serializable):
    """Every group of some known columns, and of their combinations.

    Attributes
    ----------
    columns : list of str
        The columns that have groups.
    groups : list of KnownGroup
        Those of single columns first, too small ones among them.
    by_group : DataFrame
        The same as a table, indexed by the columns; "" where a column does not matter.
    overall : Series
        The table: its rows, components and the share of variance they keep.
    retained : float
        Share of the table's variance that the shared components keep.
    smallest : int
        Groups of fewer rows are too small.
    notes : list of str
        What to bear in mind.
    loss : float
        Of all rows together: 0, but under a representation that is given.
    shared : str
        What all rows share: ``PCA``, or the name of what was given.
    """

    also = ("text", "count_text", "small_text")

    columns: list[str]
    groups: list[KnownGroup]
    n_rows: int
    n_components: int
    retained: float
    smallest: int
    permutations: int
    notes: list[str]
    loss: float = 0.0
    shared: str = "PCA"

    @property
    def measured(self) -> list[KnownGroup]:
        """The groups that are not too small."""
        return [group for group in self.groups if not group.too_small]

    @property
    def left_out(self) -> list[KnownGroup]:
        """The groups that lose more than random ones, furthest beyond these first."""
        found = [group for group in self.groups if group.left_out]
        return sorted(found, key=lambda group: group.random - group.loss)

    @cached_property
    def by_group(self) -> pd.DataFrame:
        lines = [
            {name: getattr(group, name) for name in _MEASURED}
            | dict(zip(("cross_fitted", "low", "high"), group.cross_fitted, strict=True))
            | {"too_small": group.too_small}
            for group in self.groups
        ]
        keys = [tuple(group.labels.get(name, "") for name in self.columns) for group in self.groups]
        if len(self.columns) > 1:
            index = pd.MultiIndex.from_tuples(keys, names=self.columns)
        else:
            index = pd.Index([key for (key,) in keys], name=self.columns[0])
        return pd.DataFrame(lines, index=index)

    @property
    def overall(self) -> pd.Series:
        told = {
            "rows": self.n_rows,
            "n_components": self.n_components,
            "retained": self.retained,
            "loss": self.loss,
            "groups": len(self.groups),
            "too_small": len(self.too_small),
            "left_out": len(self.left_out),
            "permutations": self.permutations,
        }
        return pd.Series(told, dtype=object)

    def difference(self) -> pd.Series:
        """Largest minus smallest loss of groups, for each column and combination of columns.

        Indexed by the columns, as ``sex and race``; groups that are too small do not count.
        """
        told = {}
        for names, groups in groupby(self.groups, key=lambda group: tuple(group.labels)):
            losses = [group.loss for group in groups if not group.too_small] or [np.nan]
            told[" and ".join(names)] = max(losses) - min(losses)
        return pd.Series(told, name="difference", dtype=np.float64)

    @property
    def ranked(self) -> list[KnownGroup]:
        """The groups that are not too small: those left out first, then by what they lose."""
        others = [group for group in self.measured if not group.left_out]
        return self.left_out + sorted(others, key=lambda group: -group.loss)

    @property
    def too_small(self) -> list[KnownGroup]:
        """The groups of which nothing can be said."""
        return [group for group in self.groups if group.too_small]

    @property
    def text(self) -> str:
        """Who loses more than random groups do, in a sentence."""
        found = leading(list(map(str, self.left_out)), "; ")
        return f"{self.count_text.removesuffix('.')}: {found}." if found else self.count_text

    @property
    def count_text(self) -> str:
        """How many groups lose more than random groups do."""
        groups, found = self.measured, len(self.left_out)
        which = listed([as_name(name) for name in self.columns])
        if not groups:
            return f"No group of {which} is large enough to say more."
        head = f"Of {counted(len(groups), 'group')} of {which}"
        if found:
            verb = "loses" if found == 1 else "lose"
            return f"{head}, {found:,} {verb} more than the rest and than random groups."
        if not self.permutations:
            worst = max(groups, key=lambda group: group.loss)
            return (
                f"{head}, {worst.text} has the largest loss, {number(worst.loss)}; they were not "
                "compared with random groups, which lose something, too."
            )
        least = describe_p(min(group.p_value for group in groups))
        text = (
            f"{head}, none loses more than the rest and clearly more than random groups ({least} "
            "at the least, corrected for all of them)."
        )
        if any(group.p_value <= LEVEL for group in groups):
            text += " Where p is small, that is less than a hundredth of the group's variance."
        if not can_tell(self.permutations):
            text += f" No p-value comes down to {LEVEL:g} with fewer than 19 permutations."
        return text

    @property
    def small_text(self) -> str:
        """How many groups are too small; nothing where none is."""
        small = len(self.too_small)
        if not small or not self.measured:
            return ""
        return (
            f"{counted(small, 'other group')} {'is' if small == 1 else 'are'} too small to say: "
            f"fewer than {self.smallest:,} rows, or all but as few."
        )

    def summary(self) -> str:
        """Who loses more than random groups do, in a few sentences."""
        text = (
            f"A shared {self.shared} with {counted(self.n_components, 'component')} keeps "
            f"{points(self.retained)}% of the variance of {self.n_rows:,} rows."
        )
        return " ".join(filter(None, [text, self.text, self.small_text]))

    __str__ = summary


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
    sample_weight: ArrayLike | None = None,
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
    random_state, n_jobs, progress
        As everywhere. Results do not depend on ``n_jobs``.
    sample_weight : array of shape (m,), optional
        How many rows each row stands for, above 0; random groups take rows with their weights.

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
    if not (is_int(depth) and depth in (1, 2, 3)):
        combined = parameter_label("depth", depth)
        raise InputError(f"{combined} is not a number of columns to combine; give 1, 2 or 3.")
    check_whole("permutations", permutations)
    check_several("bands", bands)
    check_several("folds", folds)
    every = columns.values() if isinstance(columns, dict) else [columns]
    if any(reordered(each, X) for each in every):
        raise InputError(
            "The known columns have the rows of X in another order (their index says so). Pass "
            "columns.loc[X.index]."
        )
    X = check_matrix(features_of(representation, X))
    n_rows = len(X)
    weights = all_counted(X, sample_weight)
    with collected_warnings() as notes:
        built = build_problem(X, n_components, representation=representation, weights=weights)
        problem, d = built.problem, built.problem.d
        smallest = smallest_named(min_group_size, n_rows, d)
        parts = _parts(columns, n_rows, bands, smallest)
        ways = _ways(parts, depth, smallest)
    for text in notes:
        warn(text)
    if weights is not None:
        ways = [[replace(g, weight=float(weights[g.rows].sum())) for g in way] for way in ways]
    rngs = generator(random_state).spawn(2)
    steps = Steps(permuting_steps(permutations) + 1, progress)
    steps.tell("known groups")
    numbers, place = np.full((n_rows, len(ways)), -1), count()
    for column, way in enumerate(ways):
        for group in way:
            numbers[group.rows, column] = -1 if group.too_small else next(place)
    run: dict[str, Any] = {"rngs": rngs, "folds": folds, "n_jobs": n_jobs, "steps": steps}
    lines = iter(measure_groups(problem, numbers, permutations, **run))
    norms, kept = problem.norms_and_kept
    steps.tell("known groups", 1)
    return KnownGroups(
        columns=[part.name for part in parts],
        groups=[g if g.too_small else replace(g, **next(lines)) for way in ways for g in way],
        n_rows=n_rows,
        n_components=d,
        retained=float(kept.sum() / norms.sum()),
        smallest=smallest,
        permutations=permutations,
        notes=notes,
        loss=0.0 if representation is None else problem.overall,
        shared=built.representation.name,
    )


def _parts(columns: Any, n_rows: int, bands: int, smallest: int) -> list[Stratum]:
    """The groups of each column that has more than one."""
    every = [strata(column, bands, smallest) for column in known_columns(columns, n_rows)]
    flat = [part for part in every if part.single]
    told = [
        f"The known column {shortened(part.name)!r} has a single group "
        f"({part.labels[int(part.codes[0])]} in every row)"
        for part in flat
    ]
    if len(flat) == len(every):
        which = told[0]
        if len(flat) > 1:
            which = f"All {len(flat)} known columns have a single group"
        raise InputError(
            f"{which}; at least two are needed. Pass a column whose values differ and are shared "
            "by enough rows."
        )
    for text in told:
        warn(f"{text} and is left aside.")
    return [part for part in every if not part.single]


def _ways(parts: Sequence[Stratum], depth: int, smallest: int) -> list[list[KnownGroup]]:
    """Every way to part the rows, by one column or several, as the groups that have rows."""
    ways, total = [], 0
    for chosen in chain.from_iterable(combinations(parts, deep + 1) for deep in range(depth)):
        cells, way = pd.DataFrame(np.column_stack([part.codes for part in chosen])), []
        for _, rows in sorted(cells.groupby(list(cells)).indices.items()):
            each = [(part, int(part.codes[rows[0]])) for part in chosen]
            group = KnownGroup(
                conditions=tuple(part.conditions[code] for part, code in each),
                labels={part.name: part.labels[code] for part, code in each},
                rows=rows,
                n_rows=len(cells),
                too_small=not smallest <= len(rows) <= len(cells) - smallest,
            )
            way.append(group)
        ways.append(way)
        total += len(way)
        if total > _MOST:
            raise InputError(
                f"{counted(len(parts), 'known column')} have more than {_MOST:,} groups. "
                f"Lower {parameter_label('depth')}, or pass fewer columns."
            )
    return ways
