"""The estimator: a loss, a solver, and what people want to know of the partition found."""

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

import leftout
from leftout.checks import check_choice, generator
from leftout.data.matrix import Counted, check_features
from leftout.errors import InputError, parameter_label
from leftout.groups.left_out import Both, LeftOut
from leftout.groups.problem_setup import SMALL, SearchProblem, build_problem, check_rule
from leftout.groups.sizes import check_n_groups, group_sizes
from leftout.linalg.assignment import Partition, assign, row_values, side_weights
from leftout.linalg.bounds import certified_bound
from leftout.linalg.losses import CENTERINGS, LOSSES, Array, Loss, kept_by, mean_disparity, signed
from leftout.linalg.moments import SparseRows, blocks
from leftout.linalg.problem import Labels, Problem, labelled, n_nearest
from leftout.representation.base import Representation, features_of
from leftout.running import clean_interrupts, one_thread, warn
from leftout.settings import AUTO
from leftout.solvers import SOLVERS, Alternating, Annealing, Greedy, Sorting
from leftout.solvers.base import SearchResult, Solver, SolverContext, silent
from leftout.solvers.multi import maximise


class GroupRule(NamedTuple):
    """What is shared, the components of the rest and of each group, and where a group begins.

    With ``a_j`` and ``b`` what a row adds to the loss of group ``j`` and of the rest under their
    components, of groups of ``K`` rows together and a rest of ``r``, its score for the group is
    ``a_j + K / r b``: what the disparity gains from its being there rather than in the rest, times
    ``K``. It belongs to the group whose offset its score exceeds by most, or to the rest.
    """

    loss: Loss
    shared: Representation
    own: Array  # (sides, d, n), the rest first
    sizes: NDArray[Any]  # of all sides, or what their rows count
    offsets: Array  # of each group

    @classmethod
    def of(cls, built: SearchProblem, found: Partition) -> Self:
        own = np.stack([built.table.in_columns(W) for W in found.own])
        offsets = score_offsets(built.problem, found.own, found.sizes)
        return cls(built.problem.loss, built.representation, own, found.sizes, offsets)

    def row_losses(self, X: Array) -> Array:
        """What rows would add to the loss of each side: (sides, rows)."""
        return self.shared.row_losses(self.loss, X, self.own)

    def scores(self, losses: Array) -> Array:
        """How far rows lean to each group, from such losses: (groups, rows)."""
        return losses[1:] + self.sizes[1:].sum() / self.sizes[0] * losses[0]

    def predict(self, losses: Array) -> NDArray[np.intp]:
        """The side of each row, whatever sizes that makes."""
        beyond = self.scores(losses) - self.offsets[:, None]
        return np.argmax(np.vstack([np.zeros(losses.shape[1]), beyond]), axis=0)

    def highest(self, losses: Array, sizes: Sequence[int], weights: Array | None = None) -> Labels:
        """The side of each row where groups have these sizes: the rows of the highest scores."""
        if len(sizes) > 1:
            every = [losses.shape[1] - sum(sizes), *sizes]
            return assign(losses.T * side_weights(every), every).labels
        order = np.argsort(-self.scores(losses)[0], kind="stable")
        taken = sizes[0] if weights is None else n_nearest(weights[order], sizes[0])
        return labelled(order[:taken], len(order))


def score_offsets(problem: Problem, own: Array, sizes: NDArray[Any]) -> Array:
    """What a row's score must exceed, group by group: half-way between the last in and the next.

    Of several groups these are the prices of their places (:mod:`leftout.linalg.assignment`).
    """
    if len(sizes) == 2:
        low, high = problem.rank(own, sizes[1].item()).cut
        return np.array([(low + high) / 2.0])
    prices = assign(row_values(problem, own, sizes.tolist()), sizes.tolist()).prices
    return prices[1:] * sizes[1:].sum()


# Disparities below zero by up to this share of the variance are rounding.
_HIDDEN = 1e-12


class MaxDisparityPartition(BaseEstimator):
    """Find, without group labels, the rows that a shared PCA represents worst.

    Searches for the partition of the rows into a left-out group and the rest with the largest gap
    in average reconstruction loss under the PCA of the whole table; or into several left-out groups
    and the rest, with the largest mean gap of the rows left out.

    Parameters
    ----------
    n_components : int or float, default=0.8
        Number of components of the shared PCA, or the share of variance to exceed.
    representation : fitted transformer or None, default=None
        What is audited. None: the PCA of the table. Else a fitted ``PCA``, ``IncrementalPCA``,
        ``TruncatedSVD``, ``FairPCA`` or ``MinimaxPCA``, a fitted ``Pipeline`` that ends in one,
        or anything fitted with ``transform`` and ``inverse_transform``. Its origin and number of
        components then count, and it is not fitted again.
    min_group_size : int, float or None, default=None
        Fewest rows on either side, as a number or as a share of the rows. None: five per feature,
        but never more than a quarter of the rows.
    group_size : int, float, list or None, default=None
        Size of the left-out group, as a number or as a share; None leaves it free. Of several
        groups: one size for all, or a list.
    n_groups : int or "auto", default=1
        Left-out groups, the rest not among them. ``"auto"``: as many as are more than comparison
        tables show (:func:`leftout.how_many`), at most six and maybe none.
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
        0 = rest, 1 = left out; several groups from 1 by falling loss.
    n_groups_ : int
        Left-out groups found.
    disparity_ : float
        ``losses_[1] - losses_[0]``; of several groups the mean of ``disparities_``, each weighted
        by the size of its group.
    disparities_ : array of shape (``n_groups_``,)
        Each group's loss minus the rest's.
    losses_, sizes_ : arrays of shape (``n_groups_ + 1``,)
        Average loss and number of rows, by label.
    weighted_sizes_ : array of shape (``n_groups_ + 1``,)
        What the rows of each side count together, where an average row counts 1: ``sizes_``, but
        for ``sample_weight``.
    bound_ : float, or array of shape (``n_groups_``,) of several groups
        No group of this size has a larger disparity: proved in :mod:`leftout.linalg.bounds`.
        Computed when it is first read.
    retained_, retained_own_ : arrays of shape (``n_groups_ + 1``,)
        Share of each side's variance kept by the shared projection, and by its own.
    components_, mean_ : arrays of shape (d, n) and (n,)
        The shared PCA; no ``components_`` where a representation that was given has none.
    representation_ : Representation
        What is shared: its name, rank, origin, and what it keeps of rows.
    n_components_ : int
    explained_variance_ratio_ : array of shape (d,)
        A representation that is no projection has one entry: the share of variance it keeps.
    group_components_ : array of shape (``n_groups_ + 1``, d, n)
        The components of the rest and of each left-out group.
    offset_ : float, or array of shape (``n_groups_``,) of several groups
        New rows whose score exceeds it are predicted to be left out.
    history_ : structured array
        ``disparity`` after each sweep and the ``moves`` in it.
    stopped_ : str
        Why the search stopped.
    left_out_ : LeftOut
        The group as a value; of several, the one that loses most. ``left_out_groups_``: all.
    how_many_ : HowMany
        How the groups were counted; only with ``n_groups="auto"``.
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

    labels_: NDArray[np.integer]
    # The problem that ``bound_`` has still to be computed for.
    _uncertified: Problem | None = None
    _bound: float | Array

    def __init__(
        self,
        n_components: int | float = 0.8,
        *,
        representation: Any = None,
        min_group_size: int | float | None = None,
        group_size: int | float | Sequence[int | float] | None = None,
        n_groups: int | str = 1,
        loss: str = "excess",
        centering: str = "global",
        solver: str | Solver = "alternating",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.representation = representation
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
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Search the rows of ``X`` for the left-out group.

        Parameters
        ----------
        X : table of shape (m, n)
            Numbers: an array, a pandas, polars or pyarrow table, or a sparse matrix.
        y : ignored
        sample_weight : array of shape (m,), optional
            How many rows each row stands for, in any unit. Means, losses and components count rows
            so often, and sizes are shares of the weight: ``group_size=0.1`` is a tenth of it, 100
            what 100 average rows weigh. The group is the rows whose scores are highest, by unit of
            weight, until theirs comes nearest to the size. Rows of weight 0 are labelled as new
            rows would be. For one group, by the default solver and loss.
        """
        solver = self._check_names()
        matrix = self._check_table(X, reset=True)
        rows, counting, weights = Counted.of(matrix, sample_weight)
        if weights is not None:
            self._check_weighted(solver)
        alternating = isinstance(solver, Alternating) and self.n_groups == 1
        if isinstance(matrix, SparseRows) and not alternating:
            raise InputError(
                "A large sparse table is searched for one left-out group, by the solver "
                "'alternating', but others were asked for. Use "
                f"{parameter_label('n_groups', 1)} and solver='alternating', or pass X.toarray()."
            )
        self.__dict__.pop("how_many_", None)
        with one_thread(matrix.size <= SMALL):
            n_groups, smallest, sizes = self._groups(rows)
            size = sizes[0] if sizes is not None and n_groups == 1 else None
            built = self._build_problem(rows, smallest, size, weights)
            self._search(solver, built, n_groups, sizes)
        if len(rows) < len(matrix):
            labels = self._rule.predict(self._rule.row_losses(matrix))
            labels[counting] = self.labels_
            self.labels_, self.sizes_ = labels, np.bincount(labels, minlength=n_groups + 1)
        return self

    def _groups(self, matrix: Array) -> tuple[int, int, list[int] | None]:
        """How many groups, as asked for or as evidence counts; fewest rows of a side; sizes."""
        if self.n_groups != AUTO:
            n_groups = int(self.n_groups)
            asked = (self.min_group_size, self.group_size, *matrix.shape)
            return n_groups, *group_sizes(*asked, n_groups=n_groups)
        # Evidence is above the search and may not be imported here: the package's own front door
        # is asked when it is needed.
        self.how_many_ = leftout.how_many(self, matrix)
        sizes = self.how_many_.sizes
        return len(sizes), max(1, min([*sizes, len(matrix) - sum(sizes)])), sizes

    def _build_problem(
        self,
        matrix: Array,
        smallest: int | None = None,
        size: int | None = None,
        weights: Array | None = None,
    ) -> SearchProblem:
        """The problem of one group on a checked matrix; of the sizes asked for, or of these."""
        if smallest is None:
            smallest, sizes = group_sizes(self.min_group_size, self.group_size, *matrix.shape)
            size = None if sizes is None else sizes[0]
        rule = (self.n_components, self.loss, self.centering)
        built = build_problem(matrix, *rule, representation=self.representation, weights=weights)
        return built.resized(smallest, size)

    def _fit_problem(
        self,
        X: Any,
        built: SearchProblem,
        result: SearchResult | None = None,
        bound: float | None = None,
    ) -> Self:
        """:meth:`fit` on a table that is checked, whose problem is built and, maybe, searched.

        ``X`` has the names of the features. Of rows elsewhere, the ``bound`` has to be known, too.
        """
        validate_data(self, X, reset=True, skip_check_array=True)
        if result is None:
            with one_thread(built.problem.X.size <= SMALL):
                return self._search(self._check_names(), built, 1, None)
        self._set_attributes(built, result, 2)
        if bound is not None:
            self.labels_ = result.labels  # a byte each: they may be very many
            self._uncertified, self._bound = None, bound
        return self

    def _search(
        self, solver: Solver, built: SearchProblem, n_groups: int, sizes: list[int] | None
    ) -> Self:
        tell = partial(print, "leftout:", file=sys.stderr) if self.verbose else silent
        context = SolverContext(rng=generator(self.random_state), n_jobs=self.n_jobs, tell=tell)
        result = maximise(solver, built.problem, n_groups, sizes, context)
        return self._set_attributes(built, result, n_groups + 1)

    @property
    def left_out_(self) -> LeftOut:
        """The left-out group as a value; of several, the one that loses most."""
        check_is_fitted(self)
        if self.n_groups_ == 0:
            raise InputError(
                "No group is more than surrogate tables show, so there is none to tell of. For "
                "the rows that are represented worst in any case: "
                f"{parameter_label('n_groups', 1)}."
            )
        return self._left_out(1)

    @property
    def left_out_groups_(self) -> list[LeftOut]:
        """Each left-out group as a value, beside the rest."""
        check_is_fitted(self)
        return [self._left_out(group) for group in range(1, self.n_groups_ + 1)]

    def _left_out(self, group: int) -> LeftOut:
        sides = {
            name: Both(*getattr(self, f"{name}_")[[group, 0]].tolist())
            for name in ("sizes", "losses", "retained", "retained_own")
        }
        sizes = self.weighted_sizes_
        weights = Both(*sizes[[group, 0]].tolist()) if sizes.dtype.kind == "f" else None
        return LeftOut(
            weights=weights,
            mask=self.labels_ == group,
            beside=(self.labels_ == group) | (self.labels_ == 0),
            certified=lambda: float(np.ravel(self.bound_)[group - 1]),
            shared=self.representation_.name,
            **sides,
        )

    @property
    def bound_(self) -> float | Array:
        """Certified upper bound on the disparity of any group of this size."""
        check_is_fitted(self)
        if self._uncertified is not None:
            sizes, place = np.unique(self.weighted_sizes_[1:], return_inverse=True)
            with one_thread(self._uncertified.X.size <= SMALL):
                each = [certified_bound(self._uncertified, size) for size in sizes.tolist()]
            self._bound = each[0] if self.n_groups_ == 1 else np.array(each)[place]
            self._uncertified = None
        return self._bound

    def __getstate__(self) -> dict[str, Any]:
        """Settle the bound first, so that the table is not kept with the estimator."""
        if self.__dict__.get("_uncertified") is not None:
            self.bound_  # noqa: B018
        return super().__getstate__()

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[np.integer]:
        """Search the rows of ``X`` and return their labels."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def score_samples(self, X: Any) -> Array:
        """How far each row leans to the left-out side, in units of the loss.

        What the row would add to the left-out group's total loss plus, weighted by the ratio of the
        sizes, what it would take from the rest's: the score by which the search ranks rows. Of
        several groups, one column for each.
        """
        found = self._rule.scores(self.loss_samples(X).T)
        return found[0] if self.n_groups_ == 1 else found.T

    def loss_samples(self, X: Any) -> Array:
        """What each row adds to the loss of a side it is on, under that side's components.

        A column for the rest's side and one for each group's. Averaged over the rows of a side of
        ``fit``, this is that side's entry in ``losses_``.
        """
        rule, rows = self._rule, self._check_table(X, reset=False)
        parts = blocks(*rows.shape) if isinstance(rows, SparseRows) else [slice(None)]
        return np.concatenate([rule.row_losses(rows[part]) for part in parts], axis=1).T

    @property
    def _rule(self) -> GroupRule:
        check_is_fitted(self)
        loss, offsets = Loss.named(self.loss, self.centering), np.ravel(self.offset_)
        own, sizes = self.group_components_, self.weighted_sizes_
        return GroupRule(loss, self.representation_, own, sizes, offsets)

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Assign rows, new or old, to the rest (0) or a left-out group (from 1) by their score.

        On the rows of ``fit`` this repeats the ``labels_`` of the default solver and loss nearly
        always, unless many scores tie; other searches need not end at a set of highest scores.
        """
        return self._rule.predict(self.loss_samples(X).T)

    def _check_names(self) -> Solver:
        """The solver; refuses names that are not known."""
        check_choice("loss", self.loss, LOSSES)
        check_choice("centering", self.centering, CENTERINGS)
        check_n_groups(self.n_groups, self.group_size)
        if self.loss == "excess" and self.centering == "paper":
            raise InputError(
                "centering='paper' exists to reproduce published figures and goes with "
                "loss='projection_gap', but loss='excess' was asked for. Use "
                "loss='projection_gap', or centering='global' for the definition."
            )
        check_rule(self.representation, Loss.named(self.loss, self.centering))
        solver = self.solver
        if isinstance(solver, type):
            raise InputError(
                f"solver is the class {solver.__name__}; an object is needed. "
                f"Pass solver={solver.__name__}()."
            )
        if not hasattr(solver, "maximise"):
            check_choice("solver", solver, SOLVERS)
            solver = SOLVERS[str(solver)]()
        if self.n_groups != 1 and isinstance(solver, Annealing | Greedy | Sorting):
            raise InputError(
                f"{type(solver).__name__} is one of the paper's searches, which are for one "
                f"left-out group, but {parameter_label('n_groups', self.n_groups)} was asked for. "
                "Use solver='alternating'."
            )
        return solver

    def _check_weighted(self, solver: Solver) -> None:
        """Refuse what is not defined where rows count differently, or not worth its code."""
        one = self.n_groups == 1 and self.loss == "excess"
        if not one or not isinstance(solver, Alternating):
            raise InputError(
                "Rows with weights are searched for one left-out group, by the solver "
                "'alternating' under the loss 'excess', but others were asked for. Use "
                f"{parameter_label('n_groups', 1)} with these, or leave out "
                f"{parameter_label('sample_weight')}."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_clone__(self) -> Self:
        """An unfitted copy; a representation that was fitted elsewhere stays as it is."""
        given = self.get_params(deep=False)
        shared = given.pop("representation")
        copied = {name: clone(value, safe=False) for name, value in given.items()}
        return type(self)(**copied, representation=shared)

    def _check_table(self, X: Any, reset: bool) -> Array:
        """Names are checked on the table as it came, values on its matrix."""
        matrix = check_features(features_of(self.representation, X), min_features=2 if reset else 1)
        named = hasattr(X, "shape") or hasattr(X, "columns")
        validate_data(self, X if named else matrix, reset=reset, skip_check_array=True)
        return matrix

    def _set_attributes(self, built: SearchProblem, result: SearchResult, n_sides: int) -> Self:
        """Set what people ask of a partition."""
        self.__dict__.pop("epoch_labels_", None)  # only some solvers set it anew
        problem, labels = built.problem, result.labels
        self.n_groups_ = n_sides - 1
        self.mean_, self.n_components_ = built.table.mean, problem.d
        self.explained_variance_ratio_ = built.explained[: problem.d]
        moments = problem.split(labels, n_sides) if result.sides is None else result.sides
        self.losses_, own = problem.losses_of(moments, result.own)
        self.labels_ = labels.astype(np.intp)
        self.weighted_sizes_: NDArray[Any] = moments.count
        self.sizes_ = moments.count.astype(np.intp)
        if problem.weights is None:
            self.weighted_sizes_ = self.sizes_
        else:
            self.sizes_ = np.bincount(labels, minlength=n_sides)
        self.disparities_ = self.losses_[1:] - self.losses_[0]
        self.disparity_ = float(mean_disparity(self.losses_, moments.count))
        variance = np.trace(moments.second, axis1=1, axis2=2)
        hidden = -_HIDDEN * float((variance / moments.count).max())
        for size in self.sizes_[1:][self.disparities_ < hidden]:
            warn(
                f"No group of {size} rows was found whose loss exceeds the rest's: "
                f"its disparity is negative. Choose a smaller {parameter_label('group_size')}, or "
                "leave it free.",
                stacklevel=3,
            )
        self._uncertified = problem
        kept = kept_by(moments, problem.V)
        kept_own = np.einsum("gdn,gnk,gdk->g", own, moments.second, own, optimize=True)
        with np.errstate(invalid="ignore"):
            self.retained_, self.retained_own_ = kept / variance, kept_own / variance
        self.offset_: float | Array
        if result.offset is not None:
            self.offset_ = result.offset
        else:
            offsets = score_offsets(problem, own, self.weighted_sizes_)
            self.offset_ = float(offsets[0]) if n_sides == 2 else offsets
        self.__dict__.pop("components_", None)
        self.representation_ = built.representation
        if built.representation.components is not None:
            self.components_ = signed(built.representation.components)
        self.group_components_ = np.stack([signed(built.table.in_columns(W)) for W in own])
        self.history_, self.stopped_ = result.history, result.stopped
        if result.sweeps is not None:
            self.epoch_labels_ = result.sweeps
        return self
