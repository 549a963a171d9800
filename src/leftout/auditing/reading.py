"""How the table was read, coded as findings: what an owner would want to know before believing."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from leftout.auditing.findings import (
    FOUND,
    NOT_APPLICABLE,
    NOT_FOUND,
    NOT_RUN,
    Finding,
    answer,
)  # fmt: skip
from leftout.data.encoding import LARGE_INDICATORS
from leftout.data.preparation import PreparedTable
from leftout.data.reports import ColumnFacts
from leftout.errors import parameter_label
from leftout.evidence.duplicate_rows import Repeats
from leftout.evidence.stability import SAME_GROUP, pairwise_jaccard
from leftout.explain.attribution import search_without
from leftout.files import Serializable
from leftout.groups.fitted import for_same_size
from leftout.groups.partition import MaxDisparityPartition
from leftout.running import Steps, collected_warnings
from leftout.text import as_name, counted, leading, number, points, shown

# Missing cells tell the group if so much more of it has them than of the rest, or lacks them. A
# column that is missing in such a share of the rows has been filled.
_TELLS, _FILLED = 0.5, 0.05


@dataclass(frozen=True)
class OtherReading(Serializable):
    """The same search on the same rows, with suspected codes read as categories.

    Attributes
    ----------
    columns : list of str
        The columns that were read otherwise.
    features : int
        What the columns became then.
    overlap : float
        The share of the rows that either search leaves out that both do.
    disparity : float
    """

    columns: list[str]
    features: int
    overlap: float
    disparity: float


@dataclass(frozen=True)
class Audited(Serializable):
    """What was audited, and what was assumed where nobody said.

    Attributes
    ----------
    name : str
        Such as ``PCA``.
    rank : int
        Components that a group's own PCA has beside it.
    projection : bool
        Whether it is one; else no more is known of it than its errors.
    given : bool
        Whether a pipeline has it; else it is the PCA of the features.
    origin : {"this table", "given"}
        Whether it was fitted on the rows audited, or came as it is.
    told : str
        In words, with what was assumed where nothing was given.
    """

    name: str
    rank: int
    projection: bool
    given: bool
    origin: str
    told: str


def audited(found: MaxDisparityPartition, intake: PreparedTable) -> Audited:
    """What was audited: a PCA fitted here, of the table or of features; or what a pipeline has."""
    shared, seen = found.representation_, intake.features
    what = f"{shared.name} of {counted(shared.rank, 'component')}"
    if seen is None:
        told = f"{what} fitted here, as no pipeline was given; {_assumed(intake)}."
    else:
        told = f"{what}, {seen.origin}."
    return Audited(
        name=shared.name, rank=shared.rank, projection=shared.is_projection,
        given=found.representation is not None,
        origin="given" if seen is not None and seen.fitted else "this table", told=told,
    )  # fmt: skip


_SCALED = {
    "minmax": "columns scaled to [0, 1]",
    "standard": "numbers scaled to unit variance",
    "none": "numbers in their own units",
}


def _assumed(intake: PreparedTable) -> str:
    """How columns became what the PCA sees."""
    told = _SCALED[intake.encoder.scaling]
    if any(kind.read_as == "category" for kind in intake.encoder.kinds_):
        encoded = intake.encoder.encoding == "target"
        told += f", categories as {'the mean of the target' if encoded else 'indicators'}"
    return told


@dataclass(frozen=True)
class Blanks(Serializable):
    """How far it alone tells the group which cells are missing, and what is found without them.

    Attributes
    ----------
    column : str or None
        The searched column whose missing cells tell most; None: whether any cell is missing.
    others : int
        Columns that are missing together with it.
    known : bool
        Whether the group is told by cells that are there, rather than by missing ones.
    group, rest : float
        The share of either side whose cells are so.
    filled : list of str
        Columns that are left out of a second search, beside all flags of missing cells.
    disparity, without, overlap : float or None
        The gap of the group, the largest gap of a group as large without them, and the share of
        the rows that either search leaves out that both do; None where nothing was searched again.
    """

    also = ("tells", "told")

    column: str | None
    others: int
    known: bool
    group: float
    rest: float
    filled: list[str]
    disparity: float | None = None
    without: float | None = None
    overlap: float | None = None

    @property
    def tells(self) -> bool:
        """Whether missing cells alone tell the group."""
        return self.group - self.rest >= _TELLS

    @property
    def told(self) -> str:
        """In a sentence or two."""
        what = "some cell" if self.column is None else as_name(self.column)
        what += f" and {counted(self.others, 'other column')}" * bool(self.others)
        did = f"filled in {what}" if self.known else f"left {what} blank"
        text = f"{points(self.group)} % of the group {did}, {points(self.rest)} % of the rest."
        if self.without is None or self.disparity is None or self.overlap is None:
            return text
        filled = f" and {counted(len(self.filled), 'filled column')}" * bool(self.filled)
        most = self.without < self.disparity / 2.0 or self.overlap < SAME_GROUP
        so = "who answered is most of what was found" if most else "much the same is found"
        return (
            f"{text} Without flags of missing cells{filled}, a group of the same size loses "
            f"{number(self.without)} more than the rest rather than {number(self.disparity)}, and "
            f"shares {100 * self.overlap:.0f} % of the rows that either leaves out: {so}."
        )


def find_blanks(found: MaxDisparityPartition, intake: PreparedTable) -> Blanks | None:
    """Do missing cells tell who is left out, and who is if they say nothing?

    None where no searched column has any. The second search is made where they do.
    """
    encoder, left_out = intake.encoder, found.labels_ > 0
    gaps = {
        place: column.missing
        for place, (column, plan) in enumerate(zip(intake.searched, encoder.plans_, strict=True))
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
    together = next((flag.places for flag in encoder.flags_ if best in flag.places), (best,))
    inside, outside = shares[best]
    known = inside < outside
    names = [column.name for column in intake.searched]
    filled = [p for p, gap in gaps.items() if p in together or gap.mean() >= _FILLED]
    told = Blanks(
        None if best < 0 else names[best],
        len(together) - 1,
        known,
        1.0 - inside if known else inside,
        1.0 - outside if known else outside,
        [names[place] for place in filled],
    )
    if not told.tells or found.n_groups_ != 1:
        return told
    aside = {names[place] for place in filled}
    sources = [
        "blank" if source in aside or place in encoder.flagged_ else "kept"
        for place, source in enumerate(encoder.sources_)
    ]
    (again,) = search_without(found, intake.X, sources, ["blank"], 0, Steps(1, None))
    return replace(told, disparity=again.disparity, without=again.without, overlap=again.overlap)


def read_otherwise(
    found: MaxDisparityPartition, intake: PreparedTable, n_components: Any
) -> OtherReading | None:
    """Who is left out, in any group, if columns that look like codes are categories?"""
    if not intake.codes:
        return None
    X = intake.as_categories()
    if found.n_groups_ == 1:
        search = for_same_size(found)
    else:
        search = clone(found).set_params(group_size=found.sizes_[1:].tolist())
    search.set_params(n_components=n_components, min_group_size=None)
    with collected_warnings():  # of a smallest size that follows from more features
        other = search.fit(X)
    masks = np.stack([other.labels_ > 0, found.labels_ > 0])
    return OtherReading(
        columns=[kind.column for kind in intake.codes],
        features=X.shape[1],
        overlap=float(pairwise_jaccard(masks, either=False)[0, 1]),
        disparity=other.disparity_,
    )


_GIVEN = "The features were given, or made by a pipeline: how columns were read did not matter."


def table_findings(
    intake: PreparedTable,
    other: OtherReading | None,
    repeats: Repeats,
    blanks: Blanks | None = None,
) -> list[Finding]:
    """Codes, leaks, copies, odd values, flags, repeated rows, strays, proxies."""
    return [
        _codes(intake, other), _leaks(intake), _copies(intake), _suspects(intake),
        _flags(intake, blanks), _repeated(repeats), _strays(intake), _proxies(intake),
    ]  # fmt: skip


def _codes(intake: PreparedTable, other: OtherReading | None) -> Finding:
    code, title = "T001", "The group changes if numbers that look like codes are categories"
    if intake.features is not None:
        return Finding(code, NOT_APPLICABLE, title, _GIVEN)
    if not intake.codes:
        return Finding(code, NOT_APPLICABLE, title, "No column read as numbers looks like codes.")
    named = leading([as_name(kind.column) for kind in intake.codes])
    asked = parameter_label("categorical", [intake.called(kind.column) for kind in intake.codes])
    if other is None:
        detail = f"Read as numbers, though they look like codes: {named}. Not tried as categories."
        return Finding(code, NOT_RUN, title, detail)
    detail = (
        f"Read as numbers, though they look like codes: {named}. With categories instead "
        f"({counted(other.features, 'feature')}) a group of the same size shares "
        f"{100 * other.overlap:.0f} % of the rows that either leaves out; from "
        f"{100 * SAME_GROUP:.0f} % "
        f"on they count as one group. To name those that are codes: {asked}."
    )
    return Finding(code, answer(other.overlap < SAME_GROUP), title, detail)


def _leaks(intake: PreparedTable) -> Finding:
    code, title = "T002", "A searched column gives the outcome away"
    if intake.target is None:
        return Finding(code, NOT_APPLICABLE, title, "No target was given.")
    if not intake.leaks:
        return Finding(code, NOT_FOUND, title, "No searched column alone tells the target.")
    told = leading([line.told.rstrip(".") for line in intake.leaks], "; ")
    columns = [intake.called(line.column) for line in intake.leaks]
    detail = (
        f"{told}. Known beforehand, or made from the outcome? Kept in the search, not in models "
        "that predict the target; what is the outcome by another name can be left out: "
        f"{parameter_label('drop', columns)}."
    )
    return Finding(code, FOUND, title, detail)


def _copies(intake: PreparedTable) -> Finding:
    code, title = "T003", "Columns repeat others"
    if not intake.copies:
        return Finding(code, NOT_FOUND, title, "No two searched columns say the same.")
    told = leading([line.told.rstrip(".") for line in intake.copies], "; ")
    return Finding(code, FOUND, title, f"{told}. Each counts once: the first of them is searched.")


def _suspects(intake: PreparedTable) -> Finding:
    code, title = "T004", "Values may stand for something else"
    if not intake.suspects:
        detail = "No value stands apart at the end of a column like 99, -1 or 1900-01-01 would."
        return Finding(code, NOT_FOUND, title, detail)
    told = leading([suspect.told.rstrip(".") for suspect in intake.suspects], ". ")
    return Finding(code, FOUND, title, f"{told}.")


def _flags(intake: PreparedTable, blanks: Blanks | None) -> Finding:
    code, title = "T005", "Missing cells tell who is in the group"
    flags = intake.encoder.flags_
    if intake.features is not None:
        return Finding(code, NOT_APPLICABLE, title, _GIVEN)
    if not flags and blanks is None:
        return Finding(code, NOT_APPLICABLE, title, "No searched column has missing cells.")
    said = [] if blanks is None else [blanks.told]
    share = f"{100 * intake.flags:.2g} % of the variance"
    said.append(f"{counted(len(flags), 'flag')} of missing cells: {share}.")
    if intake.flags > LARGE_INDICATORS:
        said.append("The search may find who has not answered rather than who is different.")
    tells = intake.flags > LARGE_INDICATORS or blanks is not None and blanks.tells
    return Finding(code, answer(tells), title, " ".join(said))


def _repeated(repeats: Repeats) -> Finding:
    code, title = "T006", "Rows are repeated"
    if repeats.beyond_chance:
        return Finding(code, FOUND, title, repeats.told)
    detail = "All rows are distinct."
    if repeats.n_repeated:
        rows = counted(repeats.n_repeated, "row")
        detail = (
            f"{rows} of {repeats.distinct.n_rows:,} repeat an earlier one. They are not taken for "
            "copies: rows with few different values may be equal all the same."
        )
    return Finding(code, NOT_FOUND, title, detail)


def _strays(intake: PreparedTable) -> Finding:
    code, title = "T007", "Cells that are no numbers were taken for missing"
    odd = [fact for fact in intake.facts if fact.strays]
    if not odd:
        return Finding(
            code, NOT_FOUND, title, "No column is numbers, or dates, but for some cells."
        )
    told = leading([_stray(fact) for fact in odd], "; ")
    asked = parameter_label("categorical", [fact.name for fact in odd])
    detail = (
        f"{told}. These cells count as missing. Correct them in the table; or, to keep what is "
        f"written as categories: {asked}."
    )
    return Finding(code, FOUND, title, detail)


def _stray(fact: ColumnFacts) -> str:
    """What a column holds besides what it is."""
    texts = [shown(repr(text)) + f" ({n:,} times)" * (n > 1) for text, n in fact.strays]
    cells = sum(n for _, n in fact.strays)
    kind = "dates" if fact.kind == "date" else "numbers"
    name = as_name(fact.label)
    return f"{name} holds {kind} but for {counted(cells, 'cell')}: {leading(texts)}"


def _proxies(intake: PreparedTable) -> Finding:
    code, title = "A002", "A searched column stands for a sensitive one"
    if not intake.sensitive:
        return Finding(code, NOT_APPLICABLE, title, "No column was named as sensitive.")
    if not intake.proxies:
        detail = "No searched column alone tells a sensitive one; several together may."
        return Finding(code, NOT_FOUND, title, detail)
    told = leading([line.told.rstrip(".") for line in intake.proxies], "; ")
    return Finding(code, FOUND, title, f"{told}.")
