"""The four verdicts, and what is said of evidence."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from leftout.evidence.null_test import NullDistribution
from leftout.evidence.replication import HeldOut, Membership
from leftout.evidence.verdict import VERDICTS, Trust, doubts, verdict
from leftout.groups.decomposition import LossParts


def chance_of(surrogates, **options):
    """Tables that lose 0.4 on average: half of them 0.3, and half 0.5."""
    values = np.where(np.arange(surrogates) % 2, 0.3, 0.5)
    return NullDistribution(disparities=values, **{"residual": 1.0, "p_value": 1.0} | options)


def told_of(disparity):
    told = {"fact_text": "They lose 25 points.", "text": "Its loss is 1.25."}
    return SimpleNamespace(left_out_groups_=[SimpleNamespace(disparity=disparity, **told)])


def known(tables=39, clouds=10, **options):
    """Evidence with numbers that are all different."""
    group = np.arange(200) < 20
    settings = {
        "partition": told_of(1.25),
        "group_size": 20,
        "searched": 1.25,
        "rows": 200,
        "chance": {
            "copula": chance_of(tables),
            "gaussian": chance_of(clouds),
        },  # fmt: skip
        "parts": LossParts.of(
            (0.25, 0.75, 1.25),
            np.array([[0.25, 0.0], [0.5, 0.25], [1.0, 0.25]]),
            ["age", "town"],
            0.6,
            0.03,
        ),
        "held_out": HeldOut(
            group_size=10,
            gaps=np.array([[0.8, 1.02]]),
            overlaps=np.array([[0.55, 0.3]]),
            error=0.05,
            freedom=30.0,
        ),
        "membership": Membership(
            shares=np.where(np.arange(200) < 15, 0.9, 0.3), group=group, parts=16
        ),
        "stability": None,
        "p_value": 0.025,
        "p_gaussian": None,
        "p_winsorized": None,
        "notes": ["A note."],
    }
    return Trust(**settings | options)


def test_the_summary_of_known_numbers():
    assert known().summary().splitlines() == [
        "Group: They lose 25 points. Its loss is 1.25.",
        "Verdict: A distinct group (40% of the loss). Copula surrogates (same values, same "
        "correlations) rarely lose as much, and halves of the table agree on most of the rows. Of "
        "the loss, 40% is rare or skewed values of age and town; 40% is structure of its own; "
        "covariance alone explains 20%.",
        "Surrogates: One search of the table finds a loss 1.25 above the rest's; in 39 copula "
        "surrogates (same values and correlations) the same search finds 0.403 on average "
        "(p = 0.025).",
        "Other rows: On rows not searched, such groups lose 0.91 (0.81 to 1.01) more than the "
        "rest. Groups of halves of the table, searched apart, share 55% of the rows that either "
        "leaves out (1 split): one group.",
        "Members: 15 of 20 rows are members: left out in at least 80% of 16 searches on 80% of the "
        "rows; 5 are borderline.",
        "A note.",
    ]


@pytest.mark.parametrize(
    ("options", "letter", "beyond"),
    [
        ({}, "A", True),
        ({"p_value": 0.05}, "A", True),
        ({"p_value": 0.051, "p_gaussian": 0.051, "clouds": 39}, "D", False),
        ({"p_value": 0.051, "p_gaussian": 0.05, "clouds": 19}, "C", False),
        ({"p_value": 0.051}, None, False),
        ({"p_winsorized": 0.05}, "A", True),
        ({"p_winsorized": 0.2, "p_gaussian": 0.04, "clouds": 39}, "C", False),
        ({"p_value": 0.2, "tables": 18}, None, None),
        ({"p_value": 0.2105, "p_gaussian": 0.3, "tables": 18}, "D", False),
        # ten Gaussian tables that all lose less cannot tell
        ({"p_value": 0.3, "p_gaussian": 1 / 11}, None, False),
        ({"p_value": None}, None, None),
        ({"held_out": None}, None, True),
    ],
)
def test_verdicts_and_how_many_tables_they_take(options, letter, beyond):
    found = known(**options)
    assert (found.verdict, found.beyond_chance) == (letter, beyond)


@pytest.mark.parametrize(
    ("options", "kind", "ends"),
    [
        ({}, "copula", "in 39 copula surrogates (same values and correlations) the same search "
         "finds 0.403 on average (p = 0.025)."),
        ({"tables": 100, "p_value": 3 / 101}, "copula", "finds 0.4 on average (p = 0.03, with ever "
         "more 0.0036 to 0.062)."),
        ({"over_sizes": 15}, "copula", "(p = 0.025 over 15 sizes)."),
        ({"partition": told_of(1.3)}, "copula",
         "(p = 0.025). The group's, from a longer search, is 1.3."),
        ({"of_rows": 900}, "copula", "(p = 0.025, on 200 of the rows)."),
        ({"of_rows": 200}, "copula", "(p = 0.025)."),
        ({"p_gaussian": 0.6}, "gaussian", "in 10 Gaussian surrogates (same covariance) the same "
         "search finds 0.4 on average (p = 0.6)."),
        ({}, "gaussian", "the same search finds 0.4 on average."),
    ],
)  # fmt: skip
def test_what_is_said_of_comparison_tables(options, kind, ends):
    text = known(**options).against_text(kind)
    assert text.startswith("One search of the table finds a loss 1.25 above the rest's; in ")
    assert text.endswith(ends)


def test_what_is_said_of_tails_that_were_drawn_in():
    assert known(p_winsorized=0.12).chance_text.endswith(
        "(p = 0.025). Columns have heavy tails; winsorised, p = 0.12."
    )


@pytest.mark.parametrize(
    ("options", "heavy", "says"),
    [
        ({}, False, []),
        ({"residual": 1.0625}, False, []),
        ({"residual": 0.875}, False, ["2 components leave 0.88 times the variance"]),
        ({"residual": 1.25}, False, ["2 components leave 1.25 times the variance"]),
        ({"ranks_miss": 0.07}, True, ["Rank correlations are 0.07 larger in the table"]),
        ({"ranks_miss": 0.07, "residual": 1.2}, True, ["0.07 larger", "1.20 times"]),
    ],
)
def test_doubts_on_both_sides_of_their_thresholds(options, heavy, says):
    chance = chance_of(39, **options)
    assert chance.heavy is heavy
    found = doubts({"copula": chance}, 2)
    assert len(found) == len(says)
    assert all(words in text for words, text in zip(says, found, strict=True))


@pytest.mark.parametrize(
    ("p_values", "p_gaussian", "overlap", "letter"),
    [
        *((0.05, None, 0.5, "A"), (0.05, None, 0.499, "B"), (0.0501, 0.05, 0.9, "C")),
        *((0.0501, 0.0501, 0.9, "D"), (0.0501, 0.05, None, "C"), (0.01, 0.9, 0.5, "A")),
        *((0.01, 0.9, 0.0, "B"), (0.9, 0.9, 0.0, "D")),
        *((None, 0.01, 0.9, None), (0.2, None, 0.9, None), (0.01, 0.01, None, None)),
    ],
)
def test_verdict_on_both_sides_of_every_threshold(p_values, p_gaussian, overlap, letter):
    found = verdict(p_values, p_gaussian, overlap)
    assert found is VERDICTS[letter] if letter else found is None


def test_what_verdicts_say():
    assert {letter: one.says for letter, one in VERDICTS.items()} == {
        "A": "Copula surrogates (same values, same correlations) rarely lose as much, and halves "
        "of the table agree on most of the rows.",
        "B": "Copula surrogates (same values, same correlations) rarely lose as much, but halves "
        "of the table point to different rows.",
        "C": "Copula surrogates lose as much, Gaussian ones do not: rare or skewed "
        "values make the difference.",
        "D": "Gaussian surrogates with the same covariance lose as much: nothing marks a group.",
    }
