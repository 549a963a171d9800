"""A record to file: every field is filled from the audit."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import known
import known_several
import serving
from leftout.cli import main
from leftout.report import pages

MADE = {"full": known.audit, "bare": known.bare, "several": known_several.audit}


def annex(data):
    """The record's parts: title, heads, lines."""
    return pages._templates().get_template("record.html").make_module(data).parts


@pytest.mark.parametrize("name", MADE)
def test_every_field_is_filled(name):
    for part in annex(MADE[name]().to_dict()):
        assert part["lines"], part["title"]
        for line in part["lines"]:
            assert len(line) == len(part["heads"])
            assert all(isinstance(text, str) and text.strip() for text in line), line
            assert not any("None" in text or "nan" in text.split() for text in line), line


def test_fields_are_the_audits():
    data = known.audit().to_dict()
    parts = {part["title"]: part["lines"] for part in annex(data)}
    assert list(parts)[4] == "5. Findings" and len(parts["5. Findings"]) == len(data["findings"])
    fields = dict(line for title in ("2. Data", "7. Versions and command") for line in parts[title])
    assert data["file"]["sha256"] in fields["file"] and fields["seed"] == "4"
    assert fields["rows"].startswith(f"{data['table']['rows']:,} audited of 20,020")
    assert fields["command"] == data["settings"]["command"]
    listed = [name for field, names in fields.items() if field.startswith("columns: ")
              for name in names.split(", ")]  # fmt: skip
    assert sorted(listed) == sorted(column["label"] for column in data["columns"])
    missing = [f["code"] for f in data["findings"] if f["status"] in ("not run", "not applicable")]
    assert all(code in dict(parts["6. Limits"])["not looked at"] for code in missing)


def test_the_text_is_a_table_whatever_names_hold():
    found = known.audit(notes=["a | b <i> [x](y) `z`"])
    text = found.annex()
    assert r"a \| b \<i\> \[x\](y) \`z\`" in text
    assert "supplementary to, not a substitute for, impact ratios" in text
    for words in ("compliant", "complies", "certif", "fulfil"):
        assert words not in "".join(" ".join(line) for line in annex(found.to_dict())[7]["lines"])


def test_the_report_has_it_if_asked(tmp_path):
    assert "A record to file" not in known.audit().html()
    page = known.audit(notes=["<i>x</i>"]).html(annex=True)
    assert "A record to file" in page and "&lt;i&gt;x" in page and "<i>x" not in page
    serving.people().to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "out"
    words = ["audit", str(tmp_path / "t.csv"), "--quick", "--annex", "--out", str(out), "--quiet"]
    assert CliRunner().invoke(main, words).exit_code == 0
    assert "A record to file" in (out / "report.html").read_text()
    sha = json.loads((out / "audit.json").read_text())["file"]["sha256"]
    assert sha in (out / "annex.md").read_text()
