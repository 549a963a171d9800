"""Imports point one way, and importing the package costs next to nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter, defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import leftout

ROOT = Path(leftout.__file__).parent

# The tree tells the story: a table is read, searched, weighed, explained, mitigated, told. Each may
# import what stands before it, and what is beside it in its own folder.
LAYERS = [
    {"errors", "text"},
    {"checks", "settings"},
    {"compiling", "files", "running"},
    {"datasets"},
    {"linalg"},
    {"data"},
    {"representation"},
    {"solvers"},
    {"groups"},
    {"evidence"},
    {"explain"},
    {"fair"},
    {"downstream"},
    {"report"},
    {"auditing"},
    {"engine"},
    {"page"},
    {"cli"},
    {"__main__"},
]
ORDER = {name: place for place, layer in enumerate(LAYERS) for name in layer}
SPEAKS = {"cli"}  # may use rich or print on stdout


def modules():
    return sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def dotted(path):
    return ".".join(("leftout", *path.relative_to(ROOT).with_suffix("").parts))


def imports(path):
    """Modules that a module imports, anywhere in it; a public name as the module it lives in."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "leftout":
            names = (alias.name for alias in node.names if alias.name != "__version__")
            yield from (_home(name) for name in names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            known = [name for name in inner if is_module(name)]
            yield from known or [node.module]


def _home(name):
    home = leftout._HOME.get(name, "leftout")
    return f"{home}.{name}" if is_module(f"{home}.{name}") else home


def is_module(name):
    path = ROOT.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or path.is_dir()


def test_every_module_has_its_place():
    assert {dotted(path).split(".")[1] for path in modules()} == set(ORDER)
    files = list(ROOT.glob("*.py"))
    assert len(files) <= 10, files


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    name = dotted(path).split(".")[1]
    for module in imports(path):
        if module.startswith("leftout."):
            room = module.split(".")[1]
            assert room == name != dotted(path) or ORDER[room] < ORDER[name], module
    packages = {module.split(".")[0] for module in imports(path)}
    if name not in SPEAKS:
        assert not {"rich", "click"} & packages
    if name not in ("report", "page"):
        assert not {"jinja2", "markupsafe"} & packages


def test_no_cycle():
    graph = {}
    for path in modules():
        used = {module for module in imports(path) if module.startswith("leftout.")}
        graph[dotted(path).removesuffix(".__init__")] = used
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("module", ["leftout", "leftout.cli"])
def test_import_is_lazy_and_silent(module):
    script = (
        f"import sys, {module}; "
        "print(sorted({'numba', 'matplotlib', 'sklearn', 'scipy', 'pandas', 'socket', 'starlette',"
        " 'pyarrow', 'distributed', 'dask'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]" and done.stderr == ""


def test_every_public_name_is_there():
    for name in leftout.__all__:
        assert getattr(leftout, name) is not None
    assert set(leftout.__all__) <= set(dir(leftout))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        leftout.nothing  # noqa: B018


def constants(node):
    """Names that a statement of a module gives values to, each with its value as it is written."""
    for target in getattr(node, "targets", None) or [node.target]:
        both = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
        pairs = zip(target.elts, node.value.elts, strict=True) if both else [(target, node.value)]
        for name, value in pairs:
            if isinstance(name, ast.Name) and not name.id.startswith("_") and value is not None:
                yield name.id, ast.unparse(value)


def test_a_name_has_one_meaning():
    """A class has a name of its own; public constants of one name have one value."""
    classes, values = Counter(), defaultdict(set)
    for path in modules():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                classes[node.name] += 1
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                for name, value in constants(node):
                    values[name].add(value)
    assert [name for name, times in classes.items() if times > 1] == []
    assert {name: found for name, found in values.items() if len(found) > 1} == {}
