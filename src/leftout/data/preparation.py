"""A table taken in for an audit: read, its columns given their parts, sampled, encoded.

What columns are is decided on a sample of the rows, wherever the others are; a pass over all of
them then gives what an encoder needs exactly: ranges, counts of categories and of missing cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from leftout.checks import check_count, check_weights
from leftout.data.cleaning import clean
from leftout.data.column_reader import (
    Block,
    ColumnDeclarations,
    ColumnReader,
    ColumnSummary,
    Summarize,
    SummaryPass,
    sampled_places,
)
from leftout.data.columns import Column, Floats, names_of, natural
from leftout.data.encoder import TableEncoder
from leftout.data.encoding import as_read, mean_and_variance
from leftout.data.profiling.codes import FEW
from leftout.data.profiling.column_types import ColumnFacts, row_counter
from leftout.data.profiling.relations import Relation, copies, leaks, proxies
from leftout.data.profiling.sentinels import Suspect, suspects
from leftout.data.roles import assign, level_of, levels_of, value_of
from leftout.data.sources import File, Source
from leftout.errors import InputError, parameter_label
from leftout.running import warn
from leftout.settings import Reading
from leftout.text import as_name, counted, unambiguous

# Fewer rows say nothing about groups; more features than this make too large a matrix.
FEWEST_ROWS, MOST_FEATURES = 20, 5_000


@dataclass(frozen=True)
class Features:
    """What a representation sees of the rows audited, where the encoder did not make it."""

    X: Floats
    names: list[str]
    sources: list[str]  # the column of the table that each stands for, or its own name
    origin: str  # where the representation comes from, in words
    fitted: bool = False  # whether that came fitted


@dataclass(frozen=True, kw_only=True)
class PreparedTable:
    """What an audit works on."""

    source: str | None  # the file's name
    file: File | None  # which file exactly: its name, SHA-256, size and time
    rows: NDArray[np.intp]  # positions in the table of the rows audited
    n_rows: int  # of the table
    # as people know them, without those that were dropped; the target and sensitive ones too
    columns: list[Column]
    searched: list[Column]  # what the encoder has learned from, also where it left them out
    target: Column | None
    positive: Any  # the target's value whose rate counts
    # what somebody predicted for the target; not searched, and not among the columns
    prediction: Column | None
    sensitive: list[str]  # columns kept out of the search
    dropped: dict[str, str]  # columns left out, each with why
    facts: list[ColumnFacts]  # every column of the table: its part, kind, why, what became of it
    leaks: list[Relation]  # searched columns that tell the target
    copies: list[Relation]  # columns that repeat another and count once
    proxies: list[Relation]  # searched columns that tell a sensitive one
    suspects: list[Suspect]  # values that may stand for something else
    encoder: TableEncoder  # fitted
    readers: dict[str, ColumnReader]  # read the same columns, by their names here, of other rows
    X: Floats  # what the representation sees
    index: Any = None  # the table's own labels of its rows, where it has some
    # where X was given or made by a pipeline; the encoder then only says what the columns are
    features: Features | None = None
    weights: Floats | None = None  # what each row counts, 1 on average; None: once

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
        spread = mean_and_variance(self.X, self.weights)[1]
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
        other.learn(self.searched, kinds, self._inside, weights=self.weights)
        return np.asarray(other.fit_scale(self.searched, weights=self.weights))

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
    raw = declared.columns(source.table)
    declared.check(raw)
    n_rows = len(raw[0])
    check_width(len(raw))
    raw, roles = assign(raw, reading)
    playing = {roles[column.name]: column for column in raw if column.name in roles}
    every = _weights(playing["weight"]) if "weight" in playing else np.ones(n_rows)
    rows = np.arange(n_rows)
    if sample is not None:
        inside = playing.get("target") if reading.encoding == "target" else None
        rows = _sampled(_strata(inside, n_rows), sample, rng)
    if not every[rows].all():
        warn(f"{counted(int(np.sum(every[rows] == 0.0)), 'row')} of weight 0 were left aside.")
        rows = rows[every[rows] > 0.0]
    check_length(len(rows))
    weights = check_weights(every[rows], len(rows))[1]
    if len(rows) < n_rows:
        raw = [column.take(rows).tidied() for column in raw]
    about: dict[str, Any] = {
        "source": source.name, "file": source.file, "rows": rows, "n_rows": n_rows,
        "index": source.table.index[rows] if hasattr(source.table, "iloc") else None,
    }  # fmt: skip
    places = sampled_places(len(rows))
    if len(places) == len(rows):
        return infer_schema(raw, roles, declared, reading, once, weights=weights, **about)
    warn(
        f"What the columns are (numbers, codes, categories, copies of each other) was decided on "
        f"{len(places):,} of the table's {len(rows):,} rows, always the same ones; their ranges "
        "and counts are those of all rows."
    )
    block = {column.name: column for column in raw}
    part = [column.take(places).tidied() for column in raw]
    return infer_schema(
        part, roles, declared, reading, once, lambda one: one.over(block, weights), block, places,
        weights=weights, **about,
    )  # fmt: skip


def _weights(column: Column) -> Floats:
    """What each row counts, by a column of the table; 0 for those that do not count."""
    label = parameter_label("weights", column.name)
    read = clean(column, numeric=True)
    said: Any = read.numbers
    if said is None or read.dates:
        said = np.full(len(column), "text")
    places, weights = check_weights(said, len(column), label)
    every = np.zeros(len(column))
    every[places] = 1.0 if weights is None else weights
    return every


def infer_schema(
    raw: list[Column],
    roles: Mapping[str, str],
    declared: ColumnDeclarations,
    reading: Reading,
    once: bool = True,
    summarize: Summarize | None = None,
    block: Block | None = None,
    places: NDArray[np.intp] | slice = slice(None),  # noqa: B008 - a slice is frozen
    *,
    weights: Floats | None = None,
    **about: Any,
) -> PreparedTable:
    """Say what every raw column is, and encode those that have no other of the ``roles``.

    Where ``raw`` is a sample of the rows, ``summarize`` runs a pass over all of them, and
    ``block`` are the raw columns of those to encode, if not of the sample, which are at ``places``.
    Columns that repeat another count ``once``, rows as often as their ``weights`` say.
    """
    of_raw = None if weights is None else weights[places]
    columns, kinds = _judged(raw, roles, declared)

    def playing(role: str) -> list[Column]:
        return [column for column in columns if kinds[column.name].role == role]

    def reader(column: Column) -> ColumnReader:
        kind, like = kinds[column.name], column.without_rows()
        if kind.read_as == "nothing" and kind.kind != "constant" and column.numbers is None:
            like = replace(like, categories=())  # other rows have other names and texts
        return ColumnReader(kind.name, like, declared)

    outcome = next(iter(playing("target")), None)
    inside = outcome if reading.encoding == "target" else None
    labels = {} if outcome is None else declared.dictionary[kinds[outcome.name].name].values
    positive = labels.get(str(reading.positive), reading.positive)
    readers = {column.name: reader(column) for column in columns}
    read = [as_read(column, kinds[column.name]) for column in columns]
    if summarize is None:
        made = tuple(ColumnSummary.of(column, column, weights=of_raw) for column in read)
    else:
        made = summarize(SummaryPass(tuple(map(reader, read))))
    summaries = {column.name: summary for column, summary in zip(columns, made, strict=True)}
    for column in columns:
        kinds[column.name] = _on_all_rows(kinds[column.name], column, summaries[column.name])
    positive = _counts(outcome, positive, kinds)
    candidates = playing("searched")
    if not candidates:
        raise InputError(
            "No column is left to search: all are the target, dropped or sensitive. Leave at least "
            "two."
        )
    telling = [column for column in candidates if kinds[column.name].read_as != "nothing"]
    repeated = copies(telling) if once else []
    copied = {line.column: f"a copy of {as_name(line.of)}" for line in repeated}
    searched = [column for column in candidates if column.name not in copied]
    encoder = TableEncoder(
        reading.categorical, numeric=reading.numeric, missing=reading.missing,
        dictionary=reading.dictionary, scaling=reading.scaling, encoding=reading.encoding,
        smooth=reading.smooth, positive=positive,
    ).set_output(transform="pandas")  # fmt: skip
    encoder.declared_ = declared
    plans = [kinds[column.name] for column in searched]
    encoder.n_features_in_ = len(plans)
    encoder.feature_names_in_ = np.array([plan.name for plan in plans], object)
    here = {column.name: column for column in columns}
    if block is not None:
        here = {name: reader.column(block[reader.raw]) for name, reader in readers.items()}
    audited = [here[column.name] for column in searched]
    of_searched = [summaries[column.name] for column in searched]
    inside = None if inside is None else here[inside.name]
    encoder.learn(searched, plans, inside, of_searched, of_raw, audited)
    n_features = len(encoder.features_)
    if n_features > MOST_FEATURES:
        raise InputError(
            f"The columns became {n_features:,} features; an audit takes at most "
            f"{MOST_FEATURES:,}. Drop columns of many values."
        )
    guess = next((_in_words(here[each.name], labels) for each in playing("prediction")), None)
    hidden = playing("sensitive")
    asked = dict.fromkeys((column.name for column in playing("dropped")), "asked for")
    dropped = asked | encoder.dropped_ | copied
    described = [
        column
        for column in columns
        if kinds[column.name].role in ("searched", "sensitive") and column.name not in dropped
    ]
    seen = [column for column in telling if column.name not in copied]
    return PreparedTable(
        columns=[here[column.name] for column in (*described, *playing("target"))],
        searched=audited,
        target=None if outcome is None else here[outcome.name],
        positive=positive,
        prediction=guess,
        sensitive=[column.name for column in hidden],
        dropped=dropped,
        facts=column_report(kinds, repeated, encoder),
        leaks=[] if outcome is None else leaks(seen, outcome, positive),
        copies=repeated,
        proxies=proxies(seen, hidden),
        suspects=[s for c in telling for s in suspects(replace(c, name=kinds[c.name].name))],
        encoder=encoder,
        readers=readers,
        X=encoder.fit_scale(audited, weights=weights),
        weights=weights,
        **about,
    )


def _judged(
    raw: list[Column], roles: Mapping[str, str], declared: ColumnDeclarations
) -> tuple[list[Column], dict[str, ColumnFacts]]:
    """Columns as they were meant, and what each is; sensitive numbers of few values are groups."""
    columns, kinds = declared.columns_and_types(raw, roles)
    for place, (column, kind) in enumerate(zip(columns, kinds, strict=True)):
        few = kind.read_as == "number" and column.n_values <= FEW
        if kind.role == "sensitive" and few and not kind.why.startswith("declared"):
            why = f"{counted(column.n_values, 'value')} of a sensitive column"
            kind = replace(kind, kind="category", why=why, read_as="category", overrule="")
            columns[place], kinds[place] = as_read(column, kind), kind
    return columns, {kind.label: kind for kind in kinds}


def column_report(
    kinds: Mapping[str, ColumnFacts], repeated: Sequence[Relation], encoder: TableEncoder
) -> list[ColumnFacts]:
    """Every column in a line: its part, what it is and why, what became of it."""
    encoded = {line.label: line for line in encoder.columns_}
    copied = {line.column: line.of for line in repeated}
    lines = []
    for name, kind in kinds.items():
        if name in copied:
            of = copied[name]
            kind = replace(
                kind, role="left out", how=f"a copy of {as_name(of)}",
                overrule=parameter_label("drop", [kinds[of].name]),
            )  # fmt: skip
        elif name in encoder.dropped_:
            kind = replace(kind, role="left out")
        elif name in encoded:
            kind = replace(kind, how=encoded[name].how, features=encoded[name].features)
        lines.append(kind if kind.role in ("searched", "left out") else replace(kind, overrule=""))
    return lines


def _on_all_rows(kind: ColumnFacts, column: Column, summary: ColumnSummary) -> ColumnFacts:
    """What is said of a column of a sample, as what all rows sum up to has it.

    A range may say that it counts the rows, and what is constant in a sample may vary elsewhere.
    """
    if kind.kind == "constant":
        same, gaps = ("the same", 0) if column.n_values else ("empty", summary.n_rows)
        others = bool(summary.counts[-1:].any())
        if summary.low < summary.high or others or summary.n_missing != gaps:
            kind = replace(kind, why=f"{same} in every row that was sampled")
    elif kind.kind == "number" and not kind.why.startswith("declared") and not column.words:
        counter = row_counter(column, summary.low, summary.high, summary.n_rows)
        if counter is not None:
            kind = replace(counter, name=kind.name, note=kind.note, role=kind.role)
    strays = sorted(summary.strays.items(), key=lambda stray: natural(stray[0]))
    return replace(kind, missing=summary.n_missing, strays=tuple(strays))


def _in_words(predicted: Column, labels: Mapping[str, str]) -> Column:
    """A prediction whose classes are called in the same words as the target's."""
    coded = predicted if predicted.categories is not None else predicted.as_categories()
    values = coded.categories or ()
    if not values or any(value not in labels for value in values):
        return predicted
    return Column(predicted.name, coded.values, tuple(labels[value] for value in values))


def _counts(target: Column | None, positive: Any, kinds: Mapping[str, ColumnFacts]) -> Any:
    """The target's value whose rate counts, as text; None if its mean does."""
    level = level_of(target, positive)
    if target is None:
        return None
    name, levels = as_name(target.name), levels_of(target, positive)
    if levels is None:
        if kinds[target.name].kind == "code":
            value = parameter_label("positive", target.show(target.values[~target.missing].max()))
            warn(
                f"{name} looks like codes, but its mean is compared. For a rate, name a value, "
                f"such as {value}."
            )
        return None
    if len(levels) > 1:
        warn(
            f"{name} takes {len(levels):,} values; the rate of the most frequent, "
            f"{unambiguous(value_of(target, level))}, counts. Another can be asked for with "
            f"{parameter_label('positive')}."
        )
    return value_of(target, level)


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
