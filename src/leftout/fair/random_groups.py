"""Who loses more than random groups do: known groups beside random ones of the same sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.checks import generator
from leftout.data.conditions import Mask
from leftout.errors import InputError, parameter_label
from leftout.files import Serializable
from leftout.groups.permutation import Groups, InAxes, permutation_test
from leftout.linalg.losses import Array
from leftout.linalg.significance import LEVEL, can_tell, describe_p
from leftout.running import Steps
from leftout.text import counted, number, points

# Groups within chance that have this share of the weights are told of.
_MUCH = 0.5


@dataclass(frozen=True, kw_only=True)
class RandomGroups(Serializable):
    """What random groups of the same sizes lose under ordinary PCA.

    Attributes
    ----------
    mean, high : arrays of shape (n_groups,)
        Their mean loss, and the 95th percentile.
    p_values : array of shape (n_groups,)
        How often some random group stands out as far as this one, of all that were looked at.
    p_values_alone : array of shape (n_groups,)
        How often a random group of its size loses as much.
    permutations : int
    left_out : array of bool
        Which groups lose more than random ones: corrected p-values of 0.05 or less.
    """

    also = ("left_out",)

    mean: Array
    high: Array
    p_values: Array
    p_values_alone: Array
    permutations: int

    @property
    def left_out(self) -> Mask:
        return self.p_values <= LEVEL

    def worst(self, losses: Array) -> int | None:
        """The group furthest beyond random ones, of those that are beyond them at all."""
        if not self.left_out.any():
            return None
        return int(np.where(self.left_out, losses - self.mean, -np.inf).argmax())

    def told(self, names: Sequence[str], sizes: NDArray[np.intp], losses: Array) -> str:
        """Who is worst off, and whether the largest loss is one of chance."""
        most, worst = int(losses.argmax()), self.worst(losses)
        if worst is None:
            largest = (
                f"The largest loss is that of {names[most]} ({counted(int(sizes[most]), 'row')}), "
                f"{number(losses[most])}; {self._random(most)}. "
            )
            if can_tell(self.permutations):
                return (
                    "No group loses clearly more than random groups of its size. "
                    f"{largest}There is nothing to mend beyond what those lose. "
                )
            return (
                f"{largest}With {counted(self.permutations, 'permutation')} no p-value comes down "
                f"to {LEVEL:g}, so that nobody can be said to lose more than random groups: 19 are "
                "needed at least. "
            )
        beyond = int(self.left_out.sum())
        who = f"{beyond} of the {len(names)} groups {'loses' if beyond == 1 else 'lose'}"
        if beyond == len(names):
            who = f"All {beyond} groups lose"
        text = (
            f"{who} more than random groups of the same size. Worst off is {names[worst]} "
            f"({counted(int(sizes[worst]), 'row')}) with an average loss of "
            f"{number(losses[worst])}; {self._random(worst)}. "
        )
        if not self.left_out[most]:
            text += (
                f"The largest loss, {number(losses[most])}, is that of {names[most]} "
                f"({counted(int(sizes[most]), 'row')}), but {self._random(most)}: that is no more "
                "than any such group may lose. "
            )
        return text

    def weighed(self, weights: Array, mended: Mask) -> str:
        """What to do where groups within chance decide what Fair PCA does.

        Those that pay for others do not count: without them nobody would be left out.
        """
        share = float(weights[~self.left_out & mended].sum())
        if share < _MUCH or not self.left_out.any():
            return ""
        return (
            f" Groups that lose no more than random ones have {points(share)} % of the weight in "
            "this: pool or drop their rows to mend for the others."
        )

    def _random(self, group: int) -> str:
        return (
            f"random groups of that size lose {number(self.mean[group])} (95 % of them at most "
            f"{number(self.high[group])}; {describe_p(self.p_values[group])})"
        )


def random_groups(
    X: Array,
    place: NDArray[np.intp],
    n_components: int,
    centering: str,
    permutations: int,
    random_state: Any,
    n_jobs: int | None,
    steps: Steps,
) -> RandomGroups:
    """Permute which rows are in which group of a partition."""
    if centering == "paper":
        raise InputError(
            "Random groups are compared under the definition of a loss, but centering='paper' was "
            f"asked for. Use centering='global', or {parameter_label('permutations', 0)}."
        )
    groups = Groups.of(*InAxes.of(X, n_components, centering=centering), place[:, None])
    found = permutation_test(groups, permutations, generator(random_state), n_jobs, steps)
    return RandomGroups(
        mean=found.random,
        high=found.high,
        p_values=found.corrected,
        p_values_alone=found.alone,
        permutations=permutations,
    )
