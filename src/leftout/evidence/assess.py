"""Should you believe the groups? Find them, and gather the evidence for each.

Groups are a list, also of one. Surrogates, halves and subsamples of the rows are searched for all
of them together (:mod:`leftout.evidence.refit`), so that several groups cost as many searches as
there are groups, not as many audits.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from leftout.checks import check_whole
from leftout.data.matrix import all_counted, check_matrix
from leftout.evidence.null_test import NullTest, split_by_feature
from leftout.evidence.refit import SearchTask, check_search, in_proportion
from leftout.evidence.replication import SUBSAMPLES, Stability, cross_fit, restarts, subsamples
from leftout.evidence.surrogates import SurrogateTables
from leftout.evidence.verdict import FEWEST_TABLES, Trust, doubts
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.sizes import worst_tenth
from leftout.linalg.losses import Array
from leftout.running import Report, Steps, clean_interrupts, collected_warnings, one_thread
from leftout.settings import TENTH

# Splits into halves, if nobody says how many.
N_SPLITS = 8
# Restarts of the search for several groups: as many as tell, since each is for all of them.
_JOINT_RUNS = 10


@clean_interrupts()
def trust(
    estimator: MaxDisparityPartition,
    X: Any,
    *,
    n_surrogates: int = 99,
    n_restarts: int = 30,
    splits: int = N_SPLITS,
    parts: int = SUBSAMPLES,
    progress: Report | bool | None = None,
    sample_weight: ArrayLike | None = None,
) -> Any:
    """Find the left-out groups, say why each loses, whether it replicates, and who belongs to it.

    Parameters
    ----------
    estimator : MaxDisparityPartition
        What to search with: its ``n_groups`` and ``group_size`` say for what. A single group of
        free size is a tenth of the rows.
    X : table of shape (m, n)
    n_surrogates : int, default=99
        Surrogates of each kind, with the same values and correlations and with the same covariance
        alone, that decide if nothing is clear before (:mod:`leftout.evidence.sequential`); 0 for
        none.
    n_restarts : int, default=30
        Searches from other starts, to see whether they agree; fewer than 2 for none. Of several
        groups, ten at the most.
    splits : int, default=8
        Splits into halves that are searched apart; 0 for none.
    parts : int, default=16
        Subsamples of the rows that are searched to see who belongs; 0 for none.
    progress : callable, bool or None
        ``progress(what, done, total)`` is called after every step; True: to stderr.
    sample_weight : array of shape (m,), optional
        How many rows each row stands for, above 0. The weight is part of the row: surrogates draw
        it as one more column, halves and subsamples keep it with its row.

    Returns
    -------
    Trust or list of Trust
        The evidence for the group; of several groups for each, in the order of the labels.

    Examples
    --------
    >>> from leftout import MaxDisparityPartition, datasets, trust
    >>> X, planted = datasets.make_planted(400, 8, 2, 40, random_state=0)
    >>> search = MaxDisparityPartition(2, random_state=0)
    >>> found = trust(search, X, n_restarts=4, splits=4, parts=4)
    >>> found.verdict, found.group_size
    ('A', 40)
    >>> X, _ = datasets.make_planted(400, 9, 2, [40, 80], random_state=0)
    >>> search = MaxDisparityPartition(2, n_groups=2, group_size=[40, 80], random_state=0)
    >>> [found.verdict for found in trust(search, X, n_surrogates=19, n_restarts=0, parts=0)]
    ['A', 'A']
    """
    check_search(estimator)
    weights = all_counted(check_matrix(X), sample_weight) if sample_weight is not None else None
    search = clone(estimator)
    if search.n_groups == 1 and search.group_size in (None, TENTH):
        task = SearchTask.of(search, X, weights=weights)
        tenth = worst_tenth(search.min_group_size, len(task.X), task.n_components)
        search.set_params(group_size=tenth)
    found = assess(
        search, X, n_surrogates=n_surrogates, n_restarts=n_restarts, splits=splits, parts=parts,
        progress=progress, weights=weights,
    )  # fmt: skip
    return found[0] if search.n_groups == 1 else found


def assess(
    estimator: MaxDisparityPartition,
    X: Any,
    *,
    n_surrogates: int = 99,
    n_restarts: int = 30,
    splits: int = N_SPLITS,
    parts: int = SUBSAMPLES,
    progress: Report | bool | None = None,
    found: MaxDisparityPartition | None = None,
    everyone: Any = None,
    stability: Stability | None = None,
    names: Sequence[str] | None = None,
    surrogates: SurrogateTables | None = None,
    weights: Array | None = None,
    weights_of_all: Array | None = None,
) -> list[Trust]:
    """The evidence for each group of a search, as :func:`trust` has it; also on a sample.

    ``found`` is fitted already, on ``X`` or on ``everyone``: all rows that ``X`` was drawn from,
    whose membership is reported. ``stability``, for a single group, and ``surrogates`` of ``X`` may
    be there already, too. ``names`` are the columns that features were made from, by default the
    features themselves. ``weights`` and ``weights_of_all`` are what each row of ``X`` and of
    ``everyone`` counts, 1 on average.
    """
    check_whole("n_surrogates", n_surrogates)
    check_whole("n_restarts", n_restarts)
    check_whole("splits", splits)
    check_whole("parts", parts)
    found = clone(estimator).fit(X, sample_weight=weights) if found is None else found
    if found.n_groups_ < 1:
        return []
    if found.n_groups_ > 1:
        n_restarts = min(n_restarts, _JOINT_RUNS)
    n_restarts = 0 if n_restarts < 2 or stability is not None else n_restarts
    tables = 2 * min(n_surrogates, FEWEST_TABLES)
    steps = Steps(1 + tables + n_restarts + splits + parts, progress)
    alone = clone(estimator).set_params(
        n_groups=1, group_size=None, min_group_size=None, verbose=0,
        n_components=found.n_components_,
    )  # fmt: skip
    with collected_warnings():
        task = SearchTask.of(alone, X, surrogates, weights)
        sizes = [group.sought for group in found.left_out_groups_]
        labels, posed, rows = found.labels_, task.posed, task.X
        weights_of_all = weights if everyone is None else weights_of_all
        if everyone is not None:
            rows = check_matrix(everyone)
            sizes, labels = in_proportion(sizes, len(task.X), len(rows)), found.predict(X)
            with one_thread():
                posed = alone._build_problem(rows, weights=weights_of_all)
    notes: list[str] = []
    of_table, of_subsamples, of_restarts = task.rngs[2].spawn(3)
    table, compared = NullTest(task, sizes).run(n_surrogates, of_table.spawn(4), steps)
    with one_thread():
        split = split_by_feature(posed, found.labels_.astype(np.int8), found.n_groups_ + 1)
    if names is None:
        names = list(getattr(found, "feature_names_in_", [f"x{j}" for j in range(rows.shape[1])]))
    nothing: list[Any] = [None] * len(sizes)
    halves, stable = nothing, nothing if stability is None else [stability]
    belongs = None
    if splits:
        halves = cross_fit(task, sizes, splits, steps, labels) or nothing
        if halves is nothing:
            notes.append(
                f"Halves of the rows: could not be searched. Half of the rows, {len(task.X) // 2}, "
                f"have too few dimensions for {task.n_components} components. Use fewer "
                "components, or more rows."
            )
    if parts:
        rngs = of_subsamples.spawn(parts)
        of_all = (rows, found.labels_, weights_of_all)
        belongs = subsamples(task, sizes, rngs, steps, labels, *of_all)
    if task.repeats.beyond_chance:
        notes.append(f"Equal rows: {task.repeats.text}")
    if n_restarts:
        stable = restarts(task, sizes, of_restarts.spawn(n_restarts), steps, labels)
    by_feature: Any = nothing if split is None else split
    beside = zip(table.disparities.tolist(), compared, strict=True)
    return [
        Trust(
            partition=found,
            label=place + 1,
            group_size=sizes[place],
            searched=searched,
            rows=len(task.X),
            parts=each.parts(searched, by_feature[place], names),
            held_out=halves[place],
            membership=None if belongs is None else belongs[place],
            stability=stable[place],
            notes=[*notes, *doubts(each.chance, task.n_components)],
            **each._asdict(),
        )
        for place, (searched, each) in enumerate(beside)
    ]
