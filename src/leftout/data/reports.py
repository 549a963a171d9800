"""Every column of a table in a line: which part it plays, what it is and why, what became of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leftout.data.columns import Column
from leftout.data.encoder import TableEncoder
from leftout.data.profiling.column_types import ColumnType
from leftout.data.profiling.relations import Relation
from leftout.data.roles import Roles
from leftout.errors import parameter_label
from leftout.files import Serializable
from leftout.text import as_name


@dataclass(frozen=True)
class ColumnFacts(Serializable):
    """What an audit takes a column for.

    Attributes
    ----------
    name : str
        In the table.
    label : str
        What the report calls it.
    role : {"searched", "left out", "target", "prediction", "sensitive", "dropped"}
    kind : str
        One of :data:`leftout.data.profiling.column_types.KINDS`.
    why : str
        What says that it is of this kind.
    sure : bool
        False where it is a suspicion.
    overrule : str
        The option that has it read otherwise; empty where there is none.
    how : str
        What became of it, in a few words; empty where that follows from its part or kind.
    features : tuple of str
        What it is called where it is numbers.
    missing : int
        Rows without a value.
    note : str
        What its dictionary says besides.
    strays : tuple
        Texts among numbers or dates, which count as missing, each with its number of cells.
    """

    name: str
    label: str
    role: str
    kind: str
    why: str
    sure: bool
    overrule: str
    how: str
    features: tuple[str, ...]
    missing: int
    note: str
    strays: tuple[tuple[str, int], ...] = ()


def column_report(
    called: Mapping[str, str],
    columns: Sequence[Column],
    kinds: Mapping[str, ColumnType],
    roles: Roles,
    repeated: Sequence[Relation],
    encoder: TableEncoder,
) -> list[ColumnFacts]:
    """A line for each column; ``called`` are their names in the table."""
    encoded = {line.column: line for line in encoder.encoding_}
    copied = {line.column: line.of for line in repeated}
    lines = []
    for column in columns:
        name, kind = column.name, kinds[column.name]
        role, how = _part(name, roles), ""
        features: tuple[str, ...] = ()
        if name in copied:
            role, how = "left out", f"a copy of {as_name(copied[name])}"
        elif name in encoder.dropped_:
            role = "left out"
        elif name in encoded:
            how, features = encoded[name].how, encoded[name].features
        raw, overrule = called[name], kind.overrule if role in ("searched", "left out") else ""
        if name in copied:
            overrule = parameter_label("drop", [called[copied[name]]])
        lines.append(
            ColumnFacts(
                name=raw,
                label=name,
                role=role,
                kind=kind.kind,
                why=kind.why,
                sure=kind.sure,
                overrule=overrule,
                how=how,
                features=features,
                missing=column.n_missing,
                note=encoder.declared_.dictionary.note(raw),
                strays=column.strays,
            )  # fmt: skip
        )
    return lines


def _part(name: str, roles: Roles) -> str:
    parts = {
        "target": roles.targets, "prediction": roles.predictions, "sensitive": roles.sensitive,
        "dropped": roles.dropped,
    }  # fmt: skip
    return next((part for part, names in parts.items() if name in names), "searched")
