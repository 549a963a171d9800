"""Slow, obvious versions written from the definitions: what the fast code answers to."""

from __future__ import annotations

import warnings
from itertools import combinations, product

import numpy as np


def components(X, d, about_mean):
    """Top-d principal directions by an SVD, one a column."""
    if about_mean:
        X = X - X.mean(axis=0)
    # fewer rows than columns span too few; more rows would only make the left side long
    return np.linalg.svd(X, full_matrices=len(X) < X.shape[1])[2][:d].T


def seen_by_pca(M, centering):
    return M - M.mean(axis=0) if centering == "global" else M


def shared_basis(M, d, centering):
    return components(seen_by_pca(M, centering), d, about_mean=centering == "paper")


def group_loss(G, V, d, loss, centering):
    """Average loss of rows G (as PCA sees them) under the shared basis V."""
    W = components(G, d, about_mean=centering == "paper")
    shared, own = G @ V @ V.T, G @ W @ W.T
    if loss == "excess":
        return (np.sum((G - shared) ** 2) - np.sum((G - own) ** 2)) / len(G)
    return np.sum((shared - own) ** 2) / len(G)


def group_losses(M, labels, d, loss="excess", centering="global"):
    X = seen_by_pca(M, centering)
    V = shared_basis(M, d, centering)
    return np.array([group_loss(X[labels == g], V, d, loss, centering) for g in np.unique(labels)])


def signed_disparity(M, labels, d, loss="excess", centering="global"):
    rest, group = group_losses(M, labels, d, loss, centering)
    return group - rest


def mean_disparity(losses, sizes):
    """``sum_j k_j (loss_j - loss_rest) / sum_j k_j``; the rest comes first."""
    total = sum(k * (loss - losses[0]) for k, loss in zip(sizes[1:], losses[1:], strict=True))
    return total / sum(sizes[1:])


def value_of_groups(M, labels, d, loss="excess", centering="global"):
    """What several left-out groups, from label 1, are worth beside the rest, label 0."""
    losses = group_losses(M, labels, d, loss, centering)
    return mean_disparity(losses, np.unique(labels, return_counts=True)[1])


def best_two_groups(M, d, allowed):
    """The largest value of all partitions into the rest and two groups of allowed sizes."""
    X, V = seen_by_pca(M, "global"), shared_basis(M, d, "global")
    m, known = len(M), {}

    def loss(rows):
        if rows not in known:
            known[rows] = group_loss(X[list(rows)], V, d, "excess", "global")
        return known[rows]

    best = -np.inf
    for first, second in allowed:
        for A in combinations(range(m), first):
            left = tuple(i for i in range(m) if i not in A)
            for B in combinations(left, second):
                sides = tuple(i for i in left if i not in B), A, B
                value = mean_disparity([loss(rows) for rows in sides], [len(r) for r in sides])
                best = max(best, value)
    return best


def partitions(m, min_size, size=None):
    """Every labelling in which both sides keep their minimum size."""
    for k in range(min_size, m - min_size + 1):
        if size is None or k == size:
            for chosen in combinations(range(m), k):
                labels = np.zeros(m, dtype=int)
                labels[list(chosen)] = 1
                yield labels


def best_of_all_partitions(M, d, min_size, size=None, loss="excess", centering="global"):
    X = seen_by_pca(M, centering)
    V = shared_basis(M, d, centering)

    def gap(labels):
        return group_loss(X[labels == 1], V, d, loss, centering) - group_loss(
            X[labels == 0], V, d, loss, centering
        )

    return max(gap(labels) for labels in partitions(len(M), min_size, size))


def greedy(M, d, min_size, rng, seeds, epochs=15, loss="excess", centering="global"):
    """The paper's Algorithm 1 with every PCA from scratch. Returns labels and accepted moves."""
    X = seen_by_pca(M, centering)
    m = len(X)
    order = rng.permutation(m)
    side = {int(i): 0 for i in order[:seeds]} | {int(i): 1 for i in order[seeds : 2 * seeds]}
    for i in map(int, order[2 * seeds :]):
        A = X[[j for j in side if side[j] == 0] + [i]]
        B = X[[j for j in side if side[j] == 1] + [i]]
        V = components(X[[*side, i]], d, about_mean=centering == "paper")
        a, b = (group_loss(G, V, d, loss, centering) for G in (A, B))
        side[i] = 0 if a > b else 1
    labels = np.array([side[i] for i in range(m)])
    V = shared_basis(M, d, centering)

    def gap(labels):
        a, b = (group_loss(X[labels == g], V, d, loss, centering) for g in (0, 1))
        return abs(a - b)

    moves = []
    current = gap(labels)
    for epoch in range(epochs):
        before = len(moves)
        for i in range(m):
            trial = labels.copy()
            trial[i] = 1 - labels[i]
            if min((trial == 0).sum(), (trial == 1).sum()) < min_size:
                continue
            value = gap(trial)
            if value > current:
                labels, current = trial, value
                moves.append((epoch, i))
        if len(moves) == before:
            break
    return labels, moves


def cross_fitted_loss(M, mask, folds, d, centering="global"):
    """Average of what each row of a group loses under components of the other folds."""
    losses = []
    for row in np.flatnonzero(mask):
        outside = folds != folds[row]
        mean = M[outside].mean(axis=0) if centering == "global" else 0.0
        V = components(M[outside] - mean, d, about_mean=False)
        W = components(M[outside & mask] - mean, d, about_mean=False)
        x = M[row] - mean
        losses.append(np.sum((x @ W) ** 2) - np.sum((x @ V) ** 2))
    return np.mean(losses)


def rule(M, labels, d, loss="excess", centering="global"):
    """What a partition says of any row: what it loses with the rest and the group; and its score.

    The score is what the disparity of the partition's sizes gains from such a row in the group.
    """
    mean = M.mean(axis=0) if centering == "global" else 0.0
    V = shared_basis(M, d, centering)
    sides = [components(M[labels == g] - mean, d, centering == "paper") for g in (0, 1)]
    share = np.sum(labels == 1) / np.sum(labels == 0)

    def losses(row):
        x, each = row - mean, []
        for W in sides:
            shared, own = V @ V.T @ x, W @ W.T @ x
            if loss == "excess":
                each.append(np.sum((x - shared) ** 2) - np.sum((x - own) ** 2))
            else:
                each.append(np.sum((shared - own) ** 2))
        return each

    def score(row):
        rest, group = losses(row)
        return group + share * rest

    return losses, score


def judged_apart(M, halves, labels_of, size, d, loss="excess", centering="global"):
    """Both halves searched for their part of ``size`` rows, and judged on each other.

    ``labels_of(rows, k)`` searches. Returns the gap on each half, what each row adds to their mean
    beyond its side's, and the rows of the table that each half names.
    """
    gaps, added, named = [], np.zeros(len(M)), []
    for searched, judged in (halves, halves[::-1]):
        k = round(size * len(searched) / len(M))
        losses, score = rule(M[searched], labels_of(M[searched], k), d, loss, centering)
        ranked = sorted((score(row) for row in M[searched]), reverse=True)
        cut = (ranked[k - 1] + ranked[k]) / 2
        sides = {
            1: [i for i in judged if score(M[i]) > cut],
            0: [i for i in judged if score(M[i]) <= cut],
        }
        means = {0: 0.0, 1: 0.0}
        for g, rows in sides.items():
            if len(rows) in (0, len(judged)):  # nobody else to compare with
                break
            values = [losses(M[i])[g] for i in rows]
            means[g], n = np.mean(values), len(rows)
            for i, value in zip(rows, values, strict=True):
                if n > 1:  # alone, it is its own mean
                    added[i] += (1 if g else -1) * (value - means[g]) / np.sqrt(n * (n - 1)) / 2
        gaps.append(means[1] - means[0])
        order = sorted(range(len(M)), key=lambda i: -score(M[i]))
        named.append(set(order[:size]))
    return gaps, added, named


def jaccard(a, b):
    return len(a & b) / len(a | b)


def repeated(weights, *arrays):
    """Every row as often as its weight says: what a table with whole weights stands for."""
    return tuple(np.repeat(array, weights, axis=0) for array in arrays)


def weighted_loss(M, mask, weights, d, centering="global"):
    """Excess loss of a group of rows of which each counts as much as its weight."""
    X = M - weights @ M / weights.sum() if centering == "global" else M
    roots = np.sqrt(weights)[:, None]
    V = components(roots * X, d, about_mean=False)
    G = (roots * X)[mask]
    W = components(G, d, about_mean=False)
    return (np.sum((G @ W) ** 2) - np.sum((G @ V) ** 2)) / weights[mask].sum()


def feature_losses(M, labels, d, loss="excess", centering="global"):
    """Each group's loss, column by column, from reconstructed rows."""
    X, V = seen_by_pca(M, centering), shared_basis(M, d, centering)
    parts = []
    for g in np.unique(labels):
        G = X[labels == g]
        W = components(G, d, about_mean=centering == "paper")
        shared, own = G @ V @ V.T, G @ W @ W.T
        if loss == "excess":
            errors = (G - shared) ** 2 - (G - own) ** 2
        else:
            errors = (shared - own) ** 2
        parts.append(errors.sum(axis=0) / len(G))
    return np.array(parts)


def feature_scores(rows, d, about_mean=False):
    """The paper's percentages: squared loadings weighted by the variance of their component."""
    if about_mean:
        rows = rows - rows.mean(axis=0)
    _, singular, loadings = np.linalg.svd(rows, full_matrices=False)
    scores = (singular[:d] ** 2) @ loadings[:d] ** 2
    return 100 * scores / scores.sum()


def f1(covered, group):
    return 2 * np.sum(covered & group) / (np.sum(covered) + np.sum(group))


def best_f1(conditions, group, length):
    """The best F1 of so many conditions (arrays of truth), joined from the left by and or or."""
    best = max(f1(rows, group) for rows in conditions)
    found = list(conditions)
    for _ in range(length - 1):
        found = [joined for a in found for b in conditions for joined in (a & b, a | b)]
        best = max(best, max(f1(rows, group) for rows in found))
    return best


def holm(p_values):
    """Step by step: the smallest times n, the next times n - 1, never falling, at most 1."""
    n, last = len(p_values), 0.0
    corrected = [0.0] * n
    for rank, place in enumerate(sorted(range(n), key=lambda i: p_values[i])):
        last = max(last, min(1.0, p_values[place] * (n - rank)))
        corrected[place] = last
    return corrected


def standardised(a, b):
    """Difference of two means over the root of the mean of the variances."""
    gap, spread = np.mean(a) - np.mean(b), np.sqrt((np.var(a) + np.var(b)) / 2)
    return gap / spread if spread > 0 else np.copysign(np.inf, gap) if gap else 0.0


def wilson(hits, n, z=1.959963984540054):
    """A share and its 95% interval: the shares that it is not z standard errors away from."""
    p, scale = hits / n, 1 + z**2 / n
    middle = (p + z**2 / (2 * n)) / scale
    half = z / scale * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return p, middle - half, middle + half


def newcombe(a, b):
    """The difference of two shares, with the interval that theirs give it."""
    gap = a[0] - b[0]
    below = np.sqrt((a[0] - a[1]) ** 2 + (b[2] - b[0]) ** 2)
    above = np.sqrt((a[2] - a[0]) ** 2 + (b[0] - b[1]) ** 2)
    return gap, gap - below, gap + above


def adding(rules, group, limit):
    """Places of the rules to list: each time the first that adds half of its members or more.

    ``rules`` are, by falling lift, lists of the rows for which each condition holds.
    """
    chosen = []
    sure = [group[np.logical_and.reduce(rule)].mean() for rule in rules]
    halves = [max(group[rows].mean() for rows in rule) for rule in rules]
    while len(chosen) < limit:
        covered = np.zeros(len(group), dtype=bool)
        for place in chosen:
            covered |= np.logical_and.reduce(rules[place])
        for place, rule in enumerate(rules):
            members = np.logical_and.reduce(rule) & group
            new = np.sum(members & ~covered) / np.sum(members)
            surer = len(rule) == 1 or sure[place] >= halves[place] + 0.1 - 1e-9
            if place not in chosen and surer and new >= 0.5:
                chosen.append(place)
                break
        else:
            break
    return chosen


def averages(M, labels, centering="global"):
    """Each group's average second moments, as PCA sees the rows."""
    X = seen_by_pca(M, centering)
    return np.stack(
        [X[labels == g].T @ X[labels == g] / np.sum(labels == g) for g in np.unique(labels)]
    )


def own_best(second, d):
    """What the best d dimensions keep of each group."""
    return np.array([np.linalg.eigvalsh(S)[::-1][:d].sum() for S in second])


class GaveUp(Exception):
    """An oracle found no answer, which says nothing about ours."""


def fair_optimum(second, best, d):
    """Fair PCA as the semidefinite program it is: the smallest possible largest loss."""
    import cvxpy as cp

    n = second.shape[1]
    F, z = cp.Variable((n, n), symmetric=True), cp.Variable()
    allowed = [F >> 0, np.eye(n) - F >> 0, cp.trace(F) == d]
    allowed += [b - cp.trace(S @ F) <= z for S, b in zip(second, best, strict=True)]
    problem = cp.Problem(cp.Minimize(z), allowed)
    # An interior point method can end short of its 1e-8 where eigenvalues tie, on some processors;
    # a splitting method takes longer, but no system it solves becomes singular on the way.
    for solver, options in (
        (cp.CLARABEL, {}),
        (cp.SCS, {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 50_000}),
    ):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate")
            try:
                problem.solve(solver=solver, **options)
            except cp.SolverError:
                continue
        if problem.status == cp.OPTIMAL:
            return float(problem.value)
    raise GaveUp(f"no solver finds the optimum of {len(best)} groups in {d} of {n} dimensions")


def distinct_rows(X):
    """Where each distinct row occurs first, how often, and each row's place among them."""
    first, counts, place = [], [], []
    for i, row in enumerate(X):
        same = [k for k, j in enumerate(first) if (X[j] == row).all()]
        if same:
            counts[same[0]] += 1
            place.append(same[0])
        else:
            place.append(len(first))
            first.append(i)
            counts.append(1)
    return first, counts, place


def odds_to_agree(X):
    """Per column: odds that rows agree on it which agree on all others, over those of any two."""
    m, n = X.shape
    first, _, _ = distinct_rows(X)
    ratios = []
    for j in range(n):
        pairs = [X[a, j] == X[b, j] for a in range(m) for b in range(m) if a != b]
        q = np.mean(pairs)
        others = np.delete(X, j, axis=1)
        shares = [q]  # one pair like any other
        for i in first:
            agree = [
                X[b, j] == X[i, j] for b in range(m) if b != i and (others[b] == others[i]).all()
            ]
            shares += [np.mean(agree)] if agree else []
        a = np.mean(shares)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios.append(np.inf if q == 1 else np.float64(a / (1 - a)) / np.float64(q / (1 - q)))
    return ratios


def named(M, columns, d, smallest, weight=0.5, depth=2):
    """Every conjunction of conditions on different columns, by falling worth; equal rows once.

    ``columns`` has for each raw column the rows of each of its conditions.
    """
    best = {}
    for length in range(1, depth + 1):
        for chosen in combinations(columns, length):
            for masks in product(*chosen):
                rows = np.logical_and.reduce(masks)
                k = int(rows.sum())
                if smallest <= k <= len(rows) - smallest:
                    worth = k**weight * signed_disparity(M, rows.astype(int), d)
                    if worth > 0.0:
                        best.setdefault(rows.tobytes(), (worth, rows))
    return sorted(best.values(), key=lambda found: -found[0])


def telling(ranked, shorter, top, new=0.5, least=1 / 3, gain=1.05):
    """Of ranked (worth, rows), those that say something new, one after the other.

    ``shorter`` gives for the place of a name the worths of those with a condition less.
    """
    kept = [f for place, f in enumerate(ranked) if all(gain * w < f[0] for w in shorter[place])]
    lines, covered = [], np.zeros(len(ranked[0][1]), dtype=bool)
    while len(lines) < top:
        share = [(rows & ~covered).sum() / rows.sum() for _, rows in kept]
        marginal = [w * s if s >= new else 0.0 for (w, _), s in zip(kept, share, strict=True)]
        place = int(np.argmax(marginal))
        if marginal[place] <= (least * lines[0][0] if lines else 0.0):
            break
        lines.append((marginal[place], kept[place][1]))
        covered |= kept[place][1]
    return lines


def means_apart(values, mask, draws, rng):
    """Means in a group, in its rest, and their difference: of all rows, then of rows drawn anew."""
    every = [np.arange(len(values))]
    every += [rng.integers(len(values), size=len(values)) for _ in range(draws)]
    found = []
    for rows in every:
        group = [values[row] for row in rows if mask[row]]
        rest = [values[row] for row in rows if not mask[row]]
        found.append((np.mean(group), np.mean(rest), np.mean(group) - np.mean(rest)))
    return np.array(found)


def given_losses(M, labels, estimator, d, origin):
    """Average loss of each group under a fitted transformer: its errors less a PCA's of the group.

    The group's own PCA has ``d`` components through the ``origin``.
    """
    made = np.asarray(estimator.inverse_transform(estimator.transform(M)))
    losses = []
    for g in np.unique(labels):
        G = M[labels == g] - origin
        W = components(G, d, about_mean=False)
        losses.append(
            (np.sum((M - made)[labels == g] ** 2) - np.sum((G - G @ W @ W.T) ** 2)) / len(G)
        )
    return np.array(losses)


def best_of_all_under(M, estimator, d, origin, size):
    """The largest disparity of any group of a size under a fitted transformer."""

    def gap(labels):
        rest, group = given_losses(M, labels, estimator, d, origin)
        return group - rest

    return max(gap(labels) for labels in partitions(len(M), 1, size))
