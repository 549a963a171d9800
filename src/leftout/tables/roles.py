"""Which part each column plays: target, prediction of it, sensitive, dropped, or searched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from leftout.checks import Refusal
from leftout.tables.columns import Column, column_of, find, found


class Roles(NamedTuple):
    """The parts that columns play, by their names in the table."""

    target: Column | None  # a column of the table, or one that came beside it
    targets: set[str]  # columns of the table that are the target
    sensitive: list[str]
    dropped: list[str]
    prediction: Column | None = None  # of the target: a column of the table, or one beside it
    predictions: frozenset[str] = frozenset()  # columns of the table that are the prediction

    @property
    def aside(self) -> set[str]:
        """Columns that nothing is searched in."""
        return self.targets | self.predictions | {*self.sensitive, *self.dropped}

    def renamed(self, now: Mapping[str, str]) -> Roles:
        """The same parts, by other names of the columns."""
        return Roles(
            self.target,
            {now[name] for name in self.targets},
            [now[name] for name in self.sensitive],
            [now[name] for name in self.dropped],
            self.prediction,
            frozenset(now[name] for name in self.predictions),
        )


def assign(
    columns: list[Column],
    target: Any = None,
    sensitive: Iterable[Any] | None = None,
    drop: Iterable[Any] | None = None,
    prediction: Any = None,
) -> Roles:
    """Give every column one part; refuses names that are not there, or that have two."""
    names = [column.name for column in columns]
    dropped = _in_order(names, drop, "drop")
    hidden = _in_order(names, sensitive, "sensitive")
    outcome, guess = outcome_of(columns, target), outcome_of(columns, prediction, "prediction")
    targets = _in_table(columns, target, outcome)
    for name in hidden:
        if name in dropped:
            raise Refusal(f"The column {name!r} is to be dropped, and sensitive. Choose one.")
    for name in targets & {*dropped, *hidden} if is_name(target) else ():
        raise Refusal(
            f"The column {name!r} is the target, and is dropped or sensitive, too. Choose one."
        )
    guesses, taken = _in_table(columns, prediction, guess), targets | {*dropped, *hidden}
    for name in guesses & taken if is_name(prediction) else ():
        raise Refusal(
            f"The column {name!r} is the prediction, and is the target, dropped or sensitive, too. "
            "Choose one."
        )
    return Roles(outcome, targets, hidden, dropped, guess, frozenset(guesses - taken))


def _in_table(columns: list[Column], asked: Any, found: Column | None) -> set[str]:
    """Columns that are the target, or its prediction: if it came beside the table, its equals."""
    if found is None or is_name(asked):
        return set() if found is None else {found.name}
    return {column.name for column in columns if _same(column, found)}


def outcome_of(columns: list[Column], target: Any, what: str = "target") -> Column | None:
    """The target, or ``what`` is asked for: a column by its name, or values beside the table."""
    if target is None or isinstance(target, Column):
        return target
    if is_name(target):
        names = [column.name for column in columns]
        return columns[names.index(find(names, target, what))]
    return beside(columns, target, what)


def beside(columns: list[Column], target: Any, what: str = "target") -> Column:
    """The target from values that came beside the table, one for each row."""
    outcome = column_of(target, getattr(target, "name", None) or what)
    if len(outcome) != len(columns[0]):
        raise Refusal(
            f"The {what} has {len(outcome):,} values for {len(columns[0]):,} rows; one for each "
            "row is needed."
        )
    return outcome


def is_name(target: Any) -> bool:
    """Whether a target is named, rather than given."""
    return target is None or not isinstance(target, Column) and np.ndim(target) == 0


def _in_order(names: list[str], wanted: Iterable[Any] | None, what: str) -> list[str]:
    chosen = found(names, wanted, what)
    return [name for name in names if name in chosen]


def _same(column: Column, other: Column) -> bool:
    return column.dates == other.dates and np.array_equal(column.codes(), other.codes())
