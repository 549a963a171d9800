"""The verdict of an audit in a sentence, and the whole in a paragraph."""

from __future__ import annotations

from leftout.evidence import LEVEL, Trust
from leftout.explain import Explanation
from leftout.mitigation import Mitigation
from leftout.partition import MaxDisparityPartition
from leftout.wording import counted

_POOR = 0.5


def headline(found: MaxDisparityPartition, trust: Trust | None) -> str:
    """Is anybody left out? One sentence that says no more than was tested."""
    size, rows = f"{found.sizes_[1]:,}", f"{found.sizes_.sum():,}"
    if found.disparity_ <= 0.0:
        return f"No group of {size} of {rows} rows loses more than the rest."
    if trust is None or trust.beyond_chance is None:
        return (
            f"{size} of {rows} rows are represented worst; whether by more than chance was not "
            "tested."
        )
    if not trust.beyond_chance:
        return (
            f"No left-out group beyond chance: the {size} of {rows} rows that are represented "
            "worst lose no more than chance gives."
        )
    held = trust.held_out
    if held is None or held.p_value is None:
        return f"{size} of {rows} rows are left out, and it is unlikely to be chance."
    if held.p_value <= LEVEL and held.low > 0.0:
        return (
            f"{size} of {rows} rows are left out: it is unlikely to be chance, and holds on rows "
            "the search had not seen."
        )
    return (
        f"{size} of {rows} rows are left out: it is unlikely to be chance, but it did not show "
        "beyond chance on rows the search had not seen."
    )


def paragraph(
    found: MaxDisparityPartition,
    trust: Trust | None,
    told: Explanation,
    mended: Mitigation,
    trust_rows: int,
) -> str:
    """What was found, in the order in which people ask."""
    share = 100 * found.explained_variance_ratio_.sum()
    kept, own = 100 * found.retained_, 100 * found.retained_own_
    parts = [
        headline(found, trust),
        f"A shared PCA with {counted(found.n_components_, 'component')} keeps {share:.0f} % of the "
        f"table's variance but {kept[1]:.0f} % of this group's; its own would keep {own[1]:.0f} %.",
    ]
    if told.sentence is not None:
        start = "The group, in a sentence"
        if told.sentence.f1 < _POOR:
            start = "No short sentence describes the group well; the best"
        parts.append(f"{start}: {told.sentence}.")
    parts += _chance(trust, trust_rows, int(found.sizes_.sum()))
    for outcome in told.outcome[:1]:
        if outcome.gap.value != outcome.gap.value:  # nothing is known on one side
            continue
        a, b = outcome.sides()
        if outcome.kind == "mean":
            parts.append(f"{outcome.text}: {a} on average among them, {b} among the rest.")
        else:
            parts.append(f"{outcome.text}: {a} of them, {b} of the rest.")
    here = mended.here
    before, after = here.losses_before.max(), here.losses_after.max()
    if after < before * (1.0 - 1e-9):
        parts.append(
            f"Fair PCA with as many components would bring the larger loss from {before:.3g} to "
            f"{after:.3g}, at a price of {100 * max(here.price, 0.0):.2g} % of the variance."
        )
    return " ".join(parts)


def _chance(trust: Trust | None, trust_rows: int, rows: int) -> list[str]:
    if trust is None or trust.beyond_chance is None or trust.profile.main is None:
        return ["Whether this is chance was not tested."]
    tables = counted(len(trust.profile.main.curves), "chance table")
    on = "" if trust_rows == rows else f" on {trust_rows:,} of the rows"
    if trust.beyond_chance:
        return [f"It is unlikely to be chance: p = {trust.p_value:.2g} ({tables}{on})."]
    return [
        f"It may well be chance: p = {trust.p_value:.2g} ({tables}{on}), so read the rest as a "
        "description of the worst case, not as a finding."
    ]
