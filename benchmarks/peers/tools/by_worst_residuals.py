"""The residuals themselves, sorted: the tenth of the rows that PCA represents worst. Three lines.

Somebody is always in it, so it claims nothing.
"""

import numpy as np

PACKAGES = ("numpy",)


def answer(table):
    residual = table["residual"]
    found = np.zeros(len(residual), dtype=bool)
    found[np.argsort(-residual)[: len(residual) // 10]] = True
    return found, None, "the worst tenth"
