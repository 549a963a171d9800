"""
What does an audit say of pure noise?
=====================================

Somebody is always represented worst, so a loss alone proves nothing. Two tables, of which only one
has a group: how do both compare with surrogate tables, which share their values and
correlations, and nothing else?
"""

import matplotlib.pyplot as plt
import numpy as np

from leftout import MaxDisparityPartition, datasets, trust

noise = np.random.default_rng(0).standard_normal((800, 12)) * np.geomspace(1.0, 0.2, 12)
tables = {
    "80 planted rows": datasets.make_planted(800, 12, 3, 80, 0.6, random_state=0)[0],
    "noise": noise,
}

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for ax, (name, X) in zip(axes, tables.items(), strict=True):
    found = trust(MaxDisparityPartition(3, random_state=0), X, n_restarts=0, parts=0)
    for kind, chance in found.chance.items():
        ax.hist(chance.disparities, alpha=0.6, label=f"{kind} surrogates")
    ax.axvline(found.searched, color="black", label="the table")
    ax.set(title=name, xlabel="disparity that a search finds", ylabel="tables", xlim=(0, None))
    print(f"{name}: p = {found.p_value:.2f}, {found.verdict_name}")
axes[0].legend(frameon=False)
plt.show()
