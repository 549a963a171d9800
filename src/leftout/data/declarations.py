"""What people say of a table's columns, and the columns as they then mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from leftout.checks import check_choice
from leftout.data.cleaning import clean_all
from leftout.data.columns import Column, columns_of, found
from leftout.data.dictionary import CATEGORICAL, Dictionary, Missing
from leftout.data.profiling.column_types import ColumnFacts, infer_column_types
from leftout.errors import InputError
from leftout.running import warn
from leftout.settings import ENCODINGS, SCALINGS, Reading
from leftout.text import shortened, shown


@dataclass(frozen=True)
class ColumnDeclarations:
    """Columns that are codes, columns that are numbers, values that mean nothing, a dictionary."""

    categorical: frozenset[str]
    numeric: frozenset[str]
    missing: Missing
    dictionary: Dictionary

    @classmethod
    def of(cls, names: Sequence[Any], reading: Any = Reading()) -> ColumnDeclarations:  # noqa: B008
        """What is said of the columns of a table with these names.

        ``reading`` is a :class:`Reading`, or an encoder with parameters of the same names. Refuses
        columns that the table has not, or that are said to be both codes and numbers.
        """
        check_choice("encoding", reading.encoding, ENCODINGS)
        check_choice("scaling", reading.scaling, SCALINGS)
        known = Dictionary.of(reading.dictionary).checked(names)
        codes = frozenset(map(str, found(list(names), reading.categorical, "categorical")))
        numbers = frozenset(map(str, found(list(names), reading.numeric, "numeric")))
        for name in sorted(codes & numbers):
            raise InputError(
                f"The column {name!r} is to be read as codes, and as numbers. Choose one."
            )
        return cls(codes, numbers, Missing.of(reading.missing, names), known)

    def columns(
        self, table: Any, *, drop: Iterable[Any] | None = None, unread: Iterable[Any] | None = None
    ) -> list[Column]:
        """The table's columns, those that are said to be codes as categories."""
        return columns_of(table, categorical=self.categories, drop=drop, unread=unread)

    @property
    def categories(self) -> Set[str]:
        """Columns whose numbers or dates are said to be codes."""
        kinds = self.dictionary.kinds
        named = {name for name, kind in kinds.items() if kind in CATEGORICAL}
        return (named | self.categorical) - self.numeric

    def check(self, raw: Sequence[Column], cells_of: Sequence[Sequence[int]] | None = None) -> None:
        """Refuse values to be missing that no row holds; else say how many cells do.

        ``cells_of`` each column hold its values, where ``raw`` is only a sample.
        """
        if self.missing:
            warn(f"{self.missing.describe(raw, cells_of)}.")

    def columns_and_types(
        self, raw: Sequence[Column], roles: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[list[Column], list[ColumnFacts]]:
        """Raw columns as they were meant, called by their labels, and what each of them is.

        Those with ``roles``, by their raw names, have no say in what the others are.
        """
        cleaned = clean_all([
            replace(self.missing.apply(c), declared=c.declared or c.name in self.categorical)
            for c in raw
        ], self.numeric)  # fmt: skip
        names = [column.name for column in raw]
        meant = [self.dictionary.apply(c, n) for c, n in zip(cleaned, names, strict=True)]
        # by names that may have been cut
        now = {name: column.name for name, column in zip(names, meant, strict=True)}
        every = self.dictionary.kinds | dict.fromkeys(self.numeric, "number")
        named = every.keys() & now.keys() - self.categorical
        said = {now[name]: every[name] for name in named}
        for column in meant:
            if said.get(column.name) == "number" and column.numbers is None:
                held = shown(repr(shortened((column.categories or ("",))[0])))
                raise InputError(
                    f"The column {column.name!r} is said to hold numbers, but none of its cells is "
                    f"one; it holds text such as {held}. Correct that, or its cells."
                )
        kinds: dict[str, ColumnFacts] = {}
        for apart in (False, True):
            part = [m for c, m in zip(raw, meant, strict=True) if (c.name in roles) == apart]
            of_part = {c.name: said[c.name] for c in part if c.name in said}
            kinds |= {kind.label: kind for kind in infer_column_types(part, of_part)}
        columns = self.dictionary.renamed(meant, names)
        return columns, [
            replace(
                kinds[m.name], name=name, label=c.name, note=self.dictionary[name].note,
                role=roles.get(name, "searched"),
            )
            for name, m, c in zip(names, meant, columns, strict=True)
        ]  # fmt: skip

    def alike(self, raw: Column) -> Column:
        """A raw column of new rows, with the same values missing and the same labels."""
        return self.dictionary.apply(self.missing.apply(raw))
