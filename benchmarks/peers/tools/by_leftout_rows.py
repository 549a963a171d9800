"""leftout, no columns that name anybody: the worst-represented tenth, and why it loses.

It claims a group by the verdict "a distinct group".
"""

from leftout import MaxDisparityPartition, trust

PACKAGES = ("leftout", "numpy", "numba")


def answer(table):
    if "known" in table:
        return None  # what PCA sees is as in the hidden tables
    partition = MaxDisparityPartition(2, random_state=0, n_jobs=1)
    found = trust(partition, table["X"], n_restarts=5)
    return found.partition.labels_ == 1, found.verdict == "A", found.verdict_name
