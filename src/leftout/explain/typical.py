"""What is typical of the left-out group and of the rest, and single rows on request."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leftout.checks import check_count, check_left_out
from leftout.files import Told
from leftout.search.fitted import fitted_on
from leftout.tables.columns import Column, columns_of
from leftout.tables.conditions import Mask
from leftout.tables.matrix import check_rows

MISSING = "(missing)"


@dataclass(frozen=True, kw_only=True)
class Typical(Told):
    """A column's median, or most frequent category, on either side.

    ``left_out`` and ``rest`` are text; of categories, ``left_out_share`` and ``rest_share`` say how
    much of a side has that value. ``(missing)`` is the most frequent category where it is.
    """

    column: str
    kind: str  # "median" or "most frequent"
    left_out: str
    rest: str
    left_out_share: float | None = None
    rest_share: float | None = None


def typical_values(
    table: Any,
    labels: ArrayLike,
    *,
    categorical: Iterable[Any] | None = (),
    drop: Iterable[Any] | None = (),
) -> list[Typical]:
    """Medians and most frequent categories of the left-out group and of the rest, side by side.

    Parameters
    ----------
    table, labels, categorical, drop
        As for :func:`describe`.

    Returns
    -------
    list of Typical
        In the order of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> line = typical_values(np.array([[1.0], [2.0], [9.0], [7.0]]), [0, 0, 1, 1])[0]
    >>> line.left_out, line.rest
    ('8', '1.5')
    """
    columns = columns_of(table, categorical=categorical, drop=drop)
    group = check_left_out(labels, len(columns[0]))
    return [_typical(column, group) for column in columns]


def _typical(column: Column, group: Mask) -> Typical:
    usual = _median if column.categories is None else _most_frequent
    (left_out, a), (rest, b) = (usual(column, side) for side in (group, ~group))
    return Typical(
        column=column.name,
        kind="median" if column.categories is None else "most frequent",
        left_out=left_out,
        rest=rest,
        left_out_share=a,
        rest_share=b,
    )


def _median(column: Column, side: Mask) -> tuple[str, None]:
    values = column.values[side & ~column.missing]
    if not len(values):
        return MISSING, None
    with np.errstate(invalid="ignore", over="ignore"):  # between infinities
        middle = float(np.median(values))
        spread = float(np.subtract(*np.percentile(values, [75, 25])))
    # values of many sizes spread further than the median, which is no zero
    return column.told(middle, min(spread, abs(middle))), None


def _most_frequent(column: Column, side: Mask) -> tuple[str, float]:
    counts = np.bincount(column.values[side] + 1, minlength=2)  # missing first
    most = int(counts.argmax()) - 1
    return MISSING if most < 0 else column.show(most), float(counts.max() / counts.sum())


def example_rows(
    found: Any, X: Any, table: Any = None, *, rows: int = 3
) -> dict[str, list[dict[str, Any]]]:
    """Actual rows: the deepest in the left-out group, and the most typical of the rest.

    A row may be a person: ask for rows only where you may show them.

    Parameters
    ----------
    found : MaxDisparityPartition or Trust
        Fitted on ``X``.
    X : table of shape (m, n)
    table : raw table of m rows, or None
        Where to take the values from; None: ``X``.
    rows : int, default=3
        How many of each.

    Returns
    -------
    dict
        ``"left_out"``: rows of the group with the highest scores; ``"rest"``: rows of the rest
        nearest to its mean. Each is ``{"row": number, "values": {column: text}}``.
    """
    check_count("rows", rows)
    partition, matrix = fitted_on(found, X)
    columns = columns_of(X if table is None else table)
    check_rows(table, X, len(columns[0]))
    group, scores = partition.left_out_.mask, partition.score_samples(X)
    rest = partition.labels_ == 0
    distance = np.sum((matrix - matrix[rest].mean(axis=0)) ** 2, axis=1)
    sides = ("left_out", np.flatnonzero(group), -scores), ("rest", np.flatnonzero(rest), distance)
    return {
        name: [
            {"row": int(row), "values": {c.name: _cell(c, int(row)) for c in columns}}
            for row in inside[np.argsort(far[inside], kind="stable")[:rows]]
        ]
        for name, inside, far in sides
    }


def _cell(column: Column, row: int) -> str | None:
    return None if column.missing[row] else column.show(column.values[row])
