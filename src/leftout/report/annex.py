"""A record to file: what an audit did and found, beside what regulations ask to be documented.

Every line is filled from the dict that ``audit.json`` holds; what an audit cannot know says so.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from leftout.text import counted, listed, percent

Data = Mapping[str, Any]
_NOT_HERE = "Not known to an audit; to be stated by whoever files this."


class AnnexPart(NamedTuple):
    """A table of the record: a number and title, the heads of its columns, its lines."""

    title: str
    heads: tuple[str, ...]
    lines: list[tuple[str, ...]]


# What is asked for, by which text, and the method with its references.
_CITED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def annex(data: Data) -> list[AnnexPart]:
    """The parts of the record, in order."""
    field = ("field", "from the audit")
    found = [
        AnnexPart("Purpose", field, _purpose(data)),
        AnnexPart("Data", field, _data(data)),
        AnnexPart("Representation", field, _representation(data)),
        AnnexPart("Method", field, list(_CITED["method"].items())),
        AnnexPart("Findings", ("code", "status", "question", "detail"), _findings(data)),
        AnnexPart("Limits", field, _limits(data)),
        AnnexPart("Versions and command", field, _versions(data)),
        AnnexPart("What regulations ask for", ("text", "what is asked for", "part of this record"),
             [(each["text"], *part) for each in _CITED["asked"] for part in each["parts"]]),
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
