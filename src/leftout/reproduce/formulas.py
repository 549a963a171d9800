"""The two columns of every table: the formula that the published figures come from, and the
definition that the paper states.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from leftout import MaxDisparityPartition
from leftout.solvers import Annealing, Greedy


class Formula(NamedTuple):
    """What is measured and searched for."""

    key: str
    words: str
    loss: str
    centering: str
    headline: str  # the solver whose groups are explained: the paper's, or ours

    @property
    def options(self) -> dict[str, str]:
        return {"loss": self.loss, "centering": self.centering}

    def search(self, d: int, solver: Any, seed: int, n_jobs: int | None) -> MaxDisparityPartition:
        return MaxDisparityPartition(
            d, loss=self.loss, centering=self.centering, solver=solver, random_state=seed,
            n_jobs=n_jobs,
        )  # fmt: skip


PAPER = Formula("paper", "the paper's formula", "projection_gap", "paper", "greedy")
DEFINITION = Formula("definition", "the definition", "excess", "global", "ours")
FORMULAS = (PAPER, DEFINITION)

GREEDY = Greedy(epochs=15)
ANNEALING = Annealing(cooling=0.999, t_min=1e-6, max_steps=10_000)
SOLVERS: dict[str, Any] = {"greedy": GREEDY, "annealing": ANNEALING, "ours": "alternating"}
