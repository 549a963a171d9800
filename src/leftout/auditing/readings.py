"""How far the answer hangs on how the table was read: missing cells, codes, other choices.

Where nobody has a pipeline, the answer hangs on choices that nobody made: how columns are scaled,
how many components there are, whether numbers are codes, how gaps are filled. Each is changed for
itself, and the search repeated; a row that most of these readings leave out is a robust member.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from leftout.auditing.group_selection import few_of
from leftout.data.preparation import PreparedTable
from leftout.errors import InputError
from leftout.evidence.refit import for_same_size, in_proportion
from leftout.evidence.replication import pairwise_jaccard
from leftout.files import Serializable
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.losses import Array
from leftout.running import collected_warnings
from leftout.settings import Settings
from leftout.text import as_name, counted, leading, percent, points

# Rows that this share of the readings leave out are robust members.
ROBUST = 0.8
# Missing cells tell the group if so much more of it has them than of the rest, or lacks them.
_BLANKS_TELL = 0.5
AS_CATEGORIES = "numbers that look like codes as categories"


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


@dataclass(frozen=True)
class Blanks(Serializable):
    """How far it alone tells the group which cells are missing.

    Attributes
    ----------
    column : str or None
        The searched column whose missing cells tell most; None: whether any cell is missing.
    others : int
        Columns that are missing together with it.
    known : bool
        Whether cells that are there mark the group, rather than by missing ones.
    group, rest : float
        The share of either side whose cells are so.
    """

    also = ("tells", "text")

    column: str | None
    others: int
    known: bool
    group: float
    rest: float

    @property
    def tells(self) -> bool:
        """Whether missing cells alone tell the group."""
        return self.group - self.rest >= _BLANKS_TELL

    @property
    def text(self) -> str:
        """In a sentence."""
        what = "some cell" if self.column is None else as_name(self.column)
        what += f" and {counted(self.others, 'other column')}" * bool(self.others)
        did = f"filled in {what}" if self.known else f"left {what} blank"
        return f"{points(self.group)}% of the group {did}, {points(self.rest)}% of the rest."


def find_blanks(found: MaxDisparityPartition, intake: PreparedTable) -> Blanks | None:
    """Do missing cells tell who is left out? None where no searched column has any."""
    encoder, left_out = intake.encoder, found.labels_ > 0
    gaps = {
        place: column.missing
        for place, (column, plan) in enumerate(zip(intake.searched, encoder.columns_, strict=True))
        if plan.becomes is not None and column.n_missing
    }
    if not gaps:
        return None
    some = np.logical_or.reduce(list(gaps.values()))
    shares = {
        place: (float(gap[left_out].mean()), float(gap[~left_out].mean()))
        for place, gap in [*gaps.items(), (-1, some)]
    }
    best = max(shares, key=lambda place: abs(shares[place][0] - shares[place][1]))
    every = [indicator.places for indicator in encoder.missing_indicators_]
    together = next((places for places in every if best in places), (best,))
    inside, outside = shares[best]
    known = inside < outside
    return Blanks(
        column=None if best < 0 else intake.searched[best].name,
        others=len(together) - 1,
        known=known,
        group=1.0 - inside if known else inside,
        rest=1.0 - outside if known else outside,
    )


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

    hidden = ("counts", "group", "of_rows")
    also = (
        "n_readings", "needed", "robust", "robust_in_group", "rows", "holds", "brief", "text",
    )  # fmt: skip

    lines: list[OneReading]
    counts: NDArray[np.intp] = field(repr=False)
    group: NDArray[np.bool_] = field(repr=False)
    of_rows: int

    @property
    def n_readings(self) -> int:
        """Ways in which the table was read, the audit's own among them."""
        return 1 + len(self.lines)

    @property
    def needed(self) -> int:
        """Readings that a robust member is left out in."""
        return int(np.ceil(ROBUST * self.n_readings - 1e-9))

    @property
    def as_categories(self) -> OneReading | None:
        """The reading of numbers that look like codes as categories; None where none do."""
        return next((line for line in self.lines if line.choice == AS_CATEGORIES), None)

    @property
    def members(self) -> NDArray[np.bool_]:
        """Rows that most readings leave out: robust members."""
        return self.counts >= self.needed

    @property
    def robust(self) -> int:
        """Rows that are robust members."""
        return int(np.sum(self.members))

    @property
    def robust_in_group(self) -> int:
        """Rows of the group that are."""
        return int(np.sum(self.members & self.group))

    @property
    def rows(self) -> int:
        """Rows that were looked at."""
        return len(self.counts)

    @property
    def holds(self) -> bool:
        """Whether half of the group or more are robust members."""
        return bool(2 * self.robust_in_group >= np.sum(self.group))

    @property
    def brief(self) -> str:
        """In a sentence: how many of the group are robust members, and what moves it most."""
        first, sampled = self.lines[0], "sampled " * (self.rows < self.of_rows)
        most = "all" if self.needed == self.n_readings else f"at least {self.needed}"
        return (
            f"Read in {self.n_readings} ways, {self.robust_in_group:,} of the group's "
            f"{int(np.sum(self.group)):,} {sampled}rows are left out in {most} of them; it changes "
            f"most with {first.choice}, where both share {percent(first.overlap)} of their rows."
        )

    @property
    def text(self) -> str:
        """In a few sentences."""
        some = "" if self.rows == self.of_rows else f" of {self.rows:,} looked at"
        which = "are the same people" if self.holds else "are mostly other people"
        each = [f"{line.choice} ({percent(line.overlap)})" for line in self.lines]
        return (
            f"The table was read in {self.n_readings} reasonable ways. "
            f"{counted(self.robust, 'row')}{some} {'is' if self.robust == 1 else 'are'} left out "
            f"in at least {self.needed} of them; the group has {int(np.sum(self.group)):,}: "
            f"under other readings those left out {which}. Rows shared with the group when one "
            f"choice is made otherwise: {leading(each, '; ')}."
        )


def read_in_other_ways(
    found: MaxDisparityPartition, intake: PreparedTable, settings: Settings
) -> Readings | None:
    """Repeat the search with each choice made otherwise; None where there is no choice.

    A representation that was given is one. Large tables are looked at in some of their rows.
    """
    if found.representation is not None:
        return None
    group = found.labels_ > 0
    rows = few_of(np.arange(len(intake.X)), intake.X.shape[1], settings.effort)
    weights = None if intake.weights is None else intake.weights[rows]
    search = for_same_size(found).set_params(min_group_size=None, random_state=0)
    if len(rows) < len(group):
        wanted = [each.sought for each in found.left_out_groups_]
        sizes = in_proportion(wanted, len(rows), len(group))
        search.set_params(group_size=sizes[0] if len(sizes) == 1 else sizes)
        group = _left_out(search, intake.X[rows], found.n_components_, weights)
    masks, lines = [group], []
    for choice, X, n_components in _ways(found, intake, settings):
        try:
            mask = _left_out(search, X[rows], n_components, weights)
        except InputError:  # no such number of components
            continue
        masks.append(mask)
        shared = float(pairwise_jaccard(np.stack([mask, group]))[0, 1])
        lines.append(OneReading(choice, n_components, X.shape[1], shared))
    if not lines:
        return None
    return Readings(
        lines=sorted(lines, key=lambda line: line.overlap),
        counts=np.sum(masks, axis=0),
        group=group,
        of_rows=len(intake.X),
    )


def _left_out(
    search: MaxDisparityPartition, X: Array, n_components: int, weights: Array | None
) -> NDArray[np.bool_]:
    again = clone(search).set_params(n_components=n_components)
    with collected_warnings():  # of a smallest size that follows from more features
        return np.asarray(again.fit(X, sample_weight=weights).labels_ > 0)


def _ways(
    found: MaxDisparityPartition, intake: PreparedTable, settings: Settings
) -> Iterator[tuple[str, Array, int]]:
    """Each choice, made otherwise: what a search then sees, with how many components."""
    X, d = intake.X, found.n_components_
    for other, choice in ((d - 1, "one component fewer"), (d + 1, "one component more")):
        if 1 <= other < X.shape[1]:
            yield choice, X, other
    if intake.features is not None:
        return
    asked = settings.n_components
    scaling, called = ("standard", "columns scaled to unit variance")
    if settings.scaling == "standard":
        scaling, called = ("minmax", "columns scaled to [0, 1]")
    for choice, Y in (
        (called, intake.scaled(scaling)),
        (AS_CATEGORIES, intake.as_categories() if intake.codes else None),
        ("gaps filled without saying so", _without_indicators(intake)),
    ):
        if Y is not None:
            yield choice, Y, _components(found, Y, asked, intake.weights)


def _components(found: MaxDisparityPartition, X: Array, asked: Any, weights: Array | None) -> int:
    """As many components as were asked for, or as the share of variance asked for takes."""
    with collected_warnings():
        free = clone(found).set_params(n_components=asked, group_size=None)
        return free._build_problem(X, weights=weights).problem.d


def _without_indicators(intake: PreparedTable) -> Array | None:
    """The features without those that say where cells are missing."""
    places = intake.encoder.indicator_places_
    return np.delete(intake.X, places, axis=1) if places else None
