"""How many rows a group may have."""

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.checks import check_count, is_int, is_share
from leftout.errors import InputError, parameter_label
from leftout.running import warn
from leftout.settings import AUTO, TENTH
from leftout.text import counted

# Labels are kept in eight bits.
_MOST = 100
# A group has so many rows at least, one that people name so many, and so many for each component.
_FEWEST, _FEWEST_NAMED, _EACH = 20, 30, 2


def share_of(value: Any) -> Any:
    """A share of the rows from a text such as ``"10%"``; anything else as it is."""
    if isinstance(value, str) and value.rstrip().endswith("%"):
        with suppress(ValueError):
            return float(value.rstrip().removesuffix("%")) / 100.0
    return value


def check_size(name: str, value: Any, n_rows: int) -> int:
    """A number of rows from an int, or from a share of the rows."""
    value = share_of(value)
    if is_int(value) and int(value) >= 1:
        return int(value)
    if is_share(value):
        return max(1, round(float(value) * n_rows))
    hint = " To find the size with the most evidence, use leftout.audit." * (value == "evidence")
    raise InputError(
        f"{parameter_label(name, value)} is neither a number of rows (an int from 1) nor a share "
        f"of the rows (a float between 0 and 1, or '10%'). Give one of these, or None.{hint}"
    )


def check_n_groups(n_groups: Any, group_size: Any) -> None:
    """Refuse what is no number of left-out groups."""
    if n_groups == AUTO:
        if group_size is not None and np.ndim(group_size) != 0:
            raise InputError(
                f"{parameter_label('n_groups', AUTO)} counts the groups, but "
                f"{parameter_label('group_size')} is a list, one size for each. Give one size for "
                "all, or leave it free."
            )
        return
    if not (is_int(n_groups) and 1 <= int(n_groups) <= _MOST):
        raise InputError(
            f"{parameter_label('n_groups', n_groups)} is not a number of left-out groups: give "
            f"an int from 1 to {_MOST}, or 'auto'."
        )


def group_sizes(
    min_group_size: Any, group_size: Any, n_rows: int, n_features: int, *, n_groups: int = 1
) -> tuple[int, list[int] | None]:
    """The smallest side allowed and, where they are fixed, the sizes of the left-out groups."""
    n_sides = n_groups + 1
    sides = "two groups" if n_groups == 1 else f"{n_sides} sides"
    if n_rows < n_sides:
        raise InputError(
            f"Found {counted(n_rows, 'sample')}, but {sides} need at least {n_sides} rows. "
            "Pass the whole table."
        )
    sizes = None
    if group_size is not None:
        each = [group_size] * n_groups if np.ndim(group_size) == 0 else list(group_size)
        if len(each) != n_groups:
            raise InputError(
                f"{parameter_label('group_size', group_size)} has {counted(len(each), 'size')}, "
                f"but {parameter_label('n_groups', n_groups)} asks for "
                f"{counted(n_groups, 'left-out group')} and the rest. Give one size for all of "
                f"them, or {n_groups}."
            )
        sizes = [check_size("group_size", size, n_rows) for size in each]
    rest = n_rows - sum(sizes or ())
    if min_group_size is None:
        smallest = default_smallest(n_rows, n_features, quiet=sizes is not None, n_sides=n_sides)
        # Sizes asked for by name are not held to the default minimum.
        smallest = min(smallest, *sizes, max(1, rest)) if sizes else smallest
    else:
        smallest = check_size("min_group_size", min_group_size, n_rows)
    if n_rows < n_sides * smallest:
        raise InputError(
            f"Found {n_rows} rows, but {sides} of at least {smallest} rows need "
            f"{n_sides * smallest}. Lower {parameter_label('min_group_size')} to "
            f"{n_rows // n_sides} or less, or add rows."
        )
    if sizes is not None and (min(sizes) < smallest or rest < smallest):
        of, what, to = "", "a size", "to"
        if n_groups > 1:
            of, what, to = "groups of ", "sizes", "that add up to at most"
        lower = f", or lower {parameter_label('min_group_size')}" * (min_group_size is not None)
        raise InputError(
            f"{parameter_label('group_size', group_size)} asks for "
            f"{of}{', '.join(map(str, sizes))} of {n_rows} rows, but each side needs at least "
            f"{smallest}. Choose {what} from {smallest} {to} {n_rows - smallest}{lower}."
        )
    return smallest, sizes


def worst_tenth(min_group_size: Any, n_rows: int, n_components: int) -> int:
    """A tenth of the rows, or more where a side needs more: so many that a PCA can be fitted.

    Examples
    --------
    >>> worst_tenth(None, 1_989, 17), worst_tenth(None, 150, 12), worst_tenth(300, 1_989, 17)
    (199, 24, 300)
    """
    if min_group_size is None:
        smallest = fewest(n_rows, n_components)
    else:
        smallest = check_size("min_group_size", min_group_size, n_rows)
    return max(round(TENTH * n_rows), smallest)


def fewest(n_rows: int, n_components: int, least: int = _FEWEST) -> int:
    """So many rows that a PCA can be fitted, but never more than a quarter of the table."""
    return min(max(least, _EACH * n_components), max(1, n_rows // 4))


def spaced_sizes(count: Any, smallest: int, n_rows: int) -> NDArray[np.intp]:
    """So many group sizes, log-spaced from the smallest to half of the rows."""
    check_count("sizes", count)
    spaced = np.geomspace(smallest, max(smallest, n_rows // 2), int(count))
    return np.unique(np.round(spaced).astype(np.intp))


def default_smallest(n_rows: int, n_features: int, quiet: bool = True, n_sides: int = 2) -> int:
    """Five rows per feature, but never more than half of an equal share of the rows.

    With one left-out group and the rest, that is a quarter.
    """
    wanted, cap = 5 * n_features, max(1, n_rows // (2 * n_sides))
    part = {2: "a quarter", 3: "a sixth", 4: "an eighth"}.get(n_sides, f"1 / {2 * n_sides}")
    if wanted > cap and not quiet:
        warn(
            f"The default minimum group size, 5 x {n_features} features = {wanted} rows, is more "
            f"than {part} of the {n_rows} rows; using {cap}. A group of few rows fits its own "
            f"components easily: set {parameter_label('min_group_size')} to silence this.",
            stacklevel=4,
        )
    return min(wanted, cap)


def smallest_named(min_group_size: Any, n_rows: int, n_components: int, share: float = 0.0) -> int:
    """Fewest rows of a group that people name, and of its rest.

    By default 30, two for each component, or a ``share`` of the rows, whichever is most, but at
    most a quarter of the rows.
    """
    if min_group_size is not None:
        smallest = check_size("min_group_size", min_group_size, n_rows)
        if 2 * smallest > n_rows:
            raise InputError(
                f"{parameter_label('min_group_size', min_group_size)} asks for {smallest} of "
                f"{n_rows} rows in a group and in the rest. Choose at most {n_rows // 2}."
            )
        return smallest
    return fewest(n_rows, n_components, max(_FEWEST_NAMED, int(np.ceil(share * n_rows))))
