"""The answer in the order in which people ask: what is lost, who, why, how sure, at what cost.

Each line is worded where its numbers are; here is which of them are said, and in which order. Page,
terminal, ``summary()`` and audit.json all show these lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leftout.auditing.findings import FOUND, NOT_FOUND, Finding
from leftout.data.conditions import Mask
from leftout.downstream.result import Harm
from leftout.evidence.evidence_text import Trust
from leftout.explain import Explanation
from leftout.explain.sentence import Sentence
from leftout.fair.afterwards import Afterwards
from leftout.fair.mitigation import Mitigation
from leftout.files import Serializable
from leftout.groups.left_out import LeftOut, describe_points
from leftout.groups.subgroups import NamedGroup, NamedGroups

# Findings that would change what a reader does, most serious first: under which status they are
# said with the answer, and how that begins where the detail does not say it; so many at the most.
_MIND = {
    "A002": (FOUND, "A searched column stands for a sensitive one."),
    "T005": (FOUND, ""),
    "R001": (NOT_FOUND, ""),
    "S001": (NOT_FOUND, "Searches from other starts find other groups."),
    "T007": (FOUND, ""),
    "T001": (FOUND, ""),
    "T002": (FOUND, ""),
    "S003": (NOT_FOUND, "The group is another when the target is kept out of the encoding."),
    "B001": (NOT_FOUND, "Who belongs is uncertain."),
    "T004": (FOUND, "Values may stand for something else."),
}
_MOST_MIND = 4
# Said where Fair PCA for the group is, and nobody has searched again: in full,
# leftout.fair.mitigation.NOT_FOR_OTHERS.
OTHERS_LOSE = "Under Fair PCA another group may lose as much."
# Names that cover less of the group than this fail; so many are said.
_COVER, _NAMES = 0.5, 3
# Each further name must cover so much of the group anew, and each condition be worth this much of
# F1: shorter names are read more easily.
_NEW, _LENGTH = 0.05, 0.02


@dataclass(frozen=True, kw_only=True)
class Answer(Serializable):
    """What an audit says, a line for each question.

    Attributes
    ----------
    fact : str
        What is lost, whatever explains it: the headline.
    who, why, returns, cost : str
        Who they are, why they lose, whether it comes back, what it costs and what can be done.
    mind : list of str
        What changes how to read that.
    lines : dict of str
        All but the fact and what to mind, by what people ask.
    """

    also = ("lines",)

    fact: str
    who: str
    why: str
    returns: str
    cost: str
    mind: list[str]

    @property
    def lines(self) -> dict[str, str]:
        """The lines below the headline, by what people ask."""
        return {
            "Who": self.who,
            "Why": self.why,
            "Does it come back": self.returns,
            "Cost, and what helps": self.cost,
        }

    @property
    def text(self) -> str:
        """All of it as one paragraph."""
        return " ".join([self.fact, *self.lines.values(), *self.mind])


def answer_of(
    group: LeftOut,
    told: Explanation,
    mended: Mitigation,
    *,
    trust: Trust | None = None,
    named: NamedGroups | None = None,
    harm: Harm | None = None,
    findings: Sequence[Finding] = (),
    sampled: bool = False,
    mask: Mask | None = None,
    label: int = 1,
    after: Afterwards | None = None,
) -> Answer:
    """Put together what was found.

    ``mask``: the group among the rows that names are known for, where these are not all;
    ``label``: which of the sides that ``mended`` is about it is; the rest comes first; ``after``:
    whom mitigation leaves worst off, where that was searched.
    """
    return Answer(
        fact=headline(group, sampled),
        who=_who(told, named, group.mask if mask is None else mask),
        why=_why(trust),
        returns=_returns(trust),
        cost=_cost(told, mended, harm, label, after),
        mind=cautions(findings),
    )


def cautions(findings: Sequence[Finding]) -> list[str]:
    """Findings that would change what a reader does, most serious first."""
    order = list(_MIND)
    serious = [f for f in findings if f.code in _MIND and _MIND[f.code][0] == f.status]
    serious.sort(key=lambda f: order.index(f.code))
    return [f"{_MIND[f.code][1]} {f.detail}".lstrip() for f in serious[:_MOST_MIND]]


def headline(group: LeftOut, sampled: bool = False) -> str:
    """What is lost, in one sentence: a fact, whatever explains it."""
    rows = f"{group.size:,} of {group.n_rows:,} {'sampled ' * sampled}rows"
    if group.disparity <= 0.0:
        return f"No group of {rows} loses more than the rest."
    lost, rest = (describe_points(max(share, 0.0)) for share in group.points)
    return (
        f"By sharing one {group.shared}, {rows} lose {lost} of their variance, the rest "
        f"{rest.split()[0]}."
    )


def covering(named: NamedGroups | None, group: Mask) -> tuple[list[NamedGroup], Mask]:
    """The names that cover the group, each with something new, and all that they cover.

    In turn the name that adds most to the F1 of all of them together, while any does; of a name of
    several conditions it must be more.
    """
    chosen: list[NamedGroup] = []
    covered = np.zeros(len(group), dtype=bool)
    size = int(group.sum())
    left = [] if named is None else list(named.groups)
    best = 0.0
    while left and len(chosen) < _NAMES:
        scored = [(_f1(covered | each.mask, group), each) for each in left]
        f1, name = max(scored, key=lambda one: one[0] - _LENGTH * len(one[1].conditions))
        if f1 <= best or np.sum(group & name.mask & ~covered) < _NEW * size:
            break
        best, covered = f1, covered | name.mask
        chosen.append(name)
        left.remove(name)
    return chosen, covered


def _f1(covered: Mask, group: Mask) -> float:
    return 2.0 * float(np.sum(covered & group)) / float(covered.sum() + group.sum())


def _who(told: Explanation, named: NamedGroups | None, group: Mask) -> str:
    """Names that cover half of the group or a sentence that describes it, whichever fits better."""
    names, covered = covering(named, group)
    sentence, inside = told.sentence, int(np.sum(covered & group))
    cover = bool(names) and inside >= _COVER * group.sum()
    if sentence is not None and sentence.describes:
        if not cover or sentence.f1 > _f1(covered, group):
            return _described(sentence, told)
    if cover:
        conditions = joined([name.condition for name in names])
        return named_so(conditions, inside / group.sum(), inside / covered.sum())
    if sentence is not None:
        return f"No short description fits; the closest: {_described(sentence, told)}"
    return "Nobody that columns could name."


def named_so(conditions: str, recall: float, precision: float) -> str:
    """What names the group, how much of it that is, and how much of what is named is in it."""
    return f"{conditions}: {100 * recall:.0f} % of the group, {100 * precision:.0f} % of all named."


def _described(sentence: Sentence, told: Explanation) -> str:
    """The same of a sentence, with the columns in it that lower the loss."""
    text = named_so(sentence.text, sentence.recall, sentence.precision)
    return f"{text} {sentence.told_off(told.by_column())}".rstrip()


def joined(conditions: list[str]) -> str:
    """Names of groups that are one together: a; b; or c."""
    *others, last = conditions
    return "; ".join([*others, f"or {last}"]) if others else last


def _why(trust: Trust | None) -> str:
    return "What explains the loss was not looked at." if trust is None else trust.told_verdict


def _returns(trust: Trust | None) -> str:
    if trust is None or (trust.held_out is None and trust.membership is None):
        return "Whether it comes back was not looked at."
    said = [] if trust.held_out is None else [trust.held_out.told_gap]
    said += [] if trust.membership is None else [trust.membership.told_short]
    return " ".join(said)


def _cost(
    told: Explanation,
    mended: Mitigation,
    harm: Harm | None,
    label: int,
    after: Afterwards | None,
) -> str:
    """The outcome on both sides, what a model pays, what Fair PCA gives back, and what to use."""
    said = [f"{told.outcome[0].brief}." for _ in told.outcome[:1]]
    if told.no_outcome is not None and told.no_outcome.notable:
        said.append(f"{told.no_outcome.brief}.")
    helps = describe_fair(mended, [label]) if harm is None else harm.told_brief
    return " ".join([*said, helps, OTHERS_LOSE if after is None else after.told_brief])


def describe_fair(mended: Mitigation, labels: Sequence[int]) -> str:
    """What Fair PCA does to the losses of some groups, and to the rest's."""
    return f"Fair PCA with as many components brings {mended.here.told_losses(labels)}."
