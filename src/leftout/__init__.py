"""Who does your PCA leave out? Find, without group labels, the rows a shared PCA represents badly.

Names are loaded when they are first used, so that ``import leftout`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Audit": "auditing.result",
    "FairPCA": "fair.estimator",
    "Finding": "auditing.group_result",
    "Harm": "downstream.result",
    "HowMany": "evidence.n_groups",
    "KnownGroups": "groups.known",
    "MaxDisparityPartition": "groups.partition",
    "MinimaxPCA": "fair.minimax",
    "Mitigation": "fair.mitigation",
    "NamedGroups": "groups.subgroups",
    "InputError": "errors",
    "TableEncoder": "data.encoder",
    "Trust": "evidence.verdict",
    "audit": "engine.run",
    "compare_prediction": "downstream.prediction",
    "disparity": "groups.measured",
    "group_losses": "groups.measured",
    "harm": "downstream.costs",
    "how_many": "evidence.n_groups",
    "known_groups": "groups.known",
    "mitigate": "fair.mitigation",
    "named_groups": "groups.subgroups",
    "register_format": "data.sources",
    "trust": "evidence.assess",
}
# Modules that people use by a shorter path than where they live.
_MODULES = {
    "datasets": "datasets",
    "explain": "explain",
    "losses": "linalg.losses",
    "solvers": "solvers",
}

__all__ = sorted(["__version__", *_HOME, *_MODULES])

if TYPE_CHECKING:  # what editors and type checkers know
    from leftout import datasets as datasets
    from leftout import explain as explain
    from leftout import solvers as solvers
    from leftout.auditing.group_result import Finding as Finding
    from leftout.auditing.result import Audit as Audit
    from leftout.data.encoder import TableEncoder as TableEncoder
    from leftout.data.sources import register_format as register_format
    from leftout.downstream.costs import harm as harm
    from leftout.downstream.prediction import compare_prediction as compare_prediction
    from leftout.downstream.result import Harm as Harm
    from leftout.engine.run import audit as audit
    from leftout.errors import InputError as InputError
    from leftout.evidence.assess import trust as trust
    from leftout.evidence.n_groups import HowMany as HowMany
    from leftout.evidence.n_groups import how_many as how_many
    from leftout.evidence.verdict import Trust as Trust
    from leftout.fair.estimator import FairPCA as FairPCA
    from leftout.fair.minimax import MinimaxPCA as MinimaxPCA
    from leftout.fair.mitigation import Mitigation as Mitigation
    from leftout.fair.mitigation import mitigate as mitigate
    from leftout.groups.known import KnownGroups as KnownGroups
    from leftout.groups.known import known_groups as known_groups
    from leftout.groups.measured import disparity as disparity
    from leftout.groups.measured import group_losses as group_losses
    from leftout.groups.partition import MaxDisparityPartition as MaxDisparityPartition
    from leftout.groups.subgroups import NamedGroups as NamedGroups
    from leftout.groups.subgroups import named_groups as named_groups
    from leftout.linalg import losses as losses


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"leftout.{_MODULES[name]}")
    if name in _HOME:
        value = getattr(import_module(f"leftout.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'leftout' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
