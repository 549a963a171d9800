"""Losses of groups that are known already."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leftout.checks import check_choice, check_groups
from leftout.core.components import check_components
from leftout.core.losses import CENTERINGS, LOSSES, Array, Loss, Summary, evaluate, summarise
from leftout.core.moments import Moments
from leftout.tables.matrix import check_matrix


def group_losses(
    X: Any,
    labels: ArrayLike,
    n_components: int | float,
    *,
    loss: str = "excess",
    centering: str = "global",
) -> Array:
    r"""Average loss of every group under the PCA that all rows share.

    Under the default, ``excess``, a group's loss is the reconstruction error it suffers because it
    must share a projection,

    .. math:: (\|G - GP\|_F^2 - \|G - G P_G\|_F^2) / |G|,

    with ``P`` the projection onto the table's leading components and ``P_G`` the group's own.

    Parameters
    ----------
    X : table of shape (m, n)
        Numbers: an array, or a pandas, polars or pyarrow table.
    labels : array of shape (m,)
        The group of each row; any values that can be sorted.
    n_components : int or float
        Number of components, or the share of variance to exceed.
    loss : {"excess", "projection_gap"}
    centering : {"global", "none", "paper"}

    Returns
    -------
    array of shape (n_groups,)
        Losses in the order of the sorted labels.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> group_losses(X, ["along", "along", "across", "across"], 1)
    array([1., 0.])
    """
    return measured(X, labels, n_components, loss, centering).losses()


class Measured(NamedTuple):
    """What every number about known groups is computed from."""

    rule: Loss
    table: Summary  # one row of its moments for each group, in the order of the sorted labels
    V: Array  # the shared components

    def losses(self) -> Array:
        """Average loss of each group."""
        return evaluate(self.rule, self.table.moments, self.V)

    def in_columns(self) -> tuple[Loss, Moments, Array]:
        """The same in the table's columns, for splits over features."""
        moments, back = self.table.moments, self.table.back
        if back is not None:
            second = np.stack([back @ S @ back.T for S in moments.second])
            moments = Moments(moments.count, moments.total @ back.T, second, self.table.mean)
        return self.rule, moments, self.table.in_columns(self.V)


def measured(
    X: Any, labels: ArrayLike, n_components: int | float, loss: str, centering: str
) -> Measured:
    """Check what users pass in, and take the moments of each group."""
    check_choice("loss", loss, LOSSES)
    check_choice("centering", centering, CENTERINGS)
    X = check_matrix(X)
    names, index = check_groups(labels, len(X))
    return measure(X, index, len(names), n_components, loss, centering)


def measure(
    X: Array,
    index: NDArray[np.integer],
    n_groups: int,
    n_components: int | float,
    loss: str,
    centering: str,
) -> Measured:
    """:func:`measured` on a matrix that is checked, and groups that are counted from 0."""
    rule = Loss.named(loss, centering)
    table = summarise(X, centering, index, n_groups, mean_first=True)
    shared = check_components(rule, table, n_components, below_rank=False)
    return Measured(rule, table, shared.components)


def disparity(
    X: Any,
    labels: ArrayLike,
    n_components: int | float,
    *,
    loss: str = "excess",
    centering: str = "global",
) -> float:
    """Largest minus smallest of the groups' average losses.

    Parameters are those of :func:`group_losses`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> disparity(X, [0, 0, 1, 1], 1)
    1.0
    """
    losses = group_losses(X, labels, n_components, loss=loss, centering=centering)
    return float(losses.max() - losses.min())
