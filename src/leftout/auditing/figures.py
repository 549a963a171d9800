"""The figures of a report: what draws each of them, on an axis."""

from __future__ import annotations

from functools import partial
from typing import Any

from leftout import plots

# Shares of the variance to list, and groups to draw.
SCREE, _DRAWN = 50, 14


def figures_of(audit: Any) -> dict[str, Any]:
    """What draws each figure of an audit's report; a group's own end in its number."""
    alone, trust = audit.alone, audit.trust
    found: dict[str, Any] = {"sides": partial(plots.sides, audit.partition)}
    if alone:
        found = {"people": partial(plots.people, audit.looked_at, audit.intake.X)}
    found["mitigation"] = partial(plots.mitigation, audit.mitigation)
    if audit.partition.representation is None:  # of others, components that are dropped are unknown
        kept = audit.partition.n_components_
        found["scree"] = partial(plots.scree, audit.scree[:SCREE], kept)
    for group in audit.left_out_groups:
        mark, told = "" if alone else f"-{group.label}", group.explanation
        found[f"features{mark}"] = partial(plots.disparity_by_feature, told)
        found[f"alignment{mark}"] = partial(plots.alignment, told)
    if audit.known is not None and audit.known.measured:
        found["known"] = partial(plots.known_groups, audit.known, top=_DRAWN)
    if not alone:
        return found
    found["scores"] = partial(plots.feature_scores, audit.explanation)
    if trust is not None:
        found["profile"] = partial(plots.profile, trust.profile)
    if audit.harm is not None:
        found["harm"] = partial(plots.harm, audit.harm)
    return found
