"""What audit.json holds: every key once, with its type and what it tells; the schema is made of it.

A field is filled from the result of the same name where there is one.
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
from leftout.auditing.given import Audited, audited
from leftout.auditing.group_result import Answer, Finding, GroupResult
from leftout.auditing.group_selection import ComparedSolver
from leftout.auditing.readings import Blanks, OtherReading, Readings
from leftout.data.encoding import ColumnEncoding
from leftout.data.files.fetching import File
from leftout.data.profiling.relations import Relation
from leftout.data.profiling.sentinels import Suspect
from leftout.data.schema_inference import ColumnFacts
from leftout.downstream.prediction import ComparedPrediction
from leftout.downstream.result import Cost, Harm
from leftout.evidence.chance import ProfileSize
from leftout.evidence.holdout import HeldOut
from leftout.evidence.loss_parts import LossParts
from leftout.evidence.n_groups import HowMany
from leftout.evidence.null_test import Chance
from leftout.evidence.stability import Membership, Stability
from leftout.explain import Explanation
from leftout.explain.replication import Replication
from leftout.fair.assessment import Afterwards
from leftout.fair.mitigation import Mitigation
from leftout.files import Serializable
from leftout.groups.known_result import KnownGroup, KnownGroups
from leftout.groups.outcome import Outcome
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.subgroups import NamedGroup, NamedGroups
from leftout.linalg.significance import Interval
from leftout.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = "3.0"
# Components whose shares of the variance are listed.
_SCREE = 50
_Kind = TypeVar("_Kind")


def _filled(kind: type[_Kind], source: Any, **given: Any) -> _Kind:
    """A record: what is given, the rest from a result's attributes; None where there is none."""
    names = (each.name for each in fields(kind) if each.name not in given)  # type: ignore[arg-type]
    return kind(**given, **{name: getattr(source, name, None) for name in names})


class NamedSearch(NamedGroups):
    """How groups with a name were searched, and what that says."""

    hidden = (*NamedGroups.hidden, "groups")


class KnownSearch(KnownGroups):
    """How the groups of the sensitive columns were compared, and what that says."""

    hidden = ("groups",)


@dataclass(frozen=True, kw_only=True)
class Evidence(Serializable):
    """What explains the loss of a group, and whether it comes back; null where not looked at."""

    p_value: Annotated[
        float | None,
        "How often tables with the same values and correlations lose as much, at the group's size "
        "or, with over_sizes, over all sizes.",
    ]
    p_gaussian: Annotated[
        float | None,
        "The same of bell-shaped tables with the same correlations; null where it was not needed.",
    ]
    p_winsorized: Annotated[
        float | None,
        "p_value with the tails of columns drawn in; null where they are not heavy.",
    ]
    beyond_chance: Annotated[
        bool | None,
        "Whether p_value and, where there is one, p_winsorized are at most 0.05; null where there "
        "were too few tables.",
    ]
    verdict: Annotated[
        Literal["A", "B", "C", "D"] | None,
        "What explains the loss: a distinct group, structure without a sharp group, "
        "rare or skewed values, nothing beyond the covariance.",
    ]
    verdict_name: str | None
    verdict_says: Annotated[str | None, "The verdict's sentence: answer.why."]
    cross_fitted: Annotated[
        Interval | None, "The gap on rows that the search has not seen; null without halves."
    ]
    membership: Annotated[
        Membership | None, "How many rows are sure to belong to the group; groups.csv has each."
    ]


@dataclass(frozen=True, kw_only=True)
class TrustRecord(Evidence):
    """Evidence; all null where none was gathered: with quick, and under the paper's preset."""

    rows: Annotated[
        int, "Rows that comparison tables, halves, parts of the rows and other starts rest on."
    ]
    of_rows: int
    over_sizes: Annotated[
        list[int] | None,
        "Where evidence chose the size: how many sizes p_value covers, and on how many rows; null: "
        "p_value belongs to the one size.",
    ]
    searched: Annotated[
        float | None,
        "The disparity found with the effort that comparison tables are searched with: what "
        "by_chance, p_value and the parts are beside.",
    ]
    evidence_size: int | None
    evidence_range: list[int] | None
    disparity: Annotated[float | None, "At the group's size, on these rows."]
    by_chance: Annotated[
        float | None,
        "What the same search finds at that size in tables with the same values and correlations, "
        "on average.",
    ]
    chance: dict[str, Chance]
    notes: list[str]


@dataclass(frozen=True, kw_only=True)
class GroupHarm(Serializable):
    """What PCA costs one of several groups."""

    group: str
    cost: Cost
    told: list[str]
    told_brief: str


@dataclass(frozen=True, kw_only=True)
class GroupDetails(Serializable):
    """Where there are several groups: what the top level tells of one group."""

    explanation: Explanation
    chance: dict[str, Chance] | None
    held_out: HeldOut | None
    stability: Stability | None
    notes: list[str] | None
    harm: Annotated[
        GroupHarm | None, "What PCA costs it and the rest, in errors; harm has all figures."
    ]
    prediction: ComparedPrediction | None
    findings: list[Finding]

    @classmethod
    def of(cls, group: GroupResult) -> GroupDetails:
        trust, harm = group.trust, group.harm
        return _filled(
            cls, group,
            chance=None if trust is None else trust.chance,
            held_out=None if trust is None else trust.held_out,
            stability=None if trust is None else trust.stability,
            notes=None if trust is None else trust.notes,
            harm=None if harm is None else _filled(GroupHarm, harm, cost=harm.cost()),
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class GroupRecord(Evidence):
    """A left-out group."""

    label: Annotated[int, "Its number; groups are numbered by falling loss."]
    name: Annotated[str, "What it is called in groups.csv."]
    rows: int
    share: Annotated[float, "Of all rows."]
    loss: float
    rest_loss: Annotated[float, "Of the rest: the rows of no left-out group."]
    disparity: Annotated[float, "Loss minus rest_loss."]
    bound: Annotated[float, "Certified: no group of this size has a larger disparity."]
    retained: Annotated[float, "Share of its variance kept by the shared PCA."]
    retained_own: Annotated[float, "The same by its own PCA."]
    answer: Answer
    sentence: str | None
    outcome: Annotated[Outcome | None, "The first of explanation.outcome."]
    parts: LossParts | None
    details: GroupDetails | None

    @classmethod
    def of(cls, group: GroupResult, answer: Answer) -> GroupRecord:
        found, told = group.left_out, group.explanation
        return _filled(
            cls, group.trust,
            label=group.label, name=group.name, rows=found.size, share=found.share,
            loss=found.losses.group, rest_loss=found.losses.rest, disparity=found.disparity,
            bound=found.bound, retained=found.retained.group,
            retained_own=found.retained_own.group, answer=answer,
            sentence=None if told.sentence is None else told.sentence.text,
            outcome=told.outcome[0] if told.outcome else None,
            details=None if group.alone else GroupDetails.of(group),
        )  # fmt: skip


@dataclass(frozen=True)
class DroppedColumn(Serializable):
    """A column left out, and why."""

    column: str
    reason: str


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
    dropped: Annotated[list[DroppedColumn], "Columns left out, and why."]
    encoding: Annotated[list[ColumnEncoding], "What became of each searched column."]
    distinct_rows: Annotated[int, "Rows that differ from each other, as numbers."]
    flags_share: Annotated[float, "Share of the variance in flags of missing cells."]
    leaks: Annotated[list[Relation], "Searched columns that alone tell the target."]
    copies: Annotated[list[Relation], "Columns left out because they repeat another."]
    proxies: Annotated[list[Relation], "Searched columns that alone tell a sensitive one."]
    suspects: Annotated[list[Suspect], "Values that may stand for something else."]
    other_reading: Annotated[
        OtherReading | None,
        "The same search with suspected codes as categories; null if there are none.",
    ]
    blanks: Annotated[
        Blanks | None,
        "How far missing cells alone tell the group, and what a search without them finds; null "
        "if no searched column has any.",
    ]

    @classmethod
    def of(cls, audit: Any) -> TableRecord:
        intake = audit.intake
        return _filled(
            cls, intake, rows=audit.n_rows, rows_in_table=intake.n_rows,
            features=intake.X.shape[1],
            target=None if intake.target is None else intake.target.name,
            dropped=[DroppedColumn(*each) for each in intake.dropped.items()],
            encoding=intake.encoder.encoding_, distinct_rows=audit.repeats.n_distinct,
            flags_share=intake.flags, other_reading=audit.other_reading, blanks=audit.blanks,
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
    looked_at : MaxDisparityPartition
        The group among the rows of the sample.
    parts : callable
        Yields a name and a data frame for each chunk: rows, groups, scores.
    end : callable
        Removes what was kept in case that the audit is stopped.
    """

    hidden = ("looked_at", "parts", "end")

    engine: str
    n_files: int
    n_chunks: int
    n_rows: int
    n_sampled: int
    all_rows: list[str]
    sample: list[str]
    looked_at: MaxDisparityPartition
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

    Pairs of sizes, losses and shares are the rest first and the left-out group second;
    alignment.means is the other way round. null: not known, or not a finite number.
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
        "When the audit was made, UTC. This and comparison[].seconds are all that differs between "
        "two runs of the same command.",
    ]
    headline: Annotated[str, "What is lost, in one sentence: answer.fact."]
    summary: Annotated[str, "The whole in one paragraph: the lines of the answer, in their order."]
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
    groups: Annotated[list[GroupRecord], "One object for each left-out group."]
    counted: Annotated[
        HowMany | None,
        "Where there are several groups and n_groups is auto: how they were counted, the last look "
        "included.",
    ]
    comparison: Annotated[
        list[ComparedSolver],
        "Each algorithm, free to choose the sizes, on up to 5,000 rows; empty unless asked for.",
    ]
    trust: TrustRecord
    parts: Annotated[LossParts | None, "null without comparison tables of both kinds."]
    profile: Annotated[list[ProfileSize], "Best disparity at each size; empty if it was not run."]
    held_out: Annotated[
        HeldOut | None,
        "Halves of the rows, searched apart; null where that was not looked at, or could not be.",
    ]
    readings: Annotated[Readings | None, "null where these were not tried."]
    stability: Stability | None
    returns: Annotated[
        Replication | None,
        "Sentences from half of the rows, judged on the other half; null where that was not looked "
        "at, or halves are too small.",
    ]
    explanation: Explanation
    named: Annotated[
        list[NamedGroup],
        "Groups with a name that are left out most; empty under the paper's preset.",
    ]
    named_search: NamedSearch | None
    known: Annotated[
        list[KnownGroup],
        "Every group of the sensitive columns and of two of them; empty without such.",
    ]
    known_search: KnownSearch | None
    harm: Annotated[
        Harm | None,
        "What PCA costs a model that predicts the target, for the left-out group and the rest; "
        "null where not measured.",
    ]
    prediction: Annotated[
        ComparedPrediction | None,
        "How a prediction that is there errs on the left-out group and on the rest; null where "
        "none was given, or it could not be judged.",
    ]
    mitigation: Mitigation
    afterwards: Annotated[
        Afterwards | None,
        "Whom the representation audited, Fair PCA for the group and MinimaxPCA leave worst off; "
        "null where that was not looked at.",
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
        """What an audit found, as audit.json tells it."""
        found, trust, known = audit.partition, audit.trust, audit.known
        return _filled(
            cls, audit,
            schema_version=SCHEMA_VERSION, leftout_version=__version__, versions=_versions(),
            headline=audit.headline(), summary=audit.summary(), table=TableRecord.of(audit),
            file=audit.intake.file, settings=audit.settings.to_dict(),
            pca=PcaRecord(
                representation=audited(found, audit.intake), n_components=found.n_components_,
                explained_variance_ratio=found.explained_variance_ratio_,
                scree=audit.scree[:_SCREE],
            ),
            partition=PartitionRecord(
                group_size=int(found.sizes_[1]), min_group_size=audit.smallest,
                chosen=audit.chosen, solver=audit.settings.solver,
                sizes=found.sizes_, losses=found.losses_, disparity=found.disparity_,
                bound=float(found.sizes_[1:] / found.sizes_[1:].sum() @ np.ravel(found.bound_)),
                retained=found.retained_, retained_own=found.retained_own_,
            ),
            groups=[
                GroupRecord.of(each, each.answer or audit.answer) for each in audit.left_out_groups
            ],
            trust=_filled(
                TrustRecord, trust, rows=len(audit.trust_rows), of_rows=audit.n_rows,
                chance={} if trust is None else trust.chance,
                notes=[] if trust is None else trust.notes,
            ),
            parts=None if trust is None else trust.parts,
            profile=[] if trust is None else trust.profile.to_list(),
            held_out=None if trust is None else trust.held_out,
            named=[] if audit.named is None else audit.named.groups,
            named_search=None if audit.named is None else _filled(NamedSearch, audit.named),
            known=[] if known is None else [*known.ranked, *known.too_small],
            known_search=None if known is None else _filled(KnownSearch, known),
            scale=audit.chunks,
        )  # fmt: skip


def _versions() -> dict[str, str]:
    """What computed the numbers."""
    names = ("numpy", "scipy", "scikit-learn", "numba")
    return {"python": platform.python_version()} | {name: version(name) for name in names}
