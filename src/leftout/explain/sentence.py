"""One sentence: the short description of the left-out group that fits its rows best.

A description joins up to three conditions on raw columns by "and" or "or". It is judged by F1, the
harmonic mean of precision (the share of the rows it covers that are in the group) and recall (the
share of the group that it covers); every further condition must earn its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leftout.checks import Refusal, check_count, check_left_out
from leftout.explain.items import Condition, Mask
from leftout.explain.sentence_search import best_by_length, joined
from leftout.files import Told
from leftout.tables.columns import Column, columns_of

# A sentence below this F1 does not describe the group. Nor does one whose rows are in the group
# hardly more often than any: of what is missing to certainty, it must close this share.
_FITS, _TELLS = 0.5, 0.25


@dataclass(frozen=True, kw_only=True)
class Sentence(Told):
    """A short description of the left-out group, and how well it fits.

    Attributes
    ----------
    text : str
        For example ``age >= 40 and colour = red``.
    conditions : tuple of Condition
    joined : tuple of {"and", "or"}
        What stands between them; read from the left.
    f1, precision, recall : float
    covered, count, size, n_rows : int
        Rows that it covers, those of them in the group, the group's rows, and all rows.
    shorter : list of Sentence
        The best descriptions with fewer conditions.
    """

    also = ("text", "precision", "recall", "f1", "describes", "told")

    conditions: tuple[Condition, ...]
    joined: tuple[str, ...]
    covered: int
    count: int
    size: int
    n_rows: int
    shorter: tuple[Sentence, ...] = ()

    @property
    def text(self) -> str:
        text = self.conditions[0].text
        for place, (word, condition) in enumerate(
            zip(self.joined, self.conditions[1:], strict=True)
        ):
            mixed = place > 0 and word != self.joined[place - 1]
            text = f"{f'({text})' if mixed else text} {word} {condition.text}"
        return text

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns it speaks of, each once."""
        return tuple(dict.fromkeys(condition.column for condition in self.conditions))

    @property
    def precision(self) -> float:
        return self.count / self.covered if self.covered else 0.0

    @property
    def recall(self) -> float:
        return self.count / self.size

    @property
    def f1(self) -> float:
        return 2.0 * self.count / (self.covered + self.size)

    def covers(self, table: Any, *, categorical: Iterable[Any] | None = ()) -> Mask:
        """The rows of a table, this one or another with the same columns, that it describes."""
        by_name = {column.name: column for column in columns_of(table, categorical=categorical)}
        for name in self.columns:
            if name not in by_name:
                raise Refusal(
                    f"The table has no column {name!r}, of which the sentence speaks; it has "
                    f"{', '.join(map(repr, list(by_name)[:5]))}. Pass a table that has it."
                )
        return joined([c.holds(by_name[c.column]) for c in self.conditions], self.joined)

    def __str__(self) -> str:
        return (
            f"{self.text}: covers {100 * self.recall:.0f} % of the group; "
            f"{100 * self.precision:.0f} % of the {self.covered:,} rows it covers are in it"
        )

    @property
    def describes(self) -> bool:
        """Whether it fits the group, and tells more than that the group is large."""
        share = self.size / self.n_rows
        return self.f1 >= _FITS and self.precision - share >= _TELLS * (1.0 - share)

    @property
    def told(self) -> str:
        """What to say of it: a description, or that there is none."""
        start = "The group, in a sentence"
        if not self.describes:
            start = "No short sentence describes the group; the closest"
        return f"{start}: {self} (F1 {self.f1:.2f})."


def describe(
    table: Any,
    labels: ArrayLike,
    *,
    categorical: Iterable[Any] | None = (),
    drop: Iterable[Any] | None = (),
    conditions: int = 3,
) -> Sentence:
    """The short description with the best F1 for the left-out rows.

    Parameters
    ----------
    table : raw table of m rows
    labels : array of shape (m,)
        1 or True where a row is left out, else 0.
    categorical : names of columns of numbers that are codes
    drop : names of columns to leave aside (the target, for example)
    conditions : int, default=3
        At most. A further condition must add 0.01 to F1 (and as much as four rows make),
        a second bound of an interval half of that.

    Returns
    -------
    Sentence

    Notes
    -----
    All conditions and pairs of them are looked at on 16 cut points per column; three are searched
    from the best. Of more than 64 columns, and of more than 40 categories of one, those take part
    that tell most about the group.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> table = np.column_stack([rng.integers(18, 80, 500), rng.integers(0, 3, 500)])
    >>> old = (table[:, 0] >= 60) & (table[:, 1] == 2)
    >>> describe(table, old).text
    'x0 >= 60 and x1 = 2'
    """
    check_count("conditions", conditions)
    columns = columns_of(table, categorical=categorical, drop=drop)
    group = check_left_out(labels, len(columns[0]))
    return best_sentence(columns, group, conditions)


def best_sentence(columns: list[Column], group: Mask, conditions: int = 3) -> Sentence:
    """:func:`describe` on columns and a mask that are checked."""
    found = best_by_length(columns, group, conditions)
    best = int(np.argmax([description.score for description in found]))
    *shorter, sentence = (
        Sentence(
            conditions=description.conditions,
            joined=description.words,
            covered=description.covered,
            count=description.hits,
            size=int(group.sum()),
            n_rows=len(group),
        )
        for description in found[: best + 1]
    )
    return replace(sentence, shorter=tuple(shorter))
