"""The JSON schema of audit.json, from the types of the results that it is made of."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np
import pandas as pd

from leftout.auditing.given import Audited
from leftout.auditing.group_result import Answer, Finding, GroupResult
from leftout.auditing.group_selection import ComparedSolver
from leftout.auditing.readings import Blanks, OtherReading, Readings
from leftout.auditing.result import SCHEMA_VERSION, Chunks
from leftout.data.conditions import Condition
from leftout.data.encoding import ColumnEncoding
from leftout.data.files.fetching import File
from leftout.data.profiling.relations import Relation
from leftout.data.profiling.sentinels import Suspect
from leftout.data.reports import ColumnFacts
from leftout.downstream.prediction import ComparedPrediction
from leftout.downstream.result import Cost, Harm
from leftout.evidence.holdout import HeldOut
from leftout.evidence.loss_parts import LossPart, LossParts
from leftout.evidence.n_groups import HowMany
from leftout.evidence.null_test import Chance
from leftout.evidence.stability import Membership, Stability
from leftout.explain.alignment import Alignment, Typical
from leftout.explain.attribution import WhatIf
from leftout.explain.explanation import Explanation
from leftout.explain.replication import Replication
from leftout.explain.rules import Rule
from leftout.explain.sentence import Sentence
from leftout.fair.afterwards import Afterwards
from leftout.fair.mitigation import Dimension, Mitigation
from leftout.fair.random_groups import RandomGroups
from leftout.files import Serializable
from leftout.groups.known_result import KnownGroup, OnAllRows
from leftout.groups.left_out import LossDecomposition
from leftout.groups.outcome import Outcome
from leftout.groups.subgroups import NamedGroup
from leftout.linalg.effects import Interval
from leftout.settings import Settings

_NUMBERS = ("number", "boolean")
_PLAIN = {str: "string", int: "integer", bool: "boolean", type(None): "null"}
_MANY = (list, tuple, Iterable, Sequence)


# What results say in JSON, where that is not their own fields. Pairs of sizes, losses and shares
# are the rest first.


class _Condition(TypedDict):
    """Something that holds for a row or does not; conditions of a name are joined by "and"."""

    column: str
    op: Literal["=", "!=", "range", "others", "missing", "known"]
    text: str
    value: NotRequired[str | float]
    low: NotRequired[str | float]
    high: NotRequired[str | float]
    values: NotRequired[list[str | float]]


_Rule = TypedDict(
    "_Rule",
    {
        "if": list[Condition], "then": Literal["rest", "left-out group"], "text": str,
        "count": int, "covered": int, "support": float, "confidence": float, "lift": float,
    },
)  # fmt: skip


class _Distinct(TypedDict):
    disparity: float
    size: int
    runs: Annotated[list[int], "Which runs found it."]


class _Stability(TypedDict):
    """How well searches from other starts agree."""

    runs: int
    jaccard_mean: float
    jaccard_low: float
    jaccard_high: float
    jaccard_matrix: list[list[float]]
    disparities: list[float]
    distinct_groups: list[_Distinct]
    nearly_equal: int
    adjacent_epochs: NotRequired[list[float]]
    first_to_last_epoch: NotRequired[list[float]]


class _Parts(TypedDict):
    """Three parts of the loss, by what explains them."""

    total: Annotated[float, "The disparity that they add up to."]
    cloud: Annotated[LossPart, "What any cloud of this spread and covariance shows."]
    values: Annotated[LossPart, "What rare and uneven values of single columns add."]
    own: Annotated[LossPart, "What is left: a structure of their own."]


class _SizeAtChance(TypedDict):
    mean: float
    low: float
    high: float
    p_value: float


class _Size(TypedDict):
    size: int
    disparity: float
    bound: float
    chance: Annotated[
        dict[str, _SizeAtChance],
        "Comparison tables by their kind, at the few sizes that they were searched at; else empty.",
    ]


class _FeatureLoss(TypedDict):
    feature: str
    column: str
    disparity: float
    share: float
    left_out_loss: float
    rest_loss: float


class _Scores(TypedDict):
    feature: str
    total: float
    left_out: float
    rest: float
    difference: float


class _Leading(TypedDict):
    variable: str
    left_out_runs: int
    rest_runs: int


class _Leads(TypedDict):
    runs: int
    top: int
    variables: list[_Leading]


class _Pair(TypedDict):
    group: str
    pair: list[str]
    runs: int
    lift: list[float]


class _Explanation(TypedDict):
    """Who they are."""

    sentence: Sentence | None
    disparity_by_feature: Annotated[list[_FeatureLoss], "Parts that sum to the disparity."]
    feature_scores: Annotated[list[_Scores], "The paper's scores, in per cent."]
    rules: list[Rule]
    leading_rules: Annotated[
        list[Rule], "Rules of the left-out group to list: each adds to those before it."
    ]
    rule_frequency: _Leads
    interactions: list[_Pair]
    alignment: list[Alignment]
    outcome: list[Outcome]
    no_outcome: Annotated[
        Outcome | None,
        "How often either side has no value of the target; null where every row has one.",
    ]
    typical: list[Typical]
    what_if: list[WhatIf]
    rows: Annotated[dict[str, list[Any]] | None, "Actual rows, only if they were asked for."]
    notes: list[str]


class _KnownGroup(TypedDict):
    """A group of the sensitive columns, beside random groups."""

    text: str
    labels: dict[str, str]
    conditions: list[Condition]
    size: int
    share: float
    retained: float
    retained_own: float
    loss: float
    rest_loss: float
    random: Annotated[float, "What random groups of that size lose on average."]
    random_high: Annotated[float, "What 95 % of them lose at most."]
    p_value: Annotated[float, "Corrected for all groups."]
    p_alone: float
    cross_fitted: Annotated[Interval, "The loss on rows that neither PCA has seen."]
    why: LossDecomposition | None
    too_small: Annotated[bool, "Then nothing was measured."]
    left_out: bool
    all_rows: NotRequired[OnAllRows]


class _Mitigation(TypedDict):
    """Fair PCA for all sides."""

    n_components: int
    losses_before: list[float]
    losses_after: list[float]
    rank: int
    rank_d_losses: list[float] | None
    kept_before: float
    kept_after: float
    price: float
    groups: list[str]
    sizes: list[int]
    max_loss: float
    dual_bound: float
    gap: Annotated[float, "Between the largest loss and the smallest possible: the certificate."]
    group_weights: list[float]
    retained_before: list[float]
    retained_after: list[float]
    by_dimension: list[Dimension]
    random_groups: NotRequired[RandomGroups]


class _Evidence(TypedDict):
    p_value: Annotated[
        float | None,
        "How often tables with the same values and correlations lose as much, at the group's size "
        "or, with over_sizes, over all sizes.",
    ]
    p_cloud: Annotated[
        float | None,
        "The same of bell-shaped tables with the same correlations; null where it was not needed.",
    ]
    p_drawn_in: Annotated[
        float | None,
        "p_value with the tails of columns drawn in; null where they are not heavy.",
    ]
    beyond_chance: Annotated[
        bool | None,
        "Whether p_value and, where there is one, p_drawn_in are at most 0.05; null where there "
        "were too few tables.",
    ]
    verdict: Annotated[
        Literal["A", "B", "C", "D"] | None,
        "What explains the loss: a group of its own, a pattern without a sharp group, unusual "
        "values, the edge of the cloud.",
    ]
    verdict_name: str | None
    verdict_says: Annotated[str | None, "The verdict's sentence: answer.why."]
    cross_fitted: Annotated[
        Interval | None,
        "The gap on rows that the search has not seen; null without halves.",
    ]
    membership: Annotated[
        Membership | None,
        "How many rows are sure to belong to the group; groups.csv has each.",
    ]


class _Trust(_Evidence):
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


class _GroupHarm(TypedDict):
    group: str
    cost: Cost
    told: list[str]
    told_brief: str


class _Details(TypedDict):
    """Where there are several groups: what the top level tells of one group."""

    explanation: Explanation
    chance: dict[str, Chance] | None
    held_out: HeldOut | None
    stability: Stability | None
    notes: list[str] | None
    harm: Annotated[
        _GroupHarm | None,
        "What PCA costs it and the rest, in errors; harm has all figures.",
    ]
    prediction: ComparedPrediction | None
    findings: list[Finding]


class _Group(_Evidence):
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
    details: _Details | None


class _Dropped(TypedDict):
    column: str
    reason: str


class _TableEntry(TypedDict):
    source: Annotated[str | None, "The file's name; null for a table in memory."]
    rows: Annotated[int, "Rows audited."]
    rows_in_table: int
    features: Annotated[int, "Columns of numbers that PCA saw."]
    feature_names: list[str]
    target: str | None
    positive: Annotated[
        str | float | bool | None,
        "The target's value whose rate counts; null if its mean does.",
    ]
    sensitive: Annotated[list[str], "Columns kept out of the search."]
    dropped: Annotated[list[_Dropped], "Columns left out, and why."]
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


class _Pca(TypedDict):
    representation: Annotated[Audited, "What was audited."]
    n_components: int
    explained_variance_ratio: Annotated[list[float], "Of the components kept."]
    scree: Annotated[list[float], "Of the first 50 components."]


class _Partition(TypedDict):
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
    disparity: Annotated[float, "The group's loss minus the rest's; of several groups the mean."]
    bound: Annotated[
        float,
        "Certified: no group of this size has a larger disparity; of several groups the mean of "
        "their bounds.",
    ]
    retained: Annotated[list[float], "Share of each side's variance kept by the shared PCA."]
    retained_own: Annotated[list[float], "The same by its own PCA."]


class _NamedSearch(TypedDict):
    smallest: int
    depth: int
    weight: float
    n_components: int
    names: Annotated[int, "Names looked at."]
    complete: Annotated[bool, "Whether no name is missing: the list is certified."]
    left: Annotated[float | None, "No name that was not looked at is worth more."]
    covers: Annotated[float, "Share of the worst-represented tenth that the first six cover."]
    told: str
    told_beyond: str


class _KnownSearch(TypedDict):
    columns: list[str]
    n_rows: int
    n_components: int
    retained: float
    smallest: int
    permutations: int
    notes: list[str]
    loss: Annotated[float, "Of all rows together: 0, but under a representation that is given."]
    shared: Annotated[str, "pca.representation.name."]
    told: str
    told_count: str
    told_small: str


class _Audit(TypedDict):
    schema_version: Annotated[
        str,
        "Grows by one in front when something here changes its meaning or goes, behind when "
        "something is added.",
    ]
    leftout_version: str
    versions: Annotated[dict[str, str], "Of Python and the libraries that computed the numbers."]
    created: Annotated[
        str,
        "When the audit was made, UTC. This and comparison[].seconds are all that differs between "
        "two runs of the same command.",
    ]
    headline: Annotated[str, "What is lost, in one sentence: answer.fact."]
    summary: Annotated[str, "The whole in one paragraph: the lines of the answer, in their order."]
    answer: Answer
    table: _TableEntry
    file: Annotated[File | None, "Which file exactly was audited; null for a table in memory."]
    columns: Annotated[
        list[ColumnFacts],
        "Every column of the table: its part, what it was taken for and why, what became of it.",
    ]
    settings: Settings
    pca: _Pca
    partition: _Partition
    groups: Annotated[list[GroupResult], "One object for each left-out group."]
    counted: Annotated[
        HowMany | None,
        "Where there are several groups and n_groups is auto: how they were counted, the last look "
        "included.",
    ]
    comparison: Annotated[
        list[ComparedSolver],
        "Each algorithm, free to choose the sizes, on up to 5,000 rows; empty unless asked for.",
    ]
    trust: _Trust
    parts: Annotated[LossParts | None, "null without comparison tables of both kinds."]
    profile: Annotated[list[_Size], "Best disparity at each size; empty if it was not run."]
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
    named_search: _NamedSearch | None
    known: Annotated[
        list[KnownGroup],
        "Every group of the sensitive columns and of two of them; empty without such.",
    ]
    known_search: _KnownSearch | None
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
    scale: NotRequired[
        Annotated[
            Chunks,
            "Only where the table was passed over chunk by chunk: by whom, and which parts of the "
            "result come from all rows.",
        ]
    ]


_SHAPES: dict[type, Any] = {
    Condition: _Condition, Explanation: _Explanation, GroupResult: _Group, KnownGroup: _KnownGroup,
    Mitigation: _Mitigation, LossParts: _Parts, Rule: _Rule,
    Stability: _Stability,
}  # fmt: skip


def schema() -> dict[str, Any]:
    """The JSON schema of audit.json: what each key holds."""
    made = _Schema()
    whole = made.object_of(_Audit)
    whole["properties"]["schema_version"] = {
        "const": SCHEMA_VERSION,
        "description": whole["properties"]["schema_version"]["description"],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "audit.json",
        **whole,
        "description": "What leftout audit found. Pairs of sizes, losses and shares are the rest "
        "first and the left-out group second; alignment.means is the other way round. null: not "
        "known, or not a finite number.",
        "$defs": {name: made.defs[name] for name in sorted(made.defs)},
    }


class _Schema:
    """Schemas of types; those of classes are kept as definitions."""

    def __init__(self) -> None:
        self.defs: dict[str, dict[str, Any]] = {}
        self.kinds: dict[str, Any] = {}

    def of(self, kind: Any) -> dict[str, Any]:
        origin, args = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return {**self.of(args[0]), "description": args[1]}
        if origin is NotRequired:
            return self.of(args[0])
        if origin in (Union, types.UnionType):
            return _either([self.of(each) for each in args])
        if origin is Literal:
            return {"enum": list(args)}
        if kind in _PLAIN:
            return {"type": _PLAIN[kind]}
        if kind is float or _is(kind, np.floating):
            return {"type": ["number", "null"]}  # what is not finite is null
        if origin in _MANY:
            return {"type": "array", "items": self.of(args[0])}
        if origin in (dict, Mapping) or kind is dict:
            inner = self.of(args[1]) if args else {}
            return {"type": "object", "additionalProperties": inner}
        if origin is np.ndarray:
            return {"type": "array", "items": {"type": [*_NUMBERS, "null", "array"]}}
        return self._class(_SHAPES.get(kind, kind))

    def _class(self, kind: Any) -> dict[str, Any]:
        if get_origin(kind) is not None:
            return self.of(kind)
        if not (is_typeddict(kind) or is_dataclass(kind) or hasattr(kind, "_fields")):
            return {}
        name = kind.__name__.lstrip("_")
        if name not in self.defs:
            self.kinds[name], self.defs[name] = kind, {}  # it may hold itself
            self.defs[name] = self.object_of(kind)
        if self.kinds[name] is not kind:
            raise TypeError(f"Two classes are called {name}: a definition can be of one.")
        return {"$ref": f"#/$defs/{name}"}

    def object_of(self, kind: Any) -> dict[str, Any]:
        known, about = _hints(kind), _described(kind)
        optional = {name for name, each in known.items() if get_origin(each) is NotRequired}
        each = {}
        for name, inner in known.items():
            each[name] = self.of(inner)
            if name in about:
                each[name] = {**each[name], "description": about[name]}
        needed = [name for name in each if name not in optional]
        words = re.split(r"\n\s*(?:Attributes|Parameters)\n", kind.__doc__ or "")[0].split()
        told = {"description": " ".join(words)} if words else {}
        return {
            "type": "object", **told, "properties": each, "required": needed,
            "additionalProperties": False,
        }  # fmt: skip


def _is(kind: Any, base: type) -> bool:
    return isinstance(kind, type) and issubclass(kind, base)


def _either(each: list[dict[str, Any]]) -> dict[str, Any]:
    """One of several schemas: of types alone, a list of them."""
    if all(set(one) == {"type"} for one in each):
        names = [name for one in each for name in np.atleast_1d(one["type"]).tolist()]
        return {"type": list(dict.fromkeys(names))}
    return {"anyOf": each}


def _hints(kind: Any) -> dict[str, Any]:
    """What a class says in JSON: its fields, or those and properties that a result names."""
    if is_typeddict(kind) or not is_dataclass(kind):
        return get_type_hints(kind, include_extras=True)
    hints = get_type_hints(kind, localns={"pd": pd}, include_extras=True)
    names = [each.name for each in fields(kind)]
    shown: Any = kind
    if _is(kind, Serializable):
        names = [name for name in (*names, *shown.also) if name not in shown.hidden]
    return {name: hints[name] if name in hints else _returned(kind, name) for name in names}


def _returned(kind: Any, name: str) -> Any:
    """The type of a property."""
    found = getattr(kind, name)
    made = found.fget if isinstance(found, property) else found.func
    return get_type_hints(made)["return"]


def _described(kind: Any) -> dict[str, str]:
    """What is said of each name: in the class's list of them, of a setting, of a property."""
    text = "\n".join(line.removeprefix("    ") for line in (kind.__doc__ or "").split("\n"))
    listed = re.compile(r"^([a-z_0-9, ]+) : [^\n]*\n((?:    [^\n]*\n)+)", re.MULTILINE)
    found = {
        name: " ".join(match[2].split())
        for match in listed.finditer(f"{text}\n")
        for name in match[1].split(", ")
    }
    for name in getattr(kind, "also", ()):
        first = (getattr(kind, name).__doc__ or "").partition("\n\n")[0]
        if first and name not in found:
            found[name] = " ".join(first.split())
    for each in fields(kind) if is_dataclass(kind) else ():
        if "setting" in each.metadata:
            found[each.name] = each.metadata["setting"].help
    return found
