"""The audit of a table in parts: exact from all rows where sums are enough, else from a sample.

The group, its losses and sizes, its parts by feature, Fair PCA, the sentence's counts, outcomes and
shares come from all rows. What looks at rows one by one (names, rules, evidence, costs) is done on
a sample by the steps of an audit in memory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from leftout.auditing import group_selection
from leftout.auditing.record import Chunks
from leftout.auditing.result import Audit
from leftout.auditing.stages import FIND, AuditPipeline
from leftout.checks import generator
from leftout.data.preparation import PreparedTable
from leftout.engine.chunks import Chunk
from leftout.engine.encoding_plan import ChunkedRows, EncodingPlan, prepare_chunks
from leftout.engine.engines import Engine, Local
from leftout.engine.exact_counts import on_all_rows, with_exact_counts
from leftout.engine.state import Passes
from leftout.engine.tables import ChunkedTable
from leftout.errors import InputError, parameter_label
from leftout.explain.attribution import split_losses
from leftout.fair.mitigation import Mitigation, mitigate_summary
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.problem_setup import SearchProblem, fitted_here
from leftout.groups.sizes import group_sizes
from leftout.linalg.bounds import exceeding
from leftout.linalg.losses import Array, Loss, Shared, Summary, own_components
from leftout.linalg.moments import FIRST, Moments, build_about_mean
from leftout.linalg.passes import Along, moments_and_rows
from leftout.linalg.problem import Problem
from leftout.linalg.top_k import RowForm, highest, score_form
from leftout.representation.base import Representation, check_components
from leftout.running import Report, Stages, warn
from leftout.settings import Settings
from leftout.solvers import Alternating, SearchResult, SolverContext
from leftout.solvers.sampling import SingleRows, sample_places
from leftout.solvers.streaming import STREAMED_ABOVE, search_passes

# The fewest rows of the group that a sample must have for a description to rest on.
_FEWEST = 20
# What is exact, and what is not, as audit.json says it.
ALL_ROWS = (
    "table", "columns", "pca", "partition", "groups.left_out", "mitigation",
    "groups.explanation.disparity_by_feature", "groups.explanation.sentence",
    "groups.explanation.outcome", "known.groups.all_rows",
)  # fmt: skip
OF_SAMPLE = (
    "groups.explanation.rules", "groups.explanation.typical",
    "groups.explanation.what_if", "groups.explanation.alignment",
    "table.leaks", "table.copies", "table.proxies", "table.distinct_rows", "table.other_reading",
    "table.blanks", "groups.trust", "groups.stability", "groups.prediction",
    "named", "known", "harm",
)  # fmt: skip


@dataclass(frozen=True)
class ChunkedAudit:
    """The steps of an audit on a table in parts."""

    parts: ChunkedTable
    plan: EncodingPlan
    table: ChunkedRows
    passes: Passes
    intake: PreparedTable  # of the sample
    search: MaxDisparityPartition
    shared: Shared
    search_problem: SearchProblem  # of all rows, by their moments alone
    settings: Settings
    stages: Stages

    @classmethod
    def on(
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
        whole = Summary(np.empty((0, table.n_features)), pooled, pooled.origin, None)
        shared = check_components(rule, whole, asked.n_components)
        problem = _problem(rule, shared, whole.rows, pooled, 1)
        d = group_selection.components(problem, asked.n_components)
        if d != len(shared.components):
            shared = check_components(rule, whole, d)
            problem = _problem(rule, shared, whole.rows, pooled, 1)
        search.set_params(n_components=d, group_size=None)
        return cls(parts, plan, table, passes, intake, search, shared, problem, asked, stages)

    @property
    def rule(self) -> Loss:
        return self.search_problem.problem.loss

    @property
    def pooled(self) -> Moments:
        return self.search_problem.problem.pooled

    def audit(
        self,
        notes: list[str],
        first: Callable[[Audit], None] | None,
        partial: Callable[[Audit], None] | None,
    ) -> Audit:
        """All steps; ``notes`` are what was and will be said on the way."""
        report = self.passes.report = self.stages.begin(FIND)
        X = pd.DataFrame(self.intake.X, columns=self.intake.feature_names)
        m, n = self.table.n_rows, self.table.n_features
        rows = group_selection.few_of(np.arange(len(X)), n)
        part = X if len(rows) == len(X) else X.iloc[rows].reset_index(drop=True)
        d = len(self.shared.components)
        plan = group_selection.plan_groups(self.search, d, X, rows, self.settings, report, m)
        smallest = group_sizes(self.search.min_group_size, None, m, n)[0]
        result = self._searched(X, plan, smallest)
        found = self._described(X, result)
        sample = self._problem_of(X, smallest)
        sampled = self._among(sample, X, result)
        if len(X) < m:
            warn(
                f"The group, its losses, Fair PCA and what is counted come from all {m:,} rows; "
                f"what columns are, names, rules and costs from {len(X):,} of them; surrogate "
                f"tables, halves and parts of the rows from {len(part):,}, sampled at random, with "
                "sizes in proportion."
            )
        exact = None
        if len(X) < m:
            exact = functools.partial(
                on_all_rows, plan=self.plan, chunks=self.parts.chunks, fold=self.passes.fold,
                pooled=self.pooled, V=self.shared.components,
            )  # fmt: skip
        work = AuditPipeline(
            self.intake, self.search, sample, self.settings, X, rows, part, self.stages, exact
        )
        assert result.sides is not None
        sides = Summary(X.to_numpy()[:0], result.sides, found.mean_, None)

        def mitigated(_: Any, report: Report) -> Mitigation:
            groups = ["rest", "the left-out group"]
            return mitigate_summary(sides, groups, d, names=list(X), progress=report)

        start = work.started(sampled, plan, notes, by_moments=mitigated)
        losses = split_losses(self.rule, result.sides, found.components_)
        explanation = replace(
            start.explanation, losses_by_feature=losses, disparity_by_feature=losses[1] - losses[0]
        )
        explanation = with_exact_counts(
            explanation, self.intake, self.plan, self.parts.chunks, result.labels, self.passes.fold
        )
        start = replace(
            start.each(partition=[found], explanation=[explanation]),
            partition=found,
            smallest=smallest,
            scree=self.search_problem.explained,
            chunks=self._chunks(found, sampled),
        )
        return work.answered(start, plan, first, partial)

    def _searched(
        self, X: pd.DataFrame, plan: group_selection.GroupPlan, smallest: int
    ) -> SearchResult:
        """The group on all rows, as the same table in memory would have it."""
        m, n, size = self.table.n_rows, self.table.n_features, plan.size
        if size is not None:
            smallest, _ = group_sizes(None, size, m, n)
        if m * n <= STREAMED_ABOVE:  # small enough to be searched as in memory
            rows = pd.DataFrame(self.table.take(np.arange(m)), columns=X.columns)
            search_problem = self.search._build_problem(rows.to_numpy()).resized(size=None)
            group = group_selection.find_groups(self.search, search_problem, rows, plan, False)
            labels = group.labels_.astype(np.int8)
            sides = self._problem_of(rows, 1).problem.split(labels)
            return SearchResult(
                labels=labels, history=group.history_, stopped=group.stopped_, sides=sides,
                offset=float(group.offset_),
                own=own_components(self.rule, sides, group.n_components_),
            )  # fmt: skip
        problem = Problem(
            X=np.empty((0, n)), loss=self.rule, V=self.shared.components, pooled=self.pooled,
            min_size=smallest, group_size=size,
        )  # fmt: skip
        means = SolverContext(rng=generator(group_selection.FIXED), n_jobs=self.search.n_jobs)
        return search_passes(problem, means, table=self.table, last_pass=False)

    def _problem_of(self, X: pd.DataFrame, smallest: int) -> SearchProblem:
        """The problem of some rows, under the PCA of all."""
        rows = X.to_numpy()
        smallest = min(smallest, max(1, len(rows) // 4))
        return _problem(self.rule, self.shared, rows, build_about_mean(rows), smallest)

    def _described(self, X: pd.DataFrame, result: SearchResult) -> MaxDisparityPartition:
        """The partition of all rows, from its moments; its bound and offset from one pass."""
        size, V = int(result.labels.sum(dtype=np.int64)), self.shared.components
        m, origin = self.table.n_rows, self.pooled.origin
        bound = exceeding(m, X.to_numpy(), self.rule, V, origin, size)
        along = Along(self.table, bound)
        if result.offset is None:
            assert result.own is not None
            form = RowForm(score_form(self.rule, V, result.own, size / (m - size)), origin)
            guess = SingleRows.of(X.to_numpy() - origin, self.pooled).guess(form, len(X) / m)
            result = replace(result, offset=highest(along, form, size, guess).offset)
        found = clone(self.search).set_params(
            random_state=group_selection.FIXED, solver=Alternating(n_starts=None), group_size=size,
            min_group_size=None,
        )  # fmt: skip
        found._fit_result(X.iloc[:1], self.search_problem, result, bound.ceiling(along.found, size))
        return found.set_params(solver=self.search.solver)

    def _among(
        self, sample: SearchProblem, X: pd.DataFrame, result: SearchResult
    ) -> MaxDisparityPartition:
        """The same group among the rows of the sample."""
        labels = np.ascontiguousarray(result.labels[self.intake.rows])
        inside = int(labels.sum())
        if min(inside, len(labels) - inside) < min(_FEWEST, len(labels) // 4):
            raise InputError(
                f"The group has {int(result.labels.sum(dtype=np.int64)):,} rows, of which {inside} "
                f"are in the sample of {len(labels):,} that its description rests on: too few. Ask "
                f"for a larger one, such as {parameter_label('group_size', 0.01)}."
            )
        sides = sample.problem.split(labels)
        here = SearchResult(
            labels=labels, history=result.history, stopped=result.stopped, sides=sides,
            own=own_components(self.rule, sides, len(self.shared.components)),
        )  # fmt: skip
        found = clone(self.search).set_params(random_state=group_selection.FIXED, group_size=inside)
        return found.set_params(min_group_size=None)._fit_result(X, sample, here)

    def _chunks(self, found: MaxDisparityPartition, sampled: MaxDisparityPartition) -> Chunks:
        chunks, m = self.parts.chunks, self.table.n_rows
        everything = len(self.intake.rows) == m
        return Chunks(
            engine=self.passes.engine.name,
            n_files=len(self.parts.files),
            n_chunks=len(chunks),
            n_rows=m,
            n_sampled=len(self.intake.rows),
            all_rows=[*ALL_ROWS, *(OF_SAMPLE if everything else ())],
            sample=[] if everything else list(OF_SAMPLE),
            examined=sampled,
            parts=functools.partial(
                scored, self.passes.engine, self.plan, self.parts, found, self.rule
            ),
            end=lambda: None if self.passes.state is None else self.passes.state.end(),
        )


def _problem(
    rule: Loss, shared: Shared, rows: Array, moments: Moments, smallest: int
) -> SearchProblem:
    """The search problem of rows, or of their moments alone, under some components."""
    table = Summary(rows, moments, moments.origin, None)
    problem = Problem(X=rows, loss=rule, V=shared.components, pooled=moments, min_size=smallest)
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
    engine: Engine,
    plan: EncodingPlan,
    parts: ChunkedTable,
    found: MaxDisparityPartition,
    rule: Loss,
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Of each chunk a name, and a line for each row: its number, its group, its score."""
    weight = float(found.sizes_[1] / found.sizes_[0])
    score = Scores(plan, rule, found.representation_, found.group_components_, weight)
    engine = Local() if engine.closed else engine  # a cluster that was started for the audit
    chunks = parts.chunks
    for place, (chunk, scores) in enumerate(zip(chunks, engine.stream(score, chunks), strict=True)):
        rows = np.arange(chunk.start, chunk.start + chunk.n_rows)
        group = pd.Categorical.from_codes(found.labels_[rows], ["rest", "left out"])
        part = pd.DataFrame({"row": rows, "group": group, "score": scores})
        yield f"part-{place:05d}.parquet", part


@dataclass(frozen=True)
class Scores:
    """How far each row of a chunk leans to the left-out side."""

    plan: EncodingPlan
    rule: Loss
    shared: Representation
    own: Array
    weight: float

    def __call__(self, chunk: Chunk) -> Array:
        parts = []
        for _, rows in self.plan.blocks(chunk):
            rest, group = self.shared.row_losses(self.rule, rows, self.own)
            parts.append(group + self.weight * rest)
        return np.concatenate(parts)
