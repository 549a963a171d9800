"""Whether whole numbers are codes: by their name, their shape, and what other columns say.

A code (of a county, an occupation, a course) stands in no order, so that its neighbours have
nothing in common. That is measured: the means of other columns, taken along the sorted values, rise
and fall smoothly for a quantity and jump for a code.
"""

from __future__ import annotations

import fnmatch
import re
import tomllib
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.data.columns import Column, Floats
from leftout.data.frames import value_counts
from leftout.data.profiling.sentinels import ordinary
from leftout.text import listed

# Points from which a code is suspected, under a name that says so and any other.
SUSPECTED, UNNAMED = 3, 4
# Points of what other columns say; a name's are below, each oddity of shape has one.
ROUGH, SMOOTH = 2, -1
# Of the jumps between neighbours that values in no order would show: many, and hardly any.
ROUGHNESS, SMOOTHNESS = 0.6, 0.3
# Values of a code that is read as a category without being told so: each costs a feature.
FEW = 12
# Values are told apart by rows of their own, signals from noise by standard errors.
_ROWS, _SIGNAL = 5, 4.0
# Rows and other columns that are looked at.
_SAMPLE, _OTHERS = 5_000, 50
# Of the places between the lowest and the highest value, codes leave more than this empty.
_FILLED = 0.6
# Of the rows, so many must be at values that occur often, for those to be all that is looked at.
_MOST = 0.8


# Points for whole numbers being a code: of names that say so, that may, that say the contrary.
NAMED, MAYBE_NAMED, EITHER, QUANTITY = 3, 2, 1, -3
_POINTS = {"codes": NAMED, "maybe_codes": MAYBE_NAMED, "numbered": MAYBE_NAMED, "either": EITHER}

# Words in names of columns, by what they say.
WORDS = {
    what: tuple(words.split())
    for what, words in tomllib.loads(
        files("leftout.data.profiling").joinpath("words.toml").read_text(encoding="utf-8")
    ).items()
}
_PATTERNS = {
    what: re.compile("|".join(map(fnmatch.translate, words))) for what, words in WORDS.items()
}


class StandardScores(NamedTuple):
    """Some of a table's columns as standard scores, gaps 0, on some of its rows."""

    rows: NDArray[np.intp]
    names: NDArray[np.object_]
    scores: Floats

    @classmethod
    def of(cls, columns: Sequence[Column]) -> StandardScores:
        rows = _evenly(len(columns[0]) if columns else 0, _SAMPLE)
        some = [columns[place] for place in _evenly(len(columns), _OTHERS)]
        made = {column.name: _standardized(column.take(rows)) for column in some}
        scores = {name: values for name, values in made.items() if values is not None}
        stacked = np.column_stack([np.empty((len(rows), 0)), *scores.values()])
        return cls(rows, np.array(list(scores), dtype=object), np.ascontiguousarray(stacked))


def _evenly(n_all: int, most: int) -> NDArray[np.intp]:
    """All places, or as many of them as are looked at, evenly spread."""
    return np.unique(np.linspace(0, n_all - 1, min(n_all, most)).astype(np.intp))


def _standardized(column: Column) -> Floats | None:
    """Numbers, or where the most frequent category is, as standard scores; None if constant."""
    values = column.numbers
    if values is None:
        common = np.append(column.category_counts, 0).argmax()
        values = np.where(column.values < 0, np.nan, column.values == common)
    known = np.isfinite(values)
    largest = np.abs(values[known]).max(initial=0.0)
    if not largest > 0.0:
        return None
    values = np.where(known, values / largest, 0.0)  # squares of huge ones overflow
    mean, spread = values[known].mean(), values[known].std()
    return np.where(known, (values - mean) / spread, 0.0) if spread > 1e-9 else None


def code_evidence(column: Column, scores: StandardScores) -> tuple[list[str], bool]:
    """What speaks for whole numbers being a code, empty if that is not enough; and if strongly."""
    (distinct, counts), n_values = column.present, column.n_values
    if not 3 <= n_values <= (len(column) - column.n_missing) / 2:
        return [], False
    name = name_says(column.name)
    usual = ordinary(column)
    reasons = _shape(distinct, counts, usual) if usual.sum() > 2 else []
    points, needed = name + len(reasons), SUSPECTED if name > 0 else UNNAMED
    if points + ROUGH < needed:  # the slowest to find out cannot change the answer
        return [], False
    values = column.values[scores.rows]
    places = np.where(np.isin(values, distinct[~usual]), -1, value_counts(values)[2])
    ratio = von_neumann_ratio(places, scores.scores[:, scores.names != column.name])
    rough = ratio >= ROUGHNESS
    if points + ROUGH * rough + SMOOTH * (ratio < SMOOTHNESS) < needed:
        return [], False
    strong = bool(name >= MAYBE_NAMED and reasons and rough) and n_values <= FEW
    reasons += ["a name that codes have"] * (name > 0)
    reasons += ["other columns jump between neighbours"] * rough
    return reasons, strong


def _shape(distinct: Floats, counts: NDArray[np.int64], usual: NDArray[np.bool_]) -> list[str]:
    """What the values themselves have of codes, in a few words each."""
    found: list[str] = []
    rest = distinct[usual]
    often = usual & (counts >= _ROWS)  # counts of things have gaps where they are rare
    mostly = counts[often].sum() >= _MOST * counts.sum()
    if _has_gaps(distinct[often] if mostly else rest):
        found.append("gaps between them")
    low, high = int(rest[0]), int(rest[-1])
    years = 1800 <= low and high <= 2200
    if len(rest) > 4 and low >= 100 and len(str(low)) == len(str(high)) and not years:
        found.append(f"all of {len(str(low))} digits")
    marks = distinct[~usual]
    if len(marks) and (np.abs(marks) < 100).all():
        found.append(f"{listed([str(int(mark)) for mark in marks])} after a gap")
    return found


def _has_gaps(values: Floats) -> bool:
    if len(values) < 4:
        return False
    step = float(np.gcd.reduce(np.diff(values).astype(np.int64)))
    return bool(len(values) < _FILLED * ((values[-1] - values[0]) / step + 1.0))


def von_neumann_ratio(places: NDArray[np.int32], scores: Floats) -> float:
    """How much means of other columns jump along sorted values: 0 in order, about 1 in none.

    It is the ratio of von Neumann, of squared steps between neighbours to the variance, both less
    what the sampling of rows adds, over all columns that differ between the values at all; scaled
    such that a straight line is 0 however few values there are. NaN if there is nothing to measure.

    ``places`` are the rows' among the sorted values, -1 for none; values of few rows do not count.
    ``scores`` are the other columns, one after the other, each with mean 0 and variance 1.

    >>> places = np.repeat(np.arange(6), 50)
    >>> noise = np.random.default_rng(0).normal(size=300)
    >>> ordered, jumping = places + noise, np.array([4, 0, 3, 5, 1, 2])[places] + noise
    >>> [round(von_neumann_ratio(places, y[:, None] / y.std()), 1) for y in (ordered, jumping)]
    [-0.0, 1.3]
    """
    tally = np.bincount(places + 1)[1:]
    often = tally >= _ROWS
    n_values = int(often.sum())
    if n_values < 3 or not scores.shape[1]:
        return np.nan
    rows = np.flatnonzero(np.append(often, False)[places])
    rows = rows[np.argsort(places[rows], kind="stable")]
    sizes = tally[often].astype(np.float64)[:, None]
    starts = np.concatenate([[0], np.cumsum(tally[often])[:-1]])
    taken = scores[rows]
    means = np.add.reduceat(taken, starts, axis=0) / sizes
    squares = np.einsum("ij,ij->j", taken, taken) - (sizes * means**2).sum(axis=0)
    within = np.maximum(squares, 0.0) / max(len(rows) - n_values, 1)
    noise = within / sizes
    jumps = (np.diff(means, axis=0) ** 2 - noise[1:] - noise[:-1]).mean(axis=0) / 2.0
    between = means.var(axis=0, ddof=1) - noise.mean(axis=0)
    error = noise.mean(axis=0) * np.sqrt(2.0 / (n_values - 1))
    told = (between > 1e-9) & (between >= _SIGNAL * error)
    if not told.any():
        return np.nan
    ratio = float(jumps[told].sum() / between[told].sum())
    line = 6.0 / (n_values * (n_values + 1))
    return round((ratio - line) / (1.0 - line), 6)  # sums differ in the last digits by row order


@lru_cache(maxsize=8192)
def name_says(name: str) -> int:
    """Points for a column's name being one that codes have; below 0 for one of quantities.

    >>> [name_says(name) for name in ("Mother's occupation", "group", "Alter in Jahren", "x1")]
    [3, 2, -3, 0]
    """
    words = words_of(name)
    if any(map(_is_quantity, words)):
        return QUANTITY
    for what, points in _POINTS.items():
        if any(says(what, word) for word in words):  # in the singular: a number of cities is none
            return points
    return 0


def words_of(name: str) -> list[str]:
    """The words of a column's name, without capitals and accents."""
    plain = unicodedata.normalize("NFKD", name.replace("\u00df", "ss"))
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    apart = re.sub(r"([a-z])([A-Z])|([A-Z])(?=[A-Z][a-z])", r"\1\3 \2", plain)
    return re.findall(r"[a-z]+", apart.lower())


def says(what: str, word: str) -> bool:
    """Whether a word is among those of ``words.toml`` that say something."""
    return _PATTERNS[what].match(word) is not None


def _is_quantity(word: str) -> bool:
    counted = says("quantities", word) or says("quantities", word.removesuffix("s"))
    return (counted or says("quantity_ends", word)) and not says("codes", word)
