"""What people write on the command line, as what it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leftout.data.binning import strata
from leftout.data.cleaning import clean
from leftout.data.columns import column_of, find
from leftout.data.frames import column_names
from leftout.errors import InputError
from leftout.settings import NAMES, SETTINGS
from leftout.text import unambiguous

# More values than this are hardly groups.
_MOST_GROUPS = 100
# Numbers and dates are cut into so many bands, and rarer values than this are pooled.
_BANDS, _FEWEST_ROWS = 4, 30


def chosen(given: Mapping[str, Any], table: Any) -> dict[str, Any]:
    """What was given, with columns of the table, and the value that counts, where texts say so."""
    found = dict(given)
    for name in SETTINGS.keys() & given.keys():
        if SETTINGS[name].takes == NAMES or name == "groups_col":
            found[name] = names(given[name], table, name)
        elif name in ("target", "outcome"):
            found["target"], found["positive"] = target(given[name], table)
        elif name in ("prediction", "weights") and given[name] is not None:
            found[name] = find(list(table.columns), given[name], name)
    return found


def target(text: str | None, table: pd.DataFrame) -> tuple[Any, str | None]:
    """A column, and the value of it that counts where one is named: ``COL`` or ``COL=VALUE``."""
    if text is None:
        return None, None
    known = [str(name) for name in table.columns]
    if text in known or "=" not in text:
        return find(list(table.columns), text, "target"), None
    # names and values may have equals signs themselves: the longest name that is one counts
    places = [place for place, char in enumerate(text) if char == "="]
    place = next((p for p in reversed(places) if text[:p] in known), places[0])
    return find(list(table.columns), text[:place], "target"), text[place + 1 :]


def names(texts: str | Sequence[str], table: pd.DataFrame, option: str) -> list[Any]:
    """Columns that texts name: each a name as it stands, or names with commas between them."""
    known = column_names(table)
    parts: list[str] = []
    for text in [texts] if isinstance(texts, str) else texts:
        listed = [part.strip() for part in text.split(",")] if text.strip() else []
        parts += [text] if text in map(str, known) else listed
    chosen = [find(known, part, option) for part in parts]
    return list(dict.fromkeys(chosen))


def groups(table: pd.DataFrame, by: list[Any]) -> NDArray[np.str_]:
    """Each row's group by one column or several; missing values are a group of their own.

    Numbers and dates are cut into bands, and the rare ones of many values are one group.
    """
    if not by:
        raise InputError("--groups-col names no column; give the one that says each row's group.")
    smallest = min(_FEWEST_ROWS, max(1, len(table) // 4))
    parts = [_words(table[name], smallest, named=len(by) > 1) for name in by]
    labels = np.array([" / ".join(words) for words in zip(*parts, strict=True)])
    count, which = len(np.unique(labels)), " and ".join(map(repr, by))
    if count > _MOST_GROUPS:
        raise InputError(
            f"{which} have {count:,} combinations, too many to be groups (at most "
            f"{_MOST_GROUPS}). Name fewer columns, or put their values into a few classes first."
        )
    if count < 2:
        only = labels[0].removeprefix(f"{by[0]} is one of ")
        raise InputError(f"{which} has one group ({only}); at least two groups are needed.")
    return labels


def _words(values: pd.Series, smallest: int, named: bool) -> list[str]:
    """What to call the group of each row: a number alone says too little."""
    column = clean(column_of(values))
    part = strata(column, _BANDS, smallest)
    named = named or column.numbers is not None
    words = [
        condition.text if named or condition.op == "others" else label
        for condition, label in zip(part.conditions, map(unambiguous, part.labels), strict=True)
    ]
    return [words[code] for code in part.codes.tolist()]
