"""Repeated searches: names and sizes of groups among fewer rows."""

from __future__ import annotations

import numpy as np

from leftout.evidence.refit import in_proportion, match_groups


def test_groups_of_other_searches_are_matched_by_their_rows():
    reference = np.array([1, 1, 1, 2, 2, 3, 0, 0])
    other = np.array([3, 3, 0, 1, 1, 2, 2, 0], dtype=np.int8)
    assert match_groups(other, reference, 3)[other].tolist() == [1, 1, 0, 2, 2, 3, 3, 0]
    assert match_groups(reference.astype(np.int8), reference, 3).tolist() == [0, 1, 2, 3]


def test_sizes_in_proportion_leave_a_rest():
    assert in_proportion([40, 80], 200, 400) == [20, 40]
    assert in_proportion([1, 1], 10, 400) == [1, 1]
    assert sum(in_proportion([200, 199], 11, 400)) < 11
