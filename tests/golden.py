"""What people read of one audit, frozen: terminal, page, audit.json and figures of two groups.

``make golden`` writes the files in ``read`` anew: what is new there has to be true of the numbers
in :mod:`known` and :mod:`known_several`. Everything else is tested by values.
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

from rich.console import Console

import cells
from leftout import __version__
from leftout.report import pages

READ = Path(__file__).parent / "read"


def same(name, lines):
    """Compare line by line with a file: the difference shows which cell is another."""
    path, read = READ / f"{name}.txt", [line.rstrip() for line in lines]
    if os.environ.get("LEFTOUT_GOLDEN") == "write":
        path.write_text("\n".join(read) + "\n", encoding="utf-8")
    assert read == path.read_text(encoding="utf-8").splitlines()


def page_of(found):
    data = json.loads(found.json()) | {"versions": {"python": "0.0"}}
    return pages.page(data)


def page_lines(found):
    lines = cells.Page(page_of(found)).lines
    return [line.replace(f"leftout {__version__}", "leftout VERSION") for line in lines]


def on_terminal(show, *given):
    console = Console(file=io.StringIO(), width=140, legacy_windows=False)
    show(console, *given)
    return console.file.getvalue().splitlines()


def leaves(data, path=""):
    """Plain data as lines, one a leaf; lists of numbers or words are leaves, of longer ones two."""
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from leaves(value, f"{path}.{key}" if path else key)
    elif isinstance(data, list) and any(isinstance(each, dict | list) for each in data):
        yield f"len({path}) = {len(data)}"
        for place, value in enumerate(data[:2]):
            yield from leaves(value, f"{path}[{place}]")
    else:
        yield f"{path} = {json.dumps(rounded(data))}"


def rounded(data):
    if isinstance(data, list):
        return [rounded(value) for value in data]
    return float(f"{data:.9g}") if isinstance(data, float) else data
