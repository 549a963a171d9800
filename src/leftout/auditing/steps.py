"""The steps of an audit: compare the solvers, weigh the evidence, find, name, explain, mend."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from leftout import explain
from leftout.auditing.findings import findings
from leftout.auditing.groups import group_findings
from leftout.auditing.harm import costs, harm_findings, more_groups
from leftout.auditing.prediction import MOST_KNOWN, judged, prediction_finding
from leftout.auditing.reading import OtherReading, table_findings
from leftout.auditing.result import Audit, Compared
from leftout.auditing.settings import Settings
from leftout.checks import Refusal, generator
from leftout.core.losses import WIDE
from leftout.evidence.repeats import find_repeats
from leftout.evidence.stability import Stability, agreement, pairwise_jaccard
from leftout.evidence.trusting import EVIDENCE, Trust, trust
from leftout.evidence.weighing import TABLES, weighed
from leftout.explain import Explanation
from leftout.fair.mitigation import Mitigation, mitigate
from leftout.running import Report, Stages, collected_notes, note, one_thread
from leftout.search.groups import KnownGroups
from leftout.search.in_columns import known_groups
from leftout.search.named import named_groups
from leftout.search.names import NamedGroups
from leftout.search.partition import MaxDisparityPartition, for_same_size
from leftout.search.pose import SMALL, Posed
from leftout.search.sizes import check_size, default_smallest, group_sizes
from leftout.solvers import Greedy, Sorting
from leftout.tables.intake import Intake, take_in
from leftout.tables.reading import Source

# Chance, held-out rows and other seeds are searched hundreds of times: on this many rows at most.
_TRUST_ROWS = 5_000
# Shares of the variance closer than this, as a share of the first, tie.
_TIE = 1e-9
# Leading features to search without.
_WHAT_IF = 5
# Random groups that known ones are held against.
_PERMUTATIONS = 199

# What people read while they wait, and the share of the time, more or less.
READ, _COMPARE, _TRUST = "reading and encoding", "comparing algorithms", "is it real"
_NAME = "which groups have a name"
_EXPLAIN, _MEND, _COST = "who are they", "what can be done", "what does it cost them"
STAGES = {
    READ: 2.0, _COMPARE: 6.0, _TRUST: 63.0, _NAME: 16.0, _EXPLAIN: 10.0, _MEND: 1.0, _COST: 2.0,
}  # fmt: skip


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
        if len(X) > _TRUST_ROWS:
            rows = intake.part(_TRUST_ROWS, of_trust)
            part = X.iloc[rows].reset_index(drop=True)
            note(
                f"The group, its description and Fair PCA come from all {len(X):,} rows; chance, "
                f"held-out rows, other seeds and the comparison of algorithms from {_TRUST_ROWS:,} "
                "of them, drawn at random, with sizes in proportion."
            )
        return cls(intake, search, posed, settings, X, rows, part, stages)

    def audit(self, notes: list[str]) -> Audit:
        """All steps; ``notes`` are what was and will be said on the way."""
        begin = self.stages.begin
        repeats = find_repeats(self.intake.X)
        search = self._on_part()
        comparison = self._compared(search, begin(_COMPARE))
        evidence, stability = self._believed(search, begin(_TRUST))
        found = self._found(search, evidence, stability)
        report = begin(_NAME)
        named, known = self._named(found, report), self._known(found, report)
        named, known = self._weighed(named, known, report)
        with one_thread(self._wide and self.X.size <= SMALL):
            other = self._other_reading(found)
            told = self._explained(found, stability, begin(_EXPLAIN))
            mended = self._mended(found, begin(_MEND))
        also, n_jobs = more_groups(named, known), self.search.n_jobs
        paid = costs(found, self.intake, also, self.settings, n_jobs, begin(_COST))
        also = more_groups(named, known, MOST_KNOWN)
        guessed = judged(found, self.intake, also, self.settings.random_state)
        return Audit(
            partition=found,
            trust=evidence,
            stability=stability,
            comparison=comparison,
            explanation=told,
            mitigation=mended,
            named=named,
            known=known,
            harm=paid.harm,
            prediction=guessed.compared,
            findings=[
                *findings(found, evidence, stability, told, mended, self.intake),
                *group_findings(named, known, self.intake),
                *harm_findings(*paid, self.intake),
                prediction_finding(*guessed),
                *table_findings(self.intake, other, repeats),
            ],
            intake=self.intake,
            other_reading=other,
            repeats=repeats,
            trust_rows=self.rows,
            smallest=self.posed.problem.min_size,
            scree=self.posed.explained,
            scores=found.score_samples(self.X),
            settings=self.settings,
            notes=notes,
        )

    @property
    def _whole(self) -> bool:
        return len(self.part) == len(self.X)

    @property
    def _wide(self) -> bool:
        return min(self.part.shape) > WIDE

    def _on_part(self) -> MaxDisparityPartition:
        """The search for the rows that evidence rests on: a smallest size in proportion."""
        search = clone(self.search)
        smallest = search.min_group_size
        if smallest is None or self._whole:
            return search
        if self.settings.group_size not in (None, EVIDENCE):  # a size that all rows allow
            return search.set_params(min_group_size=None)
        share = check_size("min_group_size", smallest, len(self.X)) / len(self.X)
        # groups that fit any components, being small, are not searched for
        fewest = max(round(share * len(self.part)), default_smallest(*self.part.shape))
        return search.set_params(min_group_size=fewest)

    def _compared(self, search: MaxDisparityPartition, report: Report) -> list[Compared]:
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
        with collected_notes():  # what they say of sizes, the audit says once
            posed = self.posed if self._whole else search.pose(self.part.to_numpy())
            for done, (name, solver) in enumerate(solvers.items()):
                report(name, done, len(solvers))
                MaxDisparityPartition(2, solver=solver, min_group_size=5).fit(tiny)  # compiles
                began = time.perf_counter()
                found = clone(search).set_params(solver=solver).fit_posed(self.part, posed)
                seconds = time.perf_counter() - began
                sizes, losses = found.sizes_.tolist(), found.losses_.tolist()
                lines.append(Compared(name, sizes, losses, found.disparity_, seconds))
        return lines

    def _believed(
        self, search: MaxDisparityPartition, report: Report
    ) -> tuple[Trust | None, Stability | None]:
        asked = self.settings
        if asked.preset == "paper":
            if asked.runs < 2:
                return None, None
            return None, agreement(search, self.part, runs=asked.runs, progress=report)
        wide = self._wide
        if wide:
            note(
                f"With {self.part.shape[1]:,} features, chance is tried at 5 sizes, on copula "
                "tables only, and held-out rows on 3 splits."
            )
        size = asked.group_size
        if isinstance(size, int) and not self._whole:
            size = size / len(self.X)
        if size is None:
            size = clone(search).fit(self.part).left_out_.size
        found = trust(
            search,
            self.part,
            group_size=size,
            sizes=5 if wide else 15,
            chance=asked.chance,
            kinds=("copula",) if wide else ("copula", "gaussian"),
            runs=asked.runs,
            splits=3 if wide else 10,
            progress=report,
        )
        found = replace(found, of_rows=len(self.X))
        return found, found.stability

    def _found(
        self,
        search: MaxDisparityPartition,
        evidence: Trust | None,
        stability: Stability | None,
    ) -> MaxDisparityPartition:
        """The group, on all rows."""
        if evidence is None:  # of the paper's runs, the best
            if stability is None:
                return search.fit(self.X)
            rngs = generator(search.random_state).spawn(len(stability.labels))
            best = rngs[int(np.argmax(stability.disparities))]
            return clone(search).set_params(random_state=best).fit(self.X)
        if self._whole:
            return evidence.partition
        size = self.settings.group_size
        if not isinstance(size, int):
            size = round(evidence.group_size / len(self.part) * len(self.X))
        smallest, _ = group_sizes(None, size, *self.X.shape)
        search = clone(search).set_params(group_size=size, min_group_size=None)
        return search.fit_posed(self.X, self.posed.resized(smallest, size))

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
        return weighed(
            self.X.to_numpy(),
            named,
            known,
            rows=self.rows,
            repeats=find_repeats(self.part.to_numpy()),
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
            runs=stability.labels if stability is not None and self._whole else None,
            what_if=_WHAT_IF,
            rows=self.settings.rows,
            progress=report,
        )
        if told.rows is not None:
            told = replace(told, rows=self._numbered(told.rows))
        if stability is None or self._whole:
            return told
        seen = set(intake.encoder.sources_)
        columns = [c.take(self.rows) for c in intake.columns if c.name in seen]
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
