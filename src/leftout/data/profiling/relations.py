"""Leaks, copies and proxies: columns that tell the target, another column, or a sensitive one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leftout.data.columns import Column
from leftout.data.profiling.associations import AssociationRule, answer_of, tellings
from leftout.data.profiling.duplicate_columns import EXACT_SHARE, copied
from leftout.files import Serializable
from leftout.text import as_name, unambiguous

# A target with 2 % of its cells flipped has an area of 0.98 on average, and must not be missed. One
# of several classes may be told alone, if fully: what separates it well is a good feature.
_LEAK = AssociationRule(area=0.97, alone=0.995, part=0.1, explained=0.98, rows=10, settled=np.inf)
# Of a sensitive column, any value that enough rows have counts; so does what settles it for many:
# who is a husband is a man.
_PROXY = AssociationRule(area=0.9, alone=0.9, part=0.0, explained=0.81, rows=20, settled=0.25)


@dataclass(frozen=True)
class Relation(Serializable):
    """What one column says of another.

    Attributes
    ----------
    column : str
        The column that tells, or that is a copy.
    of : str
        What it tells, or copies: the target, a sensitive column, or an earlier one.
    how : {"leak", "copy", "proxy"}
    measure : {"AUC", "settled", "Spearman", "R2", "r", "one-to-one"}
        Of what the column alone tells on rows it was not fitted on: the area under the curve of a
        value against all others (the mean of all values' where ``value`` is None), or the share of
        rows where it leaves one value only; of a number, Spearman's correlation, or the share of
        the variance of its ranks. Of copies: the correlation, or the share of rows whose values go
        together.
    strength : float
        Correlations are negative where the order is reversed.
    value : str or None
        The value that is told, where not all are.
    """

    also = ("told",)

    column: str
    of: str
    how: str
    measure: str
    strength: float
    value: str | None = None

    @property
    def told(self) -> str:
        name, of = as_name(self.column), as_name(self.of)
        if self.value is not None:
            of = f"{of} = {unambiguous(self.value)}"
        whom = {"leak": "the target ", "proxy": "the sensitive column "}.get(self.how, "") + of
        share = f"{100.0 * self.strength:.3g} % of the rows"
        match self.measure:
            case "r":
                reverse = ", in reverse" if self.strength < 0.0 else ""
                nearly = "nearly " * (abs(self.strength) < EXACT_SHARE)
                return f"{name} {nearly}copies {whom}{reverse}: correlation {self.strength:.3g}."
            case "one-to-one":
                return f"{name} is {whom} by other names: their values go together in {share}."
            case "settled":
                return f"{name} alone settles {whom} in {share}."
        measure = {"Spearman": "Spearman's correlation", "R2": "R\u00b2 of ranks"}
        how = measure.get(self.measure, self.measure)
        return f"{name} alone tells {whom}: {how} {self.strength:.3g}."


def leaks(columns: Sequence[Column], target: Column, positive: Any = None) -> list[Relation]:
    """Columns that alone determine the target, or nearly, the strongest first.

    Rows without a target are left out; a column's missing cells are a value of their own. Large
    tables are screened on some of their rows, and what is found is measured on all.

    Parameters
    ----------
    columns : sequence of Column, cleaned
        One that is called like the target is skipped.
    target : Column
    positive : a value of the target, optional
        To be told against all others; by default, every class counts.

    Examples
    --------
    >>> import numpy as np
    >>> from leftout.data.columns import columns_of
    >>> rng = np.random.default_rng(0)
    >>> age, passed = rng.integers(18, 80, 500), rng.random(500) < 0.4
    >>> mark = np.where(passed, 70, 40) + rng.integers(0, 20, 500)
    >>> table = columns_of(np.column_stack([age, mark, passed]))
    >>> [relation.told for relation in leaks(table[:2], table[2])]
    ['x1 alone tells the target x2: AUC 1.']
    """
    return _telling(columns, [target], "leak", _LEAK, positive)


def proxies(searched: Sequence[Column], sensitive: Sequence[Column]) -> list[Relation]:
    """Columns that alone tell a sensitive one, or a value of it; the strongest first.

    See :func:`leaks`: here an area of 0.9 is enough, or 0.81 of the variance of a number's ranks
    (a correlation of 0.9), for any value that at least 20 rows have. So is a column that leaves
    no choice in a quarter of the rows: 99 of 100 with its value there have the same one.

    Examples
    --------
    >>> import numpy as np
    >>> from leftout.data.columns import columns_of
    >>> home = np.array(["Rio", "Oslo", "Bergen"])[np.arange(300) % 3]
    >>> table = columns_of(np.column_stack([home, np.where(home == "Rio", "abroad", "here")]))
    >>> [relation.told for relation in proxies(table[:1], table[1:])]
    ['x0 alone tells the sensitive column x1: AUC 1.']
    """
    return _telling(searched, sensitive, "proxy", _PROXY)


def _telling(
    columns: Sequence[Column],
    others: Sequence[Column],
    how: str,
    rule: AssociationRule,
    positive: Any = None,
) -> list[Relation]:
    if not columns or not others:
        return []
    answers = [answer_of(other, positive) for other in others]
    found = [
        Relation(columns[line].name, others[at].name, how, told.measure, told.strength, told.value)
        for line, at, told in tellings(columns, answers, rule)
        if columns[line].name != others[at].name
    ]
    place = {column.name: at for at, column in enumerate(columns)}
    # equal but for rounding is equal
    return sorted(
        found, key=lambda each: (-round(abs(each.strength), 9), place[each.column], each.of)
    )


def copies(columns: Sequence[Column]) -> list[Relation]:
    """Columns that copy an earlier one, in their order: each once, and never of a copy.

    Numbers, dates and yes-or-no columns copy each other where they correlate by 0.99 or more,
    reversed or not; categories and codes, where each value of one goes with one value of the other
    in 99 % of the rows, both ways, beyond chance. A tenth of the cells may be missing in one alone.

    Examples
    --------
    >>> import numpy as np
    >>> from leftout.data.columns import columns_of
    >>> rng = np.random.default_rng(0)
    >>> metres = rng.normal(1.7, 0.1, 200)
    >>> table = columns_of(np.column_stack([metres, rng.random(200), -39.4 * metres]))
    >>> [relation.told for relation in copies(table)]
    ['x2 copies x0, in reverse: correlation -1.']
    """
    return [
        Relation(
            columns[copy.column].name, columns[copy.of].name, "copy", copy.measure, copy.strength
        )
        for copy in (copied(columns) if columns else ())
    ]
