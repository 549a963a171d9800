"""Losses of given groups, from their moments."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leftout.checks import check_choice, check_groups, parameters_of
from leftout.data.matrix import Counted, check_features
from leftout.errors import InputError, parameter_label
from leftout.groups.problem_setup import SearchProblem, build_problem, check_rule
from leftout.linalg.losses import CENTERINGS, LOSSES, Array, Loss, losses_by_feature
from leftout.linalg.moments import Moments
from leftout.representation.base import features_of


class Measured(NamedTuple):
    """A table's problem, and groups of its rows, counted from 0."""

    X: Array
    built: SearchProblem
    labels: NDArray[np.integer]
    n_groups: int

    def moments(self) -> Moments:
        return self.built.problem.split(self.labels, self.n_groups)

    def losses(self) -> Array:
        """Average loss of each group."""
        return self.built.problem.losses_of(self.moments())[0]

    def by_feature(self) -> Array:
        """The losses, split over the table's columns: (groups, n)."""
        (problem, table, _, given), moments, errors = self.built, self.moments(), None
        if table.back is not None:
            second = np.stack([table.back @ S @ table.back.T for S in moments.second])
            moments = moments._replace(total=moments.total @ table.back.T, second=second)
        if problem.kept is not None:
            squares = given.errors(self.X) ** 2
            if problem.weights is not None:
                squares *= problem.weights[:, None]
            groups = range(self.n_groups)
            errors = np.stack([squares[self.labels == group].sum(axis=0) for group in groups])
        return losses_by_feature(problem.loss, moments, table.in_columns(problem.V), errors)


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
    check_rule(representation, Loss.named(loss, centering))
    return measure(X, index, len(names), n_components, loss, centering, representation, weights)


def measure(
    X: Array,
    index: NDArray[np.integer],
    n_groups: int,
    n_components: int | float,
    loss: str,
    centering: str,
    representation: Any = None,
    weights: Array | None = None,
) -> Measured:
    """:func:`measured` on a matrix that is checked, and groups that are counted from 0."""
    if weights is not None and centering == "paper":
        raise InputError(
            "centering='paper' exists to reproduce published figures, which count every row once, "
            f"but {parameter_label('sample_weight')} was given. Use centering='global'."
        )
    built = build_problem(
        X, n_components, loss, centering, representation=representation, weights=weights,
        below_rank=False,
    )  # fmt: skip
    return Measured(X, built, index, n_groups)


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
