"""One of several left-out groups beside the rest, as a search for one group would have found it.

The rest is always the rows that are in no left-out group: what a group's disparity is measured
against. Rows of the other groups are on neither side.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from leftout.asking import asking
from leftout.checks import Refusal, is_int
from leftout.search.partition import MaxDisparityPartition
from leftout.wording import counted

# The label of rows on neither side.
NEITHER = -1


def one_of(found: MaxDisparityPartition, label: int) -> MaxDisparityPartition:
    """The view of group ``label``: what evidence, explanation and findings know of one group.

    ``labels_`` are 1 in the group, 0 in the rest and -1 in the other groups; sizes, losses, shares
    of variance, components and bound are those of the group and the rest. Of a single group it is
    the search itself.

    Examples
    --------
    >>> from leftout import MaxDisparityPartition, datasets
    >>> X, _ = datasets.make_planted(300, 9, 2, [40, 60], random_state=0)
    >>> found = MaxDisparityPartition(2, n_groups=3, group_size=[40, 60], random_state=0).fit(X)
    >>> second = one_of(found, 2)
    >>> second.sizes_.tolist() == found.sizes_[[0, 2]].tolist()
    True
    >>> float(second.disparity_ - found.disparities_[1])
    0.0
    """
    check_is_fitted(found)
    if not (is_int(label) and 1 <= label < found.n_groups_):
        raise Refusal(
            f"{asking('label', label)} is no left-out group: found "
            f"{counted(found.n_groups_ - 1, 'left-out group')}, numbered from 1."
        )
    if found.n_groups_ == 2:
        return found
    sides = [0, int(label)]
    whole = found.left_out_groups_[label - 1]
    view = clone(found).set_params(n_groups=2, group_size=whole.size)
    for name, value in vars(found).items():
        if name.endswith("_in_") or name in _SHARED:
            setattr(view, name, value)
    place = np.full(found.n_groups_, NEITHER)
    place[sides] = 0, 1
    view.n_groups_ = 2
    view.labels_ = place[found.labels_].astype(np.intp)
    for name in ("sizes_", "losses_", "retained_", "retained_own_", "group_components_"):
        setattr(view, name, getattr(found, name)[sides])
    view.disparities_ = found.disparities_[[label - 1]]
    view.disparity_ = whole.disparity
    view.offset_ = whole.offset
    view._bound = whole.bound  # of the joint search, where it is settled once
    return view


_SHARED = (
    "mean_", "n_components_", "explained_variance_ratio_", "components_", "representation_",
    "history_", "stopped_",
)  # fmt: skip
