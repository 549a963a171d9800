"""What a run teaches beyond the published numbers: measurements, and the sentences about them."""

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout import Trust, group_losses, trust
from leftout.data.columns import column_of
from leftout.explain import align, describe, disparity_by_feature
from leftout.groups.outcome import outcomes
from leftout.linalg.significance import describe_p
from leftout.running import collected_warnings
from leftout.text import counted
from paper.known import Known
from paper.measure import (
    DEFINITION,
    PAPER,
    Array,
    Formula,
    Sampled,
    components,
    cumulative_variance,
    known_groups,
    residuals,
    sorted_rows,
)
from paper.tables import Prepared, Sample

Data = dict[str, Any]

_LINES = 5
# Both losses under every centring.
_READINGS: list[Data] = [
    {"loss": loss, "centering": centering}
    for loss, centering in product(("projection_gap", "excess"), ("paper", "none", "global"))
]


def facts(prepared: Prepared, every: list[Sampled], rows: int) -> Data:
    """What is measured beyond the published numbers, about one data set."""
    known, first = prepared.known, every[0]
    X, d, mean = first.X, first.d, first.X.mean(axis=0)
    smallest = min(5 * X.shape[1], len(X) // 4)  # the paper's, but at most a quarter of the rows
    return {
        "min_group_size": smallest,
        "preparation": preparation(prepared, rows, [sample.seed for sample in every]),
        "ceiling": max(ceiling(s.X - s.X.mean(axis=0), d, smallest) for s in every),
        "ceiling_uncentred": max(ceiling(s.X, d, smallest) for s in every),
        "formulas_tried": [
            {**reading, "groups": known_losses(known, [s.sample for s in every], d, reading)}
            for reading in _READINGS
        ],
        "projection_moves": shared_projection_moves(first),
        "cuts": cuts(first, smallest),
        "centrings": centrings(first),
        "energy": {"mean": float(mean @ mean), "variance": float(X.var(axis=0).sum())},
    }


def spread(values: Any) -> dict[str, float]:
    """Range and median of some values."""
    low, median, high = np.quantile(np.asarray(values, dtype=np.float64), [0.0, 0.5, 1.0])
    return {"low": float(low), "median": float(median), "high": float(high)}


def spreads(sides: Any) -> list[dict[str, float]]:
    """The same of both sides, from pairs of values."""
    return [spread(side) for side in np.transpose(sides)]


def ceiling(X: Array, d: int, smallest: int) -> float:
    """No partition with sides of this size has a larger disparity under the definition.

    ``X`` are the rows that PCA sees: about their means, or as they are.
    """
    V = np.linalg.svd(X, full_matrices=False)[2][:d]
    errors = np.sort(np.sum((X - X @ V.T @ V) ** 2, axis=1))[::-1]
    return float(errors[:smallest].mean())


def known_losses(known: Known, samples: list[Sample], d: int, reading: Data) -> Data:
    """Losses of the groups that the paper names, over samples."""
    found: dict[str, list[Array]] = {}
    for sample in samples:
        for name, groups in known_groups(known, sample.raw).items():
            losses = group_losses(sample.matrix, groups, d, **reading)
            found.setdefault(name, []).append(losses)
    return {name: spreads(each) for name, each in found.items()}


def shared_projection_moves(first: Sampled) -> float:
    """Largest entry by which the PCA of A and B together changes over the epochs of a run."""
    greedy = first.formulas[PAPER.key].found["greedy"]
    assert greedy.stability.epoch_labels is not None
    projections = []
    for labels in greedy.stability.epoch_labels[greedy.best]:
        rows = np.concatenate([first.X[labels == 0], first.X[labels == 1]])
        V = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][: first.d]
        projections.append(V.T @ V)
    return float(max(np.abs(P - projections[0]).max() for P in projections))


def centrings(first: Sampled) -> list[Data]:
    """The paper's best partition by every reading: what the mix of centrings is worth."""
    labels = first.formulas[PAPER.key].found["greedy"].group
    lines = []
    for reading in _READINGS:
        rest, group = group_losses(first.X, labels, first.d, **reading)
        lines.append({**reading, "losses": [rest, group], "disparity": group - rest})
    return lines


def cuts(first: Sampled, smallest: int) -> Data:
    """Sorting at the half against the best cut, by the definition and by plain residuals."""
    measured = first.formulas[DEFINITION.key]
    errors = np.sort(residuals(first.X, first.d, DEFINITION))[::-1]
    m = len(errors)
    head = np.cumsum(errors)
    sizes = np.arange(smallest, m - smallest + 1)
    gaps = head[sizes - 1] / sizes - (head[-1] - head[sizes - 1]) / (m - sizes)
    best = int(np.argmax(gaps))
    return {
        "half": measured.half.disparity,
        "best": measured.cut.disparity,
        "best_rows": int(measured.cut.sizes[0]),
        "residuals_half": float(gaps[m // 2 - smallest]),
        "residuals_best": float(gaps[best]),
        "residuals_best_rows": int(sizes[best]),
    }


def preparation(prepared: Prepared, rows: int, seeds: list[int]) -> list[Data]:
    """Encoding before and after rows are drawn: what of the published numbers comes out?"""
    known, lines = prepared.known, []
    for order in ("encoded, then drawn", "drawn, then encoded"):
        first = order.startswith("encoded")
        samples = [prepared.sample(rows, seed, encode_first=first) for seed in seeds]
        chosen = [components(cumulative_variance(sample.matrix)) for sample in samples]
        d = known.n_components or chosen[0]
        half = [sorted_rows(sample.matrix, d, PAPER, "half").losses for sample in samples]
        lines.append({
            "order": order,
            "n_components": chosen,
            "half": spreads(half),
            "known_groups": known_losses(known, samples, d, PAPER.options),
        })  # fmt: skip
    return lines


def who(known: Known, sample: Sample, labels: NDArray[Any], d: int, formula: Formula) -> Data:
    """A group in words: a sentence, the columns it looks like, the features, the outcome."""
    raw, drop = sample.raw, [known.target]
    codes = [*known.categories, *known.codes]
    sentence = describe(raw, labels, categorical=codes, drop=drop)
    parts = disparity_by_feature(sample.X, labels, d, **formula.options)
    order = np.argsort(-parts, kind="stable")[:_LINES]
    target = column_of(raw[known.target], known.target)
    (outcome,) = outcomes(target, labels == 1, known.positive)
    return {
        "rows": int(labels.sum()),
        "sentence": str(sentence),
        "f1": sentence.f1,
        "looks_like": [
            {"text": str(line), "strength": line.strength}
            for line in align(raw, labels, categorical=codes, drop=drop)[:_LINES]
        ],
        "features": [
            {"feature": str(sample.X.columns[i]), "share": float(parts[i] / parts.sum())}
            for i in order
        ],
        "outcome": str(outcome),
    }


def believed(known: Known, first: Sampled, chance: int, n_jobs: int | None, progress: Any) -> Data:
    """The definition's group at the size with the most evidence, and whether it is real."""
    search = DEFINITION.search(first.d, "alternating", first.seed, n_jobs)
    with collected_warnings():  # of a smallest size above a quarter of few rows
        found: Trust = trust(
            search, first.X, group_size="evidence", n_surrogates=chance,
            n_restarts=0, progress=progress,
        )  # fmt: skip
    return {
        "rows": found.group_size,
        "disparity": found.disparity,
        "by_chance": found.by_chance,
        "p_value": found.p_value,
        "beyond_chance": found.beyond_chance,
        "chance_tables": chance,
        "held_out": None if found.held_out is None else found.held_out.gap.value,
        "who": who(known, first.sample, found.partition.labels_, first.d, DEFINITION),
    }


def lessons(data: Data) -> list[str]:
    """About one data set."""
    return [
        *_preparation(data),
        *(say(data) for say in (_reach, _centring, _projection, _sorting, _fall, _searches)),
        *_who(data),
    ]


def headline(counts: Data) -> str:
    """How many published numbers came out, in one sentence."""
    paper, definition = counts["total"]["paper"], counts["total"]["definition"]
    judged = sum(paper.values()) - paper["not run"]
    return (
        f"Of {judged} published numbers that are not settings, {paper['reproduced']} come out "
        "by the formula of the paper's Algorithm 1, with components of centred rows applied to "
        f"rows that are not centred; {paper['same direction']} more agree in direction and "
        f"{paper['not reproduced']} do not. By its Definition 2.2 about the column means it is "
        f"{definition['reproduced']}, {definition['same direction']} and "
        f"{definition['not reproduced']}."
    )


def _preparation(data: Data) -> list[str]:
    published = data["published_n_components"]
    if published is None:
        return []
    first, second = data["preparation"]
    times = [sum(d == published for d in line["n_components"]) for line in (first, second)]
    total = len(first["n_components"])
    return [
        f"Order: with columns encoded on all rows before any are drawn, the published "
        f"{published} components come out on {times[0]} of {total} samples; with rows drawn first, "
        f"as the paper says, on {times[1]}."
    ]


def _partition(data: Data, method: str) -> Data:
    return next(line for line in data["partitions"] if line["method"] == method)


def _reach(data: Data) -> str:
    greedy = _partition(data, "greedy")
    published, ours = greedy["published"]["delta"], greedy["paper"]["on_all_samples"]
    text = (
        f"Formula: with the paper's formula, greedy reaches {ours['low']:.2f} to "
        f"{ours['high']:.2f} (published: {published:.2f}). By the definition, on none of our "
        f"samples does a partition with at least {data['min_group_size']} rows on a side exceed "
        f"{data['ceiling']:.3f} (certified; {data['ceiling_uncentred']:.3f} without any centring), "
    )
    if published > data["ceiling"]:
        return text + "so the published disparity cannot come from it."
    return text + "which the published disparity does not exceed."


def _centring(data: Data) -> str:
    gap = {(line["loss"], line["centering"]): line["disparity"] for line in data["centrings"]}
    energy = data["energy"]
    return (
        f"Centring: the best partition of greedy has a disparity of "
        f"{gap['projection_gap', 'paper']:.3f} with components of centred rows applied to rows "
        f"that are not centred. The very same groups have {gap['projection_gap', 'global']:.3f} by "
        f"that formula with centred rows, and {gap['excess', 'global']:.3f} by the definition. For "
        f"comparison: the mean row has a squared length of {energy['mean']:.2f}, all columns "
        f"together a variance of {energy['variance']:.2f}."
    )


def _projection(data: Data) -> str:
    return (
        "Shared projection: A and B together are always all rows. Over the epochs of a run the "
        f"entries of the shared projection change by at most {data['projection_moves']:.0e}: it "
        "does not co-adapt."
    )


def _sorting(data: Data) -> str:
    cuts = data["cuts"]
    return (
        f"Sorting: by the definition, the cut at the half gives {cuts['half']:.4f}, the best cut "
        f"({cuts['best_rows']:,} rows) {cuts['best']:.4f}. For plain residuals it is "
        f"{cuts['residuals_half']:.4f} at the half and {cuts['residuals_best']:.4f} at "
        f"{cuts['residuals_best_rows']:,} rows."
        + " The half is not the optimum."
        * (cuts["best"] > cuts["half"])
    )


def _fall(data: Data) -> str:
    parts = []
    for each in data["mitigation"].values():
        name = " and ".join(each["paper"]["groups"])
        total = len(each["definition"]["by_dimension"])
        both = {key: len(each[key]["both_fall_at"]) for key in ("paper", "definition")}
        parts.append(
            f"{name}: at {both['paper']} of {total} with the paper's formula, "
            f"at {both['definition']} by the definition"
        )
    return (
        "Fair PCA: numbers of components at which both groups' losses fall together. "
        + "; ".join(parts)
        + ". Ordinary PCA minimises the size-weighted sum of the definition's losses, so there it "
        "cannot happen."
    )


def _searches(data: Data) -> str:
    text = []
    for key, words in (("definition", "By the definition"), ("paper", "with the paper's formula")):
        found = {m: _partition(data, m)[key] for m in ("ours", "greedy", "annealing")}
        text.append(
            f"{words} ours finds {found['ours']['disparity']:.4g}, greedy "
            f"{found['greedy']['disparity']:.4g} (the best of "
            f"{counted(found['greedy']['runs'], 'run')}) and annealing "
            f"{found['annealing']['disparity']:.4g} (of {found['annealing']['runs']})"
        )
    return "Searches: " + "; ".join(text) + "."


def _who(data: Data) -> list[str]:
    who, evidence = data["who"], data["evidence"]
    lines = [
        f"Who, {words} ({who[key]['rows']:,} rows): {who[key]['sentence']} "
        f"(F1 {who[key]['f1']:.2f})."
        for key, words in (
            ("paper", "with the paper's formula"),
            ("definition", "by the definition at the smallest size"),
        )
    ]
    if evidence is not None:
        beyond = "beyond" if evidence["beyond_chance"] else "not beyond"
        least = 1.0 / (1 + evidence["chance_tables"])
        p = describe_p(evidence["p_value"])
        if evidence["p_value"] <= least:
            p += f", the least that {evidence['chance_tables']} comparison tables allow"
        lines.append(
            f"Who, at the size with the most evidence ({evidence['rows']:,} rows): "
            f"{evidence['who']['sentence']} (F1 {evidence['who']['f1']:.2f}); "
            f"{evidence['who']['outcome']}. Disparity {evidence['disparity']:.4g}, in tables "
            f"with the same values {evidence['by_chance']:.4g}: {beyond} these ({p})."
        )
    return lines
