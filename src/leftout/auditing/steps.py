"""The steps of an audit: compare the solvers, weigh the evidence, find, name, explain, mend."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from leftout import explain
from leftout.auditing.findings import findings
from leftout.auditing.groups import group_findings
from leftout.auditing.harm import Costs, costs, harm_findings, more_groups
from leftout.auditing.prediction import MOST_KNOWN, Judged, judged, prediction_finding
from leftout.auditing.reading import OtherReading, table_findings
from leftout.auditing.result import Audit, Compared
from leftout.auditing.settings import Settings
from leftout.checks import Refusal, generator
from leftout.core.losses import WIDE
from leftout.evidence.repeats import find_repeats
from leftout.evidence.stability import Stability, agreement, pairwise_jaccard
from leftout.evidence.trusting import EVIDENCE, SPLITS, Trust, evidence_size, trust
from leftout.evidence.weighing import TABLES, weighed
from leftout.explain import Explanation
from leftout.explain.returning import sentence_returns
from leftout.explain.what_if import search_without
from leftout.fair.mitigation import Mitigation, mitigate
from leftout.running import Report, Stages, Steps, collected_notes, note, one_thread
from leftout.search.groups import KnownGroups
from leftout.search.in_columns import known_groups
from leftout.search.named import named_groups
from leftout.search.names import NamedGroups
from leftout.search.partition import MaxDisparityPartition, for_same_size
from leftout.search.pose import SMALL, Posed
from leftout.search.sizes import TENTH, check_size, default_smallest, group_sizes, worst_tenth
from leftout.solvers import Alternating, Greedy, Sorting
from leftout.tables.intake import Intake, take_in
from leftout.tables.reading import Source

# Comparison tables, halves and parts of the rows are searched many times: on this many at most.
_TRUST_ROWS = 50_000
# Above so many rows, fewer splits and starts do: each says more, and takes longer.
_MANY_ROWS, _FEW_SPLITS, _FEW_RUNS = 20_000, 4, 5
# All algorithms side by side, the slow ones too, and names in comparison tables: on so many rows.
_FEW_ROWS = 5_000
# Climbs of the one search that the group comes from, where these are cheap.
_STARTS, _CHEAP = 600, 8_192
# The group does not depend on the seed of an audit: its search always starts from here.
_FIXED = 0
# Shares of the variance closer than this, as a share of the first, tie.
_TIE = 1e-9
# Leading features to search without, and how often to shuffle each.
_WHAT_IF, _SHUFFLES = 5, 1
# Random groups that known ones are held against.
_PERMUTATIONS = 199

# What people read while they wait, and the share of the time, more or less.
READ, _FIND, _EXPLAIN = "reading and encoding", "who is left out", "who are they"
_MEND, _NAME = "what can be done", "which groups have a name"
_COST, _TRUST = "what does it cost them", "why, and does it come back"
_COMPARE = "comparing algorithms"
STAGES = {
    READ: 2.0, _FIND: 4.0, _EXPLAIN: 5.0, _MEND: 1.0, _NAME: 45.0, _COST: 3.0, _TRUST: 30.0,
    _COMPARE: 10.0,
}  # fmt: skip
# Why an answer has no evidence.
_QUICK = "Not looked at in a quick audit. Audit again without it."
_PAPER = "The paper's preset does not look at this. Audit without it."


@dataclass(frozen=True)
class Work:
    """The steps of an audit, on a table that is taken in."""

    intake: Intake
    search: MaxDisparityPartition  # as asked; the number of components is settled
    posed: Posed  # the whole table's problem, of any size
    settings: Settings
    X: pd.DataFrame
    rows: NDArray[np.intp]  # those that chance, other seeds and other solvers are tried on
    part: pd.DataFrame
    stages: Stages

    @classmethod
    def on(cls, source: Source, settings: Settings, n_jobs: int | None, stages: Stages) -> Work:
        """Read, encode, and settle what all later steps share."""
        of_sample, of_trust = generator(settings.random_state).spawn(2)
        intake = take_in(
            source, target=settings.target, positive=settings.positive,
            prediction=settings.prediction, categorical=settings.categorical,
            numeric=settings.numeric, drop=settings.drop, sensitive=settings.sensitive,
            missing=settings.missing, dictionary=settings.dictionary, encoding=settings.encoding,
            sample=settings.sample, smooth=settings.smooth, once=settings.preset is None,
            rng=of_sample,
        )  # fmt: skip
        search = MaxDisparityPartition(
            settings.n_components, min_group_size=settings.min_group_size,
            n_groups=settings.n_groups, loss=settings.loss, centering=settings.centering,
            random_state=settings.random_state, n_jobs=n_jobs, solver=settings.solver,
        )  # fmt: skip
        given = None if settings.group_size == EVIDENCE else settings.group_size
        search.set_params(group_size=given).check_names()
        posed = search.pose(intake.X).resized(size=None)
        d = _components(posed, settings.n_components)
        if d != posed.problem.d:
            posed = search.set_params(n_components=d).pose(intake.X).resized(size=None)
        search.set_params(n_components=d, group_size=None)
        X = pd.DataFrame(intake.X, columns=intake.encoder.get_feature_names_out())
        rows, part = np.arange(len(X)), X
        if len(X) > _TRUST_ROWS and not settings.quick:
            rows = intake.part(_TRUST_ROWS, of_trust)
            part = X.iloc[rows].reset_index(drop=True)
            note(
                f"The group, its description and Fair PCA come from all {len(X):,} rows; "
                f"comparison tables, halves and parts of the rows from {_TRUST_ROWS:,} of them, "
                "drawn at random, with sizes in proportion."
            )
        return cls(intake, search, posed, settings, X, rows, part, stages)

    def audit(self, notes: list[str], first: Callable[[Audit], None] | None = None) -> Audit:
        """All steps; ``notes`` are what was and will be said on the way.

        Whom the search finds, who they are and what Fair PCA does about it is there soon: the
        first answer. Names, costs and evidence take longer.
        """
        begin, asked = self.stages.begin, self.settings
        report = begin(_FIND)
        stability = self._papers_runs(report) if asked.preset == "paper" else None
        found = self._found(stability, report)
        with one_thread(self._wide and self.X.size <= SMALL):
            other = self._other_reading(found)
            told = self._explained(found, stability, begin(_EXPLAIN))
            mended = self._mended(found, begin(_MEND))
        skipped = _PAPER if asked.preset == "paper" else _QUICK if asked.quick else ""
        start = Audit(
            partition=found,
            trust=None,
            stability=stability,
            comparison=[],
            explanation=told,
            mitigation=mended,
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
            settings=asked,
            notes=notes,
        )
        answered = self._with_findings(start, Costs(), Judged(), skipped or _QUICK)
        if asked.quick:
            return answered
        if first is not None:
            first(answered)
        return self._weighed_up(start, begin, skipped)

    def _weighed_up(self, start: Audit, begin: Callable[[str], Report], skipped: str) -> Audit:
        """The same with names, costs and evidence."""
        found, asked = start.partition, self.settings
        report = begin(_NAME)
        named, known = self._named(found, report), self._known(found, report)
        named, known = self._weighed(named, known, report)
        also, n_jobs = more_groups(named, known), self.search.n_jobs
        paid = costs(found, self.intake, also, asked, n_jobs, begin(_COST))
        also = more_groups(named, known, MOST_KNOWN)
        guessed = judged(found, self.intake, also, asked.random_state)
        evidence, stability = None, start.stability
        told, returns = start.explanation, None
        report = begin(_TRUST)
        if not skipped:
            evidence = self._believed(found, report)
            stability = evidence.stability
            returns = sentence_returns(
                found, self.intake.X, self.intake.telling, generator(asked.random_state)
            )
            told = self._again(found, told, stability, report)
        whole = replace(
            start,
            trust=evidence,
            stability=stability,
            comparison=self._compared(begin(_COMPARE)),
            explanation=told,
            named=named,
            known=known,
            harm=paid.harm,
            prediction=guessed.compared,
            returns=returns,
        )
        return self._with_findings(whole, paid, guessed, skipped)

    def _with_findings(self, found: Audit, paid: Costs, guessed: Judged, skipped: str) -> Audit:
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
    def _whole(self) -> bool:
        return len(self.part) == len(self.X)

    @property
    def _wide(self) -> bool:
        return min(self.part.shape) > WIDE

    def _compared(self, report: Report) -> list[Compared]:
        """All solvers on the same rows, each free to choose the sizes: the paper's table."""
        solvers: dict[str, Any] = {
            "alternating": "alternating",
            "greedy": Greedy(),
            "annealing": "annealing",
            "sorting": Sorting(split="half"),
            "sorting, best cut": Sorting(split="best"),
        }
        lines = []
        tiny = np.random.default_rng(0).random((40, 4))
        part, search = self.X, clone(self.search).set_params(group_size=None)
        if len(part) > _FEW_ROWS:
            part = part.iloc[self._few()].reset_index(drop=True)
            if search.min_group_size is not None:
                share = check_size("min_group_size", search.min_group_size, len(self.X))
                fewest = max(round(share / len(self.X) * len(part)), default_smallest(*part.shape))
                search.set_params(min_group_size=fewest)
        with collected_notes():  # what they say of sizes, the audit says once
            posed = self.posed if part is self.X else search.pose(part.to_numpy())
            for done, (name, solver) in enumerate(solvers.items()):
                report(name, done, len(solvers))
                MaxDisparityPartition(2, solver=solver, min_group_size=5).fit(tiny)  # compiles
                began = time.perf_counter()
                found = clone(search).set_params(solver=solver).fit_posed(part, posed)
                seconds = time.perf_counter() - began
                sizes, losses = found.sizes_.tolist(), found.losses_.tolist()
                lines.append(Compared(name, sizes, losses, found.disparity_, seconds))
        return lines

    def _few(self) -> NDArray[np.intp]:
        """Places of a few of the rows."""
        if len(self.rows) <= _FEW_ROWS:
            return self.rows
        chosen = np.random.default_rng(_FIXED).choice(len(self.rows), _FEW_ROWS, replace=False)
        return self.rows[np.sort(chosen)]

    def _papers_runs(self, report: Report) -> Stability | None:
        asked = self.settings
        if asked.runs < 2:
            return None
        return agreement(clone(self.search), self.X, runs=asked.runs, progress=report)

    def _found(self, stability: Stability | None, report: Report) -> MaxDisparityPartition:
        """The group, on all rows."""
        search, asked = clone(self.search), self.settings
        if asked.preset is not None:  # of the paper's runs, the best
            if stability is None:
                return search.fit(self.X)
            rngs = generator(search.random_state).spawn(len(stability.labels))
            best = rngs[int(np.argmax(stability.disparities))]
            return search.set_params(random_state=best).fit(self.X)
        size = self._size(report)
        starts = _STARTS if len(self.X) <= _CHEAP and not self._wide else None
        search.set_params(random_state=_FIXED, solver=Alternating(n_starts=starts))
        smallest = None
        if size is not None:
            search.set_params(group_size=size, min_group_size=None)
            smallest, _ = group_sizes(None, size, *self.X.shape)
        found = search.fit_posed(self.X, self.posed.resized(smallest, size))
        # what is searched again and again from here on makes do with less
        return found.set_params(solver=asked.solver)

    def _size(self, report: Report) -> int | None:
        """How many rows the group is to have; None: as the search likes."""
        asked, m = self.settings.group_size, len(self.X)
        smallest = self.search.min_group_size
        if asked is None:
            return None
        if asked == TENTH:
            return worst_tenth(smallest, m, self.posed.problem.d)
        if asked == EVIDENCE:
            part = self.X.iloc[self._few()] if m > _FEW_ROWS else self.X
            search = clone(self.search)
            if smallest is not None and len(part) < m:
                share = check_size("min_group_size", smallest, m) / m
                fewest = max(round(share * len(part)), default_smallest(*part.shape))
                search.set_params(min_group_size=fewest)
            chosen, why = evidence_size(search, part, self.settings.chance, report)
            if why:
                note(why)
            if chosen is None:
                return worst_tenth(smallest, m, self.posed.problem.d)
            return round(chosen / len(part) * m)
        return group_sizes(smallest, asked, *self.X.shape)[1]

    def _believed(self, found: MaxDisparityPartition, report: Report) -> Trust:
        """What explains the group's loss, whether it comes back, and who belongs."""
        asked, many = self.settings, len(self.part) > _MANY_ROWS or self._wide
        if self._whole:
            weighed_up = trust(
                self.search,
                self.part,
                group_size=found.left_out_.size,
                chance=asked.chance,
                runs=min(asked.runs, _FEW_RUNS) if many else asked.runs,
                splits=_FEW_SPLITS if many else SPLITS,
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
        chosen = {TENTH: "tenth", EVIDENCE: EVIDENCE, None: "free"}.get(asked.group_size, "given")
        parts = weighed_up.parts
        return replace(
            weighed_up,
            of_rows=len(self.X),
            chosen=chosen,
            parts=None if parts is None else parts.named(self.intake.encoder.sources_),
        )

    def _named(self, found: MaxDisparityPartition, report: Report) -> NamedGroups | None:
        """The groups with a name that are left out most, on all rows."""
        if self.settings.preset is not None:
            return None
        intake, search = self.intake, self.search
        return named_groups(
            intake.X,
            intake.telling,
            n_components=found.n_components_,
            depth=1 if self._wide else 2,  # pairs of very many columns would take hours
            target=intake.target,
            positive=intake.positive,
            random_state=self.settings.random_state,
            n_jobs=search.n_jobs,
            progress=report,
        )

    def _known(self, found: MaxDisparityPartition, report: Report) -> KnownGroups | None:
        """The groups of the columns that were kept out of the search."""
        columns = self.intake.hidden
        if not columns:
            return None
        report("known groups", 1, 1)
        why = ""
        for depth in (2, 1):  # of very many groups, those of single columns
            try:
                return known_groups(
                    self.intake.X,
                    columns,
                    n_components=found.n_components_,
                    depth=depth,
                    permutations=_PERMUTATIONS,
                    random_state=self.settings.random_state,
                    n_jobs=self.search.n_jobs,
                )
            except Refusal as error:
                why = str(error)
        note(f"Known groups were not compared. {why}")
        return None

    def _weighed(
        self, named: NamedGroups | None, known: KnownGroups | None, report: Report
    ) -> tuple[NamedGroups | None, KnownGroups | None]:
        """The same groups, with what comparison tables explain of their losses."""
        if self._wide or self.settings.preset is not None:
            return named, known
        rows = self._few()
        return weighed(
            self.X.to_numpy(),
            named,
            known,
            rows=rows,
            repeats=find_repeats(self.X.to_numpy()[rows]),
            tables=min(self.settings.chance, TABLES),
            random_state=self.settings.random_state,
            n_jobs=self.search.n_jobs,
            progress=report,
        )

    def _other_reading(self, found: MaxDisparityPartition) -> OtherReading | None:
        """Who is left out if columns that look like codes are categories?"""
        intake = self.intake
        if not intake.codes or self.settings.preset is not None:
            return None
        X = intake.as_categories()
        search = for_same_size(found).set_params(n_components=self.settings.n_components)
        with collected_notes():  # of a smallest size that follows from more features
            other = search.set_params(min_group_size=None).fit(X)
        masks = np.stack([other.left_out_.mask, found.left_out_.mask])
        return OtherReading(
            columns=[kind.column for kind in intake.codes],
            features=X.shape[1],
            overlap=float(pairwise_jaccard(masks, either=False)[0, 1]),
            disparity=other.disparity_,
        )

    def _explained(
        self, found: MaxDisparityPartition, stability: Stability | None, report: Report
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
            target_encoded=intake.encoder.target_encoded_,
            sources=intake.encoder.sources_,
            runs=None if stability is None else stability.labels,
            what_if=_WHAT_IF if self.settings.preset is not None else 0,
            rows=self.settings.rows,
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


def _components(posed: Posed, asked: int | float) -> int:
    """The number of components, settled once on all rows: not between two that tie.

    A share of the variance leaves a choice: the next number that parts them.
    """
    d, shares = posed.problem.d, posed.explained
    if not isinstance(asked, float):
        return d
    apart = np.flatnonzero(shares[:-1] - shares[1:] > _TIE * shares[0]) + 1
    apart = apart[apart < np.sum(shares > _TIE * shares[0])]  # something must be left out
    if not len(apart) or d in apart:
        return d
    other = int(apart[apart > d][0] if (apart > d).any() else apart[-1])
    note(
        f"Components {d} and {d + 1} have equal variance, so which of them counts would be "
        f"arbitrary; {other} components are used."
    )
    return other
