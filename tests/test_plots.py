from __future__ import annotations

import sys

import matplotlib
import pytest

matplotlib.use("Agg")
from matplotlib.figure import Figure  # noqa: E402

from leftout import MaxDisparityPartition, chance, datasets, plots, stability  # noqa: E402
from leftout.solvers import Alternating  # noqa: E402


@pytest.fixture(scope="module")
def X():
    return datasets.make_planted(200, 6, 2, 40, random_state=0)[0]


@pytest.fixture(scope="module")
def runs(X):
    search = MaxDisparityPartition(2, min_group_size=30, solver="greedy", random_state=0)
    return stability.agreement(search, X, runs=4)


@pytest.fixture
def ax():
    return Figure().subplots()


def test_profile_shows_table_chance_and_size(X, ax):
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=5), random_state=0)
    found = chance.profile(search, X, sizes=4, chance=5)
    assert plots.profile(found, ax) is ax
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [label.split(",")[0] for label in labels[:2]] == ["copula chance", "gaussian chance"]
    assert labels[2:] == ["table", f"most evidence: {found.evidence_size:,} rows"]
    line = next(line for line in ax.lines if line.get_label() == "table")
    assert line.get_ydata().tolist() == found.disparities.tolist()
    alone = plots.profile(chance.profile(search, X, sizes=4, chance=0), Figure().subplots())
    assert [text.get_text() for text in alone.get_legend().get_texts()] == ["table"]


def test_agreement_and_consensus(runs, ax):
    assert plots.jaccard(runs, ax) is ax
    assert sorted(ax.images[0].get_array().ravel()) == sorted(runs.jaccard.ravel())
    other = Figure().subplots()
    assert plots.consensus(runs, other) is other
    assert sum(bar.get_height() for bar in other.patches) == (runs.consensus > 0).sum()


def test_epochs_of_runs_and_of_one(X, runs, ax):
    assert plots.epochs(runs, ax) is ax and len(ax.lines) == 5
    one = MaxDisparityPartition(2, min_group_size=30, random_state=0).fit(X)
    own = plots.epochs(one)
    assert own.lines[0].get_ydata().tolist() == one.history_["disparity"].tolist()
    matplotlib.pyplot.close(own.figure)
    search = MaxDisparityPartition(2, group_size=40, solver=Alternating(n_starts=1))
    with pytest.raises(ValueError, match="kept no epochs"):
        plots.epochs(stability.agreement(search, X, runs=2), ax)


def test_without_matplotlib_it_says_what_to_install(runs, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'leftout\[plots\]'"):
        plots.jaccard(runs)
