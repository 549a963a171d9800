"""Figures read back: every bar, line and label of known numbers, in its colour and unit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import cells
import known
import known_paper
from leftout import MaxDisparityPartition, plots, report
from leftout.auditing.figures import figures_of
from leftout.report.figures import ALTERNATIVES, drawn
from paper import drawings as drawings_of
from paper.measure import DAYTIME, FORMULAS, FOUND, LOW
from test_reading import nothing, same


def plane():
    """Two sides in a plane: the rest along the first axis, the group along the second as well."""
    X = np.array([[4.0, 0, 0], [-4.0, 0, 0], [3.0, 0, 0], [1.0, 2, 0], [-1.0, -2, 0], [1.0, 0, 1]])
    found = MaxDisparityPartition(1, group_size=2, min_group_size=1, random_state=0).fit(X)
    return found, X


def figures():
    told, runs = known.explanation(), known.stability()
    swept = replace(runs, epochs=[np.array([0.1, 0.2 + i / 100]) for i in range(6)])
    alone = known.profile(chance={}, evidence_size=None)
    found, X = plane()
    yield "scree", plots.scree, ([0.41, 0.22, 0.12, 0.09], 3), {}
    yield "scree, top", plots.scree, ([0.41, 0.22, 0.12, 0.09], 2), {"top": 3}
    yield "profile", plots.profile, (known.profile(),), {}
    yield "profile, alone", plots.profile, (alone,), {}
    yield "jaccard", plots.jaccard, (runs,), {}
    yield "consensus", plots.consensus, (runs,), {}
    yield "epochs", plots.epochs, (swept,), {}
    yield "mitigation", plots.mitigation, (known.mitigation(),), {}
    yield "mitigation, top", plots.mitigation, (known.three_groups(),), {"top": 2}
    after = [known.afterwards(n_components=d, bound=0.4 - 0.01 * d) for d in (4, 2)]
    yield "worst by dimension", plots.worst_by_dimension, (after,), {}
    yield "trade-off", plots.trade_off, (known.trade_off(),), {}
    yield "rounds", plots.rounds, (known.minimax(),), {}
    yield "features", plots.disparity_by_feature, (told,), {"top": 4}
    yield "features, all", plots.disparity_by_feature, (told,), {"top": 30}
    yield "scores", plots.feature_scores, (told,), {"top": 3}
    yield "alignment", plots.alignment, (told,), {}
    yield "rules", plots.rules, (told,), {}
    yield "named groups", plots.named_groups, (known.named(),), {"top": 3}
    yield "known groups", plots.known_groups, (known.known_groups(),), {}
    yield "known groups, top", plots.known_groups, (known.known_groups(),), {"top": 1}
    yield "harm", plots.harm, (known.harm(),), {}
    yield "harm, numbers", plots.harm, (known.harm("number"),), {}
    across = known.harm(by_dimension=known.across())
    yield "harm by dimension", plots.harm_by_dimension, (across,), {}
    yield "plane", plots.plane, (found, X), {}
    yield "people", plots.people, (found, X), {}
    yield "parts", plots.parts, (known.parts(),), {}
    yield "parts, below zero", plots.parts, (known.parts((0.407, -0.143, 0.034)),), {}


def test_the_figures():
    lines = []
    for name, draw, given, options in figures():
        ax = draw(*given, Figure().subplots(), **options)
        lines += [f"# {name}", *cells.drawn(ax)]
    same("figures", lines)


def test_the_figures_of_the_paper():
    first = known_paper.sampled()
    dimensions = [first.formulas["paper"].mended[name] for name in (FOUND, DAYTIME, LOW)]
    drawings = drawings_of.of_sample("students", first)
    for formula, number in zip(FORMULAS, (5, 6), strict=True):
        given = (number, formula, dimensions, ("day", "evening"), 2)
        drawings[f"fair-{formula.key}"] = drawings_of.of_fair("credit", *given)
    lines = []
    for name, each in drawings.items():
        ax = Figure().subplots()
        each.draw(ax)
        lines += [f"# {name}", each.caption, each.alternative, *cells.drawn(ax)]
    same("figures_paper", lines)


def test_figures_of_the_page_are_the_figures():
    """Each name of the page draws what it says."""
    drawing = figures_of(known.audit())
    assert drawing.keys() >= ALTERNATIVES.keys() - {"sides"}
    titles = {name: draw(Figure().subplots()).get_title() for name, draw in drawing.items()}
    assert titles == {
        "people": "Every row's error, shared and own",
        "scree": "3 components keep 75 % of the variance",
        "profile": "Best disparity found, beside comparison tables",
        "features": "A disparity of 0.584, by feature",
        "scores": "The paper's scores (mean of 6 runs)",
        "alignment": "Which columns the group looks like",
        "known": "What is kept of known groups",
        "harm": "paid = yes predicted by logistic",
        "mitigation": "Losses before and after, by number of components",
    }


@pytest.mark.parametrize(
    ("colour", "name"),
    [
        (plots.LEFT_OUT, "var(--left)"),
        (plots.REST, "var(--rest)"),
        (plots.GREY, "var(--grey)"),
        (plots.QUIET, "var(--line)"),
        (plots.FAIR, "var(--fair)"),
    ],
)
def test_colours_of_figures_are_the_pages(colour, name):
    def draw(ax):
        nothing(ax)
        ax.barh([0], [1], color=colour)

    svg = str(drawn("x", draw, "A bar."))
    assert f"fill: {name}" in svg and svg.count("fill: var(") == 1


def test_colours_of_the_page_are_the_figures():
    style = (Path(report.__file__).parent / "templates" / "page.css").read_text(encoding="utf-8")
    light = style.split("@media")[0]
    for name, colour in (("left", plots.LEFT_OUT), ("rest", plots.REST), ("fair", plots.FAIR)):
        assert f"--{name}: {colour};" in light
    assert ".cards .left { color: var(--left); }" in style
    for which, name in ((".bar .fill", "rest"), (".bar .fill.left", "left")):
        rule = style.split(f"{which} {{")[1].split("}")[0]
        assert f"background: var(--{name})" in rule
    # what was not looked at looks like no answer
    dashed = ".status.not-applicable, .status.not-run { color: var(--grey); border-style: dashed;"
    assert dashed in style and ".status.found { font-weight: 600;" in style
