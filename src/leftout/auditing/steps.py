"""The steps of an audit: compare the solvers, weigh the evidence, find, explain, mend."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from leftout import explain
from leftout.auditing.findings import findings
from leftout.auditing.result import Audit, Compared
from leftout.auditing.settings import Settings
from leftout.checks import generator
from leftout.evidence.stability import Stability, agreement
from leftout.evidence.trusting import EVIDENCE, Trust, trust
from leftout.explain import Explanation
from leftout.fair.mitigation import Mitigation, mitigate
from leftout.running import Report, Stages
from leftout.search.partition import MaxDisparityPartition
from leftout.search.pose import Posed, pose
from leftout.search.sizes import check_size, group_sizes
from leftout.solvers import Greedy, Sorting
from leftout.tables.intake import Intake

# Epochs of the paper's greedy search.
PAPER_EPOCHS = 15
# Chance, held-out rows and other seeds are searched hundreds of times: on so many rows at most.
_TRUST_ROWS = 5_000
# With more dimensions than this, sizes are fewer, and chance tables of one kind.
_WIDE = 200
# Shares of the variance closer than this, as a share of the first, tie.
_TIE = 1e-9
# Leading features to search without.
_WHAT_IF = 5

# What people read while they wait, and the share of the time, more or less.
READ, _COMPARE, _TRUST = "reading and encoding", "comparing algorithms", "is it real"
_EXPLAIN, _MEND = "who are they", "what can be done"
STAGES = {READ: 2.0, _COMPARE: 6.0, _TRUST: 80.0, _EXPLAIN: 11.0, _MEND: 1.0}


@dataclass(frozen=True)
class Work:
    """The steps of an audit, on a table that is taken in."""

    intake: Intake
    search: MaxDisparityPartition
    settings: Settings
    X: pd.DataFrame
    rows: NDArray[np.intp]  # those that chance, other seeds and other solvers are tried on
    part: pd.DataFrame
    notes: list[str]

    @classmethod
    def on(
        cls,
        intake: Intake,
        search: MaxDisparityPartition,
        settings: Settings,
        rng: np.random.Generator,
    ) -> Work:
        X = pd.DataFrame(intake.X, columns=intake.encoder.get_feature_names_out())
        rows, notes = np.arange(len(X)), list(intake.notes)
        if len(X) > _TRUST_ROWS:
            rows = intake.part(_TRUST_ROWS, rng)
            notes.append(
                f"The group, its description and Fair PCA come from all {len(X):,} rows; chance, "
                f"held-out rows, other seeds and the comparison of algorithms from {_TRUST_ROWS:,} "
                "of them, drawn at random, with sizes in proportion."
            )
        part = X if len(rows) == len(X) else X.iloc[rows].reset_index(drop=True)
        return cls(intake, search, settings, X, rows, part, notes)

    def audit(self, stages: Stages) -> Audit:
        asked = self.search
        size = self.settings.group_size
        given = None if size == EVIDENCE else size
        smallest, _ = group_sizes(asked.min_group_size, given, *self.X.shape)
        posed = pose(self.intake.X, asked.n_components, asked.loss, asked.centering, smallest, None)
        search = self._on_part(given).set_params(n_components=self._components(posed))
        comparison = self._compared(search, stages.begin(_COMPARE))
        evidence, stability = self._believed(search, stages.begin(_TRUST))
        found = self._found(search, evidence, stability)
        told = self._explained(found, stability, stages.begin(_EXPLAIN))
        mended = self._mended(found, stages.begin(_MEND))
        return Audit(
            partition=found,
            trust=evidence,
            stability=stability,
            comparison=comparison,
            explanation=told,
            mitigation=mended,
            findings=findings(found, evidence, stability, told, mended, self.intake.sensitive),
            intake=self.intake,
            trust_rows=self.rows,
            smallest=smallest,
            scree=posed.explained,
            scores=found.score_samples(self.X),
            settings=self.settings,
            notes=self.notes,
        )

    def _components(self, posed: Posed) -> int:
        """The number of components, settled once on all rows: not between two that tie.

        A share of the variance leaves a choice: the next number that parts them.
        """
        d, shares = posed.problem.d, posed.explained
        if not isinstance(self.search.n_components, float):
            return d
        apart = np.flatnonzero(shares[:-1] - shares[1:] > _TIE * shares[0]) + 1
        apart = apart[apart < np.sum(shares > _TIE * shares[0])]  # something must be left out
        if not len(apart) or d in apart:
            return d
        other = int(apart[apart > d][0] if (apart > d).any() else apart[-1])
        self.notes.append(
            f"Components {d} and {d + 1} have equal variance, so which of them counts would be "
            f"arbitrary; {other} components are used."
        )
        return other

    @property
    def _whole(self) -> bool:
        return len(self.part) == len(self.X)

    def _on_part(self, given: Any) -> MaxDisparityPartition:
        """The search for the rows that evidence rests on: a smallest size in proportion."""
        search = clone(self.search)
        smallest = search.min_group_size
        if smallest is None or self._whole:
            return search
        if given is not None:  # a size that all rows allow
            return search.set_params(min_group_size=None)
        m, n = self.part.shape
        share = check_size("min_group_size", smallest, len(self.X)) / len(self.X)
        # so few that they fit any components are not searched for
        return search.set_params(min_group_size=max(round(share * m), min(5 * n, m // 4)))

    def _compared(self, search: MaxDisparityPartition, report: Report) -> list[Compared]:
        """All solvers on the same rows, each free to choose the sizes: the paper's table."""
        solvers: dict[str, Any] = {
            "alternating": "alternating",
            "greedy": Greedy(epochs=PAPER_EPOCHS),
            "annealing": "annealing",
            "sorting": Sorting(split="half"),
            "sorting, best cut": Sorting(split="best"),
        }
        lines = []
        tiny = np.random.default_rng(0).random((40, 4))
        for done, (name, solver) in enumerate(solvers.items()):
            report(name, done, len(solvers))
            MaxDisparityPartition(2, solver=solver, min_group_size=5).fit(tiny)  # compiles
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what they say of sizes, the audit says once
                found = clone(search).set_params(solver=solver).fit(self.part)
            lines.append(
                Compared(
                    solver=name,
                    sizes=found.sizes_.tolist(),
                    losses=found.losses_.tolist(),
                    disparity=found.disparity_,
                    seconds=time.perf_counter() - began,
                )
            )
        return lines

    def _believed(
        self, search: MaxDisparityPartition, report: Report
    ) -> tuple[Trust | None, Stability | None]:
        asked = self.settings
        if asked.preset == "paper":
            if asked.runs < 2:
                return None, None
            return None, agreement(search, self.part, runs=asked.runs, progress=report)
        wide = min(self.part.shape) > _WIDE
        if wide:
            self.notes.append(
                f"With {self.part.shape[1]:,} features, chance is tried at 5 sizes, on copula "
                "tables only, and held-out rows on 3 splits."
            )
        size = asked.group_size
        if isinstance(size, int) and not self._whole:
            size = size / len(self.X)
        if size is None:
            size = clone(search).fit(self.part).sizes_[1].item()
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
        return clone(search).set_params(group_size=size, min_group_size=None).fit(self.X)

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
            self.notes.append(
                "Fair PCA is computed by the definition, about the column means: its losses are "
                "not those of the paper's preset."
            )
        # in this order, the rest comes first as everywhere
        sides = np.where(found.labels_ == 1, "the left-out group", "rest")
        return mitigate(self.X, sides, found.n_components_, progress=report)
