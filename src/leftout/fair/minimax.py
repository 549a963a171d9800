"""The transformer that protects every group of a size: no labels anywhere."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from leftout.checks import check_count, check_floor, check_groups, check_whole, generator
from leftout.data.matrix import Counted
from leftout.errors import InputError, parameter_label
from leftout.fair.estimator import Projection
from leftout.fair.game import ADDED, WARM, Game, Round, leading_projection
from leftout.fair.objective import leading
from leftout.fair.worst import GroupSearch, WorstGroup
from leftout.groups.sizes import check_size
from leftout.linalg.losses import Array, signed, summarise
from leftout.representation.base import check_variance, dimensions

ROUND_HISTORY = np.dtype([("rank", int), ("found", float), ("bound", float), ("groups", int)])
# Where there are more axes than this, the game is played in the leading ones that hold all but this
# share of what PCA leaves.
_FEW, _LEFT = 40, 0.05
# Groups with less weight than this are not needed for the bound; those with more than that bind.
_NEEDED, _BINDS = 1e-3, 0.01
# Climbs of the last word, for each round that was asked for.
_LAST = 6
# How often the last word may send the projection back, and the groups it names.
_AGAIN, _NAMED = 2, 4


class Played(NamedTuple):
    """What came of the game, in the units of the rows."""

    P: Array  # the projection
    relaxed: Array  # the best representation with fractions of dimensions
    worst: WorstGroup
    value: float
    lower: float
    groups: list[WorstGroup]  # that bind
    weights: Array
    history: list[Round]
    stopped: str


def _worst(groups: list[WorstGroup], F: Array) -> WorstGroup:
    return max(groups, key=lambda group: group.loss(F))


class MinimaxPCA(Projection):
    """PCA under which the worst-off group of a size, whoever that is, fares best.

    Fair PCA protects groups that have a name, and moves their loss to others. This one takes the
    side of every group of at least ``group_size`` at once: it plays the projection against a search
    for the group that loses most under it, until the search finds nothing worse than what no
    projection avoids. A group's loss is the squared error per row beyond what the group's own PCA
    of as many components would leave.

    Parameters
    ----------
    n_components : int or float, default=0.8
        Number of components, or the share of the table's variance for ordinary PCA to exceed.
    group_size : int or float, default=0.1
        The smallest group that is protected: a number of rows, or a share of them.
    trade_off : float, default=1.0
        From 0, ordinary PCA, to 1, the worst-off group alone: the weight ``t`` in ``t`` times the
        largest loss plus ``1 - t`` times the average squared error beyond PCA's.
    extra : int, default=0
        Dimensions more than ``n_components`` that the projection has. Losses are measured against
        groups' own PCAs of ``n_components`` all the same.
    centering : {"global", "none"}, default="global"
        About the column means, or about zero.
    max_rounds : int, default=20
        Of the game with fractions of dimensions, and at most as many again of the projection's.
        The last search, which says what the worst-off group loses, has six climbs for each.
    tol : float, default=0.02
        Stop when what was found is at most this share above what is proved.
    random_state : int, RandomState, Generator or None, default=None
    n_jobs : int or None, default=None
        Threads for the search.

    Attributes
    ----------
    components_ : array of shape (``n_components_``, n)
        Orthonormal rows, by falling variance of the whole table along them.
    mean_ : array of shape (n,)
    n_components_, n_asked_ : int
        Number of components with ``extra``, and without.
    worst_loss_, baseline_worst_loss_ : float
        The largest loss of a group that a search found or ``fit`` was given, here and under
        ordinary PCA with ``n_asked_`` components. Where there are at most 5,000 groups of the size,
        all are compared.
    worst_group_, baseline_worst_group_ : array of bool, shape (m,)
        Whose losses these are.
    lower_bound_ : float
        No projection onto ``n_asked_`` dimensions has a smaller largest loss (with a ``trade_off``
        below 1: a smaller value of what is minimised).
    gap_ : float
        How far what was minimised can be from its optimum at most, if the search missed no group.
    bound_ : float
        No group of the size loses more than this: certified, whatever a search may miss.
    price_ : float
        Share of the table's variance that ordinary PCA would have kept beyond this.
    explained_variance_ratio_ : array of shape (``n_components_``,)
        Share of the table's variance that each component keeps.
    variance_ : float
        The table's variance per row.
    groups_ : array of bool, shape (g, m)
        The groups that bind: no projection lowers the losses of all of them further.
    group_weights_ : array of shape (g,)
        Their part in the proof of the bound.
    named_losses_ : dict
        Losses of the groups that ``fit`` was given.
    n_rounds_ : int
    history_ : structured array
        For each round: ``rank`` (0: fractions of dimensions), ``found`` above, ``bound`` below,
        ``groups`` that were weighed.
    stopped_ : {"gap", "max_rounds"}
        Whether the search found nothing more than ``tol`` above the bound, or the rounds ran out.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the table has column names.

    Examples
    --------
    >>> from leftout import MinimaxPCA, datasets
    >>> X, groups = datasets.make_planted(400, 12, 3, 100, random_state=0)
    >>> fair = MinimaxPCA(3, group_size=0.25, random_state=0).fit(X)
    >>> bool(fair.worst_loss_ < fair.baseline_worst_loss_)
    True
    """

    def __init__(
        self,
        n_components: int | float = 0.8,
        *,
        group_size: int | float = 0.1,
        trade_off: float = 1.0,
        extra: int = 0,
        centering: str = "global",
        max_rounds: int = 20,
        tol: float = 0.02,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.group_size = group_size
        self.trade_off = trade_off
        self.extra = extra
        self.centering = centering
        self.max_rounds = max_rounds
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Find the projection.

        Parameters
        ----------
        X : table of shape (m, n)
            Numbers: an array, or a pandas, polars or pyarrow table.
        y : ignored
        groups : array of shape (m,), optional
            The group of each row: these are protected too, whatever their size.
        sample_weight : array of shape (m,), optional
            How many rows each row stands for; ``group_size`` is then a share of the weight, or what
            so many average rows weigh. Rows of weight 0 are in no group.
        """
        check_floor("trade_off", self.trade_off)
        check_whole("extra", self.extra)
        check_count("max_rounds", self.max_rounds)
        self._fitting(X, lambda matrix: self._fit(matrix, groups, sample_weight))
        return self

    def _fit(self, X: Array, groups: ArrayLike | None, sample_weight: ArrayLike | None) -> None:
        every = np.arange(len(X))
        if groups is not None:
            check_groups(groups, len(X))
        X, counting, weights = Counted.of(X, sample_weight)
        m, places = len(X), every[counting]
        labels = None if groups is None else np.asarray(groups)[counting]
        size = check_size("group_size", self.group_size, m)
        if size > m:
            raise InputError(
                f"{parameter_label('group_size', self.group_size)} asks for more rows than the "
                f"{m} of the table. Choose a smaller size."
            )
        names, place = (np.empty(0), np.empty(0)) if labels is None else check_groups(labels, m)
        table = summarise(X, self.centering, weights=weights)
        second = table.moments.second[0] / m
        variance = float(np.trace(second))
        check_variance(variance, self.n_features_in_)
        values, axes = leading(second, len(second))
        n = len(values)
        d = dimensions(self.n_components, np.maximum(values, 0.0), n, n)
        rank = min(d + int(self.extra), n)
        rng = generator(self.random_state)
        rows = ((table.rows - table.moments.origin) @ axes) / np.sqrt(variance)
        rows = np.ascontiguousarray(rows)
        everyone = np.diag(np.maximum(values, 0.0)) / variance
        pca = np.diag(np.arange(n) < d).astype(float)
        last = _LAST * int(self.max_rounds)
        whole = GroupSearch(rows, d, size, self.n_jobs, weights)
        found = whole.search(pca, [], last, rng, ADDED)
        given = [whole.group(np.flatnonzero(place == i)) for i in range(len(names))]
        before = _worst([*found, *given], pca)
        if self.trade_off == 0.0 or rank == n or values[d:].sum() <= 1e-12 * values.sum():
            F, worst = np.diag(np.arange(n) < rank).astype(float), before
            if rank > d:
                worst = _worst([*whole.search(F, [], last, rng, 1), *given], F)
            played = Played(F, F, worst, 0.0, 0.0, [], np.empty(0), [], "gap")
        else:
            played = self._play(whole, rank, given, found, rng)
        P = played.P
        V = leading(P @ (everyone + np.eye(n)) @ P, rank).vectors[:, :rank].T
        self.mean_, self.n_asked_, self.n_components_ = table.mean, d, rank
        self.components_ = signed(table.in_columns(V @ axes.T))
        self.component_weights_ = np.ones(rank)
        self.explained_variance_ratio_ = np.einsum("in,in->i", V @ everyone, V)
        self.price_ = float(values[:d].sum() / variance - self.explained_variance_ratio_.sum())
        least = 0.0 if rank == d else -np.inf  # only rounding makes a loss negative
        self.worst_loss_ = variance * max(played.worst.loss(P), least)
        self.baseline_worst_loss_ = variance * max(before.loss(pca), 0.0)
        self.lower_bound_ = variance * max(played.lower, 0.0)
        self.gap_ = max(variance * (played.value - played.lower), 0.0)
        self.bound_ = variance * max(whole.bound(P), 0.0)
        shown = (played.worst, before, *played.groups)
        masks = np.array([np.isin(every, places[group.rows]) for group in shown])
        self.worst_group_, self.baseline_worst_group_, self.groups_ = masks[0], masks[1], masks[2:]
        self.group_weights_ = played.weights
        losses = [variance * group.loss(P) for group in given]
        self.named_losses_ = dict(zip(names.tolist(), losses, strict=True))
        history = played.history
        rounds = [(r.rank, variance * r.found, variance * r.bound, r.groups) for r in history]
        self.history_ = np.array(rounds, dtype=ROUND_HISTORY)
        self.n_rounds_, self.stopped_ = len(self.history_), played.stopped
        self.variance_ = variance
        self._relaxed = axes @ played.relaxed @ axes.T

    def _play(
        self,
        full: GroupSearch,
        rank: int,
        named: list[WorstGroup],
        found: list[WorstGroup],
        rng: np.random.Generator,
    ) -> Played:
        """Play for rows in coordinates of their principal axes, then look again with more effort.

        ``named`` are groups to protect whatever their size, ``found`` those that a search under PCA
        found.
        """
        X, d, t = full.X, full.d, float(self.trade_off)
        m, n = X.shape
        left = np.cumsum(np.einsum("ij,ij->j", X, X)[d:])
        q = min(n, rank + 1 + int(np.searchsorted(left, (1.0 - _LEFT) * left[-1])))
        narrow = full
        if n > _FEW and q < n:
            leading_rows = np.ascontiguousarray(X[:, :q])
            narrow = GroupSearch(leading_rows, d, full.size, full.n_jobs, full.weights)

        back = np.eye(narrow.X.shape[1], n)  # from the axes of the game to all

        def narrowed(groups: list[WorstGroup]) -> list[WorstGroup]:
            return groups if narrow is full else [narrow.group(group.rows) for group in groups]

        game = Game(narrow, t, narrowed([*named, *found]), rng)
        relaxed, stopped = game.play(self.max_rounds, self.tol)
        P = leading_projection(relaxed.F, rank)
        best: tuple[float, Array, WorstGroup] | None = None
        everyone = full.group(np.arange(m))
        for turn in range(_AGAIN):
            projected = game.project(P, -(-self.max_rounds // (3 + turn)), self.tol)
            P = back.T @ projected.F @ back
            known = np.argsort(-game.losses(projected.F))[:WARM]
            starts = [game.groups[place].own @ back for place in known]
            groups = full.search(P, starts, _LAST * self.max_rounds, rng, _NAMED)
            worst = _worst([*groups, *named], P)
            value = t * worst.loss(P) + (1.0 - t) * everyone.loss(P)
            if best is None or value < best[0]:
                best = value, P, worst
            if value <= (1.0 + self.tol) * projected.value:
                break
            game.add(narrowed(groups))
            P = projected.F
        assert best is not None
        value, P, worst = best
        order = np.argsort(-game.weights)
        weights = game.weights[order[game.weights[order] > _NEEDED]]
        proving = [full.group(game.groups[place].rows) for place in order[: len(weights)]]
        # where rows have weights, groups of nearly one size differ: these may lose more
        worst = _worst([worst, *proving], P)
        value = t * worst.loss(P) + (1.0 - t) * everyone.loss(P)
        lower = game.bound
        if narrow is not full:  # what the groups' weights prove in all axes
            every, w = Game(full, t, proving, rng), weights / weights.sum()
            objective = every.objective(np.arange(len(w)), d)
            lower = objective.bound(w, leading(objective.mix(w), d).values)
        binding = int(np.sum(weights > _BINDS))
        return Played(
            P=P, relaxed=back.T @ relaxed.F @ back, worst=worst, value=value, lower=lower,
            groups=proving[:binding], weights=weights[:binding], history=game.history,
            stopped=stopped,
        )  # fmt: skip
