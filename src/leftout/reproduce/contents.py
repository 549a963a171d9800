"""From what was measured to plain data: every table of the paper, ours beside theirs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from leftout.reproduce import quantities
from leftout.reproduce.compare import SCORES, Results
from leftout.reproduce.facts import spread
from leftout.reproduce.formulas import FORMULAS, Formula
from leftout.reproduce.known import STUDENTS, Known, same_column
from leftout.reproduce.measured import SUPPORT, TOP_RULES, Mended, fall_together, top_features
from leftout.reproduce.verdicts import STATUSES, Line, judge, published

_TOP = 5
METHODS = {
    "greedy": "greedy (Algorithm 1)",
    "sorting_equal": "sorting, half (Algorithm 2)",
    "sorting_matched": "sorting, matched",
    "annealing": "annealing (Algorithm 3)",
    "ours": "alternating (ours)",
}


# The parts of the paper's numbers, by the first word of their pointers.
PARTS = {
    "setup": "set-up",
    "partition": "partitions",
    "stability": "agreement of runs",
    "mitigation": "Fair PCA",
    "feature_scores_percent": "feature scores",
    "rule_frequency_of_30": "columns in rules",
    "interaction_rules_of_30": "pairs in rules",
}


def partitions(results: Results, key: str) -> list[dict[str, Any]]:
    """The paper's tables of partitions: a line a method, both formulas."""
    lines = []
    for method, words in METHODS.items():
        theirs = published()["partition"][key].get(method)
        line: dict[str, Any] = {"method": method, "words": words, "published": theirs}
        for formula in FORMULAS:
            every = [s.formulas[formula.key] for s in results.samples[key]]
            losses, sizes = zip(*(quantities.sides(method, m) for m in every), strict=True)
            gaps = [quantities.disparity(method, m) for m in every]
            best = int(np.argmax(gaps[0]))
            if method == "sorting_matched":  # the one that matches the best of greedy
                greedy = every[0].found["greedy"]
                best = int(np.flatnonzero(sizes[0][:, 1] == greedy.sizes[greedy.best, 1])[0])
            line[formula.key] = {
                "losses": losses[0][best].tolist(),
                "sizes": sizes[0][best].astype(int).tolist(),
                "disparity": float(gaps[0][best]),
                "runs": len(gaps[0]),
                "on_this_sample": spread(gaps[0]),
                "on_all_samples": spread(np.concatenate(gaps)),
                "sizes_on_all_samples": [spread(np.concatenate(sizes)[:, side]) for side in (0, 1)],
            }
        lines.append(line)
    return lines


def stability(results: Results, key: str, formula: Formula) -> dict[str, Any]:
    """Epochs and agreement of runs on the first sample."""
    found = results.samples[key][0].formulas[formula.key].found
    greedy, shown = found["greedy"], found[formula.headline]
    within = greedy.within()
    return {
        "disparity_by_epoch": [run.tolist() for run in greedy.stability.epochs or []],
        "adjacent_epochs": [run[:-1].tolist() for run in within],
        "first_to_last_epoch": [float(run[-1]) for run in within],
        "agreement": spread(greedy.agreement()),
        "agreement_by_chance": float(np.median(greedy.agreement_by_chance())),
        "jaccard_of_left_out": spread(_pairs(greedy.stability.jaccard)),
        "jaccard_matrix": greedy.stability.jaccard.tolist(),
        "solver": formula.headline,
        "jaccard_of_left_out_by_solver": spread(_pairs(shown.stability.jaccard)),
        "jaccard_matrix_by_solver": shown.stability.jaccard.tolist(),
    }


def _pairs(jaccard: Any) -> Any:
    return jaccard[np.triu_indices(len(jaccard), 1)]


def scores(results: Results, known: Known, formula: Formula) -> dict[str, Any]:
    """The paper's scores, averaged over the runs on the first sample, and the leading features."""
    first = results.samples[known.key][0]
    every = first.formulas[formula.key].scores
    names = [str(name) for name in first.sample.X.columns]
    mean = {
        kind: np.mean([getattr(each, ours) for each in every], axis=0)
        for kind, ours in SCORES.items()
    }
    order = np.argsort(-mean["total"], kind="stable")
    return {
        "runs": len(every),
        "features": [
            {"feature": names[i], **{kind: float(mean[kind][i]) for kind in SCORES}} for i in order
        ],
        "top": {kind: top_features(every, names, ours, _TOP) for kind, ours in SCORES.items()},
    }


def published_scores() -> dict[str, Any]:
    rows = [
        {**row, "feature": same_column(row["feature"], STUDENTS)}
        for row in published()["feature_scores_percent"]
    ]
    top = {
        kind: [row["feature"] for row in sorted(rows, key=lambda row: -row[kind])[:_TOP]]
        for kind in SCORES
    }
    return {"features": rows, "top": top}


def rules(results: Results, key: str, formula: Formula) -> dict[str, Any]:
    """The paper's two tables of rules, on the first sample."""
    frequency = results.samples[key][0].formulas[formula.key].frequency
    return {
        "runs": frequency.runs,
        "top": TOP_RULES,
        "min_support": SUPPORT[formula.key],
        "variables": frequency.variables,
        "pairs": frequency.pairs[:200],
    }


def mitigation(
    names: tuple[str, str], at: Mended, across: list[Mended], theirs: dict[str, Any] | None
) -> dict[str, Any]:
    """Fair PCA for one partition under one formula."""
    return {
        "groups": list(names),
        "published": theirs,
        **_mended(at),
        "by_dimension": [{"n_components": d + 1, **_mended(m)} for d, m in enumerate(across)],
        "both_fall_at": fall_together(across),
    }


def _mended(found: Mended) -> dict[str, Any]:
    return {
        "sizes": found.sizes.tolist(),
        "before": found.before.tolist(),
        "after": found.after.tolist(),
        "gap": found.gap,
    }


def verdicts(lines: list[Line]) -> list[dict[str, Any]]:
    """The verdict on every published number, under both formulas."""
    every = []
    for line in lines:
        entry: dict[str, Any] = {
            "pointer": line.pointer, "part": PARTS[line.pointer.split("/")[1]],
            "what": line.words, "published": line.published, "given": line.given,
        }  # fmt: skip
        for formula in FORMULAS:
            entry[formula.key] = asdict(judge(line, line.ours.get(formula.key)))
        # the published numbers come from the paper's formula
        entry["verdict"] = entry[FORMULAS[0].key]["verdict"]
        entry["reason"] = entry[FORMULAS[0].key]["reason"]
        every.append(entry)
    return every


def counts(every: list[dict[str, Any]]) -> dict[str, Any]:
    """How many numbers have which verdict, settings aside: in all, and by part of the paper."""
    parts: dict[str, dict[str, dict[str, int]]] = {}
    for entry in every:
        if entry["given"]:
            continue
        part = entry["part"]
        for formula in FORMULAS:
            line = parts.setdefault(part, {}).setdefault(formula.key, dict.fromkeys(STATUSES, 0))
            line[entry[formula.key]["verdict"]] += 1
    total = {
        formula.key: {
            status: sum(part[formula.key][status] for part in parts.values()) for status in STATUSES
        }
        for formula in FORMULAS
    }
    given = [entry for entry in every if entry["given"]]
    return {"total": total, "parts": parts, "given": len(given)}
