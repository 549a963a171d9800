"""A reproduction of the paper with known numbers: 1, 2, 3 and on, or 0.11, 0.12 and on.

What is of the rest, or before, or published, is written before what is of the left-out group, after
or ours, so in ``read/page_paper.txt`` the smaller of two numbers belongs to the former.
"""

from __future__ import annotations

from itertools import count

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
