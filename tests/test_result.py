"""An audit's rows: groups.csv of one group and of several."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd

import known
import known_several
from leftout.evidence.replication import Membership


def test_the_rows():
    labels = np.array([0, 1, 0, 1, 0])
    shares = np.array([0.0625, 0.8, 0.875, 0.7999, 0.0])
    belongs = Membership(shares=shares, group=labels == 1, parts=16)
    found = known.audit(
        partition=known.partition(3, 2, labels_=labels),
        intake=known.intake(rows=np.array([4, 8, 15, 16, 23])),
        scores=np.array([-0.5, 1.5, -0.25, 2.5, 0.125]),
        trust=known.trust(membership=belongs),
        named=None,
    )
    assert found.csv() == (
        "row,group,score,belongs,membership\n4,rest,-0.5,rest,0.0625\n8,left out,1.5,member,0.8\n"
        "15,rest,-0.25,rest,0.875\n16,left out,2.5,borderline,0.7999\n23,rest,0.125,rest,0.0\n"
    )
    for unknown in (None, known.trust(membership=None)):
        assert found.each(trust=[unknown]).csv() == (
            "row,group,score\n4,rest,-0.5\n8,left out,1.5\n15,rest,-0.25\n16,left out,2.5\n"
            "23,rest,0.125\n"
        )


def test_groups_csv_is_read_back_as_it_is():
    found = known.audit()
    read = pd.read_csv(io.StringIO(found.csv()))
    counts = read["group"].value_counts()
    assert (counts["left out"], counts["rest"]) == (known.GROUP, known.REST)
    counts = read["belongs"].value_counts()
    assert (counts["member"], counts["borderline"]) == (743, known.GROUP - 743)
    np.testing.assert_array_equal(read["membership"], found.trust.membership.shares)
    assert read["row"].tolist() == found.intake.rows.tolist()


def test_the_rows_of_two_groups():
    found = known_several.audit()
    labels, scores = found.partition.labels_, found.scores
    rows = found.groups
    assert list(rows) == [
        "row", "group", "score_1", "score_2", "belongs", "membership_1", "membership_2", "readings",
    ]  # fmt: skip
    called = np.array(["rest", "left out 1", "left out 2"])
    assert (rows["group"] == called[labels]).all()
    assert (rows["score_1"] == scores[:, 0]).all() and (rows["score_2"] == scores[:, 1]).all()
    for label, sure in ((1, 747), (2, 419)):
        inside = rows["belongs"][rows["group"] == f"left out {label}"]
        assert (inside == "member").sum() == sure
        belongs = found.left_out_groups[label - 1].trust.membership
        assert (rows[f"membership_{label}"] == belongs.shares).all()
