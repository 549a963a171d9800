"""The stages of an audit in their order: each is a function of the audit so far.

Whom the search finds, who they are and what Fair PCA does about it is there soon: the first answer.
Names, costs and evidence take longer. The search for several groups is joint, and so are evidence,
costs and Fair PCA; everything else is of each group beside the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from leftout.auditing import group_selection
from leftout.auditing.answer import GroupResult
from leftout.auditing.baseline import learn_baseline
from leftout.auditing.findings import with_findings
from leftout.auditing.given import Given, what_is_given
from leftout.auditing.group_selection import FIXED, GroupPlan, few_of
from leftout.auditing.readings import find_blanks, read_in_other_ways
from leftout.auditing.record import Chunks
from leftout.auditing.result import Audit
from leftout.checks import generator
from leftout.data.preparation import PreparedTable, prepare_table
from leftout.data.sources import Source, short
from leftout.downstream.costs import harm as measure_harm
from leftout.downstream.outcomes import GROUP, REST_NAME
from leftout.downstream.prediction import ComparedPrediction, compare_prediction
from leftout.downstream.result import Harm
from leftout.errors import InputError, parameter_label
from leftout.evidence.assess import N_SPLITS, assess
from leftout.evidence.duplicate_rows import find_repeats
from leftout.evidence.refit import SearchTask
from leftout.evidence.replication import Stability, restarts
from leftout.evidence.subgroup_null import TABLES, subgroup_null_test
from leftout.evidence.surrogates import SurrogateTables
from leftout.explain import Explanation
from leftout.explain.explanation import explain, search_without
from leftout.fair.assessment import afterwards
from leftout.fair.mitigation import Mitigation, mitigate
from leftout.groups.known import known_groups
from leftout.groups.left_out import LeftOut
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.problem_setup import SMALL, SearchProblem
from leftout.groups.sizes import group_sizes
from leftout.groups.subgroups import named_groups
from leftout.linalg.losses import WIDE
from leftout.running import Report, Stages, Steps, collected_warnings, one_thread, warn
from leftout.settings import AUTO, TENTH, Settings
from leftout.text import as_name, counted, listed

# Of wide tables, fewer splits and starts do: each takes longer. Searches of a part from other
# starts say whether they agree, not what is best on the whole: fewer do.
_FEW_SPLITS, _FEW_RUNS, _RUNS_OF_A_PART = 4, 5, 10
# Leading features to search without.
_WHAT_IF = 5
# With more features, models are fitted once; with very many, they take longer than the search.
_FITTED_ONCE, _MOST_FEATURES = 200, 1_000
_REPEATS = 3
# Random groups that known ones are held against.
_PERMUTATIONS = 199
# What people read while they wait, and the share of the time, more or less.
READ, FIND, EXPLAIN = "reading and encoding", "who is left out", "who are they"
MITIGATE, NAME = "what can be done", "which subgroups are left out"
COST, TRUST = "what does it cost them", "why, and does it replicate"
STAGE_SHARES = {
    READ: 1.0, FIND: 7.0, EXPLAIN: 3.0, MITIGATE: 1.0, NAME: 50.0, COST: 8.0, TRUST: 30.0,
}  # fmt: skip
# Why an answer has no evidence.
NOT_IN_QUICK = "Not looked at in a quick audit. Audit again without it."
NOT_YET = "Not looked at yet."
PAPER = "The paper's preset does not look at this. Audit without it."

Listener = Callable[[Audit], None]


@dataclass(eq=False)
class AuditPipeline:
    """The stages of an audit, on a table that is taken in.

    Where ``X`` is a sample of a table in chunks, some of them go on to all rows:
    :class:`leftout.engine.work.ChunkedAudit`.
    """

    intake: PreparedTable
    search: MaxDisparityPartition  # as asked; the number of components is settled
    search_problem: SearchProblem  # of X, of any size
    everyone: SearchProblem  # of all rows: the same where these are X
    settings: Settings
    X: pd.DataFrame
    rows: NDArray[np.intp]  # those that evidence and other solvers are tried on
    part: pd.DataFrame
    stages: Stages
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
        if intake.weights is not None:
            warn(
                f"Rows count as often as {as_name(str(settings.weights))} says: sizes are shares "
                "of the weight; losses, components, projections, evidence and errors of "
                "predictions are weighted. Sentence, rules, columns and outcomes tell of rows, "
                "each counted once."
            )
        given = what_is_given(source, settings, intake)
        representation = None
        if given is not None:
            intake, representation = intake.seeing(given.features), given.representation
        search = group_selection.search_for(settings, n_jobs, representation)
        size = search.group_size
        if settings.n_groups != 1:  # steps search for one group, unless they say otherwise
            if settings.n_groups != AUTO and size != TENTH:
                count = int(settings.n_groups)
                group_sizes(search.min_group_size, size, *intake.X.shape, n_groups=count)
            search.set_params(n_groups=1, group_size=None)
        problem = search._build_problem(intake.X, weights=intake.weights).resized(size=None)
        search.set_params(n_components=problem.problem.d, group_size=None)
        X = pd.DataFrame(intake.X, columns=intake.feature_names)
        rows, part = np.arange(len(X)), X
        few = group_selection.evidence_rows(X.shape[1])
        if len(X) > few and not settings.quick and settings.effort == "auto":
            rows = intake.part(few, of_trust)
            part = X.iloc[rows].reset_index(drop=True)
            warn(
                f"The group, its description, names and Fair PCA come from all {len(X):,} rows; "
                "surrogate tables, halves and parts of the rows, searches from other starts, "
                f"without leading columns and after a mitigation from {len(part):,} of them, "
                "drawn at random, with sizes in proportion."
            )
        return cls(intake, search, problem, problem, settings, X, rows, part, stages, given)

    def audit(self, notes: list[str], listener: Listener | None = None) -> Audit:
        """All stages; ``notes`` are what was and will be said on the way."""
        asked, report, stability = self.settings, self.stages.begin(FIND), None
        if asked.preset == "paper":
            plan = GroupPlan(None, "free")
            found, stability = group_selection.papers(self.search, self.X, asked.n_restarts, report)
        else:
            d = self.search_problem.problem.d
            plan = group_selection.plan_groups(
                self.search, d, self.part, asked, report, self.n_rows
            )
            found = self.find(plan)
            if not asked.quick:
                found, stability = self._from_other_starts(found)
        with one_thread(plan.n_groups == 1 and self.wide and self.X.size <= SMALL):
            start = self.started(found, plan, notes, stability)
        return self.answered(start, plan, listener)

    @property
    def n_rows(self) -> int:
        """Rows that are searched."""
        return len(self.X)

    def examined(self, found: MaxDisparityPartition) -> MaxDisparityPartition:
        """The same groups among the rows of ``X``."""
        return found

    def chunks(
        self, found: MaxDisparityPartition, examined: MaxDisparityPartition
    ) -> Chunks | None:
        """How a table that is not in memory was audited."""
        return None

    def find(self, plan: GroupPlan) -> MaxDisparityPartition:
        """The groups of a plan among all rows."""
        return group_selection.find_groups(
            self.search, self.search_problem, self.X, plan, self.wide
        )

    def started(
        self,
        found: MaxDisparityPartition,
        plan: GroupPlan,
        notes: list[str],
        stability: Stability | None = None,
    ) -> Audit:
        """Who the groups of a plan are, and what Fair PCA does about it; no finding yet."""
        report, alone = self.stages.begin(EXPLAIN), found.n_groups_ == 1
        examined = self.examined(found)
        groups = [
            GroupResult(
                label=label, alone=alone, partition=found,
                explanation=self.explained(examined, report, label),
                stability=stability,
            )
            for label in range(1, found.n_groups_ + 1)
        ]  # fmt: skip
        return Audit(
            partition=found,
            left_out_groups=groups,
            counted=plan.counted,
            chosen=plan.chosen,
            mitigation=self.mitigated(found, self.stages.begin(MITIGATE)),
            intake=self.intake,
            blanks=find_blanks(examined, self.intake) if self.given is None else None,
            repeats=find_repeats(self.intake.X),
            smallest=self.everyone.problem.min_size,
            scree=self.everyone.explained,
            scores=examined.score_samples(self.X),
            chunks=self.chunks(found, examined),
            settings=self.settings,
            notes=notes,
        )

    def answered(self, start: Audit, plan: GroupPlan, listener: Listener | None = None) -> Audit:
        """The first answer or, where that is not all that was asked for, the whole."""
        why = NOT_IN_QUICK if self.settings.preset is None else PAPER
        answer = with_findings(start, why)
        if self.settings.quick:
            return self._with_baseline(answer)
        if listener is not None:
            listener(answer)
        later: list[tuple[Callable[[Audit], Audit], bool]] = [  # which are heard of at once
            (self._subgroups, True),
            (self._afterwards, False),
            (self._costs, True),
            (lambda audit: self._evidence(audit, plan), True),
            (self._explained_further, False),
            (self._read_otherwise, False),
        ]
        now = start
        for stage, at_once in later:
            now = stage(now)
            if at_once and listener is not None:
                listener(with_findings(now, NOT_YET))
        return with_findings(self._with_baseline(now), "")

    def _with_baseline(self, now: Audit) -> Audit:
        """With what later tables are compared with."""
        unlike = now.chunks is not None or self.intake.weights is not None
        if unlike or self.settings.preset is not None:
            return now
        with collected_warnings(), one_thread():
            shares, fewest = now.explanation.by_column(), self.settings.min_cell
            made = learn_baseline(now.partition, self.intake, self.rows, shares, fewest)
        return replace(now, baseline=made)

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """What each row of the part counts, 1 on average; None: every row once."""
        weights = self.intake.weights
        return None if weights is None else weights[self.rows] / weights[self.rows].mean()

    @property
    def _whole(self) -> bool:
        return len(self.part) == len(self.X)

    @property
    def wide(self) -> bool:
        return min(self.part.shape) > WIDE

    @property
    def _sparing(self) -> bool:
        """Whether fewer searches of a wide table do."""
        return self.wide and self.settings.effort == "auto"

    @property
    def _runs(self) -> int:
        """Searches from other starts."""
        most = _FEW_RUNS if self._sparing else None if self._whole else _RUNS_OF_A_PART
        return self.settings.n_restarts if most is None else min(self.settings.n_restarts, most)

    @cached_property
    def surrogates(self) -> SurrogateTables:
        """Of the part that evidence is weighed on; names and evidence look at the same."""
        X = self.part.to_numpy()
        return SurrogateTables(X, find_repeats(X).copies, kept=TABLES, weights=self.weights)

    @property
    def splits(self) -> int:
        """Splits into halves."""
        return _FEW_SPLITS if self._sparing else N_SPLITS

    def _from_other_starts(
        self, found: MaxDisparityPartition
    ) -> tuple[MaxDisparityPartition, Stability | None]:
        """Searches from other starts, always the same: a better group they find is taken."""
        runs = self._runs
        if found.n_groups_ != 1 or not self._whole or runs < 2:
            return found, None
        search = clone(self.search).set_params(random_state=FIXED)
        task = SearchTask.of(search, self.part, weights=self.weights)
        rngs, size = task.rngs[2].spawn(3)[2].spawn(runs), found.left_out_.sought
        (stability,) = restarts(task, [size], rngs, Steps(runs, None), found.labels_)
        return group_selection.best_seen(found, self.search_problem, self.X, stability), stability

    def _subgroups(self, now: Audit) -> Audit:
        """With both kinds of groups on all rows, and what surrogate tables of some rows explain."""
        report, found, intake = self.stages.begin(NAME), now.examined, self.intake
        left_out = found.left_out_
        how: dict[str, Any] = {
            "representation": found.representation,
            "random_state": self.settings.random_state,
            "n_jobs": self.search.n_jobs,
            "sample_weight": intake.weights,
        }
        named = named_groups(
            intake.X, intake.telling, n_components=found.n_components_,
            depth=1 if self.wide else 2,  # pairs of very many columns would take hours
            target=intake.target, positive=intake.positive, progress=report,
            worst=left_out.mask if left_out.sought == round(TENTH * len(intake.X)) else None,
            **how,
        )  # fmt: skip
        known, why = None, ""
        for depth in (2, 1) if intake.hidden else ():  # of very many groups, of single columns
            report("known groups", 1, 1)
            try:
                known = known_groups(
                    intake.X, intake.hidden, n_components=found.n_components_, depth=depth,
                    permutations=_PERMUTATIONS, **how,
                )  # fmt: skip
                break
            except InputError as error:
                why = str(error)
        if why and known is None:
            warn(f"Known groups were not compared. {why}")
        if not self.wide:
            tables = min(self.settings.n_surrogates, TABLES)
            named = subgroup_null_test(
                intake.X, named, rows=self.rows, surrogates=self.surrogates, tables=tables,
                progress=report, **how,
            )  # fmt: skip
        return replace(now, named=named, known=known)

    def _afterwards(self, now: Audit) -> Audit:
        """With whom mitigation leaves worst off; of many rows, some are looked at."""
        found = now.examined
        rows = few_of(np.arange(len(self.X)), self.X.shape[1], self.settings.effort)
        if now.chunks is not None or self.wide:
            large = "is wide" if self.wide else "does not fit into memory"
            why = f"Not looked at where a table {large}: audit a part of it."
            return replace(now, no_afterwards=why)
        weights = self.intake.weights
        groups = found.left_out_.mask.astype(np.intp) if now.alone else found.labels_
        try:
            with collected_warnings():  # what they say of halves is nothing for an audit
                after = afterwards(
                    self.intake.X[rows], groups[rows], found.n_components_,
                    representation=found.representation,
                    columns=[column.take(rows) for column in self.intake.telling],
                    of_rows=len(self.X), weights=None if weights is None else weights[rows],
                    random_state=FIXED, n_jobs=self.search.n_jobs,
                )  # fmt: skip
        except InputError as error:
            return replace(now, no_afterwards=str(error))
        return replace(now, afterwards=after)

    def _costs(self, now: Audit) -> Audit:
        """With what components cost a model, and how a prediction that is there errs."""
        found = now.examined
        harm, why = self._harm(found, self.stages.begin(COST))
        guesses = [self._predicted(group) for group in found.left_out_groups_]
        paid = [
            harm if harm is None or each.alone else harm.of(f"{GROUP} {each.label}")
            for each in now.left_out_groups
        ]
        return replace(now, harm=harm, no_harm=why).each(
            harm=paid,
            prediction=[compared for compared, _ in guesses],
            no_prediction=[why for _, why in guesses],
        )

    def _harm(self, found: MaxDisparityPartition, report: Report) -> tuple[Harm | None, str]:
        """What components cost where the target is predicted, for group and rest; or why not.

        Of several left-out groups each is compared with the rest, by the same predictions. Models
        and components do not see columns that are known to give the target away. Where a pipeline
        was given, its own steps make the features and its own model predicts, fitted anew in each
        fold, on all it sees.
        """
        intake = self.intake
        if intake.target is None:
            return None, ""
        leaks = [line.column for line in intake.leaks] if found.representation is None else []
        X = intake.X[:, ~np.isin(intake.sources, leaks)]
        why = _why_no_harm(found, intake, X.shape[1], leaks)
        if why:
            return None, why
        table: Any = X
        how: dict[str, Any] = {"representation": found.representation, "models": "logistic"}
        if self.given is not None and self.given.pipeline is not None:
            pipeline = self.given.pipeline
            if pipeline.before is not None:
                table, how["encoder"] = self.given.table, pipeline.before
            if pipeline.after is not None:
                how["models"] = pipeline.after
        groups: Any = found.left_out_.mask
        if found.n_groups_ > 1:
            names = [REST_NAME, *(f"{GROUP} {label}" for label in range(1, found.n_groups_ + 1))]
            groups, how["rest"] = np.array(names)[found.labels_], REST_NAME
        try:
            with collected_warnings():  # how many rows were predicted, the result says itself
                paid = measure_harm(
                    table, intake.target, groups, found.n_components_, positive=intake.positive,
                    repeats=1 if X.shape[1] > _FITTED_ONCE else _REPEATS,
                    sample_weight=intake.weights, random_state=self.settings.random_state,
                    n_jobs=self.search.n_jobs, progress=report, **how,
                )  # fmt: skip
            return replace(paid, leaks=leaks), ""
        except InputError as error:
            return None, str(error)
        except Exception as error:
            if "encoder" not in how and isinstance(how["models"], str):
                raise
            return None, f"The pipeline failed on rows that it was not fitted on: {short(error)}."

    def _predicted(self, group: LeftOut) -> tuple[ComparedPrediction | None, str]:
        """A prediction that is there beside the target, for group and rest; or why not."""
        guess, target, mask = self.intake.prediction, self.intake.target, group.mask
        if guess is None or target is None:
            return None, ""
        weights = self.intake.weights
        if not group.beside.all():  # one of several groups
            sides = np.flatnonzero(group.beside)
            guess, target, mask = guess.take(sides), target.take(sides), mask[sides]
        try:
            compared = compare_prediction(
                guess, target, mask, positive=self.intake.positive, sample_weight=weights,
                random_state=self.settings.random_state,
            )  # fmt: skip
            return compared, ""
        except InputError as error:
            return None, str(error)

    def _evidence(self, now: Audit, plan: GroupPlan) -> Audit:
        """With what explains the loss of each group, whether it replicates, and who belongs."""
        report, found = self.stages.begin(TRUST), now.examined
        n_jobs, seed = self.search.n_jobs, self.search.random_state
        weighed = assess(
            clone(found).set_params(random_state=seed, n_jobs=n_jobs), self.part,
            n_surrogates=self.settings.n_surrogates, n_restarts=self._runs,
            splits=self.splits, progress=report, found=found,
            everyone=None if self._whole else self.X,
            stability=now.stability if now.alone else None, names=self.intake.sources,
            surrogates=self.surrogates, weights=self.weights, weights_of_all=self.intake.weights,
        )  # fmt: skip
        over: dict[str, Any] = {}
        if plan.p_value is not None:  # the evidence has chosen among sizes already
            over = {"p_value": plan.p_value, "over_sizes": plan.over_sizes}
        trusts = [replace(each, of_rows=len(self.X), **over) for each in weighed]
        return now.each(trust=trusts, stability=[each.stability for each in trusts])

    def _explained_further(self, now: Audit) -> Audit:
        """With what searches without leading columns say of the group."""
        if not now.alone:
            return now
        found, explanation = now.examined, now.explanation
        if not self._whole:  # the group that the same search finds in the part
            size = found.left_out_.share
            found = clone(self.search).set_params(min_group_size=None, group_size=size)
            found.fit(self.part, sample_weight=self.weights)
        X, sources = self.part.to_numpy(), self.intake.sources
        leading = []
        if len(set(sources)) > 2 and found.representation is None:  # it cannot see fewer features
            leading = list(explanation.by_column())[:_WHAT_IF]
        steps = Steps(len(leading), self.stages.report)
        what_if = search_without(found, X, sources, leading, steps, self.weights)
        return now.each(explanation=[replace(explanation, what_if=what_if)])

    def _read_otherwise(self, now: Audit) -> Audit:
        """With who is left out under other readings of the table."""
        if now.chunks is not None:
            return now
        return replace(now, readings=read_in_other_ways(now.examined, self.intake, self.settings))

    def explained(self, found: MaxDisparityPartition, report: Report, label: int) -> Explanation:
        """Who they are; what would be without leading columns, and other runs, come later."""
        return explain(found, self.X, self.intake, label, self.settings.rows, report)

    def mitigated(self, found: MaxDisparityPartition, report: Report) -> Mitigation:
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
            progress=report, sample_weight=self.intake.weights,
        )  # fmt: skip


def _why_no_harm(
    found: MaxDisparityPartition, intake: PreparedTable, n_features: int, leaks: list[str]
) -> str:
    """Why no model can be fitted; "" where one can."""
    inside = intake.target_encoded
    if inside:
        return (
            f"{listed([as_name(name) for name in inside])} became the target's mean, so "
            f"predictions would have seen it. Audit with {parameter_label('encoding', 'free')}."
        )
    if n_features > _MOST_FEATURES:
        return (
            f"The table has {n_features:,} features; models are fitted on up to "
            f"{_MOST_FEATURES:,}. Leave columns out ({parameter_label('drop')}), or call "
            "leftout.harm."
        )
    if leaks and n_features <= found.n_components_:
        return (
            f"Without what gives the target away ({listed(list(map(as_name, leaks)))}), "
            f"{counted(n_features, 'feature')} are left for "
            f"{counted(found.n_components_, 'component')}. Ask for fewer "
            f"({parameter_label('n_components')})."
        )
    return ""
