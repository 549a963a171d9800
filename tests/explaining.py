"""What an audit explains of a group, for a search and a table of one's own."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from leftout.data.columns import columns_of, names_of
from leftout.data.roles import assign
from leftout.explain.explanation import explain, search_without
from leftout.representation.pipeline import sources_of
from leftout.running import Steps
from leftout.settings import Reading


def explained(found, X, table=None, *, target=None, sensitive=(), what_if=0, rows=0, label=1):
    """The explanation; features belong to the columns that their names tell."""
    reading = Reading(target=target, sensitive=sensitive)
    columns, roles = assign(columns_of(X if table is None else table), reading)
    aim = next((column for column in columns if roles.get(column.name) == "target"), None)
    hidden = [name for name, role in roles.items() if role == "sensitive"]
    seen = [column.name for column in columns if column is not aim and column.name not in hidden]
    sources = sources_of(names_of(X), seen)
    intake = SimpleNamespace(
        columns=columns, target=aim, positive=None, sensitive=hidden, sources=sources, weights=None,
        rows=np.arange(len(columns[0])),
    )  # fmt: skip
    told = explain(found, X, intake, label, rows)
    leading = list(told.by_column())[:what_if]
    steps = Steps(len(leading), None)
    return replace(told, what_if=search_without(found, np.asarray(X), sources, leading, steps))
