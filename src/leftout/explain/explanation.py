"""The whole explanation of a left-out group: who they are, in words and as data."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leftout.checks import check_runs, check_whole
from leftout.columns import Column, names_of
from leftout.explain.alignment import Alignment, aligned
from leftout.explain.encodings import ENCODINGS, other_encodings
from leftout.explain.items import Items
from leftout.explain.mining import Floors, Rules, mine
from leftout.explain.outcome import Outcome, outcomes
from leftout.explain.raw import Raw, encoded_places
from leftout.explain.rules import Frequency, tally
from leftout.explain.scores import FeatureScores, feature_losses, feature_scores
from leftout.explain.search import most_telling
from leftout.explain.sensitivity import WhatIf, search_without
from leftout.explain.sentence import Sentence, best_sentence
from leftout.explain.typical import Typical, rows_of, typical_of
from leftout.files import plain, write_whole
from leftout.losses import Array
from leftout.partition import fitted_on
from leftout.progress import Report, Steps
from leftout.threads import clean_interrupts
from leftout.wording import listed, unambiguous

# Below this F1 a description does not describe; below this strength a column is not alike.
_POOR, _WEAK = 0.5, 0.05
_SHOWN = 3
_BINS, _SUPPORT, _TOP, _RULES, _RULE_COLUMNS = 5, 0.01, 10, 50, 200


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Who is left out.

    Attributes
    ----------
    sentence : Sentence or None
        The short description that fits best; None if no raw column varies.
    features : list of str
        Names of the features of ``X``, for the next three.
    disparity_by_feature : array of shape (n,)
        Parts of either sign that sum to the disparity, left-out group minus rest.
    losses_by_feature : array of shape (2, n)
        The same for the losses of the rest and of the left-out group.
    feature_scores : FeatureScores
        The paper's, averaged over runs.
    rules : Rules
        At most 50 of each group.
    rule_frequency : Frequency
        The paper's two tables, over runs.
    alignment : list of Alignment
    outcome : list of Outcome
        Empty without a target.
    other_outcomes : list of Outcome
        Where the target was part of the encoding: under encodings that know less of it.
    typical : list of Typical
        In the order of ``alignment``.
    what_if : list of WhatIf
    rows : dict or None
        Actual rows, only if they were asked for.
    notes : list of str
        What to bear in mind.
    """

    sentence: Sentence | None
    features: list[str]
    disparity_by_feature: Array
    losses_by_feature: Array
    feature_scores: FeatureScores
    rules: Rules
    rule_frequency: Frequency
    alignment: list[Alignment]
    outcome: list[Outcome]
    other_outcomes: list[Outcome]
    typical: list[Typical]
    what_if: list[WhatIf]
    rows: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """Who they are in plain words, a line a question."""
        lines = [self._about_sentence(), self._about_features(), self._about_alignment()]
        lines += [f"Outcome: {outcome}." for outcome in self.outcome[:_SHOWN]]
        lines += self._about_encodings()
        if self.what_if:
            lines.append(self._about_what_if())
        return "\n".join(lines + self.notes)

    def _about_sentence(self) -> str:
        if self.sentence is None:
            return "Who: no column of the raw table varies, so nothing describes them."
        poor = self.sentence.f1 < _POOR
        start = "Who: no short description fits well; the best is" if poor else "Who:"
        return f"{start} {self.sentence} (F1 {self.sentence.f1:.2f})."

    def _about_features(self) -> str:
        parts = self.disparity_by_feature
        total = parts.sum()
        order = np.argsort(-parts, kind="stable")[:_SHOWN]
        named = [f"{unambiguous(self.features[i])} ({100 * parts[i] / total:.0f} %)" for i in order]
        others = len(parts) - len(order)
        if others:
            left = 100 * (1 - parts[order].sum() / total)
            named.append(f"{others} other{'s' * (others > 1)} ({left:.0f} %)")
        return f"Features: the disparity of {total:.4g} is made up by {listed(named)}."

    def _about_alignment(self) -> str:
        strongest = [
            f"{line.text} ({line.strength:.2f})"
            for line in self.alignment[:_SHOWN]
            if line.strength >= _WEAK
        ]
        text = f"Looks like: {listed(strongest) or 'nothing in the table'}"
        hidden = [line for line in self.alignment if not line.searched]
        if hidden:
            first = hidden[0]
            text += (
                f"; of the columns kept out of the search, most like {first.text} "
                f"({first.strength:.2f}, p = {first.corrected:.2g} corrected)"
            )
        return text + " (strength from 0 to 1)."

    def _about_encodings(self) -> list[str]:
        lines = []
        for encoding in ENCODINGS:
            found = [outcome for outcome in self.other_outcomes if outcome.encoding == encoding]
            if found:
                lines.append(
                    f"Outcome, {encoding} encoding: {found[0]}; that search shares "
                    f"{100 * (found[0].overlap or 0.0):.0f} % of the rows that either leaves out."
                )
        return lines

    def _about_what_if(self) -> str:
        each = [
            f"without {unambiguous(line.feature)} "
            + (f"{100 * line.gone:.0f} % of it goes" if line.gone >= 0 else "it does not fall")
            for line in self.what_if[:_SHOWN]
        ]
        return f"What if (the disparity): {', '.join(each)}. This is sensitivity, not causation."

    def to_dict(self) -> dict[str, Any]:
        """Plain data: numbers, strings, lists."""
        scores = self.feature_scores
        parts = self.disparity_by_feature
        order = np.argsort(-np.abs(parts), kind="stable")
        frequency = self.rule_frequency
        return plain(
            {
                "sentence": None if self.sentence is None else self.sentence.to_dict(),
                "disparity_by_feature": [
                    {
                        "feature": self.features[i],
                        "disparity": parts[i],
                        "share": parts[i] / parts.sum(),
                        "left_out_loss": self.losses_by_feature[1, i],
                        "rest_loss": self.losses_by_feature[0, i],
                    }
                    for i in order
                ],
                "feature_scores": [
                    {
                        "feature": self.features[i],
                        "total": scores.total[i],
                        "left_out": scores.left_out[i],
                        "rest": scores.rest[i],
                        "difference": scores.difference[i],
                    }
                    for i in np.argsort(-scores.total, kind="stable")
                ],
                "rules": [rule.to_dict() for rule in self.rules],
                "rule_frequency": {
                    "runs": frequency.runs,
                    "top": frequency.top,
                    "variables": frequency.variables,
                },
                "interactions": frequency.pairs,
                "alignment": [line.to_dict() for line in self.alignment],
                "outcome": [outcome.to_dict() for outcome in self.outcome + self.other_outcomes],
                "typical": [line.to_dict() for line in self.typical],
                "what_if": [line.to_dict() for line in self.what_if],
                "rows": self.rows,
                "notes": self.notes,
            }
        )

    def to_json(self, path: str | os.PathLike[str]) -> Path:
        """Write :meth:`to_dict` as JSON; the file appears whole or not at all."""
        return write_whole(path, json.dumps(self.to_dict(), indent=1) + "\n")


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
    target_encoded: Iterable[Any] | None = (),
    runs: ArrayLike | None = None,
    what_if: int = 5,
    shuffles: int = 3,
    rows: int = 0,
    progress: Report | bool | None = None,
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
        The target's value whose rate counts; needed where it has more than two categories.
    categorical : names of columns of numbers that are codes
    drop : names of columns to leave aside, a row number for example
    sensitive : names of columns of ``table`` that the search did not see
        They are compared with the group, and used in no rule and no sentence.
    target_encoded : names of columns that are in ``X`` as the target's mean by category
        The target reached the search through them. The search is run again without that, and the
        outcome's gap given there too.
    runs : array of shape (n_runs, m) or None
        Labels of several runs, for the paper's averages; None: those that ``trust`` made, if
        ``found`` comes from it, else the one partition.
    what_if : int, default=5
        How many of the leading features to leave out and shuffle; 0 for none.
    shuffles : int, default=3
    rows : int, default=0
        Actual rows to show of either side, without dropped and sensitive columns and the target. A
        row may be a person.
    progress : callable, bool or None
        ``progress(what, done, total)`` is called after every step; True: to stderr.

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
    for name, value in (("what_if", what_if), ("shuffles", shuffles), ("rows", rows)):
        check_whole(name, value)
    partition, matrix = fitted_on(found, X)
    stability = getattr(found, "stability", None)
    left_out = partition.labels_ == 1
    raw = Raw.of(X if table is None else table, target, categorical, drop, sensitive, len(matrix))
    if runs is None:
        runs = partition.labels_ if stability is None else stability.labels
    runs = check_runs(runs, len(matrix))
    encoded = encoded_places(X, raw, target_encoded, positive)
    features = names_of(X)
    n_leading = min(what_if, len(features)) if len(features) > 2 else 0
    steps = Steps(4 + len(ENCODINGS) * bool(encoded) + n_leading * (1 + shuffles), progress)

    steps.tell("features")
    rule = {"loss": partition.loss, "centering": partition.centering}
    losses = feature_losses(matrix, partition.labels_, partition.n_components_, **rule)
    parts = losses[1] - losses[0]
    scores = feature_scores(matrix, runs, partition.n_components_, centering=partition.centering)
    steps.tell("rules", 1)
    telling = most_telling(raw.described, left_out, _RULE_COLUMNS)
    items = Items(telling, _BINS)
    floors = Floors(_SUPPORT, None)
    rules = mine(items, left_out[None], floors, limit=_RULES)[0].leading(_RULES)
    frequency = tally(mine(items, runs, floors, limit=_TOP), _TOP)
    steps.tell("sentence", 1)
    varies = any(cut.n_bins > 1 for cut in items.cuts)
    sentence = best_sentence(raw.described, left_out) if varies else None
    steps.tell("alignment", 1)
    alignment = aligned(raw.columns, left_out, raw.sensitive)
    by_name = {column.name: column for column in raw.columns}
    order = dict.fromkeys([line.column for line in alignment]) | dict.fromkeys(by_name)
    outcome = [] if raw.target is None else outcomes(raw.target, left_out, positive)
    steps.tell("outcome", 1)
    others = []
    if encoded and raw.target is not None:
        others = other_encodings(partition, matrix, encoded, raw.target, positive, steps)
    leading = np.argsort(-parts, kind="stable")[:n_leading]
    examples = None
    if rows:
        examples = rows_of(left_out, partition.score_samples(X), matrix, raw.described, rows)
    return Explanation(
        sentence=sentence,
        features=features,
        disparity_by_feature=parts,
        losses_by_feature=losses,
        feature_scores=scores,
        rules=rules,
        rule_frequency=frequency,
        alignment=alignment,
        outcome=outcome,
        other_outcomes=others,
        typical=[typical_of(by_name[name], left_out) for name in order],
        what_if=search_without(partition, matrix, features, leading, shuffles, steps),
        rows=examples,
        notes=_notes(raw, encoded, len(telling)),
    )


def _notes(raw: Raw, encoded: dict[int, Column], n_telling: int) -> list[str]:
    notes = []
    if n_telling < len(raw.described):
        notes.append(
            f"Note: of {len(raw.described)} columns, rules use the {n_telling} that tell most "
            "about the group."
        )
    if encoded and raw.target is not None:
        names = [unambiguous(column.name) for column in encoded.values()]
        more = len(names) - _SHOWN
        names = names[:_SHOWN] + [f"{more} more"] * (more > 0)
        notes.append(
            f"Note: the search did not see {unambiguous(raw.target.name)}, but {listed(names)} "
            f"{'was' if len(encoded) == 1 else 'were'} encoded by its mean, so it reached the "
            "search that way; hence the other encodings."
        )
    return notes
