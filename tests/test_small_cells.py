"""No count below the limit, and none to be had by subtraction."""

from __future__ import annotations

import functools
import itertools
import json
import os
import re
from collections import defaultdict
from dataclasses import replace
from html import escape

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from leftout import InputError, audit, datasets
from leftout.auditing.schema import schema
from leftout.auditing.small_cells import RARE, _known
from leftout.data.conditions import Condition
from leftout.explain.sentence import Sentence
from leftout.groups.known import KnownGroup
from leftout.text import bounds_of

LIMIT = 10
COUNTS = ("covered", "count", "precision", "recall", "f1")


def small(count, of):
    return count not in (0, of) and min(count, of - count) < LIMIT


@pytest.mark.parametrize("of", [3, 9, 10, 15, 19, 20, 21, 57, 200])
def test_what_is_told_of_a_count_holds_and_tells_no_small_one(of):
    told = {}
    for count in range(of + 1):
        low, high = bounds_of(count, of, LIMIT)
        assert low == high == count if not small(count, of) else low < count < high
        told.setdefault((low, high), []).append(count)
    for counts in told.values():  # what is told alike cannot be told apart
        assert len(counts) > 1 or not small(counts[0], of)


def ends(told):
    """The ends of what is told: a number, or words."""
    if not isinstance(told, str):
        return told, told
    if told == "some":
        return 0.0, 1.0
    figures = [float(each.replace(",", "")) for each in re.findall(r"[\d,.]+", told)]
    figures = [each / 100 if "%" in told else each for each in figures]
    if told.startswith(("fewer than", "at most")):
        return 0.0, figures[0]
    return (figures[0], 1.0) if told.startswith("at least") else tuple(figures)


def holds(told, truth):
    low, high = ends(told)
    return low <= truth * (1 + 1e-12) and truth <= high * (1 + 1e-12)


@pytest.mark.parametrize("size, others", [(12, 40), (34, 300), (400, 9), (2_000, 90_000)])
def test_the_sentence_tells_bounds_that_hold(size, others):
    near = [{*range(25), *range(of - 25, of + 1)} & {*range(of + 1)} for of in (size, others)]
    alike = defaultdict(list)
    for count, outside in itertools.product(*near):
        one = Sentence(
            alternatives=(), covered=count + outside, count=count, size=size,
            n_rows=size + others, min_cell=LIMIT,
        )  # fmt: skip
        data, plain = one.to_dict(), replace(one, min_cell=0)
        for name in COUNTS:
            assert holds(data[name], getattr(one, name)), (name, one)
        if not small(count, size) and not small(outside, others):
            assert data == plain.to_dict() and str(one) == str(plain)
        figures = {name: data[name] for name in COUNTS}
        alike[json.dumps(figures)].append((count, outside))
    for told in alike.values():  # a small cell is never the only one of which this is said
        for place, of in enumerate((size, others)):
            counts = {pair[place] for pair in told}
            assert len(counts) > 1 or not small(*counts, of)


def table(seed, m=260):
    """Categories of very different sizes, numbers with few large values, gaps, an outcome."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.5] * 6)
    made = pd.DataFrame({
        "town": rng.choice(list("abcdef"), m, p=p), "member": rng.random(m) < rng.random() / 5,
        "age": rng.integers(18, 80, m), "income": np.round(rng.lognormal(3.0, 1.5, m), 1),
        "debt": np.where(rng.random(m) < 0.05, rng.integers(1, 9, m), 0),
        "sex": rng.choice(["f", "m", "x"], m, p=[0.5, 0.47, 0.03]),
        "faith": rng.choice(["p", "q", "r", "s"], m, p=[0.6, 0.3, 0.07, 0.03]),
        "paid": rng.choice(["no", "yes"], m, p=rng.dirichlet([1, 2])),
    })  # fmt: skip
    made.loc[rng.random(m) < 0.02, "age"] = np.nan
    made.loc[rng.random(m) < rng.choice([0, 0.01, 0.2]), "paid"] = None
    made.loc[rng.random(m) < rng.choice([0, 0.01, 0.2]), "faith"] = None
    return made


@pytest.fixture(scope="module")
def audits():
    """Of a table: the audit that is handed on, and one that tells all."""

    @functools.cache
    def of(seed):
        asked = {
            "target": "paid", "sensitive": ["sex", "faith"], "n_surrogates": 0, "n_restarts": 0,
        }  # fmt: skip
        return tuple(audit(table(seed), min_cell=limit, **asked) for limit in (LIMIT, 0))

    return of


# each audits a table twice: LEFTOUT_AUDITS=200 takes some twenty minutes
@pytest.mark.parametrize("seed", range(int(os.environ.get("LEFTOUT_AUDITS", "6"))))
def test_every_figure_of_an_audit_is_true_and_of_enough_rows(seed, audits):
    raw, (found, every) = table(seed), audits(seed)
    data, full = json.loads(found.json()), json.loads(every.json())
    Draft202012Validator(schema()).validate(data)
    labels = found.partition.labels_
    assert np.array_equal(labels, every.partition.labels_)
    group, m = labels == 1, len(raw)
    told, all_of_it = (each["groups"][0]["explanation"] for each in (data, full))
    size, rest = int(group.sum()), int((~group).sum())

    def counts(sentence):
        hit = sentence.covers(raw)
        return int(hit.sum()), int((hit & group).sum())

    sentence, figures = found.explanation.sentence, told["sentence"]
    if sentence.alternatives:
        assert (sentence.covered, sentence.count) == counts(sentence)
    for name in COUNTS:
        assert holds(figures[name], getattr(sentence, name)), name
    assert figures["describes"] == sentence.describes
    if not small(sentence.count, size) and not small(sentence.covered - sentence.count, rest):
        assert all(figures[name] == getattr(sentence, name) for name in COUNTS)
    else:
        assert any(isinstance(figures[name], str) for name in COUNTS)
    # what is one of a list is there as it is, or not at all
    for name in ("rules", "leading_rules", "alignment"):
        assert all(line in all_of_it[name] for line in told[name])
    for rule in told["rules"] + told["leading_rules"]:
        of = [size, rest]
        assert not small(rule["count"], of[0]) and not small(rule["covered"] - rule["count"], of[1])
    for line in told["alignment"]:
        if line["left_out_share"] is None:
            continue
        column = raw[line["column"]]
        known = column.notna() if line["kind"] == "category" else np.ones(m, dtype=bool)
        for side, rows in (("left_out", group), ("rest", ~group)):
            share, of = line[f"{side}_share"], int((known & rows).sum())
            assert share * of == pytest.approx(round(share * of))
            assert not small(round(share * of), of), line
            assert not small(of, int(rows.sum()))
    for outcome in told["outcome"]:
        for side, rows in (("left_out", group), ("rest", ~group)):
            of = raw["paid"][rows].dropna()
            hits = int((of == outcome["positive"]).sum())
            assert outcome[side]["value"] == hits / len(of)
            assert not small(hits, len(of)) and not small(len(of), int(rows.sum()))
    assert told["outcome"] in ([], all_of_it["outcome"])
    if none := told["no_outcome"]:
        for side, rows in (("left_out", group), ("rest", ~group)):
            lacking = int(raw["paid"][rows].isna().sum())
            assert none[side]["value"] == lacking / rows.sum() and not small(lacking, rows.sum())
    codes = {each["code"]: each for each in data["findings"]}
    before = {each["code"]: each for each in full["findings"]}
    if not told["outcome"]:
        assert codes["O001"]["status"] == "not run" and "Too few rows" in codes["O001"]["detail"]
    assert codes["A001"]["status"] == before["A001"]["status"]
    for code in ("T004", "T007"):  # found, not found, or too few rows to tell
        assert codes[code]["status"] in (before[code]["status"], "not run")
    for which in ("named", "known"):
        assert all(not small(each["size"], m) for each in data[which]["groups"])
    sizes = {each["condition"]: each["size"] for each in full["named"]["groups"]}
    assert all(sizes[each["condition"]] == each["size"] for each in data["named"]["groups"])
    for column in data["columns"]:
        missing = int(raw[column["name"]].isna().sum())
        assert holds(column["missing"], missing)
        assert isinstance(column["missing"], str) == small(missing, m)
        assert all(cells >= LIMIT for _, cells in column["strays"])
    assert all(not small(each["rows"], m) for each in data["table"]["suspects"])
    for spread in data["baseline"]["columns"] if data["baseline"] else ():
        left = spread["rows"] - sum(spread["counts"])
        assert all(count >= LIMIT for count in spread["counts"]) and not small(left, m)
    rare = [f"town = {v}" for v, n in raw["town"].value_counts().items() if n < LIMIT]
    page = found.html()
    text = json.dumps(data) + page + str(found.summary())
    assert not any(f"{name}{end}" in text for name in rare for end in '"<,; ')
    assert (f"town = {RARE}" in text) == bool(rare)
    # page, terminal and summary say the same
    assert escape(figures["text"]) in page and figures["text"] in found.explanation.sentence_text
    for column in data["columns"]:
        if isinstance(column["missing"], str):
            assert f">{column['missing']}</td>" in page


def test_a_sensitive_column_of_few_others_is_told_of_without_its_figures():
    rng = np.random.default_rng(3)
    raw = pd.DataFrame(rng.normal(size=(300, 6)), columns=list("abcdef"))
    raw.iloc[:40, 3:] += rng.normal(size=(40, 1)) * [9, -9, 9]
    asked = {"quick": True, "group_size": 40, "n_components": 2}
    group = np.flatnonzero(audit(raw, **asked).partition.labels_)
    raw["sex"] = "m"
    raw.loc[group[:37], "sex"] = "f"
    found = audit(raw, sensitive=["sex"], **asked)
    few = [line for line in found.explanation.untold if line.column == "sex"]
    shown = [line for line in found.explanation.alignment if line.column == "sex"]
    assert few and not shown
    said = next(each for each in found.findings if each.code == "A001")
    assert said.status == "found" and said.detail.startswith("It differs in sex, too few rows")
    assert "sex" not in json.dumps(found.explanation.to_dict())


def test_an_outcome_of_few_in_one_of_several_groups():
    X, group = datasets.make_planted(260, 8, 2, [30, 50], random_state=0)
    raw = pd.DataFrame(X).add_prefix("score ")
    raw["paid"] = np.where(np.arange(260) % 2, "yes", "no")
    asked = {"n_groups": 2, "group_size": [30, 50], "n_components": 2, "quick": True}
    labels = audit(raw.drop(columns="paid"), **asked).partition.labels_
    raw.loc[np.flatnonzero(labels == 1)[4:], "paid"] = "no"  # at most 4 of 30
    raw.loc[np.flatnonzero(labels == 1)[:2], "paid"] = "yes"
    found = audit(raw, target="paid", **asked)
    first, second = found.left_out_groups
    assert first.explanation.outcome == [] and second.explanation.outcome
    told = [next(e for e in each.findings if e.code == "O001") for each in (first, second)]
    assert (told[0].status, told[0].detail) == ("not run", "Too few rows to tell.")
    assert told[1].status in ("found", "not found")
    assert "Group 1: Too few rows to tell the outcome." in found.answer.cost
    assert found.html() and found.summary()


def known(counts):
    """Groups of two columns and of their combinations, as a table of counts has them."""
    names = [(f"a{i}", f"b{j}") for i, j in np.ndindex(counts.shape)]
    rows = {name: n for name, n in zip(names, counts.ravel().tolist(), strict=True) if n}
    made = defaultdict(int)
    for (a, b), n in rows.items():
        for labels in ((("A", a),), (("B", b),), (("A", a), ("B", b))):
            made[labels] += n
    total = int(counts.sum())
    return [
        KnownGroup(
            conditions=(Condition("A", "=", "A"),), labels=dict(labels), rows=np.arange(n),
            n_rows=total,
        )
        for labels, n in made.items()
    ], total  # fmt: skip


@pytest.mark.parametrize("seed", range(200))
def test_no_known_group_is_had_by_subtraction(seed):
    rng = np.random.default_rng(seed)
    counts = rng.negative_binomial(0.7, 0.02, size=rng.integers(2, 5, 2))
    every, total = known(counts)
    if not total:
        return
    shown = _known(every, total, LIMIT)
    assert all(not small(each.size, total) for each in shown)
    told = {tuple(sorted(each.labels.items())): each.size for each in shown}
    size = {tuple(sorted(each.labels.items())): each.size for each in every}
    lines = defaultdict(list)
    for labels in size:
        lines["".join(name for name, _ in labels)].append(labels)
        for label in labels if len(labels) > 1 else ():
            lines[label].append(labels)
    for line in lines.values():
        hidden = [size[labels] for labels in line if labels not in told]
        if hidden and len(hidden) < len(line):  # what the line's total leaves for these
            assert len(hidden) > 1 and sum(hidden) >= LIMIT


def test_it_can_be_switched_off():
    raw = table(0)
    data = json.loads(audit(raw, quick=True, min_cell=0, rows=2).json())
    assert data["groups"][0]["explanation"]["rows"] is not None
    assert RARE not in json.dumps(data) and not data["groups"][0]["explanation"]["notes"]
    told = data["groups"][0]["explanation"]["sentence"]
    assert all(isinstance(told[name], float | int) for name in COUNTS)
    assert all(isinstance(column["missing"], int) for column in data["columns"])
    found = audit(raw, quick=True)
    assert found.partition.labels_.sum() == 26 and found.explanation.rows is None


def test_rows_are_no_more_than_small_cells():
    with pytest.raises(
        InputError, match=r"rows=2 was given with min_cell=10, but rows .* switch that off with 0"
    ):
        audit(table(0), rows=2, quick=True)
    with pytest.raises(InputError, match="min_cell"):
        audit(table(0), min_cell=-1, quick=True)
