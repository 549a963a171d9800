"""Parts of audit.json that are put together from several results: table, PCA, partition, chunks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from leftout.auditing.given import Audited
from leftout.auditing.readings import Blanks
from leftout.auditing.small_cells import rare_features
from leftout.data.profiling.relations import Relation
from leftout.data.profiling.sentinels import Suspect
from leftout.files import Serializable
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.losses import Array

# Components whose shares of the variance are listed.
_SCREE = 50


@dataclass(frozen=True, kw_only=True)
class TableRecord(Serializable):
    """The table, and what is odd about it."""

    source: Annotated[str | None, "The file's name; null for a table in memory."]
    rows: Annotated[int, "Rows audited."]
    rows_in_table: int
    features: Annotated[int, "Columns of numbers that PCA saw."]
    feature_names: list[str]
    target: str | None
    positive: Annotated[
        str | float | bool | None, "The target's value whose rate counts; null if its mean does."
    ]
    sensitive: Annotated[list[str], "Columns kept out of the search."]
    dropped: Annotated[dict[str, str], "Columns left out, and why."]
    distinct_rows: Annotated[int, "Rows that differ from each other, as numbers."]
    missing_indicator_share: Annotated[float, "Share of the variance in missing indicators."]
    leaks: Annotated[list[Relation], "Searched columns that alone tell the target."]
    copies: Annotated[list[Relation], "Columns left out because they repeat another."]
    proxies: Annotated[list[Relation], "Searched columns that alone tell a sensitive one."]
    suspects: Annotated[list[Suspect], "Values that may stand for something else."]
    blanks: Annotated[
        Blanks | None,
        "How far missing cells alone tell the group; null if no searched column has any.",
    ]

    @classmethod
    def of(cls, audit: Any) -> TableRecord:
        intake = audit.intake
        rare = rare_features(intake, audit.settings.min_cell)
        of_intake = (
            "source", "positive", "sensitive", "dropped", "leaks", "copies",
            "proxies", "suspects",
        )  # fmt: skip
        return cls(
            **{name: getattr(intake, name) for name in of_intake},
            feature_names=[rare.get(name, name) for name in intake.feature_names],
            rows=audit.n_rows,
            rows_in_table=intake.n_rows,
            features=intake.X.shape[1],
            target=None if intake.target is None else intake.target.name,
            distinct_rows=audit.repeats.distinct.n_distinct,
            missing_indicator_share=intake.indicator_share,
            blanks=audit.blanks,
        )


@dataclass(frozen=True, kw_only=True)
class PcaRecord(Serializable):
    """The representation, and the variance of its components."""

    representation: Annotated[Audited, "What was audited."]
    n_components: int
    explained_variance_ratio: Annotated[list[float], "Of the components kept."]
    scree: Annotated[list[float], "Of the first 50 components."]

    @classmethod
    def of(cls, audit: Any) -> PcaRecord:
        found = audit.partition
        return cls(
            representation=audit.audited,
            n_components=found.n_components_,
            explained_variance_ratio=found.explained_variance_ratio_,
            scree=audit.scree[:_SCREE],
        )


@dataclass(frozen=True, kw_only=True)
class PartitionRecord(Serializable):
    """The left-out group, on all rows audited; of several groups all sides, the rest first."""

    group_size: Annotated[int, "Of several groups, that of the first."]
    min_group_size: Annotated[int, "Fewest rows that a side could have."]
    chosen: Annotated[
        Literal["tenth", "evidence", "given", "free"],
        "How the size came about: a tenth of the rows, the evidence, as asked for, or as the "
        "search liked.",
    ]
    solver: str
    sizes: list[int]
    losses: list[float]
    disparity: Annotated[
        float,
        "The group's loss minus the rest's; of several groups the mean, weighted by their sizes.",
    ]
    bound: Annotated[
        float,
        "Certified: no group of this size has a larger disparity; of several groups the mean of "
        "their bounds, weighted by their sizes.",
    ]
    retained: Annotated[list[float], "Share of each side's variance kept by the shared PCA."]
    retained_own: Annotated[list[float], "The same by its own PCA."]

    @classmethod
    def of(cls, audit: Any) -> PartitionRecord:
        found = audit.partition
        return cls(
            group_size=int(found.sizes_[1]),
            min_group_size=audit.smallest,
            chosen=audit.chosen,
            solver=audit.settings.solver,
            sizes=found.sizes_,
            losses=found.losses_,
            disparity=found.disparity_,
            bound=float(found.sizes_[1:] / found.sizes_[1:].sum() @ np.ravel(found.bound_)),
            retained=found.retained_,
            retained_own=found.retained_own_,
        )


@dataclass(frozen=True, kw_only=True)
class Chunks(Serializable):
    """How a table that is larger than memory was audited.

    Attributes
    ----------
    engine : str
        Who ran over the chunks.
    n_files, n_chunks, n_rows : int
    n_sampled : int
        Rows that were looked at one by one.
    examined : MaxDisparityPartition
        The group among the rows of the sample.
    scores : callable
        Passes over all rows, and gives how far each leans to the left-out side.
    """

    hidden = ("examined", "scores")

    engine: str
    n_files: int
    n_chunks: int
    n_rows: int
    n_sampled: int
    examined: MaxDisparityPartition
    scores: Callable[[], Array]
