"""Files of text in parts are what they are in memory, as one."""

from __future__ import annotations

import gzip
import tempfile

import numpy as np
import pytest

from leftout import InputError
from leftout.data import formats
from leftout.data.preparation import prepare_table
from leftout.data.sources import Source
from leftout.engine import tables as stored_csv
from leftout.engine.encoding_plan import prepare_chunks
from leftout.engine.engines import Local
from leftout.engine.tables import in_parts
from leftout.running import collected_warnings
from test_scale_tables import assert_same

PARTS, ROWS = 3, 40


def spoiled(values, *at):
    """Some values in places of others: the part, the row in it, and what stands there."""
    values = [list(part) for part in values]
    for part, row, text in at:
        values[part][row] = text
    return values


def numbers(rng, low=0, high=1000):
    return rng.integers(low, high, (PARTS, ROWS)).astype(str).tolist()


def fractions(rng):
    return [[f"{each:.3f}" for each in part] for part in rng.normal(size=(PARTS, ROWS))]


def dates(rng, how):
    return [[how.format(d=1 + i % 12, m=1 + i % 11, y=2001 + i % 9) for i in range(ROWS)]] * PARTS


# Every trap is a column of which one part says something else than the whole.
TRAPS = {
    "a gap after the first part": lambda rng: spoiled(numbers(rng), (1, 3, ""), (2, 39, "NA")),
    "a question mark at last": lambda rng: spoiled(fractions(rng), (2, 39, "?")),
    "a zero before a code": lambda rng: spoiled(numbers(rng, 1000, 1040), (2, 7, "01234")),
    "quoted line breaks": lambda rng: [
        [f'"line {i % 3}\nand ""more"", of it"' for i in range(ROWS)] for _ in range(PARTS)
    ],
    "thousands here, decimals there": lambda rng: [
        ['"1,234"'] * ROWS, [f'"{i % 7},5"' for i in range(ROWS)], ["3"] * ROWS
    ],
    "thousands everywhere": lambda rng: [
        [f'"{i + 1},{i + 100}"' for i in range(ROWS)], ["7"] * ROWS, ['"12,345.5"'] * ROWS
    ],
    "dates in two ways": lambda rng: [
        dates(rng, "{d:02}.{m:02}.{y}")[0], dates(rng, "{y}-{m:02}-{d:02}")[0],
        dates(rng, "{d:02}.{m:02}.{y}")[0],
    ],
    "days above twelve at last": lambda rng: spoiled(
        dates(rng, "{m:02}/{d:02}/{y}"), (2, 39, "25/03/2004")
    ),
    "words among numbers": lambda rng: spoiled(numbers(rng), (2, 39, "none")),
    "yes and no, then a number": lambda rng: spoiled([["True", "false"] * 20] * PARTS, (2, 5, "3")),
    "yes and no with a gap": lambda rng: spoiled([["True", "FALSE"] * 20] * PARTS, (2, 5, "")),
    "whole, then a fraction": lambda rng: spoiled(numbers(rng), (2, 1, "2.5")),
    "too large for a float": lambda rng: spoiled(numbers(rng, 0, 30), (1, 1, str(2**60 + 1))),
    "too large, with a gap": lambda rng: spoiled(
        numbers(rng, 0, 30), (1, 1, str(2**60 + 1)), (2, 2, "")
    ),
    "empty in one part": lambda rng: [[""] * ROWS, *fractions(rng)[1:]],
    "empty": lambda rng: [[""] * ROWS] * PARTS,
    "infinite in words": lambda rng: spoiled(fractions(rng), (1, 2, "1e3"), (2, 2, "+5")),
    "money in two currencies": lambda rng: [
        [f"{i} $" for i in range(ROWS)], [f"{i} $" for i in range(ROWS)],
        [f"{i} \u20ac" for i in range(ROWS)],
    ],
    "spaces": lambda rng: [[" a", "a ", "b", " NA "] * 10] * PARTS,
}  # fmt: skip


def written(columns, folder, suffix=".csv", separator=",", encoding="utf-8"):
    """A folder of parts, and all of it in one file."""
    keep = gzip.compress if suffix.endswith(".gz") else bytes
    header, every = separator.join(columns), []
    (folder / "parts").mkdir()
    for part in range(PARTS):
        each = [cells[part] for cells in columns.values()]
        lines = [separator.join(row) for row in zip(*each, strict=True)]
        text = "\n".join([header, *lines]) + "\n"
        (folder / "parts" / f"{part}{suffix}").write_bytes(keep(text.encode(encoding)))
        every += lines
    whole = folder / f"whole{suffix}"
    whole.write_bytes(keep(("\n".join([header, *every]) + "\n").encode(encoding)))
    return folder / "parts", whole


def assert_like_memory(parts, whole):
    table = in_parts(parts, "local")
    taken = prepare_table(Source.of(whole), rng=np.random.default_rng(0))
    assert_same(prepare_chunks(table.chunks, Local().fold), table.chunks, taken)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """So that blocks end everywhere."""
    monkeypatch.setattr(formats, "_BLOCK", 97)
    monkeypatch.setattr(stored_csv, "_ROWS", 13)


@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap(trap, tmp_path):
    rng = np.random.default_rng(0)
    columns = {"x": fractions(rng), "trap": TRAPS[trap](rng), "y": fractions(rng)}
    with collected_warnings():
        assert_like_memory(*written(columns, tmp_path))


@pytest.mark.parametrize(
    ("suffix", "separator", "encoding"),
    [(".csv.gz", ",", "utf-8"), (".csv", ";", "cp1252"), (".tsv", "\t", "utf-16"),
     (".csv", "|", "utf-8-sig")],
)  # fmt: skip
def test_all_of_them_at_once(suffix, separator, encoding, tmp_path):
    rng = np.random.default_rng(1)
    columns = {trap: make(rng) for trap, make in TRAPS.items() if "," not in trap}
    columns["caf\u00e9"] = [["\u00e9t\u00e9", "hiver"] * 20] * PARTS
    parts, whole = written(columns, tmp_path, suffix, separator, encoding)
    with collected_warnings() as notes:
        assert_like_memory(parts, whole)
    assert any("is not UTF-8" in note for note in notes) == (encoding == "cp1252")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("b.csv", b"a,c\n1,2\n", "'b.csv' has no column 'b', which 'a.csv' has"),
        ("b.csv", b"a,b\n1\n", "'b.csv' has 1 field(s) in line 2 where the first line has 2"),
        ("b.csv", b"a,b\n1,2,3\n", "'b.csv' has 3 fields in its first row but 2 names"),
        ("b.csv", b"a,b\n", "'b.csv' has no rows and 2 columns"),
        ("b.csv", b"", "'b.csv' is empty"),
        ("b.csv", b"a,b\n1,\0\0\n", "'b.csv' holds binary data"),
        (
            "b.csv.gz",
            gzip.compress(b"a,b\n1,2\n" * 999, mtime=0)[:-20],
            "'b.csv.gz' cannot be read",
        ),
    ],
)
def test_a_bad_part_is_refused_and_nothing_stays(name, content, says, tmp_path, monkeypatch):
    parts, copies = tmp_path / "parts", tmp_path / "copies"
    parts.mkdir(), copies.mkdir()
    (parts / "a.csv").write_bytes(b"a,b\n1,2\n")
    (parts / name).write_bytes(content)
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    with pytest.raises(InputError) as refused:
        in_parts(parts, "local")
    assert says in str(refused.value)
    assert not list(copies.iterdir())
