"""Losses of given groups, from their moments."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leftout.checks import check_choice, check_groups, parameters_of
from leftout.data.matrix import Counted, check_features
from leftout.errors import InputError, parameter_label
from leftout.groups.problem_setup import check_given
from leftout.linalg.losses import (
    CENTERINGS,
    LOSSES,
    Array,
    Loss,
    Summary,
    evaluate,
    summarise,
)
from leftout.linalg.moments import Moments
from leftout.representation.base import (
    Representation,
    as_representation,
    check_components,
    features_of,
)


class Measured(NamedTuple):
    """What every number about known groups is computed from."""

    rule: Loss
    table: Summary  # one row of its moments for each group, in the order of the sorted labels
    V: Array  # the shared components
    # squared errors by group and feature, under a representation that is no projection
    errors: Array | None = None

    def losses(self) -> Array:
        """Average loss of each group."""
        return evaluate(self.rule, self.table.moments, self.V)

    def in_columns(self) -> tuple[Loss, Moments, Array, Array | None]:
        """Moments and components in the table's columns, for splits over features."""
        moments, back = self.table.moments, self.table.back
        if back is not None:
            second = np.stack([back @ S @ back.T for S in moments.second])
            moments = moments._replace(
                total=moments.total @ back.T, second=second, origin=self.table.mean
            )
        return self.rule, moments, self.table.in_columns(self.V), self.errors


def measured(
    X: Any,
    labels: ArrayLike,
    n_components: int | float = 0.8,
    *,
    representation: Any = None,
    loss: str = "excess",
    centering: str = "global",
    sample_weight: ArrayLike | None = None,
) -> Measured:
    """Check what users pass in, and take the moments of each group."""
    check_choice("loss", loss, LOSSES)
    check_choice("centering", centering, CENTERINGS)
    X = check_features(features_of(representation, X))
    names, index = check_groups(labels, len(X))
    X, places, weights = Counted.of(X, sample_weight)
    if len(X) < len(index):  # groups of which no row counts are none
        names, index = check_groups(names[index[places]], len(X))
    given = None if representation is None else as_representation(representation)
    if given is not None:
        check_given(given, Loss.named(loss, centering), X)
    return measure(X, index, len(names), n_components, loss, centering, given, weights)


def measure(
    X: Array,
    index: NDArray[np.integer],
    n_groups: int,
    n_components: int | float,
    loss: str,
    centering: str,
    given: Representation | None = None,
    weights: Array | None = None,
) -> Measured:
    """:func:`measured` on a matrix that is checked, and groups that are counted from 0."""
    rule, origin = Loss.named(loss, centering), None if given is None else given.origin
    if weights is not None and rule.own_mean:
        raise InputError(
            "centering='paper' exists to reproduce published figures, which count every row once, "
            f"but {parameter_label('sample_weight')} was given. Use centering='global'."
        )
    table = summarise(
        X, centering, index, n_groups, mean_first=True, origin=origin, weights=weights
    )
    if given is None:
        shared = check_components(rule, table, n_components, below_rank=False)
        return Measured(rule, table, shared.components)
    given = given.at(table.mean)
    if given.components is not None:
        V = given.components if table.back is None else given.components @ table.back
        return Measured(rule, table, V)
    squares = given.errors(X) ** 2
    if weights is not None:
        squares *= weights[:, None]
    errors = np.stack([squares[index == group].sum(axis=0) for group in range(n_groups)])
    variance = np.trace(table.moments.second, axis1=1, axis2=2)
    moments = table.moments._replace(kept=variance - errors.sum(axis=1))
    # only their number counts
    V = np.eye(moments.second.shape[1])[: given.rank]
    return Measured(rule, table._replace(moments=moments), V, errors)


@parameters_of(measured)
def group_losses(*args: Any, **named: Any) -> Array:
    r"""Average loss of every group under the PCA that all rows share.

    Under the default, ``excess``, a group's loss is the reconstruction error it suffers because it
    must share a projection,

    .. math:: (\|G - GP\|_F^2 - \|G - G P_G\|_F^2) / |G|,

    with ``P`` the projection onto the table's leading components and ``P_G`` the group's own.

    Parameters
    ----------
    X : table of shape (m, n)
        Numbers: an array, a pandas, polars or pyarrow table, or a sparse matrix.
    labels : array of shape (m,)
        The group of each row; any values that can be sorted.
    n_components : int or float
        Number of components, or the share of variance to exceed.
    representation : fitted transformer or None, default=None
        What the rows share, with its own number of components; None: their PCA.
    loss : {"excess", "projection_gap"}
    centering : {"global", "none", "paper"}
    sample_weight : array of shape (m,), optional
        How many rows each row stands for: means, components and losses count it so often.

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
    return measured(*args, **named).losses()


@parameters_of(measured)
def disparity(*args: Any, **named: Any) -> float:
    """Largest minus smallest of the groups' average losses.

    Parameters are those of :func:`group_losses`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> disparity(X, [0, 0, 1, 1], 1)
    1.0
    """
    losses = group_losses(*args, **named)
    return float(losses.max() - losses.min())
