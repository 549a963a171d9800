"""Flags of missing cells, each weighing once: against the definition, and on tables of gaps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leftout
from leftout import TableEncoder
from leftout.data.encoding import SAME_INDICATOR
from leftout.text import points


def naive_flags(gaps: np.ndarray) -> list[list[int]]:
    """Columns that are missing together: each joins the first group whose first is like it."""
    groups: list[list[int]] = []
    for column in range(gaps.shape[1]):
        for group in groups:
            if np.corrcoef(gaps[:, group[0]], gaps[:, column])[0, 1] >= SAME_INDICATOR - 1e-6:
                group.append(column)
                break
        else:
            groups.append([column])
    return groups


def encoded(table: pd.DataFrame) -> tuple[TableEncoder, pd.DataFrame]:
    encoder = TableEncoder().set_output(transform="pandas")
    return encoder, encoder.fit_transform(table)


def test_twenty_columns_missing_together_weigh_like_one_at_most():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 25)) ** 2, columns=[f"c{j}" for j in range(25)])
    table.iloc[rng.random(400) < 0.4, :20] = np.nan
    encoder, X = encoded(table)
    assert [flag.name for flag in encoder.missing_indicators_] == ["c0 and 19 others are missing"]
    spread = X.var()
    flag = spread["c0 and 19 others are missing"]
    assert flag == pytest.approx(spread.drop("c0 and 19 others are missing")[:20].min())
    assert flag / spread.sum() <= spread[[f"c{j}" for j in range(20)]].max() / spread.sum()
    # each alone would have had a flag of its own, and half of the variance
    alone = table.isna().to_numpy(float).var(axis=0, ddof=1).sum()
    assert alone > 0.5 * (alone + spread.filter(regex=r"^c\d+$").sum())


def test_gaps_of_words_and_numbers_are_one():
    rng = np.random.default_rng(1)
    gone = rng.random(300) < 0.3
    table = pd.DataFrame({
        "age": np.where(gone, np.nan, rng.normal(size=300)),
        "town": np.where(gone, None, rng.choice(list("abc"), 300)),
        "own": np.where(rng.random(300) < 0.1, None, rng.choice(["yes", "yes", "no"], 300)),
        "always": np.where(gone, None, "x"),
    })  # fmt: skip
    encoder, X = encoded(table)
    assert list(X) == [
        "age", "age and 2 others are missing", "town = a", "town = b", "town = c", "own = yes",
        "own is missing",
    ]  # fmt: skip
    assert encoder.sources_ == ["age", "age", "town", "town", "town", "own", "own"]
    told = {line.label: line for line in encoder.columns_}
    assert told["town"].how.endswith("'age and 2 others are missing' says so")
    assert told["always"].features == () and "always" not in encoder.dropped_
    np.testing.assert_array_equal(encoder.transform(table), X)
    # a missing yes or no is the more frequent
    assert (table["own"] == "yes").sum() > (table["own"] == "no").sum()
    assert set(X["own = yes"][table["own"].isna()]) == {1.0}


def test_flags_that_nearly_agree_are_their_mean():
    rng = np.random.default_rng(2)
    gone = rng.random((1000, 1)) < 0.4
    gaps = np.repeat(gone, 2, axis=1)
    gaps[:5, 1] = ~gaps[:5, 1]
    table = pd.DataFrame(np.where(gaps, np.nan, rng.normal(size=(1000, 2))), columns=list("ab"))
    encoder, X = encoded(table)
    (flag,) = encoder.missing_indicators_
    assert flag.name == "a and b are missing"
    np.testing.assert_allclose(X[flag.name], flag.weight * gaps.mean(axis=1))


@given(st.integers(0, 2**32 - 1))
def test_flags_are_grouped_and_weighed_by_the_definition(seed):
    rng = np.random.default_rng(seed)
    m, n, causes = 120, 7, 3
    cause = rng.random((m, causes)) < rng.uniform(0.1, 0.6, causes)
    gaps = cause[:, rng.integers(0, causes, n)]
    gaps ^= rng.random((m, n)) < rng.choice([0.0, 0.005, 0.05], n)
    values = rng.gamma(0.3, size=(m, n))
    table = pd.DataFrame(np.where(gaps, np.nan, values), columns=[f"c{j}" for j in range(n)])
    if not (gaps.any(axis=0).all() and (m - gaps.sum(axis=0) > 5).all()):
        return
    encoder, X = encoded(table)
    assert [list(flag.places) for flag in encoder.missing_indicators_] == naive_flags(gaps)
    spread = X.var()
    for flag in encoder.missing_indicators_:
        own = [f"c{place}" for place in flag.places]
        assert spread[flag.name] <= spread[own].min() * (1.0 + 1e-9)
        assert flag.weight == 1.0 or spread[flag.name] == pytest.approx(spread[own].min())
    np.testing.assert_array_equal(encoder.transform(table), X)
    assert X.to_numpy().min() >= 0.0 and X.to_numpy().max() <= 1.0


def test_who_left_a_question_blank_is_told():
    """Eight columns of a survey that one of six has answered."""
    rng, n = np.random.default_rng(0), 600
    table = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef"))
    answered = rng.random(n) < 1 / 6
    for place in range(8):
        table[f"police {place}"] = np.where(answered, rng.normal(size=n), np.nan)
    found = leftout.audit(table, quick=True, n_components=4)
    inside = found.partition.labels_ == 1
    group, rest = answered[inside].mean(), answered[~inside].mean()
    assert group > rest + 0.5 and found.intake.indicator_share < 0.2
    blanks = found.blanks
    assert (blanks.column, blanks.others, blanks.known) == ("police 0", 7, True)
    np.testing.assert_allclose([blanks.group, blanks.rest], [group, rest])
    (told,) = [one for one in found.findings if one.code == "T005"]
    assert told.status == "found" and told.caution in found.summary()
    assert told.detail.startswith(f"{points(group)}% of the group filled in police 0 and 7 other ")


def test_blanks_that_tell_nothing():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 6)), columns=list("abcdef"))
    table.loc[rng.random(300) < 0.05, "a"] = np.nan
    found = leftout.audit(table, quick=True, n_components=4)
    assert not found.blanks.tells
    assert leftout.audit(table[list("bcdef")], quick=True).blanks is None
