"""Who does your PCA leave out? Find, without group labels, the rows a shared PCA represents badly.

Names are loaded when they are first used, so that ``import leftout`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Afterwards": "fair.afterwards",
    "Audit": "auditing.result",
    "FairPCA": "fair.estimator",
    "Finding": "auditing.findings",
    "Harm": "downstream.result",
    "HowMany": "evidence.counting",
    "KnownGroups": "search.groups",
    "MaxDisparityPartition": "search.partition",
    "MinimaxPCA": "fair.minimax",
    "Mitigation": "fair.mitigation",
    "NamedGroups": "search.names",
    "Refusal": "checks",
    "TableEncoder": "tables.encoder",
    "TradeOffCurve": "fair.minimax",
    "Trust": "evidence.trusting",
    "afterwards": "fair.afterwards",
    "audit": "scale.run",
    "compare_prediction": "downstream.comparing",
    "disparity": "search.known",
    "group_losses": "search.known",
    "harm": "downstream.costs",
    "how_many": "evidence.counting",
    "known_groups": "search.in_columns",
    "mitigate": "fair.mitigation",
    "named_groups": "search.named",
    "trade_off_curve": "fair.minimax",
    "trust": "evidence.trusting",
    "trust_each": "evidence.trusting_each",
}
# Modules that people use by a shorter path than where they live.
_MODULES = {
    "chance": "evidence.chance",
    "datasets": "datasets",
    "explain": "explain",
    "holdout": "evidence.holdout",
    "losses": "core.losses",
    "plots": "plots",
    "reproduce": "reproduce",
    "solvers": "solvers",
    "stability": "evidence.stability",
}

__all__ = sorted(["__version__", *_HOME, *_MODULES])

if TYPE_CHECKING:  # what editors and type checkers know
    from leftout import datasets as datasets
    from leftout import explain as explain
    from leftout import plots as plots
    from leftout import reproduce as reproduce
    from leftout import solvers as solvers
    from leftout.auditing.findings import Finding as Finding
    from leftout.auditing.result import Audit as Audit
    from leftout.checks import Refusal as Refusal
    from leftout.core import losses as losses
    from leftout.downstream.comparing import compare_prediction as compare_prediction
    from leftout.downstream.costs import harm as harm
    from leftout.downstream.result import Harm as Harm
    from leftout.evidence import chance as chance
    from leftout.evidence import holdout as holdout
    from leftout.evidence import stability as stability
    from leftout.evidence.counting import HowMany as HowMany
    from leftout.evidence.counting import how_many as how_many
    from leftout.evidence.trusting import Trust as Trust
    from leftout.evidence.trusting import trust as trust
    from leftout.evidence.trusting_each import trust_each as trust_each
    from leftout.fair.afterwards import Afterwards as Afterwards
    from leftout.fair.afterwards import afterwards as afterwards
    from leftout.fair.estimator import FairPCA as FairPCA
    from leftout.fair.minimax import MinimaxPCA as MinimaxPCA
    from leftout.fair.minimax import TradeOffCurve as TradeOffCurve
    from leftout.fair.minimax import trade_off_curve as trade_off_curve
    from leftout.fair.mitigation import Mitigation as Mitigation
    from leftout.fair.mitigation import mitigate as mitigate
    from leftout.scale.run import audit as audit
    from leftout.search.groups import KnownGroups as KnownGroups
    from leftout.search.in_columns import known_groups as known_groups
    from leftout.search.known import disparity as disparity
    from leftout.search.known import group_losses as group_losses
    from leftout.search.named import named_groups as named_groups
    from leftout.search.names import NamedGroups as NamedGroups
    from leftout.search.partition import MaxDisparityPartition as MaxDisparityPartition
    from leftout.tables.encoder import TableEncoder as TableEncoder


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
