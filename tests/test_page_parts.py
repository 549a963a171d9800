"""The page's parts that need no server: words for choices, guards, guesses, the store."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from leftout.cli import main, options
from leftout.cli.commands import audit, serve
from serving import HOSTILE, people

pytest.importorskip("starlette", reason="the extra 'page' is not installed")
from leftout.data.sources import Source  # noqa: E402
from leftout.errors import InputError
from leftout.page import form as asked  # noqa: E402
from leftout.page.form import Columns  # noqa: E402
from leftout.page.store import Entry, Store  # noqa: E402
from leftout.page.uploads import Limits, called  # noqa: E402
from leftout.page.views import rendered  # noqa: E402
from leftout.page.worker import profiled  # noqa: E402
from leftout.settings import ON_PAGE  # noqa: E402


@pytest.fixture(scope="module")
def columns():
    return Columns(**profiled(Source(people())))


def test_each_column_is_told_as_it_is(columns):
    lines = {line["name"]: line for line in columns.columns}
    assert (columns.rows, columns.judged_on, len(columns)) == (220, 220, 9)
    assert [lines[name]["kind"] for name in ("id", "town", "age", "joined", "sex")] == [
        "identifier", "category", "number", "date", "yes/no"]  # fmt: skip
    assert lines["income, net"]["missing"] == pytest.approx(31 / 220)
    assert lines["town"]["distinct"] == 3
    assert lines["id"]["why"].startswith("looks like an identifier: 220 values in 220 rows")
    assert lines["id"]["becomes"].startswith("left out: ") and lines["id"]["features"] == 0
    assert lines["joined"]["example"] == "2020-01-01" and lines["id"]["example"] == "p00000"
    guesses = {name: line["guess"] for name, line in lines.items() if line["guess"] != "auto"}
    assert guesses == {"sex": "sensitive", "approved": "outcome"}
    assert lines["approved"]["levels"] == ["no", "yes"] and lines["age"]["levels"] == []


def test_many_rows_are_judged_on_a_sample():
    table = pd.DataFrame({"a": range(30_000), "b": [1.5, 2.5, 3.5] * 10_000})
    found = profiled(Source(table))
    assert (found["rows"], found["judged_on"]) == (30_000, 20_000)
    assert [line["distinct"] for line in found["columns"]] == [20_000, 3]


ANSWERS = {"outcome": "8", "positive-8": "yes", "protected-5": "yes"}


def choices(columns, **form):
    """Yes to every guess, and then a form."""
    before, wrong = asked.changed(asked.presets(), ANSWERS, columns)
    assert wrong == []
    return asked.changed(before, form, columns)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({}, "--target approved=yes --sensitive sex"),
        ({"positive-8": "no"}, "--target approved=no --sensitive sex"),
        ({"role-8": "auto"}, "--sensitive sex"),
        ({"outcome": "none"}, "--sensitive sex"),
        ({"outcome": "8", "role-8": "drop"}, "--drop approved --sensitive sex"),
        ({"protected-5": "no"}, "--target approved=yes"),
        ({"role-1": "outcome", "positive-1": "Ashby"}, "--target town=Ashby --sensitive sex"),
        ({"outcome": "other", "other": "1", "positive-1": "Ashby", "role-8": "outcome"},
         "--target town=Ashby --sensitive sex"),
        ({"role-2": "codes"}, "--target approved=yes --categorical age --sensitive sex"),
        ({"role-0": "numbers"}, "--target approved=yes --numeric id --sensitive sex"),
        ({"role-3": "drop", "role-4": "drop"},
         "--target approved=yes --drop 'income, net' --drop joined --sensitive sex"),
        ({"role-5": "prediction"}, "--target approved=yes --prediction sex"),
        ({"group_size": "5%", "n_components": "4", "effort": "quick"},
         "--target approved=yes --sensitive sex --components 4 --size 5% --quick"),
        ({"group_size": "evidence", "random_state": "7", "missing": "999,age=-1", "sample": "100"},
         "--target approved=yes --sensitive sex --missing 999,age=-1 --size evidence --sample 100 "
         "--seed 7"),
    ],
)  # fmt: skip
def test_each_choice_is_a_word_of_the_command(columns, form, words):
    chosen, wrong = choices(columns, **form)
    entry = Entry(id="", name="people.csv", file="table.csv", choices=chosen)
    assert wrong == [] and asked.command(entry, columns) == f"leftout audit people.csv {words}"


def test_one_outcome_at_a_time(columns):
    chosen, wrong = choices(columns, **{"role-1": "outcome", "role-2": "outcome"})
    assert asked.of_role(chosen, "outcome") == [1] and "Only one column can be" in wrong[0]
    chosen, wrong = choices(columns, **{"role-1": "outcome", "role-8": "outcome"})
    assert asked.of_role(chosen, "outcome") == [1] and wrong == []


def test_the_demo_is_asked_for_by_its_own_command():
    line = {"levels": ["0", "1"], "guess": "outcome", "name": "approve", "kind": "yes/no"}
    columns = Columns(9, 9, [], [line, {**line, "name": "male", "guess": "auto"}])
    chosen, _ = asked.changed(asked.presets(), {"outcome": "0", "positive-0": "1"}, columns)
    entry = Entry(id="", name="demo", choices=chosen)
    assert asked.command(entry, columns) == "leftout demo"
    entry.choices, _ = asked.changed(
        entry.choices, {"role-1": "sensitive", "n_restarts": "4"}, columns
    )
    assert asked.command(entry, columns) == "leftout demo --sensitive male --restarts 4"


names = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(
        str.strip
    ),
    min_size=1,
    max_size=5,
    unique=True,
)


@example(["column_names"], "drop")  # which tables of pyarrow have themselves
@given(names, st.sampled_from(["drop", "sensitive", "codes"]))
def test_any_name_survives_the_command_line(names, role):
    """Commas, quotes, spaces and dashes in names: the command means the same columns."""
    lines = [{"name": name, "guess": "auto", "levels": [], "kind": "number"} for name in names]
    columns = Columns(9, 9, [], lines)
    chosen = {"roles": {str(place): role for place in range(len(names))}}
    entry = Entry(id="", name="t.csv", file="table.csv", choices=chosen)
    words = shlex.split(asked.command(entry, columns))
    table = pd.DataFrame([[0.0] * len(names)], columns=names)
    assert options.names(words[4::2], table, "drop") == names


def test_names_with_commas_are_not_two_others():
    lines = [{"name": name, "guess": "auto", "levels": [], "kind": "number"} for name in "ab"]
    columns = Columns(9, 9, [], [*lines, {**lines[0], "name": "a,b"}])
    table = pd.DataFrame([[0.0] * 3], columns=["a", "b", "a,b"])
    for places, names in (((0, 1), ["a", "b"]), ((2,), ["a,b"]), ((1, 2), ["b", "a,b"])):
        chosen = {"roles": {str(place): "drop" for place in places}}
        entry = Entry(id="", name="t.csv", file="table.csv", choices=chosen)
        words = shlex.split(asked.command(entry, columns))
        assert options.names(words[4::2], table, "drop") == names
    with pytest.MonkeyPatch.context() as patch:
        given = []
        patch.setattr(options, "names", lambda texts, table, name: given.append((name, texts)))
        patch.setattr("leftout.engine.tables.opened", lambda *_: (None, table))
        CliRunner().invoke(main, ["audit", "t.csv", "--drop", "a", "--drop", "b"])
    assert ("drop", ("a", "b")) in given


@pytest.mark.parametrize(
    ("given", "name"),
    [("../../x.csv", "x.csv"), ("C:\\data\\x.csv", "x.csv"), ("a\nb\u202e.csv", "ab.csv"),
     ("--out=x.csv", "out=x.csv"), ("x" * 300 + ".csv", "x" * 196 + ".csv")],
)  # fmt: skip
def test_a_file_is_called_by_what_shows(given, name):
    assert called(given) == name


def test_nothing_is_chosen_without_asking(columns):
    begun = asked.presets()
    entry = Entry(id="", name="people.csv", file="table.csv", choices=begun)
    assert asked.command(entry, columns) == "leftout audit people.csv"
    for form, sentence in (
        ({}, "The first question is open"),
        ({"outcome": "other", "other": ""}, "The first question is open"),
        ({"outcome": "8"}, "The second question is open. Say which value of 'approved' is good"),
        ({"outcome": "8", "positive-8": "maybe"}, "The second question is open"),
    ):
        entry.choices, _ = asked.changed(begun, form, columns)
        with pytest.raises(InputError, match=sentence):
            asked.check(entry, columns)
    for form in ({"outcome": "none"}, {"outcome": "2"}, {"outcome": "8", "positive-8": "no"}):
        entry.choices, _ = asked.changed(begun, form, columns)
        asked.check(entry, columns)
    assert asked.about(entry, columns) == "full audit, outcome approved = no"


def kinds(text):
    """A table of columns as a line writes them: a name, and what its values are like."""
    rng, columns = np.random.default_rng(0), {}
    for part in text.split():
        name, _, kind = part.partition(":")
        kind = kind or "n"
        columns[name] = {
            "n": rng.normal(size=200).round(3),
            "i": np.arange(200),
            "b": rng.permutation([0, 1] * 100),
            "y": rng.permutation(["no", "yes"] * 100),
            "c": rng.choice(["red", "green", "blue"], 200),
            "m": rng.choice([f"town {k}" for k in range(12)], 200),
            "k": rng.integers(0, 9, 200),
        }[kind]
    return pd.DataFrame(columns)


def test_outcomes_are_guessed_or_not_sure():
    lines = (Path(__file__).parent / "outcomes.txt").read_text().splitlines()
    found = {}
    for name, outcome, columns in (line.split("|") for line in lines):
        told = profiled(Source(kinds(columns)))["columns"]
        guesses = [line["name"] for line in told if line["guess"] == "outcome"]
        assert len(guesses) <= 1
        found[name] = "not sure" if not guesses else guesses[0] == outcome or guesses[0]
    wrong = {name: guess for name, guess in found.items() if guess not in (True, "not sure")}
    right = [name for name, guess in found.items() if guess is True]
    assert len(found) == 40 and len(wrong) <= 4, wrong
    assert len(right) >= 20, found


def test_hostile_names_stay_text(columns):
    chosen = asked.presets()
    chosen["roles"]["6"] = "sensitive"
    page = rendered(
        "columns.html", entry=Entry(id="a", name="<b>", file="table.csv", choices=chosen),
        columns=columns, roles=asked.ROLES, fields=ON_PAGE, usual=dict.fromkeys(ON_PAGE, ""),
        outcome=None, offered=6, protected=[6], decided=HOSTILE, problem=HOSTILE,
    )  # fmt: skip
    assert "&lt;b&gt;" in page and "&lt;script&gt;" in page
    for tag in ("<script>", "<b>x"):
        assert tag not in page


def test_a_store_removes_what_is_its_own_alone(tmp_path, caplog):
    store = Store(tmp_path)
    kept, cut, half, gone = (store.new(f"{name}.csv", ".csv") for name in "abcd")
    for entry in (kept, cut, gone):
        store.add(entry)
        store.end(entry, "running")
    broken = {"b" * 16: None, "c" * 16: "[]", cut.id: '{"id": "'}
    for name, facts in broken.items():  # damaged, or somebody else's
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "report.html").write_text("of a finished audit")
        if facts is not None:
            (tmp_path / name / "entry.json").write_text(facts)
    (tmp_path / "letters").mkdir()
    (store.of(half) / "table.csv").write_text("half of an upload")
    store.of(gone).rename(tmp_path / f".deleted-{gone.id}")  # and the server was killed
    store.close()
    again = Store(tmp_path)
    assert list(again.entries) == [kept.id] and again.entries[kept.id].state == "interrupted"
    left = {path.name for path in tmp_path.iterdir() if path.is_dir()}
    assert left == {kept.id, "letters", *broken}
    assert all((tmp_path / name / "report.html").exists() for name in broken)
    assert all(f"{name} cannot be read as an audit" in caplog.text for name in broken)
    again.close()


def test_a_store_is_not_put_among_the_files_of_somebody(tmp_path):
    (tmp_path / "server.log").write_text("mine")
    with pytest.raises(
        InputError, match=r"holds files, .* left as they are\. Choose .* with --data"
    ):
        Store(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["server.log"]
    assert (tmp_path / "server.log").read_text() == "mine"


def test_serve_without_its_extra_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "leftout.page.serving", None)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "leftout.page.serving")
    result = CliRunner().invoke(main, ["serve"])
    assert result.exit_code == 2 and result.stderr.count("\n") == 1
    assert "pip install 'leftout[page]'" in result.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [(["--max-upload", "much"], "is no size"), (["--port", "70000"], "--port"),
     (["--data", "/proc/x"], "cannot be kept")],
)  # fmt: skip
def test_wrong_options_of_serve_are_one_line(words, sentence):
    result = CliRunner().invoke(main, ["serve", *words, *["--port", "0"] * ("--port" not in words)])
    assert result.exit_code == 2 and result.stderr.count("\n") == 1 and sentence in result.stderr


def test_the_server_loads_no_library_of_numbers():
    script = "import sys, leftout.page.serving; print(sorted({'pandas', 'numba', 'sklearn', 'scipy'} & set(sys.modules)))"  # noqa: E501
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_limits_are_positive():
    assert all(value > 0 for value in vars(Limits()).values())


def test_options_of_serve_are_documented():
    page = (Path(__file__).parents[1] / "docs" / "guide" / "page.md").read_text()
    for option in serve.params:
        assert f"| `{option.opts[0]}" in page, option.opts


def test_the_guide_says_what_experts_find_and_what_they_do_not():
    page = (Path(__file__).parents[1] / "docs" / "guide" / "page.md").read_text()
    said = " ".join(page.partition("Under *For experts*")[2].partition("3. **Run.**")[0].split())
    here, _, elsewhere = said.partition("A dictionary")
    for name, words in EXPERTS.items():
        assert words in (here if name in ON_PAGE else f"A dictionary{elsewhere}")
    offered = {*ON_PAGE, "target", "prediction", "quick", *asked._LISTS}
    output = {"tables", "out", "n_jobs", "as_json", "quiet", "full", "pdf"}
    assert {option.name for option in audit.params} == offered | output | EXPERTS.keys()


EXPERTS = {
    "group_size": "size of the group", "n_components": "components",
    "min_group_size": "fewest rows", "sample": "a sample", "missing": "stand for nothing",
    "n_surrogates": "surrogate tables", "n_restarts": "searches", "rows": "rows to show",
    "random_state": "seed", "dictionary": "A dictionary", "encoding": "encoding",
    "preset": "preset", "n_groups": "several groups", "engine": "engine", "scheduler": "engine",
    "memory": "engine", "features": "features", "pipeline": "a pipeline",
    "pipeline_step": "a pipeline", "trust_types": "a pipeline", "scaling": "the scaling",
    "sheet": "a sheet", "min_cell": "smallest cell", "annex": "record to file",
    "fail_on": "conditions", "max_loss": "conditions", "max_harm": "conditions",
    "baseline": "conditions", "effort": "effort", "weights": "weights",
}  # fmt: skip
