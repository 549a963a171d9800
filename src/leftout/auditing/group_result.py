"""One left-out group of an audit: what was found out about it, beside the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.auditing.answer import Answer, answer_of
from leftout.auditing.findings import Finding
from leftout.downstream.prediction import ComparedPrediction
from leftout.downstream.result import Harm
from leftout.evidence.evidence_text import Trust
from leftout.evidence.n_groups import HowMany
from leftout.explain import Explanation
from leftout.fair.mitigation import Mitigation
from leftout.files import plain
from leftout.groups.fitted import one_vs_rest
from leftout.groups.left_out import LeftOut
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.losses import Array

# What audit.json tells of the evidence for a group.
_EVIDENCE = (
    "p_value", "p_cloud", "p_drawn_in", "beyond_chance", "verdict", "verdict_name", "verdict_says",
    "cross_fitted", "membership",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupResult:
    """A left-out group, and all that an audit says of it.

    Attributes
    ----------
    label : int
        Its number, from 1; groups are numbered by falling loss.
    alone : bool
        Whether it is the only one: then it is called "left out", without a number.
    partition : MaxDisparityPartition
        The group beside the rest, the rows of no left-out group; ``labels_`` is -1 in others.
    explanation : Explanation
    answer : Answer
        What it says, a line for each question.
    trust : Trust or None
    harm : Harm or None
        What PCA costs it, beside the rest.
    prediction : leftout.downstream.prediction.ComparedPrediction or None
    findings : list of Finding
        The questions that are asked of every group.
    """

    label: int
    alone: bool
    partition: MaxDisparityPartition
    explanation: Explanation
    answer: Answer
    trust: Trust | None
    harm: Harm | None
    prediction: ComparedPrediction | None
    findings: list[Finding]

    @property
    def name(self) -> str:
        """What it is called in groups.csv."""
        return "left out" if self.alone else f"left out {self.label}"

    @property
    def mark(self) -> str:
        """What the names of its columns there end in."""
        return "" if self.alone else f"_{self.label}"

    @property
    def left_out(self) -> LeftOut:
        return self.partition.left_out_

    def to_dict(self) -> dict[str, Any]:
        """Plain data; details are where there are several groups, of one the whole audit tells."""
        group, told = self.left_out, self.explanation
        evidence = {} if self.trust is None else self.trust.to_dict()
        return plain({
            "label": self.label,
            "name": self.name,
            "rows": group.size,
            "share": group.share,
            "loss": group.losses.group,
            "rest_loss": group.losses.rest,
            "disparity": group.disparity,
            "bound": group.bound,
            "retained": group.retained.group,
            "retained_own": group.retained_own.group,
            "answer": self.answer,
            "sentence": None if told.sentence is None else told.sentence.text,
            "outcome": told.outcome[0] if told.outcome else None,
            **{key: evidence.get(key) for key in _EVIDENCE},
            "parts": evidence.get("parts"),
            "details": None if self.alone else self._details(evidence),
        })  # fmt: skip

    def _details(self, evidence: dict[str, Any]) -> dict[str, Any]:
        keys = ("chance", "held_out", "stability", "notes")
        return {
            "explanation": self.explanation.to_dict(),
            **{key: evidence.get(key) for key in keys},
            "harm": None
            if self.harm is None
            else {
                "group": self.harm.group,
                "cost": self.harm.cost(),
                "told": self.harm.told,
                "told_brief": self.harm.told_brief,
            },
            "prediction": self.prediction,
            "findings": self.findings,
        }


@dataclass(frozen=True, kw_only=True)
class Several:
    """Several left-out groups: each of them, how they were counted, and how sized."""

    groups: list[GroupResult]
    counted: HowMany | None
    chosen: str

    @classmethod
    def of(
        cls,
        found: MaxDisparityPartition,
        told: Sequence[Explanation],
        mended: Mitigation,
        counted: HowMany | None,
        chosen: str,
    ) -> Several:
        """Groups of which no more is known than who they are."""
        groups = []
        for label, each in enumerate(told, start=1):
            view = one_vs_rest(found, label)
            group = GroupResult(
                label=label, alone=False, partition=view, explanation=each,
                answer=answer_of(view.left_out_, each, mended, label=label), trust=None, harm=None,
                prediction=None, findings=[],
            )  # fmt: skip
            groups.append(group)
        return cls(groups=groups, counted=counted, chosen=chosen)

    def weighed(self, evidence: Sequence[Trust]) -> Several:
        """The same with the evidence for each of them."""
        each = zip(self.groups, evidence, strict=True)
        return replace(self, groups=[replace(group, trust=trust) for group, trust in each])


def rows_of(groups: Sequence[GroupResult], scores: Array) -> dict[str, NDArray[Any]]:
    """Of each row: its group, how far it leans to each, and where evidence was gathered how sure.

    ``scores`` has a column for each group, if they are several.
    """
    side = np.zeros(len(scores), dtype=np.intp)
    found: dict[str, NDArray[Any]] = {"group": side}
    for each, score in zip(groups, scores.reshape(len(scores), -1).T, strict=True):
        side[each.left_out.mask] = each.label
        found[f"score{each.mark}"] = score
    found["group"] = np.array(["rest", *(each.name for each in groups)])[side]
    belongs = [each.trust.membership for each in groups if each.trust is not None]
    sure = [one for one in belongs if one is not None]
    if len(sure) == len(groups):
        found["belongs"] = np.full(len(scores), "rest")
        for each, one in zip(groups, sure, strict=True):
            found["belongs"] = np.where(one.group, one.named(), found["belongs"])
            found[f"membership{each.mark}"] = one.shares
    return found
