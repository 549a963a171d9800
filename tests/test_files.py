"""Whose files these are: what others made is neither removed nor run, and rows are not sent."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

import leftout
from leftout.cli import main

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(Path(leftout.__file__).parent.rglob("*.py"))


def test_nothing_is_offered_that_sends_sums_of_few_rows(tmp_path):
    """Second moments at a feature that one row has are that row."""
    assert {"plan", "moments"}.isdisjoint(main.commands)
    (tmp_path / "one.npz").write_bytes(b"PK")
    asked = CliRunner().invoke(main, ["audit", str(tmp_path / "one.npz")])
    assert asked.exit_code == 2 and "kind" in asked.stderr, asked.output
    claim = re.compile("moments TABLE|sites that|leftout plan", re.IGNORECASE)
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *SOURCES]
    assert not [str(path) for path in pages if claim.search(path.read_text())]
