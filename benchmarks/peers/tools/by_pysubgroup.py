"""pysubgroup: the best subgroup of up to two conditions with a high residual, depth first.

Its own cuts of the numbers (five), and ``StandardQFNumeric`` with exponent 0.5. Its permutation
test is for classifiers' predictions alone, so for a number it has no criterion.
"""

import numpy as np
import pandas as pd
import pysubgroup as ps
from binning import conditions

PACKAGES = ("pysubgroup", "pandas", "numpy")


def answer(table):
    if "known" in table:
        names, cells = conditions(table)
        data = pd.DataFrame(cells, columns=names).astype(object)
    else:
        data = pd.DataFrame(table["X"], columns=[f"x{j}" for j in range(table["X"].shape[1])])
    data["residual"] = table["residual"]
    task = ps.SubgroupDiscoveryTask(
        data,
        ps.NumericTarget("residual"),
        ps.create_selectors(data, ignore=["residual"]),
        ps.StandardQFNumeric(0.5),
        result_set_size=1,
        depth=2,
    )
    subgroup = ps.DFS(ps.BitSetRepresentation).execute(task).results[0][1]
    return np.asarray(subgroup.covers(data), dtype=bool), None, str(subgroup)
