"""For every published number, the same quantity as we measured it, over runs and samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from leftout.reproduce import quantities as ours
from leftout.reproduce.formulas import ANNEALING, FORMULAS, GREEDY
from leftout.reproduce.known import STUDENTS, same_column
from leftout.reproduce.measured import Measured, Sampled
from leftout.reproduce.searches import Array, random_agreement
from leftout.reproduce.verdicts import Against, Line, Ours, by_pointer, published
from leftout.wording import counted

Quantity = Callable[[Measured], Array]


@dataclass(frozen=True)
class Results:
    """What was measured: for each data set its samples, and the settings of the run."""

    samples: dict[str, list[Sampled]]
    runs: int
    threshold: float

    def of(
        self,
        key: str,
        quantity: Quantity,
        than: tuple[str, float, Quantity | float],
        absent: str = "",
    ) -> dict[str, Ours]:
        """A quantity under both formulas, with its counterpart's name, published and own value."""
        found = {}
        for formula in FORMULAS:
            every = [s.formulas[formula.key] for s in self.samples.get(key, [])]
            if not every:
                continue
            words, theirs, counterpart = than
            mine = counterpart if isinstance(counterpart, float) else _median(counterpart, every)
            each = [values for values in map(quantity, every) if len(values)]
            total = sum(map(len, each))
            over = counted(len(each), "sample")
            over = over if total == len(each) else f"{total:,} values on {over}"
            values = np.concatenate(each) if each else np.empty(0)
            found[formula.key] = Ours(values, over, Against(words, theirs, mine), absent)
        return found


def _median(quantity: Quantity, every: list[Measured]) -> float:
    values = np.concatenate([quantity(m) for m in every])
    return float(np.median(values)) if len(values) else np.nan


def compared(results: Results) -> list[Line]:
    """A line for every published number, in the order of the paper's numbers."""
    lines = {line.pointer: line for line in _lines(results)}
    return [lines[pointer] for pointer in by_pointer()]


def _lines(results: Results) -> Iterator[Line]:
    yield from _setup(results)
    for key, methods in published()["partition"].items():
        for method in methods:
            yield from _partition(results, key, method)
    yield from _stability(results)
    for name in published()["mitigation"]:
        yield from _mitigation(results, name)
    yield from _scores(results)
    yield from _rules(results)
    yield from _pairs(results)


def _setup(results: Results) -> Iterator[Line]:
    setup, used = published()["setup"], "the setting used"

    def fixed(pointer: str, words: str, value: float, mine: Any, over: str) -> Line:
        values = np.atleast_1d(np.asarray(mine, dtype=np.float64))
        each = {f.key: Ours(values, over) for f in FORMULAS} if values.size else {}
        given = pointer != "students_d"
        return Line(f"/setup/{pointer}", words, value, ours=each, given=given)

    every = [sample for samples in results.samples.values() for sample in samples]
    rows = [len(s.X) for s in every]
    yield fixed("rows", "rows of a sample", setup["rows"], rows, counted(len(every), "sample"))
    for key, value in setup["features"].items():
        mine = [s.X.shape[1] for s in results.samples.get(key, [])]
        yield fixed(
            f"features/{key}", f"features of {key}", value, mine, counted(len(mine), "sample")
        )
    chosen = [s.d_by_rule for s in results.samples.get(STUDENTS.key, [])]
    over = f"by the rule, on {counted(len(chosen), 'sample')}"
    yield fixed("students_d", "components of students", setup["students_d"], chosen, over)
    for name, words, setting in (
        ("variance_threshold", "share of variance to exceed", results.threshold),
        ("epochs", "epochs of greedy, at most", GREEDY.epochs),
        ("runs", "runs", results.runs),
    ):
        yield fixed(name, words, setup[name], setting, used)
    for name, setting in (
        ("alpha", ANNEALING.cooling), ("t_min", ANNEALING.t_min), ("steps", ANNEALING.max_steps)
    ):  # fmt: skip
        words = f"annealing: {name.replace('_', ' ')}"
        yield fixed(f"annealing/{name}", words, setup["annealing"][name], setting, used)


# The method that a method's disparity is compared with.
_RIVAL = {
    "greedy": ("sorting_equal", "that of sorting at the half"),
    "sorting_equal": ("greedy", "that of greedy"),
    "sorting_matched": ("greedy", "that of greedy"),
    "annealing": ("greedy", "that of greedy"),
}


def _partition(results: Results, key: str, method: str) -> Iterator[Line]:
    figures = published()["partition"][key][method]
    at, called = f"/partition/{key}/{method}", f"{key}, {method.replace('_', ', ')}"
    sizes = figures["sizes"]
    # Without losses it is not said which side is left out: the smaller are compared.
    size: list[Quantity] = [partial(ours.size, method, side) for side in (0, 1)]
    if "loss_a" not in figures:
        size = [partial(ours.smaller, method), partial(ours.larger, method)]
        size = size if sizes[0] < sizes[1] else size[::-1]
    for side, name in enumerate(("loss_a", "loss_b")):
        if name in figures:
            other = figures[("loss_b", "loss_a")[side]]
            than = ("the other side's", other, partial(ours.loss, method, 1 - side))
            found = results.of(key, partial(ours.loss, method, side), than)
            yield Line(
                f"{at}/{name}", f"{called}: loss of {'AB'[side]}", figures[name], 4, ours=found
            )
    rival, words = _RIVAL[method]
    theirs = published()["partition"][key][rival]["delta"]
    found = results.of(
        key, partial(ours.disparity, method), (words, theirs, partial(ours.disparity, rival))
    )
    yield Line(f"{at}/delta", f"{called}: disparity", figures["delta"], 4, ours=found)
    for side, value in enumerate(sizes):
        found = results.of(key, size[side], ("the other side's", sizes[1 - side], size[1 - side]))
        if "loss_a" not in figures:  # the smaller is smaller than the larger: no direction
            found = {k: replace(o, against=None) for k, o in found.items()}
        words, given = f"{called}: rows of {'AB'[side]}", method.startswith("sorting")
        yield Line(f"{at}/sizes/{side}", words, value, ours=found, given=given)


def _stability(results: Results) -> Iterator[Line]:
    figures = published()["stability"]
    smaller, larger = sorted(published()["partition"]["students"]["greedy"]["sizes"])
    share = np.array(larger / (smaller + larger))
    than = (
        "that of groups drawn at random",
        float(random_agreement(share, share)),
        ours.random_agreement,
    )
    for name, quantile in (("low", 0.05), ("centre", 0.5), ("high", 0.95)):
        words = f"agreement of runs, {name} ({100 * quantile:.0f} % quantile)"
        value = figures["pairwise_jaccard"][name]
        mine = results.of("students", partial(ours.agreement, quantile), than)
        yield Line(f"/stability/pairwise_jaccard/{name}", words, value, 2, ours=mine)
    for name, words, quantity in (
        ("adjacent_epoch", "agreement of adjacent epochs, above", ours.adjacent_epochs),
        ("first_to_last_epoch", "agreement of first and last epoch, above",
         ours.first_to_last_epoch),
    ):  # fmt: skip
        at = f"{name}_jaccard_above"
        mine = results.of("students", quantity, than)
        yield Line(f"/stability/{at}", words, figures[at], 2, bound=True, ours=mine)


def _mitigation(results: Results, name: str) -> Iterator[Line]:
    figures = published()["mitigation"][name]
    for part, words, decimals in (
        ("sizes", "rows of", 0), ("before", "loss before of", 4), ("after", "loss after of", 4)
    ):  # fmt: skip
        for side, value in enumerate(figures[part]):
            other, where, said = part, 1 - side, "the other group's"
            if part == "after":
                other, where, said = "before", side, "its loss before"
            than = (said, figures[other][where], partial(ours.mended, name, other, where))
            found = results.of("students", partial(ours.mended, name, part, side), than)
            called = f"Fair PCA, {name.replace('_', ' ')}: {words} {'AB'[side]}"
            yield Line(f"/mitigation/{name}/{part}/{side}", called, value, decimals, ours=found)


# The paper's scores, and what we call them.
SCORES = {"total": "total", "minority": "left_out", "majority": "rest", "difference": "difference"}


def _scores(results: Results) -> Iterator[Line]:
    rows = published()["feature_scores_percent"]
    for place, row in enumerate(rows):
        feature = STUDENTS.features.index(same_column(row["feature"], STUDENTS))
        for kind, called in SCORES.items():
            than: tuple[str, float, Quantity]
            if kind in ("minority", "majority"):
                other = "majority" if kind == "minority" else "minority"
                quantity = partial(ours.score, SCORES[other], feature)
                than = (f"its {other} score", row[other], quantity)
            else:
                mean = float(np.mean([each[kind] for each in rows]))
                than = ("the average over features", mean, partial(ours.mean_score, called))
            found = results.of("students", partial(ours.score, called, feature), than)
            words = f"{kind} score of {row['feature']}, %"
            at = f"/feature_scores_percent/{place}/{kind}"
            yield Line(at, words, row[kind], 2, ours=found)


def _rules(results: Results) -> Iterator[Line]:
    for place, row in enumerate(published()["rule_frequency_of_30"]):
        column = same_column(row["feature"], STUDENTS)
        for group, other in (("minority", "majority"), ("majority", "minority")):
            than = (
                f"in the {other}'s", row[f"{other}_runs"], partial(ours.rule_runs, other, column)
            )  # fmt: skip
            found = results.of("students", partial(ours.rule_runs, group, column), than)
            words = f"runs of {ours.OF} in which {row['feature']} leads rules of the {group}"
            at = f"/rule_frequency_of_30/{place}/{group}_runs"
            yield Line(at, words, row[f"{group}_runs"], ours=found)


def _pairs(results: Results) -> Iterator[Line]:
    absent = "The pair is in none of our leading rules, in no run."
    rows = published()["interaction_rules_of_30"]
    pairs = [frozenset(same_column(name, STUDENTS) for name in row["pair"]) for row in rows]
    for place, (row, pair) in enumerate(zip(rows, pairs, strict=True)):
        at, group = f"/interaction_rules_of_30/{place}", row["group"]
        others = [i for i, other in enumerate(rows) if other["group"] != group]
        called = f"{' and '.join(row['pair'])} ({group})"
        half = ("half of the runs", ours.OF / 2, ours.OF / 2)
        found = results.of("students", partial(ours.pair_runs, group, pair), half, absent)
        found = {
            k: o if o.values.any() else replace(o, values=np.empty(0)) for k, o in found.items()
        }
        yield Line(f"{at}/runs", f"runs of {ours.OF} with {called}", row["runs"], ours=found)
        for end, value in enumerate(row["lift"]):
            quantity = partial(ours.lift, group, pair, end)
            theirs = float(np.median([rows[i]["lift"][end] for i in others]))
            rivals = [(rows[i]["group"], pairs[i]) for i in others]
            than = ("that of the other group's pairs", theirs, partial(ours.lifts, rivals, end))
            found = results.of("students", quantity, than, absent)
            words = f"{('lowest', 'highest')[end]} lift of {called}"
            yield Line(f"{at}/lift/{end}", words, value, 2, ours=found)
