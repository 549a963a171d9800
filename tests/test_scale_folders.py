"""Folders of a table: what is read of them, and what is refused in one sentence."""

from __future__ import annotations

import gc
import os
import tempfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from leftout import InputError
from leftout.engine.chunks import listed, n_rows_of
from leftout.engine.encoding_plan import prepare_chunks
from leftout.engine.engines import Local
from leftout.engine.tables import in_parts
from leftout.settings import Reading
from test_scale_tables import assert_same, encoded, in_memory, mixed


def part(folder, name, columns, **options):
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / name, **options)
    return folder / name


GOOD = {"age": [30, 40], "town": ["Rio", "Ulm"]}


@pytest.fixture
def folder(tmp_path):
    part(tmp_path / "data", "a.parquet", GOOD)
    return tmp_path / "data"


def test_files_are_found_in_their_order(folder):
    part(folder, "b.parquet", GOOD, row_group_size=1)
    part(folder / "_skipped", "c.parquet", GOOD)
    part(folder, ".hidden.parquet", GOOD)
    chunks = listed(folder)
    places = [(os.path.basename(c.path), c.group, c.start, c.n_rows) for c in chunks]
    assert places == [("a.parquet", 0, 0, 2), ("b.parquet", 0, 2, 1), ("b.parquet", 1, 3, 1)]
    for same in (
        str(folder / "*.parquet"),
        [folder / "a.parquet", folder / "b.parquet"],
        ds.dataset([str(folder / name) for name in ("a.parquet", "b.parquet")]),
    ):
        assert listed(same) == chunks
    assert n_rows_of(listed([folder / "b.parquet", folder / "a.parquet"])) == 4


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"age": [1]}, "'b.parquet' has no column 'town', which 'a.parquet' has"),
        ({**GOOD, "more": [1, 2]}, "'a.parquet' has no column 'more', which 'b.parquet' has"),
        ({**GOOD, "age": ["x", "y"]}, "Field age has incompatible types"),
        ({**GOOD, "town": [True, None]}, "Field town has incompatible types"),
        ({"age": pa.array([], pa.int64()), "town": pa.array([], pa.string())},
         "'b.parquet' has no rows"),
    ],
)  # fmt: skip
def test_another_schema_is_refused(folder, columns, says):
    part(folder, "b.parquet", columns)
    with pytest.raises(InputError) as refused:
        listed(folder)
    assert says in str(refused.value)


def test_what_a_file_has_for_a_gap_is_no_other_schema(tmp_path):
    folder = tmp_path / "data"
    part(folder, "a.parquet", {"n": [1, 2], "t": ["a", "b"], "c": [1.5, 2.5]})
    part(folder, "b.parquet", {"t": pa.array(["c", None]).dictionary_encode().cast("string"),
                               "n": [1.0, None], "c": pa.nulls(2)})  # fmt: skip
    types = listed(folder)[0].schema.types
    assert types == [pa.float64(), pa.large_string(), pa.float64()]


def test_bad_paths_are_refused(tmp_path, folder):
    (tmp_path / "empty").mkdir()
    for source, says in (
        (tmp_path / "empty", "has no Parquet or CSV files in it"),
        (tmp_path / "gone.parquet", "There is no file"),
        (str(tmp_path / "*.parquet"), "There is no file"),
        ([folder / "a.parquet", folder], "'a.parquet' is listed twice"),
        ("s3://bucket/a.parquet", "not from s3:// addresses"),
        (3, "Found int where files of a table are needed"),
    ):
        with pytest.raises(InputError, match=says.replace("*", ".")):
            listed(source)


def test_a_truncated_file_is_refused_by_name(folder):
    whole = (folder / "a.parquet").read_bytes()
    (folder / "b.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"'b.parquet' cannot be read as a Parquet table"):
        listed(folder)


def test_a_file_that_changes_between_passes_is_refused(folder):
    chunks = listed(folder)
    part(folder, "a.parquet", {**GOOD, "age": [30, 41]})
    with pytest.raises(InputError, match=r"'a.parquet' has changed since the audit began"):
        list(chunks[0].batches())
    (folder / "a.parquet").unlink()
    with pytest.raises(InputError, match="no file '.*a.parquet' any more"):
        list(chunks[0].batches())


def test_too_few_rows_and_too_many_columns_are_refused(tmp_path, folder):
    with pytest.raises(InputError, match="Found 2 rows to audit"):
        prepare_chunks(listed(folder), Local().fold)
    wide = part(tmp_path / "wide", "w.parquet", {f"x{i}": np.arange(20.0) for i in range(5001)})
    with pytest.raises(
        InputError, match="The table has 5,001 columns; an audit takes at most 5,000"
    ):
        prepare_chunks(listed(wide), Local().fold)
    lists = part(tmp_path / "l", "l.parquet", {"a": [[1]] * 30, "x": np.arange(30.0) ** 2})
    planned, _ = prepare_chunks(listed(lists), Local().fold)
    assert planned.encoder.features_ == ["x"]
    with pytest.raises(InputError, match="The target of a table in files is one of its columns"):
        prepare_chunks(listed(lists), Local().fold, Reading(target=np.arange(30)))


def test_three_thousand_columns_are_as_in_memory(tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3000)))
    table.columns = [f"x{each}" for each in table]
    part(tmp_path / "in", "a.parquet", table[:20])
    part(tmp_path / "in", "b.parquet", table[20:])
    chunks = listed(tmp_path / "in")
    assert_same(prepare_chunks(chunks, Local().fold), chunks, in_memory(table, tmp_path))


def test_an_index_that_pandas_kept_is_a_column_if_it_has_a_name(tmp_path):
    table = pd.DataFrame({"x": np.arange(30.0) ** 2}, index=pd.Index(np.arange(30) * 2, name="k"))
    (tmp_path / "in").mkdir()
    table.to_parquet(tmp_path / "in" / "a.parquet")
    assert listed(tmp_path / "in")[0].schema.names == ["x", "k"]
    table.rename_axis(None).to_parquet(tmp_path / "in" / "a.parquet")
    assert listed(tmp_path / "in")[0].schema.names == ["x"]


def test_a_dask_frame_is_its_parts(tmp_path, monkeypatch):
    dd = pytest.importorskip("dask.dataframe")
    table = mixed(np.random.default_rng(0), 120).drop(columns=["order"])
    frame = dd.from_pandas(table, npartitions=12, sort=False)
    frame = frame[frame["number"] > frame["number"].min().compute()]  # one part may be empty
    kept = table[table["number"] > table["number"].min()]
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    parts = in_parts(frame, "local")
    planned, _ = prepare_chunks(parts.chunks, Local().fold)
    X = encoded(planned, parts.chunks)
    assert len(parts.chunks) == 12
    np.testing.assert_allclose(X, in_memory(kept, tmp_path).X, rtol=0.0, atol=1e-12)
    del parts
    gc.collect()  # the copy is there as long as the table
    assert [path.name for path in tmp_path.iterdir()] == ["whole.parquet"]
    with pytest.raises(InputError, match="The Dask DataFrame has no rows"):
        in_parts(frame[frame["number"] < 0.0], "local")
    with pytest.raises(
        InputError, match="Part 1 of the Dask DataFrame cannot be written .*: no good"
    ):
        in_parts(frame.map_partitions(_bad, meta=frame._meta), "local")
    assert [path.name for path in tmp_path.iterdir()] == ["whole.parquet"]


def _bad(part):
    raise ArithmeticError("no good")
