"""leftout, with columns that people know: every value and pair of values beside random groups.

It claims a group where one is called left out: p-values by permutation, corrected for all groups.
"""

import pandas as pd

from leftout import known_groups

PACKAGES = ("leftout", "numpy", "numba")


def answer(table):
    if "known" not in table:
        return None
    columns = pd.DataFrame(table["known"], columns=table["names"])
    found = known_groups(table["X"], columns, n_components=2, permutations=99, n_jobs=1)
    first = found.ranked[0]
    return first.mask, bool(found.left_out), first.text
