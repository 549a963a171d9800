"""What being left out costs where somebody predicts from the components: measured, and coded.

A prediction that is there already: does it err more on those who are left out? Coded, too.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.auditing.findings import NOT_APPLICABLE, NOT_RUN, Finding, answer
from leftout.auditing.given import Given
from leftout.data.conditions import Mask
from leftout.data.files.fetching import short
from leftout.data.preparation import PreparedTable
from leftout.downstream.costs import harm
from leftout.downstream.outcomes import TooRare
from leftout.downstream.prediction import ComparedPrediction, compare_prediction
from leftout.downstream.result import WORST_OFF, Harm
from leftout.errors import InputError, parameter_label
from leftout.fair.afterwards import Afterwards
from leftout.fair.mitigation import NOT_FOR_OTHERS
from leftout.groups.fitted import NEITHER
from leftout.groups.known_result import KnownGroups
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.subgroups import SIX, NamedGroups
from leftout.running import Report, collected_warnings
from leftout.settings import Settings
from leftout.text import as_name, counted, listed

# With more features, models are fitted once; with very many, they take longer than the search.
_ONCE, _MOST = 200, 1_000
_REPEATS = 3
# Known groups whose costs are told, of the first.
_KNOWN = 10


class Costs(NamedTuple):
    """What was measured, or why it was not."""

    harm: Harm | None = None
    why: str = ""


def worst_off(after: Afterwards | None, rows: NDArray[np.intp], n_rows: int) -> dict[str, Mask]:
    """Whom each mitigation leaves worst off, where these are others than the group.

    ``rows`` are those that were searched.
    """
    found = {}
    for line in () if after is None else after.lines[1:]:
        if line.others:
            found[f"{WORST_OFF} {line.called}"] = np.zeros(n_rows, dtype=bool)
            found[f"{WORST_OFF} {line.called}"][rows[line.worst]] = True
    return found


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
    intake: PreparedTable,
    also: dict[str, Mask],
    settings: Settings,
    n_jobs: int | None,
    progress: Report,
    given: Given | None = None,
) -> Costs:
    """Predict the target from all columns and each projection's components, for group and rest.

    Errors of groups that are to be compared ``also`` follow from that. Of several
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
    several = found.n_groups_ > 1
    if inside:
        return Costs(
            why=f"{listed([as_name(name) for name in inside])} became the target's mean, so "
            f"predictions would have seen it. Audit with {parameter_label('encoding', 'free')}."
        )
    if X.shape[1] > _MOST:
        return Costs(
            why=f"The table has {X.shape[1]:,} features; models are fitted on up to {_MOST:,}. "
            f"Leave columns out ({parameter_label('drop')}), or call leftout.harm."
        )
    if leaks and X.shape[1] <= found.n_components_:
        return Costs(
            why=f"Without what gives the target away ({listed(list(map(as_name, leaks)))}), "
            f"{counted(X.shape[1], 'feature')} are left for "
            f"{counted(found.n_components_, 'component')}. Ask for fewer "
            f"({parameter_label('n_components')})."
        )
    try:
        with collected_warnings():  # how many rows were predicted, the result says itself
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
            f"({parameter_label('target')})."
        )
    except InputError as error:
        return Costs(why=str(error))
    except Exception as error:
        if "encoder" not in how and isinstance(models, str):
            raise
        return Costs(why=f"The pipeline failed on rows that it was not fitted on: {short(error)}.")


def harm_findings(
    found: Harm | None, why: str, intake: PreparedTable, skipped: str = ""
) -> list[Finding]:
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
        detail = f"No target was given. Name one: {parameter_label('target', 'COLUMN')}."
        status = NOT_APPLICABLE
    elif not why:
        detail = skipped
    return [Finding(code, status, title, detail) for code, title in questions.items()]


# Known groups on which its errors are told, of the first.
MOST_KNOWN = 20


class JudgedPrediction(NamedTuple):
    """How good the prediction is on each side, or why that is not told."""

    compared: ComparedPrediction | None = None
    why: str = ""


def judged(
    found: MaxDisparityPartition, intake: PreparedTable, also: dict[str, Mask], random_state: Any
) -> JudgedPrediction:
    """Compare the prediction with the target, for group and rest, and for groups ``also``."""
    guess, target, mask = intake.prediction, intake.target, found.left_out_.mask
    if guess is None or target is None:
        return JudgedPrediction()
    sides = np.flatnonzero(found.labels_ != NEITHER)
    if len(sides) < len(mask):  # one of several groups
        guess, target, mask = guess.take(sides), target.take(sides), mask[sides]
        also = {name: each[sides] for name, each in also.items()}
    try:
        return JudgedPrediction(
            compare_prediction(
                guess,
                target,
                mask,
                positive=intake.positive,
                also=also,
                random_state=random_state,
            )
        )
    except InputError as error:
        return JudgedPrediction(why=str(error))


def prediction_finding(
    found: ComparedPrediction | None, why: str, skipped: str = "", asked: bool = False
) -> Finding:
    """Does the prediction that is there err more on the group than on the rest?"""
    code = "P003"
    title = "The prediction that is there errs more on the group than on the rest"
    if found is not None:
        return Finding(code, answer(found.errs_more), title, found.told)
    if why:
        return Finding(code, NOT_RUN, title, why)
    if skipped and asked:
        return Finding(code, NOT_RUN, title, skipped)
    detail = f"No prediction was given. Name its column: {parameter_label('prediction', 'COLUMN')}."
    return Finding(code, NOT_APPLICABLE, title, detail)
