"""Figures read back: every bar, line and label of known numbers, in its colour and unit."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

import cells
import known
import known_several
from golden import same
from leftout import plots, report

TITLES = {
    "null test": "The same search in surrogates",
    "trade-off": "What protecting the worst off costs",
    "features": "A disparity of 0.584, by feature",
    "features, all": "A disparity of 0.584, by feature",
    "alignment": "Which columns the group looks like",
    "known groups": "What is kept of known groups",
    "known groups, top": "What is kept of known groups",
    "harm": "paid = yes predicted by logistic",
    "harm, numbers": "income predicted by ridge",
    "parts": "Why they lose 0.584 more than the rest",
    "parts, below zero": "Why they lose 0.298 more than the rest",
}


def figures():
    told = known.explanation()
    yield "null test", plots.null_test, (known.trust(),), {}
    yield "trade-off", plots.trade_off, (known.trade_off(),), {}
    yield "features", plots.disparity_by_feature, (told,), {"top": 4}
    yield "features, all", plots.disparity_by_feature, (told,), {"top": 30}
    yield "alignment", plots.alignment, (told,), {}
    yield "known groups", plots.known_groups, (known.known_groups(),), {}
    yield "known groups, top", plots.known_groups, (known.known_groups(),), {"top": 1}
    yield "harm", plots.harm, (known.harm(),), {}
    yield "harm, numbers", plots.harm, (known.harm("number"),), {}
    yield "parts", plots.parts, (known.parts(),), {}
    yield "parts, below zero", plots.parts, (known.parts((0.407, -0.143, 0.034)),), {}


def test_the_figures():
    found, lines = known_several.audit(), []
    told = [group.explanation for group in found.left_out_groups]
    for name, draw, given, options in (
        ("features-1", plots.disparity_by_feature, told[0], {}),
        ("alignment-1", plots.alignment, told[0], {}),
        ("features-2", plots.disparity_by_feature, told[1], {}),
        ("alignment-2", plots.alignment, told[1], {}),
        ("known", plots.known_groups, found.known, {"top": 14}),
    ):
        lines += [f"# {name}", *cells.drawn(draw(given, Figure().subplots(), **options))]
    same("figures", lines)


@pytest.mark.parametrize("name", [name for name, *_ in figures()])
def test_every_figure_has_its_title(name):
    draw, given, options = next(each[1:] for each in figures() if each[0] == name)
    ax = draw(*given, Figure().subplots(), **options)
    assert ax.get_title() == TITLES[name] and cells.drawn(ax)


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
