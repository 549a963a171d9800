"""What is known of left-out groups, and the answer in the order in which people ask.

What is lost, who, why, how sure, at what cost: each line is worded where its numbers are; here is
which of them are said, and in which order. Page, terminal, ``summary()`` and audit.json all show
these lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from leftout.checks import check_choice
from leftout.downstream.prediction import ComparedPrediction
from leftout.downstream.result import CostTable, Harm
from leftout.errors import InputError
from leftout.evidence.replication import Stability
from leftout.evidence.verdict import Trust
from leftout.explain import Explanation
from leftout.explain.sentence import Sentence
from leftout.fair.assessment import Afterwards
from leftout.fair.mitigation import Mitigation
from leftout.files import Serializable
from leftout.groups.left_out import LeftOut
from leftout.groups.partition import MaxDisparityPartition
from leftout.text import listed, number, part_of, percents, shown_share

FOUND, NOT_FOUND = "found", "not found"
NOT_APPLICABLE, NOT_RUN = "not applicable", "not run"
STATUSES = (FOUND, NOT_FOUND, NOT_APPLICABLE, NOT_RUN)
# Findings whose cautions are said with the answer, most serious first: the first, and a second one
# where the answer has no more words with it.
_CAUTIONS = ("A002", "T005", "R001", "S001", "T007", "T001", "B001", "T004")
_MOST_WORDS = 170
_VERDICTS = {
    "A": "They are a distinct group",
    "B": "There is structure without a sharp group",
    "C": "Rare or skewed values explain the loss",
    "D": "There is nothing beyond the covariance",
}


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


def answer_of(
    groups: Sequence[GroupResult],
    mitigated: Mitigation,
    *,
    harm: Harm | None = None,
    findings: Sequence[Finding] = (),
    sampled: bool = False,
    after: Afterwards | None = None,
) -> Answer:
    """Put together what was found; of several groups, every line has a clause for each.

    ``after``: whom mitigation leaves worst off, where that was searched.
    """
    said = list(findings)
    if len(groups) > 1:
        said += [
            replace(finding, caution=f"Group {each.label}: {finding.caution}")
            for each in groups
            for finding in each.findings
            if finding.caution
        ]
    found = Answer(
        fact=headline([each.left_out for each in groups], sampled),
        who=_of_each(groups, [_who(each.explanation.sentence) for each in groups]),
        why=_of_each(groups, [_why(each.trust) for each in groups]),
        returns=_of_each(groups, [_replicates(each.trust) for each in groups]),
        cost=_costs(groups, harm),
        advice=_advice(groups, mitigated, after),
        mind=[],
        costs=_cost_table(harm, len(groups), after),
    )
    mind, costs = cautions(said), [found.cost]
    # what does not fit is in the table and in the findings
    for text in () if harm is None else (harm.everybody_text, harm.leaks_text):
        costs.append(costs[-1].replace(f" {text}", "") if text else costs[-1])
    tried = [replace(found, mind=mind[:2])]
    tried += [replace(found, cost=cost, mind=mind[:1]) for cost in costs]
    if len(groups) == 1:  # of several, no answer is that short
        why, advice = _without_asides(found.why), _without_asides(found.advice)
        tried += [replace(tried[-1], why=why, advice=advice), replace(tried[-1], mind=[])]
    return next((each for each in tried if len(each.text.split()) <= _MOST_WORDS), tried[-1])


def _without_asides(text: str) -> str:
    """Sentences without what stands in brackets."""
    return re.sub(r" \([^)]*\)", "", text)


def _of_each(groups: Sequence[GroupResult], texts: Sequence[str]) -> str:
    """What is said of one group; of several, of each in turn."""
    if len(set(texts)) == 1:  # of one group; or of all, such as that nothing was tested
        return texts[0]
    each = (f"Group {group.label}: {text}" for group, text in zip(groups, texts, strict=True))
    return " ".join(each)


def cautions(findings: Sequence[Finding]) -> list[str]:
    """Findings that would change what a reader does, most serious first."""
    serious = [each for each in findings if each.caution and each.code in _CAUTIONS]
    serious.sort(key=lambda finding: _CAUTIONS.index(finding.code))
    return [finding.caution for finding in serious]


def headline(groups: Sequence[LeftOut], sampled: bool = False) -> str:
    """What the representation keeps of each group and of the rest: a fact, whatever explains it."""
    first, rows = groups[0], f"{groups[0].n_rows:,} rows"
    sizes = [f"{group.size:,}" for group in groups]
    if len(groups) == 1:
        text = f"No group of {sizes[0]} of {rows} loses more than the rest."
        text = first.fact_text if first.disparity > 0.0 else text
    else:
        rest, *kept = percents(first.retained.rest, *(group.retained.group for group in groups))
        own = percents(*(group.retained_own.group for group in groups))
        each = [f"{share} of that of {size}" for share, size in zip(kept, sizes, strict=True)]
        text = (
            f"The {first.shared} keeps {rest} of the variance of the rest but only {listed(each)} "
            f"of {rows}; PCAs of their own would keep {listed(own)}."
        )
    return text.replace(f" {rows}", f" {rows.replace('rows', 'sampled rows')}") if sampled else text


def _who(sentence: Sentence | None) -> str:
    """The sentence, how much of the group it covers, and how much of what it selects is in it."""
    if sentence is None:
        return "No condition on the columns describes them."
    covered, inside = shown_share(sentence.shown_recall), shown_share(sentence.shown_precision)
    text = f"In {covered} of them, {sentence.words}; {inside} of such rows belong to the group."
    if sentence.describes:
        return text
    return f"No short description fits them; this comes closest. {text}"


def _why(trust: Trust | None) -> str:
    """The verdict, and what each of the three parts adds to the loss."""
    if trust is None:
        return "What explains the loss was not tested."
    if trust.verdict is None:
        return trust.verdict_says
    text, parts = _VERDICTS[trust.verdict], trust.parts
    if parts is None or parts.total <= 0.0:
        return f"{text}."
    shares = {key: round(100 * part.share) for key, part in parts.each().items()}
    add = f"add {shares['values']}%" if shares["values"] >= 0 else f"take {-shares['values']}% off"
    own = f"{shares['own']}% is" if shares["own"] > 0 else "none is"
    more = f" (surrogates lose {-shares['own']}% more)" if shares["own"] < -2 else ""
    alone = f"covariance alone explains {shares['covariance']}%"
    if trust.verdict == "C":
        values = "they"
        if shares["values"] < shares["covariance"]:
            text, values = "Covariance with rare or skewed values explains the loss", "these"
        return f"{text}: {alone}, {values} {add}, and {own} structure of their own{more}."
    if trust.verdict in "AB" and shares["own"] < 50:  # true by the test, and a large word for it
        whose = "their own structure" if trust.verdict == "A" else "it"
        small = f"{whose} is only {max(shares['own'], 0)}% of the loss"
        return f"{text}, but {small}: {alone}, rare and skewed values {add}{more}."
    return (
        f"{text}: {alone} of the loss, rare and skewed values {add}, and {own} structure of their "
        f"own{more}."
    )


def _replicates(trust: Trust | None) -> str:
    """The gap on held-out rows, with its interval, beside the one that was found."""
    if trust is None or trust.held_out is None:
        return "Whether it replicates was not tested."
    value, low, high = trust.held_out.gap
    how = "It replicates" if low >= trust.disparity / 2.0 else "It replicates in part"
    how = how if low > 0.0 else "It does not replicate"
    return (
        f"{how}: the gap in excess squared error is {number(value, digits=2)} "
        f"({number(low, value, 2)} to {number(high, value, 2)}) on held-out rows, "
        f"{number(trust.disparity, digits=2)} on all."
    )


def _costs(groups: Sequence[GroupResult], harm: Harm | None) -> str:
    """What a model pays for seeing components; where none was fitted, the outcome on both sides."""
    paid = [group.harm for group in groups if group.harm is not None]
    if harm is None or len(paid) < len(groups):
        said = [_outcomes(each) for each in groups]
        if any(said):
            said = [each or "Too few rows to tell the outcome." for each in said]
        return _of_each(groups, said)
    if len(paid) == 1:
        return paid[0].brief_text
    each = _of_each(groups, [f"{one.errors_text}. {one.verdict_text}" for one in paid])
    everybody = harm.everybody_text.strip("()").replace("everybody: ", "For everybody it is ")
    return f"{each} {everybody}. {harm.leaks_text}".rstrip()


def _outcomes(group: GroupResult) -> str:
    explanation = group.explanation
    outcomes = [*explanation.outcome[:1]]
    missing = explanation.no_outcome
    if group.alone and missing is not None and missing.notable:
        outcomes.append(missing)
    return " ".join(f"{outcome.words}." for outcome in outcomes)


def _cost_table(harm: Harm | None, n_groups: int, after: Afterwards | None) -> CostTable | None:
    """Errors on all sides, and where all are known on whom each projection leaves worst off."""
    if harm is None or len(harm.sizes) != n_groups + 1:  # of one of several, all of them say it
        return None
    if after is None or after.rows < after.of_rows:
        return harm.cost_table()
    size = part_of(after.size / after.of_rows)
    share = size.partition(" ")[2] if size.startswith("a ") else f"{after.size:,} rows"
    return harm.cost_table([line.worst for line in after.lines], f"worst {share} after it")


def _advice(groups: Sequence[GroupResult], mitigated: Mitigation, after: Afterwards | None) -> str:
    """What to use instead, and why."""
    if after is not None:
        return after.brief_text
    losses = mitigated.losses_text([each.label for each in groups])
    return (
        f"Fair PCA with as many components brings {losses}; whether another group then loses as "
        "much was not tested."
    )
