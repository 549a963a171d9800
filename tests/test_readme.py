"""What the README shows runs, and says what it says."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)


def lines_of(example, capsys):
    exec(compile(example, "README.md", "exec"), {})
    return capsys.readouterr().out.splitlines()


def test_search_example(capsys):
    lines = lines_of(EXAMPLES[0], capsys)
    assert lines[0] == "[1850  150]"
    assert float(lines[-1]) > 0.99


def test_trust_example(capsys):
    lines = lines_of(EXAMPLES[1], capsys)
    assert lines[0] == "True 0.025" and abs(int(lines[1]) - 60) <= 12
    assert len(lines) == 6


def test_explain_example(capsys):
    assert len(EXAMPLES) == 3
    lines = lines_of(EXAMPLES[2], capsys)
    assert lines[0].startswith("town = Beeley: covers 9") and lines[1].startswith(
        "In a sentence: town = "
    )
    assert lines[-1].endswith("This is sensitivity, not causation.")


def test_commands_exist():
    makefile = (README.parent / "Makefile").read_text()
    for command in ("demo", "test", "bench"):
        assert f"make {command}" in README.read_text()
        assert re.search(rf"^{command}:", makefile, flags=re.MULTILINE)


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target
