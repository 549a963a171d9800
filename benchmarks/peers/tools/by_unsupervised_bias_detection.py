"""unsupervised-bias-detection: bias-aware k-means (k-modes for categories).

As its authors describe it: clusters from 80% of the rows, the worst of them tried on the others
by a t-test, at 0.05 divided by the number of clusters. Its settings have no defaults: 20 iterations
and clusters of at least a twentieth of the rows are ours. Lower is worse, so it gets the negative.
"""

import numpy as np
from scipy.stats import ttest_ind
from sklearn.preprocessing import OrdinalEncoder
from unsupervised_bias_detection.cluster import (
    BiasAwareHierarchicalKMeans,
    BiasAwareHierarchicalKModes,
)

PACKAGES = ("unsupervised-bias-detection", "kmodes", "scikit-learn")


def answer(table):
    metric = -table["residual"]
    rows = np.random.default_rng(0).permutation(len(metric))
    fitted, held_out = np.split(rows, [int(0.8 * len(rows))])
    settings = {"bahc_max_iter": 20, "bahc_min_cluster_size": len(fitted) // 20}
    if "known" in table:
        codes = OrdinalEncoder().fit_transform(table["known"])
        model, data = BiasAwareHierarchicalKModes(**settings, random_state=0), codes.astype(int)
    else:
        model, data = BiasAwareHierarchicalKMeans(**settings, random_state=0), table["X"]
    model.fit(data[fitted], metric[fitted])
    found = model.predict(data) == 0
    inside = found[held_out]
    if min(inside.sum(), (~inside).sum()) < 2:
        return found, False, "too few rows held out"
    tested = ttest_ind(
        metric[held_out][inside], metric[held_out][~inside], equal_var=False, alternative="less"
    )
    return found, bool(tested.pvalue <= 0.05 / model.n_clusters_), f"{model.n_clusters_} clusters"
