"""One call from a table, wherever its rows are, to who PCA leaves out, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from leftout.auditing.presets import call, settled
from leftout.auditing.result import Audit
from leftout.auditing.stages import READ, STAGE_SHARES, AuditPipeline, Listener
from leftout.data.column_reader import SCHEMA_ROWS
from leftout.data.sources import Source
from leftout.engine.engines import Passes, state_folder
from leftout.engine.tables import ChunkedTable, in_parts
from leftout.errors import InputError, parameter_label
from leftout.running import Report, Stages, clean_interrupts, collected_warnings, one_thread, warn
from leftout.settings import AUDIT, TENTH, Settings

# What is audited with all rows in memory alone, and what is said of larger tables in parts (see
# docs/guide/scale.md).
WHOLE_ONLY = {
    "features": "is searched by the PCA of its own columns",
    "pipeline": "is searched by the PCA of its own columns",
    "n_groups": "is searched for one left-out group",
    "preset": "is audited on all of its rows",
    "sample": "is audited on all of its rows",
    "weights": "counts every row once",
    "encoding": "is searched without its target",
}


def audit(
    table: Any,
    *,
    features: Any = None,
    pipeline: Any = None,
    pipeline_step: str | None = None,
    trust_types: Sequence[str] | None = None,
    sheet: str | None = None,
    scaling: str = "minmax",
    target: Any = None,
    positive: Any = None,
    prediction: Any = None,
    categorical: Iterable[Any] | None = None,
    numeric: Iterable[Any] | None = None,
    weights: str | None = None,
    drop: Iterable[Any] | None = None,
    sensitive: Iterable[Any] | None = None,
    missing: Any = None,
    dictionary: Any = None,
    encoding: str = "free",
    n_components: int | float = 0.8,
    min_group_size: int | float | None = None,
    group_size: int | float | str | Sequence[int | float] | None = TENTH,
    n_groups: int | str = 1,
    n_restarts: int = 30,
    n_surrogates: int = 99,
    effort: str = "auto",
    quick: bool = False,
    preset: str | None = None,
    sample: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    rows: int = 0,
    min_cell: int = 10,
    engine: Any = None,
    memory: int | str | None = None,
    resume: bool = False,
    progress: Report | bool | None = None,
) -> Audit:
    """Audit a table: who does its PCA leave out, why, does it replicate, what can be done?

    Parameters
    ----------
    table : path, pandas, polars or pyarrow table, or two-dimensional array
        As people have it: numbers, text, dates, gaps. Also one in parts: a pattern of paths
        (``"data/*.parquet"``), a folder, a list of paths, a ``pyarrow.dataset.Dataset``, a Dask
        data frame.
    features : matrix, data frame or path, optional
        What the representation sees instead of the table's columns: an embedding, pixels, gene
        expression; one row for each row of the table, in the same order. The table then says who
        people are. Nothing is scaled.
    pipeline : scikit-learn Pipeline or path of one written by ``skops.io.dump``, optional
        Fitted or not: the steps before its representation make the features, that representation
        is audited, and the steps after it are the model that costs are measured with.
    pipeline_step : str, optional
        The name of the step that is the representation, where that is not clear.
    trust_types : list of str, optional
        Types in a file of skops to trust beside scikit-learn's, as ``module.Name``.
    sheet : str, optional
        The sheet of an Excel file; else the first.
    scaling : {"minmax", "standard", "none"}, default="minmax"
        Of the table's columns: from 0 to 1, to unit variance as most pipelines do, or as they are.
    target : name of a column, or array of shape (m,)
        An outcome to compare between the group and the rest. The search never sees it.
    positive : value or None
        The target's value whose rate counts.
    prediction : name of a column, or array of shape (m,)
        What a model that is there predicts for the target: classes, probabilities of ``positive``
        or numbers. It is not searched; its errors are compared between groups.
    categorical : names of columns of numbers that are codes, or of text to keep
    numeric : names of columns to read as numbers, whatever they look like
    weights : name of a column of numbers from 0
        How many rows each row stands for, as in a survey: sizes are then shares of the weight, and
        losses, components, medians and mitigation count rows so often. Rows of weight 0 are left
        aside.
    drop : names of columns to leave out
    sensitive : names of columns to keep out of the search and to compare with the group afterwards
    missing : value, str, list or mapping
        Values that stand for nothing: ``999``, ``"review=-1"``, ``{"review": [-1, 999]}``.
    dictionary : path, mapping, list of mappings or data frame
        What is known of columns (kind, label, labels of values, note); the result speaks in labels.
    encoding : {"free", "target"}, default="free"
        What categories become: indicators, or the target's mean, so that the target is part
        of what is searched (and the result says what happens without that).
    n_components : int or float, default=0.8
        Number of components, or the share of variance to exceed.
    min_group_size : int, float or None
        Fewest rows on either side, as a number or a share; None: five per feature.
    group_size : int, float, "evidence" or None, default=0.1
        Size of the left-out group: a number or a share of the rows, the smallest size with about as
        much evidence as any, or (None) whatever the search likes best, as a rule the smallest
        allowed. The default is the worst-represented tenth. Of several groups, one size for all of
        them or a list.
    n_groups : int or "auto", default=1
        Left-out groups to find, up to nine, the rest not among them.
        ``"auto"``: as many as go beyond surrogate tables, at most six left-out groups, sized by
        the evidence; where there is none, the worst-represented tenth is told of all the same.
        Each group is then compared with the rest: the rows of no left-out group.
    n_restarts, n_surrogates : int
        Searches from other starts, and surrogate tables of each kind that decide if nothing is
        clear before.
    effort : {"auto", "full"}
        ``"auto"``: of many rows or features, evidence comes from a sample of the rows and from
        fewer searches, which decide as well. ``"full"``: from all rows in memory and all searches.
    quick : bool, default=False
        The first answer only: the group, who they are, what Fair PCA does about it.
    preset : {"paper"} or None
        ``"paper"``: loss, centring, search, encoding and rows as in the paper, to reproduce it; the
        first answer only.
    sample : int or None
        Audit a random sample of this many rows; in proportion to the target's values
        where ``encoding`` is ``"target"``.
    random_state : int, Generator or None, default=0
        Of samples, surrogate tables, splits and folds. The group itself does not depend on it.
    n_jobs : int or None
        Threads. The answer does not depend on it.
    rows : int, default=0
        Actual rows to show of either side. A row may be a person.
    min_cell : int, default=10
        Nothing that is handed on counts or describes fewer rows than this; 0: anything does. Rows
        that were asked for (``rows``) and ``groups`` are rows all the same.
    engine : {"memory", "local", "dask"} or None
        Read the table whole, pass over its parts in this process, or on the cluster of the current
        ``distributed.Client``; None: whole if it fits. Local and dask agree to the last bit. A
        table of up to 50,000 rows is read whole in any case.
    memory : int, str or None
        What a table may take to be read whole, ``"2GB"``; None: half of what this machine has.
    resume : bool, default=False
        Keep what passes over a table in parts have found in your own folder of states, so that the
        same call goes on where a run was stopped. What was kept is removed at the end.
    progress : callable, bool or None
        ``progress(what, done, total)`` is called as work goes on; True: to stderr.

    Returns
    -------
    Audit
        ``summary()``, ``to_html(path)``, ``to_json(path)``, ``groups``, ``findings`` and all parts.

    Examples
    --------
    >>> import leftout
    >>> X, planted = leftout.datasets.make_planted(300, 8, 2, 60, random_state=0)
    >>> found = leftout.audit(X, n_components=2, group_size=60, n_restarts=5)
    >>> found.trust.verdict, found.findings[1].code, found.findings[1].status
    ('A', 'C001', 'found')
    """
    given = locals()
    if sheet is not None:
        table = Source.of(table, sheet)
    settings = Settings(**{name: given[name] for name in AUDIT})
    return run(
        table, settings, n_jobs=n_jobs, progress=progress, engine=engine, memory=memory,
        resume=resume,
    )  # fmt: skip


@clean_interrupts()
def run(
    table: Any,
    settings: Settings,
    *,
    n_jobs: int | None = None,
    progress: Report | bool | None = None,
    listener: Listener | None = None,
    engine: Any = None,
    scheduler: str | None = None,
    memory: int | str | None = None,
    resume: bool = False,
    running: ExitStack | None = None,
) -> Audit:
    """Audit a table, or the :class:`Source` it comes from, as settings say, where it fits best.

    ``listener`` is called with the first answer, as soon as it is there, and again with what is
    known each time that names, costs or evidence are there, too. ``scheduler`` is the address of a
    Dask cluster. Where the caller gives ``running``, a cluster goes on until that ends.
    """
    if n_jobs == 0:
        raise InputError(
            f"{parameter_label('n_jobs', 0)} starts no thread; give a number from 1, or -1 for "
            "all cores."
        )
    parts = table if isinstance(table, ChunkedTable) else None
    if parts is None and not isinstance(table, Source):
        parts = in_parts(table, engine, memory)
    asked = settled(settings)
    stages = Stages(STAGE_SHARES, progress)
    if parts is None or parts.whole:
        stages.begin(READ)
        source = Source.of(table if parts is None else parts.read())
        asked = replace(asked, command=call(settings, source.path))
        with collected_warnings() as notes:
            if engine not in (None, "memory"):
                warn(
                    f"The table was read whole: those of up to {SCHEMA_ROWS:,} rows are, whichever "
                    "engine is asked for."
                )
            for text in source.notes:
                warn(text)
            found = AuditPipeline.on(source, asked, n_jobs, stages).audit(notes, listener)
        stages.end()
        return found
    for name in (name for name in WHOLE_ONLY if name in asked.asked()):
        value = getattr(asked, name)
        label = parameter_label(name, *([value] if isinstance(value, str | int) else []))
        raise InputError(
            f"{label} was given, but a table that is passed over in parts {WHOLE_ONLY[name]}. Use "
            f"{parameter_label('engine', 'memory')} where it fits, or leave it out."
        )
    from leftout.engine.work import ChunkedAudit

    asked = replace(asked, command=call(settings, parts.name))
    with ExitStack() as own, collected_warnings() as notes, one_thread():
        chosen = (running or own).enter_context(parts.engine(engine, scheduler, memory))
        kept = state_folder(parts.files, settings.to_dict()) if resume else None
        passes = Passes(chosen, kept, stages)
        stages.begin(READ)
        work = ChunkedAudit.over(parts, asked, passes, n_jobs, stages)
        found = work.audit(notes, listener)
        (running or own).push(passes.end)
    stages.end()
    return found
