"""One call from a table to who PCA leaves out, whether to believe it, who they are, what to do.

The function is ``leftout.audit``; a module of that name would hide it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from leftout.auditing.result import Audit
from leftout.auditing.settings import Settings
from leftout.auditing.steps import PAPER_EPOCHS, READ, STAGES, Work
from leftout.checks import Refusal, check_choice, check_whole, generator
from leftout.evidence.trusting import EVIDENCE
from leftout.running import Report, Stages, clean_interrupts
from leftout.search.partition import MaxDisparityPartition
from leftout.solvers import Greedy
from leftout.tables.intake import take_in
from leftout.tables.reading import Source

# The paper's protocol takes so many rows.
_PAPER_ROWS = 2_000


@clean_interrupts()
def audit(
    table: Any,
    *,
    target: Any = None,
    positive: Any = None,
    categorical: Iterable[Any] | None = None,
    drop: Iterable[Any] | None = None,
    sensitive: Iterable[Any] | None = None,
    n_components: int | float = 0.8,
    min_group_size: int | float | None = None,
    group_size: int | float | str | None = EVIDENCE,
    n_groups: int = 2,
    runs: int = 30,
    chance: int = 99,
    preset: str | None = None,
    sample: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    rows: int = 0,
    progress: Report | bool | None = None,
) -> Audit:
    """Audit a table: who does its PCA leave out, is it real, who are they, what can be done?

    Parameters
    ----------
    table : path, pandas, polars or pyarrow table, or two-dimensional array
        As people have it: numbers, text, dates, gaps.
    target : name of a column, or array of shape (m,)
        An outcome to compare between the group and the rest. It is not searched, but categories
        become its mean (and the explanation says what happens without that).
    positive : value or None
        The target's value whose rate counts.
    categorical : names of columns of numbers that are codes
    drop : names of columns to leave out
    sensitive : names of columns to keep out of the search and to compare with the group afterwards
    n_components : int or float, default=0.8
        Number of components, or the share of variance to exceed.
    min_group_size : int, float or None
        Fewest rows on either side, as a number or a share; None: five a feature.
    group_size : "evidence", int, float or None, default="evidence"
        Size of the left-out group: the one with the most evidence, a number or share of the rows,
        or (None) whatever the search likes best, which is the smallest allowed.
    n_groups : int, default=2
        Only 2 for now.
    runs, chance : int
        Searches with other seeds, and chance tables of each kind.
    preset : {"paper"} or None
        ``"paper"``: loss, centring, search, encoding and rows as in the paper, to reproduce it.
    sample : int or None
        Audit so many rows, in proportion to the target's values.
    random_state : int, Generator or None, default=0
    n_jobs : int or None
        Threads. The answer does not depend on it.
    rows : int, default=0
        Actual rows to show of either side. A row may be a person.
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
    >>> found = leftout.audit(X, n_components=2, chance=19, runs=5)
    >>> found.findings[1].code, found.findings[1].status
    ('C001', 'found')
    """
    for name, value in (("runs", runs), ("chance", chance), ("rows", rows)):
        check_whole(name, value)
    if preset is not None:
        check_choice("preset", preset, ("paper",))
    paper = preset == "paper"
    if paper and group_size not in (None, EVIDENCE):
        raise Refusal(
            f"group_size={group_size!r} was given, but the paper's search chooses the size itself. "
            "Leave the size out, or the preset."
        )
    if n_jobs == 0:
        raise Refusal("n_jobs=0 starts no thread; give a number from 1, or -1 for all cores.")
    if not paper and not chance and group_size == EVIDENCE:
        raise Refusal(
            "group_size='evidence' compares sizes with chance, but no chance tables were asked "
            "for. Give chance=99 (--chance 99), or a group_size (--size 200)."
        )
    stages = Stages(STAGES, progress)
    stages.begin(READ)
    source = Source.of(table)
    settings = Settings.of(
        source.path, target=target, positive=positive, categorical=categorical, drop=drop,
        sensitive=sensitive, n_components=n_components, min_group_size=min_group_size,
        group_size=None if paper and group_size == EVIDENCE else group_size, n_groups=n_groups,
        runs=runs, chance=0 if paper else chance, preset=preset, sample=sample,
        random_state=random_state, rows=rows, solver="greedy" if paper else "alternating",
        loss="projection_gap" if paper else "excess", centering="paper" if paper else "global",
    )  # fmt: skip
    of_sample, of_trust = generator(random_state).spawn(2)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        intake = take_in(
            source, target=target, positive=positive, categorical=categorical, drop=drop,
            sensitive=sensitive, sample=_PAPER_ROWS if paper and sample is None else sample,
            smooth=0.0 if paper else "auto", rng=of_sample,
        )  # fmt: skip
        search = MaxDisparityPartition(
            n_components, min_group_size=min_group_size, n_groups=n_groups, loss=settings.loss,
            centering=settings.centering, random_state=random_state, n_jobs=n_jobs,
            solver=Greedy(epochs=PAPER_EPOCHS) if paper else "alternating",
        )  # fmt: skip
        result = Work.on(intake, search, settings, of_trust).audit(stages)
    stages.end()
    said = dict.fromkeys(str(w.message) for w in noted if issubclass(w.category, UserWarning))
    return replace(result, notes=[*result.notes, *said])
