"""The verdict of an audit in a sentence, and the whole in a paragraph."""

from __future__ import annotations

from leftout.evidence.trusting import LEVEL, Trust
from leftout.explain import Explanation
from leftout.fair.mitigation import Mitigation
from leftout.search.partition import MaxDisparityPartition
from leftout.wording import counted

_POOR = 0.5


def headline(found: MaxDisparityPartition, trust: Trust | None, sampled: bool = False) -> str:
    """Is anybody left out? One sentence that says no more than was tested."""
    rows = f"{found.sizes_[1]:,} of {found.sizes_.sum():,} {'sampled ' * sampled}rows"
    if found.disparity_ <= 0.0:
        return f"No group of {rows} loses more than the rest."
    if trust is None or trust.beyond_chance is None:
        return f"{rows} are represented worst; whether by more than chance was not tested."
    if not trust.beyond_chance:
        return (
            f"No left-out group beyond chance: the {rows} that are represented worst lose no more "
            "than chance gives."
        )
    text, held = f"{rows} are left out: chance tables rarely show as much", trust.held_out
    if held is None or held.p_value is None:
        return f"{text}."
    if held.p_value <= LEVEL and held.low > 0.0:
        return f"{text}, and it holds on rows the search had not seen."
    return f"{text}, but on rows the search had not seen it is no more than chance."


def paragraph(
    found: MaxDisparityPartition,
    trust: Trust | None,
    told: Explanation,
    mended: Mitigation,
    trust_rows: int,
    sampled: bool = False,
) -> str:
    """What was found, in the order in which people ask."""
    share = 100 * found.explained_variance_ratio_.sum()
    kept, own = 100 * found.retained_, 100 * found.retained_own_
    parts = [
        headline(found, trust, sampled),
        f"A shared PCA with {counted(found.n_components_, 'component')} keeps {share:.0f} % of the "
        f"table's variance but {kept[1]:.0f} % of this group's; its own would keep {own[1]:.0f} %.",
    ]
    if told.sentence is not None:
        start = "The group, in a sentence"
        if told.sentence.f1 < _POOR:
            start = "No short sentence describes the group well; the best"
        parts.append(f"{start}: {told.sentence}.")
    parts.append(_chance(trust, trust_rows, int(found.sizes_.sum())))
    parts += _outcome(told)
    before, after = mended.here.losses_before, mended.here.losses_after
    if after.max() < before.max() * (1.0 - 1e-9):
        parts.append(
            f"Fair PCA with as many components would bring the group's loss from {before[1]:.3g} "
            f"to {after[1]:.3g} and the rest's from {before[0]:.3g} to {after[0]:.3g}, and keep "
            f"{100 * max(mended.here.price, 0.0):.2g} percentage points less of the variance."
        )
    return " ".join(parts)


def _chance(trust: Trust | None, trust_rows: int, rows: int) -> str:
    if trust is None or trust.beyond_chance is None or trust.profile.main is None:
        return "Whether this is chance was not tested."
    n_tables, p = len(trust.profile.main.curves), trust.p_value
    assert p is not None
    tables = counted(n_tables, "chance table")
    tables += ", which can give no smaller one" * (p <= 1.0001 / (1 + n_tables))
    on = "" if trust_rows == rows else f", on {trust_rows:,} of the rows"
    compared = f"the disparity is {trust.disparity:.4g}, chance gives {trust.by_chance:.4g}"
    if trust.beyond_chance:
        return f"It is unlikely to be chance: p = {p:.2g} ({tables}{on}); {compared}."
    return (
        f"It may well be chance: p = {p:.2g} ({tables}{on}); {compared}. Read the rest as a "
        "description of the worst case, not as a finding."
    )


def _outcome(told: Explanation) -> list[str]:
    for outcome in told.outcome[:1]:
        if outcome.gap.value != outcome.gap.value:  # nothing is known on one side
            return []
        a, b = outcome.sides()
        mean = outcome.kind == "mean"
        sides = f"{a} on average among them, {b} among" if mean else f"{a} of them, {b} of"
        parts = [f"{outcome.text}: {sides} the rest."]
        free = [o for o in told.other_outcomes if o.encoding == "target-free"]
        if free and (free[0].overlap or 0.0) < _POOR:
            parts.append(
                "But the target is in the encoding; without it, the search finds other rows."
            )
        return parts
    return []
