"""Any table in, a matrix of numbers out: a scikit-learn transformer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_array,
    check_is_fitted,
    validate_data,
)

from leftout.checks import check_weights
from leftout.data.cleaning import clean, unique
from leftout.data.column_reader import ColumnDeclarations, ColumnSummary
from leftout.data.columns import Column, Floats, names_of
from leftout.data.encoding import (
    CategoricalEncoding,
    MissingIndicator,
    NumericEncoding,
    TargetMeans,
    encode_column,
    fit_indicators,
    mean_and_variance,
)
from leftout.data.frames import as_frame
from leftout.data.profiling.column_types import ColumnFacts
from leftout.data.roles import as_numbers, beside, called
from leftout.errors import InputError, parameter_label


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table as people have it into numbers, by default from 0 to 1.

    Numbers (also as text, with decimal commas or a currency) and dates are scaled from their
    smallest to their largest value. Two values become 0 and 1, other categories indicators of
    which any two are one apart, values with an order equal steps from 0 to 1. A missing cell takes
    the middle of its column, and a missing indicator says so; indicators that say the same are
    one. Columns that are empty, the same in every row, names of rows or free text are left out.

    Parameters
    ----------
    categorical : list of str or None, default=None
        Columns of numbers that are codes of categories, and of text to keep as categories.
    numeric : list of str or None, default=None
        Columns to read as numbers, whatever they look like.
    drop : list of str or None, default=None
        Columns to leave out.
    missing : value, str, list, mapping or None, default=None
        Values that stand for nothing: ``999``, ``"review=-1"``, ``{"review": [-1, 999]}``.
    dictionary : path, mapping, list of mappings, data frame or None, default=None
        What is known of columns: kind, label, labels of values.
    scaling : {"minmax", "standard", "none"}, default="minmax"
        ``"minmax"``: numbers from 0 to 1, and any two values of a category one apart.
        ``"standard"``: numbers about their mean, of unit variance, and indicators of 0 and 1, as
        scikit-learn's ``StandardScaler`` and ``OneHotEncoder`` make them. ``"none"``: numbers in
        their own units, and such indicators.
    encoding : {"free", "target"}, default="free"
        What categories become: indicators, which know nothing of a target, or the mean of
        the target that ``fit`` is then given.
    positive : value or None, default=None
        The target's value whose rate counts. None: of two the larger or second, of more categories
        the most frequent; of numbers the mean.
    smooth : float or "auto", default="auto"
        How many rows' weight the overall mean has in a category's, as in scikit-learn's
        ``TargetEncoder``; 0 for plain means.

    Attributes
    ----------
    columns_ : list of ColumnFacts
        What each column was taken for, and why, and what became of it.
    dropped_ : dict
        Columns that were left out, each with why.
    missing_indicators_ : list of MissingIndicator
        The features that say where columns are missing, and what they consist of.
    indicator_places_ : list of int
        Places of these among the features.
    sources_ : list of str
        The column that each feature was made from; of a missing
        indicator, the first of its columns.
    target_encoded_ : list of str
        Features that hold the target's mean.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the table has column names.

    Notes
    -----
    ``fit_transform`` is ``fit`` and then ``transform``: under ``encoding="target"`` a row's own
    target is part of its category's mean. For a model's pipeline take scikit-learn's
    ``TargetEncoder``, which cross-fits.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [20, 30, None, 60], "town": ["A", "B", "C", "A"]})
    >>> encoder = TableEncoder().set_output(transform="pandas")
    >>> encoder.fit_transform(table).round(2)
        age  age is missing  town = A  town = B  town = C
    0  0.00            0.00      0.71      0.00      0.00
    1  0.25            0.00      0.00      0.71      0.00
    2  0.25            0.87      0.00      0.00      0.71
    3  1.00            0.00      0.71      0.00      0.00
    """

    def __init__(
        self,
        categorical: Iterable[Any] | None = None,
        *,
        numeric: Iterable[Any] | None = None,
        drop: Iterable[Any] | None = None,
        missing: Any = None,
        dictionary: Any = None,
        scaling: str = "minmax",
        encoding: str = "free",
        positive: Any = None,
        smooth: float | str = "auto",
    ) -> None:
        self.categorical = categorical
        self.numeric = numeric
        self.drop = drop
        self.missing = missing
        self.dictionary = dictionary
        self.scaling = scaling
        self.encoding = encoding
        self.positive = positive
        self.smooth = smooth

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn how each column becomes numbers.

        Parameters
        ----------
        X : table of shape (m, n)
            pandas, polars, pyarrow, or a two-dimensional array.
        y : array of shape (m,) or None
            The target, for the means of categories under ``encoding="target"``; else not read.
        sample_weight : array of shape (m,), optional
            How many rows each row stands for: medians, means, standard deviations and counts of
            values are those of so many, and rows of weight 0 are in none. What columns are is
            decided on the rows. Not under ``encoding="target"``.
        """
        self.fit_transform(X, y, sample_weight)
        return self

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Floats:
        """``fit`` and ``transform`` of the same table, which is read once."""
        raw = self._columns(X, reset=True)
        places, weights = check_weights(sample_weight, len(raw[0]))
        self.declared_.check(raw)
        target = None
        if self.encoding == "target":
            if y is None:
                raise InputError(
                    "encoding='target' needs the target's values; pass them as y, or use 'free'."
                )
            target = clean(beside(raw, y))
        columns, kinds = self.declared_.columns_and_types(raw)
        some = columns
        if not isinstance(places, slice):
            some = [column.take(places) for column in columns]
            target = None if target is None else target.take(places)
        self.learn(some, kinds, target, weights=weights)
        made = self.fit_scale(some, weights=weights)
        return made if some is columns else self._encode(columns)

    def transform(self, X: Any) -> Floats:
        """Numbers of a table with the same columns.

        Numbers outside of the range seen are cut to it; values of a category that were not seen
        count as none, or as the target's overall mean. Missing cells of columns that had none are
        not indicated.
        """
        check_is_fitted(self, "columns_")
        return self._encode([self.declared_.alike(raw) for raw in self._columns(X, reset=False)])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the features: a column's own, or with the value that it stands for."""
        check_is_fitted(self, "columns_")
        _check_feature_names_in(self, input_features, generate_names=False)
        return np.asarray(self.features_, dtype=np.object_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def fit_scale(
        self, columns: list[Column], spreads: Floats | None = None, weights: Floats | None = None
    ) -> Floats:
        """Encode columns, and learn what each feature is shifted by and multiplied with.

        ``spreads`` are the features' means and standard deviations in [0, 1] over all rows, where
        columns are only some of them; ``weights`` what each row counts.
        """
        X = self._encode(columns, scaled=False)
        self.shift_, self.scale_ = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if self.scaling == "minmax":
            return X
        first = 0
        for plan in self.columns_:
            width = 0 if plan.becomes is None else len(plan.becomes.names(""))
            mine = slice(first, first + width)
            if isinstance(plan.becomes, CategoricalEncoding) and plan.becomes.indicators:
                # values of several are divided by the root of two
                self.scale_[mine] = 1.0 / max(float(plan.becomes.vectors.max(initial=0.0)), 0.5)
            elif self.scaling == "standard":
                if spreads is None:
                    self.shift_[mine], variance = mean_and_variance(X[:, mine], weights)
                    spread = np.sqrt(variance)
                else:
                    self.shift_[mine], spread = spreads[:, mine]
                self.scale_[mine] = 1.0 / np.where(spread > 0.0, spread, 1.0)
            elif isinstance(plan.becomes, NumericEncoding) and width:
                low, high = plan.becomes.low, plan.becomes.high
                self.scale_[mine] = high - low
                self.shift_[mine] = -low / (high - low)
            first += len(plan.features)
        return self.rescale(X)

    def learn(
        self,
        columns: list[Column],
        kinds: list[ColumnFacts],
        target: Column | None,
        summaries: Sequence[ColumnSummary] | None = None,
        weights: Floats | None = None,
        full: Sequence[Column | None] = (),
    ) -> None:
        """Fit all but the scaling on columns that are cleaned and judged already.

        ``declared_`` is given before. ``summaries`` are of all rows, and ``full`` has the columns
        of these, where columns are of some; the target is of all.
        """
        if self.smooth != "auto" and not (
            isinstance(self.smooth, int | float) and 0 <= self.smooth < np.inf
        ):
            raise InputError(f"smooth={self.smooth!r} is neither 'auto' nor a number from 0.")
        means = None
        if target is not None:
            if weights is not None:
                raise InputError(
                    f"{parameter_label('encoding', 'target')} counts every row once, but rows have "
                    "weights. Use encoding 'free', or leave the weights out."
                )
            y = as_numbers(target, self.positive)
            means = TargetMeans(called(target, self.positive), y, self.smooth)
        none = [None] * len(columns)
        each = zip(columns, kinds, summaries or none, full or none, strict=True)
        plans = [encode_column(c, kind, one, means, weights, of) for c, kind, one, of in each]
        if all(plan.becomes is None for plan in plans):
            why = "; ".join(f"{plan.label!r} ({plan.how})" for plan in plans[:5])
            more = f"; and {len(plans) - 5} more" if len(plans) > 5 else ""
            raise InputError(
                f"No column is left to project: {why}{more}. Pass columns in which rows differ."
            )
        indicators = fit_indicators(plans, columns, weights)
        self.missing_indicators_: list[MissingIndicator] = indicators
        self.dropped_: dict[str, str] = {
            plan.label: plan.how for plan in plans if plan.becomes is None
        }
        for indicator in indicators:
            for place in indicator.places:
                plan, own = plans[place], place == indicator.places[0]
                says = "a missing indicator" if own else f"{indicator.name!r} says so"
                plans[place] = replace(
                    plan,
                    features=(*plan.features, *([indicator.name] if own else [])),
                    how=f"{plan.how}, and {says}" if plan.features else plan.how,
                )
        self.columns_: list[ColumnFacts] = plans
        # an indicator is the last feature of the first of its columns
        ends = np.cumsum([len(line.features) for line in plans])
        self.indicator_places_: list[int] = [
            int(ends[indicator.places[0]]) - 1 for indicator in indicators
        ]
        self.features_: list[str] = unique([feature for line in plans for feature in line.features])
        self.sources_: list[str] = [line.label for line in plans for _ in line.features]
        by_means = [p for p in plans if p.becomes is not None and not p.becomes.has_indicator]
        self.target_encoded_: list[str] = [name for plan in by_means for name in plan.features]

    def _encode(self, columns: list[Column], scaled: bool = True) -> Floats:
        """Numbers of a table with the same columns: in [0, 1], or scaled otherwise."""
        made = np.empty((len(self.features_), len(columns[0])))
        X = np.ascontiguousarray(self.encode(dict(enumerate(columns)), made))
        return self.rescale(X) if scaled else X

    def rescale(self, X: Floats) -> Floats:
        """Numbers in [0, 1] as the scaling has them."""
        return X if self.scaling == "minmax" else (X - self.shift_) * self.scale_

    def encode(self, columns: Mapping[int, Column], made: Floats) -> Floats:
        """Columns by their places as numbers in [0, 1], one to a line of ``made``."""
        missing: dict[int, NDArray[np.bool_]] = {}
        indicators = {indicator.places[0]: indicator for indicator in self.missing_indicators_}
        later, at = [], 0
        for place, plan in enumerate(self.columns_):
            if plan.becomes is None:
                continue
            values, missing[place] = plan.becomes.read(columns[place])
            width = values.shape[1]
            made[at : at + width] = values.T
            at += width
            if place in indicators:
                later.append((at, indicators[place]))
                at += 1
        for line, indicator in later:
            made[line] = indicator.of(missing)
        return made.T

    def _columns(self, X: Any, reset: bool) -> list[Column]:
        """Names are checked on the table as it came, values column by column."""
        frame = as_frame(X)
        if frame is None and not isinstance(X, np.ma.MaskedArray):
            X = check_array(X, dtype=None, ensure_all_finite=False)
        named = X if frame is None else frame.to_native()  # under names that are told apart
        if frame is not None and not reset and hasattr(self, "feature_names_in_"):
            known = list(self.feature_names_in_)
            if set(known) < set(frame.columns):  # the table that was audited has a target, too
                X = named = frame.select(known).to_native()
        validate_data(self, named, reset=reset, skip_check_array=True)
        if reset:
            self.declared_: ColumnDeclarations = ColumnDeclarations.of(names_of(named), self)
        columns = self.declared_.columns(X, drop=self.drop)
        if reset and len(columns[0]) < 2:
            raise InputError(
                "Found 1 row (1 sample); what differs between rows can be learned from 2 or more."
            )
        return columns
