"""The page: all of two groups as it is read; cells of one group by their values."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import cells
import known
import known_several
from golden import page_lines, page_of, same
from leftout.linalg.significance import Interval
from leftout.report import pages

FOUND = {"full": known.audit, "bare": known.bare, "several": known_several.audit}


def test_the_page():
    same("page", page_lines(known_several.audit()))


def test_whoever_swaps_two_groups_is_seen():
    """Numbers of one group never stand under another's name."""

    def named(swapped):
        lines = page_lines(known_several.audit(swapped))
        return [line for line in lines if "left-out group 1" in line or "group 2" in line]

    assert named(False) != named(True)


def test_the_answer_of_one_group():
    found = known.audit()
    lines = page_lines(found)
    assert (
        f"h1 {found.headline()}" in lines
        and "h2 How much variance the shared PCA keeps, and their own would" in lines
    )
    at = lines.index("dt Why")
    assert lines[at + 2 : at + 6] == [
        "[fill covariance, width: 35.4%] [fill values, width: 24.5%] [fill own, width: 40.1%]",
        "[key covariance] 0.207 covariance alone",
        "[key values] 0.143 rare or skewed values (income and colour)",
        "[key own] 0.234 structure of their own (colour and income)",
    ]
    asked = [line for line in lines if line.startswith("  code: ")]
    assert [line.split(" | ")[0] for line in asked] == [f"  code: {f.code}" for f in found.findings]


@pytest.mark.parametrize("name", FOUND)
def test_words_beside_numbers_lead_to_the_glossary(name):
    page, one = page_of(FOUND[name]()), name != "several"
    linked = set(re.findall(r'class="term" href="#([^"]+)"', page))
    assert {"term-covers", "term-parts", "term-gap", "term-shared", "term-own"} <= linked
    assert ({"term-verdict", "term-group", "term-loss", "term-ceiling"} <= linked) == one
    assert linked <= set(re.findall(r'<dt id="([^"]+)"', page))
    assert "term" not in pages.first_screen(FOUND[name]().to_dict()).split('"')


def test_what_costs_are_told_of_numbers():
    """Where numbers are predicted, errors are in the target's unit, not in per cent."""
    rest = Interval(-0.02, -0.03, -0.01)
    paid = known.harm("number", rest_back=rest, set_aside=0, missing=1, repeats=1)
    lines = page_lines(known.audit(harm=paid, prediction=known.compared(kind="number")))
    begin, end = lines.index("h2 What it costs them"), lines.index("h2 What can be done: Fair PCA")
    costs = [line for line in lines[begin:end] if line.startswith("  ")]
    assert costs and not any("%" in line or "points" in line for line in costs)
    assert any("R\u00b2: the shared PCA costs" in line for line in costs)


def test_parts_below_zero():
    """A bar has no room for them: they are told beside it."""
    lost = known.parts((0.407, -0.143, 0.034))
    lines = page_lines(known.audit(trust=known.trust(parts=lost)))
    at = lines.index("dt Why") + 2
    assert lines[at : at + 4] == [
        "[fill covariance, width: 92.3%] [fill values, width: 0.0%] [fill own, width: 7.7%]",
        "[key covariance] 0.407 covariance alone",
        "[key values] -0.143 rare or skewed values, taken off",
        "[key own] 0.034 structure of their own (colour and income)",
    ]
    carried = [line for line in lines if line.startswith("  part: [key values]")]
    assert carried == [
        "  part: [key values] rare or skewed values | loss: -0.143 | share: -48% | p: 0.025 | "
        "columns that carry it: \u2013"
    ]


def test_without_parts_nothing_is_said_of_them():
    lines = page_lines(known.audit(trust=known.trust(parts=None)))
    assert not any("[key covariance] 0" in line for line in lines)


@pytest.mark.parametrize("which", FOUND)
def test_cells_sort_by_the_number_they_show(which):
    numbers = cells.Page(page_of(FOUND[which]())).numbers
    assert len(numbers) > 40
    for shown, value in numbers:
        bare = shown.split(" (")[0].replace(",", "").removeprefix("< ").replace("%", " %")
        if value == "" or "less than" in shown:
            assert bare in ("\u2013", "") if value == "" else float(value) < 1e-9
            continue
        if re.fullmatch(r"\d{4}-\d\d-\d\d", bare):
            assert 0.0 <= float(value) / 86_400e6 - float(np.datetime64(bare).astype(int)) < 1.0
            continue
        number, *unit = bare.split()
        scale = 100.0 if unit in (["%"], ["points"]) else 1.0
        digits = len(number.partition(".")[2])
        close = 0.51 * 10.0**-digits
        if "0.0001" in shown:
            assert float(value) < 1e-4
        else:
            assert math.isclose(scale * float(value), float(number), abs_tol=close), (shown, value)


@pytest.mark.parametrize("which", FOUND)
def test_the_note_for_notebooks(which):
    found = FOUND[which]()
    lines = cells.Page(found._repr_html_()).lines
    text = "\n".join(lines)
    assert found.headline() in text
    for finding in found.findings:
        assert finding.code in text and finding.title in text
