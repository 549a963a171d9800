"""What is audited where it is not the table's own PCA: features that are given, or a pipeline's."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leftout.data.frames import as_frame, column_names, dense
from leftout.data.matrix import check_matrix
from leftout.data.preparation import Features, PreparedTable
from leftout.data.roles import is_name
from leftout.data.sources import TEXT, Source, called, fetch, read_table, short
from leftout.errors import InputError, parameter_label
from leftout.files import Serializable
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.losses import Array
from leftout.representation.base import as_representation
from leftout.representation.pipeline import SplitPipeline, read_pipeline, sources_of
from leftout.running import warn
from leftout.settings import Settings
from leftout.text import counted, listed

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Given:
    """Features, the representation that sees them, and the pipeline that they come from."""

    features: Features
    representation: Any  # None: the PCA of the features
    pipeline: SplitPipeline | None = None
    table: Any = None  # what the pipeline takes, the rows audited


def what_is_given(source: Source, settings: Settings, intake: PreparedTable) -> Given | None:
    """Features of the rows audited, from a matrix or a pipeline; None where there is neither."""
    if settings.pipeline is not None:
        return _of_pipeline(source, settings, intake)
    if settings.features is None:
        return None
    X, names = _matrix(settings.features, intake.n_rows)
    sources = sources_of(names, [column.name for column in intake.columns])
    origin = f"fitted here on {counted(X.shape[1], 'feature')} that were given, as they are"
    return Given(Features(X[intake.rows], names, sources, origin), None)


def _of_pipeline(source: Source, settings: Settings, intake: PreparedTable) -> Given:
    pipeline = settings.pipeline
    if isinstance(pipeline, str | os.PathLike):
        pipeline = read_pipeline(os.fspath(pipeline), list(settings.trust_types or ()))
    split = SplitPipeline.of(pipeline, settings.pipeline_step)
    table = _frame(source)
    sensitive = {intake.called(name) for name in intake.sensitive}
    aside = sensitive - split.chosen
    aside.update(
        str(role)
        for role in (settings.target, settings.prediction, settings.weights)
        if role is not None and is_name(role)
    )
    aside.update(settings.to_dict()["drop"])
    if split.columns is not None:
        lacking = [name for name in split.columns if name not in table.columns]
        if lacking:
            raise InputError(
                f"The pipeline was fitted on {counted(len(split.columns), 'column')}, of which the "
                f"table lacks {listed([repr(str(name)) for name in lacking[:5]])}. Pass the table "
                "as it was, or fit the pipeline on this one."
            )
        table = table[split.columns]
    else:
        table = table[[name for name in table.columns if str(name) not in aside]]
    seen = sorted(sensitive.intersection(map(str, table.columns)))
    if seen:
        warn(
            f"The pipeline itself sees {listed([repr(name) for name in seen])}, named as "
            "sensitive: kept out of descriptions, but not of what is audited."
        )
    table = table.iloc[intake.rows]
    y = None if intake.target is None else target_values(intake)
    if not split.fitted and split.after is not None and y is None:
        raise InputError(
            "The pipeline is not fitted and ends in a model, which needs a target: "
            f"{parameter_label('target', 'COLUMN')}. Or fit it first."
        )
    try:
        split, made = split.on(table, y)
    except InputError:
        raise
    except Exception as error:  # whatever its steps raise
        raise InputError(
            f"The pipeline failed on the table, up to its step {split.name!r}: {short(error)}. "
            "Pass the table that it is made for."
        ) from error
    X = check_matrix(made)
    names = split.feature_names(X.shape[1])
    as_representation(split.representation)  # or refuse it
    how = "as it was fitted" if split.fitted else "fitted here on the rows audited"
    origin = f"the step {split.name!r} of the pipeline, {how}"
    sources = sources_of(names, [column.name for column in intake.columns])
    features = Features(X, names, sources, origin, split.fitted)
    return Given(features, split.representation, split, table)


def target_values(intake: PreparedTable) -> NDArray[Any]:
    """The target of each row as a model takes it: words, or numbers."""
    target = intake.target
    assert target is not None
    if target.missing.any():
        raise InputError(
            f"The target has {counted(int(target.missing.sum()), 'missing value')}, and the "
            "pipeline has to be fitted with it. Drop these rows, or pass a fitted pipeline."
        )
    if target.categories is None:
        return target.values
    return np.array(target.categories, dtype=object)[target.values]


def _frame(source: Source) -> pd.DataFrame:
    """The table as a pandas frame with the kinds of columns that pandas would have read."""
    import pandas as pd

    if as_frame(source.table) is None:
        return pd.DataFrame(np.asarray(source.table))
    return _typed(_pandas(source.table), source.path)


def _pandas(table: Any) -> pd.DataFrame:
    return table if hasattr(table, "iloc") else as_frame(table).to_pandas()


def _typed(frame: pd.DataFrame, path: str | None) -> pd.DataFrame:
    """A frame with numbers where it was read from a file of text, whose cells are as written."""
    import pandas as pd

    if path is None or not path.lower().endswith(TEXT):
        return frame
    return pd.read_csv(io.StringIO(frame.to_csv(index=False)))


def _matrix(features: Any, n_rows: int) -> tuple[Array, list[str]]:
    """Features as a matrix, a row for each of the table's, and what they are called."""
    if isinstance(features, str | os.PathLike):
        features = _read(os.fspath(features))
    features = dense(features)
    if np.ndim(features) != 2:
        raise InputError(
            f"The features are an array of shape {np.shape(features)}; one row of numbers for each "
            "row of the table is needed."
        )
    names = [str(name) for name in column_names(features)]
    X = check_matrix(features)
    if len(X) != n_rows:
        raise InputError(
            f"The features have {len(X):,} rows, but the table has {n_rows:,}; one row of features "
            "for each row of the table is needed, in the same order."
        )
    return X, names if len(names) == X.shape[1] else [f"x{j}" for j in range(X.shape[1])]


def _read(path: str) -> Any:
    """Features in a file."""
    if Path(path).suffix.lower() == ".npy":
        try:
            return np.load(io.BytesIO(fetch(path)[0]), allow_pickle=False)
        except (OSError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{called(path)} cannot be read as an array of numbers: {short(error)}."
            ) from error
    return _typed(read_table(path), path)


@dataclass(frozen=True)
class Audited(Serializable):
    """What was audited, and what was assumed where nobody said.

    Attributes
    ----------
    name : str
        Such as ``PCA``.
    rank : int
        Components that a group's own PCA has beside it.
    projection : bool
        Whether it is one; else no more is known of it than its errors.
    given : bool
        Whether a pipeline has it; else it is the PCA of the features.
    origin : {"this table", "given"}
        Whether it was fitted on the rows audited, or came as it is.
    text : str
        In words, with what was assumed where nothing was given.
    """

    name: str
    rank: int
    projection: bool
    given: bool
    origin: str
    text: str


def audited(found: MaxDisparityPartition, intake: PreparedTable) -> Audited:
    """What was audited: a PCA fitted here, of the table or of features; or what a pipeline has."""
    shared, seen = found.representation_, intake.features
    what = f"{shared.name} of {counted(shared.rank, 'component')}"
    if seen is None:
        text = f"{what} fitted here, as no pipeline was given; {_assumed(intake)}."
    else:
        text = f"{what}, {seen.origin}."
    return Audited(
        name=shared.name, rank=shared.rank, projection=shared.is_projection,
        given=found.representation is not None,
        origin="given" if seen is not None and seen.fitted else "this table", text=text,
    )  # fmt: skip


_SCALED = {
    "minmax": "columns scaled to [0, 1]",
    "standard": "numbers scaled to unit variance",
    "none": "numbers in their own units",
}


def _assumed(intake: PreparedTable) -> str:
    """How columns became what the PCA sees."""
    text = _SCALED[intake.encoder.scaling]
    if any(kind.read_as == "category" for kind in intake.encoder.columns_):
        encoded = intake.encoder.encoding == "target"
        text += f", categories as {'the mean of the target' if encoded else 'indicators'}"
    return text
