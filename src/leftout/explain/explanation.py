"""The whole explanation of a left-out group: who they are, in words and as data."""

from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from leftout.checks import generator, parameters_of
from leftout.data.binning import most_informative
from leftout.data.columns import Column, names_of
from leftout.data.conditions import Mask
from leftout.data.preparation import PreparedTable
from leftout.data.roles import levels_of
from leftout.evidence.refit import for_same_size
from leftout.evidence.replication import pairwise_jaccard
from leftout.explain.alignment import Alignment, align
from leftout.explain.rules import Rule, find_rules
from leftout.explain.sentence import Sentence, describe
from leftout.files import Serializable
from leftout.groups.decomposition import by_source
from leftout.groups.measured import measure, measured
from leftout.groups.outcome import Outcome, outcomes, without_outcome
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.losses import Array, summarise
from leftout.running import Report, Steps, imap_ordered, one_thread

# Rules that are listed, and the columns that they may use.
_RULES, RULE_COLUMNS = 50, 200


@parameters_of(measured)
def feature_losses(*args: Any, **named: Any) -> Array:
    r"""Split every group's loss over the features, exactly.

    Under ``excess``, feature j's part of a group's loss is

    .. math:: (\|(G - GP)_j\|^2 - \|(G - G P_G)_j\|^2) / |G|,

    what the feature's reconstruction errors under the shared PCA exceed those under the group's own
    by. A part can be negative: the group's own PCA trades one feature for another.

    Parameters
    ----------
    X, labels, n_components, representation, loss, centering
        As for :func:`leftout.group_losses`.

    Returns
    -------
    array of shape (n_groups, n)
        Each row sums to the group's entry in :func:`leftout.group_losses`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> feature_losses(X, [0, 0, 1, 1], 1)
    array([[0., 0.],
           [0., 1.]])
    """
    return measured(*args, **named).by_feature()


class FeatureLoss(NamedTuple):
    """A feature's part of the disparity, and of either side's loss.

    ``column`` is the raw column that it was made from, as far as names tell; else its own name.
    """

    feature: str
    column: str
    disparity: float
    share: float
    left_out_loss: float
    rest_loss: float


def by_feature(losses: Array, features: list[str], sources: list[str]) -> list[FeatureLoss]:
    """The split of both sides' losses, (2, n), the largest parts of the disparity first."""
    parts = losses[1] - losses[0]
    shares = parts / parts.sum()
    rest, left_out = losses.tolist()
    every = zip(features, sources, parts.tolist(), shares.tolist(), left_out, rest, strict=True)
    return sorted((FeatureLoss(*line) for line in every), key=lambda line: -abs(line.disparity))


@dataclass(frozen=True, kw_only=True)
class WhatIf(Serializable):
    """The best disparity that a search finds when one feature is left out.

    Attributes
    ----------
    feature : str
        Or the raw column, where several features were made from it: they go together.
    disparity : float
        With the feature as it is.
    without : float
        When it is left out. Components are as many as before, or as many as leave something out of
        what is left; 0 where that cannot be.
    gone : float
        The share of the disparity that goes; negative where it grows.
    overlap : float
        Without the feature: the share of rows left out by either search that both leave out.
    """

    also = ("gone",)

    feature: str
    disparity: float
    without: float
    overlap: float

    @property
    def gone(self) -> float:
        return 1.0 - self.without / self.disparity


@dataclass(frozen=True, kw_only=True, repr=False)
class Explanation(Serializable):
    """Who is left out.

    Attributes
    ----------
    sentence : Sentence or None
        The short description that fits best; None if no raw column varies.
    disparity_by_feature : list of FeatureLoss
        Parts of either sign that sum to the disparity, left-out group minus rest.
    rules : list of Rule
        At most 50, those of highest lift.
    leading_rules : list of Rule
        At most 8, chosen by what each adds: see :meth:`Rules.that_add`.
    alignment : list of Alignment
    outcome : list of Outcome
        Empty without a target.
    no_outcome : Outcome or None
        How often either side has no value of the target; None where every row has one.
    what_if : list of WhatIf
    rows : dict or None
        Actual rows, only if they were asked for.
    notes : list of str
        What to bear in mind.
    untold : list of Alignment
        Lines of which only the column may be named, since too few rows are alike or are not.
    """

    hidden = ("untold",)

    sentence: Sentence | None
    disparity_by_feature: list[FeatureLoss]
    rules: list[Rule]
    leading_rules: list[Rule]
    alignment: list[Alignment]
    outcome: list[Outcome]
    what_if: list[WhatIf]
    no_outcome: Outcome | None = None
    rows: dict[str, list[Any]] | None = None
    notes: list[str] = field(default_factory=list)
    untold: list[Alignment] = field(default_factory=list)

    def __repr__(self) -> str:
        who = None if self.sentence is None else self.sentence.text
        return f"<Explanation of a left-out group: {who}>"

    def by_column(self) -> dict[str, float]:
        """The disparity by raw column: what all features made from it add, most first."""
        lines = self.disparity_by_feature
        return by_source([each.disparity for each in lines], [each.column for each in lines])

    @property
    def sentence_text(self) -> str:
        if self.sentence is None:
            return "No column of the raw table varies, so nothing describes the group."
        return self.sentence.description

    @property
    def no_outcome_text(self) -> str:
        """Where one side lacks an outcome far more often: that; else nothing."""
        missing = self.no_outcome
        return f"{missing}." if missing is not None and missing.notable else ""


def explain(
    found: MaxDisparityPartition,
    X: Any,
    intake: PreparedTable,
    label: int = 1,
    rows: int = 0,
    report: Report | None = None,
) -> Explanation:
    """Who one of the left-out groups is; searches without leading columns come later.

    Losses, columns and outcome stand beside those of the rest, the rows of no left-out group; a
    sentence and rules must tell the group from all other rows. Losses count rows by their weights;
    rules, the sentence, columns and outcomes tell of rows, each counted once.

    ``X`` is what the representation sees, and ``intake`` the same rows as people know them.
    Sensitive columns, and those that no feature was made from, are compared with the group, and are
    part of no rule and no sentence. So many actual ``rows`` are shown of either side: a row may be
    a person.
    """
    left_out, matrix, target = found.left_out_groups_[label - 1], np.asarray(X), intake.target
    mask, sources = left_out.mask, intake.sources
    columns = [column for column in intake.columns if column is not target]
    seen = [column for column in columns if column.name not in intake.sensitive]
    made = set(sources)
    described = [column for column in seen if column.name in made] or seen
    hidden = {column.name for column in columns} - {column.name for column in described}
    steps = Steps(4, report)

    steps.tell("features")
    # where eigenvalues tie, the components are those of the finding
    known = measure(
        matrix, found.labels_, found.n_groups_ + 1, found.n_components_,
        found.loss, found.centering, found.representation_, intake.weights,
    )  # fmt: skip
    losses = known.by_feature()[[0, label]]
    steps.tell("rules", 1)
    telling = most_informative(described, mask, RULE_COLUMNS)
    rules = find_rules(telling, mask)
    steps.tell("sentence", 1)
    sentence = describe(described, mask)
    steps.tell("alignment", 1)
    group = mask
    if not left_out.beside.all():  # one of several groups
        beside = np.flatnonzero(left_out.beside)
        columns, group = [column.take(beside) for column in columns], mask[beside]
        target = None if target is None else target.take(beside)
    alignment = align(columns, group, sensitive=hidden)
    levels = None if target is None else levels_of(target, intake.positive)
    steps.tell("outcome", 1)
    return Explanation(
        sentence=sentence,
        disparity_by_feature=by_feature(losses, names_of(X), sources),
        rules=list(islice(rules, _RULES)),
        leading_rules=list(rules.that_add()),
        alignment=alignment,
        outcome=[] if target is None else outcomes(target, group, levels),
        no_outcome=None if target is None else without_outcome(target, group, levels),
        what_if=[],
        rows=_example_rows(found, label, X, intake.rows, described, rows) if rows else None,
        notes=[
            f"Note: of {len(described)} columns, rules use the {len(telling)} that tell most "
            "about the group."
        ]
        * (len(telling) < len(described)),
    )


def _example_rows(
    found: MaxDisparityPartition,
    label: int,
    X: Any,
    numbers: NDArray[np.intp],
    columns: list[Column],
    n_rows: int,
) -> dict[str, list[dict[str, Any]]]:
    """Rows of the group with the highest scores, and of the rest those nearest to its mean.

    ``numbers`` are what the table counts them by.
    """
    group, rest, matrix = found.labels_ == label, found.labels_ == 0, np.asarray(X)
    scores = np.atleast_2d(found.score_samples(X).T)[label - 1]
    distance = np.sum((matrix - matrix[rest].mean(axis=0)) ** 2, axis=1)

    def shown(row: int) -> dict[str, Any]:
        values = {c.name: None if c.missing[row] else c.show(c.values[row]) for c in columns}
        return {"row": int(numbers[row]), "values": values}

    def nearest(side: Mask, far: Array) -> list[dict[str, Any]]:
        places = np.argsort(far[side], kind="stable")[:n_rows]
        return [shown(row) for row in np.flatnonzero(side)[places]]

    return {"left_out": nearest(group, -scores), "rest": nearest(rest, distance)}


def search_without(
    found: MaxDisparityPartition,
    X: Array,
    sources: list[str],
    leading: list[str],
    steps: Steps,
    weights: Array | None = None,
) -> list[WhatIf]:
    """Search again without the features of each leading source.

    Sensitivity, not causation: a feature may matter for the search without mattering for why people
    are as they are, and features that say the same stand in for each other.
    """
    search = for_same_size(found).set_params(n_jobs=1)

    def without(source: str, rng: np.random.Generator) -> WhatIf:
        left = np.delete(X, [name == source for name in sources], axis=1)
        d = min(found.n_components_, _rank(left, found.centering) - 1)
        loss, labels = 0.0, np.zeros(len(X), dtype=np.intp)
        if d > 0:  # else one component represents every row, or one feature is left
            again = clone(search).set_params(n_components=d, random_state=rng)
            again.fit(left, sample_weight=weights)
            loss, labels = again.disparity_, again.labels_
        overlap = float(pairwise_jaccard(np.stack([labels, found.labels_]))[0, 1])
        return WhatIf(feature=source, disparity=found.disparity_, without=loss, overlap=overlap)

    tasks = zip(leading, generator(found.random_state).spawn(len(leading)), strict=True)
    with one_thread():
        return list(imap_ordered(without, tasks, found.n_jobs, steps, "what if"))


def _rank(X: Array, centering: str) -> int:
    """Dimensions that the table varies in."""
    moments = summarise(X, "global" if centering == "paper" else centering).moments
    values = np.linalg.eigvalsh(moments.second[0])
    return int(np.sum(values > values[-1] * max(X.shape) * np.finfo(float).eps))
