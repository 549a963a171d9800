"""No count below the limit, and none to be had by subtraction."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

from leftout import InputError, audit
from leftout.auditing.small_cells import RARE, _known, kept
from leftout.data.conditions import Condition
from leftout.groups.known import KnownGroup

LIMIT = 10


def small(count, of):
    return 0 < count < LIMIT or 0 < of - count < LIMIT


@pytest.mark.parametrize("of", [10, 15, 19, 20, 21, 57, 200])
def test_the_nearest_count_that_is_not_small(of):
    fits = [count for count in range(of + 1) if not small(count, of)]
    for count in range(of + 1):
        near = kept(count, of, LIMIT)
        assert near in fits
        assert abs(near - count) == min(abs(other - count) for other in fits)


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
        "paid": rng.choice(["no", "yes"], m, p=[0.04, 0.96]),
    })  # fmt: skip
    made.loc[rng.random(m) < 0.02, "age"] = np.nan
    return made


@pytest.mark.parametrize("seed", range(4))
def test_every_count_of_an_audit(seed):
    raw = table(seed)
    found = audit(
        raw, target="paid", sensitive=["sex", "faith"], n_surrogates=0, n_restarts=0,
    )  # fmt: skip
    data = json.loads(found.json())
    sizes, m = data["groups"][0]["left_out"]["sizes"], len(raw)
    told = data["groups"][0]["explanation"]
    for rule in told["rules"] + told["leading_rules"]:
        of = [sizes["group"], sizes["rest"]][:: 1 if rule["then"] != "rest" else -1]
        assert not small(rule["count"], of[0])
        assert not small(rule["covered"] - rule["count"], of[1])
    if sentence := told["sentence"]:
        assert not small(sentence["count"], sizes["group"])
        assert not small(sentence["covered"] - sentence["count"], sizes["rest"])
    for line in told["typical"] + told["alignment"]:
        if line["left_out_share"] is not None:
            for side, of in (("left_out_share", sizes["group"]), ("rest_share", sizes["rest"])):
                assert not small(round(line[side] * of), of), line
    for outcome in told["outcome"]:
        for side, of in (("left_out", sizes["group"]), ("rest", sizes["rest"])):
            assert not small(round(outcome[side]["value"] * of), of)
    for group in data["named"]["groups"] + data["known"]["groups"]:
        assert not small(group["size"], m)
    for column in data["columns"]:
        assert not small(column["missing"], m)
        assert all(cells >= LIMIT for _, cells in column["strays"])
    assert all(each["rows"] >= LIMIT for each in data["table"]["suspects"])
    for spread in data["baseline"]["columns"] if data["baseline"] else ():
        left = spread["rows"] - sum(spread["counts"])
        assert all(count >= LIMIT for count in spread["counts"]) and not small(left, m)
    rare = [f"town = {v}" for v, n in raw["town"].value_counts().items() if n < LIMIT]
    text = json.dumps(data) + found.html()
    assert not any(f"{name}{end}" in text for name in rare for end in '"<,; ')
    assert (f"town = {RARE}" in text) == bool(rare)


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
    assert RARE not in json.dumps(data)
    found = audit(raw, quick=True)
    assert found.partition.labels_.sum() == 26 and found.explanation.rows is None


def test_rows_are_no_more_than_small_cells():
    with pytest.raises(InputError, match=r"rows=2 shows single rows.*add min_cell=0"):
        audit(table(0), rows=2, quick=True)
    with pytest.raises(InputError, match="min_cell"):
        audit(table(0), min_cell=-1, quick=True)
