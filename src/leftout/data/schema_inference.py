"""What an audit makes of a table's columns: their parts, kinds, relations and encoding.

All is decided on the rows of a sample, wherever the others are; a pass over all of them then gives
what an encoder needs exactly: ranges, counts of categories and of missing cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from leftout.data.column_reader import (
    Block,
    ColumnReader,
    ColumnSummary,
    Summarize,
    SummaryPass,
    target_scale,
)
from leftout.data.columns import Column, named, natural
from leftout.data.declarations import ColumnDeclarations
from leftout.data.encoder import TableEncoder
from leftout.data.encoding import as_read
from leftout.data.profiling.codes import FEW
from leftout.data.profiling.column_types import ColumnFacts, row_counter
from leftout.data.profiling.duplicate_columns import copies
from leftout.data.profiling.relations import Relation, leaks, proxies
from leftout.data.profiling.sentinels import Suspect, suspects
from leftout.data.roles import Roles, assign, level_of, levels_of, value_of
from leftout.errors import InputError, parameter_label
from leftout.running import warn
from leftout.settings import Reading
from leftout.text import as_name, counted, unambiguous

# More features than this make too large a matrix.
MOST_FEATURES = 5_000


@dataclass(frozen=True, kw_only=True)
class TableSchema:
    """What was decided; see :class:`leftout.data.preparation.PreparedTable` for each of it."""

    columns: list[Column]
    searched: list[Column]
    target: Column | None
    positive: Any
    prediction: Column | None
    target_labels: dict[str, str]
    sensitive: list[str]
    dropped: dict[str, str]
    facts: list[ColumnFacts]
    leaks: list[Relation]
    copies: list[Relation]
    proxies: list[Relation]
    suspects: list[Suspect]
    encoder: TableEncoder
    readers: dict[str, ColumnReader]

    def on_rows(self, block: Block) -> Self:
        """The same with columns of other rows than those that it was decided on."""
        read = {name: reader.column(block[reader.raw]) for name, reader in self.readers.items()}
        predicted = None
        if self.prediction is not None:
            predicted = _in_words(read[self.prediction.name], self.target_labels)
        return replace(
            self,
            columns=[read[column.name] for column in self.columns],
            searched=[read[column.name] for column in self.searched],
            target=None if self.target is None else read[self.target.name],
            prediction=predicted,
        )


def infer_schema(
    raw: list[Column],
    declared: ColumnDeclarations,
    reading: Reading,
    once: bool = True,
    summarize: Summarize | None = None,
) -> TableSchema:
    """Give every raw column its part and its kind, and fit the encoder but for its scaling.

    ``summarize`` runs a pass over all rows, where ``raw`` is a sample of them; columns that repeat
    another count ``once``.
    """
    roles, columns, kinds = _judged(raw, declared, reading)
    called = {label: kind.name for label, kind in kinds.items()}
    outcome = named(columns, roles.target)
    inside = outcome if reading.encoding == "target" else None
    labels = {} if outcome is None else declared.dictionary[called[outcome.name]].values
    positive = labels.get(str(reading.positive), reading.positive)
    fixed = [_without_texts(column, kinds[column.name]) for column in columns]
    readers = {c.name: ColumnReader.of(called[c.name], c, declared) for c in fixed}
    predicted = named(columns, roles.prediction)
    summaries: dict[str, ColumnSummary] = {}
    if summarize is not None:
        every = tuple(
            ColumnReader.of(called[c.name], as_read(c, kinds[c.name]), declared) for c in fixed
        )
        target = None if inside is None else readers[inside.name]
        made = summarize(SummaryPass(every, target, *target_scale(inside, positive)))
        summaries = dict(zip(called, made, strict=True))
        kinds |= {
            column.name: _on_all_rows(kinds[column.name], column, summary)
            for column, summary in zip(columns, made, strict=True)
        }
    positive = _counts(outcome, positive, kinds)
    candidates = [column for column in columns if column.name not in roles.aside]
    if not candidates:
        raise InputError(
            "No column is left to search: all are the target, dropped or sensitive. Leave at least "
            "two."
        )
    telling = [column for column in candidates if kinds[column.name].read_as != "nothing"]
    repeated = copies(telling) if once else []
    aside = {line.column for line in repeated}
    searched = [column for column in candidates if column.name not in aside]
    encoder = TableEncoder(
        reading.categorical, numeric=reading.numeric, missing=reading.missing,
        dictionary=reading.dictionary, scaling=reading.scaling, encoding=reading.encoding,
        smooth=reading.smooth, positive=positive,
    ).set_output(transform="pandas")  # fmt: skip
    encoder.declared_ = declared
    known_by = [called[column.name] for column in searched]
    encoder.n_features_in_, encoder.feature_names_in_ = len(known_by), np.array(known_by, object)
    kinds_of = [kinds[column.name] for column in searched]
    exact = [summaries[column.name] for column in searched] if summaries else None
    encoder.learn(searched, kinds_of, inside, exact)
    n_features = len(encoder.features_)
    if n_features > MOST_FEATURES:
        raise InputError(
            f"The columns became {n_features:,} features; an audit takes at most "
            f"{MOST_FEATURES:,}. Drop columns of many values."
        )
    dropped = dict.fromkeys(roles.dropped, "asked for") | encoder.dropped_
    dropped |= {line.column: f"a copy of {as_name(line.of)}" for line in repeated}
    unknown = {roles.target, roles.prediction, *dropped}
    known = [column for column in columns if column.name not in unknown]
    hidden = [column for column in columns if column.name in roles.sensitive]
    may_mean = [
        suspect
        for column in telling
        for suspect in suspects(replace(column, name=called[column.name]))
    ]
    seen = [column for column in telling if column.name not in aside]
    return TableSchema(
        columns=known if outcome is None else [*known, outcome],
        searched=searched,
        target=outcome,
        positive=positive,
        prediction=None if predicted is None else _in_words(predicted, labels),
        target_labels=labels,
        sensitive=roles.sensitive,
        dropped=dropped,
        facts=column_report(columns, kinds, roles, repeated, encoder, summaries),
        leaks=[] if outcome is None else leaks(seen, outcome, positive),
        copies=repeated,
        proxies=proxies(seen, hidden),
        suspects=may_mean,
        encoder=encoder,
        readers=readers,
    )


def _judged(
    raw: list[Column], declared: ColumnDeclarations, reading: Reading
) -> tuple[Roles, list[Column], dict[str, ColumnFacts]]:
    """The parts and kinds of raw columns, by their names as they were meant.

    Names may have been cut, or labelled: what people call a column is its name in the table.
    """
    roles = assign(raw, reading.target, reading.sensitive, reading.drop, reading.prediction)
    columns, judged = declared.columns_and_types(raw, roles.aside)
    roles = roles.renamed({old.name: new.name for old, new in zip(raw, columns, strict=True)})
    kinds = {kind.label: kind for kind in judged}
    for place, column in enumerate(columns):
        if column.name in roles.sensitive and _is_labels(column, kinds[column.name]):
            why = f"{counted(column.n_values, 'value')} of a sensitive column"
            kinds[column.name] = replace(
                kinds[column.name], kind="category", why=why, read_as="category", overrule=""
            )
            columns[place] = as_read(column, kinds[column.name])
    return roles, columns, kinds


def column_report(
    columns: Sequence[Column],
    kinds: Mapping[str, ColumnFacts],
    roles: Roles,
    repeated: Sequence[Relation],
    encoder: TableEncoder,
    summaries: Mapping[str, ColumnSummary],
) -> list[ColumnFacts]:
    """Every column in a line: its part, what it is and why, what became of it.

    ``summaries`` are of all rows, where columns are a sample.
    """
    encoded = {line.label: line for line in encoder.columns_}
    copied = {line.column: line.of for line in repeated}
    lines = []
    for column in columns:
        name, kind = column.name, kinds[column.name]
        summary = summaries.get(name) or ColumnSummary.of(column, column)
        role, how = roles.of(name), ""
        features: tuple[str, ...] = ()
        overrule = kind.overrule if role == "searched" else ""
        if name in copied:
            role, how = "left out", f"a copy of {as_name(copied[name])}"
            overrule = parameter_label("drop", [kinds[copied[name]].name])
        elif name in encoder.dropped_:
            role = "left out"
        elif name in encoded:
            how, features = encoded[name].how, encoded[name].features
        lines.append(
            replace(
                kind, role=role, overrule=overrule, how=how, features=features,
                missing=summary.n_missing,
                strays=tuple(sorted(summary.strays.items(), key=lambda stray: natural(stray[0]))),
            )
        )  # fmt: skip
    return lines


def _on_all_rows(kind: ColumnFacts, column: Column, summary: ColumnSummary) -> ColumnFacts:
    """The type of a column of a sample, as what all rows sum up to has it.

    A range may say that it counts the rows, and what is constant in a sample may vary elsewhere.
    """
    if kind.kind == "constant":
        same, gaps = ("the same", 0) if column.n_values else ("empty", summary.n_rows)
        others = bool(summary.counts[-1:].any())
        if summary.low < summary.high or others or summary.n_missing != gaps:
            return replace(kind, why=f"{same} in every row that was sampled")
    if kind.kind != "number" or kind.why.startswith("declared") or column.categories is not None:
        return kind
    counter = row_counter(column, summary.low, summary.high, summary.n_rows)
    return kind if counter is None else replace(counter, name=kind.name, note=kind.note)


def _without_texts(column: Column, kind: ColumnFacts) -> Column:
    """Without the values of identifiers and free text: other rows have others."""
    if kind.read_as != "nothing" or kind.kind == "constant" or column.levels is not None:
        return column
    if column.categories is None:
        return column
    return replace(column, categories=())


def _is_labels(column: Column, kind: ColumnFacts) -> bool:
    """Whether numbers are so few that they name groups, unless somebody says otherwise."""
    said = kind.why == f"declared: {kind.kind}"
    return kind.read_as == "number" and column.n_values <= FEW and not said


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
    levels = levels_of(target, positive)
    name, kind = as_name(target.name), kinds.get(target.name)
    if levels is None:
        if kind is not None and kind.kind == "code":
            value = parameter_label("positive", target.show(target.values[~target.missing].max()))
            warn(
                f"{name} looks like codes, but its mean is compared. For a rate, name a value, "
                f"such as {value}."
            )
        return None
    if len(levels) > 1:
        warn(
            f"{as_name(target.name)} takes {len(levels):,} values; the rate of the most "
            f"frequent, {unambiguous(value_of(target, level))}, counts. Another can be asked for "
            f"with {parameter_label('positive')}."
        )
    return value_of(target, level)
