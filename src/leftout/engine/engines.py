"""Who runs over the chunks of a table, and in which order results are merged.

All work on all rows is a function of one chunk and a way to merge two results. Sums of floating
numbers depend on their order, so every engine merges in the order of the chunks by one fixed tree:
neighbours in pairs, then pairs of neighbours, whoever finishes first. A run of ``2^k`` chunks that
starts at a multiple of ``2^k`` is a branch of that tree, so it may be folded wherever it is read,
and nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from leftout.running import one_thread

T = TypeVar("T")
Item = TypeVar("Item")
# Called with how many chunks are done, and how many there are.
Tell = Callable[[int, int], None]


def silent(done: int, total: int) -> None:
    """Tell nobody."""


class Fold(Protocol):
    """How functions of chunks are run and merged."""

    def __call__(
        self, function: Callable[[Any], T], items: Sequence[Any], merge: Callable[[T, T], T]
    ) -> T: ...


class Tree(Generic[T]):
    """Results of ``total`` places, merged by the fixed tree as they come in any order.

    Examples
    --------
    >>> tree = Tree("({}{})".format, 5)
    >>> for place in (3, 0, 4, 2, 1):
    ...     tree.put(place, str(place))
    >>> tree.root
    '(((01)(23))4)'
    """

    def __init__(self, merge: Callable[[T, T], T], total: int) -> None:
        self.merge = merge
        self.widths = [total]  # nodes of each level, from the leaves up
        while self.widths[-1] > 1:
            self.widths.append((self.widths[-1] + 1) // 2)
        self.waiting: dict[tuple[int, int], T] = {}

    def put(self, place: int, result: T) -> None:
        """Take the result of a place; it goes up as far as its neighbours are there."""
        for level, width in enumerate(self.widths[:-1]):
            other = place ^ 1
            if other < width:
                if (level, other) not in self.waiting:
                    self.waiting[level, place] = result
                    return
                neighbour = self.waiting.pop((level, other))
                left, right = (result, neighbour) if place < other else (neighbour, result)
                result = self.merge(left, right)
            place //= 2
        self.waiting[len(self.widths) - 1, 0] = result

    @property
    def root(self) -> T:
        """All of them merged."""
        return self.waiting[len(self.widths) - 1, 0]


def folded(function: Callable[[Item], T], merge: Callable[[T, T], T], items: Sequence[Item]) -> T:
    """Fold a branch of the tree, one item at a time."""
    tree = Tree(merge, len(items))
    for place, item in enumerate(items):
        tree.put(place, function(item))
    return tree.root


def _single(function: Callable[[Item], T], items: Sequence[Item]) -> T:
    return function(items[0])


class Engine:
    """Runs a function over chunks, here or elsewhere; whoever has ``results`` is one."""

    name: str
    closed = False

    def results(
        self, task: Callable[[Sequence[Item]], T], runs: Sequence[Sequence[Item]], tell: Tell
    ) -> Iterator[tuple[int, T]]:
        """Results of a task on each run of items with their places, in any order."""
        raise NotImplementedError

    def most(self, items: Sequence[Any]) -> int:
        """Results that may come back to be merged here."""
        return len(items)

    def close(self) -> None:
        """Let go of what it has started."""

    def fold(
        self,
        function: Callable[[Item], T],
        items: Sequence[Item],
        merge: Callable[[T, T], T],
        tell: Tell = silent,
    ) -> T:
        """All results merged, in order, by the fixed tree."""
        branches = runs(items, self.most(items))
        tree = Tree(merge, len(branches))
        with one_thread():
            for place, result in self.results(partial(folded, function, merge), branches, tell):
                tree.put(place, result)
        return tree.root

    def stream(
        self, function: Callable[[Item], T], items: Sequence[Item], tell: Tell = silent
    ) -> Iterator[T]:
        """Each result, in order; only a few are kept at a time."""
        early: dict[int, T] = {}
        following, each = 0, runs(items, len(items))
        for place, result in self.results(partial(_single, function), each, tell):
            early[place] = result
            while following in early:
                yield early.pop(following)
                following += 1


class Local(Engine):
    """One chunk at a time, in this process.

    Examples
    --------
    >>> Local().fold(str, range(4), "({}{})".format)
    '((01)(23))'
    """

    name = "local"

    def results(
        self, task: Callable[[Sequence[Item]], T], runs: Sequence[Sequence[Item]], tell: Tell
    ) -> Iterator[tuple[int, T]]:
        """Each result with its place, in order."""
        for place, run in enumerate(runs):
            with one_thread():
                result = task(run)
            yield place, result
            tell(place + 1, len(runs))


def runs(items: Sequence[Item], most: int) -> list[Sequence[Item]]:
    """Items in runs of ``2^k`` neighbours, the shortest that make at most so many runs.

    Examples
    --------
    >>> [list(each) for each in runs(range(7), 4)]
    [[0, 1], [2, 3], [4, 5], [6]]
    """
    width = 1
    while width * most < len(items):
        width *= 2
    return [items[start : start + width] for start in range(0, len(items), width)]
