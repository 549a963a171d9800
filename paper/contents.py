"""From what was measured to plain data: every table of the paper, ours beside theirs."""

from dataclasses import asdict
from typing import Any

import numpy as np

from paper.compare import SCORES, Results, compared, disparity, sides
from paper.known import STUDENTS, same_column
from paper.lessons import spread, spreads
from paper.measure import FORMULAS, Formula, Mended, Sampled, pairs
from paper.verdicts import STATUSES, judge, published

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


def partitions(key: str, samples: list[Sampled]) -> list[dict[str, Any]]:
    """The paper's tables of partitions: one line per method, both formulas."""
    lines = []
    for method, words in METHODS.items():
        theirs = published()["partition"][key].get(method)
        line: dict[str, Any] = {"method": method, "words": words, "published": theirs}
        for formula in FORMULAS:
            every = [s.formulas[formula.key] for s in samples]
            losses, sizes = zip(*(sides(method, m) for m in every), strict=True)
            gaps = [disparity(method, m) for m in every]
            best = int(np.argmax(gaps[0]))
            if method == "sorting_matched":  # the one that matches the best of greedy
                greedy = every[0].found["greedy"]
                best = int(np.flatnonzero(sizes[0][:, 1] == greedy.sizes[greedy.best, 1])[0])
            line[formula.key] = {
                "losses": losses[0][best].tolist(),
                "sizes": sizes[0][best].astype(int).tolist(),
                "disparity": gaps[0][best],
                "runs": len(gaps[0]),
                "on_this_sample": spread(gaps[0]),
                "on_all_samples": spread(np.concatenate(gaps)),
                "sizes_on_all_samples": spreads(np.concatenate(sizes)),
            }
        lines.append(line)
    return lines


def stability(first: Sampled, formula: Formula) -> dict[str, Any]:
    """Epochs and agreement of runs."""
    found = first.formulas[formula.key].found
    greedy, shown = found["greedy"], found[formula.headline].jaccard()
    jaccard, within = greedy.jaccard(), greedy.within()
    return {
        "disparity_by_epoch": [run.tolist() for run in greedy.epochs],
        "adjacent_epochs": [run[:-1].tolist() for run in within],
        "first_to_last_epoch": [run[-1] for run in within],
        "agreement": spread(greedy.agreement()),
        "agreement_by_chance": np.median(greedy.agreement_by_chance()),
        "jaccard_of_left_out": spread(pairs(jaccard)),
        "jaccard_matrix": jaccard.tolist(),
        "solver": formula.headline,
        "jaccard_of_left_out_by_solver": spread(pairs(shown)),
        "jaccard_matrix_by_solver": shown.tolist(),
    }


def scores(first: Sampled, formula: Formula) -> dict[str, Any]:
    """The paper's scores, averaged over runs, and the leading features."""
    every = first.formulas[formula.key].scores
    rows = [{"feature": str(name)} for name in first.sample.X.columns]
    for kind, ours in SCORES.items():
        mean = np.mean([getattr(each, ours) for each in every], axis=0)
        for row, value in zip(rows, mean.tolist(), strict=True):
            row[kind] = value
    return {"runs": len(every), "features": _leading(rows, "total"), "top": _top(rows)}


def published_scores() -> dict[str, Any]:
    rows = [
        {**row, "feature": same_column(row["feature"], STUDENTS)}
        for row in published()["feature_scores_percent"]
    ]
    return {"features": rows, "top": _top(rows)}


def _leading(rows: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: -row[kind])


def _top(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The leading features by each of the scores."""
    return {kind: [row["feature"] for row in _leading(rows, kind)[:_TOP]] for kind in SCORES}


def rules(first: Sampled, formula: Formula) -> dict[str, Any]:
    """The paper's two tables of rules."""
    frequency = first.formulas[formula.key].frequency
    return {
        "runs": frequency.runs,
        "top": frequency.top,
        "min_support": formula.support,
        "variables": frequency.variables,
        "pairs": frequency.pairs[:200],
    }


def mitigation(
    names: tuple[str, str], at: Mended, across: list[Mended], theirs: dict[str, Any] | None
) -> dict[str, Any]:
    """Fair PCA for one partition under one formula."""
    return {
        "groups": names,
        "published": theirs,
        **_mended(at),
        "by_dimension": [{"n_components": d + 1, **_mended(m)} for d, m in enumerate(across)],
        "both_fall_at": fall_together(across),
    }


def _mended(found: Mended) -> dict[str, Any]:
    return {name: np.asarray(value).tolist() for name, value in asdict(found).items()}


def fall_together(lines: list[Mended]) -> list[int]:
    """Numbers of components at which the losses of both groups fall, by more than rounding."""
    slack = 1e-9
    return [
        d + 1
        for d, line in enumerate(lines)
        if np.all(line.after < line.before - slack * np.abs(line.before).max())
    ]


def verdicts(results: Results) -> list[dict[str, Any]]:
    """The verdict on every published number, under both formulas."""
    every = []
    for line in compared(results):
        judged = {f.key: asdict(judge(line, line.ours.get(f.key))) for f in FORMULAS}
        theirs = judged[FORMULAS[0].key]  # the published numbers come from the paper's formula
        every.append({
            "pointer": line.pointer,
            "part": PARTS[line.pointer.split("/")[1]],
            "what": line.words,
            "published": line.published,
            "given": line.given,
            **judged,
            "verdict": theirs["verdict"],
            "reason": theirs["reason"],
        })  # fmt: skip
    return every


def counts(every: list[dict[str, Any]]) -> dict[str, Any]:
    """How many numbers have which verdict, settings aside: in all, and by part of the paper."""
    judged = [line for line in every if not line["given"]]
    parts = {p: _tally([line for line in judged if line["part"] == p]) for p in PARTS.values()}
    return {"total": _tally(judged), "parts": parts, "given": len(every) - len(judged)}


def _tally(lines: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    found = {f.key: [line[f.key]["verdict"] for line in lines] for f in FORMULAS}
    return {key: {status: each.count(status) for status in STATUSES} for key, each in found.items()}
