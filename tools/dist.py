"""Build wheel and sdist, check them, try the wheel outside the repository: ``make dist``.

Everything happens in a temporary folder; the two files appear in ``dist`` when all is well.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from contents import ROOT, Wrong, check_sdist, check_version, check_wheel, source_files, version


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """A step that must work, without what this environment would let it find."""
    print("$", *command, flush=True)
    told = ("PYTHONPATH", "NUMBA_CACHE_DIR", "VIRTUAL_ENV", "MYPYPATH")
    environment = {name: value for name, value in os.environ.items() if name not in told}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=environment)
    if done.returncode:
        raise Wrong(f"{Path(command[0]).name} ended with {done.returncode}.")


def build(folder: Path) -> tuple[Path, Path]:
    """Wheel and sdist; the wheel is built from the sdist, so that one is whole, too."""
    run(sys.executable, "-m", "build", "--outdir", folder)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def check(wheel: Path, sdist: Path, tag: str | None) -> None:
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    # it has no module to run, only a script
    run(Path(sys.executable).parent / "cffconvert", "--validate", "-i", ROOT / "CITATION.cff")
    check_version(tag)
    check_wheel(wheel, source_files())
    check_sdist(sdist)
    size = f"{wheel.stat().st_size / 1000:.0f} and {sdist.stat().st_size / 1000:.0f} KB"
    print(f"{wheel.name} and {sdist.name}: {size}, contents as they should be.")


def try_out(wheel: Path, folder: Path) -> None:
    """Install the wheel into an empty environment, and use it from an empty folder."""
    home, outside = folder / "environment", folder / "outside"
    venv.create(home, with_pip=True)
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    outside.mkdir()
    for file in (ROOT / "tools" / "smoke.py", ROOT / "tests" / "typed" / "uses_leftout.py"):
        shutil.copy(file, outside)
    pip = (scripts / "python", "-m", "pip", "--disable-pip-version-check", "--quiet", "install")
    run(*pip, f"leftout[demo,page] @ {wheel.as_uri()}", cwd=outside)
    run(scripts / "python", "smoke.py", version(), cwd=outside)
    run(scripts / "leftout", "demo", "--quick", "--quiet", "--out", "report", cwd=outside)
    for name in ("report.html", "audit.json", "groups.csv"):
        if not (outside / "report" / name).stat().st_size:
            raise Wrong(f"leftout demo left {name} empty.")
    typed = ("--strict", "--cache-dir", folder / "types", "uses_leftout.py")
    run(
        *(sys.executable, "-m", "mypy", "--python-executable", scripts / "python", *typed),
        cwd=outside,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", help="the tag to release, such as v0.1.0")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        try:
            wheel, sdist = build(folder / "built")
            check(wheel, sdist, given.tag)
            try_out(wheel, folder)
        except (Wrong, OSError) as error:
            sys.exit(f"Not released: {error}")
        place = ROOT / "dist"
        shutil.rmtree(place, ignore_errors=True)
        shutil.move(folder / "built", place)
    print(f"dist/{wheel.name} and dist/{sdist.name} are ready.")


if __name__ == "__main__":
    main()
