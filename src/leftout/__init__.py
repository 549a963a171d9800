"""Who does your PCA leave out? Find, without group labels, the rows a shared PCA represents badly.

Names are loaded when they are first used, so that ``import leftout`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Audit": "leftout.audited",
    "audit": "leftout.auditing",
    "FairPCA": "leftout.fair_pca",
    "MaxDisparityPartition": "leftout.partition",
    "TableEncoder": "leftout.table_encoder",
    "Mitigation": "leftout.mitigation",
    "Trust": "leftout.evidence",
    "trust": "leftout.evidence",
    "disparity": "leftout.measure",
    "group_losses": "leftout.measure",
    "mitigate": "leftout.mitigation",
}
_MODULES = (
    "chance",
    "datasets",
    "explain",
    "holdout",
    "plots",
    "reproduce",
    "solvers",
    "stability",
)

__all__ = [
    "Audit",
    "FairPCA",
    "MaxDisparityPartition",
    "Mitigation",
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
    from leftout import chance, datasets, explain, holdout, plots, reproduce, solvers, stability
    from leftout.audited import Audit
    from leftout.auditing import audit
    from leftout.evidence import Trust, trust
    from leftout.fair_pca import FairPCA
    from leftout.measure import disparity, group_losses
    from leftout.mitigation import Mitigation, mitigate
    from leftout.partition import MaxDisparityPartition
    from leftout.table_encoder import TableEncoder


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"leftout.{name}")
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'leftout' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
