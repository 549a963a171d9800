"""A reproduction of the paper with known numbers: 1, 2, 3 and on, or 0.11, 0.12 and on.

What is of the rest, or before, or published, is written before what is of the left-out group, after
or ours, so in ``read/page_paper.txt`` the smaller of two numbers belongs to the former.
"""

from __future__ import annotations

from itertools import combinations, count, product

import numpy as np
import pandas as pd

from leftout.evidence.stability import Stability, pairwise_jaccard
from leftout.explain import FeatureScores, Frequency
from paper.known import STUDENTS
from paper.measure import (
    DAYTIME,
    FOUND,
    LOW,
    Found,
    Measured,
    Mended,
    Sampled,
    Sorted,
)
from paper.tables import Sample

FORMULAS = ("paper", "definition")
STATUSES = ("reproduced", "same direction", "not reproduced", "not run")
KINDS = ("total", "minority", "majority", "difference")


def reproduction():
    numbers, hundredths = count(1), count(11)

    def n():
        return next(numbers)

    def share():
        return next(hundredths) / 100

    def spread(n=n):
        return {"low": n(), "median": n(), "high": n()}

    def pair():
        return [n(), n()]

    def counts():
        return {formula: {name: n() for name in STATUSES} for formula in FORMULAS}

    def partition():
        return {
            "losses": pair(),
            "disparity": n(),
            "sizes": pair(),
            "on_this_sample": spread(),
            "on_all_samples": spread(),
        }

    def partitions():
        theirs = {"loss_a": n(), "loss_b": n(), "delta": n(), "sizes": pair()}
        named = {"method": "greedy", "words": "Greedy", "published": theirs}
        yield named | {formula: partition() for formula in FORMULAS}
        theirs = {"delta": n(), "sizes": pair()}
        named = {"method": "half", "words": "Sorting", "published": theirs}
        yield named | {formula: partition() for formula in FORMULAS}
        named = {"method": "ours", "words": "Ours", "published": None}
        yield named | {formula: partition() for formula in FORMULAS}

    def scores(which):
        rows = [{"feature": name} | {kind: n() for kind in KINDS} for name in ("age", "debt")]
        return {"features": rows, "top": {kind: [f"{which} {kind}", "age"] for kind in KINDS}}

    def rules():
        return {
            "runs": n(),
            "top": n(),
            "min_support": n() / 1000,
            "variables": [{"variable": "age", "rest_runs": n(), "left_out_runs": n()}],
            "pairs": [
                {"pair": ["debt", "age"], "group": group, "runs": n(), "lift": pair()}
                for group in ("rest", "left-out group")
            ],
        }

    def mended(theirs):
        return {
            "groups": ["day", "evening"],
            "published": theirs,
            "sizes": pair(),
            "before": pair(),
            "after": pair(),
            "both_fall_at": [1] * n(),
            "by_dimension": [1] * n(),
        }

    def who():
        line = {"text": f"town {n()}", "strength": share()}
        return {
            "rows": 1000 + n(), "sentence": f"age >= {n()}", "f1": share(),
            "looks_like": [line], "outcome": f"{n()} % of the group",
        }  # fmt: skip

    def dataset(title):
        theirs = {"sizes": pair(), "before": pair(), "after": pair()} if title == "Pupils" else None
        mitigation = {formula: mended(theirs) for formula in FORMULAS}
        return {
            "title": title,
            "file": f"{title}.csv",
            "rows_in_table": 10_000 + n(),
            "features": ["age", "debt"],
            "target": "passed",
            "lessons": [f"Sizes: {n()} differ."],
            "n_components": n(),
            "published_n_components": n() if title == "Pupils" else None,
            "preparation": [
                {
                    "order": "before", "n_components": [n(), n()], "half": [spread(), spread()],
                    "known_groups": {"attendance": [spread(), spread()]},
                }
            ],
            "partitions": list(partitions()),
            "centrings": [
                {"loss": "excess", "centering": "none", "losses": pair(), "disparity": n()}
            ],
            "formulas_tried": [
                {
                    "loss": "excess", "centering": "global",
                    "groups": {"attendance": [spread(), spread()]},
                }
            ],
            "stability": {
                formula: {
                    "agreement": spread(share),
                    "agreement_by_chance": share(),
                    "jaccard_of_left_out": spread(share),
                    "adjacent_epochs": [[share(), share()], [share()]],
                    "first_to_last_epoch": [share(), share()],
                }
                for formula in FORMULAS
            },
            "feature_scores": {formula: scores(formula) for formula in FORMULAS},
            "rules": {formula: rules() for formula in FORMULAS},
            "mitigation": {"attendance": mitigation},
            "who": {formula: who() for formula in FORMULAS},
            "evidence": {"who": who()} if title == "Pupils" else None,
        }  # fmt: skip

    published = {
        "mitigation": {"attendance": {"before": pair()}},
        "stability": {
            "pairwise_jaccard": {"low": n(), "centre": n(), "high": n()},
            "adjacent_epoch_jaccard_above": n(),
            "first_to_last_epoch_jaccard_above": n(),
        },
        "scores": scores("theirs"),
        "rule_frequency_of_30": [
            {"feature": "age", "majority_runs": n(), "minority_runs": n()},
            {"feature": "debt", "majority_runs": n(), "minority_runs": n()},
        ],
        "interaction_rules_of_30": [
            {"pair": ["age", "debt"], "group": group, "runs": n(), "lift": pair()}
            for group in ("majority", "minority")
        ],
    }
    verdicts = [
        {
            "pointer": f"/partition/{key}/{method}/delta", "part": "table 3", "published": n(),
            "what": f"{key}, {method}",
            "paper": {"verdict": "reproduced", "reason": f"within {n()}"},
            "definition": {"verdict": "not reproduced", "reason": f"beyond {n()}"},
        }
        for key in ("students", "others")
        for method in ("greedy", "half")
    ]  # fmt: skip
    return {
        "leftout_version": "0.0",
        "headline": f"{n()} numbers came out.",
        "paper": "A paper",
        "counts": {"total": counts(), "given": n(), "parts": {"table 3": counts()}},
        "settings": {
            name: n() for name in ("runs", "samples", "rows", "chance", "random_state")
        },
        "published": published,
        "verdicts": verdicts,
        "datasets": {"students": dataset("Pupils"), "others": dataset("People")},
    }  # fmt: skip


def runs_of(losses, sizes, epochs):
    """Runs of a search on 40 rows: each leaves out the first rows, and some of the last at first.

    A run's epochs say how many of its rows were others before they were these.
    """
    labels, swept = np.zeros((len(losses), 40), dtype=np.int8), []
    for run, (size, others) in enumerate(zip(sizes, epochs, strict=True)):
        labels[run, run : run + size] = 1
        sweeps = np.repeat(labels[run][None], len(others) + 2, axis=0)
        for sweep, number in enumerate(others, 1):
            sweeps[sweep, run : run + number], sweeps[sweep, 40 - number :] = 0, 1
        swept.append(sweeps)
    gaps = [group - rest for rest, group in losses]
    stability = Stability(
        labels=labels,
        disparities=np.array(gaps),
        jaccard=pairwise_jaccard(labels),
        groups=[],
        epochs=[np.linspace(gap / 4, gap, 3) for gap in gaps],
        epoch_labels=swept,
    )
    return Found(stability, np.array(losses))


def measured(unit):
    """One formula on one sample: sides A and B of every method, all of them unequal."""
    places = np.arange(len(STUDENTS.features)) / 10
    pairs = [*combinations(STUDENTS.features, 2)]
    return Measured(
        found={
            "greedy": runs_of([(unit, 5 * unit), (2 * unit, 9 * unit)], (13, 11), ([3, 1], [4])),
            "annealing": runs_of([(3 * unit, 6 * unit)], (7,), ([2],)),
            "ours": runs_of([(0.5 * unit, 10 * unit)], (9,), ([1],)),
        },
        half=Sorted(np.array([0.8, 0.3]) * unit, np.array([21, 19])),
        cut=Sorted(np.array([0.9, 0.1]) * unit, np.array([4, 36])),
        matched=[
            Sorted(np.array([0.7, 0.2]) * unit, np.array([11, 29])),
            Sorted(np.array([0.6, 0.4]) * unit, np.array([13, 27])),
        ],
        groups={},
        mended={
            name: Mended(
                np.array([31 - i, 9 + i]), np.array([2.5 + i, 1.2 + i]) * unit,
                np.array([1.9 + i, 1.6 + i]) * unit,
            )
            for i, name in enumerate((FOUND, DAYTIME, LOW))
        },
        scores=[
            FeatureScores(
                total=unit + places, left_out=2 * unit + places, rest=3 * unit + places,
                difference=4 * unit + places, runs=1,
            )
        ],
        frequency=Frequency(
            variables=[
                {"variable": name, "left_out_runs": 2 + i, "rest_runs": 9 - i % 9}
                for i, name in enumerate(STUDENTS.features)
            ],
            pairs=[
                {"group": group, "pair": list(pair), "runs": 1 + i % 7 + 2 * place,
                 "lift": [unit + i / 100, unit + i / 50 + 0.5 + place]}
                for i, pair in enumerate(pairs)
                for place, group in enumerate(("rest", "left-out group"))
            ],
            runs=20,
            top=10,
        ),
    )  # fmt: skip


def sampled():
    """One sample, and what both formulas give on it."""
    X = pd.DataFrame(np.zeros((40, len(STUDENTS.features))), columns=list(STUDENTS.features))
    return Sampled(
        seed=3,
        sample=Sample(raw=X, X=X),
        d=3,
        cumulative=np.array([0.41, 0.63, 0.75, 0.84, 0.9, 1.0]),
        formulas={"paper": measured(1.0), "definition": measured(0.25)},
    )


def learnt():
    """What lessons are drawn from: no two numbers are the same."""

    def method(name, paper, definition):
        return {
            "method": name,
            "published": {"delta": 5.43},
            "paper": {
                "disparity": paper, "runs": int(paper),
                "on_all_samples": {"low": paper - 0.17, "median": paper, "high": paper + 0.23},
            },
            "definition": {"disparity": definition, "runs": int(100 * definition)},
        }  # fmt: skip

    def fair(both, of):
        return {"groups": ["day", "evening"], "both_fall_at": [1] * both, "by_dimension": [1] * of}

    def who(rows, f1):
        told = {"sentence": f"age >= {rows % 100}", "outcome": f"{rows % 10} % paid"}
        return {"rows": rows, "f1": f1, **told}

    tried = product(("projection_gap", "excess"), ("paper", "none", "global"))
    return {
        "published_n_components": 9,
        "preparation": [{"n_components": [9, 9, 8, 9]}, {"n_components": [8, 9, 8, 8]}],
        "partitions": [
            method("greedy", 4.2, 0.31), method("annealing", 3.4, 0.27), method("ours", 6.6, 0.58)
        ],
        "min_group_size": 175,
        "ceiling": 0.813,
        "ceiling_uncentred": 0.927,
        "centrings": [
            {"loss": loss, "centering": centering, "disparity": 1.111 + i}
            for i, (loss, centering) in enumerate(tried)
        ],
        "energy": {"mean": 7.31, "variance": 2.19},
        "projection_moves": 3e-14,
        "cuts": {
            "half": 0.1234, "best": 0.4321, "best_rows": 1_217, "residuals_half": 0.2345,
            "residuals_best": 0.5432, "residuals_best_rows": 1_319,
        },
        "mitigation": {"attendance": {"paper": fair(6, 20), "definition": fair(0, 21)}},
        "who": {"paper": who(1_742, 0.61), "definition": who(1_175, 0.72)},
        "evidence": {
            "rows": 1_333, "disparity": 0.517, "by_chance": 0.293, "p_value": 0.025,
            "beyond_chance": True, "chance_tables": 39, "who": who(1_334, 0.83),
        },
    }  # fmt: skip
