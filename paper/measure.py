"""All that is measured on one sample of a table, by two formulas.

They are the two columns of every table: the formula that the published figures come from, and the
definition that the paper states.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leftout import FairPCA, MaxDisparityPartition, group_losses
from leftout.data.columns import columns_of
from leftout.evidence.replication import fit_with_seeds, pairwise_jaccard
from leftout.running import Report, Steps, collected_warnings
from leftout.solvers import Annealing, Greedy, Sorting
from paper.correction import corrected
from paper.frequency import Frequency, rule_frequency
from paper.known import STUDENTS, Known
from paper.scores import FeatureScores, feature_scores
from paper.tables import Sample

Array = NDArray[np.float64]


class Formula(NamedTuple):
    """What is measured and searched for."""

    key: str
    words: str
    loss: str
    centering: str
    headline: str  # the solver whose groups are explained: the paper's, or ours
    support: float  # share of the rows from which on rules count

    @property
    def options(self) -> dict[str, Any]:
        return {"loss": self.loss, "centering": self.centering}

    def search(self, d: int, solver: Any, seed: int, n_jobs: int | None) -> MaxDisparityPartition:
        return MaxDisparityPartition(
            d, solver=solver, random_state=seed, n_jobs=n_jobs, **self.options
        )


# The paper names no floor for rules; at 5% its lifts (1.2 to 1.6) are met. The definition's groups
# are about a quarter as large, their floor is a fifth.
PAPER = Formula("paper", "the paper's formula", "projection_gap", "paper", "greedy", 0.05)
DEFINITION = Formula("definition", "the definition", "excess", "global", "ours", 0.01)
FORMULAS = (PAPER, DEFINITION)

GREEDY = Greedy(epochs=15)
ANNEALING = Annealing(cooling=0.999, t_min=1e-6, max_steps=10_000)
SOLVERS: dict[str, Any] = {"greedy": GREEDY, "annealing": ANNEALING, "ours": "alternating"}
# On further samples, annealing and our search are run this many times less often than greedy.
_FEWER = 6
THRESHOLD = 0.8  # share of the variance that components have to exceed
TOP_RULES = 10
FOUND, DAYTIME, LOW = "global", "daytime_evening", "low_grade_and_unpaid_tuition"


@dataclass(frozen=True)
class Found:
    """Runs of one solver: labels (1 = left out), and the losses of rest and left-out group."""

    labels: NDArray[np.int8]  # (runs, m)
    losses: Array  # (runs, 2)
    epochs: Sequence[Array] = ()  # of greedy's runs: the disparity after each epoch,
    epoch_labels: Sequence[NDArray[np.int8]] = ()  # and labels before the first and after each

    @property
    def disparities(self) -> Array:
        return self.losses[:, 1] - self.losses[:, 0]

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Rest and left-out group, one line per run."""
        left_out = self.labels.sum(axis=1, dtype=np.intp)
        return np.stack([self.labels.shape[1] - left_out, left_out], axis=1)

    @property
    def best(self) -> int:
        return int(np.argmax(self.disparities))

    @property
    def group(self) -> NDArray[np.int8]:
        """Labels of the best run."""
        return self.labels[self.best]

    def agreement(self) -> Array:
        """Jaccard of every two runs: the largest of the four pairings of their sides.

        So the published range can be read: "the maximum, accounting for the arbitrary labelling".
        """
        return pairs(sides_agree(self.labels))

    def jaccard(self) -> Array:
        """Jaccard of the left-out groups of every two runs, or of one's with the other's rest."""
        n, J = len(self.labels), pairwise_jaccard(np.vstack([self.labels, 1 - self.labels]))
        return np.max([J[:n, :n], J[:n, n:], J[n:, :n]], axis=0)

    def agreement_by_chance(self) -> Array:
        """About the same, of groups of the same sizes whose rows are drawn at random."""
        share = self.sizes.max(axis=1) / self.labels.shape[1]
        return random_agreement(*share[np.array(np.triu_indices(len(share), 1))])

    def within(self) -> list[Array]:
        """For every run, the Jaccard of adjacent epochs and, last, of the first and last one."""
        every = [sides_agree(labels[1:]) for labels in self.epoch_labels]
        return [np.append(np.diag(J, 1), J[0, -1]) for J in every]


def random_agreement(share: Array, other: Array) -> Array:
    """Jaccard of two groups with these shares of the rows, both drawn at random, more or less."""
    return share * other / (share + other - share * other)


def sides_agree(labels: NDArray[np.int8]) -> Array:
    """Jaccard of partitions: the largest of the four pairings of their sides."""
    n, J = len(labels), pairwise_jaccard(np.vstack([labels, 1 - labels]))
    return np.max([J[:n, :n], J[n:, n:], J[:n, n:], J[n:, :n]], axis=0)


def pairs(jaccard: Array) -> Array:
    """Of every two runs, once."""
    return jaccard[np.triu_indices(len(jaccard), 1)]


def searched(
    X: Array, d: int, formula: Formula, solver: Any, runs: int, seed: int, n_jobs: int | None
) -> Found:
    """Run a solver with several seeds."""
    with collected_warnings():  # of a smallest size above a quarter of few rows
        fits = fit_with_seeds(formula.search(d, solver, seed, n_jobs), X, runs, Steps(runs, None))
    greedy = [fit for fit in fits if hasattr(fit, "epoch_labels_")]
    return Found(
        labels=np.array([fit.labels_ for fit in fits], dtype=np.int8),
        losses=np.array([group_losses(X, fit.labels_, d, **formula.options) for fit in fits]),
        epochs=[fit.history_["disparity"] for fit in greedy],
        epoch_labels=[fit.epoch_labels_ for fit in greedy],
    )


@dataclass(frozen=True)
class Sorted:
    """Rows cut by their residual: losses and sizes of the side of high and that of low ones."""

    losses: Array  # (2,)
    sizes: NDArray[np.intp]

    @property
    def disparity(self) -> float:
        return float(abs(self.losses[0] - self.losses[1]))


def sorted_rows(X: Array, d: int, formula: Formula, split: str, size: int | None = None) -> Sorted:
    """The paper's second algorithm: the rows of high residual against the others.

    With ``size``, the first side has that many rows (of either end of the order, whichever gives
    the larger gap).
    """
    with collected_warnings():  # of a matched group that loses less than the rest
        search = formula.search(d, Sorting(split=split), 0, 1).set_params(group_size=size).fit(X)
    first = search.labels_ == 1
    if size is None:
        residual = residuals(X, d, formula)
        first = first if residual[first].mean() > residual[~first].mean() else ~first
    losses = group_losses(X, np.where(first, 0, 1), d, **formula.options)
    return Sorted(losses, np.array([first.sum(), (~first).sum()]))


def residuals(X: Array, d: int, formula: Formula) -> Array:
    """Squared error of every row under the shared PCA; with the paper, of rows not centred."""
    centred: Array = X - X.mean(axis=0)
    V = np.linalg.svd(centred, full_matrices=False)[2][:d]
    rows = X if formula is PAPER else centred
    return np.sum((rows - rows @ V.T @ V) ** 2, axis=1)


def cumulative_variance(X: Array) -> Array:
    energy = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    return np.cumsum(energy) / energy.sum()


def components(cumulative: Array) -> int:
    """The smallest number whose share exceeds the threshold."""
    return int(np.argmax(cumulative > THRESHOLD)) + 1


def known_groups(known: Known, raw: pd.DataFrame) -> dict[str, NDArray[np.intp]]:
    """The groups that the paper names, first one 0: daytime, and low grades with unpaid tuition.

    What grade is low is not published; below or at the median, their number is the published one.
    """
    if known is not STUDENTS:
        return {}
    grade = raw["Curricular units 2nd sem (grade)"]
    low = (grade <= grade.median()) & (raw["Tuition fees up to date"] == 0)
    return {
        DAYTIME: (raw["Daytime/evening attendance"] != 1).to_numpy(dtype=np.intp),
        LOW: (~low).to_numpy(dtype=np.intp),
    }


@dataclass(frozen=True)
class Mended:
    """Losses of two groups before and after Fair PCA; with a certificate where there is one."""

    sizes: NDArray[np.intp]
    before: Array
    after: Array
    gap: float | None = None


def mend(X: Array, groups: NDArray[Any], d: int, formula: Formula) -> Mended:
    """Fair PCA: the paper's correction, or the certified optimum of the definition."""
    sizes = np.bincount(groups, minlength=2)
    if formula is PAPER:
        before = group_losses(X, groups, d, **formula.options)
        return Mended(sizes, before, corrected(X, groups, d))
    fair = FairPCA(d).fit(X, groups=groups)
    return Mended(sizes, fair.baseline_losses_, fair.losses_, fair.gap_)


@dataclass(frozen=True)
class Measured:
    """One formula on one sample."""

    found: dict[str, Found]  # by solver
    half: Sorted
    cut: Sorted  # at the best of all cuts
    matched: list[Sorted]  # at the size of each run of greedy
    groups: dict[str, NDArray[np.intp]]  # what is found, and what the paper names
    mended: dict[str, Mended]  # by the same names
    scores: list[FeatureScores]  # by run of the headline solver
    frequency: Frequency


@dataclass(frozen=True)
class Sampled:
    """One sample: the rows, the number of components, and what both formulas give."""

    seed: int
    sample: Sample
    d: int
    cumulative: Array
    formulas: dict[str, Measured]

    @property
    def X(self) -> Array:
        return self.sample.matrix

    @property
    def d_by_rule(self) -> int:
        return components(self.cumulative)


def measure(
    known: Known, sample: Sample, d: int | None, runs: int, seed: int, first: bool,
    n_jobs: int | None, report: Report,
) -> Sampled:  # fmt: skip
    """Everything on one sample; the first one gets all runs of every solver.

    Without a number of components, it is the one by the rule.
    """
    X = sample.matrix
    cumulative = cumulative_variance(X)
    d = components(cumulative) if d is None else d
    formulas, steps = {}, len(SOLVERS) + 1
    for place, formula in enumerate(FORMULAS):
        found: dict[str, Found] = {}
        for name, solver in SOLVERS.items():
            done = steps * place + len(found)
            report(f"{formula.words}, {name}", done, steps * len(FORMULAS))
            times = runs if first or name == "greedy" else max(2, runs // _FEWER)
            found[name] = searched(X, d, formula, solver, times, seed, n_jobs)
        done = steps * (place + 1) - 1
        report(f"{formula.words}, scores, rules, Fair PCA", done, steps * len(FORMULAS))
        formulas[formula.key] = _described(known, sample, d, formula, found)
    return Sampled(seed, sample, d, cumulative, formulas)


def _described(
    known: Known, sample: Sample, d: int, formula: Formula, found: dict[str, Found]
) -> Measured:
    X, headline = sample.matrix, found[formula.headline]
    sizes = np.unique(found["greedy"].sizes[:, 1]).tolist()
    groups = {FOUND: headline.group.astype(np.intp), **known_groups(known, sample.raw)}
    return Measured(
        found=found,
        half=sorted_rows(X, d, formula, "half"),
        cut=sorted_rows(X, d, formula, "best"),
        matched=[sorted_rows(X, d, formula, "matched", size) for size in sizes],
        groups=groups,
        mended={name: mend(X, group, d, formula) for name, group in groups.items()},
        scores=[
            feature_scores(sample.X, labels, d, centering=formula.centering)
            for labels in headline.labels
        ],
        frequency=rule_frequency(
            columns_of(
                sample.raw, categorical=[*known.categories, *known.codes], drop=[known.target]
            ),
            headline.labels,
            min_support=formula.support,
            top=TOP_RULES,
        ),
    )
