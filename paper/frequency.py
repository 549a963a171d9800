"""Which columns lead the rules of several runs: the paper's two tables."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from leftout.data.columns import columns_of
from leftout.explain.rules import find_rules
from leftout.files import Serializable

# The groups, by their labels.
SIDES = ("rest", "left-out group")


class VariableRuns(TypedDict):
    """In how many runs a column leads the rules of either group."""

    variable: str
    left_out_runs: int
    rest_runs: int


class PairRuns(TypedDict):
    """In how many runs two columns lead a group's rules, with the least and largest lift."""

    group: str
    pair: list[str]
    runs: int
    lift: list[float]


@dataclass(frozen=True, kw_only=True)
class Frequency(Serializable):
    """How often columns, and pairs of columns, are among the leading rules of several runs.

    Attributes
    ----------
    variables : list of dict
        ``variable`` and, for each group, the number of runs in which it is an antecedent of one of
        the leading rules with one antecedent (the paper's first table).
    pairs : list of dict
        ``group``, ``pair``, the number of ``runs`` in which the two are the antecedents of one of
        the leading rules with two, and the range of ``lift`` (the paper's second table).
    runs, top : int
    """

    variables: list[VariableRuns]
    pairs: list[PairRuns]
    runs: int
    top: int


def rule_frequency(
    table: Any, runs: ArrayLike, *, min_support: float = 0.01, top: int = 10
) -> Frequency:
    """Count how often columns lead the rules of several runs: the paper's two tables.

    In every run, one line of labels in ``runs``, the rules of each group are found and ranked by
    lift; the ``top`` rules with one antecedent, and the ``top`` with two, count.
    """
    columns, runs = columns_of(table), np.asarray(runs)
    # by group and columns, one or two: the runs that they lead in, and with which lifts
    led, lifts = defaultdict(set), defaultdict(list)
    for run, labels in enumerate(runs):
        for group in range(len(SIDES)):
            rules = find_rules(columns, labels == group, min_support=min_support)
            for single in (True, False):
                those = np.flatnonzero(rules.single == single)
                for place in those[:top].tolist():
                    key = group, tuple(each.column for each in rules[place].antecedents)
                    led[key].add(run)
                    lifts[key].append(float(rules.lift[place]))
    runs_of = {key: len(some) for key, some in led.items()}
    alone = [
        VariableRuns(
            variable=names[0],
            left_out_runs=runs_of.get((1, names), 0),
            rest_runs=runs_of.get((0, names), 0),
        )
        for names in {names for _, names in runs_of if len(names) == 1}
    ]
    pairs = [key for key in runs_of if len(key[1]) == 2]
    return Frequency(
        variables=sorted(
            alone, key=lambda line: (-line["left_out_runs"], -line["rest_runs"], line["variable"])
        ),
        pairs=[
            PairRuns(
                group=SIDES[key[0]],
                pair=list(key[1]),
                runs=runs_of[key],
                lift=[min(lifts[key]), max(lifts[key])],
            )
            for key in sorted(pairs, key=lambda key: (-key[0], -runs_of[key], key[1]))
        ],
        runs=len(runs),
        top=top,
    )
