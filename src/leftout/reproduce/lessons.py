"""What a run shows, in sentences: every one of them has its numbers from the run."""

from __future__ import annotations

from typing import Any

from leftout.wording import counted

Data = dict[str, Any]


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
        f"Of {judged} published numbers that are no settings, {paper['reproduced']} are reproduced "
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
        f"Who, with the paper's formula ({who['paper']['rows']:,} rows): "
        f"{who['paper']['sentence']} (F1 {who['paper']['f1']:.2f}).",
        f"Who, by the definition at the smallest size ({who['definition']['rows']:,} rows): "
        f"{who['definition']['sentence']} (F1 {who['definition']['f1']:.2f}).",
    ]
    if evidence is not None:
        beyond = "beyond chance" if evidence["beyond_chance"] else "not beyond chance"
        least = 1.0 / (1 + evidence["chance_tables"])
        p = f"p = {evidence['p_value']:.2g}"
        if evidence["p_value"] <= least:
            p += f", the least that {evidence['chance_tables']} chance tables allow"
        lines.append(
            f"Who, at the size with the most evidence ({evidence['rows']:,} rows): "
            f"{evidence['who']['sentence']} (F1 {evidence['who']['f1']:.2f}); "
            f"{evidence['who']['outcome']}. Disparity {evidence['disparity']:.4g}, by chance "
            f"{evidence['by_chance']:.4g}: {beyond} ({p})."
        )
    return lines
