"""What is measured of groups: subgroups, those known beforehand, what components cost.

A prediction that is there already: does it err more on those who are left out? ``work`` is the
:class:`leftout.auditing.stages.AuditPipeline` that asks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from leftout.data.preparation import PreparedTable
from leftout.data.sources import short
from leftout.downstream.costs import harm
from leftout.downstream.outcomes import GROUP, REST_NAME
from leftout.downstream.prediction import ComparedPrediction, compare_prediction
from leftout.downstream.result import Harm
from leftout.errors import InputError, parameter_label
from leftout.evidence.subgroup_null import TABLES, subgroup_null_test
from leftout.groups.known import KnownGroups, known_groups
from leftout.groups.left_out import LeftOut
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.subgroups import NamedGroups, named_groups
from leftout.running import Report, collected_warnings, warn
from leftout.settings import TENTH
from leftout.text import as_name, counted, listed

# Why something is not there.
BY_ROWS = "Not looked at where rows have weights."
# With more features, models are fitted once; with very many, they take longer than the search.
_FITTED_ONCE, _MOST_FEATURES = 200, 1_000
_REPEATS = 3
# Random groups that known ones are held against.
_PERMUTATIONS = 199


def named_and_known(
    found: MaxDisparityPartition, work: Any, report: Report
) -> tuple[NamedGroups, KnownGroups | None]:
    """Both kinds of groups on all rows, with what surrogate tables of some rows explain."""
    intake, left_out = work.intake, found.left_out_
    how: dict[str, Any] = {
        "representation": found.representation,
        "random_state": work.settings.random_state,
        "n_jobs": work.search.n_jobs,
        "sample_weight": intake.weights,
    }
    named = named_groups(
        intake.X,
        intake.telling,
        n_components=found.n_components_,
        depth=1 if work.wide else 2,  # pairs of very many columns would take hours
        target=intake.target,
        positive=intake.positive,
        progress=report,
        worst=left_out.mask if left_out.sought == round(TENTH * len(intake.X)) else None,
        **how,
    )
    known, why = None, ""
    for depth in (2, 1) if intake.hidden else ():  # of very many groups, those of single columns
        report("known groups", 1, 1)
        try:
            known = known_groups(
                intake.X, intake.hidden, n_components=found.n_components_, depth=depth,
                permutations=_PERMUTATIONS, **how,
            )  # fmt: skip
            break
        except InputError as error:
            why = str(error)
    if why and known is None:
        warn(f"Known groups were not compared. {why}")
    if not work.wide:
        named = subgroup_null_test(
            intake.X,
            named,
            rows=work.rows,
            surrogates=work.surrogates,
            tables=min(work.settings.n_surrogates, TABLES),
            progress=report,
            **how,
        )
    return named, known


def measure_harm(
    found: MaxDisparityPartition, work: Any, report: Report
) -> tuple[Harm | None, str]:
    """Predict the target from all columns and each projection's components, for group and rest.

    What that costs; or None, and why. Of several left-out groups each is compared with the rest, by
    the same predictions. Models and components do not see columns that are known to give the target
    away. Where a pipeline was given, its own steps make the features and its own model predicts,
    fitted anew in each fold, on all it sees.
    """
    intake = work.intake
    if intake.target is None:
        return None, ""
    if intake.weights is not None:
        return None, BY_ROWS
    leaks = [line.column for line in intake.leaks] if found.representation is None else []
    X = intake.X[:, ~np.isin(intake.sources, leaks)]
    why = _why_no_harm(found, intake, X.shape[1], leaks)
    if why:
        return None, why
    table: Any = X
    how: dict[str, Any] = {"representation": found.representation, "models": "logistic"}
    if work.given is not None and work.given.pipeline is not None:
        pipeline = work.given.pipeline
        if pipeline.before is not None:
            table, how["encoder"] = work.given.table, pipeline.before
        if pipeline.after is not None:
            how["models"] = pipeline.after
    groups: Any = found.left_out_.mask
    if found.n_groups_ > 1:
        names = [REST_NAME, *(f"{GROUP} {label}" for label in range(1, found.n_groups_ + 1))]
        groups, how["rest"] = np.array(names)[found.labels_], REST_NAME
    try:
        with collected_warnings():  # how many rows were predicted, the result says itself
            paid = harm(
                table,
                intake.target,
                groups,
                found.n_components_,
                positive=intake.positive,
                repeats=1 if X.shape[1] > _FITTED_ONCE else _REPEATS,
                random_state=work.settings.random_state,
                n_jobs=work.search.n_jobs,
                progress=report,
                **how,
            )
        return replace(paid, leaks=leaks), ""
    except InputError as error:
        return None, str(error)
    except Exception as error:
        if "encoder" not in how and isinstance(how["models"], str):
            raise
        return None, f"The pipeline failed on rows that it was not fitted on: {short(error)}."


def _why_no_harm(
    found: MaxDisparityPartition, intake: PreparedTable, n_features: int, leaks: list[str]
) -> str:
    """Why no model can be fitted; "" where one can."""
    inside = intake.target_encoded
    if inside:
        return (
            f"{listed([as_name(name) for name in inside])} became the target's mean, so "
            f"predictions would have seen it. Audit with {parameter_label('encoding', 'free')}."
        )
    if n_features > _MOST_FEATURES:
        return (
            f"The table has {n_features:,} features; models are fitted on up to "
            f"{_MOST_FEATURES:,}. Leave columns out ({parameter_label('drop')}), or call "
            "leftout.harm."
        )
    if leaks and n_features <= found.n_components_:
        return (
            f"Without what gives the target away ({listed(list(map(as_name, leaks)))}), "
            f"{counted(n_features, 'feature')} are left for "
            f"{counted(found.n_components_, 'component')}. Ask for fewer "
            f"({parameter_label('n_components')})."
        )
    return ""


def compare_predictions(
    group: LeftOut, intake: PreparedTable, random_state: Any
) -> tuple[ComparedPrediction | None, str]:
    """The prediction beside the target, for group and rest; or why not."""
    guess, target, mask = intake.prediction, intake.target, group.mask
    if guess is None or target is None:
        return None, ""
    if intake.weights is not None:
        return None, BY_ROWS
    if not group.beside.all():  # one of several groups
        sides = np.flatnonzero(group.beside)
        guess, target, mask = guess.take(sides), target.take(sides), mask[sides]
    try:
        compared = compare_prediction(
            guess, target, mask, positive=intake.positive, random_state=random_state
        )
    except InputError as error:
        return None, str(error)
    return compared, ""
