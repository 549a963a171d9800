"""A table taken in for an audit: read, its columns given their parts, sampled, encoded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from leftout.checks import check_count
from leftout.data.column_reader import sampled, sampled_places
from leftout.data.columns import Column, named, names_of
from leftout.data.declarations import ColumnDeclarations
from leftout.data.encoding import Floats
from leftout.data.profiling.column_types import ColumnFacts
from leftout.data.roles import assign, with_values
from leftout.data.schema_inference import MOST_FEATURES, TableSchema, infer_schema
from leftout.data.sources import File, Source
from leftout.errors import InputError
from leftout.running import warn
from leftout.settings import Reading
from leftout.text import counted

# Fewer rows say nothing about groups.
FEWEST_ROWS = 20


@dataclass(frozen=True)
class Features:
    """What a representation sees of the rows audited, where the encoder did not make it."""

    X: Floats
    names: list[str]
    sources: list[str]  # the column of the table that each stands for, or its own name
    origin: str  # where the representation comes from, in words
    fitted: bool = False  # whether that came fitted


@dataclass(frozen=True, kw_only=True)
class PreparedTable(TableSchema):
    """What an audit works on.

    Attributes
    ----------
    source : str or None
        The file's name.
    file : File or None
        Which file exactly: its name, SHA-256, size and time.
    rows : array of shape (m,)
        Positions in the table of the rows audited.
    n_rows : int
        Rows of the table.
    columns : list of Column
        As people know them, without those that were dropped; the target and sensitive ones too.
    searched : list of Column
        Those that the encoder has learned from, also where it left them out.
    target : Column or None
    positive : value or None
        The target's value whose rate counts.
    prediction : Column or None
        What somebody predicted for the target; not searched, and not among ``columns``.
    sensitive : list of str
        Columns kept out of the search.
    dropped : dict
        Columns left out, each with why.
    facts : list of ColumnFacts
        Every column of the table: its part, its kind and why, what became of it.
    leaks, copies, proxies : list of Relation
        Searched columns that tell the target, columns that repeat another and count once, searched
        columns that tell a sensitive one.
    suspects : list of Suspect
        Values that may stand for something else.
    encoder : TableEncoder
        Fitted.
    X : array of shape (m, n)
        What the representation sees.
    features : Features or None
        Where X was given or made by a pipeline: what it is. The encoder then only says what the
        table's columns are.
    index : object
        The table's own labels of its rows, where it has some.
    """

    source: str | None
    file: File | None
    rows: NDArray[np.intp]
    n_rows: int
    X: Floats
    index: Any
    features: Features | None = None

    def seeing(self, features: Features) -> PreparedTable:
        """The same table, where the representation sees other features than the encoder's."""
        return replace(self, X=features.X, features=features)

    @property
    def feature_names(self) -> list[str]:
        if self.features is not None:
            return self.features.names
        return [str(name) for name in self.encoder.get_feature_names_out()]

    @property
    def sources(self) -> list[str]:
        """The column that each feature was made from."""
        return list(self.encoder.sources_ if self.features is None else self.features.sources)

    @property
    def target_encoded(self) -> list[str]:
        """Features that hold the target's mean."""
        return self.encoder.target_encoded_ if self.features is None else []

    def part(self, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Places of ``size`` of the audited rows, drawn like a sample."""
        return proportional(_strata(self._inside, len(self.X)), size, rng)

    @property
    def telling(self) -> list[Column]:
        """Searched columns that have features."""
        known = set(self.encoder.sources_)
        return [column for column in self.searched if column.name in known]

    @property
    def hidden(self) -> list[Column]:
        """Sensitive columns, kept out of the search."""
        return [column for column in self.columns if column.name in self.sensitive]

    @property
    def codes(self) -> list[ColumnFacts]:
        """Columns that look like codes, and that were read as numbers."""
        if self.features is not None:
            return []
        return [k for k in self.encoder.columns_ if k.kind == "code" and k.read_as == "number"]

    def called(self, column: str) -> str:
        """What the table calls a column."""
        return next(fact.name for fact in self.facts if fact.label == column)

    @property
    def indicator_share(self) -> float:
        """The share of the variance that is in missing indicators."""
        if self.features is not None:
            return 0.0
        spread = self.X.var(axis=0)
        return float(spread[self.encoder.indicator_places_].sum() / spread.sum())

    def as_categories(self) -> Floats:
        """The same rows, with columns that look like codes read as categories."""
        codes = {kind.label for kind in self.codes}
        kinds = [
            replace(kind, read_as="category") if kind.label in codes else kind
            for kind in self.encoder.columns_
        ]
        return self._encoded(self.encoder.scaling, kinds)

    def scaled(self, scaling: str) -> Floats:
        """The same rows, with columns scaled otherwise."""
        return self._encoded(scaling, self.encoder.columns_)

    def _encoded(self, scaling: str, kinds: list[ColumnFacts]) -> Floats:
        other = clone(self.encoder).set_params(scaling=scaling)
        other.declared_ = self.encoder.declared_
        other.learn(self.searched, kinds, self._inside)
        return np.asarray(other.fit_scale(self.searched))

    @property
    def _inside(self) -> Column | None:
        """The target where it is part of the encoding; else None, the search knows nothing."""
        return self.target if self.encoder.encoding == "target" else None


def prepare_table(
    source: Source,
    reading: Reading = Reading(),  # noqa: B008 - it is frozen
    *,
    sample: int | None = None,
    once: bool = True,
    rng: np.random.Generator,
) -> PreparedTable:
    """Give every column its part, take a sample if one is asked for, and turn it into numbers.

    The target has no say in what is searched, unless ``encoding`` is ``"target"``. Columns that
    repeat another count ``once``.
    """
    declared = ColumnDeclarations.of(names_of(source.table), reading)
    raw = declared.columns(source.table, unread=reading.drop)
    declared.check(raw)
    n_rows = len(raw[0])
    check_width(len(raw))
    raw, target = with_values(raw, reading.target, "target")
    raw, prediction = with_values(raw, reading.prediction, "prediction", target)
    reading = replace(reading, target=target, prediction=prediction)
    rows = np.arange(n_rows)
    if sample is not None:
        kept = assign(raw, target).target if reading.encoding == "target" else None
        rows = _sampled(_strata(named(raw, kept), n_rows), sample, rng)
    check_length(len(rows))
    if len(rows) < n_rows:
        raw = [sampled(column, rows) for column in raw]
    decided = _schema(raw, declared, reading, once)
    return PreparedTable(
        **vars(decided),
        source=source.name,
        file=source.file,
        rows=rows,
        n_rows=n_rows,
        X=decided.encoder.fit_scale(decided.searched),
        index=source.table.index[rows] if hasattr(source.table, "iloc") else None,
    )


def _schema(
    raw: list[Column], declared: ColumnDeclarations, reading: Reading, once: bool
) -> TableSchema:
    """The schema of a table in memory, by a sample of its rows, and with columns of all of them."""
    places = sampled_places(len(raw[0]))
    if len(places) == len(raw[0]):
        return infer_schema(raw, declared, reading, once)
    warn(
        f"What the columns are (numbers, codes, categories, copies of each other) was decided on "
        f"{len(places):,} of the table's {len(raw[0]):,} rows, always the same ones; their ranges "
        "and counts are those of all rows."
    )
    block = {column.name: column for column in raw}
    part = [sampled(column, places) for column in raw]
    return infer_schema(part, declared, reading, once, lambda one: one.over(block)).on_rows(block)


def check_width(n_columns: int) -> None:
    """Refuse a table of too many columns."""
    if n_columns > MOST_FEATURES:
        raise InputError(
            f"The table has {n_columns:,} columns; an audit takes at most {MOST_FEATURES:,}. Drop "
            "the others."
        )


def check_length(n_rows: int) -> None:
    """Refuse a table of too few rows."""
    if n_rows < FEWEST_ROWS:
        raise InputError(
            f"Found {counted(n_rows, 'row')} to audit; groups can be told from random ones in "
            f"{FEWEST_ROWS} rows or more. Pass more of them."
        )


def _sampled(
    strata: NDArray[np.integer], sample: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Places of a sample of the rows, in proportion to strata; of all, if there are no more."""
    check_count("sample", sample)
    n_rows = len(strata)
    if sample >= n_rows:
        warn(f"The sample of {sample:,} rows was not taken: the table has {n_rows:,}.")
        return np.arange(n_rows)
    evenly = "in proportion to the target's values" if strata.any() else "at random"
    warn(
        f"{sample:,} of the table's {n_rows:,} rows were drawn, {evenly}; another sample (another "
        "seed) may give another group."
    )
    return proportional(strata, sample, rng)


def proportional(
    strata: NDArray[np.integer], size: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Places of ``size`` rows, from each stratum in proportion; in rising order.

    In each stratum rows are spread at random and evenly from 0 to 1, and the lowest are taken.
    """
    shuffled = rng.permutation(len(strata))
    by_stratum = shuffled[np.argsort(strata[shuffled], kind="stable")]
    counts = np.bincount(strata)
    rank = np.arange(len(strata)) - np.repeat(np.cumsum(counts) - counts, counts)
    height = (rank + rng.random(len(strata))) / np.repeat(counts, counts)
    return np.sort(by_stratum[np.argsort(height, kind="stable")[:size]])


def _strata(target: Column | None, n_rows: int) -> NDArray[np.integer]:
    """What a sample keeps the shares of: the target's values, where it has categories."""
    if target is None or target.categories is None:
        return np.zeros(n_rows, dtype=np.intp)
    return target.codes()
