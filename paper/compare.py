"""For every published number, the same quantity as we measured it, over runs and samples."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from leftout.text import counted
from paper.frequency import PairRuns
from paper.known import STUDENTS, same_column
from paper.measure import (
    ANNEALING,
    FORMULAS,
    GREEDY,
    THRESHOLD,
    Array,
    Measured,
    Sampled,
    random_agreement,
)
from paper.verdicts import Against, Line, Ours, by_pointer, published

Quantity = Callable[[Measured], Array]
Than = tuple[str, float, Quantity]  # a counterpart: its name, as published, and ours
Both = dict[str, Ours]  # by formula

OF = 30  # runs that published counts are out of
# The paper's scores, and what we call them.
SCORES = {"total": "total", "minority": "left_out", "majority": "rest", "difference": "difference"}


# What the paper reports, as measured on one sample: values, most often one per run.


def sides(method: str, m: Measured) -> tuple[Array, Array]:
    """Losses and sizes of both sides, in the paper's order A, B.

    Of searches the rest and the left-out group; of sorting at the half the high and the low
    residuals; of matched sorting the side as large as the rest, and the other.
    """
    if method in m.found:
        return m.found[method].losses, m.found[method].sizes.astype(np.float64)
    half = method == "sorting_equal"
    cuts = [m.half] if half else m.matched
    order = slice(None) if half else slice(None, None, -1)
    losses = np.array([cut.losses[order] for cut in cuts])
    return losses, np.array([cut.sizes[order] for cut in cuts], dtype=np.float64)


def loss(method: str, side: int, m: Measured) -> Array:
    return sides(method, m)[0][:, side]


def disparity(method: str, m: Measured) -> Array:
    return np.abs(np.diff(sides(method, m)[0], axis=1)[:, 0])


def size(method: str, side: int, m: Measured) -> Array:
    return sides(method, m)[1][:, side]


def size_by_rank(method: str, rank: int, m: Measured) -> Array:
    """Rows of the smaller side (0) or of the larger one (1), whichever is left out."""
    return np.sort(sides(method, m)[1], axis=1)[:, rank]


def agreement(quantile: float, m: Measured) -> Array:
    """A quantile of the agreement of greedy's runs."""
    return np.quantile(m.found["greedy"].agreement(), [quantile])


def agreement_by_chance(m: Measured) -> Array:
    return m.found["greedy"].agreement_by_chance()


def adjacent_epochs(m: Measured) -> Array:
    return np.concatenate([run[:-1] for run in m.found["greedy"].within()])


def first_to_last_epoch(m: Measured) -> Array:
    return np.array([run[-1] for run in m.found["greedy"].within()])


def mended(name: str, part: str, side: int, m: Measured) -> Array:
    return np.array([getattr(m.mended[name], part)[side]], dtype=np.float64)


def score(kind: str, feature: int | slice, m: Measured) -> Array:
    """A feature's score, or that of some, averaged over runs as in the paper."""
    return np.array([np.mean([getattr(scores, kind)[feature] for scores in m.scores])])


def rule_runs(group: str, column: str, m: Measured) -> Array:
    """In how many of 30 runs a column leads the rules of a group."""
    left_out = group == "minority"
    times = [
        line["left_out_runs"] if left_out else line["rest_runs"]
        for line in m.frequency.variables
        if line["variable"] == column
    ]
    return np.array([OF * sum(times) / m.frequency.runs])


Pair = tuple[str, frozenset[str]]  # a group of the paper, and two columns


def _leading(pair: Pair, m: Measured) -> list[PairRuns]:
    side = "left-out group" if pair[0] == "minority" else "rest"
    every = m.frequency.pairs
    return [line for line in every if line["group"] == side and {*line["pair"]} == pair[1]]


def pair_runs(pair: Pair, m: Measured) -> Array:
    return np.array([OF * sum(line["runs"] for line in _leading(pair, m)) / m.frequency.runs])


def lifts(pairs: list[Pair], end: int, m: Measured) -> Array:
    """The lowest or highest lift of each pair; nothing for those that lead no rule."""
    every = [line["lift"][end] for pair in pairs for line in _leading(pair, m)]
    return np.array(every, dtype=np.float64)


# The same over samples, beside the published numbers.


@dataclass(frozen=True)
class Results:
    """What was measured: for each data set its samples, and the number of runs."""

    samples: dict[str, list[Sampled]]
    runs: int

    def of(self, key: str, quantity: Quantity, than: Than | None, absent: str = "") -> Both:
        """A quantity under both formulas; nothing where it is 0 throughout and may be absent."""
        found = {}
        for formula in FORMULAS if key in self.samples else ():
            every = [sample.formulas[formula.key] for sample in self.samples[key]]
            each = [values for values in map(quantity, every) if len(values)]
            values = np.concatenate(each) if each else np.empty(0)
            over = counted(len(each), "sample")
            if len(values) != len(each):
                over = f"{len(values):,} values on {over}"
            if absent and not values.any():
                values = np.empty(0)
            against = None
            if than is not None:
                rivals = np.concatenate([than[2](m) for m in every])
                middle = float(np.median(rivals)) if len(rivals) else np.nan
                against = Against(than[0], than[1], middle)
            found[formula.key] = Ours(values, over, against, absent)
        return found


def compared(results: Results) -> list[Line]:
    """A line for every published number, in the order of the paper's numbers."""
    parts = (_setup, _partitions, _stability, _mitigation, _scores, _rules, _pairs)
    lines = {line.pointer: line for part in parts for line in part(results)}
    return [lines[pointer] for pointer in by_pointer()]


def _line(pointer: str, words: str, ours: Both, decimals: int = 0, **how: bool) -> Line:
    return Line(pointer, words, by_pointer()[pointer], decimals, ours=ours, **how)


def _setup(results: Results) -> Iterator[Line]:
    def fixed(pointer: str, words: str, mine: Any, over: str = "the setting used") -> Line:
        values = np.atleast_1d(np.asarray(mine, dtype=np.float64))
        ours = {f.key: Ours(values, over) for f in FORMULAS} if values.size else {}
        return _line(f"/setup/{pointer}", words, ours, given=pointer != "students_d")

    every = [sample for samples in results.samples.values() for sample in samples]
    rows = [len(s.X) for s in every]
    yield fixed("rows", "rows of a sample", rows, counted(len(every), "sample"))
    for key in published()["setup"]["features"]:
        mine = [s.X.shape[1] for s in results.samples.get(key, [])]
        yield fixed(f"features/{key}", f"features of {key}", mine, counted(len(mine), "sample"))
    chosen = [s.d_by_rule for s in results.samples.get(STUDENTS.key, [])]
    over = f"by the rule, on {counted(len(chosen), 'sample')}"
    yield fixed("students_d", "components of students", chosen, over)
    yield fixed("variance_threshold", "share of variance to exceed", THRESHOLD)
    yield fixed("epochs", "epochs of greedy, at most", GREEDY.epochs)
    yield fixed("runs", "runs", results.runs)
    yield fixed("annealing/alpha", "annealing: alpha", ANNEALING.cooling)
    yield fixed("annealing/t_min", "annealing: t min", ANNEALING.t_min)
    yield fixed("annealing/steps", "annealing: steps", ANNEALING.max_steps)


def _partitions(results: Results) -> Iterator[Line]:
    for key, methods in published()["partition"].items():
        for method in methods:
            yield from _partition(results, key, method)


def _partition(results: Results, key: str, method: str) -> Iterator[Line]:
    methods = published()["partition"][key]
    figures, sizes = methods[method], methods[method]["sizes"]
    at, called = f"/partition/{key}/{method}", f"{key}, {method.replace('_', ', ')}"
    said = "loss_a" in figures  # and so which side is left out
    for side, name in enumerate(("loss_a", "loss_b") if said else ()):
        other = figures[("loss_b", "loss_a")[side]]
        than = ("the other side's", other, partial(loss, method, 1 - side))
        ours = results.of(key, partial(loss, method, side), than)
        yield _line(f"{at}/{name}", f"{called}: loss of {'AB'[side]}", ours, 4)
    rival, words = "greedy", "that of greedy"
    if method == rival:
        rival, words = "sorting_equal", "that of sorting at the half"
    than = (words, methods[rival]["delta"], partial(disparity, rival))
    ours = results.of(key, partial(disparity, method), than)
    yield _line(f"{at}/delta", f"{called}: disparity", ours, 4)
    for side in (0, 1):
        if said:
            than = ("the other side's", sizes[1 - side], partial(size, method, 1 - side))
            ours = results.of(key, partial(size, method, side), than)
        else:  # smaller with smaller; that it is smaller than the larger tells nothing
            rank = side if sizes[0] < sizes[1] else 1 - side
            ours = results.of(key, partial(size_by_rank, method, rank), None)
        words, given = f"{called}: rows of {'AB'[side]}", method.startswith("sorting")
        yield _line(f"{at}/sizes/{side}", words, ours, given=given)


def _stability(results: Results) -> Iterator[Line]:
    smaller, larger = sorted(published()["partition"]["students"]["greedy"]["sizes"])
    share = np.array(larger / (smaller + larger))
    by_chance = float(random_agreement(share, share))
    than = ("that of groups drawn at random", by_chance, agreement_by_chance)
    for name, quantile in (("low", 0.05), ("centre", 0.5), ("high", 0.95)):
        words = f"agreement of runs, {name} ({100 * quantile:.0f}% quantile)"
        ours = results.of("students", partial(agreement, quantile), than)
        yield _line(f"/stability/pairwise_jaccard/{name}", words, ours, 2)
    for name, words, quantity in (
        ("adjacent_epoch", "adjacent epochs", adjacent_epochs),
        ("first_to_last_epoch", "first and last epoch", first_to_last_epoch),
    ):
        ours = results.of("students", quantity, than)
        at, words = f"/stability/{name}_jaccard_above", f"agreement of {words}, above"
        yield _line(at, words, ours, 2, bound=True)


def _mitigation(results: Results) -> Iterator[Line]:
    for name, figures in published()["mitigation"].items():
        for part, words in (("sizes", "rows"), ("before", "loss before"), ("after", "loss after")):
            for side in (0, 1):
                other, where, said = part, 1 - side, "the other group's"
                if part == "after":
                    other, where, said = "before", side, "its loss before"
                than = (said, figures[other][where], partial(mended, name, other, where))
                ours = results.of("students", partial(mended, name, part, side), than)
                called = f"Fair PCA, {name.replace('_', ' ')}: {words} of {'AB'[side]}"
                decimals = 0 if part == "sizes" else 4
                yield _line(f"/mitigation/{name}/{part}/{side}", called, ours, decimals)


_OTHER = {"minority": "majority", "majority": "minority"}


def _scores(results: Results) -> Iterator[Line]:
    rows = published()["feature_scores_percent"]
    for place, row in enumerate(rows):
        feature = STUDENTS.features.index(same_column(row["feature"], STUDENTS))
        for kind, called in SCORES.items():
            mean = float(np.mean([each[kind] for each in rows]))
            than = ("the average over features", mean, partial(score, called, slice(None)))
            if kind in _OTHER:
                other = _OTHER[kind]
                than = (f"its {other} score", row[other], partial(score, SCORES[other], feature))
            ours = results.of("students", partial(score, called, feature), than)
            words = f"{kind} score of {row['feature']}, %"
            yield _line(f"/feature_scores_percent/{place}/{kind}", words, ours, 2)


def _rules(results: Results) -> Iterator[Line]:
    for place, row in enumerate(published()["rule_frequency_of_30"]):
        column = same_column(row["feature"], STUDENTS)
        for group, other in _OTHER.items():
            than = (f"in the {other}'s", row[f"{other}_runs"], partial(rule_runs, other, column))
            ours = results.of("students", partial(rule_runs, group, column), than)
            words = f"runs of {OF} in which {row['feature']} leads rules of the {group}"
            yield _line(f"/rule_frequency_of_30/{place}/{group}_runs", words, ours)


def _pairs(results: Results) -> Iterator[Line]:
    absent = "The pair is in none of our leading rules, in no run."
    rows = published()["interaction_rules_of_30"]
    pairs = [
        (row["group"], frozenset(same_column(name, STUDENTS) for name in row["pair"]))
        for row in rows
    ]
    for place, (row, pair) in enumerate(zip(rows, pairs, strict=True)):
        at, called = f"/interaction_rules_of_30/{place}", f"{' and '.join(row['pair'])} ({pair[0]})"
        half = ("half of the runs", OF / 2, lambda _: np.array([OF / 2]))
        ours = results.of("students", partial(pair_runs, pair), half, absent)
        yield _line(f"{at}/runs", f"runs of {OF} with {called}", ours)
        others = [i for i, other in enumerate(pairs) if other[0] != pair[0]]
        for end, words in enumerate(("lowest", "highest")):
            theirs = float(np.median([rows[i]["lift"][end] for i in others]))
            rivals = partial(lifts, [pairs[i] for i in others], end)
            than = ("that of the other group's pairs", theirs, rivals)
            ours = results.of("students", partial(lifts, [pair], end), than, absent)
            yield _line(f"{at}/lift/{end}", f"{words} lift of {called}", ours, 2)
