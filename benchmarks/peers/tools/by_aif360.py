"""AIF360: the bias scan (MDSS), all defaults, for a subset with more than its share of bad rows.

A bad row is one of the tenth with the largest residuals; a tenth is what is expected everywhere.
(Its Gaussian score for numbers divides by the variance of a model's expectations, and there is none
where the mean is expected of all.) A subset always comes back, with a score and no level from which
on it is meant to count.
"""

import numpy as np
import pandas as pd
from aif360.sklearn.detectors import MDSS_bias_scan
from binning import conditions

PACKAGES = ("aif360", "scikit-learn", "pandas")


def answer(table):
    names, cells = conditions(table)
    data = pd.DataFrame(cells, columns=names)
    residual = table["residual"]
    bad = pd.Series((residual > np.quantile(residual, 0.9)).astype(int))
    subset, _ = MDSS_bias_scan(data, bad, overpredicted=False)
    found = np.ones(len(data), dtype=bool)
    for name, values in subset.items():
        found &= data[name].isin(values).to_numpy()
    return found, None, f"{len(subset)} columns"
