"""How the table was read, coded as findings: what an owner would want to know before believing."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from leftout.asking import asking
from leftout.auditing.findings import (
    FOUND,
    NOT_APPLICABLE,
    NOT_FOUND,
    NOT_RUN,
    Finding,
    answer,
)  # fmt: skip
from leftout.evidence.repeats import Repeats
from leftout.evidence.stability import SAME, pairwise_jaccard
from leftout.files import Told
from leftout.running import collected_notes
from leftout.search.fitted import for_same_size
from leftout.search.partition import MaxDisparityPartition
from leftout.tables.flags import LARGE
from leftout.tables.intake import Intake
from leftout.wording import counted, leading, unambiguous


@dataclass(frozen=True)
class OtherReading(Told):
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
class Audited(Told):
    """What was audited, and what was assumed where nobody said.

    Attributes
    ----------
    name : str
        Such as ``PCA``.
    rank : int
    projection : bool
        Whether it is one; else no more is known of it than its errors.
    given : bool
        Whether a pipeline has it; else it is the PCA of the features.
    origin : {"this table", "given"}
        Whether it was fitted on the rows audited, or came as it is.
    told : str
    """

    name: str
    rank: int
    projection: bool
    given: bool
    origin: str
    told: str


def audited(found: MaxDisparityPartition, intake: Intake) -> Audited:
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


def _assumed(intake: Intake) -> str:
    """How columns became what the PCA sees."""
    told = "columns scaled to [0, 1]"
    if any(kind.read_as == "category" for kind in intake.encoder.kinds_):
        encoded = intake.encoder.encoding == "target"
        told += f", categories as {'the mean of the target' if encoded else 'indicators'}"
    return told


def read_otherwise(
    found: MaxDisparityPartition, intake: Intake, n_components: Any
) -> OtherReading | None:
    """Who is left out, in any group, if columns that look like codes are categories?"""
    if not intake.codes:
        return None
    X = intake.as_categories()
    if found.n_groups_ == 2:
        search = for_same_size(found)
    else:
        search = clone(found).set_params(group_size=found.sizes_[1:].tolist())
    search.set_params(n_components=n_components, min_group_size=None)
    with collected_notes():  # of a smallest size that follows from more features
        other = search.fit(X)
    masks = np.stack([other.labels_ > 0, found.labels_ > 0])
    return OtherReading(
        columns=[kind.column for kind in intake.codes],
        features=X.shape[1],
        overlap=float(pairwise_jaccard(masks, either=False)[0, 1]),
        disparity=other.disparity_,
    )


_GIVEN = "The features were given, or made by a pipeline: how columns were read did not matter."


def table_findings(intake: Intake, other: OtherReading | None, repeats: Repeats) -> list[Finding]:
    """Codes, leaks, copies, values that mean something else, flags, repeated rows, proxies."""
    return [
        _codes(intake, other), _leaks(intake), _copies(intake), _suspects(intake), _flags(intake),
        _repeated(repeats), _proxies(intake),
    ]  # fmt: skip


def _codes(intake: Intake, other: OtherReading | None) -> Finding:
    code, title = "T001", "The group changes if numbers that look like codes are categories"
    if intake.features is not None:
        return Finding(code, NOT_APPLICABLE, title, _GIVEN)
    if not intake.codes:
        return Finding(code, NOT_APPLICABLE, title, "No column read as numbers looks like codes.")
    named = leading([unambiguous(kind.column) for kind in intake.codes])
    asked = asking("categorical", [intake.called(kind.column) for kind in intake.codes])
    if other is None:
        detail = f"Read as numbers, though they look like codes: {named}. Not tried as categories."
        return Finding(code, NOT_RUN, title, detail)
    detail = (
        f"Read as numbers, though they look like codes: {named}. With categories instead "
        f"({counted(other.features, 'feature')}) a group of the same size shares "
        f"{100 * other.overlap:.0f} % of the rows that either leaves out; from {100 * SAME:.0f} % "
        f"on they count as one group. To name those that are codes: {asked}."
    )
    return Finding(code, answer(other.overlap < SAME), title, detail)


def _leaks(intake: Intake) -> Finding:
    code, title = "T002", "A searched column gives the outcome away"
    if intake.target is None:
        return Finding(code, NOT_APPLICABLE, title, "No target was given.")
    if not intake.leaks:
        return Finding(code, NOT_FOUND, title, "No searched column alone tells the target.")
    told = leading([line.told.rstrip(".") for line in intake.leaks], "; ")
    columns = [intake.called(line.column) for line in intake.leaks]
    detail = (
        f"{told}. Known beforehand, or made from the outcome? Kept in the search; what is the "
        f"outcome by another name can be left out: {asking('drop', columns)}."
    )
    return Finding(code, FOUND, title, detail)


def _copies(intake: Intake) -> Finding:
    code, title = "T003", "Columns repeat others"
    if not intake.copies:
        return Finding(code, NOT_FOUND, title, "No two searched columns say the same.")
    told = leading([line.told.rstrip(".") for line in intake.copies], "; ")
    return Finding(code, FOUND, title, f"{told}. Each counts once: the first of them is searched.")


def _suspects(intake: Intake) -> Finding:
    code, title = "T004", "Values may stand for something else"
    if not intake.suspects:
        detail = "No value stands apart at the end of a column like 99, -1 or 1900-01-01 would."
        return Finding(code, NOT_FOUND, title, detail)
    told = leading([suspect.told.rstrip(".") for suspect in intake.suspects], ". ")
    return Finding(code, FOUND, title, f"{told}.")


def _flags(intake: Intake) -> Finding:
    code, title = "T005", "Flags of missing cells hold much of the variance"
    flags = intake.encoder.flags_
    if intake.features is not None:
        return Finding(code, NOT_APPLICABLE, title, _GIVEN)
    if not flags:
        return Finding(code, NOT_APPLICABLE, title, "No searched column has missing cells.")
    detail = f"{counted(len(flags), 'flag')}: {100 * intake.flags:.2g} % of the variance."
    if intake.flags > LARGE:
        detail += " The search may find who has not answered rather than who is different."
    return Finding(code, answer(intake.flags > LARGE), title, detail)


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


def _proxies(intake: Intake) -> Finding:
    code, title = "A002", "A searched column stands for a sensitive one"
    if not intake.sensitive:
        return Finding(code, NOT_APPLICABLE, title, "No column was named as sensitive.")
    if not intake.proxies:
        detail = "No searched column alone tells a sensitive one; several together may."
        return Finding(code, NOT_FOUND, title, detail)
    told = leading([line.told.rstrip(".") for line in intake.proxies], "; ")
    return Finding(code, FOUND, title, f"{told}.")
