"""What a wheel and an sdist must hold, and must not; which version this is."""

from __future__ import annotations

import re
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "leftout"
LARGEST = 1_000_000
# Files that are not Python, and that nothing would miss until somebody uses them.
NEEDED = (
    "py.typed",
    "__init__.pyi",
    "data/profiling/words.toml",
    "datasets/demo.csv",
    "report/annex.toml",
    "report/templates/page.html",
    "report/templates/page.css",
    "report/templates/page.js",
    "page/templates/base.html",
    "page/static/page.css",
    "page/static/page.js",
)
# Of the repository, what an sdist has: enough to build, test, measure and read.
SOURCES = (
    "pyproject.toml",
    "Makefile",
    "README.md",
    "CHANGELOG.md",
    "CITATION.cff",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "LICENSE",
    "src/leftout/__init__.py",
    "paper/published.json",
    "tests/test_release.py",
    "benchmarks/__main__.py",
    "docs/peers.md",
    "tools/dist.py",
)
_LEFTOVERS = re.compile(r"__pycache__|\.py[co]$|\.nb[ic]$|(^|/)\.(venv|git/|numba|peers|mypy)")


class Wrong(Exception):
    """Something that must not be released, in a sentence."""


def version() -> str:
    """The version, from the one place that has it."""
    text = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, flags=re.MULTILINE)
    if found is None:
        raise Wrong('src/leftout/__init__.py has no line __version__ = "...".')
    return found[1]


def source_files() -> set[str]:
    """Every file of the package, as a wheel names it."""
    files = (path for path in PACKAGE.rglob("*") if path.is_file())
    names = (path.relative_to(PACKAGE.parent).as_posix() for path in files)
    return {name for name in names if not _LEFTOVERS.search(name)}


def check_wheel(wheel: Path, sources: set[str]) -> None:
    """The package's files and nothing else, below a megabyte."""
    size = wheel.stat().st_size
    if size >= LARGEST:
        raise Wrong(f"{wheel.name} has {size:,} bytes; it must stay below {LARGEST:,}.")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    inside = {name for name in names if not name.split("/")[0].endswith(".dist-info")}
    if extra := sorted(inside - sources):
        raise Wrong(f"{wheel.name} holds what is not of the package: {', '.join(extra[:5])}.")
    needed = sources | {f"leftout/{name}" for name in NEEDED}
    if missing := sorted(needed - inside):
        raise Wrong(f"{wheel.name} lacks {', '.join(missing[:5])}.")
    if not any(name.endswith(".dist-info/licenses/LICENSE") for name in names):
        raise Wrong(f"{wheel.name} has no licence.")


def check_sdist(sdist: Path) -> None:
    """What it takes to build and test, and no leftovers of either."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    if missing := sorted(set(SOURCES) - names):
        raise Wrong(f"{sdist.name} lacks {', '.join(missing)}.")
    if left := sorted(name for name in names if _LEFTOVERS.search(name)):
        raise Wrong(f"{sdist.name} holds leftovers: {', '.join(left[:5])}.")


def check_version(released: str | None) -> None:
    """CITATION.cff says the same version; for a tag, it is this one, and the changelog has it."""
    ours = version()
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    if cited is None or cited[1] != ours:
        raise Wrong(f"CITATION.cff does not say version {ours}, as src/leftout/__init__.py does.")
    if released is None:
        return
    if released != f"v{ours}":
        raise Wrong(f"The tag {released} does not fit version {ours}: v{ours} is needed.")
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(ours)}\] - \d{{4}}-\d{{2}}-\d{{2}}$", log, re.MULTILINE):
        raise Wrong(f"CHANGELOG.md has no heading '## [{ours}] - YYYY-MM-DD'.")
