"""Which known attribute does the left-out group look like?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats
from scipy.stats.contingency import expected_freq

from leftout.checks import check_left_out
from leftout.data.binning import bin_column
from leftout.data.columns import Column, columns_of, found
from leftout.data.conditions import Mask
from leftout.files import Serializable
from leftout.linalg.significance import (
    LEVEL,
    describe_p,
    describe_small,
    matters,
    of_shares,
    over_spread,
)
from leftout.text import as_name, date, leading, listed, number, percent

# Cells with a smaller expected count are too few for the chi-square distribution.
_FEW = 5.0
# Intervals that numbers are cut into for their strength.
_BINS = 10


@dataclass(frozen=True, kw_only=True)
class Alignment(Serializable):
    """How far one column agrees with the left-out group.

    A column's known values have one line, and whether it has a value at all has another, so that
    missing cells never make a difference under another name.

    Attributes
    ----------
    column : str
    kind : {"category", "number", "missing"}
        ``"missing"``: whether a column has a value at all.
    strength : float
        From 0 to 1, on one scale for all kinds: Cramer's V of the group and the column, numbers cut
        into at most ten intervals, less what chance gives. Lines are sorted by it.
    contrast : str or None
        Of categories: the value whose share is higher by most in the left-out group; where that is
        not enough for a claim, the one that is furthest apart.
    left_out_share, rest_share : float or None
        That value's shares of the rows with a value.
    means, spreads : pair of float or None
        Of numbers: the means of the left-out group and of the rest, and their standard deviations.
    dates : bool
        Whether the numbers are dates, in microseconds since 1970.
    cramers_v : float or None
        Of categories and of missing values.
    difference : float or None
        Of numbers: difference of the means, left-out group minus rest, over the root of the mean
        of their variances.
    ks : float or None
        Of numbers: Kolmogorov-Smirnov statistic, the largest gap between the two distributions.
    p_value, corrected : float
        Of the chi-square (Fisher's, where rows are few) or Kolmogorov-Smirnov test, alone and
        corrected (Holm) for the number of columns of its kind, searched or not. Kolmogorov-Smirnov
        is conservative where a column takes few values, or rows are few.
    searched : bool
        Whether the search saw the column. If so, the group was chosen to differ in it, and its
        p-value is not a test; the p-values of columns kept out of the search are.
    cells : tuple of tuple of int
        The counts that the shares tell, of the left-out group and of the rest.
    """

    also = ("text", "shown", "matters")
    hidden = ("cells",)

    column: str
    kind: str
    strength: float
    p_value: float
    corrected: float = 1.0
    searched: bool = True
    cramers_v: float | None = None
    difference: float | None = None
    ks: float | None = None
    contrast: str | None = None
    left_out_share: float | None = None
    rest_share: float | None = None
    means: tuple[float, float] | None = None
    spreads: tuple[float, float] | None = None
    dates: bool = False
    cells: tuple[tuple[int, ...], ...] = ()

    @property
    def text(self) -> str:
        name = as_name(self.column)
        return f"{name} is missing" if self.kind == "missing" else name

    def sides(self) -> tuple[str, str]:
        """The means of the left-out group and of the rest, as text; empty where there are none."""
        if self.means is None:
            return "", ""
        (a, b), spreads = self.means, self.spreads or (0.0, 0.0)
        if self.dates:
            return date(a, max(spreads)), date(b, max(spreads))
        return number(a, spreads[0]), number(b, spreads[1])

    @property
    def shown(self) -> dict[str, str]:
        """The same, by the side."""
        return dict(zip(("left_out", "rest"), self.sides(), strict=True))

    @property
    def standardised(self) -> float:
        """The standardised difference: of the means, or of the shares of a value."""
        if self.kind == "number":
            return self.difference or 0.0
        return of_shares(self.left_out_share or 0.0, self.rest_share or 0.0)

    @property
    def matters(self) -> bool:
        """Whether the difference is large enough for a claim.

        Numbers that are alike on average may be spread otherwise: the largest gap between their
        distributions is a difference of shares.
        """
        points = (self.left_out_share or 0.0) - (self.rest_share or 0.0)
        return matters(self.standardised, self.ks if self.kind == "number" else points)

    def __str__(self) -> str:
        if self.kind == "number":
            return f"{self.text} {self._about_numbers()}"
        a, b = self.left_out_share or 0.0, self.rest_share or 0.0
        digits = 0 if matters(None, a - b) else 1  # so that few points show
        shares = [percent(share, digits) for share in (a, b)]
        if self.kind == "category":
            return f"{self.text} = {self.contrast}: {' against '.join(shares)}"
        return f"{self.text}: {shares[0]} of the group, {shares[1]} of the rest"

    def _about_numbers(self) -> str:
        if self.matters and not matters(self.difference):
            apart = f"up to {100 * (self.ks or 0.0):.0f} points apart"
            return f"nearly the same on average, but distributed otherwise, {apart}"
        size = abs(self.standardised)
        by = f", by {size:.2f} standard deviations" if np.isfinite(size) else ""
        more, less = ("later", "earlier") if self.dates else ("higher", "lower")
        return f"{more if self.standardised > 0 else less} on average{by}"

    @property
    def tested(self) -> str:
        """The same, with what tells whether it is more than accident."""
        return f"{self} (strength {self.strength:.2f}, {describe_p(self.corrected)} corrected)"


def claims(lines: list[Alignment]) -> list[Alignment]:
    """The lines whose difference is clear, and large enough for a claim."""
    return [line for line in lines if line.corrected <= LEVEL and line.matters]


def describe_claims(lines: list[Alignment], untold: Sequence[Alignment] = ()) -> str:
    """What columns differ in; or, where they hardly do, that. Of some only that they do is said."""
    alike = [line.text for line in claims(list(untold))]
    more = [f"It differs in {listed(alike)}, too few rows to tell how."] if alike else []
    if claims(lines):
        more.insert(0, f"{leading([line.tested for line in claims(lines)], '; ')}.")
    if more:
        return " ".join(more)
    if not lines:
        return "No clear difference; too few rows to tell more."
    clear = [line for line in lines if line.corrected <= LEVEL]
    if clear:
        return describe_small(max(clear, key=lambda line: abs(line.standardised)).tested)
    named = leading([line.tested for line in lines], "; ")
    return f"At p <= {LEVEL}, corrected: none. {named}."


def align(table: Any, labels: ArrayLike, sensitive: Iterable[Any] = ()) -> list[Alignment]:
    """Compare the group with every raw column that varies, those most alike first.

    ``sensitive`` names columns that were kept out of the search.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> table = rng.integers(0, 2, (200, 3)).astype(str)
    >>> first = align(table, table[:, 1] == "1")[0]
    >>> first.column, round(first.strength, 6), first.cramers_v
    ('x1', 1.0, 1.0)
    """
    columns = columns_of(table)
    group = check_left_out(labels, len(columns[0]))
    hidden = found([column.name for column in columns], sensitive, "sensitive")
    every = [line for column in columns for line in _lines(column, group)]
    lines = [replace(line, searched=line.column not in hidden) for line in every]
    done = []
    for searched in (False, True):  # tests are corrected among tests alone
        alike = [line for line in lines if line.searched == searched]
        corrected = holm(np.array([line.p_value for line in alike])).tolist()
        done += [replace(line, corrected=p) for line, p in zip(alike, corrected, strict=True)]
    return sorted(done, key=lambda line: -line.strength)


def _lines(column: Column, group: Mask) -> list[Alignment]:
    """A column's lines, not yet corrected; none where it never changes."""
    missing, name = column.missing, column.name
    if column.categories is None:
        lines = _number(column, group)
    else:
        values = [column.show(code) for code in range(len(column.categories))]
        counts = _counts(column.values[~missing], group[~missing], len(values))
        lines = of_counts(name, "category", counts, values)
    if not missing.any():
        return lines
    counts = _counts(missing.astype(np.intp), group, 2)
    return lines + of_counts(name, "missing", counts, ["known", "missing"])


def of_counts(name: str, kind: str, counts: NDArray[np.int64], names: list[str]) -> list[Alignment]:
    """The line of a category, from how often the rest and the group have each value; or none."""
    if not counts.any(axis=1).all():
        return []
    shares = counts / counts.sum(axis=1, keepdims=True)
    most = _contrast(shares) if kind == "category" else 1
    cells = [(side[most], sum(side) - side[most]) for side in counts[::-1].tolist()]
    counts = counts[:, counts.any(axis=0)]
    if counts.shape[1] < 2:
        return []
    phi2 = _phi2(counts)
    return [
        Alignment(
            column=name,
            kind=kind,
            strength=_strength(phi2, counts.shape[1], int(counts.sum())),
            p_value=independence_p(counts),
            cramers_v=float(np.sqrt(phi2)),
            contrast=names[most],
            left_out_share=float(shares[1, most]),
            rest_share=float(shares[0, most]),
            cells=tuple(cells),
        )
    ]


def _contrast(shares: NDArray[np.float64]) -> int:
    """The value to name: the one that the group has more often by most, if that is much.

    Else the group may have something less often, or a rare value many times as often.
    """
    gaps = shares[1] - shares[0]
    most = int(np.argmax(gaps))
    if matters(of_shares(*shares[::-1, most]), gaps[most]):
        return most
    apart = [abs(of_shares(a, b)) for b, a in shares.T]
    for far in (int(np.argmax(np.abs(gaps))), int(np.argmax(apart))):
        if matters(apart[far], gaps[far]):
            return far
    return most


def _counts(codes: NDArray[Any], group: Mask, n: int) -> NDArray[np.int64]:
    """Rows of the rest and of the group, by code: shape (2, n)."""
    return np.stack([np.bincount(codes[side], minlength=n) for side in (~group, group)])


def _phi2(counts: NDArray[Any]) -> float:
    """Chi-square over the number of rows."""
    return float(stats.chi2_contingency(counts, correction=False).statistic / counts.sum())


def _number(column: Column, group: Mask) -> list[Alignment]:
    known = ~column.missing & np.isfinite(column.values)
    a, b = (column.values[known & side] for side in (group, ~group))
    if not (len(a) and len(b)) or min(a.min(), b.min()) == max(a.max(), b.max()):
        return []
    ks, p_value = map(float, stats.ks_2samp(a, b, method="asymp"))
    means = float(a.mean()), float(b.mean())
    bins = bin_column(column, _BINS)
    # infinite values are in bins of their own, or not
    counts = _counts(bins.codes[known], group[known], bins.n_known)
    counts = counts[:, counts.any(axis=0)]
    return [
        Alignment(
            column=column.name,
            kind="number",
            strength=_strength(_phi2(counts), counts.shape[1], len(a) + len(b)),
            p_value=p_value,
            difference=over_spread(means[0] - means[1], a.var(), b.var()),
            ks=ks,
            means=means,
            spreads=(float(a.std()), float(b.std())),
            dates=column.dates,
        )
    ]


def _strength(phi2: float, k: int, m: int) -> float:
    """Cramer's V of a group and k categories, less what independence would give (Bergsma 2013).

    Without the correction, a column whose every value is unique agrees with any group.
    """
    free = max(0.0, phi2 - (k - 1) / (m - 1))
    levels = min(k - (k - 1) ** 2 / (m - 1), 2 - 1 / (m - 1)) - 1
    return float(np.sqrt(min(1.0, free / levels))) if levels > 0.0 else 0.0


def independence_p(counts: NDArray[Any]) -> float:
    """Of the independence of two rows of counts.

    Chi-square, rare categories together; Fisher's test where two categories are left and one is
    rare. Of more categories that are all rare, nothing can be said.
    """
    rare = expected_freq(counts).min(axis=0) < _FEW
    if counts.shape[1] > 2 and rare.any():
        counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    if counts.shape[1] == 1:
        return 1.0
    if counts.shape[1] == 2 and expected_freq(counts).min() < _FEW:
        return float(stats.fisher_exact(counts)[1])
    return float(special.chdtrc(counts.shape[1] - 1, _phi2(counts) * counts.sum()))


def holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Holm's correction: the chance of even one false claim, however columns depend."""
    order = np.argsort(p_values)
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return corrected
