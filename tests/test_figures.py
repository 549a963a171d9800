"""Figures of the report read back: every bar of known numbers, its marks, and their colours."""

from __future__ import annotations

from pathlib import Path

import known
from golden import page_lines, same
from leftout import report

HEADS = ("h2 ", "h3 ", "caption ")
COLOURS = {"left": "#b5402a", "rest": "#3a6ea5", "fair": "#1b7f5c"}


def test_the_figures():
    """Every line with a bar or a mark, below the heads it stands under."""
    heads, lines = [], []
    for line in page_lines(known.audit()):
        if line.startswith(HEADS):  # a head ends what stood under others of its kind, and below
            kinds = HEADS[: HEADS.index(line.split()[0] + " ")]
            heads = [*(head for head in heads if head.startswith(kinds)), line]
        elif "[fill " in line or "[mark " in line or "[key " in line:
            lines += [*(head for head in heads if head not in lines), line]
    same("figures", lines)


def test_the_sides_keep_their_colours():
    style = (Path(report.__file__).parent / "templates" / "page.css").read_text(encoding="utf-8")
    light = style.split("@media")[0]
    for name, colour in COLOURS.items():
        assert f"--{name}: {colour};" in light
    assert ".cards .left { color: var(--left); }" in style
    assert ".meter .fill { fill: var(--left);" in style
    assert ".meter .rest, .meter .values { fill: var(--rest); }" in style
    # what was not looked at looks like no answer
    dashed = ".status.not-applicable, .status.not-run { color: var(--grey); border-style: dashed;"
    assert dashed in style and ".status.found { font-weight: 600;" in style
