"""Every answer of an audit on both sides of where it turns, and what is said of it there."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from leftout.auditing.verdict import headline, paragraph

import known
from leftout.auditing.findings import STATUSES, Finding, findings
from leftout.auditing.groups import group_findings
from leftout.auditing.harm import harm_findings
from leftout.auditing.prediction import prediction_finding
from leftout.auditing.reading import OtherReading, table_findings
from leftout.core.interval import Interval
from leftout.evidence.repeats import find_repeats
from leftout.evidence.trusting import _doubts, _p_value
from test_reading import same

YES, NO, NOT_APPLICABLE, NOT_RUN = "found", "not found", "not applicable", "not run"


def searched(**changed):
    return {"partition": known.partition(**changed)}


def trusted(**changed):
    return {"trust": known.trust(**changed)}


def at_chance(tables, p):
    return trusted(profile=known.profile(chance={"copula": known.chance(tables=tables)}), p_value=p)


def held(disparities=(0.44, 0.46, 0.49), reached=0, tables=39):
    """On so many chance tables, so many of which keep more."""
    chance = [0.9] * reached + [0.1] * (tables - reached)
    return trusted(held_out=known.held_out(disparities, chance))


def runs(number=5, agree=None, disparities=(0.5,)):
    found = known.stability(number, disparities=disparities)
    if agree is not None:
        found = replace(found, jaccard=np.full((number, number), agree))
    return {"stability": found}


def told(**changed):
    return {"explanation": known.explanation(**changed)}


def described(count, covered, size, n_rows):
    sizes = {"count": count, "covered": covered, "size": size, "n_rows": n_rows}
    return told(sentence=known.sentence(**sizes))


def hidden(*corrected):
    return told(alignment=[known.hidden(p, f"h{i}") for i, p in enumerate(corrected)])


def shares(left_out, rest, corrected=0.01, **changed):
    """One hidden column, a category with these shares."""
    line = known.hidden(corrected, left_out_share=left_out, rest_share=rest, **changed)
    return told(alignment=[line])


def lacking(left_out, rest, known_differ):
    line = {"kind": "missing", "contrast": "missing", "known_differ": known_differ}
    return shares(left_out, rest, **line)


def apart(difference, ks):
    """Two hidden columns, numbers of which the second differs less."""
    numbers = {"kind": "number", "contrast": None, "left_out_share": None, "rest_share": None}
    lines = [
        known.hidden(0.01, f"n{i}", difference=size, ks=ks / (1 + i), **numbers)
        for i, size in enumerate((difference, difference / 2))
    ]
    return told(alignment=lines)


def gap(value, low, high, **changed):
    return told(outcome=[known.outcome((value, low, high), **changed)])


def average(difference):
    """A mean that is clearly lower."""
    return told(outcome=[replace(known.mean_outcome(), difference=difference)])


def unanswered(value, **changed):
    """Rows of the group lack an outcome more often by so much, and nothing is known of how much."""
    return told(no_outcome=known.no_outcome((value, value - 0.1, value + 0.1)), **changed)


def free(gap, overlap, ours=(-0.46, -0.49, -0.42), sizes=(-1.03, -1.03)):
    """The gap without the target, and ours; and how large they are in standard deviations."""
    other = known.outcome(gap, encoding="target-free", overlap=overlap, difference=sizes[0])
    crossed = known.outcome((0.9, 0.8, 1.0), encoding="cross-fitted", overlap=0.99)
    ours = known.outcome(ours, difference=sizes[1])
    return told(outcome=[ours], other_outcomes=[crossed, other])


CROSSED = told(other_outcomes=[known.outcome(encoding="cross-fitted", overlap=0.9)])


def mended(after, gap=3e-10, kept=(0.75, 0.714)):
    here = known.dimension(after=after, gap=gap, kept=kept)
    return {"mitigation": replace(known.mitigation(), here=here)}


NONE = {"chance": {}, "evidence_size": None}
UNJUDGED = ["Another note.", "Held-out rows: could not be judged. Half of the rows are too few."]


# the code, the answer, when, and what of a known audit is different then
def taken(**changed):
    return {"intake": known.intake(**changed)}


def encoded(**changed):
    return taken(encoder=known.encoder(**changed))


def read_otherwise(overlap):
    return {"other_reading": OtherReading(["income"], 24, overlap, 0.91)}


def flagged(share):
    """One feature of 17 is a flag, and has this share of the variance."""
    X = np.zeros((known.REST + known.GROUP, 17))
    X[::2] = np.sqrt((1.0 - share) / 16)
    X[::2, 2] = np.sqrt(share)
    return taken(X=X)


def names(whys=True, **changed):
    return {"named": known.named(whys, **changed)}


def name(p=0.017, tables=39):
    """One name, that so many comparison tables were drawn for."""
    group = known.named_group(known.TOWN, why=known.why(p_cloud=p, tables=tables))
    return names(groups=[group])


def paid(extra=None, back=None, rest_back=None, **changed):
    return {"harm": known.harm(extra=extra, back=back, rest_back=rest_back, **changed)}


def unpaid(why="A side has too few rows. Take larger ones."):
    return {"harm": None, "why": why}


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
    ("C001", YES, "p is the level", at_chance(39, 0.05)),
    ("C001", NO, "p is above the level", at_chance(39, 0.0501)),
    ("C001", YES, "19 tables", at_chance(19, 0.05)),
    ("C001", NOT_RUN, "18 tables", at_chance(18, 0.02)),
    ("C001", NOT_RUN, "no tables", trusted(profile=known.profile(**NONE), p_value=None)),
    ("C001", NOT_APPLICABLE, "the paper's preset", {"trust": None}),
    ("H001", YES, "1 of 39 chance tables keeps more", held(reached=1)),
    ("H001", NO, "2 of 39 chance tables keep more", held(reached=2)),
    ("H001", NO, "the interval holds zero", held((0.2, 0.6))),
    ("H001", YES, "the interval begins above zero", held((0.44, 0.46))),
    ("H001", NO, "below zero", held((-0.46, -0.44), 39)),
    ("H001", YES, "19 chance tables", held(tables=19)),
    ("H001", NOT_RUN, "18 chance tables", held(tables=18)),
    ("H001", NOT_RUN, "one split", held((0.46,))),
    ("H001", NOT_RUN, "no chance tables", held(tables=0)),
    ("H001", NOT_RUN, "no splits", trusted(held_out=None, notes=["Another note."])),
    ("H001", NOT_RUN, "not judged", trusted(held_out=None, notes=UNJUDGED)),
    ("H001", NOT_APPLICABLE, "the paper's preset", {"trust": None}),
    ("S001", YES, "half agreed", runs(agree=0.5)),
    ("S001", NO, "less than half agreed", runs(agree=0.4999)),
    ("S001", NOT_RUN, "4 runs", runs(4)),
    ("S001", NOT_RUN, "no runs", {"stability": None}),
    ("S002", YES, "a second group within 5 %", runs(disparities=(1.0, 0.95, 0.5))),
    ("S002", NO, "a second group further off", runs(disparities=(1.0, 0.949))),
    ("S002", NOT_RUN, "4 runs", runs(4)),
    ("S002", NOT_RUN, "no runs", {"stability": None}),
    ("E001", YES, "F1 is a half", described(50, 100, 100, 1_000)),
    ("E001", NO, "F1 is below a half", described(49, 100, 100, 1_000)),
    ("E001", YES, "it tells just enough of a large group", described(250, 400, 500, 1_000)),
    ("E001", NO, "it tells too little of a large group", described(249, 400, 500, 1_000)),
    ("E001", NOT_APPLICABLE, "no column varies", told(sentence=None)),
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
    ("A001", YES, "only missing cells differ", lacking(0.34, 0.05, False)),
    ("A001", YES, "missing cells differ, too", lacking(0.34, 0.05, True)),
    ("A001", NO, "hardly any cells are missing", lacking(0.013, 0.007, False)),
    ("A001", NOT_APPLICABLE, "none was named", taken(sensitive=[])),
    ("A001", YES, "nothing searched tells of them", taken(proxies=[])),
    ("A001", NOT_APPLICABLE, "none varies", told(alignment=known.alignment()[:4])),
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
    ("O001", YES, "all have an outcome", told(no_outcome=None)),
    ("O001", NOT_APPLICABLE, "no target", told(outcome=[], other_outcomes=[], no_outcome=None)),
    ("O002", YES, "the gap remains", free((-0.2, -0.3, -0.1), 0.5)),
    ("O002", NO, "the gap is not clear", free((-0.2, -0.3, 0.1), 0.6)),
    ("O002", NO, "the gap is reversed", free((0.2, 0.1, 0.3), 0.6)),
    ("O002", YES, "another group", free((-0.2, -0.3, -0.1), 0.4999)),
    ("O002", YES, "both above zero", free((0.2, 0.1, 0.3), 0.6, (0.3, 0.2, 0.4))),
    ("O002", NOT_APPLICABLE, "no gap to begin with", free((0.2, 0.1, 0.3), 0.6, (0.0, -0.1, 0.1))),
    ("O002", NOT_APPLICABLE, "a small gap to begin with",
     free((0.2, 0.1, 0.3), 0.6, (0.02, 0.01, 0.03), (1.03, 0.05))),
    ("O002", NO, "what remains is small", free((-0.02, -0.03, -0.01), 0.6, sizes=(-0.05, -1.03))),
    ("O002", NOT_APPLICABLE, "no target in the encoding", told(other_outcomes=[])),
    ("O002", NOT_APPLICABLE, "only cross-fitted", CROSSED),
    ("S003", YES, "half is shared", free((-0.2, -0.3, -0.1), 0.5)),
    ("S003", NO, "less than half is shared", free((-0.2, -0.3, -0.1), 0.4999)),
    ("S003", NO, "nothing is shared", free((-0.2, -0.3, -0.1), None)),
    ("S003", NOT_APPLICABLE, "no target in the encoding", told(other_outcomes=[])),
    ("M001", YES, "the larger loss falls", mended((0.623, 0.626))),
    ("M001", NO, "the larger loss stays", mended((0.043, 0.627))),
    ("M001", NO, "the other one takes its place", mended((0.633, 0.257))),
    ("M001", YES, "exactly, and at no price", mended((0.263, 0.257), 1e-13, (0.75, 0.76))),
    ("T001", YES, "less than half is shared", read_otherwise(0.4999)),
    ("T001", NO, "half is shared", read_otherwise(0.5)),
    ("T001", NOT_RUN, "not searched", {"other_reading": None}),
    ("T001", NOT_APPLICABLE, "no codes", encoded(kinds_=known.kinds()[2:])),
    ("T002", YES, "one leak", {}),
    ("T002", NO, "no leak", taken(leaks=[])),
    ("T002", NOT_APPLICABLE, "no target", taken(target=None, leaks=[])),
    ("T003", YES, "two copies", {}),
    ("T003", NO, "no copy", taken(copies=[])),
    ("T004", YES, "a sentinel", {}),
    ("T004", NO, "none", taken(suspects=[])),
    ("T005", NO, "a fifth", flagged(0.2)),
    ("T005", YES, "more than a fifth", flagged(0.2001)),
    ("T005", NOT_APPLICABLE, "no gaps", encoded(flags_=[])),
    ("T006", YES, "copies", {}),
    ("T006", NO, "by chance", {"repeats": known.repeats(False)}),
    ("T006", NO, "all distinct", {"repeats": find_repeats(np.eye(9))}),
    ("N001", YES, "two of seven are beyond comparison tables", {}),
    ("N001", YES, "p is the level", name(0.05)),
    ("N001", NO, "p is above the level", name(0.0501)),
    ("N001", YES, "19 tables", name(0.05, 19)),
    ("N001", NOT_RUN, "18 tables", name(0.0526, 18)),
    ("N001", NOT_RUN, "no tables", names(False)),
    ("N001", NO, "no name loses more than the rest", names(groups=[])),
    ("N001", NOT_APPLICABLE, "nothing can be named", names(groups=[], names=0)),
    ("N001", NOT_APPLICABLE, "the paper's preset", {"named": None}),
    ("K001", YES, "two of three lose more than random groups", {}),
    ("K001", YES, "p is the level", one_known(0.05)),
    ("K001", NO, "p is above the level", one_known(0.0501)),
    ("K001", NO, "none of two, and one is too small", in_columns(groups=UNLIKE)),
    ("K001", NOT_APPLICABLE, "all are too small", in_columns(groups=UNLIKE[:1])),
    ("K001", NOT_APPLICABLE, "nothing to compare", {"known": None}),
    ("K001", NOT_APPLICABLE, "none was named", taken(sensitive=[]) | {"known": None}),
    ("P001", YES, "one point, clearly", paid(Interval(0.01, 1e-9, 0.02))),
    ("P001", NO, "less than a point, clearly", paid(Interval(0.0099, 1e-9, 0.02))),
    ("P001", NO, "the interval begins at zero", paid(Interval(0.11, 0.0, 0.2))),
    ("P001", NO, "the rest pays more", paid(Interval(-0.05, -0.08, -0.02))),
    ("P001", YES, "numbers", {"harm": known.harm("number")}),
    ("P001", NOT_RUN, "refused", unpaid()),
    ("P001", NOT_APPLICABLE, "no target", unpaid("") | taken(target=None, leaks=[])),
    ("P001", NOT_APPLICABLE, "the paper's preset", unpaid("")),
    ("P002", YES, "one point, clearly", paid(back=Interval(0.01, 1e-9, 0.02))),
    ("P002", NO, "less than a point, clearly", paid(back=Interval(0.0099, 1e-9, 0.02))),
    ("P002", NO, "the interval begins at zero", paid(back=Interval(0.08, 0.0, 0.2))),
    ("P002", NO, "the group is worse off", paid(back=Interval(-0.04, -0.07, -0.01))),
    ("P002", YES, "the rest pays up to nothing", paid(rest_back=Interval(-0.01, -0.02, 0.0))),
    ("P002", NO, "the rest clearly pays", paid(rest_back=Interval(-0.01, -0.02, -1e-9))),
    ("P002", YES, "numbers", {"harm": known.harm("number")}),
    ("P002", NOT_RUN, "refused", unpaid()),
    ("P002", NOT_APPLICABLE, "no target", unpaid("") | taken(target=None, leaks=[])),
    ("P002", NOT_APPLICABLE, "the paper's preset", unpaid("")),
    ("P003", YES, "one point, clearly", guessed(Interval(0.01, 1e-9, 0.02))),
    ("P003", NO, "less than a point, clearly", guessed(Interval(0.0099, 1e-9, 0.02))),
    ("P003", NO, "the interval begins at zero", guessed(Interval(0.1, 0.0, 0.2))),
    ("P003", NO, "it errs more on the rest", guessed(Interval(-0.05, -0.08, -0.02))),
    ("P003", NOT_RUN, "refused", {"prediction": None, "unread": "It holds maybe. Pass classes."}),
    ("P003", NOT_APPLICABLE, "none was given", {"prediction": None}),
    ("A002", YES, "two proxies", {}),
    ("A002", NO, "no proxy", taken(proxies=[])),
    ("A002", NOT_APPLICABLE, "none was named", taken(sensitive=[])),
]  # fmt: skip


def answers(**changed):
    found = known.audit()
    names = ("partition", "trust", "stability", "explanation", "mitigation", "intake")
    groups, read = ("named", "known", "intake"), ("intake", "other_reading", "repeats")
    parts = {name: getattr(found, name) for name in {*names, *groups, *read}}
    parts |= {"harm": found.harm, "why": "", "prediction": found.prediction, "unread": ""} | changed
    every = [
        *findings(*(parts[name] for name in names)),
        *group_findings(*(parts[name] for name in groups)),
        *harm_findings(*(parts[name] for name in ("harm", "why", "intake"))),
        prediction_finding(parts["prediction"], parts["unread"]),
        *table_findings(*(parts[name] for name in read)),
    ]
    return {each.code: each for each in every}


@pytest.mark.parametrize(
    ("code", "status", "changed"),
    [pytest.param(*case[:2], case[3], id=f"{case[0]}, {case[2]}") for case in CASES],
)
def test_each_answer_turns_where_it_says(code, status, changed):
    found = answers(**changed)
    assert found[code].status == status
    # and its detail is worded by the same result
    others = {other: each for other, each in answers().items() if other != code}
    same_part = {"O002": {"O001", "S003"}, "S003": {"O001", "O002"}, "O001": {"O002", "S003"}}
    same_part |= {"C001": {"H001"}, "H001": {"C001"}, "S001": {"S002"}, "S002": {"S001"}}
    same_part |= {"P001": {"P002", "T002"}, "P002": {"P001", "T002"}, "T002": {"P001", "P002"}}
    sensitive = {"A001", "A002", "K001"}
    same_part |= {each: sensitive - {each} for each in sensitive}
    for other, usual in others.items():
        if other not in same_part.get(code, ()):
            assert found[other] == usual


def test_every_code_has_every_answer_that_it_can_give():
    given = {code: {case[1] for case in CASES if case[0] == code} for code in answers()}
    always = ("D001", "M001", "T003", "T004", "T006")
    for code, statuses in given.items():
        assert {YES, NO} <= statuses and (code in always or len(statuses) > 2)


def test_details_say_which_way():
    lines = []
    for code, _, when, changed in CASES:
        found = answers(**changed)[code]
        lines += [f"# {code}, {when}", f"{found.status}: {found.detail}"]
    same("answers", lines)


ROWS = "1,267 of 10,010 rows"
LEFT_OUT = f"{ROWS} are left out: chance tables rarely show as much"
UNTESTED = f"{ROWS} are represented worst; whether by more than chance was not tested."
CHANCE = (
    f"No left-out group beyond chance: the {ROWS} that are represented worst lose no more than "
    "chance gives."
)
GONE = f"{LEFT_OUT}, but on rows the search had not seen it is no more than chance."


@pytest.mark.parametrize(
    ("trust", "text"),
    [
        (held(), f"{LEFT_OUT}, and it holds on rows the search had not seen."),
        (held(reached=2), GONE),
        (held((0.46,)), f"{LEFT_OUT}."),
        (trusted(held_out=None), f"{LEFT_OUT}."),
        (at_chance(39, 0.0501), CHANCE),
        (at_chance(18, 0.01), UNTESTED),
        ({"trust": None}, UNTESTED),
    ],
)
def test_the_headline_says_no_more_than_was_tested(trust, text):
    group = known.partition().left_out_
    assert headline(group, trust["trust"]) == text
    sampled = text.replace("10,010 rows", "10,010 sampled rows")
    assert headline(group, trust["trust"], True) == sampled
    for losses in ((0.3, 0.3), (0.323, 0.317)):
        group = known.partition(losses=losses).left_out_
        nobody = f"No group of {ROWS} loses more than the rest."
        assert headline(group, trust["trust"]) == nobody


SAID = {
    "D001": {YES, NO, NOT_RUN},
    "E001": {YES, NO, NOT_RUN},
    "C001": {YES, NO, NOT_RUN},
    "O001": {YES, NO},
    "S003": {NO},
    "N001": {YES},
    "K001": {YES},
    "T001": {YES},
    "T002": {YES},
    "P001": {YES},
    "M001": {YES},
    "P002": {YES},
}


@pytest.mark.parametrize("status", STATUSES)
def test_the_paragraph_has_what_people_ask_first(status):
    every = [Finding(code, status, "A title", f"{code} said.") for code in answers()]
    said = [f"{code} said." for code, statuses in SAID.items() if status in statuses]
    assert paragraph("Head.", every) == " ".join(["Head.", *said])
    short = paragraph("Head.", every, {"P001": "Short.", "P002": "Short."})
    said = ["Short." if text[:2] == "P0" else text for text in said]
    assert short == " ".join(["Head.", *dict.fromkeys(said)])


@pytest.mark.parametrize(
    ("low", "high", "sign"),
    [(0.1, 0.2, 1), (-0.2, -0.1, -1), (-0.1, 0.1, 0), (0.0, 0.1, 0), (-0.1, 0.0, 0)],
)
def test_a_gap_is_clear_where_its_interval_leaves_zero(low, high, sign):
    assert Interval(0.0, low, high).clear == sign


@pytest.mark.parametrize(
    ("miss", "residual", "said"),
    [(0.1, 1.0999, []), (0.1001, 1.0, ["correlation"]), (0.0, 1.1001, ["variance"]),
     (0.0, 0.8999, ["variance"]), (0.0, 0.9001, []), (0.2, 0.5, ["correlation", "variance"])],
)  # fmt: skip
def test_chance_tables_are_doubted_where_they_are_far_off(miss, residual, said):
    profile = known.profile(chance={"copula": known.chance(miss=miss, residual=residual)})
    notes = _doubts(profile)
    assert len(notes) == len(said) and all(w in n for w, n in zip(said, notes, strict=True))
    if len(notes) == 2:
        assert notes == [
            "Chance tables: a correlation is off by 0.20 on average, so read the p-value with "
            "care.",
            "Chance tables: 3 components leave 0.50 times the variance that they leave of the "
            "table, so read the p-value with care.",
        ]


def test_a_size_that_was_given_has_its_own_p_value():
    found = known.profile()
    assert [_p_value(found, size) for size in (310, 617, 1_240)] == [0.031, 0.026, 0.42]
    assert _p_value(found, None) == 0.025
    assert _p_value(known.profile(chance={}), 617) is None


def test_evidence_as_data_is_that_of_its_parts():
    data = known.trust().to_dict()
    assert data["partition"] == {
        "group_size": 617, "chosen": "evidence", "sizes": [4_383, 617], "losses": [0.053, 0.647],
        "disparity": 0.647 - 0.053, "bound": 0.743,
    }  # fmt: skip
    assert (data["p_value"], data["beyond_chance"]) == (0.025, True)
    assert data["notes"] == known.trust().notes
    assert (data["evidence_size"], data["evidence_range"]) == (617, known.profile().evidence_range)
