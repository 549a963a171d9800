"""Groups that have a name, and those that are known beforehand: found, weighed, and coded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leftout.auditing.findings import NOT_APPLICABLE, NOT_RUN, Finding, answer, more_tables
from leftout.data.preparation import PreparedTable
from leftout.errors import InputError, parameter_label
from leftout.evidence.duplicate_rows import find_repeats
from leftout.evidence.evidence_text import FEWEST_TABLES
from leftout.evidence.subgroup_null import TABLES, subgroup_null_test
from leftout.groups.known import known_groups
from leftout.groups.known_result import KnownGroups
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.subgroups import NamedGroups, named_groups
from leftout.linalg.losses import WIDE
from leftout.running import Report, warn
from leftout.settings import Settings

# Random groups that known ones are held against.
_PERMUTATIONS = 199


def named_and_known(
    found: MaxDisparityPartition,
    intake: PreparedTable,
    settings: Settings,
    rows: NDArray[np.intp],
    wide: bool,
    n_jobs: int | None,
    report: Report,
) -> tuple[NamedGroups | None, KnownGroups | None]:
    """Both kinds of groups on all rows, with what comparison tables of ``rows`` explain."""
    named = None
    if settings.preset is None:
        named = named_groups(
            intake.X,
            intake.telling,
            n_components=found.n_components_,
            representation=found.representation,
            depth=1 if wide else 2,  # pairs of very many columns would take hours
            target=intake.target,
            positive=intake.positive,
            random_state=settings.random_state,
            n_jobs=n_jobs,
            progress=report,
        )
    known = _of_known_columns(found, intake, settings, n_jobs, report)
    if wide or settings.preset is not None:
        return named, known
    return subgroup_null_test(
        intake.X,
        named,
        known,
        representation=found.representation,
        rows=rows,
        repeats=find_repeats(intake.X[rows]),
        tables=min(settings.n_surrogates, TABLES),
        random_state=settings.random_state,
        n_jobs=n_jobs,
        progress=report,
    )


def _of_known_columns(
    found: MaxDisparityPartition,
    intake: PreparedTable,
    settings: Settings,
    n_jobs: int | None,
    report: Report,
) -> KnownGroups | None:
    """The groups of the columns that were kept out of the search."""
    columns = intake.hidden
    if not columns:
        return None
    report("known groups", 1, 1)
    why = ""
    for depth in (2, 1):  # of very many groups, those of single columns
        try:
            return known_groups(
                intake.X,
                columns,
                n_components=found.n_components_,
                representation=found.representation,
                depth=depth,
                permutations=_PERMUTATIONS,
                random_state=settings.random_state,
                n_jobs=n_jobs,
            )
        except InputError as error:
            why = str(error)
    warn(f"Known groups were not compared. {why}")
    return None


def group_findings(
    named: NamedGroups | None, known: KnownGroups | None, intake: PreparedTable, skipped: str = ""
) -> list[Finding]:
    """Is a group left out that can be named, or one that is known?"""
    return [_named(named, intake.X.shape, skipped), _known(known, intake, skipped)]


def _named(named: NamedGroups | None, shape: tuple[int, ...], skipped: str) -> Finding:
    code, title = "N001", "A group that can be named is left out"
    if named is None:
        return Finding(code, NOT_RUN, title, skipped)
    if not named.names:
        return Finding(code, NOT_APPLICABLE, title, named.told)
    if named.left_out is None:
        needs = (
            f"Whether a name stands out takes {FEWEST_TABLES} comparison tables. {more_tables()}"
        )
        if min(shape) > WIDE:
            needs = (
                f"Whether a name stands out was not tested: with more than {WIDE} features (there "
                f"are {shape[1]:,}) that takes too long. Leave columns aside: "
                f"{parameter_label('drop')}."
            )
        return Finding(code, NOT_RUN, title, f"{named.told_leading} {needs}")
    return Finding(code, answer(named.left_out), title, named.told_leading)


def _known(known: KnownGroups | None, intake: PreparedTable, skipped: str) -> Finding:
    code, title = "K001", "A known group is left out"
    if not intake.sensitive:
        some = parameter_label("sensitive", ["A", "B"])
        detail = f"No column was named as sensitive. Name some: {some}."
        return Finding(code, NOT_APPLICABLE, title, detail)
    if known is None and skipped:
        return Finding(code, NOT_RUN, title, skipped)
    if known is None:
        detail = "No sensitive column has groups that could be compared."
        return Finding(code, NOT_APPLICABLE, title, detail)
    if not known.measured:
        return Finding(code, NOT_APPLICABLE, title, known.told)
    found = bool(known.left_out)
    detail = known.told if found else f"{known.told} {known.told_small}".strip()
    return Finding(code, answer(found), title, detail)
