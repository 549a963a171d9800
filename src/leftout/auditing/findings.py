"""What an audit found, coded: each finding says whether it was found, not found, or not looked for.

``not applicable`` and ``not run`` are no good news: nothing was looked at. A detail says why, and
what to do.
"""

from __future__ import annotations

from dataclasses import dataclass

from leftout.evidence.stability import Stability
from leftout.evidence.trusting import LEVEL, Trust
from leftout.explain import Explanation, Outcome
from leftout.fair.mitigation import Mitigation
from leftout.search.partition import MaxDisparityPartition
from leftout.wording import counted

FOUND, NOT_FOUND = "found", "not found"
NOT_APPLICABLE, NOT_RUN = "not applicable", "not run"
STATUSES = (FOUND, NOT_FOUND, NOT_APPLICABLE, NOT_RUN)
# Runs that agree less than this (mean Jaccard) do not find one group; fewer runs cannot tell.
_AGREE, _FEWEST_RUNS = 0.5, 5
# A sentence below this F1 does not describe the group, nor does one whose rows are in the group
# hardly more often than any: of what is missing to certainty, it must close this share.
_DESCRIBES, _TELLS = 0.5, 0.25
_FEWEST_CHANCE = 19
_NAMED = 3


@dataclass(frozen=True)
class Finding:
    """One question of an audit, and its answer."""

    code: str
    status: str
    title: str
    detail: str

    def to_dict(self) -> dict[str, str]:
        return dict(vars(self))


def findings(
    partition: MaxDisparityPartition,
    trust: Trust | None,
    stability: Stability | None,
    told: Explanation,
    mended: Mitigation,
    sensitive: list[str],
) -> list[Finding]:
    """The questions of an audit, in the order in which people ask them."""
    return [
        _gap(partition),
        _chance(trust),
        _held_out(trust),
        _stable(stability),
        _several(stability),
        _sentence(told, int(partition.sizes_[1]), int(partition.sizes_.sum())),
        _aligned(told, sensitive),
        _outcome(told),
        _encodings(told),
        _same_group(told),
        _mended(mended),
    ]


def _gap(found: MaxDisparityPartition) -> Finding:
    kept, own = 100 * found.retained_[1], 100 * found.retained_own_[1]
    return Finding(
        "D001",
        FOUND if found.disparity_ > 0.0 else NOT_FOUND,
        "A group loses more than the rest",
        f"The shared PCA keeps {kept:.0f} % of the group's variance, its own would keep {own:.0f} "
        f"%; the disparity is {found.disparity_:.4g}, and no group of {found.sizes_[1]:,} rows can "
        f"exceed {found.bound_:.4g}. Some group always loses most: see C001.",
    )


def _chance(trust: Trust | None) -> Finding:
    code, title = "C001", "The group goes beyond chance"
    if trust is None:
        detail = (
            "The paper's search chooses its sizes itself, so it cannot be compared with chance at "
            "a size. Audit without the paper's preset."
        )
        return Finding(code, NOT_APPLICABLE, title, detail)
    if trust.beyond_chance is None:
        main = trust.profile.main
        tables = 0 if main is None else len(main.curves)
        detail = _more_tables(tables)
        return Finding(code, NOT_RUN, title, detail)
    main = trust.profile.main
    assert main is not None
    over = "over all sizes" if trust.chosen == "evidence" else "at this size"
    return Finding(
        code,
        FOUND if trust.beyond_chance else NOT_FOUND,
        title,
        f"p = {trust.p_value:.2g} {over}, against {len(main.curves)} tables that share the "
        "columns' values and correlations and have no subgroup.",
    )


def _more_tables(got: int) -> str:
    return f"Needs {_FEWEST_CHANCE} chance tables, got {got}. Repeat with --chance 99."


def _held_out(trust: Trust | None) -> Finding:
    code, title = "H001", "A group found on half of the rows is left out on the other half"
    if trust is None:
        detail = "The paper's preset does not split the rows. Audit without it."
        return Finding(code, NOT_APPLICABLE, title, detail)
    held = trust.held_out
    if held is None:
        why = next((note for note in trust.notes if note.startswith("Held-out")), "")
        return Finding(code, NOT_RUN, title, why or "Splits were not asked for.")
    if held.p_value is None or len(held.chance) < _FEWEST_CHANCE:
        detail = _more_tables(len(held.chance))
        return Finding(code, NOT_RUN, title, detail)
    yes = held.low > 0.0 and held.p_value <= LEVEL
    return Finding(
        code,
        FOUND if yes else NOT_FOUND,
        title,
        f"Found on half of the rows, the disparity on the other half is {held.disparity:.3g} "
        f"(95 % interval {held.low:.3g} to {held.high:.3g}); groups found in chance tables keep "
        f"{held.chance.mean():.3g} there (p = {held.p_value:.2g}).",
    )


def _stable(stability: Stability | None) -> Finding:
    code, title = "S001", "The group comes back with other seeds, on the same rows"
    runs = 0 if stability is None else len(stability.labels)
    if stability is None or runs < _FEWEST_RUNS:
        detail = f"Needs {_FEWEST_RUNS} runs, got {runs}. Repeat with --runs 30."
        return Finding(code, NOT_RUN, title, detail)
    return Finding(
        code,
        FOUND if stability.mean >= _AGREE else NOT_FOUND,
        title,
        f"{runs} runs agree with Jaccard {stability.mean:.2f} on average ({stability.low:.2f} to "
        f"{stability.high:.2f}); from {_AGREE} on they count as one group.",
    )


def _several(stability: Stability | None) -> Finding:
    code, title = "S002", "Several distinct groups are left out nearly as much"
    runs = 0 if stability is None else len(stability.labels)
    if stability is None or runs < _FEWEST_RUNS:
        detail = f"Needs {_FEWEST_RUNS} runs, got {runs}. Repeat with --runs 30."
        return Finding(code, NOT_RUN, title, detail)
    several = stability.n_nearly_equal
    return Finding(
        code,
        FOUND if several > 1 else NOT_FOUND,
        title,
        f"{runs} runs found {counted(several, 'distinct group')} within 5 % of the largest "
        "disparity" + ("; this is one of them." if several > 1 else "."),
    )


def _sentence(told: Explanation, n_left_out: int, n_rows: int) -> Finding:
    code, title = "E001", "A short sentence describes the group"
    if told.sentence is None:
        detail = "No column of the table varies, so nothing describes the group."
        return Finding(code, NOT_APPLICABLE, title, detail)
    sentence, share = told.sentence, n_left_out / n_rows
    tells = sentence.precision - share >= _TELLS * (1.0 - share)
    detail = f"{sentence} (F1 {sentence.f1:.2f}; {100 * share:.0f} % of all rows are in the group)."
    good = sentence.f1 >= _DESCRIBES and tells
    return Finding(code, FOUND if good else NOT_FOUND, title, detail)


def _aligned(told: Explanation, sensitive: list[str]) -> Finding:
    code, title = "A001", "The group looks like a sensitive column that the search did not see"
    if not sensitive:
        detail = "No column was named as sensitive. Name some with --sensitive A,B."
        return Finding(code, NOT_APPLICABLE, title, detail)
    lines = [line for line in told.alignment if not line.searched]
    if not lines:
        detail = "No sensitive column varies, so there was nothing to compare with."
        return Finding(code, NOT_APPLICABLE, title, detail)
    alike = [line for line in lines if line.corrected <= LEVEL]
    if not alike:
        named = [
            f"{line} (strength {line.strength:.2f}, p = {line.corrected:.2g})" for line in lines
        ]
        more = len(named) - _NAMED
        detail = (
            f"At p <= {LEVEL}, corrected: none. " + "; ".join(named[:_NAMED])
            + f"; and {more} more" * (more > 0) + ". Columns that were searched may stand for them."
        )  # fmt: skip
        return Finding(code, NOT_FOUND, title, detail)
    named = [f"{line} (p = {line.corrected:.2g})" for line in alike[:_NAMED]]
    more = len(alike) - _NAMED
    return Finding(code, FOUND, title, "; ".join(named + [f"{more} more"] * (more > 0)) + ".")


def _outcome(told: Explanation) -> Finding:
    code, title = "O001", "The outcome differs between the group and the rest"
    if not told.outcome:
        detail = "No target was given. Name one with --target COLUMN."
        return Finding(code, NOT_APPLICABLE, title, detail)
    first = told.outcome[0]
    if not first.gap.low == first.gap.low:
        return Finding(code, NOT_RUN, title, f"Too few rows with a known target: {first}.")
    differs = first.gap.low > 0.0 or first.gap.high < 0.0
    return Finding(code, FOUND if differs else NOT_FOUND, title, f"{first}.")


def _encodings(told: Explanation) -> Finding:
    code, title = "O002", "The outcome's gap remains when the target is kept out of the encoding"
    free = _target_free(told)
    if free is None:
        detail = "No category was encoded by a target's mean, so no target is in the encoding."
        return Finding(code, NOT_APPLICABLE, title, detail)
    ours, other = told.outcome[0].gap, free.gap
    if not (ours.low > 0.0 or ours.high < 0.0):
        detail = f"There is no clear gap to begin with (O001). Without the target: {free}."
        return Finding(code, NOT_APPLICABLE, title, detail)
    remains = other.low > 0.0 if ours.value > 0.0 else other.high < 0.0
    reversed_ = other.high < 0.0 if ours.value > 0.0 else other.low > 0.0
    detail = f"With a target-free encoding: {free}." + " The gap is reversed." * reversed_
    if (free.overlap or 0.0) < _AGREE:
        detail += " That is another group: see S003."
    return Finding(code, FOUND if remains else NOT_FOUND, title, detail)


def _same_group(told: Explanation) -> Finding:
    code, title = "S003", "The group stays the same when the target is kept out of the encoding"
    free = _target_free(told)
    if free is None:
        detail = "No category was encoded by a target's mean, so no target is in the encoding."
        return Finding(code, NOT_APPLICABLE, title, detail)
    overlap = free.overlap or 0.0
    detail = (
        f"A search with a target-free encoding shares {100 * overlap:.0f} % of the rows that "
        f"either leaves out; from {100 * _AGREE:.0f} % on they count as one group."
    )
    return Finding(code, FOUND if overlap >= _AGREE else NOT_FOUND, title, detail)


def _target_free(told: Explanation) -> Outcome | None:
    """The outcome where the target was no part of the encoding; None if it never was."""
    return next((o for o in told.other_outcomes if o.encoding == "target-free"), None)


def _mended(mended: Mitigation) -> Finding:
    here = mended.here
    (rest, group), (rest_after, group_after) = here.losses_before, here.losses_after
    before, after = float(here.losses_before.max()), float(here.losses_after.max())
    lower = after < before * (1.0 - 1e-9)
    gap = "less than 1e-12" if here.gap < 1e-12 else f"{here.gap:.0e}"
    return Finding(
        "M001",
        FOUND if lower else NOT_FOUND,
        "Fair PCA lowers the largest loss",
        f"The left-out group's loss goes from {group:.3g} to {group_after:.3g}, the rest's from "
        f"{rest:.3g} to {rest_after:.3g}, with as many components; "
        f"{100 * max(here.price, 0.0):.2g} percentage points less of the table's variance are "
        f"kept. Gap to the best possible: {gap}.",
    )
