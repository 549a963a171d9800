"""What an audit found, coded: each finding says whether it was found, not found, or not looked for.

``not applicable`` and ``not run`` are not good news: nothing was looked at. A detail says why, and
what to do. Details are worded where the result is (``told``), so that the paragraph, the findings,
the report, the terminal and every ``summary()`` say the same.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from leftout.checks import check_choice
from leftout.data.preparation import PreparedTable
from leftout.data.profiling.relations import Relation
from leftout.errors import InputError, parameter_label
from leftout.evidence.evidence_text import Trust
from leftout.evidence.stability import FEWEST_RUNS, SAME_GROUP, Stability
from leftout.explain import Explanation, Outcome
from leftout.explain.alignment import claims, describe_claims
from leftout.explain.replication import Replication
from leftout.fair.afterwards import Afterwards
from leftout.fair.mitigation import NOT_FOR_OTHERS, Mitigation, describe_gap
from leftout.files import Serializable
from leftout.groups.left_out import LeftOut
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.effects import describe_small
from leftout.text import as_name, counted, leading, number, points

FOUND, NOT_FOUND = "found", "not found"
NOT_APPLICABLE, NOT_RUN = "not applicable", "not run"
# Shares of the variance that differ by less are equal.
_ROUNDED = 1e-9
STATUSES = (FOUND, NOT_FOUND, NOT_APPLICABLE, NOT_RUN)


@dataclass(frozen=True)
class Finding(Serializable):
    """One question of an audit, and its answer.

    Attributes
    ----------
    code : str
        A letter and three digits.
    status : {"found", "not found", "not applicable", "not run"}
    title : str
        What is asked, as a statement.
    detail : str
        What was seen; where nothing was looked at, why, and what to do.
    """

    code: str
    status: str
    title: str
    detail: str


def check_finding(more: Finding, taken: Iterable[Finding]) -> None:
    """Refuse a finding from outside that others, or the report, could not be told from."""
    check_choice("status", more.status, STATUSES)
    if not re.fullmatch("[A-Z][0-9]{3}", more.code) or more.code in {one.code for one in taken}:
        raise InputError(
            f"The code {more.code!r} of a finding is needed in the form of a capital letter and "
            "three digits, and not twice in an audit. Choose another, such as 'X001'."
        )


def findings(
    partition: MaxDisparityPartition,
    trust: Trust | None,
    stability: Stability | None,
    told: Explanation,
    returns: Replication | None,
    mended: Mitigation,
    intake: PreparedTable,
    skipped: str = "",
    no_returns: str = "",
) -> list[Finding]:
    """The questions of an audit, in the order in which people ask them.

    ``skipped``: why there is no evidence, where none was asked for; ``no_returns``: why sentences
    from halves of the rows could not be judged.
    """
    told_group = questions(partition, trust, stability, told, returns, intake, skipped, no_returns)
    return [*told_group, mitigation_finding(mended)]


def questions(
    partition: MaxDisparityPartition,
    trust: Trust | None,
    stability: Stability | None,
    told: Explanation,
    returns: Replication | None,
    intake: PreparedTable,
    skipped: str = "",
    no_returns: str = "",
) -> list[Finding]:
    """Those about one group, whatever is done about it."""
    return [
        _gap(partition, partition.left_out_),
        *_explained(trust, skipped),
        *_returning(trust, skipped),
        *_starts(stability, skipped),
        _sentence(told),
        _sentence_returns(returns, told, skipped or no_returns),
        _aligned(told, intake.sensitive, intake.proxies),
        _outcome(told),
        *([_encodings(told), _same_group(told)] if intake.encoder.encoding == "target" else []),
    ]


def answer(yes: bool) -> str:
    """The status of a question that was looked at."""
    return FOUND if yes else NOT_FOUND


def _gap(found: MaxDisparityPartition, group: LeftOut) -> Finding:
    share = 100 * found.explained_variance_ratio_.sum()
    return Finding(
        "D001",
        answer(group.disparity > 0.0),
        "A group loses more than the rest",
        f"A shared {group.shared} with {counted(found.n_components_, 'component')} keeps "
        f"{share:.0f} % of the table's variance but {100 * group.retained.group:.0f} % of this "
        f"group's; its own would keep {100 * group.retained_own.group:.0f} %. {group.told}",
    )


def more_tables() -> str:
    return f"Repeat with {parameter_label('n_surrogates', 99)}."


def _explained(trust: Trust | None, skipped: str) -> list[Finding]:
    """What comparison tables lose, and what that says together with halves of the table."""
    questions = {
        "C001": "Tables with the same values and correlations rarely lose as much",
        "C002": "Bell-shaped tables with the same correlations rarely lose as much",
        "V001": "The left-out rows are a group of their own",
    }
    if trust is None:
        return [Finding(code, NOT_RUN, title, skipped) for code, title in questions.items()]
    beyond, letter = trust.beyond_chance, trust.verdict
    values, cloud = trust.told_chance, trust.told_against("gaussian")
    answers = {
        "C001": (NOT_RUN if beyond is None else answer(beyond), values),
        "C002": (NOT_RUN, cloud),
        "V001": (NOT_RUN if letter is None else answer(letter == "A"), trust.told_verdict),
    }
    if trust.p_cloud is not None and letter in ("C", "D"):
        answers["C002"] = (answer(letter == "C"), cloud)
    elif beyond:
        answers["C002"] = (NOT_RUN, f"Not needed, as C001 is found. {cloud}")
    if trust.parts is not None:
        status, text = answers["V001"]
        answers["V001"] = (status, f"{text} {trust.parts.told}")
    return [
        Finding(code, status, title, f"{text} {more_tables()}" if beyond is None else text)
        for (code, title), (status, text) in zip(questions.items(), answers.values(), strict=True)
    ]


def _returning(trust: Trust | None, skipped: str) -> list[Finding]:
    """What halves and parts of the rows say."""
    questions = {
        "H001": "At least half of the loss comes back on rows that the search has not seen",
        "H002": "Halves of the table, searched apart, name the same rows",
        "B001": "Most rows of the group nearly always come back",
    }
    if trust is None:
        return [Finding(code, NOT_RUN, title, skipped) for code, title in questions.items()]
    held, belongs = trust.held_out, trust.membership
    why = next((note for note in trust.notes if note.startswith("Halves")), "")
    why = why or "Splits were not asked for."
    whole = f"Found on all of them, it loses {number(trust.disparity)} more."
    found = [
        Finding(code, NOT_RUN, title, why)
        if held is None
        else Finding(
            code,
            answer(held.gap.low >= trust.disparity / 2.0 if code == "H001" else held.agree),
            title,
            f"{held.told_gap} {whole}" if code == "H001" else held.told_overlap,
        )
        for code, title in list(questions.items())[:2]
    ]
    code, title = "B001", questions["B001"]
    if belongs is None:
        return [*found, Finding(code, NOT_RUN, title, "Parts of the rows were not searched.")]
    most = belongs.n_members > belongs.n_borderline
    return [*found, Finding(code, answer(most), title, belongs.told)]


def _starts(stability: Stability | None, skipped: str) -> list[Finding]:
    questions = {
        "S001": "Searches from other starts find the same group",
        "S002": "Several distinct groups are left out nearly as much",
    }
    if stability is None or stability.agrees is None:
        runs = 0 if stability is None else len(stability.labels)
        again = parameter_label("n_restarts", 30)
        detail = f"Needs {FEWEST_RUNS} runs, got {runs}. Repeat with {again}."
        detail = detail if not skipped or runs else skipped
        return [Finding(code, NOT_RUN, title, detail) for code, title in questions.items()]
    answers = (
        (stability.agrees, stability.told),
        (stability.n_nearly_equal > 1, stability.told_several),
    )
    return [
        Finding(code, answer(yes), title, detail)
        for (code, title), (yes, detail) in zip(questions.items(), answers, strict=True)
    ]


def _sentence_returns(returns: Replication | None, told: Explanation, why_not: str) -> Finding:
    code, title = "E002", "Rows that a sentence from one half describes are left out in the other"
    if returns is None:
        why = told.told_sentence if told.sentence is None else why_not
        return Finding(code, NOT_RUN, title, why or "Halves of the rows were not compared.")
    return Finding(code, answer(returns.holds), title, returns.told)


def _sentence(told: Explanation) -> Finding:
    code, title = "E001", "A short sentence describes the group"
    if told.sentence is None:
        return Finding(code, NOT_APPLICABLE, title, told.told_sentence)
    return Finding(code, answer(told.sentence.describes), title, told.told_sentence)


def _aligned(told: Explanation, sensitive: list[str], proxies: list[Relation]) -> Finding:
    code, title = "A001", "The group looks like a sensitive column that the search did not see"
    if not sensitive:
        some = parameter_label("sensitive", ["A", "B"])
        detail = f"No column was named as sensitive. Name some: {some}."
        return Finding(code, NOT_APPLICABLE, title, detail)
    lines = [line for line in told.alignment if not line.searched]
    if not lines:
        detail = "No sensitive column varies, so there was nothing to compare with."
        return Finding(code, NOT_APPLICABLE, title, detail)
    alike = claims(lines)
    known = [line for line in proxies if line.of in {one.column for one in alike or lines}]
    stand = leading([f"{as_name(p.column)} for {as_name(p.of)}" for p in known])
    seen = f" The search saw columns that tell of them: {stand} (A002)." if known else ""
    if not alike:
        seen = seen or " Columns that were searched may stand for them."
    return Finding(code, answer(bool(alike)), title, f"{describe_claims(lines)}{seen}")


def _outcome(told: Explanation) -> Finding:
    code, title = "O001", "The outcome differs between the group and the rest"
    if not told.outcome:
        detail = f"No target was given. Name one: {parameter_label('target', 'COLUMN')}."
        return Finding(code, NOT_APPLICABLE, title, detail)
    first = told.outcome[0]
    lacking = f" {told.told_no_outcome}".rstrip()
    if first.gap.low != first.gap.low:
        detail = f"Too few rows with a known target: {first}.{lacking}"
        return Finding(code, NOT_RUN, title, detail)
    small = f" {describe_small()}" if first.gap.clear and not first.differs else ""
    return Finding(code, answer(first.differs != 0), title, f"{first}.{small}{lacking}")


_NO_TARGET_INSIDE = "No category was encoded by a target's mean, so no target is in the encoding."


def _encodings(told: Explanation) -> Finding:
    code, title = "O002", "The outcome's gap remains when the target is kept out of the encoding"
    free = _target_free(told)
    if free is None:
        return Finding(code, NOT_APPLICABLE, title, _NO_TARGET_INSIDE)
    ours, other = told.outcome[0].differs, free.differs
    if not ours:
        size = "large" if told.outcome[0].gap.clear else "clear"
        detail = f"There is no {size} gap to begin with (O001). Without the target: {free}."
        return Finding(code, NOT_APPLICABLE, title, detail)
    detail = f"With a target-free encoding: {free}." + " The gap is reversed." * (other == -ours)
    if (free.overlap or 0.0) < SAME_GROUP:
        detail += " That is another group: see S003."
    return Finding(code, answer(other == ours), title, detail)


def _same_group(told: Explanation) -> Finding:
    code, title = "S003", "The group stays the same when the target is kept out of the encoding"
    free = _target_free(told)
    if free is None:
        return Finding(code, NOT_APPLICABLE, title, _NO_TARGET_INSIDE)
    overlap = free.overlap or 0.0
    detail = (
        f"A search with a target-free encoding shares {100 * overlap:.0f} % of the rows that "
        f"either leaves out; from {100 * SAME_GROUP:.0f} % on they count as one group."
    )
    return Finding(code, answer(overlap >= SAME_GROUP), title, detail)


def _target_free(told: Explanation) -> Outcome | None:
    """The outcome where the target was not part of the encoding; None if it never was."""
    return next((o for o in told.other_outcomes if o.encoding == "target-free"), None)


def mitigation_finding(mended: Mitigation) -> Finding:
    """Does Fair PCA of all sides lower the largest loss?"""
    here, sides = mended.here, len(mended.here.losses_before)
    lower = here.max_loss_after < here.max_loss_before * (1.0 - 1e-9)
    how = "with as many components"
    change = "more" if here.price < -_ROUNDED else "less"  # less than PCA keeps, never more
    if sides > 2:
        more = f" (in {here.rank} dimensions)" * (here.rank > here.n_components)
        how = f"of all {sides} sides{more}"
    return Finding(
        "M001",
        answer(lower),
        "Fair PCA lowers the largest loss",
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
