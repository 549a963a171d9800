"""The columns of a table as the page knows them: searched by name, a page of them at a time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ON_A_PAGE = 50


@dataclass(frozen=True)
class ShownColumns:
    """Some columns, each with its place in the table, and where these are among those found."""

    columns: list[tuple[int, dict[str, Any]]]
    found: int
    page: int
    pages: int


@dataclass(frozen=True)
class Columns:
    """What a look at a table found."""

    rows: int
    judged_on: int
    features: int
    notes: list[str]
    columns: list[dict[str, Any]]
    sheets: list[str]

    @classmethod
    def of(cls, path: Path) -> Columns:
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def __len__(self) -> int:
        return len(self.columns)

    def name(self, place: int) -> str:
        return str(self.columns[place]["name"])

    def shown(self, wanted: str, page: int) -> ShownColumns:
        """The columns whose name, label or kind holds what is wanted; ``page`` counts from 1."""
        text = wanted.casefold().strip()
        found = [
            (place, column)
            for place, column in enumerate(self.columns)
            if any(text in str(column[key]).casefold() for key in ("name", "label", "kind"))
        ]
        pages = max(1, -(-len(found) // ON_A_PAGE))
        page = min(max(1, page), pages)
        begin = (page - 1) * ON_A_PAGE
        return ShownColumns(found[begin : begin + ON_A_PAGE], len(found), page, pages)
