"""The paper's tables as numbers, and samples of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leftout import TableEncoder
from leftout.checks import Refusal
from leftout.reproduce.downloads import load
from leftout.reproduce.known import Known
from leftout.wording import listed, shown

if TYPE_CHECKING:
    import pandas as pd

_NAMED = 5
# Most values of a target: more, and it is a measurement.
_CLASSES = 20


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


def prepare(folder: Path, known: Known, rows: int) -> Prepared:
    """Find, read, check and encode one of the tables, for samples of so many rows."""
    file, frame = load(folder, known)
    called = shown(repr(file))
    classes = frame[known.target].value_counts(dropna=False)
    if frame[known.target].isna().any() or classes.min() < 2 or len(classes) > _CLASSES:
        raise Refusal(
            f"{called}: the target {known.target!r} is not as in the paper's table: 2 to "
            f"{_CLASSES} values, none missing, each in 2 rows or more. Get the table from "
            f"{known.where}."
        )
    if len(frame) < rows + len(classes):
        raise Refusal(
            f"{called} has {len(frame):,} rows; samples of {rows:,} rows are drawn from more than "
            f"that. Get the whole table from {known.where}, or ask for fewer with --rows."
        )
    encoded = encode(known, frame)
    other = set(encoded.columns) ^ set(known.features)
    other |= {column for column in known.codes if frame[column].nunique(dropna=False) != 2}
    if other:
        some = listed([repr(name) for name in sorted(other)[:_NAMED]])
        raise Refusal(
            f"{called}: columns are not numbers as in the paper's table, or have gaps, or are the "
            f"same in every row ({some}). Get the table from {known.where}."
        )
    return Prepared(known, file, frame, encoded)


def encode(known: Known, frame: pd.DataFrame) -> pd.DataFrame:
    """The target's mean for every category, all columns from 0 to 1."""
    encoder = TableEncoder(known.categories, positive=known.positive, smooth=0.0)
    features = frame[list(known.features)]
    return encoder.set_output(transform="pandas").fit_transform(features, frame[known.target])
