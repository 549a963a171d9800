"""What is printed: all of two groups as it is read; other commands by their cells."""

from __future__ import annotations

from dataclasses import replace

import known
import known_several
from golden import on_terminal, same
from leftout.cli import terminal


def table(lines, *words):
    """The cells of the lines that hold all of these words."""
    rows = [line for line in lines if "\u2502" in line and all(word in line for word in words)]
    return [[cell.strip() for cell in row.strip("\u2502").split("\u2502")] for row in rows]


def test_the_terminal():
    found = known_several.audit()
    assert len(on_terminal(terminal.show_audit, found)) <= 49
    same("terminal", on_terminal(terminal.show_audit, found, True))


def test_one_group_has_its_costs_and_findings():
    lines = on_terminal(terminal.show_audit, known.audit())
    assert " ".join(lines).startswith(known.audit().headline())
    whole = on_terminal(terminal.show_audit, known.audit(), True)
    answers = [row for row in table(whole) if row[0] in ("P001", "M002", "K001")]
    assert [row[2] for row in answers] == ["found"] * 3
    costs = {row[0]: row[1:] for row in table(whole) if len(row) == 3}
    assert costs["PCA"] == ["23.7%", "14.0%"] and costs["always saying yes"] == ["32.3%", "31.0%"]


def test_nothing_weighed_is_printed_without_tables_of_it():
    lines = on_terminal(terminal.show_audit, known.bare(), True)
    assert not any("Subgroups" in line or "Known groups" in line for line in lines)
    assert table(lines, "P001")[0][2] in ("not run", "not applicable")


def many_known():
    """More groups than a terminal shows."""
    groups = [
        known.known_group(known.SEX, size=307 + i, p_value=0.01 * i, loss=0.2 - i / 100)
        for i in range(1, 10)
    ]
    return known.known_groups(groups=[*groups, *known.known_groups().too_small])


def test_groups_with_a_name_and_known_ones():
    lines = on_terminal(terminal.show_groups, known.named(False), many_known())
    first = table(lines, "town = Beeley")[0]
    assert first[:5] == ["town = Beeley", "217", "0.707", "0.053", "0.111"]
    assert table(lines, "sex = f")[0][:4] == ["sex = f", "308", "yes", "0.01"]
    assert any("The first 8 of 9." in line for line in lines)
    alone = on_terminal(terminal.show_groups, known.named(groups=[]), None)
    assert not table(alone) and any("How to read this." in line for line in alone)


def test_fair_pca_for_known_groups():
    given = (["sex", "town"],)
    lines = on_terminal(terminal.show_fair, known.mitigation(), ["side"])
    found = known.mitigation()
    for size, loss in zip(found.sizes, found.losses_before, strict=True):
        assert table(lines, f"{size:,}")[0][1:3] == [f"{size:,}", f"{loss:.3g}"]
    three = known.three_groups()
    plain = on_terminal(terminal.show_fair, three, *given)
    assert any("dimensions" in line for line in plain)


def sides_of(*names):
    """Costs of groups that somebody knows, the first one asked about first."""
    found = known.harm(repeats=1, missing=0)
    figures = [replace(line, side=name) for name in names for line in found.figures[:4]]
    figures += [replace(line, side="all others") for line in found.figures[4:8]]
    return replace(
        found, group=names[0], rest="all others", sizes=dict.fromkeys(names, 100.0),
        figures=figures, costs=[replace(cost, side=names[0]) for cost in found.costs],
    )  # fmt: skip


def test_what_models_pay():
    found = sides_of("north", "south")
    lines = on_terminal(terminal.show_harm, found, known.compared())
    costs = {row[0]: row[1:] for row in table(lines)}
    assert costs["PCA"] == ["23.7%", "23.7%", "14.0%"]
    assert costs["always saying yes"] == ["32.3%", "32.3%", "31.0%"]
    many = [f"part {place}" for place in range(9)]
    turned = table(on_terminal(terminal.show_harm, sides_of(*many), None))
    assert [row[:3] for row in turned if row[0].startswith("part")] == [
        [name, "11.7%", "23.7%"] for name in many
    ]
    assert any("The prediction that is there." in line for line in lines)
    assert not any("The prediction" in x for x in on_terminal(terminal.show_harm, found, None))
