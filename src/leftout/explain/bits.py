"""Sets of rows as bits, 64 to a word: how many rows two sets share is a count of ones."""

import numpy as np
from numpy.typing import NDArray

from leftout.compiling import kernel

Bits = NDArray[np.uint64]  # (n_sets, n_words); bits after the last row are zero

# Words of two sets are compared in stretches that stay in the first cache.
_STRETCH = 256

_ODD, _PAIRS, _NIBBLES = (
    np.uint64(0x5555555555555555),
    np.uint64(0x3333333333333333),
    np.uint64(0x0F0F0F0F0F0F0F0F),
)
_BYTES, _TOP = np.uint64(0x0101010101010101), np.uint64(56)
_ONE, _TWO, _FOUR = np.uint64(1), np.uint64(2), np.uint64(4)
_GOLDEN, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)


def n_words(n_rows: int) -> int:
    return -(-n_rows // 64)


@kernel
def pack(codes: NDArray[np.int32], place: NDArray[np.intp], bits: Bits) -> None:
    """Put every row into the set ``place[code]``; a negative place is nowhere."""
    for row in range(len(codes)):
        target = place[codes[row]]
        if target >= 0:
            bits[target, row >> 6] |= _ONE << np.uint64(row & 63)


def of_mask(mask: NDArray[np.bool_]) -> Bits:
    """One set of rows, shape (1, n_words)."""
    words = np.zeros(8 * n_words(len(mask)), dtype=np.uint8)
    packed = np.packbits(mask, bitorder="little")
    words[: len(packed)] = packed
    return words.view("<u8").astype(np.uint64, copy=False)[None]


@kernel
def _ones(word: np.uint64) -> np.uint64:
    """Ones in a word, by adding neighbours; compilers know the pattern."""
    word = word - ((word >> _ONE) & _ODD)
    word = (word & _PAIRS) + ((word >> _TWO) & _PAIRS)
    word = (word + (word >> _FOUR)) & _NIBBLES
    return (word * _BYTES) >> _TOP


@kernel
def _shared(a: Bits, b: Bits) -> np.int64:
    total = np.int64(0)
    for place in range(len(a)):
        total += np.int64(_ones(a[place] & b[place]))
    return total


@kernel
def meet(A: Bits, B: Bits, upper: bool = False) -> NDArray[np.int64]:
    """How many rows each set of ``A`` shares with each of ``B``: shape (len(A), len(B)).

    With ``upper``, only those above the diagonal; the others stay zero.
    """
    counts = np.zeros((len(A), len(B)), dtype=np.int64)
    for start in range(0, A.shape[1], _STRETCH):
        for i in range(len(A)):
            a = A[i, start : start + _STRETCH]
            for j in range(i + 1 if upper else 0, len(B)):
                counts[i, j] += _shared(a, B[j, start : start + _STRETCH])
    return counts


def meet_each_other(A: Bits) -> NDArray[np.int64]:
    """``meet(A, A)``, of which half is counted: it is symmetric."""
    counts = meet(A, A, True)
    counts += counts.T
    every = np.full((1, A.shape[1]), np.iinfo(np.uint64).max, dtype=np.uint64)
    np.fill_diagonal(counts, meet(A, every)[:, 0])
    return counts


@kernel
def adding(
    bits: Bits,
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    count: NDArray[np.int64],
    new: Bits,
    limit: int,
) -> NDArray[np.bool_]:
    """Which intersections ``first & second``, in turn, add half of their ``count`` rows or more.

    ``new`` are the rows, one set of words, that none chosen before has; those of each that is
    chosen go, and after ``limit`` of them it ends.
    """
    chosen = np.zeros(len(first), dtype=np.bool_)
    left = limit
    for k in range(len(first)):
        if left == 0:
            break
        a, b = bits[first[k]], bits[second[k]]
        fresh = np.int64(0)
        for place in range(len(new)):
            fresh += np.int64(_ones(a[place] & b[place] & new[place]))
        if 2 * fresh >= count[k]:
            chosen[k] = True
            left -= 1
            for place in range(len(new)):
                new[place] &= ~(a[place] & b[place])
    return chosen


def repeats(
    bits: Bits, first: NDArray[np.intp], second: NDArray[np.intp], kin: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Which intersections ``first & second`` were there before.

    ``kin`` are numbers that equal intersections share. Where ``second`` is negative, ``first``
    stands alone.
    """
    second = np.where(second < 0, first, second)
    digest = _digests(bits, first, second)
    order = np.lexsort((digest, kin))  # stable, so that of equals the first leads
    return _follow(bits, first, second, kin, digest, order)


@kernel
def _follow(
    bits: Bits,
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    kin: NDArray[np.intp],
    digest: Bits,
    order: NDArray[np.intp],
) -> NDArray[np.bool_]:
    again = np.zeros(len(first), dtype=np.bool_)
    leader = -1
    for k in order:
        if leader >= 0 and kin[k] == kin[leader] and digest[k] == digest[leader]:
            # a digest may lie, words do not
            rows = bits[first[k]] & bits[second[k]]
            again[k] = np.array_equal(rows, bits[first[leader]] & bits[second[leader]])
        if not again[k]:
            leader = k
    return again


@kernel
def _digests(bits: Bits, first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.uint64]:
    result = np.zeros(len(first), dtype=np.uint64)
    for k in range(len(first)):
        a, b = bits[first[k]], bits[second[k]]
        weight = _GOLDEN
        for place in range(len(a)):
            word = (a[place] & b[place]) * _MIX + weight
            result[k] += (word ^ (word >> _HALF)) * weight
            weight += _GOLDEN + _TWO
    return result
