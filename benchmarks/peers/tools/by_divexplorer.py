"""DivExplorer: the frequent pattern whose mean residual diverges most from all rows'.

A support of 0.05. It gives each pattern Welch's t, and no correction for having looked at many; the
pattern of the largest divergence counts as claimed where t is at least 1.96.
"""

import numpy as np
import pandas as pd
from binning import conditions
from divexplorer import DivergenceExplorer

PACKAGES = ("divexplorer", "pandas", "numpy")
SUPPORT, LEVEL = 0.05, 1.96


def answer(table):
    names, cells = conditions(table)
    data = pd.DataFrame(cells, columns=names)
    data["residual"] = table["residual"]
    explorer = DivergenceExplorer(data)
    patterns = explorer.get_pattern_divergence(SUPPORT, quantitative_outcomes=["residual"])
    top = patterns.sort_values("residual_div", ascending=False).iloc[0]
    found = np.ones(len(data), dtype=bool)
    for item in top["itemset"]:
        name, value = item.split("=")
        found &= (data[name] == value).to_numpy()
    return found, bool(top["residual_t"] >= LEVEL), ", ".join(sorted(top["itemset"]))
