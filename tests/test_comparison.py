"""What has changed since an audit: then and now, in Python, from audit.json and from the shell."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from leftout import Comparison, InputError, audit, datasets
from leftout.auditing.comparison import Change, compare
from leftout.cli import main
from leftout.linalg.significance import Interval

N = 9


def frame(X):
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(N)])


@pytest.fixture(scope="module")
def halves():
    X, labels = datasets.make_planted(1_200, N, 2, 120, random_state=0)
    order = np.random.default_rng(0).permutation(1_200)
    return frame(X[order[:600]]), frame(X[order[600:]])


@pytest.fixture(scope="module")
def old(halves):
    return audit(halves[0], n_components=2, quick=True)


def test_two_samples_of_one_table(old, halves):
    told = old.compare(halves[1])
    assert isinstance(told, Comparison) and not told.changed
    assert told.text == "Nothing has changed beyond noise (13 figures looked at)."
    assert [each.of for each in told.changes] == ["group", "group", "rows", "rows"] + ["column"] * N
    for each in told.changes:
        assert each.difference.value == pytest.approx(each.now.value - each.then.value)
        assert each.then.low <= each.then.value <= each.then.high
        assert each.corrected >= each.p_value
    assert told.rows == (600, 600) and len(told.sentences) == 2


def test_an_audit_brings_its_dictionary(halves):
    then, now = (half.assign(town=np.arange(len(half)) % 3) for half in halves)
    words = {"town": {"kind": "category", "values": {"0": "north", "1": "south", "2": "west"}}}
    told = audit(then, n_components=2, quick=True, dictionary=words).compare(now)
    towns = [each.what for each in told.changes if "town" in each.what]
    assert towns in [[f"Rows where town is {name}"] for name in ("north", "south", "west")]


def test_a_table_a_record_and_an_audit_say_the_same(old, halves, tmp_path):
    path = old.to_json(tmp_path / "audit.json")
    halves[1].to_csv(tmp_path / "new.csv", index=False)
    first = old.compare(halves[1]).changes
    later = audit(halves[1], n_components=2, quick=True)
    assert compare(path, tmp_path / "new.csv").changes == first
    assert compare(str(path), halves[1]).changes == first
    assert compare(json.loads(path.read_text()), later).changes == first
    assert old.compare(later).changes == first


def test_a_column_in_another_unit(old, halves):
    told = old.compare(halves[1].assign(x3=halves[1]["x3"] * 10.0))
    drift = [each for each in told.changes if each.of == "column" and each.changed]
    assert [each.what.startswith("Rows where x3 is") for each in drift] == [True]
    assert drift[0].worse and drift[0].p_value < 1e-10
    assert "Changed beyond noise." in told.text and drift[0].text in told.text


def test_a_group_that_only_new_rows_have(halves):
    X, labels = datasets.make_planted(1_200, N, 2, 60, strength=0.8, random_state=3)
    rest = np.flatnonzero(labels == 0)
    before = audit(frame(X[rest[:600]]), n_components=2, quick=True)
    later = frame(X[np.append(rest[600:], np.flatnonzero(labels))])
    worst = next(each for each in before.compare(later).changes if each.what.startswith("Squared"))
    assert worst.changed and worst.worse and worst.difference.low > 0.0


def change(**other):
    known = {
        "what": "Loss", "of": "group", "then": Interval(0.5, 0.4, 0.6), "share": False,
        "now": Interval(0.3, 0.2, 0.4), "difference": Interval(-0.2, -0.3, -0.1),
        "p_value": 0.001, "corrected": 0.004,
    }  # fmt: skip
    return Change(**(known | other))


def test_less_loss_is_changed_and_not_worse():
    assert change().changed and not change().worse
    more = change(difference=Interval(0.2, 0.1, 0.3))
    assert more.worse and not change(corrected=0.06).changed
    assert change(share=True).worse and not change(corrected=None).changed
    assert change().text == (
        "Loss: 0.5 then, 0.3 now, a difference of -0.2 (-0.3 to -0.1) (p = 0.004, corrected)."
    )
    assert "not tested" in change(corrected=None).text
    assert "50% then, 30% now, a difference of -20 (-30 to -10 points)" in change(share=True).text


def test_two_records(old, halves):
    later = audit(halves[1], n_components=2, quick=True)
    told = compare(old, json.loads(later.json()))
    assert [each.corrected for each in told.changes] == [None, None] and not told.changed
    assert "give the new table instead" in told.notes[0] and "scaled its columns" in told.notes[1]


def test_two_records_of_one_pipeline(halves):
    pipeline = make_pipeline(StandardScaler(), PCA(2)).fit(halves[0])
    records = [json.loads(audit(each, pipeline=pipeline, quick=True).json()) for each in halves]
    told = compare(*records)
    assert all(each.corrected is not None for each in told.changes) and len(told.notes) == 1
    live = compare(records[0], audit(halves[1], pipeline=pipeline, quick=True))
    assert len(live.changes) > 4 and not live.changed
    with pytest.raises(InputError, match="hold that to the old one"):
        compare(records[0], halves[1])


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("no.json", "{", "cannot be read as an audit.json"),
        ("no.json", "{}", "is no audit.json of this version"),
        ("no.json", "[1]", "is no audit.json of this version"),
    ],
)
def test_what_is_no_audit(tmp_path, halves, name, content, says):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=says):
        compare(tmp_path / name, halves[1])


def test_what_cannot_be_compared(old, halves):
    with pytest.raises(InputError, match="lacks 1 column that the old audit has searched: 'x3'"):
        old.compare(halves[1].drop(columns="x3"))
    with pytest.raises(InputError, match="holds nothing to compare with"):
        compare(json.loads(old.json()) | {"baseline": None}, halves[1])
    record = json.loads(old.json())
    record["settings"]["dictionary"] = "words.csv"
    with pytest.raises(InputError, match="was read with a dictionary"):
        compare(record, halves[1])


def test_the_page_shows_it_as_text(old, halves):
    shown = "<script>alert(1)</script>"
    told = old.compare(halves[1].assign(x3=halves[1]["x3"] * 10.0))
    told.changes[0] = change(what=shown)
    page = told.html()
    assert shown not in page and "&lt;script&gt;alert(1)" in page
    assert "<h1>Changed beyond noise</h1>" in page and "95% intervals" in page


def test_the_command(old, halves, tmp_path):
    path = old.to_json(tmp_path / "audit.json")
    halves[1].to_csv(tmp_path / "new.csv", index=False)
    halves[1].assign(x3=5.0 * halves[1]["x3"]).to_csv(tmp_path / "other.csv", index=False)

    def call(*words):
        return CliRunner().invoke(main, ["compare", str(path), *map(str, words)])

    same = call(tmp_path / "new.csv")
    assert same.exit_code == 0 and "Nothing has changed beyond noise" in same.stdout
    out = tmp_path / "out"
    other = call(tmp_path / "other.csv", "--out", out)
    assert other.exit_code == 0 and "Rows where x3 is" in " ".join(other.stdout.split())
    assert sorted(each.name for each in out.iterdir()) == ["compare.html", "compare.json"]
    data = json.loads(call(tmp_path / "other.csv", "--json").stdout)
    assert data["changed"] and data["changes"][0]["what"].startswith("Loss of the old group")
    assert call(tmp_path / "none.csv").exit_code == 2
