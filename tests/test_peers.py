"""The numbers beside other tools are those of one run, and say what they say."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks" / "peers" / "tools")]

import ask  # noqa: E402
import binning  # noqa: E402

from benchmarks.peers import environments, page, tables  # noqa: E402


def answer(table, found=None, claims=None, seconds=0.5):
    planted = "none" not in table
    return {
        "table": table,
        "asked": found is not None,
        "jaccard": found if planted else None,
        "claims": claims,
        "seconds": seconds,
    }


def run_of(answers, **tools):
    every = dict.fromkeys(page.TOOLS, {"versions": {"a": "1"}, "answers": answers})
    about = dict.fromkeys(("rows", "features", "components", "group", "tables"), 7)
    about |= {"date": "2026-01-02", "python": "3.11", "machine": "m", "seconds": 3.0}
    return about | {"tools": every | tools}


def row(text, name):
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {name} |")]
    return [cell.strip() for cell in line.split("|")[4:-1]]


def test_cells_say_what_was_answered():
    answers = [answer("hidden-0", 0.2, True, 1.0), answer("hidden-1", 0.9, False, 2.0)]
    answers += [answer("hidden-2", 0.4, True, 12.0), answer("hidden_none-0", 0.0, True, 2.0)]
    answers += [answer("hidden_none-1", 0.0, False, 2.0)]
    answers += [answer("named-0"), answer("named_none-0")]
    shown = page.measured_part(run_of(answers, sliceline={"skipped": "it does not install: why"}))
    assert row(shown, "pysubgroup") == [
        "0.40 (0.20 to 0.90)", "1 of 2 (planted: 2 of 3)", "not asked", "not asked", "2.0"
    ]  # fmt: skip
    assert row(shown, "sliceline")[0] == "skipped: it does not install: why"


def test_a_tool_without_a_criterion_has_none():
    answers = [answer(f"{kind}-0", 1.0, None, 0.004) for kind in ("hidden", "hidden_none")]
    answers += [answer("named-0", 1.0), answer("named_none-0", 1.0)]
    cells = row(page.measured_part(run_of(answers)), "pysubgroup")
    assert cells[1] == "has none" and cells[2] == "1.00 (1.00 to 1.00)"


def test_the_page_has_the_numbers_of_the_run():
    run = json.loads((ROOT / "docs" / "peers.json").read_text())
    text = page.PAGE.read_text()
    assert page.written(text, run) == text
    assert set(run["tools"]) == set(page.TOOLS)
    with pytest.raises(ValueError, match="needs the lines"):
        page.written("no marks", run)


@pytest.mark.parametrize("kind", tables.KINDS)
def test_two_columns_name_the_planted_rows_exactly(kind):
    table = tables.draw(kind, 0)
    assert table["planted"].sum() == (0 if "none" in kind else tables.GROUP)
    assert len(table["X"]) == tables.ROWS
    if kind == "named":
        town, work = (table["known"][:, list(table["names"]).index(n)] for n in tables.NAMES)
        assert (((town == "B") & (work == "A")) == table["planted"]).all()
    if kind == "hidden":  # who varies elsewhere has the larger residuals
        planted = table["planted"]
        assert table["residual"][planted].mean() > 3 * table["residual"][~planted].mean()


def test_residuals_are_what_scikit_learns_pca_loses():
    from sklearn.decomposition import PCA

    X = tables.draw("hidden", 1)["X"]
    pca = PCA(2).fit(X)
    lost = ((X - pca.inverse_transform(pca.transform(X))) ** 2).sum(axis=1)
    np.testing.assert_allclose(tables.residuals(X, 2), lost, rtol=1e-9)


def test_numbers_become_quarters():
    names, cells = binning.conditions({"X": np.arange(8.0).reshape(8, 1)})
    assert names == ["x0"] and cells[:, 0].tolist() == [f"q{q}" for q in (1, 1, 2, 2, 3, 3, 4, 4)]


def test_a_tool_is_asked(tmp_path):
    for kind in tables.KINDS:
        name = kind.replace(", none planted", "_none")
        np.savez(tmp_path / f"{name}-0.npz", **tables.draw(kind, 0))
    ask.main("residual_tree", str(tmp_path), str(tmp_path / "answers.json"))
    answers = json.loads((tmp_path / "answers.json").read_text())["answers"]
    named = next(a for a in answers if a["table"] == "named-0")
    assert named["jaccard"] == 1.0 and named["claims"]
    assert ask.jaccard(np.array([1, 1, 0]) > 0, np.array([0, 1, 1]) > 0) == pytest.approx(1 / 3)


def test_a_tool_that_does_not_install_is_skipped(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "KEPT", tmp_path)

    class Done:
        returncode, stderr = 1, "something\nERROR: no such thing\n"

    monkeypatch.setattr(environments.subprocess, "run", lambda *a, **k: Done)
    assert environments.python_of("fairlearn") == (
        None,
        "it does not install: ERROR: no such thing",
    )
    assert environments.python_of("residual_tree") == (sys.executable, "")
