"""What an audit found, coded: each finding says whether it was found, not found, or not looked for.

``not applicable`` and ``not run`` are not good news: nothing was looked at. A detail says why, and
what to do. Details are worded where the result is (``told``), so that the paragraph, the findings,
the report, the terminal and every ``summary()`` say the same. Questions about the table itself are
in :mod:`leftout.auditing.table_findings`.
"""

from __future__ import annotations

from collections.abc import Sequence

from leftout.auditing.group_result import (
    FOUND,
    NOT_APPLICABLE,
    NOT_FOUND,
    NOT_RUN,
    Finding,
    GroupResult,
)
from leftout.data.preparation import PreparedTable
from leftout.downstream.prediction import ComparedPrediction
from leftout.downstream.result import Harm
from leftout.errors import parameter_label
from leftout.evidence.n_groups import HowMany
from leftout.evidence.stability import FEWEST_RUNS, Stability
from leftout.evidence.verdict import FEWEST_TABLES, Trust
from leftout.explain import Explanation
from leftout.explain.alignment import claims, describe_claims
from leftout.fair.assessment import Afterwards
from leftout.fair.mitigation import NOT_FOR_OTHERS, Mitigation, describe_gap
from leftout.groups.known import KnownGroups
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.subgroups import NamedGroups
from leftout.linalg.losses import WIDE
from leftout.linalg.significance import describe_p, describe_small
from leftout.text import as_name, counted, leading, listed, number, percent, points

# Shares of the variance that differ by less are equal.
_EQUAL_SHARES = 1e-9
_TITLES = {
    "D001": "A group loses more than the rest",
    "C001": "Copula surrogates rarely lose as much",
    "C002": "Bell-shaped tables with the same correlations rarely lose as much",
    "V001": "The left-out rows are a group of their own",
    "H001": "At least half of the loss replicates on held-out rows",
    "H002": "Halves of the table, searched apart, name the same rows",
    "B001": "Most rows of the group are found in nearly every search of a part of the table",
    "S001": "Searches from other starts find the same group",
    "S002": "Several distinct groups are left out nearly as much",
    "E001": "A short sentence describes the group",
    "A001": "The group looks like a sensitive column that the search did not see",
    "O001": "The outcome differs between the group and the rest",
    "G001": "All left-out groups go beyond surrogate tables",
    "M001": "Fair PCA lowers the largest loss",
    "N001": "A subgroup is left out",
    "K001": "A known group is left out",
    "P002": "Fair PCA gives it back without costing the rest",
    "P003": "The prediction that is there errs more on the group than on the rest",
    "T001": "The group changes if numbers that look like codes are categories",
    "T002": "A searched column gives the outcome away",
    "T003": "Columns repeat others",
    "T004": "Values may stand for something else",
    "T005": "Missing cells tell who is in the group",
    "T006": "Rows are repeated",
    "T007": "Cells that are no numbers were taken for missing",
    "A002": "A searched column stands for a sensitive one",
    "R001": "The group is the same under other readings of the table",
}
_ONE_GROUP_ONLY = (
    "Looked at where there is one left-out group only: halves would have to agree on which is "
    "which."
)


def answer(yes: bool) -> str:
    """The status of a question that was looked at."""
    return FOUND if yes else NOT_FOUND


def finding(code: str, answered: bool | str | None, detail: str, caution: str = "") -> Finding:
    """The answer to one of our questions: yes, no, None where it was not run, or a status."""
    status = NOT_RUN if answered is None else answered
    status = status if isinstance(status, str) else answer(status)
    return Finding(code, status, _TITLES[code], detail, caution)


def group_findings(group: GroupResult, intake: PreparedTable, skipped: str = "") -> list[Finding]:
    """The questions about one group, whatever is done about it, in the order people ask them.

    ``skipped``: why there is no evidence, where none was asked for.
    """
    told = group.explanation
    found = [
        _gap(group.partition),
        *_explained(group.trust, skipped),
        *_returning(group.trust, skipped),
        *_starts(group.stability, skipped if group.alone else skipped or _ONE_GROUP_ONLY),
        _sentence(told),
        _aligned(told, intake),
        _outcome(told),
    ]
    return found


def _gap(found: MaxDisparityPartition) -> Finding:
    group = found.left_out_
    share = 100 * found.explained_variance_ratio_.sum()
    return finding(
        "D001",
        group.disparity > 0.0,
        f"A shared {group.shared} with {counted(found.n_components_, 'component')} keeps "
        f"{share:.0f}% of the table's variance but {percent(group.retained.group)} of this "
        f"group's; its own would keep {percent(group.retained_own.group)}. {group.told}",
    )


def _more_tables() -> str:
    return f"Repeat with {parameter_label('n_surrogates', 99)}."


def _explained(trust: Trust | None, skipped: str) -> list[Finding]:
    """What surrogate tables lose, and what that says together with halves of the table."""
    if trust is None:
        return [finding(code, None, skipped) for code in ("C001", "C002", "V001")]
    beyond, letter = trust.beyond_chance, trust.verdict
    gaussian, says = trust.told_against("gaussian"), trust.verdict_says
    below = None
    if trust.p_gaussian is not None and letter in ("C", "D"):
        below = letter == "C"
    elif beyond:
        gaussian = f"Not needed, as C001 is found. {gaussian}"
    answers = {
        "C001": (beyond, trust.told_chance),
        "C002": (below, gaussian),
        "V001": (None if letter is None else letter == "A", says),
    }
    more = f" {_more_tables()}" if beyond is None else ""
    return [finding(code, yes, f"{text}{more}") for code, (yes, text) in answers.items()]


def _returning(trust: Trust | None, skipped: str) -> list[Finding]:
    """What halves and parts of the rows say."""
    if trust is None:
        return [finding(code, None, skipped) for code in ("H001", "H002", "B001")]
    held, belongs = trust.held_out, trust.membership
    if held is None:
        halves = (note for note in trust.notes if note.startswith("Halves"))
        why = next(halves, "Splits were not asked for.")
        found = [finding(code, None, why) for code in ("H001", "H002")]
    else:
        whole = f"Found on all of them, it loses {number(trust.disparity)} more."
        back = held.gap.low >= trust.disparity / 2.0
        found = [
            finding("H001", bool(back), f"{held.told_gap} {whole}"),
            finding("H002", held.agree, held.told_overlap),
        ]
    if belongs is None:
        return [*found, finding("B001", None, "Parts of the rows were not searched.")]
    sure = belongs.n_members > belongs.n_borderline
    unsure = "" if sure else "Which rows belong to the group is uncertain."
    return [*found, finding("B001", sure, belongs.told, unsure)]


def _starts(stability: Stability | None, skipped: str) -> list[Finding]:
    if stability is None or stability.agrees is None:
        runs = 0 if stability is None else len(stability.labels)
        again = parameter_label("n_restarts", 30)
        detail = f"Needs {FEWEST_RUNS} runs, got {runs}. Repeat with {again}."
        detail = detail if not skipped or runs else skipped
        return [finding(code, None, detail) for code in ("S001", "S002")]
    differ = "" if stability.agrees else "Searches from other starts find other groups."
    return [
        finding("S001", stability.agrees, stability.told, differ),
        finding("S002", stability.nearly_equal > 1, stability.told_several),
    ]


def _sentence(told: Explanation) -> Finding:
    described = NOT_APPLICABLE if told.sentence is None else told.sentence.describes
    return finding("E001", described, told.told_sentence)


def _aligned(told: Explanation, intake: PreparedTable) -> Finding:
    if not intake.sensitive:
        return finding("A001", NOT_APPLICABLE, _no_sensitive())
    lines = [line for line in told.alignment if not line.searched]
    if not lines:
        detail = "No sensitive column varies, so there was nothing to compare with."
        return finding("A001", NOT_APPLICABLE, detail)
    alike = claims(lines)
    known = [line for line in intake.proxies if line.of in {one.column for one in alike or lines}]
    stand = leading([f"{as_name(p.column)} for {as_name(p.of)}" for p in known])
    seen = f" The search saw columns that tell of them: {stand} (A002)." if known else ""
    if not alike:
        seen = seen or " Columns that were searched may stand for them."
    return finding("A001", bool(alike), f"{describe_claims(lines)}{seen}")


def _no_sensitive() -> str:
    return (
        f"No column was named as sensitive. Name some: {parameter_label('sensitive', ['A', 'B'])}."
    )


def _no_target() -> str:
    return f"No target was given. Name one: {parameter_label('target', 'COLUMN')}."


def _outcome(told: Explanation) -> Finding:
    if not told.outcome:
        return finding("O001", NOT_APPLICABLE, _no_target())
    first = told.outcome[0]
    lacking = f" {told.told_no_outcome}".rstrip()
    if first.gap.low != first.gap.low:
        return finding("O001", None, f"Too few rows with a known target: {first}.{lacking}")
    small = f" {describe_small()}" if first.gap.clear and not first.differs else ""
    return finding("O001", first.differs != 0, f"{first}.{small}{lacking}")


def count_finding(groups: Sequence[GroupResult], counts: HowMany | None, skipped: str) -> Finding:
    """Are all of several groups more than surrogate tables show?"""
    said = "" if counts is None else f"Counted one by one: {counts.summary()} "
    weighed = [
        (each.label, each.trust.beyond_chance, each.trust.p_value)
        for each in groups
        if each.trust is not None
        and each.trust.p_value is not None
        and each.trust.beyond_chance is not None
    ]
    if len(weighed) < len(groups):
        why = skipped or f"That takes 19 surrogate tables. {_more_tables()}"
        return finding("G001", None, f"{said}{why}")
    each = [
        f"group {label} {'does' if beyond else 'does not'} ({describe_p(p_value)})"
        for label, beyond, p_value in weighed
    ]
    detail = (
        f"{said}Each group is held to what the one of its size and rank loses in comparison "
        f"tables that are searched for as many: {listed(each)}."
    )
    return finding("G001", all(beyond for _, beyond, _ in weighed), detail)


def mitigation_finding(found: Mitigation) -> Finding:
    """Does Fair PCA of all sides lower the largest loss?"""
    here, sides = found.here, len(found.here.losses_before)
    lower = here.max_loss_after < here.max_loss_before * (1.0 - 1e-9)
    how = "with as many components"
    change = "more" if here.price < -_EQUAL_SHARES else "less"  # less than PCA keeps, never more
    if sides > 2:
        more = f" (in {here.rank} dimensions)" * (here.rank > here.n_components)
        how = f"of all {sides} sides{more}"
    return finding(
        "M001",
        bool(lower),
        f"Fair PCA {how} brings {here.told_losses(range(1, sides), ' and')}, and keeps "
        f"{points(abs(here.price))} percentage points {change} of the table's variance; the gap "
        f"to the best possible is {describe_gap(here.gap)}. {NOT_FOR_OTHERS}",
    )


def moved_finding(after: Afterwards | None, why: str, several: bool = False) -> Finding:
    """Does mitigation for the group leave another as badly off? ``why``: that was not searched."""
    whom = "these groups" if several else "this group"
    code, title = "M002", f"Mitigation for {whom} leaves another group as badly off"
    if after is None:
        return Finding(code, NOT_RUN, title, why)
    return Finding(code, answer(after.moved), title, after.told)


def subgroup_findings(
    named: NamedGroups | None, known: KnownGroups | None, intake: PreparedTable, skipped: str = ""
) -> list[Finding]:
    """Is a subgroup left out, or a group that is known?"""
    return [_named(named, intake.X.shape, skipped), _known(known, intake, skipped)]


def _named(named: NamedGroups | None, shape: tuple[int, ...], skipped: str) -> Finding:
    if named is None:
        return finding("N001", None, skipped)
    if not named.names:
        return finding("N001", NOT_APPLICABLE, named.told)
    if named.left_out is not None:
        return finding("N001", named.left_out, named.told_leading)
    needs = (
        f"Whether a subgroup stands out takes {FEWEST_TABLES} surrogate tables. {_more_tables()}"
    )
    if min(shape) > WIDE:
        needs = (
            f"Whether a subgroup stands out was not tested: with more than {WIDE} features (there "
            f"are {shape[1]:,}) that takes too long. Leave columns aside: "
            f"{parameter_label('drop')}."
        )
    return finding("N001", None, f"{named.told_leading} {needs}")


def _known(known: KnownGroups | None, intake: PreparedTable, skipped: str) -> Finding:
    if not intake.sensitive:
        return finding("K001", NOT_APPLICABLE, _no_sensitive())
    if known is None:
        nothing = "No sensitive column has groups that could be compared."
        return finding("K001", None if skipped else NOT_APPLICABLE, skipped or nothing)
    if not known.measured:
        return finding("K001", NOT_APPLICABLE, known.told)
    found = bool(known.left_out)
    return finding("K001", found, known.told + f" {known.told_small}".rstrip() * (not found))


def harm_findings(
    harm: Harm | None, why: str, intake: PreparedTable, skipped: str = ""
) -> list[Finding]:
    """Does the shared PCA cost the group more than the rest, and does Fair PCA give it back?"""
    title = f"{'PCA' if harm is None else harm.shared} costs the group more than the rest"
    if harm is not None:
        returned = harm.told_return + f" {NOT_FOR_OTHERS}" * harm.gives_back
        return [
            Finding("P001", answer(harm.costs_more), title, harm.told_cost),
            finding("P002", harm.gives_back, returned),
        ]
    status, detail = NOT_RUN, why or skipped
    if intake.target is None:
        status, detail = NOT_APPLICABLE, _no_target()
    return [Finding("P001", status, title, detail), finding("P002", status, detail)]


def prediction_finding(
    found: ComparedPrediction | None, why: str, skipped: str = "", asked: bool = False
) -> Finding:
    """Does the prediction that is there err more on the group than on the rest?"""
    if found is not None:
        return finding("P003", found.errs_more, found.told)
    if why or skipped and asked:
        return finding("P003", None, why or skipped)
    named = parameter_label("prediction", "COLUMN")
    return finding("P003", NOT_APPLICABLE, f"No prediction was given. Name its column: {named}.")
