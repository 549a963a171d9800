"""The paper's three tables: their names, columns and targets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


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
ALSO = {
    "nationality": "nacionality",
    "curricularunits1stsemwithouteval": "curricularunits1stsemwithoutevaluations",
    "curricularunits2ndsemwithouteval": "curricularunits2ndsemwithoutevaluations",
    "pay1": "pay0",
    "defaultpayment": "defaultpaymentnextmonth",
}


def same_column(name: str, known: Known) -> str:
    """The column that a name in the paper stands for."""
    given = letters(name)
    wanted = ALSO.get(given, given)
    return next(column for column in known.features if letters(column) == wanted)


def letters(name: str) -> str:
    """What of a name counts: copies differ in spaces, case and marks."""
    return re.sub(r"[^a-z0-9]", "", name.casefold())
