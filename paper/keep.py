"""Keep the numbers that docs/paper.md speaks of.

Usage: ``python -m paper.keep FOLDER/reproduction.json``

Writes docs/paper.json, the run without its long parts; a test compares the page with it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "paper.json"
_LONG = ("features", "cumulative_variance", "feature_scores", "rules", "stability")


def kept(data: dict) -> dict:
    """The run without matrices, epochs and dimensions."""
    sections = {}
    for key, section in data["datasets"].items():
        short = {name: value for name, value in section.items() if name not in _LONG}
        short["mitigation"] = {
            name: {
                formula: {part: each for part, each in found.items() if part != "by_dimension"}
                for formula, found in both.items()
            }
            for name, both in section["mitigation"].items()
        }
        short["agreement"] = {
            formula: {
                part: each
                for part, each in found.items()
                if part.startswith(("agreement", "jaccard_of"))
            }
            for formula, found in section["stability"].items()
        }
        short["leading"] = {f: s["top"] for f, s in section["feature_scores"].items()}
        sections[key] = short
    verdicts = [
        {
            "pointer": line["pointer"],
            "published": line["published"],
            **{
                formula: {part: each for part, each in line[formula].items() if part != "reason"}
                for formula in ("paper", "definition")
            },
        }
        for line in data["verdicts"]
    ]
    whole = ("schema_version", "leftout_version", "headline", "settings", "counts")
    return {name: data[name] for name in whole} | {"datasets": sections, "verdicts": verdicts}


def rounded(data: Any) -> Any:
    """Six digits are more than the page has."""
    if isinstance(data, dict):
        return {key: rounded(value) for key, value in data.items()}
    if isinstance(data, list):
        return [rounded(value) for value in data]
    return float(f"{data:.6g}") if isinstance(data, float) else data


if __name__ == "__main__":
    data = kept(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    PAGE.write_text(json.dumps(rounded(data), indent=0) + "\n", encoding="utf-8")
