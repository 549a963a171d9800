"""The game of a projection against every group: the worst-off group, whoever that is, fares best.

    minimise over F   max over |G| = k of   (topd(S_G) - <F, S_G>)

with ``S_G`` the average second moments of a group: a maximum of affine functions of ``F``, hence
convex, though which group attains it is a search (:mod:`leftout.fair.worst`). Cutting planes:
search under the ``F`` at hand, add the groups found, and find the best ``F`` for all groups so far,
which is Fair PCA with groups that overlap (:mod:`leftout.fair.dual`); its dual bounds the game from
below, whatever the search has missed. ``F`` is taken from the barrier's central path rather than
from its end, and ``mu`` follows the gap: in the middle of what the groups so far allow, not at a
corner of it, one round cuts off much more.

Exactly ``d`` dimensions: from a projection ``P``, minimise the same maximum less ``rho <F, P>``,
which adds ``rho P`` to every group's moments and nothing else. The larger ``rho``, the nearer to
``P`` and the less fractional the answer; where it is a projection, the largest loss of the groups
so far has fallen by at least ``rho (d - <F, P>)``. A step counts if the search agrees.

The table is one more group: with ``trade_off`` ``t``, what is minimised is ``t`` times the largest
loss and ``1 - t`` times the average squared error beyond that of PCA. Moments mix alike.
"""

from typing import NamedTuple

import numpy as np

from leftout.fair.dual import centre, look, many_groups
from leftout.fair.objective import Objective, Seen, leading
from leftout.fair.rounding import BarrierState
from leftout.fair.worst import GroupSearch, Rows, WorstGroup
from leftout.linalg.losses import Array

# Groups that one round adds, and known ones that its search begins at.
ADDED, WARM = 16, 12
# Further climbs: of a round's search, how many more in each round with fractions of dimensions (the
# later, the more of the gap is what searches miss), and of a search that decides whether to stop.
_ROUND, _MORE, _CHECK = 20, 2, 48
# The barrier's part of the gap, and what it may shrink by in a round; Newton's steps in a round.
_PART, _SHRINK, _STEPS, _DONE = 0.4, 0.25, 15, 0.5
# Groups with less than this part of an even weight leave the master; the list keeps them.
_IDLE = 0.03
# At the end: groups of the list that are weighed, at these parts of the gap; and how many of the
# best representations are averaged, how often.
_WEIGHED, _PARTS, _AVERAGED, _TIMES = 80, (0.3, 0.05), 3, 2
# Near a projection: groups in the master, the barrier's part of the value, rho at first (a share of
# the value) and where to give up.
_NEAR, _SHARP, _RHO, _STIFF = 40, 3e-3, 0.3, 20.0
# Fractions of dimensions below this are none; so are values, of rows of length 1. Where all groups
# are enumerated, the game is solved to this.
_WHOLE, _NOTHING, _EXACT = 0.05, 1e-12, 1e-10


class Candidate(NamedTuple):
    """A representation, and the largest value a search finds under it."""

    F: Array
    value: float


class Round(NamedTuple):
    """One round: with how many dimensions, what the search found, and what is proved."""

    rank: int  # 0 where fractions of dimensions are allowed
    found: float
    bound: float
    groups: int


class Game:
    """Groups found so far, and what they prove; rows have an average squared length near 1.

    In the list from the start are groups that a search under PCA ``found``, and those to protect
    whatever their size. The weight ``trade_off`` of the largest loss is above 0.
    """

    def __init__(
        self,
        table: GroupSearch,
        trade_off: float,
        found: list[WorstGroup],
        rng: np.random.Generator,
    ) -> None:
        self.table, self.t, self.rng = table, trade_off, rng
        everyone = table.group(np.arange(len(table.X)))
        self.everyone, self.pca = everyone, everyone.own
        self.groups: list[WorstGroup] = []
        self._seen: set[bytes] = set()
        n = table.X.shape[1]
        self.second, self.best = np.empty((0, n * n)), np.empty(0)
        self.add(found)
        self.bound, self.weights = 0.0, np.empty(0)  # the best bound, and what proves it
        self.history: list[Round] = []

    def add(self, groups: list[WorstGroup]) -> None:
        """Take in groups that are not in the list yet."""
        groups = [group for group in groups if group.rows.tobytes() not in self._seen]
        self._seen |= {group.rows.tobytes() for group in groups}
        self.groups += groups
        self.second = np.vstack([self.second, *[group.second.reshape(1, -1) for group in groups]])
        self.best = np.append(self.best, [group.best for group in groups])

    def losses(self, F: Array) -> Array:
        return self.best - self.second @ F.ravel()

    def values(self, F: Array) -> Array:
        """What each group so far would make of the value that is minimised."""
        return self.t * self.losses(F) + (1.0 - self.t) * self.everyone.loss(F)

    def worst(self, F: Array) -> float:
        """The largest value of the groups so far."""
        return float(self.values(F).max())

    def search(self, F: Array, climbs: int) -> float:
        """The largest value under ``F``, by a search that begins at known groups and adds some."""
        known = np.argsort(-self.losses(F))[:WARM]
        starts = [self.groups[place].own for place in known]
        self.add(self.table.search(F, starts, climbs, self.rng, ADDED))
        return self.worst(F)

    def objective(self, places: Rows, rank: int) -> Objective:
        """Fair PCA for some of the groups."""
        n = len(self.everyone.second)
        second = self.t * self.second[places].reshape(-1, n, n)
        best = self.t * self.best[places] + (1.0 - self.t) * self.everyone.best
        return Objective(second + (1.0 - self.t) * self.everyone.second, best, rank)

    def play(self, rounds: int, tol: float) -> tuple[Candidate, str]:
        """The best ``F`` found, and why the game stopped."""
        pca = self.pca.T @ self.pca
        tried, value = [pca], self.worst(pca)
        if value <= _NOTHING:
            return Candidate(pca, value), "gap"
        if self.table.every:
            return self._exact(), "gap"
        weights, mu, stopped = np.ones(len(self.groups)), np.inf, "max_rounds"
        for turn in range(rounds):
            value = min(map(self.worst, tried[-WARM:]))
            wanted = _PART * max(value - self.bound, 0.1 * tol * value)
            wanted /= self.table.d + np.count_nonzero(weights)
            mu = wanted if mu == np.inf else max(wanted, _SHRINK * mu)
            F, weights = self._master(weights, mu)
            places = np.flatnonzero(weights)
            master = float(self.values(F)[places].max())
            found = self.search(F, _ROUND + _MORE * turn)
            tried.append(F)
            self.history.append(Round(0, found, self.bound, len(places)))
            if self._closed(tried, tol):
                stopped = "gap"
                break
            weights = self._shared(weights, F, found, master)
        tried += self._polished(min(tried, key=self.worst), weights)
        averages = []
        for _ in range(_TIMES):  # a convex function is at most its average at an average
            averages.append(np.mean(sorted(tried, key=self.worst)[:_AVERAGED], axis=0))
            self.search(averages[-1], _CHECK)
            tried.append(averages[-1])
        best = min(averages, key=self.worst)
        return Candidate(best, self.worst(best)), stopped

    def _exact(self) -> Candidate:
        """The optimum, where searches are exact: solved for a list that grows by the worst."""
        while True:
            k = len(self.groups)
            objective = self.objective(np.arange(k), self.table.d)
            even = np.full(k, 1.0 / k)
            seen = Seen(even, leading(objective.mix(even), objective.second.shape[1]))
            answer = many_groups(objective, [seen], _EXACT)
            F = (answer.V.T * answer.occupation) @ answer.V
            self.bound, self.weights = answer.bound, answer.weights
            value = self.search(F, 0)
            self.history.append(Round(0, value, self.bound, k))
            if value <= self.bound + _EXACT or len(self.groups) == k:
                return Candidate(F, value)

    def _closed(self, tried: list[Array], tol: float) -> bool:
        """Whether the best so far is proved to the tolerance, after a search with more effort."""
        best = min(tried[-WARM:], key=self.worst)
        if self.worst(best) - self.bound > tol * self.worst(best):
            return False
        return self.search(best, _CHECK) - self.bound <= tol * self.worst(best)

    def _centred(
        self, objective: Objective, weights: Array, mu: float
    ) -> tuple[BarrierState, Array]:
        """The central path of the groups that have weight, and all groups' weights there."""
        places = np.flatnonzero(weights)
        state = look(objective, weights[places] / weights.sum(), mu)
        state = centre(objective, state, _STEPS, _DONE)
        weights = np.zeros(len(self.groups))
        weights[places] = state.weights
        return state, weights

    def _master(self, weights: Array, mu: float) -> tuple[Array, Array]:
        """``F`` on the central path for the groups that have weight; their weights there."""
        objective = self.objective(np.flatnonzero(weights), self.table.d)
        state, weights = self._centred(objective, weights, mu)
        bound = objective.bound(state.weights, state.values)
        if bound > self.bound:
            self.bound, self.weights = bound, weights.copy()
        return (state.vectors * state.filled) @ state.vectors.T, weights

    def _polished(self, F: Array, weights: Array) -> list[Array]:
        """Weigh the worst off of the whole list: what they prove, and the best ``F`` for them."""
        weights = self._known(weights)
        worst = np.argsort(-self.values(F))[:_WEIGHED]
        weights[worst] = np.maximum(weights[worst], _IDLE / len(worst))
        gap = max(self.worst(F) - self.bound, 0.02 * self.worst(F))
        found = []
        for part in _PARTS:
            mu = part * gap / (self.table.d + np.count_nonzero(weights))
            F, weights = self._master(weights, mu)
            found.append(F)
        return found

    def _shared(self, weights: Array, F: Array, value: float, master: float) -> Array:
        """Weights to begin the next round with: idle groups leave, those above the master join."""
        weights = self._known(weights)
        joining = self.values(F)
        joining[weights > 0.0] = -np.inf
        new = np.argsort(-joining)[:ADDED]
        new = new[joining[new] > min(master, self.bound)]
        return _joined(_without_idle(weights), new, min(0.3, 2.0 * (value - master) / value) + 0.02)

    def _known(self, weights: Array) -> Array:
        """Weights of all groups so far: none of those that were found since."""
        return np.append(weights, np.zeros(len(self.groups) - len(weights)))

    def project(self, P: Array, rounds: int, tol: float) -> Candidate:
        """A projection near ``P`` onto as many dimensions, made better step by step."""
        rank = round(float(np.trace(P)))
        best = Candidate(P, self.search(P, _ROUND))
        judged: list[Candidate] = []
        # with more dimensions than the groups' own PCAs have, losses may be below zero
        scale = max(best.value, self.bound, _NOTHING)
        weights, rho = self._beside(np.empty(0), best.F, _NEAR), _RHO * scale
        for _ in range(rounds):
            best = best._replace(value=self.worst(best.F))
            places = np.flatnonzero(weights)
            P, weights, fractions = self._step(best, rank, rho, weights, scale)
            model = float(self.values(P)[places].max())
            value = self.search(P, _ROUND) if model < best.value else np.inf
            gain = best.value - model
            self.history.append(Round(rank, min(value, best.value), self.bound, len(places)))
            if value < best.value - 0.1 * gain:
                best = Candidate(P, value)
                rho *= 0.6 if fractions < _WHOLE else 1.0
            else:
                rho *= 2.0 if gain <= 0.0 or fractions > 4 * _WHOLE else 1.2
            weights = self._beside(weights, P, ADDED)
            if rho > _STIFF * scale or (fractions < _WHOLE and gain <= 0.1 * tol * scale):
                after = best._replace(value=self.search(best.F, _CHECK))
                judged.append(after)
                if after.value <= best.value + 0.5 * tol * scale:
                    break
                best, rho = after, _RHO * scale
                weights = self._beside(weights, best.F, ADDED)
        judged.append(best)
        judged = [found._replace(value=self.worst(found.F)) for found in judged]
        return min(judged, key=lambda found: found.value)

    def _step(
        self, best: Candidate, rank: int, rho: float, weights: Array, scale: float
    ) -> tuple[Array, Array, float]:
        """A projection near the best, the groups' weights there, and its sum of fractions."""
        places = np.flatnonzero(weights)
        objective = self.objective(places, rank).pulled(best.F, rho)
        mu = _SHARP * scale / (rank + len(places))
        state, weights = self._centred(objective, weights, mu)
        V = state.vectors[:, :rank]
        return V @ V.T, weights, float(np.minimum(state.filled, state.free).sum())

    def _beside(self, weights: Array, F: Array, count: int) -> Array:
        """Weights with which the groups of the largest values under ``F`` join."""
        weights = _without_idle(self._known(weights))
        new = np.argsort(-self.values(F))[:count]
        return _joined(weights, new[weights[new] == 0.0], 0.2 if weights.any() else 1.0)


def _without_idle(weights: Array) -> Array:
    return np.where(weights < _IDLE / max(int(np.count_nonzero(weights)), 1), 0.0, weights)


def _joined(weights: Array, new: Rows, share: float) -> Array:
    """Weights of which the new groups have a share, each as much."""
    if len(new):
        weights = weights * ((1.0 - share) / max(weights.sum(), 1e-300))
        weights[new] = share / len(new)
    return weights


def leading_projection(F: Array, rank: int) -> Array:
    """The projection onto the leading eigenvectors."""
    V = np.linalg.eigh(F)[1][:, ::-1][:, :rank]
    return V @ V.T
