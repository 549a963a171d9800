"""The outcome: how a target that the search never saw differs between the group and the rest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from leftout.data.columns import Column
from leftout.data.conditions import Mask
from leftout.data.roles import value_of
from leftout.files import Serializable
from leftout.linalg.significance import (
    CONFIDENCE,
    Estimate,
    Interval,
    exceeds,
    matters,
    of_shares,
    over_spread,
)
from leftout.text import as_name, number, unambiguous


@dataclass(frozen=True, kw_only=True)
class Outcome(Serializable):
    """A target's rate, or mean, in the left-out group and in the rest; or how often it is missing.

    Attributes
    ----------
    target : str
    kind : {"rate", "mean", "missing"}
    positive : str or None
        The value whose rate it is.
    left_out, rest, gap : Interval
        ``gap`` is the group's minus the rest's.
    difference : float or None
        The same difference, standardised: over the root of the mean of the sides' variances.
    missing : int or str
        Rows without a value (or with an infinite one, which has no mean), not counted; in words
        where few would be told of.
    cells : tuple
        Of shares, the counts that they tell, of the left-out group and of the rest.
    """

    also = ("shown",)
    hidden = ("cells",)

    target: str
    kind: str
    positive: str | None
    left_out: Interval
    rest: Interval
    gap: Interval
    missing: int | str
    difference: float | None = None
    cells: tuple[tuple[int, ...], ...] = ()

    @property
    def text(self) -> str:
        """What it is a rate or a mean of."""
        name = as_name(self.target)
        if self.kind == "missing":
            return f"{name} is missing"
        return name if self.kind == "mean" else f"{name} = {unambiguous(self.positive)}"

    @property
    def words(self) -> str:
        """The figures of the group and of the rest, in a sentence without its full stop."""
        group, rest = self.sides()
        if self.kind == "mean":
            return f"The mean of the target {self.text} is {group} for them and {rest} for the rest"
        what = self.text.replace(" = ", " is ", 1)
        return f"The target {what} for {group} of them and for {rest} of the rest"

    @property
    def differs(self) -> int:
        """The sign of a difference that is clear, and large enough for a claim; else 0."""
        points = None if self.kind == "mean" else self.gap.value
        return self.gap.clear if matters(self.difference, points) else 0

    @property
    def notable(self) -> bool:
        """Of missing values: whether one side lacks them far more often, clearly or not."""
        return self.kind == "missing" and exceeds(self.gap.value)

    def sides(self) -> tuple[str, str]:
        """The figures of the left-out group and of the rest, as text."""
        unit = "" if self.kind == "mean" else "%"
        return self._figure(self.left_out.value, unit), self._figure(self.rest.value, unit)

    @property
    def shown(self) -> dict[str, str]:
        """The figures of both sides and their difference, with intervals, as text."""
        rate = self.kind != "mean"
        return {
            "left_out": self._with_interval(self.left_out, "%" if rate else "", ""),
            "rest": self._with_interval(self.rest, "%" if rate else "", ""),
            "gap": self._with_interval(self.gap, " points" if rate else "", "+"),
        }

    def _figure(self, value: float, unit: str, sign: str = "") -> str:
        if unit and not np.isnan(value):
            return f"{100 * value:{sign}.1f}{unit}"
        # as fine as the difference, or as what is known of it
        ends = np.abs([self.gap.value, self.gap.high - self.gap.value])
        text = number(value, float(np.nanmax(ends)) if not np.isnan(ends).all() else None)
        return f"{sign}{text}" if value > 0.0 and text != "0" else text

    def _with_interval(self, each: Interval, unit: str, sign: str) -> str:
        text = self._figure(each.value, unit, sign)
        if np.isnan(each.value):
            return text
        if not np.isfinite(each.low):
            return f"{text} (too few rows for an interval)"
        low, high = (self._figure(end, unit, sign).removesuffix(unit) for end in each[1:])
        return f"{text} (95% interval {low} to {high})"

    def __str__(self) -> str:
        a, b = self.sides()
        sides = f"{a} of the group, {b} of the rest"
        if self.kind == "mean":
            sides = f"{a} on average in the group, {b} in the rest"
        if np.isnan(self.gap.value):
            return f"{self.text}: {sides}"
        return f"{self.text}: {sides}: {self.shown['gap']}"


def outcomes(target: Column, group: Mask, levels: Sequence[Any] | None) -> list[Outcome]:
    """The target in a group and in the rest, by the rates of some of its values; None: its mean.

    Rates have Wilson's intervals and Newcombe's for their difference; means have Student's and
    Welch's.

    Examples
    --------
    >>> from leftout.data.columns import column_of
    >>> approved = column_of([1, 1, 1, 1, 0, 1, 0, 0], "y")
    >>> found, = outcomes(approved, np.arange(8) >= 4, [1])
    >>> print(found)
    y = 1: 25.0% of the group, 100.0% of the rest: -75.0 points (95% interval -95.4 to -8.5)
    """
    if levels is None:
        return [_means(target, group)]
    known = _known(target, False)
    return [
        _shares("rate", target, target.values == level, group, known, value_of(target, level))
        for level in levels
    ]


def without_outcome(target: Column, group: Mask, levels: Sequence[Any] | None) -> Outcome | None:
    """How often either side has no outcome; None where every row has one."""
    known = _known(target, levels is None)
    if known.all():
        return None
    return _shares("missing", target, ~known, group, np.ones_like(known))


def _known(target: Column, numbers: bool) -> Mask:
    """Rows with a value: of numbers that are averaged, a finite one."""
    return np.isfinite(target.values) if numbers else ~target.missing


def _shares(
    kind: str, target: Column, hit: Mask, group: Mask, among: Mask, positive: str | None = None
) -> Outcome:
    """The shares of some rows on either side that are hit, and their difference."""
    sides = (among & group, among & ~group)
    hits, known = ([int(np.sum(rows & side)) for side in sides] for rows in (hit, among))
    a, b = map(_share, hits, known)
    gone = [int(np.sum(~among & side)) for side in (group, ~group)]
    gap = a.value - b.value
    # Newcombe (1998), method 10: from the two intervals
    below = np.hypot(a.value - a.low, b.high - b.value)
    above = np.hypot(a.high - a.value, b.value - b.low)
    return Outcome(
        target=target.name,
        kind=kind,
        positive=positive,
        left_out=a,
        rest=b,
        gap=Interval(gap, float(gap - below), float(gap + above)),
        difference=of_shares(a.value, b.value),
        missing=sum(hits) if kind == "missing" else sum(gone),
        cells=tuple((k, n - k, left) for k, n, left in zip(hits, known, gone, strict=True)),
    )


def _share(hits: int, n: int) -> Interval:
    if not n:
        return Interval(np.nan, np.nan, np.nan)
    around = stats.binomtest(hits, n).proportion_ci(CONFIDENCE, method="wilson")
    return Interval(hits / n, float(around.low), float(around.high))


def _means(target: Column, group: Mask) -> Outcome:
    known = _known(target, True)
    a, b = (target.values[known & side] for side in (group, ~group))
    inside, outside = Estimate.mean_of(a), Estimate.mean_of(b)
    gap = inside.less(outside)
    return Outcome(
        target=target.name,
        kind="mean",
        positive=None,
        left_out=inside.interval,
        rest=outside.interval,
        gap=gap.interval,
        difference=over_spread(gap.value, a.var(), b.var()) if len(a) and len(b) else None,
        missing=int((~known).sum()),
    )
