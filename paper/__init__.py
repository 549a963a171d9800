"""The paper's tables and figures again, ours beside theirs, with a verdict on every number.

Everything is computed by the public functions of ``leftout``. Two columns stand side by side: the
formula that the published numbers come from (``loss="projection_gap", centering="paper"``), and the
definition that the paper states (``loss="excess", centering="global"``).
"""

from paper.reproduction import Reproduction, reproduce

__all__ = ["Reproduction", "reproduce"]
