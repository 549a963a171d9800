"""What an audit found: results, and the one dict that JSON and report are made from."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leftout import __version__
from leftout.auditing.answer import Answer, Finding, GroupResult, answer_of, check_finding
from leftout.auditing.baseline import Baseline
from leftout.auditing.comparison import Comparison, compare
from leftout.auditing.gate import ReleaseGate
from leftout.auditing.given import Audited, audited
from leftout.auditing.readings import Blanks, Readings
from leftout.auditing.record import Chunks, PartitionRecord, PcaRecord, TableRecord
from leftout.data.preparation import PreparedTable
from leftout.data.profiling.column_types import ColumnFacts
from leftout.data.sources import File
from leftout.downstream.prediction import ComparedPrediction as ComparedPrediction
from leftout.downstream.result import Harm
from leftout.evidence.duplicate_rows import Repeats
from leftout.evidence.n_groups import HowMany
from leftout.evidence.replication import Stability
from leftout.evidence.verdict import Trust
from leftout.explain import Explanation
from leftout.fair.assessment import Afterwards
from leftout.fair.mitigation import Mitigation
from leftout.files import Serializable, write_whole
from leftout.groups.known import KnownGroups
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.subgroups import NamedGroups
from leftout.linalg.losses import Array
from leftout.report import pages
from leftout.settings import Settings

if TYPE_CHECKING:
    import pandas as pd


SCHEMA_VERSION = "5.1"


@dataclass(frozen=True, kw_only=True, repr=False)
class Audit(Serializable):
    """What an audit found.

    Sizes, losses and shares of a partition are the rest's first, then those of the left-out groups.
    None: not looked at, not known, or not a finite number.

    Attributes
    ----------
    partition : MaxDisparityPartition
        The left-out groups, on all rows audited.
    left_out_groups : list of GroupResult
        Each left-out group, by falling loss; mostly it is one.
    counted : HowMany or None
        How several groups were counted, where n_groups is auto.
    chosen : {"tenth", "evidence", "given", "free"}
        How groups came to their sizes.
    mitigation : Mitigation
    named : NamedGroups or None
        The subgroups that are left out most; None where there is no evidence.
    known : KnownGroups or None
        The groups of the sensitive columns; None without such.
    harm : Harm or None
        What PCA costs a model that predicts the target, for the left-out groups and the rest.
    no_harm, no_afterwards : str
        Why that was not measured, where it was to be.
    afterwards : Afterwards or None
        Whom the representation audited, Fair PCA for the groups and MinimaxPCA leave worst off.
    untold : frozenset of str
        Codes of findings that rest on more than may be told: some of it is of too few rows.
    skipped : str
        Why no evidence was gathered, where none was.
    findings : list of Finding
        Of the one group and of the table; of several groups, each has its own beside these.
    intake : PreparedTable
        The table: its columns, the numbers made of them, and the encoder that made them; of a table
        in chunks, of a sample of its rows.
    readings : Readings or None
        Who is left out under other readings of the table; None where these were not tried.
    blanks : Blanks or None
        How far missing cells alone tell the group; None if no searched column has any.
    repeats : Repeats
        Rows that are equal.
    smallest : int
        Fewest rows that a side could have.
    scree : array
        Share of the variance of each component, all of them.
    scores : array of shape (m,) or (m, n_groups)
        How far each row of ``intake`` leans to the left-out side.
    settings : Settings
    notes : list of str
        What to bear in mind.
    created : str
        When the audit was made, UTC: all that differs between two runs of the same command.
    chunks : Chunks or None
        Only where the table was passed over chunk by chunk: by whom, and how many rows were looked
        at one by one; a note says what comes from these.
    baseline : Baseline or None
        What later tables are compared with; None where rules cannot be written down.
    """

    partition: MaxDisparityPartition
    left_out_groups: list[GroupResult]
    mitigation: Mitigation
    intake: PreparedTable
    repeats: Repeats
    smallest: int
    scree: Array
    scores: Array
    settings: Settings
    notes: list[str]
    chosen: str
    counted: HowMany | None = None
    named: NamedGroups | None = None
    known: KnownGroups | None = None
    harm: Harm | None = None
    no_harm: str = ""
    afterwards: Afterwards | None = None
    no_afterwards: str = ""
    skipped: str = ""
    untold: frozenset[str] = frozenset()
    findings: list[Finding] = field(default_factory=list)
    readings: Readings | None = None
    blanks: Blanks | None = None
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    chunks: Chunks | None = None
    baseline: Baseline | None = None

    @classmethod
    def keys(cls) -> dict[str, str]:
        """The keys of audit.json, and the attribute that each holds."""
        names = (
            "schema_version", "leftout_version", "versions", "created", "answer", "table", "file",
            "columns", "settings", "pca", "partition", "groups", "counted", "readings", "named",
            "known", "harm", "mitigation", "afterwards", "findings", "notes", "baseline", "scale",
        )  # fmt: skip
        others = {"partition": "sides", "groups": "left_out_groups", "scale": "chunks"}
        return {name: others.get(name, name) for name in names}

    @property
    def schema_version(self) -> str:
        """Grows by one in front when something changes its meaning or goes, behind when added."""
        return SCHEMA_VERSION

    @property
    def leftout_version(self) -> str:
        return __version__

    @property
    def versions(self) -> dict[str, str]:
        """Of Python and the libraries that computed the numbers."""
        libraries = ("numpy", "scipy", "scikit-learn", "numba")
        return {"python": platform.python_version(), **{name: version(name) for name in libraries}}

    @property
    def table(self) -> TableRecord:
        """The table, and what is odd about it."""
        return TableRecord.of(self)

    @property
    def file(self) -> File | None:
        """Which file exactly was audited; None for a table in memory."""
        return self.intake.file

    @property
    def pca(self) -> PcaRecord:
        """The representation, and the variance of its components."""
        return PcaRecord.of(self)

    @property
    def sides(self) -> PartitionRecord:
        """Sizes, losses and shares kept, of the rest and of the left-out groups."""
        return PartitionRecord.of(self)

    @property
    def trust(self) -> Trust | None:
        """The evidence; None in a quick audit and under the paper's preset."""
        return self.left_out_groups[0].trust

    @property
    def stability(self) -> Stability | None:
        """How far searches from other starts agree."""
        return self.left_out_groups[0].stability

    @property
    def explanation(self) -> Explanation:
        """Who they are."""
        return self.left_out_groups[0].explanation

    @property
    def prediction(self) -> ComparedPrediction | None:
        """How a prediction that is there errs on both sides, and on groups (``others``)."""
        return self.left_out_groups[0].prediction

    @property
    def alone(self) -> bool:
        """Whether there is one left-out group."""
        return len(self.left_out_groups) == 1

    @property
    def examined(self) -> MaxDisparityPartition:
        """The group among the rows of ``intake``: all, or those of a sample."""
        return self.partition if self.chunks is None else self.chunks.examined

    @property
    def n_rows(self) -> int:
        """Rows audited."""
        return len(self.intake.rows) if self.chunks is None else self.chunks.n_rows

    @property
    def groups(self) -> pd.DataFrame:
        """One line for each row audited: its number in the table (from 0), its group, its score.

        Where evidence was gathered, also whether it is a member or borderline, the share of
        searches on parts of the rows that leave it out, and in how many readings of the table
        (``Audit.readings``) it is left out.
        """
        import pandas as pd

        if self.chunks is not None:
            sides = pd.Categorical.from_codes(self.partition.labels_, ["rest", "left out"])
            rows = np.arange(self.chunks.n_rows)
            return pd.DataFrame({"row": rows, "group": sides, "score": self.chunks.scores()})
        columns = {"row": self.intake.rows, **self._rows()}
        if self.readings is not None and len(self.readings.counts) == len(self.intake.rows):
            columns["readings"] = self.readings.counts
        return pd.DataFrame(columns, index=self.intake.index)

    def _rows(self) -> dict[str, NDArray[Any]]:
        """Of each row: its group, how far it leans to each, and how sure that is, where known."""
        groups, scores = self.left_out_groups, self.scores.reshape(len(self.scores), -1)
        side, called = np.zeros(len(scores), dtype=np.intp), ["rest"]
        marks = ["" if each.alone else f"_{each.label}" for each in groups]
        found: dict[str, NDArray[Any]] = {"group": side}
        for each, mark, score in zip(groups, marks, scores.T, strict=True):
            side[each.left_out.mask] = each.label
            called.append(each.name)
            found[f"score{mark}"] = score
        found["group"] = np.array(called)[side]
        memberships = [each.trust.membership for each in groups if each.trust is not None]
        sure = [one for one in memberships if one is not None]
        if len(sure) == len(groups):
            found["belongs"] = np.full(len(scores), "rest")
            for mark, one in zip(marks, sure, strict=True):
                found["belongs"] = np.where(one.group, one.named(), found["belongs"])
                found[f"membership{mark}"] = one.shares
        return found

    @property
    def encoder(self) -> Any:
        """The fitted ``TableEncoder``, for new rows."""
        return self.intake.encoder

    @property
    def columns(self) -> list[ColumnFacts]:
        """Every column of the table: its part, what it is and why, what became of it."""
        return self.intake.facts

    @property
    def audited(self) -> Audited:
        """What was audited: the PCA of the table or of features, or what a pipeline has."""
        return audited(self.partition, self.intake)

    @cached_property
    def answer(self) -> Answer:
        """What it says, a line for each question."""
        return answer_of(
            self.left_out_groups, self.mitigation, harm=self.harm, findings=self.findings,
            sampled=self.sampled, after=self.afterwards,
        )  # fmt: skip

    def each(self, **values: Sequence[Any]) -> Audit:
        """The audit with more known of its groups: one value of every name for each of them."""
        groups = [
            replace(group, **{name: several[place] for name, several in values.items()})
            for place, group in enumerate(self.left_out_groups)
        ]
        return replace(self, left_out_groups=groups)

    def with_finding(self, question: Callable[[Audit], Finding]) -> Audit:
        """The audit with one more finding, in its display, report and data.

        Parameters
        ----------
        question : callable
            Looks at the audit and answers with a :class:`Finding`.
        """
        more = question(self)
        check_finding(more, self.findings)
        return replace(self, findings=[*self.findings, more])

    def compare(self, other: Any) -> Comparison:
        """What has changed since this audit, beyond noise.

        Parameters
        ----------
        other : Audit, path of an audit.json, table or its path
            The new one. A table is read as this audit's was.
        """
        return compare(self, other)

    def check(
        self,
        *,
        fail_on: str | Iterable[str] | None = None,
        max_loss: float | None = None,
        max_harm: float | None = None,
        baseline: Any = None,
    ) -> None:
        """Raise unless conditions hold, for tests and releases.

        Parameters
        ----------
        fail_on : codes of findings that must not be found
            What was not run, or is not applicable, does not pass either.
        max_loss : float
            Most percentage points of its variance that a left-out group may lose by sharing.
        max_harm : float
            Most percentage points of wrong predictions that sharing may cost it beyond the rest.
        baseline : Audit or path of an audit.json
            That nothing may have changed from, beyond noise, unless for the better.

        Raises
        ------
        GateError
            With a line for each condition that does not hold.
        """
        ReleaseGate.of(fail_on, max_loss, max_harm, baseline).check(self)

    def headline(self) -> str:
        """What is lost, in one sentence."""
        return self.answer.fact

    def summary(self) -> str:
        """The whole in one paragraph."""
        return self.answer.text

    @property
    def sampled(self) -> bool:
        """Whether a sample of the table's rows was audited, as was asked."""
        return self.settings.sample is not None and self.n_rows < self.intake.n_rows

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<Audit: {self.headline()}>"

    def _repr_html_(self) -> str:
        return pages.brief(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as in audit.json; every report is made from it."""
        data = super().to_dict()
        if self.chunks is None:
            del data["scale"]
        return data

    def to_html(self, path: str | os.PathLike[str], *, annex: bool = False) -> Path:
        """Write the report, one file that needs nothing else; it appears whole or not at all.

        ``annex``: with a page that is a record to file.
        """
        return write_whole(path, self.html(annex=annex))

    def html(self, *, annex: bool = False) -> str:
        """The report's text."""
        return pages.page(self.to_dict(), annex)

    def annex(self) -> str:
        """A record to file, as Markdown: what was done and found, and what it is evidence of."""
        return pages.annex(self.to_dict())

    def csv(self) -> str:
        """The text of groups.csv."""
        return self.groups.to_csv(index=False, lineterminator="\n")

    def parquet(self) -> bytes:
        """The content of groups.parquet, which very many rows are written to."""
        return self.groups.to_parquet(index=False)
