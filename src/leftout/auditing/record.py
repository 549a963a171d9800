"""What audit.json holds: every key once, with its type and what it holds; the schema is made of it.

Most keys are results, as they are; a field is filled from the audit's attribute of the same name.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from importlib.metadata import version
from io import BytesIO
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import numpy as np

from leftout import __version__
from leftout.auditing.given import Audited
from leftout.auditing.group_result import Answer, Finding, GroupResult
from leftout.auditing.readings import Blanks, OneReading, Readings
from leftout.data.profiling.column_types import ColumnFacts
from leftout.data.profiling.relations import Relation
from leftout.data.profiling.sentinels import Suspect
from leftout.data.sources import File
from leftout.downstream.result import Harm
from leftout.evidence.n_groups import HowMany
from leftout.fair.assessment import Afterwards
from leftout.fair.mitigation import Mitigation
from leftout.files import Serializable
from leftout.groups.known import KnownGroups
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.subgroups import NamedGroups
from leftout.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = "4.0"
# Components whose shares of the variance are listed.
_SCREE = 50
_Kind = TypeVar("_Kind")


def _filled(kind: type[_Kind], source: Any, **given: Any) -> _Kind:
    """A record: what is given, the rest from a result's attributes of the same names."""
    names = (each.name for each in fields(kind) if each.name not in given)  # type: ignore[arg-type]
    return kind(**given, **{name: getattr(source, name) for name in names})


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
    other_reading: Annotated[
        OneReading | None,
        "The same search with suspected codes as categories; null if there are none.",
    ]
    blanks: Annotated[
        Blanks | None,
        "How far missing cells alone tell the group; null if no searched column has any.",
    ]

    @classmethod
    def of(cls, audit: Any) -> TableRecord:
        intake = audit.intake
        return _filled(
            cls, intake, rows=audit.n_rows, rows_in_table=intake.n_rows,
            features=intake.X.shape[1],
            target=None if intake.target is None else intake.target.name,
            distinct_rows=audit.repeats.n_distinct,
            missing_indicator_share=intake.indicator_share, other_reading=audit.other_reading,
            blanks=audit.blanks,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PcaRecord(Serializable):
    """The representation, and the variance of its components."""

    representation: Annotated[Audited, "What was audited."]
    n_components: int
    explained_variance_ratio: Annotated[list[float], "Of the components kept."]
    scree: Annotated[list[float], "Of the first 50 components."]


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
    all_rows, sample : list of str
        Parts of the result that come from all rows, and from the sample.
    examined : MaxDisparityPartition
        The group among the rows of the sample.
    parts : callable
        Yields a name and a data frame for each chunk: rows, groups, scores.
    end : callable
        Removes what was kept in case that the audit is stopped.
    """

    hidden = ("examined", "parts", "end")

    engine: str
    n_files: int
    n_chunks: int
    n_rows: int
    n_sampled: int
    all_rows: list[str]
    sample: list[str]
    examined: MaxDisparityPartition
    parts: Callable[[], Iterator[tuple[str, pd.DataFrame]]]
    end: Callable[[], None]

    def parquet(self) -> Iterator[tuple[str, bytes]]:
        """The files of the folder groups: names, and what is in each."""
        for name, part in self.parts():
            buffer = BytesIO()
            part.to_parquet(buffer, index=False)
            yield name, buffer.getvalue()


@dataclass(frozen=True, kw_only=True)
class AuditRecord(Serializable):
    """What leftout audit found.

    Sizes, losses and shares of a partition are the rest's first, then those of the left-out groups.
    null: not looked at, not known, or not a finite number.
    """

    schema_version: Annotated[
        str,
        "Grows by one in front when something here changes its meaning or goes, behind when "
        "something is added.",
    ] = SCHEMA_VERSION
    leftout_version: str = __version__
    versions: Annotated[dict[str, str], "Of Python and the libraries that computed the numbers."]
    created: Annotated[
        str,
        "When the audit was made, UTC: all that differs between two runs of the same command.",
    ]
    answer: Answer
    table: TableRecord
    file: Annotated[File | None, "Which file exactly was audited; null for a table in memory."]
    columns: Annotated[
        list[ColumnFacts],
        "Every column of the table: its part, what it was taken for and why, what became of it.",
    ]
    settings: Settings
    pca: PcaRecord
    partition: PartitionRecord
    groups: Annotated[list[GroupResult], "Each left-out group, by falling loss."]
    counted: Annotated[HowMany | None, "How several groups were counted, where n_groups is auto."]
    readings: Readings | None
    named: NamedGroups | None
    known: KnownGroups | None
    harm: Annotated[
        Harm | None,
        "What PCA costs a model that predicts the target, for the left-out group and the rest.",
    ]
    mitigation: Mitigation
    afterwards: Annotated[
        Afterwards | None,
        "Whom the representation audited, Fair PCA for the group and MinimaxPCA leave worst off.",
    ]
    findings: list[Finding]
    notes: list[str]
    scale: Annotated[
        Chunks | None,
        "Only where the table was passed over chunk by chunk: by whom, and which parts of the "
        "result come from all rows.",
    ] = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data; what only tables in chunks have is left out of others."""
        data = super().to_dict()
        return data if self.scale is not None else {k: data[k] for k in data if k != "scale"}

    @classmethod
    def of(cls, audit: Any) -> AuditRecord:
        """What an audit found, as audit.json has it."""
        found = audit.partition
        libraries = ("numpy", "scipy", "scikit-learn", "numba")
        return _filled(
            cls,
            audit,
            schema_version=SCHEMA_VERSION,
            leftout_version=__version__,
            versions={"python": platform.python_version()}
            | {name: version(name) for name in libraries},
            table=TableRecord.of(audit),
            file=audit.intake.file,
            settings=audit.settings.to_dict(),
            pca=PcaRecord(
                representation=audit.audited,
                n_components=found.n_components_,
                explained_variance_ratio=found.explained_variance_ratio_,
                scree=audit.scree[:_SCREE],
            ),
            partition=PartitionRecord(
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
            ),
            groups=audit.left_out_groups,
            scale=audit.chunks,
        )
