"""Any table in, a matrix in [0, 1] out: a scikit-learn transformer."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from leftout.checks import Refusal, check_choice
from leftout.tables.cleaning import clean, clean_all, unique
from leftout.tables.columns import Column, columns_of, found
from leftout.tables.encoding import LEVELS, ColumnEncoding, Floats, Plan
from leftout.tables.frames import as_frame
from leftout.tables.roles import beside
from leftout.tables.targets import as_numbers, called

CATEGORIES = ("auto", "target", "onehot")


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table as people have it into numbers from 0 to 1.

    Numbers (also as text, with decimal commas or a currency) and dates are scaled from their
    smallest to their largest value; missing ones become the median, and a column of their own
    says so. Two values become 0 and 1. Other categories become the target's mean if a target is
    given, else yes-or-no columns of which any two are one apart; missing ones are a value of their
    own. Columns that are empty, the same in every row, or a name for each row are dropped.

    Parameters
    ----------
    categorical : list of str or None, default=None
        Columns of numbers that are codes of categories.
    drop : list of str or None, default=None
        Columns to leave out.
    categories : {"auto", "target", "onehot"}, default="auto"
        What categories become: the target's mean, or yes-or-no columns; ``"auto"`` takes the mean
        where ``fit`` is given a target.
    positive : value or None, default=None
        The target's value whose rate counts. None: of two the larger or second, of more categories
        the most frequent; of numbers the mean.
    smooth : float or "auto", default="auto"
        How many rows' weight the overall mean has in a category's, as in scikit-learn's
        ``TargetEncoder``; 0 for plain means.
    max_categories : int, default=100
        Most yes-or-no columns of one category; further values share one.

    Attributes
    ----------
    encoding_ : list of ColumnEncoding
        What became of each column, in words and names.
    dropped_ : dict
        Columns that were left out, each with why.
    sources_ : list of str
        The column that each feature was made from.
    target_encoded_ : list of str
        Features that hold the target's mean.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the table has column names.

    Notes
    -----
    ``fit_transform`` is ``fit`` and then ``transform``: a row's own target is part of its
    category's mean. For a model's pipeline take scikit-learn's ``TargetEncoder``, which cross-fits.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [20, 30, None, 60], "town": ["A", "B", "C", "A"]})
    >>> encoder = TableEncoder().set_output(transform="pandas")
    >>> encoder.fit_transform(table).round(2)
        age  age is missing  town = A  town = B  town = C
    0  0.00             0.0      0.71      0.00      0.00
    1  0.25             0.0      0.00      0.71      0.00
    2  0.25             1.0      0.00      0.00      0.71
    3  1.00             0.0      0.71      0.00      0.00
    """

    def __init__(
        self,
        categorical: Iterable[Any] | None = None,
        *,
        drop: Iterable[Any] | None = None,
        categories: str = "auto",
        positive: Any = None,
        smooth: float | str = "auto",
        max_categories: int = LEVELS,
    ) -> None:
        self.categorical = categorical
        self.drop = drop
        self.categories = categories
        self.positive = positive
        self.smooth = smooth
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn how each column becomes numbers.

        Parameters
        ----------
        X : table of shape (m, n)
            pandas, polars, pyarrow, or a two-dimensional array.
        y : array of shape (m,) or None
            The target, for the means of categories.
        """
        self._learn(self._columns(X, reset=True), y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """``fit`` and ``transform`` of the same table, which is read once."""
        return self._encode(self._learn(self._columns(X, reset=True), y))

    def transform(self, X: Any) -> Floats:
        """Numbers of a table with the same columns.

        Numbers outside of the range seen are cut to it; values of a category that were not seen
        count as none, or as the target's overall mean.
        """
        check_is_fitted(self, "plans_")
        return self._encode(self._columns(X, reset=False))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the features: a column's own, or with the value that it stands for."""
        check_is_fitted(self, "plans_")
        if input_features is not None:
            known = getattr(self, "feature_names_in_", None)
            if len(input_features) != self.n_features_in_ or (
                known is not None and list(input_features) != list(known)
            ):
                raise Refusal(
                    "input_features is not equal to feature_names_in_; leave it out, or pass the "
                    f"{self.n_features_in_} names of the table."
                )
        return np.asarray(self.features_, dtype=np.object_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def learn(self, columns: list[Column], y: Column | None, kept: set[str]) -> Floats:
        """Fit on columns that are cleaned already, and encode them."""
        self.n_features_in_ = len(columns)
        self.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
        self._plan(columns, y, kept)
        return self._encode(columns)

    def _learn(self, columns: list[Column], y: Any) -> list[Column]:
        codes = found([column.name for column in columns], self.categorical, "categorical")
        cleaned = clean_all(columns)
        target = None
        if y is not None and self.categories != "onehot":
            target = clean(beside(columns, y))
        elif self.categories == "target":
            raise Refusal(
                "categories='target' needs the target's values; pass them as y, or use 'onehot'."
            )
        pairs = zip(columns, cleaned, strict=True)
        self._plan(cleaned, target, {now.name for column, now in pairs if column.name in codes})
        return cleaned

    def _plan(self, columns: list[Column], target: Column | None, kept: set[str]) -> None:
        check_choice("categories", self.categories, CATEGORIES)
        smooth = self.smooth
        if smooth != "auto" and not (isinstance(smooth, int | float) and 0 <= smooth < np.inf):
            raise Refusal(f"smooth={smooth!r} is neither 'auto' nor a number from 0.")
        if not (isinstance(self.max_categories, Integral) and self.max_categories >= 2):
            raise Refusal(
                f"max_categories={self.max_categories!r} is not a number of columns; give an int "
                "from 2."
            )
        how: dict[str, Any] = {"smooth": smooth, "levels": self.max_categories}
        if target is not None:
            how["y"] = as_numbers(target, self.positive)
            how["target"] = called(target, self.positive)
        self.plans_: list[Plan] = [
            Plan.of(column, kept=column.name in kept, **how) for column in columns
        ]
        lines = [plan.told for plan in self.plans_]
        self.encoding_: list[ColumnEncoding] = lines
        self.dropped_: dict[str, str] = {
            line.column: line.how for line in lines if line.kind == "dropped"
        }
        if len(self.dropped_) == len(lines):
            raise Refusal(_nothing_left(lines))
        self.features_: list[str] = unique([feature for line in lines for feature in line.features])
        self.sources_: list[str] = [line.column for line in lines for _ in line.features]
        means = [line for line in lines if target is not None and line.kind == "category"]
        self.target_encoded_: list[str] = [feature for line in means for feature in line.features]

    def _encode(self, columns: list[Column]) -> Floats:
        """Numbers of a table with the same columns, all in [0, 1]."""
        blocks = [
            plan.becomes.encode(column)
            for plan, column in zip(self.plans_, columns, strict=True)
            if plan.becomes is not None
        ]
        return np.ascontiguousarray(np.column_stack(blocks))

    def _columns(self, X: Any, reset: bool) -> list[Column]:
        """Names are checked on the table as it came, values column by column."""
        frame = as_frame(X)
        if frame is None and not isinstance(X, np.ma.MaskedArray):
            X = check_array(X, dtype=None, ensure_all_finite=False)
        named = X if frame is None else frame.to_native()  # under names that are told apart
        validate_data(self, named, reset=reset, skip_check_array=True)
        columns = columns_of(X, categorical=self.categorical, drop=self.drop)
        if reset and len(columns[0]) < 2:
            raise Refusal(
                "Found 1 row (1 sample); what differs between rows can be learned from 2 or more."
            )
        return columns


def _nothing_left(lines: list[ColumnEncoding]) -> str:
    why = "; ".join(f"{line.column!r} is {line.how}" for line in lines[:5])
    more = f"; and {len(lines) - 5} more" if len(lines) > 5 else ""
    return f"No column is left to project: {why}{more}. Pass columns in which rows differ."
