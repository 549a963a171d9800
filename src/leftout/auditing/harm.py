"""What being left out costs where somebody predicts from the components: measured, and coded."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from leftout.asking import asking
from leftout.auditing.findings import NOT_APPLICABLE, NOT_RUN, Finding, answer
from leftout.auditing.given import Given
from leftout.auditing.settings import Settings
from leftout.checks import Refusal
from leftout.downstream.aims import TooRare
from leftout.downstream.costs import harm
from leftout.downstream.result import Harm
from leftout.fair.mitigation import NOT_FOR_OTHERS
from leftout.running import Report, collected_notes
from leftout.search.groups import KnownGroups
from leftout.search.names import SIX, NamedGroups
from leftout.search.partition import MaxDisparityPartition
from leftout.tables.conditions import Mask
from leftout.tables.files.fetching import short
from leftout.tables.intake import Intake
from leftout.wording import as_name, counted, listed

# With more features, models are fitted once; with very many, they take longer than the search.
_ONCE, _MOST = 200, 1_000
_REPEATS = 3
# Known groups whose costs are told, of the first.
_KNOWN = 10


class Costs(NamedTuple):
    """What was measured, or why it was not."""

    harm: Harm | None = None
    why: str = ""


def more_groups(
    named: NamedGroups | None, known: KnownGroups | None, most: int = _KNOWN
) -> dict[str, Mask]:
    """The first six groups with a name and the first known ones, and which rows they have."""
    groups = {} if named is None else {each.condition: each.mask for each in named.groups[:SIX]}
    if known is not None:
        groups |= {each.text: each.mask for each in islice(known.ranked, most)}
    return groups


def costs(
    found: MaxDisparityPartition,
    intake: Intake,
    also: dict[str, Mask],
    settings: Settings,
    n_jobs: int | None,
    progress: Report,
    given: Given | None = None,
) -> Costs:
    """Predict the target from all columns, the shared PCA and Fair PCA, for group and rest.

    What the shared PCA costs groups that are to be compared ``also`` follows from that. Of several
    left-out groups each is compared with the rest, by the same predictions. Models and components
    do not see columns that are known to give the target away. Where a pipeline was given, its own
    steps make the features and its own model predicts, fitted anew in each fold, on all it sees.
    """
    if intake.target is None or settings.preset is not None:
        return Costs()
    inside = intake.target_encoded
    leaks = [line.column for line in intake.leaks] if found.representation is None else []
    X = intake.X[:, ~np.isin(intake.sources, leaks)]
    models: Any = "logistic"
    table: Any = X
    how: dict[str, Any] = {"representation": found.representation}
    if given is not None and given.pipeline is not None:
        pipeline = given.pipeline
        if pipeline.before is not None:
            table, how["encoder"] = given.table, pipeline.before
        models = "logistic" if pipeline.after is None else pipeline.after
    several = found.n_groups_ > 2
    if inside:
        return Costs(
            why=f"{listed([as_name(name) for name in inside])} became the target's mean, so "
            f"predictions would have seen it. Audit with {asking('encoding', 'free')}."
        )
    if X.shape[1] > _MOST:
        return Costs(
            why=f"The table has {X.shape[1]:,} features; models are fitted on up to {_MOST:,}. "
            f"Leave columns out ({asking('drop')}), or call leftout.harm."
        )
    if leaks and X.shape[1] <= found.n_components_:
        return Costs(
            why=f"Without what gives the target away ({listed(list(map(as_name, leaks)))}), "
            f"{counted(X.shape[1], 'feature')} are left for "
            f"{counted(found.n_components_, 'component')}. Ask for fewer "
            f"({asking('n_components')})."
        )
    try:
        with collected_notes():  # how many rows were predicted, the result says itself
            paid = harm(
                table,
                intake.target,
                found.labels_ if several else found.left_out_.mask,
                found.n_components_,
                rest=0 if several else None,
                positive=intake.positive,
                models=models,
                also=also,
                repeats=1 if X.shape[1] > _ONCE else _REPEATS,
                random_state=settings.random_state,
                n_jobs=n_jobs,
                progress=progress,
                **how,
            )
        return Costs(replace(paid, leaks=leaks))
    except TooRare as error:  # an audit has no number of folds to lower
        return Costs(
            why=f"{error.found} Join it with another class, or choose another target "
            f"({asking('target')})."
        )
    except Refusal as error:
        return Costs(why=str(error))
    except Exception as error:
        if "encoder" not in how and isinstance(models, str):
            raise
        return Costs(why=f"The pipeline failed on rows that it was not fitted on: {short(error)}.")


def harm_findings(found: Harm | None, why: str, intake: Intake, skipped: str = "") -> list[Finding]:
    """Does the shared PCA cost the group more than the rest, and does Fair PCA give it back?"""
    questions = {
        "P001": f"{'PCA' if found is None else found.shared} costs the group more than the rest",
        "P002": "Fair PCA gives it back without costing the rest",
    }
    if found is not None:
        returned = found.told_return + f" {NOT_FOR_OTHERS}" * found.gives_back
        answers = ((found.costs_more, found.told_cost), (found.gives_back, returned))
        return [
            Finding(code, answer(yes), title, detail)
            for (code, title), (yes, detail) in zip(questions.items(), answers, strict=True)
        ]
    status, detail = NOT_RUN, why
    if intake.target is None:
        detail = f"No target was given. Name one: {asking('target', 'COLUMN')}."
        status = NOT_APPLICABLE
    elif not why:
        detail = skipped
    return [Finding(code, status, title, detail) for code, title in questions.items()]
