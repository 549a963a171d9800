"""Audits of a scikit-learn pipeline: the group, the costs, the words, the files, the refusals."""

from __future__ import annotations

import json
import pickle
import re
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import NMF, PCA, KernelPCA, TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from leftout import InputError, MaxDisparityPartition, audit
from leftout.auditing.schema import schema
from leftout.cli.main import main
from leftout.data import column_reader
from leftout.downstream import costs
from leftout.representation.pipeline import SplitPipeline, read_pipeline

SCHEMA = schema()
NUMBERS, WORDS = ["age", "income", "hours", "tenure"], ["city", "sex"]


class Autoencoder(TransformerMixin, BaseEstimator):
    """One hidden layer, written with scikit-learn's regressor."""

    def __init__(self, width=2):
        self.width = width

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        self.net_ = MLPRegressor(
            hidden_layer_sizes=(self.width,), activation="tanh", solver="lbfgs", tol=1e-3
        )
        self.net_.set_params(random_state=0, max_iter=5000).fit(X, X)
        return self

    def transform(self, X):
        return np.tanh(X @ self.net_.coefs_[0] + self.net_.intercepts_[0])

    def inverse_transform(self, Z):
        return Z @ self.net_.coefs_[1] + self.net_.intercepts_[1]


def people(seed=0, m=240):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(m, 4)) @ rng.normal(size=(4, 4)), columns=NUMBERS)
    table["city"] = rng.choice(["north", "south", "west"], m)
    table["sex"] = rng.choice(["f", "m"], m)
    table["age"] = 40 + 9 * table["age"]
    table["repaid"] = np.where(table["age"] + rng.normal(0, 9, m) > 40, "yes", "no")
    return table


def pipeline(representation=None, last=True, nested=False, scaler=None):
    made = ColumnTransformer(
        [("n", scaler or StandardScaler(), NUMBERS), ("w", OneHotEncoder(), WORDS)]
    )
    first = [("columns", made), ("pca", representation or PCA(3))]
    model = [("model", LogisticRegression())] if last else []
    return Pipeline([("inner", Pipeline(first)), *model] if nested else [*first, *model])


TABLE = people()
X, Y = TABLE.drop(columns="repaid"), TABLE["repaid"]
QUICK = {"quick": True, "target": "repaid"}


def searched(fitted, table):
    """The group found on what the fitted steps before the representation make of a table."""
    search = MaxDisparityPartition(representation=fitted["pca"], group_size=0.1, random_state=0)
    return search.fit(fitted["columns"].transform(table))


@pytest.mark.parametrize("nested", [False, True])
def test_the_group_is_that_of_the_transformed_matrix(nested):
    fitted = pipeline().fit(X, Y)
    same = pipeline(nested=nested).fit(X, Y)
    for given in (same, pipeline(nested=nested)):
        found = audit(TABLE, pipeline=given, **QUICK)
        assert np.array_equal(found.partition.labels_, searched(fitted, X).labels_)
    assert not hasattr(given, "n_features_in_")  # what was given stays as it is
    assert found.intake.feature_names == list(fitted["columns"].get_feature_names_out())
    assert set(found.intake.sources) == {*NUMBERS, *WORDS}


@pytest.mark.parametrize("nothing", ["passthrough", None])
def test_steps_that_do_nothing_are_none(nothing):
    steps = pipeline().steps
    given = Pipeline([steps[0], ("nothing", nothing), *steps[1:]]).fit(X, Y)
    found = audit(TABLE, pipeline=given, **QUICK)
    assert np.array_equal(found.partition.labels_, searched(pipeline().fit(X, Y), X).labels_)


def test_a_pipeline_does_not_see_the_weights():
    rows = TABLE.assign(weight=np.arange(len(TABLE)) % 4 + 1)[[*NUMBERS, "weight"]]
    steps = make_pipeline(StandardScaler(), PCA(2))
    found = audit(rows, pipeline=steps, weights="weight", quick=True, group_size=30)
    assert found.intake.feature_names == NUMBERS


def test_a_pipeline_may_be_fitted_on_other_rows():
    elsewhere = people(1)
    fitted = pipeline().fit(elsewhere.drop(columns="repaid"), elsewhere["repaid"])
    found = audit(TABLE, pipeline=fitted, **QUICK)
    assert np.array_equal(found.partition.labels_, searched(fitted, X).labels_)
    assert found.to_dict()["pca"]["representation"] == {
        "name": "PCA", "rank": 3, "projection": True, "given": True, "origin": "given",
        "text": "PCA of 3 components, the step 'pca' of the pipeline, as it was fitted.",
    }  # fmt: skip
    here = audit(TABLE, pipeline=pipeline(), **QUICK).audited
    assert here.origin == "this table" and "fitted here on the rows audited" in here.text


@pytest.fixture(scope="module")
def whole():
    """An audit with costs, and the folds that rows were dealt to."""
    dealt, deal = [], costs.assign_folds

    def recorded(*given):
        dealt.append(deal(*given))
        return dealt[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costs, "assign_folds", recorded)
        found = audit(
            TABLE, pipeline=pipeline().fit(X, Y), target="repaid", sensitive=["sex"],
            n_restarts=1, n_surrogates=0,
        )  # fmt: skip
    return found, dealt


def test_costs_are_those_of_the_pipeline(whole):
    found, dealt = whole
    group = found.partition.labels_ == 1
    wrong = []
    for fold in dealt:
        guess = cross_val_predict(clone(pipeline()), X, Y, cv=PredefinedSplit(fold))
        wrong.append(guess != Y.to_numpy())
    wrong = np.mean(wrong, axis=0)
    assert len(dealt) == 3
    assert found.harm.models == ["LogisticRegression"]
    assert found.harm.at("left-out group", "shared PCA").value == pytest.approx(wrong[group].mean())
    assert found.harm.at("rest", "shared PCA").value == pytest.approx(wrong[~group].mean())


def test_a_sensitive_column_that_the_pipeline_sees_is_told(whole):
    found, _ = whole
    assert any("The pipeline itself sees 'sex', named as sensitive" in note for note in found.notes)
    Draft202012Validator(SCHEMA).validate(found.to_dict())


OTHERS = {
    "NMF": lambda: pipeline(NMF(3, max_iter=3000, tol=1e-2), scaler=MinMaxScaler(clip=True)),
    "KernelPCA": lambda: pipeline(KernelPCA(3, kernel="rbf", fit_inverse_transform=True)),
    "Autoencoder": lambda: pipeline(Autoencoder()),
}


@pytest.mark.parametrize("name", OTHERS)
def test_any_representation_is_audited_to_the_end(name):
    step = {"pipeline_step": "pca"} if name == "Autoencoder" else {}
    found = audit(
        TABLE.iloc[:120], pipeline=OTHERS[name](), target="repaid", sensitive=["city"],
        n_restarts=1, n_surrogates=19, **step,
    )  # fmt: skip
    data = found.to_dict()
    Draft202012Validator(SCHEMA).validate(data)
    assert data["pca"]["representation"]["name"] == name
    assert not data["pca"]["representation"]["projection"]
    assert found.trust.p_value is not None and found.harm is not None
    text = re.sub(r"<[^>]+>", " ", found.html())
    for words in (text, found.summary(), *(f"{f.title} {f.detail}" for f in found.findings)):
        # of PCA: a group's own, the fair one, and what the project asks
        for said in ("one PCA", "a shared PCA", "the shared PCA", ": shared PCA", " PCA costs"):
            assert said not in words.replace("KernelPCA", "kernel"), said
    assert found.headline().startswith(f"The {name} keeps ")
    assert "Ordinary PCA cannot be improved" not in text
    assert "are kept," not in text  # no components in order of their variance


def test_several_groups_take_a_pipeline():
    found = audit(TABLE, pipeline=pipeline(TruncatedSVD(3)), n_groups=2, **QUICK)
    assert found.partition.n_groups_ == 2
    assert found.headline().startswith("The TruncatedSVD keeps ")
    Draft202012Validator(SCHEMA).validate(found.to_dict())


def test_a_model_that_fails_on_new_rows_costs_no_audit():
    failing = pipeline(NMF(3, max_iter=3000, tol=1e-2), scaler=MinMaxScaler())
    found = audit(TABLE, pipeline=failing, target="repaid", n_restarts=1, n_surrogates=0)
    (told,) = [finding for finding in found.findings if finding.code == "P001"]
    assert told.status == "not run"
    assert told.detail.startswith("The pipeline failed on rows that it was not fitted on: Negative")


@pytest.mark.parametrize(
    "given, more, words",
    [
        (PCA(2), {}, "pipeline is PCA; a scikit-learn Pipeline is needed"),
        (make_pipeline(StandardScaler(), LogisticRegression()), {}, "no step that is a PCA"),
        (make_pipeline(StandardScaler(), PCA(3), PCA(2)), {}, r"2 steps .* \(pca-1 and pca-2\)"),
        (pipeline(), {"pipeline_step": "svd"}, "no step called 'svd'"),
        (pipeline(), {"target": None}, "not fitted and ends in a model, which needs a target"),
        (pipeline(), {"features": X[NUMBERS]}, "pipeline, but either says"),
        (pipeline(), {"preset": "paper"}, "has an encoding of its own"),
        (
            pipeline(),
            {"trust_types": ["a.B"], "pipeline": None},
            "without the pipeline that holds them",
        ),
        (pipeline().fit(X.rename(columns={"age": "years"}).assign(age=1), Y), {}, "lacks 'years'"),
        (make_pipeline(StandardScaler(), PCA(2)), {}, "failed on the table, up to its step 'pca'"),
        (pipeline(PCA(9)), {}, "nothing is left out"),
        (pipeline(KernelPCA(3)), {}, "fit_inverse_transform=True"),
    ],
    ids=lambda value: "",
)
def test_refusals(given, more, words):
    with pytest.raises(InputError, match=words) as refused:
        audit(TABLE, **{"pipeline": given, **QUICK, **more})
    assert "\n" not in str(refused.value)


def test_parts_of_a_table_are_searched_by_their_own_pca(tmp_path, monkeypatch):
    monkeypatch.setattr(column_reader, "SCHEMA_ROWS", 50)
    TABLE.to_csv(tmp_path / "a.csv", index=False)
    for more in ({"pipeline": pipeline()}, {"features": X[NUMBERS].to_numpy()}):
        with pytest.raises(
            InputError, match="passed over in parts is searched by the PCA of its own"
        ):
            audit(str(tmp_path / "a.csv"), engine="local", **QUICK, **more)


def test_nested_steps_are_in_line():
    split = SplitPipeline.of(pipeline(nested=True))
    assert [name for name, _ in split.steps] == ["inner__columns", "inner__pca", "model"]
    assert split.name == "inner__pca" and not split.fitted
    assert split.chosen == {*NUMBERS, *WORDS}


@pytest.fixture
def files(tmp_path):
    TABLE.to_csv(tmp_path / "people.csv", index=False)
    skops.io.dump(pipeline().fit(X, Y), tmp_path / "model.skops")
    return tmp_path


def run(folder, *words):
    out = folder / "out"
    told = CliRunner().invoke(
        main, ["audit", str(folder / "people.csv"), *words, "--quick", "--out", str(out)]
    )
    return told, out


def test_a_file_of_skops_is_audited(files):
    path = str(files / "model.skops")
    told, out = run(files, "--pipeline", path, "--target", "repaid", "--pipeline-step", "pca")
    assert told.exit_code == 0, told.output
    said = " ".join(told.output.split())
    assert "What was audited: PCA of 3 components, the step 'pca' of the pipeline" in said
    data = json.loads((out / "audit.json").read_text())
    here = audit(TABLE, pipeline=path, **QUICK)
    assert data["partition"]["losses"] == pytest.approx(here.partition.losses_.tolist())
    assert data["settings"]["pipeline"] == "model.skops"
    assert f"--pipeline {path} --target repaid --pipeline-step pca" in data["settings"]["command"]
    assert f"pipeline={path!r}" in here.settings.command
    assert "pipeline=pipeline" in audit(TABLE, pipeline=pipeline(), **QUICK).settings.command


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_files_run_nothing_that_nobody_trusts(files):
    mine = Pipeline([("columns", StandardScaler()), ("pca", Autoencoder().fit(X[NUMBERS].values))])
    skops.io.dump(mine, files / "mine.skops")
    (files / "pickle.skops").write_bytes(pickle.dumps(Bomb(str(files / "ran"))))
    with zipfile.ZipFile(files / "zip.skops", "w") as empty:
        empty.writestr("schema.json", "{}")
    name = f"{Autoencoder.__module__}.Autoencoder"
    for file, words in (
        ("mine.skops", f"holds {name}, which nobody has said to trust"),
        ("pickle.skops", "cannot be read as a file of skops"),
        ("zip.skops", "cannot be read as a file of skops"),
        ("absent.skops", "There is no file"),
    ):
        told, out = run(files, "--pipeline", str(files / file))
        assert told.exit_code == 2 and words in told.output, told.output
        assert len(told.output.strip().splitlines()) == 1
        assert not out.exists() and not (files / "ran").exists()
    assert f"--trust-types {name}" in run(files, "--pipeline", str(files / "mine.skops"))[0].output
    assert isinstance(read_pipeline(str(files / "mine.skops"), [name])[-1], Autoencoder)
