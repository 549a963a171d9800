"""Two sites that send sums against their rows in one table; and no row in what they send."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

from leftout import FairPCA, Refusal, group_losses
from leftout.cli import main
from leftout.running import collected_notes
from leftout.scale.agreed import Agreed
from leftout.scale.sites import CANNOT, SiteMoments, audit_sites, read_sites, take_moments
from leftout.tables.reading import Source
from leftout.tables.said.reading import Reading


def people(m, seed=0):
    """Numbers, text, dates, gaps; groups that are known; one town is rare."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], m)
    age = rng.integers(18, 90, m).astype(float)
    table = pd.DataFrame({
        "income": np.where(rng.random(m) < 0.1, np.nan, np.exp(rng.normal(10, 1, m))),
        "hours": 20.0 + 15.0 * rng.random(m) + 8.0 * (sex == "m") * rng.random(m),
        "colour": rng.choice(["red", "green", "blue", None], m, p=[0.4, 0.3, 0.2, 0.1]),
        "since": pd.Timestamp("2001-01-01") + pd.to_timedelta(rng.integers(0, 5000, m), "D"),
        "score": rng.normal(0, 1, m) * (1.0 + (age > 60)),
        "sex": sex,
        "age": age,
        "town": rng.choice(["A", "B", "C"], m, p=[0.58, 0.38, 0.04]),
    })  # fmt: skip
    return table


@pytest.fixture(scope="module")
def agreed():
    with collected_notes():
        return Agreed.on(Source(people(900)), 20, Reading(sensitive=["sex", "age", "town"]))


@pytest.fixture(scope="module")
def tables():
    return people(700, 1), people(500, 2)


@pytest.fixture
def sites(agreed, tables):
    with collected_notes():
        return [take_moments(agreed, table) for table in tables]


def test_a_plan_survives_its_file(agreed, tables, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(agreed.json())
    again = Agreed.of(path)
    assert again.json() == agreed.json() and again.digest == agreed.digest
    X, codes = agreed.read(tables[0])
    Y, other = again.read(tables[0])
    assert np.array_equal(X, Y) and all(map(np.array_equal, codes, other))
    said = json.dumps(json.loads(agreed.json())["encoder"])
    assert '"median"' in said and "colour = red" in said


def test_sites_are_the_pool(agreed, tables, sites):
    found = audit_sites(sites, 3)
    X, codes = agreed.read(pd.concat(tables, ignore_index=True))
    centred = X - X.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    assert_allclose(found.explained, values[::-1] / values.sum(), atol=1e-12)
    P = vectors[:, -3:] @ vectors[:, -3:].T
    assert_allclose(found.components.T @ found.components, P, atol=1e-12)
    assert_allclose(found.table.mean, X.mean(axis=0), rtol=1e-12)
    for attribute, places in zip(agreed.attributes[:2], codes, strict=False):
        lines = [line for line in found.known if line.attribute == attribute.name]
        groups = np.array(attribute.groups)[places]
        assert [line.group for line in lines] == sorted(set(groups))
        assert [line.rows for line in lines] == [np.sum(groups == line.group) for line in lines]
        assert_allclose([line.loss for line in lines], group_losses(X, groups, 3), rtol=1e-12)
        fair = FairPCA(3).fit(X, groups=groups)
        mended = found.fair[attribute.name].fair
        assert_allclose(mended.losses_, fair.losses_, rtol=1e-9)
        assert_allclose(mended.max_loss_, fair.max_loss_, rtol=1e-12)
        for line in lines:
            side = centred[groups == line.group]
            kept = np.sum((side @ P) ** 2) / np.sum(side**2)
            assert_allclose(line.retained, kept, rtol=1e-10)


def test_files_hold_the_same(sites, tmp_path):
    paths = [tmp_path / f"m{place}.npz" for place in (1, 2)]
    for path, site in zip(paths, sites, strict=True):
        path.write_bytes(site.file())
    again = read_sites(paths)
    for old, new in zip(sites, again, strict=True):
        assert all(map(np.array_equal, old.moments, new.moments)) and old.groups == new.groups
    assert audit_sites(again, 3).to_dict() == audit_sites(sites, 3).to_dict()


def test_no_row_is_in_the_file(agreed, tables, sites, tmp_path):
    path = tmp_path / "m.npz"
    path.write_bytes(sites[0].file())
    with np.load(path, allow_pickle=False) as held:
        arrays = {name: held[name] for name in held.files}
    n, n_sums = len(agreed.features), len(sites[0].groups) + 1
    assert {name: array.shape for name, array in arrays.items()} == {
        "about": (),
        "count": (n_sums,),
        "total": (n_sums, n),
        "second": (n_sums, n * (n + 1) // 2),
        "origin": (n,),
    }
    X, _ = agreed.read(tables[0])
    for sums in (*arrays["total"], *(s for s in sites[0].moments.second.reshape(-1, n))):
        assert np.abs(X - sums).max(axis=1).min() > 1e-6  # no row, nor a row's products
    assert set(json.loads(str(arrays["about"]))) == {
        "format", "leftout", "plan", "features", "groups", "pooled", "smallest", "sites",
    }  # fmt: skip
    assert (arrays["count"] >= 20).all()


def test_small_groups_are_pooled_and_said(agreed, tables):
    with collected_notes() as notes:
        sites = [take_moments(agreed, table, smallest=60) for table in tables]
    town = [name for name in sites[0].groups if name[0] == "town"]
    assert town == [("town", "(small groups together)"), ("town", "A")]
    assert {("town", "B"), ("town", "C")} <= set(sites[0].pooled)
    assert any("town = C" in text and "pooled with others" in text for text in notes)
    # what one site pools is pooled everywhere
    with collected_notes():
        other = take_moments(agreed, tables[1], smallest=5)
    assert ("town", "C") in other.groups
    found = audit_sites([sites[0], other], 3)
    rows = {line.group: line.rows for line in found.known if line.attribute == "town"}
    counts = pd.concat(tables)["town"].value_counts()
    assert rows == {"A": counts["A"], "(small groups together)": counts["B"] + counts["C"]}
    assert any("too small at a site" in text for text in found.notes)


def test_values_that_the_plan_does_not_know_are_a_group(agreed, tables):
    other = tables[0].assign(town=np.where(np.arange(700) < 40, "D", tables[0]["town"]))
    with collected_notes():
        site = take_moments(agreed, other)
    place = site.groups.index(("town", "(not in the plan)"))
    assert site.moments.count[1 + place] == 40


def test_summary_says_what_it_cannot(sites):
    text = audit_sites(sites, 3).summary()
    assert text.startswith("2 sites with 1,200 rows and") and text.endswith(CANNOT)
    assert "By sex, " in text


@pytest.mark.parametrize(
    "wrong, says",
    [
        (lambda a, t, p: take_moments(a, t[0].head(19)), "has 19 rows; sums of fewer than 20"),
        (lambda a, t, p: take_moments(a, t[0].drop(columns="sex")), "needs the column 'sex'"),
        (lambda a, t, p: SiteMoments.of(p / "none.npz"), "none.npz' cannot be read: No such"),
        (lambda a, t, p: SiteMoments.of(_written(p, b"rows")), "is not a file of moments"),
        (lambda a, t, p: Agreed.of(_written(p, b"{}")), "is not a plan"),
        (lambda a, t, p: Agreed.of(p / "none.json"), "cannot be read"),
    ],
)
def test_refusals(agreed, tables, tmp_path, wrong, says):
    with pytest.raises(Refusal, match=says):
        wrong(agreed, tables, tmp_path)


def _written(folder, content):
    path = folder / "file"
    path.write_bytes(content)
    return path


def test_another_plan_is_refused_by_name(agreed, sites, tables, tmp_path):
    with collected_notes():
        other = Agreed.on(Source(people(900, 5)), 20, Reading(sensitive=["sex"]))
        site = take_moments(other, tables[1])
    paths = [tmp_path / "one.npz", tmp_path / "two.npz"]
    for path, each in zip(paths, (sites[0], site), strict=True):
        path.write_bytes(each.file())
    with pytest.raises(Refusal, match=r"'two.npz' was taken with another plan than 'one.npz'"):
        read_sites(paths)
    with pytest.raises(Refusal, match="another plan"):
        audit_sites([sites[0], site])


def test_the_commands(tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people(900).to_csv("ours.csv", index=False)
    made = CliRunner().invoke(
        main, ["plan", "ours.csv", "--sensitive", "sex,town", "--out", "plan.json"]
    )
    assert made.exit_code == 0 and "plan.json" in made.stdout, made.output
    for place, table in enumerate(tables):
        table.to_csv(f"site{place}.csv", index=False)
        words = ["moments", f"site{place}.csv", "--plan", "plan.json", "--out", f"m{place}.npz"]
        sent = CliRunner().invoke(main, words)
        assert sent.exit_code == 0 and f"sums of {len(table)} rows" in sent.stdout, sent.output
    found = CliRunner().invoke(main, ["audit", "m0.npz", "m1.npz", "--dims", "3"])
    assert found.exit_code == 0, found.output
    assert "2 sites with 1,200 rows" in found.stdout and "need rows" in found.stdout
    data = json.loads((tmp_path / "leftout-sites" / "sites.json").read_text())
    agreed = Agreed.of("plan.json")
    X, (sex, _) = agreed.read(pd.concat([pd.read_csv(f"site{p}.csv") for p in (0, 1)]))
    names = np.array(agreed.attributes[0].groups)[sex]
    losses = [line["loss"] for line in data["known"] if line["attribute"] == "sex"]
    assert_allclose(losses, group_losses(X, names, 3), rtol=1e-12)
    wrong = CliRunner().invoke(main, ["moments", "site0.csv", "--plan", "ours.csv", "--out", "m"])
    assert wrong.exit_code == 2 and "is not a plan" in wrong.stderr
