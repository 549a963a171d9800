"""The audit of a table in chunks: exact from all rows where sums are enough, else from a sample.

The group, its losses and sizes, its parts by feature, Fair PCA, the sentence's counts, outcomes and
shares come from all rows. What looks at rows one by one (names, rules, evidence, costs) is done on
a sample by the stages of an audit in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from leftout.auditing import group_selection
from leftout.auditing.group_selection import GroupPlan
from leftout.auditing.record import Chunks
from leftout.auditing.small_cells import of_enough_rows
from leftout.auditing.stages import AuditPipeline
from leftout.checks import generator
from leftout.data.columns import Column
from leftout.data.roles import levels_of
from leftout.engine.encoding_plan import ChunkedRows, EncodingPlan, prepare_chunks
from leftout.engine.engines import Engine, Local, Passes
from leftout.engine.tables import ChunkedTable
from leftout.errors import InputError, parameter_label
from leftout.explain import Explanation
from leftout.explain.explanation import by_feature
from leftout.explain.sentence import Sentence
from leftout.fair.estimator import FairPCA
from leftout.fair.mitigation import Mitigation, across_dimensions, mitigation_of
from leftout.groups.outcome import outcomes, without_outcome
from leftout.groups.partition import GroupRule, MaxDisparityPartition
from leftout.groups.problem_setup import SearchProblem, fitted_here
from leftout.groups.sizes import group_sizes
from leftout.linalg.bounds import exceeding
from leftout.linalg.losses import Array, Loss, Shared, Summary, losses_by_feature, own_components
from leftout.linalg.moments import FIRST, Moments, build_about_mean
from leftout.linalg.passes import Along, moments_and_rows
from leftout.linalg.problem import Labels, Problem
from leftout.linalg.top_k import RowForm, highest, score_form
from leftout.representation.base import check_components
from leftout.running import Report, Stages, warn
from leftout.settings import Settings
from leftout.solvers import Alternating, SearchResult, SolverContext
from leftout.solvers.streaming import STREAMED_ABOVE, SingleRows, sample_places, search_passes

# The fewest rows of the group that a sample must have for a description to rest on.
_FEWEST = 20


@dataclass(eq=False)
class ChunkedAudit(AuditPipeline):
    """The stages of an audit whose rows are in chunks: ``X`` is a sample of them."""

    parts: ChunkedTable = field(kw_only=True)
    table: ChunkedRows = field(kw_only=True)
    passes: Passes = field(kw_only=True)
    labels: Labels = field(init=False)  # the group among all rows
    sides: Moments = field(init=False)  # of the rest and of the group among all rows

    @classmethod
    def over(
        cls,
        parts: ChunkedTable,
        asked: Settings,
        passes: Passes,
        n_jobs: int | None,
        stages: Stages,
    ) -> ChunkedAudit:
        """Read and encode what is needed, and settle what all later steps share."""
        plan, intake = prepare_chunks(parts.chunks, passes.fold, asked, source=parts.name)
        table = ChunkedRows(plan, parts.chunks, passes.fold)
        search = group_selection.search_for(asked, n_jobs)
        rule, pooled = Loss.named(asked.loss, asked.centering), moments_of(table, intake.X)
        m, n = table.n_rows, table.n_features
        everyone = Summary(np.empty((0, n)), pooled, pooled.origin, None)
        smallest, _ = group_sizes(search.min_group_size, None, m, n)
        shared = check_components(rule, everyone, asked.n_components)
        problem = _problem(rule, shared, everyone, smallest)
        search.set_params(n_components=problem.problem.d, group_size=None)
        X = pd.DataFrame(intake.X, columns=intake.feature_names)
        rows = group_selection.few_of(np.arange(len(X)), n, asked.effort)
        part = X if len(rows) == len(X) else X.iloc[rows].reset_index(drop=True)
        moments = build_about_mean(intake.X)
        sampled = Summary(intake.X, moments, moments.origin, None)
        sample = _problem(rule, shared, sampled, min(smallest, max(1, len(X) // 4)))
        warn(
            f"The group, its losses, Fair PCA and what is counted come from all {m:,} rows; what "
            f"columns are, names, rules and costs from {len(X):,} of them; surrogate tables, "
            f"halves and parts of the rows from {len(part):,}, sampled at random, with sizes in "
            "proportion."
        )
        return cls(
            intake, search, sample, problem, asked, X, rows, part, stages, parts=parts, table=table,
            passes=passes,
        )  # fmt: skip

    @property
    def n_rows(self) -> int:
        """Rows that are searched."""
        return self.table.n_rows

    def find(self, plan: GroupPlan) -> MaxDisparityPartition:
        """The group among all rows, as the same table in memory would have it."""
        m, n, size, problem = self.n_rows, self.table.n_features, plan.size, self.everyone.problem
        if m * n <= STREAMED_ABOVE:  # small enough to be searched as in memory
            rows = pd.DataFrame(self.table.take(np.arange(m)), columns=self.X.columns)
            built = self.search._build_problem(rows.to_numpy()).resized(size=None)
            found = group_selection.find_groups(self.search, built, rows, plan, False)
            self.labels = found.labels_.astype(np.int8)
            self.sides = replace(problem, X=rows.to_numpy()).split(self.labels)
            return found
        if size is not None:
            smallest, _ = group_sizes(None, size, m, n)
            problem = replace(problem, min_size=smallest, group_size=size)
        context = SolverContext(rng=generator(group_selection.FIXED), n_jobs=self.search.n_jobs)
        result = search_passes(problem, context, table=self.table, last_pass=False)
        assert result.sides is not None and result.own is not None
        self.labels, self.sides = result.labels, result.sides
        return self._described(result, result.own)

    def _from_other_starts(
        self, found: MaxDisparityPartition
    ) -> tuple[MaxDisparityPartition, None]:
        """Nothing: the group is one among all rows already."""
        return found, None

    def explained(self, found: MaxDisparityPartition, report: Report, label: int) -> Explanation:
        """Who the group in the sample is, with what is known of it among all rows."""
        told = super().explained(found, report, label)
        losses = losses_by_feature(self.everyone.problem.loss, self.sides, found.components_)
        features = by_feature(losses, list(self.X), self.intake.sources)
        return self._counted(replace(told, disparity_by_feature=features))

    def _counted(self, explanation: Explanation) -> Explanation:
        """The explanation of a sample, with the counts of all rows.

        Whether the sentence covers a row, and the row's outcome, are a byte and a number: of all
        rows these fit into memory, beside the labels.
        """
        target, sentence, group = self.intake.target, explanation.sentence, self.labels == 1
        if target is None and sentence is None:
            return explanation
        if sentence is not None and self.settings.min_cell > 1:
            here = of_enough_rows(
                sentence, self.intake.columns, group[self.intake.rows], self.settings.min_cell
            )
            sentence = here if here.alternatives else sentence
        told = self.table.read(ToldRows(sentence, None if target is None else target.name))
        if sentence is not None:
            hit = told[0]
            exact = replace(
                sentence, covered=int(hit.sum()), count=int((hit & group).sum()),
                size=int(group.sum()), n_rows=len(group),
            )  # fmt: skip
            explanation = replace(explanation, sentence=exact)
        if target is None:
            return explanation
        everyone, levels = replace(target, values=told[-1]), levels_of(target, self.intake.positive)
        return replace(
            explanation,
            outcome=outcomes(everyone, group, levels),
            no_outcome=without_outcome(everyone, group, levels),
        )

    def mitigated(self, found: MaxDisparityPartition, report: Report) -> Mitigation:
        """Fair PCA of both sides, by the moments of all rows."""
        sides = Summary(self.intake.X[:0], self.sides, self.everyone.table.mean, None)
        fair = FairPCA(self.everyone.problem.d)
        fair.fit_summary(sides, ["rest", "the left-out group"], list(self.X))
        return mitigation_of(fair, across_dimensions(fair, sides, report))

    def _described(self, result: SearchResult, own: Array) -> MaxDisparityPartition:
        """The partition of all rows, from its moments; its bound and offset from one pass."""
        problem, X, m = self.everyone.problem, self.intake.X, self.n_rows
        origin, size = problem.pooled.origin, int(result.labels.sum(dtype=np.int64))
        bound = exceeding(m, X, problem.loss, problem.V, origin, size)
        along = Along(self.table, bound)
        if result.offset is None:
            form = RowForm(score_form(problem.loss, problem.V, own, size / (m - size)), origin)
            guess = SingleRows.of(X - origin, problem.pooled).guess(form, len(X) / m)
            result = replace(result, offset=highest(along, form, size, guess).offset)
        found = clone(self.search).set_params(
            random_state=group_selection.FIXED, solver=Alternating(n_starts=None), group_size=size,
            min_group_size=None,
        )  # fmt: skip
        ceiling = bound.ceiling(along.found, size)
        found._fit_problem(self.X.iloc[:1], self.everyone, result, ceiling)
        return found.set_params(solver=self.search.solver)

    def examined(self, found: MaxDisparityPartition) -> MaxDisparityPartition:
        """The same group among the rows of the sample."""
        labels = np.ascontiguousarray(self.labels[self.intake.rows])
        inside = int(labels.sum())
        if min(inside, len(labels) - inside) < min(_FEWEST, len(labels) // 4):
            raise InputError(
                f"The group has {found.left_out_.size:,} rows, of which {inside} are in the sample "
                f"of {len(labels):,} that its description rests on: too few. Ask for a larger one, "
                f"such as {parameter_label('group_size', 0.01)}."
            )
        problem = self.search_problem.problem
        sides = problem.split(labels)
        here = SearchResult(
            labels=labels, history=found.history_, stopped=found.stopped_, sides=sides,
            own=own_components(problem.loss, sides, problem.d),
        )  # fmt: skip
        sampled = clone(self.search).set_params(
            random_state=group_selection.FIXED, group_size=inside, min_group_size=None
        )
        return sampled._fit_problem(self.X, self.search_problem, here)

    def chunks(self, found: MaxDisparityPartition, examined: MaxDisparityPartition) -> Chunks:
        """How the table was audited."""
        return Chunks(
            engine=self.passes.engine.name,
            n_files=len(self.parts.files),
            n_chunks=len(self.parts.chunks),
            n_rows=self.n_rows,
            n_sampled=len(self.intake.rows),
            examined=examined,
            scores=partial(scored, self.passes.engine, self.table.plan, self.parts, found),
        )


def _problem(rule: Loss, shared: Shared, table: Summary, smallest: int) -> SearchProblem:
    """The search problem of rows, or of their moments alone, under some components."""
    problem = Problem(
        X=table.rows, loss=rule, V=shared.components, pooled=table.moments, min_size=smallest
    )
    explained = shared.eigenvalues / shared.eigenvalues.sum()
    return SearchProblem(problem, table, explained, fitted_here(table, problem.V))


def moments_of(table: ChunkedRows, sample: Array) -> Moments:
    """Moments of all rows; what a search will draw is read on the way."""
    m, n = table.n_rows, table.n_features
    places = np.empty(0, dtype=np.intp)
    if m * n > STREAMED_ABOVE:
        places = np.union1d(*sample_places(generator(group_selection.FIXED), m, n))
    pooled, rows = moments_and_rows(table, sample[:FIRST], places)
    if len(places):
        table.hold(places, rows)
    return pooled


def scored(
    engine: Engine, plan: EncodingPlan, parts: ChunkedTable, found: MaxDisparityPartition
) -> Array:
    """How far every row leans to the left-out side."""
    engine = Local() if engine.closed else engine  # a cluster that was started for the audit
    return ChunkedRows(plan, parts.chunks, engine.fold).run(RowScores(found._rule))


@dataclass(frozen=True)
class ToldRows:
    """The pass that says whether the sentence covers each row, and its value of the target."""

    sentence: Sentence | None
    target: str | None

    @property
    def names(self) -> list[str]:
        """The columns that it looks at."""
        told = () if self.sentence is None else self.sentence.conditions
        return sorted({each.column for each in told} | ({self.target} if self.target else set()))

    def over(self, columns: dict[str, Column]) -> list[NDArray[Any]]:
        told = [] if self.sentence is None else [self.sentence.holds(columns)]
        return told if self.target is None else [*told, columns[self.target].values]

    def merge(self, a: list[NDArray[Any]], b: list[NDArray[Any]]) -> list[NDArray[Any]]:
        return [np.concatenate(both) for both in zip(a, b, strict=True)]


@dataclass(frozen=True)
class RowScores:
    """The pass that says how far each row leans to the left-out side."""

    rule: GroupRule

    def over(self, rows: Array, start: int) -> Array:
        return self.rule.scores(self.rule.row_losses(rows))[0]

    def merge(self, a: Array, b: Array) -> Array:
        return np.concatenate([a, b])
