"""The losses: how much worse a group fares under the shared projection than under its own.

Every number here is a function of a group's :class:`~leftout.linalg.moments.Moments` and of the
shared components ``V`` (components as rows). With ``W`` the group's own components, ``P = V'V``,
``P_G = W'W`` and ``S`` its second moments:

- ``excess``          ``(<P_G, S> - <P, S>) / |G|`` (the paper's Definition 2.2);
- ``projection_gap``  ``<(P - P_G)^2, S> / |G|`` (what its Algorithm 1 writes instead).

Centring decides the origin of the moments and which PCA gives ``W``: about the origin
(``"global"``, ``"none"``), or about the group's own mean while ``S`` stays uncentred (``"paper"``).

Each is a quadratic form in a row: ``x'Mx`` with ``M = P_G - P`` and ``M = (P - P_G)^2``, averaged
over the group. :func:`register` adds others.
"""

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from leftout.checks import check_choice
from leftout.compiling import kernel
from leftout.errors import InputError
from leftout.linalg.moments import (
    Moments,
    build,
    build_about_mean,
    build_weighted,
    pooled,
    times_roots,
)

EXCESS, PROJECTION_GAP = 0, 1
LOSSES = {"excess": EXCESS, "projection_gap": PROJECTION_GAP}
CENTERINGS = ("global", "none", "paper")
# With more dimensions than this, what rows can tell is taken from rows, not from moments.
WIDE = 200
# Eigenvectors near others are looked for in at most so many steps, until what they keep is found to
# these digits.
_STEPS, _DIGITS = 12, 1e-5

Array = NDArray[np.float64]


class Loss(NamedTuple):
    """Which loss, and whether a group's own PCA is taken about the group's own mean."""

    kind: int
    own_mean: bool

    @property
    def own_is_best(self) -> bool:
        """Whether no components make a group's loss larger than its own PCA does."""
        return self.kind == EXCESS and not self.own_mean

    @property
    def compiled(self) -> bool:
        """Whether kernels know it; those that were registered they do not."""
        return self.kind in (EXCESS, PROJECTION_GAP)

    @property
    def within_residual(self) -> bool:
        """Whether a row adds at most its residual to a group's loss; else, its squared length."""
        return self.kind == EXCESS or (not self.compiled and _FORMS[self.kind].within_residual)

    def rank(self, d: int, n: int) -> int:
        """The most positive eigenvalues that the loss's matrix has."""
        return min(n, {EXCESS: d, PROJECTION_GAP: 2 * d}.get(self.kind, n))

    @classmethod
    def named(cls, loss: str, centering: str) -> Self:
        return cls(LOSSES[loss], centering == "paper")


class Form(NamedTuple):
    """A loss that was registered."""

    matrix: Callable[[Array, Array], Array]  # of shared and own components
    within_residual: bool


_FORMS: dict[int, Form] = {}
_AT_MOST = ("length", "residual")


def register(
    name: str, matrix: Callable[[Array, Array], Array], *, at_most: str = "length"
) -> None:
    """Add a loss, to be asked for by its name: ``loss=name``.

    A row ``x`` of a group, about the origin of the centring, loses ``x'Mx``; a group loses the
    average of its rows. The default solver and ``Sorting`` (at half or at a given size) search with
    it; solvers that move single rows are compiled for the losses that come with the package.

    Parameters
    ----------
    name : str
        Of a new loss, or of one registered before, which it replaces.
    matrix : callable
        ``matrix(V, W)`` gives the symmetric ``M`` (n x n) from the shared components ``V`` and the
        group's own ``W``, components as rows. Over a group's rows, ``x'Mx`` must not add up to less
        than nothing.
    at_most : {"length", "residual"}
        What ``x'Mx`` never exceeds: the squared length of the row, or what the shared components
        leave of it. Bounds follow from it.
    """
    if LOSSES.get(name) in (EXCESS, PROJECTION_GAP):
        raise InputError(
            f"The loss {name!r} comes with the package and cannot be replaced. Choose another name."
        )
    check_choice("at_most", at_most, _AT_MOST)
    kind = LOSSES.setdefault(name, len(LOSSES))
    _FORMS[kind] = Form(matrix, at_most == "residual")


def form(loss: Loss, V: Array, W: Array) -> Array:
    """The matrix ``M`` of a loss: what a row adds to it is ``x'Mx``."""
    if not loss.compiled:
        return _FORMS[loss.kind].matrix(V, W)
    gap = W.T @ W - V.T @ V
    return gap if loss.kind == EXCESS else gap @ gap


class Summary(NamedTuple):
    """A table as PCA sees it: its groups' moments, and the way back to its columns."""

    # of the table, or their coordinates where there are fewer of these than columns; where rows
    # have weights, about the mean and times the roots of these
    rows: Array
    moments: Moments  # of each group
    mean: Array  # what the centring takes away
    back: Array | None  # where there are coordinates: rows - mean = coordinates @ back.T

    def in_columns(self, components: Array) -> Array:
        """Components of the moments as components of the table."""
        return components if self.back is None else components @ self.back.T


def summarise(
    X: Array,
    centering: str,
    labels: NDArray[np.integer] | None = None,
    n_groups: int = 1,
    *,
    origin: Array | None = None,
    weights: Array | None = None,
) -> Summary:
    """Moments of the table, or of each of its groups, about the origin ``centering`` asks for.

    With more columns than rows, all rows lie in a subspace of as many dimensions as rows, and a
    rotation changes no loss: moments are taken in coordinates of that subspace. Otherwise the mean
    comes out of the same pass as the moments. An ``origin`` that is given takes the place of the
    centring's.

    Where rows have ``weights``, rows times the roots of these stand for them.
    """
    wide, about_mean = X.shape[1] > X.shape[0], centering == "global"
    with np.errstate(over="ignore", invalid="ignore"):  # callers see what is not finite
        if weights is None and origin is None and not wide and about_mean:
            moments = build_about_mean(X, labels, n_groups=n_groups)
            return Summary(X, moments, moments.origin, None)
        mean = origin
        if mean is None:
            mean = np.zeros(X.shape[1])
            if about_mean:
                mean = X.mean(axis=0) if weights is None else weights @ X / weights.sum()
        if weights is None and not wide:
            return Summary(X, build(X, labels, n_groups=n_groups, origin=mean), mean, None)
        rows, back = X - mean if weights is None else times_roots(X, mean, weights), None
        if wide:
            back, R = linalg.qr(rows.T, mode="economic", check_finite=False)
            rows = np.ascontiguousarray(R.T)
        if weights is None:
            return Summary(rows, build(rows, labels, n_groups=n_groups), mean, back)
        return Summary(rows, build_weighted(rows, weights, labels, n_groups=n_groups), mean, back)


def signed(components: Array) -> Array:
    """Each component with its largest loading positive, so that runs and machines agree."""
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return components * np.where(signs == 0.0, 1.0, signs)[:, None]


def scatter(loss: Loss, moments: Moments) -> Array:
    """The matrices whose leading eigenvectors are each group's own components."""
    if not loss.own_mean:
        return moments.second
    weight = 1.0 / np.maximum(moments.count, 1.0)
    outer = moments.total[:, :, None] * moments.total[:, None, :]
    return moments.second - weight[:, None, None] * outer


def top_components(matrix: Array, d: int) -> Array:
    """The ``d`` leading eigenvectors of a symmetric matrix, as rows, largest first."""
    n = len(matrix)
    # Asking LAPACK for some pairs only pays off where these are few, and matrices large.
    subset = (n - d, n - 1) if n > 96 and 6 * d < n else None
    driver = "evr" if subset else "evd"
    _, vectors = linalg.eigh(matrix, subset_by_index=subset, check_finite=False, driver=driver)
    return np.ascontiguousarray(vectors[:, ::-1][:, :d].T)


def own_components(loss: Loss, moments: Moments, d: int, near: Array | None = None) -> Array:
    """Each group's own ``d`` components: shape (n_groups, d, n).

    From components that are ``near``, a few products bring what only a search needs.
    """
    matrices = scatter(loss, moments)
    if near is not None:
        return np.stack([_improved(S, W) for S, W in zip(matrices, near, strict=True)])
    return np.stack([top_components(matrix, d) for matrix in matrices])


def _improved(S: Array, W: Array) -> Array:
    """Leading eigenvectors to a few digits, by block Krylov steps from ``W``."""
    before = 0.0
    for _ in range(_STEPS):
        WS = W @ S
        Q = np.linalg.qr(np.vstack([W, WS, WS @ S]).T)[0]
        values, vectors = linalg.eigh(Q.T @ S @ Q, check_finite=False)
        W, kept = vectors[:, ::-1][:, : len(W)].T @ Q.T, float(values[-len(W) :].sum())
        if kept - before <= _DIGITS * kept:
            break
        before = kept
    return np.ascontiguousarray(W)


def evaluate(loss: Loss, moments: Moments, V: Array, own: Array | None = None) -> Array:
    """Average loss of each group, shape (n_groups,); an empty group's is nan.

    ``own`` are the groups' own components where they are known already. What a representation that
    is no projection keeps, the moments have counted; its loss is ``excess``.
    """
    if own is None:
        own = own_components(loss, moments, len(V))
    kept = [None] * len(own) if moments.kept is None else moments.kept.tolist()
    groups = zip(moments.second, own, kept, strict=True)
    losses = np.array([basis_loss(loss, S, V, W, of_group) for S, W, of_group in groups])
    with np.errstate(invalid="ignore"):
        return losses / np.where(moments.count > 0, moments.count, np.nan)


def kept_by(moments: Moments, V: Array) -> Array:
    """What the shared representation keeps of each group: as was counted, or by its components."""
    if moments.kept is not None:
        return moments.kept
    return np.array([np.sum((V @ S) * V) for S in moments.second])


@kernel
def mean_disparity(losses: Array, count: Array) -> float:
    """What left-out rows lose beyond the rest's on average: ``sum k_j (loss_j - rest) / sum k_j``.

    Each group's disparity weighs as many rows as it has; the rest comes first. Of one group it is
    that group's.
    """
    left_out, value = count.sum() - count[0], 0.0
    for group in range(1, losses.size):
        value += count[group] / left_out * (losses[group] - losses[0])
    return value


def basis_loss(loss: Loss, S: Array, V: Array, W: Array, kept: float | None = None) -> float:
    """Total loss of the rows with second moments ``S`` when their own components are ``W``.

    ``kept`` is what the shared representation keeps of them where ``V`` does not tell.
    """
    if not loss.compiled:
        return float(np.sum(form(loss, V, W) * S))
    VS, WS = V @ S, W @ S
    own = float(np.sum(WS * W))
    if kept is not None:
        return own - kept
    kept = float(np.sum(VS * V))
    if loss.kind == EXCESS:
        return own - kept
    return kept + own - 2.0 * float(np.sum((WS @ V.T) * (W @ V.T)))


def basis_loss_by_feature(
    loss: Loss, S: Array, V: Array, W: Array, errors: Array | None = None
) -> Array:
    """:func:`basis_loss`, split over the columns: what each adds to the squared errors.

    ``errors`` are the sums of squared errors under a shared representation that is no projection.

    ``excess`` compares the residuals of a column under the shared and the group's own components,
    the diagonals of ``(I - P) S (I - P)``; ``projection_gap`` the two reconstructions. Of other
    losses it is the diagonal of ``MS``.
    """
    if not loss.compiled:
        return np.einsum("ij,ij->i", form(loss, V, W), S)
    P, P_own = V.T @ V, W.T @ W
    if errors is not None:
        return errors - np.diagonal(S) - _kept(S, P_own)
    if loss.kind == EXCESS:
        # diag((I - P) S (I - P)) = diag(S) - 2 diag(PS) + diag(PSP); the first cancels
        return _kept(S, P) - _kept(S, P_own)
    gap = P - P_own
    return np.einsum("ij,ij->i", gap @ S, gap)


def losses_by_feature(loss: Loss, moments: Moments, V: Array, errors: Array | None = None) -> Array:
    """:func:`evaluate`, split over the columns: shape (n_groups, n).

    ``errors``: each group's sums of squared errors by column, where components do not tell them.
    """
    own = own_components(loss, moments, len(V))
    each = [None] * len(own) if errors is None else errors
    parts = zip(moments.second, own, each, strict=True)
    split = [basis_loss_by_feature(loss, S, V, W, of_group) for S, W, of_group in parts]
    return np.stack(split) / moments.count[:, None]


def _kept(S: Array, P: Array) -> Array:
    PS = P @ S
    return np.einsum("ij,ij->i", PS, P) - 2.0 * np.diagonal(PS)


def row_losses(loss: Loss, X: Array, kept: Array, V: Array, W: Array) -> Array:
    """What each row of ``X`` adds to the total loss of a group whose components are ``W``.

    ``kept`` is ``|Vx|^2`` of each row. Summed over the group, and over its count, this is
    :func:`evaluate`.
    """
    if not loss.compiled:
        return np.einsum("ij,ij->i", X @ form(loss, V, W), X[:])
    Z = X @ W.T
    own = np.einsum("ij,ij->i", Z, Z)
    if loss.kind == EXCESS:
        return own - kept
    return kept + own - 2.0 * np.einsum("ij,ij->i", X @ (V.T @ (V @ W.T)), Z)


def row_reach(loss: Loss, norms: Array, kept: Array) -> Array:
    """The most a row can add to any group's total loss, whatever that group's components.

    ``norms`` are the rows' squared lengths and ``kept`` what the shared components keep of them.
    ``excess``: ``|Wx|^2 - |Vx|^2 <= |x|^2 - |Vx|^2``, the row's residual. ``projection_gap``: the
    eigenvalues of ``(P - P_G)^2`` lie in [0, 1], hence ``|x|^2``.
    """
    return norms - kept if loss.within_residual else norms


class Shared(NamedTuple):
    """The PCA of the whole table: components as rows, all eigenvalues, largest first."""

    components: Array
    eigenvalues: Array
    axes: Array  # all eigenvectors, as rows


def shared_pca(loss: Loss, moments: Moments, d: int) -> Shared:
    """PCA of all groups' rows together; a partition never changes it."""
    matrix = scatter(loss, pooled(moments))[0]
    if not np.isfinite(matrix).all():  # squares of huge values
        axes = np.eye(len(matrix))
        return Shared(axes[:d], np.full(len(matrix), np.inf), axes)
    values, vectors = linalg.eigh(matrix, check_finite=False)
    axes = vectors[:, ::-1].T
    return Shared(np.ascontiguousarray(axes[:d]), np.maximum(values[::-1], 0.0), axes)
