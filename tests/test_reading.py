"""What people read, all of it, with known numbers: each in its cell, its unit and its words.

Page, terminal, sentences and data of the results in :mod:`known` are compared as a whole
with the files in ``read``, where every cell stands beside the name of its column. ``make golden``
writes them anew: what is new there has to be true of the numbers in :mod:`known`.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import cells
import known
import known_paper
from leftout import __version__, report
from leftout.auditing.answer import headline as headline_of
from leftout.cli import terminal
from leftout.data.conditions import Condition
from leftout.evidence.stability import Membership
from leftout.linalg.significance import Interval
from leftout.report.figures import ALTERNATIVES
from leftout.report.sections import sections
from paper.__main__ import show_reproduction
from paper.compare import Results, compared
from paper.lessons import headline, lessons
from paper.reproduction import page
from paper.verdicts import Against, Line, Ours, judge

READ = Path(__file__).parent / "read"


def same(name, lines):
    """Compare line by line with a file: the difference shows which cell is another."""
    path, read = READ / f"{name}.txt", [line.rstrip() for line in lines]
    if os.environ.get("LEFTOUT_GOLDEN") == "write":
        path.write_text("\n".join(read) + "\n", encoding="utf-8")
    assert read == path.read_text(encoding="utf-8").splitlines()


def nothing(ax):
    ax.axis("off")


def page_of(found):
    data = found.to_dict()
    told = {"pca", "explanation", "mitigation"} | {key for key in data if data[key]}
    needs = {"profile": "profile", "agreement": "stability", "consensus": "stability"}
    needs |= {"known": "known", "harm": "harm", "parts": "parts"}
    names = [name for name in ALTERNATIVES if needs.get(name, "pca") in told]
    if not data["explanation"]["alignment"]:
        names.remove("alignment")
    return report.page(data | {"versions": {"python": "0.0"}}, dict.fromkeys(names, nothing))


def versionless(text):
    return text.replace(f"leftout {__version__}", "leftout VERSION")


def predicted():
    """An audit in which numbers are predicted, and a side pays for the other."""
    rest = Interval(-0.02, -0.03, -0.01)
    paid = known.harm("number", rest_back=rest, set_aside=0, missing=1, repeats=1)
    return known.audit(harm=paid, prediction=known.compared(kind="number"))


GAPS = Condition("income", "missing", "income is missing")
FOUND = {"full": known.audit, "bare": known.bare}


@pytest.mark.parametrize("which", FOUND)
def test_the_page(which):
    same(f"page_{which}", map(versionless, cells.Page(page_of(FOUND[which]())).lines))


def test_the_page_on_numbers_that_are_predicted():
    lines = cells.Page(page_of(predicted())).lines
    begin, end = lines.index("h2 What it costs them"), lines.index("h2 What can be done: Fair PCA")
    same("page_harm", lines[begin:end])


def test_parts_below_zero_on_the_page():
    """A bar has no room for them: they are told beside it."""
    lost = known.parts((0.407, -0.143, 0.034))
    lines = cells.Page(page_of(known.audit(trust=known.trust(parts=lost)))).lines
    at = lines.index("dt Why") + 2
    assert lines[at : at + 4] == [
        "[fill cloud, width: 92.3%] [fill values, width: 0.0%] [fill own, width: 7.7%]",
        "[key cloud] 0.407 any cloud of this spread",
        "[key values] -0.143 rare or uneven values, taken off",
        "[key own] 0.034 a structure of their own (colour and income)",
    ]
    carried = [line for line in lines if line.startswith("  part: [key values]")]
    assert carried == [
        "  part: [key values] rare or uneven values | loss: -0.143 | share: -48 % | p: 0.025 | "
        "columns that carry it: \u2013"
    ]


def test_sizes_without_comparison_tables_on_the_page():
    chance = known.chance(
        sizes=np.array([617]), curves=np.full((39, 1), 0.25), p_values=np.array([0.026])
    )
    weighed = known.trust(profile=known.profile(chance={"copula": chance}), parts=None)
    lines = cells.Page(page_of(known.audit(trust=weighed))).lines
    none = "same values: \u2013 | p at this size: \u2013"
    assert [line for line in lines if line.startswith("  rows: ")][:3] == [
        f"  rows: 310 | disparity: 0.78 | ceiling: 0.98 | {none}",
        "  rows: 617 | disparity: 0.592 | ceiling: 0.74 | same values: 0.25 | "
        "p at this size: 0.026",
        f"  rows: 1,240 | disparity: 0.51 | ceiling: 0.655 | {none}",
    ]
    assert not any("[key cloud] 0" in line for line in lines)


def gists(data):
    return {section.name: section.gist for section in sections(data, [])}


def test_what_folded_sections_say_they_hold():
    data = known.audit().to_dict()
    untested = data["trust"] | {"verdict": None, "verdict_name": None}
    other = gists(
        data
        | {"harm": None, "named": [], "comparison": [], "held_out": None, "known_search": None}
        | {"trust": untested}
    )
    assert [other[name] for name in ("harm", "names", "real")] == [
        "How far the prediction that is there errs on either side",
        "None was found.",
        "Too few comparison tables to say.",
    ]
    assert "known" not in other and "algorithms" not in other
    assert gists(data | {"held_out": None})["real"] == (
        "A group of its own (40 % of the loss); tables with the same values: p = 0.025"
    )


def test_the_page_on_the_paper():
    same("page_paper", cells.Page(page(known_paper.reproduction(), {})).lines)


def test_the_lessons_of_the_paper():
    data = known_paper.learnt()
    less = {name: 0.05 for name in ("half", "best")} | {"residuals_half": 0.1}
    other = data | {
        "published_n_components": None,
        "ceiling": 5.44,
        "cuts": data["cuts"] | less,
        "evidence": data["evidence"] | {"p_value": 0.3, "beyond_chance": False},
    }
    counts = known_paper.reproduction()["counts"]
    lines = [headline(counts), "# usual", *lessons(data), "# otherwise", *lessons(other)]
    lines += ["# without evidence", *lessons(data | {"evidence": None})[-3:]]
    same("lessons", lines)


def test_each_published_number_beside_ours():
    """Which of our numbers each is compared with, and what both are larger or smaller than."""
    results = Results({key: [known_paper.sampled()] for key in ("students", "credit")}, 20)
    lines = []
    for line in compared(results):
        if not line.ours or re.search(r"_(percent|30)/([2-9]|\d\d)/", line.pointer):
            continue  # of long tables, two lines
        marks = " (a bound)" * line.bound + " (given)" * line.given
        lines.append(f"{line.pointer}: {line.words}{marks}: {line.published:g}")
        for formula, ours in line.ours.items():
            text = f"  {formula}, {ours.over}: {' '.join(f'{v:.4g}' for v in ours.values)}"
            if ours.against is not None:
                than = ours.against
                text += f" than {than.words}, {than.published:.4g} and {than.ours:.4g}"
            lines.append(text)
    same("compared", lines)


def test_the_reasons_of_verdicts():
    def reason(value, ours, than=None, decimals=2, **how):
        against = None if than is None else Against("the other", *than)
        line = Line("/x", "x", value, decimals, **how)
        found = judge(line, Ours(np.array(ours, dtype=float), "7 runs", against))
        ends = [found.low, found.median, found.high]
        return f"{value} beside {ours}: {found.verdict}. {found.reason} {ends}"

    lines = [
        reason(0.5, [0.1, 0.4, 0.9]),
        reason(0.52, [0.515]),
        reason(0.52, [0.5149]),
        reason(0.95, [0.1, 0.4, 0.9]),
        reason(0.05, [0.1, 0.4, 0.9], (0.01, 0.2)),
        reason(0.05, [0.1, 0.4, 0.9], (0.06, 0.5)),
        reason(0.95, [0.1, 0.4, 0.9], (0.96, 0.2)),
        reason(0.95, [0.1, 0.4, 0.9], (0.2, 0.4)),
        reason(0.3, [0.2, 0.4, 0.9], bound=True),
        reason(0.3, [0.2, 0.25, 0.9], bound=True),
        reason(0.1, [0.2, 0.25, 0.9], bound=True),
        reason(1258, [1_100, 1_200], decimals=0),
    ]
    same("verdicts", lines)


@pytest.mark.parametrize("which", FOUND)
def test_cells_sort_by_the_number_they_show(which):
    numbers = cells.Page(page_of(FOUND[which]())).numbers
    assert len(numbers) > 40
    for shown, value in numbers:
        bare = shown.split(" (")[0].replace("\u00a0", " ").replace(",", "").removeprefix("< ")
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
    same(f"note_{which}", cells.Page(FOUND[which]()._repr_html_()).lines)


def leaves(data, path=""):
    """Plain data as lines, one a leaf; lists of numbers or words are leaves."""
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from leaves(value, f"{path}.{key}" if path else key)
    elif isinstance(data, list) and any(isinstance(each, dict | list) for each in data):
        for place, value in enumerate(data):
            yield from leaves(value, f"{path}[{place}]")
    else:
        yield f"{path} = {json.dumps(rounded(data))}"


def rounded(data):
    if isinstance(data, list):
        return [rounded(value) for value in data]
    return float(f"{data:.9g}") if isinstance(data, float) else data


@pytest.mark.parametrize("which", FOUND)
def test_the_data(which):
    data = json.loads(FOUND[which]().json())
    aside = ("versions", "leftout_version")
    same(f"data_{which}", leaves({key: data[key] for key in data if key not in aside}))


def test_the_short_data():
    found = known.audit()
    whole, brief = json.loads(found.json()), json.loads(json.dumps(found.brief()))
    for key, value in brief.items():
        where = dict.fromkeys(("sentence", "outcome"), "explanation")
        evidence = ("p_value", "beyond_chance", "verdict", "cross_fitted", "membership")
        where |= dict.fromkeys(evidence, "trust")
        full = whole[where[key]][key] if key in where else whole[key]
        full = full[:6] if key == "named" else full
        if key == "groups":
            full = [{k: v for k, v in group.items() if k != "details"} for group in full]
        assert value == (
            full if key not in ("table", "mitigation", "harm") else {k: full[k] for k in value}
        )
    assert brief.keys() > {
        "partition",
        "findings",
        "named",
        "p_value",
        "outcome",
        "headline",
        "notes",
        "answer",
        "verdict",
        "parts",
    }


def test_the_rows():
    labels = np.array([0, 1, 0, 1, 0])
    shares = np.array([0.0625, 0.8, 0.875, 0.7999, 0.0])
    belongs = Membership(shares=shares, group=labels == 1, parts=16)
    found = known.audit(
        partition=known.partition(3, 2, labels_=labels),
        intake=known.intake(rows=np.array([4, 8, 15, 16, 23])),
        scores=np.array([-0.5, 1.5, -0.25, 2.5, 0.125]),
        trust=known.trust(membership=belongs),
        named=None,
    )
    assert found.csv() == (
        "row,group,score,belongs,membership\n4,rest,-0.5,rest,0.0625\n8,left out,1.5,member,0.8\n"
        "15,rest,-0.25,rest,0.875\n16,left out,2.5,borderline,0.7999\n23,rest,0.125,rest,0.0\n"
    )
    for unknown in (None, known.trust(membership=None)):
        assert found.each(trust=[unknown]).csv() == (
            "row,group,score\n4,rest,-0.5\n8,left out,1.5\n15,rest,-0.25\n16,left out,2.5\n"
            "23,rest,0.125\n"
        )


def on_terminal(show, *given):
    console = Console(file=io.StringIO(), width=140, legacy_windows=False)
    show(console, *given)
    return console.file.getvalue().splitlines()


REPRODUCED = {
    "headline": "11 of 16 numbers came out.",
    "counts": {
        "parts": {
            "table 1": {
                "paper": {
                    "reproduced": 11, "same direction": 12, "not reproduced": 13, "not run": 14,
                },
                "definition": {
                    "reproduced": 21, "same direction": 22, "not reproduced": 23, "not run": 24,
                },
            }
        }
    },
    "datasets": {
        "students": {
            "partitions": [
                {
                    "words": "greedy",
                    "published": {"delta": 3.25},
                    "paper": {"disparity": 3.5, "on_all_samples": {"low": 2.5, "high": 4.5}},
                    "definition": {"disparity": 1.5, "on_all_samples": {"low": 0.5, "high": 1.75}},
                },
                {
                    "words": "ours",
                    "published": None,
                    "paper": {"disparity": 5.5, "on_all_samples": {"low": 5.25, "high": 5.75}},
                    "definition": {"disparity": 2.5, "on_all_samples": {"low": 2.25, "high": 2.75}},
                },
            ],
            "lessons": ["Sizes: they differ."],
        }
    },
}  # fmt: skip


def many_known():
    """More groups than a terminal shows."""
    groups = [
        known.known_group(known.SEX, size=307 + i, p_value=0.01 * i, loss=0.2 - i / 100)
        for i in range(1, 10)
    ]
    return known.known_groups(groups=[*groups, *known.known_groups().too_small])


def three_sides():
    """Three groups, each beside all other rows; numbers of components as well."""
    names = {"left-out group": "north", "rest": "all others"}
    found = known.harm(by_dimension=known.across(), repeats=1, missing=0, new_rows=True)
    figures = [replace(line, side=names[line.side]) for line in found.figures]
    south = [replace(line, side="south", rows=417.0) for line in figures[:4]]
    other = known.cost(side="south", extra=Interval(-0.03, -0.05, -0.01))
    other = replace(other, cost=Interval(0.047, math.nan, math.nan))
    return replace(
        found, group="north", rest="all others", figures=[*figures[:4], *south, *figures[4:]],
        costs=[replace(found.costs[0], side="north"), replace(found.costs[1], side="north"), other],
    )  # fmt: skip


ON_TERMINAL = {
    "answer": lambda: on_terminal(terminal.show_audit, known.audit()),
    "full": lambda: on_terminal(terminal.show_audit, known.audit(), True),
    "bare": lambda: on_terminal(terminal.show_audit, known.bare(), True),
    "untested": lambda: on_terminal(
        terminal.show_audit, known.audit(named=known.named(False, complete=False, left=3.7)), True
    ),
    "groups": lambda: on_terminal(terminal.show_groups, known.named(False), many_known()),
    "groups_alone": lambda: on_terminal(terminal.show_groups, known.named(groups=[]), None),
    "fair": lambda: on_terminal(terminal.show_fair, known.mitigation(), known.columns(), ["side"]),
    "fair_three": lambda: on_terminal(
        terminal.show_fair, known.three_groups(), known.columns()[:1], ["sex", "town"]
    ),
    "fair_random": lambda: on_terminal(
        terminal.show_fair,
        replace(known.three_groups(), random=known.random_groups()),
        known.columns()[:1],
        ["sex", "town"],
    ),
    "harm": lambda: on_terminal(terminal.show_harm, known.harm(), None),
    "harm_groups": lambda: on_terminal(terminal.show_harm, three_sides(), known.compared()),
    "reproduction": lambda: on_terminal(show_reproduction, REPRODUCED),
}


@pytest.mark.parametrize("which", ON_TERMINAL)
def test_the_terminal(which):
    same(f"terminal_{which}", ON_TERMINAL[which]())


def sentences():
    """Results that word themselves, in every way that they have."""
    few = known.profile(chance={"copula": known.chance(tables=18)})
    none = known.profile(chance={}, evidence_size=None)
    apart = known.held_out(overlaps=((0.37, 0.33), (0.41, 0.35)))
    trusts = {
        "by the evidence": known.trust(),
        "given": known.trust(
            chosen="given", of_rows=None, membership=None, notes=[], p_drawn_in=None
        ),
        "a tenth": known.trust(chosen="tenth", of_rows=5_000, p_value=0.05, stability=None),
        "free": known.trust(chosen="free"),
        "no sharp group": known.trust(held_out=apart),
        "unusual values": known.trust(p_value=0.051, p_cloud=0.031),
        "unusual values, by tails": known.trust(p_drawn_in=0.051, p_cloud=0.031),
        "edge of the cloud": known.trust(p_value=0.3, p_cloud=0.23),
        "few tables": known.trust(profile=few, p_value=0.0526, p_drawn_in=None, parts=None),
        "no tables": known.trust(
            profile=none, p_value=None, p_drawn_in=None, parts=None, chosen="given"
        ),
        "no tables, no halves": known.trust(
            profile=none,
            p_value=None,
            p_drawn_in=None,
            parts=None,
            held_out=None,
            membership=None,
            chosen="given",
        ),
    }
    for name, found in trusts.items():
        yield f"trust, {name}", found.summary()
    for kind in ("copula", "gaussian"):
        yield f"trust, {kind}", known.trust().told_against(kind)
    yield "parts", known.parts().told
    yield "parts, below zero", known.parts((0.407, -0.143, 0.034)).told
    yield "held out", known.held_out().told
    yield "held out, nothing", known.held_out(0.013).told
    yield "held out, different rows", apart.told
    yield "membership", f"{known.membership().told} | {known.membership().told_short}"
    yield "comes back", known.returns().told
    for rest, group in ((8_743, 1_267), (9_979, 31)):
        fact = known.partition(rest, group).left_out_
        yield f"left out, {group} rows", f"{fact.told_fact} | {headline_of([fact], True)}"
    for name, runs in (
        ("several", known.stability()),
        ("one", known.stability(5, 0.55, (0.59, 0.41))),
    ):
        yield f"stability, {name}", f"{runs.told} {runs.told_several}"
    yield "left out", known.partition().left_out_.told
    yield "left out, less than the rest", known.partition(losses=(0.323, 0.317)).left_out_.told
    group = known.partition().left_out_
    yield "left out, numbers", f"{group.size} of {group.n_rows}, {group.share:.6f}"
    yield "explanation", known.explanation().summary()
    yield "explanation, bare", known.bare().explanation.summary()
    outcomes = [known.outcome((gap, gap - 0.1, gap + 0.1)) for gap in (0.1, -0.5, 0.2, 0.05, -0.3)]
    hidden = [known.hidden(0.01 * i, f"h{i}") for i in range(1, 6)]
    many = known.explanation(outcome=outcomes, alignment=hidden)
    yield "explanation, many", many.summary()
    yield "explanation, repr", repr(many)
    hardly = [known.hidden(0.01, left_out_share=0.55), known.hidden(0.2, "faith")]
    little = replace(known.alignment()[0], left_out_share=0.147)
    alike = [little, *known.alignment()[7:9], *hardly]
    none = known.explanation(alignment=alike, no_outcome=None)
    yield "explanation, small differences", none.summary()
    names = ["town", "age", "income"]
    conditions = (*known.sentence().conditions, GAPS)
    for name, parts in (("one", (0.184, 0.41, -0.01)), ("two", (-0.1, 0.764, -0.08))):
        sentence = known.sentence(conditions=conditions, joined=("or", "or"))
        told = known.explanation(
            sentence=sentence, features=names, sources=names, disparity_by_feature=np.array(parts)
        )
        yield f"sentence, {name} off", told.told_sentence
        poor = replace(told, sentence=replace(sentence, count=600))
        yield f"sentence, {name} off, no description", poor.told_sentence
    yield "sentence", known.sentence().told
    yield "sentence, no description", known.sentence(count=600).told
    conditions = known.sentence().conditions
    three = known.sentence(conditions=(*conditions, conditions[0]), joined=("and", "or"))
    yield "sentence, mixed", f"{three}"
    unknown = Interval(math.nan, math.nan, math.nan)
    lonely = Interval(0.25, math.nan, math.nan)
    for name, outcome in {
        "missing": known.no_outcome(),
        "rate": known.outcome(),
        "positive gap": known.outcome((0.46, 0.42, 0.49)),
        "mean": known.mean_outcome(),
        "unknown": known.outcome(unknown, left_out=unknown),
        "few": known.outcome(lonely),
    }.items():
        yield f"outcome, {name}", f"{outcome}; {outcome.shown}; {outcome.sides()}"
    even = replace(known.alignment()[1], difference=0.04, ks=0.227)
    last = replace(known.alignment()[6], difference=0.04, ks=0.227)
    full = replace(known.alignment()[2], known_differ=True)
    for line in (*known.alignment()[:7], even, last, full):
        yield "alignment", line.tested
    yield "rules", str(known.rules())
    two, three = known.mitigation(), known.three_groups()
    even = known.dimension(after=(0.2617, 0.2617))
    names = np.array(list("abcdefgh"))
    falls, rises = (0.9, *(0.1,) * 7), (0.5, *(0.2,) * 7)
    eight = known.fair(groups_=names, sizes_=np.arange(25, 33))
    for name, found in {
        "two": two,
        "two alike": replace(two, here=even),
        "two alike, at a gain": replace(two, here=replace(even, kept_after=0.76)),
        "paper": replace(two, fair=known.fair(centering="paper")),
        "paper, at a gain": replace(
            two,
            here=replace(even, kept_after=0.76),
            fair=known.fair(centering="paper"),
        ),
        "three": three,
        "random": replace(three, random=known.random_groups()),
        "random, all": replace(three, random=known.random_groups((0.03, 0.02, 0.01))),
        "random, nobody": replace(three, random=known.random_groups((0.3, 0.2, 0.1), 9)),
        "eight": replace(two, fair=eight, here=known.dimension(1, falls, rises)),
        "one": replace(two, fair=known.fair(groups_=np.array(["everybody"]))),
        "nothing": replace(two, here=known.dimension(before=(0.0, 1e-14))),
        "loosely": replace(two, fair=known.fair(gap_=0.05)),
        "not proved": replace(two, fair=known.fair(gap_=0.3)),
        "to zero": replace(two, fair=known.fair(max_loss_=0.0, gap_=0.0)),
        "to zero, not proved": replace(two, fair=known.fair(max_loss_=0.0, gap_=0.1)),
    }.items():
        yield f"mitigation, {name}", found.summary()
    few = [known.named_group(known.TOWN, why=known.why(p_cloud=0.2))]
    for name, found in {
        "beyond": known.named(),
        "not beyond": known.named(groups=few),
        "not judged": known.named(False),
        "not complete": known.named(False, complete=False, left=3.7),
        "none": known.named(groups=[]),
        "no names": known.named(groups=[], names=0),
        "one name": known.named(groups=few[:1], names=1, smallest=1),
        "none yet": known.named(groups=[], complete=False, left=3.7),
    }.items():
        yield f"named, {name}", found.summary()
        yield f"named, {name}, leading", found.told_leading
    yield "why", known.why().told
    yield "why, less than the rest", known.why(cloud=-0.217, values=-0.437).told
    yield "named, one row", str(known.named_group(known.TOWN, size=1))
    unlike = [replace(group, p_value=0.3) for group in known.known_groups().measured]
    for name, found in {
        "left out": known.known_groups(),
        "many": many_known(),
        "none": known.known_groups(groups=unlike),
        "odd columns": known.known_groups(groups=unlike, columns=["a\nb", ""]),
        "beyond random groups, but less than the rest": known.known_groups(
            groups=[replace(unlike[0], p_value=0.01, loss=0.0), *unlike[1:]]
        ),
        "few permutations": known.known_groups(groups=unlike, permutations=9),
        "no permutations": known.known_groups(groups=unlike, permutations=0),
        "too small": known.known_groups(groups=known.known_groups().too_small),
    }.items():
        yield f"known, {name}", found.summary()
        yield f"known, {name}, told", f"{found.told} | {found.told_count} | {found.told_small}"
    for name, found in {
        "two classes": known.harm(),
        "numbers": predicted().harm,
        "not shown": known.harm(extra=Interval(0.11, -0.01, 0.2), back=Interval(0.08, -0.01, 0.1)),
        "the rest pays": known.harm(extra=Interval(-0.05, -0.08, -0.02)),
        "little": known.harm(extra=Interval(0.004, 0.001, 0.007)),
        "worse off": known.harm(back=Interval(-0.04, -0.07, -0.01)),
        "groups": three_sides(),
    }.items():
        yield f"harm, {name}", found.summary()
    yield "compared", known.compared().summary()
    for name, gap in {
        "more": None, "less": Interval(-0.05, -0.08, -0.02), "little": Interval(0.009, 0.001, 0.02),
        "not shown": Interval(0.1, 0.0, 0.2),
    }.items():  # fmt: skip
        yield f"compared, {name}", known.compared(gap).told
    yield "compared, numbers", known.compared(kind="number").told
    yield "audit", str(known.audit())
    yield "audit, repr", repr(known.audit())
    yield "audit, bare", known.bare().summary()


def test_the_sentences():
    lines = []
    for name, text in sentences():
        lines += [f"# {name}", *text.splitlines()]
    same("sentences", lines)


def test_groups_csv_is_read_back_as_it_is():
    found = known.audit()
    read = pd.read_csv(io.StringIO(found.csv()))
    counts = read["group"].value_counts()
    assert (counts["left out"], counts["rest"]) == (known.GROUP, known.REST)
    counts = read["belongs"].value_counts()
    assert (counts["member"], counts["borderline"]) == (743, known.GROUP - 743)
    np.testing.assert_array_equal(read["membership"], found.trust.membership.shares)
    assert read["row"].tolist() == found.intake.rows.tolist()
