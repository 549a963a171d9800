"""What is released is whole, says one version, and is typed as it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import leftout

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import contents  # noqa: E402

SOURCES = {f"leftout/{name}" for name in contents.NEEDED} | {"leftout/__init__.py"}
LICENCE = "leftout-0.1.0.dist-info/licenses/LICENSE"


def wheel_of(folder, names, size=1):
    path = folder / "leftout-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "x" * size)
    return path


def sdist_of(folder, names):
    path = folder / "leftout-0.1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(f"leftout-0.1.0/{name}"))
    return path


def test_the_package_has_what_a_wheel_needs():
    assert SOURCES <= contents.source_files()
    assert not any("__pycache__" in name for name in contents.source_files())


def test_a_whole_wheel_passes(tmp_path):
    contents.check_wheel(wheel_of(tmp_path, SOURCES | {LICENCE}), SOURCES)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (SOURCES | {LICENCE, "tests/test_cli.py"}, "holds what is not of the package: tests/"),
        ((SOURCES | {LICENCE}) - {"leftout/py.typed"}, r"lacks leftout/py\.typed"),
        ((SOURCES | {LICENCE}) - {"leftout/__init__.py"}, "lacks leftout/__init__"),
        (SOURCES, "has no licence"),
    ],
)
def test_a_wheel_with_more_or_less_is_not_released(tmp_path, names, message):
    with pytest.raises(contents.Wrong, match=message):
        contents.check_wheel(wheel_of(tmp_path, names), SOURCES)


def test_a_large_wheel_is_not_released(tmp_path):
    with pytest.raises(contents.Wrong, match="must stay below 1,000,000"):
        contents.check_wheel(wheel_of(tmp_path, {LICENCE}, 1_000_000), SOURCES)


def test_an_sdist_has_all_and_no_leftovers(tmp_path):
    contents.check_sdist(sdist_of(tmp_path, contents.SOURCES))
    assert all((ROOT / name).exists() for name in contents.SOURCES)
    with pytest.raises(contents.Wrong, match=r"lacks SECURITY\.md"):
        contents.check_sdist(sdist_of(tmp_path, set(contents.SOURCES) - {"SECURITY.md"}))
    with pytest.raises(contents.Wrong, match="leftovers: src/__pycache__/a"):
        contents.check_sdist(sdist_of(tmp_path, [*contents.SOURCES, "src/__pycache__/a.pyc"]))


def test_one_version_everywhere():
    assert contents.version() == leftout.__version__
    contents.check_version(None)
    with pytest.raises(contents.Wrong, match=r"The tag v9\.9\.9 does not fit version"):
        contents.check_version("v9.9.9")


def test_the_changelog_keeps_its_form():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert text.startswith("# Changelog\n")
    versions = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert versions[0].startswith("[Unreleased]\n") or versions[0].startswith(
        f"[{leftout.__version__}] - "
    )
    order = ["Added", "Changed", "Removed", "Fixed", "Security", "Numerical results changed"]
    for version in versions:
        assert re.match(r"\[(Unreleased\]|\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d)\n", version)
        heads = re.findall(r"^### (.*)$", version, flags=re.MULTILINE)
        assert heads == [head for head in order if head in heads]


def test_the_citation_is_what_its_format_asks_for():
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["cff-version"] == "1.2.0" and cited["type"] == "software"
    assert cited["message"] and cited["title"] and cited["authors"]
    assert cited["license"] == "BSD-3-Clause" and cited["preferred-citation"]["authors"]


def test_workflows_call_make_targets_that_exist():
    yaml = pytest.importorskip("yaml")
    if not (ROOT / ".github").exists():
        pytest.skip("an sdist has no workflows")
    # the documentation's targets come with its part
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = set()
    for path in sorted((ROOT / ".github").rglob("*.yml")):
        content = yaml.safe_load(path.read_text())
        assert content
        for job in content.get("jobs", {}).values():
            steps = [step.get("run", "") for step in job["steps"]]
            called |= {step.split()[1] for step in steps if step.startswith("make ")}
    assert {"test", "test-oldest", "dist", "docs", "docs-check"} == called
    assert called - {"docs", "docs-check"} <= targets


def test_types_hold_for_those_who_use_the_package():
    """By the project's settings and cache; `make dist` does it with the wheel, strictly."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "tests/typed/uses_leftout.py"],
        cwd=ROOT,
        env=os.environ | {"MYPYPATH": "src"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
