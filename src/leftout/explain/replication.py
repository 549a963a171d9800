"""Does the description come back? A sentence from one half of the rows, judged on the other.

A group found and described on half of the rows gives a sentence. Who it covers among the other rows
is settled before anybody looks at what these lose, so their loss may be held against that of random
groups of the same size there: labels permuted over the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from leftout.data.columns import Column
from leftout.errors import InputError
from leftout.evidence.refit import quick
from leftout.explain.sentence import describe
from leftout.files import Serializable
from leftout.groups.known import known_groups
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.sizes import smallest_named
from leftout.linalg.losses import Array
from leftout.linalg.significance import LEVEL, can_tell, describe_p
from leftout.running import collected_warnings
from leftout.solvers import Alternating
from leftout.text import counted, number

# Random groups that the covered rows are held against.
PERMUTATIONS = 99


@dataclass(frozen=True, kw_only=True)
class HalfReplication(Serializable):
    """A sentence from one half, and what the rows that it covers lose in the other.

    Attributes
    ----------
    sentence : str
    rows : int
        Rows of the other half that it describes.
    loss, random : float
        What these lose there, and what random groups of that size do, on average.
    p_value : float
    """

    sentence: str
    rows: int
    loss: float
    random: float
    p_value: float


@dataclass(frozen=True, kw_only=True)
class Replication(Serializable):
    """What sentences from either half say of the other.

    Attributes
    ----------
    halves : list of HalfReplication
    permutations : int
    p_value : float
        The larger of the halves'.
    """

    also = ("p_value", "holds", "told")

    halves: list[HalfReplication]
    permutations: int

    @property
    def p_value(self) -> float:
        return max(half.p_value for half in self.halves)

    @property
    def holds(self) -> bool:
        return self.p_value <= LEVEL and can_tell(self.permutations)

    @property
    def told(self) -> str:
        each = [
            f"{half.sentence}: the {counted(half.rows, 'row')} that this describes in the other "
            f"half lose {number(half.loss)}, random groups of that size {number(half.random)} "
            f"({describe_p(half.p_value)})"
            for half in self.halves
        ]
        return f"Found on half of the rows, {'; '.join(each)}."


def sentence_replicates(
    found: MaxDisparityPartition,
    X: Array,
    columns: Sequence[Column],
    rng: np.random.Generator,
    permutations: int = PERMUTATIONS,
) -> Replication:
    """Search and describe either half of the rows, and judge the sentence on the other.

    Parameters
    ----------
    found : MaxDisparityPartition
        The search that found the group, fitted.
    X : array of shape (m, n)
        What was searched.
    columns : list of Column
        As people know them, of the same rows: what a sentence may speak of.
    rng : Generator
        Splits the rows, and permutes them.
    permutations : int, default=99

    Returns
    -------
    Replication

    Raises
    ------
    InputError
        Where a half cannot be searched or described, or its sentence covers too few rows of the
        other.
    """
    order = rng.permutation(len(X))
    halves = np.sort(order[: len(X) // 2]), np.sort(order[len(X) // 2 :])
    search = clone(found).set_params(
        group_size=found.left_out_.share,
        min_group_size=None,
        n_components=found.n_components_,
        random_state=rng,
        solver=quick(Alternating()),
    )
    judged = []
    for searched, other in (halves, halves[::-1]):
        with collected_warnings():
            labels = search.fit(X[searched]).labels_
            sentence = describe([column.take(searched) for column in columns], labels)
            mask = sentence.covers([column.take(other) for column in columns])
            groups = known_groups(
                X[other],
                {"described": mask},
                n_components=found.n_components_,
                representation=found.representation,
                depth=1,
                permutations=permutations,
                random_state=rng,
                folds=2,
            )
        rows = int(mask.sum())
        line = next((each for each in groups.measured if bool(each.mask[mask].all())), None)
        if line is None:
            least = smallest_named(None, len(other), found.n_components_)
            raise InputError(
                f"The sentence from one half, {sentence.text}, covers {rows:,} of the other's "
                f"{counted(len(other), 'row')}; to judge it takes {least} inside and outside."
            )
        figures = {name: getattr(line, name) for name in ("loss", "random", "p_value")}
        judged.append(HalfReplication(sentence=sentence.text, rows=rows, **figures))
    return Replication(halves=judged, permutations=permutations)
