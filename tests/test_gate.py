"""Conditions that an audit has to hold: what is said, and with which exit code."""

from __future__ import annotations

from dataclasses import replace

import pytest
from click.testing import CliRunner

import known
import known_several
import leftout
import serving
from leftout import GateError, InputError
from leftout.cli import main


def broken(found, **conditions):
    with pytest.raises(GateError) as error:
        found.check(**conditions)
    assert str(error.value) == "\n".join(error.value.conditions)
    return error.value.conditions


def test_what_holds_says_nothing():
    found = known.audit()
    found.check()
    absent = [each.code for each in found.findings if each.status == "not found"]
    assert absent
    found.check(fail_on=absent, max_loss=100, max_harm=100)
    found.check(fail_on=",".join(absent))


def test_findings_that_are_found():
    found = known.audit()
    (line,) = broken(found, fail_on="D001")
    assert line.startswith("fail_on='D001': found. A group loses more than the rest. ")


@pytest.mark.parametrize("status", ["not run", "not applicable"])
def test_what_was_not_looked_at_does_not_pass(status):
    found = known.audit()
    one = replace(found.findings[0], code="V001", status=status, detail="No surrogates.")
    found = replace(found, findings=[one])
    (line,) = broken(found, fail_on=["V001"])
    assert line == f"fail_on='V001': {status}, which is no pass. No surrogates."


def test_of_several_groups_each_is_held_to_it():
    found = known_several.audit()
    lines = broken(found, fail_on="D001", max_loss=5)
    assert [line[:26] for line in lines[:2]] == [
        "fail_on='D001' (group 1): ", "fail_on='D001' (group 2): ",
    ]  # fmt: skip
    assert "the left-out group 2 loses 30 percentage points of its variance" in lines[3]


def test_the_loss_is_what_its_own_pca_would_keep_beyond_the_shared_one():
    found = known.audit()
    lost = found.left_out_groups[0].left_out
    points = 100.0 * (lost.retained_own.group - lost.retained.group)
    found.check(max_loss=points + 0.01)
    (line,) = broken(found, max_loss=10)
    assert line.startswith(f"max_loss=10: the left-out group loses {points:.3g} percentage points")


def test_harm_is_what_it_costs_beyond_the_rest():
    found = known.audit()
    extra = 100.0 * found.harm.extra_cost.value
    found.check(max_harm=extra + 0.01)
    (line,) = broken(found, max_harm=0)
    assert f"{extra:.1f} points (95% interval" in line and "more wrong predictions" in line
    (line,) = broken(known.bare(), max_harm=50)
    assert line.startswith("max_harm=50: it was not measured what sharing costs")
    number = known.audit(harm=known.harm(kind="number"))
    assert "is a number" in broken(number, max_harm=50)[0]


@pytest.mark.parametrize(
    ("conditions", "says"),
    [
        ({"fail_on": "X999"}, "fail_on='X999' names no finding of this audit; it has A001"),
        ({"max_loss": -1}, "max_loss=-1 is no number of percentage points"),
        ({"max_harm": "5"}, "max_harm='5' is no number of percentage points"),
        ({"max_loss": float("nan")}, "is no number of percentage points"),
        ({"baseline": "none.json"}, "cannot be read as an audit.json"),
    ],
)
def test_what_is_no_condition(conditions, says):
    with pytest.raises(InputError, match=says):
        known.audit().check(**conditions)


def test_a_finding_of_ones_own_is_a_condition():
    found = known.audit()
    mine = leftout.Finding("X001", "found", "Mine", "Seen.")
    assert broken(found.with_finding(lambda audit: mine), fail_on="X001") == [
        "fail_on='X001': found. Mine. Seen."
    ]


@pytest.fixture
def table(tmp_path):
    serving.people().to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_from_the_shell(table, tmp_path):
    def call(*words):
        out = ("--quick", "--quiet", "--size", "30", "--out", tmp_path / "out")
        return CliRunner().invoke(main, ["audit", *map(str, (table, *out, *words))])

    held = call("--max-loss", "100")
    assert held.exit_code == 0 and held.stderr == ""
    result = call("--fail-on", "D001,V001", "--fail-on", "P001", "--max-loss", "0.5")
    assert result.exit_code == 3 and (tmp_path / "out" / "report.html").exists()
    lines = result.stderr.splitlines()
    assert [line[:30] for line in lines] == [
        "Does not hold: --fail-on D001:", "Does not hold: --fail-on V001:",
        "Does not hold: --fail-on P001:", "Does not hold: --max-loss 0.5:",
    ]  # fmt: skip
    assert "not run, which is no pass" in lines[1]
    assert "fail-on" not in (tmp_path / "out" / "audit.json").read_text()

    same = call("--baseline", tmp_path / "out" / "audit.json")
    assert same.exit_code == 0, same.stderr
    for words, says in (
        (("--fail-on", "X999"), "names no finding"), (("--fail-on", "D1"), "cannot be 'D1'"),
        (("--max-loss", "200"), "percentage points from 0 to 100"),
        (("--baseline", table), "cannot be read as an audit.json"),
    ):  # fmt: skip
        result = call(*words)
        assert result.exit_code == 2 and says in result.stderr
