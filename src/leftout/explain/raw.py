"""The raw table beside the matrix that was searched: which column plays which part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from leftout.checks import Refusal
from leftout.tables.columns import Column, columns_of, found, names_of
from leftout.tables.frames import column_names
from leftout.tables.matrix import check_rows
from leftout.tables.roles import assign
from leftout.tables.targets import levels_of


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
            raise Refusal(
                f"sensitive names {name!r}, which is a feature of X: the search saw it. Search "
                "again without it, or do not call it sensitive."
            )
        names = [column.name for column in columns]
        seen = [name for name in names if name not in hidden | aside]
        sources = sources_of(features, seen) if sources is None else list(sources)
        if len(sources) != len(features):
            raise Refusal(
                f"sources names {len(sources)} columns for {len(features)} features of X; one for "
                "each is needed."
            )
        if column_names(X) and set(sources) & set(seen):
            hidden |= set(seen) - set(sources)  # no feature was made from these
        kept = [column for column in columns if column.name not in aside]
        described = [column for column in kept if column.name not in hidden]
        if not described:
            raise Refusal(
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
        raise Refusal(
            "target_encoded names columns that hold the target's mean, but no target is given. "
            "Give target, too."
        )
    for name in named:
        if name not in by_name:
            raise Refusal(
                f"target_encoded names {name!r}, which is in X, but the raw table has no such "
                "column to encode anew (or it is dropped). Keep it there."
            )
    levels = levels_of(raw.target, positive)
    if levels is not None and len(levels) > 1:
        raise Refusal(
            f"The target {raw.target.name!r} has {len(levels)} categories; say with positive whose "
            "rate the encoded columns hold."
        )
    return {place: by_name[name] for place, name in enumerate(features) if name in named}
