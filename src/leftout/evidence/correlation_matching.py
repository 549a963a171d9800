"""What a copula is drawn in, and how a draw comes to the correlations asked for.

Blocks. Columns of two values that exclude each other, such as the levels of a category, have a
correlation that says so: no other table has it. So they are drawn together, a level for each row,
and every table is one of people who are in one level each. (Where a category is unknown, its
columns may all have a value between these two; whose it is, is left over when all levels are
taken.) Any other column is a block of its own.

Redrawing. Each block is ordered like a linear function of all other columns, as they stand, plus
gaussian noise. The coefficients are those of a gaussian table with these correlations at first, and
are corrected by what is missed.

Swapping. A table whose correlations are nearly those asked for is as likely as any other that has
them. Two rows swap their values in a block, if the squares of all misses add up to less then.
Values are kept, and few rows are touched: what is left of the misses is far below the accidents of
a sample.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from leftout.compiling import kernel
from leftout.linalg.distinct import IntArray
from leftout.linalg.losses import Array

# Numbers of so few values need not be sorted: it is enough to know which rows have which.
FEW_VALUES = 8
# Corrections of a block's coefficients in a sweep, and how much of what is missed they make up for.
_CORRECTIONS, _DAMPING = 2, 0.5
# Columns may depend on each other. Smaller eigenvalues of the correlations are taken for these,
# where a column is told from the others, and where its coefficients are corrected.
_SMALLEST, _SMALLEST_CORRECTED = 0.05, 0.2
# Pairs of rows that are tried in a round of swaps, for each row, and at least.
_PAIRS_PER_ROW, _FEWEST_PAIRS = 10, 100_000
# Rounds go on while squares of misses come down to this share, up to a number of rounds, or until
# misses are this small on average, in standard errors of a correlation.
_WORTH_A_ROUND, _SWAP_ROUNDS, _SMALL_MISS = 0.8, 12, 0.02

Single = NDArray[np.float32]
Real = NDArray[np.floating[Any]]


class DummyBlock(NamedTuple):
    """Columns that are drawn together: a number, or the levels of a category."""

    columns: IntArray
    by_level: IntArray  # (m,): the rows of the table, a number's by rising value, or level by level
    sizes: IntArray | None  # how many rows are in each level; None: a number
    steps: IntArray | None  # where the sorted values of a number change, if they are few

    def ordered(self, latent: Real) -> IntArray:
        """Drawn rows in the order of ``by_level``, by a latent value for each column."""
        if self.sizes is None:
            first = latent[0]
            return np.argsort(first) if self.steps is None else np.argpartition(first, self.steps)
        rest = np.arange(latent.shape[1])
        chosen = []
        # each level in turn takes the rows, of those that are left, with the highest latent value
        for values, size in zip(latent, self.sizes.tolist(), strict=True):
            if size < len(rest):
                rest = rest[np.argpartition(values[rest], len(rest) - size)]
            chosen.append(rest[len(rest) - size :])
            rest = rest[: len(rest) - size]
        return np.concatenate([*chosen, rest])


def find_dummy_blocks(X: Array) -> list[DummyBlock]:
    """The table's numbers and categories, in the order of their first columns.

    Examples
    --------
    >>> kind = np.array([0, 2, 1, 0, 2])
    >>> X = np.column_stack([kind == 0, np.arange(5), kind == 1, kind == 2])
    >>> [block.columns.tolist() for block in find_dummy_blocks(X)]
    [[0, 2, 3], [1]]
    """
    columns, low, high = np.arange(X.shape[1]), X.min(axis=0), X.max(axis=0)
    between = (low < X) & (X < high)
    unknown = [np.packbits(rows).tobytes() for rows in between.T]
    alike = [len(np.unique(X[between[:, j], j])) < 2 for j in columns]
    levels = np.flatnonzero((low < high) & alike)
    on = (X[:, levels] == high[levels]).astype(np.float32)
    together = on.T @ on
    categories: list[list[int]] = []
    for place, j in enumerate(levels):
        for each in categories:
            if unknown[levels[each[0]]] == unknown[j] and not together[place, each].any():
                each.append(place)
                break
        else:
            categories.append([place])
    blocks, numbers = [], np.setdiff1d(columns, levels).tolist()
    for each in categories:
        if len(each) == 1 and between[:, levels[each[0]]].any():
            numbers.append(int(levels[each[0]]))  # of three values
            continue
        level = np.where(on[:, each].any(axis=1), on[:, each].argmax(axis=1), len(each))
        sizes = np.bincount(level, minlength=len(each))[: len(each)]
        level += between[:, levels[each[0]]]
        blocks.append(DummyBlock(levels[each], np.argsort(level, kind="stable"), sizes, None))
    for j in numbers:
        order = np.argsort(X[:, j], kind="stable")
        changes = np.flatnonzero(np.diff(X[order, j]))
        few = 0 < len(changes) < FEW_VALUES
        blocks.append(DummyBlock(np.array([j]), order, None, changes if few else None))
    return sorted(blocks, key=lambda block: int(block.columns[0]))


def placed(blocks: list[DummyBlock], values: NDArray[Any], orders: list[IntArray]) -> NDArray[Any]:
    """Columns, as rows: their values, in the order of their blocks, given to rows in ``orders``."""
    result = np.empty_like(values)
    for block, order in zip(blocks, orders, strict=True):
        result[block.columns[:, None], order] = values[block.columns]
    return result


def squared_misses(R: Real, target: Array) -> float:
    """Squares of what correlations miss, added up."""
    misses = R - target
    np.fill_diagonal(misses, 0.0)
    return float(np.sum(misses**2))


@dataclass(frozen=True)
class Redrawing:
    """What columns are ordered by."""

    target: Array  # (n, n): correlations
    coefficients: Single  # (n, n): of all other columns in each
    noise: list[Array]  # of each block: times its transpose, the covariance of its noise
    inverse: Array  # (n, n): of the correlations
    inside: list[Array]  # of each block: the inverse of its own part of that

    @classmethod
    def of(cls, target: Array, blocks: list[DummyBlock]) -> Self:
        precision = _inverse(target, _SMALLEST)
        inverse = _inverse(target, _SMALLEST_CORRECTED)
        coefficients = np.zeros_like(target)
        noise, inside = [], []
        for block in blocks:
            own = block.columns
            within = linalg.inv(precision[np.ix_(own, own)], check_finite=False)
            coefficients[own] = -within @ precision[own]
            coefficients[np.ix_(own, own)] = 0.0
            noise.append(linalg.cholesky(within, lower=True, check_finite=False))
            inside.append(linalg.inv(inverse[np.ix_(own, own)], check_finite=False))
        # single precision is plenty to order rows by, and half as much to read
        return cls(target, coefficients.astype(np.float32), noise, inverse, inside)

    def redrawn(
        self,
        blocks: list[DummyBlock],
        scaled: Array,
        orders: list[IntArray],
        rng: np.random.Generator,
        sweeps: int,
    ) -> tuple[list[IntArray], Self]:
        """The best orders of so many sweeps, and the coefficients that led to them.

        ``scaled`` are standardised columns, as rows, in the order of their blocks.
        """
        single, m = scaled.astype(np.float32), scaled.shape[1]
        X = placed(blocks, single, orders)
        drawn = (root @ rng.standard_normal((len(root), m)) for root in self.noise)
        noise = [each.astype(np.float32) for each in drawn]
        b = self.coefficients.copy()
        now = list(orders)
        best, least, learned = list(now), squared_misses(X @ X.T / m, self.target), b.copy()
        for _ in range(sweeps):
            for place, block in enumerate(blocks):
                own = block.columns
                for turn in range(_CORRECTIONS + 1):
                    now[place] = block.ordered(b[own] @ X + noise[place])
                    X[own[:, None], now[place]] = single[own]
                    if turn < _CORRECTIONS:
                        gap = self.target[own] - X[own] @ X.T / m
                        b[own] += self._correction(gap, own, self.inside[place])
            missed = squared_misses(X @ X.T / m, self.target)
            if missed < least:
                best, least, learned = list(now), missed, b.copy()
        return best, replace(self, coefficients=learned)

    def _correction(self, gap: Array, own: IntArray, inside: Array) -> Single:
        """What a block's coefficients are changed by, for what its columns miss of the others."""
        gap[:, own] = 0.0
        # the inverse without the block's rows and columns, by a Schur complement
        change = gap @ self.inverse
        change -= change[:, own] @ inside @ self.inverse[own]
        change[:, own] = 0.0
        return (_DAMPING * change).astype(np.float32)


def _inverse(R: Array, smallest: float) -> Array:
    values, vectors = linalg.eigh(R, check_finite=False)
    return (vectors / np.maximum(values, smallest)) @ vectors.T


def swap_values(
    X: Single, misses: Array, blocks: list[IntArray], values: Array, rng: np.random.Generator
) -> None:
    """Let pairs of rows swap what they have in a block of columns, in place, where that helps.

    ``X`` are standardised columns, in single precision, since rows are looked up at random;
    ``values`` are swapped as they are. ``misses`` are the correlations asked for less those of
    ``X``, zero on the diagonal, and kept in step.
    """
    m = len(X)
    columns = np.concatenate(blocks).astype(np.intp)
    first = np.cumsum([0, *map(len, blocks)]).astype(np.intp)
    enough = misses.size * _SMALL_MISS**2 / m
    before = float(np.sum(misses**2))
    for _ in range(_SWAP_ROUNDS):
        if before <= enough:
            break
        pairs = _draw_pairs(X, blocks, max(_PAIRS_PER_ROW * m, _FEWEST_PAIRS), rng)
        _swap(X, misses, columns, first, values, pairs)
        after = float(np.sum(misses**2))
        if after > _WORTH_A_ROUND * before:
            break
        before = after


def _draw_pairs(
    X: Single, blocks: list[IntArray], count: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Pairs of rows, for one block after the other.

    The first row of a pair is the likelier the further out it is: what rare values and long tails
    miss is in few rows. Heights are drawn in strata, so that they rise: looking up others takes
    four times as long.
    """
    m, n_blocks = len(X), len(blocks)
    pairs = rng.integers(m, size=(count, 2))
    for block, own in enumerate(blocks):
        chance = np.cumsum(np.abs(X[:, own]).sum(axis=1), dtype=np.float64)
        n_pairs = len(pairs[block::n_blocks])
        height = (np.arange(n_pairs) + rng.random(n_pairs)) * (chance[-1] / n_pairs)
        drawn = np.searchsorted(chance, height, side="right")
        pairs[block::n_blocks, 0] = np.minimum(rng.permutation(drawn), m - 1)
    return pairs


@kernel
def _swap(
    X: Single,
    misses: Array,
    columns: IntArray,
    first: IntArray,
    values: Array,
    pairs: NDArray[np.int64],
) -> None:
    """Swap pair after pair; block ``u`` are the ``columns`` from ``first[u]`` to the next."""
    share, n, n_blocks = 1.0 / len(X), X.shape[1], len(first) - 1
    step = np.empty(n)
    for t in range(len(pairs)):
        block, a, b = t % n_blocks, pairs[t, 0], pairs[t, 1]
        own = columns[first[block] : first[block + 1]]
        gain, differ = 0.0, False
        for j in own:
            h = share * (X[a, j] - X[b, j])
            if h == 0.0:
                continue
            if not differ:
                differ = True
                for k in range(n):
                    step[k] = X[b, k] - X[a, k]
                for k in own:
                    step[k] = 0.0
            for k in range(n):
                change = h * step[k]
                gain += change * (2.0 * misses[j, k] - change)
        if gain <= 0.0:
            continue
        for j in own:
            h = share * (X[a, j] - X[b, j])
            if h == 0.0:
                continue
            for k in range(n):
                change = h * step[k]
                misses[j, k] -= change
                misses[k, j] -= change
            X[a, j], X[b, j] = X[b, j], X[a, j]
            values[a, j], values[b, j] = values[b, j], values[a, j]
