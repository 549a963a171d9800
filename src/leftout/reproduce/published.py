"""The numbers that the paper reports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any


@cache
def published() -> dict[str, Any]:
    """All numbers, as they stand in the paper's text, tables and figures."""
    text = (Path(__file__).parent / "published.json").read_text(encoding="utf-8")
    numbers: dict[str, Any] = json.loads(text)
    return numbers


def numbers(data: Any, pointer: str = "") -> Iterator[tuple[str, float]]:
    """Every number in plain data, with its JSON pointer (RFC 6901)."""
    if isinstance(data, dict):
        for key, value in data.items():
            escaped = key.replace("~", "~0").replace("/", "~1")
            yield from numbers(value, f"{pointer}/{escaped}")
    elif isinstance(data, list):
        for place, value in enumerate(data):
            yield from numbers(value, f"{pointer}/{place}")
    elif isinstance(data, int | float) and not isinstance(data, bool):
        yield pointer, data
