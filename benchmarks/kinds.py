"""Kinds of tables: with a planted group, and with none."""

from __future__ import annotations

import numpy as np
from scipy import stats

from leftout import datasets

ROWS, COLUMNS, D = 400, 12, 3


def cloud(rng, rows, columns=COLUMNS):
    """Correlated gaussians, the leading ones of larger variance."""
    A = rng.standard_normal((columns, columns)) * np.geomspace(1.0, 0.3, columns)
    return rng.standard_normal((rows, columns)) @ A


def scaled(seed, rows, columns=COLUMNS):
    """The same, each with variance 1."""
    Z = cloud(np.random.default_rng(seed), rows, columns)
    return Z / Z.std(axis=0)


def unit(table):
    """Every column from 0 to 1."""
    return (table - table.min(axis=0)) / np.ptp(table, axis=0)


def gaussian(seed, rows=ROWS):
    return cloud(np.random.default_rng(seed), rows)


def mixed(seed, rows=ROWS):
    """Correlated columns, three each skewed and discrete, two each binary and rare binary."""
    rng = np.random.default_rng(seed)
    A = np.eye(COLUMNS) + 0.5 * rng.standard_normal((COLUMNS, COLUMNS))
    Z = rng.standard_normal((rows, COLUMNS)) @ A
    Z /= Z.std(axis=0)
    Z[:, :3] = np.exp(Z[:, :3])
    Z[:, 3:6] = np.round(1.5 * Z[:, 3:6])
    Z[:, 6:8] = Z[:, 6:8] > 0.3
    Z[:, 8:10] = Z[:, 8:10] > 1.7
    return unit(Z)


def dummies(seed, rows=ROWS):
    """Three categories of one another's cut gaussians, a column a level, and two numbers."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((rows, 5)) @ (np.eye(5) + 0.4 * rng.standard_normal((5, 5)))
    Z /= Z.std(axis=0)
    cuts = ([-0.5, 0.6, 1.4], [-0.2, 1.0], [-1.0, 0.3, 1.2])
    kinds = [np.digitize(Z[:, j], cut) for j, cut in enumerate(cuts)]
    columns = [kind == level for kind in kinds for level in range(kind.max() + 1)]
    return unit(np.column_stack([*columns, Z[:, 3], np.exp(Z[:, 4])]).astype(float))


def lognormal(seed, rows=ROWS):
    return unit(np.exp(scaled(seed, rows)))


def skewed(seed, rows=ROWS):
    return unit(np.exp(0.7 * scaled(seed, rows)))


def discrete(seed, rows=ROWS):
    return unit(np.round(1.2 * scaled(seed, rows)))


def uniform(seed, rows=ROWS):
    return stats.norm.cdf(scaled(seed, rows))


def rare_binaries(seed, rows=ROWS):
    """Half of the columns are 1 in 4 to 5% of the rows."""
    Z = scaled(seed, rows)
    Z[:, 6:] = Z[:, 6:] > 1.7
    return unit(Z)


def rare_column(seed, rows=ROWS):
    """The last column is 1 in 3% of the rows, which differ in nothing else."""
    Z = unit(scaled(seed, rows, COLUMNS - 1))
    rare = np.zeros(rows)
    rare[np.random.default_rng([seed, 1]).choice(rows, round(0.03 * rows), replace=False)] = 1.0
    return np.column_stack([Z, rare])


def t_margins(seed, rows=ROWS):
    """Columns with t distributions of 2.5 degrees of freedom, joined as gaussians are."""
    below = stats.norm.cdf(scaled(seed, rows))
    return unit(stats.t.ppf(np.clip(below, 1e-12, 1 - 1e-12), 2.5))


def t_factors(seed, rows=ROWS):
    """Independent factors with such distributions, mixed."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((COLUMNS, COLUMNS)) * np.geomspace(1.0, 0.3, COLUMNS)
    return unit(rng.standard_t(2.5, (rows, COLUMNS)) @ A)


def elliptical(seed, rows=ROWS):
    """A cloud whose rows are far out all together: multivariate t with 4 degrees of freedom."""
    rng = np.random.default_rng(seed)
    return cloud(rng, rows) / np.sqrt(rng.chisquare(4, rows) / 4.0)[:, None]


def squares(seed, rows=ROWS):
    """Eight columns, and squares and products of some: curved dependence."""
    Z = scaled(seed, rows, COLUMNS - 4)
    return np.column_stack([Z, Z[:, 0] ** 2, Z[:, 1] * Z[:, 2], Z[:, 3] ** 2, Z[:, 4] * Z[:, 5]])


def spread_by_column(seed, rows=ROWS):
    """One column decides how far all others vary."""
    Z = scaled(seed, rows)
    Z[:, 1:] *= np.exp(0.3 * Z[:, :1])
    return Z


def four_times(seed, rows=ROWS):
    """Every row four times."""
    return np.repeat(gaussian(seed, rows // 4), 4, axis=0)


def drawn_from_few(seed, rows=ROWS, few=150):
    """Rows drawn from few, each any number of times."""
    return gaussian(seed, few)[np.random.default_rng([seed, 1]).integers(few, size=rows)]


def planted(seed, rows=ROWS, size=60, strength=1.0):
    """A group with directions of its own, in any order."""
    X, _ = datasets.make_planted(rows, COLUMNS, D, size, strength, random_state=seed)
    return X[np.random.default_rng([seed, 1]).permutation(rows)]


NO_GROUP = {
    "gaussian": gaussian,
    "uniform": uniform,
    "skewed, discrete and rare binary": mixed,
    "dummies": dummies,
    "lognormal": lognormal,
    "discrete": discrete,
    "rare binary": rare_binaries,
    "one rare binary column": rare_column,
    "margins with t 2.5": t_margins,
    "factors with t 2.5": t_factors,
    "elliptical with t 4": elliptical,
    "squares and products": squares,
    "spread by a column": spread_by_column,
    "every row four times": four_times,
    "400 drawn from 150 rows": drawn_from_few,
}
