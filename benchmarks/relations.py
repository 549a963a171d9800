"""Are leaks, copies and proxies named, and little else? ``tables_planted``, ``tables_as_they_are``.

Everything goes through ``prepare_table``, as in an audit: what a column is judged to be counts too.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd

import paper_data
from leftout.data.preparation import prepare_table
from leftout.data.sources import Source
from leftout.running import collected_warnings
from leftout.settings import Reading

# The target and the sensitive columns of each table, as its documentation has them. The faces have
# no sensitive column: who is hidden behind sunglasses stands in.
TABLES = {
    "students_dropout": (
        "Target",
        [
            "Gender", "Age at enrollment", "Nacionality", "International",
            "Educational special needs", "Marital status", "Displaced", "Mother's qualification",
            "Father's qualification", "Mother's occupation", "Father's occupation",
            "Scholarship holder", "Debtor",
        ],
    ),
    "credit_default": ("default payment next month", ["SEX", "AGE", "EDUCATION", "MARRIAGE"]),
    "diabetes_health_indicators": (
        "Diabetes_binary", ["Sex", "Age", "Education", "Income", "DiffWalk"],
    ),
    "adult": (
        "income", ["sex", "race", "age", "native-country", "marital-status", "relationship"],
    ),
    "cmu_faces_32x30": ("expression", ["eyes"]),
}  # fmt: skip
# What may be said of these tables, by their documentation: `education-num` numbers the values of
# `education`; husbands are men and wives women; who is international has another nationality.
TRUE = {
    ("adult", "education-num", "education"),
    ("adult", "relationship", "sex"),
    ("adult", "relationship", "marital-status"),
    ("adult", "marital-status", "relationship"),
    ("students_dropout", "Nacionality", "International"),
    ("students_dropout", "International", "Nacionality"),
}
# Pixels so near to each other, in pictures 32 wide, show the same wall: that they are copies (r of
# 0.99 or more) is what the pictures are like.
_WIDE, _NEAR = 32, 3

# Columns that a copy is planted of, and sensitive ones that are planted under another name.
SOURCES = {
    "adult": {
        "number": ["fnlwgt", "hours-per-week", "capital-gain", "education-num", "age"],
        "category": ["workclass", "occupation", "relationship", "native-country", "education"],
        "sensitive": ["sex", "race", "native-country", "marital-status", "relationship"],
        "amount": ["age"],
    },
    "students_dropout": {
        "number": [
            "Admission grade", "Age at enrollment", "Curricular units 1st sem (grade)",
            "Curricular units 2nd sem (approved)", "GDP",
        ],
        "category": [
            "Course", "Mother's occupation", "Application mode", "Marital status",
            "Previous qualification",
        ],
        "sensitive": [
            "Gender", "Nacionality", "Marital status", "Displaced", "Mother's occupation",
        ],
        "amount": ["Age at enrollment"],
    },
}  # fmt: skip
SEEDS = 10


def stored(name):
    return pd.read_csv(paper_data.FOLDER / f"{name}.csv.gz")


def named(table, **options):
    """The relations that an audit would name."""
    with collected_warnings():
        found = prepare_table(Source.of(table), Reading(**options), rng=np.random.default_rng(0))
    return [*found.leaks, *found.copies, *found.proxies]


def recoded(values, names, rng):
    """Other names for the values, at random; no name where there is no value."""
    levels = values.dropna().unique()
    return values.map(dict(zip(levels, rng.permutation(names(len(levels))), strict=True)))


def words(many):
    return [f"kind {chr(97 + place // 26)}{chr(97 + place % 26)}" for place in range(many)]


def numbers(many):
    return np.arange(1, many + 1)


def flipped(values, share, rng):
    """Some values replaced by any other."""
    levels, codes = np.unique(values, return_inverse=True)
    off = rng.random(len(codes)) < share
    return levels[(codes + off * rng.integers(1, len(levels), len(codes))) % len(levels)]


def plants(name, table, target, rng, seed):
    """Each kind of plant: what it is, its cells, how it is named, and of what."""
    of = {kind: columns[seed % len(columns)] for kind, columns in SOURCES[name].items()}
    amount, kind, hidden, age = (table[of[key]] for key in of)
    noise = 0.1 * amount.std() * rng.standard_normal(len(table))
    yield "copy with noise (r about 0.995)", amount + noise, "copy", of["number"]
    yield "copy in other words", recoded(kind, words, rng), "copy", of["category"]
    yield "copy in other numbers", recoded(kind, numbers, rng), "copy", of["category"]
    yield "target with 2% flips", flipped(table[target], 0.02, rng), "leak", target
    yield "target in other words", recoded(table[target], words, rng), "leak", target
    yield "target in numbers", recoded(table[target], numbers, rng), "leak", target
    yield "sensitive column in other words", recoded(hidden, words, rng), "proxy", of["sensitive"]
    yield "sensitive column in numbers", recoded(hidden, numbers, rng), "proxy", of["sensitive"]
    yield "year of birth for age", 1994 - age + rng.integers(-1, 2, len(age)), "proxy", of["amount"]


def is_named(table, target, cells, how, of, place):
    """Whether the planted column, put anywhere, is named as what it is: either end of a copy."""
    planted = table.copy()
    planted.insert(place, "planted", np.asarray(cells))
    sensitive = [of] if how == "proxy" else None
    found = [r for r in named(planted, target=target, sensitive=sensitive) if r.how == how]
    if how != "copy":
        return ("planted", of) in {(r.column, r.of) for r in found}
    # where the table has copies already, a further one may be told by another of them
    alike = {of} | {r.of for r in found if r.column == of} | {r.column for r in found if r.of == of}
    return any(
        {r.column, r.of} <= alike | {"planted"} and "planted" in (r.column, r.of) for r in found
    )


def planted():
    """One plant at a time, at a random place among the columns."""
    for name in SOURCES:
        target, table = TABLES[name][0], stored(name).replace("?", np.nan)
        met, tried = Counter(), Counter()
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            for what, cells, how, of in plants(name, table, target, rng, seed):
                place = int(rng.integers(0, table.shape[1] + 1))
                met[what] += is_named(table, target, cells, how, of, place)
                tried[what] += 1
        missed = [f"{what} {met[what]}" for what in tried if met[what] < tried[what]]
        yield (
            f"{name}: leaks, copies and proxies planted, {len(tried)} kinds, {SEEDS} seeds each",
            "all named",
            f"{sum(met.values())} of {sum(tried.values())}"
            + (f"; of {SEEDS}: {', '.join(missed)}" if missed else ""),
            not missed,
        )


def each_alone(table, target, sensitive):
    """What is named with all sensitive columns, and with each alone: others may tell it."""
    found = [
        named(table, target=target, sensitive=some)
        for some in [sensitive, *([c] for c in sensitive)]
    ]
    return list(dict.fromkeys((r.column, r.of, r.how) for part in found for r in part))


def as_they_are():
    """What is named in the shared tables, where nothing is planted."""
    for name, (target, sensitive) in TABLES.items():
        told = each_alone(paper_data.FOLDER / f"{name}.csv.gz", target, sensitive)
        wrong = [f"{a} ({how} of {b})" for a, b, how in told if not is_true(name, a, b)]
        right = [f"{a} ({how} of {b})" for a, b, how in told if (name, a, b) in TRUE]
        near = sum(is_near(a, b) for a, b, _ in told)
        right += [f"{near} pixels (copies of pixels within {_NEAR})"] * (near > 0)
        yield (
            f"{name}: false leaks, copies and proxies in the table as it is, with all its "
            "sensitive columns and with each alone",
            "at most 2",
            f"{len(wrong)}{': ' * bool(wrong)}{', '.join(wrong)}; true: "
            f"{', '.join(right) or 'none'}",
            len(wrong) <= 2,
        )
    yield shuffled()


def shuffled():
    """Whatever tells a column whose cells were shuffled is named falsely."""
    known = {"cmu_faces_32x30": ["eyes", "pose", "userid"]}
    counts = {}
    for name, (target, sensitive) in TABLES.items():
        table, rng = stored(name), np.random.default_rng(0)
        hidden = known.get(name, sensitive)
        meant = {r.column for r in named(table, target=target, sensitive=hidden) if r.how != "copy"}
        for column in [target, *hidden]:
            table[column] = rng.permutation(table[column].to_numpy())
        found = [r for r in named(table, target=target, sensitive=hidden) if r.how != "copy"]
        counts[name] = len({r.column for r in found}), len(meant)
    return (
        "columns that tell a target or sensitive column whose cells were shuffled, five tables "
        "(faces: eyes, pose and userid)",
        "none",
        "; ".join(f"{name} {off} (not shuffled {on})" for name, (off, on) in counts.items()),
        not any(off for off, _ in counts.values()),
    )


def is_true(name, column, of):
    return (name, column, of) in TRUE or (name == "cmu_faces_32x30" and is_near(column, of))


def is_near(column, of):
    """Whether two columns are pixels next to each other, or nearly."""
    if not (column[1:].isdigit() and of[1:].isdigit() and column[0] == of[0] == "p"):
        return False
    (row, left), (other, right) = (divmod(int(pixel[1:]), _WIDE) for pixel in (column, of))
    return max(abs(row - other), abs(left - right)) <= _NEAR
