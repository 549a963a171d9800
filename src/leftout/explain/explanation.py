"""The whole explanation of a left-out group: who they are, in words and as data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from leftout.checks import check_whole
from leftout.data.binning import most_informative
from leftout.data.columns import Column, columns_of, names_of
from leftout.data.frames import column_names
from leftout.data.matrix import all_counted, check_rows
from leftout.data.roles import assign, levels_of
from leftout.errors import InputError
from leftout.explain.alignment import (
    Alignment,
    align,
    describe_claims,
)
from leftout.explain.attribution import (
    WhatIf,
    search_without,
)
from leftout.explain.rules import Rule, find_rules
from leftout.explain.sentence import Sentence, describe
from leftout.files import Serializable
from leftout.groups.decomposition import by_source
from leftout.groups.fitted import fitted_on
from leftout.groups.measured import measure
from leftout.groups.outcome import Outcome, outcomes, without_outcome
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.losses import Array, losses_by_feature
from leftout.representation.pipeline import sources_of
from leftout.running import Report, Steps, clean_interrupts
from leftout.text import as_name, listed, number, percent

# Below this strength a column is not alike.
_WEAK = 0.05
_SHOWN = 3
# Rules that are told, and the columns that they may use.
_RULES, RULE_COLUMNS = 50, 200


class FeatureLoss(NamedTuple):
    """A feature's part of the disparity, and of either side's loss.

    ``column`` is the raw column that it was made from, as far as names tell; else its own name.
    """

    feature: str
    column: str
    disparity: float
    share: float
    left_out_loss: float
    rest_loss: float


def by_feature(losses: Array, features: list[str], sources: list[str]) -> list[FeatureLoss]:
    """The split of both sides' losses, (2, n), the largest parts of the disparity first."""
    parts = losses[1] - losses[0]
    shares = parts / parts.sum()
    rest, left_out = losses.tolist()
    every = zip(features, sources, parts.tolist(), shares.tolist(), left_out, rest, strict=True)
    return sorted((FeatureLoss(*line) for line in every), key=lambda line: -abs(line.disparity))


@dataclass(frozen=True, kw_only=True, repr=False)
class Explanation(Serializable):
    """Who is left out.

    Attributes
    ----------
    sentence : Sentence or None
        The short description that fits best; None if no raw column varies.
    disparity_by_feature : list of FeatureLoss
        Parts of either sign that sum to the disparity, left-out group minus rest.
    rules : list of Rule
        At most 50, those of highest lift.
    leading_rules : list of Rule
        At most 8, chosen by what each adds: see :meth:`Rules.that_add`.
    alignment : list of Alignment
    outcome : list of Outcome
        Empty without a target.
    no_outcome : Outcome or None
        How often either side has no value of the target; None where every row has one.
    what_if : list of WhatIf
    rows : dict or None
        Actual rows, only if they were asked for.
    notes : list of str
        What to bear in mind.
    untold : list of Alignment
        Lines of which only the column may be told, since too few rows are alike or are not.
    """

    hidden = ("untold",)

    sentence: Sentence | None
    disparity_by_feature: list[FeatureLoss]
    rules: list[Rule]
    leading_rules: list[Rule]
    alignment: list[Alignment]
    outcome: list[Outcome]
    what_if: list[WhatIf]
    no_outcome: Outcome | None = None
    rows: dict[str, list[Any]] | None = None
    notes: list[str] = field(default_factory=list)
    untold: list[Alignment] = field(default_factory=list)

    def summary(self) -> str:
        """Who they are in plain words, a line for each question."""
        parts = self.by_column()
        total = sum(parts.values())
        shares = [f"{as_name(c)} ({percent(p / total)})" for c, p in list(parts.items())[:_SHOWN]]
        more = [f"{len(parts) - _SHOWN} more"] * (len(parts) > _SHOWN)
        alike = [a for a in self.alignment if a.searched and a.strength >= _WEAK and a.matters]
        named = [f"{line} (strength {line.strength:.2f})" for line in alike[:_SHOWN]]
        lines = [
            self.sentence_text,
            f"Features: the disparity of {number(total)} is made up by {listed(shares + more)}.",
            f"Looks like: {'; '.join(named) or 'no single column that was searched'}.",
        ]
        hidden, few = (
            [line for line in of if not line.searched] for of in (self.alignment, self.untold)
        )
        if hidden or few:
            lines.append(f"Kept out of the search: {describe_claims(hidden, few)}")
        outcomes = sorted(self.outcome, key=lambda outcome: -abs(outcome.gap.value))
        lines += [f"Outcome: {outcome}." for outcome in outcomes[:_SHOWN]]
        if self.no_outcome_text:
            lines.append(f"Outcome: {self.no_outcome_text}")
        if self.what_if:
            each = [
                f"without {as_name(w.feature)} {number(w.without)}" for w in self.what_if[:_SHOWN]
            ]
            lines.append(f"What if (sensitivity, not causation): {listed(each)} remain.")
        return "\n".join(lines + self.notes)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        who = None if self.sentence is None else self.sentence.text
        return f"<Explanation of a left-out group: {who}>"

    def by_column(self) -> dict[str, float]:
        """The disparity by raw column: what all features made from it add, most first."""
        lines = self.disparity_by_feature
        return by_source([each.disparity for each in lines], [each.column for each in lines])

    @property
    def sentence_text(self) -> str:
        if self.sentence is None:
            return "No column of the raw table varies, so nothing describes the group."
        return self.sentence.description

    @property
    def no_outcome_text(self) -> str:
        """Where one side lacks an outcome far more often: that; else nothing."""
        missing = self.no_outcome
        return f"{missing}." if missing is not None and missing.notable else ""


@clean_interrupts()
def group(
    found: Any,
    X: Any,
    table: Any = None,
    *,
    target: Any = None,
    positive: Any = None,
    categorical: Iterable[Any] | None = (),
    drop: Iterable[Any] | None = (),
    sensitive: Iterable[Any] | None = (),
    sources: Sequence[str] | None = None,
    what_if: int = 5,
    rows: int = 0,
    label: int | None = None,
    progress: Report | bool | None = None,
    sample_weight: ArrayLike | None = None,
) -> Explanation:
    """Explain who the left-out group is.

    Parameters
    ----------
    found : MaxDisparityPartition or Trust
        Fitted on ``X``.
    X : table of shape (m, n)
        The numbers that were searched.
    table : raw table of m rows, or None
        The table as people know it, with names, categories and gaps; None: ``X``.
    target : name of a column of ``table``, or array of shape (m,)
        An outcome to compare. It is part of no rule and no sentence.
    positive : value or None
        The target's value whose rate counts; None: of two the larger or second, of more categories
        all.
    categorical : names of columns of numbers that are codes
    drop : names of columns to leave aside, a row number for example
    sensitive : names of columns of ``table`` that the search did not see
        They are compared with the group, and used in no rule and no sentence. Where ``X`` has
        names, columns that no feature is named after count as such, too.
    sources : list of str or None
        The raw column that each feature of ``X`` was made from (a ``TableEncoder`` has them as
        ``sources_``); None: as far as their names tell.
    what_if : int, default=5
        How many of the leading features to leave out; 0 for none.
    rows : int, default=0
        Actual rows to show of either side, by their position, without columns that are dropped or
        kept out and without the target. A row may be a person.
    label : int or None
        Which of several left-out groups, from 1. Losses, columns and outcome stand
        beside those of the rest, the rows of no left-out group; a sentence and rules must tell the
        group from all other rows. Nothing is searched again.
    progress : callable, bool or None
        ``progress(what, done, total)`` is called after every step; True: to stderr.
    sample_weight : array of shape (m,), optional
        The weights that ``found`` was fitted with, above 0. Losses and searches count rows by them;
        rules, the sentence, columns and outcomes tell of rows, each counted once.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> from leftout import MaxDisparityPartition, datasets, explain
    >>> X, planted = datasets.make_planted(300, 8, 2, 60, random_state=0)
    >>> table = np.column_stack([X, planted])
    >>> found = MaxDisparityPartition(2, group_size=60, random_state=0).fit(X)
    >>> told = explain.group(found, X, table, what_if=0)
    >>> told.sentence.text
    'x8 = 1'
    """
    check_whole("what_if", what_if)
    check_whole("rows", rows)
    partition, left_out, matrix = fitted_on(found, X, label)
    mask, alone = left_out.mask, bool(left_out.beside.all())
    weights = all_counted(matrix, sample_weight)
    raw = Raw.of(X if table is None else table, X, target, categorical, drop, sensitive, sources)
    n_leading = min(what_if, len(set(raw.sources))) if len(set(raw.sources)) > 2 and alone else 0
    steps = Steps(4 + n_leading, progress)

    steps.tell("features")
    # where eigenvalues tie, the components are those of the finding
    known = measure(
        matrix, partition.labels_, partition.n_groups_ + 1, partition.n_components_,
        partition.loss, partition.centering, partition.representation_, weights,
    )  # fmt: skip
    losses = losses_by_feature(*known.in_columns())[[0, label or 1]]
    parts = losses[1] - losses[0]
    # Far from zero, moments about zero keep few digits; another table is further off.
    rounding = 1e-9 * float(np.mean(np.sum((matrix - partition.mean_) ** 2, axis=1)))
    if not np.isclose(parts.sum(), left_out.disparity, rtol=1e-3, atol=rounding):
        raise InputError(
            f"The group's disparity in this X is {number(parts.sum(), digits=4)}, but where it was "
            f"found it was {number(left_out.disparity, digits=4)}. Pass the table that it was "
            "found in."
        )
    steps.tell("rules", 1)
    telling = most_informative(raw.described, mask, RULE_COLUMNS)
    rules = find_rules(telling, mask)
    steps.tell("sentence", 1)
    sentence = describe(raw.described, mask)
    steps.tell("alignment", 1)
    columns, aim, group = raw.columns, raw.target, mask
    if not alone:
        beside = np.flatnonzero(left_out.beside)
        columns, group = [column.take(beside) for column in columns], mask[beside]
        aim = None if aim is None else aim.take(beside)
    alignment = align(columns, group, sensitive=raw.hidden)
    levels = None if aim is None else levels_of(aim, positive)
    outcome = [] if aim is None else outcomes(aim, group, levels)
    lacking = None if aim is None else without_outcome(aim, group, levels)
    steps.tell("outcome", 1)
    leading = list(by_source(parts.tolist(), raw.sources))[:n_leading]
    return Explanation(
        sentence=sentence,
        disparity_by_feature=by_feature(losses, names_of(X), raw.sources),
        rules=list(islice(rules, _RULES)),
        leading_rules=list(rules.that_add()),
        alignment=alignment,
        outcome=outcome,
        no_outcome=lacking,
        what_if=search_without(partition, matrix, raw.sources, leading, steps, weights),
        rows=_example_rows(partition, label or 1, X, matrix, raw.described, rows) if rows else None,
        notes=[
            f"Note: of {len(raw.described)} columns, rules use the {len(telling)} that tell most "
            "about the group."
        ]
        * (len(telling) < len(raw.described)),
    )


@dataclass(frozen=True, kw_only=True)
class Raw:
    """The raw table's columns, and the part that each plays.

    ``columns`` are all but the target and what is dropped, ``described`` those that the search saw,
    ``hidden`` the names of the others. ``sources`` say for each feature of ``X`` which column it
    was made from, or its own name where that cannot be told.
    """

    columns: list[Column]
    described: list[Column]
    hidden: set[str]
    target: Column | None
    sources: list[str]

    @classmethod
    def of(
        cls,
        table: Any,
        X: Any,
        target: Any,
        categorical: Iterable[Any] | None,
        drop: Iterable[Any] | None,
        sensitive: Iterable[Any] | None,
        sources: Sequence[str] | None = None,
    ) -> Raw:
        columns = columns_of(table, categorical=categorical, unread=drop)
        features = names_of(X)
        check_rows(table, X, len(columns[0]))
        columns, roles = assign(columns, target, sensitive, drop)
        hidden = {name for name, role in roles.items() if role == "sensitive"}
        aside = roles.keys() - hidden
        for name in hidden & set(features if column_names(X) else ()):
            raise InputError(
                f"sensitive names {name!r}, which is a feature of X: the search saw it. Search "
                "again without it, or do not call it sensitive."
            )
        names = [column.name for column in columns]
        seen = [name for name in names if name not in hidden | aside]
        sources = sources_of(features, seen) if sources is None else list(sources)
        if len(sources) != len(features):
            raise InputError(
                f"sources names {len(sources)} columns for {len(features)} features of X; one for "
                "each is needed."
            )
        if column_names(X) and set(sources) & set(seen):
            hidden |= set(seen) - set(sources)  # no feature was made from these
        kept = [column for column in columns if column.name not in aside]
        described = [column for column in kept if column.name not in hidden]
        if not described:
            raise InputError(
                "Nothing is left to describe the group with: every column of the raw table is the "
                "target, dropped or kept out of the search. Leave at least one."
            )
        outcome = next((c for c in columns if roles.get(c.name) == "target"), None)
        return cls(
            columns=kept, described=described, hidden=hidden, target=outcome, sources=sources
        )


def _example_rows(
    found: MaxDisparityPartition,
    label: int,
    X: Any,
    matrix: Array,
    columns: list[Column],
    n_rows: int,
) -> dict[str, list[dict[str, Any]]]:
    """Rows of the group with the highest scores, and of the rest those nearest to its mean."""
    rest = found.labels_ == 0
    distance = np.sum((matrix - matrix[rest].mean(axis=0)) ** 2, axis=1)
    sides = {
        "left_out": (found.labels_ == label, -np.atleast_2d(found.score_samples(X).T)[label - 1]),
        "rest": (rest, distance),
    }
    return {
        name: [
            {
                "row": row,
                "values": {
                    c.name: None if c.missing[row] else c.show(c.values[row]) for c in columns
                },
            }
            for row in np.flatnonzero(side)[np.argsort(far[side], kind="stable")[:n_rows]].tolist()
        ]
        for name, (side, far) in sides.items()
    }
