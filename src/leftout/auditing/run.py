"""From a table in memory to who PCA leaves out, why, whether it comes back, what to do."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from leftout.asking import asking
from leftout.auditing.result import Audit
from leftout.auditing.settings import Settings
from leftout.auditing.several_steps import audit_groups
from leftout.auditing.stages import READ, STAGES
from leftout.auditing.steps import Work
from leftout.checks import Refusal
from leftout.running import Report, Stages, clean_interrupts, collected_notes, note
from leftout.tables.reading import Source


@clean_interrupts()
def run(
    table: Any,
    settings: Settings,
    *,
    n_jobs: int | None = None,
    progress: Report | bool | None = None,
    first: Callable[[Audit], None] | None = None,
    partial: Callable[[Audit], None] | None = None,
) -> Audit:
    """Audit a table, or the :class:`Source` it comes from, as some settings say.

    ``first`` is called with the first answer, as soon as it is there; ``partial`` with that, and
    again with what is known each time that names, costs or evidence are there, too.
    """
    if n_jobs == 0:
        raise Refusal(
            f"{asking('n_jobs', 0)} starts no thread; give a number from 1, or -1 for all cores."
        )
    settled = settings.settled()
    stages = Stages(STAGES, progress)
    stages.begin(READ)
    source = Source.of(table)
    settled = replace(settled, command=settings.call(source.path))
    with collected_notes() as notes:
        for text in source.notes:
            note(text)
        work = Work.on(source, settled, n_jobs, stages)
        found = audit_groups(work, notes, first, partial)
    stages.end()
    return found
