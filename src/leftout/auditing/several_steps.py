"""How many left-out groups an audit is about, of what sizes, and the search for several.

The search is joint, and so are evidence, costs and Fair PCA; then everything is told of each group
beside the rest (:mod:`leftout.auditing.steps`). Where one group is counted, or none, the audit is
that of one group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sklearn.base import clone

from leftout.auditing.finding import FEW_ROWS, FIXED, Sized, few_of, on_fewer
from leftout.auditing.result import Audit
from leftout.auditing.stages import FIND
from leftout.auditing.steps import Work
from leftout.evidence.counting import HowMany, how_many
from leftout.running import Report, note
from leftout.search.partition import MaxDisparityPartition
from leftout.search.several import AUTO
from leftout.search.sizes import TENTH, check_size, several_sizes, worst_tenth
from leftout.solvers import Alternating

# Comparison tables that count groups, if as many were asked for.
_COUNTING = 39
_NONE = (
    "No number of groups goes beyond comparison tables; what follows tells of one group all the "
    "same, "
)
Tell = Callable[[Audit], None] | None


@dataclass(frozen=True)
class _Plan:
    """How many groups to look for, of what sizes (None: as the search likes), and why."""

    n_groups: int
    sizes: list[int] | None
    chosen: str
    counted: HowMany | None = None


def audit_groups(work: Work, notes: list[str], first: Tell = None, partial: Tell = None) -> Audit:
    """All steps of an audit, of as many left-out groups as were asked for."""
    if work.settings.n_groups == 2:
        return work.audit(notes, first, partial)
    plan = _planned(work, work.stages.begin(FIND))
    if plan.n_groups < 2:
        size = None if plan.sizes is None else Sized(plan.sizes[0], plan.chosen)
        return work.audit(notes, first, partial, size)
    start = work.started(_found(work, plan), None, work.mended, notes, plan.counted, plan.chosen)
    return work.answered(start, Sized(None, plan.chosen), first, partial)


def _planned(work: Work, report: Report) -> _Plan:
    asked, m = work.settings, len(work.X)
    if asked.n_groups == AUTO:
        return _counted(work, report)
    n_groups = int(asked.n_groups) - 1
    if asked.group_size is None:
        return _Plan(n_groups, None, "free")
    if asked.group_size == TENTH:
        tenth = worst_tenth(asked.min_group_size, m, work.posed.problem.d)
        size = min(tenth, max(1, m // (2 * n_groups)))  # half of the rows are left to the rest
        return _Plan(n_groups, [size] * n_groups, "tenth" if size == tenth else "given")
    _, sizes = several_sizes(
        asked.min_group_size, asked.group_size, n_groups + 1, m, work.X.shape[1]
    )
    return _Plan(n_groups, sizes, "given")


def _counted(work: Work, report: Report) -> _Plan:
    """As many groups as go beyond comparison tables, of the sizes at which they do."""
    asked, m = work.settings, len(work.X)
    part = work.X.iloc[few_of(work.rows)] if m > FEW_ROWS else work.X
    search = on_fewer(work.search, part, m).set_params(random_state=FIXED)
    fixed = asked.group_size not in (None, TENTH)
    if fixed:
        search.set_params(group_size=check_size("group_size", asked.group_size, m) / m)
    counted = how_many(search, part, chance=min(asked.chance, _COUNTING), progress=report)
    sizes = [max(1, round(size / len(part) * m)) for size in counted.sizes]
    note(f"How many groups: {counted.summary()}")
    if not sizes:
        note(f"{_NONE}{'of the size asked for.' if fixed else 'the worst-represented tenth.'}")
        return _Plan(0, None, "tenth", counted)
    return _Plan(len(sizes), sizes, "given" if fixed else "evidence", counted)


def _found(work: Work, plan: _Plan) -> MaxDisparityPartition:
    """All groups together, from starts that are always the same."""
    search = clone(work.search).set_params(
        n_groups=plan.n_groups + 1, group_size=plan.sizes, random_state=FIXED, solver=Alternating()
    )
    if plan.sizes is not None:
        search.set_params(min_group_size=None)
    return search.fit(work.X).set_params(solver=work.search.solver)
