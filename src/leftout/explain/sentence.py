"""The sentence: a short description of the left-out group, and how well it fits.

A description is a disjunction: a row is covered if any of up to three alternatives holds, each of
one condition on a raw column or of two on different columns. Fit is F1, the harmonic mean of
precision (the share of the rows it covers that are in the group) and recall (the share of the group
that it covers); every further condition must earn its place.

The search is a beam: to each of the best descriptions so far it adds the best condition on every
column, and the best pair of conditions on every two columns, for the rows that are not covered yet.
The counts of two conditions come from those of bins by matrix products
(:mod:`leftout.data.binning`). At last every threshold is moved to where the distinct values of its
column put it best.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leftout.checks import check_left_out
from leftout.data.binning import (
    FINE,
    Array,
    BinnedColumn,
    Indicators,
    Span,
    bin_column,
    largest,
    starts_of,
)
from leftout.data.columns import Column, columns_of
from leftout.data.conditions import Condition, Mask
from leftout.errors import InputError
from leftout.files import Serializable
from leftout.text import as_name, bounds_of, either, rows_between, share_between, shown_share

# A sentence below this F1 does not describe the group. Nor does one whose rows are in the group
# hardly more often than any: of what is missing to certainty, it must close this share.
_FITS, _TELLS = 0.5, 0.25
# What a further condition must add to F1: this much, or this many rows' worth.
_GAIN, _GAIN_ROWS = 0.01, 4
# What else makes a condition harder to read, in conditions.
_SECOND_BOUND, _NEGATION = 0.5, 0.1
# At most.
_ALTERNATIVES, _CONDITIONS = 3, 4
# Columns, those of them that pairs are made of, and categories of one: the ones that tell most.
_COLUMNS, _PAIRED, _CATEGORIES = 64, 20, 40
# Descriptions that are made longer, and that have their thresholds refined, in so many rounds.
_BEAM, _REFINED, _ROUNDS = 8, 20, 10

# Said of a group that only conditions of few rows describe.
UNTOLD = "a condition holds that too few rows share to be told"

# Of each alternative its conditions: the place of a column, and which of its conditions.
Alternatives = tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True, kw_only=True)
class Sentence(Serializable):
    """A short description of the left-out group, and how well it fits.

    Attributes
    ----------
    text : str
        For example ``(age >= 40 and colour = red) or debtor = yes``.
    alternatives : tuple of tuple of Condition
        A row is covered if all conditions of any alternative hold.
    f1, precision, recall : float
    covered, count, size, n_rows : int
        Rows that it covers, those of them in the group, the group's rows, and all rows.
    min_cell : int
        Where fewer rows than this are in the group or not, covered or not, what is handed on has
        bounds instead of figures.
    """

    also = ("text", "precision", "recall", "f1", "describes", "description")
    hidden = ("min_cell",)

    alternatives: tuple[tuple[Condition, ...], ...]
    covered: int
    count: int
    size: int
    n_rows: int
    min_cell: int = 0

    @classmethod
    def keys(cls) -> dict[str, str]:
        figures = ("covered", "count", "precision", "recall", "f1")
        return super().keys() | {name: f"shown_{name}" for name in figures}

    @property
    def conditions(self) -> list[Condition]:
        return list(chain.from_iterable(self.alternatives))

    @property
    def text(self) -> str:
        each = [" and ".join(condition.text for condition in both) for both in self.alternatives]
        if not each:
            return UNTOLD
        if len(each) == 1:
            return each[0]
        pairs = zip(each, self.alternatives, strict=True)
        return " or ".join(f"({text})" if len(both) > 1 else text for text, both in pairs)

    @property
    def words(self) -> str:
        """The same as people would say it; several values of one column are said together."""
        said: dict[str, list[str]] = {}
        for both in self.alternatives:
            text = _all_of(both)
            alone = len(both) == 1 and both[0].op == "="
            key = f"{as_name(both[0].column)} is " if alone else text
            said.setdefault(key, []).append(text.removeprefix(key))
        return either([key + either(values) for key, values in said.items()] or [UNTOLD])

    @property
    def precision(self) -> float:
        return self.count / self.covered if self.covered else 0.0

    @property
    def recall(self) -> float:
        return self.count / self.size

    @property
    def f1(self) -> float:
        return 2.0 * self.count / (self.covered + self.size)

    @property
    def _cells(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """What may be said of the rows it covers in the group, and in the rest: the ends."""
        rest = self.n_rows - self.size
        return (
            bounds_of(self.count, self.size, self.min_cell),
            bounds_of(self.covered - self.count, rest, self.min_cell),
        )

    @property
    def shown_count(self) -> int | str:
        """Rows of the group that it covers; in words where they would be few."""
        return rows_between(*self._cells[0])

    @property
    def shown_covered(self) -> int | str:
        """Rows that it covers; in words where they would be few."""
        return rows_between(*map(sum, zip(*self._cells, strict=True)))

    def _shown(self, figure: Callable[[int, int], float]) -> float | str:
        """A figure of the rows covered in the group and in the rest, at the ends of both."""
        (low, high), (least, most) = self._cells
        return share_between(figure(low, most), figure(high, least))

    @property
    def shown_recall(self) -> float | str:
        """The share of the group that it covers; in words where they would be few."""
        return self._shown(lambda inside, outside: inside / self.size)

    @property
    def shown_precision(self) -> float | str:
        """The share of its rows that are in the group; in words where they would be few."""
        return self._shown(lambda inside, outside: inside / max(inside + outside, 1))

    @property
    def shown_f1(self) -> float | str:
        """The harmonic mean of both; in words where they would be few."""
        return self._shown(lambda inside, outside: 2.0 * inside / (inside + outside + self.size))

    def covers(self, table: Any, *, categorical: Iterable[Any] | None = ()) -> Mask:
        """The rows of a table, this one or another with the same columns, that it describes."""
        by_name = {column.name: column for column in columns_of(table, categorical=categorical)}
        for condition in self.conditions:
            if condition.column not in by_name:
                raise InputError(
                    f"The table has no column {condition.column!r}, of which the sentence speaks; "
                    f"it has {', '.join(map(repr, list(by_name)[:5]))}. Pass a table that has it."
                )
        return self.holds(by_name)

    def holds(self, columns: Mapping[str, Column]) -> Mask:
        """The rows of some columns, by their names, that it describes."""
        return any_of([[c.holds(columns[c.column]) for c in both] for both in self.alternatives])

    def __str__(self) -> str:
        covered = self.shown_covered
        rows = "rows" if isinstance(covered, str) else f"{covered:,} rows"
        return (
            f"{self.text}: covers {shown_share(self.shown_recall)} of the group; "
            f"{shown_share(self.shown_precision)} of the {rows} it covers are in it"
        )

    @property
    def describes(self) -> bool:
        """Whether it fits the group, and tells more than that the group is large."""
        share = self.size / self.n_rows
        return self.f1 >= _FITS and self.precision - share >= _TELLS * (1.0 - share)

    @property
    def description(self) -> str:
        """What to say of it: a description, or that there is none."""
        start = "The group, in a sentence"
        if not self.describes:
            start = "No short sentence describes the group; the closest"
        f1 = self.shown_f1
        return f"{start}: {self} (F1 {f1 if isinstance(f1, str) else f'{f1:.2f}'})."


def _all_of(conditions: Sequence[Condition]) -> str:
    """Conditions that hold together, in words; what a column is not is said once."""
    said: dict[str, list[str]] = {}
    for condition in conditions:
        words = condition.words
        key = f"{as_name(condition.column)} is other than "
        key = key if condition.op == "!=" else words
        said.setdefault(key, []).append(words.removeprefix(key))
    return " and ".join(key + " or ".join(values) for key, values in said.items())


def any_of(alternatives: Iterable[Sequence[Mask]]) -> Mask:
    """Rows for which all conditions of any alternative hold."""
    return np.logical_or.reduce([np.logical_and.reduce(masks) for masks in alternatives])


def describe(
    table: Any,
    labels: ArrayLike,
    *,
    categorical: Iterable[Any] | None = (),
    drop: Iterable[Any] | None = (),
) -> Sentence | None:
    """The short description with the best F1 for the left-out rows; None if no column varies.

    Parameters
    ----------
    table : raw table of m rows
    labels : array of shape (m,)
        1 or True where a row is left out, else 0.
    categorical : names of columns of numbers that are codes
    drop : names of columns to leave aside (the target, for example)

    Notes
    -----
    Numbers are cut at 16 points before thresholds are refined. Of more than 64 columns, and of more
    than 40 categories of one, those take part that tell most about the group; pairs are looked for
    among the 20 columns that do.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> table = np.column_stack([rng.integers(18, 80, 500), rng.integers(0, 3, 500)])
    >>> old = (table[:, 0] >= 60) & (table[:, 1] == 2)
    >>> describe(table, old).text
    'x0 >= 60 and x1 = 2'
    """
    columns = columns_of(table, categorical=categorical, drop=drop)
    group = check_left_out(labels, len(columns[0]))
    every = [bin_column(column, FINE, group) for column in columns]
    varying = [binned for binned in every if binned.n_bins > 1]
    return _SentenceSearch(varying, group).best() if varying else None


class _SentenceSearch:
    """What the search for one group shares."""

    def __init__(self, columns: list[BinnedColumn], group: Mask) -> None:
        self.group, self.size = group, int(group.sum())
        self.gain = max(_GAIN, 0.5 * _GAIN_ROWS / self.size)
        information = np.array([binned.mutual_information(group) for binned in columns])
        kept = largest(information, _COLUMNS)
        self.paired = largest(information[kept], _PAIRED).tolist()
        some = [columns[place] for place in kept]
        self.columns = [c.with_conditions(c.offered(_kept(c, group))) for c in some]
        self.costs = [
            self.gain * (1.0 + np.array([_cost(binned, *span) for span in binned.spans]))
            for binned in self.columns
        ]
        self.fine: dict[int, BinnedColumn] = {}

    def best(self) -> Sentence:
        """The description of the highest F1, less what its conditions cost."""
        beam: list[Alternatives] = [()]
        leading: dict[Alternatives, float] = {}
        for _ in range(_ALTERNATIVES):
            found: dict[Alternatives, float] = {}
            for before in beam:
                found |= self._longer(before)
            order = sorted(found, key=lambda description: -found[description])
            beam = order[:_BEAM]
            leading |= {description: found[description] for description in order[:_REFINED]}
        order = sorted(leading, key=lambda description: -leading[description])
        refined = [self._refined(description) for description in order[:_REFINED]]
        return max(refined, key=lambda scored: scored[0])[1]

    def _longer(self, before: Alternatives) -> dict[Alternatives, float]:
        """Descriptions with one more alternative, the best on each column or two, with scores."""
        covered, found = self._covered(before), dict[Alternatives, float]()
        base = self._rows(covered)
        left = (~covered, ~covered & self.group)
        spent = sum(self.costs[column][place] for both in before for column, place in both)
        room = _CONDITIONS - sum(map(len, before))

        def add(score: Array, *columns: int) -> None:
            at = np.unravel_index(score.argmax(), score.shape)
            alternative = tuple(zip(columns, map(int, at), strict=True))
            longer = tuple(sorted((*before, alternative)))
            found[longer] = max(found.get(longer, -np.inf), float(score[at]) - spent)

        for column, binned in enumerate(self.columns if room > 0 else ()):
            counts = [np.bincount(binned.codes[rows], minlength=binned.n_bins) for rows in left]
            held = np.stack(counts) @ binned.members.T
            add(self._f1(*(base[:, None] + held)) - self.costs[column], column)
        if room > 1:
            columns = [self.columns[column] for column in self.paired]
            meeting = np.stack([Indicators.of(columns).pairs(rows) for rows in left])
            bins = [slice(*ends) for ends in pairwise(starts_of(columns))]
            members = [binned.members.astype(float) for binned in columns]
            for a, b in combinations(range(len(columns)), 2):
                both = members[a] @ meeting[:, bins[a], bins[b]] @ members[b].T
                first, second = self.paired[a], self.paired[b]
                cost = self.costs[first][:, None] + self.costs[second]
                add(self._f1(*(base[:, None, None] + both)) - cost, first, second)
        return found

    def _covered(self, description: Alternatives) -> Mask:
        if not description:
            return np.zeros(len(self.group), dtype=bool)
        return any_of([[self.columns[c].mask(at) for c, at in both] for both in description])

    def _rows(self, mask: Mask) -> NDArray[np.int64]:
        """How many rows there are, and how many of them are in the group."""
        return np.array([mask.sum(), (mask & self.group).sum()])

    def _f1(self, covered: Any, count: Any) -> Any:
        return 2.0 * count / (covered + self.size)

    def _refined(self, description: Alternatives) -> tuple[float, Sentence]:
        """The description with each threshold at its best among distinct values, and its score."""
        places = [(i, j) for i, both in enumerate(description) for j in range(len(both))]
        columns, spans = {}, {}
        masks: list[list[Mask]] = [[] for _ in description]
        for i, j in places:
            column, at = description[i][j]
            columns[i, j], spans[i, j] = self._finely(column, at)
            masks[i].append(self.columns[column].mask(at))
        for _ in range(_ROUNDS):
            before = dict(spans)
            for i, j in places:
                binned = columns[i, j]
                if _is_range(spans[i, j], binned):
                    undecided = []
                    for truth in (True, False):
                        masks[i][j] = np.full(len(self.group), truth)
                        undecided.append(any_of(masks))
                    spans[i, j] = self._best_range(binned, spans[i, j], *undecided)
                    masks[i][j] = spans[i, j].holds(binned.n_bins)[binned.codes]
            if spans == before:
                break
        inside = [int((np.logical_and.reduce(each) & self.group).sum()) for each in masks]
        order = np.argsort(-np.array(inside), kind="stable").tolist()
        covered, count = self._rows(any_of(masks)).tolist()
        sentence = Sentence(
            alternatives=tuple(
                tuple(columns[at].condition(*spans[at]) for at in places if at[0] == i)
                for i in order
            ),
            covered=covered,
            count=count,
            size=self.size,
            n_rows=len(self.group),
        )
        costs = sum(1.0 + _cost(columns[at], *spans[at]) for at in places)
        return sentence.f1 - self.gain * costs, sentence

    def _finely(self, column: int, at: int) -> tuple[BinnedColumn, Span]:
        """A condition on distinct values, where it has thresholds to be moved; else as it is."""
        coarse, span = self.columns[column], self.columns[column].spans[at]
        if not _is_range(span, coarse):
            return coarse, span
        if column not in self.fine:
            self.fine[column] = bin_column(coarse.column, len(coarse.codes))
        fine = self.fine[column]
        ends = coarse.firsts[span.start], coarse.lasts[span.stop - 1]
        start, last = np.searchsorted(fine.firsts, ends).tolist()
        return fine, Span(start, last + 1)

    def _best_range(self, binned: BinnedColumn, span: Span, with_it: Mask, without: Mask) -> Span:
        """One bound at a time; only rows matter that are covered with the condition alone."""
        decided = with_it & ~without
        base = self._rows(without)
        each = (decided, decided & self.group)
        counts = [np.bincount(binned.codes[rows], minlength=binned.n_bins) for rows in each]
        upto = [np.concatenate([[0], np.cumsum(count)]) for count in counts]

        def score(start: Any, stop: Any) -> Any:
            covered, count = (b + u[stop] - u[start] for b, u in zip(base, upto, strict=True))
            everything = (start == 0) & (stop == binned.n_known) & (not binned.has_missing)
            penalty = self.gain * _cost(binned, start, stop) + 2.0 * everything
            return self._f1(covered, count) - penalty

        starts = np.arange(span.stop)
        start = int(starts[np.argmax(score(starts, span.stop))])
        stops = np.arange(start + 1, binned.n_known + 1)
        stop = int(stops[np.argmax(score(start, stops))])
        return max(span, Span(start, stop), key=lambda s: float(score(s.start, s.stop)))


def _cost(binned: BinnedColumn, start: Any, stop: Any, all_but: bool = False) -> Any:
    """What makes a condition harder to read than ``age >= 40``, in conditions."""
    if binned.is_category or all_but:
        return _NEGATION * all_but
    return _SECOND_BOUND * ((start > 0) & (stop < binned.n_known) & (stop - start > 1))


def _is_range(span: Span, binned: BinnedColumn) -> bool:
    """Whether a condition has thresholds that may be moved."""
    return not binned.is_category and not span.all_but and span.stop <= binned.n_known


def _kept(binned: BinnedColumn, group: Mask) -> list[int] | None:
    """The bins that conditions are made of: all, or of many categories the group's commonest."""
    if not binned.is_category or binned.n_bins <= _CATEGORIES:
        return None
    inside = np.bincount(binned.codes[group], minlength=binned.n_bins)
    missing = np.arange(binned.n_known, binned.n_bins)
    return np.union1d(largest(inside, _CATEGORIES), missing).tolist()
