"""The same conditions in comparison tables.

A comparison table has features, not raw columns: categories are columns of yes or no, and of a
bell-shaped table even these are numbers. So conditions are looked for by rank: the row with the
``r``-th largest value of a feature gets what the row with the ``r``-th largest value of it has in
the table. In tables with the same values that is the condition itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.core.losses import Array
from leftout.search.axes import Axis
from leftout.tables.conditions import Mask


class Matched(NamedTuple):
    """A feature, and what the table's rows have, in the rising order of the feature."""

    feature: int
    values: NDArray[Any]

    @classmethod
    def of(cls, X: Array, feature: int, values: NDArray[Any]) -> Matched:
        return cls(feature, values[np.argsort(X[:, feature], kind="stable")])

    def within(self, Y: Array) -> NDArray[Any]:
        """What each row of another table has."""
        result = np.empty_like(self.values)
        result[np.argsort(Y[:, self.feature], kind="stable")] = self.values
        return result


@dataclass(frozen=True)
class Twin:
    """How the bins of an axis are told from features.

    Numbers follow the order of one feature. Values of a category have features of their own, and so
    has what is missing; where several hold, the rarest counts, and where none does, ``other``.
    """

    numbers: Matched | None
    single: list[tuple[int, Matched]]  # bins, the rarest last
    other: int

    @classmethod
    def of(cls, axis: Axis, X: Array) -> Twin:
        codes, column = axis.codes, axis.cut.column
        common = np.argsort(-np.bincount(codes, minlength=axis.n_bins), kind="stable").tolist()
        gaps = column.missing
        numbers = None
        if column.categories is None:
            feature = _likest(codes[~gaps], X[~gaps])
            numbers = Matched.of(X, feature, _filled(codes, gaps, X[:, feature]))
            alone = np.unique(codes[gaps]).tolist()
        else:
            told = [b for b in common if _told(axis, b)]
            alone = told if len(told) < len(common) else told[1:]
        single = [(b, Matched.of(X, _likest(codes == b, X), codes == b)) for b in alone]
        others = [b for b in common if b not in alone]
        return cls(numbers, single, others[0] if others else common[0])

    def within(self, Y: Array) -> NDArray[np.intp]:
        """The bin of each row of another table."""
        codes = np.full(len(Y), self.other, dtype=np.intp)
        if self.numbers is not None:
            codes = self.numbers.within(Y)
        for place, matched in self.single:
            codes[matched.within(Y)] = place
        return codes


def _told(axis: Axis, place: int) -> bool:
    """Whether a bin is a single value, rather than all that no condition tells apart."""
    return int(np.count_nonzero(np.unique(axis.cut.codes[axis.codes == place]) >= 0)) == 1


def _likest(values: NDArray[Any], X: Array) -> int:
    """The feature with the strongest correlation, whichever way."""
    v = values - values.mean()
    centred = X - X.mean(axis=0)
    length = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    with np.errstate(invalid="ignore", divide="ignore"):
        strength = np.abs(v @ centred) / length
    return int(np.nan_to_num(strength, nan=-1.0, posinf=-1.0).argmax())


def _filled(codes: NDArray[np.intp], gaps: Mask, feature: Array) -> NDArray[np.intp]:
    """Bins with those of missing rows as their feature, which was filled, stands among others."""
    if not gaps.any():
        return codes
    order = np.argsort(feature[~gaps], kind="stable")
    place = np.searchsorted(feature[~gaps][order], feature[gaps])
    filled = codes.copy()
    filled[gaps] = codes[~gaps][order[np.minimum(place, len(order) - 1)]]
    return filled
