"""The steps of an audit: find, explain, mend; then name, weigh the evidence, compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from leftout import explain
from leftout.auditing import finding
from leftout.auditing.algorithms import compared
from leftout.auditing.findings import findings
from leftout.auditing.groups import group_findings, named_and_known
from leftout.auditing.harm import Costs, costs, harm_findings, more_groups
from leftout.auditing.prediction import MOST_KNOWN, Judged, judged, prediction_finding
from leftout.auditing.reading import read_otherwise, table_findings
from leftout.auditing.result import Audit
from leftout.auditing.settings import Settings
from leftout.auditing.stages import (
    COMPARE,
    COST,
    EXPLAIN,
    FIND,
    MEND,
    NAME,
    NOT_YET,
    PAPER,
    QUICK,
    TRUST,
)
from leftout.checks import generator
from leftout.core.losses import WIDE
from leftout.evidence.repeats import find_repeats
from leftout.evidence.stability import Stability, agreement
from leftout.evidence.trusting import EVIDENCE, SPLITS, Trust, trust
from leftout.explain import Explanation
from leftout.explain.returning import sentence_returns
from leftout.explain.what_if import search_without
from leftout.fair.mitigation import Mitigation, mitigate
from leftout.running import Report, Stages, Steps, note, one_thread
from leftout.search.groups import KnownGroups
from leftout.search.partition import MaxDisparityPartition
from leftout.search.pose import SMALL, Posed
from leftout.search.several import AUTO, Sides
from leftout.search.sizes import TENTH
from leftout.tables.intake import Intake, take_in
from leftout.tables.reading import Source

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
class Work:
    """The steps of an audit, on a table that is taken in."""

    intake: Intake
    search: MaxDisparityPartition  # as asked; the number of components is settled
    posed: Posed  # the whole table's problem, of any size
    settings: Settings
    X: pd.DataFrame
    rows: NDArray[np.intp]  # those that evidence and other solvers are tried on
    part: pd.DataFrame
    stages: Stages
    exact: Callable[[KnownGroups], KnownGroups] | None = None  # where X is a sample, on all rows

    @classmethod
    def on(cls, source: Source, settings: Settings, n_jobs: int | None, stages: Stages) -> Work:
        """Read, encode, and settle what all later steps share."""
        of_sample, of_trust = generator(settings.random_state).spawn(2)
        intake = take_in(
            source,
            settings,
            sample=settings.sample,
            once=settings.preset is None,
            rng=of_sample,
        )
        search = MaxDisparityPartition(
            settings.n_components, min_group_size=settings.min_group_size,
            n_groups=settings.n_groups, loss=settings.loss, centering=settings.centering,
            random_state=settings.random_state, n_jobs=n_jobs, solver=settings.solver,
        )  # fmt: skip
        given = None if settings.group_size == EVIDENCE else settings.group_size
        search.set_params(group_size=given).check_names()
        if settings.n_groups != 2:  # steps search for one group, unless they say otherwise
            if settings.n_groups != AUTO and given != TENTH:
                Sides.asked(int(settings.n_groups), search.min_group_size, given, intake.X.shape)
            search.set_params(n_groups=2, group_size=None)
        posed = search.pose(intake.X).resized(size=None)
        d = finding.components(posed, settings.n_components)
        if d != posed.problem.d:
            posed = search.set_params(n_components=d).pose(intake.X).resized(size=None)
        search.set_params(n_components=d, group_size=None)
        X = pd.DataFrame(intake.X, columns=intake.encoder.get_feature_names_out())
        rows, part = np.arange(len(X)), X
        if len(X) > TRUST_ROWS and not settings.quick:
            rows = intake.part(TRUST_ROWS, of_trust)
            part = X.iloc[rows].reset_index(drop=True)
            note(
                f"The group, its description and Fair PCA come from all {len(X):,} rows; "
                f"comparison tables, halves and parts of the rows from {TRUST_ROWS:,} of them, "
                "drawn at random, with sizes in proportion."
            )
        return cls(intake, search, posed, settings, X, rows, part, stages)

    def audit(
        self,
        notes: list[str],
        first: Callable[[Audit], None] | None = None,
        partial: Callable[[Audit], None] | None = None,
        size: finding.Sized | None = None,
    ) -> Audit:
        """All steps; ``notes`` are what was and will be said on the way.

        Whom the search finds, who they are and what Fair PCA does about it is there soon: the
        first answer. Names, costs and evidence take longer. ``size``: of the group, where that is
        settled already.
        """
        begin, asked = self.stages.begin, self.settings
        report, stability = begin(FIND), None
        if asked.preset == "paper":
            stability, chosen = self._papers_runs(report), "free"
            found = finding.papers(self.search, self.X, stability)
        else:
            size = size or finding.sized(
                self.search, self.posed.problem.d, self.X, self.rows, asked, report
            )
            found = finding.found(self.search, self.posed, self.X, size.rows, self.wide)
            chosen = size.chosen
        with one_thread(self.wide and self.X.size <= SMALL):
            start = self.started(found, stability, self._mended, notes)
        return self.answered(start, chosen, first, partial)

    def started(
        self,
        found: MaxDisparityPartition,
        stability: Stability | None,
        mended: Callable[[MaxDisparityPartition, Report], Mitigation],
        notes: list[str],
    ) -> Audit:
        """Who they are, and what Fair PCA does about it; no finding yet."""
        other = None
        if self.settings.preset is None:
            other = read_otherwise(found, self.intake, self.settings.n_components)
        told = self.explained(found, stability, self.stages.begin(EXPLAIN))
        return Audit(
            partition=found,
            trust=None,
            stability=stability,
            comparison=[],
            explanation=told,
            mitigation=mended(found, self.stages.begin(MEND)),
            named=None,
            known=None,
            harm=None,
            prediction=None,
            returns=None,
            findings=[],
            intake=self.intake,
            other_reading=other,
            repeats=find_repeats(self.intake.X),
            trust_rows=self.rows,
            smallest=self.posed.problem.min_size,
            scree=self.posed.explained,
            scores=found.score_samples(self.X),
            settings=self.settings,
            notes=notes,
        )

    def answered(
        self,
        start: Audit,
        chosen: str,
        first: Callable[[Audit], None] | None = None,
        partial: Callable[[Audit], None] | None = None,
    ) -> Audit:
        """The first answer or, where that is not all that was asked for, the whole."""
        asked = self.settings
        skipped = PAPER if asked.preset == "paper" else QUICK if asked.quick else ""
        answered = self.with_findings(start, Costs(), Judged(), skipped or QUICK)
        if asked.quick:
            return answered
        for tell in (first, partial):
            if tell is not None:
                tell(answered)
        return self.weighed_up(start, chosen, self.stages.begin, skipped, partial)

    def weighed_up(
        self,
        start: Audit,
        chosen: str,
        begin: Callable[[str], Report],
        skipped: str,
        partial: Callable[[Audit], None] | None,
    ) -> Audit:
        """The same with names, costs and evidence; ``chosen``: how the group came to its size."""

        def so_far(**more: Any) -> None:
            if partial is not None:
                partial(self.with_findings(replace(start, **more), Costs(), Judged(), NOT_YET))

        found, asked = start.looked_at, self.settings
        n_jobs = self.search.n_jobs
        named, known = named_and_known(
            found, self.intake, asked, finding.few_of(self.rows), self.wide, n_jobs, begin(NAME)
        )
        if known is not None and self.exact is not None:
            known = self.exact(known)
        so_far(named=named, known=known)
        also = more_groups(named, known)
        paid = costs(found, self.intake, also, asked, n_jobs, begin(COST))
        also = more_groups(named, known, MOST_KNOWN)
        guessed = judged(found, self.intake, also, asked.random_state)
        so_far(named=named, known=known, harm=paid.harm)
        evidence, stability = None, start.stability
        told, returns = start.explanation, None
        report = begin(TRUST)
        if not skipped:
            evidence = self._believed(found, chosen, report)
            stability = evidence.stability
            returns = sentence_returns(
                found, self.intake.X, self.intake.telling, generator(asked.random_state)
            )
            so_far(
                named=named, known=known, harm=paid.harm, trust=evidence, stability=stability,
                returns=returns,
            )  # fmt: skip
            told = self._again(found, told, stability, report)
        whole = replace(
            start,
            trust=evidence,
            stability=stability,
            comparison=compared(self.search, self.posed, self.X, self.rows, begin(COMPARE)),
            explanation=told,
            named=named,
            known=known,
            harm=paid.harm,
            prediction=guessed.compared,
            returns=returns,
        )
        return self.with_findings(whole, paid, guessed, skipped)

    def with_findings(self, found: Audit, paid: Costs, guessed: Judged, skipped: str) -> Audit:
        """The audit with its questions and their answers."""
        return replace(
            found,
            findings=[
                *findings(
                    found.partition, found.trust, found.stability, found.explanation,
                    found.returns, found.mitigation, self.intake, skipped,
                ),
                *group_findings(found.named, found.known, self.intake, skipped),
                *harm_findings(*paid, self.intake, skipped),
                prediction_finding(*guessed, skipped, self.intake.prediction is not None),
                *table_findings(self.intake, found.other_reading, found.repeats),
            ],
        )  # fmt: skip

    @property
    def effort(self) -> Effort:
        """How often the table is searched again."""
        runs = self.settings.runs
        if len(self.part) > _MANY_ROWS or self.wide:
            return Effort(min(runs, _FEW_RUNS), _FEW_SPLITS)
        return Effort(runs, SPLITS)

    @property
    def _whole(self) -> bool:
        return len(self.part) == len(self.X)

    @property
    def wide(self) -> bool:
        return min(self.part.shape) > WIDE

    def _papers_runs(self, report: Report) -> Stability | None:
        asked = self.settings
        if asked.runs < 2:
            return None
        return agreement(clone(self.search), self.X, runs=asked.runs, progress=report)

    def _believed(self, found: MaxDisparityPartition, chosen: str, report: Report) -> Trust:
        """What explains the group's loss, whether it comes back, and who belongs."""
        asked, effort = self.settings, self.effort
        if self._whole:
            weighed_up = trust(
                self.search,
                self.part,
                group_size=found.left_out_.size,
                chance=asked.chance,
                runs=effort.runs,
                splits=effort.splits,
                progress=report,
                found=found,
            )
        else:
            weighed_up = trust(
                clone(self.search).set_params(min_group_size=None),
                self.part,
                group_size=found.left_out_.share,
                chance=asked.chance,
                runs=min(asked.runs, _FEW_RUNS),
                splits=_FEW_SPLITS,
                progress=report,
                everyone=(self.X, found),
            )
        parts = weighed_up.parts
        return replace(
            weighed_up,
            of_rows=len(self.X),
            chosen=chosen,
            parts=None if parts is None else parts.named(self.intake.encoder.sources_),
        )

    def explained(
        self,
        found: MaxDisparityPartition,
        stability: Stability | None,
        report: Report,
        label: int | None = None,
    ) -> Explanation:
        """Who they are; what would be without leading columns, and other runs, come later.

        ``label``: which of several groups.
        """
        intake = self.intake
        told = explain.group(
            found,
            self.X,
            intake.columns,
            target=None if intake.target is None else intake.target.name,
            positive=intake.positive,
            sensitive=intake.sensitive,
            target_encoded=intake.encoder.target_encoded_,
            sources=intake.encoder.sources_,
            runs=None if stability is None else stability.labels,
            what_if=_WHAT_IF if self.settings.preset is not None else 0,
            rows=self.settings.rows,
            label=label,
            progress=report,
        )
        return told if told.rows is None else replace(told, rows=self._numbered(told.rows))

    def _again(
        self,
        found: MaxDisparityPartition,
        told: Explanation,
        stability: Stability | None,
        report: Report,
    ) -> Explanation:
        """The same with what other runs and searches without leading columns say."""
        X, sources = self.intake.X, list(self.intake.encoder.sources_)
        leading = list(told.by_column())[:_WHAT_IF] if len(set(sources)) > 2 else []
        steps = Steps(len(leading) * (1 + _SHUFFLES), report)
        told = replace(told, what_if=search_without(found, X, sources, leading, _SHUFFLES, steps))
        if stability is None:
            return told
        seen = set(sources)
        columns = [c.take(self.rows) for c in self.intake.columns if c.name in seen]
        return replace(
            told,
            feature_scores=explain.feature_scores(
                self.part, stability.labels, found.n_components_, centering=found.centering
            ),
            rule_frequency=explain.rule_frequency(columns, stability.labels),
        )

    def _numbered(self, rows: dict[str, Any]) -> dict[str, Any]:
        """Example rows by their number in the table."""
        at = self.intake.rows
        return {
            side: [{**row, "row": int(at[row["row"]])} for row in each]
            for side, each in rows.items()
        }

    def _mended(self, found: MaxDisparityPartition, report: Report) -> Mitigation:
        if found.centering != "global":
            note(
                "Fair PCA is computed by the definition, about the column means: its losses are "
                "not those of the paper's preset."
            )
        # in this order, the rest comes first as everywhere
        sides = np.where(found.left_out_.mask, "the left-out group", "rest")
        return mitigate(self.X, sides, found.n_components_, progress=report)
