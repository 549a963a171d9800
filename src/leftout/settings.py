"""Every setting once: Python, the command line, the page, the guide and audit.json have it of here.

A field of :class:`Settings` has a setting's name, type and default, and in its :class:`Setting` how
people ask for it elsewhere. :data:`EXECUTION` are the settings that a result does not depend on.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from leftout.errors import InputError, in_python
from leftout.text import shortened

AUTO, EVIDENCE = "auto", "evidence"
# The default size of a left-out group, as a share of the rows: comparable between tables.
TENTH = 0.1
ENCODINGS, SCALINGS = ("free", "target"), ("minmax", "standard", "none")
EFFORTS = ("auto", "full")
ENGINES = ("memory", "local", "dask")
# What an option takes that names columns.
NAMES = "names"
_UNBOUNDED = 10**9


class Setting(NamedTuple):
    """How people ask for a setting, and what they read about it.

    ``takes`` is what a text may be: ``bool`` is a flag, ``Path`` a folder, a range a whole number
    in it, a tuple one of its words, :data:`NAMES` columns; else what a function makes of it
    (ValueError: it is wrong).
    """

    help: str
    option: str = ""
    metavar: str = ""
    takes: Any = str
    default: Any = None
    usual: str = ""  # the default as people write it, where that is not its own text
    many: bool = False  # the option may come again, and adds to a list with commas
    required: bool = False
    page: str = ""  # its label on the page, where it is asked for there
    valid: str = ""  # what a text may be, in words
    guide: str = ""  # where the guide says more
    in_python: bool = True  # whether leftout.audit takes it

    def read(self, text: str) -> Any:
        """A setting's value from what people write; refuses what is none."""
        try:
            if not isinstance(self.takes, range):
                return self.takes(text) if callable(self.takes) else text
            if is_number(text) and int(text) in self.takes:
                return int(text)
            raise ValueError
        except ValueError:
            raise InputError(f"cannot be {shortened(text)!r}: give {self.valid}.") from None

    @property
    def text(self) -> str:
        """The default as people would write it; "" where there is none."""
        if self.usual or self.default is None or isinstance(self.default, bool):
            return self.usual
        return str(self.default)


def is_number(text: str) -> bool:
    """Whether a text is a whole number, in digits and nothing else."""
    return text.isascii() and text.isdigit()


def _size(text: str) -> int | float:
    bare = text.strip()
    if is_number(bare) and int(bare) > 0:
        return int(bare)
    share = float(bare.removesuffix("%")) / (100.0 if bare.endswith("%") else 1.0)
    if not 0.0 < share < 1.0:
        raise ValueError
    return share


def _sizes(text: str) -> int | float | str | list[int | float]:
    if text == EVIDENCE:
        return text
    return [_size(part) for part in text.split(",")] if "," in text else _size(text)


def _groups(text: str) -> int | str:
    bare = text.strip()
    if bare == AUTO:
        return bare
    if not is_number(bare) or int(bare) < 1:
        raise ValueError
    return int(bare)


def _listed(text: str) -> list[str] | None:
    return [name.strip() for name in text.split(",")] if text else None


def _codes(text: str) -> list[str] | None:
    """Codes of findings, with commas between them."""
    codes = _listed(text.upper())
    if codes is not None and not all(re.fullmatch("[A-Z][0-9]{3}", code) for code in codes):
        raise ValueError
    return codes


def _points(text: str) -> float:
    value = float(text.strip())
    if not 0.0 <= value <= 100.0:
        raise ValueError
    return int(value) if value.is_integer() else value


def _given(text: str) -> str | None:
    if "\0" in text or len(text) > 1_000:
        raise ValueError
    return text or None


def _set(default: Any, help: str, option: str = "", metavar: str = "", **more: Any) -> Any:
    """A field of this default, with what people read about it."""
    setting = Setting(help, option, metavar, default=default, **more)
    return field(default=default, metadata={"setting": setting})


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The part of every column, and how it becomes numbers; see :func:`leftout.audit` for each.

    ``smooth`` is how target-encoded categories are drawn to the mean. A table in memory and one in
    parts are read by the same object.
    """

    target: Any = _set(
        None, "outcome to compare, and its value whose rate counts", "--target", "COL[=VALUE]",
    )  # fmt: skip
    positive: Any = _set(None, "the target's value whose rate counts")
    prediction: Any = _set(
        None, "what a model that is there says of the target: kept out, and compared",
        "--prediction", "COL", guide="[a model one has](harm.md)",
    )  # fmt: skip
    categorical: Iterable[Any] | None = _set(
        None, "columns that are codes, or text to keep", "--categorical", "A,B", takes=NAMES,
    )  # fmt: skip
    numeric: Iterable[Any] | None = _set(
        None, "columns to read as numbers in any case", "--numeric", "A,B", takes=NAMES,
    )  # fmt: skip
    weights: str | None = _set(
        None, "column of weights: how many rows each row stands for", "--weights", "COL",
        guide="[weights](weights.md)",
    )  # fmt: skip
    drop: Iterable[Any] | None = _set(
        None, "columns to leave out", "--drop", "A,B", takes=NAMES,
    )  # fmt: skip
    sensitive: Iterable[Any] | None = _set(
        None, "columns to keep out of the search and compare with the group", "--sensitive", "A,B",
        takes=NAMES,
    )  # fmt: skip
    missing: Any = _set(
        None, "values that stand for nothing", "--missing", "999,COL=-1", takes=_given, many=True,
        page="Values that stand for nothing", valid="999, or COLUMN=-1",
    )  # fmt: skip
    dictionary: Any = _set(
        None, "CSV or JSON with columns' kinds, labels and labels of values", "--dictionary",
        "FILE", guide="see below",
    )  # fmt: skip
    scaling: str = _set(
        "minmax", "columns from 0 to 1, to unit variance as most pipelines do, or as they are",
        "--scaling", takes=SCALINGS,
    )  # fmt: skip
    encoding: str = _set(
        "free", "categories as indicators, or as the target's mean", "--encoding",
        takes=ENCODINGS, guide="see below",
    )  # fmt: skip
    smooth: float | str = "auto"


@dataclass(frozen=True, kw_only=True)
class Settings(Reading):
    """Every choice that a result depends on; threads and folders are not among them.

    How the table is read, and the other parameters of :func:`leftout.audit`. ``solver``, ``loss``,
    ``centering`` and ``smooth`` come from a preset. ``command`` are the words of the command line,
    where there was one.
    """

    features: Any = _set(
        None, "what PCA sees instead of the table's columns, row for row: .npy, Parquet, CSV",
        "--features", "FILE", guide="[more](your_pca.md)",
    )  # fmt: skip
    pipeline: Any = _set(
        None, "pipeline of scikit-learn to audit on the table, written by skops.io.dump",
        "--pipeline", "FILE.skops", guide="[more](your_pca.md)",
    )  # fmt: skip
    pipeline_step: str | None = _set(
        None, "its step that is audited, where that is not clear", "--pipeline-step", "NAME",
    )  # fmt: skip
    trust_types: Sequence[str] | None = _set(
        None, "types in FILE.skops to trust beside scikit-learn's", "--trust-types", "A,B",
        takes=_listed, many=True,
    )  # fmt: skip
    sheet: str | None = _set(None, "sheet of an Excel file; else the first", "--sheet", "NAME")
    n_components: int | float = _set(
        0.8, "components: a number, or the share of variance to exceed", "--components", "0.8|9",
        takes=_size, page="Components of the PCA",
        valid="a share of variance (0.8), or a number of components (9)",
    )  # fmt: skip
    min_group_size: int | float | None = _set(
        None, "fewest rows on a side; by default 5 per feature", "--min-size", "100|5%",
        takes=_size, page="Fewest rows of a group",
        valid="a number of rows (200), or a share of them (5%)",
    )  # fmt: skip
    group_size: int | float | str | Sequence[int | float] | None = _set(
        TENTH, "size of the left-out group, or the one with the most evidence; of several groups "
        "one for all, or a list (150,300)", "--size", "10%|200|evidence", takes=_sizes, usual="10%",
        page="Size of the left-out group",
        valid="a number of rows (200), a share of them (10%), or evidence",
    )  # fmt: skip
    n_groups: int | str = _set(
        1, "left-out groups to find, or as many as go beyond surrogate tables", "--groups",
        "1|3|auto", takes=_groups, valid="a number of left-out groups from 1, or auto",
        guide="[more](several.md)",
    )  # fmt: skip
    n_restarts: int = _set(
        30, "searches from other starts", "--restarts", "30", takes=range(1000),
        page="Searches from other starts", valid="0 to 999",
    )  # fmt: skip
    n_surrogates: int = _set(
        99, "surrogate tables of each kind, if fewer do not decide", "--surrogates", "99",
        takes=range(10_000), page="Surrogate tables, at most", valid="0 to 9999",
    )  # fmt: skip
    effort: str = _set(
        "auto", "evidence from as many rows and searches as decide, or from all of them",
        "--effort", takes=EFFORTS,
    )  # fmt: skip
    quick: bool = _set(
        False, "the first answer only: who, and what can be done", "--quick", takes=bool
    )
    preset: str | None = _set(
        None, "everything as in the paper, to reproduce it", "--preset", takes=("paper",)
    )
    sample: int | None = _set(
        None, "audit a sample of so many rows, drawn at random", "--sample", "2000",
        takes=range(1, _UNBOUNDED), page="Audit a sample of so many rows",
        valid="a number of rows; by default all",
    )  # fmt: skip
    random_state: Any = _set(
        0, "seed of surrogate tables, splits and samples", "--seed", "0", takes=range(2**31 + 1),
        page="Seed", valid="0 to 2147483648",
    )  # fmt: skip
    rows: int = _set(
        0, "actual rows to show of either side; a row may be a person", "--rows", "3",
        takes=range(1000), page="Actual rows to show of either side",
        valid="0 to 999; a row may be a person",
    )  # fmt: skip
    min_cell: int = _set(
        10, "describe and count no fewer rows than this where it could tell of people; 0: any",
        "--min-cell", "10", takes=range(10_000), page="Fewest rows to describe or count",
        valid="0 to 9999", guide="[small cells](gate.md#small-cells)",
    )  # fmt: skip
    solver: str = "alternating"
    loss: str = "excess"
    centering: str = "global"
    command: str | None = None

    def asked(self) -> dict[str, Any]:
        """The choices that differ from the defaults."""
        given = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        return {
            name: value
            for name, (value, usual) in given.items()
            if value is not usual
            and (not isinstance(value, str | int | float | None) or value != usual)
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain data: a column by its name, a seed as it was given."""
        data = {each.name: getattr(self, each.name) for each in fields(self)}
        for name in ("categorical", "numeric", "drop", "sensitive"):
            data[name] = list(map(str, _several(data[name])))
        data["missing"] = _values(self.missing)
        for name in ("features", "pipeline", "dictionary"):
            given = data[name]
            if isinstance(given, str | os.PathLike):
                data[name] = os.path.basename(given)
            elif given is not None:
                data[name] = "given"
        for name in ("target", "prediction"):
            given = data[name]
            if _are_many(given):
                data[name] = getattr(given, "name", None) or name
            data[name] = None if given is None else str(data[name])
        seed = self.random_state
        data["random_state"] = seed if seed is None or isinstance(seed, int) else repr(seed)
        return data


def _values(missing: Any) -> list[str]:
    """Values that stand for nothing, as on the command line: VALUE or COLUMN=VALUE."""
    several = missing if isinstance(missing, Mapping) else {None: missing}
    pairs = [(name, value) for name, more in several.items() for value in _several(more)]
    return [str(value) if name is None else f"{name}={value}" for name, value in pairs]


def _several(given: Any) -> list[Any]:
    """Values of a list, or just one; none of None."""
    if given is None:
        return []
    return list(given) if _are_many(given) else [given]


def _are_many(value: Any) -> bool:
    several = hasattr(value, "__iter__") and getattr(value, "ndim", 1) > 0
    return several and not isinstance(value, str | bytes)


_GATE = "[a gate](gate.md)"
# What a result does not depend on.
EXECUTION = {
    "engine": Setting(
        "read the table whole, pass over its parts here, or on a Dask cluster; by default whole if "
        "it fits", "--engine", takes=ENGINES, guide="[more](scale.md)"),
    "scheduler": Setting(
        "Dask scheduler; without one, dask starts workers here", "--scheduler", "tcp://HOST:8786",
        in_python=False),
    "memory": Setting(
        "what a table may take to be read whole, and each worker that is started", "--memory",
        "2GB"),
    "resume": Setting("go on where a stopped audit of a table in parts was", default=False),
    "n_jobs": Setting(
        "threads; -1 for all cores. Results do not depend on it", "--jobs", "-1",
        takes=range(-1, 1025), usual="-1"),
    "progress": Setting("called as work goes on; True: to stderr"),
    "out": Setting(
        "folder for the files; what is not a result there is not replaced", "--out", "DIR",
        takes=Path, in_python=False),
    "pdf": Setting(
        "also print the report to report.pdf, by a browser of this machine", "--pdf", takes=bool,
        in_python=False),
    "as_json": Setting("print a summary as JSON", "--json", takes=bool, in_python=False),
    "quiet": Setting("show no progress", "--quiet", takes=bool, in_python=False),
    "fail_on": Setting(
        "findings that must not be found; exit code 3 if one is, or was not run", "--fail-on",
        "V001,P001", takes=_codes, many=True, in_python=False,
        valid="codes of findings such as V001,P001", guide=_GATE),
    "max_loss": Setting(
        "most percentage points of its variance that a left-out group may lose", "--max-loss",
        "10", takes=_points, in_python=False, valid="percentage points from 0 to 100", guide=_GATE),
    "max_harm": Setting(
        "most percentage points of wrong predictions that may cost it beyond the rest",
        "--max-harm", "5", takes=_points, in_python=False, valid="percentage points from 0 to 100",
        guide=_GATE),
    "baseline": Setting(
        "an earlier audit.json that nothing may have changed from, beyond noise", "--baseline",
        "FILE", in_python=False, guide=_GATE),
    "annex": Setting(
        "add a record to file to the report, and write annex.md", "--annex", takes=bool,
        in_python=False, guide="[more](gate.md#a-record-to-file)"),
    "full": Setting("print the findings too", "--full", takes=bool, in_python=False),
}  # fmt: skip
# Options of other commands.
OTHER_COMMANDS = {
    "outcome": Setting(
        "what is predicted, and its value that counts", "--target", "COL[=VALUE]", required=True),
    "groups_col": Setting(
        "column that says each row's group; several (A,B) for their combinations", "--groups-col",
        "COL", required=True),
    "fewest": Setting(
        "fewest rows of a group and of its rest; by default 30 or so", "--min-size", "N|5%",
        takes=_size, valid="a number of rows (200), or a share of them (5%)"),
    "depth": Setting(
        "most conditions of a name, and most known columns of a group", "--depth",
        takes=range(1, 4), usual="2"),
    "port": Setting(
        "port on this machine; 0 for any that is free", "--port", takes=range(65_536),
        usual="8765"),
    "data": Setting(
        "folder that keeps audits; by default a private one of yours", "--data", "DIR",
        takes=Path),
    "open": Setting("open a browser", "--open", takes=bool),
    "max_upload": Setting("the largest file that it takes", "--max-upload", "SIZE", usual="512MB"),
}  # fmt: skip
# What can be asked of an audit, by its name in Python, in the order of the guide.
AUDIT: dict[str, Setting] = {
    each.name: each.metadata["setting"] for each in fields(Settings) if each.metadata
}
SETTINGS = {**AUDIT, **EXECUTION, **OTHER_COMMANDS}
# What the page asks for, besides the part of each column.
ON_PAGE = {name: setting for name, setting in AUDIT.items() if setting.page}
# What is asked of the demo's table unless somebody asks for something else.
DEMO = {"target": "approve=1", "n_restarts": "10"}


def as_option(name: str, *value: Any) -> str:
    """A parameter as what people write on the command line to ask for it."""
    option = "--target COL=VALUE" if name == "positive" else ""
    option = option or (SETTINGS[name].option if name in SETTINGS else "")
    if not option:
        return in_python(name, *value)
    if not value:
        return option
    (given,) = value
    text = ",".join(map(str, given)) if isinstance(given, list | tuple) else str(given)
    text = shlex.quote(text)
    return option.replace("VALUE", text) if "VALUE" in option else f"{option} {text}"
