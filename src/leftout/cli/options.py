"""What people write on the command line, as what it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leftout.checks import Refusal
from leftout.tables.bands import banded
from leftout.tables.cleaning import clean
from leftout.tables.columns import column_of, find, find_all
from leftout.tables.frames import column_names
from leftout.wording import unambiguous

if TYPE_CHECKING:
    import pandas as pd

# More values than this are hardly groups.
_MOST_GROUPS = 100
_MOST_NUMBERS = 100_000
# Numbers and dates are cut into so many bands, and rarer values than this are pooled.
_BANDS, _FEWEST = 4, 30


def of_audit(given: Mapping[str, Any]) -> dict[str, Any]:
    """What options without names of columns ask of an audit."""
    called = {"seed": "random_state"}
    plain = (
        "missing", "dictionary", "scaling", "encoding", "runs", "chance", "sample", "preset",
        "seed", "rows", "quick", "features", "pipeline", "pipeline_step",
    )  # fmt: skip
    asked = {called.get(name, name): given[name] for name in plain if name in given}
    asked["missing"] = asked.get("missing") or None
    if given.get("trust_types"):
        asked["trust_types"] = [name.strip() for name in given["trust_types"].split(",")]
    if "dims" in given:
        asked["n_components"] = dimensions(given["dims"])
        asked["min_group_size"] = size(given["min_size"], "--min-size")
    asked["n_groups"] = sides(given["groups"])
    return asked | {"group_size": group_sizes(given["size"])}


def sides(text: str) -> int | str:
    """A number of sides, the rest among them; or ``auto``."""
    bare = text.strip()
    if bare == "auto" or (_is_number(bare) and int(bare) >= 2):
        return bare if bare == "auto" else int(bare)
    raise Refusal(
        f"--groups {text} is neither a number of groups from 2 (one left-out group and the rest) "
        "nor auto. Give one of these."
    )


def group_sizes(text: str) -> int | float | str | list[int | float] | None:
    """The size of the left-out group, a list of them with commas, or ``evidence``."""
    if text == "evidence":
        return text
    if "," not in text:
        return size(text, "--size")
    each = [size(part, "--size") for part in text.split(",")]
    return [one for one in each if one is not None]


def dimensions(text: str) -> int | float:
    """A number of components, or a share of the variance."""
    try:
        return int(text) if _is_number(text.strip()) else float(text)
    except ValueError:
        raise Refusal(
            f"--dims {text} is neither a number of components (9) nor a share of variance (0.8)."
        ) from None


def size(text: str | None, option: str) -> int | float | None:
    """A number of rows, or a share of them: 200, 5% or 0.05."""
    if text is None:
        return None
    bare = text.strip()
    try:
        if _is_number(bare) and int(bare) > 0:
            return int(bare)
        share = float(bare.removesuffix("%")) / (100.0 if bare.endswith("%") else 1.0)
    except ValueError:
        share = 0.0
    if not 0.0 < share < 1.0:
        raise Refusal(
            f"{option} {text} is neither a number of rows (200) nor a share of them (5%). Give one "
            "of these."
        )
    return share


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


def column(text: str | None, table: pd.DataFrame, option: str) -> Any:
    """A column by its name; None where none is named."""
    return None if text is None else find(list(table.columns), text, option)


def numbers(text: str) -> list[int] | None:
    """Numbers in a list with commas and ranges; None for ``auto``, an empty list for ``none``."""
    if text in ("auto", "none"):
        return None if text == "auto" else []
    found: list[int] = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        known = _is_number(low) and (not dash or _is_number(high))
        if not known or not int(low) <= int(high or low) <= _MOST_NUMBERS:
            raise Refusal(
                f"--across {text} is not a list of numbers; give for example 1-15, or 2,5,9, or "
                "auto, or none."
            )
        found += range(int(low), int(high or low) + 1)
    return found


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def names(texts: str | Sequence[str], table: pd.DataFrame, option: str) -> list[Any]:
    """Columns that texts name: each a name as it stands, or names with commas between them.

    Where names in such a list have commas or spaces, the longest ones count.
    """
    known = column_names(table)
    parts: list[str] = []
    for text in [texts] if isinstance(texts, str) else texts:
        parts += [text] if text in map(str, known) else _parts(text, known)
    chosen = [name for part in parts for name in find_all(known, part, option)]
    return list(dict.fromkeys(chosen))


def _parts(text: str, known: list[Any]) -> list[str]:
    odd = [str(name) for name in known if "," in str(name) or str(name) != str(name).strip()]
    odd.sort(key=len, reverse=True)
    parts, rest = [], text
    while rest.strip():
        part = next((name for name in odd if f"{rest},".startswith(f"{name},")), None)
        if part is None:
            rest = rest.lstrip()
            part = next((name for name in odd if f"{rest},".startswith(f"{name},")), None)
        taken = rest.partition(",")[0] if part is None else part
        parts.append(taken.strip() if part is None else part)
        rest = rest[len(taken) + 1 :]
    return parts


def groups(table: pd.DataFrame, by: list[Any]) -> NDArray[np.str_]:
    """Each row's group by one column or several; missing values are a group of their own.

    Numbers and dates are cut into bands, and the rare ones of many values are one group.
    """
    if not by:
        raise Refusal("--groups-col names no column; give the one that says each row's group.")
    smallest = min(_FEWEST, max(1, len(table) // 4))
    parts = [_words(table[name], smallest, named=len(by) > 1) for name in by]
    labels = np.array([" / ".join(words) for words in zip(*parts, strict=True)])
    count, which = len(np.unique(labels)), " and ".join(map(repr, by))
    if count > _MOST_GROUPS:
        raise Refusal(
            f"{which} have {count:,} combinations, too many to be groups (at most "
            f"{_MOST_GROUPS}). Name fewer columns, or put their values into a few classes first."
        )
    if count < 2:
        only = labels[0].removeprefix(f"{by[0]} is one of ")
        raise Refusal(f"{which} has one group ({only}); at least two groups are needed.")
    return labels


def _words(values: pd.Series, smallest: int, named: bool) -> list[str]:
    """What to call the group of each row: a number alone says too little."""
    column = clean(column_of(values))
    part = banded(column, _BANDS, smallest)
    named = named or column.numbers is not None
    words = [
        condition.text if named or condition.op == "others" else label
        for condition, label in zip(part.conditions, map(unambiguous, part.labels), strict=True)
    ]
    return [words[code] for code in part.codes.tolist()]
