"""What if a feature were not there? Sensitivity of the disparity, not causes of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from leftout.checks import check_count, check_whole, generator
from leftout.data.columns import names_of
from leftout.evidence.duplicate_rows import find_repeats
from leftout.evidence.stability import pairwise_jaccard
from leftout.explain.scores import feature_losses
from leftout.files import Serializable
from leftout.groups.fitted import fitted_on, for_same_size
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.distinct import Distinct
from leftout.linalg.losses import Array, summarise
from leftout.running import Report, Steps, clean_interrupts, imap_ordered, one_thread


@dataclass(frozen=True, kw_only=True)
class WhatIf(Serializable):
    """The best disparity that a search finds when one feature is changed.

    Attributes
    ----------
    feature : str
        Or the raw column, where several features were made from it: they go together.
    disparity : float
        With the feature as it is.
    without, shuffled : float
        When it is left out, and when its values are shuffled among the rows (the mean of several
        shuffles; nan if there were none). Components are as many as before, or as many as leave
        something out of what is left; 0 where that cannot be.
    gone, gone_shuffled : float
        The share of the disparity that goes; negative where it grows.
    overlap : float
        Without the feature: the share of rows left out by either search that both leave out.
    """

    also = ("gone", "gone_shuffled")

    feature: str
    disparity: float
    without: float
    shuffled: float
    overlap: float

    @property
    def gone(self) -> float:
        return 1.0 - self.without / self.disparity

    @property
    def gone_shuffled(self) -> float:
        return 1.0 - self.shuffled / self.disparity


@clean_interrupts()
def what_if(
    found: Any,
    X: Any,
    *,
    features: int = 5,
    shuffles: int = 3,
    progress: Report | bool | None = None,
) -> list[WhatIf]:
    """Search again without each of the leading features, and with each of them shuffled.

    Sensitivity, not causation: a feature may matter for the search without mattering for why people
    are as they are, and features that say the same stand in for each other.

    Parameters
    ----------
    found : MaxDisparityPartition or Trust
        Fitted on ``X``; searched again with the same settings, components and group size.
    X : table of shape (m, n)
    features : int, default=5
        How many: those that add most to the disparity.
    shuffles : int, default=3
        How often each is shuffled.
    progress : callable, bool or None

    Returns
    -------
    list of WhatIf
        In the order of what the features add to the disparity.

    Examples
    --------
    >>> from leftout import MaxDisparityPartition, datasets
    >>> X, _ = datasets.make_planted(300, 8, 2, 60, random_state=0)
    >>> found = MaxDisparityPartition(2, group_size=60, random_state=0).fit(X)
    >>> first = what_if(found, X, features=1)[0]
    >>> first.feature, 0.0 < first.gone < 1.0
    ('x7', True)
    """
    check_count("features", features)
    check_whole("shuffles", shuffles)
    found, matrix = fitted_on(found, X)
    parts = feature_losses(
        matrix, found.labels_, found.n_components_, loss=found.loss, centering=found.centering
    )
    sources = names_of(X)
    leading = list(by_source(parts[1] - parts[0], sources))[:features]
    steps = Steps(len(leading) * (1 + shuffles), progress)
    return search_without(found, matrix, sources, leading, shuffles, steps)


def by_source(parts: Array, sources: list[str]) -> dict[str, float]:
    """What all features of each source add to the disparity, most first."""
    totals: dict[str, float] = {}
    for part, source in zip(parts.tolist(), sources, strict=True):
        totals[source] = totals.get(source, 0.0) + part
    return dict(sorted(totals.items(), key=lambda entry: -entry[1]))


def search_without(
    found: MaxDisparityPartition,
    X: Array,
    sources: list[str],
    leading: list[str],
    shuffles: int,
    steps: Steps,
) -> list[WhatIf]:
    """:func:`what_if` for given sources of features."""
    search = for_same_size(found).set_params(n_components=found.n_components_, n_jobs=1)
    copies = find_repeats(X).copies if shuffles else None
    tasks = []
    for source, rng in zip(leading, generator(found.random_state).spawn(len(leading)), strict=True):
        places = np.flatnonzero([name == source for name in sources])
        seeds = rng.spawn(1 + shuffles)
        tasks += [(search, X, places, place > 0, copies, seed) for place, seed in enumerate(seeds)]
    with one_thread():
        results = list(imap_ordered(_again, tasks, found.n_jobs, steps, "what if"))
    lines = []
    for number, source in enumerate(leading):
        start = number * (1 + shuffles)
        (without, labels), *shuffled = results[start : start + 1 + shuffles]
        both = np.stack([labels, found.labels_])
        lines.append(
            WhatIf(
                feature=source,
                disparity=found.disparity_,
                without=without,
                shuffled=float(np.mean([value for value, _ in shuffled])) if shuffled else np.nan,
                overlap=float(pairwise_jaccard(both, either=False)[0, 1]),
            )
        )
    return lines


def _again(
    search: MaxDisparityPartition,
    X: Array,
    places: NDArray[np.intp],
    shuffle: bool,
    copies: Distinct | None,
    rng: np.random.Generator,
) -> tuple[float, NDArray[np.intp]]:
    """Disparity and labels of a search on the table with some columns shuffled, or without them."""
    if shuffle:
        X = X.copy()
        if copies is None:
            X[:, places] = rng.permutation(X[:, places])
        else:  # equal rows stay equal: telling them apart would end what they have in common
            taken = copies.first[rng.permutation(copies.n_distinct)]
            X[:, places] = X[np.ix_(taken[copies.place], places)]
    else:
        X = np.delete(X, places, axis=1)
    d = min(search.n_components, _rank(X, search.centering) - 1)
    if d < 1:  # one component represents every row, or one feature is left
        return 0.0, np.zeros(len(X), dtype=np.intp)
    again = clone(search).set_params(n_components=d, random_state=rng).fit(X)
    return again.disparity_, again.labels_


def _rank(X: Array, centering: str) -> int:
    """Dimensions that the table varies in."""
    moments = summarise(X, "global" if centering == "paper" else centering).moments
    values = np.linalg.eigvalsh(moments.second[0])
    return int(np.sum(values > values[-1] * max(X.shape) * np.finfo(float).eps))
