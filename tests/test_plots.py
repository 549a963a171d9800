from __future__ import annotations

import io

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")
from matplotlib.figure import Figure  # noqa: E402

import known  # noqa: E402
from leftout import MaxDisparityPartition, datasets, explain, plots  # noqa: E402
from leftout.groups.decomposition import LossParts  # noqa: E402


@pytest.fixture(scope="module")
def X():
    return datasets.make_planted(200, 6, 2, 40, random_state=0)[0]


@pytest.fixture
def ax():
    return Figure().subplots()


def test_surrogates_and_the_table(ax):
    found = known.trust()
    assert plots.null_test(found, ax) is ax
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(labels) == ["copula surrogates", "gaussian surrogates", "table"]
    assert sum(bar.get_height() for bar in ax.patches) == 39 + 29
    assert ax.lines[0].get_xdata() == [0.592, 0.592]


@pytest.fixture(scope="module")
def table(X):
    names = ["$x_1^2$", "<b>", "\U0001f984", "n" * 200, "_hidden", "plain"]
    return pd.DataFrame(X, columns=names)


@pytest.fixture(scope="module")
def found(table):
    return MaxDisparityPartition(2, group_size=40, random_state=0).fit(table)


@pytest.fixture(scope="module")
def told(found, table):
    hidden = (table["plain"] > 0).to_numpy()
    return explain.group(found, table, table.assign(secret=hidden), sensitive=["secret"], what_if=0)


def drawn(ax):
    """Draw it all, with warnings as errors: a glyph that the font lacks is one."""
    ax.figure.savefig(io.BytesIO(), format="png")
    return [label.get_text() for label in ax.get_yticklabels()]


def test_bars_of_the_disparity_add_up_to_it(told, found, ax):
    plots.disparity_by_feature(told, ax, top=3)
    names = drawn(ax)
    assert len(names) == 4 and names[-1] == "3 others together"
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(found.disparity_)
    assert all(not label.get_parse_math() for label in ax.get_yticklabels())
    whole = plots.disparity_by_feature(told, Figure().subplots())
    assert {"$x_1^2$", "<b>", ":unicorn face:"} <= set(drawn(whole))
    assert any("\u2026" in name and len(name) == 36 for name in drawn(whole))


def test_alignment_shows_columns_kept_out_of_the_search(told, ax):
    plots.alignment(told, ax, top=1)
    assert drawn(ax)[-1] == "secret" and len(ax.patches) == 2


def test_parts_stand_one_after_the_other(ax):
    found = LossParts.of(np.cumsum([0.3, -0.1, 0.25]), [None] * 3, [], None, None)
    assert plots.parts(found, ax) is ax
    bars = [(bar.get_x(), bar.get_width()) for bar in ax.patches]
    np.testing.assert_allclose(bars, [(0.0, 0.3), (0.0, -0.1), (0.3, 0.25)])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [
        "covariance alone: 0.3", "rare or skewed values: -0.1",
        "structure of their own: 0.25",
    ]  # fmt: skip
    assert ax.get_title() == "Why they lose 0.45 more than the rest"
    drawn(ax)


def test_figures_of_an_explanation_ask_for_one(found, ax):
    for draw in (plots.alignment, plots.disparity_by_feature):
        with pytest.raises(ValueError, match="Pass what leftout.explain.group returns"):
            draw(found, ax)
