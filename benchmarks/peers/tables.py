"""The tables that every tool gets, as plain arrays: not every tool's environment has pandas.

Four kinds. *Hidden*: 8 columns of numbers; a tenth of the rows varies along directions of its own,
and nothing but that sets them apart. *Named*: what PCA sees is the same, but six columns of what
people know stand beside it, and two of them name the group exactly. And both without a group.
"""

from __future__ import annotations

import numpy as np

from leftout import datasets

ROWS, FEATURES, COMPONENTS, GROUP = 1000, 8, 2, 100
KINDS = ("hidden", "hidden, none planted", "named", "named, none planted")
# What people know, and the values: the group is town B's self-employed.
KNOWN = {"town": 5, "work": 2, "age": 6, "home": 3, "language": 4, "phone": 2}
NAMES = ("town", "work")
_VALUE = {"town": "B", "work": "A"}


def draw(kind: str, seed: int) -> dict[str, np.ndarray]:
    """One table: ``X``, ``residual`` under the shared PCA, ``planted``, and what people know."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    if "none" in kind:  # one planted row, taken out again: a cloud of common directions and noise
        X, labels = datasets.make_planted(ROWS + 1, FEATURES, COMPONENTS, 1, random_state=rng)
        X, planted = X[labels == 0], np.zeros(ROWS, dtype=bool)
    else:
        X, labels = datasets.make_planted(ROWS, FEATURES, COMPONENTS, GROUP, random_state=rng)
        planted = labels == 1
    table = {"X": X, "residual": residuals(X, COMPONENTS), "planted": planted}
    if kind.startswith("named"):
        known = _known(planted, rng)
        table["names"] = np.array(list(known))
        table["known"] = np.column_stack(list(known.values()))
    return table


def residuals(X: np.ndarray, n_components: int) -> np.ndarray:
    """What the shared PCA loses of each row: the error that every tool may search on."""
    centred = X - X.mean(axis=0)
    components = np.linalg.svd(centred, full_matrices=False)[2][:n_components]
    lost = centred - centred @ components.T @ components
    return np.einsum("ij,ij->i", lost, lost)


def _known(planted: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Columns of letters; both values of the name together in the planted rows and nowhere else."""
    letters = np.array(list("ABCDEF"))
    known = {name: letters[rng.integers(0, count, len(planted))] for name, count in KNOWN.items()}
    if not planted.any():
        return known
    for name, value in _VALUE.items():
        known[name][planted] = value
    both = np.logical_and.reduce([known[name] == value for name, value in _VALUE.items()])
    others = letters[: KNOWN["work"]]
    known["work"][both & ~planted] = others[others != _VALUE["work"]][0]
    return known
