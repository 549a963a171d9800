"""Subgroups: conditions on raw columns that name the rows a shared PCA represents badly."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from leftout.checks import check_count, check_floor, generator, is_int
from leftout.data.binning import BinnedColumn
from leftout.data.columns import columns_of
from leftout.data.conditions import Condition, Mask
from leftout.data.matrix import all_counted, check_matrix, check_rows
from leftout.data.roles import assign, level_of
from leftout.errors import InputError, parameter_label
from leftout.files import Serializable
from leftout.groups.conditioned import ConditionedGroup, measure_groups, permuting_steps
from leftout.groups.decomposition import LossParts
from leftout.groups.outcome import Outcome, outcomes
from leftout.groups.problem_setup import Rows, build_problem
from leftout.groups.sizes import smallest_named
from leftout.groups.subgroup_search import BINS, Key, SubgroupQuery, SubgroupSearch, conditions_on
from leftout.linalg.significance import can_tell, describe_p
from leftout.representation.base import features_of
from leftout.running import Report, Steps, clean_interrupts, one_thread
from leftout.settings import TENTH, Reading
from leftout.solvers import Alternating, SolverContext
from leftout.text import counted, leading, number, percent

# Names that are read first.
SIX = 6


@dataclass(frozen=True, kw_only=True, eq=False)
class NamedGroup(ConditionedGroup):
    """A group that conditions on raw columns name.

    The interval of its loss does not cover that the name was chosen by its loss on these rows: of
    the first name it held the true loss in 90% of 200 simulated tables (75 to 98% by kind).

    Attributes
    ----------
    condition : str
        Its conditions in words.
    worth : float
        ``size ** weight * (loss - rest_loss)``, by which names are ranked.
    new : float
        Share of its rows that no group before it in the list covers.
    covers : float
        Share of the worst-represented tenth that it covers together with those before it.
    outcome : Outcome or None
        How the target differs from the rest's.
    why : LossParts or None
        What surrogate tables explain of its loss; None where there were none.
    """

    also = ("condition", "size", "share")
    hidden = (*ConditionedGroup.hidden, "key")

    worth: float
    new: float
    covers: float
    outcome: Outcome | None = None
    why: LossParts | None = None
    key: Key  # how the search calls it

    @property
    def condition(self) -> str:
        return self.text

    @property
    def brief(self) -> str:
        """Its name, rows and loss, as in a list."""
        return f"{self.condition} ({counted(self.size, 'row')}, loss {number(self.loss)})"

    def __str__(self) -> str:
        return (
            f"{self.condition}: {counted(self.size, 'row')} lose {number(self.loss)}, the rest "
            f"{number(self.rest_loss, self.loss)}; random groups of that size {number(self.random)}"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class NamedGroups(Serializable):
    """The subgroups that are left out most, by what is new in each.

    Attributes
    ----------
    groups : list of NamedGroup
    table : DataFrame
        One line for each.
    covers : float
        Share of the worst-represented tenth that the first six cover together.
    smallest, depth : int
        Fewest rows of a group, and most conditions of a name.
    weight : float
    n_components : int
    names : int
        How many names were looked at.
    tables : int
        Surrogates of each kind, at most: fewer are drawn where it is soon clear that no group goes
        beyond them.
    complete : bool
        Whether the list is exact. Otherwise the budget ended the search.
    """

    also = ("covers", "text", "beyond_text")
    hidden: ClassVar[tuple[str, ...]] = ("columns",)

    groups: list[NamedGroup]
    smallest: int
    depth: int
    weight: float
    n_components: int
    names: int
    complete: bool
    columns: list[BinnedColumn]
    tables: int = 0

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[NamedGroup]:
        return iter(self.groups)

    def __getitem__(self, place: int) -> NamedGroup:
        return self.groups[place]

    @property
    def covers(self) -> float:
        return self.groups[:SIX][-1].covers if self.groups else 0.0

    @property
    def conditions(self) -> list[Condition]:
        """Every single condition that was looked at."""
        return [binned.condition(*span) for binned in self.columns for span in binned.spans]

    @property
    def table(self) -> pd.DataFrame:
        first = ("condition", "size", "share", "loss", "rest_loss", "random")
        lines = [
            {name: getattr(group, name) for name in first}
            | dict(zip(("cross_fitted", "low", "high"), group.cross_fitted, strict=True))
            | {name: getattr(group, name) for name in ("worth", "new", "covers")}
            | {"outcome_gap": group.outcome.gap.value if group.outcome else np.nan}
            for group in self.groups
        ]
        return pd.DataFrame(lines)

    @property
    def beyond(self) -> list[NamedGroup]:
        """The subgroups that stand out further than those of Gaussian surrogates."""
        return [group for group in self.groups if group.why and group.why.covariance.beyond]

    @property
    def left_out(self) -> bool | None:
        """Whether any subgroup is beyond surrogates; None where too few were drawn to say."""
        if not self.groups:
            return False if self.names else None
        return bool(self.beyond) if can_tell(self.tables) else None

    @property
    def covers_text(self) -> str:
        """What the leading names cover of those who are represented worst."""
        first = len(self.groups[:SIX])
        who = "The first name covers" if first == 1 else f"The first {first} names cover"
        return f"{who} {percent(self.covers)} of the worst-represented tenth."

    @property
    def beyond_text(self) -> str:
        """How many subgroups are beyond surrogates; nothing where that was not looked at."""
        if self.left_out is None or not self.groups:
            return ""
        whys = [group.why for group in self.groups if group.why]
        least, beyond = min(why.covariance.p_value or 1.0 for why in whys), len(self.beyond)
        verb = "stand" if beyond > 1 else "stands"
        text = (
            f"Of {counted(len(self.groups), 'subgroup')}, {beyond or 'none'} {verb} out further "
            f"than the same search finds in Gaussian surrogates ({describe_p(least)} at the least)"
        )
        if beyond:
            further = sum(why.covariance.beyond and why.own.beyond for why in whys)
            text += f", {further or 'none'} of them also further than in copula surrogates"
        return f"{text}."

    @property
    def leading_text(self) -> str:
        """The leading subgroups, whether they are beyond surrogates, and what they cover."""
        if not self.groups:
            return self.text
        named = leading([group.brief for group in self.beyond or self.groups], "; ")
        return f"{self.beyond_text} The leading ones: {named}. {self.covers_text}".lstrip()

    @property
    def text(self) -> str:
        """How far the list can be relied on, and what it covers."""
        rows, names = counted(self.smallest, "row"), counted(self.names, "name")
        if not self.names:
            return f"No condition on a column holds for {rows} and not for as many."
        found = self.covers_text if self.groups else "None loses more than the rest."
        looked = f"{names} of up to {counted(self.depth, 'condition')} and at least {rows}"
        verb = "was" if self.names == 1 else "were"
        if self.complete:
            return f"{found} {looked} {verb} weighed: the list is exact."
        return (
            f"{found} {looked} {verb} weighed before the search had to end, so the list may not be "
            "exact. Drop columns, or look for shorter names."
        )

    def summary(self) -> str:
        """The list in words, a line each."""
        return "\n".join([*map(str, self.groups), self.text])

    __str__ = summary


# Random groups that each is held against.
_RANDOM = 20
# Of very many rows, a group has this share at least.
_SHARE = 1.0 / 200.0


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
    target: Any = None,
    positive: Any = None,
    categorical: Iterable[Any] | None = None,
    drop: Iterable[Any] | None = None,
    worst: Mask | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Report | bool | None = None,
    sample_weight: ArrayLike | None = None,
) -> NamedGroups:
    """The subgroups, named by conditions on raw columns, that a shared PCA leaves out most.

    A name joins up to ``depth`` conditions on raw columns: a category's value, or all but one; an
    interval of numbers; missing, or known. Names are ranked by ``k ** weight`` times the difference
    between the group's loss and the rest's, with ``k`` its rows, and the search is exact; of more
    than 200 features, in the axes that hold 99% of the variance.

    Parameters
    ----------
    X, n_components, representation
        As for :func:`leftout.group_losses`.
    table : raw table of m rows
        What people know: its columns name the groups.
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
        worth by 5%; the list ends at a third of the first worth. False: simply the names of
        largest worth, of those for the same rows the easiest to read.
    target, positive
        An outcome to compare: a column of the table or values of its own, and which value counts.
    categorical, drop : names of columns that are codes, and of columns to leave aside
    worst : boolean array of shape (m,), optional
        The worst-represented tenth, where a search has found it already.
    random_state, n_jobs, progress
        As everywhere. The list does not depend on them.
    sample_weight : array of shape (m,), optional
        How many rows each row stands for, above 0: names are ranked by what their rows weigh, in
        average rows, shares are of the weight, and losses count rows so often; outcomes are those
        of rows.

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
    weights = all_counted(matrix, sample_weight)
    check_count("top", top)
    check_floor("weight", weight)
    if not is_int(depth) or depth not in (1, 2, 3):
        raise InputError(
            f"{parameter_label('depth', depth)} is not a number of conditions; give 1, 2 or 3."
        )
    columns = columns_of(table, categorical=categorical)
    check_rows(table, X, len(columns[0]))
    columns, roles = assign(columns, Reading(target=target, drop=drop))
    aim = next((column for column in columns if roles.get(column.name) == "target"), None)
    level = level_of(aim, positive)
    levels = None if level is None else [level]
    columns = [column for column in columns if column.name not in roles]
    steps = Steps(2, progress)
    steps.tell("names")
    with one_thread():
        given: dict[str, Any] = {"representation": representation, "weights": weights}
        problem = build_problem(matrix, n_components, **given).problem
        rows = Rows.of(problem)
        smallest = smallest_named(min_group_size, len(matrix), problem.d, _SHARE)
        query = SubgroupQuery(smallest, float(weight), depth)
        search = SubgroupSearch(rows.leading(), conditions_on(columns, BINS, smallest), query)
        lines, looked = search.best_first(top, distinct, n_jobs)
    steps.tell("what they lose", 1)
    of_tenth, *rngs = generator(random_state).spawn(3)
    if worst is None:
        tenths = replace(problem, group_size=max(1, round(TENTH * len(matrix))))
        worst = Alternating().maximise(tenths, SolverContext(rng=of_tenth)).labels == 1
    masks = np.array([line.mask for line in lines]).reshape(-1, len(matrix))
    numbers = np.where(masks, np.arange(len(lines))[:, None], -1).T
    quiet = Steps(permuting_steps(_RANDOM), None)
    figures = measure_groups(problem, numbers, _RANDOM, rngs=rngs, n_jobs=n_jobs, steps=quiet)
    covered = np.logical_or.accumulate(masks)[:, worst].mean(axis=1).tolist()
    groups = []
    for line, of_line, covers in zip(lines, figures, covered, strict=True):
        told = {name: of_line[name] for name in ("loss", "rest_loss", "random", "cross_fitted")}
        groups.append(
            NamedGroup(
                key=line.subgroup.key,
                conditions=search.conditions(line.subgroup.key),
                rows=np.flatnonzero(line.mask),
                n_rows=len(matrix),
                weight=None if weights is None else line.subgroup.size,
                worth=line.subgroup.size**weight * (told["loss"] - told["rest_loss"]),
                new=line.new,
                covers=covers,
                outcome=None if aim is None else outcomes(aim, line.mask, levels)[0],
                **told,
            )
        )
    steps.tell("what they lose", 1)
    return NamedGroups(
        groups=groups,
        smallest=smallest,
        depth=depth,
        weight=float(weight),
        n_components=problem.d,
        names=looked.n_names,
        complete=looked.complete,
        columns=list(search.columns),
    )
