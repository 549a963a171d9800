"""What tools that search conditions get: known columns, or quarters of the numbers."""

import numpy as np


def conditions(table):
    """Names of columns, and their cells as text."""
    if "known" in table:
        return [str(name) for name in table["names"]], table["known"].astype(str)
    X = table["X"]
    cuts = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    quarters = (X[None] > cuts[:, None]).sum(axis=0)
    return [f"x{j}" for j in range(X.shape[1])], np.char.add("q", (quarters + 1).astype(str))
