"""What is typical of the left-out group and of the rest, and single rows on request.

The raw table beside the matrix that was searched: which column plays which part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leftout.checks import check_count, check_left_out
from leftout.data.columns import Column, columns_of, found, names_of
from leftout.data.conditions import Mask
from leftout.data.frames import column_names
from leftout.data.matrix import check_rows
from leftout.data.roles import assign, levels_of
from leftout.errors import InputError
from leftout.files import Serializable
from leftout.groups.fitted import fitted_on

MISSING_LABEL = "(missing)"


@dataclass(frozen=True, kw_only=True)
class Typical(Serializable):
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
        return MISSING_LABEL, None
    with np.errstate(invalid="ignore", over="ignore"):  # between infinities
        middle = float(np.median(values))
        spread = float(np.subtract(*np.percentile(values, [75, 25])))
    # values of many sizes spread further than the median, which is no zero
    return column.told(middle, min(spread, abs(middle))), None


def _most_frequent(column: Column, side: Mask) -> tuple[str, float]:
    counts = np.bincount(column.values[side] + 1, minlength=2)  # missing first
    most = int(counts.argmax()) - 1
    return MISSING_LABEL if most < 0 else column.show(most), float(counts.max() / counts.sum())


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


@dataclass(frozen=True, kw_only=True)
class Raw:
    """The raw table's columns, and the part that each plays.

    ``columns`` are all but the target and what is dropped, ``described`` those that the search saw,
    ``hidden`` the names of the others. ``sources`` say for each feature of ``X`` which column it
    was made from, or its own name where that cannot be told.
    """

    columns: list[Column]
    described: list[Column]
    hidden: set[str]
    target: Column | None
    sources: list[str]

    @classmethod
    def of(
        cls,
        table: Any,
        X: Any,
        target: Any,
        categorical: Iterable[Any] | None,
        drop: Iterable[Any] | None,
        sensitive: Iterable[Any] | None,
        sources: Sequence[str] | None = None,
    ) -> Raw:
        columns = columns_of(table, categorical=categorical, unread=drop)
        features = names_of(X)
        check_rows(table, X, len(columns[0]))
        roles = assign(columns, target, sensitive, drop)
        hidden, aside = set(roles.sensitive), roles.targets | set(roles.dropped)
        for name in hidden & set(features if column_names(X) else ()):
            raise InputError(
                f"sensitive names {name!r}, which is a feature of X: the search saw it. Search "
                "again without it, or do not call it sensitive."
            )
        names = [column.name for column in columns]
        seen = [name for name in names if name not in hidden | aside]
        sources = sources_of(features, seen) if sources is None else list(sources)
        if len(sources) != len(features):
            raise InputError(
                f"sources names {len(sources)} columns for {len(features)} features of X; one for "
                "each is needed."
            )
        if column_names(X) and set(sources) & set(seen):
            hidden |= set(seen) - set(sources)  # no feature was made from these
        kept = [column for column in columns if column.name not in aside]
        described = [column for column in kept if column.name not in hidden]
        if not described:
            raise InputError(
                "Nothing is left to describe the group with: every column of the raw table is the "
                "target, dropped or kept out of the search. Leave at least one."
            )
        return cls(
            columns=kept, described=described, hidden=hidden, target=roles.target, sources=sources
        )


def sources_of(features: list[str], columns: list[str]) -> list[str]:
    """The column that each feature was made from, by its name; else the feature itself.

    A feature is called like its column, or begins with that and an underscore or equals sign, as
    indicators of categories do; a prefix that ends in two underscores does not count.
    """
    by_length = sorted(columns, key=len, reverse=True)
    found = []
    for feature in features:
        bare = feature if feature in columns else feature.rsplit("__", 1)[-1]
        made = (c for c in by_length if bare == c or bare.startswith((f"{c}_", f"{c}=")))
        found.append(next(made, feature))
    return found


def encoded_places(
    X: Any, raw: Raw, target_encoded: Iterable[Any] | None, positive: Any
) -> dict[int, Column]:
    """Places in ``X`` of the target-encoded columns, each with its raw column."""
    features, by_name = names_of(X), {column.name: column for column in raw.columns}
    named = found(features, target_encoded, "target_encoded")
    if not named:
        return {}
    if raw.target is None:
        raise InputError(
            "target_encoded names columns that hold the target's mean, but no target is given. "
            "Give target, too."
        )
    for name in named:
        if name not in by_name:
            raise InputError(
                f"target_encoded names {name!r}, which is in X, but the raw table has no such "
                "column to encode anew (or it is dropped). Keep it there."
            )
    levels = levels_of(raw.target, positive)
    if levels is not None and len(levels) > 1:
        raise InputError(
            f"The target {raw.target.name!r} has {len(levels)} categories; say with positive whose "
            "rate the encoded columns hold."
        )
    return {place: by_name[name] for place, name in enumerate(features) if name in named}
