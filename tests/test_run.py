"""Which combinations run on which engine: all but those that a rule refuses, as the guide says."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import leftout
from leftout import InputError
from leftout.auditing.findings import with_findings
from leftout.auditing.stages import AuditPipeline
from leftout.data import column_reader
from leftout.engine.engines import Dask
from leftout.engine.run import WHOLE_ONLY

GUIDE = Path(__file__).parents[1] / "docs" / "guide" / "scale.md"
QUICK = {"n_components": 2, "quick": True, "n_surrogates": 19, "n_restarts": 0}
SEEN = {
    "table": lambda X: {},
    "features": lambda X: {"features": X},
    "pipeline": lambda X: {"pipeline": make_pipeline(StandardScaler(), PCA(2))},
}


@pytest.fixture(scope="module")
def rows():
    X, _ = leftout.datasets.make_planted(400, 6, 2, 60, random_state=0)
    return X


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("parts") / "data"
    folder.mkdir()
    for place in range(2):
        part = pd.DataFrame(rows[200 * place : 200 * place + 200], columns=list("abcdef"))
        part.to_parquet(folder / f"{place}.parquet")
    return folder


@pytest.fixture(scope="module")
def cluster():
    """A cluster in this process, which is soon there."""
    distributed = pytest.importorskip("distributed")
    client = distributed.Client(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None,
        set_as_default=False,
    )  # fmt: skip
    with client:
        yield Dask(client)


def asked_of(n_groups, seen, rows):
    return QUICK | {"n_groups": n_groups, "quick": n_groups != "auto"} | SEEN[seen](rows)


def refused(n_groups, seen):
    return n_groups != 1 or seen != "table"


@pytest.fixture(autouse=True)
def first_answers(monkeypatch):
    """Counting groups goes with a whole audit, of which the first answer is enough here."""
    monkeypatch.setattr(AuditPipeline, "answered", lambda self, start, *_: with_findings(start, ""))


@pytest.mark.parametrize(("n_groups", "seen"), [*product([1, 3, "auto"], SEEN)])
def test_a_small_table_is_the_same_on_every_engine(n_groups, seen, rows, folder):
    asked = asked_of(n_groups, seen, rows)
    every = [leftout.audit(folder, engine=each, **asked) for each in ("memory", "local", "dask")]
    for found in every:
        assert len(found.partition.labels_) == 400 and found.chunks is None
        assert n_groups == "auto" or found.partition.n_groups_ == n_groups
        assert np.array_equal(found.partition.labels_, every[0].partition.labels_)
        assert np.array_equal(found.partition.bound_, every[0].partition.bound_)


@pytest.mark.parametrize("engine", ["local", "dask"])
@pytest.mark.parametrize(("n_groups", "seen"), [*product([1, 3, "auto"], SEEN)])
def test_in_parts_it_is_the_same_group_or_refused_by_the_rule(
    n_groups, seen, engine, rows, folder, request, monkeypatch
):
    monkeypatch.setattr(column_reader, "SCHEMA_ROWS", 300)  # more than the sample
    asked = asked_of(n_groups, seen, rows)
    where = "local" if engine == "local" else request.getfixturevalue("cluster")
    if refused(n_groups, seen):
        name = seen if seen in WHOLE_ONLY else "n_groups"
        with pytest.raises(InputError, match=f"{name}.* passed over in parts {WHOLE_ONLY[name]}"):
            leftout.audit(folder, engine=where, **asked)
        return
    found = leftout.audit(folder, engine=where, **asked)
    assert found.chunks.engine == engine and found.chunks.n_chunks == 2
    whole = leftout.audit(folder, engine="memory", **asked)
    assert np.array_equal(found.partition.labels_, whole.partition.labels_)
    assert found.partition.bound_ == pytest.approx(whole.partition.bound_, rel=1e-9)


def test_the_guide_says_what_the_rule_does():
    table = [line for line in GUIDE.read_text().splitlines() if line.lstrip().startswith("| ")]
    start = next(place for place, line in enumerate(table) if "asked for" in line)
    rows = [line.strip().strip("|").split("|") for line in table[start + 2 :]]
    rows = rows[: next(place for place, row in enumerate(rows) if "rows" in row[0])]
    said = {
        name
        for what, memory, parts in rows
        if parts.strip() == "refused"
        for name in re.findall(r"`(\w+)`", what) or re.findall(r"`(\w+)", what)
    }
    assert said == set(WHOLE_ONLY)
    assert all(memory.strip() == "yes" for _, memory, _ in rows)
