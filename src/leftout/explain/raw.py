"""The raw table beside the matrix that was searched: which column plays which part."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from leftout.columns import Column, column_of, columns_of, find, names_of
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
        categorical: Collection[Any],
        drop: Collection[Any],
        sensitive: Collection[Any],
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
        aside = {find(names, name, "drop") for name in drop}
        if target is not None:
            if np.ndim(target) == 0:
                outcome = by_name[find(names, target, "target")]
                aside.add(outcome.name)
            else:
                outcome = column_of(target)
                if len(outcome) != n_rows:
                    raise ValueError(
                        f"The target has {len(outcome):,} values for {n_rows:,} rows; one a row is "
                        "needed."
                    )
        hidden = {find(names, name, "sensitive") for name in sensitive}
        kept = [column for column in columns if column.name not in aside]
        described = [column for column in kept if column.name not in hidden]
        if not described:
            raise ValueError(
                "Nothing is left to describe the group with: every column of the raw table is the "
                "target, dropped or sensitive. Leave at least one."
            )
        return cls(columns=kept, described=described, sensitive=hidden, target=outcome)


def encoded_places(
    X: Any, raw: Raw, target_encoded: Collection[Any], positive: Any
) -> dict[int, Column]:
    """Places in ``X`` of the target-encoded columns, each with its raw column."""
    if not len(target_encoded):
        return {}
    if raw.target is None:
        raise ValueError(
            "target_encoded names columns that hold the target's mean, but no target is given. "
            "Give target, too."
        )
    levels = levels_of(raw.target, positive)
    if levels is not None and len(levels) > 1:
        raise ValueError(
            f"The target {raw.target.name!r} has {len(levels)} categories; say with positive whose "
            "rate the encoded columns hold."
        )
    features = names_of(X)
    by_name = {column.name: column for column in raw.columns}
    return {
        features.index(str(find(features, name, "target_encoded"))): by_name[
            find(list(by_name), name, "target_encoded")
        ]
        for name in target_encoded
    }
