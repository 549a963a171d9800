"""What components cost a model on each side: against plain loops, and known numbers by hand."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from leftout import (
    FairPCA,
    InputError,
    MinimaxPCA,
    TableEncoder,
    compare_prediction,
    harm,
)
from leftout.checks import generator
from leftout.datasets import make_planted
from leftout.downstream import costs
from leftout.downstream.costs import PredictionTask, assign_folds, models_of
from leftout.downstream.metrics import Difference, bootstrap_sums, interval
from leftout.downstream.outcomes import VARIANTS, prediction_target
from leftout.linalg.significance import Interval
from leftout.running import collected_warnings

GROUP, REST = "left-out group", "rest"


def planted(seed=0, n_rows=500, size=120, slope=4.0):
    """A table whose outcome depends on a direction that the planted rows have and on a shared one.

    The shared PCA keeps the latter, so that predictions from it are worth something to the rest.
    """
    rng = np.random.default_rng([3, seed])
    X, group = make_planted(n_rows, 8, 2, size, random_state=rng)
    own, shared = (X @ np.linalg.svd(X[group == side])[2][0] for side in (1, 0))
    chance = 1.0 / (1.0 + np.exp(-slope * own - 2.0 * shared))
    return X, (rng.random(n_rows) < chance).astype(int), group


class Sees(ClassifierMixin, BaseEstimator):
    """Right in every row where it sees all four columns; says 0 where it sees components."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return X[:, 0].astype(int) if X.shape[1] == 4 else np.zeros(len(X), dtype=int)

    def predict_proba(self, X):
        return np.where(
            self.predict(X)[:, None] == self.classes_, 0.9, 0.1 / (len(self.classes_) - 1)
        )


def by_hand():
    """40 rows of a group, 10 of them positive; 100 of a rest, 60 of them positive."""
    y = np.r_[np.arange(40) < 10, np.arange(100) < 60].astype(int)
    X = np.random.default_rng(0).standard_normal((140, 4))
    X[:, 0] = y
    return X, y, np.r_[np.ones(40), np.zeros(100)].astype(int)


def test_costs_by_hand():
    X, y, group = by_hand()
    found = harm(X, y, group, 1, models=Sees(), repeats=2)
    assert found.models == ["Sees"] and found.sizes == {GROUP: 40, REST: 100}
    for variant, errors in zip(VARIANTS, [(0, 0), *[(0.25, 0.6)] * 3], strict=True):
        assert (found.at(GROUP, variant).value, found.at(REST, variant).value) == errors
    cost = found.cost()
    assert (cost.cost.value, cost.rest_cost.value) == (0.25, 0.6)
    assert cost.extra_cost.value == found.extra_cost.value == 0.25 - 0.6
    assert found.fair_return == found.cost().returns["Fair PCA"].rest == (0.0, 0.0, 0.0)
    assert found.at(GROUP, "shared PCA", "false_negative") == (1.0, 1.0, 1.0)
    assert found.at(REST, "shared PCA", "false_positive") == (0.0, 0.0, 0.0)
    assert found.at(GROUP, "all columns", "base_rate").value == 0.25
    assert found.at(REST, "all columns", "mean_prediction").value == pytest.approx(
        0.6 * 0.9 + 0.4 * 0.1
    )
    assert found.at(GROUP, "all columns", "auc").value == 1.0
    assert found.at(GROUP, "shared PCA", "auc").value == 0.5
    assert not found.costs_more and not found.gives_back
    # a binomial share of 40 rows, and of 100
    low, high = found.cost().cost[1:]
    assert 0.11 < low < 0.15 and 0.37 < high < 0.42
    assert found.table.shape[0] == 8 and found.table.rows.tolist() == [40] * 4 + [100] * 4
    assert found.table.variant.tolist() == 2 * list(VARIANTS)
    assert found.everybody["MinimaxPCA"].value == pytest.approx((10 + 60) / 140)
    assert [text.split()[0] for text in found.text[1:]] == ["Fair", "MinimaxPCA"]
    line = found.table.query("side == 'rest' and variant == 'Fair PCA'").iloc[0]
    assert line.error == 0.6 and line.error_low < 0.6 < line.error_high


def test_words_say_which_side():
    X, y, group = by_hand()
    text = harm(X, y, group, 1, models=Sees(), repeats=1).summary()
    assert "from all columns is 0.0% for the left-out group and 0.0% for the rest" in text
    assert "1 component of a shared PCA it is 25.0% and 60.0%" in text
    assert "costs the left-out group -35.0 points (95% interval" in text
    assert "The target itself is at 25.0% in the left-out group and 60.0% in the rest" in text
    assert "a different rate or mean alone is not harm" in text
    turned = harm(X, y, 1 - group, 1, models=Sees(), repeats=1)
    assert turned.extra_cost.value == 0.6 - 0.25 and turned.extra_cost.clear == 1
    assert not turned.costs_more  # what says 0 of everybody errs as often as there are ones
    assert "it is 60.0% and 25.0%; always guessing the most frequent class, 60.0%" in (
        turned.cost_text
    )
    assert "Components do no better than always saying" in turned.cost_text
    assert "whether the group is harmed more cannot be told" in turned.cost_text


CLEAR, WORSE = Interval(0.1, 0.02, 0.2), Interval(-0.1, -0.2, -0.02)


def harm_of(extra, back, rest, gain=CLEAR, ranked=WORSE, ranked_back=WORSE, ranked_rest=WORSE):
    """A result of known costs: intervals of the extra cost and of both returns, then in AUC."""
    X, y, group = by_hand()
    found = harm(X, y, group, 1, models=Sees(), repeats=1, bootstrap=0)

    def changed(cost, extra, back, rest):
        returns = {seen: Difference(back, rest, one.extra) for seen, one in cost.returns.items()}
        return replace(cost, extra_cost=extra, returns=returns)

    costs = changed(found.cost(), extra, back, rest)
    auc = changed(found.cost("auc"), ranked, ranked_back, ranked_rest)
    return replace(found, costs=[costs, auc], gain=dict.fromkeys(VARIANTS, gain))


def test_findings_need_what_is_clear_and_enough():
    none, small = Interval(0.1, -0.1, 0.3), Interval(0.009, 0.001, 0.02)
    clear, worse = CLEAR, WORSE
    asked = {each: harm_of(each, each, none) for each in (none, clear, small, worse)}
    assert [one.costs_more for one in asked.values()] == [False, True, False, False]
    assert [one.gives_back for one in asked.values()] == [False, True, False, False]
    for each, one in asked.items():
        assert ("they are harmed more" in one.cost_text) == (each == clear)
        assert ("that is more, but their errors do not show it" in one.cost_text) == (each != clear)
        assert ("is not shown." in one.return_text()) == (each != clear)
    for ranked in (none, Interval(-0.009, -0.02, -0.001)):
        said = harm_of(small, none, none, ranked=ranked).cost_text
        assert "more harm to them is not shown" in said
        said = harm_of(clear, none, none, ranked=ranked).cost_text
        assert "their errors rise more, but AUC does not show it" in said
    blind = harm_of(clear, none, none)
    blind = replace(blind, gain={**blind.gain, "all columns": none})
    assert "All columns do no better than always saying" in blind.cost_text
    assert "what components cost cannot be told" in blind.cost_text
    assert harm_of(clear, clear, clear).gives_back and not harm_of(clear, clear, worse).gives_back
    paid = harm_of(clear, clear, worse).return_text()
    assert (
        "returns the left-out group 10.0 points (95% interval 2.0 to 20.0) and the rest -10.0 "
        "points (95% interval -20.0 to -2.0)" in paid
    )


def test_claims_need_auc_and_more_than_a_guess():
    """Errors follow the target's rates; either side of each further condition, and its words."""
    held = Interval(0.0, -0.1, 0.1)
    for changed, yes in (
        ({}, True),
        ({"ranked": Interval(-0.01, -0.02, -1e-9)}, True),
        ({"ranked": Interval(-0.0099, -0.02, -1e-9)}, False),
        ({"ranked": Interval(-0.1, -0.2, 0.0)}, False),
        ({"ranked": CLEAR}, False),
        ({"gain": held}, False),
        ({"gain": Interval(0.1, 1e-9, 0.2)}, True),
    ):
        found = harm_of(CLEAR, CLEAR, CLEAR, **changed)
        assert found.costs_more == yes == ("they are harmed more" in found.cost_text)
    for changed, yes in (
        ({}, True),
        ({"ranked": CLEAR}, True),  # what PCA costs is another question
        ({"ranked_back": Interval(-0.01, -0.02, -1e-9), "ranked_rest": held}, True),
        ({"ranked_back": Interval(-0.004, -0.02, 0.01)}, False),
        ({"ranked_rest": CLEAR}, False),
        ({"gain": held}, False),
    ):
        found = harm_of(CLEAR, CLEAR, CLEAR, **changed)
        assert found.gives_back == yes == ("is not shown" not in found.return_text())


def test_rates_alone_are_no_harm():
    """The outcome hangs on a small direction, alike on both sides, and is more frequent on one."""
    rng = np.random.default_rng(0)
    group = np.arange(3_000) < 600
    X = rng.standard_normal((3_000, 6)) * [3.0, 3.0, 1.0, 1.0, 1.0, 1.0]
    y = (2.0 * X[:, 5] + rng.standard_normal(3_000) > np.where(group, 1.2, 2.8)).astype(int)
    found = harm(X, y, group, 2, models="logistic", repeats=1)
    for side, mask in ((GROUP, group), (REST, ~group)):
        assert found.at(side, "shared PCA", "guess_error").value == pytest.approx(y[mask].mean())
    assert found.extra_cost.low > 0.02 and not found.costs_more  # components say "no" to everybody
    assert found.gain["all columns"].low > 0.02 and abs(found.gain["shared PCA"].value) < 0.001
    assert found.cost("auc").extra_cost.low < 0 < found.cost("auc").extra_cost.high
    # with a column that they keep they say something, and it is still the rates
    X[:, 0] += 3.0 * y
    found = harm(X, y, group, 2, models="logistic", repeats=1)
    assert found.gain["shared PCA"].low > 0.0 and found.extra_cost.low > 0.01
    assert not found.costs_more
    assert "their errors rise more, but AUC does not show it" in found.cost_text


def test_a_gain_is_that_over_all_rows():
    X, y, group = planted(n_rows=240, size=80)
    for target, guess in ((y, np.bincount(y).argmax()), (X[:, 0] ** 2, np.median(X[:, 0] ** 2))):
        found = harm(X, target, group, 2, models="logistic", repeats=2, bootstrap=99)
        off = np.abs(guess - target)
        for variant in VARIANTS:
            sides = [found.at(side, variant).value for side in (GROUP, REST)]
            gain = off.mean() - np.average(sides, weights=[80, 160])
            value, low, high = found.gain[variant]
            assert value == pytest.approx(gain) and low < gain < high
            assert found.at(REST, variant, "guess_error").value == pytest.approx(
                off[group == 0].mean()
            )


def plain_loop(X, y, group, d, folds, repeats, model):
    """The same from the definition: errors, chances and groups of each repeat and variant."""
    target, _ = prediction_target(y, None, folds)
    rng = generator(0)
    chances = np.zeros((len(VARIANTS), repeats, len(y)))
    for repeat, fold in enumerate(
        [assign_folds(target, 1 - group, folds, rng) for _ in range(repeats)]
    ):
        for k in range(folds):
            train, test = fold != k, fold == k
            shared = PCA(d, svd_solver="full").fit(X[train])
            fair = FairPCA(d).fit(X[train], groups=group[train])
            views = [lambda Z: Z, shared.transform, fair.transform]
            if repeat == 0:
                few = group[train].sum()
                every = MinimaxPCA(d, group_size=few, max_rounds=4, tol=0.05, random_state=0)
                views.append(every.fit(X[train]).transform)
            for variant, view in enumerate(views):
                fitted = make_pipeline(StandardScaler(), model()).fit(view(X[train]), y[train])
                if hasattr(fitted, "predict_proba"):
                    chances[variant, repeat, test] = fitted.predict_proba(view(X[test]))[:, 1]
                else:
                    chances[variant, repeat, test] = fitted.predict(view(X[test]))
    chances[-1] = chances[-1, :1]  # fitted when folds are dealt for the first time
    return chances


def test_classes_against_a_plain_loop():
    X, y, group = planted(n_rows=240, size=80)
    found = harm(X, y, group, 2, models="logistic", folds=4, repeats=2, bootstrap=9)
    chances = plain_loop(X, y, group, 2, 4, 2, lambda: LogisticRegression(max_iter=300))
    for side, mask in ((GROUP, group == 1), (REST, group == 0)):
        for variant, name in enumerate(VARIANTS):
            each = chances[variant][:, mask]
            wanted = {
                "error": np.mean([(p > 0.5) != y[mask] for p in each]),
                "auc": np.mean([roc_auc_score(y[mask], p) for p in each]),
                "false_negative": np.mean(each[:, y[mask] == 1] <= 0.5),
                "false_positive": np.mean(each[:, y[mask] == 0] > 0.5),
                "base_rate": y[mask].mean(),
                "mean_prediction": each.mean(),
            }
            for measure, value in wanted.items():
                assert found.at(side, name, measure).value == pytest.approx(value, abs=1e-6)


def test_numbers_against_a_plain_loop():
    X, _, group = planted(n_rows=240, size=80)
    y = X[:, 0] + 0.5 * X[:, 1] + 3.0
    found = harm(X, y, group, 2, models="logistic", folds=4, repeats=1, bootstrap=9)
    guesses = plain_loop(X, y, group, 2, 4, 1, Ridge)[:, 0]
    assert found.kind == "number" and found.models == ["ridge"]
    for side, mask in ((GROUP, group == 1), (REST, group == 0)):
        for each, name in zip(guesses[:, mask], VARIANTS, strict=True):
            value = {m: found.at(side, name, m).value for m in ("error", "r2", "mean")}
            assert value["error"] == pytest.approx(np.abs(each - y[mask]).mean())
            assert value["r2"] == pytest.approx(r2_score(y[mask], each))
            assert value["mean"] == pytest.approx(y[mask].mean())
    assert found.scale == pytest.approx(y.std()) and "The average error" in found.summary()


def test_draws_are_rows_within_each_side():
    strata = np.repeat([0, 1], [7, 12])
    lines = np.column_stack([strata == 0, strata == 1, np.arange(19.0)])
    sums = bootstrap_sums(lines, strata, 200, np.random.default_rng(0))
    assert (sums[:, 0] == 7).all() and (sums[:, 1] == 12).all()
    assert sums[0, 2] == 171 and sums[1:, 2].std() == pytest.approx(
        np.sqrt(7 * np.arange(7).var() + 12 * np.arange(7, 19).var()), rel=0.2
    )


def test_intervals_are_as_wide_as_few_rows_make_them():
    values = np.r_[0.0, np.random.default_rng(0).standard_normal(200_000)]
    for rows, far in ((20, 2.0930 * np.sqrt(20 / 19)), (1e6, 1.96)):
        low, high = interval(values, rows)[1:]
        assert -low == pytest.approx(far, abs=0.03) and high == pytest.approx(far, abs=0.03)
    assert np.isnan(interval(np.zeros(1), 30).low)


def test_each_pca_is_fitted_once_for_each_fold_and_repeat():
    X, y, group = planted(n_rows=200, size=60)
    with (
        mock.patch.object(PCA, "fit", autospec=True, side_effect=PCA.fit) as shared,
        mock.patch.object(FairPCA, "fit", autospec=True, side_effect=FairPCA.fit) as fair,
        mock.patch.object(MinimaxPCA, "fit", autospec=True, side_effect=MinimaxPCA.fit) as every,
    ):
        harm(X, y, group, 2, models=["logistic", Sees(), LogisticRegression()], folds=3, repeats=2)
    assert shared.call_count == fair.call_count == 6 and every.call_count == 3
    calls = shared.call_args_list + fair.call_args_list + every.call_args_list
    rows = [len(call.args[1]) for call in calls]
    assert set(rows) <= {133, 134}  # of 200: only those of the other folds


def test_folds_share_classes_and_groups():
    y = np.repeat([0, 1, 2], [60, 33, 7])
    group = np.arange(100) % 10 == 0
    target, _ = prediction_target(y.astype(str), None, 5)
    fold = assign_folds(target, group.astype(int), 5, np.random.default_rng(0))
    for code in range(3):
        assert np.ptp(np.bincount(fold[y == code], minlength=5)) <= 1
    assert np.ptp(np.bincount(fold, minlength=5)) == 0
    assert np.bincount(fold[group], minlength=5).min() >= 1


def test_a_shuffled_target_teaches_nothing():
    X, y, group = planted(n_rows=1_600, size=700)
    y = np.random.default_rng(0).permutation(y)
    found = harm(X, y, group, 2, repeats=2, bootstrap=99)
    aucs = found.table.auc
    assert len(aucs) == 16 and (np.abs(aucs - 0.5) < 0.06).all(), aucs


class Remembers(TransformerMixin, BaseEstimator):
    """An encoder that knows the target of every row that it was fitted on."""

    def fit(self, X, y=None):
        self.known_ = dict(zip(X["name"], y, strict=True))
        return self

    def transform(self, X):
        told = [self.known_.get(name, 0.5) for name in X["name"]]
        return np.column_stack([told, X[["a", "b"]]])


def test_an_encoder_learns_on_other_folds_only():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((300, 2)), columns=["a", "b"])
    table["name"] = [f"row {row}" for row in range(300)]
    y, group = np.arange(300) % 2, np.arange(300) < 100
    whole = Remembers().fit(table, y).transform(table)
    leaking = harm(whole, y, group, 2, models="logistic", repeats=1, bootstrap=9)
    assert leaking.at(GROUP, "all columns").value == 0.0
    honest = harm(table, y, group, 2, encoder=Remembers(), models="logistic", repeats=1)
    for side in (GROUP, REST):
        for variant in VARIANTS:
            assert 0.3 < honest.at(side, variant).value < 0.7


def test_a_raw_table_with_an_encoder():
    X, y, group = planted(n_rows=300, size=100)
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(8)])
    table["town"] = np.where(X[:, 0] > 0, "A", "B")
    found = harm(table, y, group, 0.8, encoder=TableEncoder(), models="logistic", repeats=1)
    assert found.n_rows == 300 and 1 <= found.n_components <= 9
    with pytest.raises(InputError, match="not numbers"):
        harm(table, y, group)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_tables_of_any_kind(kind):
    X, y, group = planted(n_rows=120, size=50)
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(8)])
    table["town"] = np.random.default_rng(0).choice([f"t{k}" for k in range(40)], 120)
    table["y"] = np.where(y, "yes", "no")
    options = {"models": "logistic", "repeats": 1, "bootstrap": 9}
    encoder = TableEncoder(encoding="target", positive="yes", drop=["y"], categorical=["town"])
    wanted = harm(table, table["y"], group, 2, encoder=encoder, **options).to_dict()
    plain = harm(X, np.where(y, "yes", "no"), group, 2, **options)
    if kind != "pandas":
        library = pytest.importorskip(kind)
        table = (library.Table if kind == "pyarrow" else library).from_pandas(table)
    found = harm(table, table["y"], group.tolist(), 2, encoder=encoder, **options).to_dict()
    called = ("target", *(key for key in wanted if key.endswith("text")))  # some have no name
    for key in called:
        wanted[key] = found[key] = ""
    assert found == wanted
    numbers = table.select([f"c{j}" for j in range(8)]) if kind != "pandas" else table.iloc[:, :8]
    again = harm(numbers, table["y"], group.astype(bool), 2, **options)
    assert again.extra_cost == plain.extra_cost


def test_groups_with_names_are_each_compared_with_all_others():
    X, y, group = by_hand()
    names = np.where(group == 1, "a", np.where(np.arange(140) < 60, "b", "c"))
    y[40:60] = np.arange(20) < 5  # b: 5 of 20, c: 40 of 80
    X[:, 0] = y
    found = harm(X, y, names, 1, models=Sees(), repeats=1)
    cost = {side: found.cost(side=side).cost.value for side in "abc"}
    assert cost == {"a": 10 / 40, "b": 5 / 20, "c": 40 / 80}
    assert found.cost(side="c").rest_cost.value == 15 / 60
    assert found.cost(side="a").rest_cost.value == 45 / 100
    losses = FairPCA(1).fit(X, groups=names).baseline_losses_
    assert found.group == "abc"[losses.argmax()] and found.rest == "all others"
    assert set(found.table.side) == {"a", "b", "c", found.rest}
    assert found.sizes == {"a": 40, "b": 20, "c": 80}
    two = harm(X, y, np.where(group == 1, "F", "M"), 1, models=Sees(), repeats=1)
    assert {two.group, two.rest} == {"F", "M"} and len(two.table) == 8


def test_several_classes():
    X, y, group = by_hand()
    y = np.array(["x", "y", "z"])[y + (np.arange(140) % 5 == 0)]
    X[:, 0] = np.searchsorted(["x", "y", "z"], y)
    found = harm(X, y, group, 1, models=Sees(), repeats=1)
    assert found.kind == "several classes" and "false_negative" not in found.table
    assert found.at(GROUP, "shared PCA").value == np.mean(y[group == 1] != "x")
    assert found.at(REST, "all columns", "auc").value == 1.0
    one = harm(X, y, group, 1, models="logistic", positive="z", repeats=1)
    assert one.kind == "two classes" and one.target == "target = z"
    assert one.at(REST, "shared PCA", "base_rate").value == np.mean(y[group == 0] == "z")


def test_rows_without_a_target_are_left_out():
    X, y, group = planted(n_rows=240, size=80)
    more = np.vstack([X, X[:9]])
    gaps = np.r_[y.astype(float), np.full(9, np.nan)]
    found = harm(more, gaps, np.r_[group, group[:9]], 2, models="logistic", bootstrap=9)
    alone = harm(X, y, group, 2, models="logistic", bootstrap=9)
    assert (found.missing, found.n_rows, alone.missing) == (9, 240, 0)
    assert found.at(GROUP, "shared PCA") == alone.at(GROUP, "shared PCA")
    assert "9 rows without a target are left out" in found.summary()


def test_a_large_table_is_drawn_from_and_says_so():
    X, y, group = planted(n_rows=400, size=150)
    with collected_warnings() as notes:
        found = harm(X, y, group, 2, models="logistic", repeats=1, max_rows=300, bootstrap=9)
    assert (found.n_rows, found.set_aside) == (300, 100)
    assert notes == [
        "Predictions are for 300 of 400 rows, drawn at random. Raise max_rows for more."
    ]


def test_planted_harm_is_found_and_given_back():
    X, y, group = planted(n_rows=800, size=200)
    found = harm(X, y, group, 2, models="logistic")
    assert found.costs_more and found.gives_back
    assert found.extra_cost.low > 0.05 and found.fair_return.low > 0.05
    data = json.loads(json.dumps(found.to_dict()))
    assert data["costs_more"] is True and data["extra_cost"]["value"] == found.extra_cost.value
    assert data["fair_return"]["low"] == found.fair_return.low
    random = np.random.default_rng(0).permutation(group)
    assert not harm(X, y, random, 2, models="logistic").costs_more


def test_the_same_again_and_on_two_threads():
    X, y, group = planted(n_rows=200, size=60)
    one, two = (
        harm(X, y, group, 2, repeats=1, bootstrap=99, n_jobs=jobs).to_dict() for jobs in (1, 2)
    )
    assert one == two


class Warns(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        warnings.warn("not converged", ConvergenceWarning, stacklevel=1)
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_warnings_of_a_model_reach_its_owner():
    """Threads share one list of filters: what silences a fit would silence everybody else."""
    X, _, group = planted(n_rows=200, size=60)
    with pytest.warns(ConvergenceWarning, match="not converged"):
        found = harm(X, X[:, 0], group, 2, models=Warns(), repeats=1, bootstrap=9, n_jobs=2)
    assert found.extra_cost.value == pytest.approx(0.0, abs=1e-12)
    assert found.at(GROUP, "all columns", "r2").value < 0.01


def test_a_model_of_ones_own_answers_to_scikit_learn():
    """The same folds by cross_val_predict, on all columns and behind a PCA."""
    X, y, group = planted(n_rows=240, size=80)
    own = DecisionTreeClassifier(max_depth=3, random_state=0)
    found = harm(X, y, group, 2, models={"ours": own}, folds=4, repeats=1, bootstrap=9)
    assert found.models == ["ours"] and not hasattr(own, "tree_")
    folds = PredefinedSplit(
        assign_folds(prediction_target(y, None, 4)[0], 1 - group, 4, generator(0))
    )
    views = zip(VARIANTS[:2], (own, make_pipeline(PCA(2), own)), strict=True)
    for variant, model in views:
        wrong = cross_val_predict(model, X, y, cv=folds) != y
        for side, mask in ((GROUP, group == 1), (REST, group == 0)):
            assert found.at(side, variant).value == pytest.approx(wrong[mask].mean())


def test_models_by_name_have_nothing_to_warn_of():
    """Columns told apart by nothing, by a billion, and by the class itself: warnings are errors."""
    X, y, group = planted(n_rows=200, size=60)
    hard = np.column_stack([X, X[:, :3], 1e9 * X[:, 0] + 1e12, y, np.arange(200) == 7])
    found = harm(hard, y, group, 2, repeats=1, bootstrap=9)
    assert found.at(GROUP, "all columns").value < 0.1


def test_a_model_without_probabilities():
    class Hard(Sees):
        predict_proba = None

        def __getattribute__(self, name):
            if name == "predict_proba":
                raise AttributeError(name)
            return super().__getattribute__(name)

    X, y, group = by_hand()
    found = harm(X, y, group, 1, models=Hard(), repeats=1)
    assert found.at(GROUP, "all columns", "auc").value == 1.0
    assert found.at(REST, "shared PCA").value == 0.6


Y = np.arange(100) % 2
HALF = np.arange(100) < 50
REFUSED = {
    "one class": (np.ones(100), HALF, {}, "takes 1 value"),
    "one class on a side": (
        np.where(HALF, 1, Y),
        HALF,
        {},
        "target 'target' is 1 in every row of the left-out",
    ),
    "few rows": (Y, np.arange(100) < 19, {}, "19 rows with a known target in the left-out group"),
    "all missing": (np.full(100, np.nan), HALF, {}, "missing in all 100 rows"),
    "many classes": ([f"t{i % 50}" for i in range(100)], HALF, {}, "takes 50 values that are not"),
    "rare class": (["a", "b"] * 49 + ["c"] * 2, HALF, {}, "2 rows .* have the class c"),
    "one group": (Y, np.zeros(100), {}, "in one group"),
    "many groups": (Y, np.arange(100) // 4, {}, "25 different labels"),
    "small group": (
        Y,
        np.array(list("abc"))[np.arange(100) // 45],
        {},
        "10 rows with a known target in group c",
    ),
    "no such rest": (Y, HALF.astype(str), {"rest": "x"}, "rest='x' is none of the labels"),
    "short target": (Y[:90], HALF, {}, "90 values for 100 rows"),
    "unknown model": (Y, HALF, {"models": "logistics"}, "Did you mean 'logistic'"),
    "no model": (Y, HALF, {"models": []}, "names no model"),
    "a class as a model": (Y, HALF, {"models": LogisticRegression}, "estimator with fit and"),
    "one fold": (Y, HALF, {"folds": 1}, "folds=1 is not a number of folds"),
    "no repeats": (Y, HALF, {"repeats": 0}, "repeats=0 is not a count"),
    "components": (Y, HALF, {"n_components": 4}, "n_components=4 is out of range"),
    "positive": (Y, HALF, {"positive": 7}, "positive=7 is not a value"),
}


@pytest.mark.parametrize("y, groups, options, words", REFUSED.values(), ids=REFUSED)
def test_refusals(y, groups, options, words):
    X = np.random.default_rng(0).standard_normal((100, 3))
    with pytest.raises(InputError, match=words):
        harm(X, y, groups, **{"n_components": 2, **options})


def judged():
    """30 rows of a group and 50 of a rest: what is, and what somebody predicted."""
    y = np.r_[np.arange(30) < 10, np.arange(50) < 20].astype(int)
    guess = y.copy()
    guess[:4] = 0  # 4 of 10 missed
    guess[10:15] = 1  # 5 of 20 alarms
    guess[30:32] = 0  # 2 of 20 missed
    return y, guess, np.r_[np.ones(30), np.zeros(50)].astype(int)


def test_a_prediction_by_hand():
    y, guess, group = judged()
    found = compare_prediction(guess, y, group)
    a, b = found.measures[GROUP], found.measures[REST]
    assert (a["error"].value, b["error"].value) == (9 / 30, 2 / 50)
    assert found.gap.value == pytest.approx(9 / 30 - 2 / 50) and found.gap.clear == 1
    assert (a["false_negative"].value, a["false_positive"].value) == (0.4, 0.25)
    assert (b["false_negative"].value, b["false_positive"].value) == (0.1, 0.0)
    assert a["mean_prediction"].value == 11 / 30 and a["base_rate"].value == 10 / 30
    assert "auc" not in a and not found.probabilities
    assert "30.0% for the left-out group (30 rows) and 4.0% for the rest" in found.summary()
    assert found.to_dict()["gap"]["value"] == found.gap.value
    named = compare_prediction(
        np.where(guess, "yes", "no"), np.where(y, "yes", "no"), np.where(group, "F", "M")
    )
    assert named.group == "F" and named.gap.value == found.gap.value
    truth = compare_prediction(guess, y.astype(bool), group)
    assert truth.measures[GROUP]["false_negative"].value == 0.4
    turned = compare_prediction(guess, y, group, positive=0)
    assert turned.measures[GROUP]["false_negative"].value == 0.25


def test_whether_a_prediction_errs_more():
    y, guess, group = judged()
    found = compare_prediction(guess, y, group)
    assert found.errs_more and found.text.endswith(
        "It errs more on the left-out group than on the rest."
    )
    assert found.prediction == "values" and found.to_dict()["text"] == found.text
    turned = compare_prediction(pd.Series(guess, name="score"), y, 1 - group)
    assert not turned.errs_more and turned.prediction == "score"
    assert turned.text.endswith("is not shown.")
    for gap, yes in (
        (Interval(0.01, 1e-9, 0.02), True),
        (Interval(0.0099, 1e-9, 0.02), False),
        (Interval(0.2, 0.0, 0.4), False),
        (Interval(0.2, np.nan, np.nan), False),
    ):
        told = replace(found, gap=gap)
        assert told.errs_more == yes == ("is not shown" not in told.text)
    numbers = replace(found, kind="number", scale=41.0, gap=Interval(0.4, 0.1, 1))
    assert not numbers.errs_more


def test_probabilities_by_hand():
    y, guess, group = judged()
    chance = np.where(guess == 1, 0.8, 0.3)
    found = compare_prediction(chance, np.where(y, "yes", "no"), group)
    a = found.measures[GROUP]
    assert found.probabilities and a["error"].value == 0.3
    assert a["auc"].value == pytest.approx(roc_auc_score(y[:30], chance[:30]))
    # DeLong's variance, from the placements of either class
    hits, others = chance[:30][y[:30] == 1], chance[:30][y[:30] == 0]
    wins = (hits[:, None] > others) + 0.5 * (hits[:, None] == others)
    se = np.sqrt(wins.mean(1).var() / len(hits) + wins.mean(0).var() / len(others))
    low, high = a["auc"][1:]
    assert high - low == pytest.approx(2 * 2.08 * se, rel=0.15)


def test_predicted_numbers_and_gaps():
    y = np.arange(80.0)
    guess = y + np.r_[np.full(30, 2.0), np.full(50, -1.0)]
    guess[79] = np.nan
    found = compare_prediction(guess, y, np.r_[np.ones(30), np.zeros(50)])
    assert found.kind == "number" and found.missing == 1 and found.sizes == {GROUP: 30, REST: 49}
    assert found.gap.value == 1.0 and found.measures[GROUP]["mean"].value == 14.5
    assert found.measures[REST]["mean_prediction"].value == np.mean(y[30:79]) - 1.0
    assert found.measures[GROUP]["r2"].value == pytest.approx(r2_score(y[:30], guess[:30]))
    y, guess, group = judged()
    kinds = np.where(group == 1, "a", np.where(np.arange(80) < 55, "b", "c"))
    three = compare_prediction(guess, y, kinds)
    assert three.group == "b" and three.gap.value == pytest.approx(2 / 25 - 9 / 55)
    assert np.isnan(three.measures["c"]["false_negative"].value)  # none is positive there
    assert three.group in "bc" and three.rest == "all others"


@pytest.mark.parametrize(
    "prediction, y, words",
    [
        (["maybe"] * 80, judged()[0], "holds maybe, which is no class"),
        (np.linspace(0, 3, 80), judged()[0], "or probabilities from 0 to 1"),
        (["a"] * 80, np.arange(80.0), "is a number, but the prediction is not"),
        ([1] * 79, judged()[0], "79 predictions for 80 rows"),
    ],
)
def test_predictions_that_cannot_be_read(prediction, y, words):
    with pytest.raises(InputError, match=words):
        compare_prediction(prediction, y, judged()[2])


WEIGHTS = np.random.default_rng(8).integers(0, 4, 300)


@pytest.mark.parametrize("kind", ["classes", "three classes", "numbers"])
def test_measures_of_weights_are_those_of_repeated_rows(kind):
    rng = np.random.default_rng(5)
    group = (np.arange(300) < 80).astype(int)
    y = rng.normal(size=300) if kind == "numbers" else rng.integers(0, 2, 300)
    if kind == "three classes":
        y = rng.choice(["a", "b", "c"], 300)
        guess = np.where(rng.random(300) < 0.6, y, "b")
    else:
        guess = np.round(np.clip(0.6 * y + 0.5 * rng.random(300), 0.0, 1.0), 1)
    weighted = compare_prediction(guess, y, group, sample_weight=WEIGHTS)
    every = compare_prediction(*(np.repeat(each, WEIGHTS) for each in (guess, y, group)))
    assert weighted.sizes == {GROUP: np.count_nonzero(WEIGHTS[:80]), REST: 300 - 80 - sum(
        WEIGHTS[80:] == 0
    )}  # fmt: skip
    for side in (GROUP, REST):
        for name, value in every.measures[side].items():
            assert weighted.measures[side][name].value == pytest.approx(value.value, rel=1e-12)
    if kind == "classes":
        how = {"sample_weight": WEIGHTS[:80]}
        auc = weighted.measures[GROUP]["auc"].value
        assert auc == pytest.approx(roc_auc_score(y[:80], guess[:80], **how))


def test_models_and_projections_learn_with_weights():
    X, _, group = planted(n_rows=300)
    y = X @ np.arange(8.0) + np.random.default_rng(1).normal(size=300)
    held_out = np.arange(300) >= 200

    def fold(weights, rows):
        """Predictions of the last 100 rows, from the first 200 with weights, or some of them."""
        target, known = prediction_target(y[rows], None, 5, weights)
        assert known.all()
        task = PredictionTask(
            X=X[rows], y=y[rows], target=target, place=group[rows], variants=list(VARIANTS[:3]),
            n_components=2, models=models_of("logistic", True), encoder=TableEncoder(),
        )  # fmt: skip
        return costs._fold(task, 0, held_out[rows]).guesses[0]

    weights = np.where(held_out, 1, WEIGHTS + 1)
    weighted = fold(weights.astype(float), np.arange(300))
    repeated = fold(None, np.repeat(np.arange(300), weights))
    np.testing.assert_allclose(weighted, repeated, rtol=1e-8)
    assert not np.allclose(weighted, fold(None, np.arange(300)))


class TakesNoWeights(BaseEstimator, ClassifierMixin):
    """The most frequent class."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.most_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X):
        return np.full(len(X), self.most_)


def test_rows_that_count_alike_count_as_without_weights():
    X, y, group = planted(n_rows=300)
    how = {"models": ["logistic", TakesNoWeights()], "repeats": 1, "bootstrap": 20}
    plain, alike = (
        harm(X, y, group, 2, sample_weight=weights, **how) for weights in (None, np.full(300, 7.0))
    )
    assert plain.to_dict() == alike.to_dict()
    some = np.where(np.arange(300) % 3 == 0, 0.0, 1.0 + np.arange(300) % 2)
    weighted = harm(X, y, group, 2, sample_weight=some, **how)
    assert weighted.n_rows == 200 and weighted.missing == 0
    assert set(weighted.held_out.rows % 3) == {1, 2}
    with pytest.raises(InputError, match="1 negative among the weights in sample_weight"):
        harm(X, y, group, 2, sample_weight=np.r_[-1.0, np.ones(299)])
