"""The first screen of an audit: every number in it again, from the raw table."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import known
import leftout
import naive
from leftout.data.conditions import Condition
from leftout.explain.sentence import Sentence
from leftout.text import either, part_of, percents

D, SIZE = 2, 40


def raw_table(m=240):
    """Numbers with a planted group whose members are old, and an outcome that few of them have."""
    X, group = leftout.datasets.make_planted(m, 5, D, SIZE, random_state=0)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(X, columns=list("abcde"))
    table["age"] = np.where(group == 1, rng.integers(58, 80, m), rng.integers(20, 62, m))
    table["paid"] = np.where(rng.random(m) < 0.3 + 0.5 * (group == 0), "yes", "no")
    return table


@pytest.fixture(scope="module")
def table():
    return raw_table()


@pytest.fixture(scope="module")
def found(table, with_afterwards):
    with with_afterwards():
        return leftout.audit(
            table, target="paid", positive="yes", n_components=D, group_size=SIZE, n_surrogates=19,
            n_restarts=2, min_cell=0,
        )  # fmt: skip


@pytest.fixture(scope="module")
def group(found):
    return (found.groups["group"] == "left out").to_numpy()


@pytest.fixture(scope="module")
def X(table):
    numbers = table.drop(columns="paid")
    return ((numbers - numbers.min()) / (numbers.max() - numbers.min())).to_numpy()


def kept(rows, V):
    return np.sum((rows @ V) ** 2) / np.sum(rows**2)


def numbers_in(text):
    return re.findall(r"\d+(?:\.\d+)?%?", text)


def holds(table, clause):
    """The rows for which a clause of the sentence holds, by pandas."""
    column, text = clause.split(" is ")
    values, ends = table[column], [float(end) for end in re.findall(r"-?[\d.]+", text)]
    if " to " in text or " or " in text:
        return values.between(*ends)
    within = {"at least": values.ge, "at most": values.le, "below": values.lt}
    if text.startswith("at least") and "below" in text:
        return values.ge(ends[0]) & values.lt(ends[1])
    return next((of(ends[0]) for word, of in within.items() if text.startswith(word)), None)


def test_what_is_kept_of_whom(found, group, X):
    rows = X - X.mean(axis=0)
    V = naive.shared_basis(X, D, "global")
    own = naive.components(rows[group], D, False)
    shares = kept(rows[~group], V), kept(rows[group], V), kept(rows[group], own)
    assert group.sum() == SIZE
    assert found.answer.fact == (
        f"The PCA keeps {100 * shares[0]:.0f}% of the variance of most rows but only "
        f"{100 * shares[1]:.0f}% of that of 40 of 240 rows, 17%; their own PCA would "
        f"keep {100 * shares[2]:.0f}%."
    )


def test_who_they_are(found, table, group):
    said = re.fullmatch(
        r"In (\d+)% of them, (.+); (\d+)% of such rows belong to the group\.", found.answer.who
    )
    clauses = re.split(r",? or (?=\w+ is)|, (?=\w+ is)", said[2])
    covered = np.zeros(len(table), dtype=bool)
    for clause in clauses:
        parts = [holds(table, each) for each in re.split(r" and (?=\w+ is)", clause)]
        covered |= np.logical_and.reduce(parts)
    assert int(said[1]) == round(100 * covered[group].mean())
    assert int(said[3]) == round(100 * group[covered].mean())


def test_why_and_whether_it_replicates(found, group, X):
    trust = found.trust
    at_size = {kind: each.mean for kind, each in trust.chance.items()}
    whole, gaussian, copula = trust.searched, at_size["gaussian"], at_size["copula"]
    parts = (gaussian / whole, (copula - gaussian) / whole, (whole - copula) / whole)
    shown = {f"{abs(round(100 * part))}%" for part in parts}
    assert shown == set(numbers_in(found.answer.why))
    losses = naive.group_losses(X, group.astype(int), D)
    gap = np.mean(trust.held_out.gaps)
    value, low, high, whole = map(float, numbers_in(found.answer.returns))
    assert value == pytest.approx(gap, rel=0.05) and low < gap < high
    assert whole == pytest.approx(losses[1] - losses[0], rel=0.05)
    fully = trust.held_out.gap.low >= (losses[1] - losses[0]) / 2
    assert found.answer.returns.startswith("It replicates: ") == fully


def test_what_it_costs(found, table, group, X):
    y = table["paid"] == "yes"
    paid = leftout.harm(X, y.astype(int), group, D, models="logistic", positive=1)
    wrong = {True: y, False: ~y}[y.mean() < 0.5]  # what one guess for everybody gets wrong
    variants = ("all columns", "shared PCA", "Fair PCA", "MinimaxPCA")
    errors = [paid.at("left-out group", seen).value for seen in variants] + [wrong[group].mean()]
    everybody = [paid.everybody[seen].value for seen in variants] + [wrong.mean()]
    costs = found.answer.costs
    assert [row[0] for row in costs.rows] == [
        "all columns", "PCA", "Fair PCA for this group", "MinimaxPCA",
        f"always saying {'yes' if y.mean() > 0.5 else 'no'}",
    ]  # fmt: skip
    assert costs.heads == ["", "left-out group", "worst 40 rows after it", "everybody"]
    shown = [(numbers_in(row[1])[0], numbers_in(row[3])[0]) for row in costs.rows]
    assert shown == [
        (f"{100 * a:.1f}%", f"{100 * b:.1f}%") for a, b in zip(errors, everybody, strict=True)
    ]
    # of whom each projection leaves worst off, the errors of the same predictions
    said = paid.held_out.guesses != y.to_numpy()
    for place, line in enumerate(found.afterwards.lines, start=1):
        assert (
            numbers_in(costs.rows[place][2])[0] == f"{100 * said[place][:, line.worst].mean():.1f}%"
        )
    assert [costs.rows[place][2] for place in (0, 4)] == ["\u2013", "\u2013"]
    # two classes are uneven here: AUC stands beside the errors
    assert y.mean() > 0.7 and "AUC in brackets" in costs.caption
    assert (
        f"({roc_auc_score(y, paid.held_out.chances[0, :, :, 1].mean(axis=0)):.2f})"[:4]
        in costs.rows[0][3]
    )
    said = numbers_in(found.answer.cost)
    assert said[0] == shown[1][0] and shown[0][0] in said
    if "(everybody: " in found.answer.cost:
        assert {shown[1][1], shown[0][1]} <= set(said)
    assert ("Components do no better than" in found.answer.cost) == (
        paid.gain["shared PCA"].low <= 0 < paid.gain["all columns"].low
    )
    assert ("they are harmed more" in found.answer.cost) == paid.costs_more


def test_what_helps(found, group, X):
    losses = naive.group_losses(X, group.astype(int), D)
    shared, fair, every = found.afterwards.lines
    assert shared.group_loss == pytest.approx(losses[1], rel=1e-6)
    shown = numbers_in(found.answer.advice.replace("40 rows", ""))
    usable = [line.worst_loss for line in (shared, fair, every)] + [shared.group_loss]
    usable.append(fair.group_loss)
    for text in shown:
        if text.endswith("%"):
            assert text == f"{100 * found.afterwards.gain.value:.0f}%"
        else:
            assert min(abs(float(text) - loss) for loss in usable) <= 0.005


def test_one_screen_is_read_in_a_minute(found):
    assert 90 <= len(found.answer.text.split()) <= 170
    longer = known.audit(harm=known.harm(), trust=known.trust())
    assert len(longer.answer.text.split()) <= 170


def test_a_model_of_no_use_is_seen():
    """From the components it errs on the group as often as always saying yes."""
    always = dict(known.ERRORS, **{"left-out group": (0.117, 0.321, 0.157, 0.177)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known, "ERRORS", always)
        told = known.audit(harm=known.harm()).answer.cost
    assert (
        "errs on 32.1% of the group, no better than always saying yes (32.3%), and from all "
        in told
    )


def test_what_a_column_is_not_is_said_once():
    work = [Condition("emp", "!=", f"emp != {value}", value) for value in ("4", "6")]
    old = Condition("age", "range", "", low=40.0, whole=True)
    one = Sentence(alternatives=((*work, old),), covered=9, count=8, size=9, n_rows=99)
    assert one.words == "emp is other than 4 or 6 and age is at least 40"


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (Condition("age", "range", "age >= 40", low=40.0, whole=True), "age is at least 40"),
        (Condition("age", "range", "age < 3", high=3.0, whole=True), "age is at most 2"),
        (Condition("n", "range", "", low=1.0, high=3.0, whole=True), "n is 1 or 2"),
        (Condition("n", "range", "", low=1.0, high=6.0, whole=True), "n is 1 to 5"),
        (Condition("n", "range", "", low=1.5, high=2.5, whole=True), "n is 2"),
        (Condition("x", "range", "x < 0.25", high=0.25), "x is below 0.25"),
        (Condition("x", "range", "", low=0.5, high=2.0), "x is at least 0.5 and below 2"),
        (
            Condition("d", "range", "", high=1.3806e15, dates=True),
            "d is before 2013-10-01 04:00:00",
        ),
        (Condition("town", "=", "town = Ashford", "Ashford"), "town is Ashford"),
        (Condition("town", "!=", "town != Ashford", "Ashford"), "town is other than Ashford"),
        (Condition("sex", "missing", "sex is missing"), "sex was not recorded"),
        (Condition("sex", "known", "sex is known"), "sex was recorded"),
    ],
)
def test_conditions_in_the_words_of_people(condition, words):
    assert condition.words == words


def test_numbers_in_words():
    assert percents(0.84, 0.66) == ["84%", "66%"]
    assert percents(0.981, 0.984) == ["98.1%", "98.4%"] and percents(0.5, 0.5) == ["50%", "50%"]
    assert [part_of(share) for share in (0.1, 0.2, 0.0701, 0.5)] == [
        "a tenth", "a fifth", "7%", "half",
    ]  # fmt: skip
    assert either(["a", "b"]) == "a or b" and either(["a", "b", "c"]) == "a, b, or c"
    assert either(["a and b", "c"]) == "a and b, or c" and either(["a"]) == "a"
