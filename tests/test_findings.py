"""Every answer of an audit on both sides of where it turns, and what is said of it there."""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

import cells
import known
from golden import page_of
from leftout.auditing.answer import Answer, headline
from leftout.auditing.findings import with_findings
from leftout.auditing.readings import Blanks
from leftout.cli import terminal
from leftout.evidence.duplicate_rows import find_repeats
from leftout.evidence.verdict import doubts
from leftout.files import plain
from leftout.linalg.significance import Interval

YES, NO, NOT_APPLICABLE, NOT_RUN = "found", "not found", "not applicable", "not run"


def searched(**changed):
    return {"partition": known.partition(**changed)}


def trusted(**changed):
    return {"trust": known.trust(**changed)}


def compared(p, tables=39, drawn_in=None, p_gaussian=None, clouds=39, overlap=0.59, **changed):
    """Against so many tables of each kind; and what halves of the rows share."""
    kinds = {"copula": (tables, p), "gaussian": (clouds, p_gaussian or 0.5)}
    chance = {kind: known.chance(n, p_value=of) for kind, (n, of) in kinds.items() if n}
    halves = known.held_out(overlaps=((overlap, 0.37), (overlap, 0.41)))
    more = {"p_winsorized": drawn_in, "p_gaussian": p_gaussian, "held_out": halves} | changed
    return trusted(chance=chance, p_value=p, **more)


def untrusted(**changed):
    """Nothing was weighed, and why."""
    return {"trust": None, "skipped": "Not looked at. Look again."} | changed


def gap_from(low):
    """The interval of the gap on other rows begins there; half of the loss is 0.297."""
    usual = known.held_out()
    return trusted(held_out=known.held_out(gap=0.463 + low - usual.gap.low))


def shared(overlap, core=0.0):
    """The halves share so much, and of a core of half the size so much."""
    return trusted(held_out=known.held_out(overlaps=((overlap, core), (overlap, core))))


def runs(number=5, agree=None, nearly_equal=1):
    found = known.stability(number, nearly_equal=nearly_equal)
    if agree is not None:
        vars(found)["jaccard_matrix"] = np.full((number, number), agree)
    return {"stability": found}


def with_explanation(**changed):
    return {"explanation": known.explanation(**changed)}


def described(count, covered, size, n_rows):
    sizes = {"count": count, "covered": covered, "size": size, "n_rows": n_rows}
    return with_explanation(sentence=known.sentence(**sizes))


def hidden(*corrected):
    return with_explanation(alignment=[known.hidden(p, f"h{i}") for i, p in enumerate(corrected)])


def shares(left_out, rest, corrected=0.01, **changed):
    """One hidden column, a category with these shares."""
    line = known.hidden(corrected, left_out_share=left_out, rest_share=rest, **changed)
    return with_explanation(alignment=[line])


def lacking(left_out, rest):
    return shares(left_out, rest, kind="missing", contrast="missing")


def apart(difference, ks):
    """Two hidden columns, numbers of which the second differs less."""
    numbers = {"kind": "number", "contrast": None, "left_out_share": None, "rest_share": None}
    lines = [
        known.hidden(0.01, f"n{i}", difference=size, ks=ks / (1 + i), **numbers)
        for i, size in enumerate((difference, difference / 2))
    ]
    return with_explanation(alignment=lines)


def gap(value, low, high, **changed):
    return with_explanation(outcome=[known.outcome((value, low, high), **changed)])


def average(difference):
    """A mean that is clearly lower."""
    return with_explanation(outcome=[replace(known.mean_outcome(), difference=difference)])


def unanswered(value, **changed):
    """Rows of the group lack an outcome more often by so much, and nothing is known of how much."""
    return with_explanation(
        no_outcome=known.no_outcome((value, value - 0.1, value + 0.1)), **changed
    )


def mended(after, gap=3e-10, kept=(0.75, 0.714)):
    here = known.dimension(after=after, gap=gap, kept=kept)
    return {"mitigation": known.mitigation(here)}


def moved(*numbers, **changed):
    return {"afterwards": known.afterwards(*numbers, **changed)}


UNTOLD = {"p_value": None, "p_winsorized": None, "parts": None}
UNJUDGED = [
    "Another note.", "Halves of the rows: could not be searched. Half of the rows are too few.",
]  # fmt: skip


# the code, the answer, when, and what of a known audit is different then
def taken(**changed):
    return {"intake": known.intake(**changed)}


def encoded(**changed):
    return taken(encoder=known.encoder(**changed))


def read_otherwise(overlap):
    return {"readings": known.readings(codes=overlap)}


def flagged(share):
    """One feature of 17 is a flag, and has this share of the variance."""
    X = np.zeros((known.REST + known.GROUP, 17))
    X[::2] = np.sqrt((1.0 - share) / 16)
    X[::2, 2] = np.sqrt(share)
    return taken(X=X)


def blank(group, rest, column="age", others=0, known=False):
    return {"blanks": Blanks(column, others, known, group, rest)}


def strays(*cells):
    """The first column holds such cells besides."""
    first, *others = known.facts()
    return taken(facts=[replace(first, strays=cells), *others])


def names(whys=True, **changed):
    return {"named": known.named(whys, **changed)}


def name(p=0.017, tables=39):
    """One name, that so many comparison tables were drawn for."""
    group = known.named_group(known.TOWN, why=known.why(p_gaussian=p))
    return names(groups=[group], tables=tables)


def paid(extra=None, back=None, rest_back=None, **changed):
    return {"harm": known.harm(extra=extra, back=back, rest_back=rest_back, **changed)}


def guessing(variant):
    """Predictions from one kind of features that are no better than always guessing the same."""
    found = known.harm()
    return {"harm": replace(found, gain=found.gain | {variant: Interval(0.01, 0.0, 0.02)})}


def unpaid(why="A side has too few rows. Take larger ones."):
    return {"harm": None, "no_harm": why}


def guessed(gap):
    return {"prediction": known.compared(gap)}


def in_columns(**changed):
    return {"known": known.known_groups(**changed)}


def one_known(p):
    return in_columns(columns=["sex"], groups=[known.known_group(known.SEX, p_value=p)])


# one is too small, two are no worse than random groups
UNLIKE = known.known_groups().too_small + [
    known.known_group(known.SEX, p_value=p) for p in (0.31, 0.42)
]
CASES = [
    ("D001", YES, "the group loses more by a hair", searched(losses=(0.3, 0.3 + 1e-9))),
    ("D001", NO, "both lose the same", searched(losses=(0.3, 0.3))),
    ("D001", NO, "the rest loses more", searched(losses=(0.323, 0.317))),
    ("D001", YES, "one component", searched(n_components_=1)),
    ("C001", YES, "p is the level", compared(0.05)),
    ("C001", NO, "p is above the level", compared(0.0501, p_gaussian=0.3)),
    ("C001", YES, "p is the level with tails drawn in", compared(0.03, drawn_in=0.05)),
    ("C001", NO, "p is above it, winsorised", compared(0.03, drawn_in=0.0501, p_gaussian=0.3)),
    ("C001", YES, "19 tables", compared(0.05, 19)),
    ("C001", NOT_RUN, "18 tables that lose less", compared(0.0526, 18)),
    ("C001", NOT_RUN, "few tables, some of which lose more", compared(0.2, 18)),
    ("C001", NO, "few tables, many of which lose more", compared(0.2105, 18, p_gaussian=0.3)),
    ("C001", NOT_RUN, "no tables", trusted(chance={}, **UNTOLD)),
    ("C001", NOT_RUN, "not weighed", untrusted()),
    ("C002", YES, "p is the level", compared(0.3, p_gaussian=0.05)),
    ("C002", NO, "p is above the level", compared(0.3, p_gaussian=0.0501)),
    ("C002", NO, "few tables, many of which lose more",
     compared(0.3, p_gaussian=0.2105, clouds=18)),
    ("C002", NOT_RUN, "few tables, some of which lose more",
     compared(0.3, p_gaussian=0.2, clouds=18)),
    ("C002", NOT_RUN, "not needed", compared(0.05)),
    ("C002", NOT_RUN, "no tables of that kind", compared(0.3, clouds=0)),
    ("C002", NOT_RUN, "no tables", trusted(chance={}, **UNTOLD)),
    ("C002", NOT_RUN, "not weighed", untrusted()),
    ("V001", YES, "A: halves share a half", compared(0.05, overlap=0.5)),
    ("V001", NO, "B: halves share less", compared(0.05, overlap=0.4999)),
    ("V001", NO, "C: tables with the same values lose as much", compared(0.0501, p_gaussian=0.05)),
    ("V001", NO, "C: no columns are known", compared(0.0501, p_gaussian=0.05, parts=None)),
    ("V001", NO, "D: all tables lose as much", compared(0.0501, p_gaussian=0.0501)),
    ("V001", NOT_RUN, "18 tables", compared(0.0526, 18)),
    ("V001", NOT_RUN, "no Gaussian tables", compared(0.3, clouds=0)),
    ("V001", NOT_RUN, "not weighed", untrusted()),
    ("H001", YES, "half of the loss, at the least", gap_from(0.297 + 1e-9)),
    ("H001", NO, "less than half, at the least", gap_from(0.297 - 1e-9)),
    ("H001", NO, "below zero", gap_from(-0.5)),
    ("H001", NOT_RUN, "no splits", trusted(held_out=None, notes=["Another note."])),
    ("H001", NOT_RUN, "not judged", trusted(held_out=None, notes=UNJUDGED)),
    ("H001", NOT_RUN, "not weighed", untrusted()),
    ("H002", YES, "half is shared", shared(0.5)),
    ("H002", NO, "less than half is shared", shared(0.4999)),
    ("H002", YES, "half of a core is shared", shared(0.3, 0.5)),
    ("H002", NO, "less than half of a core is shared", shared(0.3, 0.4999)),
    ("H002", NOT_RUN, "no splits", trusted(held_out=None, notes=["Another note."])),
    ("H002", NOT_RUN, "not judged", trusted(held_out=None, notes=UNJUDGED)),
    ("H002", NOT_RUN, "not weighed", untrusted()),
    ("B001", YES, "one more than half", trusted(membership=known.membership(634))),
    ("B001", NO, "one less", trusted(membership=known.membership(633))),
    ("B001", NOT_RUN, "no parts", trusted(membership=None)),
    ("B001", NOT_RUN, "not weighed", untrusted()),
    ("S001", YES, "half agreed", runs(agree=0.5)),
    ("S001", NO, "less than half agreed", runs(agree=0.4999)),
    ("S001", NOT_RUN, "4 runs", runs(4)),
    ("S001", NOT_RUN, "no runs", {"stability": None}),
    ("S002", YES, "a second group within 5%", runs(nearly_equal=2)),
    ("S002", NO, "a second group further off", runs()),
    ("S002", NOT_RUN, "4 runs", runs(4)),
    ("S002", NOT_RUN, "no runs", {"stability": None}),
    ("S001", NOT_RUN, "not weighed", untrusted(stability=None)),
    ("S002", NOT_RUN, "not weighed", untrusted(stability=None)),
    ("E001", YES, "F1 is a half", described(50, 100, 100, 1_000)),
    ("E001", NO, "F1 is below a half", described(49, 100, 100, 1_000)),
    ("E001", YES, "it tells just enough of a large group", described(250, 400, 500, 1_000)),
    ("E001", NO, "it tells too little of a large group", described(249, 400, 500, 1_000)),
    ("E001", NOT_APPLICABLE, "no column varies", with_explanation(sentence=None)),
    ("A001", YES, "p is the level", hidden(0.05, 0.0501)),
    ("A001", NO, "p is above the level", hidden(0.0501, 0.2)),
    ("A001", YES, "many are alike", hidden(0.01, 0.02, 0.03, 0.04, 0.045, 0.2)),
    ("A001", NO, "many are not", hidden(0.1, 0.2, 0.3, 0.4)),
    ("A001", YES, "3 points", shares(0.80, 0.77)),
    ("A001", NO, "less than 3 points", shares(0.7999, 0.77)),
    ("A001", YES, "3 points less", shares(0.77, 0.80)),
    ("A001", YES, "few points of something rare", shares(0.013, 0.003)),
    ("A001", NO, "hardly any points of something rare", shares(0.0127, 0.0043)),
    ("A001", YES, "a tenth of a standard deviation", apart(-0.1, 0.02)),
    ("A001", NO, "less than that", apart(-0.0999, 0.0299)),
    ("A001", YES, "distributed otherwise", apart(0.0999, 0.03)),
    ("A001", NO, "large, and not clear", shares(0.87, 0.13, 0.0501)),
    ("A001", YES, "only missing cells differ", lacking(0.34, 0.05)),
    ("A001", NO, "hardly any cells are missing", lacking(0.013, 0.007)),
    ("A001", NOT_APPLICABLE, "none was named", taken(sensitive=[])),
    ("A001", YES, "nothing searched tells of them", taken(proxies=[])),
    ("A001", NOT_APPLICABLE, "none varies", with_explanation(alignment=known.alignment()[:4])),
    ("O001", YES, "the interval begins above zero", gap(0.1, 1e-9, 0.2)),
    ("O001", NO, "the interval begins at zero", gap(0.1, 0.0, 0.2)),
    ("O001", YES, "the interval ends below zero", gap(-0.1, -0.2, -1e-9)),
    ("O001", NO, "the interval ends at zero", gap(-0.1, -0.2, 0.0)),
    ("O001", NOT_RUN, "too few rows", gap(0.1, math.nan, math.nan)),
    ("O001", YES, "3 points", gap(-0.03, -0.04, -0.02, difference=-0.07)),
    ("O001", NO, "less than 3 points", gap(-0.0299, -0.04, -0.02, difference=-0.07)),
    ("O001", YES, "something rare", gap(0.01, 0.005, 0.015, difference=0.1)),
    ("O001", YES, "a tenth of a standard deviation", average(-0.1)),
    ("O001", NO, "less than that", average(-0.0999)),
    ("O001", YES, "more than 3 points lack an outcome", unanswered(0.0301)),
    ("O001", YES, "3 points lack an outcome", unanswered(0.03)),
    ("O001", YES, "more than 3 points of the rest do", unanswered(-0.0301)),
    ("O001", YES, "all have an outcome", with_explanation(no_outcome=None)),
    ("O001", NOT_APPLICABLE, "no target", with_explanation(outcome=[], no_outcome=None)),
    ("M001", YES, "the larger loss falls", mended((0.623, 0.626))),
    ("M001", NO, "the larger loss stays", mended((0.043, 0.627))),
    ("M001", NO, "the other one takes its place", mended((0.633, 0.257))),
    ("M001", YES, "exactly, and at no price", mended((0.263, 0.257), 1e-13, (0.75, 0.76))),
    ("M002", YES, "another loses 90% of it", moved((0.638, 0.5643, 0.427))),
    ("M002", NO, "another loses less", moved((0.638, 0.5642, 0.427))),
    ("M002", YES, "more components", moved((0.638, 0.717, 0.5743))),
    ("M002", YES, "not on rows not seen", moved(gain=(0.224, -0.001, 0.449))),
    ("M002", NO, "Fair PCA", moved((0.638, 0.463, 0.417))),
    ("M002", NOT_RUN, "not looked at", {"afterwards": None}),
    ("T001", YES, "less than half is shared", read_otherwise(0.4999)),
    ("T001", NO, "half is shared", read_otherwise(0.5)),
    ("T001", NOT_RUN, "not searched", {"readings": None}),
    ("T001", NOT_APPLICABLE, "no codes", encoded(columns_=known.columns()[2:])),
    ("T002", YES, "one leak", {}),
    ("T002", NO, "no leak", taken(leaks=[])),
    ("T002", NOT_APPLICABLE, "no target", taken(target=None, leaks=[])),
    ("T003", YES, "two copies", {}),
    ("T003", NO, "no copy", taken(copies=[])),
    ("T004", YES, "a sentinel", {}),
    ("T004", NO, "none", taken(suspects=[])),
    ("T005", NO, "a fifth", flagged(0.2)),
    ("T005", YES, "more than a fifth", flagged(0.2001)),
    ("T005", NO, "less than half more is blank", blank(0.5499, 0.05)),
    ("T005", YES, "half more is blank", blank(0.55, 0.05)),
    ("T005", YES, "many columns", blank(0.995, 0.07, others=21, known=True)),
    ("T005", YES, "any cell", blank(0.75, 0.06, column=None)),
    ("T005", NOT_APPLICABLE, "no gaps", encoded(missing_indicators_=[])),
    ("T006", YES, "copies", {}),
    ("T006", NO, "by chance", {"repeats": known.repeats(False)}),
    ("T006", NO, "all distinct", {"repeats": find_repeats(np.eye(9))}),
    ("T007", YES, "three cells", strays(("n.k.", 2), ("ca. 24", 1))),
    ("T007", NO, "none", strays()),
    ("N001", YES, "two of seven are beyond comparison tables", {}),
    ("N001", YES, "p is the level", name(0.05)),
    ("N001", NO, "p is above the level", name(0.0501)),
    ("N001", YES, "19 tables", name(0.05, 19)),
    ("N001", NOT_RUN, "18 tables", name(0.0526, 18)),
    ("N001", NOT_RUN, "no tables", names(False)),
    ("N001", NO, "no name loses more than the rest", names(groups=[])),
    ("N001", NOT_APPLICABLE, "nothing can be named", names(groups=[], names=0)),
    ("N001", NOT_RUN, "not looked for", untrusted(named=None)),
    ("K001", YES, "two of three lose more than random groups", {}),
    ("K001", YES, "p is the level", one_known(0.05)),
    ("K001", NO, "p is above the level", one_known(0.0501)),
    ("K001", NO, "none of two, and one is too small", in_columns(groups=UNLIKE)),
    ("K001", NOT_APPLICABLE, "all are too small", in_columns(groups=UNLIKE[:1])),
    ("K001", NOT_APPLICABLE, "nothing to compare", {"known": None}),
    ("K001", NOT_RUN, "not looked for", untrusted(known=None)),
    ("K001", NOT_APPLICABLE, "none was named", taken(sensitive=[]) | {"known": None}),
    ("P001", YES, "one point, clearly", paid(Interval(0.01, 1e-9, 0.02))),
    ("P001", NO, "less than a point, clearly", paid(Interval(0.0099, 1e-9, 0.02))),
    ("P001", NO, "the interval begins at zero", paid(Interval(0.11, 0.0, 0.2))),
    ("P001", NO, "the rest pays more", paid(Interval(-0.05, -0.08, -0.02))),
    ("P001", NO, "no better than a guess", guessing("shared PCA")),
    ("P001", NO, "not in AUC", paid(ranked_extra=Interval(0.1, 0.0, 0.2))),
    ("P001", YES, "a hundredth of AUC", paid(ranked_extra=Interval(0.02, 1e-9, 0.03))),
    ("P001", YES, "numbers", {"harm": known.harm("number")}),
    ("P001", NO, "numbers, not in R2", paid(ranked_extra=Interval(0.1, 0.0, 0.2), kind="number")),
    ("P001", NOT_RUN, "refused", unpaid()),
    ("P001", NOT_APPLICABLE, "no target", unpaid("") | taken(target=None, leaks=[])),
    ("P001", NOT_RUN, "not looked for", untrusted() | unpaid("")),
    ("P002", YES, "one point, clearly", paid(back=Interval(0.01, 1e-9, 0.02))),
    ("P002", NO, "less than a point, clearly", paid(back=Interval(0.0099, 1e-9, 0.02))),
    ("P002", NO, "the interval begins at zero", paid(back=Interval(0.08, 0.0, 0.2))),
    ("P002", NO, "the group is worse off", paid(back=Interval(-0.04, -0.07, -0.01))),
    ("P002", YES, "the rest pays up to nothing", paid(rest_back=Interval(-0.01, -0.02, 0.0))),
    ("P002", NO, "the rest clearly pays", paid(rest_back=Interval(-0.01, -0.02, -1e-9))),
    ("P002", NO, "no better than a guess", guessing("Fair PCA")),
    ("P002", NO, "not in AUC", paid(ranked_back=Interval(0.1, 0.0, 0.2))),
    ("P002", NO, "the rest pays in AUC", paid(ranked_rest_back=Interval(-0.1, -0.2, -1e-9))),
    ("P002", YES, "numbers", {"harm": known.harm("number")}),
    ("P002", NOT_RUN, "refused", unpaid()),
    ("P002", NOT_APPLICABLE, "no target", unpaid("") | taken(target=None, leaks=[])),
    ("P002", NOT_RUN, "not looked for", untrusted() | unpaid("")),
    ("P003", YES, "one point, clearly", guessed(Interval(0.01, 1e-9, 0.02))),
    ("P003", NO, "less than a point, clearly", guessed(Interval(0.0099, 1e-9, 0.02))),
    ("P003", NO, "the interval begins at zero", guessed(Interval(0.1, 0.0, 0.2))),
    ("P003", NO, "it errs more on the rest", guessed(Interval(-0.05, -0.08, -0.02))),
    ("P003", NOT_RUN, "refused", {"prediction": None, "no_prediction": "It holds maybe."}),
    ("P003", NOT_APPLICABLE, "none was given", {"prediction": None}),
    ("P003", NOT_APPLICABLE, "none was given, in haste", untrusted(prediction=None)),
    ("P003", NOT_RUN, "not looked for", untrusted(prediction=None, **taken(prediction="score"))),
    ("A002", YES, "two proxies", {}),
    ("A002", NO, "no proxy", taken(proxies=[])),
    ("A002", NOT_APPLICABLE, "none was named", taken(sensitive=[])),
]  # fmt: skip


def answers(**changed):
    found = known.audit(**{"no_afterwards": "The table is wide."} | changed)
    return {each.code: each for each in found.findings if each.code != "R001"}


@pytest.mark.parametrize(
    ("code", "status", "changed"),
    [pytest.param(*case[:2], case[3], id=f"{case[0]}, {case[2]}") for case in CASES],
)
def test_each_answer_turns_where_it_says(code, status, changed):
    found = answers(**changed)
    assert found[code].status == status
    # and its detail is worded by the same result
    others = {other: each for other, each in answers().items() if other != code}
    same_part = {"S001": {"S002"}, "S002": {"S001"}}
    weighed = {"C001", "C002", "V001", "H001", "H002", "B001"}
    same_part |= {each: weighed - {each} for each in weighed}
    same_part |= {"P001": {"P002", "T002"}, "P002": {"P001", "T002"}, "T002": {"P001", "P002"}}
    sensitive = {"A001", "A002", "K001"}
    same_part |= {each: sensitive - {each} for each in sensitive}
    if found["C001"].detail == changed.get("skipped"):  # nothing was weighed
        same_part = {each: same_part.get(each, set()) | weighed for each in found}
    for other, usual in others.items():
        if other not in same_part.get(code, ()):
            assert found[other] == usual


def test_every_code_has_every_answer_that_it_can_give():
    given = {code: {case[1] for case in CASES if case[0] == code} for code in answers()}
    always = ("D001", "M001", "T003", "T004", "T006", "T007")
    for code, statuses in given.items():
        assert {YES, NO} <= statuses and (code in always or len(statuses) > 2)


def test_every_detail_is_worded():
    """Nothing is left to fill in, no number is unknown, and whatever was not run says why."""
    for code, _, _, changed in CASES:
        detail = answers(**changed)[code].detail
        assert detail.endswith((".", "?")) and "nan" not in detail.split() and "  " not in detail


ROWS = "1,267 of 10,010 rows"


@pytest.mark.parametrize(
    ("kept", "own", "shown"),
    [
        ((0.83, 0.27), (0.93, 0.67), ("83%", "27%", "67%")),
        ((0.828, 0.60), (0.83, 0.85), ("83%", "60%", "85%")),
        ((0.984, 0.981), (0.99, 0.9999), ("98.4%", "98.1%", "100%")),  # whole ones hide a gap
    ],
)
def test_the_headline_is_the_fact(kept, own, shown):
    """What the shared PCA keeps of the rest and of the group, and what the group's own would."""
    shares = {"retained_": np.array(kept), "retained_own_": np.array(own)}
    group = known.partition(**shares).left_out_
    text = (
        f"The PCA keeps {shown[0]} of the variance of most rows but only {shown[1]} of that of "
        f"{ROWS}, 13%; their own PCA would keep {shown[2]}."
    )
    assert headline([group]) == text
    assert headline([group], True) == text.replace("10,010 rows", "10,010 sampled rows")
    for losses in ((0.3, 0.3), (0.323, 0.317)):
        group = known.partition(losses=losses, **shares).left_out_
        assert headline([group]) == f"No group of {ROWS} loses more than the rest."


def test_who_they_are_is_told_by_the_sentence():
    def who(sentence):
        return known.audit(explanation=known.explanation(sentence=sentence)).answer.who

    text = (
        "In 88% of them, town is Beeley and age is at least 40; 75% of such rows belong to the "
        "group."
    )
    assert who(known.sentence()) == text
    closest = "No short description fits them; this comes closest. "
    assert who(known.sentence(count=600)).startswith(f"{closest}In 47% of them, town")
    assert who(None) == "No condition on the columns describes them."


def test_why_names_were_not_tested():
    """More tables do not help where there are too many features for any."""
    untested = names(False)
    assert answers(**untested)["N001"].detail.endswith("Repeat with n_surrogates=99.")
    found = known.audit(**untested)
    wide = replace(found, intake=known.intake(X=np.eye(300, 201)))
    said = {one.code: one for one in with_findings(wide, "").findings}["N001"]
    assert said.detail.endswith(
        "Whether a subgroup stands out was not tested: with more than 200 features (there are 201) "
        "that takes too long. Leave columns aside: drop."
    )


def test_what_it_costs_and_what_helps():
    bare = known.audit(harm=None, afterwards=None).answer
    assert bare.cost == (
        "The target paid is yes for 27.7% of them and for 73.3% of the rest. The target paid is "
        "missing for 3.7% of them and for 0.1% of the rest."
    )
    assert bare.advice == (
        "Fair PCA with as many components brings the group's loss from 0.627 to 0.257, the rest's "
        "from 0.043 to 0.263; whether another group then loses as much was not tested."
    )
    told = {"outcome": [], "no_outcome": None}
    without = known.audit(harm=None, explanation=known.explanation(**told), afterwards=None).answer
    assert without.cost == "" and "Cost" not in without.lines
    found = known.audit()
    assert found.answer.advice == found.afterwards.brief_text
    assert found.harm.brief_text == (
        "Predicting paid = yes from the components errs on 23.7% of the group and from all columns "
        "on 11.7% (everybody: 14.0% and 11.0%). AUC falls by 0.060, for the rest by 0.005: they "
        "are harmed more. Models did not see income, which alone tells the target."
    )
    assert found.answer.cost == found.harm.brief_text.replace(" (everybody: 14.0% and 11.0%)", "")
    # errors of the group and of everybody from each kind of features, and of one guess for all
    assert found.answer.costs.rows == [
        ["all columns", "11.7%", "11.0%"],
        ["PCA", "23.7%", "14.0%"],
        ["Fair PCA for this group", "15.7%", "17.0%"],
        ["MinimaxPCA", "17.7%", "20.0%"],
        ["always saying yes", "32.3%", "31.0%"],
    ]
    useless = {**found.harm.gain, "shared PCA": Interval(0.0, -0.01, 0.01)}
    said = replace(found.harm, gain=useless).brief_text
    assert "Components do no better than always saying yes over all rows" in said
    numbers = known.audit(harm=known.harm("number")).answer
    assert "is off by 23.7 for the group" in numbers.cost
    assert numbers.costs.rows[-1][0] == "always guessing the median"


def test_what_changes_how_to_read_it_is_said_with_it():
    def mind(**changed):
        found = known.audit(**{"readings": None} | changed)
        each = {finding.caution: finding.code for finding in found.findings if finding.caution}
        assert all(line.endswith(".") and " %" not in line for line in found.answer.mind)
        return [each[line] for line in found.answer.mind]

    few = taken(proxies=[], suspects=[])  # nothing else is found
    assert mind() == ["A002"]  # the most serious
    assert mind(**few) == []  # that models did not see a column is said with the cost
    alike = replace(known.readings(), counts=np.full(known.REST + known.GROUP, 5))
    nothing = taken(leaks=[], proxies=[], suspects=[])
    assert mind(readings=alike, **nothing) == ["T001"]
    assert mind(**nothing) == []
    apart, scattered = known.stability(agree=0.3), known.membership(sure=74)
    assert mind(stability=apart) == ["A002"]
    assert mind(stability=apart, harm=None) == ["A002", "S001"]  # where there is room
    unsure = {"trust": known.trust(membership=scattered)}
    assert mind(**unsure | few, harm=None) == ["B001"]
    said = known.audit(stability=apart, readings=None, harm=None).answer.mind[1]
    assert said == "Searches from other starts find other groups."
    assert mind(readings=known.readings(), harm=None) == ["A002", "R001"]


def test_lines_and_text_are_in_the_order_in_which_people_ask():
    found = Answer(
        fact="Fact.", who="W.", why="Y.", returns="R.", cost="C.", advice="A.", mind=["M.", "N."]
    )
    assert found.text == "Fact. W. Y. R. C. A. M. N."
    assert found.lines == {
        "Who": "W.", "Why": "Y.", "Does it replicate": "R.", "Cost": "C.", "What helps": "A.",
    }  # fmt: skip


LOSES = "rarely lose as much"
SAYS = {
    "A": "They are a distinct group",
    "B": "There is structure without a sharp group",
    "C": "are or skewed values explain",  # alone, or with the covariance where that is more
    "D": "There is nothing beyond the covariance",
}
VERDICTS = {
    "A": compared(0.05, overlap=0.5),
    "B": compared(0.05, overlap=0.4999),
    "C": compared(0.0501, p_gaussian=0.05),
    "D": compared(0.0501, p_gaussian=0.0501),
}
SIZES = {"a tenth": (8_743, 1_267), "few": (9_979, 31), "half": (5_003, 5_007)}


def without_glossary(lines):
    """The page up to where it says what each verdict would mean."""
    return lines[: lines.index("h2 Glossary")]


def everywhere_text(found):
    """What people read, of the same audit: each as one line of text."""
    console = Console(file=io.StringIO(), width=4_000, legacy_windows=False)
    terminal.show_audit(console, found)
    whole = Console(file=io.StringIO(), width=4_000, legacy_windows=False)
    terminal.show_audit(whole, found, full=True)
    texts = {
        "paragraph": found.summary(),
        "terminal": console.file.getvalue(),
        "terminal, full": whole.file.getvalue(),
        "page": "\n".join(without_glossary(cells.Page(page_of(found)).lines)),
        "note": "\n".join(cells.Page(found._repr_html_()).lines),
    }
    return {name: " ".join(text.replace("\u00a0", " ").split()) for name, text in texts.items()}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("letter", [*VERDICTS, None, "quick"])
def test_nothing_that_people_read_contradicts_the_rest(letter, size):
    rest, group = SIZES[size]
    belongs = known.membership(17, rest, group)
    changed = {"trust": None, "stability": None, "named": None, "harm": None}
    if letter != "quick":
        some = VERDICTS.get(letter) or compared(0.0526, 18)
        changed = {"trust": replace(some["trust"], membership=belongs)}
    found = known.audit(partition=known.partition(rest, group), **changed)
    answer, data = found.answer, json.loads(found.json())
    each = {finding.code: finding for finding in found.findings}

    # the same lines everywhere
    read = everywhere_text(found)
    for line in (answer.fact, *answer.lines.values(), *answer.mind):
        assert [name for name, text in read.items() if line not in text] == []
    assert data["answer"]["fact"] == answer.fact and data["answer"]["text"] == read["paragraph"]
    assert data["answer"] == {**plain(answer), "lines": answer.lines}
    assert data["findings"] == plain(found.findings)

    # the fact is that of the partition, whatever the verdict
    sides = data["partition"]
    assert sides["sizes"] == [rest, group] and sides["group_size"] == group
    kept, own = sides["retained"], sides["retained_own"][1]
    assert f"keeps {100 * kept[0]:.0f}% of the variance of" in answer.fact
    assert f"only {100 * kept[1]:.0f}% of that of {group:,} of 10,010 sampled rows" in answer.fact
    assert answer.fact.endswith(f"would keep {100 * own:.0f}%.")
    assert each["D001"].status == YES

    # why: what the findings say, with the three shares of the data
    tested = letter in SAYS
    trust = data["groups"][0]["trust"] or {}
    assert trust.get("verdict") == (letter if tested else None)
    for other, words in SAYS.items():
        assert [name for name, text in read.items() if (words in text) != (other == letter)] == []
    assert (each["V001"].status == YES) == (letter == "A")
    assert (each["C001"].status == YES) == (letter in ("A", "B"))
    assert (each["C002"].status == YES) == (letter == "C")
    if tested:
        assert {each[code].status for code in ("C001", "V001")} <= {YES, NO}
        assert (each["H002"].status == YES) == (found.trust.held_out.overlap >= 0.5)
        for part in ("covariance", "values", "own"):
            assert f"{round(100 * trust['parts'][part]['share'])}%" in answer.why
    else:
        assert {each[code].status for code in ("C001", "C002", "V001")} == {NOT_RUN}
        assert "was not tested" in answer.why

    # does it replicate: the numbers of the findings and of the data
    if letter == "quick":
        assert answer.returns == "Whether it replicates was not tested."
        assert each["H001"].status == each["B001"].status == each["N001"].status == NOT_RUN
    else:
        assert answer.returns.startswith("It replicates: ") == (each["H001"].status == YES)
        for end in trust["held_out"]["gap"].values():
            assert f"{end:.2g}" in answer.returns
        sure = trust["membership"]
        assert sure["n_members"] == 17 and sure["n_members"] + sure["n_borderline"] == group
        assert each["B001"].detail.startswith(f"17 of {group:,} rows are members")
        assert (each["B001"].status == YES) == (17 > group - 17)

    # what it costs: the losses of Fair PCA are those of its finding
    before, after = ([f"{one:g}" for one in data["mitigation"][f"losses_{when}"]]
                     for when in ("before", "after"))  # fmt: skip
    for text in (each["M001"].detail, *([answer.advice] if found.afterwards is None else [])):
        assert f"the group's loss from {before[1]} to {after[1]}" in text
        assert f"the rest's from {before[0]} to {after[0]}" in text
    if letter == "quick":
        assert answer.cost.startswith(
            "The target paid is yes for 27.7% of them and for 73.3% of the rest."
        )
    assert "27.7%" in each["O001"].detail and "73.3%" in each["O001"].detail


def words(text):
    """Whatever has a letter or a digit."""
    return sum(bool(re.search(r"\w", part)) for part in text.split())


@pytest.mark.parametrize("letter", VERDICTS)
def test_an_answer_is_short_whatever_the_verdict(letter):
    """The headline, the lines below it and cautions: full sentences, not more than a screen."""
    answer = known.audit(**VERDICTS[letter]).answer
    assert answer.mind and 90 <= words(answer.text) <= 175
    assert all(line[0].isupper() and line.endswith(".") for line in answer.lines.values())


@pytest.mark.parametrize("letter", [*VERDICTS, "quick"])
def test_no_left_out_group_is_called_chance(letter):
    """What comparison tables test is what explains a loss, not whether it is accident."""
    found = known.bare() if letter == "quick" else known.audit(**VERDICTS[letter])
    asked = re.compile(r"--surrogates\b|\bn_surrogates=")
    said = [asked.sub("", f"{each.title} {each.detail}") for each in found.findings]
    said += [asked.sub("", text) for name, text in everywhere_text(found).items() if name != "page"]
    assert [text for text in said if re.search(r"chance|accident", text, re.IGNORECASE)] == []


@pytest.mark.parametrize(
    ("low", "high", "sign"),
    [(0.1, 0.2, 1), (-0.2, -0.1, -1), (-0.1, 0.1, 0), (0.0, 0.1, 0), (-0.1, 0.0, 0)],
)
def test_a_gap_is_clear_where_its_interval_leaves_zero(low, high, sign):
    assert Interval(0.0, low, high).clear == sign


@pytest.mark.parametrize(
    ("residual", "doubted"),
    [(1.0999, False), (1.1001, True), (0.8999, True), (0.9001, False), (0.5, True)],
)
def test_comparison_tables_are_doubted_where_they_are_far_off(residual, doubted):
    notes = doubts({"copula": known.chance(residual=residual)}, 3)
    assert notes == doubted * [
        f"Surrogates: 3 components leave {residual:.2f} times the variance that they leave of the "
        "table, so read the p-value with care.",
    ]
    tails = {"residual": residual, "ranks_miss": 0.04}
    heavy = doubts({"copula": known.chance(**tails)}, 3)
    assert heavy[1:] == notes and "rank correlations are 0.04 larger" in heavy[0].lower()


def test_evidence_as_data_is_that_of_its_parts():
    data = known.trust().to_dict()
    assert (data["group_size"], data["rows"], data["over_sizes"]) == (617, 5_000, 3)
    assert (data["disparity"], data["searched"]) == (0.647 - 0.053, 0.592)
    assert data["chance"]["copula"]["mean"] == 0.25
    assert (data["p_value"], data["beyond_chance"]) == (0.025, True)
    assert data["notes"] == known.trust().notes


def test_a_caution_goes_after_what_stands_in_brackets(monkeypatch):
    def answered(most):
        monkeypatch.setattr("leftout.auditing.answer._MOST_WORDS", most)
        return known.audit().answer

    whole = answered(1_000)
    n = len(whole.text.split())
    shortest, caution = answered(1), whole.mind[0]
    assert shortest.mind == [] and "(" in shortest.advice  # nothing is short enough
    said = next(each for each in map(answered, range(n, 0, -1)) if "(" not in each.advice)
    assert said.mind == [caution] and "everybody" not in said.cost
    assert said.advice == re.sub(r" \([^)]*\)", "", whole.advice)
