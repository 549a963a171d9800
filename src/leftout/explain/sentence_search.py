"""The search for the sentence that fits a left-out group best.

A description joins up to three conditions on raw columns by "and" or "or". It is judged by F1;
every further condition must earn its place.

All single conditions and all pairs of them are looked at, joined by either word: the counts of two
conditions come from those of bins by matrix products (:mod:`leftout.data.binning`). Three
conditions are looked for in two ways: a third is added to the best pairs, and all pairs are put
beside the best single ones. At last every threshold is moved to where the distinct values of its
column put it best.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leftout.checks import check_count, check_left_out
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
from leftout.data.conditions import Mask
from leftout.errors import InputError
from leftout.explain.sentence import Sentence, joined

# What a further condition must add to F1: this much, or this many rows' worth.
_GAIN, _GAIN_ROWS = 0.01, 4
# What else makes a condition harder to read, in conditions.
_SECOND_BOUND, _NEGATION = 0.5, 0.1
# Columns, and categories of one: of more, those that tell most of the group.
_COLUMNS, _CATEGORIES = 64, 40
# Single conditions that pairs are put beside, and the columns of those pairs.
_OUTER, _TELLING = 6, 20
# Descriptions from which longer ones are searched, and whose thresholds are refined.
_BEAM, _REFINED, _ROUNDS = 100, 20, 10


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
        At most. A further condition must add 0.01 to F1 (or what four rows make, if more),
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
    search = _SentenceSearch(columns, group)
    # with one condition, with two, and so on
    found = [
        max((search.refined(plan) for plan in leading[:_REFINED]), key=lambda scored: scored[0])
        for leading in search.by_length(conditions)
    ]
    best = int(np.argmax([score for score, _ in found]))
    return replace(found[best][1], shorter=tuple(sentence for _, sentence in found[:best]))


class _SentencePlan(NamedTuple):
    """A description under construction: columns, which condition of each, words between."""

    columns: tuple[int, ...]
    places: tuple[int, ...]
    words: tuple[str, ...] = ()

    def then(self, word: str, column: int, place: int) -> _SentencePlan:
        return _SentencePlan((*self.columns, column), (*self.places, place), (*self.words, word))


_Scored = tuple[float, _SentencePlan]


class _SentenceSearch:
    """What the search for one group shares."""

    def __init__(self, columns: list[Column], group: Mask) -> None:
        self.group, self.size = group, int(group.sum())
        self.gain = max(_GAIN, 0.5 * _GAIN_ROWS / self.size)
        every = [bin_column(column, FINE, group) for column in columns]
        varying = [binned for binned in every if binned.n_bins > 1]
        if not varying:
            raise InputError(
                "No column takes more than one value, so none can tell the left-out group from the "
                "rest. Pass columns that vary."
            )
        told = np.array([binned.mutual_information(group) for binned in varying])
        kept = largest(told, _COLUMNS)
        self.telling = largest(told[kept], _TELLING).tolist()
        self.columns = [
            binned.with_conditions(_spans(binned, _kept(binned, group)))
            for binned in (varying[place] for place in kept)
        ]
        self.costs = [
            self.gain * np.array([_cost(c, *span) for span in c.spans]) for c in self.columns
        ]
        self.fine: dict[int, BinnedColumn] = {}

    def by_length(self, conditions: int) -> Iterator[list[_SentencePlan]]:
        """The leading descriptions with one condition, with two, and so on."""
        singles = beam = _leading(self._singles())
        yield beam
        if conditions > 1:
            beam = _leading(self._pairs(range(len(self.columns))))
            yield beam
        for length in range(3, conditions + 1):
            found = self._longer(beam)
            if length == 3:
                for outer in singles[:_OUTER]:
                    found += self._around(outer)
            beam = _leading(found)
            yield beam

    def _f1(self, covered: Array, count: Array) -> Array:
        return 2.0 * count / (covered + self.size)

    def _conditions(self, places: Sequence[int]) -> Iterator[tuple[slice, Array]]:
        """Of each of some columns: its bins among theirs, and which of these make a condition."""
        columns = [self.columns[place] for place in places]
        for binned, (start, stop) in zip(columns, pairwise(starts_of(columns)), strict=True):
            yield slice(start, stop), binned.members.astype(float)

    def _singles(self) -> list[_Scored]:
        table, found = Indicators.of(self.columns), []
        counts = np.stack([table.counts(), table.counts(self.group)])
        for column, (bins, members) in enumerate(self._conditions(range(len(self.columns)))):
            score = self._f1(*counts[:, bins] @ members.T) - self.costs[column]
            best = int(np.argmax(score))
            found.append((float(score[best]), _SentencePlan((column,), (best,))))
        return found

    def _pairs(
        self,
        places: Sequence[int],
        rows: Mask | None = None,
        outer: _SentencePlan | None = None,
        word: str = "",
    ) -> list[_Scored]:
        """The best pair of conditions on every two columns, joined by either word.

        With an ``outer`` condition that joins them by ``word``, only the ``rows`` count that it
        leaves undecided.
        """
        table = Indicators.of([self.columns[place] for place in places])
        inside = self.group if rows is None else self.group & rows
        counts = np.stack([table.pairs(rows), table.pairs(inside)])
        of_bins = np.diagonal(counts, axis1=1, axis2=2)
        every = [(bins, A, of_bins[:, bins] @ A.T) for bins, A in self._conditions(places)]
        sure = np.zeros((2, 1, 1))  # rows and hits of the outer condition, which count in any case
        spent = self.gain
        if outer is not None:
            spent = self._spent(outer) + 2.0 * self.gain
            if word == "or":
                mask = self._mask(outer)
                sure[:, 0, 0] = mask.sum(), (mask & self.group).sum()
        found = []
        for a, b in combinations_with_replacement(range(len(places)), 2):
            (at, A, held), (beside, B, other) = every[a], every[b]
            both = A @ counts[:, at, beside] @ B.T
            either = held[:, :, None] + other[:, None] - both
            cost = (spent + self.costs[places[a]])[:, None] + self.costs[places[b]]
            for inner, covered in (("and", both), ("or", either)):
                score = self._f1(*(covered + sure)) - cost
                best = int(score.argmax())
                plan = _SentencePlan((places[a], places[b]), divmod(best, score.shape[1]), (inner,))
                if outer is not None:
                    plan = plan.then(word, outer.columns[0], outer.places[0])
                found.append((float(score.flat[best]), plan))
        return found

    def _around(self, outer: _SentencePlan) -> list[_Scored]:
        """The best pairs to put beside one condition: those that it does not decide already."""
        mask = self._mask(outer)
        return [
            scored
            for word, rows in (("and", mask), ("or", ~mask))
            for scored in self._pairs(self.telling, rows, outer, word)
        ]

    def _longer(self, beam: list[_SentencePlan]) -> list[_Scored]:
        """The best condition to add to every description of the beam, from every column."""
        table, masks = Indicators.of(self.columns), np.stack([self._mask(plan) for plan in beam])
        meeting = np.stack([table.meet(masks), table.meet(masks & self.group)])
        counts = np.stack([table.counts(), table.counts(self.group)])
        sizes = np.stack([masks.sum(axis=1), (masks & self.group).sum(axis=1)])[:, :, None]
        spent = np.array([self._spent(plan) for plan in beam])[:, None] + self.gain
        found = []
        for column, (bins, members) in enumerate(self._conditions(range(len(self.columns)))):
            both, held = meeting[:, :, bins] @ members.T, counts[:, None, bins] @ members.T
            for word, covered in (("and", both), ("or", sizes + held - both)):
                score = self._f1(*covered) - self.costs[column] - spent
                for row, (plan, best) in enumerate(zip(beam, score.argmax(axis=1), strict=True)):
                    longer = plan.then(word, column, int(best))
                    found.append((float(score[row, best]), longer))
        return found

    def _spent(self, plan: _SentencePlan) -> float:
        """What the conditions of a description cost."""
        each = (self.costs[c][at] for c, at in zip(plan.columns, plan.places, strict=True))
        return float(self.gain * (len(plan.places) - 1) + sum(each))

    def _mask(self, plan: _SentencePlan) -> Mask:
        every = zip(plan.columns, plan.places, strict=True)
        return joined([self.columns[column].mask(place) for column, place in every], plan.words)

    def refined(self, plan: _SentencePlan) -> tuple[float, Sentence]:
        """Move each threshold to its best place among the distinct values, the others held."""
        columns = [self.columns[column] for column in plan.columns]
        spans = [c.spans[place] for c, place in zip(columns, plan.places, strict=True)]
        masks = [c.mask(place) for c, place in zip(columns, plan.places, strict=True)]
        for place, (column, coarse, span) in enumerate(
            zip(plan.columns, list(columns), list(spans), strict=True)
        ):
            if _is_range(span, coarse):
                if column not in self.fine:
                    self.fine[column] = bin_column(coarse.column, len(coarse.codes))
                columns[place] = fine = self.fine[column]
                ends = coarse.firsts[span.start], coarse.lasts[span.stop - 1]
                start, last = np.searchsorted(fine.firsts, ends)
                spans[place] = Span(int(start), int(last) + 1)
        for _ in range(_ROUNDS):
            before = list(spans)
            for place, (c, span) in enumerate(zip(columns, spans, strict=True)):
                if _is_range(span, c):
                    spans[place] = self._best_range(c, span, place, masks, plan.words)
                    masks[place] = spans[place].holds(c.n_bins)[c.codes]
            if spans == before:
                break
        covered = joined(masks, plan.words)
        sentence = Sentence(
            conditions=tuple(c.condition(*s) for s, c in zip(spans, columns, strict=True)),
            joined=plan.words,
            covered=int(covered.sum()),
            count=int((covered & self.group).sum()),
            size=self.size,
            n_rows=len(self.group),
        )
        costs = sum(_cost(c, *span) for span, c in zip(spans, columns, strict=True))
        return sentence.f1 - self.gain * (len(spans) - 1 + costs), sentence

    def _best_range(
        self, c: BinnedColumn, span: Span, place: int, masks: list[Mask], words: tuple[str, ...]
    ) -> Span:
        """One bound at a time; only rows that the condition decides matter."""
        with_it, without = (
            joined([*masks[:place], np.full(len(c.codes), truth), *masks[place + 1 :]], words)
            for truth in (True, False)
        )
        decided = with_it & ~without
        base = [int(rows.sum()) for rows in (without, without & self.group)]
        upto = [
            np.concatenate([[0], np.cumsum(np.bincount(c.codes[rows], minlength=c.n_bins))])
            for rows in (decided, decided & self.group)
        ]

        def score(start: Any, stop: Any) -> Array:
            covered, count = (b + u[stop] - u[start] for b, u in zip(base, upto, strict=True))
            everything = (start == 0) & (stop == c.n_known) & (not c.has_missing)
            penalty = self.gain * _cost(c, start, stop) + 2.0 * everything
            return self._f1(covered, count) - penalty

        start, stop = span.start, span.stop
        starts = np.arange(stop)
        start = int(starts[np.argmax(score(starts, stop))])
        stops = np.arange(start + 1, c.n_known + 1)
        stop = int(stops[np.argmax(score(start, stops))])
        return max(span, Span(start, stop), key=lambda s: float(score(s.start, s.stop)))


def _cost(c: BinnedColumn, start: Any, stop: Any, all_but: bool = False) -> Any:
    """What makes a condition harder to read than ``age >= 40``, in conditions."""
    if c.is_category or all_but:
        return _NEGATION * all_but
    return _SECOND_BOUND * ((start > 0) & (stop < c.n_known) & (stop - start > 1))


def _is_range(span: Span, c: BinnedColumn) -> bool:
    """Whether a condition has thresholds that may be moved."""
    return not c.is_category and not span.all_but and span.stop <= c.n_known


def _leading(found: list[_Scored]) -> list[_SentencePlan]:
    order = np.argsort([-score for score, _ in found], kind="stable")[:_BEAM]
    return [found[place][1] for place in order]


def _kept(c: BinnedColumn, group: Mask) -> NDArray[np.intp]:
    """The bins that conditions are made of: all, or of many categories the group's commonest."""
    if not c.is_category or c.n_bins <= _CATEGORIES:
        return np.arange(c.n_bins)
    inside = np.bincount(c.codes[group], minlength=c.n_bins)
    missing = np.arange(c.n_known, c.n_bins)
    return np.union1d(largest(inside, _CATEGORIES), missing)


def _spans(c: BinnedColumn, kept: NDArray[np.intp]) -> Iterator[Span]:
    """Simple ones first: of equals, the first is taken."""
    if not c.is_category:
        n = c.n_known
        ranges = [(i, j) for i in range(n) for j in range(i + 1, n + 1) if j - i < n]
        yield from (Span(*r) for r in sorted(ranges, key=lambda r: 0 < r[0] and r[1] < n))
        if c.has_missing:
            yield Span(n, n + 1)
            if n:
                yield Span(n, n + 1, all_but=True)
        return
    yield from (Span(code, code + 1) for code in kept.tolist())
    if c.n_bins > 2:
        yield from (Span(code, code + 1, all_but=True) for code in kept.tolist())
