"""The transformer: PCA for the group that fares worst."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from leftout.checks import check_choice, check_groups, check_tolerance
from leftout.data.matrix import Counted, check_finite, check_matrix, check_numbers
from leftout.errors import InputError
from leftout.fair.dual import solve_fair
from leftout.fair.objective import leading
from leftout.linalg.losses import Array, Summary, signed, summarise
from leftout.linalg.moments import Moments, pooled
from leftout.representation.base import check_variance, dimensions
from leftout.running import one_thread, warn
from leftout.text import counted, number, points

# About the column means, or about zero.
PROJECTION_CENTERINGS = ("global", "none")
# Tables up to this many values, and matrices up to this size, are faster with one BLAS thread.
_SMALL, _NARROW = 1 << 22, 500
# Gaps up to this share of the variance are rounding.
_HIDDEN = 1e-12


class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer with orthonormal ``components_``, each taken to a share, and a ``mean_``."""

    centering: str
    tol: float

    def transform(self, X: Any) -> Array:
        """Coordinates of a table's rows along the components, of shape (m, ``n_components_``)."""
        check_is_fitted(self)
        matrix = self._check_table(X, reset=False)
        return matrix @ self.components_.T - self.mean_ @ self.components_.T

    def inverse_transform(self, X: Any) -> Array:
        """Rows from their coordinates, which are of shape (m, ``n_components_``)."""
        check_is_fitted(self)
        Z = check_matrix(X, min_features=1)
        if Z.shape[1] != self.n_components_:
            raise InputError(
                f"Found {Z.shape[1]} coordinates per row, but there are {self.n_components_} "
                "components. Pass what transform returns."
            )
        # (I - R)^2 = I - F for R = I - sqrt(I - F): the squared errors are what losses_ count
        taken = 1.0 - np.sqrt(1.0 - self.component_weights_)
        return (Z * taken) @ self.components_ + self.mean_

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fitting(self, X: Any, fit: Callable[[Array], None]) -> None:
        """Check options and a table, and fit; where that fails, see first if values are why."""
        check_choice("centering", self.centering, PROJECTION_CENTERINGS)
        check_tolerance("tol", self.tol)
        matrix = self._check_table(X, reset=True)
        if len(matrix) < 2:
            raise InputError(
                f"Found {counted(len(matrix), 'sample')}, but PCA needs at least 2 "
                "rows. Pass the whole table."
            )
        with one_thread(prefers_one_thread(matrix)):
            try:
                fit(matrix)
            except (ValueError, np.linalg.LinAlgError):
                check_finite(matrix, X)  # the likely reason, and not worth a pass of its own before
                raise

    def _check_table(self, X: Any, reset: bool) -> Array:
        """Names are checked on the table as it came, values on its matrix."""
        matrix = (check_numbers if reset else check_matrix)(X, min_features=1)
        named = hasattr(X, "shape") or hasattr(X, "columns")
        validate_data(self, X if named else matrix, reset=reset, skip_check_array=True)
        return matrix


class FairPCA(Projection):
    """PCA that minimises the largest of the groups' average losses, exactly.

    A group's loss is the squared error per row beyond what the group's own PCA would leave. Among
    all projections onto ``n_components`` dimensions this finds the one whose largest loss is
    smallest, and proves it: ``gap_`` bounds how far from the optimum it can be. With two groups
    their losses come out equal. With three or more a few more dimensions may be needed for the
    optimum; the best found with exactly ``n_components`` is reported beside it.

    Only the groups it is given count. Where one was found by a search, another group of as many
    rows may lose as much or more under this projection: search again before relying on it.

    Parameters
    ----------
    n_components : int or float, default=0.8
        Number of components, or the share of the table's variance for ordinary PCA to exceed.
    centering : {"global", "none"}, default="global"
        ``"global"``: about the column means. ``"none"``: about zero, for tables that are centred
        as they should be.
    tol : float, default=1e-9
        Stop when the gap is proved to be at most this share of the largest loss.

    Attributes
    ----------
    components_ : array of shape (``n_components_``, n)
        Orthonormal rows, by falling variance of the whole table along them.
    component_weights_ : array of shape (``n_components_``,)
        How far each component is taken; all 1 for one or two groups. With more, a few may be
        fractions, and come last: ``inverse_transform`` shrinks them, so that its squared errors
        are those of ``losses_``.
    mean_ : array of shape (n,)
    n_components_ : int
        As asked, or larger by at most ``floor(sqrt(2 k + 1/4) - 3/2)`` with ``k >= 3`` groups.
    n_asked_ : int
        The number of components asked for.
    groups_ : array of shape (k,)
        The groups' labels, sorted; arrays by group below follow this order.
    sizes_ : array of shape (k,)
    losses_, baseline_losses_ : arrays of shape (k,)
        Average excess loss of each group, here and under ordinary PCA of as many components as
        asked.
    max_loss_ : float
        The largest of ``losses_``.
    dual_bound_ : float
        No projection has a smaller ``max_loss_`` than this.
    gap_ : float
        The distance between the two: the certificate.
    group_weights_ : array of shape (k,)
        Weights that prove the bound: how much each group stands in the way of the others.
    retained_, baseline_retained_ : arrays of shape (k,)
        Share of each group's variance that is kept, here and under ordinary PCA.
    explained_variance_ratio_ : array of shape (``n_components_``,)
        Share of the table's variance that each component keeps.
    variance_ : float
        The largest average variance of a group: what losses are rounded against.
    price_ : float
        Share of the table's variance that ordinary PCA would have kept beyond this: the price of
        fairness.
    rank_d_losses_, rank_d_components_ : arrays of shape (k,) and (d, n)
        Best found with exactly as many components as asked; only if ``n_components_`` is larger.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the table has column names.

    References
    ----------
    S. Samadi, U. Tantipongpipat, J. Morgenstern, M. Singh, S. Vempala (2018), The Price of Fair
    PCA: One Extra Dimension. U. Tantipongpipat, S. Samadi, M. Singh, J. Morgenstern, S. Vempala
    (2019), Multi-Criteria Dimensionality Reduction with Applications to Fairness.

    Examples
    --------
    >>> from leftout import FairPCA, datasets
    >>> X, groups = datasets.make_planted(400, 12, 3, 100, random_state=0)
    >>> fair = FairPCA(3).fit(X, groups=groups)
    >>> bool(fair.max_loss_ < fair.baseline_losses_.max())
    True
    >>> bool(abs(fair.losses_[0] - fair.losses_[1]) < 1e-10)
    True
    """

    def __init__(
        self,
        n_components: int | float = 0.8,
        *,
        centering: str = "global",
        tol: float = 1e-9,
    ) -> None:
        self.n_components = n_components
        self.centering = centering
        self.tol = tol

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Find the fair projection.

        Parameters
        ----------
        X : table of shape (m, n)
            Numbers: an array, or a pandas, polars or pyarrow table.
        y : ignored
        groups : array of shape (m,), optional
            The group of each row, of any kind that sorts: numbers, strings, booleans. None is one
            group, for which this is ordinary PCA.
        sample_weight : array of shape (m,), optional
            How many rows each row stands for: means, moments and losses count it so often.
        """
        self._fitting(X, lambda matrix: self._fit(matrix, groups, sample_weight))
        warn_if_open(self.gap_, self.max_loss_, self.tol, self.variance_)
        return self

    def fit_summary(
        self, table: Summary, groups: ArrayLike, names: ArrayLike | None = None
    ) -> Self:
        """:meth:`fit` where only the groups' moments are known, about the origin of the centring.

        ``groups`` are their names in sorted order; ``names`` those of the features.
        """
        self.groups_, self.n_features_in_ = np.asarray(groups), len(table.mean)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        with one_thread():
            self._solve(table)
        warn_if_open(self.gap_, self.max_loss_, self.tol, self.variance_)
        return self

    def _fit(self, X: Array, groups: ArrayLike | None, sample_weight: ArrayLike | None) -> None:
        labels = np.zeros(len(X), dtype=int) if groups is None else np.asarray(groups)
        check_groups(labels, len(X))
        X, places, weights = Counted.of(X, sample_weight)
        self.groups_, place = check_groups(labels[places], len(X))
        self._solve(summarise(X, self.centering, place, len(self.groups_), weights=weights))
        self.sizes_ = np.bincount(place)

    def _solve(self, table: Summary) -> None:
        """Solve for groups known by their moments, and set what people ask of a projection."""
        everyone = average_second(table.moments)
        check_variance(float(np.trace(everyone)), self.n_features_in_)
        n, pairs, values = len(everyone), None, np.zeros(len(everyone))
        if isinstance(self.n_components, Real) and not isinstance(self.n_components, Integral):
            pairs = leading(everyone, n)
            values = np.maximum(pairs.values, 0.0)
        self.n_asked_ = dimensions(self.n_components, values, n, n)
        found = solve_fair(table.moments, self.n_asked_, self.tol, pairs)
        answer, moments, self.mean_ = found.answer, table.moments, table.mean
        V, weights = _by_variance(answer.V, answer.occupation, everyone)
        self.component_weights_, self.n_components_ = weights, len(V)
        ratio = weights * np.einsum("in,in->i", V @ everyone, V) / np.trace(everyone)
        self.explained_variance_ratio_ = ratio
        kept_before = np.einsum("in,in->i", found.baseline @ everyone, found.baseline).sum()
        self.price_ = float(kept_before / np.trace(everyone)) - float(ratio.sum())
        self.components_ = signed(table.in_columns(V))
        self.sizes_ = moments.count.astype(np.intp)
        self.losses_, self.baseline_losses_ = found.losses, found.baseline_losses
        self.max_loss_ = float(found.losses.max())
        self.dual_bound_, self.gap_ = answer.bound, max(answer.gap, 0.0)
        self.group_weights_ = answer.weights
        variance = np.trace(moments.second, axis1=1, axis2=2) / moments.count
        self.variance_ = float(variance.max())
        with np.errstate(invalid="ignore"):
            self.retained_ = (found.best - found.losses) / variance
            self.baseline_retained_ = (found.best - found.baseline_losses) / variance
        for name in ("rank_d_losses_", "rank_d_components_"):
            self.__dict__.pop(name, None)
        if found.rank_d is not None:
            W, _ = _by_variance(found.rank_d, np.ones(len(found.rank_d)), everyone)
            self.rank_d_components_ = signed(table.in_columns(W))
            self.rank_d_losses_ = found.rank_d_losses


def prefers_one_thread(X: Array) -> bool:
    """Whether products of this table are too small to share among threads."""
    return X.size <= _SMALL and X.shape[1] <= _NARROW


def warn_if_open(gap: float, value: float, tol: float, variance: float) -> None:
    """Say so where a gap stayed above the tolerance and above what rounding hides."""
    if gap > max(10.0 * tol * abs(value), _HIDDEN * variance):
        share = f"{points(gap / abs(value))}% of it" if value else "it is 0"
        warn(
            f"The gap stayed at {number(gap)} ({share}), above the tolerance: the largest loss may "
            "be that far from its optimum. Columns of very different scales, or very many groups, "
            "do that.",
            ConvergenceWarning,
            stacklevel=3,
        )


def average_second(moments: Moments) -> Array:
    """The average second moments of all rows."""
    with np.errstate(over="ignore", invalid="ignore"):  # callers see what is not finite
        return pooled(moments).second[0] / moments.count.sum()


def _by_variance(V: Array, weights: Array, everyone: Array) -> tuple[Array, Array]:
    """Principal axes of the part that is taken whole, then the rest by falling weight."""
    whole = weights == 1.0
    W = V[whole]
    turn = np.linalg.eigh(W @ everyone @ W.T)[1][:, ::-1]
    order = np.argsort(-weights[~whole], kind="stable")
    rows = np.vstack([turn.T @ W, V[~whole][order]])
    return rows, np.concatenate([np.ones(len(W)), weights[~whole][order]])
