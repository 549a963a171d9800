"""What is known of one left-out group: its results, findings about it, and the answer in words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from leftout.checks import check_choice
from leftout.downstream.prediction import ComparedPrediction
from leftout.downstream.result import CostTable, Harm
from leftout.errors import InputError
from leftout.evidence.replication import Stability
from leftout.evidence.verdict import Trust
from leftout.explain import Explanation
from leftout.files import Serializable
from leftout.groups.left_out import LeftOut
from leftout.groups.partition import MaxDisparityPartition

FOUND, NOT_FOUND = "found", "not found"
NOT_APPLICABLE, NOT_RUN = "not applicable", "not run"
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
    caution : str
        A sentence for the first screen, where this changes how to read it.
    """

    code: str
    status: str
    title: str
    detail: str
    caution: str = ""


def check_finding(more: Finding, taken: Iterable[Finding]) -> None:
    """Refuse a finding from outside that others, or the report, could not be told from."""
    check_choice("status", more.status, STATUSES)
    if not re.fullmatch("[A-Z][0-9]{3}", more.code) or more.code in {one.code for one in taken}:
        raise InputError(
            f"The code {more.code!r} of a finding is needed in the form of a capital letter and "
            "three digits, and not twice in an audit. Choose another, such as 'X001'."
        )


@dataclass(frozen=True, kw_only=True)
class Answer(Serializable):
    """What an audit says, a line for each question.

    Attributes
    ----------
    fact : str
        What is lost, whatever explains it: the headline.
    who, why, returns, cost, advice : str
        Who they are, why they lose, whether it replicates, what it costs and what helps.
    mind : list of str
        What changes how to read that.
    costs : CostTable or None
        What predictions get wrong, where they were made.
    lines : dict of str
        All but the fact and what to mind, by what people ask.
    """

    also = ("lines", "text")

    fact: str
    who: str
    why: str
    returns: str
    cost: str
    advice: str
    mind: list[str]
    costs: CostTable | None = None

    @property
    def lines(self) -> dict[str, str]:
        """The lines below the headline, by what people ask; the cost only where it is known."""
        lines = {
            "Who": self.who,
            "Why": self.why,
            "Does it replicate": self.returns,
            "Cost": self.cost,
            "What helps": self.advice,
        }
        return {question: text for question, text in lines.items() if text}

    @property
    def text(self) -> str:
        """All of it as one paragraph."""
        return " ".join(filter(None, [self.fact, *self.lines.values(), *self.mind]))


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupResult(Serializable):
    """A left-out group, and all that an audit says of it.

    Attributes
    ----------
    label : int
        Its number, from 1; groups are numbered by falling loss.
    alone : bool
        Whether it is the only one: then it is called "left out", without a number.
    partition : MaxDisparityPartition
        Of all left-out groups and the rest.
    explanation : Explanation
    answer : Answer or None
        What it says, a line for each question; None until there are findings.
    trust : Trust or None
    stability : Stability or None
        How far searches from other starts agree.
    harm : Harm or None
        What PCA costs it, beside the rest.
    prediction : leftout.downstream.prediction.ComparedPrediction or None
    no_prediction : str
        Why a prediction that is there was not compared.
    findings : list of Finding
        The questions that are asked of every group.
    """

    also = ("name", "left_out", "costs")
    hidden = ("alone", "partition", "stability", "harm", "no_prediction")

    label: int
    alone: bool
    partition: MaxDisparityPartition
    explanation: Explanation
    answer: Answer | None = None
    trust: Trust | None = None
    stability: Stability | None = None
    harm: Harm | None = None
    prediction: ComparedPrediction | None = None
    no_prediction: str = ""
    findings: list[Finding] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What it is called in groups.csv."""
        return "left out" if self.alone else f"left out {self.label}"

    @property
    def left_out(self) -> LeftOut:
        """Its size, losses and what is kept of its variance, beside the rest."""
        return self.partition.left_out_groups_[self.label - 1]

    @property
    def costs(self) -> list[str]:
        """What components cost it, and what mitigations give back, in words."""
        return [] if self.harm is None else self.harm.text
