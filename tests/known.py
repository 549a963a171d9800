"""Results with known numbers, no two alike, so that each shows where it is read.

Nothing is searched: results are put together by hand. Where a number belongs to a side, the
left-out group's ends in 7 and the rest's in 3, as far as sums allow it.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd

from leftout import FairPCA, MaxDisparityPartition
from leftout.auditing.answer import GroupResult
from leftout.auditing.findings import with_findings
from leftout.auditing.readings import AS_CATEGORIES, OneReading, Readings
from leftout.auditing.result import Audit
from leftout.data.columns import column_of
from leftout.data.conditions import Condition
from leftout.data.encoding import MissingIndicator
from leftout.data.preparation import PreparedTable
from leftout.data.profiling.column_types import ColumnFacts
from leftout.data.profiling.relations import Relation
from leftout.data.profiling.sentinels import Suspect
from leftout.data.roles import levels_of
from leftout.data.sources import File
from leftout.downstream.metrics import Difference
from leftout.downstream.outcomes import FAIR_PCA, MINIMAX_PCA, VARIANTS
from leftout.downstream.prediction import ComparedPrediction as Predicted
from leftout.downstream.result import Cost, Figure, Harm
from leftout.evidence.duplicate_rows import Repeats
from leftout.evidence.null_test import NullDistribution
from leftout.evidence.replication import HeldOut, Membership, Stability
from leftout.evidence.verdict import Trust
from leftout.explain import explanation as explanation_module
from leftout.explain.alignment import Alignment
from leftout.explain.explanation import Explanation, WhatIf
from leftout.explain.rules import find_rules
from leftout.explain.sentence import Sentence
from leftout.fair.assessment import Afterwards, ProjectionLosses
from leftout.fair.mitigation import Dimension, Mitigation
from leftout.groups.decomposition import LossParts
from leftout.groups.known import KnownGroup, KnownGroups
from leftout.groups.outcome import Outcome, outcomes
from leftout.groups.subgroups import NamedGroup, NamedGroups
from leftout.linalg.distinct import Distinct
from leftout.linalg.significance import Interval
from leftout.representation.base import Representation
from leftout.settings import Settings

REST, GROUP = 8_743, 1_267


SHARED = Representation(
    name="PCA", rank=3, n_features=17, origin=np.zeros(17), components=np.eye(3, 17)
)


class Found(MaxDisparityPartition):
    """A search that has ended, with a bound that is known."""

    bound_ = None


def partition(rest=REST, group=GROUP, losses=(0.043, 0.627), bound=0.712, **changed):
    found = Found(3)
    settled = {
        "labels_": np.repeat([0, 1], [rest, group]),
        "n_groups_": 1,
        "sizes_": np.array([rest, group]),
        "weighted_sizes_": np.array([rest, group]),
        "losses_": np.array(losses),
        "disparity_": losses[1] - losses[0],
        "bound_": bound,
        "retained_": np.array([0.83, 0.27]),
        "retained_own_": np.array([0.93, 0.67]),
        "n_components_": 3,
        "n_features_in_": 17,
        "explained_variance_ratio_": np.array([0.41, 0.22, 0.12]),
        "group_components_": np.zeros((2, 3, 17)),
        "mean_": np.zeros(17),
        "components_": np.eye(3, 17),
        "representation_": SHARED,
        "offset_": 0.5,
    }
    for name, value in (settled | changed).items():
        setattr(found, name, value)
    return found


def chance(tables=39, mean=0.25, p_value=0.025, **changed):
    settled = {
        "disparities": mean + (np.linspace(-0.1, 0.1, tables) if tables > 1 else np.zeros(1)),
        "p_value": p_value,
        "residual": 1.016,
        "ranks_miss": 0.021,
    }
    return NullDistribution(**settled | changed)


def both_kinds():
    return {"copula": chance(), "gaussian": chance(29, 0.24, 0.034)}


def held_out(gap=0.463, overlaps=((0.33, 0.57), (0.37, 0.59), (0.41, 0.61))):
    return HeldOut(
        group_size=308,
        gaps=gap + np.array([[-0.02, 0.01], [0.0, 0.03], [-0.03, 0.01]]),
        overlaps=np.array(overlaps),
        error=0.017,
        freedom=47.0,
    )


def parts(losses=(0.207, 0.143, 0.234), p_gaussian=0.031, p_values=0.025):
    """Each part, and how the columns age, income and colour share it."""
    shares = np.array([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.15, 0.25, 0.6]])
    return LossParts.of(
        np.cumsum(losses),
        np.cumsum(shares * np.array(losses)[:, None], axis=0),
        ["age", "income", "colour"],
        p_gaussian,
        p_values,
    )


def membership(sure=743, rest=REST, group=GROUP):
    """Of the group's rows, some are sure to belong."""
    shares = np.full(group, 0.6875)
    shares[:sure] = 0.9375
    inside = np.repeat([False, True], [rest, group])
    return Membership(shares=np.append(np.full(rest, 0.0625), shares), group=inside, parts=16)


def stability(runs=6, agree=0.76, nearly_equal=2):
    """Runs that agree with each other but for the last, and how many distinct groups they found."""
    jaccard = np.full((runs, runs), agree)
    jaccard[-1] = jaccard[:, -1] = agree - 0.15
    jaccard[0, 1] = jaccard[1, 0] = agree + 0.15
    np.fill_diagonal(jaccard, 1.0)
    labels = np.zeros((runs, 8), dtype=np.int8)
    for row, often in enumerate((runs, runs, runs, runs - 1, 2, 1)):
        labels[:often, row] = 1
    found = Stability(labels=labels, disparities=np.linspace(0.52, 0.59, runs))
    vars(found).update(jaccard_matrix=jaccard, nearly_equal=nearly_equal)  # rather than theirs
    return found


def trust(**changed):
    settled = {
        "partition": partition(4_383, 617, (0.053, 0.647), 0.743),
        "group_size": 617,
        "searched": 0.592,
        "rows": 5_000,
        "chance": both_kinds(),
        "parts": parts(),
        "held_out": held_out(),
        "membership": membership(),
        "stability": stability(),
        "p_value": 0.025,
        "p_gaussian": None,
        "p_winsorized": 0.047,
        "notes": ["Comparison tables: a correlation is off by 0.14 on average."],
        "of_rows": REST + GROUP,
        "over_sizes": 3,
    }
    return Trust(**settled | changed)


def sentence(**changed):
    older = Condition("age", "range", "age >= 40", low=40.0)
    town = Condition("town", "=", "town = Beeley", value="Beeley")
    sizes = {"size": GROUP, "n_rows": REST + GROUP}
    whole = Sentence(alternatives=((town, older),), covered=1_480, count=1_110, **sizes)
    return replace(whole, **changed)


def outcome(gap=(-0.46, -0.49, -0.42), **changed):
    settled = {
        "target": "paid",
        "kind": "rate",
        "positive": "yes",
        "left_out": Interval(0.277, 0.247, 0.317),
        "rest": Interval(0.733, 0.713, 0.753),
        "gap": Interval(*gap),
        "missing": 58,
        "difference": -1.03,
    }
    return Outcome(**settled | changed)


def no_outcome(gap=(0.0358, 0.0267, 0.0477), **changed):
    """58 rows have no outcome: 47 of the group and 11 of the rest."""
    settled = {
        "kind": "missing",
        "positive": None,
        "left_out": Interval(0.0371, 0.0277, 0.0487),
        "rest": Interval(0.0013, 0.0007, 0.0023),
        "difference": 0.26,
    }
    return outcome(gap, **settled | changed)


def mean_outcome():
    return outcome(
        gap=(-54.0, -61.5, -46.5),
        target="income",
        kind="mean",
        positive=None,
        difference=-0.47,
        left_out=Interval(129.7, 124.7, 134.7),
        rest=Interval(183.3, 181.3, 185.3),
    )


def hidden(corrected=0.021, column="sex", **changed):
    settled = {
        "column": column, "kind": "category", "strength": 0.24, "p_value": 0.0105,
        "corrected": corrected, "searched": False, "cramers_v": 0.25, "contrast": "f",
        "left_out_share": 0.77, "rest_share": 0.53,
    }  # fmt: skip
    return Alignment(**settled | changed)


def alignment():
    shared = {"p_value": 1e-9, "corrected": 2e-9, "searched": True}
    lines = [
        Alignment(
            column="town", kind="category", strength=0.81, cramers_v=0.82, contrast="Beeley",
            left_out_share=0.87, rest_share=0.13, **shared,
        ),
        Alignment(
            column="age", kind="number", strength=0.64, difference=1.9, ks=0.71, means=(51.7, 34.3),
            **shared,
        ),
        Alignment(
            column="income", kind="missing", strength=0.52, cramers_v=0.56, contrast="missing",
            left_out_share=0.47, rest_share=0.03, **shared,
        ),
        Alignment(column="debt", kind="number", strength=0.34, difference=-0.9, ks=0.36, **shared),
        hidden(),
        Alignment(
            column="height", kind="number", strength=0.16, difference=-0.4, ks=0.2, searched=False,
            means=(1.67, 1.73), p_value=0.00001, corrected=0.00002,
        ),
    ]  # fmt: skip
    few = [
        Alignment(
            column=f"col {i}", kind="number", strength=(10 - i) / 100, difference=0.2, ks=0.1,
            means=(i + 0.7, i + 0.3), **shared,
        )
        for i in range(10)
    ]  # fmt: skip
    days = 86_400e6  # in a day; 2013-10-07 and 2009-03-13, and some hours
    few[0] = replace(
        few[0], column="joined", dates=True, means=(15_985.7 * days, 14_316.3 * days),
        spreads=(407.0 * days, 803.0 * days),
    )  # fmt: skip
    few[1] = replace(few[1], means=(-6.14e-05, 1.3e-17), spreads=(1.07, 1.03))
    few[2] = replace(few[2], means=(1.2345678907e12, -9.87654321013e11), spreads=(7e11, 3e11))
    few[3] = replace(few[3], means=(2013.47, 2013.93), spreads=(1.7, 1.3))
    few[4] = replace(few[4], means=(0.0000617, 0.0000123), spreads=(0.0000027, 0.0000023))
    return [*lines, *few, hidden(1.0, "faith")]


FEATURES = ["age", "income", "income and town are missing", "town = Beeley", "town = Corby"]
FEATURES += [f"col {i}" for i in range(12)]


def by_feature(times=1.0):
    """The split of losses over features: their differences sum to 0.584, times a number."""
    small = np.arange(1, 13) / 1000
    rest = np.array([0.013, 0.003, 0.023, 0.033, 0.043, *(small / 5)])
    group = np.array([0.217, 0.107, 0.067, 0.217, 0.013, *(small / 5 + small)])
    sources = [name.split(" = ")[0].split(" and ")[0] for name in FEATURES]
    return explanation_module.by_feature(times * np.stack([rest, group]), FEATURES, sources)


def rules(add=False):
    """Of 40 rows, 12 are left out: 9 of the 15 in Beeley, 7 of the 8 with gas among them.

    Those that add: the second, Beeley alone, has only 2 of its 9 left, and gas 1 of its 8.
    """
    town = ["Beeley"] * 15 + ["Corby"] * 25
    heat = ["gas"] * 8 + ["oil"] * 7 + ["gas"] * 9 + ["oil"] * 16
    left_out = [1] * 7 + [0] + [1] * 2 + [0] * 5 + [1] + [0] * 8 + [1] * 2 + [0] * 14
    found = find_rules(pd.DataFrame({"town": town, "heat": heat}), left_out)
    return list(found.that_add() if add else found)


def explanation(**changed):
    settled = {
        "sentence": sentence(),
        "disparity_by_feature": by_feature(),
        "rules": rules(),
        "leading_rules": rules(add=True),
        "alignment": alignment(),
        "outcome": [outcome()],
        "no_outcome": no_outcome(),
        "what_if": [
            WhatIf(feature="age", disparity=0.584, without=0.146, overlap=0.45),
            WhatIf(feature="town", disparity=0.584, without=0.642, overlap=0.95),
        ],
        "rows": {
            "left_out": [{"row": 917, "values": {"age": "57", "income": None}}],
            "rest": [{"row": 103, "values": {"age": "33", "income": "183"}}],
        },
        "notes": ["Note: the search did not see paid, but town was encoded by its mean."],
    }  # fmt: skip
    return Explanation(**settled | changed)


def dimension(d=3, before=(0.043, 0.627), after=(0.263, 0.257), kept=(0.75, 0.714), **changed):
    settled = {
        "n_components": d,
        "losses_before": np.array(before),
        "losses_after": np.array(after),
        "gap": 3e-10,
        "rank": d,
        "rank_d_losses": None,
        "kept_before": kept[0],
        "kept_after": kept[1],
    }
    return Dimension(**settled | changed)


def mitigation(here=None, **changed):
    fair = FairPCA(3)
    fair.variance_ = 1.4
    settled = {
        "groups": ["rest", "the left-out group"],
        "sizes": [REST, GROUP],
        "dual_bound": 0.262,
        "group_weights": np.array([0.63, 0.37]),
        "retained_before": np.array([0.833, 0.277]),
        "retained_after": np.array([0.793, 0.587]),
        "by_dimension": [
            dimension(1, (0.943, 0.157), (0.473, 0.467), (0.41, 0.395), gap=2e-14),
            dimension(),
            dimension(5, (0.013, 0.097), (0.033, 0.037), (0.96, 0.9517), gap=4e-11),
        ],
        "fair": fair,
    }
    return Mitigation(**vars(here or dimension()) | settled | changed)


def under(called, group, worst, shared, error, held_out, who=None):
    mask = np.arange(REST + GROUP) < GROUP
    return ProjectionLosses(
        called=called, group_loss=group, worst_loss=worst, shared=shared, error=error,
        held_out=None if held_out is None else Interval(*held_out), worst=mask, who=who,
    )  # fmt: skip


def afterwards(worst=(0.638, 0.717, 0.427), gain=(0.224, 0.147, 0.301), **changed):
    """No two numbers alike: what the group and the worst off lose under three projections."""
    held = [(0.691, 0.672, 0.711), (0.743, 0.702, 0.784), (0.536, 0.511, 0.562)]
    who = sentence(covered=733, count=417, size=633, n_rows=5_000)
    settled = {
        "lines": [
            under("PCA", 0.627, worst[0], 0.973, 1.0, gain and held[0]),
            under("Fair PCA", 0.257, worst[1], 0.034, 1.193, gain and held[1], who),
            under("MinimaxPCA", 0.339, worst[2], 0.182, 1.086, gain and held[2]),
        ],
        "size": 633, "rows": 5_000, "of_rows": REST + GROUP, "bound": 0.389,
        "gain": gain and Interval(*gain), "splits": 5 if gain else 0,
    }  # fmt: skip
    return Afterwards(**settled | changed)


def three_groups():
    """Fair PCA for three groups, whose answer needs one dimension more."""
    names = ["sex = f / town = Ayton", "sex = f / town = Dale", "sex = m / town = Ayton"]
    losses = {"before": (0.137, 0.518, 0.224), "after": (0.391, 0.386, 0.392)}
    more = {"rank": 4, "rank_d_losses": np.array([0.401, 0.407, 0.399]), "gap": 0.0042}
    here = dimension(3, **losses, kept=(0.75, 0.7135), **more)
    other = dimension(2, (0.21, 0.61, 0.31), (0.48, 0.45, 0.47), (0.63, 0.6066))
    return mitigation(
        here, groups=names, sizes=[1_311, 22, 4_122], by_dimension=[other, here],
        group_weights=np.array([0.21, 0.64, 0.15]),
        retained_before=np.array([0.811, 0.522, 0.733]),
        retained_after=np.array([0.744, 0.655, 0.766]),
    )  # fmt: skip


def columns():
    """Searched columns as an encoder has them; one has another name in the table."""
    how = "a column each; missing: the average of all, and 'income and town are missing' says so"
    towns = ("town = Beeley", "town = Corby")
    return [
        ColumnFacts(
            "age", "age", "searched", "number", "73 whole numbers", True, "--drop age", "18 to 90",
            ("age",), 0, "in years, at the last birthday", read_as="number",
        ),
        ColumnFacts(
            "inc", "income", "searched", "code", "9 whole numbers", False, "--categorical income",
            "from 1 to 9", ("income", "income and town are missing"), 1_304, read_as="number",
        ),
        ColumnFacts(
            "town", "town", "searched", "category", "2 values in 9,998 rows", True, "--drop town",
            how, towns, 12, read_as="category",
        ),
        ColumnFacts(
            "nr", "nr", "left out", "identifier", "counts the rows", True, "--numeric nr",
        ),
        ColumnFacts(
            "note", "note", "left out", "free text", "8,011 values", False, "--categorical note",
            missing=5,
        ),
    ]  # fmt: skip


def facts():
    """Every column in a line; one is a copy."""
    plain = {"sure": True, "features": (), "note": "", "missing": 0}
    return [
        *columns(),
        ColumnFacts(
            name="years", label="years", role="left out", kind="number", why="73 values",
            overrule="--categorical years", how="a copy of age", **plain,
        ),
        ColumnFacts(
            name="sex", label="sex", role="sensitive", kind="yes/no", why="f and m",
            overrule="--drop sex", how="", **plain,
        ),
        ColumnFacts(
            name="paid", label="paid", role="target", kind="yes/no", why="no and yes",
            overrule="--drop paid", how="", **plain | {"missing": 31},
        ),
    ]  # fmt: skip


def relations(how):
    lines = {
        "leak": [Relation("income", "paid", "leak", "AUC", 0.9871)],
        "copy": [
            Relation("years", "age", "copy", "r", -0.9934),
            Relation("place", "town", "copy", "one-to-one", 0.9962),
        ],
        "proxy": [
            Relation("title", "sex", "proxy", "AUC", 0.9312, "f"),
            Relation("height", "sex", "proxy", "settled", 0.4567),
        ],
    }
    return lines[how]


def encoder(**changed):
    settled = {
        "get_feature_names_out": lambda: np.array(FEATURES, dtype=object),
        "features_": FEATURES,
        "columns_": columns(),
        "missing_indicators_": [MissingIndicator((1, 2), FEATURES[2], 0.37)],
        "indicator_places_": [2],
        "encoding": "target",
        "scaling": "minmax",
    }
    return SimpleNamespace(**settled | changed)


def intake(**changed):
    m = REST + GROUP
    X = np.zeros((m, len(FEATURES)))
    X[::2] = np.sqrt(np.arange(1.0, 1.0 + len(FEATURES)) / len(FEATURES))  # unequal variances
    settled = {
        "source": "people.csv",
        "file": File("people.csv", "0123456789abcdef" * 4, 1_234_567, "2025-11-12T13:14:15+00:00"),
        "rows": np.arange(m) * 2,
        "n_rows": 20_020,
        "columns": [],
        "searched": [],
        "readers": {},
        "target": SimpleNamespace(name="paid"),
        "positive": "yes",
        "prediction": None,
        "sensitive": ["sex"],
        "dropped": {"nr": "counts", "note": "words", "years": "a copy of age"},
        "facts": facts(),
        "leaks": relations("leak"),
        "copies": relations("copy"),
        "proxies": relations("proxy"),
        "suspects": [Suspect("review", "999", 223, "far above all others")],
        "encoder": encoder(),
        "X": X,
        "index": None,
    }
    return PreparedTable(**settled | changed)


def repeats(copied=True):
    """20 rows that repeat one of the others."""
    m = REST + GROUP
    place = np.concatenate([np.arange(m - 20), np.arange(20)])
    return Repeats(
        distinct=Distinct(np.arange(m - 20), np.bincount(place), place), beyond_chance=copied
    )


def readings(codes=0.37):
    """1,267 rows in the group, of which 513 are left out in four of five readings."""
    counts = np.zeros(REST + GROUP, dtype=int)
    counts[:GROUP], counts[:513], counts[GROUP : GROUP + 31] = 2, 4, 4
    lines = [
        OneReading("columns scaled to unit variance", 4, 7, 0.07),
        OneReading(AS_CATEGORIES, 3, 24, codes),
        OneReading("one component more", 4, 7, 0.43),
        OneReading("one component fewer", 2, 7, 0.61),
    ]
    group = np.arange(REST + GROUP) < GROUP
    return Readings(lines=lines, counts=counts, group=group, of_rows=REST + GROUP)


def why(covariance=0.217, values=0.137, own=0.3, p_gaussian=0.017, p_values=0.23):
    disparities = np.cumsum([covariance, values, own])
    return LossParts.of(disparities, [None] * 3, [], p_gaussian, p_values)


TOWN = Condition("town", "=", "town = Beeley", value="Beeley")
AGE = Condition("age", "range", "age >= 40", low=40.0)


def named_group(*conditions, **changed):
    settled = {
        "conditions": conditions,
        "rows": np.arange(changed.pop("size", 217)),
        "n_rows": REST + GROUP,
        "loss": 0.707,
        "rest_loss": 0.053,
        "worth": 9.6,
        "new": 1.0,
        "covers": 0.19,
        "random": 0.111,
        "cross_fitted": Interval(0.637, 0.577, 0.697),
        "outcome": outcome(
            (-0.31, -0.37, -0.25), left_out=Interval(0.427, 0.397, 0.457),
            rest=Interval(0.733, 0.703, 0.763),
        ),
        "why": why(),
        "key": ((0, 0),),
    }  # fmt: skip
    return NamedGroup(**settled | changed)


def named(whys=True, **changed):
    """Seven names: two beyond comparison tables, the second of which by a hair."""
    lines = [
        named_group(TOWN),
        named_group(
            AGE, Condition("income", "missing", "income is missing"), size=1_337, loss=0.477,
            rest_loss=0.043, worth=8.1, new=0.86, covers=0.34,
            random=0.022, cross_fitted=Interval(0.467, 0.437, 0.497),
            outcome=outcome((0.12, 0.07, 0.17)), why=why(0.317, 0.127, -0.01, 0.05, 0.61),
        ),
        *(
            named_group(
                Condition("col 1", "=", f"col 1 = {i}", value=str(i)), size=107 + 10 * i,
                loss=0.317 + i / 100, rest_loss=0.063, worth=7.0 - i, new=0.9 - i / 20,
                covers=0.4 + i / 20,
                random=0.161 + i / 1000, cross_fitted=Interval(0.147 + i / 100, -0.007, 0.297),
                outcome=outcome((0.011 + i / 100, -0.02, 0.05)),
                why=why(0.207, 0.037, 0.01 + i / 100, 0.0501 + i / 100, 0.8),
            )
            for i in range(5)
        ),
    ]  # fmt: skip
    settled = {
        "groups": lines if whys else [replace(line, why=None) for line in lines],
        "smallest": 51, "depth": 2, "weight": 0.5, "n_components": 3, "names": 4_321,
        "complete": True, "columns": [], "tables": 39 * whys,
    }  # fmt: skip
    return NamedGroups(**settled | changed)


SEX = Condition("sex", "=", "sex = f", value="f")
BAND = Condition("born", "range", "1980 <= born < 1990", low=1980.0, high=1990.0)


def known_group(*conditions, size=2_017, **changed):
    settled = {
        "conditions": conditions,
        "labels": {condition.column: condition.text[-3:] for condition in conditions},
        "rows": np.arange(size),
        "n_rows": REST + GROUP,
        "retained": 0.727,
        "retained_own": 0.797,
        "loss": 0.087,
        "rest_loss": 0.023,
        "random": 0.015,
        "random_high": 0.019,
        "p_value": 0.05,
        "p_alone": 0.005,
        "cross_fitted": Interval(0.077, 0.067, 0.097),
    }
    return KnownGroup(**settled | changed)


def known_groups(**changed):
    """Two of three groups are left out, the smaller one further; and one is too small."""
    nothing = KnownGroup(
        conditions=(Condition("born", "missing", "born is missing"),), rows=np.arange(26),
        labels={"born": "missing"}, n_rows=REST + GROUP, too_small=True,
    )  # fmt: skip
    settled = {
        "columns": ["sex", "born"],
        "groups": [
            known_group(SEX),
            known_group(
                Condition("sex", "=", "sex = m", value="m"), size=7_993, retained=0.763,
                retained_own=0.769, loss=0.013, rest_loss=0.086, random=0.012, random_high=0.014,
                p_value=0.0501, p_alone=0.035, cross_fitted=Interval(0.012, -0.003, 0.027),
            ),
            nothing,
            known_group(
                SEX, BAND, size=147, retained=0.627, retained_own=0.897, loss=0.287,
                rest_loss=0.033, random=0.127, random_high=0.177, p_value=0.005, p_alone=0.005,
                cross_fitted=Interval(0.197, 0.117, 0.277),
            ),
        ],
        "n_rows": REST + GROUP, "n_components": 3, "retained": 0.75, "smallest": 30,
        "permutations": 199, "notes": ["born has many values."],
    }  # fmt: skip
    return KnownGroups(**settled | changed)


def around(value, reach=0.01):
    """A figure and an interval that is not even about it."""
    return Interval(value, value - reach, value + 1.5 * reach)


# errors of left-out group and rest by kind of features; other measures are made of these
ERRORS = {"left-out group": (0.117, 0.237, 0.157, 0.177), "rest": (0.093, 0.103, 0.113, 0.107)}
GUESSED = {"left-out group": 0.323, "rest": 0.267}
RATES = {"left-out group": 0.277, "rest": 0.733}


def measures(side, place, kind="two classes"):
    error = ERRORS[side][place]
    if kind == "number":
        mean = {"left-out group": 129.7, "rest": 183.3}[side]
        return {
            "error": around(100 * error, 1.0), "guess_error": around(100 * GUESSED[side], 1.0),
            "r2": around(0.9 - error), "mean": around(mean, 1.0),
            "mean_prediction": around(mean + place + 1, 1.0),
        }  # fmt: skip
    return {
        "error": around(error), "guess_error": around(GUESSED[side]),
        "auc": around(1.0 - error / 2),
        "false_negative": around(error + 0.2), "false_positive": around(error / 3),
        "base_rate": around(RATES[side]), "mean_prediction": around(RATES[side] + error / 10),
    }  # fmt: skip


def cost(model="logistic", side="left-out group", extra=None, back=None, rest_back=None, unit=1.0):
    """The group pays 12 points and gets 8 back; the rest pays 1 point, and 1 more for that."""
    back = back or Interval(0.08, 0.061, 0.097)
    rest_back = rest_back or Interval(-0.01, -0.023, 0.003)
    each = [
        Interval(0.12, 0.097, 0.147), Interval(0.01, -0.003, 0.023),
        extra or Interval(0.11, 0.081, 0.139), back, rest_back, Interval(0.09, 0.067, 0.117),
    ]  # fmt: skip
    *paid, back, rest_back, more = (_scaled(one, unit) for one in each)
    less = Difference(*(_scaled(one, 0.75) for one in (back, rest_back, more)))
    returns = {FAIR_PCA: Difference(back, rest_back, more), MINIMAX_PCA: less}
    return Cost(model, side, "error", *paid, returns)


def _scaled(one, unit):
    ends = sorted((unit * one.low, unit * one.high))
    return Interval(unit * one.value, *ends)


# what the shared PCA costs another group, its rest, and the difference
OTHERS = (
    Interval(0.073, 0.051, 0.097), Interval(0.021, 0.013, 0.031), Interval(0.052, 0.027, 0.079),
)  # fmt: skip
UNKNOWN = Interval(np.nan, np.nan, np.nan)


def harm(kind="two classes", **changed):
    """Predictions of paid: the shared PCA costs the group clearly more, Fair PCA gives back."""
    number = kind == "number"
    unit = 100.0 if number else 1.0
    costs = {name: changed.pop(name, None) for name in ("extra", "back", "rest_back")}
    ranked = {name: changed.pop(f"ranked_{name}", None) for name in costs}
    settled = {
        "target": "income" if number else "paid = yes",
        "kind": kind,
        "group": "left-out group",
        "rest": "rest",
        "sizes": {"left-out group": 1_247, "rest": 8_723},
        "n_rows": 9_970,
        "missing": 31,
        "set_aside": 9,
        "n_components": 3,
        "folds": 5,
        "repeats": 3,
        "models": ["ridge" if number else "logistic"],
        "scale": 41.0 if number else 1.0,
        "figures": [
            Figure(
                "ridge" if number else "logistic", side, variant, rows, measures(side, place, kind)
            )
            for side, rows in (("left-out group", 1_247.0), ("rest", 8_723.0))
            for place, variant in enumerate(VARIANTS)
        ],
        "costs": [
            cost("ridge" if number else "logistic", unit=100.0 if number else 1.0, **costs),
            replace(
                cost("ridge" if number else "logistic", unit=-0.5, **ranked),
                measure="r2" if number else "auc",
            ),
        ],
        "gain": {v: _scaled(around(0.2 - 0.05 * i), unit) for i, v in enumerate(VARIANTS)},
        "everybody": {v: _scaled(around(0.11 + 0.03 * i), unit) for i, v in enumerate(VARIANTS)},
        "leaks": ["income"],
    }
    return Harm(**settled | changed)


def compared(gap=None, kind="two classes"):
    """A prediction that is there: worse for the group."""
    number = kind == "number"
    unit, base = (100.0, "mean") if number else (1.0, "base_rate")
    sides = {"left-out group": 0.217, "rest": 0.113}

    def lines(*each):
        return (_scaled(one, unit) for one in each)

    return Predicted(
        target="income" if number else "paid = yes",
        kind=kind,
        group="left-out group",
        rest="rest",
        scale=41.0 if number else 1.0,
        probabilities=not number,
        missing=12,
        sizes={"left-out group": 1_237, "rest": 8_713},
        measures={
            side: {
                "error": _scaled(around(error), unit), base: _scaled(around(RATES[side]), unit),
                "mean_prediction": _scaled(around(RATES[side] - error / 5), unit),
            }
            for side, error in sides.items()
        },
        gap=_scaled(gap or Interval(0.104, 0.071, 0.137), unit),
        prediction="score",
    )  # fmt: skip


def audit(**changed):
    """An audit whose every part is known."""
    settled = {
        "partition": partition(),
        "trust": trust(),
        "stability": stability(),
        "explanation": explanation(),
        "mitigation": mitigation(),
        "named": named(),
        "known": known_groups(),
        "harm": harm(),
        "prediction": compared(),
        "intake": intake(),
        "readings": readings(),
        "afterwards": afterwards(),
        "repeats": repeats(),
        "smallest": 85,
        "scree": np.array([0.41, 0.22, 0.12, 0.09, 0.08, 0.05, 0.03]),
        "scores": np.round(np.linspace(-1.0, 1.0, REST + GROUP), 6),
        "settings": Settings(
            target="paid", positive="yes", prediction="score", sensitive=["sex"],
            drop=["nr", "id"], n_components=3, min_group_size=0.05, n_restarts=6, n_surrogates=39,
            random_state=4, rows=1, min_cell=0, sample=10_010, missing="review=999",
            dictionary="about/people-words.csv", encoding="target",
            numeric=["age"], command="leftout audit people.csv --target paid=yes --sensitive sex",
        ),
        "notes": ["10,010 of the table's 20,020 rows were drawn."],
        "created": "2026-01-02T03:04:05+00:00",
    } | changed  # fmt: skip
    weighed = settled["trust"]
    skipped = settled.pop("skipped", "" if weighed is not None else "It was not asked for.")
    of_group = ("trust", "stability", "explanation", "prediction",
                "no_prediction")  # fmt: skip
    group = GroupResult(
        label=1, alone=True, partition=settled["partition"], harm=settled["harm"],
        **{name: settled.pop(name) for name in of_group if name in settled},
    )  # fmt: skip
    chosen = "tenth" if weighed is None else "evidence"
    return with_findings(Audit(left_out_groups=[group], chosen=chosen, **settled), skipped)


def bare():
    """The paper's preset on a table of numbers: nothing tested, nothing to describe it by."""
    once = explanation().what_if[0]
    return audit(
        trust=None,
        stability=None,
        named=None,
        known=None,
        harm=None,
        prediction=None,
        explanation=explanation(
            sentence=None, alignment=[], outcome=[mean_outcome()], rows=None,
            rules=[], leading_rules=[], notes=[],
            no_outcome=no_outcome(
                (0.0087, 0.0034, 0.0168), target="income", difference=0.09,
                left_out=Interval(0.0134, 0.0084, 0.0214), rest=Interval(0.0047, 0.0035, 0.0063),
            ),
            what_if=[once],
        ),
        intake=intake(
            source=None, file=None, rows=np.arange(REST + GROUP), n_rows=REST + GROUP, dropped={},
            facts=facts()[:1], leaks=[], copies=[], proxies=[], suspects=[],
            encoder=encoder(encoding="free", columns_=columns()[:1], missing_indicators_=[],
                            indicator_places_=[]),
        ),
        readings=None,
        afterwards=None,
        repeats=repeats(False),
        notes=[],
    )  # fmt: skip


def compare_outcome(target, labels, positive=None, name="target"):
    """A target of any kind in the left-out group, labelled 1, and in the rest."""
    column = column_of(target, name)
    return outcomes(column, np.asarray(labels) == 1, levels_of(column, positive))
