"""Small files that ask for more than a machine has: refused before they are opened, everywhere."""

from __future__ import annotations

import gzip
import io
import json
import resource
import subprocess
import sys
import zipfile
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from leftout.cli import main
from leftout.data.formats import read_excel, sheet_names
from leftout.data.sources import FORMATS, TableLimits
from leftout.errors import InputError
from leftout.running import available_memory

pa = pytest.importorskip("pyarrow")
pytest.importorskip("openpyxl")

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
KEPT = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SMALL = TableLimits(unpacked=10**8, columns=20_000, cells=10**5)


def workbook(sheet, at="xl/worksheets/sheet1.xml", strings="", **more):
    """An Excel file whose one sheet is raw XML, anywhere in it."""
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": (
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/>'
            f'<Override PartName="/{at}" ContentType="{kinds}.worksheet+xml"/>'
            f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kinds}.sharedStrings+xml"/>'
            "</Types>"
        ),
        "xl/workbook.xml": (
            f'<workbook xmlns="{MAIN}" xmlns:r="{KEPT}"><sheets>'
            '<sheet name="s" sheetId="1" r:id="rId1"/></sheets></workbook>'
        ),
        "xl/_rels/workbook.xml.rels": (
            '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            f'<Relationship Id="rId1" Type="{KEPT}/worksheet" Target="/{at}"/></Relationships>'
        ),
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{strings}</sst>',
        at: sheet,
        **more,
    }
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return book.getvalue()


def sheet(rows, before=""):
    return f'{before}<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'


HEADER = '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>'
FAR = HEADER + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
PREFIXED = (
    f'<x:worksheet xmlns:x="{MAIN}"><x:sheetData>'
    '<x:row r="1048576"><x:c r="XFD1048576"><x:v>1</x:v></x:c></x:row>'
    "</x:sheetData></x:worksheet>"
)
BOMB = "<!DOCTYPE x [<!ENTITY e0 'aaaaaaaaaa'>" + "".join(
    f"<!ENTITY e{i} '{f'&e{i - 1};' * 10}'>" for i in range(1, 10)
)
ENTITIES = sheet(HEADER.replace("<t>a", "<t>&e9;"), BOMB + "]>")


def feather(table):
    kept = io.BytesIO()
    with pa.ipc.new_file(
        kept, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
    ) as file:
        file.write_table(table)
    return kept.getvalue()


def long_text(kind):
    """A megabyte of text, in each of 300 rows."""
    return pa.table({"a": pa.array(["x" * 10**6] * 300, kind()), "b": pa.array(range(300))})


MORE = "which is more than the 100,000 cells"
UNPACKED = "holds more than 100 MB when it is unpacked"
DAMAGED = "is not an Excel workbook (.xlsx), or a damaged"
ATTACKS = {
    "cells in single quotes": (".xlsx", lambda: workbook(sheet(FAR.replace('"', "'"))), MORE),
    "cells with a prefix": (".xlsx", lambda: workbook(PREFIXED), MORE),
    "a line between name and place": (
        ".xlsx", lambda: workbook(sheet(FAR.replace("<c ", "<c\n"))), MORE),
    "a sheet elsewhere": (".xlsx", lambda: workbook(sheet(FAR), at="docs/s.bin"), MORE),
    "a row far down": (
        ".xlsx", lambda: workbook(sheet(HEADER + '<row r="2000000000"/>')), MORE),
    "a row in another notation": (
        ".xlsx", lambda: workbook(sheet(HEADER + '<row r="2e9"/>')), MORE),
    "UTF-16": (
        ".xlsx", lambda: workbook(f"<?xml version='1.0' encoding='UTF-16'?>{sheet(FAR)}".encode(
            "utf-16")), MORE),
    "a tag that never ends": (
        ".xlsx", lambda: workbook(sheet("<c " * 50_000 + HEADER)), DAMAGED),
    "entities": (".xlsx", lambda: workbook(ENTITIES), DAMAGED),
    "a workbook of zeros": (
        ".xlsx", lambda: workbook(sheet(HEADER), more="0" * 10**8), UNPACKED),
    "a batch of zeros": (
        ".feather", lambda: feather(pa.table({"a": np.zeros(2_000_000)})), MORE),
    "packed texts in Feather": (".feather", lambda: feather(long_text(pa.string)), UNPACKED),
    "gzipped nothing": (".csv.gz", lambda: gzip.compress(b"a,b\n" + b"1" * 10**8), UNPACKED),
}  # fmt: skip


@pytest.fixture(params=ATTACKS, ids=str, scope="module")
def attack(request):
    kind, content, words = ATTACKS[request.param]
    data = content()
    assert len(data) < 1 << 20
    return kind, data, words


def test_a_file_that_asks_for_too_much_is_refused_on_the_command_line(
    attack, tmp_path, monkeypatch
):
    kind, data, words = attack
    (tmp_path / f"t{kind}").write_bytes(data)
    monkeypatch.setattr(TableLimits, "here", classmethod(lambda cls: SMALL))
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["audit", f"t{kind}"])
    assert result.exit_code == 2 and words in result.stderr and result.stderr.count("\n") == 1
    assert not (tmp_path / "leftout-t").exists()


def test_a_file_that_asks_for_too_much_is_refused_on_the_page(
    attack, tmp_path, monkeypatch, capsys
):
    pytest.importorskip("starlette", reason="the extra 'page' is not installed")
    from leftout.page import worker
    from leftout.page.uploads import Limits

    kind, data, words = attack
    (tmp_path / f"table{kind}").write_bytes(data)
    monkeypatch.chdir(tmp_path)
    limits = asdict(Limits(**asdict(SMALL)))
    worker.main({"file": f"table{kind}", "name": f"t{kind}", "sheet": None, "limits": limits})
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said["event"] == "refused" and words in said["sentence"]
    assert "\n" not in said["sentence"]
    assert [path.name for path in tmp_path.iterdir()] == [f"table{kind}"]


def test_formats_without_values_are_no_cells():
    far = HEADER + '<row r="2"><c r="A2"><v>1</v></c><c r="XFD2" s="0"/></row><row r="3"/>'
    table = read_excel(workbook(sheet(far)), "it", TableLimits(columns=5))
    assert table.to_dict("list") == {"a": [1]}


def test_a_workbook_in_odd_notation():
    odd = f"""<x:worksheet xmlns:x='{MAIN}'><x:sheetData>
      <x:row><x:c t='inlineStr'><x:is><x:t>a</x:t></x:is></x:c><x:c r='B1' t='s'><x:v>0</x:v></x:c>
      <x:c t='inlineStr'><x:is><x:t>d</x:t></x:is></x:c></x:row>
      <x:row r='4'><x:c r='B4'><x:v>2</x:v></x:c><x:c r='C4' t='e'><x:v>#DIV/0!</x:v></x:c></x:row>
      <x:row/></x:sheetData></x:worksheet>"""
    data = workbook(odd, at="elsewhere/s", strings="<si><t>c</t></si>")
    with pytest.raises(InputError, match="at least 4 rows of 3 columns"):
        read_excel(data, "it", TableLimits(cells=11))
    table = read_excel(data, "it", TableLimits())
    expected = pd.DataFrame({"a": [np.nan] * 3, "c": [np.nan, np.nan, 2], "d": [np.nan] * 3})
    pd.testing.assert_frame_equal(table, expected, check_dtype=False)
    assert sheet_names(data, "it", TableLimits()) == ["s"]


def test_tables_within_the_limits_are_read_as_ever(tmp_path):
    table = pd.DataFrame({
        "text": ["a", "bb", None] * 40, "n": range(120), "d": pd.date_range("2020", periods=120),
        "c": pd.Categorical(["x", "y"] * 60), "b": [b"1", b"22"] * 60, "l": [[1, 2], [3]] * 60,
    })  # fmt: skip
    flat = table.drop(columns=["b", "l"])
    table.to_parquet(tmp_path / "t.parquet")
    table.to_feather(tmp_path / "t.feather", compression="lz4")
    flat.to_feather(tmp_path / "u.feather", compression="uncompressed")
    flat.to_excel(tmp_path / "t.xlsx", index=False)
    for name in ("t.parquet", "t.feather", "u.feather", "t.xlsx"):
        data = (tmp_path / name).read_bytes()
        kind = name[1:]
        columns = 4 if name in ("t.xlsx", "u.feather") else 6
        assert FORMATS[kind](data, name, TableLimits(cells=121 * columns)).shape == (120, columns)
        with pytest.raises(InputError, match=f"rows of {columns} columns"):
            FORMATS[kind](data, name, TableLimits(cells=119 * columns))


def test_memory_is_the_least_of_machine_and_container(tmp_path):
    machine = available_memory(str(tmp_path))
    (tmp_path / "proc/self").mkdir(parents=True)
    for lines, file, known in (
        ("0::/a/b\n", "sys/fs/cgroup/a/memory.max", 10**6),
        ("0::/x\n", "sys/fs/cgroup/x/memory.max", "max"),
    ):
        (tmp_path / "proc/self/cgroup").write_text(lines)
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text(f"{known}\n")
        assert available_memory(str(tmp_path)) == (machine if known == "max" else known)


TAKE = """
import resource, sys
import click
from leftout.cli import main

@main.command()
def take():
    soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
    click.echo(soft)

sys.argv = ["leftout", "take"]
main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="no such limit there")
def test_a_command_takes_no_more_than_most_of_the_available():
    done = subprocess.run([sys.executable, "-c", TAKE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    machine = available_memory()
    assert 0 < int(done.stdout) <= 0.76 * machine


@pytest.mark.skipif(sys.platform != "linux", reason="no such limit there")
def test_processes_of_the_page_leave_memory_to_the_machine():
    script = """
import resource
from leftout.page.worker import bound_to_server
asked = bound_to_server()
print(asked, resource.getrlimit(resource.RLIMIT_DATA)[0], flush=True)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    process.stdin.write(json.dumps(["a"]) + "\n")
    process.stdin.flush()
    words = process.stdout.readline().split()
    process.communicate()
    assert words[0] == "['a']" and 0 < int(words[1]) <= 0.5 * available_memory()


def test_too_much_for_the_memory_is_one_sentence(tmp_path):
    if sys.platform != "linux":
        pytest.skip("no such limit there")
    (tmp_path / "t.csv").write_text("a,b\n" + "1.5,2.5\n" * 4_000_000)
    limit = 400 * 10**6
    done = subprocess.run(
        [sys.executable, "-m", "leftout", "audit", "t.csv", "--engine", "memory"],
        cwd=tmp_path, capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout == "", done.stderr
    assert "too large for this machine's memory" in done.stderr
