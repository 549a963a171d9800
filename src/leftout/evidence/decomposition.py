"""Why the group loses: its loss in three parts, and the columns that carry each.

With ``D`` the disparity that a search finds at the group's size, ``N_gaussian`` what the same
search, with the same effort, finds on average in Gaussian surrogates (same mean and covariance) and
``N_copula`` in copula surrogates (same values in every column, same correlations),

    D = N_gaussian                  what covariance alone explains
      + (N_copula - N_gaussian)     what rare and skewed values of single columns add
      + (D - N_copula)              what is left: structure of their own.

Each disparity splits exactly over features, so each part does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leftout.files import Serializable
from leftout.linalg.losses import Array
from leftout.text import as_name, listed

# What people call the parts, in this order.
PART_NAMES = {
    "covariance": "covariance alone",
    "values": "rare or skewed values",
    "own": "structure of their own",
}
# Columns that carry at least this share of a part are named, so many at the most.
_CARRIED_SHARE, _MOST_CARRIERS = 0.1, 2


@dataclass(frozen=True, kw_only=True)
class Carrier(Serializable):
    """What a column adds to a part."""

    column: str
    loss: float


@dataclass(frozen=True, kw_only=True)
class LossPart(Serializable):
    """One part of a loss.

    Attributes
    ----------
    loss : float
        May be below zero: tables can lose more than this one.
    p_value : float or None
        How often surrogates reach the whole loss: Gaussian ones for the covariance's part, copula
        ones for the two others. None where that was not needed.
    columns : list of Carrier
        The columns that carry it, most first; all of them.
    share : float
        Of the whole loss.
    carriers : list of str
        The few columns that are named for it, wherever it is told.
    """

    loss: float
    p_value: float | None
    columns: list[Carrier]
    share: float
    carriers: list[str]


@dataclass(frozen=True, kw_only=True)
class LossParts(Serializable):
    """The three parts of a disparity.

    Attributes
    ----------
    total : float
        The disparity that they add up to.
    covariance : LossPart
        What covariance alone explains.
    values : LossPart
        What rare and skewed values of single columns add.
    own : LossPart
        What is left: structure of their own.
    """

    total: float
    covariance: LossPart
    values: LossPart
    own: LossPart

    @classmethod
    def of(
        cls,
        disparities: Sequence[float],
        splits: Sequence[Array | None],
        names: Sequence[str],
        p_gaussian: float | None,
        p_values: float | None,
    ) -> LossParts:
        """The parts, with the columns that carry them where all splits are known.

        ``disparities`` are the mean ones of Gaussian and of copula surrogates and that of the
        table, ``splits`` the same over features; ``names`` are those of the features, or of the
        columns that they were made from.
        """
        losses = np.diff(disparities, prepend=0.0)
        total = float(losses.sum())
        columns: list[list[Carrier]] = [[], [], []]
        known = [split for split in splits if split is not None]
        if len(known) == len(losses):
            by_feature = np.diff(known, axis=0, prepend=0.0)
            columns = [_ranked(names, each) for each in by_feature]
        leading = list(columns)
        if columns[1] and losses[2] <= _CARRIED_SHARE * total:
            # Other rows of surrogates may lose by other columns: where these rows have hardly
            # structure of their own, all they lose beyond the covariance is counted.
            leading[1] = _ranked(names, by_feature[1] + by_feature[2])
        p_each = (p_gaussian, p_values, p_values)
        covariance, values, own = (
            LossPart(
                loss=loss,
                p_value=p_value,
                columns=every,
                share=loss / total if total else 0.0,
                carriers=_carriers(first),
            )
            for loss, p_value, every, first in zip(
                losses.tolist(), p_each, columns, leading, strict=True
            )
        )
        return cls(total=total, covariance=covariance, values=values, own=own)

    def each(self) -> dict[str, LossPart]:
        """All three, by their short names."""
        return {"covariance": self.covariance, "values": self.values, "own": self.own}

    @property
    def told(self) -> str:
        """One sentence: how large each part is, the largest first; nothing where nothing is lost.

        Where a part is below zero, the others may be more than the whole, and are called all of it.
        """
        columns = [as_name(name) for name in self.values.carriers]
        skewed = "rare or skewed values" + (f" of {listed(columns)}" if columns else "")
        shares = {key: round(100 * part.share) for key, part in self.each().items()}
        words = {  # of the largest part, and of another
            "covariance": (
                "is what covariance alone explains",
                f"covariance alone explains {shares['covariance']}%",
            ),
            "values": (f"is {skewed}", f"{skewed} add {shares['values']}%"),
            "own": ("is structure of its own", f"{shares['own']}% is structure of its own"),
        }
        ranked = sorted((key for key in words if shares[key] > 0), key=lambda key: -shares[key])
        if self.total <= 0.0 or not ranked:
            return ""
        first, *others = ranked
        share = f"{shares[first]}%"
        head = f"Most of the loss, {share}," if shares[first] > 50 else f"Of the loss, {share}"
        if shares[first] >= 100:
            head = "All of the loss"
        each = [f"{head} {words[first][0]}", *(words[key][1] for key in others)]
        return f"{'; '.join(each)}."


def _ranked(names: Sequence[str], by_feature: Array) -> list[Carrier]:
    """Columns by what they add, most first."""
    sums: dict[str, float] = {}
    for name, part in zip(names, by_feature.tolist(), strict=True):
        sums[name] = sums.get(name, 0.0) + part
    ranked = sorted(sums.items(), key=lambda one: -one[1])
    return [Carrier(column=name, loss=part) for name, part in ranked]


def _carriers(ranked: list[Carrier]) -> list[str]:
    """The few columns that are named for a part."""
    gained = sum(max(each.loss, 0.0) for each in ranked)
    first = ranked[:_MOST_CARRIERS]
    return [each.column for each in first if each.loss > _CARRIED_SHARE * gained]
