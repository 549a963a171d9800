"""All rows of a table, encoded chunk by chunk wherever an engine runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from leftout.core.passes import Array, Pass, Places
from leftout.scale.chunks import Chunk, n_rows_of
from leftout.scale.planning import Plan

T = TypeVar("T")


class Fold(Protocol):
    """How functions of chunks are run and merged."""

    def __call__(
        self, function: Callable[[Any], T], items: Sequence[Any], merge: Callable[[T, T], T]
    ) -> T: ...


@dataclass(frozen=True)
class OverChunks:
    """A table that is passed over: see :class:`leftout.core.passes.AllRows`."""

    plan: Plan
    chunks: Sequence[Chunk]
    fold: Fold
    held: list[tuple[Places, Array]] = field(default_factory=list, repr=False)

    def hold(self, places: Places, rows: Array) -> None:
        """Have some rows at hand for whoever takes them first, who does not read them again."""
        self.held.append((places, rows))

    @property
    def n_rows(self) -> int:
        return n_rows_of(self.chunks)

    @property
    def n_features(self) -> int:
        return len(self.plan.encoder.features_)

    def run(self, one: Pass[T]) -> T:
        """A pass over all blocks, merged in their order."""
        return self.fold(partial(_passed, self.plan, one), self.chunks, one.merge)

    def take(self, places: Places) -> Array:
        """Some rows, their places in rising order."""
        if self.held and np.array_equal(self.held[-1][0], places):
            return self.held.pop()[1]
        wanted = [(chunk, inside) for chunk in self.chunks if len(inside := _within(chunk, places))]
        if not wanted:
            return np.empty((0, self.n_features))
        return self.fold(partial(_taken, self.plan), wanted, _stacked)


def _within(chunk: Chunk, places: Places) -> Places:
    first, last = np.searchsorted(places, [chunk.start, chunk.start + chunk.n_rows])
    return places[first:last]


def _passed(plan: Plan, one: Pass[T], chunk: Chunk) -> T:
    """What one chunk gives."""
    whole: T | None = None
    for start, rows in plan.blocks(chunk):
        part = one.over(rows, start)
        whole = part if whole is None else one.merge(whole, part)
    assert whole is not None  # chunks without rows are not listed
    return whole


def _taken(plan: Plan, wanted: tuple[Chunk, Places]) -> Array:
    """Some rows of one chunk."""
    return np.concatenate([rows.copy() for _, rows in plan.blocks(*wanted)])


def _stacked(a: Array, b: Array) -> Array:
    return np.concatenate([a, b])
