"""Rules: conditions on one or two raw columns under which rows are left out, or not."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leftout.checks import Refusal, check_count, check_floor, check_left_out, check_runs
from leftout.explain.items import Items
from leftout.explain.mining import GROUPS, LEFT_OUT, REST, Floors, Rules, mine
from leftout.tables.columns import columns_of

# Intervals that a column of numbers is cut into at most.
_BINS = 5


@dataclass(frozen=True, kw_only=True)
class Frequency:
    """How often columns, and pairs of columns, are among the leading rules of several runs.

    Attributes
    ----------
    variables : list of dict
        ``variable`` and, for each group, the number of runs in which it is an antecedent of one of
        the leading rules with one antecedent (the paper's first table).
    pairs : list of dict
        ``group``, ``pair``, the number of ``runs`` in which the two are the antecedents of one of
        the leading rules with two, and the range of ``lift`` (the paper's second table).
    runs, top : int
    """

    variables: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    runs: int
    top: int


def find_rules(
    table: Any,
    labels: ArrayLike,
    *,
    categorical: Iterable[Any] | None = (),
    drop: Iterable[Any] | None = (),
    bins: int = _BINS,
    min_support: float = 0.01,
    min_confidence: float | None = None,
    antecedents: int = 2,
    group: int | None = None,
    prune: bool = True,
    limit: int | None = None,
) -> Rules:
    """Find the rules "if this holds (and that), the row is left out", and the same for the rest.

    Exact: all rules at or above the floors are found.

    Parameters
    ----------
    table : raw table of m rows
        A pandas, polars or pyarrow table or an array. Numbers are cut into intervals, categories
        keep their names, and missing is a value.
    labels : array of shape (m,)
        1 or True where a row is left out, else 0.
    categorical : names of columns of numbers that are codes
    drop : names of columns to leave aside (the target, for example)
    bins : int, default=5
        Intervals a column of numbers is cut into at most; one with no more distinct values than
        this is not cut.
    min_support : float, default=0.01
        Least share of all rows that satisfy the antecedents and are in the group.
    min_confidence : float or None, default=None
        Least share of the rows satisfying the antecedents that are in the group. None: the group's
        share of all rows, that is a lift of 1.
    antecedents : {2, 1}
    group : {1, 0} or None
        Only the rules of the left-out group (1), or of the rest (0); None for both.
    prune : bool, default=True
        Drop what holds for all rows, a pair that is no better than one of its halves, and a rule
        that covers the same rows as a rule before it.
    limit : int or None
        Keep this many rules of each group, those of highest lift.

    Returns
    -------
    Rules
        By falling lift, then count.

    Notes
    -----
    The rows of an item are bits, so with I items (a few per column) all pairs cost O(m I^2 / 64)
    operations on words, and m I / 8 bytes.

    References
    ----------
    Agrawal, Imielinski and Swami (1993), Mining association rules between sets of items.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.array([["red", 1], ["red", 9], ["blue", 9], ["blue", 1]], dtype=object)
    >>> best = find_rules(table, [0, 1, 0, 0])[0]
    >>> best.text, best.confidence, best.lift
    ('x0 = red and x1 = 9', 1.0, 4.0)
    """
    check_count("bins", bins)
    if bins < 2:
        raise Refusal("bins=1 cuts nothing; give at least 2.")
    check_floor("min_support", min_support)
    if min_confidence is not None:
        check_floor("min_confidence", min_confidence)
    if limit is not None:
        check_count("limit", limit)
    if antecedents not in (1, 2):
        raise Refusal(f"antecedents={antecedents!r} is not available; give 1 or 2.")
    if group not in (None, REST, LEFT_OUT):
        raise Refusal(f"group={group!r} is neither the left-out group (1) nor the rest (0).")
    items = Items(columns_of(table, categorical=categorical, drop=drop), bins)
    mask = check_left_out(labels, items.n_rows)
    floors = Floors(min_support, min_confidence)
    groups = (REST, LEFT_OUT) if group is None else (group,)
    (found,) = mine(items, mask[None], floors, antecedents, groups=groups, prune=prune, limit=limit)
    return found if limit is None else found.leading(limit)


def rule_frequency(
    table: Any,
    runs: ArrayLike,
    *,
    categorical: Iterable[Any] | None = (),
    drop: Iterable[Any] | None = (),
    min_support: float = 0.01,
    top: int = 10,
) -> Frequency:
    """Count how often columns lead the rules of several runs: the paper's two tables.

    In every run the rules of each group are found and ranked by lift; the ``top`` rules with one
    antecedent, and the ``top`` with two, count.

    Parameters
    ----------
    table : raw table of m rows
    runs : array of shape (n_runs, m)
        The labels of each run, for example ``found.stability.labels``.
    categorical, drop, min_support
        As for :func:`find_rules`.
    top : int, default=10

    Returns
    -------
    Frequency
    """
    check_count("top", top)
    check_floor("min_support", min_support)
    items = Items(columns_of(table, categorical=categorical, drop=drop), _BINS)
    found = mine(items, check_runs(runs, items.n_rows), Floors(min_support, None), limit=top)
    # by group and columns, one or two: in how many runs they lead, and with which lifts
    times: Counter[tuple[int, tuple[str, ...]]] = Counter()
    lifts = defaultdict(list)
    for run in found:
        for group in (REST, LEFT_OUT):
            of_group = run.of(group)
            lift, alone = of_group.lift, of_group.second < 0
            leading = [np.flatnonzero(kind)[:top] for kind in (alone, ~alone)]
            keys = [(group, of_group.variables(place)) for part in leading for place in part]
            for key, value in zip(keys, lift[np.concatenate(leading)].tolist(), strict=True):
                lifts[key].append(value)
            times.update(set(keys))
    names = {columns for _, columns in times if len(columns) == 1}
    pairs = [key for key in times if len(key[1]) == 2]
    return Frequency(
        variables=[
            {"variable": n[0], "left_out_runs": times[LEFT_OUT, n], "rest_runs": times[REST, n]}
            for n in sorted(names, key=lambda n: (-times[LEFT_OUT, n], -times[REST, n], n))
        ],
        pairs=[
            {
                "group": GROUPS[key[0]],
                "pair": list(key[1]),
                "runs": times[key],
                "lift": [min(lifts[key]), max(lifts[key])],
            }
            for key in sorted(pairs, key=lambda key: (-key[0], -times[key], key[1]))
        ],
        runs=len(found),
        top=top,
    )
