"""Ask one tool about all tables, in the tool's own environment.

``python ask.py TOOL TABLES ANSWERS`` reads ``TABLES/*.npz``, calls ``answer`` of ``by_TOOL.py`` for
each, and writes who it points at, whether it claims a group by a criterion of its own (or that
it has none), and the CPU seconds that took. It needs NumPy and the tool, and not leftout.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import numpy as np


def jaccard(found: np.ndarray, planted: np.ndarray) -> float:
    return float((found & planted).sum() / max((found | planted).sum(), 1))


def read(path: Path) -> dict:
    with np.load(path) as file:
        return dict(file.items())


def asked(module, path: Path) -> dict:
    table = read(path)
    began = time.process_time()
    answer = module.answer(table)
    seconds = time.process_time() - began
    if answer is None:
        return {"table": path.stem, "asked": False}
    found, claims, words = answer
    planted = table["planted"]
    return {
        "table": path.stem,
        "asked": True,
        "size": int(found.sum()),
        "jaccard": jaccard(found, planted) if planted.any() else None,
        "claims": claims,
        "words": words,
        "seconds": round(seconds, 4),
    }


def main(tool: str, tables: str, answers: str) -> None:
    warnings.simplefilter("ignore")
    module = import_module(f"by_{tool}")
    paths = sorted(Path(tables).glob("*.npz"))
    # What compiles or loads at first use is not counted: a few rows first.
    for kind in ("hidden-0", "named-0"):
        few = read(Path(tables) / f"{kind}.npz")
        module.answer({name: cells[:300] for name, cells in few.items()})
    result = {
        "versions": {name: version(name) for name in module.PACKAGES},
        "answers": [asked(module, path) for path in paths],
    }
    Path(answers).write_text(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
