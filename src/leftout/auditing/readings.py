"""Who is left out, whatever the reading: the same search under other reasonable choices.

Where nobody has a pipeline, the answer hangs on choices that nobody made: how columns are scaled,
how many components there are, whether numbers are codes, how gaps are filled. Each is changed for
itself, and the search repeated; a row that most of these readings leave out is a robust member.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from leftout.auditing.findings import NOT_RUN, Finding, answer
from leftout.auditing.group_selection import FEW_ROWS, few_of
from leftout.data.preparation import PreparedTable
from leftout.errors import InputError
from leftout.files import Serializable, plain
from leftout.groups.fitted import for_same_size
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.problem_setup import SMALL
from leftout.linalg.losses import Array
from leftout.running import collected_warnings
from leftout.settings import Settings
from leftout.text import counted, leading

# Rows that this share of the readings leave out are robust members.
ROBUST = 0.8


@dataclass(frozen=True)
class OneReading(Serializable):
    """One choice that is made otherwise, and how many of the rows it leaves out are the same.

    Attributes
    ----------
    choice : str
    n_components, features : int
    overlap : float
        The share of the rows that either search leaves out that both do.
    """

    choice: str
    n_components: int
    features: int
    overlap: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Readings(Serializable):
    """Who is left out under other readings of the table.

    Attributes
    ----------
    lines : list of OneReading
        The choices that move the group most first.
    counts : array of shape (m,)
        In how many readings each row is left out, the audit's own among them.
    group : array of shape (m,)
        The rows that the audit leaves out.
    of_rows : int
        Rows audited, of which ``m`` were looked at.
    """

    lines: list[OneReading]
    counts: NDArray[np.intp] = field(repr=False)
    group: NDArray[np.bool_] = field(repr=False)
    of_rows: int

    @property
    def n_readings(self) -> int:
        return 1 + len(self.lines)

    @property
    def needed(self) -> int:
        """Readings that a robust member is left out in."""
        return int(np.ceil(ROBUST * self.n_readings - 1e-9))

    @property
    def robust(self) -> NDArray[np.bool_]:
        """Rows that most readings leave out."""
        return self.counts >= self.needed

    @property
    def holds(self) -> bool:
        """Whether half of the group or more are robust members."""
        return bool(2 * np.sum(self.robust & self.group) >= np.sum(self.group))

    @property
    def told(self) -> str:
        """In a few sentences."""
        rows, group = int(np.sum(self.robust)), int(np.sum(self.group))
        every, be = len(self.counts) == self.of_rows, "is" if rows == 1 else "are"
        some = "" if every else f" of {len(self.counts):,} looked at"
        which = "are the same people" if self.holds else "are mostly other people"
        each = [f"{line.choice} ({100 * line.overlap:.0f} %)" for line in self.lines]
        return (
            f"The table was read in {self.n_readings} reasonable ways. {counted(rows, 'row')}"
            f"{some} {be} left out in at least {self.needed} of them; the group has {group:,}: "
            f"under other readings those left out {which}. Rows shared with the group when one "
            f"choice is made otherwise: {leading(each, '; ')}."
        )

    @property
    def brief(self) -> str:
        """In a sentence: how many of the group are robust members, and what moves it most."""
        both, first = int(np.sum(self.robust & self.group)), self.lines[0]
        return (
            f"Read in {self.n_readings} ways, {both:,} of the group's {int(np.sum(self.group)):,} "
            f"rows are left out in at least {self.needed} of them; it changes most with "
            f"{first.choice} ({100 * first.overlap:.0f} % of the rows shared)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the rows."""
        return plain({
            "lines": self.lines,
            "n_readings": self.n_readings,
            "needed": self.needed,
            "robust": int(np.sum(self.robust)),
            "robust_in_group": int(np.sum(self.robust & self.group)),
            "rows": len(self.counts),
            "holds": self.holds,
            "brief": self.brief,
            "told": self.told,
        })  # fmt: skip


class _Otherwise(NamedTuple):
    """What a search sees when one choice is made otherwise."""

    choice: str
    X: Array
    n_components: Any
    representation: Any = None


def read_in_other_ways(
    found: MaxDisparityPartition, intake: PreparedTable, settings: Settings
) -> Readings | None:
    """Repeat the search with each choice made otherwise; None where there is no choice.

    Very large tables are looked at in some of their rows.
    """
    group, rows = found.labels_ > 0, np.arange(len(intake.X))
    search = for_same_size(found) if found.n_groups_ == 1 else _for_same_sizes(found)
    search.set_params(min_group_size=None, random_state=0)
    if intake.X.size > SMALL and len(rows) > FEW_ROWS:
        rows = few_of(rows)
        share = found.sizes_[1:] / len(group)
        sizes = [max(1, round(each * len(rows))) for each in share.tolist()]
        search.set_params(group_size=sizes[0] if len(sizes) == 1 else sizes)
        group = _left_out(search, intake.X[rows], found.n_components_, found.representation)
    masks, lines = [group], []
    for other in _ways(found, intake, settings):
        try:
            mask = _left_out(search, other.X[rows], other.n_components, other.representation)
        except InputError:  # no such number of components
            continue
        masks.append(mask)
        both, either = int(np.sum(mask & group)), int(np.sum(mask | group))
        d = other.n_components if other.representation is None else found.n_components_
        lines.append(OneReading(other.choice, int(d), other.X.shape[1], both / max(either, 1)))
    if not lines:
        return None
    return Readings(
        lines=sorted(lines, key=lambda line: line.overlap),
        counts=np.sum(masks, axis=0),
        group=group,
        of_rows=len(intake.X),
    )


def _for_same_sizes(found: MaxDisparityPartition) -> MaxDisparityPartition:
    return clone(found).set_params(group_size=found.sizes_[1:].tolist(), verbose=0)


def _left_out(
    search: MaxDisparityPartition, X: Array, n_components: Any, representation: Any
) -> NDArray[np.bool_]:
    again = clone(search).set_params(n_components=n_components, representation=representation)
    with collected_warnings():
        labels: NDArray[np.intp] = again.fit(X).labels_
    return labels > 0


def _ways(
    found: MaxDisparityPartition, intake: PreparedTable, settings: Settings
) -> Iterator[_Otherwise]:
    """Each choice, made otherwise."""
    X, d = intake.X, found.n_components_
    for other, choice in ((d - 1, "one component fewer"), (d + 1, "one component more")):
        if not 1 <= other < X.shape[1]:
            continue
        if found.representation is None:
            yield _Otherwise(choice, X, other)
        elif (fitted := _refitted(found.representation, X, other)) is not None:
            yield _Otherwise(choice, X, other, fitted)
    if intake.features is not None:
        return
    asked = settings.n_components
    scaling, called = ("standard", "columns scaled to unit variance")
    if settings.scaling == "standard":
        scaling, called = ("minmax", "columns scaled to [0, 1]")
    for choice, Y in (
        (called, intake.scaled(scaling)),
        (
            "numbers that look like codes as categories",
            intake.as_categories() if intake.codes else None,
        ),
        ("gaps filled without saying so", _unflagged(intake)),
    ):
        if Y is not None:
            yield _Otherwise(choice, Y, _components(found, Y, asked))


def _components(found: MaxDisparityPartition, X: Array, asked: Any) -> int:
    """As many components as were asked for, or as the share of variance asked for takes."""
    with collected_warnings():
        posed = clone(found).set_params(n_components=asked, group_size=None)._pose(X)
    return posed.problem.d


def _unflagged(intake: PreparedTable) -> Array | None:
    """The features without those that say where cells are missing."""
    flagged = intake.encoder.flagged_
    return np.delete(intake.X, flagged, axis=1) if flagged else None


def _refitted(representation: Any, X: Array, d: int) -> Any:
    """A representation of another number of components, fitted here; None if it cannot be."""
    try:
        return clone(representation).set_params(n_components=d).fit(X)
    except (AttributeError, TypeError, ValueError):
        return None


def readings_finding(found: Readings | None, skipped: str) -> Finding:
    """Is the group the same under other readings of the table?"""
    code, title = "R001", "The group is the same under other readings of the table"
    if found is None:
        return Finding(code, NOT_RUN, title, skipped or "There was no choice to make otherwise.")
    return Finding(code, answer(found.holds), title, found.told)
