"""What the README shows runs, and says what it says."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def test_python_example_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[1850  150]"
    assert float(lines[-1]) > 0.99


def test_commands_exist():
    makefile = (README.parent / "Makefile").read_text()
    for command in ("demo", "test", "bench"):
        assert f"make {command}" in README.read_text()
        assert re.search(rf"^{command}:", makefile, flags=re.MULTILINE)


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target
