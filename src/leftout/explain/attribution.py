"""Which features a disparity is made of, and what it is without them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from leftout.checks import generator, parameters_of
from leftout.evidence.replication import pairwise_jaccard
from leftout.files import Serializable
from leftout.groups.fitted import for_same_size
from leftout.groups.measured import measured
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.losses import Array, summarise
from leftout.running import Steps, imap_ordered, one_thread


@parameters_of(measured)
def feature_losses(*args: Any, **named: Any) -> Array:
    r"""Split every group's loss over the features, exactly.

    Under ``excess``, feature j's part of a group's loss is

    .. math:: (\|(G - GP)_j\|^2 - \|(G - G P_G)_j\|^2) / |G|,

    what the feature's reconstruction errors under the shared PCA exceed those under the group's own
    by. A part can be negative: the group's own PCA trades one feature for another.

    Parameters
    ----------
    X, labels, n_components, representation, loss, centering
        As for :func:`leftout.group_losses`.

    Returns
    -------
    array of shape (n_groups, n)
        Each row sums to the group's entry in :func:`leftout.group_losses`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> feature_losses(X, [0, 0, 1, 1], 1)
    array([[0., 0.],
           [0., 1.]])
    """
    return measured(*args, **named).by_feature()


@dataclass(frozen=True, kw_only=True)
class WhatIf(Serializable):
    """The best disparity that a search finds when one feature is left out.

    Attributes
    ----------
    feature : str
        Or the raw column, where several features were made from it: they go together.
    disparity : float
        With the feature as it is.
    without : float
        When it is left out. Components are as many as before, or as many as leave something out of
        what is left; 0 where that cannot be.
    gone : float
        The share of the disparity that goes; negative where it grows.
    overlap : float
        Without the feature: the share of rows left out by either search that both leave out.
    """

    also = ("gone",)

    feature: str
    disparity: float
    without: float
    overlap: float

    @property
    def gone(self) -> float:
        return 1.0 - self.without / self.disparity


def search_without(
    found: MaxDisparityPartition,
    X: Array,
    sources: list[str],
    leading: list[str],
    steps: Steps,
    weights: Array | None = None,
) -> list[WhatIf]:
    """Search again without the features of each leading source.

    Sensitivity, not causation: a feature may matter for the search without mattering for why people
    are as they are, and features that say the same stand in for each other.
    """
    search = for_same_size(found).set_params(n_components=found.n_components_, n_jobs=1)
    rngs = generator(found.random_state).spawn(len(leading))
    tasks = [
        (search, np.delete(X, [name == source for name in sources], axis=1), rng, weights)
        for source, rng in zip(leading, rngs, strict=True)
    ]
    with one_thread():
        results = list(imap_ordered(_again, tasks, found.n_jobs, steps, "what if"))
    return [
        WhatIf(
            feature=source,
            disparity=found.disparity_,
            without=without,
            overlap=float(pairwise_jaccard(np.stack([labels, found.labels_]))[0, 1]),
        )
        for source, (without, labels) in zip(leading, results, strict=True)
    ]


def _again(
    search: MaxDisparityPartition, X: Array, rng: np.random.Generator, weights: Array | None
) -> tuple[float, NDArray[np.intp]]:
    """Disparity and labels of a search on what is left of a table."""
    d = min(search.n_components, _rank(X, search.centering) - 1)
    if d < 1:  # one component represents every row, or one feature is left
        return 0.0, np.zeros(len(X), dtype=np.intp)
    again = clone(search).set_params(n_components=d, random_state=rng)
    again.fit(X, sample_weight=weights)
    return again.disparity_, again.labels_


def _rank(X: Array, centering: str) -> int:
    """Dimensions that the table varies in."""
    moments = summarise(X, "global" if centering == "paper" else centering).moments
    values = np.linalg.eigvalsh(moments.second[0])
    return int(np.sum(values > values[-1] * max(X.shape) * np.finfo(float).eps))
