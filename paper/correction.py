"""The paper's own correction, as far as its figures tell: least largest projection gap.

The published losses after Fair PCA are equal to four digits and far below what any projection
reaches under the definition with the losses before. A projection that minimises the larger of
``||G P - G P_G||^2 / |G|``, the formula of the paper's Algorithm 1 on rows that are not centred,
has losses of that size. There is no dual here, so no certificate: a local search from a few starts.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Array = NDArray[np.float64]

# The larger of the losses is smoothed, less and less.
_SHARPNESS = (10.0, 100.0, 1e3, 1e4)
_STEPS = 200


def corrected(X: Array, groups: NDArray[np.integer], d: int) -> Array:
    """Losses of groups 0 and 1 under the projection of rank d whose larger loss is smallest."""
    parts = [X[groups == g] for g in (0, 1)]
    second = [G.T @ G / len(G) for G in parts]
    bases = [_components(rows, d) for rows in (X, *parts)]
    own = [V @ V.T for V in bases[1:]]
    tried = (_losses(_descend(start, second, own), second, own)[0] for start in bases)
    return min(tried, key=lambda losses: float(losses.max()))


def _components(rows: Array, d: int) -> Array:
    return np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][:d].T


def _losses(V: Array, second: Sequence[Array], own: Sequence[Array]) -> tuple[Array, list[Array]]:
    """The groups' losses, and how far their own projections are from this one."""
    apart = [V @ V.T - Q for Q in own]
    return np.array([np.sum(S * (D @ D)) for S, D in zip(second, apart, strict=True)]), apart


def _descend(start: Array, second: Sequence[Array], own: Sequence[Array]) -> Array:
    shape = start.shape

    def value(flat: Array, sharpness: float) -> tuple[float, Array]:
        V, R = np.linalg.qr(flat.reshape(shape))
        losses, apart = _losses(V, second, own)
        top = losses.max()
        weights = np.exp(sharpness * (losses - top))
        smooth = top + np.log(weights.sum()) / sharpness
        weights /= weights.sum()
        slope = sum(
            w * (S @ D + D @ S) for w, S, D in zip(weights, second, apart, strict=True)
        ) @ V  # fmt: skip
        tangent = 2.0 * (slope - V @ (V.T @ slope))
        return smooth, np.linalg.solve(R, tangent.T).T.ravel()

    flat = start.ravel()
    for sharpness in _SHARPNESS:
        flat = minimize(
            value, flat, args=(sharpness,), jac=True, method="L-BFGS-B",
            options={"maxiter": _STEPS},
        ).x  # fmt: skip
    return np.linalg.qr(flat.reshape(shape))[0]
