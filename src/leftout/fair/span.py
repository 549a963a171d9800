"""The problem inside the span of a few directions, and what it proves about all features."""

from __future__ import annotations

import numpy as np

from leftout.core.losses import Array
from leftout.fair.leading import Leading, leading, majorised
from leftout.fair.objective import ROUNDING, Answer, Objective

# A proof without new eigenpairs may cost so many times the tolerance.
_ROOM = 10.0


class Span:
    """An orthonormal basis ``B`` of some directions, and the problem inside their span."""

    def __init__(self, objective: Objective, directions: Array) -> None:
        self.objective = objective
        self.B = np.linalg.qr(directions)[0]
        self.small = objective.within(self.B)

    def add(self, directions: Array) -> None:
        """Take in more directions; what is known of the others stays."""
        for _ in range(2):  # once more for the digits that the first time loses
            directions = np.linalg.qr(directions - self.B @ (self.B.T @ directions))[0]
        SN = [S @ directions for S in self.objective.second]
        self.small = self.small._replace(second=np.stack([
            np.block([[old, self.B.T @ new], [new.T @ self.B, directions.T @ new]])
            for old, new in zip(self.small.second, SN, strict=True)
        ]))  # fmt: skip
        self.B = np.hstack([self.B, directions])

    def prove(self, found: Answer, tol: float) -> Answer | None:
        """The answer in features, if the span's own eigenpairs prove it without new ones."""
        objective, d = self.objective, self.objective.d
        values, turn = leading(self.small.mix(found.weights), d)
        ritz = Leading(values[:d], self.B @ turn[:, :d])
        slack = max(_ROOM * tol * abs(float(found.losses.max())), ROUNDING * objective.scale) / d
        if not majorised(objective.mix(found.weights), ritz, values[d - 1], slack):
            return None
        bound = objective.bound(found.weights, values) - d * slack
        return found._replace(V=found.V @ self.B.T, bound=bound)
