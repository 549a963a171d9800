"""Ask every tool about the same tables: ``make peers``, or ``python -m benchmarks.peers``.

``--count`` tables of each kind, ``--jobs`` tools at a time; ``--only WORD`` asks the tools whose
name contains the word and prints what they say. A run of all tools writes docs/peers.json and the
numbers of docs/peers.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import page, tables
from benchmarks.peers.environments import python_of
from leftout.files import write_whole

ASK = Path(__file__).parent / "tools" / "ask.py"
# Nobody waits longer for one tool.
LONGEST = 3600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    tools = [tool for tool in page.TOOLS if given.only in tool]
    with tempfile.TemporaryDirectory() as folder:
        draw_all(Path(folder), given.count)
        with ThreadPoolExecutor(given.jobs) as pool:
            results = pool.map(lambda tool: ask(tool, Path(folder)), tools)
            asked = dict(zip(tools, results, strict=True))
    run = described(given.count, asked)
    if given.only:
        print(json.dumps(asked, indent=1))
        return
    written = page.written(page.PAGE.read_text(encoding="utf-8"), run)
    write_whole(page.PAGE.with_suffix(".json"), json.dumps(run, indent=1) + "\n")
    write_whole(page.PAGE, written)
    print(page.told(run))


def draw_all(folder: Path, count: int) -> None:
    for kind in tables.KINDS:
        name = kind.replace(", none planted", "_none")
        for seed in range(count):
            np.savez(folder / f"{name}-{seed}.npz", **tables.draw(kind, seed))


def ask(tool: str, folder: Path) -> dict[str, Any]:
    """A tool's answers, or why it could not be asked."""
    python, reason = python_of(tool)
    if python is None:
        return {"skipped": reason}
    answers = folder / f"{tool}.json"
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [python, str(ASK), tool, str(folder), str(answers)]
    try:
        done = subprocess.run(
            command,
            env=os.environ | threads,
            capture_output=True,
            text=True,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        return {"skipped": f"no answer within {LONGEST} s"}
    if done.returncode:
        return {"skipped": f"it fails: {(done.stderr.strip().splitlines() or ['?'])[-1]}"}
    found: dict[str, Any] = json.loads(answers.read_text())
    print(f"{tool}: {len(found['answers'])} tables", flush=True)
    return found


def described(count: int, asked: dict[str, Any]) -> dict[str, Any]:
    """What was measured, on what, by which versions."""
    seconds = sum(
        answer["seconds"]
        for result in asked.values()
        for answer in result.get("answers", [])
        if answer["asked"]
    )
    return {
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "tables": count,
        "rows": tables.ROWS,
        "features": tables.FEATURES,
        "components": tables.COMPONENTS,
        "group": tables.GROUP,
        "seconds": round(seconds, 1),
        "tools": asked,
    }


if __name__ == "__main__":
    main()
