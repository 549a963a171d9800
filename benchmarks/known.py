"""Are known groups blamed only where they lose more than random ones? The case ``known_noise``."""

from __future__ import annotations

import numpy as np

from leftout import known_groups
from leftout.linalg.significance import LEVEL

TABLES, PERMUTATIONS = 400, 99


def noisy_table(rng, n_columns):
    """Numbers with heavy tails and rare values, and known columns that know nothing of them.

    Groups of one known column are of very different sizes: small ones lose much by chance.
    """
    m = 160
    X = rng.normal(size=(m, 5)) @ rng.normal(size=(5, 5)) * rng.gamma(1.0, 1.0, (m, 1))
    X = np.column_stack([X, rng.random((m, 2)) < 0.1])
    shares = [0.5, 0.3, 0.2]
    known = {f"known {i}": rng.choice(3, m, p=shares) for i in range(n_columns)}
    return X, known


def noise():
    """How often some group of columns of pure noise is called left out."""
    most = LEVEL + 2 * np.sqrt(LEVEL * (1 - LEVEL) / TABLES)
    for n_columns, depth in ((1, 1), (4, 2)):
        blamed, n_groups = 0, []
        for seed in range(TABLES):
            rng = np.random.default_rng([n_columns, seed])
            X, known = noisy_table(rng, n_columns)
            found = known_groups(
                X, known, n_components=2, depth=depth, permutations=PERMUTATIONS,
                min_group_size=12, random_state=seed,
            )  # fmt: skip
            blamed += bool(found.left_out)
            n_groups.append(len(found.measured))
        yield (
            f"{TABLES} tables with {n_columns} known column(s) of noise, {np.mean(n_groups):.0f} "
            f"groups each ({PERMUTATIONS} permutations): some group is called left out",
            f"at most {100 * most:.1f} % (5% and 2 standard errors)",
            f"{100 * blamed / TABLES:.1f}%",
            blamed / TABLES <= most,
        )
