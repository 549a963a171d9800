"""The raw table beside the matrix that was searched: which column plays which part."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from leftout.columns import Column, column_of, columns_of, find, found, names_of
from leftout.explain.outcome import levels_of


@dataclass(frozen=True, kw_only=True)
class Raw:
    """The raw table's columns: all but the target, those that describe, and the target."""

    columns: list[Column]
    described: list[Column]
    sensitive: set[str]
    target: Column | None

    @classmethod
    def of(
        cls,
        table: Any,
        target: Any,
        categorical: Iterable[Any] | None,
        drop: Iterable[Any] | None,
        sensitive: Iterable[Any] | None,
        n_rows: int,
    ) -> Raw:
        columns = columns_of(table, categorical=categorical)
        names = [column.name for column in columns]
        if len(columns[0]) != n_rows:
            raise ValueError(
                f"The raw table has {len(columns[0]):,} rows, but X has {n_rows:,}; one raw row "
                "for each row of X is needed, in the same order."
            )
        by_name = dict(zip(names, columns, strict=True))
        outcome = None
        aside = found(names, drop, "drop")
        if target is not None:
            if np.ndim(target) == 0:
                outcome = by_name[find(names, target, "target")]
                aside.add(outcome.name)
            else:
                outcome = column_of(target)
                # the same column in the table is the target, too
                aside |= {c.name for c in columns if np.array_equal(c.codes(), outcome.codes())}
                if len(outcome) != n_rows:
                    raise ValueError(
                        f"The target has {len(outcome):,} values for {n_rows:,} rows; one a row is "
                        "needed."
                    )
        hidden = found(names, sensitive, "sensitive")
        kept = [column for column in columns if column.name not in aside]
        described = [column for column in kept if column.name not in hidden]
        if not described:
            raise ValueError(
                "Nothing is left to describe the group with: every column of the raw table is the "
                "target, dropped or sensitive. Leave at least one."
            )
        return cls(columns=kept, described=described, sensitive=hidden, target=outcome)


def encoded_places(
    X: Any, raw: Raw, target_encoded: Iterable[Any] | None, positive: Any
) -> dict[int, Column]:
    """Places in ``X`` of the target-encoded columns, each with its raw column."""
    features, by_name = names_of(X), {column.name: column for column in raw.columns}
    named = found(features, target_encoded, "target_encoded")
    if not named:
        return {}
    if raw.target is None:
        raise ValueError(
            "target_encoded names columns that hold the target's mean, but no target is given. "
            "Give target, too."
        )
    for name in named:
        if name not in by_name:
            raise ValueError(
                f"target_encoded names {name!r}, which is in X, but the raw table has no such "
                "column to encode anew (or it is dropped). Keep it there."
            )
    levels = levels_of(raw.target, positive)
    if levels is not None and len(levels) > 1:
        raise ValueError(
            f"The target {raw.target.name!r} has {len(levels)} categories; say with positive whose "
            "rate the encoded columns hold."
        )
    return {place: by_name[name] for place, name in enumerate(features) if name in named}
