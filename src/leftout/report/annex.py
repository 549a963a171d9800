"""A record to file: what an audit did and found, beside what regulations ask to be documented.

Every line is filled from the dict that ``audit.json`` holds; what an audit cannot know says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from leftout.text import counted, listed, percent

Data = Mapping[str, Any]
_NOT_HERE = "Not known to an audit; to be stated by whoever files this."


class AnnexPart(NamedTuple):
    """A table of the record: a number and title, the heads of its columns, its lines."""

    title: str
    heads: tuple[str, ...]
    lines: list[tuple[str, ...]]


# What is asked for, by which text, and which parts of the record (by number) have some of it.
_AI_ACT, _ANNEX = (f"EU AI Act, Regulation (EU) 2024/1689, {at}" for at in ("Art. 10", "Annex IV"))
_NYC = "New York City, Local Law 144 of 2021, with 6 RCNY 5-300 to 5-304"
_COLORADO = "Colorado, 3 CCR 702-10, Regulation 10-1-1"
_ASKED = (
    (_AI_ACT, "2 (b), (c): origin and preparation of data", "2, 3; not how they were collected"),
    (_AI_ACT, "2 (d): assumptions on what data measure and represent", "3, 6"),
    (_AI_ACT, "2 (f): examination in view of possible biases", "4, 5"),
    (_AI_ACT, "2 (g): measures to detect, prevent and mitigate biases", "4, 5 (M001, M002)"),
    (_AI_ACT, "2 (h), 3: gaps, errors, statistical properties as to groups", "2, 5, 6"),
    (_ANNEX, "2 (d): data sheets, provenance, main characteristics", "2; of provenance, the file"),
    (_ANNEX, "2 (g): validation and testing, metrics, discriminatory impacts", "4, 5, 7"),
    (_ANNEX, "3: limitations, accuracy for groups of persons", "5 (P001, P003, K001), 6"),
    (_NYC, "5-301: selection or scoring rates and impact ratios by sex, race/ethnicity and their "
     "intersections", "none: this record is supplementary to, not a substitute for, impact ratios"),
    (_NYC, "5-303: date of the audit, source and explanation of the data", "2, 7, of this audit"),
    (_COLORADO, "Sec. 5: documented testing, its methods, assumptions and results", "3 to 6; not "
     "the quantitative test by race that the Division may prescribe"),
    (_COLORADO, "Sec. 5: versions, material changes, monitoring", "7; leftout compare"),
)  # fmt: skip
_METHOD = (
    ("loss", "average squared error of a group under the shared representation, less that under "
     "its own PCA of as many components (Arjun KM and Jain 2026)"),
    ("search", "for the rows with the largest loss beyond the rest's, without group labels"),
    ("evidence", "surrogate tables with the same covariance, and with the same values and "
     "correlations; sequential p-values (Besag and Clifford 1991); halves of the rows"),
    ("multiplicity", "Holm's correction, and permutations of the rows for known groups"),
    ("mitigation", "Fair PCA (Samadi et al. 2018; Tantipongpipat et al. 2019), and the projection "
     "that is best for the worst-off group of a size"),
)  # fmt: skip


def annex(data: Data) -> list[AnnexPart]:
    """The parts of the record, in order."""
    field = ("field", "from the audit")
    found = [
        AnnexPart("Purpose", field, _purpose(data)),
        AnnexPart("Data", field, _data(data)),
        AnnexPart("Representation", field, _representation(data)),
        AnnexPart("Method", field, list(_METHOD)),
        AnnexPart("Findings", ("code", "status", "question", "detail"), _findings(data)),
        AnnexPart("Limits", field, _limits(data)),
        AnnexPart("Versions and command", field, _versions(data)),
        AnnexPart("What regulations ask for", ("text", "what is asked for", "part of this record"),
             list(_ASKED)),
    ]  # fmt: skip
    return [part._replace(title=f"{n}. {part.title}") for n, part in enumerate(found, 1)]


def _purpose(data: Data) -> list[tuple[str, ...]]:
    target = data["table"]["target"]
    return [
        ("question", f"Who is represented worst by {data['pca']['representation']['text']}"),
        ("answer", data["answer"]["fact"]),
        ("outcome compared", "none was named" if target is None else target),
        ("intended purpose of the system", _NOT_HERE),
    ]


def _data(data: Data) -> list[tuple[str, ...]]:
    file, table, roles = data["file"], data["table"], dict[str, list[str]]()
    for column in data["columns"]:
        roles.setdefault(column["role"], []).append(column["label"])
    told = "a table in memory, without a hash"
    if file is not None:
        told = f"{file['name']}, {file['bytes']:,} bytes, SHA-256 {file['sha256']}"
    rows = f"{table['rows']:,} audited of {table['rows_in_table']:,}"
    return [
        ("file", told),
        ("rows", f"{rows}; {table['distinct_rows']:,} of them distinct"),
        ("columns", f"{len(data['columns']):,}; {counted(table['features'], 'feature')}"),
        *((f"columns: {role}", ", ".join(names)) for role, names in roles.items()),
        ("collection and consent", _NOT_HERE),
    ]


def _representation(data: Data) -> list[tuple[str, ...]]:
    pca = data["pca"]
    kept = sum(share or 0.0 for share in pca["explained_variance_ratio"])
    return [
        ("what was audited", pca["representation"]["text"]),
        ("components", f"{pca['n_components']}, with {percent(kept)} of the variance"),
    ]


def _findings(data: Data) -> list[tuple[str, ...]]:
    several = data["groups"] if len(data["groups"]) > 1 else []
    each = [("", finding) for finding in data["findings"]]
    each += [(f"group {g['label']}: ", f) for g in several for f in g["findings"]]
    return [(f["code"], f["status"], f"{whose}{f['title']}", f["detail"]) for whose, f in each]


def _limits(data: Data) -> list[tuple[str, ...]]:
    unseen = [f["code"] for f in data["findings"] if f["status"] in ("not run", "not applicable")]
    fewest = data["settings"]["min_cell"]
    return [
        ("not looked at", listed(unseen) if unseen else "every question was looked at"),
        *(("to be minded", text) for text in data["answer"]["mind"]),
        *(("note", text) for text in data["notes"]),
        ("small cells", f"no fewer than {fewest} rows are told of" if fewest else "switched off"),
    ]


def _versions(data: Data) -> list[tuple[str, ...]]:
    versions = ", ".join(f"{name} {value}" for name, value in data["versions"].items())
    return [
        ("made", data["created"]),
        ("software", f"leftout {data['leftout_version']}, {versions}"),
        ("schema of audit.json", data["schema_version"]),
        ("seed", str(data["settings"]["random_state"])),
        ("command", data["settings"]["command"] or ""),
    ]


def markdown(data: Data) -> str:
    """The record as the text of annex.md."""
    lines = ["# Record of an audit by leftout", ""]
    for part in annex(data):
        rows = [part.heads, ("---",) * len(part.heads), *part.lines]
        lines += [f"## {part.title}", ""]
        lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows] + [""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Names and values may hold anything: nothing of them is markup."""
    for mark in "\\`*_[]<>|":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())
