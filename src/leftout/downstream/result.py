"""What components cost a model on each side: figures, their differences, and the words for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leftout.downstream.metrics import Difference, HeldOutPredictions
from leftout.downstream.outcomes import ALL, FAIR_PCA, MITIGATIONS, SHARED, Mask, side_called
from leftout.files import Serializable
from leftout.linalg.significance import Interval
from leftout.text import counted, listed, number, unambiguous

if TYPE_CHECKING:
    import pandas as pd

# A cost below this share (of the rows, or of the numbers' spread) is nothing to act on.
LEAST_COST = 0.01
# Where the rarer of two classes has less of the rows, errors alone say too little.
_UNEVEN = 0.3
# Costs of each group are given in these, where they can be measured.
COMPARED = ("error", "auc", "r2", "false_negative", "false_positive")


@dataclass(frozen=True)
class Figure(Serializable):
    """Measures of one model, from one kind of features, on one side, on held-out rows.

    Attributes
    ----------
    measures : dict of Interval
        By name: error, guess_error, auc, false_negative, false_positive, base_rate,
        mean_prediction; of numbers error, guess_error, r2, mean, mean_prediction.
    """

    model: str
    side: str
    variant: str
    rows: float
    measures: dict[str, Interval]


@dataclass(frozen=True)
class Cost(Serializable):
    """Differences of one measure, of one model: what PCA costs, and what mitigations give back.

    A cost is the measure on the shared PCA minus the one on all columns; a return is the one on the
    shared PCA minus the one on Fair PCA or MinimaxPCA (``returns``, by name). Of errors both are
    good to know as they are; AUC and R2 fall where errors rise. ``extra`` is the group's minus the
    rest's.
    """

    model: str
    side: str
    measure: str
    cost: Interval
    rest_cost: Interval
    extra_cost: Interval
    returns: dict[str, Difference]


class Wording(NamedTuple):
    """What measures are called where numbers, or classes, are predicted."""

    error: str  # the measure of errors
    base: str  # the measure of the target itself
    within: str  # the measure that compares rows of one side with each other, and its name
    name: str
    guess: str  # what a model says that has seen nothing


_NUMBER_WORDING = Wording("average error", "mean", "r2", "R\u00b2", "median")
_CLASS_WORDING = Wording(
    "share of wrong predictions", "base_rate", "auc", "AUC", "most frequent class"
)


@dataclass(frozen=True, kw_only=True)
class CostTable(Serializable):
    """What predictions get wrong: a line for each kind of features, a column for each side.

    Attributes
    ----------
    caption : str
    heads : list of str
        Of the columns: nothing, the groups, the worst off after each projection, everybody.
    rows : list of list of str
        What is seen, and its errors; with AUC in brackets where two classes are uneven.
    """

    caption: str
    heads: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class GroupComparison(Serializable):
    """Errors on two sides, and as text: of classes in per cent, of numbers as numbers."""

    target: str
    kind: str
    group: str
    rest: str
    scale: float

    @property
    def _words(self) -> Wording:
        return _NUMBER_WORDING if self.kind == "number" else _CLASS_WORDING

    @property
    def _group(self) -> str:
        return side_called(self.group)

    @property
    def _rest(self) -> str:
        return side_called(self.rest)

    def _enough(self, each: Interval) -> bool:
        """Whether an error is clearly above zero, and enough to matter."""
        return each.clear > 0 and each.value >= LEAST_COST * self.scale

    def figure(self, value: float, unit: str = "%") -> str:
        """An error, or a difference of errors with the unit ``" points"``."""
        if self.kind == "number" or not np.isfinite(value):
            return number(value, self.scale)
        return f"{round(100 * value, 1) + 0.0:.1f}{unit}"  # never -0.0

    def around(self, each: Interval) -> str:
        """A difference and its interval."""
        if not np.isfinite(each.low):
            return f"{self.figure(each.value, ' points')} (too few draws for an interval)"
        low, high = self.figure(each.low, ""), self.figure(each.high, "")
        return f"{self.figure(each.value, ' points')} (95% interval {low} to {high})"


@dataclass(frozen=True)
class Harm(GroupComparison):
    """What a shared PCA costs a group when somebody predicts from it, and what helps.

    Attributes
    ----------
    target : str
        What is predicted; of two classes, which one counts.
    kind : {"two classes", "several classes", "number"}
    group, rest : str
        The side asked about first, and all other rows. Of groups that are not marked by 1 and 0
        that is the one that the shared PCA represents worst.
    sizes : dict
        Rows of each group.
    n_rows, missing, set_aside : int
        Rows predicted, rows left out since their target is missing, and rows that were not needed.
    n_components, folds, repeats : int
    models : list of str
        The first one leads.
    scale : float
        The spread of the numbers that are predicted; 1 for classes.
    figures : list of Figure
    costs : list of Cost
    gain : dict
        For each kind of features: how far the leading model's error over all rows is below that of
        one guess for everybody, the most frequent class (of numbers, the median). Each side's
        error of that guess is the measure ``guess_error``.
    everybody : dict
        For each kind of features: the leading model's error over all rows.
    leaks : list of str
        Columns that models did not see, since they alone tell the target. An audit knows them
        (finding T002); :func:`leftout.harm` alone uses all that it is given.
    held_out : HeldOutPredictions or None
        What the leading model said of each row.
    shared : str
        What takes the place of the shared PCA, where a representation was given.
    """

    also = (
        "extra_cost", "fair_return", "costs_more", "gives_back", "text", "brief_text", "base_text",
    )  # fmt: skip
    hidden = ("held_out",)

    sizes: dict[str, float]
    n_rows: int
    missing: int
    set_aside: int
    n_components: int
    folds: int
    repeats: int
    models: list[str]
    figures: list[Figure]
    costs: list[Cost]
    gain: dict[str, Interval]
    everybody: dict[str, Interval]
    leaks: list[str] = field(default_factory=list)
    held_out: HeldOutPredictions | None = field(default=None, repr=False)
    shared: str = "PCA"

    def of(self, group: str) -> Harm:
        """The same, of another of its groups."""
        return replace(self, group=group)

    def cost(
        self, measure: str = "error", model: str | None = None, side: str | None = None
    ) -> Cost:
        """The costs in one measure; of the leading model and the group, if nobody says which."""
        model, side = model or self.models[0], side or self.group
        asked = (model, side, measure)
        return next(c for c in self.costs if (c.model, c.side, c.measure) == asked)

    def at(
        self, side: str, variant: str, measure: str = "error", model: str | None = None
    ) -> Interval:
        """One measure of one side, from one kind of features."""
        asked = (model or self.models[0], side, variant)
        each = next(f for f in self.figures if (f.model, f.side, f.variant) == asked)
        return each.measures[measure]

    @property
    def variants(self) -> list[str]:
        """The kinds of features that were seen, all columns first."""
        return list(dict.fromkeys(each.variant for each in self.figures))

    @property
    def mitigations(self) -> list[str]:
        """Those that are to give something back."""
        return [variant for variant in self.variants if variant in MITIGATIONS]

    @property
    def extra_cost(self) -> Interval:
        """What the shared PCA costs the group beyond what it costs the rest, in errors."""
        return self.cost().extra_cost

    @property
    def fair_return(self) -> Interval:
        """Errors that Fair PCA takes off the shared PCA's, for the group."""
        return self.cost().returns[FAIR_PCA].group

    @property
    def within(self) -> Cost:
        """The costs in AUC, or of numbers in R2, which compare rows of one side with each other.

        Errors follow the target's rate (or spread) on a side, also those of a model that says the
        same of everybody; these do not.
        """
        return self.cost(self._words.within)

    @property
    def costs_more(self) -> bool:
        """Whether PCA costs the group more than the rest: the one rule for a claim of harm.

        The extra cost is clear and enough to matter in errors and in AUC (R2), and over all rows
        the model does clearly better from components than one guess for everybody. Not on each
        side: a group whose predictions become no better than a guess is harmed most.
        """
        return self._shown(SHARED, self.extra_cost, self.within.extra_cost)

    @property
    def gives_back(self) -> bool:
        """Whether Fair PCA gives the group something back at no clear cost to the rest.

        As in :attr:`costs_more`, in errors and in AUC (R2), from a model that is better than one
        guess for everybody.
        """
        return self._gives_back(FAIR_PCA)

    def _gives_back(self, variant: str) -> bool:
        back, ranked = (each.returns[variant] for each in (self.cost(), self.within))
        free = back.rest.clear >= 0 and ranked.rest.clear <= 0
        return free and self._shown(variant, back.group, ranked.group)

    def _shown(self, variant: str, errors: Interval, ranked: Interval) -> bool:
        """Whether errors rise and AUC (R2) falls, clearly and enough, and the model is of use."""
        return self._enough(errors) and _falls(ranked) and self.gain[variant].clear > 0

    @cached_property
    def table(self) -> pd.DataFrame:
        """One line for each model, side and kind of features; each measure with its interval."""
        import pandas as pd

        rows = []
        for f in self.figures:
            row = {"model": f.model, "side": f.side, "variant": f.variant, "rows": f.rows}
            for name, (value, low, high) in f.measures.items():
                row |= {name: value, f"{name}_low": low, f"{name}_high": high}
            rows.append(row)
        return pd.DataFrame(rows)

    def cost_table(self, worst: Sequence[Mask] = (), after: str = "") -> CostTable:
        """Errors on each group, on whom each projection leaves worst off, and on everybody.

        ``worst`` are the worst-off rows under the shared PCA and each mitigation, ``after`` the
        head of their column.
        """
        groups = [side for side in self.sizes if side != self.rest]
        own = " for this group" if len(groups) == 1 else " for these groups"
        called = {SHARED: self.shared, FAIR_PCA: f"{FAIR_PCA}{own}"}
        with_worst = bool(worst) and self.held_out is not None
        rows = []
        for v, seen in enumerate(self.variants):
            each = [self._cell(*self._measured(side, seen)) for side in groups]
            if with_worst:
                each.append(self._cell(*self._held_out(v, worst[v - 1])) if v else "\u2013")
            each.append(self._cell(self.everybody[seen].value, self._held_out(v)[1]))
            rows.append([called.get(seen, seen), *each])
        guesses = [self.figure(self.at(side, ALL, "guess_error").value) for side in groups]
        overall = self.figure(self.gain[ALL].value + self.everybody[ALL].value)
        rows.append([self._one_guess, *guesses, *["\u2013"] * with_worst, overall])
        what = "Average errors" if self.kind == "number" else "Wrong predictions"
        ranked = f" ({self._words.name} in brackets)" if self._uneven else ""
        return CostTable(
            caption=(
                f"{what} of {self.target}{ranked} on held-out rows (model: {self.models[0]}), from "
                f"all columns and from {counted(self.n_components, 'component')} of each of the "
                "projections."
            ),
            heads=["", *groups, *[after] * with_worst, "everybody"],
            rows=rows,
        )

    @property
    def _uneven(self) -> bool:
        """Whether one of two classes is rare."""
        overall = self.gain[ALL].value + self.everybody[ALL].value
        return self.kind == "two classes" and overall < _UNEVEN

    def _measured(self, side: str, seen: str) -> tuple[float, float]:
        return self.at(side, seen).value, self.at(side, seen, self._words.within).value

    def _held_out(self, variant: int, of: Mask | None = None) -> tuple[float, float]:
        """Error and AUC (R2) on some rows of the table; without ``of``, on all."""
        if self.held_out is None:
            return np.nan, np.nan
        every = np.ones(self.held_out.rows.max() + 1, dtype=bool)
        found = self.held_out.measures(variant, every if of is None else of)
        return found["error"], found[self._words.within]

    def _cell(self, error: float, ranked: float) -> str:
        more = f" ({ranked:.2f})" if self._uneven and np.isfinite(ranked) else ""
        return f"{self.figure(error)}{more}"

    @property
    def brief_text(self) -> str:
        """The errors of the group and of everybody, and whether components cost the group more."""
        texts = (f"{self.errors_text} {self.everybody_text}.", self.verdict_text, self.leaks_text)
        return " ".join(filter(None, texts))

    @property
    def errors_text(self) -> str:
        """The errors of the group from components and from all columns, without a full stop."""
        every, shared = (self.at(self.group, seen).value for seen in (ALL, SHARED))
        guess = self.at(self.group, ALL, "guess_error").value
        components = "the components" if self.shared == "PCA" else self.shared
        useless = self.gain[SHARED].clear > 0 and shared > guess - LEAST_COST / 2.0 * self.scale
        as_bad = f", no better than {self._one_guess} ({self.figure(guess)})," * useless
        group = self._group_called
        is_number = self.kind == "number"
        errs, of, on = ("is off by", "for", "by") if is_number else ("errs on", "of", "on")
        return (
            f"Predicting {self.target} from {components} {errs} {self.figure(shared)} {of} {group}"
            f"{as_bad} and from all columns {on} {self.figure(every)}"
        )

    @property
    def everybody_text(self) -> str:
        """The same of all rows, in brackets."""
        every, shared = (self.figure(self.everybody[seen].value) for seen in (ALL, SHARED))
        return f"(everybody: {shared} and {every})"

    @property
    def _group_called(self) -> str:
        """The group where it is clear which."""
        return self._group.replace("left-out ", "")

    @property
    def _one_guess(self) -> str:
        """What a model would do that has seen nothing."""
        if self.kind != "two classes":
            return f"always guessing the {self._words.guess}"
        rate, wrong = (self.at(self.rest, ALL, each).value for each in ("base_rate", "guess_error"))
        return f"always saying {'yes' if abs(rate + wrong - 1.0) < abs(rate - wrong) else 'no'}"

    @property
    def verdict_text(self) -> str:
        """Whether that is harm, and how far AUC (R2) falls on either side."""
        no_better, group = f"no better than {self._one_guess} over all rows", self._group_called
        if self.gain[ALL].clear <= 0:
            return f"All columns do {no_better}: what components cost cannot be told."
        if self.gain[SHARED].clear <= 0:
            return f"Components do {no_better}: whether {group} is harmed more cannot be told."
        name, paid = self._words.name, self.within
        shown = {
            (True, True): "they are harmed more",
            (True, False): f"their errors rise more, but {name} does not show it",
            (False, True): "that is more, but their errors do not show it",
            (False, False): "more harm to them is not shown",
        }[self._enough(self.extra_cost), _falls(paid.extra_cost)]
        own, rest = _down(paid.cost.value), _down(paid.rest_cost.value)
        return f"{name} falls by {own}, for {self._rest} by {rest}: {shown}."

    @property
    def cost_text(self) -> str:
        """What the shared PCA costs the two sides."""
        (a, b), (c, d) = (self._both(variant) for variant in (ALL, SHARED))
        e, f = self._both(ALL, "guess_error")
        text = (
            f"The {self._words.error} from all columns is {a} for {self._group} and {b} for "
            f"{self._rest}; from {counted(self.n_components, 'component')} of a shared "
            f"{self.shared} it is {c} and {d}; "
            f"always guessing the {self._words.guess}, {e} and {f}. That costs {self._group} "
            f"{self.around(self.extra_cost)} more than {self._rest}. {self.verdict_text}"
        )
        return f"{text} {self.leaks_text}".rstrip()

    @property
    def leaks_text(self) -> str:
        """Which columns models did not see; nothing if they saw all."""
        if not self.leaks:
            return ""
        tell = "tells" if len(self.leaks) == 1 else "each tell"
        names = listed([unambiguous(name) for name in self.leaks])
        return f"Models did not see {names}, which alone {tell} the target."

    @property
    def text(self) -> list[str]:
        """What the shared PCA costs, then what each mitigation gives back."""
        return [self.cost_text, *map(self.return_text, self.mitigations)]

    def return_text(self, variant: str = FAIR_PCA) -> str:
        """What a mitigation gives back, and whom it costs something."""
        back, (a, b) = self.cost().returns[variant], self._both(variant)
        gives = "It gives" if self._gives_back(variant) else "That it gives"
        shown = "" if self._gives_back(variant) else " is not shown"
        return (
            f"{variant} with as many components has {a} and {b}, which returns {self._group} "
            f"{self.around(back.group)} and {self._rest} {self.around(back.rest)}. {gives} "
            f"{self._group} something back at no clear expense of {self._rest}{shown}."
        )

    def summary(self) -> str:
        """What was found, in a few sentences."""
        times = "once" if self.repeats == 1 else f"{self.repeats} times"
        text = (
            f"{self.n_rows:,} rows, {self.target} predicted by {self.models[0]}, each row while it "
            f"was held out ({self.folds} folds, {times}). "
        )
        text += f"{' '.join(self.text)}{self._others()} {self.base_text}"
        if self.missing:
            is_or_are = "is" if self.missing == 1 else "are"
            text += f" {counted(self.missing, 'row')} without a target {is_or_are} left out."
        return text

    def _others(self) -> str:
        """What the other models say of the extra cost."""
        each = [
            f"{self.around(self.cost(model=model).extra_cost)} with {model}"
            for model in self.models[1:]
        ]
        return f" The extra cost is {listed(each)}." if each else ""

    @property
    def base_text(self) -> str:
        """The rate or mean of the target on both sides, which alone is no harm."""
        a, b = self._both(ALL, self._words.base)
        return (
            f"The target itself is at {a} in {self._group} and {b} in {self._rest}: a different "
            "rate or mean alone is not harm."
        )

    def _both(self, variant: str, measure: str = "error") -> list[str]:
        sides = (self.group, self.rest)
        return [self.figure(self.at(side, variant, measure).value) for side in sides]


def _falls(ranked: Interval) -> bool:
    """Whether AUC (R2) falls, clearly and enough to matter."""
    return ranked.clear < 0 and ranked.value <= -LEAST_COST


def _down(value: float) -> str:
    return f"{round(-value, 3) + 0.0:.3f}"  # never -0.000
