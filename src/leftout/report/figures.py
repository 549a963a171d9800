"""Figures as SVG inside a page, and what each shows in words for those who do not see it.

Text stays text, and colours follow the page's.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from io import StringIO
from threading import Lock
from typing import Any

from markupsafe import Markup, escape

from leftout import plots
from leftout.evidence.evidence_text import SURROGATE_NAMES
from leftout.text import as_name, listed, number

Data = Mapping[str, Any]
# Columns and groups that a text names.
_IN_TEXT = 5

# Colours that figures are drawn in, and what the page calls them.
_INK = "#010203"
_COLOURS = {
    _INK: "currentColor",
    "#000000": "currentColor",
    "#b5402a": "var(--left)",
    "#3a6ea5": "var(--rest)",
    "#8a8a8a": "var(--grey)",
    "#cccccc": "var(--line)",
    "#1b7f5c": "var(--fair)",
}
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "leftout",
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
}
_SIZE = (5.6, 3.7)
# Figures with many long names are taller, one with few lines is lower.
_SIZES = {"known": (5.6, 5.2), "sides": (5.6, 2.6)}
# Matplotlib's style is the process's: one figure at a time.
_DRAWING = Lock()
_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}
# Shares of the variance to list, and groups to draw.
SCREE, _DRAWN = 50, 14


def figures_of(audit: Any) -> dict[str, Any]:
    """What draws each figure of an audit's report; a group's own end in its number."""
    alone, trust = audit.alone, audit.trust
    found: dict[str, Any] = {"sides": partial(plots.sides, audit.partition)}
    if alone:
        found = {"people": partial(plots.people, audit.looked_at, audit.intake.X)}
    found["mitigation"] = partial(plots.mitigation, audit.mitigation)
    if audit.partition.representation is None:  # of others, components that are dropped are unknown
        kept = audit.partition.n_components_
        found["scree"] = partial(plots.scree, audit.scree[:SCREE], kept)
    for group in audit.left_out_groups:
        mark, told = "" if alone else f"-{group.label}", group.explanation
        found[f"features{mark}"] = partial(plots.disparity_by_feature, told)
        found[f"alignment{mark}"] = partial(plots.alignment, told)
    if audit.known is not None and audit.known.measured:
        found["known"] = partial(plots.known_groups, audit.known, top=_DRAWN)
    if not alone:
        return found
    found["scores"] = partial(plots.feature_scores, audit.explanation)
    if trust is not None:
        found["profile"] = partial(plots.profile, trust.profile)
    if audit.harm is not None:
        found["harm"] = partial(plots.harm, audit.harm)
    return found


def drawn(name: str, draw: Callable[[Any], Any], alternative: str) -> Markup:
    """One figure, with a text for those who do not see it."""
    image = svg(draw, STYLE, _SIZES.get(name, _SIZE))
    image = image[image.index("<svg") :]
    image = re.sub(r"<metadata>.*?</metadata>", "", image, flags=re.DOTALL)
    image = _apart(image, name)
    for colour, ours in _COLOURS.items():
        image = image.replace(colour, ours)
    viewed = re.search(r'viewBox="[^"]+"', image)
    assert viewed is not None
    label = f"{name}-text"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'{viewed.group()} role="img" aria-labelledby="{label}">'
        f'<title id="{label}">{escape(alternative)}</title>'
    )
    return Markup(head + image[image.index(">") + 1 :])


def svg(draw: Callable[[Any], Any], style: Any, size: tuple[float, float] = _SIZE) -> str:
    """A figure as SVG, in a style."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    buffer = StringIO()
    with _DRAWING, rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        figure.savefig(buffer, format="svg", metadata=_NO_METADATA)
    return buffer.getvalue()


def _apart(svg: str, name: str) -> str:
    """Several figures share a page: each has names of its own."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    return re.sub(r'xlink:href="#([^"]+)"', rf'xlink:href="#{name}-\1"', svg)


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
            f" Band: in {SURROGATE_NAMES[kind]} it falls from {start} at {known[0]['size']:,} to "
            f"{end} at {known[-1]['size']:,} on average."
        )
    return text


def shares_by_column(data: Data) -> dict[str, float]:
    """What the features of each column add to the disparity together, as a share of it."""
    parts: dict[str, float] = {}
    for line in data["explanation"]["disparity_by_feature"]:
        parts[line["column"]] = parts.get(line["column"], 0.0) + (line["share"] or 0.0)
    return parts


def _features(data: Data) -> str:
    parts = shares_by_column(data)
    most = sorted(parts, key=lambda name: -abs(parts[name]))[:_IN_TEXT]
    named = [f"{as_name(name)} {100 * parts[name]:.0f} %" for name in most]
    return f"Bars: what each column adds to the disparity, or takes from it: {listed(named)}."


def _scores(data: Data) -> str:
    lines = data["explanation"]["feature_scores"]
    most = sorted(lines, key=lambda line: -line["difference"])[:_IN_TEXT]
    named = [
        f"{as_name(line['feature'])} {line['left_out']:.1f} against {line['rest']:.1f}"
        for line in most
    ]
    return f"Pairs of bars: the paper's scores, left-out group against rest: {listed(named)}."


def _alignment(data: Data) -> str:
    named = [
        f"{line['text']} {line['strength']:.2f}"
        for line in data["explanation"]["alignment"][:_IN_TEXT]
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
    most = sorted(lines, key=lambda line: -(line["retained_own"] - line["retained"]))[:_IN_TEXT]
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
    "sides": _sides, "people": _people, "scree": _scree, "profile": _profile,
    "features": _features, "scores": _scores, "alignment": _alignment, "known": _known,
    "harm": _harm, "mitigation": _mitigation,
}  # fmt: skip
