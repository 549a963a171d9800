"""How a table that is larger than memory was audited, and a line for each of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from leftout.files import Serializable
from leftout.groups.partition import MaxDisparityPartition

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Chunks(Serializable):
    """How a table that is larger than memory was audited.

    Attributes
    ----------
    engine : str
        Who ran over the chunks.
    n_files, n_chunks, n_rows : int
    n_sampled : int
        Rows that were looked at one by one.
    all_rows, sample : list of str
        Parts of the result that come from all rows, and from the sample.
    looked_at : MaxDisparityPartition
        The group among the rows of the sample.
    parts : callable
        Yields a name and a data frame for each chunk: rows, groups, scores.
    end : callable
        Removes what was kept in case that the audit is stopped.
    """

    hidden = ("looked_at", "parts", "end")

    engine: str
    n_files: int
    n_chunks: int
    n_rows: int
    n_sampled: int
    all_rows: list[str]
    sample: list[str]
    looked_at: MaxDisparityPartition
    parts: Callable[[], Iterator[tuple[str, pd.DataFrame]]]
    end: Callable[[], None]

    def parquet(self) -> Iterator[tuple[str, bytes]]:
        """The files of the folder groups: names, and what is in each."""
        for name, part in self.parts():
            buffer = BytesIO()
            part.to_parquet(buffer, index=False)
            yield name, buffer.getvalue()
