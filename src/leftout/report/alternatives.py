"""What each figure shows, in words, for those who do not see it."""

from collections.abc import Callable, Mapping
from typing import Any

from leftout.evidence.evidence_text import SURROGATE_NAMES as TABLES
from leftout.text import as_name, listed, number

_NAMED = 5
Data = Mapping[str, Any]


def _shared(data: Data) -> str:
    """What all rows share: PCA, or what was given."""
    return str(data["pca"]["representation"]["name"])


def _scree(data: Data) -> str:
    kept, shares = data["pca"]["n_components"], data["pca"]["scree"]
    return (
        f"Bars: share of the variance of each component, falling from {100 * shares[0]:.0f} %. The "
        f"first {kept} are kept, {100 * sum(shares[:kept]):.0f} % together."
    )


def _people(data: Data) -> str:
    rest, group = data["partition"]["retained"]
    return (
        f"Points: every row's error under the shared {_shared(data)}, and under the group's own. "
        f"The shared one keeps {100 * group:.0f} % of the left-out group's variance and "
        f"{100 * rest:.0f} % of the rest's."
    )


def _sides(data: Data) -> str:
    each = [
        f"left-out group {group['label']} {100 * group['retained']:.0f} % and "
        f"{100 * group['retained_own']:.0f} %"
        for group in data["groups"]
    ]
    kept, own = data["partition"]["retained"][0], data["partition"]["retained_own"][0]
    each.append(f"the rest {100 * kept:.0f} % and {100 * own:.0f} %")
    return (
        f"Pairs of points: share of each side's variance that the shared {_shared(data)} keeps, "
        f"and that its own would: {listed(each)}."
    )


def _profile(data: Data) -> str:
    lines = data["profile"]
    text = (
        f"Line: the best disparity falls from {number(lines[0]['disparity'])} at "
        f"{lines[0]['size']:,} rows to {number(lines[-1]['disparity'])} at {lines[-1]['size']:,}."
    )
    for kind in data["trust"]["chance"]:
        known = [line for line in lines if kind in line["chance"]]
        start, end = (number(line["chance"][kind]["mean"]) for line in (known[0], known[-1]))
        text += (
            f" Band: in {TABLES[kind]} it falls from {start} at {known[0]['size']:,} to {end} at "
            f"{known[-1]['size']:,} on average."
        )
    return text


def _features(data: Data) -> str:
    parts: dict[str, float] = {}
    for line in data["explanation"]["disparity_by_feature"]:
        parts[line["column"]] = parts.get(line["column"], 0.0) + (line["share"] or 0.0)
    most = sorted(parts, key=lambda name: -abs(parts[name]))[:_NAMED]
    named = [f"{as_name(name)} {100 * parts[name]:.0f} %" for name in most]
    return f"Bars: what each column adds to the disparity, or takes from it: {listed(named)}."


def _scores(data: Data) -> str:
    lines = data["explanation"]["feature_scores"]
    most = sorted(lines, key=lambda line: -line["difference"])[:_NAMED]
    named = [
        f"{as_name(line['feature'])} {line['left_out']:.1f} against {line['rest']:.1f}"
        for line in most
    ]
    return f"Pairs of bars: the paper's scores, left-out group against rest: {listed(named)}."


def _alignment(data: Data) -> str:
    named = [
        f"{line['text']} {line['strength']:.2f}"
        for line in data["explanation"]["alignment"][:_NAMED]
    ]
    return f"Bars: how far columns agree with the group, most first: {listed(named)}."


def _mitigation(data: Data) -> str:
    lines = data["mitigation"]["by_dimension"]
    here = next(x for x in lines if x["n_components"] == data["mitigation"]["n_components"])
    each = [
        f"{number(line['max_loss_before'])} before and {number(line['max_loss_after'])} after with "
        f"{line['n_components']}"
        for line in (lines[0], here, lines[-1])
    ]
    larger = "larger of the two" if len(here["losses_before"]) == 2 else "largest of the"
    return f"Lines: the {larger} losses by the number of components: {listed(each)}."


def _known(data: Data) -> str:
    lines = [line for line in data["known"] if not line["too_small"]]
    most = sorted(lines, key=lambda line: -(line["retained_own"] - line["retained"]))[:_NAMED]
    named = [
        f"{line['text']} {100 * line['retained']:.0f} % and {100 * line['retained_own']:.0f} %"
        f"{', left out' * line['left_out']}"
        for line in most
    ]
    return (
        "Pairs of points: share of each known group's variance that the shared "
        f"{_shared(data)} keeps, and that its own would, furthest apart first: {'; '.join(named)}."
    )


def _harm(data: Data) -> str:
    found = data["harm"]
    lines = [line for line in found["figures"] if line["model"] == found["models"][0]]
    called = {"shared PCA": f"shared {_shared(data)}"}
    each = [
        f"{line['side']}, {called.get(line['variant'], line['variant'])}: "
        f"{_error(line['measures']['error']['value'], found)}"
        for line in lines
    ]
    return f"Points on each side, with intervals: errors of predictions. {'; '.join(each)}."


def _error(value: float, found: Data) -> str:
    if found["kind"] == "number":
        return number(value, found["scale"])
    return f"{100 * value:.1f} %"


ALTERNATIVES: dict[str, Callable[[Data], str]] = {
    "sides": _sides,
    "people": _people,
    "scree": _scree,
    "profile": _profile,
    "features": _features,
    "scores": _scores,
    "alignment": _alignment,
    "known": _known,
    "harm": _harm,
    "mitigation": _mitigation,
}
