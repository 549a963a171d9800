"""A process of the page: it looks at a table, or audits it.

``python -m leftout.page.worker`` in the folder of an audit. What is asked comes as a line of JSON
on its standard input, since others on the machine see what a process was started with: a table, and
settings of an audit where one is asked for. A look becomes ``columns.json``, an audit the files of
the command line in ``result``; progress, answers as they come and a refusal are lines of JSON.
Whoever starts it holds that input: when it ends, so does the process, without waiting for anything;
files appear whole or not at all.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from leftout.data.cleaning import clean
from leftout.data.column_reader import ColumnDeclarations, sampled_places
from leftout.data.columns import Column, names_of
from leftout.data.encoding import encode_column
from leftout.data.formats import sheet_names
from leftout.data.frames import rows_of
from leftout.data.preparation import check_length
from leftout.data.profiling.codes import WORDS, words_of
from leftout.data.profiling.column_types import ColumnFacts
from leftout.data.profiling.relations import copies
from leftout.data.roles import value_of
from leftout.data.sources import Source
from leftout.datasets import demo_dictionary, load_demo
from leftout.errors import InputError, asked_by, in_python
from leftout.files import plain, write_into, write_whole
from leftout.page.form import AUTO, OUTCOME
from leftout.page.store import SCREEN
from leftout.page.uploads import Limits
from leftout.running import collected_warnings, limit_memory
from leftout.settings import Reading, Settings, as_option
from leftout.text import as_name, quoted, shortened

if TYPE_CHECKING:
    from leftout.auditing.result import Audit

_LEFT_ALONE = 3
# Of the memory there is: two such processes may run beside the server.
_WORKER_SHARE = 0.45
_FOUND, _RESULT = "columns.json", Path("result")
# Seconds between two lines on the same step: nobody reads faster.
_EVENT_SECONDS = 0.1
# Parameters as the page calls them.
_CALLED = {
    "drop": "'leave out'", "categorical": "'codes or categories'", "numeric": "'numbers'",
    "sensitive": "'sensitive'", "target": "'outcome'", "missing": "'values that stand for nothing'",
}  # fmt: skip
# Columns are judged on so many rows, fewer where there are many columns.
_JUDGED_ROWS, _JUDGED_CELLS, _JUDGED_LEAST = 20_000, 4_000_000, 500
# An outcome of more values is compared by its mean alone.
_OUTCOME_VALUES = 30

# How much must speak for an outcome: its name; two values, or its place at the end.
_ENOUGH = 3.0


def main(asked: dict[str, Any]) -> None:
    """Audit a table with these settings, or look at it where there are none."""
    warnings.filterwarnings("ignore", module="openpyxl")  # on what it leaves aside
    file, name, limits = asked["file"], asked["name"], Limits(**asked["limits"])
    settings = asked.get("settings")
    try:
        with asked_by(_in_page if settings is None else as_option):
            if settings is None:
                write_whole(_FOUND, json.dumps(look(file, name, limits)))
            else:
                audit(_read(file, name, limits), settings)
    except InputError as error:
        _tell("refused", sentence=" ".join(str(error).split()))
    except (MemoryError, RecursionError):
        sentence = "The table is too large for this machine's memory. Keep a part of it."
        _tell("refused", sentence=sentence)


def bound_to_server() -> Any:
    """What the server asks for; end with it, leave it memory, and go first if there is no more."""
    limit_memory(_WORKER_SHARE)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")
    line = sys.stdin.buffer.readline()
    threading.Thread(target=_until_alone, daemon=True).start()
    return json.loads(line)


def _until_alone() -> None:
    while os.read(sys.stdin.fileno(), 1 << 16):
        pass
    os._exit(_LEFT_ALONE)


def _in_page(name: str, *value: Any) -> str:
    """A parameter, as the page calls what people choose."""
    return _CALLED.get(name) or in_python(name, *value)


def _tell(event: str, **more: Any) -> None:
    """A line for the server: an object with its ``event``."""
    print(json.dumps({"event": event, **more}), flush=True)


def _read(file: str | None, name: str, limits: Limits) -> Source:
    """The table; None is the demo's."""
    return Source(load_demo()) if file is None else Source.of(file, None, name, limits)


def audit(table: Source, settings: dict[str, Any]) -> None:
    """Audit a table, tell progress and answers as they come, and write the files."""
    from leftout.compiling import COMPILING, saying_so
    from leftout.engine.run import run
    from leftout.report.pages import first_screen

    last, before = 0.0, ""

    def progress(what: str, done: int, total: int) -> None:
        nonlocal last, before
        now, step = time.monotonic(), what.partition(":")[0]
        if step != before or now - last >= _EVENT_SECONDS or COMPILING in what:
            last, before = now, step
            _tell("progress", what=what, share=done / total if total else 0.0)

    if table.path is None:
        settings["dictionary"] = demo_dictionary()
    with saying_so(progress) as report:
        found = run(table, Settings(**settings), n_jobs=-1, progress=report, listener=_answer)
    progress("writing the report", 1, 1)
    contents = {
        "report.html": found.html(), "audit.json": found.json(), "groups.csv": found.csv(),
        SCREEN: first_screen(found.to_dict()),
    }  # fmt: skip
    write_into(_RESULT, contents)
    _answer(found, whole=True)


def _answer(found: Audit, whole: bool = False) -> None:
    """What is known so far; what was not looked at yet is not there."""
    lines, verdict = dict(found.answer.lines), None
    if found.trust is not None:
        verdict = found.trust.verdict_name
    elif not whole:
        del lines["Why"], lines["Does it replicate"]
    _tell("answer", headline=found.headline(), lines=lines, verdict=verdict)


def look(file: str | None, name: str, limits: Limits) -> dict[str, Any]:
    """Everything the page shows of a table; None is the demo's."""
    if file is not None and file.endswith(".xlsx"):
        sheets = sheet_names(Path(file).read_bytes(), quoted(name), limits)
        if len(sheets) > 1:  # the first may be a cover
            raise InputError(
                f"{quoted(name)} has {len(sheets)} sheets. Save the one with the table as a file "
                "of its own, or name it on the command line: leftout audit --sheet."
            )
    _tell("progress", what="reading the table", share=0.1)
    source = _read(file, name, limits)
    _tell("progress", what="looking at the columns", share=0.6)
    return plain(profiled(source, None if file is not None else demo_dictionary()))


def profiled(source: Source, dictionary: Any = None) -> dict[str, Any]:
    """Plain data on a table: its size, what to know of it, and a line for each column."""
    n_rows, names = len(source.table), names_of(source.table)
    check_length(n_rows)
    most = max(_JUDGED_LEAST, min(_JUDGED_ROWS, _JUDGED_CELLS // len(names)))
    table = rows_of(source.table, sampled_places(n_rows, most))
    with collected_warnings() as notes:
        declared = ColumnDeclarations.of(names, Reading(dictionary=dictionary))
        raw = declared.columns(table)
        columns, facts = declared.columns_and_types(raw)
    informative = [c for c, fact in zip(columns, facts, strict=True) if fact.read_as != "nothing"]
    copied = {line.column: line.of for line in copies(informative)}
    lines: list[dict[str, Any]] = []
    outcome = guessed_outcome(facts, [column.n_values for column in columns])
    for place, (old, column, fact) in enumerate(zip(raw, columns, facts, strict=True)):
        role, why = guess(fact)
        if place == outcome:
            role, why = OUTCOME, "called like an outcome"
        how, n_features = _becomes(column, fact, copied.get(column.name))
        lines.append({
            "name": fact.name,
            "label": fact.label,
            "kind": fact.kind,
            "becomes": how,
            "features": n_features,
            "missing": column.n_missing / len(column),
            "distinct": column.n_values,
            "example": _example(column),
            "levels": _levels(clean(old)),
            "guess": role,
            "why": why,
        })  # fmt: skip
    notes = [*source.notes, *notes]
    return {"rows": n_rows, "judged_on": len(table), "notes": notes, "columns": lines}


def guess(kind: ColumnFacts) -> tuple[str, str]:
    """Whether a column may be sensitive, by its name; and what it looks like, where that is odd."""
    if kind.read_as == "nothing":
        what = {"constant": "says nothing", "free text": "looks like free text"}.get(
            kind.kind, f"looks like an {kind.kind}" if kind.kind == "identifier" else "has too many"
        )
        return AUTO, f"{what}: {kind.why}"
    if set(words_of(kind.name)).intersection(WORDS["protected"]):
        return "sensitive", "called like something the law protects"
    return AUTO, "" if kind.sure else f"looks like a {kind.kind}: {kind.why}"


def guessed_outcome(facts: Sequence[ColumnFacts], n_values: Sequence[int]) -> int | None:
    """The place of the column that looks like an outcome; None where none or several do."""
    scores = np.zeros(len(facts))
    for place, (fact, n) in enumerate(zip(facts, n_values, strict=True)):
        words = set(words_of(fact.name))
        named = 1.5 * (not words.isdisjoint(WORDS["maybe_outcomes"]))
        named = 2.5 if not words.isdisjoint(WORDS["outcomes"]) else named
        if not named or fact.read_as == "nothing" or words.intersection(WORDS["protected"]):
            continue
        at_end = place in (0, len(facts) - 1)
        scores[place] = named + (n == 2) + 0.5 * (2 < n <= _OUTCOME_VALUES) + 0.75 * at_end
    order = np.argsort(-scores, kind="stable")
    best, second = (scores[order[at]] if len(order) > at else 0.0 for at in (0, 1))
    return int(order[0]) if best >= _ENOUGH and best > second else None


def _becomes(column: Column, kind: ColumnFacts, copy_of: str | None) -> tuple[str, int]:
    """What the column becomes, in a few words, and of how many features."""
    if copy_of is not None:
        return f"left out: a copy of {as_name(copy_of)}", 0
    try:
        encoded = encode_column(column, kind)
    except InputError as error:
        return f"cannot be searched: {error}", 0
    if not encoded.features:
        return f"left out: {encoded.how}", 0
    return encoded.how, len(encoded.features) + bool(encoded.missing)


def _example(column: Column) -> str:
    """The first value that a row has."""
    known = column.values[~column.missing]
    if not len(known):
        return ""
    if column.categories is not None:
        return shortened(column.categories[known[0]])
    with np.errstate(over="ignore", invalid="ignore"):
        return column.describe(float(known[0]), float(np.ptp(known)))


def _levels(column: Column) -> list[str]:
    """Values that may be chosen as the one that counts; none if there are too many."""
    if column.dates or not 1 < column.n_values <= _OUTCOME_VALUES:
        return []
    return [value_of(column, value) for value in column.present[0].tolist()]


if __name__ == "__main__":
    main(bound_to_server())
