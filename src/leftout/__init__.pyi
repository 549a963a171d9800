# Where each public name lives: leftout loads it from there when it is first used.
from leftout import datasets as datasets
from leftout import explain as explain
from leftout import solvers as solvers
from leftout.auditing.answer import Finding as Finding
from leftout.auditing.comparison import Comparison as Comparison
from leftout.auditing.result import Audit as Audit
from leftout.data.encoder import TableEncoder as TableEncoder
from leftout.data.sources import register_format as register_format
from leftout.downstream.costs import harm as harm
from leftout.downstream.prediction import compare_prediction as compare_prediction
from leftout.downstream.result import Harm as Harm
from leftout.engine.run import audit as audit
from leftout.errors import GateError as GateError
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

__version__: str
