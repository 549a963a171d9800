"""One environment for each tool, with pinned versions, kept in ``.peers`` (which git ignores)."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
KEPT = HERE.parents[1] / ".peers"


def python_of(tool: str) -> tuple[str | None, str]:
    """The tool's own Python, or None and the reason why there is none.

    A tool without pinned requirements runs here: it is ours, or a few lines of scikit-learn.
    """
    pinned = HERE / "requirements" / f"{tool}.txt"
    if not pinned.exists():
        return sys.executable, ""
    folder = KEPT / tool
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    state = hashlib.sha256(pinned.read_bytes()).hexdigest()
    stamp = folder / "installed.txt"
    if stamp.exists() and stamp.read_text() == state:
        return str(python), ""
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet"]
        + ["install", "--no-deps", "-r", str(pinned)],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["no reason given"]
            return None, f"it does not install: {said[-1]}"
    stamp.write_text(state)
    return str(python), ""
