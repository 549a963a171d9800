"""What an audit writes, leaf by leaf, against the raw table: counted, averaged, projected anew.

Sides are told apart by groups.csv alone, and every figure is computed from the table in the slow,
obvious way. The audit draws a sample, so that a row's number is not its place.
"""

from __future__ import annotations

import io
import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import naive
from explaining import explained
from leftout import MaxDisparityPartition, TableEncoder, audit, datasets
from leftout.cli import main
from leftout.explain.rules import find_rules
from paper.frequency import rule_frequency

SIDES = {"left_out": 1, "rest": 0}


def planted_table(m=300, size=80, seed=0):
    """Numbers with a planted group, and columns of other kinds."""
    X, group = datasets.make_planted(m, 6, 2, size, random_state=seed)
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(X, columns=[f"score {i}" for i in range(6)])
    table["town"] = np.where(group == 1, "Beeley", rng.choice(["Ayton", "Corby", "Dale"], m))
    table["sex"] = rng.choice(["f", "m"], m)
    table["pay"] = np.round(1000 + 300 * rng.standard_normal(m) + 500 * group)
    table["paid"] = np.where(rng.random(m) < 0.15 + 0.6 * (group == 0), "yes", "no")
    table.loc[rng.random(m) < 0.05 + 0.1 * group, "score 1"] = np.nan
    table.loc[rng.random(m) < 0.1, "paid"] = None
    table["nr"] = np.arange(m)
    return table


@pytest.fixture(scope="module")
def table():
    return planted_table()


@pytest.fixture(scope="module")
def found(table):
    return audit(
        table, target="paid", positive="yes", sensitive=["sex", "pay"], n_components=3, sample=250,
        n_surrogates=19, n_restarts=5, rows=2, min_cell=0, encoding="target",
    )  # fmt: skip


@pytest.fixture(scope="module")
def data(found):
    return json.loads(found.json())


@pytest.fixture(scope="module")
def csv(found):
    return pd.read_csv(io.StringIO(found.csv()))


@pytest.fixture(scope="module")
def labels(csv):
    return (csv["group"] == "left out").to_numpy().astype(int)


@pytest.fixture(scope="module")
def raw(table, csv):
    """The rows audited, as they are in the table."""
    return table.iloc[csv["row"]].reset_index(drop=True)


@pytest.fixture(scope="module")
def X(found, raw):
    """The numbers searched, but for categories: scaled from the raw columns."""
    X = found.intake.X
    names = found.to_dict()["table"]["feature_names"]
    for name in raw.columns[:6]:
        values = raw[name].fillna(raw[name].median())
        scaled = (values - values.min()) / (values.max() - values.min())
        np.testing.assert_allclose(X[:, names.index(name)], scaled, atol=1e-12)
    return X


def close(found, expected, rtol=1e-8):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-10)


def kept(rows, V):
    return np.sum((rows @ V) ** 2) / np.sum(rows**2)


def own_loss(rows, V, W):
    """Squared error of each row beyond that under a side's own components."""
    return np.sum((rows - rows @ V @ V.T) ** 2 - (rows - rows @ W @ W.T) ** 2, axis=1)


def test_rows_are_those_of_the_table(data, csv, labels, raw, X):
    rows = X - X.mean(axis=0)
    assert (len(csv), data["table"]["rows"], data["table"]["rows_in_table"]) == (250, 250, 300)
    assert csv["row"].is_monotonic_increasing and csv["row"].max() > 250
    assert set(csv["group"]) == {"left out", "rest"}
    sides = [rows[labels == side] for side in (0, 1)]
    V = naive.shared_basis(X, 3, "global")
    lost = [own_loss(rows, V, naive.components(side, 3, False)) for side in sides]
    close(csv["score"], lost[1] + len(sides[1]) / len(sides[0]) * lost[0])
    assert csv["score"][labels == 1].min() > csv["score"][labels == 0].max()
    encoded = [line for line in data["columns"] if line["role"] in ("searched", "left out")]
    for line in encoded:
        assert line["missing"] == raw[line["name"]].isna().sum()
    assert {line["name"] for line in encoded} == {*raw.columns[:7], "nr"}


def test_notes_and_encodings_say_what_was_done(found, data, raw):
    assert found.notes[0] == (
        "250 of the table's 300 rows were drawn, in proportion to the target's values; another "
        "sample (another seed) may give another group."
    )
    how = {line["name"]: line["how"] for line in data["columns"]}
    assert how["town"] == "4 values: mean of paid = yes for each"
    low, high = (f"{value:.3g}" for value in (raw["score 0"].min(), raw["score 0"].max()))
    assert how["score 0"] == f"{low} to {high}, scaled"
    small = pd.DataFrame({
        "age": [18, 40, 90, 33] * 5,
        "owner": ["no", "yes", "yes", "no"] * 5,
        "gaps": [1.5, None, 2.5, 4.0] * 5,
    })  # fmt: skip
    encoder = TableEncoder().fit(small)
    assert {line.label: (line.how, line.missing) for line in encoder.columns_} == {
        "age": ("18 to 90, scaled", 0),
        "owner": ("no is 0, yes is 1", 0),
        "gaps": ("1.5 to 4, scaled; missing: median, and a missing indicator", 5),
    }


def test_the_command_writes_the_files_that_it_names(tmp_path, table):
    table.to_csv(tmp_path / "t.csv", index=False)
    words = [
        "audit",
        str(tmp_path / "t.csv"),
        "--target",
        "paid",
        "--size",
        "60",
        "--surrogates",
        "0",
    ]
    result = CliRunner().invoke(main, [*words, "--restarts", "0", "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.stderr
    page, text, rows = (
        (tmp_path / "out" / name).read_text(encoding="utf-8")
        for name in ("report.html", "audit.json", "groups.csv")
    )
    assert page.startswith("<!doctype html>") and json.loads(text)["partition"]["sizes"] == [
        240,
        60,
    ]
    sides = pd.read_csv(io.StringIO(rows))["group"].value_counts().to_dict()
    assert sides == {"rest": 240, "left out": 60}


def test_the_partition_is_what_the_definition_gives(data, X, labels):
    part, d = data["partition"], 3
    assert part["sizes"] == [np.sum(labels == 0), np.sum(labels == 1)]
    assert part["group_size"] == np.sum(labels == 1)
    losses = naive.group_losses(X, labels, d)
    close(part["losses"], losses)
    close(part["disparity"], losses[1] - losses[0])
    assert 0.0 < part["disparity"] <= part["bound"]
    rows, V = X - X.mean(axis=0), naive.shared_basis(X, d, "global")
    sides = [rows[labels == side] for side in (0, 1)]
    close(part["retained"], [kept(side, V) for side in sides])
    close(part["retained_own"], [kept(side, naive.components(side, d, False)) for side in sides])
    spread = np.linalg.svd(rows, compute_uv=False) ** 2
    close(data["pca"]["scree"], spread / spread.sum())
    close(data["pca"]["explained_variance_ratio"], (spread / spread.sum())[:d])


def test_features_are_split_by_the_definition(data, X, labels, found):
    names = data["table"]["feature_names"]
    losses = naive.feature_losses(X, labels, 3)
    for line in data["groups"][0]["explanation"]["disparity_by_feature"]:
        rest, group = losses[:, names.index(line["feature"])]
        close([line["left_out_loss"], line["rest_loss"]], [group, rest], 1e-6)
        close(line["disparity"], group - rest, 1e-6)
        close(line["share"], (group - rest) / data["partition"]["disparity"], 1e-6)


def holds(condition, raw):
    column = raw[condition["column"]]
    if condition["op"] in ("missing", "known"):
        return column.isna() == (condition["op"] == "missing")
    if condition["op"] == "range":
        low, high = condition.get("low", -np.inf), condition.get("high", np.inf)
        return (column >= low) & ((column < high) | (condition.get("high") is None))
    return (column == condition["value"]) == (condition["op"] == "=")


def test_rules_and_sentence_are_counted(data, raw, labels):
    told = data["groups"][0]["explanation"]
    group, listed = labels == 1, told["leading_rules"]
    for rule in told["rules"]:
        covered = np.logical_and.reduce([holds(each, raw) for each in rule["antecedents"]])
        assert (rule["covered"], rule["count"]) == (covered.sum(), (covered & group).sum())
        close(rule["support"], (covered & group).mean())
        close(rule["confidence"], group[covered].mean())
        close(rule["lift"], group[covered].mean() / group.mean())
        assert rule["lift"] >= 1.0
    covered = np.zeros(len(raw), dtype=bool)
    for rule in listed:
        rows = np.logical_and.reduce([holds(each, raw) for each in rule["antecedents"]]) & group
        assert 2 * (rows & ~covered).sum() >= rows.sum() == rule["count"] > 0
        covered |= rows
    assert 0 < len(listed) <= 8 and listed[0]["lift"] == max(rule["lift"] for rule in listed)
    sentence, group = told["sentence"], labels == 1
    covered = np.zeros(len(raw), dtype=bool)
    for both in sentence["alternatives"]:
        covered |= np.logical_and.reduce([holds(each, raw) for each in both])
    assert (sentence["covered"], sentence["count"]) == (covered.sum(), (covered & group).sum())
    assert (sentence["size"], sentence["n_rows"]) == (group.sum(), 250)
    close(sentence["precision"], group[covered].mean())
    close(sentence["recall"], covered[group].mean())
    close(sentence["f1"], naive.f1(covered, group))


def often(columns, runs, side, number, top):
    """In how many runs so many columns together are in a leading rule of a side."""
    found = Counter()
    for run in runs:
        rules = find_rules(columns, run == side)
        leading = [rule for rule in rules if len(rule.antecedents) == number][:top]
        found.update({frozenset(each.column for each in rule.antecedents) for rule in leading})
    return found


def test_leading_rules_are_counted_run_by_run(raw):
    columns = raw[raw.columns[:7]]
    here = raw["town"].isin(["Ayton", "Corby"])  # elsewhere nobody is: that leads the rest's rules
    runs = [here & (column > column.quantile(0.9)) for _, column in raw.iloc[:, 2:6].items()]
    for top in (1, 10):
        frequency = rule_frequency(columns, np.array(runs), top=top)
        assert (frequency.runs, frequency.top) == (len(runs), top)
        for side, key, word in ((1, "left_out_runs", "left-out group"), (0, "rest_runs", "rest")):
            single = {frozenset([line["variable"]]): line[key] for line in frequency.variables}
            expected = often(columns, runs, side, 1, top)
            assert {names: count for names, count in single.items() if count} == expected
            paired = [line for line in frequency.pairs if line["group"] == word]
            counted = {frozenset(line["pair"]): line["runs"] for line in paired}
            assert counted == often(columns, runs, side, 2, top)
        assert any(line["left_out_runs"] != line["rest_runs"] for line in frequency.variables)


def test_columns_are_compared_side_by_side(data, raw, labels):
    told = data["groups"][0]["explanation"]
    by_side = {key: raw[labels == side] for key, side in SIDES.items()}
    assert {line["column"] for line in told["alignment"]} == {*raw.columns[:7], "sex", "pay"}
    for line in told["alignment"]:
        sides = [side[line["column"]] for side in by_side.values()]
        assert line["searched"] == (line["column"] not in ("sex", "pay"))
        if line["kind"] == "number":
            close(line["means"], [side.mean() for side in sides])
            assert (line["difference"] > 0) == (sides[0].mean() > sides[1].mean())
            continue
        value = line["contrast"]
        has = [side.isna() for side in sides]
        if line["kind"] == "category":
            has = [side.dropna() == value for side in sides]
        shares = [line["left_out_share"], line["rest_share"]]
        close(shares, [each.mean() for each in has])
        if line["kind"] == "category":
            assert value == max(set(raw[line["column"]].dropna()), key=lambda v: gain(sides, v))


def gain(sides, value):
    return (sides[0].dropna() == value).mean() - (sides[1].dropna() == value).mean()


def wilson(hits, n, z=1.959963984540054):
    middle, half = hits + z * z / 2, z * np.sqrt(hits * (n - hits) / n + z * z / 4)
    return np.array([middle - half, middle + half]) / (n + z * z)


def test_the_outcome_is_the_tables(data, raw, labels):
    outcome = data["groups"][0]["explanation"]["outcome"][0]
    assert (outcome["target"], outcome["positive"]) == ("paid", "yes")
    ends = {}
    for key, side in SIDES.items():
        known = raw["paid"][labels == side].dropna()
        hits, n = int((known == "yes").sum()), len(known)
        close(outcome[key]["value"], hits / n)
        ends[key] = (hits / n, *wilson(hits, n))
        close([outcome[key]["low"], outcome[key]["high"]], ends[key][1:], 1e-6)
    (a, a_low, a_high), (b, b_low, b_high) = ends["left_out"], ends["rest"]
    gap = [a - b, a - b - np.hypot(a - a_low, b_high - b), a - b + np.hypot(a_high - a, b - b_low)]
    close([outcome["gap"][key] for key in ("value", "low", "high")], gap, 1e-6)
    assert outcome["missing"] == raw["paid"].isna().sum() > 0
    gone, lacking = raw["paid"].isna(), data["groups"][0]["explanation"]["no_outcome"]
    sides = [naive.wilson(gone[labels == k].sum(), (labels == k).sum()) for k in SIDES.values()]
    for key, want in zip(
        ("left_out", "rest", "gap"), (*sides, naive.newcombe(*sides)), strict=True
    ):
        close([lacking[key][end] for end in ("value", "low", "high")], want, 1e-6)
    assert (lacking["kind"], lacking["missing"]) == ("missing", gone.sum())


def test_no_row_that_is_shown_belongs_to_the_other_side(data, table, csv, X, labels):
    rows = data["groups"][0]["explanation"]["rows"]
    place = {int(row): at for at, row in enumerate(csv["row"])}
    score = csv.set_index("row")["score"]
    nearest = np.sum((X - X[labels == 0].mean(axis=0)) ** 2, axis=1)
    for key, side in SIDES.items():
        shown = [row["row"] for row in rows[key]]
        assert [labels[place[row]] for row in shown] == [side] * 2
        own = csv["row"][labels == side]
        if key == "left_out":
            assert shown == sorted(own, key=lambda row: -score[row])[:2]
        else:
            assert shown == sorted(own, key=lambda row: nearest[place[row]])[:2]
        for row in rows[key]:
            assert set(row["values"]) == set(table.columns[:7])
            for name, text in row["values"].items():
                value = table[name][row["row"]]
                known = None if pd.isna(value) else value
                assert text == known or float(text) == pytest.approx(known, rel=1e-6)


def test_fair_pca_is_what_its_projection_keeps(data, found, X, labels):
    mended, fair = data["mitigation"], found.mitigation.fair
    assert mended["groups"] == ["rest", "the left-out group"]
    assert mended["sizes"] == data["partition"]["sizes"]
    close(mended["losses_before"], naive.group_losses(X, labels, 3))
    rows, V = X - X.mean(axis=0), naive.shared_basis(X, 3, "global")
    sides = [rows[labels == side] for side in (0, 1)]
    best = [kept(side, naive.components(side, 3, False)) for side in sides]
    fairly = [kept(side, fair.components_.T) for side in sides]
    each = [np.sum(side**2) / len(side) for side in sides]
    close(mended["retained_before"], [kept(side, V) for side in sides])
    close(mended["retained_after"], fairly)
    close(mended["losses_after"], [v * (b - f) for v, b, f in zip(each, best, fairly, strict=True)])
    close(
        [mended["kept_before"], mended["kept_after"]],
        [kept(rows, V), kept(rows, fair.components_.T)],
    )
    close(mended["price"], kept(rows, V) - kept(rows, fair.components_.T))
    assert max(mended["losses_after"]) < max(mended["losses_before"])
    for line in mended["by_dimension"]:
        close(line["losses_before"], naive.group_losses(X, labels, line["n_components"]), 1e-6)
        assert line["max_loss_before"] == max(line["losses_before"])
        assert line["max_loss_after"] == max(line["losses_after"])
        close(line["price"], line["kept_before"] - line["kept_after"])


def test_evidence_and_runs_are_told_as_they_are(data, found):
    runs = found.stability.labels
    both = [[np.sum(a & b) / np.sum(a | b) for b in runs] for a in runs]
    apart = np.array(both)[np.triu_indices(5, 1)]
    assert data["groups"][0]["trust"]["stability"]["runs"] == 5
    for key, value in (("mean", apart.mean()), ("low", apart.min()), ("high", apart.max())):
        close(data["groups"][0]["trust"]["stability"][f"jaccard_{key}"], value)
    trust = data["groups"][0]["trust"]
    assert (trust["rows"], trust["of_rows"]) == (250, 250)
    assert trust["p_value"] == trust["chance"]["copula"]["p_value"]
    assert trust["beyond_chance"] == (trust["p_value"] <= 0.05)
    size = data["partition"]["group_size"]
    assert size == 25 and data["partition"]["chosen"] == "tenth"  # of 250 rows
    at_size = {}
    for kind, chance in found.trust.chance.items():
        told, values = trust["chance"][kind], chance.disparities
        assert told["surrogates"] == len(values) <= 19
        close([told[key] for key in ("low", "mean", "high")],
              [np.quantile(values, 0.05), values.mean(), np.quantile(values, 0.95)])  # fmt: skip
        reached = np.sum(values >= trust["searched"] * (1 - 1e-9))
        close(told["p_value"], (1 + reached) / (1 + len(values)))
        at_size[kind] = values.mean()
    # three parts, that add up, by what comparison tables lose on average
    parts, whole = data["groups"][0]["trust"]["parts"], trust["searched"]
    expected = (
        at_size["gaussian"], at_size["copula"] - at_size["gaussian"], whole - at_size["copula"],
    )  # fmt: skip
    for key, loss in zip(("covariance", "values", "own"), expected, strict=True):
        close(parts[key]["loss"], loss)
        close(parts[key]["share"], loss / whole)
        assert set(parts[key]["carriers"]) <= {line["label"] for line in data["columns"]}
    close(parts["total"], whole)


def test_what_halves_and_parts_of_the_rows_say_is_told_as_it_is(data, found):
    held, belongs = data["groups"][0]["trust"]["held_out"], data["groups"][0]["trust"]["membership"]
    close(held["gap"]["value"], np.mean(held["gaps"]))
    assert held["gap"]["low"] < held["gap"]["value"] < held["gap"]["high"]
    close(held["overlap"], np.mean(held["overlaps"], axis=0).max())
    assert held["splits"] == len(held["gaps"])
    rows = found.groups
    group = rows["group"] == "left out"
    sure = group & (rows["membership"] >= 0.8)
    assert belongs["n_members"] == sure.sum() == (rows["belongs"] == "member").sum()
    assert belongs["n_borderline"] == (group & ~sure).sum()
    assert belongs["n_borderline"] == (rows["belongs"] == "borderline").sum()
    # shares of sixteen searches
    np.testing.assert_allclose(rows["membership"] * 16, np.round(rows["membership"] * 16))
    assert rows["membership"][group].mean() > rows["membership"][~group].mean()


def test_the_target_is_nowhere_but_in_the_outcome(data, table, found):
    told = data["groups"][0]["explanation"]
    roles = {line["name"]: line["role"] for line in data["columns"]}
    assert roles["paid"] == "target"
    assert not any("paid" in name for name in data["table"]["feature_names"])
    for part in ("sentence", "rules", "alignment"):
        assert '"paid' not in json.dumps(told[part]), part
    for part in ("sentence", "rules", "what_if", "rows"):
        assert '"sex' not in json.dumps(told[part]) and '"pay' not in json.dumps(told[part]), part
    # without categories that hold its mean, the search is the same whatever the target
    numbers = table.drop(columns=["town", "nr"])
    quick = {"target": "paid", "sensitive": ["sex"], "group_size": 60, "quick": True}
    other = numbers.assign(paid=numbers["paid"].sample(frac=1, random_state=0).to_numpy())
    first, second = (audit(each, **quick) for each in (numbers, other))
    assert np.array_equal(first.intake.X, second.intake.X)
    assert first.csv() == second.csv()
    assert first.explanation.outcome[0].text == "paid = yes"  # of two values, the second


def test_what_was_asked_for_is_what_was_done(table):
    """Every choice that is not the usual one, seen in what came out."""
    asked = {"target": "paid", "positive": "no", "drop": ["score 5"], "sensitive": ["sex"]}
    asked |= {"group_size": 61, "min_group_size": 27, "n_components": 2, "sample": 240}
    asked |= {"encoding": "target", "min_cell": 0}
    quick = {"n_surrogates": 0, "n_restarts": 0, "random_state": 7}
    found = audit(table, **asked, **quick)
    data = json.loads(found.json())
    assert data["settings"] | asked | quick == data["settings"]
    rows = pd.read_csv(io.StringIO(found.csv()))
    raw = table.iloc[rows["row"]].reset_index(drop=True)
    assert (len(rows), (rows["group"] == "left out").sum()) == (240, 61)
    assert data["partition"]["min_group_size"] == 27 and data["pca"]["n_components"] == 2
    assert found.partition.get_params()["random_state"] == 0  # the group is no seed's
    first = data["groups"][0]["explanation"]["outcome"][0]
    assert first["positive"] == data["table"]["positive"] == "no"
    for key, side in (("left_out", "left out"), ("rest", "rest")):
        close(first[key]["value"], (raw["paid"][rows["group"] == side].dropna() == "no").mean())
    # towns in the order of their share of "no", the least 0 and the most 1
    share = (raw["paid"] == "no").groupby(raw["town"]).sum() / raw.groupby("town")["paid"].count()
    town = found.intake.X[:, data["table"]["feature_names"].index("town")]
    by_town = pd.Series(town).groupby(raw["town"]).agg(["min", "max"])
    assert (by_town["min"] == by_town["max"]).all() and {0.0, 1.0} < set(by_town["min"])
    assert by_town["min"].sort_values().index.tolist() == share.sort_values().index.tolist()
    dropped = data["table"]["dropped"]
    kinds = {line["name"]: line["why"] for line in data["columns"]}
    assert dropped == {"score 5": "asked for", "nr": kinds["nr"]}
    assert not {"score 5", "sex"} & set(data["table"]["feature_names"])
    assert (
        len(data["notes"]) == len(set(data["notes"]))
        and data["groups"][0]["explanation"]["rows"] is None
    )
    assert (raw["paid"] == "no").sum() == round((table["paid"] == "no").sum() * 240 / 300)


def test_the_searched_are_told_from_what_was_kept_out(table):
    """The sentence may not use a sensitive column, however well it tells the group."""
    X = table[[f"score {i}" for i in range(6)]].fillna(0.0)
    found = MaxDisparityPartition(2, group_size=70, random_state=0).fit(X)
    raw = X.assign(told=np.where(found.labels_ == 1, "in", "out"), other=table["town"])
    kept_out = explained(found, X, raw, sensitive=["told"])
    assert "told" not in {each.column for each in kept_out.sentence.conditions}
    assert kept_out.alignment[0].column == "told" and not kept_out.alignment[0].searched
    assert all(line.searched for line in kept_out.alignment if line.column.startswith("score"))
    seen = explained(found, X.to_numpy(), raw)
    assert seen.sentence.text == "told = in"
