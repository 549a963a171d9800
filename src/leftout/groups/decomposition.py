"""Why a group loses: its loss in three parts, and the columns that carry each.

With ``D`` the disparity that a search finds at the group's size, ``N_gaussian`` what the same
search, with the same effort, finds on average in Gaussian surrogates (same mean and covariance) and
``N_copula`` in copula surrogates (same values in every column, same correlations),

    D = N_gaussian                  what covariance alone explains
      + (N_copula - N_gaussian)     what rare and skewed values of single columns add
      + (D - N_copula)              what is left: structure of their own.

Each disparity splits exactly over features, so each part does. A subgroup, which has a name, is
looked up in surrogates by it: ``D`` and ``N`` are then the differences of its loss to the rest's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from leftout.files import Serializable
from leftout.linalg.losses import Array
from leftout.linalg.significance import LEVEL
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
class LossPart(Serializable):
    """One part of a loss.

    Attributes
    ----------
    loss : float
        May be below zero: tables can lose more than this one.
    p_value : float or None
        How often surrogates reach the whole loss: Gaussian ones for the covariance's part, copula
        ones for the two others. None where that was not needed.
    share : float
        Of the whole loss.
    carriers : list of str
        The few columns that add most to it, where that is known.
    """

    loss: float
    p_value: float | None
    share: float
    carriers: list[str]

    @property
    def beyond(self) -> bool:
        """Whether surrogates rarely reach the whole loss."""
        return self.p_value is not None and self.p_value <= LEVEL


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
    ) -> Self:
        """The parts, with the columns that carry them where all splits are known.

        ``disparities`` are the mean ones of Gaussian and of copula surrogates and that of the
        table, ``splits`` the same over features; ``names`` are those of the features, or of the
        columns that they were made from.
        """
        losses = np.diff(disparities, prepend=0.0)
        total = float(losses.sum())
        carried: list[Array | None] = [None] * len(losses)
        known = [split for split in splits if split is not None]
        if len(known) == len(losses):
            carried = list(np.diff(known, axis=0, prepend=0.0))
            if losses[2] <= _CARRIED_SHARE * total:
                # Other rows of surrogates may lose by other columns: where these rows have hardly
                # structure of their own, all they lose beyond the covariance is counted.
                carried[1] = known[2] - known[0]
        each = zip(losses.tolist(), (p_gaussian, p_values, p_values), carried, strict=True)
        covariance, values, own = (
            LossPart(
                loss=loss,
                p_value=p_value,
                share=loss / total if total else 0.0,
                carriers=[] if by_feature is None else _carriers(names, by_feature),
            )
            for loss, p_value, by_feature in each
        )
        return cls(total=total, covariance=covariance, values=values, own=own)

    def each(self) -> dict[str, LossPart]:
        """All three, by their short names."""
        return {"covariance": self.covariance, "values": self.values, "own": self.own}

    @property
    def text(self) -> str:
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


def _carriers(names: Sequence[str], by_feature: Array) -> list[str]:
    """The few columns that add most to a part, of those that add enough to be named."""
    sums = by_source(by_feature.tolist(), names)
    least = _CARRIED_SHARE * sum(max(part, 0.0) for part in sums.values())
    return [name for name in list(sums)[:_MOST_CARRIERS] if sums[name] > least]


def by_source(parts: Sequence[float], sources: Sequence[str]) -> dict[str, float]:
    """What all features of each source add to the disparity, most first."""
    totals: dict[str, float] = {}
    for part, source in zip(parts, sources, strict=True):
        totals[source] = totals.get(source, 0.0) + part
    return dict(sorted(totals.items(), key=lambda entry: -entry[1]))
