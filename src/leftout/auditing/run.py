"""From a table in memory to who PCA leaves out, why, whether it comes back, what to do."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from leftout.auditing.pipeline import READ, AuditPipeline
from leftout.auditing.pipeline import stages as stages_of
from leftout.auditing.presets import call, settled
from leftout.auditing.result import Audit
from leftout.data.reading import Source
from leftout.errors import InputError, parameter_label
from leftout.running import Report, Stages, clean_interrupts, collected_warnings, warn
from leftout.settings import Settings


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
        raise InputError(
            f"{parameter_label('n_jobs', 0)} starts no thread; give a number from 1, or -1 for "
            "all cores."
        )
    asked = settled(settings)
    stages = Stages(stages_of(asked.full), progress)
    stages.begin(READ)
    source = Source.of(table)
    asked = replace(asked, command=call(settings, source.path))
    with collected_warnings() as notes:
        for text in source.notes:
            warn(text)
        found = AuditPipeline.on(source, asked, n_jobs, stages).audit(notes, first, partial)
    stages.end()
    return found
