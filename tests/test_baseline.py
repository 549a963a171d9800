"""What later tables are compared with: the encoding, the rules of halves, and their figures."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from leftout import audit, datasets
from leftout.auditing.baseline import Baseline, Encoding, Spread
from leftout.auditing.schema import schema
from leftout.data.columns import column_of
from leftout.data.preparation import prepare_table
from leftout.data.sources import Source
from leftout.files import restored
from leftout.settings import Reading


def mixed(m=400, seed=0):
    """Numbers, dates, categories of which one is rare, yes or no, gaps, decimal commas."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, m).astype(float)
    age[rng.random(m) < 0.1] = np.nan
    return pd.DataFrame({
        "age": age,
        "income": np.round(rng.lognormal(7.0, 1.0, m), 2),
        "price": [f"{value:.2f}".replace(".", ",") for value in rng.normal(20.0, 3.0, m)],
        "since": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, m), "D"),
        "town": np.append(["Aix"] * 3, rng.choice(["Bonn", "Como", "Deal"], m - 3)),
        "member": rng.choice(["no", "yes"], m, p=[0.7, 0.3]),
    })  # fmt: skip


def taken_in(table, **said):
    return prepare_table(Source.of(table), Reading(**said), rng=np.random.default_rng(0))


@pytest.mark.parametrize("scaling", ["minmax", "standard", "none"])
def test_the_encoding_survives_json(scaling):
    intake, later = taken_in(mixed(), scaling=scaling), mixed(300, seed=1)
    made = Encoding.of(intake, 0)
    read = restored(Encoding, json.loads(json.dumps(made.to_dict())))
    old, new = intake.encoder.transform(mixed()), intake.encoder.transform(later)
    np.testing.assert_allclose(old, intake.X)
    for table, expected in ((mixed(), old), (later, new)):
        encoded = read.encode(read.read(table, Reading()))
        np.testing.assert_allclose(encoded, expected, rtol=1e-5, atol=1e-5)
    cleaned = read.encode(read.cleaned(taken_in(later).columns))
    np.testing.assert_allclose(cleaned, new, rtol=1e-5, atol=1e-5)


def test_the_encoding_tells_of_no_few_rows():
    intake = taken_in(mixed())
    made = Encoding.of(intake, 10)
    by_name = {each.like.name: each for each in made.columns}
    assert "Aix" not in json.dumps(made.to_dict())
    assert by_name["town"].like.categories == ("Bonn", "Como", "Deal")
    income = mixed()["income"]
    assert by_name["income"].low <= income.min() and by_name["income"].high >= income.max()
    digits = by_name["income"].high / 10.0 ** np.floor(np.log10(np.ptp(income)))
    assert digits == round(digits) and by_name["income"].high != income.max()
    X = made.encode(made.cleaned(intake.searched))
    assert X.shape == intake.X.shape and X.min() >= 0.0 and X.max() <= 1.0


@pytest.fixture(scope="module")
def planted():
    X, labels = datasets.make_planted(500, 9, 2, 60, random_state=0)
    found = audit(pd.DataFrame(X, columns=[f"x{j}" for j in range(9)]), n_components=2, quick=True)
    return found, labels


def naive_figures(rule, X):
    """From the definitions, row by row."""
    kept, size = rule.components, rule.sizes
    scores, errors = [], []
    for row in X - rule.origin:
        keeps = np.sum((kept @ row) ** 2)
        rest, group = (np.sum((W @ row) ** 2) - keeps for W in rule.own)
        errors.append(np.sum(row**2) - keeps)
        scores.append((group, rest, group + size[1] / size[0] * rest - rule.offsets[0]))
    inside = np.array([score > 0.0 for *_, score in scores])
    gap = np.mean([g for g, _, score in scores if score > 0.0])
    gap -= np.mean([r for _, r, score in scores if not score > 0.0])
    worst = np.sort(errors)[-len(X) // 10 :]
    return gap, inside.mean(), worst.mean()


def test_figures_answer_to_their_definitions(planted):
    found, _ = planted
    X, _ = datasets.make_planted(200, 9, 2, 30, random_state=1)
    for rule in found.baseline.rules:
        told = rule.figures(X, {f"x{j}": column_of(X[:, j], f"x{j}") for j in range(9)})
        gap, share, worst = naive_figures(rule, X)
        assert told["gap 1"][0] == pytest.approx(gap)
        assert told["share 1"][0] == pytest.approx(share)
        assert told["error"][0] == pytest.approx(worst)
        assert abs(told["gap 1"][1].sum()) < 1e-9 and abs(told["share 1"][1].sum()) < 1e-9


def test_halves_judge_each_other(planted):
    found, labels = planted
    gap = found.baseline.figures["gap 1"]
    assert 0.0 < gap.interval.low and gap.freedom > 10
    assert gap.value < found.partition.disparity_  # which was chosen on its rows
    share = found.baseline.figures["share 1"]
    assert share.value == pytest.approx(0.1, abs=0.04)
    p = share.value
    assert share.error == pytest.approx(np.sqrt(1.2 * p * (1.0 - p) / 500), rel=0.1)


def test_it_is_what_json_says(planted):
    found, _ = planted
    again = restored(Baseline, json.loads(found.json())["baseline"])
    for mine, other in zip(again.rules, found.baseline.rules, strict=True):
        np.testing.assert_array_equal(mine.components, other.components)
        np.testing.assert_array_equal(mine.own, other.own)
        assert mine.sentence == other.sentence and mine.threshold == other.threshold
    assert again.figures == found.baseline.figures and again.columns == found.baseline.columns


@pytest.mark.parametrize("fewest", [1, 10, 40])
def test_a_column_is_spread_over_conditions_of_enough_rows(fewest):
    table = mixed()
    for name, cells in table.items():
        told = Spread.of(column_of(cells, name), 0.5, fewest)
        left = len(table) - sum(told.counts)
        assert min(told.counts, default=fewest) >= fewest and (not left or left >= fewest)
        assert told.now(column_of(cells, name)).tolist() == [*told.counts, left]
    if fewest > 1:
        assert "Aix" not in str(Spread.of(column_of(table["town"], "town"), 0.0, fewest))


def test_what_cannot_be_written_down():
    from sklearn.decomposition import NMF
    from sklearn.pipeline import make_pipeline

    X = np.random.default_rng(0).random((120, 5))
    model = make_pipeline(NMF(2, max_iter=2_000).fit(X))
    assert audit(X, pipeline=model, quick=True).baseline is None
    assert audit(X, n_components=2, group_size=8, quick=True).baseline is None  # below min_cell
    assert audit(X, n_components=2, group_size=8, quick=True, min_cell=0).baseline is not None
    assert audit(X, preset="paper", n_components=2, n_restarts=0).baseline is None


def test_of_several_groups_each_has_its_gap():
    X, _ = datasets.make_planted(600, 9, 2, [60, 60], random_state=0)
    told = audit(X, n_components=2, n_groups=2, quick=True).baseline.figures
    assert {"gap 1", "gap 2", "share 1", "share 2", "error"} <= set(told)
    assert told["gap 2"].value > 0.0


def test_it_fits_the_schema(planted):
    Draft202012Validator(schema()).validate(json.loads(planted[0].json()))
    made = audit(mixed(), quick=True)
    assert made.baseline.encoding is not None
    Draft202012Validator(schema()).validate(json.loads(made.json()))
