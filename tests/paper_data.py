"""The paper's tables, prepared by its protocol: 2,000 rows stratified by the target, multi-category
columns replaced by the target's mean, all columns scaled to [0, 1].

The files are not part of this project. They are looked for in the folder that LEFTOUT_DATA names,
or else in ``../shared/data`` beside the checkout.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FOLDER = Path(
    os.environ.get("LEFTOUT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)


@dataclass(frozen=True)
class Source:
    file: str
    target: str
    positive: object
    categories: tuple[str, ...]
    n_components: int
    drop: tuple[str, ...] = ()


SOURCES = {
    "students": Source(
        "students_dropout.csv.gz",
        "Target",
        "Graduate",
        (
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
        9,
    ),
    "credit": Source(
        "credit_default.csv.gz",
        "default payment next month",
        1,
        ("EDUCATION", "MARRIAGE"),
        4,
        drop=("ID",),
    ),
    "diabetes": Source("diabetes_health_indicators.csv.gz", "Diabetes_binary", 1, (), 10),
}


def missing() -> str | None:
    """Why the tables cannot be used, or None."""
    absent = [s.file for s in SOURCES.values() if not (FOLDER / s.file).exists()]
    if not absent:
        return None
    return (
        f"{', '.join(absent)} not found in {FOLDER}; set LEFTOUT_DATA to the folder that has them"
    )


def sample(name: str, rows: int = 2000, seed: int = 42):
    """So many rows as they are in the file, stratified by the target."""
    import pandas as pd
    from sklearn.model_selection import train_test_split

    source = SOURCES[name]
    table = pd.read_csv(FOLDER / source.file).drop(columns=list(source.drop))
    return train_test_split(
        table, train_size=rows, stratify=table[source.target], random_state=seed
    )[0]


def load(name: str, rows: int = 2000, seed: int = 42) -> np.ndarray:
    return encode(name, sample(name, rows, seed)).to_numpy()


def encode(name: str, table):
    """The target's mean for every category, and all columns scaled to [0, 1]."""
    source = SOURCES[name]
    positive = (table[source.target] == source.positive).astype(float)
    X = table.drop(columns=source.target)
    for column in source.categories:
        X[column] = X[column].map(positive.groupby(X[column]).mean())
    M = X.astype(float)
    spread = M.max() - M.min()
    return (M - M.min()) / spread.where(spread > 0, 1.0)
