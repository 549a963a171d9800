"""How a table is to be read: what people say of its columns, in one object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from leftout.checks import check_choice
from leftout.tables.encoder import ENCODINGS, SCALINGS, TableEncoder
from leftout.tables.said.declared import Declared


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The part of every column, and how it becomes numbers; see :func:`leftout.audit` for each.

    ``smooth`` is how target-encoded categories are drawn to the mean. A table in memory and one in
    parts are read by the same object.
    """

    target: Any = None
    positive: Any = None
    prediction: Any = None
    categorical: Iterable[Any] | None = None
    numeric: Iterable[Any] | None = None
    drop: Iterable[Any] | None = None
    sensitive: Iterable[Any] | None = None
    missing: Any = None
    dictionary: Any = None
    scaling: str = "minmax"
    encoding: str = "free"
    smooth: float | str = "auto"

    def declared(self, names: Sequence[Any]) -> Declared:
        """What is said of columns, checked against a table's names."""
        check_choice("encoding", self.encoding, ENCODINGS)
        check_choice("scaling", self.scaling, SCALINGS)
        return Declared.of(
            names, categorical=self.categorical, numeric=self.numeric, missing=self.missing,
            dictionary=self.dictionary,
        )  # fmt: skip

    def encoder(self) -> TableEncoder:
        """An encoder that has learned nothing yet."""
        return TableEncoder(
            self.categorical, numeric=self.numeric, missing=self.missing,
            dictionary=self.dictionary, scaling=self.scaling, encoding=self.encoding,
            smooth=self.smooth,
        )  # fmt: skip
