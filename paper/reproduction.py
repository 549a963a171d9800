"""The whole reproduction: every table and figure of the paper, ours beside theirs."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leftout import __version__
from leftout.errors import InputError
from leftout.files import plain, write_into
from leftout.report.pages import rendered
from leftout.running import Report, Stages, clean_interrupts, one_thread
from leftout.text import listed, shortened
from paper import contents, drawings
from paper.compare import Results
from paper.known import STUDENTS, TABLES
from paper.lessons import believed, facts, headline, lessons, who
from paper.measure import (
    DAYTIME,
    FORMULAS,
    FOUND,
    LOW,
    THRESHOLD,
    Sampled,
    measure,
    mend,
)
from paper.tables import Prepared, prepare
from paper.verdicts import published

SCHEMA_VERSION = "1.0"
_TEMPLATES = Path(__file__).parent / "templates"
# Partitions that Fair PCA is tried on: the paper's figure, and what the groups are called.
_PARTITIONS = {
    FOUND: (5, ("rest", "left-out group")),
    DAYTIME: (6, ("daytime", "evening")),
    LOW: (7, ("low grade, tuition unpaid", "others")),
}
_LEAST = {"runs": 2, "samples": 1, "rows": 100, "chance": 0, "random_state": 0}
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

    def files(self) -> dict[str, str]:
        """All files, by their path in a folder."""
        figures = {
            f"figures/{name}.svg": drawings.standalone(each.draw)
            for name, each in self.drawings.items()
        }
        return {
            "reproduction.html": page(self.data, self.drawings),
            "reproduction.json": json.dumps(self.data, indent=1) + "\n",
            **figures,
        }

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the page, the data and the figures to a folder; all of them, or none changes."""
        return write_into(Path(folder), self.files())


def page(data: Mapping[str, Any], figures: Mapping[str, drawings.Drawing]) -> str:
    """The page on the paper's tables and figures."""
    more = {
        "figures": {name: drawings.inline(name, each) for name, each in figures.items()},
        "captions": {name: each.caption for name, each in figures.items()},
        "verdict_of": {line["pointer"]: line for line in data["verdicts"]},
    }
    return rendered("reproduction.html", {**data, **more}, _TEMPLATES)


@clean_interrupts()
def reproduce(
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
        Comparison tables that the definition's group is judged by; 0 for none.
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
    settings: dict[str, Any] = {
        "runs": runs, "samples": samples, "rows": rows, "chance": chance,
        "random_state": random_state,
    }  # fmt: skip
    for name, value in settings.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < _LEAST[name]:
            raise InputError(f"{name}={value!r} is not a number from {_LEAST[name]}.")
    settings["variance_threshold"] = THRESHOLD
    # What is wrong with a table is said before anything else.
    tables = {key: prepare(Path(folder), TABLES[key], rows) for key in chosen}
    stages = Stages(_plan(chosen, samples), progress)
    measured, sections = {}, {}
    figures: dict[str, drawings.Drawing] = {}
    with one_thread():  # of BLAS: matrices are small, and runs have threads of their own
        for key, table in tables.items():
            measured[key] = _samples(table, settings, n_jobs, stages)
            sections[key], drawn = _section(table, measured[key], settings, n_jobs, stages)
            figures |= drawn
        verdicts = contents.verdicts(Results(measured, runs))
    stages.end()
    counts = contents.counts(verdicts)
    data = {
        "schema_version": SCHEMA_VERSION,
        "leftout_version": __version__,
        "paper": published()["source"],
        "headline": headline(counts),
        "settings": settings,
        "formulas": {f.key: f.options for f in FORMULAS},
        "counts": counts,
        "datasets": sections,
        "published": {**published(), "scores": contents.published_scores()},
        "verdicts": verdicts,
    }
    return Reproduction(plain(data), figures)


def _chosen(datasets: Iterable[str] | None) -> list[str]:
    asked = list(TABLES) if datasets is None else list(datasets)
    unknown = [name for name in asked if name not in TABLES]
    if unknown or not asked:
        what = f"There is no data set {unknown[0]!r}" if unknown else "No data set is named"
        raise InputError(f"{shortened(what)}; choose from {listed(list(TABLES))}.")
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


def _samples(
    prepared: Prepared, settings: dict[str, Any], n_jobs: int | None, stages: Stages
) -> list[Sampled]:
    """Everything that is measured on every sample of a table."""
    known, samples = prepared.known, settings["samples"]
    d = known.n_components
    every: list[Sampled] = []
    for number in range(samples):
        report = stages.begin(f"{known.key}: sample {number + 1} of {samples}")
        seed = settings["random_state"] + number
        sample = prepared.sample(settings["rows"], seed)
        every.append(measure(known, sample, d, settings["runs"], seed, not every, n_jobs, report))
        d = every[0].d  # by the rule, that of the first sample serves all
    return every


def _section(
    prepared: Prepared, every: list[Sampled], settings: dict[str, Any], n_jobs: int | None,
    stages: Stages,
) -> tuple[dict[str, Any], dict[str, drawings.Drawing]]:  # fmt: skip
    """All about one table; much of it is asked of the first sample only."""
    known, first, chance = prepared.known, every[0], settings["chance"]
    report = stages.begin(f"{known.key}: is it real")
    evidence = believed(known, first, chance, n_jobs, report) if chance else None
    report = stages.begin(f"{known.key}: Fair PCA")
    mitigation, figures = _mitigation(known.key, first, report)
    section: dict[str, Any] = {
        "title": known.title,
        "file": prepared.file,
        "rows_in_table": len(prepared.frame),
        "features": list(first.sample.X.columns),
        "target": f"{known.target} = {known.positive}",
        "n_components": first.d,
        "published_n_components": known.n_components,
        "n_components_by_rule": [sample.d_by_rule for sample in every],
        "cumulative_variance": first.cumulative.tolist(),
        **facts(prepared, every, settings["rows"]),
        "stability": {f.key: contents.stability(first, f) for f in FORMULAS},
        "feature_scores": {f.key: contents.scores(first, f) for f in FORMULAS},
        "rules": {f.key: contents.rules(first, f) for f in FORMULAS},
        "mitigation": mitigation,
        "who": {
            f.key: who(known, first.sample, first.formulas[f.key].groups[FOUND], first.d, f)
            for f in FORMULAS
        },
        "evidence": evidence,
        "partitions": contents.partitions(known.key, every),
    }
    section["lessons"] = lessons(section)
    return section, drawings.of_sample(known.key, first) | figures


def _mitigation(
    key: str, first: Sampled, report: Report
) -> tuple[dict[str, Any], dict[str, drawings.Drawing]]:
    """Fair PCA at every number of components, for every partition and formula."""
    theirs = published()["mitigation"] if key == STUDENTS.key else {}
    tables: dict[str, Any] = {}
    figures: dict[str, drawings.Drawing] = {}
    for formula in FORMULAS:
        measured = first.formulas[formula.key]
        for name, labels in measured.groups.items():
            number, groups = _PARTITIONS[name]
            total = len(FORMULAS) * len(measured.groups)
            report(f"{' and '.join(groups)}, {formula.words}", len(figures), total)
            lines = [mend(first.X, labels, d, formula) for d in range(1, first.X.shape[1])]
            table = contents.mitigation(groups, measured.mended[name], lines, theirs.get(name))
            tables.setdefault(name, {})[formula.key] = table
            called = f"{key}-fair-{name}-{formula.key}".replace("_", "-")
            figures[called] = drawings.of_fair(key, number, formula, lines, groups, first.d)
    return tables, figures
