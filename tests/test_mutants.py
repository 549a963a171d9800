"""The list of mistakes that tests must notice names code that is there; nothing is tried here."""

from __future__ import annotations

from mutants import ROOT, mutants


def test_every_mistake_has_its_place_and_its_test():
    listed = list(mutants())
    assert len(listed) > 400
    for mutant in listed:
        source = (ROOT / "src" / "leftout" / mutant.file).read_text(encoding="utf-8")
        assert mutant.old in source and mutant.new != mutant.old, mutant
        assert (ROOT / "tests" / f"test_{mutant.test}.py").exists(), mutant
