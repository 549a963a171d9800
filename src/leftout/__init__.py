"""Who does your PCA leave out? Find, without group labels, the rows a shared PCA represents badly.

Names are loaded when they are first used, so that ``import leftout`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Audit": "auditing.result",
    "FairPCA": "fair.estimator",
    "MaxDisparityPartition": "search.partition",
    "Mitigation": "fair.mitigation",
    "Refusal": "checks",
    "TableEncoder": "tables.encoder",
    "Trust": "evidence.trusting",
    "audit": "auditing.run",
    "disparity": "search.known",
    "group_losses": "search.known",
    "mitigate": "fair.mitigation",
    "trust": "evidence.trusting",
}
# Modules that people use by a shorter path than where they live.
_MODULES = {
    "chance": "evidence.chance",
    "datasets": "datasets",
    "explain": "explain",
    "holdout": "evidence.holdout",
    "plots": "plots",
    "reproduce": "reproduce",
    "solvers": "solvers",
    "stability": "evidence.stability",
}

__all__ = [
    "Audit",
    "FairPCA",
    "MaxDisparityPartition",
    "Mitigation",
    "Refusal",
    "TableEncoder",
    "Trust",
    "__version__",
    "audit",
    "chance",
    "datasets",
    "disparity",
    "explain",
    "group_losses",
    "holdout",
    "mitigate",
    "plots",
    "reproduce",
    "solvers",
    "stability",
    "trust",
]

if TYPE_CHECKING:
    from leftout import datasets, explain, plots, reproduce, solvers
    from leftout.auditing.result import Audit
    from leftout.auditing.run import audit
    from leftout.checks import Refusal
    from leftout.evidence import chance, holdout, stability
    from leftout.evidence.trusting import Trust, trust
    from leftout.fair.estimator import FairPCA
    from leftout.fair.mitigation import Mitigation, mitigate
    from leftout.search.known import disparity, group_losses
    from leftout.search.partition import MaxDisparityPartition
    from leftout.tables.encoder import TableEncoder


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"leftout.{_MODULES[name]}")
    if name in _HOME:
        value = getattr(import_module(f"leftout.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'leftout' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
