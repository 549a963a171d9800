"""The paper's three tables: their names, columns and targets."""

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Known:
    """One of the paper's tables.

    ``columns`` names its features in order: ``*`` marks a category, which the target's mean
    replaces, ``?`` a code of two values, a category only in rules and sentences.
    """

    key: str
    title: str
    where: str
    files: tuple[str, ...]  # names of files that people have, letters and digits only
    examples: str  # some of them, as they are
    target: str
    positive: Any
    columns: str
    n_components: int | None = None  # where the paper says it

    def _marked(self, mark: str) -> tuple[str, ...]:
        return tuple(n.rstrip("*?") for n in self.columns.split(", ") if n.endswith(mark))

    @property
    def features(self) -> tuple[str, ...]:
        return self._marked("")

    @property
    def categories(self) -> tuple[str, ...]:
        return self._marked("*")

    @property
    def codes(self) -> tuple[str, ...]:
        return self._marked("?")


_UNITS = "credited", "enrolled", "evaluations", "approved", "grade", "without evaluations"
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
    examples="students_dropout.csv and data.csv",
    target="Target",
    positive="Graduate",
    columns=(
        "Marital status*, Application mode*, Application order, Course*, "
        "Daytime/evening attendance?, Previous qualification*, Previous qualification (grade), "
        "Nacionality*, Mother's qualification*, Father's qualification*, Mother's occupation*, "
        "Father's occupation*, Admission grade, Displaced?, Educational special needs?, Debtor?, "
        "Tuition fees up to date?, Gender?, Scholarship holder?, Age at enrollment, International?"
        + "".join(f", Curricular units {s} sem ({u})" for s in ("1st", "2nd") for u in _UNITS)
        + ", Unemployment rate, Inflation rate, GDP"
    ),
    n_components=9,
)
CREDIT = Known(
    key="credit",
    title="Default of Credit Card Clients",
    where="UCI data set 350, or Kaggle's UCI_Credit_Card.csv",
    files=("creditdefault", "defaultofcreditcardclients", "ucicreditcard"),
    examples="credit_default.csv and UCI_Credit_Card.csv",
    target="default payment next month",
    positive=1,
    columns=(
        "LIMIT_BAL, SEX?, EDUCATION*, MARRIAGE*, AGE, PAY_0, PAY_2, PAY_3, PAY_4, PAY_5, PAY_6"
        + "".join(f", {stem}{i}" for stem in ("BILL_AMT", "PAY_AMT") for i in range(1, 7))
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
    examples="diabetes_binary_health_indicators_BRFSS2015.csv",
    target="Diabetes_binary",
    positive=1,
    columns=(
        "HighBP, HighChol, CholCheck, BMI, Smoker, Stroke, HeartDiseaseorAttack, PhysActivity, "
        "Fruits, Veggies, HvyAlcoholConsump, AnyHealthcare, NoDocbcCost, GenHlth, MentHlth, "
        "PhysHlth, DiffWalk, Sex, Age, Education, Income"
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
