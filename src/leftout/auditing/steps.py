"""The steps of an audit: find, explain, mend; then name, weigh the evidence, compare.

How many left-out groups an audit is about, of what sizes, and the search for several.

The search is joint, and so are evidence, costs and Fair PCA; then everything is told of each group
beside the rest (:mod:`leftout.auditing.steps`). Where one group is counted, or none, the audit is
that of one group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from leftout import explain
from leftout.auditing import group_selection
from leftout.auditing.algorithms import compared
from leftout.auditing.all_findings import with_findings
from leftout.auditing.given import Given, what_is_given
from leftout.auditing.group_result import Several
from leftout.auditing.group_selection import (
    COMPARE,
    COST,
    EXPLAIN,
    FEW_ROWS,
    FIND,
    FIXED,
    MEND,
    NAME,
    NOT_IN_QUICK,
    NOT_YET,
    PAPER,
    TRUST,
    Sized,
    few_of,
    on_fewer,
)
from leftout.auditing.groups import named_and_known
from leftout.auditing.harm import MOST_KNOWN, Costs, costs, judged, more_groups, worst_off
from leftout.auditing.reading import find_blanks, read_otherwise
from leftout.auditing.readings import read_in_other_ways
from leftout.auditing.result import Audit
from leftout.checks import generator
from leftout.data.preparation import PreparedTable, prepare_table
from leftout.data.reading import Source
from leftout.downstream.outcomes import GROUP
from leftout.errors import InputError
from leftout.evidence.assess import SPLITS, other_starts, trust, trust_each
from leftout.evidence.chance import NullTask
from leftout.evidence.duplicate_rows import find_repeats
from leftout.evidence.evidence_text import Trust
from leftout.evidence.n_groups import HowMany, how_many
from leftout.evidence.stability import Stability, agreement
from leftout.explain import Explanation
from leftout.explain.attribution import search_without
from leftout.explain.replication import sentence_replicates
from leftout.fair.afterwards import afterwards
from leftout.fair.mitigation import Mitigation, mitigate
from leftout.groups.fitted import one_vs_rest
from leftout.groups.known_result import KnownGroups
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.problem_setup import SMALL, SearchProblem
from leftout.groups.sizes import check_size, group_sizes, worst_tenth
from leftout.linalg.losses import WIDE
from leftout.running import Report, Stages, Steps, collected_warnings, one_thread, warn
from leftout.settings import AUTO, EVIDENCE, TENTH, Settings
from leftout.solvers import Alternating

# Comparison tables, halves and parts of the rows are searched many times: on this many at most.
TRUST_ROWS = 50_000
# Above so many rows, fewer splits and starts do: each says more, and takes longer.
_MANY_ROWS, _FEW_SPLITS, _FEW_RUNS = 20_000, 4, 5
# Leading features to search without, and how often to shuffle each.
_WHAT_IF, _SHUFFLES = 5, 1


class Effort(NamedTuple):
    """Searches from other starts, and splits into halves."""

    runs: int
    splits: int


@dataclass(frozen=True)
class AuditPipeline:
    """The steps of an audit, on a table that is taken in."""

    intake: PreparedTable
    search: MaxDisparityPartition  # as asked; the number of components is settled
    posed: SearchProblem  # the whole table's problem, of any size
    settings: Settings
    X: pd.DataFrame
    rows: NDArray[np.intp]  # those that evidence and other solvers are tried on
    part: pd.DataFrame
    stages: Stages
    exact: Callable[[KnownGroups], KnownGroups] | None = None  # where X is a sample, on all rows
    given: Given | None = None  # features or a pipeline; None: the table's own

    @classmethod
    def on(
        cls, source: Source, settings: Settings, n_jobs: int | None, stages: Stages
    ) -> AuditPipeline:
        """Read, encode, and settle what all later steps share."""
        of_sample, of_trust = generator(settings.random_state).spawn(2)
        intake = prepare_table(
            source,
            settings,
            sample=settings.sample,
            once=settings.preset is None,
            rng=of_sample,
        )
        given = what_is_given(source, settings, intake)
        representation = None
        if given is not None:
            intake, representation = intake.seeing(given.features), given.representation
        search = MaxDisparityPartition(
            settings.n_components, representation=representation,
            min_group_size=settings.min_group_size, n_groups=settings.n_groups,
            loss=settings.loss, centering=settings.centering,
            random_state=settings.random_state, n_jobs=n_jobs, solver=settings.solver,
        )  # fmt: skip
        size = None if settings.group_size == EVIDENCE else settings.group_size
        search.set_params(group_size=size)._check_names()
        if settings.n_groups != 1:  # steps search for one group, unless they say otherwise
            if settings.n_groups != AUTO and size != TENTH:
                count = int(settings.n_groups)
                group_sizes(search.min_group_size, size, *intake.X.shape, n_groups=count)
            search.set_params(n_groups=1, group_size=None)
        posed = search._pose(intake.X).resized(size=None)
        d = posed.problem.d
        if representation is None:
            d = group_selection.components(posed, settings.n_components)
        if d != posed.problem.d:
            posed = search.set_params(n_components=d)._pose(intake.X).resized(size=None)
        search.set_params(n_components=d, group_size=None)
        X = pd.DataFrame(intake.X, columns=intake.feature_names)
        rows, part = np.arange(len(X)), X
        if len(X) > TRUST_ROWS and not settings.quick:
            rows = intake.part(TRUST_ROWS, of_trust)
            part = X.iloc[rows].reset_index(drop=True)
            warn(
                f"The group, its description and Fair PCA come from all {len(X):,} rows; "
                f"comparison tables, halves and parts of the rows from {TRUST_ROWS:,} of them, "
                "drawn at random, with sizes in proportion."
            )
        return cls(intake, search, posed, settings, X, rows, part, stages, given=given)

    def audit(
        self,
        notes: list[str],
        first: Callable[[Audit], None] | None = None,
        partial: Callable[[Audit], None] | None = None,
        size: group_selection.Sized | None = None,
    ) -> Audit:
        """All steps; ``notes`` are what was and will be said on the way.

        Whom the search finds, who they are and what Fair PCA does about it is there soon: the
        first answer. Names, costs and evidence take longer. ``size``: of the group, where that is
        settled already.
        """
        begin, asked = self.stages.begin, self.settings
        report, stability = begin(FIND), None
        if asked.preset == "paper":
            stability, size = self._papers_runs(report), group_selection.Sized(None, "free")
            found = group_selection.papers(self.search, self.X, stability)
        else:
            size = size or group_selection.sized(
                self.search, self.posed.problem.d, self.X, self.rows, asked, report
            )
            found = group_selection.found(self.search, self.posed, self.X, size.rows, self.wide)
        with one_thread(self.wide and self.X.size <= SMALL):
            start = self.started(found, stability, self.mended, notes)
        return self.answered(start, size, first, partial)

    def started(
        self,
        found: MaxDisparityPartition,
        stability: Stability | None,
        mended: Callable[[MaxDisparityPartition, Report], Mitigation],
        notes: list[str],
        counted: HowMany | None = None,
        chosen: str = "free",
    ) -> Audit:
        """Who they are, and what Fair PCA does about it; no finding yet.

        ``counted``, ``chosen``: how several groups were counted, and sized.
        """
        other = blanks = None
        if self.settings.preset is None and self.given is None:
            blanks = find_blanks(found, self.intake)
            other = read_otherwise(found, self.intake, self.settings.n_components)
        report = self.stages.begin(EXPLAIN)
        told = [
            self._explained(found, stability, report, label)
            for label in range(1, found.n_groups_ + 1)
        ]
        mitigation = mended(found, self.stages.begin(MEND))
        several = None
        if len(told) > 1:
            several = Several.of(found, told, mitigation, counted, chosen)
        return Audit(
            partition=found,
            trust=None,
            stability=stability,
            comparison=[],
            explanation=told[0],
            mitigation=mitigation,
            named=None,
            known=None,
            harm=None,
            prediction=None,
            returns=None,
            findings=[],
            intake=self.intake,
            other_reading=other,
            blanks=blanks,
            repeats=find_repeats(self.intake.X),
            trust_rows=self.rows,
            smallest=self.posed.problem.min_size,
            scree=self.posed.explained,
            scores=found.score_samples(self.X),
            settings=self.settings,
            notes=notes,
            several=several,
        )

    def answered(
        self,
        start: Audit,
        size: group_selection.Sized,
        first: Callable[[Audit], None] | None = None,
        partial: Callable[[Audit], None] | None = None,
    ) -> Audit:
        """The first answer or, where that is not all that was asked for, the whole.

        ``size``: how the groups came to their sizes.
        """
        asked = self.settings
        skipped = PAPER if asked.preset == "paper" else NOT_IN_QUICK if asked.quick else ""
        answered = with_findings(start, Costs(), [], skipped or NOT_IN_QUICK)
        if asked.quick:
            return answered
        for tell in (first, partial):
            if tell is not None:
                tell(answered)
        return self._weighed_up(start, size, skipped, partial)

    def _weighed_up(
        self,
        start: Audit,
        size: group_selection.Sized,
        skipped: str,
        partial: Callable[[Audit], None] | None,
    ) -> Audit:
        """The same with names, costs and evidence."""

        def so_far(now: Audit, paid: Costs) -> Audit:
            if partial is not None:
                partial(with_findings(now, paid, [], NOT_YET))
            return now

        asked, begin = self.settings, self.stages.begin
        n_jobs, alone = self.search.n_jobs, start.several is None
        runs = None
        if alone and not skipped and self._whole and start.chunks is None:
            runs = self._other_starts(start.looked_at)
            better = start.looked_at
            if runs is not None:
                better = group_selection.best_seen(start.looked_at, self.posed, self.X, runs)
            if better is not start.looked_at:
                start = self.started(better, None, self.mended, start.notes)
        found = start.looked_at
        named, known = named_and_known(
            found,
            self.intake,
            asked,
            group_selection.few_of(self.rows),
            self.wide,
            n_jobs,
            begin(NAME),
        )
        if known is not None and self.exact is not None:
            known = self.exact(known)
        now = so_far(replace(start, named=named, known=known), Costs())
        if not skipped:
            now = self._searched_again(now)
        others = worst_off(now.afterwards, self._few, len(self.X)) | more_groups(named, known)
        paid = costs(found, self.intake, others, asked, n_jobs, begin(COST), self.given)
        also = more_groups(named, known, MOST_KNOWN)
        guessed = [
            judged(one_vs_rest(found, label), self.intake, also, asked.random_state)
            for label in range(1, found.n_groups_ + 1)
        ]
        now = so_far(replace(now, harm=paid.harm), paid)
        report = begin(TRUST)
        if not skipped:
            evidence = self._believed(now, size, report, runs)
            several = now.several and now.several.weighed(evidence)
            now = replace(now, trust=evidence[0], stability=evidence[0].stability, several=several)
        if alone and not skipped:
            rng = generator(asked.random_state)
            try:
                returns = sentence_replicates(found, self.intake.X, self.intake.telling, rng)
                now = replace(now, returns=returns)
            except InputError as error:
                now = replace(now, no_returns=str(error))
            now = so_far(now, paid)
            now = replace(now, explanation=self._again(found, now, report))
        if asked.preset is None and start.chunks is None:
            now = replace(now, readings=read_in_other_ways(found, self.intake, asked))
        if alone and asked.full:
            compares = compared(self.search, self.posed, self.X, self.rows, begin(COMPARE))
            now = replace(now, comparison=compares)
        return with_findings(replace(now, prediction=guessed[0].compared), paid, guessed, skipped)

    @property
    def effort(self) -> Effort:
        """How often the table is searched again."""
        runs = self.settings.n_restarts
        if len(self.part) > _MANY_ROWS or self.wide or not self._whole:
            return Effort(min(runs, _FEW_RUNS), _FEW_SPLITS)
        return Effort(runs, SPLITS)

    @property
    def _whole(self) -> bool:
        return len(self.part) == len(self.X)

    @property
    def _few(self) -> NDArray[np.intp]:
        """Rows among which the worst off are searched again after a mitigation."""
        return group_selection.few_of(np.arange(len(self.X)))

    @property
    def wide(self) -> bool:
        return min(self.part.shape) > WIDE

    def _papers_runs(self, report: Report) -> Stability | None:
        asked = self.settings
        if asked.n_restarts < 2:
            return None
        return agreement(clone(self.search), self.X, n_restarts=asked.n_restarts, progress=report)

    def _other_starts(self, found: MaxDisparityPartition) -> Stability | None:
        """Searches from other starts, always the same: a better group that they find is taken."""
        runs = self.effort.runs
        if runs < 2:
            return None
        task = NullTask.of(clone(self.search).set_params(random_state=FIXED), self.part, sized=True)
        rngs = task.rngs[2].spawn(3)[2].spawn(runs)
        return other_starts(task, [found.left_out_.size], rngs, Steps(runs, None))[0]

    def _believed(
        self, now: Audit, size: group_selection.Sized, report: Report, runs: Stability | None
    ) -> list[Trust]:
        """What explains the loss of each group, whether it comes back, and who belongs."""
        found, effort = now.looked_at, self.effort
        how: dict[str, Any] = {
            "n_surrogates": self.settings.n_surrogates, "n_restarts": effort.runs,
            "splits": effort.splits, "progress": report,
        }  # fmt: skip
        if now.several is not None:
            search = clone(found).set_params(
                random_state=self.search.random_state, min_group_size=None,
                n_jobs=self.search.n_jobs,
            )  # fmt: skip
            everyone = None if self._whole else self.X
            weighed = trust_each(search, self.part, found=found, everyone=everyone, **how)
        elif self._whole:
            how |= {"group_size": found.left_out_.size, "stability": runs}
            weighed = [trust(self.search, self.part, found=found, **how)]
        else:
            search = clone(self.search).set_params(min_group_size=None)
            share, everyone = found.left_out_.share, (self.X, found)
            weighed = [trust(search, self.part, group_size=share, everyone=everyone, **how)]
        sources = self.intake.sources
        over: dict[str, Any] = {}
        if size.p_value is not None:  # the evidence has chosen among sizes already
            over = {"p_value": size.p_value, "over_sizes": size.over_sizes}
        return [
            replace(
                each, of_rows=len(self.X), chosen=size.chosen, **over,
                parts=None if each.parts is None else each.parts.named(sources),
            )
            for each in weighed
        ]  # fmt: skip

    def _explained(
        self,
        found: MaxDisparityPartition,
        stability: Stability | None,
        report: Report,
        label: int,
    ) -> Explanation:
        """Who they are; what would be without leading columns, and other runs, come later."""
        intake = self.intake
        told = explain.group(
            found,
            self.X,
            intake.columns,
            target=None if intake.target is None else intake.target.name,
            positive=intake.positive,
            sensitive=intake.sensitive,
            target_encoded=intake.target_encoded,
            sources=intake.sources,
            runs=None if stability is None else stability.labels,
            what_if=_WHAT_IF if self.settings.preset is not None else 0,
            rows=self.settings.rows,
            label=label,
            progress=report,
        )
        return told if told.rows is None else replace(told, rows=self._numbered(told.rows))

    def _again(self, found: MaxDisparityPartition, now: Audit, report: Report) -> Explanation:
        """The same with what other runs and searches without leading columns say."""
        told, stability = now.explanation, now.stability
        X, sources = self.intake.X, self.intake.sources
        leading = []
        if len(set(sources)) > 2 and found.representation is None:  # it cannot see fewer features
            leading = list(told.by_column())[:_WHAT_IF]
        steps = Steps(len(leading) * (1 + _SHUFFLES), report)
        told = replace(told, what_if=search_without(found, X, sources, leading, _SHUFFLES, steps))
        if stability is None:
            return told
        columns = [column.take(self.rows) for column in self.intake.telling]
        return replace(
            told,
            feature_scores=explain.feature_scores(
                self.part, stability.labels, found.n_components_, centering=found.centering
            ),
            rule_frequency=explain.rule_frequency(columns, stability.labels),
        )

    def _searched_again(self, now: Audit) -> Audit:
        """With whom mitigation leaves worst off; of many rows, some are looked at."""
        found = now.looked_at
        if now.chunks is not None or self.wide:
            large = "is wide" if self.wide else "does not fit into memory"
            why = f"Not looked at where a table {large}: call leftout.afterwards on a part of it."
            return replace(now, no_afterwards=why)
        rows = self._few
        groups = found.left_out_.mask if now.several is None else found.labels_
        try:
            with collected_warnings():  # what they say of halves is nothing for an audit
                after = afterwards(
                    self.intake.X[rows], groups[rows], found.n_components_,
                    representation=found.representation,
                    columns=[column.take(rows) for column in self.intake.telling],
                    of_rows=len(self.X), random_state=FIXED, n_jobs=self.search.n_jobs,
                )  # fmt: skip
        except InputError as error:
            return replace(now, no_afterwards=str(error))
        return replace(now, afterwards=after)

    def _numbered(self, rows: dict[str, Any]) -> dict[str, Any]:
        """Example rows by their number in the table."""
        at = self.intake.rows
        return {
            side: [{**row, "row": int(at[row["row"]])} for row in each]
            for side, each in rows.items()
        }

    def mended(self, found: MaxDisparityPartition, report: Report) -> Mitigation:
        """Fair PCA of all sides."""
        if found.centering != "global":
            warn(
                "Fair PCA is computed by the definition, about the column means: its losses are "
                "not those of the paper's preset."
            )
        # in this order, the rest comes first as everywhere
        groups = [f"the {GROUP}"]
        if found.n_groups_ > 1:
            groups = [f"the {GROUP} {label}" for label in range(1, found.n_groups_ + 1)]
        sides = np.array(["rest", *groups])[found.labels_]
        return mitigate(
            self.X, sides, found.n_components_, representation=found.representation,
            progress=report,
        )  # fmt: skip


# Comparison tables that count groups, if as many were asked for.
_COUNTING = 39
_NONE = (
    "No number of groups goes beyond comparison tables; what follows tells of one group all the "
    "same, "
)
Tell = Callable[[Audit], None] | None


@dataclass(frozen=True)
class _GroupsPlan:
    """How many groups to look for, of what sizes (None: as the search likes), and why."""

    n_groups: int
    sizes: list[int] | None
    chosen: str
    counted: HowMany | None = None


def audit_groups(
    work: AuditPipeline, notes: list[str], first: Tell = None, partial: Tell = None
) -> Audit:
    """All steps of an audit, of as many left-out groups as were asked for."""
    if work.settings.n_groups == 1:
        return work.audit(notes, first, partial)
    plan = _planned(work, work.stages.begin(FIND))
    if plan.n_groups < 2:
        size = None if plan.sizes is None else Sized(plan.sizes[0], plan.chosen)
        return work.audit(notes, first, partial, size)
    start = work.started(_found(work, plan), None, work.mended, notes, plan.counted, plan.chosen)
    return work.answered(start, Sized(None, plan.chosen), first, partial)


def _planned(work: AuditPipeline, report: Report) -> _GroupsPlan:
    asked, m = work.settings, len(work.X)
    if asked.n_groups == AUTO:
        return _counted(work, report)
    n_groups = int(asked.n_groups)
    if asked.group_size is None:
        return _GroupsPlan(n_groups, None, "free")
    if asked.group_size == TENTH:
        tenth = worst_tenth(asked.min_group_size, m, work.posed.problem.d)
        size = min(tenth, max(1, m // (2 * n_groups)))  # half of the rows are left to the rest
        return _GroupsPlan(n_groups, [size] * n_groups, "tenth" if size == tenth else "given")
    _, sizes = group_sizes(asked.min_group_size, asked.group_size, *work.X.shape, n_groups=n_groups)
    return _GroupsPlan(n_groups, sizes, "given")


def _counted(work: AuditPipeline, report: Report) -> _GroupsPlan:
    """As many groups as go beyond comparison tables, of the sizes at which they do."""
    asked, m = work.settings, len(work.X)
    part = work.X.iloc[few_of(work.rows)] if m > FEW_ROWS else work.X
    search = on_fewer(work.search, part, m).set_params(random_state=FIXED)
    fixed = asked.group_size not in (None, TENTH)
    if fixed:
        search.set_params(group_size=check_size("group_size", asked.group_size, m) / m)
    counted = how_many(
        search, part, n_surrogates=min(asked.n_surrogates, _COUNTING), progress=report
    )
    sizes = [max(1, round(size / len(part) * m)) for size in counted.sizes]
    warn(f"How many groups: {counted.summary()}")
    if not sizes:
        warn(f"{_NONE}{'of the size asked for.' if fixed else 'the worst-represented tenth.'}")
        return _GroupsPlan(0, None, "tenth", counted)
    return _GroupsPlan(len(sizes), sizes, "given" if fixed else "evidence", counted)


def _found(work: AuditPipeline, plan: _GroupsPlan) -> MaxDisparityPartition:
    """All groups together, from starts that are always the same."""
    search = clone(work.search).set_params(
        n_groups=plan.n_groups, group_size=plan.sizes, random_state=FIXED, solver=Alternating()
    )
    if plan.sizes is not None:
        search.set_params(min_group_size=None)
    return search.fit(work.X).set_params(solver=work.search.solver)
