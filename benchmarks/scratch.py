"""The paper's greedy search with every PCA from scratch, as its authors describe it.

Plain but fair NumPy: one thin SVD a PCA, boolean masks, nothing recomputed that a careful author
would keep. It is what "times faster" refers to.
"""

from __future__ import annotations

import numpy as np


def top_energy(G, d):
    """Energy of the rows in their own top-d components: one PCA."""
    return np.sum(np.linalg.svd(G, full_matrices=False)[1][:d] ** 2)


def loss(G, V, d):
    return (top_energy(G, d) - np.sum((G @ V) ** 2)) / len(G)


def components(G, d):
    return np.linalg.svd(G, full_matrices=False)[2][:d].T


def centred_components(G, d):
    return components(G - G.mean(axis=0), d)


def projection_gap(G, V, d):
    """What the paper's Algorithm 1 writes, on rows that are not centred."""
    W = centred_components(G, d)
    return np.sum(((G @ V) @ V.T - (G @ W) @ W.T) ** 2) / len(G)


# A group's loss, and the components of all rows.
EXCESS = (loss, components)
PROJECTION_GAP = (projection_gap, centred_components)


def greedy(X, d, min_size, seeds, rng, epochs=15, measure=EXCESS):
    """Returns labels, accepted moves as (epoch, row), and the number of epochs run."""
    loss, components = measure
    m = len(X)
    order = rng.permutation(m)
    labels = np.full(m, -1)
    labels[order[:seeds]], labels[order[seeds : 2 * seeds]] = 0, 1
    for i in order[2 * seeds :]:
        seen = labels >= 0
        seen[i] = True
        V = components(X[seen], d)
        losses = []
        for side in (0, 1):
            inside = labels == side
            inside[i] = True
            losses.append(loss(X[inside], V, d))
        labels[i] = 0 if losses[0] > losses[1] else 1
    V = components(X, d)

    def gap(labels):
        return abs(loss(X[labels == 0], V, d) - loss(X[labels == 1], V, d))

    moves, current = [], gap(labels)
    for epoch in range(epochs):
        before = len(moves)
        for i in range(m):
            trial = labels.copy()
            trial[i] = 1 - trial[i]
            if min(np.sum(trial == 0), np.sum(trial == 1)) < min_size:
                continue
            value = gap(trial)
            if value > current:
                labels, current = trial, value
                moves.append((epoch, i))
        if len(moves) == before:
            break
    return labels, moves, epoch + 1
