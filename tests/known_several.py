"""An audit of two left-out groups with known numbers, no two alike.

What belongs to the first group ends in 7, to the second in 9, to the rest in 3, as far as sums
allow it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import known
from leftout.auditing.answer import GroupResult
from leftout.auditing.findings import with_findings
from leftout.data.conditions import Condition
from leftout.downstream.outcomes import VARIANTS
from leftout.downstream.result import Figure
from leftout.evidence.n_groups import ExtractedGroup, HowMany
from leftout.linalg.significance import Interval

SIZES = np.array([7_934, 1_267, 809])
ERRORS = {
    "left-out group 1": (0.117, 0.237, 0.157, 0.167),
    "left-out group 2": (0.109, 0.189, 0.129, 0.139),
    "rest": (0.093, 0.103, 0.113, 0.107),
}


class Joint(known.Found):
    """A search for two groups that has ended."""

    bound_ = np.array([0.717, 0.529])


def partition():
    found = Joint(3, n_groups=2)
    settled = {
        "labels_": np.repeat([0, 1, 2], SIZES),
        "n_groups_": 2,
        "sizes_": SIZES,
        "weighted_sizes_": SIZES,
        "losses_": np.array([0.043, 0.627, 0.409]),
        "disparities_": np.array([0.584, 0.366]),
        "disparity_": 0.499,
        "retained_": np.array([0.83, 0.27, 0.49]),
        "retained_own_": np.array([0.93, 0.67, 0.79]),
        "n_components_": 3,
        "n_features_in_": 17,
        "explained_variance_ratio_": np.array([0.41, 0.22, 0.12]),
        "group_components_": np.zeros((3, 3, 17)),
        "mean_": np.zeros(17),
        "components_": np.eye(3, 17),
        "representation_": known.SHARED,
        "offset_": np.array([0.5, 0.25]),
        "history_": None,
        "stopped_": "local optimum",
    }
    for name, value in settled.items():
        setattr(found, name, value)
    return found


def harm():
    """What components cost both groups beside the rest."""
    found = known.harm()
    figures = []
    for side, errors in ERRORS.items():
        usual = "rest" if side == "rest" else "left-out group"
        for place, variant in enumerate(VARIANTS):
            told = known.measures(usual, place) | {"error": known.around(errors[place])}
            figures.append(Figure("logistic", side, variant, 1_000.0, told))
    second = replace(
        found.costs[0],
        cost=Interval(0.08, 0.059, 0.099),
        extra_cost=Interval(0.07, 0.049, 0.089),
        returns={
            seen: back._replace(group=Interval(0.06, 0.039, 0.079))
            for seen, back in found.costs[0].returns.items()
        },
    )
    pairs = [(found.costs[0], found.costs[1]), (second, found.costs[1])]
    names = list(ERRORS)[:2]
    return replace(
        found, group=names[0], rest="rest", figures=figures,
        sizes=dict(zip(ERRORS, (1_247, 799, 7_914), strict=True)),
        costs=[
            replace(cost, side=name)
            for costs, name in zip(pairs, names, strict=True)
            for cost in costs
        ],
    )  # fmt: skip


def mitigation():
    here = known.dimension(
        before=(0.043, 0.627, 0.409), after=(0.253, 0.257, 0.249), kept=(0.75, 0.713)
    )
    return known.mitigation(
        here, groups=["rest", "the left-out group 1", "the left-out group 2"],
        sizes=SIZES.tolist(), group_weights=np.array([0.3, 0.4, 0.3]), by_dimension=[here],
        retained_before=np.array([0.833, 0.277, 0.499]),
        retained_after=np.array([0.703, 0.607, 0.709]),
    )  # fmt: skip


def explanations():
    first = known.explanation()
    heat = Condition("heat", "=", "heat = oil", value="oil")
    sizes = {"size": 809, "n_rows": int(SIZES.sum())}
    told = known.sentence(alternatives=((heat,),), covered=729, count=649, **sizes)
    second = known.explanation(
        sentence=told,
        outcome=[
            known.outcome(
                (-0.14, -0.19, -0.09), left_out=Interval(0.589, 0.549, 0.629), difference=-0.29
            )
        ],
        alignment=known.alignment()[1:3],
        disparity_by_feature=known.by_feature(0.9),
    )
    return first, second


def membership(label, sure):
    group = np.repeat([0, 1, 2], SIZES) == label
    shares = np.where(group, 0.6875, 0.0625)
    shares[np.flatnonzero(group)[:sure]] = 0.9375
    return replace(known.membership(), shares=shares, group=group)


def trusts(found):
    first = known.trust(
        partition=found, label=1, group_size=617, p_winsorized=None,
        membership=membership(1, 747), parts=known.parts((0.207, 0.143, 0.234)),
    )  # fmt: skip
    second = known.trust(
        partition=found, label=2, group_size=617,
        p_value=0.219, p_gaussian=0.039,
        p_winsorized=None, held_out=known.held_out(0.289), membership=membership(2, 419),
        parts=known.parts((0.109, 0.219, 0.038), 0.039, 0.219), notes=[],
    )  # fmt: skip
    return first, second


def extracted(size, disparity, chance, p_value, tables):
    return ExtractedGroup(
        size=size, disparity=disparity, chance=chance, p_value=p_value, tables=tables, n_sizes=8
    )


def counted():
    looked = [
        ExtractedGroup(
            size=1_267, disparity=0.597, chance=0.317, p_value=0.017, tables=39, n_sizes=8
        ),
        ExtractedGroup(
            size=809, disparity=0.399, chance=0.219, p_value=0.029, tables=39, n_sizes=8
        ),
        extracted(303, 0.203, 0.193, 0.43, 9),
    ]
    return HowMany(looked=looked)


def audit(swapped=False):
    """Both groups; ``swapped``: with what is told of each of them the other way round."""
    found, paid = partition(), harm()
    told, weighed = explanations(), trusts(found)
    if swapped:
        told, weighed = told[::-1], weighed[::-1]
    groups = [
        GroupResult(
            label=label, alone=False, partition=found,
            explanation=told[label - 1], trust=weighed[label - 1],
            stability=weighed[label - 1].stability, harm=paid.of(f"left-out group {label}"),
            prediction=known.compared(Interval(0.107 + label / 1000, 0.071, 0.137)),
        )
        for label in (1, 2)
    ]  # fmt: skip
    whole = replace(
        known.audit(harm=paid, afterwards=known.afterwards(n_groups=2)),
        partition=found, left_out_groups=groups, mitigation=mitigation(),
        scores=np.column_stack([np.linspace(-1.0, 1.0, SIZES.sum()), np.zeros(SIZES.sum())]),
        counted=counted(), chosen="given",
    )  # fmt: skip
    return with_findings(whole, "")
