"""A table in many files is decided and encoded as it is in memory."""

from __future__ import annotations

import pickle
from dataclasses import asdict
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftout.data import column_reader
from leftout.data.preparation import prepare_table
from leftout.data.sources import Source
from leftout.engine.chunks import listed
from leftout.engine.encoding_plan import prepare_chunks
from leftout.engine.engines import Local
from leftout.running import collected_warnings
from leftout.settings import Reading

LEVELS = ["low", "mid", "high"]


def mixed(rng, m):
    """Columns of all kinds, with gaps and marks."""
    some = lambda values, share: np.where(rng.random(m) < share, None, values)  # noqa: E731
    age = rng.integers(18, 90, m).astype(float)
    group = rng.integers(0, 4, m)
    table = {
        "id": np.arange(m) + 1000,
        "number": rng.lognormal(size=m),
        "age": np.where(rng.random(m) < 0.1, np.nan, age),
        "income": np.where(group == 0, np.nan, age * 100 + rng.normal(size=m)),
        "more": np.where(group == 0, np.nan, rng.normal(size=m)),
        "town": some(np.array(["Rio", "Oslo", "Bergen", "Ulm"])[group], 0.1),
        "priced": [f"{each:,.2f} €" for each in rng.integers(1, 10_000_000, m) / 100],
        "comma": some([f"{each / 10:.1f}".replace(".", ",") for each in range(m)], 0.05),
        "seen": [f"{1 + each % 28:02d}.{1 + each % 12:02d}.{2000 + each % 9}" for each in range(m)],
        "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 9000, m), "h"),
        "yes": rng.random(m) < 0.3,
        "maybe": some(rng.random(m) < 0.3, 0.2),
        "spelled": some(rng.choice(["True", "False"], m), 0.1),
        "code": rng.choice([101, 205, 310, 477, 512, 999], m),
        "zip": [f"{each:05d}" for each in rng.integers(1000, 1040, m)],
        "same": np.full(m, 7.5),
        "empty": np.full(m, np.nan),
        "text": [f"a {each} b{each % 7}" for each in rng.permutation(m)],
        "large": (1 << 60) + rng.integers(0, 5, m),
        "two": rng.choice([3.0, 8.0], m),
        "missed": rng.choice(["a", "?", " b ", "c"], m),
        "cat": pd.Categorical(rng.choice(["x", "y", "z"], m)),
        "order": pd.Categorical(
            rng.choice(["low", "mid", "high"], m), ["low", "mid", "high"], True
        ),
        "marked": np.where(rng.random(m) < 0.2, 999, rng.integers(0, 9, m)),
        "whole": pd.array(some(rng.integers(0, 50, m), 0.1), dtype="Int64"),
    }
    return pd.DataFrame(table)


def write(table, folder, cuts, group):
    """The table in as many files as there are cuts, and one more."""
    edges = [0, *sorted(cuts), len(table)]
    for place, (low, high) in enumerate(zip(edges, edges[1:], strict=False)):
        if low < high:
            part = pa.Table.from_pandas(table.iloc[low:high], preserve_index=False)
            pq.write_table(part, folder / f"part-{place:03d}.parquet", row_group_size=group)
    return folder


def in_memory(table, folder, **options):
    path = folder / "whole.parquet"
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), path)
    return prepare_table(Source.of(path), Reading(**options), rng=np.random.default_rng(0))


def assert_same(prepared, chunks, taken):
    """The same encoder, kinds, facts and relations, and the same numbers."""
    planned, decided = prepared
    assert decided.encoder.columns_ == taken.encoder.columns_
    assert [asdict(f) for f in decided.facts] == [asdict(f) for f in taken.facts]
    assert decided.dropped == taken.dropped
    assert decided.suspects == taken.suspects
    assert decided.copies == taken.copies
    assert decided.leaks == taken.leaks and decided.proxies == taken.proxies
    assert list(planned.encoder.features_) == list(taken.encoder.features_)
    X = encoded(planned, chunks)
    np.testing.assert_allclose(X, taken.X, rtol=0.0, atol=1e-12)


def encoded(planned, chunks):
    sent = pickle.loads(pickle.dumps(planned))
    blocks = [(start, X.copy()) for chunk in chunks for start, X in sent.blocks(chunk)]
    ends = np.cumsum([len(X) for _, X in blocks])
    assert [start for start, _ in blocks] == [0, *ends[:-1]]
    return np.vstack([X for _, X in blocks])


DICTIONARY = [
    {"column": "marked", "values": "0=none; 1=one; 999=unknown", "label": "how many"},
    {"column": "two", "kind": "number", "note": "of something"},
]
ASKED = {
    "plain": {},
    "parts": {"target": "yes", "sensitive": ["town"], "drop": ["empty"]},
    "predicted": {"target": "yes", "prediction": "two"},
    "said": {
        "categorical": ["whole", "when", "text", "age"], "numeric": ["code"],
        "missing": "999,missed=c",
    },
    "without": {"missing": {"id": [1007, 1900], "when": "2020-02-03", None: [999]}},
    "labelled": {"dictionary": DICTIONARY, "target": "marked", "positive": "one"},
}  # fmt: skip


@settings(deadline=None, max_examples=8)
@given(
    seed=st.integers(0, 10_000),
    m=st.integers(60, 300),
    cuts=st.lists(st.floats(0.0, 1.0), max_size=3),
    group=st.sampled_from([7, 50, 1000]),
    asked=st.sampled_from(sorted(ASKED.keys() - {"without"})),
)
def test_decided_and_encoded_as_in_memory(tmp_path_factory, seed, m, cuts, group, asked):
    folder = tmp_path_factory.mktemp("parts")
    table = mixed(np.random.default_rng(seed), m)
    (folder / "in").mkdir()
    chunks = listed(write(table, folder / "in", [int(cut * m) for cut in cuts], group))
    with collected_warnings() as notes:
        planned = prepare_chunks(chunks, Local().fold, Reading(**ASKED[asked]))
    with collected_warnings() as said:
        taken = in_memory(table, folder, **ASKED[asked])
    assert_same(planned, chunks, taken)
    assert notes == said


def test_the_sample_is_taken_in_as_it_would_be(tmp_path, monkeypatch):
    monkeypatch.setattr(column_reader, "SCHEMA_ROWS", 70)
    table = mixed(np.random.default_rng(3), 200)
    chunks = listed(write(table, tmp_path, [80], 30))
    planned, taken = prepare_chunks(chunks, Local().fold, Reading(target="yes", sensitive=["town"]))
    assert len(taken.rows) == len(taken.X) == 70 and taken.n_rows == 200
    np.testing.assert_array_equal(taken.X, encoded(planned, chunks)[taken.rows])
    assert taken.target.categories == ("False", "True")
    np.testing.assert_array_equal(taken.target.values, table["yes"].to_numpy()[taken.rows])
    priced = next(column for column in taken.columns if column.name == "priced")
    cells = table["priced"].iloc[taken.rows].str.removesuffix(" €").str.replace(",", "")
    np.testing.assert_array_equal(priced.values, cells.astype(float))


def test_columns_of_a_chunk_are_those_of_the_table(tmp_path):
    table = mixed(np.random.default_rng(4), 150)
    folder = tmp_path / "in"
    folder.mkdir()
    chunks = listed(write(table, folder, [50, 51], 20))
    planned, _ = prepare_chunks(chunks, Local().fold)
    taken = in_memory(table, tmp_path)
    for column in taken.columns:
        parts = [
            parts[column.name].values
            for chunk in chunks
            for _, parts in planned.columns(chunk, [column.name])
        ]
        np.testing.assert_array_equal(np.concatenate(parts), column.values, err_msg=column.name)


@pytest.fixture
def small_sample(monkeypatch):
    """Schemas from a sample of a small table."""
    monkeypatch.setattr(column_reader, "SCHEMA_ROWS", 400)


@pytest.mark.parametrize(("seed", "asked"), list(enumerate(sorted(ASKED))))
def test_a_sample_decides_alike_wherever_the_rows_are(small_sample, tmp_path, seed, asked):
    table = mixed(np.random.default_rng(seed), 1500)
    table.loc[3, "when"] = pd.Timestamp("2020-02-03 05:00")
    table["lot"] = [f"lot {each}" for each in np.random.default_rng(seed).integers(0, 90, 1500)]
    folder = tmp_path / "in"
    folder.mkdir()
    chunks = listed(write(table, folder, [400, 900], 250))
    with collected_warnings() as notes:
        planned, decided = prepare_chunks(chunks, Local().fold, Reading(**ASKED[asked]))
    with collected_warnings() as said:
        taken = in_memory(table, tmp_path, **ASKED[asked])
    assert notes == [note for note in said if not note.startswith("What the columns are")]
    assert len(decided.rows) == 400 and len(taken.X) == 1500
    assert_same((planned, decided), chunks, taken)
    for name in ("number", "code"):
        (fact,) = [fact for fact in decided.facts if fact.name == name]
        assert fact.missing == table[name].isin(_declared(asked)).sum()


def test_means_of_a_target_are_those_of_all_rows(tmp_path, monkeypatch):
    table = mixed(np.random.default_rng(5), 1500)
    asked = {"target": "age", "encoding": "target", "drop": ["text", "id"]}
    whole = in_memory(table, tmp_path, **asked)
    monkeypatch.setattr(column_reader, "SCHEMA_ROWS", 400)
    with collected_warnings():
        sampled = in_memory(table, tmp_path, **asked)
    assert whole.target_encoded and sampled.target_encoded == whole.target_encoded
    for name in whole.target_encoded:
        pair = [one.X[:, one.feature_names.index(name)] for one in (sampled, whole)]
        np.testing.assert_allclose(*pair, rtol=0.0, atol=1e-12)


def _declared(asked):
    return [999] if "missing" in ASKED[asked] else []


def test_all_rows_give_ranges_counts_and_gaps(small_sample, tmp_path):
    rng, m = np.random.default_rng(0), 2000
    table = pd.DataFrame({
        "x": rng.normal(size=m), "town": rng.choice(["a", "b", "c"], m),
        "rows": rng.permutation(m), "written": [f"{i % 50},5" for i in range(m)],
        "same": "x", "none": np.nan,
    })  # fmt: skip
    away = np.setdiff1d(np.arange(m), column_reader.sampled_places(m))
    table.loc[away[:3], "x"] = [-50.0, 70.0, np.nan]
    table.loc[away[3], "town"] = "elsewhere"
    table.loc[away[4:6], "written"] = ["unknown", "unknown"]
    table.loc[away[6], "same"], table.loc[away[7], "none"] = "y", 3.0
    chunks = listed(write(table, tmp_path, [900], 250))
    _, found = prepare_chunks(chunks, Local().fold)
    x, town, rows, written, same, none = found.encoder.columns_
    assert same.how == "the same in every row that was sampled"
    assert none.how == "empty in every row that was sampled" and none.missing == m - 1
    assert (x.becomes.low, x.becomes.high, x.missing) == (-50.0, 70.0, 1)
    assert list(town.features) == ["town = a", "town = b", "town = c"]
    np.testing.assert_array_equal(
        found.encoder.transform(table.iloc[[away[3]]]).to_numpy()[0, 1:4], 0.0
    )
    assert rows.becomes is None and rows.kind == "identifier"
    assert found.facts[3].strays == (("unknown", 2),) and found.facts[3].missing == 2


def stamps(rng, kind):
    return pa.array(1577836800 + rng.integers(0, 10**7, 120), pa.int64()).cast(kind)


STORED = {
    "uint64": lambda rng: pa.array(rng.integers(0, 5, 120).astype(np.uint64) + np.uint64(2**63)),
    "uint64, wide": lambda rng: pa.array(rng.integers(0, 2**64 - 1, 120, dtype=np.uint64)),
    "uint8": lambda rng: pa.array(rng.integers(0, 255, 120).astype(np.uint8)),
    "float16": lambda rng: pa.array(rng.normal(size=120).astype(np.float16)),
    "decimal": lambda rng: pa.array([Decimal(int(each)) / 4 for each in rng.integers(0, 99, 120)]),
    "duration": lambda rng: pa.array(rng.integers(0, 9999, 120), pa.duration("s")),
    "time": lambda rng: pa.array(rng.integers(0, 80_000, 120).astype(np.int32), pa.time32("s")),
    "date": lambda rng: pa.array(rng.integers(0, 9999, 120).astype(np.int32), pa.date32()),
    "zone": lambda rng: stamps(rng, pa.timestamp("s", "Europe/Berlin")),
    "bytes": lambda rng: pa.array([b"a", b"b", b"c"] * 40),
    "codes": lambda rng: pa.array(rng.integers(0, 4, 120)).dictionary_encode(),
    "nothing": lambda rng: pa.nulls(120),
    "large text": lambda rng: pa.array([f"x{i % 5}" for i in range(120)], pa.large_string()),
    "large, with gaps": lambda rng: pa.array(
        [None if each == 3 else int(each) + 2**60 for each in rng.integers(0, 9, 120)]
    ),
}


@pytest.mark.parametrize("name", STORED)
def test_whatever_is_stored_is_read_as_in_memory(name, tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=120), name: STORED[name](rng)})
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "whole.parquet")
    pq.write_table(table[:50], tmp_path / "in" / "a.parquet")
    pq.write_table(table[50:], tmp_path / "in" / "b.parquet", row_group_size=30)
    chunks = listed(tmp_path / "in")
    taken = prepare_table(Source.of(tmp_path / "whole.parquet"), rng=rng)
    assert_same(prepare_chunks(chunks, Local().fold), chunks, taken)


def test_categories_have_the_same_codes_whatever_those_of_their_part(tmp_path):
    rng = np.random.default_rng(0)
    parts = [rng.choice(["b", "a"], 40), rng.choice(["c", "b"], 40), rng.choice(["a", "d"], 40)]
    (tmp_path / "in").mkdir()
    for place, part in enumerate(parts):
        cells = pa.array(part).dictionary_encode()
        table = pa.table({"c": cells, "x": rng.normal(size=40)})
        pq.write_table(table, tmp_path / "in" / f"{place}.parquet")
    chunks = listed(tmp_path / "in")
    planned, _ = prepare_chunks(chunks, Local().fold)
    assert planned.readers["c"].like.categories == ("a", "b", "c", "d")
    found = [each["c"].values for chunk in chunks for _, each in planned.columns(chunk, ["c"])]
    assert np.array(list("abcd"))[np.concatenate(found)].tolist() == np.concatenate(parts).tolist()
