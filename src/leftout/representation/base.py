"""A shared representation: its rank, its origin, and how much it keeps of each row.

A search needs no more of it. With ``r`` the squared error of a row ``x`` about the origin, the
representation keeps ``q = |x|^2 - r``, and a group ``G`` loses

    L(G) = (top_d(S_G) - sum of q over G) / |G| .

A projection onto orthonormal components ``V`` keeps ``|Vx|^2``, whatever rows it was fitted on.
Anything else that can be inverted (NMF, kernel PCA, an autoencoder) is known by its errors. Of
these ``L`` may be negative: it says how much better the group's own PCA of as many components is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from leftout.checks import is_int, is_share
from leftout.errors import InputError, parameter_label
from leftout.linalg.losses import Array, Loss, Shared, Summary, row_losses, shared_pca
from leftout.linalg.moments import blocks
from leftout.running import warn

# Components are orthonormal up to this.
_ORTHONORMAL = 1e-6
# Eigenvalues closer than this share of the largest cannot be told apart.
_TIE = 1e-10
# Squares of larger sums of squares overflow.
_LARGEST = 1e150


@dataclass(frozen=True, kw_only=True)
class Representation:
    """What is shared by all rows, in the columns of the features."""

    name: str  # such as PCA or NMF
    rank: int  # how many components a group's own PCA has beside it
    n_features: int
    origin: Array | None  # the point that rows are measured from; None: the one of the centring
    components: Array | None = None  # orthonormal rows of a projection; None where it is none
    # from rows to what the representation makes of them, where it is no projection
    reconstruct: Callable[[Array], Array] | None = None

    @property
    def is_projection(self) -> bool:
        """Whether it is known by components: then no loss is negative."""
        return self.components is not None

    def at(self, origin: Array) -> Representation:
        """The same with the origin that a centring gave it."""
        return Representation(**{**vars(self), "origin": origin})

    def errors(self, X: Array) -> Array:
        """Error of every cell, of the shape of ``X``."""
        if self.reconstruct is not None:
            return X - self.reconstruct(X)
        assert self.components is not None and self.origin is not None
        rows = X - self.origin
        return rows - (rows @ self.components.T) @ self.components

    def kept(self, X: Array) -> Array:
        """What it keeps of each row: its squared length about the origin less its error's."""
        assert self.origin is not None
        kept = np.empty(len(X))
        for block in blocks(*X.shape):
            rows = X[block] - self.origin
            if self.components is not None:
                Y = rows @ self.components.T
                kept[block] = np.einsum("ij,ij->i", Y, Y)
            else:
                errors = self.errors(X[block])
                kept[block] = np.einsum("ij,ij->i", rows, rows)
                kept[block] -= np.einsum("ij,ij->i", errors, errors)
        return kept

    def row_losses(self, loss: Loss, X: Array, own: Array) -> Array:
        """What each row would add to the loss of groups with these components: (groups, rows)."""
        assert self.origin is not None
        rows, kept = X - self.origin, self.kept(X)
        V = own[0] if self.components is None else self.components
        return np.stack([row_losses(loss, rows, kept, V, W) for W in own])


def features_of(given: Any, X: Any) -> Any:
    """What a representation sees of a table: where it ends a pipeline, what the steps before make.

    ``X`` itself for any other.
    """
    return given[:-1].transform(X) if isinstance(given, Pipeline) and len(given) > 1 else X


def as_representation(given: Any) -> Representation:
    """What was given as ``representation``: a fitted estimator.

    ``PCA`` (whitened or not), ``IncrementalPCA``, ``TruncatedSVD``, ``FairPCA`` and the like are
    known by their components; anything else with ``transform`` and ``inverse_transform`` by its
    errors.

    >>> from sklearn.decomposition import NMF, PCA
    >>> X = np.random.default_rng(0).random((50, 4))
    >>> as_representation(PCA(2).fit(X)).is_projection
    True
    >>> as_representation(NMF(2).fit(X)).is_projection
    False
    """
    if isinstance(given, Representation):
        return given
    if isinstance(given, Pipeline):
        return as_representation(given[-1])
    name = type(given).__name__
    if isinstance(given, type) or not (
        hasattr(given, "transform") and hasattr(given, "inverse_transform")
    ):
        raise InputError(
            f"representation is {given!r}; a fitted transformer with transform and "
            "inverse_transform (such as PCA, FairPCA, TruncatedSVD or NMF) is needed."
        )
    try:
        if hasattr(given, "fit"):  # what has none came fitted
            check_is_fitted(given)
    except NotFittedError as error:
        raise InputError(
            f"The representation, {name}, is not fitted. Call its fit with the rows it is meant "
            "for, or leave representation=None to audit the PCA of this table."
        ) from error
    components = getattr(given, "components_", None)
    weights = getattr(given, "component_weights_", None)  # of FairPCA: may be fractions
    origin = getattr(given, "mean_", None)
    if components is None or (weights is not None and (np.asarray(weights) < 1.0).any()):
        return _of_errors(given, name, origin)
    components = np.asarray(components, dtype=np.float64)
    gram = components @ components.T if components.ndim == 2 else np.zeros(1)
    if np.abs(gram - np.eye(len(gram))).max() > _ORTHONORMAL:
        return _of_errors(given, name, origin)
    if origin is None:
        origin = np.zeros(components.shape[1])  # TruncatedSVD centres nothing
    return Representation(
        name=name,
        rank=len(components),
        n_features=components.shape[1],
        origin=np.asarray(origin, dtype=np.float64),
        components=np.ascontiguousarray(components),
    )


def _of_errors(given: Any, name: str, origin: Any) -> Representation:
    """Any transformer, by what its inverse makes of rows."""
    n_features = getattr(given, "n_features_in_", None)
    if n_features is None:
        raise InputError(
            f"The representation, {name}, does not say how many features it was fitted on. Give it "
            "the attribute n_features_in_, as scikit-learn's transformers have it."
        )

    inverse = _Inverse(given)
    rank = getattr(given, "n_asked_", None)  # of FairPCA, whose weights add up to it
    if rank is None:
        rank = np.shape(inverse.transform(np.zeros((1, int(n_features)))))[1]
    origin = None if origin is None else np.asarray(origin, dtype=np.float64)
    return Representation(
        name=name,
        rank=int(rank),
        n_features=int(n_features),
        origin=origin if origin is not None and origin.shape == (n_features,) else None,
        reconstruct=inverse,
    )


@dataclass(frozen=True)
class _Inverse:
    """From rows to what a transformer's inverse makes of them.

    What takes no negative values (NMF) is shown zeros instead: Gaussian surrogates have
    some, and what is below zero is then part of the error.
    """

    given: Any

    def transform(self, X: Array) -> Any:
        names = getattr(self.given, "feature_names_in_", None)
        tags = getattr(self.given, "__sklearn_tags__", None)
        if tags is not None and tags().input_tags.positive_only:
            X = np.maximum(X, 0.0)
        return self.given.transform(X if names is None else pd.DataFrame(X, columns=names))

    def __call__(self, X: Array) -> Array:
        try:
            with np.errstate(all="ignore"):
                made = np.asarray(self.given.inverse_transform(self.transform(X)), dtype=np.float64)
        except NotFittedError as error:  # KernelPCA, unless it was asked to
            raise InputError(
                f"The representation, {type(self.given).__name__}, was not fitted with a way back "
                "to the features. Fit it with fit_inverse_transform=True."
            ) from error
        if made.shape != X.shape or not np.isfinite(made).all():
            raise InputError(
                f"The representation, {type(self.given).__name__}, turned {X.shape[0]:,} rows of "
                f"{X.shape[1]:,} features into an array of shape {made.shape}, or into values that "
                "are not finite; inverse_transform(transform(X)) must have the shape of X."
            )
        return made


def check_components(
    loss: Loss, table: Summary, n_components: Any, *, below_rank: bool = True
) -> Shared:
    """The shared PCA with the number of components asked for.

    ``n_components`` is an int, or the share of variance to exceed. With ``below_rank`` something
    must be left to lose: an int at or above the rank is refused, a share that would take all
    dimensions is cut to one less.
    """
    m, n = round(float(table.moments.count.sum())), len(table.mean)
    full = shared_pca(loss, table.moments, n)
    values = full.eigenvalues
    check_variance(float(values[0]), n)
    rank = int(np.sum(values > values[0] * max(m, n) * np.finfo(float).eps))
    if below_rank and rank < 2:
        raise InputError(
            f"The table has rank {rank}: one component represents every row exactly, so nobody is "
            "left out. Pass a table with at least two independent columns."
        )
    d = dimensions(n_components, values, rank - 1 if below_rank else n, rank)
    if d < rank and values[d - 1] - values[d] <= _TIE * values[0]:
        warn(
            f"Eigenvalues {d} and {d + 1} of the table are equal, so the shared projection onto "
            f"{d} components is not unique and results depend on which one is picked. "
            f"Use another {parameter_label('n_components')}.",
            stacklevel=3,
        )
    return full._replace(components=np.ascontiguousarray(full.components[:d]))


def check_variance(variance: float, n_features: int) -> None:
    """Refuse a table without variance, or with one whose squares are not numbers."""
    if not np.finfo(float).tiny < variance < _LARGEST:
        raise InputError(
            f"There is no variance to represent: all {n_features} columns are constant, or vary "
            "too little or too much for their squares. Pass a table whose rows differ, on a common "
            "scale."
        )


def dimensions(n_components: Any, values: Array, limit: int, rank: int) -> int:
    """A number of components from an int, or from the share of the ``values`` to exceed."""
    if is_int(n_components):
        if 1 <= int(n_components) <= limit:
            return int(n_components)
        given = parameter_label("n_components", n_components)
        raise InputError(
            f"{given} is out of range: the table has rank {rank}, "
            "and a projection must keep at least 1 and leave out at least one of its dimensions. "
            f"Choose from 1 to {limit}."
            if limit < rank
            else f"{given} is out of range; choose from 1 to {limit}."
        )
    if is_share(n_components):
        ratio = np.cumsum(values) / values.sum()
        d = int(np.searchsorted(ratio, float(n_components), side="right")) + 1
        if d <= limit:
            return d
        warn(
            f"More than {n_components:g} of the variance takes all {rank} dimensions of the table; "
            f"using {limit}, so that something is left out. Lower "
            f"{parameter_label('n_components')} to silence this.",
            stacklevel=4,
        )
        return limit
    raise InputError(
        f"{parameter_label('n_components', n_components)} is neither a number of components (an "
        "int from 1) nor a share of the variance to exceed (a float between 0 and 1). Give one of "
        "these."
    )
