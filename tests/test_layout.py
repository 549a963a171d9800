"""Imports point one way, and importing the package costs next to nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import leftout

ROOT = Path(leftout.__file__).parent

MAY_IMPORT = {
    "moments": set(),
    "spectra": set(),
    "tables": set(),
    "datasets": set(),
    "threads": set(),
    "losses": {"moments", "spectra"},
    "checks": {"moments", "losses", "tables"},
    "problem": {"moments", "losses"},
    "sides": {"moments", "spectra", "losses"},
    "solvers": {"moments", "spectra", "losses", "problem", "sides", "checks", "threads"},
    "bounds": {"losses", "problem"},
    "measure": {"moments", "losses", "checks"},
    "bits": set(),
    "wording": set(),
    "columns": {"tables", "wording"},
    "cleaning": {"columns", "wording"},
    "targets": {"columns", "wording"},
    "table_encoder": {"checks", "cleaning", "columns", "encoding", "tables", "targets"},
    "intake": {
        "checks",
        "cleaning",
        "columns",
        "encoding",
        "reading",
        "table_encoder",
        "tables",
        "targets",
        "wording",
    },
    "settings": set(),
    "findings": {"evidence", "explain", "mitigation", "partition", "stability", "wording"},
    "verdict": {"evidence", "explain", "mitigation", "partition", "wording"},
    "report": {"wording"},
    "audited": {
        "evidence",
        "explain",
        "files",
        "findings",
        "intake",
        "losses",
        "mitigation",
        "partition",
        "plots",
        "report",
        "settings",
        "stability",
        "verdict",
    },
    "audit_steps": {
        "audited",
        "checks",
        "evidence",
        "explain",
        "findings",
        "intake",
        "mitigation",
        "partition",
        "progress",
        "settings",
        "solvers",
        "stability",
    },
    "auditing": {
        "audit_steps",
        "audited",
        "checks",
        "evidence",
        "intake",
        "partition",
        "progress",
        "reading",
        "settings",
        "solvers",
        "threads",
    },
    "explain": {
        "moments",
        "losses",
        "measure",
        "bits",
        "columns",
        "encoding",
        "tables",
        "targets",
        "wording",
        "checks",
        "partition",
        "stability",
        "progress",
        "files",
        "threads",
    },
    "partition": {"moments", "losses", "checks", "problem", "bounds", "solvers", "threads"},
    "fair": {"moments", "losses"},
    "fair_pca": {"moments", "losses", "fair", "checks", "threads"},
    "mitigation": {
        "losses",
        "fair",
        "fair_pca",
        "checks",
        "files",
        "progress",
        "threads",
        "wording",
    },
    "options": {"columns"},
    "reading": {"cleaning", "wording"},
    "encoding": {"cleaning", "columns", "wording"},
    "surrogates": {"losses"},
    "progress": set(),
    "profiles": {"losses"},
    "files": set(),
    "chance": {
        "profiles",
        "losses",
        "checks",
        "problem",
        "bounds",
        "solvers",
        "partition",
        "surrogates",
        "progress",
        "threads",
    },
    "holdout": {
        "profiles",
        "losses",
        "checks",
        "measure",
        "solvers",
        "partition",
        "surrogates",
        "chance",
        "progress",
        "threads",
    },
    "stability": {"losses", "checks", "partition", "progress", "threads"},
    "evidence": {
        "profiles",
        "checks",
        "partition",
        "surrogates",
        "chance",
        "holdout",
        "stability",
        "progress",
        "files",
        "threads",
        "wording",
    },
    "plots": {"wording", "partition", "profiles", "stability", "explain", "mitigation"},
    "terminal": {"audited", "encoding", "explain", "mitigation", "wording"},
    "cli": {
        "audited",
        "auditing",
        "columns",
        "datasets",
        "encoding",
        "files",
        "mitigation",
        "options",
        "plots",
        "progress",
        "reading",
        "reproduce",
        "terminal",
    },
    # the public surface, and what reads, writes and reports
    "reproduce": {*leftout.__all__, "files", "progress", "reading", "report", "threads", "wording"},
    "__main__": {"cli"},
}
SPEAKS = {"cli", "terminal"}  # may use rich or print on stdout


def modules():
    return sorted(path for path in ROOT.rglob("*.py") if path.name != "__init__.py")


def name_of(path):
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            if node.module == "leftout":
                yield from (f"leftout.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    name = name_of(path)
    used = {module.split(".")[1] for module in imports(path) if module.startswith("leftout.")}
    assert used - {"__version__"} <= MAY_IMPORT[name] | {name}
    packages = {module.split(".")[0] for module in imports(path)}
    if name not in SPEAKS:
        assert not {"rich", "click"} & packages
    if name != "report":
        assert not {"jinja2", "markupsafe"} & packages


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_modules_stay_small(path):
    assert len(path.read_text().splitlines()) <= 400


def test_import_is_lazy_and_silent():
    script = (
        "import sys, leftout; "
        "print(sorted({'numba', 'matplotlib', 'sklearn', 'scipy', 'pandas', 'socket'}"
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
