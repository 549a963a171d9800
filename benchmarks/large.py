"""One large table in a process of its own: time against PCA, peak memory. Prints one JSON line."""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np


def table(kind, rows, columns=50, seed=0):
    rng = np.random.default_rng(seed)
    X = np.empty((rows, columns))
    for start in range(0, rows, 10_000):  # in pieces, so that making it leaves no trace in memory
        part = X[start : start + 10_000]
        if kind == "uniform":
            part[:] = rng.random(part.shape)
        elif kind == "one-hot":
            part[:] = 0.0
            for block in range(columns // 10):
                shares = np.random.default_rng(2 + block).dirichlet(np.ones(10))
                level = rng.choice(10, size=len(part), p=shares)
                part[np.arange(len(part)), 10 * block + level] = 1.0
        else:
            part[:] = rng.standard_normal(part.shape)
        if kind == "low rank":
            loadings = np.random.default_rng(1).standard_normal((8, columns))
            part *= 0.5
            part += rng.standard_normal((len(part), 8)) @ loadings
    return X


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(kind, rows):
    from sklearn.decomposition import PCA

    from leftout import MaxDisparityPartition

    small = np.random.default_rng(0).random((200, 6))
    MaxDisparityPartition(3, min_group_size=20, random_state=0).fit(small)  # compile
    X = table(kind, rows)
    before = peak()
    ours = []
    for _ in range(3):
        start = time.process_time()
        found = MaxDisparityPartition(random_state=0).fit(X)
        ours.append(time.process_time() - start)
    extra = (peak() - before) / X.nbytes
    pca = []
    for _ in range(5):
        start = time.process_time()
        PCA(svd_solver="covariance_eigh").fit(X)
        pca.append(time.process_time() - start)
    result = {
        "ours": float(np.median(ours)),
        "pca": float(np.median(pca)),
        "extra": extra,
        "d": int(found.n_components_),
        "size": int(found.sizes_[1]),
    }
    print(json.dumps(result))


def setting(kind, rows, d, size, seed=0):
    """One setting: CPU time of a search against that of a PCA fit, and the memory it takes."""
    from sklearn.decomposition import PCA

    from leftout import MaxDisparityPartition

    small = table(kind, 100_000)
    MaxDisparityPartition(d, group_size=size, random_state=0).fit(small)  # compile
    PCA(svd_solver="covariance_eigh").fit(small)
    del small
    X = table(kind, rows, seed=seed)
    before = peak()
    start = time.process_time()
    found = MaxDisparityPartition(d, group_size=size, random_state=0).fit(X)
    ours = time.process_time() - start
    extra = (peak() - before) / X.nbytes
    pca = []
    for _ in range(3):
        start = time.process_time()
        PCA(svd_solver="covariance_eigh").fit(X)
        pca.append(time.process_time() - start)
    result = {
        "ours": ours,
        "pca": float(np.median(pca)),
        "extra": extra,
        "disparity": float(found.disparity_),
        "size": int(found.sizes_[1]),
        "stopped": found.stopped_,
    }
    print(json.dumps(result))


def as_size(text):
    """None for "free", else a number of rows or a share."""
    if text == "free":
        return None
    return float(text) if "." in text else int(text)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        main(sys.argv[1], int(sys.argv[2]))
    else:
        seed = int(sys.argv[5]) if len(sys.argv) > 5 else 0
        setting(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), as_size(sys.argv[4]), seed)
