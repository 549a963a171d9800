"""The paper's three tables: where they are, what their columns are, how they become numbers."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from leftout import TableEncoder
from leftout.reading import read_table
from leftout.wording import counted, listed, shown

if TYPE_CHECKING:
    import pandas as pd

_KINDS = (".csv", ".csv.gz", ".tsv", ".txt", ".parquet", ".feather", ".xlsx", ".xls")
_NAMED = 5


@dataclass(frozen=True)
class Known:
    """One of the paper's tables."""

    key: str
    title: str
    where: str
    files: tuple[str, ...]  # names of files that people have, letters and digits only
    target: str
    positive: Any
    features: tuple[str, ...]
    categories: tuple[str, ...]  # replaced by the target's mean
    codes: tuple[str, ...] = ()  # categories of two values, for rules and sentences
    n_components: int | None = None  # where the paper says it


def _numbered(*stems: str) -> tuple[str, ...]:
    return tuple(f"{stem}{i}" for stem in stems for i in range(1, 7))


_UNITS = ("credited", "enrolled", "evaluations", "approved", "grade", "without evaluations")
STUDENTS = Known(
    key="students",
    title="Predict Students' Dropout and Academic Success",
    where="UCI data set 697",
    files=(
        "studentsdropout",
        "predictstudentsdropoutandacademicsuccess",
        "predictstudentdropoutandacademicsuccess",
        "studentsdropoutacademicsuccess",
        "studentsdropoutandacademicsuccess",
        "data",
        "dataset",
    ),
    target="Target",
    positive="Graduate",
    categories=(
        "Marital status",
        "Application mode",
        "Course",
        "Previous qualification",
        "Nacionality",
        "Mother's qualification",
        "Father's qualification",
        "Mother's occupation",
        "Father's occupation",
    ),
    codes=(
        "Daytime/evening attendance",
        "Displaced",
        "Educational special needs",
        "Debtor",
        "Tuition fees up to date",
        "Gender",
        "Scholarship holder",
        "International",
    ),
    features=(
        "Marital status",
        "Application mode",
        "Application order",
        "Course",
        "Daytime/evening attendance",
        "Previous qualification",
        "Previous qualification (grade)",
        "Nacionality",
        "Mother's qualification",
        "Father's qualification",
        "Mother's occupation",
        "Father's occupation",
        "Admission grade",
        "Displaced",
        "Educational special needs",
        "Debtor",
        "Tuition fees up to date",
        "Gender",
        "Scholarship holder",
        "Age at enrollment",
        "International",
        *(f"Curricular units {s} sem ({unit})" for s in ("1st", "2nd") for unit in _UNITS),
        "Unemployment rate",
        "Inflation rate",
        "GDP",
    ),
    n_components=9,
)
CREDIT = Known(
    key="credit",
    title="Default of Credit Card Clients",
    where="UCI data set 350, or Kaggle's UCI_Credit_Card.csv",
    files=("creditdefault", "defaultofcreditcardclients", "ucicreditcard"),
    target="default payment next month",
    positive=1,
    categories=("EDUCATION", "MARRIAGE"),
    codes=("SEX",),
    features=(
        *("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"),
        *("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"),
        *_numbered("BILL_AMT", "PAY_AMT"),
    ),
)
DIABETES = Known(
    key="diabetes",
    title="Diabetes Health Indicators",
    where="Kaggle's diabetes_binary_health_indicators_BRFSS2015.csv, or UCI data set 891",
    files=(
        "diabeteshealthindicators",
        "diabetesbinaryhealthindicatorsbrfss2015",
        "cdcdiabeteshealthindicators",
    ),
    target="Diabetes_binary",
    positive=1,
    categories=(),
    features=tuple(
        (
            "HighBP HighChol CholCheck BMI Smoker Stroke HeartDiseaseorAttack PhysActivity Fruits "
            "Veggies HvyAlcoholConsump AnyHealthcare NoDocbcCost GenHlth MentHlth PhysHlth "
            "DiffWalk Sex Age Education Income"
        ).split()
    ),
)
TABLES = {table.key: table for table in (STUDENTS, CREDIT, DIABETES)}
# Other names that copies of the tables have for a column.
_ALSO = {
    "nationality": "nacionality",
    "curricularunits1stsemwithouteval": "curricularunits1stsemwithoutevaluations",
    "curricularunits2ndsemwithouteval": "curricularunits2ndsemwithoutevaluations",
    "pay1": "pay0",
    "defaultpayment": "defaultpaymentnextmonth",
}


class Sample(NamedTuple):
    """Some rows, as they are and as numbers."""

    raw: pd.DataFrame
    X: pd.DataFrame


class Prepared(NamedTuple):
    """A table, all rows, and the numbers that they became."""

    known: Known
    file: str
    frame: pd.DataFrame
    encoded: pd.DataFrame

    def sample(self, rows: int, seed: int, *, encode_first: bool = True) -> Sample:
        """So many rows, in proportion to the target's values.

        The paper says that rows were drawn and then encoded. Encoded first, with means and ranges
        of all rows, its own number of components comes out far more often.
        """
        from sklearn.model_selection import train_test_split

        places = np.arange(len(self.frame))
        if rows < len(places):
            target = self.frame[self.known.target]
            places, _ = train_test_split(
                places, train_size=rows, stratify=target, random_state=seed
            )
        raw = self.frame.iloc[places].reset_index(drop=True)
        if not encode_first:
            return Sample(raw, encode(self.known, raw))
        return Sample(raw, self.encoded.iloc[places].reset_index(drop=True))


def prepare(folder: Path, known: Known) -> Prepared:
    """Find, read and encode one of the tables."""
    file, frame = load(folder, known)
    return Prepared(known, file, frame, encode(known, frame))


def encode(known: Known, frame: pd.DataFrame) -> pd.DataFrame:
    """The target's mean for every category, all columns from 0 to 1."""
    encoder = TableEncoder(known.categories, positive=known.positive, smooth=0.0)
    features = frame[list(known.features)]
    return encoder.set_output(transform="pandas").fit_transform(features, frame[known.target])


def load(folder: Path, known: Known) -> tuple[str, pd.DataFrame]:
    """The first file in the folder that is the table, by its name and its columns."""
    if not folder.is_dir():
        what = "a file" if folder.exists() else "not there"
        raise ValueError(
            f"{shown(repr(str(folder)))} is {what}; a folder with the paper's tables is needed."
        )
    refused = []
    for name, opened in _candidates(folder, known):
        with opened() as path:
            frame = _read(path)
        lacking, named = _named(known, frame)
        if not lacking:
            return name, named
        some = listed([repr(column) for column in lacking[:_NAMED]])
        more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
        refused.append(f"{shown(repr(name))} lacks {counted(len(lacking), 'column')}: {some}{more}")
    if refused:
        raise ValueError(
            f"No file is the table {known.title!r}: {'; '.join(refused)}. Get it from "
            f"{known.where}, or leave it out with --dataset."
        )
    names = listed([f"{name}.csv" for name in _examples(known)])
    raise ValueError(
        f"{shown(repr(str(folder)))} has no file of the table {known.title!r} (by names such as "
        f"{names}, also gzipped or in a .zip). Get it from {known.where}, or leave it out with "
        "--dataset."
    )


def _examples(known: Known) -> list[str]:
    return {
        "students": ["students_dropout", "data"],
        "credit": ["credit_default", "UCI_Credit_Card"],
        "diabetes": ["diabetes_binary_health_indicators_BRFSS2015"],
    }[known.key]


def _candidates(folder: Path, known: Known) -> Iterator[tuple[str, Any]]:
    """Files with one of the table's names, most telling name first; also inside of archives."""
    every: list[tuple[int, str, Any]] = []
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() == ".zip" and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for member in archive.namelist():
                    place = _place(Path(member).name, known)
                    if place is not None:
                        every.append((place, f"{path.name}/{member}", _unzipped(path, member)))
        else:
            place = _place(path.name, known)
            if place is not None and path.is_file():
                every.append((place, path.name, _as_it_is(path)))
    for _, name, opened in sorted(every, key=lambda each: each[0]):
        yield name, opened


def _place(name: str, known: Known) -> int | None:
    """Which of the table's names a file has."""
    lower = name.lower()
    for kind in sorted(_KINDS, key=len, reverse=True):
        if lower.endswith(kind):
            stem = _letters(lower.removesuffix(kind))
            return known.files.index(stem) if stem in known.files else None
    return None


def _as_it_is(path: Path) -> Any:
    @contextmanager
    def opened() -> Iterator[Path]:
        yield path

    return opened


def _unzipped(archive: Path, member: str) -> Any:
    @contextmanager
    def opened() -> Iterator[Path]:
        with TemporaryDirectory() as folder, zipfile.ZipFile(archive) as zipped:
            path = Path(folder) / Path(member).name
            path.write_bytes(zipped.read(member))
            yield path

    return opened


def _read(path: Path) -> pd.DataFrame:
    """A table; UCI's spreadsheet has its names in the second line, below X1, X2 and so on."""
    if path.suffix.lower() not in (".xls", ".xlsx"):
        return read_table(path)
    import pandas as pd

    try:
        table = pd.read_excel(path, header=None)
    except ImportError as error:
        raise ValueError(
            f"Reading {path.suffix} needs a package that is not installed ({error}). Run: pip "
            "install 'leftout[files]', or save the table as CSV."
        ) from error
    except Exception as error:  # whatever the readers of spreadsheets raise
        raise ValueError(
            f"{shown(repr(path.name))} cannot be read as a spreadsheet ({shown(str(error))})."
        ) from error
    names = 1 if len(table) > 1 and str(table.iloc[0, -1]).strip().upper() == "Y" else 0
    below = table.iloc[names + 1 :].reset_index(drop=True).infer_objects()
    return below.set_axis([str(name) for name in table.iloc[names]], axis=1)


def _named(known: Known, frame: pd.DataFrame) -> tuple[list[str], pd.DataFrame]:
    """Columns that are not there, and the others by the names that they have here."""
    given: dict[str, Any] = {}
    for name in frame.columns:
        letters = _letters(str(name))
        given.setdefault(_ALSO.get(letters, letters), name)
    wanted = {column: _letters(column) for column in (*known.features, known.target)}
    lacking = [column for column, letters in wanted.items() if letters not in given]
    here = {given[letters]: column for column, letters in wanted.items() if letters in given}
    return lacking, frame[list(here)].rename(columns=here)


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def same_column(name: str, known: Known) -> str:
    """The column that a name in the paper stands for."""
    letters = _letters(name)
    wanted = _ALSO.get(letters, letters)
    return next(column for column in known.features if _letters(column) == wanted)
