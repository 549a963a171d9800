"""The estimator: a loss, a solver, and what people want to know of the partition found."""

import sys
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from leftout.asking import asking
from leftout.checks import Refusal, check_choice, generator
from leftout.core.bounds import certified_bound
from leftout.core.losses import (
    CENTERINGS,
    LOSSES,
    Array,
    Loss,
    side_losses,
    signed,
)
from leftout.core.problem import Problem
from leftout.running import clean_interrupts, note, one_thread
from leftout.search.left_out import Both, LeftOut
from leftout.search.pose import SMALL, Posed, pose
from leftout.search.sizes import group_sizes
from leftout.solvers import SOLVERS, Means, SearchResult, Solver, takes_sizes
from leftout.solvers.base import silent
from leftout.tables.matrix import check_matrix

# Disparities below zero by up to this share of the variance are rounding.
_HIDDEN = 1e-12


class MaxDisparityPartition(BaseEstimator):
    """Find, without group labels, the rows that a shared PCA represents worst.

    Searches for the partition of the rows into a left-out group and the rest with the largest gap
    in average reconstruction loss under the PCA of the whole table.

    Parameters
    ----------
    n_components : int or float, default=0.8
        Number of components of the shared PCA, or the share of variance to exceed.
    min_group_size : int, float or None, default=None
        Fewest rows on either side, as a number or as a share of the rows. None: five per feature,
        but never more than a quarter of the rows.
    group_size : int, float or None, default=None
        Size of the left-out group, as a number or as a share; None leaves it free.
    n_groups : int, default=2
        Only 2 for now.
    loss : {"excess", "projection_gap"}, default="excess"
        The error a group suffers beyond what its own PCA would leave (the paper's Definition 2.2),
        or the distance between the two reconstructions (its Algorithm 1).
    centering : {"global", "none", "paper"}, default="global"
        ``"global"``: PCA about the column means, as everybody runs it. ``"none"``: about zero.
        ``"paper"``: components about means, applied to uncentred rows, each group about its own
        mean; it is here to reproduce published figures, with ``loss="projection_gap"``.
    solver : str or object, default="alternating"
        ``"alternating"``, ``"greedy"``, ``"annealing"``, ``"sorting"``, or an object from
        :mod:`leftout.solvers`.
    random_state : int, RandomState, Generator or None, default=None
    n_jobs : int or None, default=None
        Threads. The answer does not depend on it.
    verbose : int, default=0
        Above 0, progress goes to the standard error stream.

    Attributes
    ----------
    labels_ : array of shape (m,)
        0 = rest, 1 = left out.
    disparity_ : float
        ``losses_[1] - losses_[0]``.
    losses_, sizes_ : arrays of shape (2,)
        Average loss and number of rows, by label.
    bound_ : float
        No group of this size has a larger disparity: proved in :mod:`leftout.core.bounds`. Computed
        when it is first read.
    retained_, retained_own_ : arrays of shape (2,)
        Share of each group's variance kept by the shared projection, and by the group's own.
    components_, mean_ : arrays of shape (d, n) and (n,)
        The shared PCA.
    n_components_ : int
    explained_variance_ratio_ : array of shape (d,)
    group_components_ : array of shape (2, d, n)
        The components of the rest and of the left-out group.
    offset_ : float
        New rows whose score exceeds it are predicted to be left out.
    history_ : structured array
        ``disparity`` after each sweep and the ``moves`` in it.
    stopped_ : str
        Why the search stopped.
    left_out_ : LeftOut
        The left-out group as a value: rows, sizes, losses and shares of variance of both sides.
    epoch_labels_ : array of shape (n_epochs + 1, m)
        Labels after each epoch; only from solvers that keep them (``"greedy"``).
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the table has column names.

    References
    ----------
    Arjun KM and Shashi Jain (2026), Identifying Representational Biases in Datasets Using PCA.

    Examples
    --------
    >>> from leftout import MaxDisparityPartition, datasets, disparity
    >>> X, planted = datasets.make_planted(400, 12, 3, 100, random_state=0)
    >>> found = MaxDisparityPartition(3, group_size=100, random_state=0).fit(X)
    >>> found.sizes_.tolist()
    [300, 100]
    >>> bool(found.disparity_ >= disparity(X, planted, 3))
    True
    """

    # The problem that ``bound_`` has still to be computed for.
    _uncertified: Problem | None = None

    def __init__(
        self,
        n_components: int | float = 0.8,
        *,
        min_group_size: int | float | None = None,
        group_size: int | float | None = None,
        n_groups: int = 2,
        loss: str = "excess",
        centering: str = "global",
        solver: str | Solver = "alternating",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.min_group_size = min_group_size
        self.group_size = group_size
        self.n_groups = n_groups
        self.loss = loss
        self.centering = centering
        self.solver = solver
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @clean_interrupts()
    def fit(self, X: Any, y: Any = None) -> Self:
        """Search the rows of ``X`` for the left-out group.

        Parameters
        ----------
        X : table of shape (m, n)
            Numbers: an array, or a pandas, polars or pyarrow table.
        y : ignored

        Returns
        -------
        self
        """
        solver = self.check_names()
        matrix = self._check_table(X, reset=True)
        with one_thread(matrix.size <= SMALL):
            return self._search(solver, self.pose(matrix))

    def pose(self, matrix: Array) -> Posed:
        """The problem on a checked matrix."""
        smallest, size = group_sizes(self.min_group_size, self.group_size, *matrix.shape)
        return pose(matrix, self.n_components, self.loss, self.centering, smallest, size)

    def fit_posed(self, X: Any, posed: Posed) -> Self:
        """:meth:`fit` on a table that is checked and posed already."""
        self._see(X, reset=True)
        with one_thread(posed.problem.X.size <= SMALL):
            return self._search(self.check_names(), posed)

    def _search(self, solver: Solver, posed: Posed) -> Self:
        self.__dict__.pop("epoch_labels_", None)  # only some solvers set it anew
        means = Means(
            rng=generator(self.random_state),
            n_jobs=self.n_jobs,
            tell=_to_stderr if self.verbose else silent,
        )
        self._describe(posed, solver.maximise(posed.problem, means))
        return self

    @property
    def left_out_(self) -> LeftOut:
        """The left-out group as a value."""
        check_is_fitted(self)
        return LeftOut(
            mask=self.labels_ == 1,
            sizes=_both(self.sizes_),
            losses=_both(self.losses_),
            retained=_both(self.retained_),
            retained_own=_both(self.retained_own_),
            components=self.group_components_[1],
            offset=self.offset_,
            certified=lambda: self.bound_,
        )

    @property
    def bound_(self) -> float:
        """Certified upper bound on the disparity of any group of this size."""
        check_is_fitted(self)
        if self._uncertified is not None:
            with one_thread(self._uncertified.X.size <= SMALL):
                self._bound = certified_bound(self._uncertified, int(self.sizes_[1]))
            self._uncertified = None
        return self._bound

    def __getstate__(self) -> dict[str, Any]:
        """Settle the bound first, so that the table is not kept with the estimator."""
        if self.__dict__.get("_uncertified") is not None:
            self.bound_  # noqa: B018
        return super().__getstate__()

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.intp]:
        """Search the rows of ``X`` and return their labels."""
        return self.fit(X).labels_

    def score_samples(self, X: Any) -> Array:
        """How far each row leans to the left-out side, in units of the loss.

        What the row would add to the left-out group's total loss plus, weighted by the ratio of the
        sizes, what it would take from the rest's: the score by which the search ranks rows.
        """
        rest, group = self.loss_samples(X).T
        return group + self.sizes_[1] / self.sizes_[0] * rest

    def loss_samples(self, X: Any) -> Array:
        """What each row adds to the loss of a side it is on, under that side's components.

        Returns
        -------
        array of shape (m, 2)
            On the rest's side and on the left-out group's. Averaged over the rows of a side of
            ``fit``, this is that side's entry in ``losses_``.
        """
        check_is_fitted(self)
        rows = self._check_table(X, reset=False) - self.mean_
        rule = Loss.named(self.loss, self.centering)
        return side_losses(rule, rows, self.components_, self.group_components_).T

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Assign rows, new or old, to the rest (0) or the left-out group (1) by their score.

        On the rows of ``fit`` this repeats the ``labels_`` of the default solver and loss nearly
        always, unless many scores tie; other searches need not end at a set of highest scores.
        """
        return (self.score_samples(X) > self.offset_).astype(np.intp)

    def check_names(self) -> Solver:
        """The solver; refuses names that are not known."""
        check_choice("loss", self.loss, LOSSES)
        check_choice("centering", self.centering, CENTERINGS)
        if self.n_groups != 2:
            raise Refusal(
                f"{asking('n_groups', self.n_groups)} is not available yet: the search finds one "
                f"left-out group and the rest. Use {asking('n_groups', 2)}."
            )
        if hasattr(self.solver, "maximise"):
            if isinstance(self.solver, type):
                raise Refusal(
                    f"solver is the class {self.solver.__name__}; an object is needed. "
                    f"Pass solver={self.solver.__name__}()."
                )
            return self.solver
        check_choice("solver", self.solver, SOLVERS)
        return SOLVERS[str(self.solver)]()

    def _check_table(self, X: Any, reset: bool) -> Array:
        """Names are checked on the table as it came, values on its matrix."""
        matrix = check_matrix(X, min_features=2 if reset else 1)
        self._see(X if hasattr(X, "shape") or hasattr(X, "columns") else matrix, reset)
        return matrix

    def _see(self, X: Any, reset: bool) -> None:
        """Learn the names of the features, or compare them."""
        validate_data(self, X, reset=reset, skip_check_array=True)

    def take_over(self, X: Any, posed: Posed, result: SearchResult) -> Self:
        """:meth:`fit` where the labels are known already."""
        self._see(X, reset=True)
        self._describe(posed, result)
        return self

    def describe(self, X: Any, posed: Posed, result: SearchResult, bound: float) -> Self:
        """:meth:`fit` where the search was made elsewhere, on rows that are not here.

        ``X`` has the names of the features, ``posed`` and ``result`` the moments of all rows.
        """
        self._see(X, reset=True)
        self._describe(posed, result)
        compact: Any = result.labels  # a byte each: they may be very many
        self.labels_ = compact
        self._uncertified, self._bound = None, bound
        return self

    def _describe(self, posed: Posed, result: SearchResult) -> None:
        """Set what people ask of a partition."""
        problem, labels = posed.problem, result.labels
        self.mean_, self.n_components_ = posed.table.mean, problem.d
        self.explained_variance_ratio_ = posed.explained[: problem.d]
        moments = problem.split(labels) if result.sides is None else result.sides
        self.losses_, own = problem.losses_of(moments, result.own)
        self.labels_ = labels.astype(np.intp)
        self.sizes_ = moments.count.astype(np.intp)
        self.disparity_ = float(self.losses_[1] - self.losses_[0])
        variance = np.trace(moments.second, axis1=1, axis2=2)
        if self.disparity_ < -_HIDDEN * float((variance / moments.count).max()):
            note(
                f"No group of {self.sizes_[1]} rows was found whose loss exceeds the rest's: "
                f"its disparity is negative. Choose a smaller {asking('group_size')}, or leave it "
                "free.",
                stacklevel=3,
            )
        size = int(self.sizes_[1])
        self._uncertified = problem
        kept = np.einsum("dn,gnk,dk->g", problem.V, moments.second, problem.V, optimize=True)
        kept_own = np.einsum("gdn,gnk,gdk->g", own, moments.second, own, optimize=True)
        with np.errstate(invalid="ignore"):
            self.retained_, self.retained_own_ = kept / variance, kept_own / variance
        if result.offset is None:
            scores = problem.rank(own, size).scores
            self.offset_ = float((scores[size - 1] + scores[size]) / 2.0)
        else:
            self.offset_ = result.offset
        self.components_ = signed(posed.table.in_columns(problem.V))
        self.group_components_ = np.stack([signed(posed.table.in_columns(W)) for W in own])
        self.history_, self.stopped_ = result.history, result.stopped
        if result.sweeps is not None:
            self.epoch_labels_ = result.sweeps


def prepare(estimator: MaxDisparityPartition, X: Any) -> tuple[Solver, Array]:
    """An estimator's solver and the table's matrix, both checked; nothing is fitted."""
    if not isinstance(estimator, MaxDisparityPartition):
        raise Refusal(
            f"Found {type(estimator).__name__} where a MaxDisparityPartition is needed; give the "
            "search first, then the table."
        )
    return estimator.check_names(), check_matrix(X)


def fitted_on(found: Any, X: Any) -> tuple[MaxDisparityPartition, Array]:
    """A fitted estimator (or the one that a ``Trust`` holds) and the matrix it was fitted on."""
    held = getattr(found, "partition", None)
    found = held if isinstance(held, MaxDisparityPartition) else found
    if not isinstance(found, MaxDisparityPartition):
        raise Refusal(
            f"Found {type(found).__name__} where a fitted MaxDisparityPartition (or what trust "
            "returns) is needed; give the finding first, then the table."
        )
    check_is_fitted(found)
    matrix = check_matrix(X)
    if matrix.shape != (len(found.labels_), found.n_features_in_):
        raise Refusal(
            f"The group was found in a table of {len(found.labels_):,} rows and "
            f"{found.n_features_in_:,} features, but this one has {matrix.shape[0]:,} and "
            f"{matrix.shape[1]:,}. Pass the table that it was found in."
        )
    return found, matrix


def for_same_size(found: MaxDisparityPartition) -> MaxDisparityPartition:
    """The same search, not fitted, for a group as large; a solver that takes no size is free."""
    size = int(found.sizes_[1]) if takes_sizes(found.check_names()) else None
    return clone(found).set_params(group_size=size, verbose=0)


def _both(by_label: NDArray[Any]) -> Both[Any]:
    rest, group = by_label.tolist()
    return Both(group, rest)


def _to_stderr(message: str) -> None:
    print(f"leftout: {message}", file=sys.stderr)
