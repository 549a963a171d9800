"""The whole reproduction: every table and figure of the paper, ours beside theirs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leftout import __version__, report
from leftout.checks import Refusal
from leftout.files import plain, write_into
from leftout.reproduce import contents, drawings, facts
from leftout.reproduce.compare import Results, compared
from leftout.reproduce.formulas import FORMULAS
from leftout.reproduce.known import STUDENTS, TABLES
from leftout.reproduce.lessons import headline, lessons
from leftout.reproduce.measured import (
    DAYTIME,
    FOUND,
    LOW,
    Sampled,
    across,
    components,
    cumulative_variance,
    known_groups,
    matrix,
    measure,
)
from leftout.reproduce.tables import Prepared, prepare
from leftout.reproduce.verdicts import published
from leftout.running import Report, Stages, clean_interrupts, one_thread
from leftout.wording import listed, shortened

SCHEMA_VERSION = "1.0"
THRESHOLD = 0.8
_NAMES = {
    FOUND: ("rest", "left-out group"),
    DAYTIME: ("daytime", "evening"),
    LOW: ("low grade, tuition unpaid", "others"),
}
# How long things take, more or less, beside one search of credit's further samples.
_SHARE = {"students": 3.0, "credit": 1.0, "diabetes": 1.3}
_FIRST, _LATER = 4.0, 1.2


@dataclass(frozen=True)
class Reproduction:
    """What was found, as plain data, and the figures.

    Attributes
    ----------
    data : dict
        ``headline``, ``counts``, ``verdicts`` (one for each published number, by its JSON pointer),
        ``datasets`` with all tables, ``published``, ``settings``.
    drawings : dict
        Figures by name, each with ``draw(ax)``, ``caption`` and ``alternative``.
    """

    data: dict[str, Any]
    drawings: dict[str, drawings.Drawing]

    def summary(self) -> str:
        """What was found, in sentences."""
        lines = [self.data["headline"]]
        for data in self.data["datasets"].values():
            lines += ["", f"{data['title']}:", *(f"- {line}" for line in data["lessons"])]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Reproduction of {listed(list(self.data['datasets']))}>"

    def to_dict(self) -> dict[str, Any]:
        return self.data

    def json(self) -> str:
        return json.dumps(self.data, indent=1) + "\n"

    def html(self) -> str:
        """One page with all that it needs."""
        return report.reproduction(self.data, self.drawings)

    def files(self) -> dict[str, str]:
        """All files, by their path in a folder."""
        figures = {
            f"figures/{name}.svg": report.standalone(each.draw)
            for name, each in self.drawings.items()
        }
        return {"reproduction.html": self.html(), "reproduction.json": self.json(), **figures}

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the page, the data and the figures to a folder; all of them, or none changes."""
        return write_into(Path(folder), self.files())


@clean_interrupts()
def paper(
    folder: str | os.PathLike[str],
    *,
    datasets: Iterable[str] | None = None,
    runs: int = 30,
    samples: int = 10,
    rows: int = 2_000,
    chance: int = 39,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Report | bool | None = None,
) -> Reproduction:
    """Reproduce the paper's tables and figures from the tables in a folder.

    Parameters
    ----------
    folder : path
        Holds the tables, under the names that they are downloaded by.
    datasets : list of {"students", "credit", "diabetes"}, optional
        All three by default.
    runs : int, default=30
        Runs of greedy on every sample, and of every search on the first.
    samples : int, default=10
        Samples of each table; seeds ``random_state``, ``random_state + 1`` and so on.
    rows : int, default=2000
        Rows of a sample, in proportion to the target's values.
    chance : int, default=39
        Chance tables that the definition's group is judged by; 0 for none.
    random_state : int, default=0
    n_jobs : int or None
        Threads. The answer does not depend on it.
    progress : callable, bool or None
        ``progress(what, done, total)`` is called as work goes on; True: to stderr.

    Returns
    -------
    Reproduction
    """
    chosen = _chosen(datasets)
    for name, value, least in (
        ("runs", runs, 2), ("samples", samples, 1), ("rows", rows, 100), ("chance", chance, 0),
        ("random_state", random_state, 0),
    ):  # fmt: skip
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise Refusal(f"{name}={value!r} is not a number from {least}.")
    # What is wrong with a table is said before anything else.
    tables = {key: prepare(Path(folder), TABLES[key], rows) for key in chosen}
    settings = {
        "runs": runs, "samples": samples, "rows": rows, "chance": chance,
        "random_state": random_state, "variance_threshold": THRESHOLD,
    }  # fmt: skip
    stages = Stages(_plan(chosen, samples), progress)
    measured, sections = {}, {}
    figures: dict[str, drawings.Drawing] = {}
    with one_thread():  # of BLAS: matrices are small, and runs have threads of their own
        for key, table in tables.items():
            measured[key] = _samples(table, settings, n_jobs, stages)
            sections[key], drawn = _section(table, measured[key], settings, n_jobs, stages)
            figures |= drawn
        results = Results(measured, runs, THRESHOLD)
        data = _data(results, sections, settings)
    stages.end()
    return Reproduction(plain(data), figures)


def _samples(
    prepared: Prepared, settings: dict[str, Any], n_jobs: int | None, stages: Stages
) -> list[Sampled]:
    """Everything that is measured on every sample of a table."""
    known, samples = prepared.known, settings["samples"]
    d = known.n_components
    every = []
    for number in range(samples):
        report = stages.begin(f"{known.key}: sample {number + 1} of {samples}")
        seed = settings["random_state"] + number
        sample = prepared.sample(settings["rows"], seed)
        if d is None:  # by the rule, on the first sample
            d = components(cumulative_variance(matrix(sample)), THRESHOLD)
        every.append(
            measure(
                known, sample, d, THRESHOLD, settings["runs"], seed, number == 0, n_jobs, report
            )
        )
    return every


def _data(
    results: Results, sections: dict[str, dict[str, Any]], settings: dict[str, Any]
) -> dict[str, Any]:
    """All of it as plain data."""
    for key, section in sections.items():
        section["partitions"] = contents.partitions(results, key)
        for formula in FORMULAS:
            section["stability"][formula.key] = contents.stability(results, key, formula)
            section["feature_scores"][formula.key] = contents.scores(results, TABLES[key], formula)
            section["rules"][formula.key] = contents.rules(results, key, formula)
        section["lessons"] = lessons(section)
    verdicts = contents.verdicts(compared(results))
    counts = contents.counts(verdicts)
    return {
        "schema_version": SCHEMA_VERSION,
        "leftout_version": __version__,
        "paper": published()["source"],
        "headline": headline(counts),
        "settings": settings,
        "formulas": {f.key: {"loss": f.loss, "centering": f.centering} for f in FORMULAS},
        "counts": counts,
        "datasets": sections,
        "published": {**published(), "scores": contents.published_scores()},
        "verdicts": verdicts,
    }


def _chosen(datasets: Iterable[str] | None) -> list[str]:
    asked = list(TABLES) if datasets is None else list(datasets)
    unknown = [name for name in asked if name not in TABLES]
    if unknown or not asked:
        what = f"There is no data set {unknown[0]!r}" if unknown else "No data set is named"
        raise Refusal(f"{shortened(what)}; choose from {listed(list(TABLES))}.")
    return [name for name in TABLES if name in asked]


def _plan(chosen: list[str], samples: int) -> dict[str, float]:
    plan = {}
    for key in chosen:
        share = _SHARE[key]
        for number in range(samples):
            name = f"{key}: sample {number + 1} of {samples}"
            plan[name] = share * (1.0 if number else _FIRST)
        plan[f"{key}: is it real"] = plan[f"{key}: Fair PCA"] = share * _LATER
    return plan


def _section(
    prepared: Prepared,
    every: list[Sampled],
    settings: dict[str, Any],
    n_jobs: int | None,
    stages: Stages,
) -> tuple[dict[str, Any], dict[str, drawings.Drawing]]:
    """What only the first sample of a table is asked, and the frame of its section."""
    known, first = prepared.known, every[0]
    smallest = facts.smallest_side(first.X)
    chance, seed = settings["chance"], settings["random_state"]
    evidence = None
    report = stages.begin(f"{known.key}: is it real")
    if chance:
        evidence = facts.believed(known, first, chance, seed, n_jobs, report)
    seeds = [sample.seed for sample in every]
    theirs = published()["mitigation"] if known is STUDENTS else {}
    figures = drawings.of_sample(known.key, first, THRESHOLD)
    mitigation: dict[str, Any] = {}
    report = stages.begin(f"{known.key}: Fair PCA")
    done = 0
    for formula in FORMULAS:
        of = first.formulas[formula.key]
        groups = {FOUND: of.found[formula.headline].group.astype(int)}
        groups |= known_groups(known, first.sample.raw)
        for name, labels in groups.items():
            report(f"{' and '.join(_NAMES[name])}, {formula.words}", done, 2 * len(groups))
            done += 1
            lines = across(first.X, labels, formula)
            at = contents.mitigation(_NAMES[name], of.mended[name], lines, theirs.get(name))
            mitigation.setdefault(name, {})[formula.key] = at
            drawn, drawing = drawings.of_fair(
                known.key, name, formula, lines, _NAMES[name], first.d
            )
            figures[drawn] = drawing
    section = {
        "title": known.title,
        "file": prepared.file,
        "rows_in_table": len(prepared.frame),
        "features": list(first.sample.X.columns),
        "target": f"{known.target} = {known.positive}",
        "n_components": first.d,
        "published_n_components": known.n_components,
        "n_components_by_rule": [sample.d_by_rule for sample in every],
        "cumulative_variance": first.cumulative.tolist(),
        "min_group_size": smallest,
        "preparation": facts.preparation(
            prepared, settings["rows"], seeds, known.n_components, THRESHOLD
        ),
        "ceiling": max(facts.ceiling(s.X - s.X.mean(axis=0), s.d, smallest) for s in every),
        "ceiling_uncentred": max(facts.ceiling(s.X, s.d, smallest) for s in every),
        "formulas_tried": facts.formulas_tried(known, every),
        "projection_moves": facts.shared_projection_moves(first),
        "cuts": facts.cuts(first, smallest),
        "centrings": facts.centrings(first),
        "energy": facts.energy(first),
        "stability": {},
        "feature_scores": {},
        "rules": {},
        "mitigation": mitigation,
        "who": {
            f.key: facts.who(
                known, first.sample, first.formulas[f.key].found[f.headline].group, first.d, f
            )
            for f in FORMULAS
        },
        "evidence": evidence,
    }
    return section, figures
