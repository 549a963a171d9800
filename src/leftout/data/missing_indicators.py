"""Features that say where columns are missing: indicators that say nearly the same become one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.data.columns import Column
from leftout.data.encoding import ColumnEncoding, Floats

# Indicators whose correlation (phi) is as large as this say the same.
SAME_INDICATOR = 0.95
# Rows of indicators that are multiplied at a time.
_AT_ONCE = 1 << 16


class MissingIndicator(NamedTuple):
    """One feature that says where columns are missing: the share of them, times a weight."""

    places: tuple[int, ...]  # of the columns, the first gives it its place
    name: str
    weight: float

    def of(self, missing: Mapping[int, NDArray[np.bool_]]) -> Floats:
        """Of each row, the share of these columns that is missing, weighted."""
        gaps = np.stack([missing[place] for place in self.places])
        return np.asarray(self.weight * gaps.mean(axis=0))


def fit_indicators(
    plans: Sequence[ColumnEncoding], columns: Sequence[Column]
) -> list[MissingIndicator]:
    """The missing indicators of columns as they are encoded.

    A column joins the first indicator before it whose first column is missing in nearly the same
    rows, and an indicator varies no more than any of its columns does.
    """
    indicated = {
        place: plan.becomes
        for place, plan in enumerate(plans)
        if plan.becomes is not None and plan.becomes.has_indicator and columns[place].n_missing
    }
    if not indicated:
        return []
    together = _missing_together(np.stack([columns[place].missing for place in indicated]))
    share = together / len(columns[0])
    alone = np.diag(share)
    covariance = share - np.outer(alone, alone)
    sizes = np.sqrt(np.diag(covariance))
    sizes[sizes == 0.0] = 1.0
    every = np.diag(together)
    equal = (together == every) & (together == every[:, None])
    alike = equal | (covariance / np.outer(sizes, sizes) >= SAME_INDICATOR)
    groups: list[list[int]] = []
    for here in range(len(indicated)):
        home = next((group for group in groups if alike[group[0], here]), None)
        if home is None:
            groups.append([here])
        else:
            home.append(here)
    places = list(indicated)
    variances = [becomes.read(columns[place]).spread() for place, becomes in indicated.items()]
    indicators = []
    for group in groups:
        members = tuple(places[here] for here in group)
        variance = float(covariance[np.ix_(group, group)].mean())
        weight = min(1.0, float(np.sqrt(min(variances[here] for here in group) / variance)))
        name = _missing_name([columns[place].name for place in members])
        indicators.append(MissingIndicator(members, name, weight))
    return indicators


def _missing_together(missing: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Rows in which two columns are missing at once, of the gaps of all columns, one in a line."""
    together = np.zeros((len(missing), len(missing)), dtype=np.int64)
    for start in range(0, missing.shape[1], _AT_ONCE):
        part = missing[:, start : start + _AT_ONCE].astype(np.float32)
        together += np.rint(part @ part.T).astype(np.int64)
    return together


def _missing_name(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{names[0]} is missing"
    others = names[1] if len(names) == 2 else f"{len(names) - 1} others"
    return f"{names[0]} and {others} are missing"
