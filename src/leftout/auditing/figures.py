"""The figures of a report: what draws each of them, on an axis."""

from __future__ import annotations

from functools import partial
from typing import Any

from leftout import plots

# Shares of the variance to list, and groups to draw.
SCREE, _DRAWN = 50, 14


def figures_of(audit: Any) -> dict[str, Any]:
    """What draws each figure of an audit's report."""
    found = _of_one(audit) if audit.several is None else _of_several(audit)
    if audit.known is not None and audit.known.measured:
        found["known"] = partial(plots.known_groups, audit.known, top=_DRAWN)
    if audit.several is not None:
        return found
    if audit.harm is not None:
        found["harm"] = partial(plots.harm, audit.harm)
    if audit.stability is not None:
        found["agreement"] = partial(plots.jaccard, audit.stability)
        found["consensus"] = partial(plots.consensus, audit.stability)
    return found


def _of_one(audit: Any) -> dict[str, Any]:
    told, trust = audit.explanation, audit.trust
    found: dict[str, Any] = {
        "people": partial(plots.people, audit.looked_at, audit.intake.X),
        **_of_all(audit),
        "features": partial(plots.disparity_by_feature, told),
        "scores": partial(plots.feature_scores, told),
        "alignment": partial(plots.alignment, told),
    }
    if trust is not None:
        found["profile"] = partial(plots.profile, trust.profile)
        if trust.parts is not None:
            found["parts"] = partial(plots.parts, trust.parts)
    return found


def _of_several(audit: Any) -> dict[str, Any]:
    """All groups in one figure, then who each of them is."""
    found = {"sides": partial(plots.sides, audit.partition), **_of_all(audit)}
    for group in audit.several.groups:
        told = group.explanation
        found[f"alignment-{group.label}"] = partial(plots.alignment, told)
        found[f"features-{group.label}"] = partial(plots.disparity_by_feature, told)
    return found


def _of_all(audit: Any) -> dict[str, Any]:
    found = {"mitigation": partial(plots.mitigation, audit.mitigation)}
    if audit.partition.representation is None:  # of others, components that are dropped are unknown
        kept = audit.partition.n_components_
        found["scree"] = partial(plots.scree, audit.scree[:SCREE], kept)
    return found
