"""What to ask for is named in the words of those who are told: parameters, or options."""

from __future__ import annotations

import inspect
import re

import pytest
from click.testing import CliRunner

import known
import leftout
from leftout.cli import main
from leftout.errors import asked_by, in_python, parameter_label
from leftout.running import Steps, imap_ordered
from leftout.settings import as_option
from test_bad_input import CSV, FILES, OPTIONS, QUICK, call, excel
from test_checks import REFUSALS, fit

NAMES = {name for name in inspect.signature(leftout.audit).parameters} | {
    name
    for each in (
        leftout.MaxDisparityPartition,
        leftout.mitigate,
        leftout.FairPCA,
        leftout.MinimaxPCA,
    )
    for name in inspect.signature(each).parameters
}
# Some parameters are called like plain words: these only count where a value is given.
PARAMETER = re.compile(rf"\b({'|'.join(NAMES)})=|\b({'|'.join(n for n in NAMES if '_' in n)})\b")
OPTION = re.compile(r"(?<!\w)--[a-z]")


@pytest.mark.parametrize(
    ("given", "python", "option"),
    [
        (("n_surrogates", 99), "n_surrogates=99", "--surrogates 99"),
        (("group_size", "evidence"), "group_size='evidence'", "--size evidence"),
        (("group_size",), "group_size", "--size"),
        (("n_components", 0.8), "n_components=0.8", "--components 0.8"),
        (("min_group_size",), "min_group_size", "--min-size"),
        (("n_groups", 2), "n_groups=2", "--groups 2"),
        (("random_state", 4), "random_state=4", "--seed 4"),
        (("n_jobs", 0), "n_jobs=0", "--jobs 0"),
        (("sensitive", ["A", "B"]), "sensitive=['A', 'B']", "--sensitive A,B"),
        (("positive",), "positive", "--target COL=VALUE"),
        (("positive", "maybe"), "positive='maybe'", "--target COL=maybe"),
        (("groups_col",), "groups_col", "--groups-col"),
        (("solver", "greddy"), "solver='greddy'", "solver='greddy'"),  # there is no such option
    ],
)
def test_words_for_parameters(given, python, option):
    assert parameter_label(*given) == in_python(*given) == python
    with asked_by(as_option):
        assert parameter_label(*given) == option
    assert parameter_label(*given) == python


def test_tasks_ask_in_the_words_of_their_caller():
    with asked_by(as_option):
        told = list(
            imap_ordered(
                parameter_label, [("n_surrogates", 9), ("n_restarts", 7)], 2, Steps(2, None), ""
            )
        )
    assert told == ["--surrogates 9", "--restarts 7"]


@pytest.mark.parametrize("kind", [*FILES, *OPTIONS])
def test_the_command_line_names_no_parameter(kind, tmp_path):
    path, options = tmp_path / "t.csv", []
    if kind in OPTIONS:
        content, options = CSV, OPTIONS[kind][0]
    else:
        path, content = tmp_path / FILES[kind][0], FILES[kind][1]
    if isinstance(content, list):
        excel(path, content)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    told = call(tmp_path / "out", path, *options).stderr
    assert told and not PARAMETER.search(told), told


@pytest.mark.parametrize("name", REFUSALS)
def test_python_names_no_option(name):
    with pytest.raises(ValueError) as caught:
        fit(**REFUSALS[name][0])
    assert not OPTION.search(str(caught.value))


def test_findings_name_what_to_repeat_with():
    nothing = known.explanation(outcome=[])

    def details():
        few = known.trust(chance={}, p_value=None, p_winsorized=None, parts=None)
        intake = known.intake(sensitive=[])
        found = known.audit(trust=few, stability=None, explanation=nothing, intake=intake)
        return {each.code: each.detail for each in found.findings}

    here = details()
    for code in ("C001", "C002", "V001"):
        assert here[code].endswith(" Repeat with n_surrogates=99.")
    assert here["S001"] == "Needs 5 runs, got 0. Repeat with n_restarts=30."
    assert here["A001"] == "No column was named as sensitive. Name some: sensitive=['A', 'B']."
    assert here["O001"] == "No target was given. Name one: target='COLUMN'."
    with asked_by(as_option):
        there = details()
    for code in ("C001", "C002", "V001"):
        assert there[code].endswith(" Repeat with --surrogates 99.")
    assert there["S001"] == "Needs 5 runs, got 0. Repeat with --restarts 30."
    assert there["A001"] == "No column was named as sensitive. Name some: --sensitive A,B."
    assert there["O001"] == "No target was given. Name one: --target COLUMN."


def test_what_a_command_prints_and_writes_names_options(tmp_path):
    (tmp_path / "t.csv").write_text(CSV)
    result = call(tmp_path / "out", tmp_path / "t.csv", "--target", "c", *QUICK)
    assert result.exit_code == 0, result.stderr
    data = (tmp_path / "out" / "audit.json").read_text()
    page = (tmp_path / "out" / "report.html").read_text()
    for text in (data, page):
        assert "Repeat with --surrogates 99." in text and "Repeat with --restarts 30." in text
        assert "with --target COL=VALUE." in text
        assert "n_surrogates=99" not in text and "n_restarts=30" not in text
    assert "with --target COL=VALUE." in " ".join(result.stdout.split())
    assert parameter_label("n_surrogates", 99) == "n_surrogates=99"  # nothing of it stays


def test_fair_names_options(tmp_path):
    (tmp_path / "t.csv").write_text(CSV)
    (tmp_path / "one.csv").write_text("\n".join(CSV.splitlines()[:2]))
    for options, words in (
        (["t.csv", "--groups-col", "q"], "--groups-col names the column 'q'"),
        (["t.csv", "--groups-col", "t", "--components", "99"], "--components 99 is out of range"),
        (["one.csv", "--groups-col", "t"], "has one group (yes); at least two groups are needed"),
    ):
        told = CliRunner().invoke(main, ["fair", str(tmp_path / options[0]), *options[1:]])
        assert told.exit_code == 2 and words in " ".join(told.stderr.split()), told.stderr
        assert not PARAMETER.search(told.stderr)
