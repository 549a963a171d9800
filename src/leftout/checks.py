"""What users pass in, checked once: refusals say what was found, needed, and to do."""

from collections.abc import Callable, Hashable
from difflib import get_close_matches
from functools import partial
from inspect import signature
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leftout.errors import InputError, parameter_label

P = ParamSpec("P")
T = TypeVar("T")


def check_choice(name: str, value: object, choices: Any) -> None:
    """Refuse an unknown name, and give the nearest known one."""
    if isinstance(value, str) and value in choices:
        return
    near = get_close_matches(str(value), list(choices), n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    known = ", ".join(map(repr, choices))
    raise InputError(
        f"{parameter_label(name, value)} is not known; it must be one of {known}.{hint}"
    )


def require(holds: bool, name: str, value: Any, wrong: str) -> None:
    """Refuse a parameter's value that does not hold: what is ``wrong`` with it, and what to do."""
    if not holds:
        raise InputError(f"{parameter_label(name, value)} is {wrong}.")


def check_count(name: str, value: Any, least: int = 1, what: str = "not a count") -> None:
    """Refuse anything but an int from 1, or from ``least``."""
    require(is_int(value) and int(value) >= least, name, value, f"{what}; give an int from {least}")


# Refuse anything but an int from 0, and from 2.
check_whole = partial(check_count, least=0, what="not a whole number")
check_several = partial(check_count, least=2, what="too few")


def check_floor(name: str, value: Any) -> None:
    """Refuse anything but a share from 0 to 1."""
    holds = _is_real(value) and 0 <= float(value) <= 1
    require(holds, name, value, "not a share; give a number from 0 to 1")


def check_tolerance(name: str, value: Any) -> None:
    """Refuse anything but a number above 0."""
    holds = _is_real(value) and 0 < float(value) < np.inf
    require(holds, name, value, "not a tolerance; give a number above 0")


def parameters_of(model: Callable[P, Any]) -> Callable[[Callable[..., T]], Callable[P, T]]:
    """Give a function the parameters of another, to which it passes on what it gets."""

    def decorate(function: Callable[..., T]) -> Callable[P, T]:
        returns = signature(function).return_annotation
        taken = signature(model).replace(return_annotation=returns)
        function.__signature__ = taken  # type: ignore[attr-defined]
        return function

    return decorate


def check_groups(labels: ArrayLike, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Group names in sorted order, and each row's place among them."""
    labels = np.asarray(labels)
    if labels.ndim != 1 or len(labels) != n_rows:
        raise InputError(
            f"Found labels of shape {labels.shape} for {n_rows} rows; one label per row is needed. "
            "Pass a one-dimensional array as long as X."
        )
    from pandas import factorize, isna  # late: refusals are needed without it

    missing = int(isna(labels).sum())
    if missing:
        raise InputError(
            f"Found {missing} missing labels; every row needs a group. "
            "Give those rows a label of their own, or drop them."
        )
    if labels.dtype.kind in "biuO":  # by hashing, which is faster, and sorts what is of many kinds
        index, names = factorize(labels, sort=True)
    else:
        names, index = np.unique(labels, return_inverse=True)
    return names, index.astype(np.intp)


def check_weights(
    weights: Any, n_rows: int, called: str = ""
) -> tuple[slice | NDArray[np.intp], NDArray[np.float64] | None]:
    """Which rows count at all, and what each of these does: 1 on average, None if all alike.

    >>> check_weights([2, 0, 6], 3)
    (array([0, 2]), array([0.5, 1.5]))
    >>> check_weights([7, 7, 7], 3)
    (slice(None, None, None), None)
    """
    if weights is None:
        return slice(None), None
    called = called or parameter_label("sample_weight")
    try:
        given = np.asarray(weights)
        values = given.astype(np.float64) if given.dtype.kind in "biufO" else None
    except (TypeError, ValueError):
        values = None
    if values is None:
        raise InputError(
            f"Found weights that are no numbers in {called}; each row needs a number from 0. Pass "
            "how many rows each stands for, or leave it out to count each once."
        )
    if values.shape != (n_rows,):
        raise InputError(
            f"Found weights of shape {values.shape} in {called} for {n_rows:,} rows; one number "
            "for each row is needed. Pass a one-dimensional array as long as X."
        )
    for wrong, what in (
        (np.isnan(values), "missing"),
        (np.isinf(values), "infinite"),
        (values < 0.0, "negative"),
    ):
        if wrong.any():
            raise InputError(
                f"Found {np.count_nonzero(wrong):,} {what} among the weights in {called}, the "
                f"first in row {np.argmax(wrong)}; each row needs a number from 0. Correct them, "
                "or give 0 to rows that are not to count."
            )
    counting = np.flatnonzero(values)
    if not len(counting):
        raise InputError(
            f"All {n_rows:,} weights in {called} are zero; some must be above it. Leave the "
            "weights out to count each row once."
        )
    rows = slice(None) if len(counting) == n_rows else counting
    values = values[rows] / values.max()  # sums of huge weights are finite, too
    return rows, None if (values == 1.0).all() else values / values.mean()


def is_missing(value: Any) -> bool:
    """None, NaN and NaT (not equal to themselves), or what will not say, such as pandas' NA."""
    try:
        return value is None or isinstance(value, Hashable) and bool(value != value)
    except (TypeError, ArithmeticError):  # the latter for Decimal's signalling NaN
        return True


def is_int(value: Any) -> bool:
    """Whether a value is a whole number, and not a truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def is_share(value: Any) -> bool:
    """Whether a value is a number between 0 and 1, both left out."""
    return isinstance(value, Real) and not isinstance(value, Integral) and 0.0 < float(value) < 1.0


def check_left_out(labels: ArrayLike, n_rows: int) -> NDArray[np.bool_]:
    """Which rows are left out, from labels that are 1 there and 0 elsewhere."""
    names, place = check_groups(labels, n_rows)
    if not all(isinstance(name, Real | np.bool_) and name in (0, 1) for name in names.tolist()):
        shown = ", ".join(map(repr, names[:3].tolist()))
        raise InputError(
            f"Found labels such as {shown}; explanations need 1 (or True) for the rows of the "
            "left-out group and 0 for the rest. For a group you name: labels == name."
        )
    if len(names) < 2:
        raise InputError(
            f"All {n_rows} rows have the label {names[0]!r}; a left-out group (1) and a rest (0) "
            "are needed."
        )
    return place == 1


def generator(random_state: Any) -> np.random.Generator:
    """The generator that a ``random_state`` stands for."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    from sklearn.utils import check_random_state  # late: refusals are needed without it

    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
