"""What an audit leaves for later tables to be compared with: rules, their figures, the encoding.

Everything that an audit says of its group was chosen on its rows, and would look better there than
on any other rows. So halves of the rows are searched apart, and each half's rule (components shared
and own, who belongs, a sentence) is judged on the other half: on rows that are exchangeable with
those of a later table, as long as nothing has changed. ``docs/decisions/0029-compare.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from leftout.auditing.small_cells import of_enough_rows
from leftout.data.binning import bin_column
from leftout.data.cleaning import read_like
from leftout.data.column_reader import ColumnDeclarations, ColumnReader
from leftout.data.columns import Column, names_of
from leftout.data.conditions import Condition, Mask
from leftout.data.encoder import TableEncoder
from leftout.data.encoding import (
    Becomes,
    CategoricalEncoding,
    MissingIndicator,
    NumericEncoding,
    as_read,
)
from leftout.data.preparation import PreparedTable
from leftout.data.profiling.column_types import ColumnFacts
from leftout.errors import InputError
from leftout.evidence.duplicate_rows import find_repeats
from leftout.evidence.refit import SearchTask, fit_group_rule, in_proportion
from leftout.evidence.replication import HALVES_TOGETHER, gap_of
from leftout.explain.sentence import any_of, describe
from leftout.files import Serializable
from leftout.groups.partition import GroupRule, MaxDisparityPartition
from leftout.linalg.losses import Array, Loss
from leftout.linalg.significance import Estimate
from leftout.representation.base import Representation
from leftout.settings import TENTH, Reading
from leftout.text import counted, leading

# Numbers that a baseline may hold: more would make audit.json large.
_MOST_NUMBERS = 400_000
# Columns whose distribution is kept, the ones that carry most of the loss, and bins of each.
_MOST_COLUMNS, _BINS = 100, 8
_DIGITS = 7
_FIXED = 0  # what halves are drawn by


def _short(values: Any) -> Array:
    """Numbers with few digits: those that are written are those that figures come from."""
    made = np.asarray(values, dtype=np.float64)
    short = [float(f"{value:.{_DIGITS}g}") for value in made.ravel().tolist()]
    return np.reshape(np.array(short, dtype=np.float64), made.shape)


def _without_rare(plan: ColumnFacts, column: Column, fewest: int) -> Becomes:
    """What a column becomes, told by values and ends of a scale that enough rows have.

    Categories of fewer rows are not among those that are left: they count as new ones do.
    """
    becomes: Becomes = plan.becomes
    if isinstance(becomes, NumericEncoding):
        low, high = _ends(column, becomes, fewest)
        return replace(becomes, low=low, high=high)
    like = becomes.like
    counts = as_read(column, plan).category_counts[: len(like.categories or ())]
    kept = np.flatnonzero(counts >= fewest)
    like = replace(
        like, categories=tuple(np.array(like.categories, dtype=object)[kept]),
        levels=None if like.levels is None else like.levels[kept],
    )  # fmt: skip
    said = ["=" * bool(value) for value in becomes.features]
    vectors = _short(becomes.vectors[[*kept.tolist(), -2, -1]])
    return replace(becomes, like=like, vectors=vectors, features=said)


def _ends(column: Column, becomes: NumericEncoding, fewest: int) -> tuple[float, float]:
    """The ends of a scale, rounded outwards where fewer rows than that hold one of them."""
    low, high, numbers = becomes.low, becomes.high, column.numbers
    assert numbers is not None
    held = [int(np.sum(numbers <= low)), int(np.sum(numbers >= high))]
    if min(held) >= fewest or not low < high:
        return low, high
    step = 10.0 ** np.floor(np.log10(high - low))
    return float(np.floor(low / step) * step), float(np.ceil(high / step) * step)


@dataclass(frozen=True, kw_only=True)
class Encoding(Serializable):
    """How a table became features: the same for any later one.

    Attributes
    ----------
    names : list of str
        What the table calls its columns.
    columns : list
        What each of them becomes. Categories of too few rows are not told; where few rows hold an
        end of a scale, it is rounded outwards.
    indicators : list of MissingIndicator
        By the places of their columns.
    scaling : str
    shift, scale : array
        What features from 0 to 1 are shifted by and multiplied with.
    """

    names: list[str]
    columns: list[NumericEncoding | CategoricalEncoding]
    indicators: list[MissingIndicator]
    scaling: str
    shift: Array
    scale: Array

    @classmethod
    def of(cls, intake: PreparedTable, fewest: int) -> Self:
        """Of a fitted encoder; nothing is told of fewer rows than that."""
        encoder = intake.encoder
        kept = [place for place, plan in enumerate(encoder.columns_) if plan.becomes is not None]
        plans = [(encoder.columns_[place], intake.searched[place]) for place in kept]
        made = cls(
            names=[plan.name for plan, _ in plans],
            columns=[_without_rare(plan, column, fewest) for plan, column in plans],
            indicators=[
                each._replace(places=tuple(kept.index(place) for place in each.places))
                for each in encoder.missing_indicators_
            ],
            scaling=encoder.scaling, shift=np.empty(0), scale=np.empty(0),
        )  # fmt: skip
        fitted = made._encoder
        fitted.fit_scale([column for _, column in plans])
        return replace(made, shift=_short(fitted.shift_), scale=_short(fitted.scale_))

    @cached_property
    def _encoder(self) -> TableEncoder:
        encoder, first = TableEncoder(scaling=self.scaling), {i.places[0] for i in self.indicators}
        encoder.columns_ = [
            ColumnFacts(
                name, like.name, "", "", "", True, "", becomes=becomes,
                features=(*becomes.names(like.name), *[like.name] * (place in first)),
            )
            for place, (name, becomes) in enumerate(zip(self.names, self.columns, strict=True))
            for like in [becomes.like]
        ]  # fmt: skip
        encoder.missing_indicators_ = self.indicators
        encoder.features_ = [name for plan in encoder.columns_ for name in plan.features]
        encoder.shift_, encoder.scale_ = self.shift, self.scale
        return encoder

    def read(self, table: Any, reading: Reading) -> list[Column]:
        """The columns of a table as it came, called as the audit called them."""
        said = ColumnDeclarations.of(names_of(table), reading)
        raw = {column.name: column for column in said.columns(table)}
        self._check(set(self.names) - raw.keys())
        return [
            ColumnReader(name, each.like, said).column(raw[name])
            for name, each in zip(self.names, self.columns, strict=True)
        ]

    def cleaned(self, columns: Sequence[Column]) -> list[Column]:
        """Columns that an audit has taken in, as those of this table were read."""
        known = {column.name: column for column in columns}
        self._check({each.like.name for each in self.columns} - known.keys())
        return [read_like(known[each.like.name], each.like) for each in self.columns]

    def _check(self, lacking: set[str]) -> None:
        if lacking:
            raise InputError(
                f"The new table lacks {counted(len(lacking), 'column')} that the old audit has "
                f"searched: {leading(sorted(map(repr, lacking)))}. Pass a table that has them."
            )

    def encode(self, columns: Sequence[Column]) -> Array:
        """Columns of any rows, in the order of these, as features."""
        return self._encoder._encode(list(columns))


@dataclass(frozen=True, kw_only=True)
class HeldOutRule(Serializable):
    """What half of the rows has learned.

    Attributes
    ----------
    origin, components : array
        The shared representation; a projection.
    own : array of shape (sides, d, n)
        Components of the rest and of each group.
    sizes, offsets : array
        Of all sides; and what the score of a row must exceed to belong to a group.
    threshold : float
        A tenth of these rows have a larger squared error: such rows are represented worst.
    sentence : list of list of Condition, or None
        The short description of its first group.
    """

    origin: Array
    components: Array
    own: Array
    sizes: NDArray[np.intp]
    offsets: Array
    threshold: float
    sentence: tuple[tuple[Condition, ...], ...] | None

    @classmethod
    def of(cls, rule: GroupRule, X: Array, columns: Sequence[Column], fewest: int) -> Self:
        """Of what was learned on some rows."""
        assert rule.shared.origin is not None and rule.shared.components is not None
        labels = rule.predict(rule.row_losses(X)) == 1
        found = describe(list(columns), labels) if columns and 0 < labels.sum() < len(X) else None
        made = cls(
            origin=_short(rule.shared.origin), components=_short(rule.shared.components),
            own=_short(rule.own), sizes=rule.sizes, offsets=_short(rule.offsets), threshold=0.0,
            sentence=None if found is None
            else of_enough_rows(found, columns, labels, fewest).alternatives or None,
        )  # fmt: skip
        return replace(made, threshold=float(np.quantile(made.errors(X), 1.0 - TENTH)))

    @property
    def numbers(self) -> int:
        """How many it holds."""
        return self.components.size + self.own.size

    @cached_property
    def _rule(self) -> GroupRule:
        d, n = self.components.shape
        shared = Representation(
            name="", rank=d, n_features=n, origin=self.origin, components=self.components
        )
        loss = Loss.named("excess", "global")
        return GroupRule(loss, shared, self.own, self.sizes, self.offsets)

    def errors(self, X: Array) -> Array:
        """The squared error of each row."""
        rows = X - self.origin
        return np.einsum("ij,ij->i", rows, rows) - self._rule.shared.kept(X)

    def figures(self, X: Array, columns: Mapping[str, Column]) -> dict[str, tuple[float, Array]]:
        """What it says of other rows: each figure, and what each row adds to its deviation."""
        losses, errors, m = self._rule.row_losses(X), self.errors(X), len(X)
        side = self._rule.predict(losses)
        found = {}
        for group in range(1, len(self.sizes)):
            found[f"gap {group}"] = gap_of(self._rule, losses, group)
            found[f"share {group}"] = _mean(side == group, np.ones(m, dtype=bool))
        worst = errors >= np.quantile(errors, 1.0 - TENTH)
        value, edge = float(errors[worst].mean()), float(errors[worst].min())
        # of the mean above a quantile
        beyond = np.maximum(errors - edge, 0.0) / worst.mean() + edge
        found["error"] = value, (beyond - beyond.mean()) / m
        if self.sentence is not None:
            under = any_of([[c.holds(columns[c.column]) for c in both] for both in self.sentence])
            found["covered"] = _mean(under, errors > self.threshold)
        return found


def _mean(values: Mask, among: Mask) -> tuple[float, Array]:
    """The share of some rows for which something holds."""
    n = int(among.sum())
    if not n:
        return 0.0, np.zeros(len(values))
    share = float(values[among].mean())
    return share, np.where(among, values - share, 0.0) / n


@dataclass(frozen=True, kw_only=True)
class Spread(Serializable):
    """How the rows of a column are spread over conditions: what is in none is in others.

    Attributes
    ----------
    column : str
    share : float
        What it adds to the loss.
    rows : int
    conditions : list of Condition
    counts : list of int
        Rows of each.
    """

    column: str
    share: float
    rows: int
    conditions: list[Condition]
    counts: list[int]

    @classmethod
    def of(cls, column: Column, share: float, fewest: int) -> Self:
        """Of a column; conditions of fewer rows are not among them, nor known by what is left."""
        m = len(column)
        for n_bins in range(_BINS, 1, -1):  # as many as have enough rows each
            binned = bin_column(column, n_bins)
            counts = np.bincount(binned.codes, minlength=binned.n_bins)
            if binned.is_category or counts[: binned.n_known].min(initial=m) >= fewest:
                break
        kept = [int(code) for code in np.argsort(-counts, kind="stable") if counts[code] >= fewest]
        kept = kept[: 2 * _BINS]
        while kept and 0 < m - int(counts[kept].sum()) < fewest:
            kept.pop()
        return cls(
            column=column.name, share=share, rows=m,
            conditions=[binned.condition(code) for code in sorted(kept)],
            counts=counts[sorted(kept)].tolist(),
        )  # fmt: skip

    def now(self, column: Column) -> NDArray[np.int64]:
        """How many rows of another table meet each condition, and then none."""
        counts = [int(condition.holds(column).sum()) for condition in self.conditions]
        return np.array([*counts, len(column) - sum(counts)])

    @property
    def then(self) -> NDArray[np.int64]:
        return np.array([*self.counts, self.rows - sum(self.counts)])


@dataclass(frozen=True, kw_only=True)
class Baseline(Serializable):
    """What later tables are compared with.

    Attributes
    ----------
    encoding : Encoding or None
        None where features were given, or made by a pipeline.
    rules : list of HeldOutRule
    figures : dict of Estimate
        What each half's rule says of the other half: of each group the gap to the rest and its
        share of the rows; the error of the worst-represented tenth; the share of them that the
        sentence covers.
    columns : list of Spread
        By what they add to the loss.
    """

    encoding: Encoding | None
    rules: list[HeldOutRule]
    figures: dict[str, Estimate]
    columns: list[Spread]

    def judge(self, X: Array, columns: Mapping[str, Column]) -> dict[str, Estimate]:
        """What the rules say of another table's rows."""
        each = [rule.figures(X, columns) for rule in self.rules]
        copies = find_repeats(X).copies
        return {
            name: Estimate.of(
                float(np.mean([one[name][0] for one in each])),
                np.mean([one[name][1] for one in each], axis=0), copies,
            )
            for name in self.figures
        }  # fmt: skip


def learn_baseline(
    found: MaxDisparityPartition,
    intake: PreparedTable,
    rows: NDArray[np.intp],
    shares: Mapping[str, float],
    fewest: int,
) -> Baseline | None:
    """Search halves of some ``rows`` of a table apart, and judge each half's rule on the other.

    ``shares``: what columns add to the loss. None where a rule cannot be written down: of a
    representation that is no projection, of a search that chooses sizes itself, of too large ones.
    """
    if not found.representation_.is_projection or found.loss != "excess":
        return None
    if found.centering == "paper" or found.sizes_.min() < fewest:
        return None
    encoding, X, columns = None, intake.X[rows], intake.telling
    if intake.features is None:
        encoding = Encoding.of(intake, fewest)
        columns = encoding.cleaned(intake.searched)
        X = encoding.encode([column.take(rows) for column in columns])
    part = [column.take(rows) for column in columns]
    by_name = {column.name: column for column in part}
    estimator, sizes = clone(found).set_params(random_state=_FIXED), found.sizes_[1:].tolist()
    sizes = in_proportion(sizes, len(rows), len(found.labels_))
    try:
        task = SearchTask.of(estimator.set_params(n_groups=1, group_size=None), X)
        halves = task.halves(task.rngs[1])
        rules, told = [], []
        for here, there in (halves, halves[::-1]):
            of_half = in_proportion(sizes, len(here), len(rows))
            rule = fit_group_rule(task, X[here], of_half, task.rngs[2], found.labels_[rows][here])
            rules.append(HeldOutRule.of(rule, X[here], [c.take(here) for c in part], fewest))
            columns_there = {name: column.take(there) for name, column in by_name.items()}
            told.append((there, rules[-1].figures(X[there], columns_there)))
    except InputError:  # too few dimensions in a half, or a solver that takes no sizes
        return None
    if sum(rule.numbers for rule in rules) > _MOST_NUMBERS:
        return None
    figures = {}
    for name in told[0][1]:
        if name not in told[1][1]:  # only one half has a sentence
            continue
        influence = np.zeros(len(X))
        for there, each in told:
            influence[there] = each[name][1] / len(told)
        value = float(np.mean([each[name][0] for _, each in told]))
        figures[name] = Estimate.of(value, influence, task.repeats.copies, HALVES_TOGETHER)
    leading = sorted(columns, key=lambda column: -shares.get(column.name, 0.0))[:_MOST_COLUMNS]
    return Baseline(
        encoding=encoding, rules=rules, figures=figures,
        columns=[Spread.of(c, shares.get(c.name, 0.0), max(1, fewest)) for c in leading],
    )  # fmt: skip
