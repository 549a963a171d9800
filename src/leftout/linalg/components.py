"""How many components the shared PCA has."""

from typing import Any

import numpy as np

from leftout.checks import is_int, is_share
from leftout.errors import InputError, parameter_label
from leftout.linalg.losses import Array, Loss, Shared, Summary, shared_pca
from leftout.running import warn

# Eigenvalues closer than this share of the largest cannot be told apart.
_TIE = 1e-10
# Squares of larger sums of squares overflow.
_LARGEST = 1e150


def check_components(
    loss: Loss, table: Summary, n_components: Any, *, below_rank: bool = True
) -> Shared:
    """The shared PCA with the number of components asked for.

    ``n_components`` is an int, or the share of variance to exceed. With ``below_rank`` something
    must be left to lose: an int at or above the rank is refused, a share that would take all
    dimensions is cut to one less.
    """
    m, n = int(table.moments.count.sum()), len(table.mean)
    full = shared_pca(loss, table.moments, n)
    values = full.eigenvalues
    check_variance(float(values[0]), n)
    rank = int(np.sum(values > values[0] * max(m, n) * np.finfo(float).eps))
    if below_rank and rank < 2:
        raise InputError(
            f"The table has rank {rank}: one component represents every row exactly, so nobody is "
            "left out. Pass a table with at least two independent columns."
        )
    d = dimensions(n_components, values, rank - 1 if below_rank else n, rank)
    if d < rank and values[d - 1] - values[d] <= _TIE * values[0]:
        warn(
            f"Eigenvalues {d} and {d + 1} of the table are equal, so the shared projection onto "
            f"{d} components is not unique and results depend on which one is picked. "
            f"Use another {parameter_label('n_components')}.",
            stacklevel=3,
        )
    return full._replace(components=np.ascontiguousarray(full.components[:d]))


def check_variance(variance: float, n_features: int) -> None:
    """Refuse a table without variance, or with one whose squares are not numbers."""
    if not np.finfo(float).tiny < variance < _LARGEST:
        raise InputError(
            f"There is no variance to represent: all {n_features} columns are constant, or vary "
            "too little or too much for their squares. Pass a table whose rows differ, on a common "
            "scale."
        )


def dimensions(n_components: Any, values: Array, limit: int, rank: int) -> int:
    """A number of components from an int, or from the share of the ``values`` to exceed."""
    if is_int(n_components):
        if 1 <= int(n_components) <= limit:
            return int(n_components)
        given = parameter_label("n_components", n_components)
        raise InputError(
            f"{given} is out of range: the table has rank {rank}, "
            "and a projection must keep at least 1 and leave out at least one of its dimensions. "
            f"Choose from 1 to {limit}."
            if limit < rank
            else f"{given} is out of range; choose from 1 to {limit}."
        )
    if is_share(n_components):
        ratio = np.cumsum(values) / values.sum()
        d = int(np.searchsorted(ratio, float(n_components), side="right")) + 1
        if d <= limit:
            return d
        warn(
            f"More than {n_components:g} of the variance takes all {rank} dimensions of the table; "
            f"using {limit}, so that something is left out. Lower "
            f"{parameter_label('n_components')} to "
            "silence this.",
            stacklevel=4,
        )
        return limit
    raise InputError(
        f"{parameter_label('n_components', n_components)} is neither a number of components (an "
        "int from 1) "
        "nor a share of the variance to exceed (a float between 0 and 1). Give one of these."
    )
