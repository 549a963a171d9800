"""The steps of an audit that looks for several left-out groups, or counts them.

The search is joint, and so are evidence, costs and Fair PCA; then everything is told of each group
beside the rest. Where one group is counted, or none, the audit is that of one group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from leftout.auditing.answer import Answer, answer_of
from leftout.auditing.finding import FEW_ROWS, FIXED, Sized, few_of, on_fewer
from leftout.auditing.groups import group_findings, named_and_known
from leftout.auditing.harm import Costs, costs, more_groups
from leftout.auditing.one_group import GroupAudit, Several
from leftout.auditing.prediction import MOST_KNOWN, Judged, judged
from leftout.auditing.reading import read_otherwise, table_findings
from leftout.auditing.result import Audit
from leftout.auditing.several_findings import count_finding, mended_finding, one_groups_findings
from leftout.auditing.stages import COST, EXPLAIN, FIND, MEND, NAME, NOT_YET, QUICK, TRUST
from leftout.auditing.steps import Work
from leftout.downstream.aims import GROUP
from leftout.downstream.result import Harm
from leftout.evidence.counting import HowMany, how_many
from leftout.evidence.repeats import find_repeats
from leftout.evidence.trusting import Trust
from leftout.evidence.trusting_each import trust_each
from leftout.explain import Explanation
from leftout.fair.mitigation import Mitigation, mitigate
from leftout.running import Report, note
from leftout.search.names import NamedGroups
from leftout.search.one_of import one_of
from leftout.search.partition import MaxDisparityPartition
from leftout.search.several import AUTO
from leftout.search.sizes import TENTH, check_size, several_sizes, worst_tenth
from leftout.solvers import Alternating

# Comparison tables that count groups, if as many were asked for.
_COUNTING = 39
_NONE = (
    "No number of groups goes beyond comparison tables; what follows tells of one group all the "
    "same, "
)
Tell = Callable[[Audit], None] | None


@dataclass(frozen=True)
class _Plan:
    """How many groups to look for, of what sizes (None: as the search likes), and why."""

    n_groups: int
    sizes: list[int] | None
    chosen: str
    counted: HowMany | None = None


def audit_groups(work: Work, notes: list[str], first: Tell = None, partial: Tell = None) -> Audit:
    """All steps of an audit, of as many left-out groups as were asked for."""
    if work.settings.n_groups == 2:
        return work.audit(notes, first, partial)
    plan = _planned(work, work.stages.begin(FIND))
    if plan.n_groups < 2:
        size = None if plan.sizes is None else Sized(plan.sizes[0], plan.chosen)
        return work.audit(notes, first, partial, size)
    return _Groups(work, plan).audit(notes, first, partial)


def _planned(work: Work, report: Report) -> _Plan:
    asked, m = work.settings, len(work.X)
    if asked.n_groups == AUTO:
        return _counted(work, report)
    n_groups = int(asked.n_groups) - 1
    if asked.group_size is None:
        return _Plan(n_groups, None, "free")
    if asked.group_size == TENTH:
        tenth = worst_tenth(asked.min_group_size, m, work.posed.problem.d)
        size = min(tenth, max(1, m // (2 * n_groups)))  # half of the rows are left to the rest
        return _Plan(n_groups, [size] * n_groups, "tenth" if size == tenth else "given")
    _, sizes = several_sizes(
        asked.min_group_size, asked.group_size, n_groups + 1, m, work.X.shape[1]
    )
    return _Plan(n_groups, sizes, "given")


def _counted(work: Work, report: Report) -> _Plan:
    """As many groups as go beyond comparison tables, of the sizes at which they do."""
    asked, m = work.settings, len(work.X)
    part = work.X.iloc[few_of(work.rows)] if m > FEW_ROWS else work.X
    search = on_fewer(work.search, part, m).set_params(random_state=FIXED)
    fixed = asked.group_size not in (None, TENTH)
    if fixed:
        search.set_params(group_size=check_size("group_size", asked.group_size, m) / m)
    counted = how_many(search, part, chance=min(asked.chance, _COUNTING), progress=report)
    sizes = [max(1, round(size / len(part) * m)) for size in counted.sizes]
    note(f"How many groups: {counted.summary()}")
    if not sizes:
        note(f"{_NONE}{'of the size asked for.' if fixed else 'the worst-represented tenth.'}")
        return _Plan(0, None, "tenth", counted)
    return _Plan(len(sizes), sizes, "given" if fixed else "evidence", counted)


@dataclass(frozen=True)
class _Groups:
    """Several groups, and how they came about."""

    work: Work
    plan: _Plan

    def audit(self, notes: list[str], first: Tell, partial: Tell) -> Audit:
        work, asked = self.work, self.work.settings
        found = self._found()
        start = self._started(found, notes)
        answered = self._told(start, Costs(), {}, QUICK)
        if asked.quick:
            return answered
        for tell in (first, partial):
            if tell is not None:
                tell(answered)

        def so_far(paid: Costs, **more: Any) -> None:
            if partial is not None:
                partial(self._told(replace(start, **more), paid, {}, NOT_YET))

        begin, n_jobs = work.stages.begin, work.search.n_jobs
        named, known = named_and_known(
            found, work.intake, asked, few_of(work.rows), work.wide, n_jobs, begin(NAME)
        )
        so_far(Costs(), named=named, known=known)
        paid = costs(found, work.intake, more_groups(named, known), asked, n_jobs, begin(COST))
        so_far(paid, named=named, known=known, harm=paid.harm)
        also = more_groups(named, known, MOST_KNOWN)
        guessed = {
            each.label: judged(each.partition, work.intake, also, asked.random_state)
            for each in self._groups(start)
        }
        weighed = self._weighed(found, begin(TRUST))
        groups = [
            each.weighed(trust) for each, trust in zip(self._groups(start), weighed, strict=True)
        ]
        whole = replace(
            start, named=named, known=known, harm=paid.harm, trust=weighed[0],
            stability=weighed[0].stability, prediction=guessed[1].compared,
            several=replace(self._several(start), groups=groups),
        )  # fmt: skip
        return self._told(whole, paid, guessed, "")

    @staticmethod
    def _several(found: Audit) -> Several:
        assert found.several is not None
        return found.several

    def _groups(self, found: Audit) -> list[GroupAudit]:
        return self._several(found).groups

    def _found(self) -> MaxDisparityPartition:
        """All groups together, from starts that are always the same."""
        work, plan = self.work, self.plan
        search = clone(work.search).set_params(
            n_groups=plan.n_groups + 1, group_size=plan.sizes, random_state=FIXED,
            solver=Alternating(),
        )  # fmt: skip
        if plan.sizes is not None:
            search.set_params(min_group_size=None)
        return search.fit(work.X).set_params(solver=work.search.solver)

    def _started(self, found: MaxDisparityPartition, notes: list[str]) -> Audit:
        """Who they are, and what Fair PCA does about it; no finding yet."""
        work = self.work
        report = work.stages.begin(EXPLAIN)
        told = [work.explained(found, None, report, label) for label in range(1, found.n_groups_)]
        other = read_otherwise(found, work.intake, work.settings.n_components)
        mended = self._mended(found, work.stages.begin(MEND))
        groups = [
            GroupAudit(
                label=label, alone=False, partition=one_of(found, label), explanation=each,
                answer=_answered(found, label, each, mended), trust=None, harm=None,
                prediction=None, findings=[],
            )
            for label, each in enumerate(told, start=1)
        ]  # fmt: skip
        return Audit(
            partition=found,
            trust=None,
            stability=None,
            comparison=[],
            explanation=told[0],
            mitigation=mended,
            named=None,
            known=None,
            harm=None,
            prediction=None,
            returns=None,
            findings=[],
            intake=work.intake,
            other_reading=other,
            repeats=find_repeats(work.intake.X),
            trust_rows=work.rows,
            smallest=work.posed.problem.min_size,
            scree=work.posed.explained,
            scores=found.score_samples(work.X),
            settings=work.settings,
            notes=notes,
            several=Several(groups=groups, counted=self.plan.counted, chosen=self.plan.chosen),
        )

    def _mended(self, found: MaxDisparityPartition, report: Report) -> Mitigation:
        # in this order, the rest comes first as everywhere
        names = np.array(["rest", *(f"the {GROUP} {j}" for j in range(1, found.n_groups_))])
        return mitigate(self.work.X, names[found.labels_], found.n_components_, progress=report)

    def _weighed(self, found: MaxDisparityPartition, report: Report) -> list[Trust]:
        work, asked = self.work, self.work.settings
        whole = len(work.part) == len(work.X)
        search = clone(found).set_params(
            random_state=work.search.random_state, min_group_size=None, n_jobs=work.search.n_jobs
        )
        effort = work.effort
        weighed = trust_each(
            search,
            work.part,
            chance=asked.chance,
            runs=effort.runs,
            splits=effort.splits,
            chosen=self.plan.chosen,
            progress=report,
            found=found,
            everyone=None if whole else work.X,
        )
        sources = work.intake.encoder.sources_
        return [
            replace(
                each, of_rows=len(work.X),
                parts=None if each.parts is None else each.parts.named(sources),
            )
            for each in weighed
        ]  # fmt: skip

    def _told(self, found: Audit, paid: Costs, guessed: dict[int, Judged], skipped: str) -> Audit:
        """The audit with its questions and their answers, for each group and for all."""
        intake, harm = self.work.intake, paid.harm
        groups = []
        for each in self._groups(found):
            cost = None if harm is None else harm.of(f"{GROUP} {each.label}")
            judgement = guessed.get(each.label, Judged())
            told = replace(
                each, harm=cost, prediction=judgement.compared,
                answer=_answered(
                    found.partition, each.label, each.explanation, found.mitigation, each.trust,
                    found.named, cost, found.n_rows < intake.n_rows,
                ),
            )  # fmt: skip
            asked = one_groups_findings(told, intake, paid.why, judgement, skipped)
            groups.append(replace(told, findings=asked))
        return replace(
            found,
            several=replace(self._several(found), groups=groups),
            findings=[
                count_finding(groups, self.plan.counted, skipped),
                mended_finding(found.mitigation),
                *group_findings(found.named, found.known, intake, skipped),
                *table_findings(intake, found.other_reading, found.repeats),
            ],
        )


def _answered(
    found: MaxDisparityPartition,
    label: int,
    told: Explanation,
    mended: Mitigation,
    trust: Trust | None = None,
    named: NamedGroups | None = None,
    harm: Harm | None = None,
    sampled: bool = False,
) -> Answer:
    """What is said of one group; what changes how to read it is said of all at once."""
    group = found.left_out_groups_[label - 1]
    return answer_of(group, group.mask, sampled, told, mended, trust, named, harm, [], label)
